--
-- jsonb_attribute_ops: what an attribute index finds, and how
--
CREATE SCHEMA attribute_index;
SET search_path = attribute_index, public;
SELECT opcname, amvalidate(oid) FROM pg_opclass WHERE opcname LIKE 'jsonb\_attribute%' ORDER BY 1;

CREATE TABLE products (id int PRIMARY KEY, doc jsonb);
INSERT INTO products
SELECT g, jsonb_build_object('title', 'Product ' || g, 'specs', jsonb_build_array(
	jsonb_build_object('k', 'screen_size', 'v', g % 100, 'u', 'inches'),
	jsonb_build_object('k', 'color', 'v', (ARRAY['red', 'green', 'blue', 'dark red'])[1 + g % 4]),
	jsonb_build_object('k', 'hdr', 'v', g % 3 = 0)))
FROM generate_series(1, 1000) g;
CREATE INDEX products_specs ON products USING gin (doc jsonb_attribute_ops (path = 'specs'));
VACUUM ANALYZE products;

-- A condition by the index: rows that it returns, those of them that match, and do they equal a scan's?
-- Where the two numbers differ, documents had to be looked at.
CREATE FUNCTION matching(condition text, by_index boolean, OUT ids int[]) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_bitmapscan', by_index::text, true);
	EXECUTE 'SELECT array_agg(id ORDER BY id) FROM products WHERE ' || condition INTO ids;
