--
-- Definitions: what is refused, what follows renames, what a change of the view does
--
CREATE TABLE products (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}', name text, code int);
CREATE TABLE reviews (id int, product int, stars int, tags text[], f float8);
CREATE VIEW ratings AS SELECT product, count(*) AS n, sum(stars) AS stars FROM reviews GROUP BY product;
INSERT INTO products SELECT generate_series(1, 3);
CREATE FUNCTION state() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(id || ': ' || coalesce(doc ->> 'n', '-') || '/' || coalesce(doc ->> 'stars', '-'), ', ' ORDER BY id) FROM products
$$;

-- wrong definitions are refused when they are made, with the way out
CREATE TABLE attempts (n int GENERATED ALWAYS AS IDENTITY, definition text, key text);
INSERT INTO attempts (definition, key) VALUES
	('SELECT product, count(*) AS n FROM reviews JOIN products ON products.id = product GROUP BY product', 'product'),
	('SELECT product, count(*) AS n FROM reviews, generate_series(1, 3) GROUP BY product', 'product'),
	('SELECT product, count(*) AS n FROM (SELECT * FROM reviews) r GROUP BY product', 'product'),
	('SELECT product, count(*) AS n FROM reviews TABLESAMPLE system (50) GROUP BY product', 'product'),
	('SELECT product, n FROM ratings', 'product'),
	('SELECT product, sum(n) AS n FROM ratings GROUP BY product', 'product'),
	('WITH r AS (SELECT * FROM reviews) SELECT product, count(*) AS n FROM r GROUP BY product', 'product'),
	('SELECT product, stars FROM reviews', 'product'),
	('SELECT count(*) AS n FROM reviews', 'product'),
	('SELECT product, count(*) AS n FROM reviews GROUP BY product', 'no such'),
	('SELECT count(*) AS n FROM reviews GROUP BY product', 'product'),
	('SELECT product, count(*) AS n FROM reviews GROUP BY product', 'n'),
	('SELECT product, stars, count(*) AS n FROM reviews GROUP BY product, stars', 'product'),
	('SELECT product, count(*) AS n FROM reviews GROUP BY GROUPING SETS (product, ())', 'product'),
	('SELECT product, count(*) AS n FROM reviews GROUP BY product HAVING count(*) > 1', 'product'),
	('SELECT DISTINCT product, count(*) AS n FROM reviews GROUP BY product', 'product'),
	('SELECT DISTINCT ON (product) product, count(*) AS n FROM reviews GROUP BY product', 'product'),
	('SELECT product, count(*) AS n, rank() OVER (ORDER BY count(*)) AS r FROM reviews GROUP BY product', 'product'),
	('SELECT product, count(*) AS n, unnest(array_agg(stars)) AS s FROM reviews GROUP BY product', 'product'),
	('SELECT product, count(*) AS n FROM reviews GROUP BY product LIMIT 5', 'product'),
	('SELECT product, count(*) AS n FROM reviews GROUP BY product UNION ALL SELECT 1, 1', 'product'),
	('SELECT product, count(*) AS n FROM reviews WHERE now() > ''2026-01-01'' GROUP BY product', 'product'),
	('SELECT product, count(*) FILTER (WHERE random() < 0.5) AS n FROM reviews GROUP BY product', 'product'),
	('SELECT product, sum(stars * random()) AS n FROM reviews GROUP BY product', 'product'),
	('SELECT product, max(now()) AS n FROM reviews GROUP BY product', 'product'),
	('SELECT product, count(*) AS n FROM reviews WHERE stars > (SELECT avg(stars) FROM reviews) GROUP BY product', 'product'),
	('SELECT product, (SELECT count(*) FROM products) AS n FROM reviews GROUP BY product', 'product'),
	('SELECT product FROM reviews GROUP BY product', 'product'),
	('SELECT product::text AS product, count(*) AS n FROM reviews GROUP BY product::text', 'product'),
	('SELECT relnamespace AS product, count(*) AS n FROM pg_class GROUP BY relnamespace', 'product'),
	('SELECT 1 AS product, 2 AS n', 'product');
DO $$
DECLARE
	a attempts;
	done boolean;
	state text;
	message text;
	detail text;
	hint text;
