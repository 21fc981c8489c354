-- Indexes of MongoDB in the form of mongodump's .metadata.json, and what becomes of them
CREATE SCHEMA "My Shop";
CREATE TABLE "My Shop"."Order Items" (id int, "the doc" jsonb);
CREATE TABLE reviews (id int, doc jsonb);

CREATE TABLE metadata (n int GENERATED ALWAYS AS IDENTITY, spec jsonb);
INSERT INTO metadata(spec) VALUES
	('{"v": {"$numberInt": "2"}, "key": {"_id": {"$numberInt": "1"}}, "name": "_id_"}'),
	('{"v": 2, "key": {"product_id": 1}, "name": "product_id_1"}'),
	('{"key": {"rating": -1.0}, "name": "rating_-1"}'),
	('{"key": {"a": {"$numberDouble": "-1.0"}, "author.name": {"$numberLong": "1"}, "zz": 1}, "name": "zz_1_author.name_1_a_-1"}'),
	('{"key": {"a": 1, "a_1_a": 1, "b": -1}, "name": "a_1_a_1_b_-1_a_1"}'),
	('{"key": {"b": 1, "a": 1}, "name": "by name"}'),
	('{"key": {"sku": 1}, "name": "sku_1", "unique": true}'),
	('{"key": {"sku": 1}, "name": "sku_sparse", "unique": true, "sparse": true}'),
	('{"key": {"a": 1, "b.c": 1}, "name": "a_1_b.c_1", "sparse": true}'),
	('{"key": {"rating": 1}, "name": "rating_partial", "partialFilterExpression": {"rating": {"$gt": {"$numberInt": "3"}}, "text": {"$exists": true}, "by": {"$type": "string"}}}'),
	('{"key": {"email": 1}, "name": "email_unique_partial", "unique": true, "partialFilterExpression": {"email": {"$gt": "it''s"}}}'),
	('{"key": {"created": 1}, "name": "created_1", "expireAfterSeconds": {"$numberInt": "3600"}}'),
	('{"key": {"meta.at": 1}, "name": "meta.at_1", "expireAfterSeconds": 0}'),
	('{"key": {"user": "hashed"}, "name": "user_hashed"}'),
	('{"key": {"user": "hashed", "a": 1}, "name": "user_hashed_a_1"}'),
	('{"key": {"_fts": "text", "_ftsx": 1}, "name": "title_text_body_text", "weights": {"title": 10, "body": 1}, "default_language": "english", "language_override": "language", "textIndexVersion": 3}'),
	('{"key": {"kind": 1, "_fts": "text", "_ftsx": 1}, "name": "kind_1_title_text", "weights": {"a.title": {"$numberInt": "1"}}, "default_language": "none"}'),
	('{"key": {"_fts": "text", "_ftsx": 1}, "name": "all", "weights": {"$**": 1}, "default_language": "klingon"}'),
	('{"key": {"_fts": "text", "_ftsx": 1}, "name": "five", "weights": {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}}'),
	('{"key": {"place": "2dsphere"}, "name": "place_2dsphere", "2dsphereIndexVersion": 3}'),
	('{"key": {"pos": "2d"}, "name": "pos_2d", "bits": 26}'),
	('{"key": {"$**": 1}, "name": "$**_1"}'),
	('{"key": {"attributes.$**": 1}, "name": "attributes.$**_1", "wildcardProjection": {"a": 0}}'),
	('{"key": {"a": 1, "b.$**": 1}, "name": "a_1_b.$**_1"}'),
	('{"key": {"specs.k": 1, "specs.v": 1}, "name": "specs.k_1_specs.v_1"}'),
	('{"key": {"a": "columnstore"}, "name": "a_columnstore"}'),
	('{"key": {"name": 1}, "name": "name_1", "collation": {"locale": "en", "strength": 2}, "hidden": true}'),
	('{"key": {"it''s \"a\" \\ key": 1, "x''y.\"z\"\\": 1}, "name": "odd \"name\"\n; DROP TABLE reviews"}'),
	('{"key": {"a": 1}, "name": "a name of MongoDB that is far too long for an index of PostgreSQL, which has 63 bytes"}'),
	('{"key": {"a": 1}}');

SELECT n, line FROM metadata, bson_metadata_ddl(jsonb_build_object('indexes', jsonb_build_array(spec)), 'reviews', 'doc') WITH ORDINALITY d(line, i) ORDER BY n, i;
SELECT line FROM bson_metadata_ddl((SELECT jsonb_build_object('indexes', jsonb_agg(spec ORDER BY n)) FROM metadata WHERE n IN (1, 4, 10, 16, 25, 28)), '"My Shop"."Order Items"', 'the doc') line;

-- every line runs, comments too, and makes the index that it says
DO $$
DECLARE
	line text;
BEGIN
	FOR line IN SELECT bson_metadata_ddl(jsonb_build_object('indexes', jsonb_agg(spec ORDER BY n)), t, c) FROM metadata, (VALUES ('reviews'::regclass, 'doc'), ('"My Shop"."Order Items"', 'the doc')) v(t, c) GROUP BY t, c LOOP
		IF line LIKE '--%' THEN
			ASSERT line !~ E'[\n\r]';
		ELSE
			EXECUTE line;
		END IF;
	END LOOP;
