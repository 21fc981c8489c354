--
-- doc_update and <~ : MongoDB's update operators
--
\pset null '(null)'

-- the operator and the function are one
SELECT '{"a": 1}'::jsonb <~ '{"$set": {"b": 2}}' AS operator,
       doc_update('{"a": 1}', '{"$set": {"b": 2}}') AS function;

-- SQL NULL: no document gives no document; no changes is an error, never a lost document
SELECT doc_update(NULL, '{"$set": {"a": 1}}');
SELECT doc_update('{"a": 1}', NULL);
SELECT doc_update('{"a": 1}', '{}');
SELECT doc_update('{"a": 1}', '{"$set": {}}');

-- $set: objects are made on the way, arrays are padded with nulls
SELECT doc_update('{}', '{"$set": {"a.b.c": 1, "a.b.d": 2, "e": {"f.g": 3}}}');
SELECT doc_update('{}', '{"$set": {"a.0": 1}}') AS numeric_step_makes_object;
SELECT doc_update('{"a": [1]}', '{"$set": {"a.3": 4, "a.5.b": 6}}');
SELECT doc_update('{"a": []}', '{"$set": {"a.0.0": 1}}');
SELECT doc_update('{"a": [1, 2, 3]}', '{"$set": {"a.1": "x", "a.01": 1}}');
SELECT doc_update('{"a": {"": 1}, "": 2}', '{"$set": {"b": 1}}') AS empty_keys_stay;
SELECT doc_update('{"a": [{"b": 0}]}', '{"$set": {"a.b": 1}}');
SELECT doc_update('{"a": 5}', '{"$set": {"a.b": 1}}');
SELECT doc_update('{"a": null}', '{"$set": {"a.b": 1}}');
SELECT doc_update('{"a": []}', '{"$set": {"a.1500001": 1}}');

-- $unset: an element becomes null; obstacles do not matter
SELECT doc_update('{"a": 1, "b": {"c": 2, "d": 3}, "e": [1, 2]}', '{"$unset": {"a": "", "b.c": true, "e.0": "", "x.y": "", "e.9": ""}}');
SELECT doc_update('{"a": 1}', '{"$unset": {"a.b.c": ""}}');
SELECT doc_update('{"a": [1]}', '{"$unset": {"a.b": ""}}');

-- $inc, $mul: exact numbers, which grow
SELECT doc_update('{"a": 1, "b": 2.50}', '{"$inc": {"a": 2, "b": 0.1, "c": 5}, "$mul": {"d": 7}}');
SELECT doc_update('{"a": 0.1}', '{"$inc": {"a": 0.2}}') AS exact;
SELECT doc_update('{"a": 9223372036854775807}', '{"$inc": {"a": 1}}') AS beyond_int64;
SELECT doc_update('{"a": 3, "b": 1.5}', '{"$mul": {"a": 1.5, "b": -2}}');
SELECT doc_update('{"a": "1"}', '{"$inc": {"a": 1}}');
SELECT doc_update('{"a": null}', '{"$inc": {"a": 1}}');
SELECT doc_update('{"a": 1}', '{"$inc": {"a": "1"}}');
SELECT doc_update('{"a": 1}', '{"$mul": {"a": null}}');

-- $min, $max: MongoDB's order, null < number < string < object < array < boolean
SELECT doc_update('{"a": 5, "b": 5}', '{"$min": {"a": 3, "b": 9, "c": 1}, "$max": {"d": 1}}');
SELECT t.v AS current, doc_update(jsonb_build_object('a', t.v), '{"$min": {"a": "m"}}') -> 'a' AS min, doc_update(jsonb_build_object('a', t.v), '{"$max": {"a": "m"}}') -> 'a' AS max
FROM (VALUES (1, 'null'::jsonb), (2, '99'), (3, '"a"'), (4, '"z"'), (5, '{}'), (6, '[]'), (7, 'false')) t(n, v) ORDER BY n;

-- $bit
SELECT doc_update('{"a": 13, "b": 13, "c": 13, "d": 255}', '{"$bit": {"a": {"and": 10}, "b": {"or": 2}, "c": {"xor": 5}, "e": {"or": 6}, "d": {"and": 15, "or": 16}}}');
SELECT doc_update('{"a": 1.5}', '{"$bit": {"a": {"and": 1}}}');
SELECT doc_update('{"a": 1}', '{"$bit": {"a": {"nand": 1}}}');

