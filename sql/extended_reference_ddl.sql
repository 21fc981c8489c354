--
-- Extended references when tables change: names, columns, partitions, owners
--
CREATE SCHEMA "My Orders";
CREATE TABLE "My Orders"."Customer Base" ("Id" text PRIMARY KEY, "Full Name" text, city text, extra text);
CREATE TABLE "My Orders"."Order Items" (id int PRIMARY KEY, "Group" jsonb);
INSERT INTO "My Orders"."Customer Base" VALUES ('a.b', 'Ada', 'Pune'), ('é "x"', 'Bo', 'Oslo');
SELECT create_extended_reference('"My Orders"."Order Items"', 'Group', '{a.b,"c\"d"}', '"My Orders"."Customer Base"', '{key of,"a.b"}',
	'{"\"Full Name\" AS \"the name\":live",city}');
INSERT INTO "My Orders"."Order Items" VALUES (1, '{"key of": {"a.b": "a.b"}}'), (2, '{"key of": {"a.b": "é \"x\""}}');
UPDATE "My Orders"."Customer Base" SET "Full Name" = upper("Full Name"), city = 'Rome';
SELECT * FROM "My Orders"."Order Items" ORDER BY id;

-- renamed and moved: the copy is made and followed as before, keys in the document stay
ALTER TABLE "My Orders"."Customer Base" RENAME COLUMN "Full Name" TO title;
ALTER TABLE "My Orders"."Customer Base" RENAME COLUMN "Id" TO code;
ALTER TABLE "My Orders"."Customer Base" RENAME TO customers;
ALTER TABLE "My Orders"."Order Items" RENAME COLUMN "Group" TO doc;
ALTER TABLE "My Orders"."Order Items" RENAME TO orders;
ALTER TABLE "My Orders".orders SET SCHEMA public;
ALTER TABLE "My Orders".customers ADD COLUMN first int;
ALTER TABLE "My Orders".customers DROP COLUMN extra;
INSERT INTO orders VALUES (3, '{"key of": {"a.b": "a.b"}}');
UPDATE "My Orders".customers SET title = title || '!';
SELECT * FROM orders ORDER BY id;
SELECT * FROM verify_extended_reference('orders', 'doc', '{a.b,"c\"d"}');
SELECT refresh_extended_reference('orders', 'doc', '{a.b,"c\"d"}', true);

-- what it needs cannot be dropped, nor get another type
ALTER TABLE "My Orders".customers DROP COLUMN title;
ALTER TABLE "My Orders".customers DROP COLUMN code;
ALTER TABLE "My Orders".customers ALTER COLUMN city TYPE varchar(10);
ALTER TABLE orders DROP COLUMN doc;
DROP TABLE "My Orders".customers;
DROP TABLE orders;
-- without its unique index the source cannot be read
ALTER TABLE "My Orders".customers DROP CONSTRAINT "Customer Base_pkey";
INSERT INTO orders VALUES (4, '{"key of": {"a.b": "a.b"}}');
CREATE UNIQUE INDEX ON "My Orders".customers (code);
INSERT INTO orders VALUES (4, '{"key of": {"a.b": "a.b"}}') RETURNING doc;
-- an index made by hand serves as well, and stays
ALTER INDEX "Order Items_Group_reference" RENAME TO by_hand;
SELECT drop_extended_reference('orders', 'doc', '{a.b,"c\"d"}');
SELECT create_extended_reference('orders', 'doc', '{c}', '"My Orders".customers', '{key of,"a.b"}', '{title}', 'live', 'code');
SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'orders'::regclass ORDER BY 1;
DROP TABLE "My Orders".customers CASCADE;
INSERT INTO orders VALUES (5, '{"key of": {"a.b": "nobody"}}') RETURNING doc;
DROP TABLE orders;

