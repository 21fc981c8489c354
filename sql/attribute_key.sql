--
-- The keys of an attribute index sort as values do: numbers as numeric does,
-- strings by code points.
--

-- what they look like: the name, a byte for the type, the value
SELECT v AS value, attribute_key('size', v) AS key
FROM unnest('{"null",0,1,1.0,10,65,97.5,-97.5,0.05,0.005,12345678,-12345678,1e40,-1e-40,1e131,"\"\"","\"red\"","\"Größe\"",false,true}'::jsonb[]) WITH ORDINALITY u(v, o)
ORDER BY o;
SELECT attribute_key('', '1'), attribute_key(E'tab\tand\x7f', '1'), attribute_key('size', '[]'), attribute_key('size', '{}'), attribute_key(NULL, '1'), attribute_key('size', NULL);

-- types follow each other, whatever the values
SELECT count(*) AS pairs, count(*) FILTER (WHERE attribute_key('k', a.v) >= attribute_key('k', b.v)) AS wrong
FROM unnest(ARRAY['null', '-1e500', '1e500', '""', to_jsonb(repeat(U&'\FFEE', 200)), 'false', 'true']::jsonb[]) WITH ORDINALITY a(v, o),
	 unnest(ARRAY['null', '-1e500', '1e500', '""', to_jsonb(repeat(U&'\FFEE', 200)), 'false', 'true']::jsonb[]) WITH ORDINALITY b(v, o)
WHERE a.o < b.o;

-- numbers of all sizes, signs and scales, each against its neighbour
SELECT setseed(0.3) AS ready;
CREATE TEMP TABLE number AS
SELECT DISTINCT ON (n) n FROM (
	-- few digits anywhere from 1e-150 to 1e150
	SELECT (CASE WHEN random() < 0.5 THEN '-' ELSE '' END || floor(random() * power(10, floor(random() * 6)))::text || 'e' || floor(random() * 300 - 150)::int)::numeric AS n
	FROM generate_series(1, 3000)
	UNION ALL
	-- around powers of 10 and of numeric's own base
	SELECT s * ((10::numeric ^ e) + d * (10::numeric ^ (e - f)))
	FROM generate_series(-20, 20) e, unnest('{-1,1}'::int[]) s, unnest('{-1,0,1,5}'::int[]) d, unnest('{1,2,3,4,8,20}'::int[]) f
	UNION ALL
	-- many digits, alike up to the last ones
	SELECT s * (repeat('7', d) || t)::numeric FROM generate_series(1, 63) d, unnest('{"",5,.5,.05,00}'::text[]) t, unnest('{-1,1}'::int[]) s
	UNION ALL
	SELECT round((random() * 2000 - 1000)::numeric, floor(random() * 5)::int) FROM generate_series(1, 3000)
	UNION ALL
	VALUES (0), (0.00), (1e131071), (-1e131071), (1e-16383), (-1e-16383), (1e120), (1e121), (1e-120), (1e-121), (-1e120), (-1e121), (-1e-120), (-1e-121)
) s ORDER BY n;
SELECT count(*) > 6000 AS many, count(*) FILTER (WHERE key <= last) AS wrong
FROM (SELECT key, lag(key) OVER (ORDER BY n) AS last FROM (SELECT n, attribute_key('k', to_jsonb(n)) AS key FROM number) s) s;

-- and so does the order of values, which reads short whole numbers in the same way
SELECT count(*) > 6000 AS many,
	count(*) FILTER (WHERE NOT doc_match(to_jsonb(n), jsonb_build_object('$gt', last)) OR doc_match(to_jsonb(last), jsonb_build_object('$gte', n))) AS wrong_order,
	count(*) FILTER (WHERE doc_match(to_jsonb(n), '{"$type": "int"}') <> (n = trunc(n) AND n BETWEEN -2147483648 AND 2147483647)) AS wrong_int,
	count(*) FILTER (WHERE doc_match(to_jsonb(n), '{"$type": "double"}') <> (n <> trunc(n) OR n NOT BETWEEN -9223372036854775808 AND 9223372036854775807)) AS wrong_double
