--
-- An attribute index answers as a sequential scan does: random documents, most
-- of them irregular in some way, and random queries by every operator.
--
CREATE SCHEMA attribute_index_random;
SET search_path = attribute_index_random, public;
SET client_min_messages = warning;
SELECT setseed(0.25) AS ready;

-- one of the choices
CREATE FUNCTION pick(VARIADIC choices text[]) RETURNS text LANGUAGE sql
	RETURN choices[1 + floor(random() * cardinality(choices))::int];

CREATE FUNCTION chance(p float8) RETURNS boolean LANGUAGE sql RETURN random() < p;

-- what most values are: mixed, long, numbers or arrays
CREATE FUNCTION flavour(f text) RETURNS boolean LANGUAGE sql RETURN current_setting('random.flavour') = f;

-- names and values are few, so that they meet; as JSON text
CREATE FUNCTION a_name() RETURNS text LANGUAGE sql
	RETURN CASE WHEN chance(0.8) OR flavour('arrays') THEN pick('"a"', '"b"')
		ELSE pick('"c"', '"ab"', '""', '"\u0001"', '"a\t"', '"\u007f"', '"\u007fA"', to_json(repeat('n', 128))::text,
				  to_json(repeat('n', 130))::text, to_json(repeat('n', 129) || 'm')::text) END;

CREATE FUNCTION a_number() RETURNS text LANGUAGE sql
	RETURN CASE WHEN chance(0.6) AND NOT flavour('numbers') THEN pick('0', '1', '1.0', '-1', '2', '10', '1.5', '-1.5', '9.99', '100', '0.01')
		WHEN chance(0.3) THEN round((random() * 20 - 10)::numeric, 2)::text
		WHEN chance(0.3) THEN pick('', '-') || pick('1', '12', '123', '1234', '12.3', '12.34', '12.345', '120', '1200')
		ELSE pick('', '-') || CASE WHEN chance(0.5)
			THEN pick('1e30', '1e-30', '2e30', '1e120', '1e-120', '1e121', '1e-121', '1e131', '1e-131', '1e500', '1e-500', '12345678', '1234567', '0.00123', '0.0123')
			ELSE repeat('7', 64) || pick('', '', '.5', '00', '.01', '7', '75') END END;

CREATE FUNCTION a_string() RETURNS text LANGUAGE sql
	RETURN CASE WHEN chance(0.9) AND NOT flavour('long') THEN pick('""', '"a"', '"ab"', '"abc"', '"b"', '"é"', '"e\u0301"', '"😀"', '"\u0001"', '"10"', '"9a"', '"/"', '":"', '"\uffee"')
		ELSE to_json(repeat('a', 127 + floor(random() * 3)::int) || pick('', 'a', 'b', 'é'))::text END;

CREATE FUNCTION a_scalar() RETURNS text LANGUAGE sql
	RETURN CASE WHEN flavour('numbers') THEN a_number() WHEN flavour('long') THEN a_string() WHEN flavour('arrays') THEN pick('1', '2', '3', '4')
		WHEN chance(0.5) THEN a_number() WHEN chance(0.6) THEN a_string() ELSE pick('null', 'true', 'false') END;

CREATE FUNCTION an_array(n int) RETURNS text LANGUAGE sql
	RETURN '[' || coalesce((SELECT string_agg(a_scalar(), ', ') FROM generate_series(1, n)), '') || ']';

CREATE FUNCTION a_value() RETURNS text LANGUAGE sql
	RETURN CASE WHEN NOT flavour('arrays') AND chance(0.7) THEN a_scalar() WHEN chance(0.6) OR flavour('arrays') THEN an_array(floor(random() * 4)::int)
		ELSE pick('{}', '{"w": 1}', '[[1]]', '[1, [2]]', '[{"w": 1}, 1]', '[[]]', '[[["a"]]]') END;

