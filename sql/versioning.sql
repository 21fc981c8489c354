--
-- Schema versions: documents of older versions are upgraded when they are written
--
-- version 1: {"name": "Ada Lovelace"}; 2: {"first", "last"}; 3: {"names": {"first", "last"}}
CREATE FUNCTION upgrade_person(doc jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
SELECT CASE coalesce(doc_version(doc), 1)
	WHEN 1 THEN doc - 'name' || jsonb_build_object('schema_version', 2, 'first', split_part(doc->>'name', ' ', 1), 'last', split_part(doc->>'name', ' ', 2))
	WHEN 2 THEN doc - 'first' - 'last' || jsonb_build_object('schema_version', 3, 'names', jsonb_build_object('first', doc->'first', 'last', doc->'last'))
	END $$;
CREATE TABLE people (id int PRIMARY KEY, doc jsonb, note text);
INSERT INTO people VALUES (1, '{"name": "Ada Lovelace"}'), (2, '{"schema_version": 2, "first": "Grace", "last": "Hopper"}'), (3, NULL),
	(4, '{"schema_version": 3, "names": {"first": "Mary", "last": "Somerville"}}');
SELECT create_versioning('people', 'doc', 3, 'upgrade_person(jsonb)');
\d people
-- what is there is left alone until it is written; a write of another column does not touch it
UPDATE people SET note = 'x';
SELECT id, doc FROM people ORDER BY id;
UPDATE people SET doc = doc || '{"born": 1815}' WHERE id = 1;
INSERT INTO people VALUES (5, '{"name": "Emmy Noether"}'), (6, '{"schema_version": 3.0, "names": {}}');
INSERT INTO people VALUES (5, '{"name": "Emmy N"}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc;
SELECT id, doc FROM people ORDER BY id;
-- readers see the same through a view
CREATE VIEW current_people AS SELECT id, doc_upgrade(doc, 'upgrade_person(jsonb)', 3) AS doc FROM people;
SELECT doc FROM current_people WHERE id IN (2, 3, 4) ORDER BY id;

-- batches, until there is nothing left
INSERT INTO people SELECT n, jsonb_build_object('name', 'Number ' || n) FROM generate_series(10, 14) n;
ALTER TABLE people DISABLE TRIGGER USER;
INSERT INTO people SELECT n, jsonb_build_object('name', 'Number ' || n) FROM generate_series(20, 24) n;
ALTER TABLE people ENABLE TRIGGER USER;
SELECT upgrade_documents('people', 'doc', 4), upgrade_documents('people', 'doc', batch_size => 4), upgrade_documents('people', 'doc');
SELECT count(*) FILTER (WHERE doc_version(doc) = 3) AS current, count(*) FILTER (WHERE doc_version(doc) IS DISTINCT FROM 3) AS others FROM people;
SELECT doc FROM people WHERE id IN (2, 24) ORDER BY id;
-- the next version: no field has none before
CREATE FUNCTION upgrade_person_4(doc jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
SELECT CASE WHEN doc_version(doc) = 3 THEN doc || '{"schema_version": 4}' ELSE upgrade_person(doc) END $$;
SELECT create_versioning('people', 'doc', 4, 'upgrade_person_4(jsonb)');
SELECT create_versioning('people', 'doc', 4, 'upgrade_person_4(jsonb)', replace => true);
CREATE INDEX ON people (doc_version(doc, 'schema_version'));
SELECT upgrade_documents('people', 'doc');
SELECT doc_version(doc), count(*) FROM people GROUP BY 1 ORDER BY 1;

-- what goes wrong: nothing is written
CREATE FUNCTION upgrade_badly(doc jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	RETURN CASE doc->>'bad' WHEN 'null' THEN NULL WHEN 'same' THEN doc WHEN 'back' THEN doc || '{"schema_version": -1}' WHEN 'far' THEN doc || '{"schema_version": 99}'
		WHEN 'text' THEN doc || '{"schema_version": "4"}' WHEN 'error' THEN to_jsonb(1 / (length(doc->>'bad') - 5)) ELSE doc || '{"schema_version": 4}' END;
END $$;
SELECT create_versioning('people', 'doc', 4, 'upgrade_badly(jsonb)', replace => true);
INSERT INTO people VALUES (30, '{"bad": "null"}');
INSERT INTO people VALUES (30, '{"bad": "same"}');
INSERT INTO people VALUES (30, '{"bad": "back", "schema_version": 2}');
INSERT INTO people VALUES (30, '{"bad": "far"}');
INSERT INTO people VALUES (30, '{"bad": "text"}');
INSERT INTO people VALUES (30, '{"bad": "error"}');
INSERT INTO people VALUES (30, '{"schema_version": 5}');
INSERT INTO people VALUES (30, '{"schema_version": "4"}'), (31, '[1]');
INSERT INTO people VALUES (32, '5');
SELECT count(*) FROM people WHERE id >= 30;
SELECT doc_upgrade('{"bad": "same"}', 'upgrade_badly(jsonb)', 4), doc_upgrade(NULL, 'upgrade_badly(jsonb)', 4);
SELECT doc_upgrade('{}', NULL, 4);
SELECT doc_upgrade('{"v": 3}', 'upgrade_badly(jsonb)', 3, 'v') AS current, doc_version('{"v": 2.5}', 'v') AS no_version, doc_version('{"v": 2.0}', 'v') AS two;
SELECT create_versioning('people', 'doc', 4, 'now()', replace => true);
SELECT create_versioning('people', 'doc', 4, 'jsonb_typeof(jsonb)', replace => true);
SELECT create_versioning('people', 'doc', NULL, 'upgrade_badly(jsonb)');
SELECT create_versioning('people', 'doc', 4, NULL);
SELECT create_versioning('people', 'note', 4, 'upgrade_badly(jsonb)');
SELECT create_versioning('people', 'none', 4, 'upgrade_badly(jsonb)');
SELECT create_versioning('current_people', 'doc', 4, 'upgrade_badly(jsonb)');
SELECT upgrade_documents('people', 'doc', 0);
CREATE TABLE plain (id int, doc jsonb);
SELECT upgrade_documents('plain', 'doc');
SELECT drop_versioning('plain', 'doc');
SELECT drop_versioning('plain', 'doc', if_exists => true);
CREATE TRIGGER by_hand BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION upgrade_document();
INSERT INTO plain VALUES (1, '{}');
SELECT upgrade_document();
DROP TABLE plain;

-- names follow; what is needed cannot be dropped
SELECT create_versioning('people', 'doc', 4, 'upgrade_person_4(jsonb)', replace => true);
ALTER TABLE people RENAME TO "The people";
ALTER TABLE "The people" RENAME doc TO "the doc";
ALTER FUNCTION upgrade_person_4(jsonb) RENAME TO "up to 4";
INSERT INTO "The people" VALUES (40, '{"name": "Sofia Kowalewskaja"}');
SELECT "the doc" FROM "The people" WHERE id = 40;
SELECT upgrade_documents('"The people"', 'the doc');
DROP FUNCTION "up to 4";
ALTER TABLE "The people" DROP COLUMN "the doc";
-- rights: a writer needs no more than his right on the table; the owner alone changes the rules
CREATE ROLE versions_app;
GRANT INSERT, SELECT, UPDATE ON "The people" TO versions_app;
ALTER TABLE "The people" ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON "The people" USING (id < 100);
SET ROLE versions_app;
INSERT INTO "The people" VALUES (50, '{"name": "Maria Mitchell"}');
SELECT "the doc" FROM "The people" WHERE id = 50;
SELECT upgrade_documents('"The people"', 'the doc');
SELECT create_versioning('"The people"', 'the doc', 5, '"up to 4"(jsonb)', replace => true);
SELECT drop_versioning('"The people"', 'the doc');
RESET ROLE;
SELECT drop_versioning('"The people"', 'the doc');
INSERT INTO "The people" VALUES (60, '{"name": "as it is"}');
SELECT "the doc" FROM "The people" WHERE id = 60;
DROP TABLE "The people" CASCADE;
DROP ROLE versions_app;

-- neither row security nor a trigger that is disabled keeps documents from a batch
CREATE ROLE versions_owner;
GRANT CREATE ON SCHEMA public TO versions_owner;
CREATE TABLE secured (id int, doc jsonb);
INSERT INTO secured VALUES (1, '{"name": "Ada Lovelace"}'), (2, '{"schema_version": 7}');
SELECT create_versioning('secured', 'doc', 3, 'upgrade_person(jsonb)');
ALTER TABLE secured OWNER TO versions_owner;
ALTER TABLE secured ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY, DISABLE TRIGGER USER;
SET ROLE versions_owner;
SELECT count(*) FROM secured;
SELECT upgrade_documents('secured', 'doc');
SELECT upgrade_documents('secured', 'doc');
RESET ROLE;
SELECT * FROM secured ORDER BY id;
DROP TABLE secured;
REVOKE CREATE ON SCHEMA public FROM versions_owner;
DROP ROLE versions_owner;

-- partitions, of which one has its columns in another order, and is written straight
CREATE TABLE divided (id int, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE division_1 PARTITION OF divided FOR VALUES FROM (0) TO (10);
CREATE TABLE division_2 (doc jsonb, id int);
INSERT INTO division_2 SELECT jsonb_build_object('name', 'Number ' || n), n FROM generate_series(10, 14) n;
ALTER TABLE divided ATTACH PARTITION division_2 FOR VALUES FROM (10) TO (20);
INSERT INTO divided VALUES (1, '{"name": "before it"}');
SELECT create_versioning('divided', 'doc', 3, 'upgrade_person(jsonb)');
INSERT INTO division_2(id, doc) VALUES (15, '{"name": "straight in"}');
SELECT upgrade_documents('divided', 'doc', 3), upgrade_documents('divided', 'doc', 3), upgrade_documents('divided', 'doc', 3);
SELECT id, doc FROM divided ORDER BY id;
DROP TABLE divided;

-- a call that is longer than a second tells how far it is
CREATE FUNCTION upgrade_slowly(doc jsonb) RETURNS jsonb LANGUAGE sql AS $$ SELECT doc || '{"schema_version": 1}' FROM pg_sleep((doc->>'seconds')::float8) $$;
CREATE TABLE slow (doc jsonb);
INSERT INTO slow VALUES ('{"seconds": 1.1}'), ('{"seconds": 0}');
SELECT create_versioning('slow', 'doc', 1, 'upgrade_slowly(jsonb)');
SELECT upgrade_documents('slow', 'doc');
DROP TABLE slow;
DROP FUNCTION upgrade_slowly;
-- a batch of more documents than one statement takes
SET client_min_messages = warning;
CREATE TABLE many (doc jsonb);
INSERT INTO many SELECT jsonb_build_object('name', 'Number ' || n) FROM generate_series(1, 2500) n;
SELECT create_versioning('many', 'doc', 3, 'upgrade_person(jsonb)');
SELECT upgrade_documents('many', 'doc', 2100), upgrade_documents('many', 'doc', 2100), upgrade_documents('many', 'doc');
SELECT doc_version(doc), count(*), count(DISTINCT doc) FROM many GROUP BY 1;
DROP TABLE many;
RESET client_min_messages;
