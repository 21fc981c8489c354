--
-- Extended reference pattern
--
CREATE TABLE customers (id int PRIMARY KEY, name text, phone text, credit text, doc jsonb);
INSERT INTO customers VALUES (1, 'Ada', '555-1', 'A', '{"address": {"city": "Pune", "zip": 1}}'), (2, 'Bo', '555-2', 'B', '{}'), (3, NULL, '555-3', 'C', NULL);
CREATE TABLE orders (id int PRIMARY KEY, doc jsonb);

-- a field is a column, or a path into one; a name may follow, and a mode
SELECT create_extended_reference('orders', 'doc', path => '{customer}', source => 'customers', key => '{customer,_id}',
	fields => '{name,phone:live,"doc.address.city AS shipping_city"}');
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname LIKE 'extended_reference%' ORDER BY tgname;
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'orders'::regclass ORDER BY 1;

-- by INSERT and COPY, the key as a number or as text; what is NULL or missing in the source is null
INSERT INTO orders VALUES (1, '{"customer": {"_id": 1}}'), (2, '{"customer": {"_id": "2", "name": "by hand"}, "n": 1}'), (3, '{"customer": {"_id": 3}}');
COPY orders FROM stdin;
4	{"customer": {"_id": 1}}
5	{"customer": {"_id": null}}
6	{"n": 6}
7	\N
8	[1, 2]
\.
SELECT * FROM orders ORDER BY id;
SELECT * FROM verify_extended_reference('orders', 'doc', '{customer}');

-- no such source row
INSERT INTO orders VALUES (9, '{"customer": {"_id": 9}}');
INSERT INTO orders VALUES (9, '{"customer": {"_id": "one"}}');
INSERT INTO orders VALUES (9, '{"customer": {"_id": "01"}}');
INSERT INTO orders VALUES (9, '{"customer": {"_id": 1.0}}');
INSERT INTO orders VALUES (9, '{"customer": {"_id": 99999999999999999999}}');
INSERT INTO orders VALUES (9, '{"customer": {"_id": [1]}}');
UPDATE orders SET doc = '{"customer": {"_id": 9}}' WHERE id = 6;

-- the source changes: live fields follow, snapshots stay, in all documents, in one statement
UPDATE customers SET name = name || '!', phone = phone || '!';
SELECT id, doc FROM orders WHERE id < 5 ORDER BY id;
-- new documents have the new name
INSERT INTO orders VALUES (9, '{"customer": {"_id": 1}}') RETURNING doc;
-- a change of nothing that is copied live rewrites nothing, nor does one that is none
SELECT xmin AS before, ctid AS place FROM orders WHERE id = 1 \gset
UPDATE customers SET credit = 'Z', name = 'Ada Lovelace', phone = phone WHERE id = 1;
SELECT xmin = :'before'::xid AND ctid = :'place'::tid AS untouched FROM orders WHERE id = 1;

-- copies cannot be edited
UPDATE orders SET doc = jsonb_set(doc, '{customer,name}', '"X"') WHERE id = 1;
UPDATE orders SET doc = doc #- '{customer,phone}' WHERE id = 1;
UPDATE orders SET doc = doc - 'customer' || '{"customer": {"_id": 1}}' WHERE id = 1;
-- everything else can, and so can the whole document
UPDATE orders SET doc = doc || '{"note": "urgent"}' WHERE id = 1 RETURNING doc;
UPDATE orders SET doc = NULL WHERE id = 4;
UPDATE orders SET doc = '"text"' WHERE id = 9;

-- another reference: a new copy, whatever was edited by hand; none: no copy
UPDATE orders SET doc = jsonb_set(jsonb_set(doc, '{customer,_id}', '2'), '{customer,name}', '"X"') WHERE id = 1 RETURNING doc;
UPDATE orders SET doc = jsonb_set(doc, '{customer,_id}', 'null') WHERE id = 1 RETURNING doc;
UPDATE orders SET doc = doc || '{"customer": {"_id": 1}}' WHERE id = 1 RETURNING doc;
UPDATE orders SET doc = doc - 'customer' WHERE id = 1 RETURNING doc;
UPDATE orders SET doc = '{"customer": {"_id": 1}}' WHERE id = 1 RETURNING doc;