-- names of 63 bytes, and several references of one table
CREATE TABLE a_source_whose_name_takes_all_of_the_63_bytes_that_a_name_may_h (id int PRIMARY KEY, n int);
CREATE TABLE a_table_whose_name_takes_all_of_the_63_bytes_that_a_name_may_ha (doc jsonb);
INSERT INTO a_source_whose_name_takes_all_of_the_63_bytes_that_a_name_may_h VALUES (1, 10), (2, 20);
SELECT create_extended_reference('a_table_whose_name_takes_all_of_the_63_bytes_that_a_name_may_ha', 'doc', ARRAY[p],
	'a_source_whose_name_takes_all_of_the_63_bytes_that_a_name_may_h', ARRAY[p || '_id'], '{n}', 'live') FROM unnest('{a,b}'::text[]) p;
INSERT INTO a_table_whose_name_takes_all_of_the_63_bytes_that_a_name_may_ha VALUES ('{"a_id": 1, "b_id": 2}'), ('{"a_id": 2, "b_id": 2}');
UPDATE a_source_whose_name_takes_all_of_the_63_bytes_that_a_name_may_h SET n = n + 1;
SELECT * FROM a_table_whose_name_takes_all_of_the_63_bytes_that_a_name_may_ha ORDER BY doc::text;
SELECT tgname, tgrelid::regclass FROM pg_trigger WHERE tgname ~ 'extended' ORDER BY 1;
SELECT drop_extended_reference('a_table_whose_name_takes_all_of_the_63_bytes_that_a_name_may_ha', 'doc', ARRAY[p]) FROM unnest('{a,b}'::text[]) p;
SELECT count(*) FROM pg_index WHERE indrelid = 'a_table_whose_name_takes_all_of_the_63_bytes_that_a_name_may_ha'::regclass;
DROP TABLE a_table_whose_name_takes_all_of_the_63_bytes_that_a_name_may_ha, a_source_whose_name_takes_all_of_the_63_bytes_that_a_name_may_h;

