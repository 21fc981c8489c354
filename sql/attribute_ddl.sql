--
-- create_attribute_index and drop_attribute_index
--
CREATE TABLE products (id int PRIMARY KEY, doc jsonb NOT NULL, specs jsonb, title text);
INSERT INTO products SELECT g, jsonb_build_object('specs', s), s, 'Product ' || g
FROM (SELECT g, jsonb_build_array(jsonb_build_object('k', 'size', 'v', g % 50), jsonb_build_object('k', 'color', 'v', (ARRAY['red', 'blue', 'green'])[g % 3 + 1])) AS s FROM generate_series(1, 1000) g) p;

-- what a relation has of ours: indexes and statistics, as a user sees them
CREATE VIEW made AS
SELECT c.relname::text AS relation, 'index' AS kind, i.indexrelid::regclass::text AS name, regexp_replace(pg_get_indexdef(i.indexrelid), '.* USING ', '') AS definition
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_opclass o ON o.oid = i.indclass[0] WHERE o.opcname LIKE 'jsonb_attribute%'
UNION ALL
SELECT c.relname, 'statistics', s.stxname, regexp_replace(pg_get_statisticsobjdef(s.oid), '.* ON ', '')
FROM pg_statistic_ext s JOIN pg_class c ON c.oid = s.stxrelid WHERE pg_get_statisticsobjdef(s.oid) LIKE '%attribute_terms%';

-- the column itself, then a path of another column beside a GIN index; each says what it chose
SELECT create_attribute_index('products', 'specs');
CREATE INDEX products_doc ON products USING gin (doc jsonb_path_ops);
SELECT create_attribute_index('products', 'doc', '{specs}');
SELECT create_attribute_index(relation => 'products', column_name => 'doc', path => '{a.b,"c\"d"}', key_name => 'name', value_name => 'the value', index_name => 'My Index');
SELECT * FROM made ORDER BY relation COLLATE "C", kind, name COLLATE "C";

-- they exist: an error, or a notice
SELECT create_attribute_index('products', 'specs');
SELECT create_attribute_index('products', 'specs', if_not_exists => true);
-- other fields make another index; the name must be free
SELECT create_attribute_index('products', 'specs', key_name => 'name', if_not_exists => true);
SELECT create_attribute_index('products', 'specs', '{x}', index_name => 'My Index');

-- dropped by path: all of that path, and their statistics
SELECT drop_attribute_index('products', 'specs');
SELECT drop_attribute_index('products', 'specs');
SELECT drop_attribute_index('products', 'specs', if_exists => true);
SELECT drop_attribute_index('products', 'doc', '{a.b,"c\"d"}');
SELECT * FROM made ORDER BY relation COLLATE "C", kind, name COLLATE "C";

-- an index made by hand, as CREATE INDEX CONCURRENTLY would, only lacks its statistics
CREATE INDEX by_hand ON products USING gin (specs jsonb_attribute_contains_ops (key = 'k', path = ''));
SELECT create_attribute_index('products', 'specs');
SELECT create_attribute_index('products', 'specs', if_not_exists => true);
DROP INDEX by_hand;
SELECT drop_attribute_index('products', 'specs') AS statistics_alone;
-- quotes that a path does not need make no difference
CREATE INDEX by_hand ON products USING gin (specs jsonb_attribute_ops (path = '"a".b'));
SELECT create_attribute_index('products', 'specs', '{a,b}');
SELECT drop_attribute_index('products', 'specs', '{a,b}');
-- a partial one is not what is asked for
CREATE INDEX partial ON products USING gin (specs jsonb_attribute_ops) WHERE id > 10;
SELECT create_attribute_index('products', 'specs');
SELECT drop_attribute_index('products', 'specs');
DROP INDEX partial;

-- both follow renames, and go with the column
ALTER TABLE products RENAME COLUMN doc TO "The Doc";
ALTER TABLE products RENAME TO "The Products";
SELECT * FROM made ORDER BY relation COLLATE "C", kind, name COLLATE "C";
SELECT create_attribute_index('"The Products"', 'The Doc', '{specs}', if_not_exists => true);
ALTER TABLE "The Products" DROP COLUMN "The Doc";
SELECT count(*) FROM made;

-- long names
CREATE TABLE a_table_whose_name_takes_all_of_the_63_bytes_that_a_name_may_ha (a_column_whose_name_takes_all_of_the_63_bytes_that_a_name_may_h jsonb);
SELECT create_attribute_index('a_table_whose_name_takes_all_of_the_63_bytes_that_a_name_may_ha', 'a_column_whose_name_takes_all_of_the_63_bytes_that_a_name_may_h', ARRAY[p]) FROM unnest('{a,b}'::text[]) p;
SELECT kind, name FROM made ORDER BY kind, name COLLATE "C";
DROP TABLE a_table_whose_name_takes_all_of_the_63_bytes_that_a_name_may_ha;

-- partitions, one of which has its columns elsewhere
CREATE TABLE events (at int, doc jsonb) PARTITION BY RANGE (at);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (100);
CREATE TABLE events_2 (gone int, doc jsonb, at int);
ALTER TABLE events_2 DROP COLUMN gone;
ALTER TABLE events ATTACH PARTITION events_2 FOR VALUES FROM (100) TO (200);
SELECT create_attribute_index('events', 'doc', '{specs}');
SELECT create_attribute_index('events', 'doc', '{specs}', if_not_exists => true);
-- a partition that comes later has the index by itself, and its statistics by another call
CREATE TABLE events_3 PARTITION OF events FOR VALUES FROM (200) TO (300);
SELECT create_attribute_index('events', 'doc', '{specs}', if_not_exists => true);
SELECT relation, kind, name FROM made ORDER BY relation COLLATE "C", kind;
SELECT drop_attribute_index('events', 'doc', '{specs}');
SELECT count(*) FROM made;

-- a large table: writers would wait, and the notice says how they need not
CREATE TABLE large (doc jsonb, filler text);
ALTER TABLE large ALTER COLUMN filler SET STORAGE PLAIN;
INSERT INTO large SELECT '[{"k": "a", "v": 1}]', repeat('x', 7000) FROM generate_series(1, 8192);
SELECT create_attribute_index('large', 'doc', index_name => 'large_attributes');
DROP TABLE large;

-- bad arguments
SELECT create_attribute_index(NULL, 'specs');
SELECT create_attribute_index('"The Products"', NULL);
SELECT create_attribute_index('"The Products"', 'specs', NULL);
SELECT create_attribute_index('"The Products"', 'specs', key_name => NULL);
SELECT create_attribute_index('"The Products"', 'specs', value_name => NULL);
SELECT create_attribute_index('"The Products"', 'specs', ARRAY['a', NULL]);
SELECT create_attribute_index('"The Products"', 'specs', ARRAY['a', '']);
SELECT create_attribute_index('"The Products"', 'nope');
SELECT create_attribute_index('"The Products"', 'ctid');
SELECT create_attribute_index('"The Products"', 'title');
SELECT create_attribute_index('made', 'definition');
SELECT create_attribute_index(4294967295::regclass, 'specs');
SELECT drop_attribute_index('"The Products"', 'title');
SELECT drop_attribute_index(NULL, NULL);

-- only the owner
CREATE ROLE regress_attribute_stranger;
GRANT ALL ON "The Products" TO regress_attribute_stranger;
SET ROLE regress_attribute_stranger;
SELECT create_attribute_index('"The Products"', 'specs');
SELECT drop_attribute_index('"The Products"', 'specs');
RESET ROLE;
DROP TABLE "The Products", events CASCADE;
DROP ROLE regress_attribute_stranger;
