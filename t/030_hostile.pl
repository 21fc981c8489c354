# Every function of the extension, as the catalog lists them, called with what
# nobody should call it with: errors of the documented classes are all that may
# happen, the same answer comes each time, in every way of calling, calls can be
# cancelled, and memory stays where it is.
#
# PATTERN_HOSTILE_CALLS is the number of argument lists tried per function.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $calls = $ENV{PATTERN_HOSTILE_CALLS} // 250;

my $node = PostgreSQL::Test::Cluster->new('hostile');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
# a document of 10,000 levels must be readable in order to be a danger
$node->append_conf('postgresql.conf', "max_stack_depth = '4MB'\njit = off\nwork_mem = '64MB'");
$node->start;

# What there is to call with.  The documents hold what some function looks for.
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pattern;
CREATE TABLE hostile (type text, value text, n integer GENERATED ALWAYS AS IDENTITY);

INSERT INTO hostile(type, value)
SELECT 'jsonb', value FROM unnest(ARRAY[NULL, '{}', '[]', 'null', 'true', '0', '-1', '2.50', '1e400', '-1e-400', '9223372036854775808',
	'""', '"a"', '"$a"', '[null]', '[[]]', '[{}]', '[1, "a", null, {"a": 1}]', '{"": null}', '{"a": 1}', '{"a": {"b": [1, {"c": 2}]}}',
	'{"$set": {"a": 1}}', '{"$set": {"": 1}}', '{"$set": {"a.b.c": 1, "a.b": 2}}', '{"$set": {"a.2147483647": 1}}', '{"$set": {"a.1600000": 1}}',
	'{"$inc": {"a": 1}}', '{"$inc": {"a": "x"}}', '{"$mul": {"a": 1e300}}', '{"$unset": {"a.b.0": 1}, "$rename": {"a.c": "d"}}',
	'{"$push": {"a": {"$each": [3, 1, 2], "$sort": -1, "$slice": -2}}}', '{"$push": {"a.b": {"$each": [], "$slice": 0}}}',
	'{"$push": {"a": {"$each": 1}}}', '{"$pull": {"a": {"$gt": 0}}}', '{"$pullAll": {"a": [1, null]}}', '{"$addToSet": {"a": {"$each": [1, 1.0, {}]}}}',
	'{"$pop": {"a": 2}}', '{"$bit": {"a": {"xor": -1}}}', '{"$set": {"a.$[x].b": 1}}', '[{"x.b": {"$gt": 0}}]',
	'[{"$set": {"a": "$b", "c": {"$add": ["$a", 1]}}}]', '[{"$replaceWith": "$a"}]', '[{"$unset": [1]}]', '{"$nothing": 1}', '{"$": 1}', '{"a..b": 1}', '{".": {}}',
	'{"$and": []}', '{"$or": [{}]}', '{"$nor": [{"a": {"$exists": false}}]}', '{"a": {"$not": {"$in": [null, {"$gt": 1}]}}}', '{"a": {"$elemMatch": {"k": "a", "v": {"$gte": 1}}}}',
	'{"$elemMatch": {"$gt": 0}}', '{"a": {"$all": [[]]}}', '{"a": {"$regex": "(a*)*b"}}', '{"a": {"$regex": "("}}', '{"a": {"$mod": [0, 0]}}', '{"a": {"$size": -1}}',
	'{"a": {"$type": "number", "$bitsAllSet": [0]}}', '{"$expr": {"$divide": [1, 0]}}', '{"$expr": {"$gt": ["$a", "$$ROOT"]}}', '{"a": {"$gt": 1, "b": 2}}',
	'{"count": -1, "readings": []}', '{"count": 2, "readings": [{"t": 1}, {"t": "x"}], "summary": {"min_t": {}, "sum_t": 1}}', '{"readings": {}}', '{"summary": [], "readings": null}',
	'{"count": 1e30, "summary": {"max_a": null, "avg_a": 1}, "readings": [1]}', '[{"k": "a", "v": 1, "u": null}, {"k": 1}, {"k": "a"}]', '[{"k": "a", "v": 1}, {"k": "k", "v": [2], "u": "cm"}, {"k": "a", "v": null}]', '{"k": {}, "v": [], "u": "x"}',
	'{"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}}}', '{"bsonType": 1, "properties": []}']) AS value;
