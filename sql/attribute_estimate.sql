--
-- How many rows match by @~: statistics on attributes, and the estimate
--
CREATE SCHEMA attribute_estimate;
SET search_path = attribute_estimate, public;
CREATE TABLE products (id int, doc jsonb, hidden boolean) WITH (autovacuum_enabled = off);
INSERT INTO products
SELECT g, jsonb_build_object('specs', jsonb_build_array(
	jsonb_build_object('k', 'size', 'v', g % 1000 / 10.0),
	jsonb_build_object('k', 'serial', 'v', 'S' || g),
	jsonb_build_object('k', 'brand', 'v', 'brand' || (g % 97) * (g % 89) / 40),
	jsonb_build_object('k', 'tags', 'v', CASE WHEN g % 2 = 0 THEN jsonb_build_array('new', g % 5) ELSE '[]' END))
	|| CASE WHEN g % 10 = 0 THEN '[{"k": "hdr", "v": true}]' WHEN g % 10 = 1 THEN '[{"k": "hdr", "v": false}]' WHEN g % 10 = 2 THEN '[{"k": "hdr"}]' ELSE '[]' END::jsonb
	|| CASE WHEN g % 100 = 0 THEN '[{"k": ["odd", "even"], "v": 1}]' ELSE '[]' END::jsonb),
	g % 4 = 0
FROM generate_series(1, 20000) g;

CREATE FUNCTION estimate(condition text, relation text DEFAULT 'products') RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT JSON) SELECT * FROM %s WHERE %s', relation, condition) INTO plan;
	RETURN plan #>> '{0,Plan,Plan Rows}';
END $$;
CREATE FUNCTION actual(condition text, relation text DEFAULT 'products', OUT n float8) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*) FROM %s WHERE %s', relation, condition) INTO n;
END $$;
-- by how much an estimate is wrong, either way
CREATE FUNCTION error(condition text, relation text DEFAULT 'products') RETURNS float8 LANGUAGE sql
	RETURN (SELECT greatest(e, a) / least(e, a) FROM (SELECT greatest(1, estimate(condition, relation)) AS e, greatest(1, actual(condition, relation)) AS a) s);

CREATE STATISTICS products_attributes ON (attribute_terms(doc, 'specs', 'k', 'v')) FROM products;
SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext WHERE stxname = 'products_attributes';
ANALYZE products;
-- one slot of our own kind
SELECT (s).stakind1 > 10000 AS ours, (s).stakind2 AS no_other, pg_typeof((s).stavalues1) FROM (SELECT unnest(stxdexpr) AS s FROM pg_statistic_ext_data) d;

SELECT q, actual(format('doc @~ %L', q)), error(format('doc @~ %L', q)) <= 1.5 AS good FROM unnest(ARRAY[
	'{"specs": {"$elemMatch": {"k": "size", "v": 12.5}}}',
	'{"specs": {"$elemMatch": {"k": "size", "v": {"$gte": 97.5}}}}',
	'{"specs": {"$elemMatch": {"k": "size", "v": {"$gt": 10, "$lt": 30}}}}',
	'{"specs": {"$elemMatch": {"k": "size", "v": {"$lt": 0.5}}}}',
	'{"specs": {"$elemMatch": {"k": "size", "v": {"$in": [1, 2, 3, 4]}}}}',
	'{"specs": {"$elemMatch": {"k": "size"}}}',
	'{"specs": {"$elemMatch": {"k": "serial", "v": "S5000"}}}',
	'{"specs": {"$elemMatch": {"k": "serial", "v": {"$lt": "S2"}}}}',
	'{"specs": {"$elemMatch": {"k": "serial", "v": {"$regex": "^S12"}}}}',
	'{"specs": {"$elemMatch": {"k": "brand", "v": "brand0"}}}',
	'{"specs": {"$elemMatch": {"k": "tags", "v": "new"}}}',
	'{"specs": {"$elemMatch": {"k": "tags", "v": {"$gte": 3}}}}',
	'{"specs": {"$elemMatch": {"k": "tags"}}}',
	'{"specs": {"$elemMatch": {"k": "hdr", "v": true}}}',
	'{"specs": {"$elemMatch": {"k": "hdr", "v": {"$exists": false}}}}',
	'{"specs": {"$elemMatch": {"k": "hdr", "v": {"$exists": true}}}}',
	'{"specs": {"$elemMatch": {"k": "odd"}}}',
	'{"specs": {"$elemMatch": {"k": "nope", "v": 5}}}',
	'{"specs": {"$all": [{"$elemMatch": {"k": "hdr", "v": true}}, {"$elemMatch": {"k": "size", "v": {"$lt": 50}}}]}}',
	'{"$or": [{"specs": {"$elemMatch": {"k": "hdr", "v": true}}}, {"specs": {"$elemMatch": {"k": "size", "v": {"$lt": 50}}}}]}',
	'{"specs": {"$elemMatch": {"$or": [{"k": "hdr", "v": true}, {"k": "hdr", "v": false}]}}}'
]) WITH ORDINALITY u(q, o) ORDER BY o;