-- $currentDate is the transaction's clock
SELECT (doc_update('{}', '{"$currentDate": {"a": true}}') ->> 'a')::timestamptz = date_trunc('milliseconds', transaction_timestamp()) AS now,
       doc_update('{}', '{"$currentDate": {"a": true}}') = doc_update('{}', '{"$currentDate": {"a": {"$type": "timestamp"}}}') AS same;
SELECT doc_update('{}', '{"$currentDate": {"a": {"$type": "Date"}}}');

-- $rename
SELECT doc_update('{"a": {"b": 1, "c": 2}, "d": 3}', '{"$rename": {"a.b": "x.y", "d": "a.d", "missing": "c"}}');
SELECT doc_update('{"a": 1, "b": 2}', '{"$rename": {"a": "b"}}') AS overwritten;
SELECT doc_update('{"a": 1, "b": 2}', '{"$rename": {"missing": "b"}}') AS target_untouched;
SELECT doc_update('{"a": [{"b": 1}]}', '{"$rename": {"a.0": "c"}}');
SELECT doc_update('{"a": 1, "c": []}', '{"$rename": {"a": "c.0"}}');
SELECT doc_update('{"a": 1, "c": 1}', '{"$rename": {"a": "c.d"}}');
SELECT doc_update('{"a": 1}', '{"$rename": {"a": "a.b"}}');
SELECT doc_update('{"a": 1}', '{"$rename": {"a": 5}}');

-- $setOnInsert does nothing to a document that exists
SELECT doc_update('{"a": 1}', '{"$setOnInsert": {"a": 2, "b.c": 3}}');

-- $push: appends; an array is one element; $each is several
SELECT doc_update('{"m": [[1, 2]]}', '{"$push": {"m": [3, 4]}}'), doc_update('{"m": [[1, 2]]}', '{"$push": {"m": {"$each": [[5], [6]]}}}');
SELECT doc_update(d, '{"$push": {"tags": "x"}}') FROM (VALUES (1, '{}'::jsonb), (2, '{"tags": []}'), (3, NULL)) t(n, d) ORDER BY n;
SELECT doc_update('{"tags": null}', '{"$push": {"tags": "x"}}');
SELECT doc_update('{}', '{"$push": {"stats.scores.bar": {"a": 1}}}');
SELECT doc_update('{"stats": 5}', '{"$push": {"stats.x": 1}}');
SELECT doc_update('{"a": [1]}', '{"$push": {"a": {"$sort": 1}}}') AS no_each_no_modifier;

-- $slice: 0 is a value, n the first, -n the last, more than there is all
SELECT m AS modifiers, doc_update('{"a": [1, 2, 3]}', jsonb_build_object('$push', jsonb_build_object('a', m))) -> 'a' AS result
FROM (VALUES (1, '{"$each": [4], "$slice": 0}'::jsonb), (2, '{"$each": [], "$slice": 0}'), (3, '{"$each": [4], "$slice": 2}'),
             (4, '{"$each": [4], "$slice": -2}'), (5, '{"$each": [4], "$slice": 10}'), (6, '{"$each": [4], "$slice": -10}'),
             (7, '{"$each": [4], "$slice": 2.0}'), (8, '{"$each": [4], "$slice": -2147483648}'), (9, '{"$each": [4, 5, 6], "$slice": -1}'),
             (10, '{"$each": [], "$slice": 2}'), (11, '{"$each": []}')) t(n, m) ORDER BY n;
SELECT doc_update('{}', '{"$push": {"a": {"$each": [4], "$slice": 0}}}'), doc_update('{}', '{"$push": {"a": {"$each": [1, 2], "$slice": -1}}}');
SELECT doc_update('{"a": []}', '{"$push": {"a": {"$each": [1], "$slice": 2.5}}}');