CREATE FUNCTION an_element(k text, v text) RETURNS text LANGUAGE sql
	RETURN CASE WHEN chance(0.9)
		THEN '{' || concat_ws(', ',
			CASE WHEN chance(0.9) THEN to_json(k) || ': ' || a_name()
				 ELSE to_json(k) || ': ' || pick('["a", "b"]', '["a"]', '["b", "a"]', '["a", ["b"]]', '[["a"]]', '[]', '1', 'null', 'true', '{"a": 1}', '["a", 1]') END,
			CASE WHEN chance(0.9) THEN to_json(v) || ': ' || a_value() END,
			CASE WHEN chance(0.2) THEN '"u": ' || a_scalar() END) || '}'
		WHEN chance(0.2) THEN format('[{%s: "b", %s: %s}, [{%1$s: ["a", "c"], %2$s: %s}]]', to_json(k), to_json(v), a_value(), a_value())
		-- too many for every name to be marked with every value
		WHEN chance(0.1) THEN (SELECT format('[%s]', string_agg(format('{%s: %s, %s: %s}', to_json(k), a_name(), to_json(v), g), ', ')) FROM generate_series(1, 9) g)
		ELSE pick('1', '"a"', 'null', '{}', '[]', format('{%s: 1}', to_json(v)), format('[{%s: "a", %s: 1}]', to_json(k), to_json(v)),
				  format('[[{%s: "b", %s: 1}, {%1$s: "a"}]]', to_json(k), to_json(v)), format('[{%s: "c"}, {%1$s: "a", %s: 2}]', to_json(k), to_json(v))) END;

CREATE FUNCTION some_elements(k text, v text) RETURNS text LANGUAGE sql
	RETURN '[' || coalesce((SELECT string_agg(an_element(k, v), ', ') FROM generate_series(1, (SELECT floor(random() * 5)::int))), '') || ']';

