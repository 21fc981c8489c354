--
-- Polymorphic pattern: variants with schemas in one table
--

-- the texts' collection, with a view of typed columns for each variant
CREATE TABLE content (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
SELECT create_polymorphic('content', 'doc');
SELECT add_variant('content', 'doc', 'ARTICLE', '{"required": ["title", "word_count"], "properties": {"title": {"bsonType": "string"}, "word_count": {"bsonType": "int", "minimum": 0}, "body": {"bsonType": "string"}}}', view_name => 'articles');
SELECT add_variant(relation => 'content', column_name => 'doc', variant => 'VIDEO', schema => '{
	"required": ["title", "duration_seconds"],
	"properties": {"title": {"bsonType": "string"}, "duration_seconds": {"bsonType": ["int", "long"]}, "rating": {"bsonType": "number"}, "score": {"bsonType": "double"},
		"live": {"type": "boolean"}, "resolutions": {"bsonType": "array", "items": {"enum": ["720p", "1080p", "4K"]}}, "quality": {"enum": ["low", "high", null]}, "any": {}}}', view_name => 'Videos');
INSERT INTO content(doc) VALUES
	('{"_id": "66d5b100f1e8a93b4c5d6e31", "type": "ARTICLE", "title": "Introduction to MongoDB Indexing", "author_id": "66d5b100f1e8a93b4c5d6e01", "published_at": "2026-09-01T08:00:00Z", "word_count": 1450, "body": "Indexing in MongoDB is powered by B-trees..."}'),
	('{"_id": "66d5b100f1e8a93b4c5d6e32", "type": "VIDEO", "title": "Aggregation Pipeline Masterclass", "author_id": "66d5b100f1e8a93b4c5d6e02", "published_at": "2026-09-02T10:30:00Z", "duration_seconds": 3600, "video_url": "https://cdn.example.com/videos/agg-pipeline.mp4", "resolutions": ["1080p", "4K"]}'),
	('{"_id": "3", "type": "VIDEO", "title": "x", "duration_seconds": 5.0, "rating": 4.50, "score": 0.5, "live": true, "quality": null, "any": [1]}');
SELECT * FROM articles;
SELECT * FROM "Videos" ORDER BY id;
SELECT attname, format_type(atttypid, NULL) AS type FROM pg_attribute WHERE attrelid = '"Videos"'::regclass ORDER BY attnum;

-- what violates a schema is refused with all that is wrong; the fields of the error say where
INSERT INTO content(doc) VALUES ('{"_id": "4", "type": "VIDEO", "duration_seconds": "long", "resolutions": ["4K", "8K"]}');
DO $$
DECLARE
	state text; "table" text; "constraint" text; "schema" text;
BEGIN
	UPDATE content SET doc = doc || '{"word_count": -1}' WHERE id = '66d5b100f1e8a93b4c5d6e31';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, "table" = TABLE_NAME, "constraint" = CONSTRAINT_NAME, "schema" = SCHEMA_NAME;
	RAISE NOTICE '% % % %', state, "schema", "table", "constraint";
END $$;

-- an unknown variant, none, one that cannot be, a document that is no object
INSERT INTO content(doc) VALUES ('{"_id": "4", "type": "PODCAST"}');
INSERT INTO content(doc) VALUES ('{"_id": "4"}');
INSERT INTO content(doc) VALUES ('{"_id": "4", "type": null}');
INSERT INTO content(doc) VALUES ('{"_id": "4", "type": ["VIDEO"]}');
INSERT INTO content(doc) VALUES ('["VIDEO"]');
\copy content(doc) FROM STDIN
{"_id": "5", "type": "ARTICLE", "title": "five", "word_count": 5}
{"_id": "6", "type": "ARTICLE", "title": 6}
\.
INSERT INTO content(doc) VALUES ('{"_id": "3", "type": "PODCAST"}') ON CONFLICT DO NOTHING;
SELECT count(*) FROM content;

-- the definition as \d shows it
SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'content'::regclass AND contype = 'c';
SELECT replace(pg_get_viewdef('articles'::regclass, true), 'content.', '') AS articles;

-- when the variant of a document changes, it is held against the new one, as a whole; a closed schema need not name the discriminator
CREATE TABLE figures (id int PRIMARY KEY, doc jsonb);
SELECT create_polymorphic('figures', 'doc', 'kind');
SELECT add_variant('figures', 'doc', 'circle', '{"required": ["radius"], "additionalProperties": false, "properties": {"radius": {"type": "number"}}}');
SELECT add_variant('figures', 'doc', 'square', '{"required": ["side"], "additionalProperties": false, "properties": {"side": {"type": "number"}}}');
INSERT INTO figures VALUES (1, '{"kind": "circle", "radius": 2}'), (2, NULL);
UPDATE figures SET doc = doc || '{"kind": "square"}' WHERE id = 1;
UPDATE figures SET doc = doc || '{"kind": "square", "side": 3}' WHERE id = 1;
UPDATE figures SET doc = doc - 'radius' || '{"kind": "square", "side": 3}' WHERE id = 1;
INSERT INTO figures VALUES (3, '{"kind": "hexagon"}');
INSERT INTO figures VALUES (3, '["circle"]');
SELECT add_variant('figures', 'doc', 'hexagon', '{}');
INSERT INTO figures VALUES (3, '{"kind": "hexagon"}');

-- a variant is not dropped while it has documents, nor added twice; replacing its schema looks at its documents
SELECT drop_variant('figures', 'doc', 'hexagon');
SELECT add_variant('figures', 'doc', 'hexagon', '{}');
SELECT add_variant('figures', 'doc', 'hexagon', '{"required": ["side"]}', replace => true);
SELECT add_variant('figures', 'doc', 'hexagon', '{"required": ["kind"]}', replace => true);
DELETE FROM figures WHERE id = 3;
SELECT drop_variant('figures', 'doc', 'hexagon');
SELECT drop_variant('figures', 'doc', 'hexagon');
SELECT drop_variant('figures', 'doc', 'hexagon', if_exists => true);
INSERT INTO figures VALUES (3, '{"kind": "hexagon"}');

-- numbers and booleans name variants as well
CREATE TABLE versions (doc jsonb);
SELECT create_polymorphic('versions', 'doc', 'schema_version'), add_variant('versions', 'doc', '1', '{}'), add_variant('versions', 'doc', '2', '{"required": ["new"]}', 'version_2');
INSERT INTO versions VALUES ('{"schema_version": 1}'), ('{"schema_version": 2, "new": true}'), ('{"schema_version": "1"}');
INSERT INTO versions VALUES ('{"schema_version": 2}');
INSERT INTO versions VALUES ('{"schema_version": 3}');
SELECT count(*) FROM version_2;

-- a table with documents comes under the pattern variant by variant, and is valid with the last
CREATE VIEW state AS SELECT conrelid::regclass::text AS relation, convalidated AS valid FROM pg_constraint WHERE pg_get_constraintdef(oid) LIKE '%variant_check%' ORDER BY conrelid::regclass::text COLLATE "C";
CREATE TABLE old (id int, doc jsonb);
INSERT INTO old VALUES (1, '{"type": "a", "n": 1}'), (2, '{"type": "b"}'), (3, '{"type": "c"}'), (4, '{}'), (5, NULL);
SELECT create_polymorphic('old', 'doc');
DELETE FROM old WHERE id = 4;
SELECT create_polymorphic('old', 'doc');
SELECT add_variant('old', 'doc', 'a', '{"properties": {"n": {"type": "string"}}}');
SELECT add_variant('old', 'doc', 'a', '{"properties": {"n": {"type": "number"}}}');
SELECT valid FROM state WHERE relation = 'old';
UPDATE old SET doc = doc WHERE id = 2;
SELECT add_variant('old', 'doc', 'b', '{}'), add_variant('old', 'doc', 'c', '{}');
SELECT valid FROM state WHERE relation = 'old';
-- not looked at on request; new rows are, and VALIDATE CONSTRAINT makes up for it
SELECT add_variant('old', 'doc', 'b', '{"required": ["m"]}', validate => false, replace => true);
SELECT valid FROM state WHERE relation = 'old';
INSERT INTO old VALUES (6, '{"type": "b"}');
ALTER TABLE old VALIDATE CONSTRAINT old_doc_variant;
DELETE FROM old WHERE id = 2;
ALTER TABLE old VALIDATE CONSTRAINT old_doc_variant;
SELECT valid FROM state WHERE relation = 'old';
INSERT INTO old VALUES (7, NULL);
SELECT drop_polymorphic('old', 'doc'), create_polymorphic('old', 'doc', validate => false);

-- views: replaced when columns are added, made anew when others change, dropped with the variant
GRANT SELECT ON articles TO PUBLIC;
SELECT add_variant('content', 'doc', 'ARTICLE', '{"properties": {"title": {"bsonType": "string"}, "word_count": {"bsonType": "int"}, "body": {"bsonType": "string"}, "tag": {"bsonType": "string"}}}', replace => true);
SELECT attname, format_type(atttypid, NULL) AS type FROM pg_attribute WHERE attrelid = 'articles'::regclass ORDER BY attnum;
SELECT relacl IS NOT NULL AS granted, reloptions FROM pg_class WHERE oid = 'articles'::regclass;
SELECT add_variant('content', 'doc', 'ARTICLE', '{"properties": {"word_count": {"bsonType": "number"}, "type": {}, "id": {"type": "number"}}}', replace => true, view_name => 'texts');
SELECT attname, format_type(atttypid, NULL) AS type FROM pg_attribute WHERE attrelid = 'texts'::regclass ORDER BY attnum;
SELECT to_regclass('articles');
-- one that was moved stays where it is
CREATE SCHEMA views;
ALTER VIEW texts SET SCHEMA views;
SELECT add_variant('content', 'doc', 'ARTICLE', '{"properties": {"word_count": {"bsonType": "int"}}}', replace => true);
SELECT attname, format_type(atttypid, NULL) AS type FROM pg_attribute WHERE attrelid = 'views.texts'::regclass ORDER BY attnum;
SELECT add_variant('content', 'doc', 'ARTICLE', '{"properties": {"word_count": {"bsonType": "number"}}}', replace => true, view_name => 'texts'), to_regclass('views.texts');
DROP SCHEMA views;
-- other variants' values of another type do not make it fail
SELECT add_variant('content', 'doc', 'NOTE', '{"properties": {"word_count": {"type": "string"}}}');
INSERT INTO content(doc) VALUES ('{"_id": "7", "type": "NOTE", "word_count": "few"}');
SELECT count(*) FROM texts WHERE word_count > 5;
-- a view by hand is left alone, one that others need is not dropped
CREATE VIEW by_hand AS SELECT id FROM content WHERE doc->>'type' = 'NOTE';
CREATE VIEW needs_texts AS SELECT word_count FROM texts;
SELECT drop_polymorphic('content', 'doc');
DROP VIEW needs_texts;
SELECT add_variant('content', 'doc', 'ARTICLE', '{"properties": {"": {}}}', replace => true);
SELECT add_variant('content', 'doc', 'LONG', jsonb_build_object('properties', jsonb_build_object(repeat('x', 64), '{}'::jsonb)), 'long');
SELECT add_variant('content', 'doc', 'LONG', '{}', 'texts');

-- renames are followed
ALTER TABLE content RENAME COLUMN doc TO "The Doc";
ALTER TABLE content RENAME TO "The Content";
CREATE SCHEMA "My-App";
ALTER TABLE "The Content" SET SCHEMA "My-App";
INSERT INTO "My-App"."The Content"("The Doc") VALUES ('{"_id": "8", "type": "VIDEO"}');
SELECT add_variant('"My-App"."The Content"', 'The Doc', 'it''s "quoted" \ and long', '{"properties": {"it''s": {"type": "string"}}}', view_name => 'its');
SELECT * FROM "My-App".its;
INSERT INTO "My-App"."The Content"("The Doc") VALUES ('{"_id": "9", "type": "it''s \"quoted\" \\ and long", "it''s": "here"}');
SELECT * FROM "My-App".its;
SET search_path = '';
INSERT INTO "My-App"."The Content"("The Doc") VALUES ('{"_id": "10", "type": "VIDEO", "title": 1}');
SELECT public.add_variant('"My-App"."The Content"', 'The Doc', 'EMPTY', '{}', 'nothing');
RESET search_path;
SELECT drop_polymorphic('"My-App"."The Content"', 'The Doc');
SELECT to_regclass('"My-App".its'), to_regclass('texts'), to_regclass('by_hand');
INSERT INTO "My-App"."The Content"("The Doc") VALUES ('{"_id": "11", "type": "none"}');
-- the constraint goes with its column
SELECT create_polymorphic('"My-App"."The Content"', 'The Doc', validate => false);
DROP VIEW by_hand;
ALTER TABLE "My-App"."The Content" DROP COLUMN "The Doc" CASCADE;
SELECT count(*) FROM state WHERE relation LIKE '%Content%';

-- partitions, one of which has its columns elsewhere, and children
CREATE TABLE events (at int, doc jsonb) PARTITION BY RANGE (at);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (100);
CREATE TABLE events_2 (gone int, doc jsonb, at int);
ALTER TABLE events_2 DROP COLUMN gone;
ALTER TABLE events ATTACH PARTITION events_2 FOR VALUES FROM (100) TO (200);
SELECT create_polymorphic('events', 'doc'), add_variant('events', 'doc', 'click', '{"required": ["x"]}', 'clicks');
CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM (200) TO (300);
INSERT INTO events VALUES (1, '{"type": "click", "x": 1}'), (101, '{"type": "click", "x": 1}'), (201, '{"type": "click", "x": 1}');
INSERT INTO events VALUES (102, '{"type": "click"}');
INSERT INTO events_2 VALUES ('{"type": "click"}', 102);
INSERT INTO events_3 VALUES (202, '{"type": "tap"}');
SELECT * FROM state WHERE relation LIKE 'events%';
SELECT add_variant('events_2', 'doc', 'tap', '{}');
SELECT drop_polymorphic('events_2', 'doc');
-- a table to be attached must have the constraint
CREATE TABLE events_4 (LIKE events INCLUDING CONSTRAINTS);
ALTER TABLE events ATTACH PARTITION events_4 FOR VALUES FROM (300) TO (400);
SELECT add_variant('events', 'doc', 'tap', '{}');
INSERT INTO events_4 VALUES (302, '{"type": "tap"}'), (303, '{"type": "swipe"}');
SELECT drop_polymorphic('events', 'doc');
SELECT count(*) FROM state WHERE relation LIKE 'events%';
CREATE TABLE parent (doc jsonb);
CREATE TABLE child (extra int) INHERITS (parent);
SELECT create_polymorphic('parent', 'doc'), add_variant('parent', 'doc', 'a', '{}');
INSERT INTO child VALUES ('{"type": "b"}');
SELECT drop_polymorphic('parent', 'doc');

-- a domain; two columns; two tables with the same definition
CREATE DOMAIN document AS jsonb CHECK (jsonb_typeof(VALUE) = 'object');
CREATE TABLE twice (a document, b jsonb);
SELECT create_polymorphic('twice', 'a'), create_polymorphic('twice', 'b'), add_variant('twice', 'a', 'x', '{"required": ["a"]}', 'xs'), add_variant('twice', 'b', 'x', '{"required": ["b"]}');
INSERT INTO twice VALUES ('{"type": "x", "a": 1}', '{"type": "x", "b": 1}');
INSERT INTO twice VALUES ('{"type": "x"}', '{"type": "x", "b": 1}');
INSERT INTO twice VALUES ('{"type": "x", "a": 1}', '{"type": "x"}');
SELECT add_variant('twice', 'a', 'y', '{}', 'ys'), drop_polymorphic('twice', 'b');
SELECT drop_polymorphic('twice', 'a');
CREATE TABLE alike_1 (doc jsonb);
CREATE TABLE alike_2 (doc jsonb);
SELECT create_polymorphic(t, 'doc'), add_variant(t, 'doc', 'a', '{"required": ["n"]}') FROM unnest('{alike_1,alike_2}'::regclass[]) t;
INSERT INTO alike_2 VALUES ('{"type": "a"}');
SELECT variant_check('{"type": "a"}', 'type', '{"a": {}}'), variant_check(NULL, 'type', '{}');
SELECT variant_check('{"type": "a"}', 'type', '{"a": {"required": ["b"]}}');
SELECT variant_check('{"type": "a"}', 'type', '[]');

-- bad arguments
SELECT create_polymorphic(NULL, 'doc');
SELECT create_polymorphic('alike_1', NULL);
SELECT create_polymorphic('alike_1', 'doc', NULL);
SELECT create_polymorphic('alike_1', 'doc', '');
SELECT create_polymorphic('alike_1', 'doc');
SELECT create_polymorphic('alike_1', 'doc', if_not_exists => true);
SELECT create_polymorphic('alike_1', 'nope');
SELECT create_polymorphic('figures', 'id');
SELECT create_polymorphic('state', 'relation');
SELECT create_polymorphic(4294967295::regclass, 'doc');
SELECT add_variant('alike_1', 'doc', NULL, '{}');
SELECT add_variant('alike_1', 'doc', 'b', NULL);
SELECT add_variant('alike_1', 'doc', 'b', '{"properties": {"a": {"type": "text"}}}');
CREATE TABLE plain (doc jsonb);
SELECT add_variant('plain', 'doc', 'b', '{}');
SELECT drop_variant('plain', 'doc', 'b');
SELECT drop_polymorphic('plain', 'doc');
SELECT drop_polymorphic('plain', 'doc', if_exists => true);

-- only the owner defines; who writes needs a right on the table alone, and row security hides nothing from a check
CREATE ROLE regress_polymorphic_owner;
CREATE ROLE regress_polymorphic_writer;
GRANT ALL ON alike_1 TO regress_polymorphic_writer;
SET ROLE regress_polymorphic_writer;
SELECT create_polymorphic('alike_1', 'doc');
SELECT add_variant('alike_1', 'doc', 'b', '{}');
SELECT drop_variant('alike_1', 'doc', 'a');
SELECT drop_polymorphic('alike_1', 'doc');
INSERT INTO alike_1 VALUES ('{"type": "a", "n": 1}');
INSERT INTO alike_1 VALUES ('{"type": "a"}');
RESET ROLE;
GRANT CREATE ON SCHEMA public TO regress_polymorphic_owner;
ALTER TABLE alike_1 OWNER TO regress_polymorphic_owner;
ALTER TABLE alike_1 ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY few ON alike_1 USING (doc @~ '{"n": {"$gt": 5}}');
SET ROLE regress_polymorphic_owner;
SELECT count(*) FROM alike_1;
SELECT drop_variant('alike_1', 'doc', 'a');
SELECT add_variant('alike_1', 'doc', 'a', '{"required": ["m"]}', replace => true);
SELECT add_variant('alike_1', 'doc', 'a', '{"properties": {"n": {"type": "number"}}}', 'alike_a', replace => true);
SELECT count(*) FROM alike_a;
RESET ROLE;
-- a view that another user had made belongs to the owner of the table, and shows each reader what the table does
SELECT add_variant('alike_1', 'doc', 'b', '{"properties": {"n": {"type": "number"}}}', 'alike_b');
SELECT viewowner FROM pg_views WHERE viewname = 'alike_b';
GRANT SELECT ON alike_a TO regress_polymorphic_writer;
SET ROLE regress_polymorphic_writer;
SELECT count(*) FROM alike_a;
RESET ROLE;

-- the discriminator index is compound, as in the texts
CREATE TABLE shows (id int, doc jsonb);
INSERT INTO shows SELECT i, jsonb_build_object('type', (ARRAY['ARTICLE', 'VIDEO', 'PODCAST'])[i % 3 + 1], 'published_at', to_char(timestamp '2026-01-01' + i * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'meta', jsonb_build_object('n', i)) FROM generate_series(1, 3000) i;
SELECT create_discriminator_index('shows', 'doc', 'type', '{published_at}');
ANALYZE shows;
EXPLAIN (COSTS OFF) SELECT * FROM shows WHERE doc->>'type' = 'VIDEO' ORDER BY doc->>'published_at' DESC LIMIT 2;
SELECT doc FROM shows WHERE doc->>'type' = 'VIDEO' ORDER BY doc->>'published_at' DESC LIMIT 2;
SELECT create_discriminator_index('shows', 'doc', 'type', '{published_at}');
SELECT create_discriminator_index('shows', 'doc', 'type', '{published_at}', if_not_exists => true);
SELECT create_discriminator_index('shows', 'doc', 'type', '{meta,n}', descending => false, index_name => 'My Index'), create_discriminator_index('shows', 'doc', 'type');
SELECT create_discriminator_index('shows', 'doc', 'type', '{meta,n}', descending => false);
SELECT indexdef FROM pg_indexes WHERE tablename = 'shows' ORDER BY indexname COLLATE "C";
SELECT create_discriminator_index('shows', 'doc', 'type', NULL);
SELECT create_discriminator_index('shows', 'doc', NULL, '{a}');
SELECT create_discriminator_index('shows', 'doc', 'type', ARRAY['a', NULL]);
SELECT create_discriminator_index('shows', 'id', 'type', '{a}');
SET ROLE regress_polymorphic_writer;
SELECT create_discriminator_index('shows', 'doc', 'type', '{a}');
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA "My-App" CASCADE;
DROP TABLE figures, versions, old, events, parent, twice, alike_1, alike_2, plain, shows CASCADE;
DROP VIEW state;
DROP DOMAIN document;
REVOKE CREATE ON SCHEMA public FROM regress_polymorphic_owner;
DROP ROLE regress_polymorphic_owner, regress_polymorphic_writer;

-- numbers that the columns of a view do not hold, of another variant or from before the schema, are NULL there
CREATE TABLE measures (id int PRIMARY KEY, doc jsonb);
INSERT INTO measures VALUES (7, '{"type": "V", "d": 1e-400}'), (1, '{"type": "V", "n": 3000000000, "d": 1e400, "l": -1e30}'), (2, '{"type": "V", "n": 2147483647, "d": 0.1, "l": 9223372036854775807}'),
	(3, '{"type": "V", "n": -2147483648, "d": 1.7976931348623157e308, "l": -9223372036854775808}'), (4, '{"type": "V", "n": [], "d": [5], "l": [5]}'),
	(5, '{"type": "V", "n": "5", "d": "5", "l": true}'), (6, '{"type": "W", "n": 1e400, "d": 1e-400, "l": 1e400}');
SELECT create_polymorphic('measures', 'doc');
SELECT add_variant('measures', 'doc', 'V', '{"properties": {"n": {"bsonType": "int"}, "d": {"bsonType": "double"}, "l": {"bsonType": "long"}}}', view_name => 'of_v', validate => false);
SELECT * FROM of_v ORDER BY id;
SELECT id FROM of_v WHERE n > 5 OR d > 5 OR l > 5 ORDER BY id;
SELECT replace(pg_get_viewdef('of_v', true), 'measures.', '') AS of_v;
DROP TABLE measures CASCADE;