INSERT INTO hostile(type, value) VALUES
	('jsonb', '{"' || repeat('k', 1000000) || '": 1}'),
	('jsonb', '{"' || repeat('a.', 300000) || 'a": 1}'),
	('jsonb', '{"$set": {"' || repeat('a.', 300000) || 'a": 1}}'),
	('jsonb', '{"$unset": {"' || repeat('0.', 300000) || '$[]": 1}}'),
	('jsonb', '"' || repeat('é', 500000) || '"'),
	('jsonb', repeat('[', 10000) || repeat(']', 10000)),
	('jsonb', repeat('{"a":', 10000) || '1' || repeat('}', 10000)),
	('jsonb', repeat('{"$not":', 10000) || '{}' || repeat('}', 10000)),
	('jsonb', repeat('{"$and":[', 5000) || '{}' || repeat(']}', 5000)),
	('jsonb', '{"$push": {"a": ' || repeat('[', 9000) || repeat(']', 9000) || '}}'),
	('jsonb', (SELECT jsonb_agg(i % 100) FROM generate_series(1, 20000) i)),
	('jsonb', (SELECT jsonb_object_agg('f' || i, i) FROM generate_series(1, 5000) i));
INSERT INTO hostile(type, value)
SELECT 'text', value FROM unnest(ARRAY[NULL, '', ' ', 'a', 'k', 'é', '"', '"a"', '"a', 'a.b', '.', 'a..b', 'a desc', 'a desc, b.c, "d e" ASC', 'a,', ',', 'a sideways',
	'$', '$a', '$[]', '0', '-1', '99999999999999999999', '\', '%s%n', '{', 'UTC', 'Europe/Amsterdam', 'No/Where', '+25:00', 'keep', 'error', 'immediate', 'plain', 'pg_class',
	'507f1f77bcf86cd799439011', 'relaxed', 'canonical', 'last', 'strip', 'report', 'PG_VERSION', '/dev/zero', repeat('x', 1000000), repeat('a.', 300000) || 'a', repeat('a,', 50000) || 'a', repeat('"', 100001)]) AS value;
INSERT INTO hostile(type, value)
SELECT 'name', value FROM unnest(ARRAY[NULL, '', 'doc', 'DOC', 'no such', 'id', 'ctid', 'é"', repeat('x', 63)]) AS value;
INSERT INTO hostile(type, value)
SELECT 'integer', value FROM unnest(ARRAY[NULL, '0', '1', '2', '3', '1000', '-1', '-2147483648', '2147483647']) AS value;
INSERT INTO hostile(type, value)
SELECT 'bigint', value FROM unnest(ARRAY[NULL, '0', '1', '-1', '-9223372036854775808', '9223372036854775807']) AS value;
INSERT INTO hostile(type, value)
SELECT 'boolean', value FROM unnest(ARRAY[NULL, 'true', 'false']) AS value;
INSERT INTO hostile(type, value)
SELECT 'double precision', value FROM unnest(ARRAY[NULL, '0', '-0', '1.5', 'NaN', 'Infinity', '-Infinity', '1e308']) AS value;
INSERT INTO hostile(type, value)
SELECT 'numeric', value FROM unnest(ARRAY[NULL, '0', '-1.50', 'NaN', 'Infinity', '1e1000', '1e-1000']) AS value;
INSERT INTO hostile(type, value)
SELECT 'timestamp with time zone', value FROM unnest(ARRAY[NULL, 'epoch', '2026-09-02T10:00:00.5Z', 'infinity', '-infinity',
	'4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59.999999+00', '2026-03-29 01:30:00+00']) AS value;
INSERT INTO hostile(type, value)
SELECT 'interval', value FROM unnest(ARRAY[NULL, '0', '1 hour', '-1 hour', '1 day', '1 month', '7 days 00:00:01', '1 month 1 day', '1 microsecond', '178000000 years',
	'-178000000 years', '2147483647 days', '2562047788:00:54.775807']) AS value;
INSERT INTO hostile(type, value)
SELECT 'text[]', value FROM unnest(ARRAY[NULL, '{}', '{NULL}', '{""}', '{a}', '{a,b}', '{a,0}', '{0}', '{-1}', '{a,b,99999999999}', '{a,2147483647}', '{{a,b},{c,d}}', '[5:6]={a,b}',
	'{a,NULL}', array_fill('a'::text, '{300000}')::text, array_fill('0'::text, '{300000}')::text]) AS value;
INSERT INTO hostile(type, value)
SELECT 'bytea', value FROM unnest(ARRAY[NULL, '\x', '\x00', '\xff', '\x0500000000', '\x05000000ff', '\xffffff7f', '\x0400000000',
	'\x0c0000001061000100000000', '\x1300000010610001000000106100020000000000', '\x0e00000002610002000000ff0000', '\x0f000000026100030000007800000000', '\x100000001061000100000000', '\x0c0000001061000100000000', '\x13000000026100ffffffff6100000000000000', '\x' || repeat('7f', 1000000)]) AS value;
INSERT INTO hostile(type, value)
SELECT 'cstring', value FROM unnest(ARRAY[NULL, '', 'a', '{', repeat('x', 1000000)]) AS value;
-- values that cannot be written are made by an expression
INSERT INTO hostile(type, value)
SELECT 'attribute_terms', value FROM unnest(ARRAY[NULL,
	$$=attribute_terms('{}', '', '', '')$$, $$=attribute_terms('[{"k": "a", "v": 1}, {"k": "b", "v": {"c": "d"}}]', '', 'k', 'v')$$]) AS value;

CREATE TABLE victims (id integer PRIMARY KEY, doc jsonb, name text);
INSERT INTO victims VALUES (1, '{"a": [1]}', 'a'), (2, NULL, NULL), (3, '"a"', '');
CREATE TABLE divided (id integer, doc jsonb) PARTITION BY LIST (id);
CREATE TABLE division PARTITION OF divided DEFAULT;
CREATE VIEW viewed AS SELECT id, count(*) AS n FROM victims GROUP BY id;
CREATE SEQUENCE counted;
CREATE TABLE kept (id text PRIMARY KEY, doc jsonb);
SELECT create_outlier('kept', 'doc', '{a}', 1);
INSERT INTO kept SELECT value, '{"a": [1, 2, 3]}' FROM hostile WHERE type = 'text' AND length(value) < 100;
SELECT create_bucket_table('bucketed', 'a', 't', '1 hour');
INSERT INTO bucketed(doc) VALUES ('{"a": 1, "t": "1970-01-01T00:00:00Z"}'), ('{"a": {}, "t": "2026-09-02T10:00:00Z"}');
INSERT INTO hostile(type, value)
SELECT 'regclass', value FROM unnest(ARRAY[NULL, '0', '4294967295', 'victims', 'victims_pkey', 'divided', 'division', 'viewed', 'bucketed', 'counted', 'kept', 'pg_class',
	'pg_locks', 'information_schema.tables']) AS value;
CREATE FUNCTION upgraded(doc jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$ SELECT '{"a": 0, "k": 0, "0": 0, "keep": 0, "plain": 0, "error": 0}'::jsonb $$;
INSERT INTO hostile(type, value)
SELECT 'regprocedure', value FROM unnest(ARRAY[NULL, 'upgraded(jsonb)', '0', '4294967295', 'now()', 'jsonb_typeof(jsonb)', 'jsonb_array_length(jsonb)']) AS value;

-- The extension's functions that can be called, with the types of their arguments;
-- but pattern_target, which looks at none, and load_bson_rows, which nobody may call.
CREATE VIEW functions AS
SELECT p.oid::regprocedure AS function, p.oid::regproc AS name, p.prokind AS kind, p.provolatile AS volatility, p.proretset AS is_set,
	p.pronargs - p.pronargdefaults AS required,
	ARRAY(SELECT replace(format_type(t, NULL), '"any"', 'text') FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY a(t, i) ORDER BY i) AS types,
	'cstring'::regtype = ANY (p.proargtypes::oid[] || p.prorettype) AS is_io
FROM pg_proc p
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'pattern'
WHERE p.prorettype <> 'trigger'::regtype AND p.proname NOT IN ('pattern_target', 'load_bson_rows') AND 'internal'::regtype <> ALL (p.proargtypes::oid[])
	-- nobody can write an expression as the catalogs have it; see sql/list.sql
	AND 'pg_node_tree'::regtype <> ALL (p.proargtypes::oid[])
	-- what is called in WHEN clauses alone; see sql/computed_ddl.sql
	AND '"any"'::regtype <> ALL (p.proargtypes::oid[]);

-- An argument as an expression of its type; the cast of a text to regclass knows no numbers.
CREATE FUNCTION as_regclass(value text) RETURNS regclass LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	result regclass;
BEGIN
	EXECUTE format('SELECT %L::regclass', value) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION typed(i bigint, type text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT format(CASE type WHEN 'regclass' THEN 'as_regclass(value_of(arguments[%s])) AS a%1$s' ELSE 'value_of(arguments[%s])::%s AS a%1$s' END, i, type) $$;

-- Argument lists: all of them if they are few, else some, the same each time;
-- in these an option is not given every other time.
CREATE TABLE calls (function regprocedure, n integer, arguments text[], state text, message text, result text,
	PRIMARY KEY (function, n));

CREATE PROCEDURE choose_calls(most integer) LANGUAGE plpgsql AS $$
DECLARE
	f record;
	lists numeric;
BEGIN
	FOR f IN SELECT * FROM functions LOOP
		SELECT coalesce(exp(sum(ln((SELECT count(*) FROM hostile h WHERE h.type = t)))), 1) INTO lists FROM unnest(f.types) t;
		INSERT INTO calls(function, n, arguments)
		SELECT f.function, row_number() OVER (), arguments
		FROM (SELECT DISTINCT ARRAY(
				SELECT (SELECT h.n FROM hostile h WHERE h.type = t
						ORDER BY CASE WHEN lists > most AND a > f.required AND hashint8(7 * list + a) % 2 = 0 THEN h.value IS NOT NULL END,
							CASE WHEN lists > most THEN hashtextextended(f.function::text || h.n || ' ' || a, list)
							ELSE (h.n + list / (SELECT coalesce(exp(sum(ln((SELECT count(*) FROM hostile b WHERE b.type = before)))), 1)::bigint
												FROM unnest(f.types[:a - 1]) before))
								% (SELECT count(*) FROM hostile c WHERE c.type = t) END LIMIT 1)
				FROM unnest(f.types) WITH ORDINALITY ts(t, a) ORDER BY a)::text[] AS arguments
			FROM generate_series(0, least(lists::bigint, most) - 1) list) chosen;
	END LOOP;
END $$;

CREATE FUNCTION value_of(n text) RETURNS text STABLE LANGUAGE sql AS 'SELECT value FROM hostile WHERE n = $1::integer';

-- The arguments as constants.
CREATE FUNCTION written(types text[], arguments text[]) RETURNS text STABLE LANGUAGE sql AS $$
	SELECT coalesce(string_agg(CASE WHEN value_of(v) LIKE '=%' AND t = 'attribute_terms' THEN substr(value_of(v), 2)
		ELSE quote_nullable(value_of(v)) || '::' || t END, ', ' ORDER BY i), '')
	FROM unnest(types, arguments) WITH ORDINALITY u(t, v, i)
$$;

-- What a query answers, or how it fails; nothing that it did stays.
CREATE PROCEDURE attempt(query text, INOUT state text, INOUT message text, INOUT result text) LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	result := NULL;
	EXECUTE query INTO result;
	RAISE SQLSTATE 'PT000';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	message := concat_ws(E'\n', message, nullif(detail, ''), nullif(hint, ''));
	message := CASE WHEN length(message) > 1500 THEN length(message) || ' characters: ' ELSE '' END || left(message, 1500);
END $$;

-- A query of one text for a function and its arguments.
CREATE FUNCTION question(f functions, arguments text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
	SELECT CASE
		WHEN f.kind = 'a' THEN format('SELECT md5(%s(%s)::text)', f.name, arguments)
		ELSE format('SELECT md5(string_agg(r::text, E''\n'')) FROM %s(%s) r', f.name, arguments) END
$$;

CREATE PROCEDURE make_calls() LANGUAGE plpgsql AS $$
DECLARE
	f functions;
	c calls;
BEGIN
	FOR f IN SELECT * FROM functions LOOP
		FOR c IN SELECT * FROM calls WHERE function = f.function ORDER BY n LOOP
			CALL attempt(question(f, written(f.types, c.arguments)), c.state, c.message, c.result);
			UPDATE calls SET state = c.state, message = c.message, result = c.result WHERE function = f.function AND n = c.n;
		END LOOP;
		COMMIT;
	END LOOP;
END $$;

-- In each of these ways all calls get the answer that they got one by one.
CREATE TABLE wrong (way text, function regprocedure, n integer, got text);

-- once more
CREATE PROCEDURE again(f functions) LANGUAGE plpgsql AS $$
DECLARE
	c calls;
	d calls;
BEGIN
	FOR c IN SELECT * FROM calls WHERE function = f.function ORDER BY n LOOP
		CALL attempt(question(f, written(f.types, c.arguments)), d.state, d.message, d.result);
		IF (c.state, c.message, c.result) IS DISTINCT FROM (d.state, d.message, d.result) THEN
			INSERT INTO wrong VALUES ('again', f.function, c.n, concat_ws(' ', d.state, d.message, d.result));
		END IF;
	END LOOP;
END $$;

-- ten executions of one prepared statement, with a few calls in turn
CREATE PROCEDURE prepared(f functions) LANGUAGE plpgsql AS $$
DECLARE
	c calls;
	d calls;
BEGIN
	SET LOCAL plan_cache_mode = force_generic_plan;
	EXECUTE format('PREPARE hostile_call(%s) AS %s', array_to_string(f.types, ', '),
		question(f, (SELECT string_agg('$' || i, ', ') FROM generate_series(1, cardinality(f.types)) i)));
	FOR round IN 1..10 LOOP
		FOR c IN SELECT * FROM calls WHERE function = f.function ORDER BY hashint4(n) LIMIT 8 LOOP
			CALL attempt(format('EXECUTE hostile_call(%s)', written(f.types, c.arguments)), d.state, d.message, d.result);
			IF (c.state, c.message, c.result) IS DISTINCT FROM (d.state, d.message, d.result) THEN
				INSERT INTO wrong VALUES ('prepared', f.function, c.n, concat_ws(' ', d.state, d.message, d.result));
			END IF;
		END LOOP;
	END LOOP;
	DEALLOCATE hostile_call;
END $$;

-- the rows of one query, and a loop in PL/pgSQL, whose expressions keep what the
-- functions remember of their arguments from one evaluation to the next
CREATE PROCEDURE in_rows(f functions) LANGUAGE plpgsql AS $$
DECLARE
	columns text;
	fields text;
BEGIN
	SELECT string_agg(typed(i, t), ', ' ORDER BY i), string_agg('a' || i, ', ' ORDER BY i)
	INTO columns, fields
	FROM unnest(f.types) WITH ORDINALITY u(t, i);
	EXECUTE format('CREATE TEMP TABLE rows ON COMMIT DROP AS SELECT n, result, %s FROM calls
		WHERE function = %L::regprocedure AND state = ''PT000'' ORDER BY hashint4(n)', columns, f.function);
	EXECUTE format('INSERT INTO wrong SELECT ''rows'', %L, n, got FROM (SELECT *, (%s) AS got FROM rows, generate_series(1, 2) OFFSET 0) r
		WHERE got IS DISTINCT FROM result', f.function, question(f, fields));
	IF NOT f.is_set THEN
		EXECUTE format('CREATE FUNCTION pg_temp.loop() RETURNS void LANGUAGE plpgsql AS $loop$
			DECLARE
				r record;
				got text;
			BEGIN
				FOR r IN SELECT * FROM rows LOOP
					got := %s(%s);
					IF md5(got) IS DISTINCT FROM r.result THEN
						INSERT INTO wrong VALUES (''loop'', %L, r.n, got);
					END IF;
				END LOOP;
			END $loop$', f.name, replace(fields, 'a', 'r.a'), f.function);
		PERFORM pg_temp.loop();
		DROP FUNCTION pg_temp.loop();
	END IF;
	DROP TABLE rows;
END $$;

-- The growth of memory, in bytes, from the middle to the end of many calls.
CREATE FUNCTION memory_used(n integer) RETURNS bigint VOLATILE LANGUAGE sql AS
	'SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts';
CREATE TABLE memory (function regprocedure, calls integer, bytes bigint);

CREATE PROCEDURE measure_memory(f functions, iterations integer) LANGUAGE plpgsql AS $$
DECLARE
	columns text;
	fields text;
	growth bigint;
	number integer;
BEGIN
	SELECT coalesce(string_agg(', ' || typed(i, t), '' ORDER BY i), ''), string_agg('a' || i, ', ' ORDER BY i)
	INTO columns, fields
	FROM unnest(f.types) WITH ORDINALITY u(t, i);
	EXECUTE format('CREATE TEMP TABLE picked ON COMMIT DROP AS
		SELECT (row_number() OVER () - 1)::integer AS i, picked.* FROM (
			SELECT n AS call %s FROM calls
			WHERE function = %L::regprocedure AND state = ''PT000''
				AND (SELECT coalesce(max(length(value_of(v))), 0) FROM unnest(arguments) v) < 200
			ORDER BY result IS NULL, hashint4(n) LIMIT 8) picked', columns, f.function);
	EXECUTE format('SELECT max(used) FILTER (WHERE n = $1) - max(used) FILTER (WHERE n = $1 / 2), count(*) + count(r) * 0
		FROM (
			SELECT g.n, %s AS r, CASE WHEN g.n IN ($1, $1 / 2, $1 / 4) THEN memory_used(g.n) END AS used
			FROM generate_series(1, $1) g(n), LATERAL (SELECT * FROM picked WHERE i = g.n %% (SELECT count(*) FROM picked) OFFSET 0) p
			OFFSET 0) s',
		CASE WHEN f.is_set THEN format('(SELECT count(x) FROM %s(%s) x)', f.name, fields)
			WHEN f.kind = 'a' THEN format('(SELECT %s(%s) FROM (SELECT %s FROM generate_series(g.n, g.n + 1)) o(%s))',
				f.name, replace(fields, 'a', 'b'), fields, replace(fields, 'a', 'b'))
			ELSE format('%s(%s)', f.name, fields) END)
		INTO growth, number USING iterations;
	INSERT INTO memory VALUES (f.function, number, growth);
	DROP TABLE picked;
END $$;
SQL

my $began = time;
sub answers
{
	my ($query, $expected, $name) = @_;
	my ($status, $output, $complaint) = $node->psql('postgres', $query);
	note sprintf("%.1f s", time - $began);

	is($status == 0 ? $output : $complaint, $expected, $name);
}

answers(q{
	SELECT DISTINCT t FROM functions, unnest(types) t WHERE NOT EXISTS (SELECT FROM hostile WHERE type = t) ORDER BY 1},
	'', 'there are values of every type that a function takes');
answers("CALL choose_calls($calls); CALL make_calls()", '', 'all functions are called');
answers(q{SELECT count(*) > 2500, count(*) FILTER (WHERE state = 'PT000') > 1000, count(*) FILTER (WHERE state IS NULL) FROM calls}, 't|t|0',
	'many calls, many with an answer');

# The classes of api errors; a class of its own for what table functions refuse.
answers(q{
	SELECT function, state, message, count(*), min(n)
	FROM calls JOIN functions USING (function)
	WHERE state <> 'PT000' AND left(state, 2) NOT IN ('22', '23', '54', '0A')
		AND NOT (volatility <> 'i' AND state IN ('23503', '42501', '42703', '42704', '42710', '42804', '42809', '42P01', '55000', '58P01'))
	GROUP BY 1, 2, 3 ORDER BY 1, 2, 3}, '', 'no error is of another class than documented');
answers(q{
	SELECT DISTINCT ON (function, left(message, 20)) function, n, message
	FROM (SELECT function, n, string_to_array(message, E'\n') AS lines, message FROM calls WHERE state NOT IN ('PT000', '54001')) c
	WHERE lines[1] ~ '[^.]\.$|^[A-Z][a-z]+ |pattern_|^\d+ characters'
		OR EXISTS (SELECT FROM unnest(lines[2:]) line WHERE line !~ '^([A-Z$]|[a-z]+_[a-z]+ ).*\.$')},
	'', 'messages follow the style, and are of a readable length');

foreach my $way ('again', 'prepared', 'in_rows')
{
	my $which = "SELECT * FROM functions WHERE volatility <> 'v' AND 'regclass' <> ALL (types)"
	  . ($way eq 'again' ? '' : " AND kind = 'f' AND types <> '{}' AND NOT is_io");

	answers(qq{
		DO \$\$
		DECLARE
			f functions;
		BEGIN
			FOR f IN $which LOOP
				CALL $way(f);
			END LOOP;
		END \$\$}, '', "$way: all functions are called");
	answers(q{SELECT * FROM wrong; TRUNCATE wrong}, '', "$way: the same answers");
}

# Aggregates over no rows, over NULLs, over one and over many
answers(q{
	DO $$
	DECLARE
		f functions;
		query text;
		state text;
		message text;
		result text;
	BEGIN
		FOR f IN SELECT * FROM functions WHERE kind = 'a' LOOP
			SELECT format('SELECT %s(%s)::text FROM (SELECT) one', f.name, string_agg('NULL::' || t, ', ')) INTO query FROM unnest(f.types) t;
			CALL attempt(query || ' WHERE false', state, message, result);
			INSERT INTO wrong SELECT 'no rows', f.function, 0, concat_ws(' ', state, message, result) WHERE state <> 'PT000';
			CALL attempt(query || ', generate_series(1, 3)', state, message, result);
			INSERT INTO wrong SELECT 'NULLs', f.function, 0, concat_ws(' ', state, message, result)
			WHERE state NOT IN ('PT000', '22004');
			SELECT format('SELECT %s(%s)::text FROM (VALUES (1)) one(n)', f.name,
				string_agg(coalesce((SELECT format('(SELECT value::%s FROM hostile WHERE type = %1$L ORDER BY n OFFSET 1 LIMIT 1)', t)), ''), ', '))
			INTO query FROM unnest(f.types) t;
			CALL attempt(query || ', generate_series(1, 1000)', state, message, result);
			INSERT INTO wrong SELECT 'many', f.function, 0, concat_ws(' ', state, message, result)
			WHERE left(state, 2) NOT IN ('PT', '22', '54');
		END LOOP;
	END $$;
	SELECT * FROM wrong; TRUNCATE wrong}, '', 'aggregates over any number of rows');

# Memory
answers(q{
	DO $$
	DECLARE
		f functions;
	BEGIN
		-- hardly a list of arguments fits a function of the user's, or what a view gives bucket_table_merge
		FOR f IN SELECT * FROM functions WHERE (volatility <> 'v' OR types = '{}') AND 'regprocedure' <> ALL (types) AND 'regclass' <> ALL (types) AND NOT is_io
			AND name::text <> 'bucket_table_merge' LOOP
			CALL measure_memory(f, 100000);
		END LOOP;
	END $$;
	SELECT function, calls, bytes FROM memory WHERE calls < 100000 OR bytes IS NULL OR bytes > 100000}, '', 'memory is flat over 100,000 calls');

# Cancelling.  The arguments are made before, and not compressed, so that the
# time is the function's.
$node->safe_psql('postgres', q{
	CREATE TABLE large (what text, doc jsonb);
	ALTER TABLE large ALTER doc SET STORAGE EXTERNAL;
	INSERT INTO large SELECT 'numbers', jsonb_agg(hashint4(i)) FROM generate_series(1, 2000000) i;
	INSERT INTO large SELECT 'objects', jsonb_agg(jsonb_build_object('k', 'n' || i % 1000, 'v', hashint4(i))) FROM generate_series(1, 500000) i;
	INSERT INTO large SELECT 'pairs', jsonb_object_agg(md5(i::text), i) FROM generate_series(1, 500000) i;
	CREATE VIEW arguments AS
	SELECT (SELECT doc FROM large WHERE what = 'numbers') AS numbers, (SELECT doc FROM large WHERE what = 'objects') AS objects,
		(SELECT doc FROM large WHERE what = 'pairs') AS pairs;
});

my %long = (
	'push with $sort' => q{doc_update('{"a": []}', jsonb_build_object('$push', jsonb_build_object('a', jsonb_build_object('$each', numbers, '$sort', 1))))},
	'push into many with $sort' => q{doc_update(jsonb_build_object('a', objects), '{"$push": {"a": {"$each": [{}], "$sort": {"v": 1}}}}')},
	'add to a set' => q{doc_update('{}', jsonb_build_object('$addToSet', jsonb_build_object('a', jsonb_build_object('$each', numbers))))},
	'pull all' => q{doc_update(jsonb_build_object('a', numbers), jsonb_build_object('$pullAll', jsonb_build_object('a', numbers)))},
	'pull by query' => q{doc_update(jsonb_build_object('a', objects), '{"$pull": {"a": {"v": {"$in": [1, 2, 3]}}}}')},
	'set in all elements' => q{doc_update(jsonb_build_object('a', objects), '{"$set": {"a.$[].v": 1}}')},
	'set many fields' => q{doc_update('{}', jsonb_build_object('$set', pairs))},
	'match in a large array' => q{doc_match(objects, '{"$elemMatch": {"k": "n1000", "v": {"$mod": [7, 8]}}}')},
	'match any of many' => q{doc_match('{"a": "x"}', jsonb_build_object('a', jsonb_build_object('$in', numbers)))},
	'match with a regular expression' => q{doc_match(jsonb_build_array(repeat('ab', 2000000)), '{"$elemMatch": {"$regex": "^(ab|a|b)*(a|b)*c$"}}')},
	'pack' => q{attribute_pack(pairs)},
	'unpack' => q{attribute_unpack(objects)},
	'facets' => q{attribute_facets(objects) FROM arguments, generate_series(1, 100)},
	'push sorted' => q{subset_push(objects, '{"v": 1}', 2000000, 'v desc, k')},
	'subset' => q{subset_agg(to_jsonb(hashint4(i)), 1000000) FROM generate_series(1, 5000000) i},
	'append' => q{bucket_append(jsonb_build_object('readings', objects), '{"t": 1}')},
	'read from BSON' => q{bson_to_jsonb(bson) FROM arguments, (SELECT jsonb_to_bson(jsonb_build_object('a', objects)) AS bson FROM arguments OFFSET 0) b, generate_series(1, 20)},
	'write to BSON' => q{jsonb_to_bson(jsonb_build_object('a', objects)) FROM arguments, generate_series(1, 20)},
	'documents of BSON' => q{count(*) FROM (SELECT bson_documents(string_agg(bson, '')) FROM (SELECT jsonb_to_bson('{"a": [1, 2, 3]}') AS bson FROM generate_series(1, 3000000)) b) d},
	'buckets' => q{bucket_agg(jsonb_build_object('t', hashint4(i)), 't') FROM generate_series(1, 3000000) i});

foreach my $name (sort keys %long)
{
	my $query = $long{$name} =~ / FROM / ? $long{$name} : "$long{$name} FROM arguments";
	my @delays;

	# early, and in what comes later, until the call is so short that it finishes
	foreach my $timeout (100, 500, 1500)
	{
		my ($status, $output, $complaint) = $node->psql('postgres', qq{
			\\set VERBOSITY sqlstate
			SELECT clock_timestamp() AS start \\gset
			SET statement_timeout = $timeout;
			CREATE TEMP TABLE answer AS SELECT $query;
			SET statement_timeout = 0;
			SELECT extract(epoch FROM clock_timestamp() - :'start') - $timeout / 1000.0;},
			on_error_stop => 0);

		push @delays, $complaint =~ /^(psql:.*ERROR:  57014)?$/ ? $output : "$output $complaint";
		last if $complaint eq '';
	}
	is(scalar(grep { !/^-?[\d.]+$/ || $_ > 5 } @delays), 0, "$name can be cancelled")
	  or diag("seconds from the timeout to the end: @delays");
}

is($node->safe_psql('postgres', 'SELECT 1'), '1', 'the server lives');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'and always has');

$node->stop;
done_testing();
