--
-- Outlier pattern: what create_outlier and drop_outlier do to documents that are there
--
CREATE VIEW triggers AS SELECT tgrelid::regclass AS relation, tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2;

-- where the array, or what it stands in, is gone, the elements of the overflow are there all the same
CREATE TABLE shelves (id int PRIMARY KEY, doc jsonb);
SELECT create_outlier('shelves', 'doc', '{b,list}', 1);
INSERT INTO shelves VALUES (1, '{"b": {"list": [1, 2, 3]}}'), (2, '{"b": {"list": [1, 2]}}'), (3, '{"has_extras": true}'), (4, '{"has_extras": false}'), (5, '["has_extras"]'), (6, NULL);
UPDATE shelves SET doc = doc - 'b' WHERE id = 1;
UPDATE shelves SET doc = doc || '{"b": {"list": "five"}}' WHERE id = 2;
-- nothing is lost for an array that cannot be
SELECT drop_outlier('shelves', 'doc', '{b,list}');
SELECT outlier_push('shelves', 2, '6');
UPDATE shelves SET doc = doc || '{"b": "five"}' WHERE id = 2;
SELECT drop_outlier('shelves', 'doc', '{b,list}');
UPDATE shelves SET doc = doc - 'b' WHERE id = 2;
SELECT drop_outlier('shelves', 'doc', '{b,list}');
SELECT * FROM shelves ORDER BY id;

-- nor for a row that a trigger keeps as it is
SELECT create_outlier('shelves', 'doc', '{b,list}', 1);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep BEFORE UPDATE ON shelves FOR EACH ROW EXECUTE FUNCTION keep();
SELECT drop_outlier('shelves', 'doc', '{b,list}');
-- nor is half of a write kept
INSERT INTO shelves VALUES (7, '{"b": {"list": [1, 2]}}');
INSERT INTO shelves VALUES (8, '{"b": {"list": [1]}}'), (9, '{"b": {"list": []}}');
SELECT outlier_push('shelves', 8, '2');
SELECT outlier_push('shelves', 9, '1');
SELECT id, doc, (SELECT jsonb_agg(e) FROM outlier_elements('shelves', id) e) AS elements FROM shelves WHERE id > 6 ORDER BY id;
DELETE FROM shelves WHERE id > 6;
ALTER TABLE shelves DISABLE TRIGGER keep;
SELECT drop_outlier('shelves', 'doc', '{b,list}');
SELECT doc FROM shelves WHERE id = 1;
DROP TABLE shelves;
DROP FUNCTION keep;

-- row security that is forced hides no document from either; triggers of the owner run as he, not as who calls
CREATE ROLE outlier_owner;
GRANT CREATE ON SCHEMA public TO outlier_owner;
SET ROLE outlier_owner;
CREATE TABLE secured (id int PRIMARY KEY, doc jsonb);
INSERT INTO secured VALUES (1, '{"a": [1, 2, 3]}'), (2, '{"a": [1, 2, 3]}');
CREATE POLICY one ON secured USING (id = 1);
ALTER TABLE secured ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE FUNCTION who() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'row % as %', NEW.id, current_user; RETURN NEW; END $$;
CREATE TRIGGER who BEFORE UPDATE ON secured FOR EACH ROW EXECUTE FUNCTION who();
SELECT create_outlier('secured', 'doc', '{a}', 1);
RESET ROLE;
SELECT * FROM secured ORDER BY id;
SELECT drop_outlier('secured', 'doc', '{a}');
SELECT * FROM secured ORDER BY id;
SELECT create_outlier('secured', 'doc', '{a}', 2);
SET ROLE outlier_owner;
SELECT drop_outlier('secured', 'doc', '{a}');
RESET ROLE;
SELECT * FROM secured ORDER BY id;
DROP TABLE secured;
DROP FUNCTION who;
REVOKE CREATE ON SCHEMA public FROM outlier_owner;
DROP ROLE outlier_owner;

