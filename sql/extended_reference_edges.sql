--
-- Extended references where copies go wrong easily: keys of all types, the session's
-- settings, what one statement does to both sides, partitions, neighbours
--
-- a key is found as the text that a cast makes of it, whatever its type; what cannot be one is no row
CREATE TYPE colour AS ENUM ('red', 'blue');
CREATE TABLE keys (i2 smallint UNIQUE, i4 int UNIQUE, i8 bigint UNIQUE, o oid UNIQUE, n numeric UNIQUE, u uuid UNIQUE, e colour UNIQUE, b boolean UNIQUE,
	c char(5) UNIQUE, v varchar UNIQUE, nm name UNIQUE, d date UNIQUE, t timestamptz UNIQUE, f float8 UNIQUE, y bytea UNIQUE, name text);
INSERT INTO keys VALUES (-32768, -2147483648, 1234567890123456789, 4294967295, -12.50, '00000000-0000-0000-0000-00000000000a', 'blue', true,
	'ab', 'a b', 'x', '2026-01-02', '2026-01-02 03:04:05+00', 0.1, '\x00ff', 'one');
CREATE TABLE docs (id int, doc jsonb);
CREATE FUNCTION try_key(key_column name, key jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	made jsonb;
BEGIN
	INSERT INTO docs VALUES (1, jsonb_build_object('key', key)) RETURNING doc->'copy' INTO made;
	RETURN made;
EXCEPTION WHEN OTHERS THEN
	RETURN sqlstate;
END $$;
CREATE TABLE tried (n serial, key_column name, key jsonb, expected text);
INSERT INTO tried(key_column, key, expected) VALUES
	('i2', '-32768', 'found'), ('i2', '"-32768"', 'found'), ('i2', '-32769', '23503'), ('i2', '1e3', '23503'), ('i2', '""', '23503'), ('i2', '"1-"', '23503'),
	('i4', '-2147483648', 'found'), ('i4', '2147483648', '23503'), ('i4', '" -2147483648"', '23503'), ('i4', '-2147483648.0', '23503'),
	('i8', '1234567890123456789', 'found'), ('i8', '9223372036854775808', '23503'), ('i8', '99999999999999999999999', '23503'),
	('o', '4294967295', 'found'), ('o', '-1', '23503'), ('o', '4294967296', '23503'),
	('n', '-12.50', 'found'), ('n', '"-12.50"', 'found'), ('n', '-12.5', '23503'), ('n', '"abc"', '23503'), ('n', '"1."', '23503'), ('n', '"1.2.3"', '23503'), ('n', '"NaN"', '23503'),
	('u', '"00000000-0000-0000-0000-00000000000a"', 'found'), ('u', '"00000000-0000-0000-0000-00000000000A"', '23503'), ('u', '"abc"', '23503'),
	('u', '"00000000-0000-0000-0000-00000000000a0"', '23503'),
	('e', '"blue"', 'found'), ('e', '"red"', '23503'), ('e', '"green"', '23503'), ('e', to_jsonb(repeat('x', 100)), '23503'),
	('b', 'true', 'found'), ('b', '"true"', 'found'), ('b', '"t"', '23503'), ('b', 'false', '23503'),
	('c', '"ab"', 'found'), ('c', '"ab   "', '23503'), ('v', '"a b"', 'found'), ('v', '"A B"', '23503'), ('nm', '"x"', 'found'),
	('d', '"2026-01-02"', 'found'), ('d', '"02.01.2026"', '23503'), ('d', '"today"', '23503'),
	('t', '"2026-01-02 03:04:05+00"', 'found'), ('t', '"2026-01-02 12:04:05+09"', '23503'),
	('f', '0.1', 'found'), ('y', '"\\x00ff"', 'found');
DO $$
DECLARE
	c name;
	answer record;
BEGIN
	FOREACH c IN ARRAY '{i2,i4,i8,o,n,u,e,b,c,v,nm,d,t,f,y}'::name[] LOOP
		PERFORM create_extended_reference('docs', 'doc', '{copy}', 'keys', '{key}', '{name}', 'live', c);
		-- the settings of a session do not matter, neither to the copy nor to what follows
		FOR answer IN SELECT t.*, try_key(c, key) AS made FROM tried t WHERE key_column = c ORDER BY n LOOP
			IF answer.made IS DISTINCT FROM (CASE answer.expected WHEN 'found' THEN '{"name": "one"}' ELSE answer.expected END) THEN
				RAISE WARNING '%: % gives %, not %', c, answer.key, answer.made, answer.expected;
			END IF;
		END LOOP;
		SET LOCAL datestyle = 'German';
		SET LOCAL timezone = 'Asia/Tokyo';
		SET LOCAL bytea_output = 'escape';
		SET LOCAL extra_float_digits = -5;
		UPDATE keys SET name = 'two';
		IF EXISTS (SELECT FROM docs WHERE doc #>> '{copy,name}' IS DISTINCT FROM 'two') OR NOT EXISTS (SELECT FROM docs) THEN
			RAISE WARNING '%: a change is not followed', c;
		END IF;
		IF EXISTS (SELECT FROM verify_extended_reference('docs', 'doc', '{copy}')) THEN
			RAISE WARNING '%: a right copy is called wrong', c;
		END IF;
		SET LOCAL datestyle = 'ISO';
		UPDATE keys SET name = 'one';
		DELETE FROM docs;
		PERFORM drop_extended_reference('docs', 'doc', '{copy}');
	END LOOP;
END $$;
SELECT count(*) AS tried FROM tried;
DROP TABLE tried, keys, docs;
DROP FUNCTION try_key;
DROP TYPE colour;
-- values do not depend on the session either; that floats differ is seen with few digits, too
CREATE TABLE readings (id int PRIMARY KEY, at timestamptz[], took interval, raw bytea, factor float8, span tstzrange);
INSERT INTO readings VALUES (1, '{2026-01-01 00:00+00}', '1 day 2 hours', '\x01', 0.1::float4, '[2026-01-01 00:00+00,2026-01-02 00:00+00)');
CREATE TABLE docs (id int, doc jsonb);
SELECT create_extended_reference('docs', 'doc', '{copy}', 'readings', '{key}', '{at,took,raw,factor,span}', 'live');
SET timezone = 'Asia/Tokyo';
SET intervalstyle = 'iso_8601';
SET bytea_output = 'escape';
SET extra_float_digits = -10;
INSERT INTO docs VALUES (1, '{"key": 1}') RETURNING doc;
SELECT current_setting('timezone'), current_setting('bytea_output');
SELECT * FROM verify_extended_reference('docs', 'doc', '{copy}');
UPDATE readings SET factor = 0.10000000149011613;
RESET timezone;
RESET intervalstyle;
RESET bytea_output;
RESET extra_float_digits;
SELECT doc #> '{copy,factor}' AS factor FROM docs;
SELECT * FROM verify_extended_reference('docs', 'doc', '{copy}');
SELECT refresh_extended_reference('docs', 'doc', '{copy}');
DROP TABLE docs, readings CASCADE;
--
-- One statement, or a trigger within it, changes the source
--
CREATE TABLE customers (id int PRIMARY KEY, name text);
CREATE TABLE orders (id int PRIMARY KEY, doc jsonb);
INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bo');
-- documents that were there before, whose reference is none
INSERT INTO orders VALUES (1, '{"c": [1]}'), (2, '{"c": {"_id": 1}}'), (3, '{"c": "one"}');
SELECT create_extended_reference('orders', 'doc', '{x}', 'customers', '{c}', '{name}', 'live', on_delete => 'remove');
SELECT refresh_extended_reference('orders', 'doc', '{x}');
UPDATE orders SET doc = doc || '{"note": 1}' WHERE id = 3;
UPDATE orders SET doc = doc || '{"note": 1}' WHERE id = 1;
UPDATE orders SET doc = doc || '{"c": [2]}' WHERE id = 1;
UPDATE orders SET doc = '{"c": 1}' WHERE id = 1 RETURNING doc;
UPDATE orders SET doc = doc - 'c' WHERE id = 2 RETURNING doc;
-- a source that the same statement makes, changes or deletes
WITH c AS (INSERT INTO customers VALUES (3, 'Cy') RETURNING id) INSERT INTO orders SELECT 4, jsonb_build_object('c', id) FROM c RETURNING doc;
WITH c AS (UPDATE customers SET name = 'Bo!' WHERE id = 2 RETURNING id) INSERT INTO orders SELECT 5, jsonb_build_object('c', id) FROM c;
WITH c AS (DELETE FROM customers WHERE id = 3 RETURNING id) INSERT INTO orders SELECT 6, jsonb_build_object('c', id) FROM c;
SELECT * FROM orders WHERE id > 3 ORDER BY id;
-- a trigger changes the source before each row is inserted
CREATE FUNCTION count_order() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN UPDATE customers SET name = name || '+' WHERE id = 1; RETURN NEW; END$$;
CREATE TRIGGER count_order BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION count_order();
INSERT INTO orders VALUES (7, '{"c": 1}'), (8, '{"c": 1}'), (9, '{"c": 1}');
SELECT doc, count(*) FROM orders WHERE doc->>'c' = '1' GROUP BY doc;
SELECT * FROM verify_extended_reference('orders', 'doc', '{x}');
DROP TABLE orders, customers CASCADE;
DROP FUNCTION count_order;
-- a row may refer to one that its statement inserted before it, and to no later one
CREATE TABLE people (id int PRIMARY KEY, doc jsonb);
SELECT create_extended_reference('people', 'doc', '{boss}', 'people', '{boss_id}', '{name}', 'live');
INSERT INTO people VALUES (1, '{"name": "Ada"}'), (2, '{"name": "Bo", "boss_id": 1}');
INSERT INTO people VALUES (3, '{"name": "Cy", "boss_id": 4}'), (4, '{"name": "Di"}');
UPDATE people SET doc = doc || '{"name": "Eva"}' WHERE id = 1;
SELECT * FROM people ORDER BY id;
DROP TABLE people CASCADE;
--
-- The same container from many documents, and others between them
--
CREATE TABLE customers (id int PRIMARY KEY, name text, city text);
CREATE TABLE orders (id int PRIMARY KEY, doc jsonb);
INSERT INTO customers SELECT g, 'name ' || g, repeat('city', g % 300) FROM generate_series(1, 1500) g;
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,_id}', '{name,city}'),
	create_extended_reference('orders', 'doc', '{d}', 'customers', '{d_id}', '{name,city}'),
	create_extended_reference('orders', 'doc', '{e,f}', 'customers', '{d_id}', '{name,city}');
INSERT INTO orders SELECT g, jsonb_build_object('n', g, 'd_id', 1 + g % 1500, 'c', CASE g % 4
	WHEN 0 THEN jsonb_build_object('_id', 1 + g % 1500)
	WHEN 1 THEN jsonb_build_object('_id', (1 + g % 1500)::text)
	WHEN 2 THEN jsonb_build_object('_id', 1 + g % 1500, 'name', 'by hand')
	ELSE jsonb_build_object('_id', 1 + g % 1500, 'n', g) END)
	|| CASE g % 3 WHEN 0 THEN '{}' WHEN 1 THEN '{"d": null}' ELSE '{"d": {"mine": 1}}' END::jsonb
FROM generate_series(1, 6000) g;
SELECT count(*) AS orders, count(*) FILTER (WHERE doc = jsonb_build_object('n', o.id, 'd_id', c.id,
	'c', jsonb_build_object('name', c.name, 'city', c.city)
		|| CASE WHEN o.id % 4 = 1 THEN jsonb_build_object('_id', c.id::text) ELSE jsonb_build_object('_id', c.id) END
		|| CASE WHEN o.id % 4 = 3 THEN jsonb_build_object('n', o.id) ELSE '{}' END,
	'd', jsonb_build_object('name', c.name, 'city', c.city) || CASE o.id % 3 WHEN 2 THEN '{"mine": 1}' ELSE '{}' END::jsonb,
	'e', jsonb_build_object('f', jsonb_build_object('name', c.name, 'city', c.city)))) AS are_right
FROM orders o JOIN customers c ON c.id = 1 + o.id % 1500;
DROP TABLE orders, customers CASCADE;
--
-- A document that moves to another partition keeps its snapshot; one that is inserted has its own
--
CREATE TABLE customers (id int PRIMARY KEY, name text);
INSERT INTO customers VALUES (1, 'Ada');
CREATE TABLE orders (id int, at int, doc jsonb) PARTITION BY LIST (at);
CREATE TABLE orders_1 PARTITION OF orders FOR VALUES IN (1);
CREATE TABLE orders_2 (gone int, doc jsonb, id int, at int);
ALTER TABLE orders_2 DROP COLUMN gone;
ALTER TABLE orders ATTACH PARTITION orders_2 FOR VALUES IN (2);
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c_id}', '{name}'), create_extended_reference('orders', 'doc', '{d}', 'customers', '{d_id}', '{name:live}');
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'orders_2'::regclass AND tgname = 'extended_reference_01';
INSERT INTO orders VALUES (1, 1, '{"c_id": 1}'), (2, 1, '{"c_id": 1, "d_id": 1}');
UPDATE customers SET name = 'Bo';
-- by an UPDATE that does not name the document, and one that does
UPDATE orders SET at = 2 WHERE id = 1;
UPDATE orders SET at = 2, doc = doc || '{"note": 1}' WHERE id = 2;
SELECT tableoid::regclass, id, doc FROM orders ORDER BY id;
-- with another trigger that writes the document, and in the same transaction as inserts of equal documents
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.doc = NEW.doc || '{"stamp": true}'; RETURN NEW; END$$;
CREATE TRIGGER stamp BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION stamp();
BEGIN;
UPDATE orders SET at = 1 WHERE id = 1;
UPDATE customers SET name = 'Cy';
INSERT INTO orders SELECT 3, 2, doc FROM orders WHERE id = 1;
INSERT INTO orders SELECT 4, 1, doc FROM orders WHERE id = 2;
COMMIT;
SELECT tableoid::regclass, id, doc FROM orders ORDER BY id;
-- in one statement
WITH moved AS (UPDATE orders SET at = 1 WHERE id = 2 RETURNING doc) INSERT INTO orders SELECT 5, 2, '{"c_id": 1}' FROM moved;
MERGE INTO orders o USING (VALUES (3), (6)) v(id) ON o.id = v.id
WHEN MATCHED THEN UPDATE SET at = 1 WHEN NOT MATCHED THEN INSERT VALUES (v.id, 2, '{"c_id": 1}');
SELECT tableoid::regclass, id, doc FROM orders WHERE id IN (2, 3, 5, 6) ORDER BY id;
-- the document cannot be edited on the way
UPDATE orders SET at = 2, doc = jsonb_set(doc, '{c,name}', '"X"') WHERE id = 3;
UPDATE orders SET at = 2, doc = jsonb_set(doc, '{d,name}', '"X"') WHERE id = 2;
SELECT * FROM verify_extended_reference('orders', 'doc', '{d}');
DROP TABLE orders, customers CASCADE;
DROP FUNCTION stamp;
--
-- What cannot be: generated columns, tables that go sooner, references that read what another one writes
--
CREATE TABLE customers (id int PRIMARY KEY, name text, region int);
CREATE TABLE regions (id int PRIMARY KEY, name text);
CREATE TABLE orders (id int PRIMARY KEY, doc jsonb, g jsonb GENERATED ALWAYS AS (doc || '{"g": 1}') STORED);
CREATE TEMP TABLE temporary (id int PRIMARY KEY, doc jsonb);
CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY, doc jsonb);
SELECT create_extended_reference('orders', 'g', '{c}', 'customers', '{c_id}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'temporary', '{c_id}', '{doc}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'unlogged', '{c_id}', '{doc}');
SELECT create_extended_reference('unlogged', 'doc', '{c}', 'temporary', '{c_id}', '{doc}');
SELECT create_extended_reference('temporary', 'doc', '{c}', 'customers', '{c_id}', '{name}', 'live');
SELECT create_extended_reference('temporary', 'doc', '{c}', 'customers', '{c_id}', '{name}');
SELECT create_extended_reference('unlogged', 'doc', '{c}', 'customers', '{c_id}', '{name}', 'live');
SELECT create_extended_reference('orders', 'doc', '{region}', 'regions', '{region,_id}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{}', 'customers', '{c_id}', '{"region AS region"}');
SELECT create_extended_reference('orders', 'doc', '{region,_id}', 'customers', '{c_id}', '{region}');
SELECT create_extended_reference('orders', 'doc', '{region,name}', 'customers', '{c_id}', '{name}');
-- in the other order one reads what the other wrote
SELECT drop_extended_reference('orders', 'doc', '{region}');
SELECT create_extended_reference('orders', 'doc', '{customer}', 'customers', '{c_id}', '{region:live}'),
	create_extended_reference('orders', 'doc', '{region}', 'regions', '{customer,region}', '{name:live}');
INSERT INTO regions VALUES (1, 'north'), (2, 'south');
INSERT INTO customers VALUES (1, 'Ada', 1);
INSERT INTO orders(id, doc) VALUES (1, '{"c_id": 1}');
UPDATE customers SET region = 2;
UPDATE regions SET name = upper(name);
SELECT doc, g FROM orders;
DROP TABLE orders, customers, regions, temporary, unlogged CASCADE;
-- tables that inherit have rows, and triggers, of their own
CREATE TABLE parents (id int PRIMARY KEY, name text);
CREATE TABLE children () INHERITS (parents);
CREATE TABLE orders (id int, doc jsonb);
INSERT INTO parents VALUES (1, 'parent');
INSERT INTO children VALUES (1, 'child'), (2, 'child');
SELECT create_extended_reference('orders', 'doc', '{c}', 'parents', '{c_id}', '{name}', 'live');
INSERT INTO orders VALUES (1, '{"c_id": 1}') RETURNING doc;
INSERT INTO orders VALUES (2, '{"c_id": 2}') RETURNING doc;
SELECT * FROM verify_extended_reference('orders', 'doc', '{c}');
SELECT refresh_extended_reference('orders', 'doc', '{c}', true);
DROP TABLE orders, children, parents CASCADE;