END $$;
CREATE FUNCTION try(condition text, OUT from_index int, OUT matched int, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) SELECT FROM products WHERE ' || condition INTO plan;
	from_index := (jsonb_path_query_first(plan, '$.** ? (@."Node Type" == "Bitmap Index Scan")."Actual Rows"') #>> '{}')::numeric;
	matched := coalesce(cardinality(matching(condition, true)), 0);
	same := matching(condition, true) IS NOT DISTINCT FROM matching(condition, false);
END $$;

-- the indexes in a query's plan
CREATE FUNCTION indexes_of(query text, OUT indexes jsonb) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	SELECT coalesce(jsonb_agg(DISTINCT name), '[]') INTO indexes FROM jsonb_path_query(plan, '$.**."Index Name"') name;
END $$;

SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM products WHERE doc @~ '{"specs": {"$elemMatch": {"k": "screen_size", "v": {"$gte": 65}}}}';
EXPLAIN (COSTS OFF) SELECT id FROM products WHERE doc @? '$.specs[*] ? (@.k == "screen_size" && @.v >= 65)';
EXPLAIN (COSTS OFF) SELECT id FROM products WHERE doc @@ 'exists($.specs[*] ? (@.k == "screen_size" && @.v >= 65))';
-- not an operator of this class
SELECT indexes_of($$SELECT id FROM products WHERE doc @> '{"specs": [{"k": "screen_size", "v": 65}]}'$$);
RESET enable_seqscan;

-- @~: nothing to be looked at
SELECT q, t.* FROM unnest(ARRAY[
	'{"specs": {"$elemMatch": {"k": "screen_size", "v": 65}}}',
	'{"specs": {"$elemMatch": {"k": "screen_size", "v": 65.0}}}',
	'{"specs": {"$elemMatch": {"k": "screen_size", "v": "65"}}}',
	'{"specs": {"$elemMatch": {"k": "screen_size", "v": {"$gte": 65}}}}',
	'{"specs": {"$elemMatch": {"k": "screen_size", "v": {"$gt": 10, "$lte": 12}}}}',
	'{"specs": {"$elemMatch": {"k": "screen_size", "v": {"$gt": 10, "$lt": 10}}}}',
	'{"specs": {"$elemMatch": {"k": "screen_size", "v": {"$in": [1, 2, 3, "x", null]}}}}',
	'{"specs": {"$elemMatch": {"k": "color", "v": {"$lt": "green"}}}}',
	'{"specs": {"$elemMatch": {"k": "color", "v": {"$regex": "^dark"}}}}',
	'{"specs": {"$elemMatch": {"k": "hdr", "v": true}}}',
	'{"specs": {"$elemMatch": {"k": "hdr", "v": {"$gt": false}}}}',
	'{"specs": {"$elemMatch": {"k": "hdr"}}}',
	'{"specs": {"$elemMatch": {"k": "hdr", "v": {"$exists": true}}}}',
	'{"specs": {"$elemMatch": {"k": "hdr", "v": {"$exists": false}}}}',
	'{"specs": {"$elemMatch": {"k": "nope"}}}',
	'{"specs": {"$elemMatch": {"k": {"$in": ["color", "hdr"]}, "v": {"$in": ["red", true]}}}}',
	'{"specs": {"$all": [{"$elemMatch": {"k": "color", "v": "red"}}, {"$elemMatch": {"k": "screen_size", "v": {"$lt": 10}}}]}}',
	'{"$and": [{"specs": {"$elemMatch": {"k": "color", "v": "red"}}}, {"specs": {"$elemMatch": {"k": "hdr", "v": true}}}]}',
	'{"$or": [{"specs": {"$elemMatch": {"k": "color", "v": "red"}}}, {"specs": {"$elemMatch": {"k": "hdr", "v": true}}}]}',
	'{"specs": {"$elemMatch": {"$or": [{"k": "color", "v": "red"}, {"k": "hdr", "v": true}]}}}',
	'{"specs": {"$elemMatch": {"k": "screen_size", "$or": [{"v": {"$lt": 2}}, {"v": {"$gt": 97}}]}}}',
	'{"specs.k": "color"}'
]) WITH ORDINALITY u(q, o), try(format('doc @~ %L', q)) t ORDER BY o;
-- @~: the index is a help
SELECT q, t.* FROM unnest(ARRAY[
	'{"specs": {"$elemMatch": {"k": "screen_size", "v": {"$ne": 65}}}}',
	'{"specs": {"$elemMatch": {"k": "screen_size", "v": 65, "u": "cm"}}}',
	'{"specs": {"$elemMatch": {"k": "color", "v": {"$regex": "^dark.*d$"}}}}',
	'{"specs": {"$elemMatch": {"k": "screen_size", "v": {"$type": "string"}}}}',
	'{"specs.k": "screen_size", "specs.v": "red"}',
	'{"specs": {"k": "color", "v": "red"}}',
	'{"specs": [{"k": "color", "v": "red"}]}',
	'{"specs": {"$elemMatch": {"k": "color", "v": "red"}}, "title": "Product 4"}'
]) WITH ORDINALITY u(q, o), try(format('doc @~ %L', q)) t ORDER BY o;
-- @~: every document has to be looked at
SELECT q, t.* FROM unnest(ARRAY[
	'{}', '{"title": "Product 4"}', '{"specs": {"$size": 3}}',
	'{"specs": {"$elemMatch": {"v": 65}}}',
	'{"specs": {"$elemMatch": {"k": {"$ne": "color"}}}}',
	'{"specs": {"$not": {"$elemMatch": {"k": "color", "v": "red"}}}}',
	'{"$or": [{"title": "Product 5"}, {"specs": {"$elemMatch": {"k": "color", "v": "red"}}}]}',
	'{"specs.0.k": "screen_size"}'
]) WITH ORDINALITY u(q, o), try(format('doc @~ %L', q)) t ORDER BY o;

-- @?: the first ones need no look
SELECT p, t.* FROM unnest(ARRAY[
	'$.specs[*] ? (@.k == "screen_size" && @.v == 65)',
	'$.specs ? (@.v >= 65 && @.k == "screen_size")',
	'$.specs[*] ? ("screen_size" == @.k && 10 < @.v && 12 >= @.v)',
	'$.specs[*] ? (@.k == "screen_size" && (@.v < 2 || @.v > 97))',
	'$.specs[*] ? (@.k == "color" && @.v starts with "dark")',
	'$.specs[*] ? (@.k == "hdr" && exists(@.v))',
	'$.specs[*] ? (@.k == "hdr")',
	'$.specs[*] ? (@.k == "screen_size" && @.v > -5 && @.v < 0.5)',
	'strict $.specs[*] ? (@.k == "color" && @.v == "red")',
	'$.specs[*] ? ((@.k == "color" && @.v == "red") || (@.k == "hdr" && @.v == true))',
	-- with a look
	'$.specs[*] ? (@.k == "screen_size" && !(@.v < 65))',
	'$.specs[*] ? (@.k == "screen_size" && @.v + 1 == 65)',
	'$.specs[*] ? (@.k == "color" && @.v like_regex "^dark")',
	'$.specs[*] ? (@.k == "screen_size" && @.v == 65 && @.u == "cm")',
	'$.specs[*] ? (@.k == "screen_size" && @.v == 65) ? (@.u == "cm")',
	'$.specs[*] ? (@.k == "screen_size" && @.v == 65).u',
	-- at every document
	'$.specs[*].k == "nope"', '$.specs[0 to last] ? (@.k == "color" && @.v == "red")', '$.** ? (@.k == "color" && @.v == "red")',
	'$.specs[*] ? (@.v == 65)', '$.specs[*] ? (@.k == "color" || @.v == 65)', '$'
]) WITH ORDINALITY u(p, o), try(format('doc @? %L::jsonpath', p)) t ORDER BY o;
-- @@
SELECT p, t.* FROM unnest(ARRAY[
	'exists($.specs[*] ? (@.k == "color" && @.v == "red"))',
	'exists($.specs[*] ? (@.k == "color" && @.v == "red")) && exists($.specs[*] ? (@.k == "screen_size" && @.v < 10))',
	'exists($.specs[*] ? (@.k == "color" && @.v == "red")) || exists($.specs[*] ? (@.k == "screen_size" && @.v < 10))',
	'exists($.specs[*] ? (@.k == "color" && @.v == "red")) && $.title == "Product 4"',
	'$.specs[*] ? (@.k == "color" && @.v == "red")', '!exists($.specs[*] ? (@.k == "nope"))'
]) WITH ORDINALITY u(p, o), try(format('doc @@ %L::jsonpath', p)) t ORDER BY o;

-- the other class has @>, too
DROP INDEX products_specs;
CREATE INDEX products_specs ON products USING gin (doc jsonb_attribute_contains_ops (path = 'specs'));
SELECT q, t.* FROM unnest(ARRAY[
	'{"specs": [{"k": "color", "v": "red"}]}', '{"specs": [{"k": "screen_size", "v": 65.00}, {"k": "hdr"}]}',
	'{"specs": [{"k": "screen_size", "v": 65, "u": "cm"}]}', '{"specs": [{"k": "color", "v": "red"}], "title": "Product 4"}',
	'{"specs": [{"v": "red"}]}', '{"specs": []}', '{"title": "Product 4"}'
]) WITH ORDINALITY u(q, o), try(format('doc @> %L', q)) t ORDER BY o;
SELECT * FROM try('doc @~ ''{"specs": {"$elemMatch": {"k": "color", "v": "red"}}}''');

-- conditions that nothing can match: a scan that ends at once
SELECT * FROM try('doc @~ ''{"specs": {"$elemMatch": {"k": "screen_size", "v": {"$gt": null}}}}''');

-- irregular documents: each is found, and nothing else is
CREATE TABLE irregular (id int PRIMARY KEY, doc jsonb, why text);
INSERT INTO irregular VALUES
	(1, '{"specs": [{"k": "ram", "v": 16}]}', 'regular'),
	(2, '{"specs": [{"k": "ram", "v": [8, 16]}]}', 'a flat array'),
	(3, '{"specs": [{"k": "ram", "v": [[16]]}]}', 'a deeper array'),
	(4, '{"specs": [{"k": "ram", "v": {"gb": 16}}]}', 'an object'),
	(5, '{"specs": [{"k": "ram", "v": null}]}', 'null'),
	(6, '{"specs": [{"k": "ram"}]}', 'no value'),
	(7, '{"specs": [{"k": "ram", "v": "16"}]}', 'a string'),
	(8, '{"specs": [{"k": "ram", "v": 4}, {"k": "ram", "v": 32}]}', 'twice'),
	(9, '{"specs": [{"k": ["ram", "rom"], "v": 16}]}', 'two names'),
	(10, '{"specs": [["ram", 16], "ram", 16, null, {"k": 5, "v": 16}, {"v": 16}]}', 'no names'),
	(11, '{"specs": [[{"k": "ram", "v": 16}]]}', 'an array in the array'),
	(12, '{"specs": {"k": "ram", "v": 16}}', 'an object for the array'),
	(13, '[{"specs": [{"k": "ram", "v": 16}]}]', 'an array for the document'),
	(14, '{"specs": [{"k": "ram", "v": 16.00000000000000000000000000000000000000000000000000000000000000000000000001}]}', 'digits'),
	(15, '{"specs": [{"k": "ram", "v": []}]}', 'an empty array'),
	(16, '{"specs": []}', 'nothing'), (17, '{}', 'nothing'), (18, '16', 'nothing'), (19, NULL, 'nothing'),
	(20, '{"specs": [{"k": "ram", "v": [4, 64]}]}', 'a flat array around'),
	(21, '{"specs": [{"k": "ram", "v": [2]}, {"k": "ram", "v": [64]}]}', 'two arrays around'),
	(22, '{"specs": [{"k": ["ram", "rom"], "v": [2, 16]}]}', 'two names, an array'),
	(23, '{"specs": [{"k": ["ram", "rom"], "v": {"gb": 16}}]}', 'two names, an object'),
	(24, '{"specs": [{"k": ["ram", "rom"]}]}', 'two names, no value'),
	(25, '{"specs": [{"k": ["rom", ["ram"]], "v": [[16]]}]}', 'two names, a deeper array'),
	(26, '{"specs": [{"k": "ram", "v": [{"gb": 16}, 1]}]}', 'an array with an object'),
	(27, '{"specs": [[{"k": "ram", "v": 1}, {"k": "rom", "v": 16}]]}', 'two elements in an array');
CREATE INDEX ON irregular USING gin (doc jsonb_attribute_contains_ops (path = 'specs'));
SET enable_seqscan = off;
CREATE FUNCTION found(condition text, OUT by_index text, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	by_scan text;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
	EXECUTE 'SELECT string_agg(id::text, '','' ORDER BY id) FROM irregular WHERE ' || condition INTO by_index;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true);
	EXECUTE 'SELECT string_agg(id::text, '','' ORDER BY id) FROM irregular WHERE ' || condition INTO by_scan;
	same := by_scan IS NOT DISTINCT FROM by_index;
END $$;
SELECT c AS condition, f.* FROM unnest(ARRAY[
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": 16}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": {"$gte": 16}}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": {"$gt": 4, "$lt": 32}}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": null}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": [8, 16]}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": {"gb": 16}}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": [16]}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": [[16]]}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": {"$in": [[], 32]}}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram"}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": {"$exists": true}}}}'$$,
	$$doc @~ '{"specs.k": "ram"}'$$,
	$$doc @? '$.specs[*] ? (@.k == "ram" && @.v == 16)'$$,
	$$doc @? '$.specs ? (@.k == "ram" && @.v == 16)'$$,
	$$doc @? 'strict $.specs[*] ? (@.k == "ram" && @.v == 16)'$$,
	$$doc @? '$.specs[*] ? (@.k == "ram" && @.v > 4 && @.v < 32)'$$,
	$$doc @? '$.specs[*] ? (@.k == "ram" && @.v == null)'$$,
	$$doc @? '$.specs[*] ? (@.k == "ram" && !(@.v < 5))'$$,
	$$doc @? '$.specs[*] ? (@.k == "rom" && exists(@.v))'$$,
	$$doc @> '{"specs": [{"k": "ram", "v": 16}]}'$$,
	$$doc @> '{"specs": [{"k": "ram", "v": [16]}]}'$$,
	$$doc @> '{"specs": [{"k": "ram", "v": []}]}'$$,
	$$doc @> '{"specs": [{"k": "ram", "v": {}}]}'$$,
	$$doc @> '{"specs": [{"k": "ram"}]}'$$
]) WITH ORDINALITY u(c, o), found(c) f ORDER BY o;