-- a document with its attributes at the path, or nearly so
CREATE FUNCTION a_document(path text[], k text, v text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	doc text := some_elements(k, v);
BEGIN
	IF chance(0.1) THEN
		doc := CASE floor(random() * 4) WHEN 0 THEN an_element(k, v) WHEN 1 THEN format('[%s]', doc) WHEN 2 THEN a_value() ELSE format('[%s, 1]', doc) END;
	END IF;
	-- operators on the value itself are an error where it is a document
	IF path = '{}' AND doc ^@ '{' THEN
		doc := '1';
	END IF;
	FOR i IN REVERSE cardinality(path) .. 1 LOOP
		doc := format('{%s: %s%s}', to_json(path[i]), doc, CASE WHEN chance(0.15) THEN ', "u": 1' END);
		IF chance(0.07) THEN
			doc := format(pick('[%s]', '[%s, {"a": 1}]', '[[%s]]', '{"other": %s}'), doc);
		END IF;
	END LOOP;
	RETURN doc::jsonb;
END $$;

-- a test of a value in MongoDB's language
CREATE FUNCTION a_test() RETURNS text LANGUAGE sql
	RETURN CASE WHEN chance(0.2) THEN a_value()
		WHEN chance(0.3) THEN format('{"%s": %s, "%s": %s}', pick('$gt', '$gte'), a_scalar(), pick('$lt', '$lte'), a_scalar())
		WHEN chance(0.6) THEN '{' || array_to_string(ARRAY(
			SELECT format('"%s": %s', o, CASE WHEN chance(0.95) THEN a_scalar() ELSE a_value() END)
			FROM unnest('{$gt,$gte,$lt,$lte,$eq,$ne}'::text[]) o WHERE random() < 0.3 ORDER BY random() LIMIT 3), ', ') || '}'
		WHEN chance(0.3) THEN format('{"%s": [%s, %s, %s]}', pick('$in', '$in', '$nin', '$all'), a_value(), a_scalar(), a_value())
		WHEN chance(0.4) THEN format('{"$regex": "%s"}', pick('^a', '^', 'b', '^ab?', '^a|b', '^ab$', '(?i)^A', '^é', '^' || repeat('a', 129)))
		ELSE pick('{"$exists": true}', '{"$exists": false}', '{"$type": "number"}', '{"$type": "array"}', '{"$size": 1}', '{"$in": []}',
				  '{"$not": {"$gt": 1}}', '{"$elemMatch": {"$gt": 1}}', '{"$mod": [2, 0]}', '{"$not": {"$exists": true}}') END;

CREATE FUNCTION an_element_query(k text, v text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	name text := CASE WHEN chance(0.85) THEN a_name() WHEN chance(0.5) THEN format('{"$in": [%s, %s]}', a_name(), a_name())
		ELSE pick('["a", "b"]', '1', 'null', '{"$regex": "^a"}', '{"$ne": "a"}', '{"$in": ["a", null]}', '{"$exists": true}', '{"$all": ["a", "b"]}') END;
	parts text[] := ARRAY[]::text[];
BEGIN
	IF chance(0.95) THEN parts := parts || format('%s: %s', to_json(k), name); END IF;
	IF chance(0.85) THEN parts := parts || format('%s: %s', to_json(v), a_test()); END IF;
	IF chance(0.1) THEN parts := parts || format('"u": %s', a_test()); END IF;
	IF chance(0.1) THEN parts := parts || format('"%s": [%s, %s]', pick('$or', '$or', '$and', '$nor'), an_element_query(k, v), an_element_query(k, v)); END IF;
	RETURN '{' || array_to_string(parts, ', ') || '}';
END $$;

CREATE FUNCTION a_query(path text[], k text, v text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	p text := array_to_string(path, '.');
	test text;
BEGIN
	IF chance(0.15) AND p <> '' THEN
		RETURN format('{"%s": [%s, %s]}', pick('$and', '$or', '$or', '$nor'), a_query(path, k, v), a_query(path, k, v));
	END IF;
	test := CASE
		WHEN chance(0.6) THEN format('{"$elemMatch": %s}', an_element_query(k, v))
		WHEN chance(0.5) THEN format('{"$all": [{"$elemMatch": %s}, {"$elemMatch": %s}]}', an_element_query(k, v), an_element_query(k, v))
		WHEN chance(0.2) THEN format('{"$not": {"$elemMatch": %s}}', an_element_query(k, v))
		WHEN chance(0.3) THEN format('{"$in": [%s, %s]}', an_element(k, v), some_elements(k, v))
		WHEN chance(0.2) THEN '{"$size": 2}'
		WHEN p <> '' AND chance(0.5) THEN some_elements(k, v)
		WHEN p <> '' THEN an_element(k, v)
		ELSE format('{"$eq": %s}', an_element(k, v)) END;
	IF p = '' THEN
		RETURN test;
	ELSIF chance(0.2) THEN
		RETURN CASE WHEN chance(0.5) THEN format('{%s: %s, %s: %s}', to_json(p || '.' || k), a_name(), to_json(p || '.' || v), a_test())
			ELSE format('{%s: %s}', to_json(p || pick('.', '.0.') || k), pick(a_name(), '{"$exists": true}', '{"$in": ["a", "b"]}', 'null')) END;
	END IF;
	RETURN format('{%s: %s}', to_json(p), test);
EXCEPTION WHEN invalid_text_representation THEN
	RETURN '{}';
END $$;

-- a predicate of a filter, in jsonpath
CREATE FUNCTION a_predicate(k text, v text, depth int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	field text := format('@.%s', to_json(v));
	operator text := pick('==', '<', '<=', '>', '>=', '>', '<', '!=');
	value text := CASE WHEN chance(0.97) THEN a_scalar() ELSE '1 + 1' END;
BEGIN
	IF depth > 0 AND chance(0.35) THEN
		RETURN format('(%s %s %s)', a_predicate(k, v, depth - 1), pick('&&', '&&', '||'), a_predicate(k, v, depth - 1));
	END IF;
	RETURN CASE
		WHEN chance(0.15) THEN format(pick('@.%s == %s', '@.%s == %s', '%2$s == @.%1$s'), to_json(k), a_name())
		WHEN chance(0.7) THEN CASE WHEN chance(0.7) THEN concat_ws(' ', field, operator, value) ELSE concat_ws(' ', value, operator, field) END
		WHEN chance(0.3) THEN format('%s starts with %s', field, a_string())
		WHEN chance(0.2) THEN format('!(%s %s %s)', field, operator, value)
		WHEN chance(0.2) THEN format('exists(%s)', field)
		WHEN chance(0.2) THEN format('%s like_regex "^a"', field)
		WHEN chance(0.2) THEN format('(%s > 1) is unknown', field)
		WHEN chance(0.2) THEN format('%s.%s() == %s', field, pick('type', 'size', 'double', 'abs'), a_scalar())
		WHEN chance(0.3) THEN format('%s[*] == %s', field, value)
		WHEN chance(0.3) THEN format('@.%s %s %s', to_json(k), operator, a_name())
		ELSE format('@.u == %s', value) END;
END $$;

CREATE FUNCTION a_filter(path text[], k text, v text) RETURNS text LANGUAGE sql
	RETURN concat('$', (SELECT string_agg('.' || to_json(s), '') FROM unnest(path) s), CASE WHEN chance(0.7) THEN '[*]' ELSE pick('', '', '[*][*]', '[0]', '[0 to last]', '.**') END,
				  ' ? (', CASE WHEN chance(0.9) THEN format('@.%s == %s && ', to_json(k), a_name()) END, a_predicate(k, v, 2), ')',
				  CASE WHEN chance(0.1) THEN pick('.u', '.' || to_json(v), '.size()', ' ? (@.u == 1)', '.*', '[*]') END);

CREATE FUNCTION a_path(path text[], k text, v text) RETURNS text LANGUAGE sql
	RETURN pick('', '', '', 'strict ') || CASE WHEN chance(0.95) THEN a_filter(path, k, v)
		ELSE format('$[*].%s == "a"', to_json(k)) END;

CREATE FUNCTION a_path_predicate(path text[], k text, v text, depth int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF depth > 0 AND chance(0.4) THEN
		RETURN format('(%s %s %s)', a_path_predicate(path, k, v, depth - 1), pick('&&', '||'), a_path_predicate(path, k, v, depth - 1));
	END IF;
	RETURN CASE WHEN chance(0.85) THEN format('exists(%s)', a_filter(path, k, v))
		WHEN chance(0.3) THEN format('!exists(%s)', a_filter(path, k, v))
		WHEN chance(0.3) THEN format('(exists(%s)) is unknown', a_filter(path, k, v))
		WHEN chance(0.3) THEN a_filter(path, k, v) || ' > 0'
		ELSE format('$[*].%s == "a"', to_json(k)) END;
END $$;

-- a condition on doc by one of the operators
CREATE FUNCTION a_condition(path text[], k text, v text) RETURNS text LANGUAGE sql
	RETURN CASE
		WHEN chance(0.4) THEN format('doc @~ %L', a_query(path, k, v))
		WHEN chance(0.5) THEN format('doc @? %L::jsonpath', a_path(path, k, v))
		WHEN chance(0.6) THEN format('doc @@ %L::jsonpath', pick('', '', '', 'strict ') || a_path_predicate(path, k, v, 2))
		ELSE format('doc @> %L', a_document(path, k, v)) END;

-- statistics by which most equalities are rare, and most ranges wide: with them ranges are left out of conjunctions
CREATE TABLE guide AS
SELECT jsonb_build_array(jsonb_build_object('k', 'a', 'v', g * 7 % 1999 / 50.0 - 20), jsonb_build_object('k', 'b', 'v', g * 11 % 1999 / 50.0 - 20),
	jsonb_build_object('k', 'c', 'v', chr(32 + g % 90) || g)) AS doc
FROM generate_series(1, 2000) g;
CREATE STATISTICS wide_ranges ON (attribute_terms(doc, '', 'k', 'v')) FROM guide;
ANALYZE guide;

CREATE TABLE random_document (n int GENERATED ALWAYS AS IDENTITY, doc jsonb);
CREATE TABLE difference (condition text, by_index int[], by_scan int[]);

CREATE FUNCTION rows_found(condition text, by_index boolean) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
	result int[];
BEGIN
	PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_bitmapscan', by_index::text, true);
	EXECUTE 'SELECT array_agg(n ORDER BY n) FROM random_document WHERE ' || condition INTO result;
	RETURN result;
END $$;

-- compare some conditions on one set of documents; the index is built on some of them, then grows, and has statistics or not
CREATE FUNCTION compare(path text[], k text, v text, fastupdate boolean, guided boolean, ndocuments int, nconditions int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	condition text;
	used int := 0;
	plan text;
BEGIN
	TRUNCATE random_document;
	INSERT INTO random_document(doc) SELECT a_document(path, k, v) FROM generate_series(1, ndocuments / 2);
	EXECUTE format('CREATE INDEX random_index ON random_document USING gin (doc jsonb_attribute_contains_ops (path = %L, key = %L, value = %L, statistics = %L)) WITH (fastupdate = %L)',
				   array_to_string(path, '.'), k, v, CASE WHEN guided THEN 'attribute_index_random.wide_ranges' ELSE '' END, fastupdate);
	INSERT INTO random_document(doc) SELECT a_document(path, k, v) FROM generate_series(1, ndocuments / 2);
	UPDATE random_document SET doc = a_document(path, k, v) WHERE n % 7 = 0;
	DELETE FROM random_document WHERE n % 11 = 0;
	FOR i IN 1 .. nconditions LOOP
		condition := a_condition(path, k, v);
		-- the results differ, or they are of another query: some are the sum of two
		IF chance(0.1) THEN
			condition := condition || pick(' AND ', ' OR ') || a_condition(path, k, v);
		END IF;
		INSERT INTO difference SELECT condition, a, b FROM (SELECT rows_found(condition, true) AS a, rows_found(condition, false) AS b) s WHERE a IS DISTINCT FROM b;
		IF i = 1 THEN
			PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
			FOR plan IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT n FROM random_document WHERE ' || condition LOOP
				used := used + (plan LIKE '%Bitmap Index Scan on random_index%')::int;
			END LOOP;
		END IF;
	END LOOP;
	DROP INDEX random_index;
	RETURN used;
END $$;

CREATE FUNCTION compare_sets(flavour text, path text[], k text, v text, nsets int) RETURNS TABLE (conditions bigint, by_index boolean) LANGUAGE sql
BEGIN ATOMIC
	SELECT set_config('random.flavour', flavour, true);
	SELECT count(*) * 200, bool_and(compare(path, k, v, g % 2 = 0, g % 3 > 0, 40, 200) > 0) FROM generate_series(1, nsets) g;
END;

SELECT * FROM compare_sets('mixed', '{specs}', 'k', 'v', 30);
SELECT * FROM compare_sets('long', '{specs}', 'k', 'v', 12);
SELECT * FROM compare_sets('numbers', '{specs}', 'k', 'v', 14);
SELECT * FROM compare_sets('arrays', '{specs}', 'k', 'v', 14);
-- the column itself, and another path with other fields
SELECT * FROM compare_sets('mixed', '{}', 'k', 'v', 15);
SELECT * FROM compare_sets('mixed', '{a,specs}', 'name', 'is', 15);
-- a step that is a number may be an index, and so may a field
SELECT * FROM compare_sets('mixed', '{a,0}', 'k', '1', 5);
SELECT * FROM compare_sets('mixed', '{specs}', '0', '1', 5);

SELECT * FROM difference ORDER BY length(condition) LIMIT 10;

SET client_min_messages = warning;
DROP SCHEMA attribute_index_random CASCADE;