-- outliers of one column share no field
CREATE TABLE two (id int PRIMARY KEY, doc jsonb, other jsonb);
SELECT create_outlier('two', 'doc', '{a}', 1);
SELECT create_outlier('two', 'doc', '{b}', 1);
SELECT create_outlier('two', 'doc', '{b}', 1, flag => 'a');
SELECT create_outlier('two', 'doc', '{has_extras,b}', 1, flag => 'more');
SELECT create_outlier('two', 'doc', '{a,0,b}', 1, flag => 'more');
SELECT create_outlier('two', 'doc', '{ab}', 1, flag => 'more');
SELECT create_outlier('two', 'doc', '{ab,x}', 1, flag => 'more x');
SELECT create_outlier('two', 'doc', '{x,a}', 1, flag => 'more x', overflow => 'two_x_a'), create_outlier('two', 'other', '{a}', 1, overflow => 'two_other_a');
SELECT * FROM triggers;
INSERT INTO two VALUES (1, '{"a": [1, 2], "ab": [3, 4], "x": {"a": [5, 6]}}', '{"a": [7, 8]}');
SELECT * FROM two;
SELECT drop_outlier('two', 'doc', '{a}'), drop_outlier('two', 'doc', '{ab}'), drop_outlier('two', 'other', '{a}');
SELECT doc, other, (SELECT jsonb_agg(e) FROM outlier_elements('two', 1) e) AS x FROM two;
DROP TABLE two CASCADE;
DROP TABLE two_x_a;

-- the column may be of a domain
CREATE DOMAIN document AS jsonb CHECK (jsonb_typeof(VALUE) = 'object');
CREATE TABLE domains (id int PRIMARY KEY, doc document);
INSERT INTO domains VALUES (1, '{"a": [1, 2]}');
SELECT create_outlier('domains', 'doc', '{a}', 1);
INSERT INTO domains VALUES (2, '{"a": [1, 2, 3]}');
SELECT outlier_push('domains', 2, '4');
SELECT id, doc, (SELECT jsonb_agg(e) FROM outlier_elements('domains', id) e) AS elements FROM domains ORDER BY id;
SELECT drop_outlier('domains', 'doc', '{a}');
SELECT * FROM domains ORDER BY id;
DROP TABLE domains;
DROP DOMAIN document;

-- a row that goes to another partition keeps its overflow; a document that is replaced meanwhile would keep the wrong one
CREATE TABLE divided (id int PRIMARY KEY, doc jsonb, note text) PARTITION BY RANGE (id);
CREATE TABLE division_1 PARTITION OF divided FOR VALUES FROM (0) TO (10);
CREATE TABLE division_2 PARTITION OF divided FOR VALUES FROM (10) TO (20);
SELECT create_outlier('divided', 'doc', '{a}', 1);
INSERT INTO divided VALUES (1, '{"a": [1, 2]}'), (2, '{"a": [1, 2]}'), (3, '{"a": [1]}');
UPDATE divided SET id = 11, doc = doc <~ '{"$push": {"a": 3}}' WHERE id = 1;
UPDATE divided SET id = 12, doc = '{"a": [7, 8]}' WHERE id = 2;
UPDATE division_1 SET id = 4, doc = NULL WHERE id = 2;
UPDATE divided SET id = 13, doc = '{"a": [7, 8]}' WHERE id = 3;
UPDATE divided SET doc = '{"a": [9]}' WHERE id = 2;
UPDATE divided SET id = 12, note = 'moved' WHERE id = 2;
SELECT id, doc, (SELECT jsonb_agg(e) FROM outlier_elements('divided', id) e) AS elements FROM divided ORDER BY id;
SELECT drop_outlier('divided', 'doc', '{a}');
SELECT * FROM divided ORDER BY id;
SELECT * FROM triggers;
DROP TABLE divided;