-- $position, then $sort, then $slice
SELECT m AS modifiers, doc_update('{"a": [1, 2, 3]}', jsonb_build_object('$push', jsonb_build_object('a', m))) -> 'a' AS result
FROM (VALUES (1, '{"$each": [9], "$position": 0}'::jsonb), (2, '{"$each": [9], "$position": 1}'), (3, '{"$each": [9], "$position": 99}'),
             (4, '{"$each": [9], "$position": -1}'), (5, '{"$each": [8, 9], "$position": -2}'), (6, '{"$each": [9], "$position": -99}'),
             (7, '{"$each": [9], "$position": 0, "$slice": 3}'), (8, '{"$each": [9], "$position": 0, "$sort": 1, "$slice": 3}'),
             (9, '{"$each": [7, 8, 9], "$position": 1, "$slice": 3}'), (10, '{"$each": [7, 8, 9], "$position": 1, "$slice": -3}'),
             (11, '{"$each": [7, 8, 9], "$position": 1, "$slice": -1}')) t(n, m) ORDER BY n;

-- position and slice against lists built by hand, all combinations
SELECT count(*) AS combinations, count(*) FILTER (WHERE got IS DISTINCT FROM expected) AS wrong
FROM (SELECT doc_update(jsonb_build_object('a', old), jsonb_build_object('$push', jsonb_build_object('a', jsonb_build_object('$each', new, '$position', p, '$slice', s)))) -> 'a' AS got,
             coalesce((SELECT jsonb_agg(e ORDER BY o) FROM (
                SELECT e, o, count(*) OVER () AS total FROM (
                  SELECT e, row_number() OVER (ORDER BY part, o) AS o FROM (
                    SELECT 1 AS part, e, o FROM jsonb_array_elements(old) WITH ORDINALITY x(e, o) WHERE o <= at
                    UNION ALL SELECT 2, e, o FROM jsonb_array_elements(new) WITH ORDINALITY x(e, o)
                    UNION ALL SELECT 3, e, o FROM jsonb_array_elements(old) WITH ORDINALITY x(e, o) WHERE o > at) parts) numbered) counted
                WHERE CASE WHEN s >= 0 THEN o <= s ELSE o > total + s END), '[]') AS expected
      FROM (SELECT o.old, n.new, p, s, least(CASE WHEN p >= 0 THEN p ELSE greatest(jsonb_array_length(old) + p, 0) END, jsonb_array_length(old)) AS at
            FROM (VALUES ('[]'::jsonb), ('["a"]'), ('["a", "b", 3]'), ('[1, "bb", {"c": 4}, [5], null]')) o(old),
                 (VALUES ('[]'::jsonb), ('["x"]'), ('["x", 10, "zzz"]')) n(new),
                 generate_series(-6, 6) p, generate_series(-9, 9) s) c) r;

-- $sort: one key, several as a list, elements themselves; stable; dotted; an object of several keys is refused
SELECT doc_update('{"a": [3, 1, 2]}', '{"$push": {"a": {"$each": [], "$sort": -1}}}');
SELECT doc_update('{"a": [{"v": 1, "d": 5}, {"v": 2, "d": 1}, {"v": 2, "d": 9}, {"v": 1, "d": 7}]}', '{"$push": {"a": {"$each": [], "$sort": [{"v": -1}, {"d": -1}], "$slice": 3}}}');
SELECT doc_update('{"a": [{"v": 1, "d": 5}, {"v": 2, "d": 1}, {"v": 2, "d": 9}, {"v": 1, "d": 7}]}', '{"$push": {"a": {"$each": [], "$sort": [{"d": -1}, {"v": -1}], "$slice": 3}}}');
SELECT doc_update('{"a": [{"p": {"n": "b"}}, {"p": {"n": "a"}}, {"p": {}}]}', '{"$push": {"a": {"$each": [], "$sort": {"p.n": 1}}}}');
SELECT doc_update('{"a": [3, 1, 2]}', '{"$push": {"a": {"$each": [], "$sort": {"p.n": 1}}}}') AS all_missing;
SELECT doc_update('{"a": [true, [2], [1, 9], {"a": 1}, "b", "B", 10, 9, null, {"a": 0}, []]}', '{"$push": {"a": {"$each": [], "$sort": 1}}}') AS all_types;
SELECT doc_update('{"a": []}', '{"$push": {"a": {"$each": [], "$sort": {"v": -1, "d": 1}}}}');
SELECT doc_update('{"a": []}', '{"$push": {"a": {"$each": [], "$sort": 2}}}');
SELECT doc_update('{"a": []}', '{"$push": {"a": {"$each": [], "$sort": {"a..b": 1}}}}');
SELECT doc_update('{"a": []}', '{"$push": {"a": {"$each": 1}}}');
SELECT doc_update('{"a": []}', '{"$push": {"a": {"$each": [1], "$limit": 1}}}');
SELECT count(*) FILTER (WHERE ok) = count(*) AS stable_sort
FROM (SELECT doc_update(jsonb_build_object('a', jsonb_agg(jsonb_build_object('k', g * 7919 % 10, 'n', g) ORDER BY g)), '{"$push": {"a": {"$each": [], "$sort": {"k": 1}}}}') -> 'a'
             = jsonb_agg(jsonb_build_object('k', g * 7919 % 10, 'n', g) ORDER BY g * 7919 % 10, g) AS ok
      FROM generate_series(1, 1000) g) s;