-- upsert: what the INSERT copied is no edit, and a snapshot stays what it was
UPDATE customers SET name = 'Ada King' WHERE id = 1;
INSERT INTO orders VALUES (1, '{"customer": {"_id": 1}, "upserted": true}')
ON CONFLICT (id) DO UPDATE SET doc = excluded.doc RETURNING doc;
INSERT INTO orders VALUES (1, '{"customer": {"_id": 1}}') ON CONFLICT DO NOTHING;
INSERT INTO orders VALUES (1, '{"customer": {"_id": 1}}')
ON CONFLICT (id) DO UPDATE SET doc = jsonb_set(excluded.doc, '{customer,name}', '"X"');
MERGE INTO orders USING (VALUES (1, 7), (10, 7)) AS s(id, n) ON orders.id = s.id
WHEN MATCHED THEN UPDATE SET doc = doc || jsonb_build_object('n', n)
WHEN NOT MATCHED THEN INSERT VALUES (s.id, '{"customer": {"_id": 2}}');
SELECT id, doc FROM orders WHERE id IN (1, 10) ORDER BY id;

-- by default, sources of live copies cannot go
DELETE FROM customers WHERE id = 1;
UPDATE customers SET id = 10 WHERE id = 1;
TRUNCATE customers;
BEGIN;
DELETE FROM orders WHERE doc #>> '{customer,_id}' = '1';
DELETE FROM customers WHERE id = 1;
ROLLBACK;

-- verify and refresh: what another way of writing left behind
SET session_replication_role = replica;
INSERT INTO orders VALUES (11, '{"customer": {"_id": 1}}'), (12, '{"customer": {"_id": 1, "name": "then", "phone": "555", "shipping_city": "then"}}'), (13, '{"customer": {"_id": 99, "name": "gone"}}');
RESET session_replication_role;
SELECT * FROM verify_extended_reference('orders', 'doc', '{customer}') ORDER BY key::int, path;
SELECT refresh_extended_reference('orders', 'doc', '{customer}');
SELECT * FROM verify_extended_reference('orders', 'doc', '{customer}');
SELECT id, doc FROM orders WHERE id IN (11, 12) ORDER BY id;
SELECT refresh_extended_reference('orders', 'doc', '{customer}', include_snapshot => true);
SELECT id, doc FROM orders WHERE id IN (1, 12) ORDER BY id;
SELECT refresh_extended_reference('orders', 'doc', '{customer}', true);
DELETE FROM orders WHERE id = 13;

-- a statement reads each source row once
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS $$SELECT pg_stat_get_xact_numscans('customers_pkey'::regclass)$$;
BEGIN;
SELECT scans() AS before \gset
INSERT INTO orders SELECT 100 + g, jsonb_build_object('customer', jsonb_build_object('_id', 1 + g % 3)) FROM generate_series(1, 300) g;
SELECT scans() - :before AS scans;
ROLLBACK;

