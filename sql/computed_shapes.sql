--
-- Base tables and parents of every shape: partitions, foreign keys, trees, keys
-- and values in documents, several definitions on one table, types of keys and
-- of values
--
SET client_min_messages = warning;
-- what the documents of a table and a view do not agree about
CREATE FUNCTION wrong(parents regclass, id name, view regclass, key name) RETURNS TABLE(parent text, field text, stored jsonb, expected jsonb) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		SELECT p.%2$I::text, e.key, p.doc -> e.key, e.value
		FROM %1$s p LEFT JOIN %3$s t ON t.%4$I = p.%2$I,
			jsonb_each(coalesce(to_jsonb(t) - %4$L, '{"n": 0}')) e
		WHERE coalesce(p.doc -> e.key, 'null') <> e.value ORDER BY 1, 2$q$, parents, id, view, key);
END $$;
-- the documents without what the engine keeps beside them
CREATE FUNCTION shown(doc jsonb) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$ SELECT jsonb_object_agg(key, value) FROM jsonb_each(doc) WHERE key !~ '^_' $$;

-- partitioned base table: rows moved between partitions, written straight into a leaf
CREATE TABLE sales (id int, region text, shop int, amount numeric, note text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE sales_n PARTITION OF sales FOR VALUES IN ('n');
CREATE TABLE sales_s (note text, junk int, amount numeric, shop int, region text NOT NULL, id int NOT NULL);
ALTER TABLE sales_s DROP COLUMN junk;
ALTER TABLE sales ATTACH PARTITION sales_s FOR VALUES IN ('s');
CREATE TABLE sales_w PARTITION OF sales FOR VALUES IN ('w', 'x') PARTITION BY RANGE (id);
CREATE TABLE sales_w1 PARTITION OF sales_w FOR VALUES FROM (0) TO (100);
CREATE TABLE sales_w2 PARTITION OF sales_w FOR VALUES FROM (100) TO (200);
CREATE TABLE shops (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO shops SELECT g, '{}' FROM generate_series(1, 3) g;
CREATE VIEW shop_sales AS SELECT shop, count(*) AS n, sum(amount) AS total, max(note) AS last_note FROM sales GROUP BY shop;
SELECT create_computed('shops', 'doc', 'shop_sales', 'shop');
INSERT INTO sales SELECT g, (ARRAY['n', 's', 'w', 'x'])[g % 4 + 1], g % 3 + 1, g / 4.0, 'note ' || g FROM generate_series(1, 60) g;
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
INSERT INTO sales_s (id, region, shop, amount) VALUES (150, 's', 1, 100);
INSERT INTO sales_w2 (id, region, shop, amount, note) VALUES (151, 'w', 1, 100, 'zz');
COPY sales_n (id, region, shop, amount) FROM stdin;
152	n	2	7.5
\.
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
UPDATE sales SET region = 's', amount = amount + 1 WHERE region = 'n' AND id % 3 = 0;
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
UPDATE sales SET region = 'w', shop = shop % 3 + 1, id = id + 90 WHERE region = 's' AND id BETWEEN 11 AND 59;
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
UPDATE sales_w1 SET amount = 0 WHERE shop = 2;
DELETE FROM sales_w2;
DELETE FROM sales WHERE id < 10;
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
MERGE INTO sales s USING (VALUES (12, 'x', 3), (13, 's', 3), (1000, 'n', 1)) v(id, region, shop) ON s.id = v.id
WHEN MATCHED THEN UPDATE SET region = v.region, shop = v.shop WHEN NOT MATCHED THEN INSERT (id, region, shop, amount) VALUES (v.id, v.region, v.shop, 3);
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
SELECT id, shown(doc) FROM shops ORDER BY id;
TRUNCATE sales_w;
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
TRUNCATE sales_n;
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
-- a partition made later is like the others
CREATE TABLE sales_e PARTITION OF sales FOR VALUES IN ('e');
INSERT INTO sales VALUES (1, 'e', 1, 5), (2, 'e', 2, 5);
INSERT INTO sales_e VALUES (3, 'e', 3, 5);
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
-- attaching and detaching tells no trigger: refresh
ALTER TABLE sales DETACH PARTITION sales_e;
SELECT count(*) > 0 AS differs FROM verify_computed('shops');
SELECT refresh_computed('shops', 'shop_sales');
SELECT count(*) AS differs FROM verify_computed('shops');
INSERT INTO sales_e VALUES (4, 'e', 3, 5);
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
ALTER TABLE sales ATTACH PARTITION sales_e FOR VALUES IN ('e');
SELECT refresh_computed('shops');
INSERT INTO sales_e VALUES (5, 'e', 3, 5);
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
TRUNCATE sales;
SELECT id, shown(doc) FROM shops ORDER BY id;
DROP TABLE sales, shops CASCADE;

-- partitioned parents
CREATE TABLE shops (id int, kind text, doc jsonb NOT NULL, PRIMARY KEY (id)) PARTITION BY HASH (id);
CREATE TABLE shops_0 PARTITION OF shops FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE shops_1 (doc jsonb NOT NULL, kind text, id int NOT NULL);
ALTER TABLE shops ATTACH PARTITION shops_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE sales (shop int REFERENCES shops ON DELETE CASCADE ON UPDATE CASCADE, amount int);
CREATE INDEX ON sales (shop);
CREATE VIEW shop_sales AS SELECT shop, count(*) AS n, sum(amount) AS total FROM sales GROUP BY shop;
SELECT create_computed('shops', 'doc', 'shop_sales', 'shop');
INSERT INTO shops SELECT g, 'x', '{"a": 1}' FROM generate_series(1, 6) g;
INSERT INTO sales SELECT g % 6 + 1, g FROM generate_series(1, 30) g;
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
-- foreign keys: cascaded updates of the key, which moves the parent to the other partition, and deletes
UPDATE shops SET id = id + 11 WHERE id IN (1, 2);
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
DELETE FROM shops WHERE id = 3;
SELECT id, shown(doc) FROM shops ORDER BY id;
SELECT * FROM wrong('shops', 'id', 'shop_sales', 'shop');
SELECT count(*) AS differs FROM verify_computed('shops');
DROP TABLE sales, shops CASCADE;

-- a foreign key that sets NULL or a default; deferrable ones
CREATE TABLE authors (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE books (id int PRIMARY KEY, author int DEFAULT 1 REFERENCES authors ON DELETE SET NULL ON UPDATE CASCADE,
	editor int DEFAULT 1 REFERENCES authors ON DELETE SET DEFAULT DEFERRABLE INITIALLY DEFERRED, pages int);
CREATE INDEX ON books (author);
CREATE INDEX ON books (editor);
CREATE VIEW written AS SELECT author, count(*) AS n, sum(pages) AS pages FROM books GROUP BY author;
CREATE VIEW edited AS SELECT editor, count(*) AS edited, max(pages) AS longest FROM books GROUP BY editor;
INSERT INTO authors VALUES (1, '{}'), (2, '{}'), (3, '{}');
SELECT create_computed('authors', 'doc', 'written', 'author'), create_computed('authors', 'doc', 'edited', 'editor', mode => 'deferred');
INSERT INTO books SELECT g, g % 3 + 1, (g + 1) % 3 + 1, g * 10 FROM generate_series(1, 9) g;
BEGIN;
INSERT INTO books VALUES (20, 2, 4, 500);
INSERT INTO authors VALUES (4, '{"late": true}');
COMMIT;
DELETE FROM authors WHERE id = 3;
BEGIN;
UPDATE authors SET id = 5 WHERE id = 2;
UPDATE books SET editor = 5 WHERE editor = 2;
COMMIT;
SELECT id, shown(doc) FROM authors ORDER BY id;
BEGIN;
UPDATE authors SET id = 2 WHERE id = 5;
INSERT INTO books VALUES (30, 2, 5, 7);
UPDATE books SET editor = 2 WHERE editor = 5;
COMMIT;
SELECT * FROM wrong('authors', 'id', 'written', 'author');
SELECT a.id, doc -> 'edited' AS stored, count(b.id) AS expected FROM authors a LEFT JOIN books b ON editor = a.id GROUP BY a.id HAVING doc -> 'edited' <> to_jsonb(count(b.id));
SELECT count(*) AS differs FROM verify_computed('authors');
DROP TABLE books, authors CASCADE;

-- a tree: parents and children in one table
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE, weight int, doc jsonb NOT NULL DEFAULT '{}');
CREATE INDEX ON tree (up);
CREATE VIEW below AS SELECT up, count(*) AS n, sum(weight) AS weight, min(weight) AS lightest FROM tree GROUP BY up;
SELECT create_computed('tree', 'doc', 'below', 'up');
INSERT INTO tree (id, up, weight) SELECT g, nullif(g / 2, 0), g FROM generate_series(1, 31) g;
SELECT * FROM wrong('tree', 'id', 'below', 'up');
UPDATE tree SET weight = weight * 2 WHERE id > 10;
SELECT * FROM wrong('tree', 'id', 'below', 'up');
UPDATE tree SET up = 1 WHERE id BETWEEN 20 AND 25;
SELECT * FROM wrong('tree', 'id', 'below', 'up');
UPDATE tree SET up = 31, weight = -1, doc = '{"x": 1}' WHERE id = 31;
SELECT * FROM wrong('tree', 'id', 'below', 'up');
DELETE FROM tree WHERE id = 2;
SELECT * FROM wrong('tree', 'id', 'below', 'up');
SELECT id, shown(doc) FROM tree WHERE id IN (1, 3, 7, 31) ORDER BY id;
WITH new AS (INSERT INTO tree (id, up, weight) VALUES (100, 1, 5), (101, 100, 6), (102, 101, 7) RETURNING id)
UPDATE tree SET weight = 0 FROM new WHERE tree.id = 7;
SELECT * FROM wrong('tree', 'id', 'below', 'up');
DELETE FROM tree WHERE id = 1;
SELECT * FROM wrong('tree', 'id', 'below', 'up');
SELECT count(*) AS differs FROM verify_computed('tree');
TRUNCATE tree;
DROP TABLE tree CASCADE;

-- key and values in documents, names that need quotes
CREATE SCHEMA "My-App";
CREATE TABLE "My-App"."Order Items" ("Id" int PRIMARY KEY, "Group" jsonb);
CREATE TABLE "My-App"."Parents of ""all""" ("Key" text PRIMARY KEY, doc jsonb);
CREATE VIEW "My-App"."Sums; DROP" AS
SELECT "Group" ->> 'a.b' AS "the ""key""", count(*) AS n, sum(("Group" #>> '{x,price}')::numeric) AS "Total ""Price""", min("Group" -> 'at' ->> 0) AS "first",
	count(*) FILTER (WHERE "Group" ->> 'status' = 'open') AS "open"
FROM "My-App"."Order Items" WHERE "Group" ? 'x' GROUP BY "Group" ->> 'a.b';
INSERT INTO "My-App"."Parents of ""all""" VALUES ('p', '{}'), ('q', NULL), ('', '{"doc": {}}');
SET search_path = '';
SELECT public.create_computed('"My-App"."Parents of ""all"""', 'doc', '"My-App"."Sums; DROP"', 'the "key"');
INSERT INTO "My-App"."Order Items" SELECT g, pg_catalog.jsonb_build_object('a.b', (ARRAY['p', 'q', '', 'r'])[g % 4 + 1], CASE WHEN g % 7 = 0 THEN 'y' ELSE 'x' END, pg_catalog.jsonb_build_object('price', g * 0.5), 'at', ARRAY['2026-' || g], 'status', CASE WHEN g % 2 = 0 THEN 'open' END)
FROM pg_catalog.generate_series(1, 20) g;
UPDATE "My-App"."Order Items" SET "Group" = pg_catalog.jsonb_set("Group", '{a.b}', '"p"') WHERE "Id" = 3;
UPDATE "My-App"."Order Items" SET "Group" = "Group" OPERATOR(pg_catalog.-) 'a.b' WHERE "Id" = 4;
UPDATE "My-App"."Order Items" SET "Group" = "Group" OPERATOR(pg_catalog.-) 'x' WHERE "Id" = 5;
UPDATE "My-App"."Order Items" SET "Group" = "Group" OPERATOR(pg_catalog.||) '{"status": "open"}' WHERE "Id" = 9;
DELETE FROM "My-App"."Order Items" WHERE "Id" = 16;
RESET search_path;
SELECT * FROM wrong('"My-App"."Parents of ""all"""', 'Key', '"My-App"."Sums; DROP"', 'the "key"') WHERE parent <> 'q';
SELECT "Key", shown(doc) FROM "My-App"."Parents of ""all""" ORDER BY 1;
-- a document that was NULL
UPDATE "My-App"."Parents of ""all""" SET doc = '{}' WHERE "Key" = 'q' RETURNING shown(doc);
SELECT * FROM wrong('"My-App"."Parents of ""all"""', 'Key', '"My-App"."Sums; DROP"', 'the "key"');
SELECT count(*) AS differs FROM verify_computed('"My-App"."Parents of ""all"""');
DROP SCHEMA "My-App" CASCADE;

-- several definitions on one base table and on one parent, in one path and in several
CREATE TABLE products (sku text PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE stores (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE reviews (id int PRIMARY KEY, sku text, store int, stars int, author text, at date);
CREATE TABLE orders (id int PRIMARY KEY, sku text, amount numeric);
CREATE VIEW product_reviews AS SELECT sku, count(*) AS n, avg(stars) AS rating FROM reviews GROUP BY sku;
CREATE VIEW product_bad AS SELECT sku, count(*) AS bad FROM reviews WHERE stars < 3 GROUP BY sku;
CREATE VIEW store_reviews AS SELECT store, count(*) AS n, min(at) AS first, max(at) AS last FROM reviews GROUP BY store;
CREATE VIEW product_orders AS SELECT sku, count(*) AS orders, sum(amount) AS revenue FROM orders GROUP BY sku;
SELECT create_computed('products', 'doc', 'product_reviews', 'sku'), create_computed('products', 'doc', 'product_bad', 'sku', mode => 'deferred'),
	create_computed('stores', 'doc', 'store_reviews', 'store'), create_computed('products', 'doc', 'product_orders', 'sku', path => '{sales,all}');
SELECT create_subset('products', 'doc', '{recent}', 'reviews', 'sku', '{id,author,at}', 'at desc, id', 2);
SELECT create_subset('stores', 'doc', '{reviews,worst}', 'reviews', 'store', '{stars,author}', 'stars', 3);
INSERT INTO products VALUES ('tv'), ('pc'), ('none');
INSERT INTO stores VALUES (1), (2);
INSERT INTO reviews SELECT g, (ARRAY['tv', 'pc', NULL])[g % 3 + 1], g % 3, g % 6, 'user ' || g % 4, date '2026-01-01' + g * 7 % 50 FROM generate_series(1, 40) g;
INSERT INTO orders SELECT g, (ARRAY['tv', 'pc'])[g % 2 + 1], g * 1.5 FROM generate_series(1, 9) g;
SELECT sku, shown(doc) FROM products ORDER BY 1;
SELECT id, shown(doc) FROM stores ORDER BY 1;
CREATE VIEW mistakes AS
SELECT 'reviews' AS what, * FROM wrong('products', 'sku', 'product_reviews', 'sku') UNION ALL
SELECT 'stores', * FROM wrong('stores', 'id', 'store_reviews', 'store') UNION ALL
SELECT 'bad', p.sku, 'bad', doc -> 'bad', to_jsonb(coalesce(bad, 0)) FROM products p LEFT JOIN product_bad b USING (sku) WHERE doc -> 'bad' IS DISTINCT FROM to_jsonb(coalesce(bad, 0)) UNION ALL
SELECT 'orders', p.sku, 'revenue', doc #> '{sales,all,revenue}', to_jsonb(revenue) FROM products p LEFT JOIN product_orders o USING (sku) WHERE coalesce(doc #> '{sales,all,revenue}', 'null') <> coalesce(to_jsonb(revenue), 'null') UNION ALL
SELECT 'recent', p.sku, 'recent', doc -> 'recent', right_list FROM products p,
	LATERAL (SELECT coalesce(jsonb_agg(e), '[]') AS right_list FROM (SELECT jsonb_build_object('id', id, 'author', author, 'at', at) AS e FROM reviews r WHERE r.sku = p.sku ORDER BY at DESC, id LIMIT 2) l) r WHERE doc -> 'recent' IS DISTINCT FROM right_list UNION ALL
SELECT 'worst', s.id::text, 'worst', doc #> '{reviews,worst}', right_list FROM stores s,
	LATERAL (SELECT coalesce(jsonb_agg(e), '[]') AS right_list FROM (SELECT jsonb_build_object('stars', stars, 'author', author) AS e FROM reviews r WHERE store = s.id ORDER BY stars, author COLLATE "C" LIMIT 3) l) r WHERE doc #> '{reviews,worst}' IS DISTINCT FROM right_list;
SELECT * FROM mistakes;
UPDATE reviews SET stars = 5 - stars, store = store % 2 + 1, sku = CASE WHEN sku = 'tv' THEN 'pc' ELSE 'tv' END;
SELECT * FROM mistakes;
DELETE FROM reviews WHERE id % 3 = 0;
SELECT * FROM mistakes;
UPDATE reviews SET at = at + 100 WHERE id IN (SELECT id FROM reviews ORDER BY at LIMIT 5);
SELECT * FROM mistakes;
UPDATE products SET doc = '{}';
SELECT * FROM mistakes;
DELETE FROM reviews WHERE id IN (SELECT (e ->> 'id')::int FROM products, jsonb_array_elements(doc -> 'recent') e);
SELECT * FROM mistakes;
SELECT count(*) AS differs FROM verify_computed('products');
-- one of them goes, the others stay
SELECT drop_computed('products', 'product_bad');
INSERT INTO reviews VALUES (1000, 'tv', 1, 1, 'x', '2026-12-01');
SELECT what, parent FROM mistakes WHERE what <> 'bad';
SELECT count(*) AS differs FROM verify_computed('products');
SELECT count(*) AS differs FROM verify_computed('products', 'product_orders');
SELECT refresh_computed('products', 'product_reviews', '{tv}'), refresh_computed('products');
-- two that claim the same field
SELECT create_computed('products', 'doc', 'product_reviews', 'sku');
CREATE VIEW product_reviews_too AS SELECT sku, count(*) AS n FROM reviews GROUP BY sku;
SELECT create_computed('products', 'doc', 'product_reviews_too', 'sku');
SELECT create_subset('products', 'doc', '{recent}', 'reviews', 'sku', '{id}', 'id', 2);
TRUNCATE reviews, orders;
SELECT * FROM mistakes WHERE what <> 'bad';
DROP VIEW mistakes;
DROP TABLE products, stores, reviews, orders CASCADE;

-- types of keys
CREATE TABLE bases (n int, k_bigint bigint, k_uuid uuid, k_numeric numeric, k_date date, k_char char(4), k_varchar varchar(5));
CREATE TABLE p_bigint (id bigint PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE p_uuid (id uuid PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE p_numeric (id numeric PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE p_date (id date PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE p_char (id char(4) PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE p_varchar (id varchar(5) PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
INSERT INTO p_bigint SELECT g FROM generate_series(1, 3) g;
INSERT INTO p_uuid SELECT md5(g::text)::uuid FROM generate_series(1, 3) g;
INSERT INTO p_numeric SELECT g + 0.50 FROM generate_series(1, 3) g;
INSERT INTO p_date SELECT date '2026-01-01' + g FROM generate_series(1, 3) g;
INSERT INTO p_char SELECT 'k' || g FROM generate_series(1, 3) g;
INSERT INTO p_varchar SELECT 'k' || g FROM generate_series(1, 3) g;
SELECT format('CREATE VIEW v_%1$s AS SELECT k_%1$s, count(*) AS n, sum(n) AS total FROM bases GROUP BY k_%1$s', t),
	format('SELECT create_computed(%L, %L, %L, %L)', 'p_' || t, 'doc', 'v_' || t, 'k_' || t) FROM unnest('{bigint,uuid,numeric,date,char,varchar}'::text[]) t \gexec
-- equal keys that are written otherwise are one key: 1.5 and 1.50, blanks behind a char
INSERT INTO bases SELECT g, g % 3 + 1, md5((g % 3 + 1)::text)::uuid, CASE WHEN g % 2 = 0 THEN g % 3 + 1.5 ELSE g % 3 + 1.500 END, date '2026-01-01' + g % 3 + 1, 'k' || g % 3 + 1 || CASE WHEN g % 2 = 0 THEN ' ' ELSE '' END, 'k' || g % 3 + 1 FROM generate_series(1, 12) g;
UPDATE bases SET n = n * 2, k_numeric = k_numeric + 1.000, k_char = 'k1  ' WHERE n % 4 = 1;
DELETE FROM bases WHERE n = 12;
SELECT t, w.* FROM unnest('{bigint,uuid,numeric,date,char,varchar}'::text[]) t, wrong(('p_' || t)::regclass, 'id', ('v_' || t)::regclass, ('k_' || t)::name) w;
SELECT sum((doc -> 'n')::int) AS n FROM p_numeric;
DROP TABLE bases, p_bigint, p_uuid, p_numeric, p_date, p_char, p_varchar CASCADE;

-- types of values: floats, NaN and infinity, large integers, times, whatever min and max take
CREATE TABLE samples (id int PRIMARY KEY, p int, i2 int2, i8 int8, f4 float4, f8 float8, n numeric, d date, t timestamptz, iv interval, s text, b boolean, a int[], j jsonb, m money);
CREATE TABLE series (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
INSERT INTO series VALUES (1), (2);
CREATE VIEW summary AS
SELECT p, count(*) AS n, sum(i2) AS sum_i2, avg(i2) AS avg_i2, sum(i8) AS sum_i8, avg(i8) AS avg_i8, sum(f4) AS sum_f4, avg(f8) AS avg_f8, sum(f8) AS sum_f8, min(f8) AS min_f8, max(f8) AS max_f8,
	sum(samples.n) AS sum_n, avg(samples.n) AS avg_n, min(samples.n) AS min_n, max(samples.n) AS max_n, stddev(i8) AS dev, min(d) AS min_d, max(t) AS max_t, min(t) AS min_t, sum(iv) AS sum_iv, max(iv) AS max_iv,
	min(s) AS min_s, max(s) AS max_s, array_agg(s ORDER BY id) AS list, count(DISTINCT s) AS different, max(a) AS max_a, jsonb_agg(j ORDER BY id) AS docs, sum(m) AS money, every(b) AS every_b, bool_or(b) AS any_b, bit_or(i2) AS bits,
	max(length(s)) FILTER (WHERE b) AS longest, sum(i2 * samples.n) AS product
FROM samples GROUP BY p;
SELECT create_computed('series', 'doc', 'summary', 'p');
CREATE VIEW mistakes AS SELECT * FROM wrong('series', 'id', 'summary', 'p');
SET timezone = 'Asia/Tokyo';
INSERT INTO samples VALUES
	(1, 1, 1, 9223372036854775807, 0.5, 0.5, 0.1, '2026-01-01', '2026-01-01 10:00+00', '1 hour', 'é', true, '{1,2}', '{"a": 1}', 1.5),
	(2, 1, -32768, 9223372036854775807, 0.25, 0.25, 1e30, '-infinity', '2026-03-01 10:00+00', '1 mon', 'z', NULL, '{1}', 'null', 2),
	(3, 1, 32767, -9223372036854775808, 1e30, 1e10, -1e30, NULL, '1999-01-01 10:00:00.123456+00', '-1 day', '', false, NULL, NULL, NULL),
	(4, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
RESET timezone;
SET timezone = 'UTC';
SELECT * FROM mistakes;
SELECT doc -> 'max_t' AS max_t, doc -> 'sum_i8' AS sum_i8, doc -> 'sum_n' AS sum_n, doc -> 'avg_i2' AS avg_i2 FROM series WHERE id = 1;
UPDATE samples SET n = 'NaN', f8 = 'NaN' WHERE id = 2;
SELECT * FROM mistakes;
SELECT doc -> 'sum_n' AS sum_n, doc -> 'max_n' AS max_n, doc -> 'sum_f8' AS sum_f8 FROM series WHERE id = 1;
UPDATE samples SET n = 'Infinity', f8 = '-Infinity' WHERE id = 3;
SELECT * FROM mistakes;
UPDATE samples SET n = 5, f8 = 6 WHERE id = 2;
SELECT * FROM mistakes;
SELECT doc -> 'sum_n' AS sum_n, doc -> 'min_n' AS min_n FROM series WHERE id = 1;
UPDATE samples SET n = 0.1000, f8 = 0.75 WHERE id = 3;
SELECT * FROM mistakes;
DELETE FROM samples WHERE id = 2;
SELECT * FROM mistakes;
INSERT INTO samples SELECT g, g % 2 + 1, g, g, g / 4.0, g / 4.0, g / 3.0, date '2026-01-01' + g, timestamptz 'epoch' + g * interval '1 hour', g * interval '1 minute', 's' || g, g % 3 = 0, ARRAY[g], to_jsonb(g), g FROM generate_series(10, 60) g;
SELECT * FROM mistakes;
UPDATE samples SET p = 3 - p, s = NULL, b = NOT b WHERE id % 5 = 0;
SELECT * FROM mistakes;
DELETE FROM samples WHERE id > 20 OR id = 1;
SELECT * FROM mistakes;
SELECT count(*) AS differs FROM verify_computed('series');
-- a sum out of its type's range fails as the view does
CREATE VIEW overflow AS SELECT p, sum(i8::int4) AS total FROM samples GROUP BY p;
RESET timezone;
DROP TABLE samples, series CASCADE;

-- parents whose key is in the document, children whose key is in theirs
CREATE TABLE movies (id text GENERATED ALWAYS AS (doc ->> '_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE votes (movie text GENERATED ALWAYS AS (doc ->> 'movie') STORED, stars int GENERATED ALWAYS AS ((doc ->> 'stars')::int) STORED, doc jsonb NOT NULL);
CREATE VIEW movie_votes AS SELECT movie, count(*) AS n, avg(stars) AS average, min(doc ->> 'by') AS first FROM votes GROUP BY movie;
SELECT create_computed('movies', 'doc', 'movie_votes', 'movie');
INSERT INTO movies (doc) VALUES ('{"_id": 1}'), ('{"_id": "a"}');
INSERT INTO votes (doc) SELECT jsonb_build_object('movie', (ARRAY['1', 'a', 'late'])[g % 3 + 1], 'stars', g % 5, 'by', 'user ' || g) FROM generate_series(1, 20) g;
SELECT * FROM wrong('movies', 'id', 'movie_votes', 'movie');
INSERT INTO movies (doc) VALUES ('{"_id": "late", "n": 0}');
SELECT * FROM wrong('movies', 'id', 'movie_votes', 'movie');
UPDATE movies SET doc = doc || '{"_id": "b"}' WHERE id = 'a';
UPDATE movies SET doc = '{"_id": "a", "title": "x"}' WHERE id = '1' RETURNING id, shown(doc);
SELECT * FROM wrong('movies', 'id', 'movie_votes', 'movie');
UPDATE votes SET doc = doc || '{"movie": "b"}' WHERE stars > 2;
SELECT * FROM wrong('movies', 'id', 'movie_votes', 'movie');
UPDATE votes SET doc = doc || '{"stars": 5}' WHERE movie = 'late';
DELETE FROM votes WHERE stars < 2;
SELECT id, shown(doc) FROM movies ORDER BY id;
SELECT * FROM wrong('movies', 'id', 'movie_votes', 'movie');
INSERT INTO movies (doc) VALUES ('{"_id": "b", "title": "again"}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc RETURNING shown(doc);
SELECT * FROM wrong('movies', 'id', 'movie_votes', 'movie');
SELECT count(*) AS differs FROM verify_computed('movies');
DROP TABLE movies, votes CASCADE;

-- values that are equal and look different
CREATE TABLE prices (p int, price numeric, w interval);
CREATE TABLE goods (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
INSERT INTO goods VALUES (1);
CREATE VIEW cheapest AS SELECT p, count(*) AS n, min(price) AS low, max(price) AS high, sum(price) AS total FROM prices GROUP BY p;
SELECT create_computed('goods', 'doc', 'cheapest', 'p');
INSERT INTO prices VALUES (1, 9.9);
INSERT INTO prices VALUES (1, 9.90), (1, 9.900);
SELECT count(*) AS differs FROM verify_computed('goods');
UPDATE prices SET w = '1 day' WHERE price::text = '9.9';
SELECT count(*) AS differs FROM verify_computed('goods');
DELETE FROM prices WHERE price::text = '9.900';
SELECT doc -> 'total' AS total FROM goods;
SELECT * FROM wrong('goods', 'id', 'cheapest', 'p');
SELECT count(*) AS differs FROM verify_computed('goods');
DROP TABLE prices, goods CASCADE;

-- sums of floats: in whatever order they are added, verify and refresh come to an end
CREATE TABLE floats (p int, f float8);
CREATE INDEX ON floats (p, f);
CREATE TABLE sums (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
INSERT INTO sums SELECT generate_series(1, 3);
CREATE VIEW float_sums AS SELECT p, count(*) AS n, sum(f) AS total, avg(f) AS average FROM floats GROUP BY p;
SELECT create_computed('sums', 'doc', 'float_sums', 'p');
INSERT INTO floats SELECT g % 3 + 1, 1e16 / (g * g) - g / 7.0 FROM generate_series(1, 3000) g;
SELECT count(*) AS differs FROM verify_computed('sums');
DELETE FROM floats WHERE f < 0;
SELECT refresh_computed('sums') AS refreshed, refresh_computed('sums') AS again;
SELECT count(*) AS differs FROM verify_computed('sums');
SELECT bool_and(abs((doc -> 'total')::float8 - total) / total < 1e-12) AS near FROM sums JOIN float_sums ON p = id;
DROP TABLE floats, sums CASCADE;

-- sessions with other settings
CREATE TABLE visits (site int, at timestamptz, day date, long interval, f float8);
CREATE TABLE sites (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
INSERT INTO sites VALUES (1);
CREATE VIEW visited AS SELECT site, count(*) FILTER (WHERE at > timestamptz '2026-03-01 00:00+00' AND day > date '2026-01-02') AS n, max(at) AS last, max(day) AS day, min(f) AS f, max(long) AS long,
	subset_agg(jsonb_build_object('at', at, 'f', f), 2, 'at desc') AS latest FROM visits GROUP BY site;
SELECT create_computed('sites', 'doc', 'visited', 'site');
SET timezone = 'America/New_York';
SET datestyle = 'German';
SET intervalstyle = 'iso_8601';
SET extra_float_digits = -5;
INSERT INTO visits VALUES (1, '2026-04-01 12:00:00+02', '2026-02-01', '1 day 2 hours', 1 / 3.0);
SET timezone = 'Asia/Tokyo';
INSERT INTO visits VALUES (1, '2026-03-01 07:00:00+09', '2026-03-01', '1 day 3 hours', 2 / 3.0);
UPDATE sites SET doc = '{}';
SELECT count(*) AS differs FROM verify_computed('sites');
RESET timezone;
RESET datestyle;
RESET intervalstyle;
RESET extra_float_digits;
SELECT shown(doc) FROM sites;
SELECT count(*) AS differs FROM verify_computed('sites');
SELECT refresh_computed('sites');
DROP TABLE visits, sites CASCADE;

-- parents found by another unique column; parents of several columns
CREATE TABLE people (id int PRIMARY KEY, email text NOT NULL UNIQUE, doc jsonb NOT NULL DEFAULT '{}', other jsonb DEFAULT '{}');
CREATE TABLE mails (sender text, size int);
CREATE VIEW mail_sizes AS SELECT sender, count(*) AS n, sum(size) AS size FROM mails GROUP BY sender;
SELECT create_computed('people', 'doc', 'mail_sizes', 'sender', parent_key => 'email');
INSERT INTO people (id, email) VALUES (1, 'a@x'), (2, 'b@x');
INSERT INTO mails VALUES ('a@x', 5), ('a@x', 6), ('b@x', 7), ('c@x', 8);
SELECT id, shown(doc), other FROM people ORDER BY id;
UPDATE people SET email = 'c@x' WHERE id = 2;
SELECT id, shown(doc) FROM people ORDER BY id;
SELECT * FROM wrong('people', 'email', 'mail_sizes', 'sender');
DROP TABLE people, mails CASCADE;
DROP FUNCTION wrong, shown;

-- many parents: all wrong; those wrong at which refresh looks first; one in between.  Workers take part, whatever the session's settings are.
CREATE TABLE parents (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE children (parent int, v numeric, at timestamptz);
CREATE VIEW totals AS SELECT parent, count(*) AS n, sum(v) AS v, avg(v) AS mean FROM children GROUP BY parent;
CREATE VIEW times AS SELECT parent, jsonb_agg(at ORDER BY at) AS times FROM children GROUP BY parent;
INSERT INTO parents SELECT generate_series(1, 1500);
SELECT create_computed('parents', 'doc', 'totals', 'parent'), create_computed('parents', 'doc', 'times', 'parent');
INSERT INTO children SELECT g % 1500 + 1, g, timestamptz '2026-01-01Z' + g * interval '1 minute' FROM generate_series(1, 6000) g;
SELECT count(*) AS right FROM parents p
JOIN (SELECT parent, count(*) AS n, sum(v) AS v, jsonb_agg(to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS+00:00') ORDER BY at) AS times FROM children GROUP BY parent) c ON c.parent = p.id
WHERE (doc -> 'n')::bigint = n AND (doc -> 'v')::numeric = v AND doc -> 'times' = times;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET timezone = 'Asia/Tokyo';
CREATE TEMP TABLE was AS SELECT id, doc - '_computed' AS doc FROM parents;
SET session_replication_role = replica;
UPDATE parents SET doc = doc || '{"v": -1, "times": []}';
SET session_replication_role = origin;
SELECT refresh_computed('parents', 'totals') AS totals, refresh_computed('parents', 'times') AS times;
SELECT count(*) AS differ FROM (SELECT id, doc - '_computed' FROM parents EXCEPT TABLE was) d;
SET session_replication_role = replica;
UPDATE parents SET doc = doc || '{"v": -1}' WHERE id IN (1, 751, 1500);
SET session_replication_role = origin;
SELECT refresh_computed('parents', 'totals') AS totals, refresh_computed('parents', 'times') AS times;
SET session_replication_role = replica;
UPDATE parents SET doc = doc || '{"v": -1, "times": null}' WHERE id = 700;
SET session_replication_role = origin;
SELECT key, path, expected FROM verify_computed('parents');
SELECT refresh_computed('parents', 'totals') AS totals, refresh_computed('parents', 'times') AS times;
SELECT count(*) AS differ FROM (SELECT id, doc - '_computed' FROM parents EXCEPT TABLE was) d;
RESET ALL;
DROP TABLE parents, children CASCADE;
DROP TABLE was;