-- strings by code points, whatever their form and the collation; long ones are cut, not lost
TRUNCATE irregular;
INSERT INTO irregular SELECT o, jsonb_build_object('specs', jsonb_build_array(jsonb_build_object('k', 'name', 'v', s)))
FROM unnest(ARRAY['é', 'e' || U&'\0301', 'Z', 'a', 'ä', repeat('x', 128), repeat('x', 129), repeat('x', 3000), repeat('x', 3000) || 'y', '']) WITH ORDINALITY u(s, o);
SELECT left(c, 80) AS condition, f.* FROM unnest(ARRAY[
	$$doc @~ '{"specs": {"$elemMatch": {"k": "name", "v": "é"}}}'$$,
	$$doc @~ '{"specs": {"$elemMatch": {"k": "name", "v": {"$gte": "a", "$lt": "y"}}}}'$$,
	$$doc @? '$.specs[*] ? (@.k == "name" && @.v >= "a" && @.v < "x")'$$,
	$$doc @? '$.specs[*] ? (@.k == "name" && @.v starts with "e")'$$,
	format('doc @~ %L', jsonb_build_object('specs', jsonb_build_object('$elemMatch', jsonb_build_object('k', 'name', 'v', repeat('x', 3000))))),
	format('doc @~ %L', jsonb_build_object('specs', jsonb_build_object('$elemMatch', jsonb_build_object('k', 'name', 'v', jsonb_build_object('$gt', repeat('x', 129)))))),
	format('doc @~ %L', jsonb_build_object('specs', jsonb_build_object('$elemMatch', jsonb_build_object('k', 'name', 'v', jsonb_build_object('$lte', repeat('x', 128)))))),
	format('doc @? %L', '$.specs[*] ? (@.k == "name" && @.v starts with "' || repeat('x', 200) || '")')
]) WITH ORDINALITY u(c, o), found(c) f ORDER BY o;

