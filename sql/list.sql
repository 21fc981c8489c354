--
-- pattern_list: a row for each pattern, whose definition makes it again.
--
SET client_min_messages = warning;
CREATE SCHEMA listed;
SET search_path = listed, public;
\pset null (null)
CREATE VIEW here AS SELECT * FROM pattern_list WHERE definition LIKE '%listed.%' OR relation::text LIKE 'listed.%';

-- one of each
CREATE TABLE products (id integer PRIMARY KEY, doc jsonb, specs jsonb);
SELECT create_attribute_index('products', 'specs');
SELECT create_attribute_index('products', 'doc', '{details,a.b,"say \"x\""}', key_name => 'n''ame', value_name => 'value', index_name => 'Products by "detail"');
CREATE INDEX by_hand ON products USING gin (doc jsonb_attribute_ops (path = 'more.specs')) WHERE id > 0;
SELECT create_bucket_table('weather', meta_field => 'sensor_id', time_field => 'timestamp', width => '1 hour', capacity => 3600);
SELECT create_bucket_table('listed."Odd Name"', 'it''s', 't', '1 mon', 10, 'Europe/Amsterdam', 'replace', partitioned => true);

CREATE TABLE movies (id integer PRIMARY KEY, code text UNIQUE, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE reviews (id integer PRIMARY KEY, movie_id integer, "Text" text, stars integer, at date);
CREATE VIEW movie_ratings AS SELECT movie_id, count(*) AS total_votes, avg(stars) AS average FROM reviews GROUP BY movie_id;
CREATE VIEW movie_sums AS SELECT movie_id, sum(stars) AS sum_stars FROM reviews GROUP BY movie_id;
CREATE VIEW movie_least AS SELECT movie_id, min(stars) AS least FROM reviews WHERE stars > 0 GROUP BY movie_id;
SELECT create_computed('movies', 'doc', source => 'movie_ratings', key => 'movie_id');
SELECT create_computed('movies', 'doc', source => 'movie_sums', key => 'movie_id', path => '{stats,all time}', mode => 'deferred');
SELECT create_computed('movies', 'doc', source => 'movie_least', key => 'movie_id', parent_key => 'id', mode => 'queued');
SELECT create_subset('movies', 'doc', '{reviews}', 'reviews', 'movie_id', '{Text,stars,at}', 'at desc, "Text"', 10);
SELECT create_subset('movies', 'doc', '{best,two}', 'reviews', 'movie_id', '{stars}', 'stars desc', 2, mode => 'deferred');
CREATE TRIGGER compute BEFORE INSERT OR UPDATE OF doc ON movies FOR EACH ROW EXECUTE FUNCTION compute_document('doc', '[{"$set": {"twice": {"$multiply": ["$n", 2]}}}]');

CREATE TABLE customers (id text PRIMARY KEY, name text, profile jsonb, "E-mail" text UNIQUE);
CREATE TABLE orders (id integer PRIMARY KEY, doc jsonb);
SELECT create_extended_reference('orders', 'doc', '{customer}', 'customers', '{customer_id}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{buyer,"a \"b\""}', 'customers', '{by,mail}', ARRAY['name:live', 'profile.address."zip code" AS "zip,code"', '"E-mail"'], source_key => 'E-mail', on_delete => 'remove');
SELECT create_extended_reference('orders', 'doc', '{}', 'customers', '{id}', '{profile.phone as phone,name as title}', 'live');

CREATE TABLE shapes (id integer PRIMARY KEY, doc jsonb NOT NULL, "Other Doc" jsonb);
SELECT create_polymorphic('shapes', 'doc');
SELECT add_variant('shapes', 'doc', 'circle', '{"required": ["radius"], "properties": {"radius": {"bsonType": "double"}, "kind": {"enum": ["it''s", "\\"]}}}', view_name => 'Circles');
SELECT add_variant('shapes', 'doc', 'it''s "none"', '{}');
SELECT create_polymorphic('shapes', 'Other Doc', 'kind');
SELECT create_discriminator_index('shapes', 'doc', 'type', '{published_at}');
SELECT create_discriminator_index('shapes', 'doc', 'type', '{a,b}', descending => false);
SELECT create_discriminator_index('shapes', 'doc', 'type', index_name => 'of type');
ALTER TABLE orders ADD CONSTRAINT "order's shape" CHECK (doc_validate(doc, '{"required": ["customer_id"], "properties": {"n": {"minimum": 0}}}')) NOT VALID;

CREATE FUNCTION "Upgrade"(doc jsonb) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$ SELECT doc || '{"v": 3}' $$;
SELECT create_versioning('products', 'doc', 3, 'listed."Upgrade"(jsonb)', version_field => 'v');

CREATE TABLE books (id integer PRIMARY KEY, doc jsonb);
SELECT create_outlier('books', 'doc', '{buyers}', 3);
SELECT create_outlier('books', 'doc', '{marks,all}', 0, 'Marks of books', 'has more');

\x on
SELECT relation, column_name, pattern, path, options, object, definition FROM here;
\x off

CREATE VIEW listed AS SELECT relation::text, column_name, pattern, path, options, object, definition FROM here;
CREATE TABLE before AS SELECT * FROM listed;
CREATE TABLE definitions AS SELECT row_number() OVER () AS n, pattern, definition FROM here;
SELECT count(*), count(definition), count(DISTINCT definition) FROM before;

-- without any of them ...
DROP INDEX by_hand;
SELECT drop_attribute_index('products', 'specs');
SELECT drop_attribute_index('products', 'doc', '{details,a.b,"say \"x\""}');
SELECT drop_bucket_table('weather');
SELECT drop_bucket_table('"Odd Name"');
SELECT drop_computed('movies', 'movie_ratings');
SELECT drop_computed('movies', 'movie_sums');
SELECT drop_computed('movies', 'movie_least');
SELECT drop_computed('movies', 'movies_reviews_subset');
SELECT drop_computed('movies', 'movies_two_subset');
DROP VIEW movies_reviews_subset, movies_two_subset;
DROP TRIGGER compute ON movies;
SELECT drop_extended_reference('orders', 'doc', '{customer}');
SELECT drop_extended_reference('orders', 'doc', '{buyer,"a \"b\""}');
SELECT drop_extended_reference('orders', 'doc', '{}');
DROP INDEX shapes_expr_expr1_idx, shapes_expr_expr1_idx1, "of type";
SELECT drop_polymorphic('shapes', 'doc');
SELECT drop_polymorphic('shapes', 'Other Doc');
ALTER TABLE orders DROP CONSTRAINT "order's shape";
SELECT drop_versioning('products', 'doc');
SELECT drop_outlier('books', 'doc', '{buyers}');
SELECT drop_outlier('books', 'doc', '{marks,all}');
SELECT * FROM here;

-- ... the definitions make all of them again, without their schema on the search path
SET search_path = public;
DO $$
DECLARE
	d text;
BEGIN
	FOR d IN SELECT definition FROM listed.definitions ORDER BY n LOOP
		EXECUTE d;
	END LOOP;
END $$;
SET search_path = listed, public;
SELECT count(*) FROM here;
(TABLE before EXCEPT TABLE listed) UNION ALL (TABLE listed EXCEPT TABLE before);
