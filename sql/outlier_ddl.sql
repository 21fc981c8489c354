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
DROP VIEW triggers;