-- long lists of values, and more of them than are looked up one by one
TRUNCATE irregular;
INSERT INTO irregular SELECT g, jsonb_build_object('specs', jsonb_build_array(jsonb_build_object('k', 'n', 'v', g))) FROM generate_series(1, 3000) g;
SELECT n, length(f.by_index), f.same FROM unnest('{100,200,201,2000}'::int[]) n,
	found(format('doc @~ %L', jsonb_build_object('specs', jsonb_build_object('$elemMatch', jsonb_build_object('k', 'n', 'v', jsonb_build_object('$in', (SELECT jsonb_agg(2 * g) FROM generate_series(1, n) g))))))) f;
SELECT n, length(f.by_index), f.same FROM unnest('{300,400}'::int[]) n,
	found(format('doc @~ %L', jsonb_build_object('specs', jsonb_build_object('$elemMatch', jsonb_build_object('k', jsonb_build_object('$in', (SELECT jsonb_agg('n' || repeat('x', g)) FROM generate_series(0, n) g))))))) f;
RESET enable_seqscan;

-- options
CREATE TABLE options (id int, doc jsonb);
CREATE INDEX by_path ON options USING gin (doc jsonb_attribute_ops (path = 'a."b.c"."d""e"', key = 'name', value = 'the value'));
CREATE INDEX at_root ON options USING gin (doc jsonb_attribute_ops);
SELECT pg_get_indexdef('by_path'::regclass), pg_get_indexdef('at_root'::regclass);
CREATE INDEX ON options USING gin (doc jsonb_attribute_ops (path = 'a..b'));
CREATE INDEX ON options USING gin (doc jsonb_attribute_ops (path = '"a'));
CREATE INDEX ON options USING gin (doc jsonb_attribute_ops (paht = 'a'));
-- two indexes on one column: each condition by its own
INSERT INTO options SELECT g, jsonb_build_object('a', jsonb_build_object('b.c', jsonb_build_object('d"e', jsonb_build_array(jsonb_build_object('name', 'n', 'the value', g))))) FROM generate_series(1, 500) g;
INSERT INTO options SELECT g, jsonb_build_array(jsonb_build_object('k', 'n', 'v', g)) FROM generate_series(1, 500) g;
VACUUM ANALYZE options;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM options WHERE doc @? '$.a."b.c"."d\"e"[*] ? (@.name == "n" && @."the value" == 7)';
SELECT id, jsonb_typeof(doc) FROM options WHERE doc @? '$.a."b.c"."d\"e"[*] ? (@.name == "n" && @."the value" == 7)';
EXPLAIN (COSTS OFF) SELECT id FROM options WHERE doc @? '$[*] ? (@.k == "n" && @.v == 7)';
SELECT id, jsonb_typeof(doc) FROM options WHERE doc @? '$[*] ? (@.k == "n" && @.v == 7)';
RESET enable_seqscan;
DROP TABLE options;

