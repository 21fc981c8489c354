--
-- $regex: PCRE's syntax on PostgreSQL's engine
--
\pset null '(null)'

-- The strings of an array that match, as indexes from 1; or the error.
CREATE FUNCTION matches(pattern text, options text, VARIADIC strings text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE query jsonb := jsonb_build_object('$regex', pattern, '$options', options);
BEGIN
    RETURN (SELECT coalesce(string_agg(n::text, ' ' ORDER BY n) FILTER (WHERE to_jsonb(s) @~ query), '-') FROM unnest(strings) WITH ORDINALITY x(s, n));
EXCEPTION WHEN others THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

-- text, at the start, at the end, anywhere; only strings match, also those in an array
SELECT matches('bc', '', 'abc', 'bcd', 'b', '') AS anywhere, matches('^bc', '', 'abc', 'bcd', 'b', '') AS start, matches('bc$', '', 'abc', 'bcd', E'bc\n', E'bc\n\n', E'bc\nd') AS "end",
       matches('^bc$', '', 'bc', 'abc', 'bcd', E'bc\n') AS whole, matches('', '', '', 'x') AS empty, matches('^', '', '', 'x') AS caret, matches('^$', '', '', 'x', E'\n') AS nothing;
SELECT v AS value, v::jsonb @~ '{"$regex": "1"}' AS matches FROM unnest(ARRAY['"1"', '1', '["x", "1"]', '[["1"]]', '[1]', 'null', 'true']) v;
SELECT '{"a": [{"b": "x1"}, {"b": "y2"}]}'::jsonb @~ '{"a.b": {"$regex": "^y"}}' AS path, '{}'::jsonb @~ '{"a": {"$regex": ""}}' AS missing, '{"a": "x"}'::jsonb @~ '{"a": {"$not": {"$regex": "x"}}}' AS negated,
       '{"a": "x1"}'::jsonb @~ '{"a": {"$regex": "^x", "$ne": "x1"}}' AS combined, '{"a": ["xa", "ya"]}'::jsonb @~ '{"a": {"$elemMatch": {"$regex": "^y", "$nin": ["yb"]}}}' AS element;

-- where the engine would understand something else
SELECT p AS pattern, matches(p, '', VARIADIC s) AS matches, s AS strings FROM (VALUES
    (1, '\bcat\b', '{"the cat sat",concatenate,cat,cat_}'::text[]), (2, '\Bcat', '{concatenate,"cat sat"}'), (3, '[\b]', ARRAY[E'\b', 'b']), (4, 'a.b', ARRAY['axb', E'a\nb', 'aéb']),
    (5, 'a[^x]b', ARRAY['ayb', E'a\nb', 'axb']), (6, 'a\Z', ARRAY['a', E'a\n', E'a\n\n']), (7, 'a\z', ARRAY['a', E'a\n']), (8, '\Aa', ARRAY['ab', E'b\na']), (9, '(a$|b)c?', ARRAY['a', E'a\n', E'a\nx', 'b']),
    (10, '^\w+$', '{hello,café,naïve_1,a-b}'), (11, '^\d+$', ARRAY['123', U&'\0661']), (12, '\s', ARRAY['a b', U&'a\00A0b', E'a\x0Bb']), (13, '\x41\x{e9}', '{Aé,AÉ}'), (14, '\x414', '{A4,"\\x414"}'), (15, '\101\.\-', '{A.-,A--}'),
    (16, 'a{', '{a,"a{"}'), (17, 'a{x}', '{"a{x}",ax}'), (18, 'a{2}b{1,}c{0,1}$', '{aab,aabbc,ab,aabcc}'), (19, '[]a]+$', '{"]","a]",b}'), (20, '[^]a]', '{"]",b}'), (21, '[a\]b]$', '{"]",c}'), (22, '[\w.-]+@[\d]', '{a.b-c@1,@1,a@b}'),
    (23, '\Qa.b\E+$', '{a.bb,axb,a.b}'), (24, 'a(?#b)c', '{ac,abc}'), (25, 'foo\Kbar', '{foobar,bar}'), (26, '\N', ARRAY['a', E'\n']), (27, '***=a', '{a,"***=a"}'), (28, '(?i)***:a', '{a}'), (29, '\e\t', ARRAY[E'\033\t', 'et'])) v(n, p, s) ORDER BY n;

-- options, and flags from a place on, in a group, and off again
SELECT p AS pattern, o AS options, matches(p, o, VARIADIC s) AS matches, s AS strings FROM (VALUES
    (1, '^b', 'm', ARRAY[E'a\nb', 'ab']), (2, '^b', '', ARRAY[E'a\nb', 'b']), (3, 'a$', 'm', ARRAY[E'a\nb', E'ba\n', 'ab']), (4, 'a.b', 's', ARRAY[E'a\nb', 'axb']), (5, 'a b # c', 'x', ARRAY['ab', 'a b']), (6, E'a # x\n b', 'x', ARRAY['ab', 'a # x']),
    (7, 'a\ b[ #]', 'x', ARRAY['a b#', 'a b ', 'ab#']), (8, 'abc', 'i', ARRAY['ABC', 'aBc', 'abd']), (9, 'abc', 'u', ARRAY['abc']), (10, '^a.B', 'imsx', ARRAY[E'x\nA\nb']), (11, 'a', 'ii', ARRAY['A']),
    (12, '(?i)a(?-i)b', '', ARRAY['ab', 'Ab', 'aB']), (13, '(?i:a)b', '', ARRAY['Ab', 'AB']), (14, '(a(?i)b|c)d', '', ARRAY['aBd', 'Cd', 'aBD']), (15, '(?s:a.b).c', '', ARRAY[E'a\nbxc', E'a\nb\nc']), (16, '(?m:^b).\Z', '', ARRAY[E'a\nbc', 'abc']),
    (17, '(?x) a b (?-x) c', '', ARRAY['ab c', 'abc', 'a b c']), (18, '(?-i)a', 'i', ARRAY['a', 'A']), (19, 'x|(?i)y', '', ARRAY['x', 'X', 'Y']), (20, '(?ms)^a.$', '', ARRAY[E'b\na\n\nc'])) v(n, p, o, s) ORDER BY n;

-- case beyond ASCII, in every database alike
SELECT matches('^CAFÉ', 'i', 'café', 'CAFÉ', 'cafe') AS latin, matches('привет', 'i', 'Привет', 'ПРИВЕТ', 'Пока') AS cyrillic, matches('σ', 'i', 'Σ', 'ς', 'σ', 's') AS sigma, matches('straße', 'i', 'STRAẞE', 'STRASSE') AS sharp_s,
       matches('istanbul', 'i', 'Istanbul', 'İstanbul', 'ıstanbul') AS turkish, matches('[à-ü]', 'i', 'É', 'à', 'Ÿ', 'a') AS range, matches('[^é]', 'i', 'É', 'e') AS not_in, matches('k', 'i', U&'\212A', 'K') AS kelvin,
       matches('[[:upper:]]', 'i', 'a', '1') AS class, matches('ā', 'i', 'Ā', 'a') AS alternating, matches('é', '', 'É', 'é') AS minded;

-- groups, references, lookarounds
SELECT p AS pattern, matches(p, '', VARIADIC s) AS matches, s AS strings FROM (VALUES
    (1, '^(ab)\1$', '{abab,ab,abba}'::text[]), (2, '(?<x>a|b)-\k<x>', '{a-a,b-b,a-b}'), (3, '(?P<x>a|b)(?P=x)', '{aa,ab}'), (4, '(a)\10', ARRAY['aa0', E'a\b']), (5, '(?:a|b)+c$', '{abac,c}'), (6, 'foo(?=bar)', '{foobar,foobaz}'), (7, 'foo(?!bar)', '{foobar,foobaz}'),
    (8, '(?<=foo)bar', '{foobar,bar}'), (9, '(?<!foo)bar', '{foobar,bar}'), (10, '((((a))))\4', '{aa,a}'), (11, 'a|', '{b}'), (12, '()a', '{a}'), (13, 'a+?b', '{aab,b}'), (14, '(?=(a))b|c', '{c,b}'), (15, '^a|b', '{xb,xa,a}'), (16, '^ab?', '{a,xa}'), (17, '^ab*c', '{ac,xac,abbc}'), (18, '(?:^a|b)c', '{xbc,ac,xac}')) v(n, p, s) ORDER BY n;
SELECT matches('(a)\1', 'i', 'aA', 'ab') AS ignoring_case;

-- what the engine lacks, and what is wrong
SELECT p AS pattern, matches(p, '', 'a') AS error FROM unnest(ARRAY['\p{L}', '\P{Lu}', '(*UCP)\w', '(?>a)', 'a++', 'a{2}+', '(a)?(?(1)b|c)', '(?R)', '(?1)', '(?|a|b)', '\X', '\R', '\h', '\Gx', '\u0041', 'a{,2}', '(?i)(a)(?-i)\1', '(a)(?i)\1', '(a)b(?i)c\1', '(?=(a))(b)\1', '\0', '[[.a.]]', '[[:^alpha:]]', '(?U)a', 'a(*FAIL)', '[a-\d]', '\g{1}']) WITH ORDINALITY x(p, n) ORDER BY n;
SELECT p AS pattern, matches(p, '', 'a') AS error FROM unnest(ARRAY['[a', '(a', 'a)', '*a', 'a**', '\', 'a{2,1}', 'a{256}', '[z-a]', '[[:nothing:]]', '\y', '\m', '\1', '\80', '(?<x>a', '\k<y>', '(?P=y)', '\x{110000}', '(?#', '(?i)*', '[[:alpha]', '\c', '(?z)']) WITH ORDINALITY x(p, n) ORDER BY n;
SELECT '"x"'::jsonb @~ '{"$regex": "a++"}';
SELECT '"x"'::jsonb @~ '{"$regex": "[a"}';
SELECT matches('(*UTF8)é', '', 'é') AS utf8_is_a_given, matches('(*UTF)^.{2}$', '', 'éé', 'é') AS characters;
SELECT matches(repeat('(', 500) || 'a' || repeat(')', 500), '', 'a', 'b') AS deep, left(matches(repeat('(', 100000), '', 'a'), 5) AS too_deep, matches(repeat('ab', 20000), '', repeat('ab', 20000), repeat('ab', 19999)) AS long;
SELECT matches('x$', '', repeat('é', 100000) || 'x', repeat('é', 100000)) AS long_string;

-- another pattern for each row
SELECT count(*) FILTER (WHERE to_jsonb(i::text) @~ jsonb_build_object('$regex', '^' || i || '(x|$)')) AS matching FROM generate_series(1, 2000) i;


-- patterns that take no engine, against the same in a group, which takes it
WITH patterns AS (
	SELECT '^' || a || b || c || d AS p
	FROM unnest(ARRAY['a', '[a-c]+', '\d{2}', '[a-c_-]{1,3}', '[0-9.]*', 'x?', '\.', '[a-c]{2,}']) a, unnest(ARRAY['', '-', 'b', '[0-9]+', '[0-9]{0,2}', 'c?']) b,
		unnest(ARRAY['', 'x*', '[a-c]', '-?', '[A-Z0-9]{3}']) c, unnest('{"",$}'::text[]) d
), strings AS (
	SELECT DISTINCT a || b || c AS s
	FROM unnest('{"",a,b,abc,12,1.5,xx,_a-,é}'::text[]) a, unnest('{"",-,b,12,c,A1B}'::text[]) b, unnest(ARRAY['', 'x', 'c', E'\n']) c
)
SELECT count(*) > 50000 AS many, bool_or(plain) AND NOT bool_and(plain) AS both, count(*) FILTER (WHERE plain IS DISTINCT FROM engine) AS different,
	(array_agg(p || ' and ' || s ORDER BY p, s) FILTER (WHERE plain IS DISTINCT FROM engine))[1:3] AS such_as
FROM (SELECT p, s, to_jsonb(s) @~ jsonb_build_object('$regex', p) AS plain, to_jsonb(s) @~ jsonb_build_object('$regex', '^(?:' || substr(p, 2) || ')') AS engine FROM (SELECT * FROM patterns, strings ORDER BY p OFFSET 0) x) t;
-- what looks like one of them
SELECT p AS pattern, matches(p, '', VARIADIC s) AS matches, s AS strings FROM (VALUES
    (1, '^a*a$', '{aaa,a,b}'::text[]), (2, '^[a-z-9]$', '{b,-,9,5}'), (3, '^[]a]$', '{"]",a,b}'), (4, '^[^a]$', '{a,b}'), (5, '^[a-]$', '{a,-,b}'), (6, '^[-a]$', '{a,-,b}'), (7, '^a{2}$', '{aa,"a{2}",aaa}'), (8, '^a{,2}$', '{a,aa,"a{,2}"}'),
    (9, '^a{2,}?$', '{aa,aaa,a}'), (10, '^a++$', '{aa,a,b}'), (11, '^[[:digit:]]+$', '{12,a}'), (12, '^[\d-x]$', '{5,-,x,w}'), (13, '^[\d.-]+$', '{1.5-2,a}'), (14, '^é+$', '{éé,e}'), (15, '^[a-é]$', '{b,é}'), (16, '^a.c$', '{abc,ac}'),
    (17, '^a$b', '{a,ab}'), (18, '^ab|c$', '{ab,c,xc}'), (19, '^a{0}b$', '{b,ab}'), (20, '^a{1001}$', '{a}'), (21, '^[a-a]$', '{a,b}'), (22, '^[+-]?\d+$', '{+1,-22,1,+}'), (23, '^[a.]{2}$', '{a.,..,ab}'), (24, '^[ -~]+$', '{abc,é}')) v(n, p, s) ORDER BY n;
SELECT matches('^[a-c]+$', 'i', 'ABC', 'abd') AS i, matches('^a$', 'm', E'b\na', 'b') AS m, matches('^ [a-c]+ $', 'x', 'abc', ' abc ') AS x, matches('^a?$', 's', '', 'a', E'\n') AS s;

DROP FUNCTION matches;