-- many of them: the median and the worst of ten
SELECT kind, percentile_disc(0.5) WITHIN GROUP (ORDER BY e) <= 2 AS median, percentile_disc(0.9) WITHIN GROUP (ORDER BY e) <= 5 AS most
FROM (SELECT kind, error(format('doc @~ %L', q)) AS e FROM (
	SELECT 'equal' AS kind, format('{"specs": {"$elemMatch": {"k": "size", "v": %s}}}', g * 7 % 1000 / 10.0) AS q FROM generate_series(1, 20) g
	UNION ALL SELECT 'brand', format('{"specs": {"$elemMatch": {"k": "brand", "v": "brand%s"}}}', g * 7 % 200) FROM generate_series(1, 20) g
	UNION ALL SELECT 'range', format('{"specs": {"$elemMatch": {"k": "size", "v": {"$gte": %s, "$lt": %s}}}}', g * 3, g * 3 + g % 7 + 1) FROM generate_series(1, 20) g
	UNION ALL SELECT 'strings', format('{"specs": {"$elemMatch": {"k": "brand", "v": {"$gte": "brand%s"}}}}', g * 9) FROM generate_series(1, 20) g) q) e
GROUP BY kind ORDER BY kind;

-- without ANALYZE, without the right to see the rows, and for what nothing is known of, the estimate is as without statistics
CREATE TABLE plain (LIKE products) WITH (autovacuum_enabled = off);
INSERT INTO plain SELECT * FROM products;
ANALYZE plain;
CREATE STATISTICS plain_attributes ON (attribute_terms(doc, 'specs', 'k', 'v')) FROM plain;
-- (a hundred sample documents know nothing of one serial number)
SELECT estimate('doc @~ ''{"specs": {"$elemMatch": {"k": "serial", "v": "S5000"}}}''', 'plain') > 1 AS not_known;
SELECT estimate(c, 'plain') = estimate(c) AS as_without FROM (VALUES ('doc @~ ''{"specs": {"$elemMatch": {"v": 12.5}}}'''), ('doc @~ ''{"specs.1.k": "serial"}'''), ('doc @~ NULL')) v(c);
ANALYZE plain;
SELECT estimate('doc @~ ''{"specs": {"$elemMatch": {"k": "serial", "v": "S5000"}}}''', 'plain') = 1 AS known;

-- operands that are not constants, other sides, other paths
PREPARE search(jsonb) AS SELECT * FROM products WHERE doc @~ $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE search('{"specs": {"$elemMatch": {"k": "hdr", "v": true}}}');
RESET plan_cache_mode;
SELECT count(*) FROM (SELECT jsonb_build_object('specs', '{"$elemMatch": {"k": "hdr", "v": true}}'::jsonb) AS q) s JOIN products ON doc @~ q;
SELECT count(*) FROM products WHERE id < 0 AND '{"specs": [{"k": "hdr", "v": true}]}' @~ doc;
-- a wrong query is an error already when it is planned
EXPLAIN SELECT * FROM products WHERE doc @~ '{"specs": {"$elemMatch": 5}}';