-- operands that are no constants: in joins, in parameters, in generic plans
CREATE TABLE searches (id int, query jsonb, path jsonpath);
INSERT INTO searches VALUES
	(1, '{"specs": {"$elemMatch": {"k": "screen_size", "v": {"$gte": 97}}}}', '$.specs[*] ? (@.k == "screen_size" && @.v >= 97)'),
	(2, '{"specs": {"$elemMatch": {"k": "color", "v": "red"}}}', '$.specs[*] ? (@.k == "color" && @.v == "red")'),
	(3, '{"title": "Product 4"}', '$ ? (@.title == "Product 4")'), (4, NULL, NULL);
SET enable_seqscan = off;
SET enable_material = off;
SELECT indexes_of('SELECT s.id, count(*) FROM searches s JOIN products p ON p.doc @~ s.query GROUP BY s.id ORDER BY s.id');
SELECT s.id, count(*) FROM searches s JOIN products p ON p.doc @~ s.query GROUP BY s.id ORDER BY s.id;
SELECT s.id, count(*) FROM searches s JOIN products p ON p.doc @? s.path GROUP BY s.id ORDER BY s.id;
SET plan_cache_mode = force_generic_plan;
PREPARE search(jsonb) AS SELECT count(*) FROM products WHERE doc @~ $1;
EXPLAIN (COSTS OFF) EXECUTE search('{"specs": {"$elemMatch": {"k": "color", "v": "red"}}}');
EXECUTE search('{"specs": {"$elemMatch": {"k": "color", "v": "red"}}}');
EXECUTE search('{"title": "Product 4"}');
EXECUTE search(NULL);
EXECUTE search('{"$nope": 1}');
RESET plan_cache_mode;
-- a query that is wrong is wrong with an index as well
SELECT count(*) FROM products WHERE doc @~ '{"specs": {"$elemMatch": 5}}';
RESET enable_seqscan;
RESET enable_material;
DROP TABLE searches, products, irregular;