-- $addToSet: equal numbers are equal, types otherwise differ
SELECT a.old, a.new, doc_update(jsonb_build_object('a', a.old), jsonb_build_object('$addToSet', jsonb_build_object('a', a.new))) -> 'a' AS result
FROM (VALUES (1, '[42]'::jsonb, '"42"'::jsonb), (2, '[1]', '1.0'), (3, '[1.00]', '1'), (4, '[null]', 'null'), (5, '[[1, 2]]', '[2, 1]'), (6, '[{"a": 1, "b": 2}]', '{"b": 2.0, "a": 1}'),
             (7, '[1, 1]', '{"$each": [2, 2, 1, 3, 2.0]}'), (8, '[]', '{"$each": []}'), (9, '[]', '[1]')) a(n, old, new) ORDER BY n;
SELECT doc_update('{}', '{"$addToSet": {"a": {"$each": [1, 1.0, 2]}}}');
SELECT doc_update('{"a": 1}', '{"$addToSet": {"a": 1}}');
SELECT doc_update('{"a": []}', '{"$addToSet": {"a": {"$each": 1}}}');
SELECT doc_update('{"a": []}', '{"$addToSet": {"a": {"$each": [1], "$slice": 1}}}');

-- $pop
SELECT doc_update('{"a": [1, 2, 3], "b": [1, 2, 3], "c": []}', '{"$pop": {"a": 1, "b": -1, "c": 1, "d": 1}}');
SELECT doc_update('{"a": 1}', '{"$pop": {"a": 1}}');
SELECT doc_update('{"a": [1]}', '{"$pop": {"a": 2}}');

-- $pull: a query for objects, operators for values, else equality; $pullAll
SELECT doc_update('{"a": [{"x": 1, "y": 2}, {"x": 2}, 1, null]}', '{"$pull": {"a": {"x": 1}}}');
SELECT doc_update('{"a": [{"x": 1}, 1, {}]}', '{"$pull": {"a": {}}}');
SELECT doc_update('{"a": [1, 5, 10, [5], [1], "5"]}', '{"$pull": {"a": {"$gte": 5}}}');
SELECT doc_update('{"a": [1, 1.0, "1", [1]]}', '{"$pull": {"a": 1}}'), doc_update('{"a": [1, [1], [1, 2]]}', '{"$pull": {"a": [1]}}');
SELECT doc_update('{"a": [{"x": 1}, {"x": 1, "y": 2}]}', '{"$pull": {"a": {"$eq": {"x": 1}}}}');
SELECT doc_update('{"a": [{"x": 1}, {"x": 2}, {"x": 3}, 3]}', '{"$pull": {"a": {"$or": [{"x": 1}, {"x": {"$gt": 2}}]}}}');
SELECT doc_update('{"a": [1, 2, {"b": 1.0}, [3], 2]}', '{"$pullAll": {"a": [2, {"b": 1}, 3]}}');
SELECT doc_update('{"a": 1}', '{"$pull": {"a": 1}}');
SELECT doc_update('{"a": [1]}', '{"$pull": {"a": {"$gte": 1, "x": 2}}}');
SELECT doc_update('{"a": [1]}', '{"$pullAll": {"a": 1}}');

