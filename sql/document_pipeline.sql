--
-- doc_update with a pipeline: stages and expressions
--
\pset null '(null)'

-- the computed pattern of the texts: all expressions see the document as it was before the stage
SELECT doc_update('{"title": "Interstellar Odyssey", "total_votes": 1250, "sum_stars": 6000, "average_rating": 4.80}',
  '[{"$set": {"total_votes": {"$add": ["$total_votes", 1]}, "sum_stars": {"$add": ["$sum_stars", 5]},
              "average_rating": {"$divide": [{"$add": ["$sum_stars", 5]}, {"$add": ["$total_votes", 1]}]}}}]') AS movie;
SELECT doc_update('{"a": 1, "b": 2}', '[{"$set": {"a": "$b", "b": "$a"}}]') AS swapped;

-- stages run one after the other
SELECT doc_update('{"a": 1}', '[{"$set": {"b": {"$add": ["$a", 1]}}}, {"$addFields": {"c": {"$add": ["$b", 1]}}}, {"$unset": "a"}]');
SELECT doc_update('{"a": {"b": 1, "c": 2}, "d": [{"e": 1, "f": 2}, {"e": 3}]}', '[{"$unset": ["a.b", "d.e", "x.y"]}]');
SELECT doc_update('{"_id": 1, "a": {"b": 1}}', '[{"$replaceWith": "$a"}]'), doc_update('{"a": {"b": 1}}', '[{"$replaceRoot": {"newRoot": {"x": "$a.b", "y": "$missing"}}}]');
SELECT doc_update('{"a": 1}', '[]');

-- $set merges objects, replaces by {} and $literal, removes what is missing
SELECT doc_update('{"a": {"x": 1, "z": 2}}', '[{"$set": {"a": {"z": 3}}}]') AS merged,
       doc_update('{"a": {"x": 1}}', '[{"$set": {"a": {}}}]') AS emptied,
       doc_update('{"a": {"x": 1}}', '[{"$set": {"a": {"$literal": {"z": 3}}}}]') AS replaced,
       doc_update('{"a": 1, "b": 2}', '[{"$set": {"b": "$missing", "c": "$$REMOVE"}}]') AS removed;
SELECT doc_update('{"a": [{"y": 0}, 5, null, [{"z": 1}]]}', '[{"$set": {"a.y": 1}}]') AS every_element,
       doc_update('{"a": 5}', '[{"$set": {"a.b": 1}}]') AS scalar_gives_way,
       doc_update('{"a": [10, 20]}', '[{"$set": {"a.0": 1}}]') AS digits_are_keys,
       doc_update('{}', '[{"$set": {"a.b": "$missing"}}]') AS parent_only;

-- field paths go through arrays; variables; literals
SELECT doc_update('{"x": [{"y": 1}, {"y": 2}, {}, 3, [{"y": 4}]]}', '[{"$set": {"r": "$x.y"}}]') -> 'r' AS through_array;
SELECT doc_update('{"a": 1}', '[{"$set": {"r": "$$ROOT", "c": "$$CURRENT.a", "l": {"$literal": "$a"}, "t": "text", "arr": ["$a", "$b", 2], "o.p": {"q": "$a"}}}]');
SELECT (doc_update('{}', '[{"$set": {"t": "$$NOW"}}]') ->> 't')::timestamptz = date_trunc('milliseconds', transaction_timestamp()) AS now;