-- statistics on two paths of one column: each query by those that know of it
ALTER TABLE products ADD both_doc jsonb;
UPDATE products SET both_doc = jsonb_build_object('a', doc -> 'specs', 'b', jsonb_build_array(jsonb_build_object('name', 'n', 'is', id % 50)));
CREATE STATISTICS products_a ON (attribute_terms(both_doc, 'a', 'k', 'v')) FROM products;
CREATE STATISTICS products_b ON (attribute_terms(both_doc, 'b', 'name', 'is')) FROM products;
ANALYZE products;
SELECT error('both_doc @~ ''{"a": {"$elemMatch": {"k": "hdr", "v": true}}}''') <= 1.5 AS a, error('both_doc @~ ''{"b": {"$elemMatch": {"name": "n", "is": 7}}}''') <= 1.5 AS b;
DROP STATISTICS products_a, products_b;

-- who may not read the rows may not learn from their statistics either
CREATE ROLE regress_attribute_reader;
GRANT USAGE ON SCHEMA attribute_estimate TO regress_attribute_reader;
CREATE VIEW shown WITH (security_barrier) AS SELECT * FROM products WHERE NOT hidden;
GRANT SELECT ON shown TO regress_attribute_reader;
CREATE FUNCTION told(relation text) RETURNS boolean LANGUAGE sql
	RETURN estimate('doc @~ ''{"specs": {"$elemMatch": {"k": "serial", "v": "S5000"}}}''', relation) = 1;
SELECT told('products') AS owner, told('shown') AS owner_through_view;
SET ROLE regress_attribute_reader;
SELECT told('shown');
RESET ROLE;
ALTER TABLE products ENABLE ROW LEVEL SECURITY;
CREATE POLICY open ON products USING (NOT hidden);
GRANT SELECT ON products TO regress_attribute_reader;
SET ROLE regress_attribute_reader;
SELECT told('products') AS some_rows;
RESET ROLE;
ALTER TABLE products DISABLE ROW LEVEL SECURITY;
SET ROLE regress_attribute_reader;
SELECT told('products') AS all_rows;
RESET ROLE;

-- partitions: their own statistics, else those of the table that they are part of
CREATE TABLE parts (id int, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10000) WITH (autovacuum_enabled = off);
CREATE TABLE parts_2 (gone int, doc jsonb, id int) WITH (autovacuum_enabled = off);
ALTER TABLE parts_2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION parts_2 FOR VALUES FROM (10000) TO (20001);
INSERT INTO parts SELECT id, doc FROM products;
CREATE STATISTICS parts_attributes ON (attribute_terms(doc, 'specs', 'k', 'v')) FROM parts;
ANALYZE parts;
SELECT error('doc @~ ''{"specs": {"$elemMatch": {"k": "serial", "v": "S5000"}}}''', 'parts') <= 2 AS one, error('doc @~ ''{"specs": {"$elemMatch": {"k": "size", "v": {"$lt": 50}}}}''', 'parts') <= 1.5 AS many,
	   error('id < 10000 AND doc @~ ''{"specs": {"$elemMatch": {"k": "hdr", "v": true}}}''', 'parts') <= 1.5 AS of_one_part;
