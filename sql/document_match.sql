--
-- doc_match and @~ : MongoDB's query operators
--
\pset null '(null)'

-- the operator and the function are one; both are strict
SELECT '{"a": 1}'::jsonb @~ '{"a": 1}' AS operator, doc_match('{"a": 1}', '{"a": 1}') AS function,
       doc_match(NULL, '{}') AS no_document, doc_match('{}', NULL) AS no_query;
SELECT oprname, oprcode, oprrest, oprjoin FROM pg_operator WHERE oprname = '@~' AND oprleft = 'jsonb'::regtype;

-- For each query, the documents that it matches.
CREATE TABLE document(id text PRIMARY KEY, doc jsonb);
CREATE FUNCTION matching(query jsonb) RETURNS text
LANGUAGE sql STABLE AS $$ SELECT coalesce(string_agg(id, ' ' ORDER BY id COLLATE "C"), '-') FROM document WHERE doc @~ query $$;
-- A query or its error, as one line.
CREATE FUNCTION attempt(value jsonb, query jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN value @~ query;
EXCEPTION WHEN others THEN
    RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

-- comparisons: only values of one type compare, numbers by value, null and missing are alike
INSERT INTO document VALUES
    ('5', '{"a": 5}'), ('5.0', '{"a": 5.0}'), ('5.5', '{"a": 5.5}'), ('-1', '{"a": -1}'), ('str5', '{"a": "5"}'), ('null', '{"a": null}'),
    ('missing', '{"b": 1}'), ('true', '{"a": true}'), ('false', '{"a": false}'), ('obj', '{"a": {"x": 5}}'), ('obj2', '{"a": {"x": 5, "y": 1}}'),
    ('empty', '{"a": {}}'), ('arr', '{"a": [5, 9]}'), ('arrarr', '{"a": [[5, 9]]}'), ('arr0', '{"a": []}'), ('arrnull', '{"a": [null]}'), ('abc', '{"a": "abc"}');
SELECT q AS query, matching(q::jsonb) AS matches FROM (VALUES
    (1, '{"a": 5}'), (2, '{"a": {"$eq": 5}}'), (3, '{"a": "5"}'), (4, '{"a": null}'), (5, '{"a": true}'),
    (6, '{"a": {"x": 5}}'), (7, '{"a": {}}'), (8, '{"a": [5, 9]}'), (9, '{"a": []}'), (10, '{"a": [9, 5]}'), (11, '{"a": [5.0, 9]}'),
    (12, '{"a": {"$ne": 5}}'), (13, '{"a": {"$ne": null}}'), (14, '{"a": {"$ne": [5, 9]}}'),
    (15, '{"a": {"$gt": 5}}'), (16, '{"a": {"$gte": 5}}'), (17, '{"a": {"$lt": 5.5}}'), (18, '{"a": {"$lte": 5.5}}'),
    (19, '{"a": {"$gt": "5"}}'), (20, '{"a": {"$lt": "a"}}'), (21, '{"a": {"$gte": null}}'), (22, '{"a": {"$gt": null}}'), (23, '{"a": {"$lte": null}}'),
    (24, '{"a": {"$gt": false}}'), (25, '{"a": {"$gt": {"x": 4}}}'), (26, '{"a": {"$gt": [5]}}'), (27, '{"a": {"$lt": [5, 9, 0]}}'),
    (28, '{"a": {"$gt": 5, "$lt": 6}}'), (29, '{"a": {"$gt": 6, "$lt": 6}}'), (30, '{}')) v(n, q) ORDER BY n;

-- $in, $nin: any value, missing is null
SELECT q AS query, matching(q::jsonb) AS matches FROM (VALUES
    (1, '{"a": {"$in": [5, "abc"]}}'), (2, '{"a": {"$in": [null]}}'), (3, '{"a": {"$in": []}}'), (4, '{"a": {"$nin": []}}'),
    (5, '{"a": {"$in": [[5, 9], {}, true]}}'), (6, '{"a": {"$nin": [5, null, "abc"]}}'), (7, '{"a": {"$in": [9, 9.0, 9.00]}}'), (8, '{"a": {"$in": [{"x": 5.0}]}}')) v(n, q) ORDER BY n;
-- a long list is the same as each of its values
SELECT count(*) AS wrong FROM generate_series(-3, 503) i, (SELECT jsonb_agg(x ORDER BY x * 7919 % 499) AS list FROM generate_series(0, 498, 3) x) l
WHERE (jsonb_build_object('a', i) @~ jsonb_build_object('a', jsonb_build_object('$in', list))) IS DISTINCT FROM (i BETWEEN 0 AND 498 AND i % 3 = 0)
   OR (jsonb_build_object('a', i) @~ jsonb_build_object('a', jsonb_build_object('$nin', list))) IS NOT DISTINCT FROM (i BETWEEN 0 AND 498 AND i % 3 = 0);

-- $exists, $type, $size, $not
SELECT q AS query, matching(q::jsonb) AS matches FROM (VALUES
    (1, '{"a": {"$exists": true}}'), (2, '{"a": {"$exists": false}}'), (3, '{"a": {"$exists": 0}}'), (4, '{"a": {"$exists": null}}'), (5, '{"a": {"$exists": "no"}}'), (6, '{"b": {"$exists": true}}'),
    (7, '{"a": {"$type": "number"}}'), (8, '{"a": {"$type": "int"}}'), (9, '{"a": {"$type": "double"}}'), (10, '{"a": {"$type": 2}}'), (11, '{"a": {"$type": ["null", "bool"]}}'),
    (12, '{"a": {"$type": "array"}}'), (13, '{"a": {"$type": "object"}}'), (14, '{"a": {"$type": "date"}}'), (15, '{"a": {"$type": [7, -1, 127]}}'),
    (16, '{"a": {"$size": 0}}'), (17, '{"a": {"$size": 1}}'), (18, '{"a": {"$size": 2.0}}'),
    (19, '{"a": {"$not": {"$gt": 4}}}'), (20, '{"a": {"$not": {"$gt": 5, "$lt": 6}}}'), (21, '{"a": {"$not": {"$not": {"$eq": 5}}}}'), (22, '{"a": {"$not": {"$exists": true}}}')) v(n, q) ORDER BY n;
SELECT v AS number, array_agg(t ORDER BY n) FILTER (WHERE jsonb_build_object('a', v::numeric) @~ jsonb_build_object('a', jsonb_build_object('$type', t))) AS types
FROM unnest('{0,2147483647,-2147483648,2147483648,-2147483649,9223372036854775807,9223372036854775808,1.5,2.0}'::text[]) WITH ORDINALITY x(v, o),
     unnest('{int,long,double,decimal,number}'::text[]) WITH ORDINALITY y(t, n) GROUP BY o, v ORDER BY o;

-- $and, $or, $nor, at any depth
TRUNCATE document;
INSERT INTO document SELECT x || '/' || y, jsonb_build_object('x', x, 'y', y) FROM generate_series(1, 3) x, generate_series(1, 3) y;
SELECT q AS query, matching(q::jsonb) AS matches FROM (VALUES
    (1, '{"x": 1, "y": 2}'), (2, '{"$and": [{"x": 1}, {"y": {"$gt": 1}}]}'), (3, '{"$or": [{"x": 1}, {"y": 1}]}'), (4, '{"$nor": [{"x": 1}, {"y": 1}]}'),
    (5, '{"x": {"$gt": 1}, "$or": [{"y": 1}, {"$and": [{"x": 3}, {"y": 3}]}]}'), (6, '{"$nor": [{"$or": [{"x": 1}, {"x": 2}]}, {"$nor": [{"y": 2}]}]}'),
    (7, '{"$and": [{}, {"x": 2, "y": 2}]}'), (8, '{"$or": [{"x": 9}]}'), (9, '{"x": 1, "$comment": "says nothing"}'), (10, '{"x": {"$comment": 1, "$gt": 2}}')) v(n, q) ORDER BY n;

-- $expr: the fields of a document with each other
SELECT q AS query, matching(q::jsonb) AS matches FROM (VALUES
    (1, '{"$expr": {"$gt": ["$x", "$y"]}}'), (2, '{"x": 2, "$expr": {"$eq": ["$x", "$y"]}}'), (3, '{"$or": [{"$expr": {"$eq": [{"$add": ["$x", "$y"]}, 2]}}, {"y": 3}]}'),
    (4, '{"$expr": "$x"}'), (5, '{"$expr": "$z"}'), (6, '{"$expr": {"$subtract": ["$x", 2]}}'), (7, '{"$expr": null}'), (8, '{"$expr": []}')) v(n, q) ORDER BY n;
-- it is tried last, so that fields may guard it
SELECT '{"a": 1, "b": 0}'::jsonb @~ '{"bbbbbb": 1, "$expr": {"$divide": ["$a", "$b"]}}' AS guarded;

-- paths: arrays are traversed; a number is an index or a key; nested arrays only by index
SELECT d AS document, q AS query, d::jsonb @~ q::jsonb AS matches FROM (VALUES
    (1, '{"a": {"b": {"c": 1}}}', '{"a.b.c": 1}'),
    (2, '{"a": [{"b": 1}, {"b": 2}]}', '{"a.b": 2}'),
    (3, '{"a": [{"b": [1, 2]}, {"b": 3}]}', '{"a.b": 2}'),
    (4, '{"a": [{"b": 1}, {"c": 2}]}', '{"a.b": null}'),
    (5, '{"a": [{"b": 1}]}', '{"a.b": null}'),
    (6, '{"a": []}', '{"a.b": null}'),
    (7, '{"a": [1, 2]}', '{"a.b": {"$exists": false}}'),
    (8, '{"a": 5}', '{"a.b": null}'),
    (9, '{"a": null}', '{"a.b.c": {"$ne": 1}}'),
    (10, '{"a": [5, [2, 4]]}', '{"a.1": 2}'),
    (11, '{"a": [5, [2, 4]]}', '{"a.1": [2, 4]}'),
    (12, '{"a": [5, [2, 4]]}', '{"a.1.0": 2}'),
    (13, '{"a": [5, [2, 4]]}', '{"a": 2}'),
    (14, '{"a": {"1": "key"}}', '{"a.1": "key"}'),
    (15, '{"a": [{"1": "key"}, {"b": "index"}]}', '{"a.1": "key"}'),
    (16, '{"a": [{"1": "key"}, {"b": "index"}]}', '{"a.1.b": "index"}'),
    (17, '{"a": [{"1": "key"}, {"b": "index"}]}', '{"a.01.b": "index"}'),
    (18, '{"a": [[{"b": 1}]]}', '{"a.b": 1}'),
    (19, '{"a": [[{"b": 1}]]}', '{"a.0.b": 1}'),
    (20, '{"a": [[[1, 2]]]}', '{"a.0.0.1": 2}'),
    (21, '{"a": [{"b": [{"c": 1}, {"c": 2}]}, {"b": {"c": 3}}]}', '{"a.b.c": {"$gt": 2}}'),
    (22, '{"": {"": 1}}', '{".": 1}'),
    (23, '{"": 1}', '{"": 1}'),
    (24, '{"a": {"": 2}}', '{"a.": 2}'),
    (25, '{"a": [[1, 2]]}', '{"a.0": {"$size": 2}}'),
    (26, '{"a": [[1, 2]]}', '{"a": {"$size": 2}}'),
    (27, '{"a": [[1, 2]]}', '{"a": {"$type": "array"}}'),
    (28, '{"a": [1, 2]}', '{"a": {"$type": "array"}}'),
    (29, '{"a": [{"b": 1}, {"b": 9}]}', '{"a.b": {"$not": {"$gt": 5}}}'),
    (30, '{"a": [{"b": 1}, {"b": 9}]}', '{"a.b": {"$gt": 5, "$lt": 3}}'),
    (31, '{"a.b": 1}', '{"a.b": 1}'),
    (32, '{"a": [1, 2, 3]}', '{"a.2147483648": 1}')) v(n, d, q) ORDER BY n;

-- $elemMatch: one element meets all of it; operators for scalars, a query for objects and arrays
SELECT d AS document, q AS query, d::jsonb @~ q::jsonb AS matches FROM (VALUES
    (1, '{"s": [{"k": "ram", "v": 8}, {"k": "cpu", "v": 16}]}', '{"s.k": "ram", "s.v": 16}'),
    (2, '{"s": [{"k": "ram", "v": 8}, {"k": "cpu", "v": 16}]}', '{"s": {"$elemMatch": {"k": "ram", "v": 16}}}'),
    (3, '{"s": [{"k": "ram", "v": 8}, {"k": "cpu", "v": 16}]}', '{"s": {"$elemMatch": {"k": "cpu", "v": {"$gt": 8}}}}'),
    (4, '{"a": [3, 12]}', '{"a": {"$gt": 5, "$lt": 10}}'),
    (5, '{"a": [3, 12]}', '{"a": {"$elemMatch": {"$gt": 5, "$lt": 10}}}'),
    (6, '{"a": [3, 7]}', '{"a": {"$elemMatch": {"$gt": 5, "$lt": 10}}}'),
    (7, '{"a": [[7]]}', '{"a": {"$elemMatch": {"$gt": 5}}}'),
    (8, '{"a": [[7]]}', '{"a": {"$elemMatch": {"$elemMatch": {"$gt": 5}}}}'),
    (9, '{"a": [[7]]}', '{"a": {"$elemMatch": {"0": 7}}}'),
    (10, '{"a": [[7]]}', '{"a": {"$elemMatch": {"1": null}}}'),
    (11, '{"a": 7}', '{"a": {"$elemMatch": {"$gt": 5}}}'),
    (12, '{"a": {"b": 1}}', '{"a": {"$elemMatch": {"b": 1}}}'),
    (13, '{"a": [1, "x"]}', '{"a": {"$elemMatch": {}}}'),
    (14, '{"a": [{}]}', '{"a": {"$elemMatch": {}}}'),
    (15, '{"a": [1, 5]}', '{"a": {"$elemMatch": {"$ne": 5}}}'),
    (16, '{"a": [5]}', '{"a": {"$elemMatch": {"$nin": [5]}}}'),
    (17, '{"a": [{"x": 1, "y": 2}]}', '{"a": {"$elemMatch": {"$or": [{"x": 2}, {"y": 2}]}}}'),
    (18, '{"a": [{"x": [{"y": 1}, {"y": 5}]}]}', '{"a": {"$elemMatch": {"x": {"$elemMatch": {"y": {"$gte": 5}}}}}}'),
    (19, '{"a": [{"x": [1, 5]}]}', '{"a": {"$elemMatch": {"x": 5}}}'),
    (20, '{"a": [{"b": 1}, {"b": 2}]}', '{"a": {"$not": {"$elemMatch": {"b": 3}}}}'),
    (21, '{"a": [{"b": [2, 3]}]}', '{"a.b": {"$elemMatch": {"$gt": 2}}}')) v(n, d, q) ORDER BY n;

-- $all
SELECT d AS document, q AS query, d::jsonb @~ q::jsonb AS matches FROM (VALUES
    (1, '{"a": ["x", "y", "z"]}', '{"a": {"$all": ["z", "x"]}}'),
    (2, '{"a": ["x"]}', '{"a": {"$all": ["z", "x"]}}'),
    (3, '{"a": "x"}', '{"a": {"$all": ["x"]}}'),
    (4, '{"a": ["x"]}', '{"a": {"$all": []}}'),
    (5, '{"a": [[1, 2]]}', '{"a": {"$all": [[1, 2]]}}'),
    (6, '{"a": [1, 2]}', '{"a": {"$all": [[1, 2]]}}'),
    (7, '{"b": 1}', '{"a": {"$all": [null]}}'),
    (8, '{"a": [{"k": 1, "v": 2}, {"k": 3, "v": 4}]}', '{"a": {"$all": [{"$elemMatch": {"k": 1, "v": 2}}, {"$elemMatch": {"k": 3, "v": {"$gt": 3}}}]}}'),
    (9, '{"a": [{"k": 1, "v": 2}, {"k": 3, "v": 4}]}', '{"a": {"$all": [{"$elemMatch": {"k": 1, "v": 4}}]}}'),
    (10, '{"a": [{"b": 1}, {"b": 2}]}', '{"a.b": {"$all": [1, 2]}}')) v(n, d, q) ORDER BY n;

-- $mod cuts fractions off; the remainder has the dividend's sign
SELECT v AS value, array_agg(q ORDER BY n) FILTER (WHERE jsonb_build_object('a', v::jsonb) @~ jsonb_build_object('a', jsonb_build_object('$mod', q::jsonb))) AS "$mod"
FROM unnest('{6,-5,8.5,0,9223372036854775807,-9223372036854775808,1e30,"\"6\"",null,"[1, 6]"}'::text[]) WITH ORDINALITY x(v, o),
     unnest(ARRAY['[3, 0]', '[-3, -2]', '[4, 0]', '[4.9, 2.9]', '[-1, 0]', '[1, 0]', '[9223372036854775807, 0]']) WITH ORDINALITY y(q, n) WHERE v IS NOT NULL GROUP BY o, v ORDER BY o;

-- $bits…: two's complement, the sign goes on for ever
SELECT v AS value, array_agg(q ORDER BY n) FILTER (WHERE jsonb_build_object('a', v::jsonb) @~ jsonb_build_object('a', q::jsonb)) AS matches
FROM unnest('{54,-1,0,9223372036854775807,1.5,1e19,"\"54\"","[54, 0]"}'::text[]) WITH ORDINALITY x(v, o),
     unnest(ARRAY['{"$bitsAllSet": [1, 5]}', '{"$bitsAllSet": 50}', '{"$bitsAllClear": [0, 3]}', '{"$bitsAnySet": 9}', '{"$bitsAnyClear": [1, 2]}', '{"$bitsAllSet": [200]}', '{"$bitsAllClear": 0}', '{"$bitsAnySet": []}']) WITH ORDINALITY y(q, n) GROUP BY o, v ORDER BY o;

-- The value itself is tested when it is no object; operators may be combined.
SELECT v AS value, q AS query, v::jsonb @~ q::jsonb AS matches FROM (VALUES
    (1, '5', '{"$gt": 3}'), (2, '5', '{"$gt": 3, "$lt": 5}'), (3, '"abc"', '{"$regex": "^a"}'), (4, 'null', '{"$eq": null}'), (5, '[1, 5]', '{"$gt": 3}'),
    (6, '[{"k": "color", "v": "red"}]', '{"$elemMatch": {"k": "color", "v": "red"}}'), (7, '[{"k": "color", "v": "red"}]', '{"$size": 1, "$comment": "x"}'),
    (8, '5', '{"$or": [{"$gt": 9}, {"$lt": 6}]}'), (9, '5', '{"$nor": [{"$type": "string"}]}'), (10, '"x"', '{"$in": ["x", "y"]}'),
    (11, '5', '{}'), (12, '5', '{"a": {"$exists": false}}'), (13, '[{"k": 1}, {"k": 2}]', '{"k": 2}'), (14, '[{"k": 1}, {"k": 2}]', '{"1.k": 2}')) v(n, v, q) ORDER BY n;
-- but an object is a document, whose fields are named
SELECT '{"a": 1}'::jsonb @~ '{"$type": "object"}';
SELECT '{"a": 1}'::jsonb @~ '{"$or": [{"a": 1}, {"$size": 1}]}';

-- Extended JSON's objects are values
SELECT '{"_id": {"$oid": "507f1f77bcf86cd799439011"}}'::jsonb @~ '{"_id": {"$oid": "507f1f77bcf86cd799439011"}}' AS oid,
       '{"at": {"$date": "2026-03-01T00:00:00Z"}}'::jsonb @~ '{"at": {"$gte": {"$date": "2026-01-01T00:00:00Z"}, "$lt": {"$date": "2027-01-01T00:00:00Z"}}}' AS date,
       '{"n": {"$numberDecimal": "1"}}'::jsonb @~ '{"n": {"$in": [{"$numberDecimal": "1"}]}}' AS decimal,
       '{"r": {"$ref": "c", "$id": 1}}'::jsonb @~ '{"r": {"$ref": "c", "$id": 1}}' AS reference,
       '{"r": {"$ref": "c"}}'::jsonb @~ '{"r": {"$eq": {"$ref": "c"}}}' AS by_eq;
SELECT attempt('{}', '{"r": {"$ref": "c"}}'), attempt('{}', '{"r": {"$oid": "1", "$gt": 1}}'), attempt('{}', '{"r": {"$oid": "1", "x": 1}}');

-- Errors are in the query, and found before any row is looked at
SELECT q AS query, attempt('{}', q::jsonb) FROM (VALUES
    (1, '5'), (2, '[]'), (3, '{"a": {"$foo": 1}}'), (4, '{"$foo": 1}'), (5, '{"a": {"$gt": 1, "b": 2}}'), (6, '{"a": 1, "$gt": 2}'), (7, '{"$gt": 2}'),
    (8, '{"$and": {}}'), (9, '{"$or": []}'), (10, '{"$nor": [1]}'), (11, '{"$and": [{"a": {"$foo": 1}}]}'), (12, '{"a": {"$or": [{"b": 1}]}}'), (13, '{"$not": {"a": 1}}'),
    (14, '{"a": {"$in": 1}}'), (15, '{"a": {"$in": [{"$gt": 1}]}}'), (16, '{"a": {"$nin": null}}'), (17, '{"a": {"$not": 5}}'), (18, '{"a": {"$not": {}}}'), (19, '{"a": {"$not": {"b": 1}}}'),
    (20, '{"a": {"$type": "integer"}}'), (21, '{"a": {"$type": 0}}'), (22, '{"a": {"$type": []}}'), (23, '{"a": {"$type": 2.5}}'), (24, '{"a": {"$type": null}}'), (25, '{"a": {"$type": [["int"]]}}'),
    (26, '{"a": {"$size": -1}}'), (27, '{"a": {"$size": 1.5}}'), (28, '{"a": {"$size": "1"}}'), (29, '{"a": {"$size": 2147483648}}'),
    (30, '{"a": {"$all": 1}}'), (31, '{"a": {"$all": [1, {"$elemMatch": {}}]}}'), (32, '{"a": {"$all": [{"$elemMatch": {}}, 1]}}'), (33, '{"a": {"$all": [{"$gt": 1}]}}'),
    (34, '{"a": {"$elemMatch": 1}}'), (35, '{"a": {"$elemMatch": {"$gt": 1, "b": 2}}}'), (36, '{"a": {"$elemMatch": {"$gt": 1, "$or": [{"b": 2}]}}}'), (37, '{"a": {"$elemMatch": {"$or": [{"$gt": 1}]}}}'), (38, '{"a": {"$elemMatch": {"$expr": true}}}'),
    (39, '{"a": {"$mod": [0, 1]}}'), (40, '{"a": {"$mod": [0.5, 1]}}'), (41, '{"a": {"$mod": [1]}}'), (42, '{"a": {"$mod": [1, 2, 3]}}'), (43, '{"a": {"$mod": [1, "2"]}}'), (44, '{"a": {"$mod": [1e30, 2]}}'), (45, '{"a": {"$mod": 3}}'),
    (46, '{"a": {"$bitsAllSet": -1}}'), (47, '{"a": {"$bitsAnySet": [1, -1]}}'), (48, '{"a": {"$bitsAllClear": 1.5}}'), (49, '{"a": {"$bitsAnyClear": "AQ=="}}'), (50, '{"a": {"$bitsAllSet": [2147483648]}}'),
    (51, '{"a": {"$regex": 5}}'), (52, '{"a": {"$options": "i"}}'), (53, '{"a": {"$regex": "x", "$options": "g"}}'), (54, '{"a": {"$regex": "x", "$options": 1}}'),
    (55, '{"a": {"$expr": true}}'), (56, '{"$expr": {"$nothing": 1}}'), (57, '{"$expr": "$$NOW"}')) v(n, q) ORDER BY n;
SELECT q AS query, attempt('{}', q::jsonb) FROM (VALUES
    (1, '{"$where": "true"}'), (2, '{"$text": {"$search": "x"}}'), (3, '{"$sampleRate": 0.5}'), (4, '{"a": {"$near": [0, 0]}}'), (5, '{"a": {"$geoWithin": {}}}'), (6, '{"$expr": {"$lt": [{"$rand": {}}, 0.5]}}')) v(n, q) ORDER BY n;
-- with what and where it is
\set VERBOSITY default
SELECT doc_match('{}', '{"a.b": {"$gt": 1, "b": 2}}');
SELECT doc_match('{}', '{"a.b": {"$size": "x"}}');
SELECT doc_match('{}', '{"a.b": {"$all": [{"$elemMatch": {"x": 1}}, 7]}}');
SELECT doc_match('{}', '{"a.b": {"$frobnicate": 1}}');
SELECT doc_match('{}', '{"a": {"$elemMatch": {"$and": [{"$gt": 1}]}}}');

-- Attributes: text is not a number, a bad value is no error, two bounds are for one element
TRUNCATE document;
INSERT INTO document SELECT v, jsonb_build_object('attrs', jsonb_build_array(jsonb_build_object('k', 'score', 'v', v::jsonb)))
FROM unnest(ARRAY['2', '9', '10', '100', '"n/a"', '"10"', 'null', 'true', '{"x": 1}', '[10]']) v;
SELECT q AS query, matching(q::jsonb) AS matches FROM (VALUES
    (1, '{"attrs": {"$elemMatch": {"k": "score", "v": {"$gte": 10}}}}'), (2, '{"attrs": {"$elemMatch": {"k": "score", "v": {"$lt": 9.5}}}}'), (3, '{"attrs": {"$elemMatch": {"k": "score", "v": 10.0}}}'),
    (4, '{"attrs": {"$elemMatch": {"k": "score", "v": "10"}}}'), (5, '{"attrs": {"$elemMatch": {"k": "score", "v": null}}}'), (6, '{"attrs": {"$elemMatch": {"k": "other", "v": {"$gte": 10}}}}')) v(n, q) ORDER BY n;
SELECT '{"attrs": [{"k": "t", "v": 21}, {"k": "t", "v": 14}]}'::jsonb @~ '{"attrs": {"$elemMatch": {"k": "t", "v": {"$gt": 15, "$lt": 20}}}}' AS two_elements,
       '{"attrs": [{"k": "t", "v": 21}, {"k": "t", "v": 14}, {"k": "t", "v": 17}]}'::jsonb @~ '{"attrs": {"$elemMatch": {"k": "t", "v": {"$gt": 15, "$lt": 20}}}}' AS one_element;
-- equality of an array is not containment; $all is, and a value is contained in itself
TRUNCATE document;
INSERT INTO document SELECT v, jsonb_build_object('v', v::jsonb) FROM unnest(ARRAY['["a", "b"]', '["b", "a"]', '["a", "b", "c"]', '"a"']) v;
SELECT q AS query, matching(q::jsonb) AS matches FROM (VALUES (1, '{"v": ["a", "b"]}'), (2, '{"v": {"$all": ["a", "b"]}}'), (3, '{"v": {"$all": ["a"]}}'), (4, '{"v": "a"}')) v(n, q) ORDER BY n;
-- strings are their code points, whatever the collation: é is not e and an accent, and Z comes before a
TRUNCATE document;
INSERT INTO document SELECT v, jsonb_build_object('v', v) FROM unnest(ARRAY[U&'\00E9', U&'e\0301', 'Z', 'a', U&'\00E4']) v;
SELECT (SELECT array_agg(ascii(id) || ':' || length(id) ORDER BY id COLLATE "C") FROM document WHERE doc @~ jsonb_build_object('v', U&'\00E9')) AS composed,
       (SELECT array_agg(ascii(id) || ':' || length(id) ORDER BY id COLLATE "C") FROM document WHERE doc @~ '{"v": {"$gte": "a"}}') AS from_a;

-- Where jsonpath can say the same it gives the same, for documents of all shapes
CREATE TABLE product AS
SELECT i, jsonb_build_object('n', CASE i % 5 WHEN 0 THEN to_jsonb(i % 23) WHEN 1 THEN to_jsonb((i % 23)::text) WHEN 2 THEN 'null' WHEN 3 THEN to_jsonb(i % 23 + 0.5) ELSE to_jsonb(i % 2 = 0) END,
    'o', CASE i % 3 WHEN 0 THEN jsonb_build_object('p', i % 7, 'q', jsonb_build_object('r', i % 11)) WHEN 1 THEN '{}' ELSE to_jsonb(i) END,
    's', (SELECT jsonb_agg(jsonb_build_object('k', 'key' || (i * j) % 7, 'v', CASE (i + j) % 3 WHEN 0 THEN to_jsonb((i * j) % 17) WHEN 1 THEN to_jsonb('v' || (i * j) % 17) ELSE 'null' END)) FROM generate_series(1, i % 6) j)) - CASE WHEN i % 13 = 0 THEN 'n' ELSE '' END AS doc
FROM generate_series(1, 2000) i;
SELECT q AS query, p AS jsonpath, count(*) FILTER (WHERE doc @~ q::jsonb) AS matches, count(*) FILTER (WHERE doc @~ q::jsonb IS DISTINCT FROM doc @? p::jsonpath) AS differ
FROM product, (VALUES
    (1, '{"n": 7}', '$.n ? (@ == 7)'), (2, '{"n": {"$gte": 7, "$lt": 19}}', '$.n ? (@ >= 7 && @ < 19)'), (3, '{"n": {"$gt": "2"}}', '$.n ? (@ > "2")'), (4, '{"n": {"$exists": true}}', '$.n'), (5, '{"n": {"$in": [1, "3", true]}}', '$.n ? (@ == 1 || @ == "3" || @ == true)'),
    (6, '{"o.p": {"$lte": 3}, "o.q.r": {"$ne": 5}}', '$ ? (@.o.p <= 3 && @.o.q.r != 5)'), (7, '{"s.k": "key3"}', '$.s[*] ? (@.k == "key3")'), (8, '{"s": {"$elemMatch": {"k": "key3", "v": {"$gte": 9}}}}', '$.s[*] ? (@.k == "key3" && @.v >= 9)'),
    (9, '{"s": {"$elemMatch": {"k": {"$in": ["key1", "key2"]}, "v": {"$regex": "^v1"}}}}', '$.s[*] ? ((@.k == "key1" || @.k == "key2") && @.v starts with "v1")'), (10, '{"s.k": "key3", "s.v": 9}', '$ ? (@.s[*].k == "key3" && @.s[*].v == 9)'), (11, '{"s.1.v": {"$type": "number"}}', '$.s[1].v ? (@.type() == "number")'),
    (12, '{"s": {"$size": 3}}', '$ ? (@.s.size() == 3)'), (13, '{"$or": [{"n": {"$type": "bool"}}, {"$nor": [{"o.p": {"$exists": true}}]}]}', '$ ? (@.n.type() == "boolean" || !exists(@.o.p))')) v(n, q, p)
GROUP BY n, q, p ORDER BY n;
DROP TABLE product;

-- The query of a prepared statement, a PL/pgSQL variable or a column may change from row to row
SELECT string_agg((('{"a": 2}'::jsonb) @~ q)::text, ' ' ORDER BY n) FROM (VALUES (1, '{"a": 1}'::jsonb), (2, '{"a": 2}'), (3, '{"a": 3}'), (4, '{"a": 2}')) v(n, q);
DO $$
DECLARE q jsonb; r text := '';
BEGIN
    FOR i IN 1..4 LOOP
        q := jsonb_build_object('a', jsonb_build_object('$gte', i));
        r := r || ('{"a": 2}'::jsonb @~ q) || ' ';
    END LOOP;
    RAISE NOTICE '%', r;
END $$;
PREPARE p(jsonb) AS SELECT '{"a": "xay"}'::jsonb @~ $1;
EXECUTE p('{"a": {"$regex": "a"}}'); EXECUTE p('{"a": {"$regex": "^a"}}'); EXECUTE p('{"a": {"$foo": 1}}'); EXECUTE p('{"a": {"$regex": "(a|b).$"}}');
EXECUTE p('{"a": {"$regex": "A", "$options": "i"}}'); EXECUTE p('{"a": {"$regex": "a"}}'); EXECUTE p('{"a": "xay"}'); EXECUTE p(NULL);

-- Immutable: in CHECKs, generated columns and indexes
CREATE TABLE checked(doc jsonb CHECK (doc @~ '{"kind": {"$in": ["circle", "square"]}}'), big boolean GENERATED ALWAYS AS (doc_match(doc, '{"size": {"$gt": 10}}')) STORED);
INSERT INTO checked VALUES ('{"kind": "circle", "size": 12}'), ('{"kind": "square"}');
INSERT INTO checked VALUES ('{"kind": "hexagon"}');
CREATE INDEX ON checked (big) WHERE doc @~ '{"kind": "circle"}';
SELECT * FROM checked ORDER BY big;

-- Updates have queries too: of the elements to pull, and of those that $[name] stands for
SELECT doc_update('{"a": [{"$oid": "1"}, {"$oid": "2"}, 3]}', '{"$pull": {"a": {"$oid": "1"}}}') AS extended_json,
       doc_update('{"a": [1, [2, 9], 5]}', '{"$pull": {"a": {"$gt": 4}}}') AS operators, doc_update('{"a": [{"x": 1, "y": 2}, {"x": 2}, 1]}', '{"$pull": {"a": {"x": {"$lt": 2}}}}') AS query,
       doc_update('{"a": [1, 5, 9]}', '{"$set": {"a.$[x]": 0}}', '[{"x": {"$gte": 5}}]') AS filter, doc_update('{"a": [{"b": [1]}, {"b": [2]}]}', '{"$set": {"a.$[x].c": 0}}', '[{"$or": [{"x.b": 2}, {"x.b": 3}]}]') AS filter_of_fields,
       doc_update('{"a": [[{"b": 1}], {"b": 1}, 1]}', '{"$set": {"a.$[x]": 0}}', '[{"x.b": 1}]') AS filter_through_arrays;
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$[x]": 0}}', '[{}]');
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$[x]": 0}}', '[{"x": 1, "y": 1}]');
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$[x]": 0}}', '[{"X": 1}]');
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$[x]": 0}}', '[{"$gt": 1}]');
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$[x]": 0}}', '[{"x": 1, "$expr": true}]');

-- Deep and large: an answer or an error
CREATE FUNCTION nested(depth int, open text, inner_text text, close text) RETURNS jsonb LANGUAGE sql AS $$ SELECT (repeat(open, depth) || inner_text || repeat(close, depth))::jsonb $$;
SET max_stack_depth = '2MB';
SELECT attempt(nested(1000, '{"a":', '1', '}'), jsonb_build_object(repeat('a.', 999) || 'a', 1)) AS long_path,
       attempt(nested(1000, '[', '7', ']'), jsonb_build_object('$type', 'array')) AS deep_array,
       attempt(jsonb_build_object('a', nested(1000, '[', '7', ']')), jsonb_build_object('a' || repeat('.0', 1000), 7)) AS deep_indexes,
       attempt(jsonb_build_object('a', 1), nested(1000, '{"$and":[', '{"a": 1}', ']}')) AS deep_and,
       attempt('{"a": 1}', jsonb_build_object('a', nested(1001, '{"$not":', '{"$eq": 2}', '}'))) AS odd_negations,
       attempt(jsonb_build_object('a', nested(1000, '{"b":', '1', '}')), jsonb_build_object('a', nested(1000, '{"b":', '1.0', '}'))) AS deep_equality;
SELECT left(attempt(jsonb_build_object('a', nested(6000, '[', '7', ']')), jsonb_build_object('a', nested(6000, '[', '8', ']'))), 5) IN ('false', '54001') AS deeper,
       left(attempt(jsonb_build_object('a', 1), nested(3000, '{"$or":[', '{"a": 1}', ']}')), 5) IN ('true', '54001') AS deeper_query;
RESET max_stack_depth;
SELECT attempt((SELECT jsonb_build_object('a', jsonb_agg(i)) FROM generate_series(1, 100000) i), '{"a": 100000}') AS large,
       attempt((SELECT jsonb_object_agg('k' || i, i) FROM generate_series(1, 10000) i), '{"k7777": 7777, "k10000": {"$gt": 9999}, "k10001": null}') AS wide;

DROP TABLE document, checked;
DROP FUNCTION matching, attempt, nested;

-- numbers that differ before the point, behind it, or not at all, against numeric
WITH n(v) AS (SELECT unnest('{0,0.5,-0.5,1,-1,1.5,-1.5,1.25,-1.25,1.50,2,-2,9999,10000,10000.0001,-10000.0001,9999.9999,9999999999999999,9999999999999999.5,10000000000000000,-9999999999999999.5,-10000000000000000,0.0001,0.00001,-0.00001,123456789012345678901234567890,1e-30,0.00000000000001}'::numeric[]))
SELECT count(*) AS pairs, count(*) FILTER (WHERE doc_match(to_jsonb(a.v), jsonb_build_object('$gt', b.v)) <> (a.v > b.v) OR doc_match(to_jsonb(a.v), jsonb_build_object('$gte', b.v)) <> (a.v >= b.v) OR doc_match(to_jsonb(a.v), jsonb_build_object('$lt', b.v)) <> (a.v < b.v) OR doc_match(to_jsonb(a.v), jsonb_build_object('$eq', b.v)) <> (a.v = b.v)) AS wrong FROM n a, n b;