-- expressions
SELECT e AS expression, doc_update('{"a": 6, "b": 4, "n": null, "s": "x", "arr": [1, 2, 3], "z": 0}', jsonb_build_array(jsonb_build_object('$set', jsonb_build_object('r', e)))) -> 'r' AS value
FROM (VALUES (1, '{"$add": ["$a", "$b", 0.5]}'::jsonb), (2, '{"$add": []}'), (3, '{"$add": ["$a", null, "$s"]}'), (4, '{"$subtract": ["$a", "$b"]}'), (5, '{"$subtract": ["$a", "$missing"]}'),
             (6, '{"$multiply": ["$a", "$b", 2]}'), (7, '{"$multiply": []}'), (8, '{"$divide": ["$a", "$b"]}'), (9, '{"$divide": [1, 3]}'), (10, '{"$divide": [null, 0]}'),
             (11, '{"$cond": [{"$gt": ["$a", "$b"]}, "more", "less"]}'), (12, '{"$cond": {"if": "$z", "then": 1, "else": 2}}'), (13, '{"$ifNull": ["$n", "$missing", "default"]}'), (14, '{"$ifNull": ["$a", 1]}'),
             (15, '{"$eq": ["$a", 6.0]}'), (16, '{"$ne": ["$a", 6]}'), (17, '{"$lt": ["$s", "y"]}'), (18, '{"$lte": ["$a", "$s"]}'), (19, '{"$gte": [[1, 2], [1]]}'), (20, '{"$cmp": [{"a": 1}, {"a": 2}]}'),
             (21, '{"$eq": ["$missing", null]}'), (22, '{"$gt": [null, "$missing"]}'), (23, '{"$and": ["$a", {"$not": "$z"}]}'), (24, '{"$or": ["$z", "$n", "$missing"]}'), (25, '{"$arrayElemAt": ["$arr", -1]}'),
             (26, '{"$arrayElemAt": ["$arr", 5]}'), (27, '{"$type": "$arr"}'), (28, '{"$type": {"$add": [1, 0.5]}}'), (29, '{"$type": "$missing"}'), (30, '"$$ROOT.b"'), (31, '{"$literal": {"$add": [1]}}')) v(i, e) ORDER BY i;

-- arithmetic against SQL
SELECT count(*) AS pairs, count(*) FILTER (WHERE r ->> 's' <> (a + b)::text OR r ->> 'd' <> (a - b)::text OR r ->> 'm' <> (a * b)::text OR (r ->> 'q')::numeric <> a / b OR (r ->> 'c')::int <> sign(a - b)) AS wrong
FROM (SELECT a, b, doc_update(jsonb_build_object('a', a, 'b', b), '[{"$set": {"s": {"$add": ["$a", "$b"]}, "d": {"$subtract": ["$a", "$b"]}, "m": {"$multiply": ["$a", "$b"]}, "q": {"$divide": ["$a", "$b"]}, "c": {"$cmp": ["$a", "$b"]}}}]') AS r
      FROM (VALUES (0), (1), (-1), (0.5), (12345678901234567890), (-0.000001), (3.14159), (1e30)) x(a), (VALUES (1), (-2), (0.25), (7), (98765432109876543210), (-1e-20)) y(b)) t;

-- errors
SELECT doc_update('{"s": "x"}', '[{"$set": {"r": {"$add": [1, "$s"]}}}]');
SELECT doc_update('{"a": 1}', '[{"$set": {"r": {"$divide": ["$a", 0]}}}]');
SELECT doc_update('{}', '[{"$set": {"r": {"$subtract": [1]}}}]');
SELECT doc_update('{}', '[{"$set": {"r": {"$dateTrunc": {"date": "$a"}}}}]');
SELECT doc_update('{}', '[{"$set": {"r": {"$add": [1], "$subtract": [1, 2]}}}]');
SELECT doc_update('{}', '[{"$set": {"r": "$$nope"}}]');
SELECT doc_update('{}', '[{"$set": {"r": "$"}}]');
SELECT doc_update('{}', '[{"$set": {"r": "$a..b"}}]');
SELECT doc_update('{}', '[{"$set": {"r": {"$cond": {"if": 1, "then": 2}}}}]');
SELECT doc_update('{}', '[{"$set": {"a": 1, "a.b": 2}}]');
SELECT doc_update('{}', '[{"$set": {"a": {"b.c": 1}}}]');
SELECT doc_update('{}', '[{"$set": {"$a": 1}}]');
SELECT doc_update('{}', '[{"$set": 5}]');
SELECT doc_update('{}', '[{"$unset": []}]');
SELECT doc_update('{}', '[{"$unset": ["a", "a.b"]}]');
SELECT doc_update('{"a": 1}', '[{"$replaceWith": "$a"}]');
SELECT doc_update('{"a": 1}', '[{"$replaceWith": "$b"}]');
SELECT doc_update('{}', '[{"$group": {"_id": 1}}]');
SELECT doc_update('{"_id": 1, "a": 2, "b": 3}', '[{"$project": {"a": 1}}]');
SELECT doc_update('{}', '[{"$set": {"a": 1}, "$unset": "b"}]');
SELECT doc_update('{}', '[5]');