BEGIN
	FOR a IN SELECT * FROM attempts ORDER BY n LOOP
		BEGIN
			EXECUTE 'CREATE VIEW attempt AS ' || a.definition;
			done := create_computed('products', 'doc', 'attempt', a.key);
			RAISE NOTICE E'%\n    not refused', a.definition;
			RAISE SQLSTATE 'PT000';
		EXCEPTION WHEN SQLSTATE 'PT000' THEN
			NULL;
		WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
			RAISE NOTICE E'%\n    %', a.definition, concat_ws(E'\n    ', state || ': ' || message, 'DETAIL: ' || nullif(detail, ''), 'HINT: ' || nullif(hint, ''));
		END;
	END LOOP;
END $$;
DROP TABLE attempts;
-- other arguments
SELECT create_computed(NULL, 'doc', 'ratings', 'product');
SELECT create_computed('products', NULL, 'ratings', 'product');
SELECT create_computed('products', 'doc', NULL, 'product');
SELECT create_computed('products', 'doc', 'ratings', NULL);
SELECT create_computed('products', 'no such', 'ratings', 'product');
SELECT create_computed('products', 'name', 'ratings', 'product');
SELECT create_computed('products', 'doc', 'ratings', 'product', parent_key => 'no such');
SELECT create_computed('products', 'doc', 'ratings', 'product', parent_key => 'code');
SELECT create_computed('products', 'doc', 'ratings', 'product', parent_key => 'name');
SELECT create_computed('products', 'doc', 'ratings', 'product', mode => 'sometimes');
SELECT create_computed('products', 'doc', 'ratings', 'product', path => '{a,NULL}');
SELECT create_computed('products', 'doc', 'reviews', 'product');
SELECT create_computed('ratings', 'doc', 'ratings', 'product');
CREATE TABLE keyless (id int, doc jsonb);
SELECT create_computed('keyless', 'doc', 'ratings', 'product');
CREATE INDEX ON keyless (id);
SELECT create_computed('keyless', 'doc', 'ratings', 'product', parent_key => 'id');
CREATE TABLE two_keys (a int, b int, doc jsonb, PRIMARY KEY (a, b));
SELECT create_computed('two_keys', 'doc', 'ratings', 'product');
CREATE TABLE partial_key (id int, doc jsonb);
CREATE UNIQUE INDEX ON partial_key (id) WHERE id > 5;
SELECT create_computed('partial_key', 'doc', 'ratings', 'product', parent_key => 'id');
CREATE MATERIALIZED VIEW stored_ratings AS SELECT product, count(*) AS n FROM reviews GROUP BY product;
SELECT create_computed('products', 'doc', 'stored_ratings', 'product');
SELECT drop_computed('products', 'ratings');
SELECT drop_computed('products', 'ratings', if_exists => true);
SELECT refresh_computed('products');
SELECT refresh_computed('products', 'ratings');
SELECT * FROM verify_computed('products', 'ratings');
DROP MATERIALIZED VIEW stored_ratings;
DROP TABLE keyless, two_keys, partial_key;
-- what looks at rows does so in triggers alone
SELECT computed_added(0, 'ratings', 'products', 1, 5);
SELECT computed_removed(tableoid, 'ratings', 'products', product, stars) FROM (VALUES ('reviews'::regclass::oid, 1, 5)) r(tableoid, product, stars);
SELECT computed_changed(NULL, NULL, NULL, NULL, NULL);
SELECT computed_added(0, 'ratings', 'products', VARIADIC ARRAY[1, 5]);
INSERT INTO reviews (product, stars) VALUES (1, 1);
SELECT computed_added(r.tableoid, 'ratings', 'products', r.product, r.stars) FROM reviews r JOIN reviews s ON s.product = r.product;
DELETE FROM reviews WHERE computed_removed(tableoid, 'ratings', 'products', product, stars);
DELETE FROM reviews;
CREATE TRIGGER by_hand AFTER INSERT ON reviews FOR EACH ROW EXECUTE FUNCTION computed_row();
INSERT INTO reviews (product, stars) VALUES (1, 1);
DROP TRIGGER by_hand ON reviews;
CREATE TRIGGER by_hand AFTER INSERT ON reviews FOR EACH ROW EXECUTE FUNCTION computed_parent();
INSERT INTO reviews (product, stars) VALUES (1, 1);
DROP TRIGGER by_hand ON reviews;
CREATE TRIGGER by_hand AFTER INSERT ON reviews FOR EACH ROW EXECUTE FUNCTION computed_flush();
INSERT INTO reviews (product, stars) VALUES (1, 1);
DROP TRIGGER by_hand ON reviews;
CREATE TRIGGER by_hand BEFORE INSERT ON products FOR EACH ROW EXECUTE FUNCTION computed_parent();
INSERT INTO products (id) VALUES (77);
DROP TRIGGER by_hand ON products;
CREATE TRIGGER by_hand BEFORE TRUNCATE ON reviews EXECUTE FUNCTION computed_flush();
TRUNCATE reviews;
DROP TRIGGER by_hand ON reviews;
CREATE TRIGGER by_hand BEFORE TRUNCATE ON reviews FOR EACH STATEMENT WHEN (pattern_target('ratings', 'products')) EXECUTE FUNCTION computed_flush('immediate', 'x');
TRUNCATE reviews;
DROP TRIGGER by_hand ON reviews;
CREATE TRIGGER by_hand AFTER INSERT ON reviews FOR EACH ROW WHEN (computed_added(NEW.tableoid, 'ratings', 'products', NEW.product, NEW.stars)) EXECUTE FUNCTION computed_row();
INSERT INTO reviews (product, stars) VALUES (1, 1);
DROP TRIGGER by_hand ON reviews;
-- nothing of what was refused stays
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('products'::regclass, 'reviews'::regclass) AND NOT tgisinternal;