-- all that lies between an index and its answer: a list of pending entries, deleted and updated rows, lossy bitmaps
CREATE TABLE wide (id int, doc jsonb, filler text) WITH (autovacuum_enabled = off);
ALTER TABLE wide ALTER COLUMN filler SET STORAGE PLAIN;
CREATE INDEX wide_doc ON wide USING gin (doc jsonb_attribute_ops) WITH (fastupdate = on, gin_pending_list_limit = 2000);
INSERT INTO wide SELECT g, jsonb_build_array(jsonb_build_object('k', 'a', 'v', g), jsonb_build_object('k', 'b', 'v', jsonb_build_array(g % 7, 'x'))), repeat('x', 1900) FROM generate_series(1, 8000) g;
CREATE FUNCTION wide_answers() RETURNS TABLE (condition text, rows bigint, same boolean) LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	FOREACH condition IN ARRAY ARRAY[
		'doc @~ ''{"$elemMatch": {"k": "a", "v": {"$gt": 1000, "$lte": 7000}}}''',
		'doc @~ ''{"$elemMatch": {"k": "b", "v": {"$gte": 3}}}''',
		'doc @? ''$[*] ? (@.k == "a" && @.v < 4000)'' AND doc @? ''$[*] ? (@.k == "b" && @.v > 2 && @.v < 5)''',
		'doc @~ ''{"$elemMatch": {"k": "b", "v": {"$size": 2}}}''']
	LOOP
		PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
		EXECUTE 'SELECT count(*), sum(id) FROM wide WHERE ' || condition INTO rows, n;
		PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true);
		EXECUTE format('SELECT (count(*), sum(id)) = (%s, %s) FROM wide WHERE %s', rows, n, condition) INTO same;
		RETURN NEXT;
	END LOOP;