-- of the serial numbers up to 9999 a ninth starts with 1, of all of them more than half
SELECT error('id < 10000 AND doc @~ ''{"specs": {"$elemMatch": {"k": "serial", "v": {"$gte": "S1", "$lt": "S2"}}}}''', 'parts') > 3 AS by_all;
CREATE STATISTICS parts_1_attributes ON (attribute_terms(doc, 'specs', 'k', 'v')) FROM parts_1;
ANALYZE parts_1;
SELECT error('id < 10000 AND doc @~ ''{"specs": {"$elemMatch": {"k": "serial", "v": {"$gte": "S1", "$lt": "S2"}}}}''', 'parts') <= 1.2 AS by_its_own;
-- tables that inherit have a sample of their own, and one of them all
CREATE TABLE ancestor (id int, doc jsonb) WITH (autovacuum_enabled = off);
CREATE TABLE heir (extra text) INHERITS (ancestor) WITH (autovacuum_enabled = off);
INSERT INTO heir SELECT id, doc, 'x' FROM products;
INSERT INTO ancestor SELECT id, '{"specs": [{"k": "size", "v": 0.5}]}' FROM products;
CREATE STATISTICS ancestor_attributes ON (attribute_terms(doc, 'specs', 'k', 'v')) FROM ancestor;
ANALYZE ancestor;
ANALYZE heir;
SELECT error('doc @~ ''{"specs": {"$elemMatch": {"k": "size", "v": {"$gte": 50}}}}''', 'ancestor') <= 2.1 AS all_of_them, error('doc @~ ''{"specs": {"$elemMatch": {"k": "size", "v": 0.5}}}''', 'ONLY ancestor') <= 1.1 AS alone;

-- more names than are kept, long names and values, empty tables, SQL NULLs
CREATE TABLE many (doc jsonb) WITH (autovacuum_enabled = off);
CREATE STATISTICS many_attributes ON (attribute_terms(doc, '', 'k', 'v')) FROM many;
ANALYZE many;
SELECT estimate('doc @~ ''{"$elemMatch": {"k": "n1"}}''', 'many') > 0 AS empty;
INSERT INTO many SELECT CASE WHEN g % 10 > 0 THEN jsonb_build_array(jsonb_build_object('k', 'n' || g % 2500, 'v', g), jsonb_build_object('k', repeat('long', 60), 'v', repeat('long', 60) || g % 20)) END FROM generate_series(1, 10000) g;
ANALYZE many;
SELECT error('doc @~ ''{"$elemMatch": {"k": "n1"}}''', 'many') <= 2 AS rare, error('doc @~ ''{"$elemMatch": {"k": "n1234"}}''', 'many') <= 2 AS rarer,
	   error(format('doc @~ %L', jsonb_build_object('$elemMatch', jsonb_build_object('k', repeat('long', 60)))), 'many') <= 1.2 AS long_name,
	   estimate(format('doc @~ %L', jsonb_build_object('$elemMatch', jsonb_build_object('k', repeat('long', 60), 'v', repeat('long', 60) || 7))), 'many') < 9000 AS long_value;

-- values of several types under one name do not blur each other
CREATE TABLE mixed (doc jsonb) WITH (autovacuum_enabled = off);
CREATE STATISTICS mixed_attributes ON (attribute_terms(doc, '', 'k', 'v')) FROM mixed;
INSERT INTO mixed SELECT jsonb_build_array(jsonb_build_object('k', 'size', 'v', CASE WHEN g % 50 = 0 THEN '{"w": 1}' WHEN g % 50 = 1 THEN to_jsonb('size ' || g) WHEN g % 50 = 2 THEN jsonb_build_array(g) ELSE to_jsonb(g / 100.0) END)) FROM generate_series(1, 10000) g;
ANALYZE mixed;
SELECT estimate('doc @~ ''{"$elemMatch": {"k": "size", "v": {"$gte": 95}}}''', 'mixed') BETWEEN 470 AND 900 AS numbers,
	   estimate('doc @~ ''{"$elemMatch": {"k": "size", "v": {"$gte": "size 5"}}}''', 'mixed') BETWEEN 100 AND 400 AS strings;

-- the type is for statistics alone
SELECT attribute_terms('{"specs": [{"k": "a", "v": 1}, {"k": "b", "v": ["x", []]}]}', 'specs', 'k', 'v');
SELECT attribute_terms('[]', '', 'k', 'v') AS none, attribute_terms(NULL, '', 'k', 'v') IS NULL AS nothing;
SELECT attribute_terms('[]', 'a..b', 'k', 'v');
SELECT '{}'::attribute_terms;


SET client_min_messages = warning;
DROP SCHEMA attribute_estimate CASCADE;
DROP ROLE regress_attribute_reader;