-- partitions on both sides, with columns in other places
CREATE TABLE customers (id int PRIMARY KEY, name text, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE customers_1 PARTITION OF customers FOR VALUES FROM (0) TO (10);
CREATE TABLE customers_2 (gone int, doc jsonb, name text, id int NOT NULL);
ALTER TABLE customers_2 DROP COLUMN gone;
ALTER TABLE customers ATTACH PARTITION customers_2 FOR VALUES FROM (10) TO (20);
CREATE TABLE orders (id int, doc jsonb, at int, PRIMARY KEY (id, at)) PARTITION BY LIST (at);
CREATE TABLE orders_1 PARTITION OF orders FOR VALUES IN (1);
CREATE TABLE orders_2 (doc jsonb, at int NOT NULL, id int NOT NULL);
ALTER TABLE orders ATTACH PARTITION orders_2 FOR VALUES IN (2);
INSERT INTO customers VALUES (1, 'Ada', '{"city": "Pune"}'), (11, 'Bo', '{"city": "Oslo"}');
SELECT create_extended_reference('orders', 'doc', '{customer}', 'customers', '{customer,_id}', '{name:live,city}');
INSERT INTO orders VALUES (1, '{"customer": {"_id": 1}}', 1), (2, '{"customer": {"_id": 11}}', 2);
INSERT INTO orders_2 VALUES ('{"customer": {"_id": 1}}', 2, 3);
CREATE TABLE orders_3 PARTITION OF orders FOR VALUES IN (3);
INSERT INTO orders_3 VALUES (4, '{"customer": {"_id": 11}}', 3);
UPDATE customers SET name = name || '!', doc = '{"city": "Rome"}';
SELECT tableoid::regclass, id, doc FROM orders ORDER BY id;
-- a document that moves to another partition keeps its snapshot
UPDATE orders SET at = 2, doc = doc || '{"moved": true}' WHERE id = 1;
SELECT tableoid::regclass, doc FROM orders WHERE id = 1;
-- a source that documents refer to stays where it is; what is detached is gone
UPDATE customers SET id = 12 WHERE id = 11;
ALTER TABLE customers DETACH PARTITION customers_2;
DELETE FROM customers WHERE id = 1;
SELECT * FROM verify_extended_reference('orders', 'doc', '{customer}') ORDER BY key, path;
SELECT drop_extended_reference('orders', 'doc', '{customer}');
SELECT count(*) FROM pg_trigger WHERE tgname ~ 'extended';
DROP TABLE customers, customers_2, orders;

--
-- Rights: what a role may do is what it may do to the table that it writes to
--
CREATE ROLE reference_owner;
CREATE ROLE reference_writer;
GRANT CREATE ON SCHEMA public TO reference_owner;
SET ROLE reference_owner;
CREATE TABLE customers (id int PRIMARY KEY, name text);
CREATE TABLE orders (id int PRIMARY KEY, doc jsonb);
INSERT INTO customers VALUES (1, 'Ada'), (2, 'Bo');
SELECT create_extended_reference('orders', 'doc', '{c}', 'customers', '{c_id}', '{name}', 'live');
ALTER TABLE customers ENABLE ROW LEVEL SECURITY;
ALTER TABLE customers FORCE ROW LEVEL SECURITY;
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
ALTER TABLE orders FORCE ROW LEVEL SECURITY;
CREATE POLICY few ON orders TO reference_writer USING (id < 10);
CREATE POLICY one ON customers TO reference_writer USING (id = 1);
GRANT INSERT, SELECT ON orders TO reference_writer;
GRANT UPDATE, SELECT ON customers TO reference_writer;
RESET ROLE;
INSERT INTO orders VALUES (11, '{"c_id": 1}');
SET ROLE reference_writer;
INSERT INTO orders VALUES (1, '{"c_id": 2}') RETURNING doc;
INSERT INTO orders VALUES (2, '{"c_id": 1}');
UPDATE customers SET name = name || '!';
SELECT * FROM orders ORDER BY id;
UPDATE orders SET doc = '{}';
SELECT refresh_extended_reference('orders', 'doc', '{c}');
SELECT verify_extended_reference('orders', 'doc', '{c}');
SELECT drop_extended_reference('orders', 'doc', '{c}');
SELECT create_extended_reference('orders', 'doc', '{d}', 'customers', '{d_id}', '{name}');
RESET ROLE;
SELECT * FROM orders ORDER BY id;
-- who owns a table cannot point it at another's
GRANT CREATE ON SCHEMA public TO reference_writer;
SET ROLE reference_writer;
CREATE TABLE mine (id int PRIMARY KEY, doc jsonb);
SELECT create_extended_reference('mine', 'doc', '{c}', 'customers', '{c_id}', '{name}');
CREATE TRIGGER stolen BEFORE INSERT OR UPDATE OF doc ON mine FOR EACH ROW
WHEN (pattern_target('customers') AND num_nulls((NULL::customers).id, (NULL::customers).name) >= 0 AND (NEW.doc IS NULL OR true))
EXECUTE FUNCTION extended_reference_copy('{c}', '{c_id}', 'keep', '{snapshot,name}');
INSERT INTO mine VALUES (1, '{"c_id": 2}');
CREATE TRIGGER pushed AFTER INSERT ON mine FOR EACH ROW WHEN (pattern_target('orders'))
EXECUTE FUNCTION extended_reference_follow('{c}', '{c_id}');
DROP TRIGGER stolen ON mine;
INSERT INTO mine VALUES (1, '{"c_id": 2}');
DROP TABLE mine;
RESET ROLE;
ALTER TABLE orders OWNER TO reference_writer;
INSERT INTO orders VALUES (3, '{"c_id": 2}');
DROP TABLE customers, orders;
DROP OWNED BY reference_owner, reference_writer;
DROP ROLE reference_owner, reference_writer;