END $$;
CREATE FUNCTION explained(query text, OUT plan jsonb) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
END $$;
SELECT rows, same FROM wide_answers();
SET work_mem = '64kB';
SET enable_seqscan = off;
-- most pages of the bitmap are known as a whole only
SELECT jsonb_path_query_first(plan, '$.**."Lossy Heap Blocks"')::int > 500 AS lossy FROM explained('SELECT FROM wide WHERE doc @~ ''{"$elemMatch": {"k": "a", "v": {"$gt": 1000}}}''') plan;
RESET enable_seqscan;
SELECT rows, same FROM wide_answers();
DELETE FROM wide WHERE id % 5 = 0;
UPDATE wide SET doc = jsonb_set(doc, '{0,v}', to_jsonb(id + 1)) WHERE id % 5 = 1;
SELECT rows, same FROM wide_answers();
RESET work_mem;
SELECT rows, same FROM wide_answers();
SELECT gin_clean_pending_list('wide_doc') > 0 AS cleaned;
SELECT rows, same FROM wide_answers();
VACUUM wide;
SELECT rows, same FROM wide_answers();
REINDEX INDEX wide_doc;
SELECT rows, same FROM wide_answers();
DROP TABLE wide;

-- a rare value and a wide range: with statistics the range's rows are not collected, so that documents with the value are looked at
CREATE TABLE products (id int PRIMARY KEY, doc jsonb);
INSERT INTO products
SELECT g, jsonb_build_array(jsonb_build_object('k', 'id', 'v', g), jsonb_build_object('k', 'size', 'v', g % 1000), jsonb_build_object('k', 'part', 'v', g % 2),
	jsonb_build_object('k', 'released', 'v', to_char(date '2000-01-01' + g, 'YYYY-MM-DD')), jsonb_build_object('k', 'maker', 'v', 'maker ' || g % 500))