-- fill: at creation, or later
INSERT INTO reviews (product, stars) VALUES (1, 5), (1, 4), (2, 3);
SELECT create_computed('products', 'doc', 'ratings', 'product', populate => false);
SELECT state();
INSERT INTO reviews (product, stars) VALUES (2, 1);
SELECT state();
SELECT refresh_computed('products', 'ratings');
SELECT state();
SELECT refresh_computed('products', 'ratings');
SELECT create_computed('products', 'doc', 'ratings', 'product');
-- without the hidden fields they are computed anew, not added to nothing
SET session_replication_role = replica;
UPDATE products SET doc = '{}' WHERE id = 1;
RESET session_replication_role;
INSERT INTO reviews (product, stars) VALUES (1, 1);
SELECT state();
-- keys that are asked for, and no others
SET session_replication_role = replica;
UPDATE products SET doc = doc || '{"n": 99}';
RESET session_replication_role;
SELECT key, path, stored, expected FROM verify_computed('products') ORDER BY 1;
SELECT refresh_computed('products', 'ratings', '{1,3}');
SELECT key, path, stored, expected FROM verify_computed('products') ORDER BY 1;
SELECT refresh_computed('products', keys => '{2,77}');
SELECT refresh_computed('products', keys => '{x}');
SELECT refresh_computed('products', keys => '{NULL}');
SELECT refresh_computed('products', keys => '{}');
SELECT count(*) AS differs FROM verify_computed('products');

