--
-- Whose rights: roles that only write, row security, tables of other owners
--
CREATE ROLE computed_owner;
CREATE ROLE computed_writer;
CREATE ROLE computed_other;
CREATE ROLE computed_boss;
GRANT computed_owner TO computed_boss;
CREATE SCHEMA shop AUTHORIZATION computed_owner;
CREATE SCHEMA other AUTHORIZATION computed_other;
GRANT USAGE ON SCHEMA shop TO computed_writer, computed_other, computed_boss;

SET ROLE computed_owner;
CREATE TABLE shop.products (id int PRIMARY KEY, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE shop.reviews (id int GENERATED ALWAYS AS IDENTITY, product int, stars int, author text DEFAULT current_user);
CREATE INDEX ON shop.reviews (product, stars);
INSERT INTO shop.products SELECT generate_series(1, 3);
CREATE VIEW shop.ratings AS SELECT product, count(*) AS n, sum(stars) AS stars, min(stars) AS worst FROM shop.reviews GROUP BY product;
CREATE VIEW shop.latest AS SELECT product, count(*) AS late FROM shop.reviews GROUP BY product;
CREATE VIEW shop.waiting AS SELECT product, count(*) AS waits FROM shop.reviews GROUP BY product;
SELECT create_computed('shop.products', 'doc', 'shop.ratings', 'product'), create_computed('shop.products', 'doc', 'shop.latest', 'product', mode => 'deferred'),
	create_computed('shop.products', 'doc', 'shop.waiting', 'product', mode => 'queued');
SELECT create_subset('shop.products', 'doc', '{best}', 'shop.reviews', 'product', '{stars,id}', 'stars desc', 2);
RESET ROLE;
CREATE FUNCTION shown(doc jsonb) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$ SELECT jsonb_object_agg(key, value) FROM jsonb_each(doc) WHERE key !~ '^_' $$;

-- a role with nothing but INSERT
GRANT INSERT ON shop.reviews TO computed_writer;
SET ROLE computed_writer;
INSERT INTO shop.reviews (product, stars) VALUES (1, 5), (1, 3), (2, 1);
SELECT * FROM shop.products;
SELECT * FROM shop.ratings;
RESET ROLE;
SELECT refresh_computed('shop.products', 'shop.waiting');
SELECT id, shown(doc) FROM shop.products ORDER BY id;
-- with DELETE and UPDATE, which in SQL need SELECT for their conditions
GRANT UPDATE, DELETE ON shop.reviews TO computed_writer;
SET ROLE computed_writer;
UPDATE shop.reviews SET stars = 4;
RESET ROLE;
SELECT id, shown(doc) - 'waits' FROM shop.products ORDER BY id;
SET ROLE computed_writer;
DELETE FROM shop.reviews;
RESET ROLE;
SELECT id, shown(doc) - 'waits' FROM shop.products ORDER BY id;
SELECT refresh_computed('shop.products');
SELECT count(*) AS differs FROM verify_computed('shop.products');

-- row security hides rows from roles, not from sums
SET ROLE computed_owner;
ALTER TABLE shop.reviews ENABLE ROW LEVEL SECURITY;
ALTER TABLE shop.products ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON shop.reviews USING (author = current_user) WITH CHECK (author = current_user);
CREATE POLICY none ON shop.products USING (false) WITH CHECK (false);
INSERT INTO shop.reviews (product, stars) VALUES (1, 1), (3, 5);
RESET ROLE;
GRANT SELECT ON shop.reviews TO computed_writer;
SET ROLE computed_writer;
INSERT INTO shop.reviews (product, stars) VALUES (1, 2), (1, 4);
SELECT stars FROM shop.reviews ORDER BY stars;
DELETE FROM shop.reviews WHERE stars = 2;
RESET ROLE;
SELECT id, shown(doc) - 'waits' FROM shop.products ORDER BY id;
-- forced upon the owner too
SET ROLE computed_owner;
ALTER TABLE shop.reviews FORCE ROW LEVEL SECURITY;
ALTER TABLE shop.products FORCE ROW LEVEL SECURITY;
SET ROLE computed_writer;
INSERT INTO shop.reviews (product, stars) VALUES (1, 3), (3, 2);
DELETE FROM shop.reviews WHERE stars = 4;
DELETE FROM shop.reviews WHERE stars = 3;
SET ROLE computed_owner;
ALTER TABLE shop.reviews NO FORCE ROW LEVEL SECURITY;
ALTER TABLE shop.products NO FORCE ROW LEVEL SECURITY;
SELECT refresh_computed('shop.products', 'shop.waiting');
SELECT id, shown(doc) FROM shop.products ORDER BY id;
SELECT count(*) AS differs FROM verify_computed('shop.products');

-- who may configure
SET ROLE computed_writer;
SELECT create_computed('shop.products', 'doc', 'shop.ratings', 'product', path => '{x}');
SELECT create_subset('shop.products', 'doc', '{x}', 'shop.reviews', 'product', '{stars}', 'stars', 1);
SELECT drop_computed('shop.products', 'shop.ratings');
SELECT refresh_computed('shop.products');
SELECT * FROM verify_computed('shop.products');
RESET ROLE;
-- a member of the owner's role may
SET ROLE computed_boss;
SELECT drop_computed('shop.products', 'shop.latest');
SELECT refresh_computed('shop.products') IS NOT NULL AS refreshed;
RESET ROLE;

-- someone else's table: as parent, as base table, behind a view
SET ROLE computed_other;
CREATE TABLE other.mine (id int PRIMARY KEY, product int, doc jsonb NOT NULL DEFAULT '{}');
CREATE VIEW other.counts AS SELECT product, count(*) AS n FROM other.mine GROUP BY product;
SELECT create_computed('shop.products', 'doc', 'other.counts', 'product', path => '{x}');
SELECT create_subset('shop.products', 'doc', '{x}', 'other.mine', 'product', '{id}', 'id', 1);
SELECT create_subset('other.mine', 'doc', '{x}', 'shop.reviews', 'product', '{stars}', 'stars', 1);
RESET ROLE;
GRANT SELECT, TRIGGER ON shop.reviews, shop.products TO computed_other;
GRANT SELECT ON shop.ratings TO computed_other;
SET ROLE computed_other;
CREATE VIEW other.spy AS SELECT product, count(*) AS n FROM shop.reviews GROUP BY product;
SELECT create_computed('other.mine', 'doc', 'other.spy', 'product');
SELECT create_computed('other.mine', 'doc', 'shop.ratings', 'product');
-- a trigger of ours, written by hand on a table of one's own: how the engine's look
RESET ROLE;
SELECT count(*) > 0 AS there_are FROM pg_trigger WHERE tgrelid = 'shop.reviews'::regclass AND NOT tgisinternal;
-- copies of the engine's triggers on another table change nothing of the owner's
CREATE TEMP TABLE copies AS
SELECT tgname, replace(replace(pg_get_triggerdef(oid), ' ON shop.reviews ', ' ON other.copy '), ' FROM shop.reviews', '') AS definition
FROM pg_trigger WHERE tgrelid = 'shop.reviews'::regclass AND NOT tgisinternal;
GRANT SELECT ON copies TO computed_other;
SET ROLE computed_other;
CREATE TABLE other.copy (id int, product int, stars int, author text);
DO $$
DECLARE
	c record;
BEGIN
	FOR c IN SELECT * FROM copies LOOP
		BEGIN
			EXECUTE c.definition;
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
	BEGIN
		INSERT INTO other.copy VALUES (1, 1, 1000, 'x');
	EXCEPTION WHEN insufficient_privilege OR object_not_in_prerequisite_state THEN
		RAISE NOTICE 'refused: %', SQLERRM;
	END;
END $$;
RESET ROLE;
SELECT count(*) AS differs FROM verify_computed('shop.products');
SELECT id, shown(doc) - 'waits' - 'late' FROM shop.products WHERE shown(doc)::text LIKE '%1000%';
DROP TABLE other.copy;

-- the owner changes later: with one of three the engine refuses to write, with all three it goes on
ALTER TABLE shop.products OWNER TO computed_other;
INSERT INTO shop.reviews (product, stars) VALUES (2, 2);
ALTER TABLE shop.reviews OWNER TO computed_other;
ALTER VIEW shop.ratings OWNER TO computed_other;
ALTER VIEW shop.waiting OWNER TO computed_other;
ALTER VIEW shop.products_best_subset OWNER TO computed_other;
SELECT count(*) FROM pg_class WHERE relnamespace = 'shop'::regnamespace AND relkind = 'r' AND relowner = 'computed_owner'::regrole;
DO $$
DECLARE
	r regclass;
BEGIN
	FOR r IN SELECT oid FROM pg_class WHERE relnamespace = 'shop'::regnamespace AND relkind = 'r' AND relowner = 'computed_owner'::regrole LOOP
		EXECUTE format('ALTER TABLE %s OWNER TO computed_other', r);
	END LOOP;
END $$;
INSERT INTO shop.reviews (product, stars) VALUES (2, 2);
SELECT refresh_computed('shop.products', 'shop.waiting');
SELECT id, shown(doc) - 'late' FROM shop.products ORDER BY id;
SELECT count(*) AS differs FROM verify_computed('shop.products');
-- a base table whose owner holds the parent's role will do
GRANT computed_other TO computed_owner;
ALTER TABLE shop.reviews OWNER TO computed_owner;
ALTER VIEW shop.ratings OWNER TO computed_owner;
ALTER VIEW shop.waiting OWNER TO computed_owner;
ALTER VIEW shop.products_best_subset OWNER TO computed_owner;
INSERT INTO shop.reviews (product, stars) VALUES (2, 2);
REVOKE computed_other FROM computed_owner;
INSERT INTO shop.reviews (product, stars) VALUES (2, 2);
ALTER TABLE shop.reviews OWNER TO computed_other;
ALTER VIEW shop.ratings OWNER TO computed_other;
ALTER VIEW shop.waiting OWNER TO computed_other;
ALTER VIEW shop.products_best_subset OWNER TO computed_other;
INSERT INTO shop.reviews (product, stars) VALUES (2, 2);
SELECT count(*) AS differs FROM verify_computed('shop.products');

-- functions in the view run as the owner of the rows, not as who writes them
GRANT USAGE, CREATE ON SCHEMA shop TO computed_other;
SET ROLE computed_other;
CREATE TABLE shop.weights (stars int, weight int);
INSERT INTO shop.weights SELECT g, g * 10 FROM generate_series(0, 5) g;
CREATE FUNCTION shop.weight(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT weight FROM shop.weights WHERE stars = x); END $$;
REVOKE EXECUTE ON FUNCTION shop.weight FROM PUBLIC;
CREATE VIEW shop.weighted AS SELECT product, sum(shop.weight(stars)) AS weight FROM shop.reviews GROUP BY product;
SELECT create_computed('shop.products', 'doc', 'shop.weighted', 'product');
SET ROLE computed_writer;
INSERT INTO shop.reviews (product, stars) VALUES (2, 5);
RESET ROLE;
SELECT doc -> 'weight' AS weight, (SELECT weight FROM shop.weighted WHERE product = 2) FROM shop.products WHERE id = 2;

-- an administrator configures for the owner
SELECT create_subset('shop.products', 'doc', '{worst_two}', 'shop.reviews', 'product', '{stars,id}', 'stars', 2);
SELECT relowner::regrole FROM pg_class WHERE oid = 'shop.products_worst_two_subset'::regclass;
SET ROLE computed_writer;
INSERT INTO shop.reviews (product, stars) VALUES (2, 0);
RESET ROLE;
SELECT doc -> 'worst_two' -> 0 -> 'stars' FROM shop.products WHERE id = 2;
SET client_min_messages = warning;
DROP SCHEMA shop, other CASCADE;
DROP FUNCTION shown;
DROP TABLE copies;
DROP ROLE computed_boss, computed_owner, computed_writer, computed_other;