FROM generate_series(1, 5000) g;
CREATE INDEX products_doc ON products USING gin (doc jsonb_attribute_contains_ops (statistics = 'attribute_index.on_products'));
CREATE TABLE conjunction (id int GENERATED ALWAYS AS IDENTITY, q jsonb);
INSERT INTO conjunction(q) VALUES
	('{"$all": [{"$elemMatch": {"k": "id", "v": 1005}}, {"$elemMatch": {"k": "size", "v": {"$gte": 10}}}]}'),
	('{"$all": [{"$elemMatch": {"k": "size", "v": {"$gte": 10}}}, {"$elemMatch": {"k": "id", "v": 1015}}]}'),
	('{"$all": [{"$elemMatch": {"k": "id", "v": 1005}}, {"$elemMatch": {"k": "size", "v": {"$gt": 990, "$lt": 999}}}]}'),
	('{"$all": [{"$elemMatch": {"k": "id", "v": 1005}}, {"$elemMatch": {"k": "released", "v": {"$gte": "2005-01-01"}}}]}'),
	('{"$all": [{"$elemMatch": {"k": "id", "v": 1005}}, {"$elemMatch": {"k": "maker", "v": {"$gte": "maker 1"}}}]}'),
	('{"$all": [{"$elemMatch": {"k": "part", "v": 1}}, {"$elemMatch": {"k": "size", "v": {"$gte": 990}}}]}'),
	('{"$all": [{"$elemMatch": {"k": "id", "v": {"$lt": 20}}}, {"$elemMatch": {"k": "size", "v": {"$gte": 10}}}]}'),
	('{"$all": [{"$elemMatch": {"k": "id", "v": 1005}}, {"$elemMatch": {"k": "part"}}]}'),
	('{"$all": [{"$elemMatch": {"k": "id", "v": 1005}}, {"$elemMatch": {"k": "nope", "v": {"$gte": 10}}}]}'),
	('{"$elemMatch": {"k": "size", "v": {"$gte": 10}}}'),
	('{"$elemMatch": {"$or": [{"k": "id", "v": 1005}, {"k": "size", "v": {"$gte": 995}}]}}');
CREATE VIEW tried AS SELECT q, t.* FROM conjunction, try(format('doc @~ %L', q)) t ORDER BY conjunction.id;
SET work_mem = '64MB';
-- there are none yet, then there are but nothing is known, then they are known
SELECT array_agg(from_index - matched) AS looked_at, bool_and(same) AS same FROM tried;
CREATE STATISTICS on_products ON (attribute_terms(doc, '', 'k', 'v')) FROM products;
SELECT array_agg(from_index - matched) AS looked_at, bool_and(same) AS same FROM tried;
ANALYZE products;
SELECT * FROM tried;
SELECT c AS condition, t.* FROM unnest(ARRAY[
	$$doc @@ 'exists($[*] ? (@.k == "id" && @.v == 1005)) && exists($[*] ? (@.k == "size" && @.v >= 10))'::jsonpath$$,
	$$doc @> '[{"k": "id", "v": 1005}]' AND doc @~ '{"$elemMatch": {"k": "size", "v": {"$gte": 10}}}'$$
]) WITH ORDINALITY u(c, o), try(c) t ORDER BY o;
-- statistics that are others, or have another name
ALTER STATISTICS on_products RENAME TO on_goods;
SELECT array_agg(from_index - matched) AS looked_at, bool_and(same) AS same FROM tried;
CREATE STATISTICS on_products ON (doc -> 0), (doc -> 1) FROM products;
ANALYZE products;
SELECT array_agg(from_index - matched) AS looked_at, bool_and(same) AS same FROM tried;
DROP STATISTICS on_products;
CREATE STATISTICS on_products (ndistinct) ON id, doc FROM products;
ANALYZE products;
SELECT array_agg(from_index - matched) AS looked_at, bool_and(same) AS same FROM tried;
RESET work_mem;
CREATE INDEX ON products USING gin (doc jsonb_attribute_ops (statistics = 'on_products'));
CREATE INDEX ON products USING gin (doc jsonb_attribute_ops (statistics = 'a.b.c'));
CREATE INDEX ON products USING gin (doc jsonb_attribute_ops (statistics = '"a'));
CREATE INDEX quoted ON products USING gin (doc jsonb_attribute_ops (statistics = '"No such"."The ""statistics"'));
SELECT pg_get_indexdef('quoted'::regclass);
DROP INDEX quoted;
DROP TABLE products;

SET client_min_messages = warning;
DROP SCHEMA attribute_index CASCADE;