END $$;
SELECT indrelid::regclass AS "table", count(*) AS indexes, count(*) FILTER (WHERE indisunique) AS "unique", count(*) FILTER (WHERE indpred IS NOT NULL) AS partial FROM pg_index WHERE indrelid IN ('reviews'::regclass, '"My Shop"."Order Items"'::regclass) GROUP BY 1 ORDER BY 1;

-- as MongoDB: one document without the field, unless the index is sparse
INSERT INTO reviews(doc) VALUES ('{"_id": 1, "sku": 1, "email": "x"}'), ('{"_id": 2, "email": "it"}'), ('{"_id": 3, "sku": 3, "email": "it"}');
INSERT INTO reviews(doc) VALUES ('{"_id": 4, "sku": 1.0}');
INSERT INTO reviews(doc) VALUES ('{"_id": 4}');
INSERT INTO reviews(doc) VALUES ('{"_id": 1, "sku": 5}');
INSERT INTO reviews(doc) VALUES ('{"_id": 5, "sku": "1", "email": "x"}');
-- what is found by them
INSERT INTO reviews(doc) SELECT jsonb_build_object('_id', n, 'sku', n, 'rating', n % 5, 'title', 'Review ' || n, 'body', 'of a book', 'pos', jsonb_build_array(n, n)) FROM generate_series(10, 2000) n;
ANALYZE reviews;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM reviews WHERE doc->'sku' = '7';
EXPLAIN (COSTS OFF) SELECT * FROM reviews WHERE setweight(coalesce(to_tsvector('pg_catalog.english', doc->'body'), ''), 'B') || setweight(coalesce(to_tsvector('pg_catalog.english', doc->'title'), ''), 'A') @@ to_tsquery('books & 77');
EXPLAIN (COSTS OFF) SELECT * FROM reviews WHERE point((doc#>>'{"pos","0"}')::float8, (doc#>>'{"pos","1"}')::float8) <@ box '(10,10),(12,12)';
SELECT count(*) FROM reviews WHERE setweight(coalesce(to_tsvector('pg_catalog.english', doc->'body'), ''), 'B') || setweight(coalesce(to_tsvector('pg_catalog.english', doc->'title'), ''), 'A') @@ to_tsquery('books & 77');
SELECT count(*) FROM reviews WHERE point((doc#>>'{"pos","0"}')::float8, (doc#>>'{"pos","1"}')::float8) <@ box '(10,10),(12,12)';
RESET enable_seqscan;
-- a TTL's statement runs, for dates in relaxed and in plain form
INSERT INTO reviews(doc) VALUES ('{"_id": "old", "sku": "old", "created": {"$date": "2020-01-01T00:00:00Z"}}'), ('{"_id": "older", "sku": "older", "created": "2019-01-01T00:00:00.000Z"}'), (jsonb_build_object('_id', 'new', 'sku', 'new', 'created', now()));
DO $$
BEGIN
	EXECUTE (SELECT substring(line FROM 'DELETE.*') FROM metadata, bson_metadata_ddl(jsonb_build_object('indexes', jsonb_build_array(spec)), 'reviews', 'doc') line WHERE spec->>'name' = 'created_1' AND line LIKE '--%');
END $$;
SELECT doc->>'_id' AS left FROM reviews WHERE doc ? 'created';

-- what is no metadata
SELECT bson_metadata_ddl('{"options": {}, "uuid": ""}', 'reviews', 'doc');
SELECT bson_metadata_ddl('{"indexes": []}', 'reviews', 'doc');
SELECT bson_metadata_ddl(NULL, 'reviews', 'doc');
SELECT bson_metadata_ddl('[]', 'reviews', 'doc');
SELECT bson_metadata_ddl('{"indexes": {}}', 'reviews', 'doc');
SELECT bson_metadata_ddl('{"indexes": [{"key": {"a": 1}, "name": "a_1"}, 1]}', 'reviews', 'doc');
SELECT bson_metadata_ddl('{"indexes": [{"name": "a"}]}', 'reviews', 'doc');
SELECT bson_metadata_ddl('{"indexes": [{"key": {}}]}', 'reviews', 'doc');
SELECT bson_metadata_ddl('{"indexes": [{"key": {"a": true}}]}', 'reviews', 'doc');
SELECT bson_metadata_ddl(jsonb_build_object('indexes', jsonb_build_array(jsonb_build_object('key', (SELECT jsonb_object_agg('f' || n, 1) FROM generate_series(1, 33) n)))), 'reviews', 'doc');
SELECT bson_metadata_ddl('{"indexes": []}', 'reviews', 'id');
SELECT bson_metadata_ddl('{"indexes": []}', 'reviews', 'none');
SELECT bson_metadata_ddl('{"indexes": []}', 4294967295::oid::regclass, 'doc');

DROP TABLE metadata, reviews;
DROP SCHEMA "My Shop" CASCADE;