-- $[] and $[name]
SELECT doc_update('{"a": [{"b": [1, 2]}, {"b": [3]}]}', '{"$inc": {"a.$[].b.$[]": 10}}');
SELECT doc_update('{"grades": [{"g": 80, "m": 75}, {"g": 95, "m": 90}, {"g": 85, "m": 85}]}', '{"$set": {"grades.$[e].m": 100}}', '[{"e.g": {"$gte": 85}}]');
SELECT doc_update('{"a": [1, 5, 9]}', '{"$unset": {"a.$[x]": ""}}', '[{"x": {"$gt": 3, "$lt": 7}}]');
SELECT doc_update('{"a": [{"b": 1}, {"b": 2}, {"c": 3}]}', '{"$set": {"a.$[x].b": 0, "a.$[y].c": 1, "a.0.d": 5, "a.5.e": 6}}', '[{"x.b": 2}, {"y.c": {"$exists": true}}]');
SELECT doc_update('{"a": [{"b": 1}]}', '{"$set": {"a.$[x].b": 0, "a.$[y].b": 1}}', '[{"x.b": 1}, {"y.b": {"$gt": 0}}]');
SELECT doc_update('{"a": 5}', '{"$set": {"a.$[]": 1}}');
SELECT doc_update('{}', '{"$set": {"a.$[]": 1}}');
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$": 1}}');
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$[x]": 1}}');
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$[x]": 1}}', '[{"x": 1}, {"y": 2}]');
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$[x]": 1}}', '[{"x": 1}, {"x": 2}]');
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$[x]": 1}}', '{"x": 1}');

-- conflicts, unknown operators, bad paths, documents that are none
SELECT doc_update('{}', '{"$set": {"a": 1}, "$inc": {"a.b": 1}}');
SELECT doc_update('{}', '{"$set": {"a": 1}, "$unset": {"a": 1}}');
SELECT doc_update('{}', '{"$rename": {"a": "b"}, "$set": {"b.c": 1}}');
SELECT doc_update('{}', '{"$set": {"a.1": 1, "a.10": 2, "ab": 3}}') AS no_conflict;
SELECT doc_update('{}', '{"$frobnicate": {"a": 1}}');
SELECT doc_update('{}', '{"$set": {"a": 1}, "b": 1}');
SELECT doc_update('{}', '{"$set": 5}');
SELECT doc_update('{}', '{"$set": {"": 1}}');
SELECT doc_update('{}', '{"$set": {"a..b": 1}}');
SELECT doc_update('{}', '{"$set": {"$a": 1}}');
SELECT doc_update('{"$a": 1}', '{"$set": {"$a": 2, "b.$c": 3}}') AS existing_or_deeper;
SELECT doc_update('[1]', '{"$set": {"a": 1}}');
SELECT doc_update('5', '{"$set": {"a": 1}}');
SELECT doc_update('{}', '5');

-- replacement: the _id stays
SELECT doc_update('{"_id": 1, "a": 1}', '{"b": 2}'), doc_update('{"_id": 1, "a": 1}', '{"_id": 1.0, "b": 2}'), doc_update('{"a": 1}', '{"_id": 7}');
SELECT doc_update('{"_id": 1, "a": 1}', '{"_id": 2}');

-- doc_upsert: what MongoDB inserts
SELECT doc_upsert('{"_id": 1, "a.b": 5, "c": {"$gt": 3}, "d": {"$eq": {"e": 1}}}', '{"$set": {"x": 1}, "$setOnInsert": {"y": 2}, "$inc": {"n": 1}}');
SELECT doc_upsert('{"$and": [{"a": 1}, {"b": {"$in": [1]}}, {"$or": [{"c": 3}]}], "$or": [{"d": 1}, {"e": 1}]}', '{"$push": {"t": 1}}');
SELECT doc_upsert('{"_id": 1, "a": 2}', '{"b": 3}') AS replacement;
SELECT doc_upsert('{"_id": 1, "a": 2}', '[{"$set": {"b": "$a"}}]') AS pipeline;
SELECT doc_upsert('{"a": 1, "$and": [{"a": 2}]}', '{"$set": {"b": 1}}');
SELECT doc_upsert('{"a": 1, "a.b": 2}', '{"$set": {"b": 1}}');
SELECT doc_upsert(NULL, '{"$set": {"a": 1}}');
SELECT doc_upsert('{}', NULL);
SELECT doc_upsert('[]', '{"$set": {"a": 1}}');