-- names may change: of the tables, the view, the columns, the schema
ALTER TABLE products RENAME TO goods;
ALTER TABLE reviews RENAME TO opinions;
ALTER VIEW ratings RENAME TO marks;
ALTER TABLE opinions RENAME COLUMN product TO good;
ALTER TABLE opinions RENAME COLUMN stars TO points;
ALTER TABLE goods RENAME COLUMN doc TO document;
ALTER TABLE goods RENAME COLUMN id TO number;
CREATE SCHEMA elsewhere;
ALTER TABLE goods SET SCHEMA elsewhere;
ALTER TABLE opinions SET SCHEMA elsewhere;
ALTER VIEW marks SET SCHEMA elsewhere;
INSERT INTO elsewhere.opinions (good, points) VALUES (3, 3);
UPDATE elsewhere.opinions SET points = points + 1 WHERE good = 1;
SELECT number, document -> 'n' AS n, document -> 'stars' AS stars FROM elsewhere.goods ORDER BY 1;
SELECT count(*) AS differs FROM verify_computed('elsewhere.goods');
UPDATE elsewhere.goods SET document = '{}' WHERE number = 1 RETURNING document -> 'n' AS n;
SELECT refresh_computed('elsewhere.goods', 'elsewhere.marks');
ALTER SCHEMA elsewhere RENAME TO here;
INSERT INTO here.opinions (good, points) VALUES (3, 3);
SELECT count(*) AS differs FROM verify_computed('here.goods');
ALTER TABLE here.opinions SET SCHEMA public;
ALTER TABLE here.goods SET SCHEMA public;
ALTER VIEW here.marks SET SCHEMA public;
ALTER TABLE goods RENAME TO products;
ALTER TABLE products RENAME COLUMN document TO doc;
ALTER TABLE products RENAME COLUMN number TO id;
ALTER TABLE opinions RENAME TO reviews;
ALTER TABLE reviews RENAME COLUMN good TO product;
DROP SCHEMA here;
INSERT INTO reviews (product, points) VALUES (3, 3);
SELECT state();
-- and so may those of the extension's schema
CREATE SCHEMA ext;
ALTER EXTENSION pattern SET SCHEMA ext;
INSERT INTO reviews (product, points) VALUES (3, 3);
UPDATE products SET doc = doc || '{"x": 1}';
SELECT state();
SELECT count(*) AS differs FROM ext.verify_computed('products');
ALTER EXTENSION pattern SET SCHEMA public;
-- (what depends on what is not listed: the order is PostgreSQL's)
\set VERBOSITY terse
-- columns that are used cannot go, others can, and more can come
ALTER TABLE reviews DROP COLUMN points;
ALTER TABLE reviews DROP COLUMN product;
ALTER TABLE products DROP COLUMN doc;
ALTER TABLE reviews DROP COLUMN tags, ADD COLUMN note text DEFAULT 'x', ADD COLUMN more int;
ALTER TABLE products DROP COLUMN name, ADD COLUMN title text;
INSERT INTO reviews (product, points, note) VALUES (3, 3, 'y');
SELECT state();
ALTER TABLE reviews ALTER COLUMN points TYPE bigint;
ALTER TABLE reviews ALTER COLUMN note TYPE varchar(10);
INSERT INTO reviews (product, points, note) VALUES (3, 3, 'y');
SELECT state();
\set VERBOSITY default
-- rewritten tables
VACUUM FULL reviews;
CLUSTER products USING products_pkey;
UPDATE reviews SET points = points + 1;
SELECT state();
SELECT count(*) AS differs FROM verify_computed('products');

-- the view is replaced under us: writes say so until refresh_computed
CREATE OR REPLACE VIEW marks AS SELECT product, count(*) AS n, sum(points) AS stars, max(points) AS best FROM reviews GROUP BY product;
INSERT INTO reviews (product, points) VALUES (1, 9);
SELECT refresh_computed('products', 'marks');
INSERT INTO reviews (product, points) VALUES (1, 9);
SELECT id, doc -> 'n' AS n, doc -> 'best' AS best FROM products ORDER BY 1;
SELECT count(*) AS differs FROM verify_computed('products');
-- the same names with another meaning
CREATE OR REPLACE VIEW marks AS SELECT product, count(*) AS n, sum(points * 2) AS stars, max(points) AS best FROM reviews WHERE points > 3 GROUP BY product;
INSERT INTO reviews (product, points) VALUES (1, 9);
SELECT refresh_computed('products');
INSERT INTO reviews (product, points) VALUES (1, 10), (2, 1);
SELECT state();
SELECT count(*) AS differs FROM verify_computed('products');
-- what differs in a little: each is noticed
CREATE TEMP TABLE variants (n int GENERATED ALWAYS AS IDENTITY, best text);
INSERT INTO variants (best) VALUES ('max(greatest(points, id))'), ('max(least(points, id))'), ('max(coalesce(points, id))'), ('max(nullif(points, id))'), ('count(DISTINCT points)::int'), ('count(points)::int'),
	('max(points) FILTER (WHERE points = ANY (ARRAY[1, 2]))'), ('max(points) FILTER (WHERE points = ALL (ARRAY[1, 2]))'), ('max(points) FILTER (WHERE id IS DISTINCT FROM points)'), ('max(points) FILTER (WHERE id = points)'),
	('max(CASE WHEN id > 1 THEN points END)'), ('max(id::text::int)'), ('max(id::varchar::int)'), ('(array_agg(points ORDER BY id))[1]'), ('(array_agg(points ORDER BY id DESC))[1]'), ('(array_agg(points))[1]');
DO $$
DECLARE
	v variants;
BEGIN
	FOR v IN SELECT * FROM variants ORDER BY n LOOP
		EXECUTE format('CREATE OR REPLACE VIEW marks AS SELECT product, count(*) AS n, sum(points * 2) AS stars, %s AS best FROM reviews WHERE points > 3 GROUP BY product', v.best);
		BEGIN
			INSERT INTO reviews (product, points) VALUES (1, 9);
			RAISE NOTICE 'not noticed: %', v.best;
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
			PERFORM refresh_computed('products', 'marks');
			INSERT INTO reviews (product, points) VALUES (1, 9);
		END;
	END LOOP;
END $$;
SELECT count(*) AS differs FROM verify_computed('products');
DROP TABLE variants;
-- a definition that would have been refused
CREATE OR REPLACE VIEW marks AS SELECT product, count(*) AS n, sum(points * 2) AS stars, max(points) AS best FROM reviews GROUP BY product HAVING count(*) > 1;
INSERT INTO reviews (product, points) VALUES (1, 9);
SELECT refresh_computed('products');
CREATE OR REPLACE VIEW marks AS SELECT product, count(*) AS n, sum(points * 2) AS stars, max(points) AS best FROM reviews GROUP BY product;
SELECT refresh_computed('products');
SELECT count(*) AS differs FROM verify_computed('products');

-- triggers that are disabled
ALTER TABLE reviews DISABLE TRIGGER USER;
INSERT INTO reviews (product, points) VALUES (2, 9);
ALTER TABLE reviews ENABLE TRIGGER USER;
SELECT count(*) > 0 AS differs FROM verify_computed('products');
SELECT refresh_computed('products');

-- DROP: refused, or with the triggers
\set VERBOSITY terse
DROP VIEW marks;
DROP TABLE products;
BEGIN;
DROP VIEW marks CASCADE;
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('products'::regclass, 'reviews'::regclass) AND NOT tgisinternal;
INSERT INTO reviews (product, points) VALUES (1, 1);
UPDATE products SET doc = '{"plain": true}';
SELECT doc FROM products WHERE id = 1;
ROLLBACK;
BEGIN;
DROP TABLE products CASCADE;
INSERT INTO reviews (product, points) VALUES (1, 1);
ROLLBACK;
BEGIN;
DROP TABLE reviews CASCADE;
UPDATE products SET doc = '{"plain": true}';
SELECT doc FROM products WHERE id = 1;
ROLLBACK;
BEGIN;
DROP EXTENSION pattern CASCADE;
INSERT INTO reviews (product, points) VALUES (1, 1);
UPDATE products SET doc = '{"plain": true}';
SELECT doc FROM products WHERE id = 1;
ROLLBACK;
SELECT count(*) AS differs FROM verify_computed('products');

\set VERBOSITY default
-- drop_computed: writes are plain writes again; the fields stay as they are
SELECT drop_computed('products', 'marks');
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('products'::regclass, 'reviews'::regclass) AND NOT tgisinternal;
SELECT drop_computed('products', 'marks');
INSERT INTO reviews (product, points) VALUES (1, 100);
SELECT doc -> 'n' = to_jsonb((SELECT n FROM marks WHERE product = 1)) AS maintained FROM products WHERE id = 1;
SELECT create_computed('products', 'doc', 'marks', 'product', mode => 'queued');
INSERT INTO reviews (product, points) VALUES (1, 100);
-- the queue is a table: what is added to it is seen to
ALTER TABLE products_marks_queue ADD at timestamptz NOT NULL DEFAULT now();
CREATE INDEX ON products_marks_queue (key);
INSERT INTO reviews (product, points) VALUES (2, 100);
SET enable_seqscan = off;
SELECT key, at IS NOT NULL AS has_time FROM products_marks_queue WHERE key = 2;
RESET enable_seqscan;
SELECT refresh_computed('products', 'marks');
SELECT drop_computed('products', 'marks');
SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1;

-- temporary tables
CREATE TEMP TABLE p (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TEMP TABLE c (p int, v int);
CREATE TEMP VIEW t AS SELECT p, count(*) AS n FROM c GROUP BY p;
SELECT create_computed('p', 'doc', 't', 'p');
INSERT INTO p VALUES (1);
INSERT INTO c VALUES (1, 1), (1, 2);
SELECT doc -> 'n' FROM p;
DROP TABLE p, c CASCADE;
-- in the transaction that makes it
BEGIN;
CREATE TABLE p (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE c (p int, v int);
INSERT INTO p VALUES (1), (2);
INSERT INTO c VALUES (1, 1);
CREATE VIEW t AS SELECT p, count(*) AS n FROM c GROUP BY p;
SELECT create_computed('p', 'doc', 't', 'p', mode => 'deferred');
INSERT INTO c VALUES (1, 1), (2, 2);
SAVEPOINT a;
SELECT drop_computed('p', 't');
INSERT INTO c VALUES (1, 1), (2, 2);
ROLLBACK TO a;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT id, doc -> 'n' FROM p ORDER BY 1;
COMMIT;
SELECT id, doc -> 'n' FROM p ORDER BY 1;
-- dropped while its rows wait
BEGIN;
INSERT INTO c VALUES (1, 1), (2, 2);
SELECT drop_computed('p', 't');
ROLLBACK;
SELECT drop_computed('p', 't');
DROP TABLE p, c CASCADE;
DROP FUNCTION state;
SET client_min_messages = warning;
DROP TABLE products, reviews CASCADE;