-- the copies are what a join gives
INSERT INTO orders SELECT 100 + g, jsonb_build_object('customer', jsonb_build_object('_id', 1 + g % 3)) FROM generate_series(1, 300) g;
UPDATE customers SET phone = 'new ' || id;
SELECT count(*), count(*) FILTER (WHERE o.doc #>> '{customer,phone}' = c.phone) AS equal
FROM orders o JOIN customers c ON c.id = (o.doc #>> '{customer,_id}')::int;

-- it exists; dropping leaves the copies
SELECT create_extended_reference('orders', 'doc', '{customer}', 'customers', '{customer,_id}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{customer}', 'customers', '{customer,_id}', '{name}', if_not_exists => true);
SELECT drop_extended_reference('orders', 'doc', '{customer}');
SELECT drop_extended_reference('orders', 'doc', '{customer}');
SELECT drop_extended_reference('orders', 'doc', '{customer}', if_exists => true);
SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal;
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'orders'::regclass;
UPDATE orders SET doc = jsonb_set(doc, '{customer,name}', '"X"') WHERE id = 1 RETURNING doc;
SELECT verify_extended_reference('orders', 'doc', '{customer}');

--
-- The past does not change (T5-01)
--
CREATE TABLE products (sku text PRIMARY KEY, price numeric, listed timestamptz, tags text[], since date, weight float8);
CREATE TABLE lines (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO products VALUES ('p1', 100.00, '2026-01-01 12:00:00.5+01', '{a,b}', '2026-01-01', 1.5);
SELECT create_extended_reference('lines', 'doc', '{product}', 'products', '{sku}', '{price,listed,tags,since,weight}');
INSERT INTO lines VALUES (1, '{"sku": "p1"}');
UPDATE products SET price = 200 WHERE sku = 'p1';
UPDATE lines SET doc = doc || '{"note": "x"}';
SET timezone = 'Asia/Tokyo';
INSERT INTO lines VALUES (2, '{"sku": "p1"}');
SELECT * FROM verify_extended_reference('lines', 'doc', '{product}');
RESET timezone;
DELETE FROM products;
SELECT * FROM lines ORDER BY id;
SELECT * FROM verify_extended_reference('lines', 'doc', '{product}');
SELECT refresh_extended_reference('lines', 'doc', '{product}', true);
UPDATE lines SET doc = doc - 'sku' WHERE id = 1 RETURNING doc;
-- no index and no trigger on the source
SELECT count(*) FROM pg_index WHERE indrelid = 'lines'::regclass;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'products'::regclass;
INSERT INTO products VALUES ('p2', 'NaN', 'infinity', NULL, NULL, '-Infinity');
INSERT INTO lines VALUES (3, '{"sku": "p2"}') RETURNING doc;
SELECT drop_extended_reference('lines', 'doc', '{product}');

--
-- on_delete
--
TRUNCATE products, lines;
INSERT INTO products(sku, price) VALUES ('p1', 1), ('p2', 2);
SELECT create_extended_reference('lines', 'doc', '{product}', 'products', '{sku}', '{price}', 'live', on_delete => 'remove');
INSERT INTO lines VALUES (1, '{"sku": "p1"}'), (2, '{"sku": "p2", "product": {"mine": 1}}');
DELETE FROM products WHERE sku = 'p1';
UPDATE products SET sku = 'p3' WHERE sku = 'p2';
SELECT * FROM lines ORDER BY id;
-- documents that still refer to it have it when it comes back
INSERT INTO products(sku, price) VALUES ('p1', 11);
UPDATE products SET sku = 'p2' WHERE sku = 'p3';
SELECT * FROM lines ORDER BY id;
TRUNCATE products;
SELECT * FROM lines ORDER BY id;
SELECT * FROM verify_extended_reference('lines', 'doc', '{product}');
SELECT drop_extended_reference('lines', 'doc', '{product}');

INSERT INTO products(sku, price) VALUES ('p1', 1);
SELECT create_extended_reference('lines', 'doc', '{product}', 'products', '{sku}', '{price}', 'live', on_delete => 'keep');
SELECT refresh_extended_reference('lines', 'doc', '{product}');
DELETE FROM products;
SELECT * FROM lines ORDER BY id;
INSERT INTO products(sku, price) VALUES ('p1', 7);
SELECT * FROM lines ORDER BY id;
SELECT drop_extended_reference('lines', 'doc', '{product}');

SELECT create_extended_reference('lines', 'doc', '{product}', 'products', '{sku}', '{price}', on_delete => 'restrict');
DELETE FROM products;
UPDATE products SET price = 8;
SELECT * FROM lines ORDER BY id;
SELECT drop_extended_reference('lines', 'doc', '{product}');

--
-- Live copies of live copies, loops (T5-06)
--
CREATE TABLE a (id int PRIMARY KEY, doc jsonb);
CREATE TABLE b (id int PRIMARY KEY, doc jsonb);
CREATE TABLE c (id int PRIMARY KEY, doc jsonb);
SELECT create_extended_reference('b', 'doc', '{a}', 'a', '{a_id}', '{name}', 'live'),
	create_extended_reference('c', 'doc', '{b}', 'b', '{b_id}', '{"a.name AS \"name of a\""}', 'live');
INSERT INTO a VALUES (1, '{"name": "one"}');
INSERT INTO b VALUES (1, '{"a_id": 1}'), (2, '{"a_id": 1}');
INSERT INTO c VALUES (1, '{"b_id": 1}'), (2, '{"b_id": 2}');
UPDATE a SET doc = '{"name": "uno"}';
SELECT * FROM c ORDER BY id;
-- a would copy what is copied from it; with all of c, it holds its own name twice, which is no loop
SELECT create_extended_reference('a', 'doc', '{}', 'c', '{c_id}', '{"b.name of a AS name"}', 'live');
SELECT create_extended_reference('a', 'doc', '{c}', 'c', '{c_id}', '{doc}', 'live');
SELECT create_extended_reference('a', 'doc', '{friend}', 'a', '{friend_id}', '{friend}', 'live');
-- as a snapshot it is none
SELECT create_extended_reference('a', 'doc', '{}', 'c', '{c_id}', '{"b.name of a AS name"}');
SELECT drop_extended_reference('a', 'doc', '{}'), drop_extended_reference('a', 'doc', '{c}'), drop_extended_reference('c', 'doc', '{b}'), drop_extended_reference('b', 'doc', '{a}');
-- each of two rows copies the other's name
SELECT create_extended_reference('a', 'doc', '{friend}', 'a', '{friend_id}', '{name}', 'live');
INSERT INTO a VALUES (2, '{"name": "two", "friend_id": 1}');
UPDATE a SET doc = doc || '{"friend_id": 2}' WHERE id = 1;
UPDATE a SET doc = doc || '{"name": "ein"}' WHERE id = 1;
UPDATE a SET doc = doc || '{"name": "zwei"}' WHERE id = 2;
SELECT * FROM a ORDER BY id;
SELECT * FROM verify_extended_reference('a', 'doc', '{friend}');
SELECT drop_extended_reference('a', 'doc', '{friend}');
DROP TABLE a, b, c;

--
-- What is wrong with a definition
--
CREATE VIEW v AS SELECT * FROM customers;
CREATE TABLE two_keys (a int, b int, doc jsonb, other jsonb, PRIMARY KEY (a, b));
SELECT create_extended_reference(NULL, 'doc', '{c}', 'customers', '{c,id}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{c}', NULL, '{c,id}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', NULL);
SELECT create_extended_reference('orders', 'nothing', '{c}', 'customers', '{c,id}', '{name}');
SELECT create_extended_reference('orders', 'id', '{c}', 'customers', '{c,id}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'v', '{c,id}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'two_keys', '{c,id}', '{a}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{name}', source_key => 'name');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{name}', source_key => 'nothing');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{c,NULL}', 'customers', '{c,id}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{name,NULL}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{name}', mode => 'alive');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{name:alive}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{name}', on_delete => 'cascade');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{name,"phone AS name"}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id,n}', '{"name AS id"}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{name.first}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{" : live"}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c,id}', '{name AS a.b}');
SELECT create_extended_reference('orders', 'doc', '{c}', 'two_keys', '{c,id}', '{nothing}', source_key => 'a');
SELECT extended_reference_copy();
CREATE TRIGGER wrong AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION extended_reference_copy();
INSERT INTO orders VALUES (1000, '{}');
DROP TRIGGER wrong ON orders;
CREATE TRIGGER wrong BEFORE INSERT OR UPDATE OF doc ON orders FOR EACH ROW EXECUTE FUNCTION extended_reference_copy('{c}', '{id}', 'keep', '{live,name}');
INSERT INTO orders VALUES (1000, '{}');
DROP TRIGGER wrong ON orders;
CREATE TRIGGER wrong BEFORE INSERT OR UPDATE OF doc ON orders FOR EACH ROW WHEN (pattern_target('customers')) EXECUTE FUNCTION extended_reference_copy('{c}', '{id}', 'keep', '{live,name}');
INSERT INTO orders VALUES (1000, '{}');
DROP TRIGGER wrong ON orders;
DROP TABLE customers, orders, products, lines, two_keys CASCADE;
