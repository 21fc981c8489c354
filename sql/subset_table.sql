--
-- create_subset: the first few children in the parent's document
--
CREATE TABLE products (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE reviews (id int PRIMARY KEY, product int, at date, stars int, author text);
INSERT INTO products SELECT g, jsonb_build_object('title', 'Product ' || g) FROM generate_series(1, 4) g;
INSERT INTO reviews SELECT g, g % 3 + 1, date '2026-01-01' + g * 37 % 100, g % 5 + 1, 'user ' || g % 7 FROM generate_series(1, 30) g;

-- what is right: PostgreSQL's own first few
CREATE VIEW mistakes AS
SELECT p.id, doc -> 'recent' AS stored, list AS expected
FROM products p, LATERAL (SELECT coalesce(jsonb_agg(e), '[]') AS list
	FROM (SELECT jsonb_build_object('at', at, 'stars', stars, 'author', author) AS e FROM reviews WHERE product = p.id
		ORDER BY at DESC NULLS LAST, stars NULLS FIRST, author COLLATE "C" NULLS FIRST LIMIT 3) l) r
WHERE doc -> 'recent' IS DISTINCT FROM list OR doc ->> 'title' IS NULL;

-- without an index it says what that costs
SELECT create_subset('products', 'doc', '{recent}', 'reviews', 'product', '{at,stars,author}', 'at desc', max_size => 3);
SELECT replace(pg_get_viewdef('products_recent_subset'), 'child.', '') AS definition;
SELECT * FROM mistakes;
SELECT id, doc -> 'recent' AS recent FROM products ORDER BY id;
-- a new one on top, one in between, one behind, ties by the other fields
INSERT INTO reviews VALUES (100, 1, '2026-12-01', 1, 'top');
INSERT INTO reviews VALUES (101, 1, '2020-12-01', 1, 'never seen'), (102, 2, '2026-04-09', 3, 'b'), (103, 2, '2026-04-09', 3, 'a'), (104, 2, '2026-04-09', 2, 'c');
SELECT * FROM mistakes;
INSERT INTO reviews VALUES (105, 4, NULL, NULL, NULL), (106, 4, '2026-01-01', NULL, ''), (107, 4, NULL, 1, 'z');
SELECT * FROM mistakes;
SELECT id, doc -> 'recent' AS recent FROM products WHERE id IN (2, 4) ORDER BY id;
-- the value, the order, the key
UPDATE reviews SET stars = 5, author = 'changed' WHERE id = 100;
SELECT * FROM mistakes;
UPDATE reviews SET at = '2019-01-01' WHERE id = 100;
SELECT * FROM mistakes;
UPDATE reviews SET at = at + 1000 WHERE id = 101;
SELECT * FROM mistakes;
UPDATE reviews SET product = 3 WHERE at = (SELECT max(at) FROM reviews);
SELECT * FROM mistakes;
UPDATE reviews SET product = product % 4 + 1, at = at - 7;
SELECT * FROM mistakes;
UPDATE reviews SET product = NULL WHERE id % 5 = 0;
SELECT * FROM mistakes;
-- a member of the list goes, one that is not in it goes, all go
DELETE FROM reviews r USING (SELECT product, max(at) AS at FROM reviews GROUP BY 1) m WHERE r.product = m.product AND r.at = m.at;
SELECT * FROM mistakes;
DELETE FROM reviews r USING (SELECT product, min(at) AS at FROM reviews GROUP BY 1) m WHERE r.product = m.product AND r.at = m.at;
SELECT * FROM mistakes;
DELETE FROM reviews WHERE product = 2;
SELECT * FROM mistakes;
COPY reviews FROM stdin;
200	2	2026-01-01	1	a
201	2	2026-01-02	2	b
202	2	2026-01-03	3	c
203	2	2026-01-04	4	d
\.
SELECT * FROM mistakes;
-- equal children: as many times as they are there
INSERT INTO reviews SELECT g, 3, '2030-01-01', 5, 'same' FROM generate_series(300, 304) g;
DELETE FROM reviews WHERE id IN (300, 301);
SELECT * FROM mistakes;
DELETE FROM reviews WHERE id IN (302, 303);
SELECT * FROM mistakes;
SELECT doc -> 'recent' -> 0 ->> 'author' = 'same', doc -> 'recent' -> 1 ->> 'author' = 'same' FROM products WHERE id = 3;
-- an application's stale list does not come back
UPDATE products SET doc = '{"title": "x", "recent": [{"stars": 1000}]}' WHERE id = 1;
INSERT INTO products VALUES (5, '{"title": "new", "recent": "none"}');
SELECT * FROM mistakes;
TRUNCATE reviews;
SELECT id, doc -> 'recent' AS recent FROM products ORDER BY id;
SELECT count(*) AS differs FROM verify_computed('products');
SELECT refresh_computed('products', 'products_recent_subset');
-- what does not change the list does not write the parent
INSERT INTO reviews SELECT g, 1, date '2026-01-01' + g, 1, 'a' FROM generate_series(1, 10) g;
CREATE TEMP TABLE before AS SELECT id, ctid AS ctid_before FROM products;
INSERT INTO reviews VALUES (20, 1, '2020-01-01', 1, 'a');
DELETE FROM reviews WHERE id IN (1, 20);
UPDATE reviews SET author = 'b' WHERE id = 2;
UPDATE reviews SET id = -id;
SELECT bool_and(p.ctid = ctid_before) AS untouched FROM products p JOIN before b ON b.id = p.id;
SELECT * FROM mistakes;

-- it goes by drop_computed, and its view
SELECT drop_computed('products', 'products_recent_subset');
DROP VIEW products_recent_subset;
INSERT INTO reviews VALUES (30, 1, '2027-01-01', 1, 'a');
SELECT count(*) AS not_followed FROM mistakes;
-- DROP VIEW … CASCADE does both
CREATE INDEX ON reviews (product, at);
SELECT create_subset('products', 'doc', '{recent}', 'reviews', 'product', '{at,stars,author}', 'at desc', max_size => 3);
SELECT * FROM mistakes;
SET client_min_messages = warning;
DROP VIEW products_recent_subset CASCADE;
RESET client_min_messages;
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('products'::regclass, 'reviews'::regclass) AND NOT tgisinternal;
DROP VIEW mistakes;

-- names: a view that exists, a path, quotes, the key's own name, length
CREATE TABLE products_recent_subset ();
SELECT create_subset('products', 'doc', '{lists,recent}', 'reviews', 'product', '{at}', 'at desc', 1);
DROP TABLE products_recent_subset;
SELECT create_subset('products', 'doc', '{lists,product}', 'reviews', 'product', '{stars}', 'stars', 2);
SELECT id, doc -> 'lists' AS lists FROM products WHERE id < 3 ORDER BY id;
CREATE SCHEMA "The Shop";
CREATE TABLE "The Shop"."Parents'" ("Id" text PRIMARY KEY, "Doc" jsonb NOT NULL DEFAULT '{}');
CREATE TABLE "The Shop".kids ("My ""Parent""" text, "a.b" int, "c""d" text, "desc" text, "e'f\g" jsonb);
CREATE INDEX ON "The Shop".kids ("My ""Parent""", "a.b");
SELECT create_subset('"The Shop"."Parents''"', 'Doc', ARRAY['the "list"', 'of, all'], '"The Shop".kids', 'My "Parent"',
	ARRAY['a.b', 'c"d', 'desc', 'e''f\g'], '"a.b" desc, "e''f\g".x', 2, parent_key => 'Id', mode => 'immediate');
INSERT INTO "The Shop"."Parents'" VALUES ('p');
INSERT INTO "The Shop".kids VALUES ('p', 1, 'x', 'y', '{"x": 1}'), ('p', 2, 'x', 'y', '{"x": 2}'), ('p', 2, 'x', 'y', '{"x": 1}');
SELECT "Doc" #> ARRAY['the "list"', 'of, all'] AS list FROM "The Shop"."Parents'";
SELECT relname FROM pg_class WHERE relnamespace = '"The Shop"'::regnamespace AND relkind = 'v';
SET client_min_messages = warning;
DROP SCHEMA "The Shop" CASCADE;
RESET client_min_messages;
CREATE TABLE a_parent_whose_name_has_sixty_three_bytes_as_many_as_there_may_ (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
SELECT create_subset('a_parent_whose_name_has_sixty_three_bytes_as_many_as_there_may_', 'doc', '{recent}', 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('a_parent_whose_name_has_sixty_three_bytes_as_many_as_there_may_', 'doc', '{recently}', 'reviews', 'product', '{at}', 'at', 1);
INSERT INTO a_parent_whose_name_has_sixty_three_bytes_as_many_as_there_may_ VALUES (1);
SELECT doc -> 'recent' = doc -> 'recently' FROM a_parent_whose_name_has_sixty_three_bytes_as_many_as_there_may_;
SET client_min_messages = warning;
DROP TABLE a_parent_whose_name_has_sixty_three_bytes_as_many_as_there_may_ CASCADE;
RESET client_min_messages;

-- which index is the one
CREATE TABLE indexed (p int, a int, b int);
CREATE INDEX ON indexed (p);
CREATE INDEX ON indexed (a, p);
CREATE INDEX ON indexed (p, b);
CREATE INDEX ON indexed (p, a) WHERE a > 0;
SELECT create_subset('products', 'doc', '{x}', 'indexed', 'p', '{a,b}', 'a, b', 1);
CREATE INDEX ON indexed (p, a DESC, b);
SELECT create_subset('products', 'doc', '{y}', 'indexed', 'p', '{a,b}', 'a, b', 1);
SET client_min_messages = warning;
DROP TABLE indexed CASCADE;
RESET client_min_messages;
-- texts are looked up by the collation C, what is inside of a document not at all
CREATE TABLE texts (p int, t text COLLATE "POSIX", c text COLLATE "C", j jsonb);
CREATE INDEX ON texts (p, t);
CREATE INDEX ON texts (p, c DESC);
SELECT create_subset('products', 'doc', '{t}', 'texts', 'p', '{t,c}', 't desc', 2);
SELECT create_subset('products', 'doc', '{c}', 'texts', 'p', '{t,c}', 'c', 2);
SELECT create_subset('products', 'doc', '{j}', 'texts', 'p', '{j}', 'j.x', 2);
INSERT INTO texts SELECT 1, x, x, jsonb_build_object('x', x) FROM unnest(ARRAY['b', 'B', 'ä', '', 'a', 'A', NULL, 'zz']) x;
DELETE FROM texts WHERE t = 'ä' OR c = 'A';
SELECT doc -> 't' AS t, doc -> 'c' AS c, doc -> 'j' AS j FROM products WHERE id = 1;
SELECT count(*) AS differs FROM verify_computed('products');
SET client_min_messages = warning;
DROP TABLE texts CASCADE;
RESET client_min_messages;

-- read again through the index: values that sort otherwise as jsonb, nulls, ties, the plan
CREATE TABLE sorted (p int, at date, n numeric, f float8, id int GENERATED ALWAYS AS IDENTITY);
CREATE INDEX ON sorted (p, at);
CREATE INDEX ON sorted (p, n DESC);
CREATE INDEX ON sorted (p, f);
SELECT create_subset('products', 'doc', '{last}', 'sorted', 'p', '{at,id}', 'at desc', 3), create_subset('products', 'doc', '{first}', 'sorted', 'p', '{at,id}', 'at', 3),
	create_subset('products', 'doc', '{high}', 'sorted', 'p', '{n,id}', 'n desc', 3), create_subset('products', 'doc', '{low}', 'sorted', 'p', '{n,id}', 'n', 3),
	create_subset('products', 'doc', '{fast}', 'sorted', 'p', '{f,id}', 'f desc, id desc', 3);
INSERT INTO sorted (p, at, n, f)
SELECT 1 + g % 2, date '2026-01-01' + g % 10, g % 7, g % 6 FROM generate_series(1, 60) g
UNION ALL SELECT 1, unnest('{infinity,-infinity,"0044-03-15 BC",12026-01-01,NULL,NULL}'::date[]), unnest('{NaN,Infinity,-Infinity,NULL,-5,1e30}'::numeric[]), unnest('{NaN,Infinity,-Infinity,NULL,-5,1e300}'::float8[]);
SELECT count(*) AS differs FROM verify_computed('products');
DO $$
DECLARE
	field text;
	lost int[];
	n int;
BEGIN
	FOR round IN 1..25 LOOP
		FOREACH field IN ARRAY '{last,first,high,low,fast}'::text[] LOOP
			SELECT array_agg((doc #>> ARRAY[field, '0', 'id'])::int) INTO lost FROM products WHERE id IN (1, 2);
			DELETE FROM sorted WHERE id = ANY (lost);
			SELECT count(*) INTO n FROM verify_computed('products');
			IF n > 0 THEN
				RAISE 'round %, %: % differ', round, field, n;
			END IF;
		END LOOP;
	END LOOP;
END $$;
SELECT count(*) AS left FROM sorted;
SET client_min_messages = warning;
DROP TABLE sorted CASCADE;
RESET client_min_messages;

-- wrong arguments
SELECT create_subset(NULL, 'doc', '{x}', 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('products', NULL, '{x}', 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('products', 'doc', NULL, 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('products', 'doc', '{x}', NULL, 'product', '{at}', 'at', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', NULL, '{at}', 'at', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', NULL, 'at', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{at}', NULL, 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{at}', 'at', NULL);
SELECT create_subset('products', 'doc', '{}', 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('products', 'doc', '{{x}}', 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('products', 'doc', '{x,NULL}', 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('products', 'doc', '{x,""}', 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('products', 'doc', ARRAY['x', repeat('y', 64)], 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{}', 'at', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{at,NULL}', 'at', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{at,at}', 'at', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{no such}', 'at', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'no such', '{at}', 'at', 1);
SELECT create_subset('products', 'no such', '{x}', 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('products', 'id', '{x}', 'reviews', 'product', '{at}', 'at', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{at}', '', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{at}', 'at sideways', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{at}', 'stars, at', 1);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{at}', 'at', 0);
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{at}', 'at', 1, mode => 'never');
SELECT create_subset('products', 'doc', '{x}', 'reviews', 'product', '{at}', 'at', 1, parent_key => 'no such');
SELECT create_subset('products', 'doc', '{x}', 'pg_class', 'relname', '{oid}', 'oid', 1);
-- nothing of what was refused stays
SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname LIKE 'products_x_subset%';
SET client_min_messages = warning;
DROP TABLE products, reviews CASCADE;
RESET client_min_messages;