FROM (SELECT n, lag(n) OVER (ORDER BY n) AS last FROM number) s WHERE last IS NOT NULL;

-- numbers that are the same have the same key
SELECT count(*) FILTER (WHERE attribute_key('k', to_jsonb(n)) <> attribute_key('k', to_jsonb(round(n, least(scale(n) + 10, 16383))))) AS wrong FROM number;

-- beyond 64 digits a key is cut: different numbers have different ones, in no order among those alike so far, but in order with others
CREATE TEMP TABLE long_number AS
SELECT s * (repeat('7', 64) || t)::numeric AS n FROM unnest('{"",.5,.05,1,10,5,55,1e70}'::text[]) t, unnest('{-1,1}'::int[]) s;
SELECT count(*) AS numbers, count(DISTINCT attribute_key('k', to_jsonb(n))) AS keys, max(length(attribute_key('k', to_jsonb(n)))) AS longest FROM long_number;
SELECT count(*) > 10000 AS many_pairs, count(*) FILTER (WHERE (attribute_key('k', to_jsonb(a.n)) < attribute_key('k', to_jsonb(b.n))) <> (a.n < b.n)) AS wrong
FROM long_number a, number b WHERE a.n <> b.n AND length(b.n::text) < 60;
-- and a long one that is cut is on the right side of the short one it starts with
SELECT attribute_key('k', repeat('7', 64)::jsonb) < attribute_key('k', (repeat('7', 64) || '.5')::jsonb) AS above,
	   attribute_key('k', ('-' || repeat('7', 64))::jsonb) > attribute_key('k', ('-' || repeat('7', 64) || '.5')::jsonb) AS below;

-- strings by bytes, which are code points' order in UTF-8
CREATE TEMP TABLE string AS
SELECT DISTINCT s COLLATE "C" AS s FROM (
	SELECT array_to_string(ARRAY(SELECT (ARRAY['a', 'b', 'Z', ' ', 'ä', 'é', 'e' || U&'\0301', 'ß', 'ш', '漢', U&'\FFEE', U&'\+01F600'])[1 + floor(random() * 12 + g * 0)::int]
		FROM generate_series(1, 1 + g % 5)), '') AS s
	FROM generate_series(1, 3000) g
	UNION ALL
	SELECT repeat('a', d) || t FROM generate_series(0, 128) d, unnest('{"",a,b}'::text[]) t
	UNION ALL
	SELECT ''
) s WHERE octet_length(s) <= 128;
SELECT count(*) > 2000 AS many, count(*) FILTER (WHERE key <= last) AS wrong
FROM (SELECT key, lag(key) OVER (ORDER BY s) AS last FROM (SELECT s, attribute_key('k', to_jsonb(s)) AS key FROM string) s) s;
SELECT length(attribute_key('k', to_jsonb(repeat('a', 128)))) AS whole, length(attribute_key('k', to_jsonb(repeat('a', 129)))) AS cut, length(attribute_key('k', to_jsonb(repeat('a', 1000000)))) AS long,
	   attribute_key('k', to_jsonb(repeat('a', 1000000))) <> attribute_key('k', to_jsonb(repeat('a', 1000001))) AS differ;

-- no name's keys are among those of another
CREATE TEMP TABLE name AS
SELECT n FROM unnest(ARRAY['', 'a', 'ab', 'b', E'\x01', E'\x01a', E'\x1f', ' ', E'\x7f', E'\x7fA', E'\x7f\x01', E'a\x01', E'a\x7fA', 'é', repeat('n', 128), repeat('n', 129), repeat('n', 129) || 'm', repeat('n', 127) || 'é']) n;
SELECT count(*) AS pairs, count(*) FILTER (WHERE attribute_key(a.n, 'null') < attribute_key(b.n, 'null')
	AND attribute_key(a.n, 'true') > attribute_key(b.n, 'null')) AS wrong
FROM name a, name b WHERE a.n <> b.n;
SELECT count(DISTINCT attribute_key(n, '1')) = count(*) AS differ, max(length(attribute_key(repeat(E'\x01', 200), to_jsonb(repeat('a', 200))))) AS longest FROM name;