-- what a write that no trigger saw has left in the overflow does not count
CREATE TABLE unseen (id int PRIMARY KEY, doc jsonb);
SELECT create_outlier('unseen', 'doc', '{a}', 1);
INSERT INTO unseen SELECT n, '{"a": [1, 2]}' FROM generate_series(1, 4) n;
SET session_replication_role = replica;
UPDATE unseen SET doc = CASE id WHEN 4 THEN NULL ELSE '{"a": [7]}'::jsonb END;
RESET session_replication_role;
SELECT count(*) FROM unseen_a;
SELECT outlier_push('unseen', 1, '8');
UPDATE unseen SET doc = doc <~ '{"$push": {"a": 8}}' WHERE id = 2;
SELECT id, doc, (SELECT jsonb_agg(e) FROM outlier_elements('unseen', id) e) AS elements FROM unseen ORDER BY id;
SELECT drop_outlier('unseen', 'doc', '{a}');
SELECT * FROM unseen ORDER BY id;
DROP TABLE unseen;

-- nothing is found through the search path
CREATE SCHEMA mischief;
CREATE FUNCTION mischief.nothing(jsonb, text) RETURNS jsonb LANGUAGE sql AS 'SELECT NULL::pg_catalog.jsonb';
CREATE FUNCTION mischief.never(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE FUNCTION mischief.never(tid, tid) RETURNS boolean LANGUAGE sql AS 'SELECT false';
CREATE FUNCTION mischief.jsonb_array_elements(jsonb) RETURNS SETOF jsonb LANGUAGE sql AS 'SELECT NULL::pg_catalog.jsonb';
CREATE OPERATOR mischief.-> (LEFTARG = jsonb, RIGHTARG = text, FUNCTION = mischief.nothing);
CREATE OPERATOR mischief.- (LEFTARG = jsonb, RIGHTARG = text, FUNCTION = mischief.nothing);
CREATE OPERATOR mischief.= (LEFTARG = int, RIGHTARG = int, FUNCTION = mischief.never);
CREATE OPERATOR mischief.= (LEFTARG = tid, RIGHTARG = tid, FUNCTION = mischief.never);
CREATE TYPE mischief.jsonb AS (a int);
CREATE TYPE mischief.text AS (a int);
CREATE FUNCTION next_version(doc jsonb) RETURNS jsonb LANGUAGE sql AS $$ SELECT doc || '{"schema_version": 2}' $$;
CREATE TABLE target (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE target_1 PARTITION OF target FOR VALUES FROM (0) TO (10);
INSERT INTO target VALUES (1, '{"a": [1, 2, 3]}');
SET search_path = mischief, pg_catalog;
SELECT public.create_outlier('public.target', 'doc', '{a}', 1), public.create_versioning('public.target', 'doc', 2, 'public.next_version(pg_catalog.jsonb)');
SELECT public.upgrade_documents('public.target', 'doc');
SELECT public.outlier_push('public.target', 1, '4');
UPDATE public.target SET doc = doc || '{"a": [0, 5]}', id = 2;
SELECT pg_catalog.jsonb_agg(e) FROM public.outlier_elements('public.target', 2) e;
SELECT public.drop_outlier('public.target', 'doc', '{a}'), public.drop_versioning('public.target', 'doc');
RESET search_path;
SELECT * FROM target;
-- nor by a name that has changed
ALTER TABLE target SET SCHEMA mischief;
SELECT create_outlier('mischief.target', 'doc', '{a}', 1);
ALTER SCHEMA mischief RENAME TO "the mischief";
SELECT outlier_push('"the mischief".target', 2, '6'), (SELECT jsonb_agg(e) FROM outlier_elements('"the mischief".target', 2) e) AS before_it;
SELECT drop_outlier('"the mischief".target', 'doc', '{a}');
SELECT doc FROM "the mischief".target;
SET client_min_messages = warning;
DROP SCHEMA "the mischief" CASCADE;
RESET client_min_messages;
DROP FUNCTION next_version;
DROP VIEW triggers;