-- insert or append, in one statement and also for several rows of one key
CREATE TABLE log (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO log VALUES (7, doc_upsert('{"_id": 7}', '{"$push": {"list": "a"}}')) ON CONFLICT (id) DO UPDATE SET doc = log.doc <~ '{"$push": {"list": "a"}}';
INSERT INTO log VALUES (7, doc_upsert('{"_id": 7}', '{"$push": {"list": "b"}}')) ON CONFLICT (id) DO UPDATE SET doc = log.doc <~ '{"$push": {"list": "b"}}';
INSERT INTO log SELECT id, doc_upsert(jsonb_build_object('_id', id), c.changes)
FROM (SELECT id, jsonb_build_object('$push', jsonb_build_object('list', jsonb_build_object('$each', jsonb_agg(v ORDER BY n)))) AS changes
      FROM (VALUES (1, 7, 'c'), (2, 7, 'd'), (3, 8, 'e')) v(n, id, v) GROUP BY id) c
ON CONFLICT (id) DO UPDATE SET doc = log.doc <~ jsonb_build_object('$push', jsonb_build_object('list', jsonb_build_object('$each', excluded.doc -> 'list')));
SELECT * FROM log ORDER BY id;

-- a history that is kept short, and one that is cut later
DO $$
DECLARE d jsonb := '{}';
BEGIN
  FOR n IN 1..60 LOOP
    d := d <~ jsonb_build_object('$push', jsonb_build_object('h', jsonb_build_object('$each', jsonb_build_array(jsonb_build_object('n', n)), '$slice', -50)));
  END LOOP;
  RAISE NOTICE '% elements, from % to %', jsonb_array_length(d -> 'h'), d #> '{h,0,n}', d #> '{h,-1,n}';
END $$;
SELECT doc_update(jsonb_build_object('h', jsonb_agg(g)), '{"$push": {"h": {"$each": [10001], "$slice": -3}}}') FROM generate_series(1, 10000) g;

-- an operand is compiled once, and again when it changes: constant, variable, column
DO $$
DECLARE c jsonb; d jsonb := '{}';
BEGIN
  FOREACH c IN ARRAY ARRAY['{"$set": {"a": 1}}', '{"$set": {"b": 2}}', '{"$set": {"c": 3}}']::jsonb[] LOOP
    d := doc_update(d, c);
  END LOOP;
  RAISE NOTICE '%', d;
END $$;
SELECT doc_update('{"n": 1}', c, f) FROM (VALUES (1, '{"$inc": {"n": 1}}'::jsonb, NULL::jsonb), (2, '{"$inc": {"n": 2}}', '[]'), (3, NULL, NULL), (4, '{"$inc": {"n": 1}}', NULL)) v(i, c, f) WHERE c IS NOT NULL ORDER BY i;
PREPARE up(jsonb) AS SELECT doc_update('{"n": 1}', $1);
EXECUTE up('{"$inc": {"n": 1}}');
EXECUTE up('{"$inc": {"n": 2}}');
SET plan_cache_mode = force_generic_plan;
EXECUTE up('{"$inc": {"n": 3}}');
EXECUTE up('{"$set": {"n": "x"}}');
RESET plan_cache_mode;

-- what is not touched stays as it is, byte for byte, wherever the edit is
SELECT count(*) AS documents, count(*) FILTER (WHERE got::text <> expected::text OR pg_column_size(got) <> pg_column_size((expected::text)::jsonb)) AS wrong
FROM (SELECT doc_update(d, jsonb_build_object('$set', jsonb_build_object(k, v))) AS got, jsonb_set(d, ARRAY[k], v) AS expected
      FROM (SELECT (SELECT jsonb_object_agg(left(md5((g * i)::text), 1 + i % 5), CASE i % 6 WHEN 0 THEN to_jsonb(i * g) WHEN 1 THEN to_jsonb(repeat('x', i % 9)) WHEN 2 THEN jsonb_build_array(i, repeat('y', g % 5), i * 1.5)
                          WHEN 3 THEN jsonb_build_object('q', i, repeat('z', g % 4), NULL) WHEN 4 THEN 'null' ELSE to_jsonb(i % 2 = 0) END) FROM generate_series(1, g) i) AS d FROM generate_series(1, 80) g) docs,
           (VALUES ('a'), ('ab'), ('c1d'), ('key'), ('7'), ('f00')) keys(k),
           (VALUES ('1'::jsonb), ('"s"'), ('12345.678'), ('[1, 2]'), ('{"a": {}}'), ('null')) vals(v)) t;
