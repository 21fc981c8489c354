-- Computed fields where something is not as it mostly is: keys of two types,
-- definitions one behind the other, triggers that were lost, functions and search
-- paths, collations, publications.
SET client_min_messages = warning;
CREATE SCHEMA strange;
SET search_path = strange, public;

-- parents' keys are wider than those of the rows, and some have no like among them
CREATE TABLE strange_wide (id bigint PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE strange_narrow (id int GENERATED ALWAYS AS IDENTITY, parent smallint, v int);
CREATE INDEX ON strange_narrow (parent);
CREATE VIEW strange_wide_sums AS SELECT parent, count(*) AS n, sum(v) AS s, array_agg(v ORDER BY v) AS all_v FROM strange_narrow GROUP BY parent;
INSERT INTO strange_wide (id) VALUES (-1), (70000);
SELECT create_computed('strange_wide', 'doc', 'strange_wide_sums', 'parent', mode => 'queued');
INSERT INTO strange_narrow (parent, v) VALUES (1, 10), (1, 20), (-1, 30);
-- 65537, and 4294967297, are 1 in their last bits
INSERT INTO strange_wide (id) VALUES (1), (65537), (4294967297);
SELECT refresh_computed('strange_wide');
SELECT id, doc - '_computed' AS doc FROM strange_wide ORDER BY id;
UPDATE strange_wide SET id = 131073 WHERE id = 1;
SELECT doc - '_computed' AS doc FROM strange_wide WHERE id = 131073;
SELECT * FROM verify_computed('strange_wide');
SELECT refresh_computed('strange_wide', keys => '{-1,4294967297}');
-- and narrower
CREATE TABLE strange_short (id smallint PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE strange_long (parent bigint, v int);
CREATE VIEW strange_short_sums AS SELECT parent, count(*) AS n FROM strange_long GROUP BY parent;
INSERT INTO strange_long VALUES (1, 1), (65537, 1), (-2, 1), (NULL, 1);
INSERT INTO strange_short (id) VALUES (1), (-2);
SELECT create_computed('strange_short', 'doc', 'strange_short_sums', 'parent');
INSERT INTO strange_long VALUES (-2, 1), (3, 1), (65537, 1);
INSERT INTO strange_short (id) VALUES (3);
UPDATE strange_short SET id = 2 WHERE id = 1;
SELECT id, doc - '_computed' AS doc FROM strange_short ORDER BY id;
SELECT * FROM verify_computed('strange_short');

-- types that compare but do not have each other's values
CREATE TABLE strange_times (id timestamp PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE strange_days (day date, v int);
CREATE VIEW strange_days_sums AS SELECT day, count(*) AS n FROM strange_days GROUP BY day;
SELECT create_computed('strange_times', 'doc', 'strange_days_sums', 'day');
CREATE TABLE strange_names (id name PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE strange_texts (parent text, v int);
CREATE VIEW strange_texts_sums AS SELECT parent, count(*) AS n FROM strange_texts GROUP BY parent;
SELECT create_computed('strange_names', 'doc', 'strange_texts_sums', 'parent');

-- the index has another collation than the column, if there is one
SELECT coalesce((SELECT collname FROM pg_collation WHERE collname = 'en-x-icu'), 'C') AS other \gset
CREATE TABLE strange_order (id text COLLATE "C", doc jsonb NOT NULL DEFAULT '{}');
CREATE UNIQUE INDEX ON strange_order (id COLLATE :"other");
CREATE TABLE strange_ordered (parent text COLLATE "C", v int);
INSERT INTO strange_order (id) VALUES ('a'), ('B'), ('c'), ('D');
INSERT INTO strange_ordered VALUES ('a', 1), ('B', 1), ('c', 1), ('D', 1), ('D', 1);
CREATE VIEW strange_order_counts AS SELECT parent, count(*) AS n FROM strange_ordered GROUP BY parent;
SELECT create_computed('strange_order', 'doc', 'strange_order_counts', 'parent', parent_key => 'id');
SELECT id, doc -> 'n' AS n FROM strange_order ORDER BY id;
SELECT * FROM verify_computed('strange_order');

-- what is computed of one table is computed of again: two levels, and a tree
CREATE TABLE strange_countries (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE strange_cities (id int PRIMARY KEY, country int, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE strange_people (id int PRIMARY KEY, city int);
CREATE VIEW strange_city AS SELECT city, count(*) AS people FROM strange_people GROUP BY city;
CREATE VIEW strange_country AS SELECT country, sum((doc ->> 'people')::int) AS people FROM strange_cities GROUP BY country;
SELECT create_computed('strange_cities', 'doc', 'strange_city', 'city'), create_computed('strange_countries', 'doc', 'strange_country', 'country');
INSERT INTO strange_countries (id) VALUES (1), (2);
INSERT INTO strange_cities (id, country) VALUES (1, 1), (2, 1), (3, 2);
INSERT INTO strange_people SELECT g, 1 + g % 3 FROM generate_series(1, 10) g;
UPDATE strange_people SET city = 3 WHERE id = 1;
DELETE FROM strange_people WHERE id = 2;
SELECT id, doc -> 'people' AS people FROM strange_countries ORDER BY id;
SELECT * FROM verify_computed('strange_countries') UNION ALL SELECT * FROM verify_computed('strange_cities');
CREATE TABLE strange_tree (id int PRIMARY KEY, up int, doc jsonb NOT NULL DEFAULT '{"own": 1}');
CREATE VIEW strange_below AS
SELECT up, sum((doc ->> 'own')::int + coalesce((doc ->> 'below')::int, 0)) AS below FROM strange_tree GROUP BY up;
SELECT create_computed('strange_tree', 'doc', 'strange_below', 'up');
INSERT INTO strange_tree (id, up) VALUES (1, NULL), (2, 1), (3, 2), (4, 3), (5, 3);
INSERT INTO strange_tree (id, up) VALUES (6, 5);
UPDATE strange_tree SET doc = '{"own": 10}' WHERE id = 6;
DELETE FROM strange_tree WHERE id = 4;
UPDATE strange_tree SET up = 1 WHERE id = 5;
SELECT id, up, doc -> 'below' AS below FROM strange_tree ORDER BY id;
SELECT * FROM verify_computed('strange_tree');

-- a domain's condition on documents is kept
CREATE DOMAIN strange_document AS jsonb CHECK (coalesce((VALUE ->> 'n')::int, 0) < 3);
CREATE TABLE strange_domain (id int PRIMARY KEY, doc strange_document NOT NULL DEFAULT '{}');
CREATE TABLE strange_rows (parent int, v int);
CREATE VIEW strange_rows_count AS SELECT parent, count(*) AS n FROM strange_rows GROUP BY parent;
SELECT create_computed('strange_domain', 'doc', 'strange_rows_count', 'parent');
INSERT INTO strange_domain (id) VALUES (1);
INSERT INTO strange_rows VALUES (1, 1), (1, 2);
INSERT INTO strange_rows VALUES (1, 3);
SELECT doc - '_computed' AS doc FROM strange_domain;

-- what fails over no rows fails at once
CREATE VIEW strange_rate AS SELECT parent, 100 / count(*) AS rate FROM strange_rows GROUP BY parent;
CREATE TABLE strange_rates (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
\set VERBOSITY terse
SELECT create_computed('strange_rates', 'doc', 'strange_rate', 'parent', populate => false);
\set VERBOSITY default

-- a minimum that is none, written while triggers did not fire
CREATE TABLE strange_least (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE VIEW strange_minimum AS SELECT parent, min(v) AS least, min(v::numeric / 2) AS half FROM strange_rows GROUP BY parent;
SELECT create_computed('strange_least', 'doc', 'strange_minimum', 'parent');
INSERT INTO strange_least (id) VALUES (1);
DELETE FROM strange_rows WHERE v = 2;
SET session_replication_role = replica;
UPDATE strange_least SET doc = doc || '{"least": "none", "half": "x"}';
RESET session_replication_role;
INSERT INTO strange_rows VALUES (1, 7);
SELECT doc - '_computed' AS doc FROM strange_least;
DELETE FROM strange_rows WHERE v = 7;
SET session_replication_role = replica;
UPDATE strange_least SET doc = doc || '{"least": 1e30, "half": true}';
RESET session_replication_role;
INSERT INTO strange_rows VALUES (1, 8);
SELECT doc - '_computed' AS doc FROM strange_least;

-- drop_computed, whatever has become of the view and of the triggers
CREATE TABLE strange_kept (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE strange_base (parent int, v int);
CREATE VIEW strange_count AS SELECT parent, count(*) AS n FROM strange_base GROUP BY parent;
SELECT create_computed('strange_kept', 'doc', 'strange_count', 'parent');
CREATE OR REPLACE VIEW strange_count AS SELECT parent, count(*) AS n FROM strange_base GROUP BY parent HAVING count(*) > 1;
INSERT INTO strange_base VALUES (1, 1);
SELECT drop_computed('strange_kept', 'strange_count');
INSERT INTO strange_base VALUES (1, 1);
CREATE OR REPLACE VIEW strange_count AS SELECT parent, count(*) AS n FROM strange_base GROUP BY parent;
SELECT create_computed('strange_kept', 'doc', 'strange_count', 'parent', mode => 'queued');
DROP TRIGGER computed_strange_count_flush ON strange_base;
INSERT INTO strange_base VALUES (1, 1);
SELECT drop_computed('strange_kept', 'strange_count');
INSERT INTO strange_base VALUES (1, 1);
SELECT create_computed('strange_kept', 'doc', 'strange_count', 'parent');
ALTER TABLE strange_kept DROP COLUMN doc CASCADE;
INSERT INTO strange_base VALUES (1, 1);
SELECT drop_computed('strange_kept', 'strange_count');
INSERT INTO strange_base VALUES (1, 1);
SELECT drop_computed('strange_kept', 'strange_count');
SELECT tgname FROM pg_trigger WHERE tgrelid IN ('strange_kept'::regclass, 'strange_base'::regclass);

-- a publication of all tables does not keep a queue from being read
SET client_min_messages = error;
CREATE PUBLICATION strange_all FOR ALL TABLES;
INSERT INTO strange_narrow (parent, v) VALUES (-1, 70);
SELECT refresh_computed('strange_wide');
DROP PUBLICATION strange_all;
SET client_min_messages = warning;
SELECT doc - '_computed' AS doc FROM strange_wide WHERE id = -1;

-- functions of the owner's run as he, and do not find what the writer has
CREATE ROLE strange_owner;
CREATE ROLE strange_writer;
CREATE SCHEMA strange_owned AUTHORIZATION strange_owner;
CREATE SCHEMA strange_trap AUTHORIZATION strange_writer;
GRANT USAGE ON SCHEMA strange_owned, strange_trap TO public;
SET ROLE strange_owner;
CREATE FUNCTION strange_owned.next(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1 + 1; END';
CREATE FUNCTION strange_owned.inlined(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 + 1';
CREATE TABLE strange_owned.parents (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE strange_owned.rows (parent int, v int);
CREATE VIEW strange_owned.sums AS
SELECT parent, sum(strange_owned.next(v)) AS a, sum(strange_owned.inlined(v)) AS b FROM strange_owned.rows GROUP BY parent;
SELECT create_computed('strange_owned.parents', 'doc', 'strange_owned.sums', 'parent');
INSERT INTO strange_owned.parents (id) VALUES (1);
GRANT INSERT ON strange_owned.rows TO strange_writer;
SET ROLE strange_writer;
CREATE FUNCTION strange_trap.plus(int, int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'run as %', current_user; RETURN 42; END $$;
CREATE OPERATOR strange_trap.+ (FUNCTION = strange_trap.plus, LEFTARG = int, RIGHTARG = int);
SET search_path = strange_trap, pg_catalog;
INSERT INTO strange_owned.rows VALUES (1, 1), (1, 2);
RESET search_path;
RESET ROLE;
SELECT doc - '_computed' AS doc FROM strange_owned.parents;
SELECT * FROM verify_computed('strange_owned.parents');
DROP SCHEMA strange, strange_owned, strange_trap CASCADE;
DROP ROLE strange_owner, strange_writer;
