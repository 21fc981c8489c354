--
-- MongoDB's expression language: each operator, what null and missing make of it, and its errors
--
CREATE FUNCTION value_of(expression jsonb, doc jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS
$$ SELECT doc_update(doc, jsonb_build_array(jsonb_build_object('$replaceWith', jsonb_build_object('r', expression)))) -> 'r' $$;
-- what each gives, or the error
CREATE FUNCTION values_of(expressions text[], doc jsonb DEFAULT '{}') RETURNS TABLE(expression text, value text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH expression IN ARRAY expressions LOOP
		BEGIN
			value := coalesce(value_of(expression::jsonb, doc)::text, '(missing)');
		EXCEPTION WHEN OTHERS THEN
			value := SQLSTATE || ': ' || SQLERRM;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
\pset format unaligned
\pset tuples_only on
\pset fieldsep '  →  '

-- numbers
SELECT * FROM values_of(ARRAY['{"$abs": -5.5}', '{"$abs": "$none"}', '{"$abs": "a"}', '{"$abs": [1, 2]}',
	'{"$ceil": 1.2}', '{"$ceil": -1.2}', '{"$floor": 1.8}', '{"$floor": -1.2}',
	'{"$round": 2.5}', '{"$round": 3.5}', '{"$round": -2.5}', '{"$round": -0.5}', '{"$round": 2.51}', '{"$round": [2.345, 2]}', '{"$round": [2.355, 2]}',
	'{"$round": [1250, -2]}', '{"$round": [1350, -2]}', '{"$round": [1251, -2]}', '{"$round": [49, -2]}', '{"$round": [1.5, 101]}', '{"$round": [1.5, 0.5]}', '{"$round": [1.5, null]}',
	'{"$trunc": 2.9}', '{"$trunc": -2.9}', '{"$trunc": [0.29, 2]}', '{"$trunc": [1299, -2]}',
	'{"$mod": [7, 3]}', '{"$mod": [-7, 3]}', '{"$mod": [7.5, -2]}', '{"$mod": [7, 0]}', '{"$mod": [null, 0]}',
	'{"$pow": [2, 10]}', '{"$pow": [2, -2]}', '{"$pow": [1.1, 2]}', '{"$pow": [3, 100]}', '{"$round": [{"$pow": [2, 0.5]}, 12]}', '{"$pow": [0, -1]}', '{"$pow": [-8, 0.5]}', '{"$pow": [10, 40000]}',
	'{"$sqrt": 2}', '{"$sqrt": 16}', '{"$sqrt": -1}', '{"$exp": 0}', '{"$round": [{"$exp": 1}, 12]}', '{"$exp": -750}', '{"$exp": 710}', '{"$ln": 1}', '{"$ln": 0}',
	'{"$log10": 1000}', '{"$log": [8, 2]}', '{"$log": [8, 1]}', '{"$log": [-8, 2]}', '{"$sigmoid": 0}', '{"$sigmoid": -1e9}',
	'{"$sin": 0}', '{"$cos": 0}', '{"$tan": 0}', '{"$round": [{"$asin": 1}, 12]}', '{"$acos": 2}', '{"$round": [{"$atan": 1}, 12]}', '{"$round": [{"$atan2": [1, -1]}, 12]}', '{"$sinh": 0}', '{"$cosh": 0}', '{"$tanh": 0}',
	'{"$asinh": 0}', '{"$acosh": 1}', '{"$acosh": 0}', '{"$round": [{"$atanh": 0.5}, 12]}', '{"$atanh": 1}', '{"$degreesToRadians": 180}', '{"$round": [{"$radiansToDegrees": 1}, 12]}',
	'{"$bitAnd": [12, 10]}', '{"$bitOr": [12, 10]}', '{"$bitXor": [12, 10]}', '{"$bitNot": 0}', '{"$bitAnd": []}', '{"$bitOr": [1.5]}', '{"$bitOr": [1, null]}']);

-- accumulators: over the elements of one array, or over their arguments
SELECT * FROM values_of(ARRAY['{"$sum": "$n"}', '{"$sum": ["$n", 1]}', '{"$sum": [1, 2.5, "a", null]}', '{"$sum": "$none"}', '{"$sum": []}',
	'{"$avg": "$n"}', '{"$avg": [1, 2, "a"]}', '{"$avg": "$none"}', '{"$avg": ["a"]}',
	'{"$min": "$n"}', '{"$max": "$n"}', '{"$min": "$mixed"}', '{"$max": "$mixed"}', '{"$min": []}', '{"$max": [1, "$none", null]}',
	'{"$stdDevPop": [2, 4, 4, 4, 5, 5, 7, 9]}', '{"$stdDevSamp": [1, 3]}', '{"$stdDevSamp": [1]}', '{"$stdDevPop": []}'],
	'{"n": [3, 1, 2, "a", null], "mixed": [true, "b", 5, null, [0], {"a": 1}]}');

-- arrays
SELECT * FROM values_of(ARRAY['{"$size": "$a"}', '{"$size": "$none"}', '{"$isArray": "$a"}', '{"$isArray": "$none"}', '{"$isArray": [[1]]}',
	'{"$arrayElemAt": ["$a", 0]}', '{"$arrayElemAt": ["$a", -1]}', '{"$arrayElemAt": ["$a", 9]}', '{"$first": "$a"}', '{"$last": "$a"}', '{"$first": [[]]}', '{"$last": "$none"}', '{"$first": 5}',
	'{"$concatArrays": ["$a", [9]]}', '{"$concatArrays": []}', '{"$concatArrays": ["$a", null]}', '{"$concatArrays": ["$a", 5]}',
	'{"$slice": ["$a", 2]}', '{"$slice": ["$a", -2]}', '{"$slice": ["$a", 1, 2]}', '{"$slice": ["$a", -3, 1]}', '{"$slice": ["$a", -9, 2]}', '{"$slice": ["$a", 9, 2]}', '{"$slice": ["$a", 0]}', '{"$slice": ["$a", 1, 0]}', '{"$slice": [null, 1]}',
	'{"$firstN": {"input": "$a", "n": 2}}', '{"$lastN": {"input": "$a", "n": 2}}', '{"$maxN": {"input": "$a", "n": 2}}', '{"$minN": {"input": [3, null, 1], "n": 5}}', '{"$firstN": {"input": "$a", "n": 0}}', '{"$firstN": {"input": "$a"}}', '{"$firstN": {"input": "$a", "n": 1, "m": 2}}',
	'{"$in": [3, "$a"]}', '{"$in": [5, "$a"]}', '{"$in": ["$none", "$a"]}', '{"$in": [1, 1]}',
	'{"$indexOfArray": ["$a", 1]}', '{"$indexOfArray": ["$a", 7]}', '{"$indexOfArray": ["$a", 1, 3]}', '{"$indexOfArray": ["$a", 1, 0, 1]}', '{"$indexOfArray": ["$none", 1]}', '{"$indexOfArray": ["$a", 1, -1]}',
	'{"$range": [0, 5]}', '{"$range": [5, 0, -2]}', '{"$range": [0, 5, -1]}', '{"$range": [0, 5, 0]}', '{"$range": [0, 0.5]}',
	'{"$reverseArray": "$a"}', '{"$reverseArray": [[1, 2, 3]]}', '{"$reverseArray": "$none"}',
	'{"$sortArray": {"input": "$a", "sortBy": 1}}', '{"$sortArray": {"input": "$o", "sortBy": {"x": -1}}}', '{"$sortArray": {"input": "$o", "sortBy": [{"y": 1}, {"x": -1}]}}', '{"$sortArray": {"input": "$o", "sortBy": {"x": 1, "y": 1}}}', '{"$sortArray": {"input": "$o", "sortBy": 2}}',
	'{"$zip": {"inputs": ["$a", ["x", "y"]]}}', '{"$zip": {"inputs": [[1, 2, 3], ["x"]], "useLongestLength": true, "defaults": [0, "z"]}}', '{"$zip": {"inputs": ["$a", null]}}'],
	'{"a": [3, 1, 4, 1], "o": [{"x": 1, "y": 2}, {"x": 2, "y": 1}, {"x": 3, "y": 1}]}');

-- sets
SELECT * FROM values_of(ARRAY['{"$setUnion": [[2, 1, 2], [3.0, "a"]]}', '{"$setUnion": [[1], null]}', '{"$setIntersection": [[3, 2, 1, 1], [1.0, 3, 5]]}', '{"$setIntersection": [[1]]}', '{"$setDifference": [[3, 2, 1, 2], [2]]}',
	'{"$setEquals": [[1, 2, 2], [2, 1]]}', '{"$setEquals": [[1], [2]]}', '{"$setEquals": [[1], [1, 1], [1, 2]]}', '{"$setIsSubset": [[1, 1], [2, 1]]}', '{"$setIsSubset": [[3], [2, 1]]}', '{"$setIsSubset": [null, [1]]}',
	'{"$anyElementTrue": [[0, null, false]]}', '{"$anyElementTrue": [[0, 1]]}', '{"$allElementsTrue": [[]]}', '{"$allElementsTrue": [[1, 0]]}']);

-- objects
SELECT * FROM values_of(ARRAY['{"$mergeObjects": [{"a": 1, "b": 2}, "$o", null]}', '{"$mergeObjects": []}', '{"$mergeObjects": [5]}',
	'{"$objectToArray": "$o"}', '{"$objectToArray": "$none"}', '{"$arrayToObject": [[{"k": "x", "v": 1}, {"k": "y", "v": 2}]]}', '{"$arrayToObject": [[["x", 1], ["x", 2]]]}', '{"$arrayToObject": [[["x"]]]}', '{"$arrayToObject": [[[1, 2]]]}',
	'{"$getField": "a.b"}', '{"$getField": {"field": "c", "input": "$o"}}', '{"$getField": {"field": "z", "input": "$o"}}', '{"$getField": {"field": 5, "input": "$o"}}',
	'{"$setField": {"field": "$x.y", "input": "$o", "value": 1}}', '{"$setField": {"field": {"$literal": "$x.y"}, "input": "$o", "value": 1}}', '{"$setField": {"field": "c", "input": "$o", "value": "$$REMOVE"}}',
	'{"$setField": {"field": "c", "input": null, "value": 1}}', '{"$unsetField": {"field": "c", "input": "$o"}}', '{"$unsetField": {"field": "z", "input": "$o"}}'],
	'{"a.b": 7, "o": {"c": 3, "d": 4}}');

-- strings
SELECT * FROM values_of(ARRAY['{"$concat": ["a", "$s", "b"]}', '{"$concat": ["a", null]}', '{"$concat": ["a", 1]}', '{"$concat": []}', '{"$toUpper": "$s"}', '{"$toLower": "ÀBC"}', '{"$toUpper": null}', '{"$toUpper": 1.5}', '{"$toUpper": [[1]]}',
	'{"$strLenCP": "$s"}', '{"$strLenBytes": "$s"}', '{"$strLenCP": null}', '{"$strcasecmp": ["abc", "ABD"]}', '{"$strcasecmp": ["Abc", "aBC"]}', '{"$strcasecmp": ["b", null]}',
	'{"$substrCP": ["$s", 1, 3]}', '{"$substrCP": ["$s", 9, 3]}', '{"$substrCP": ["$s", -1, 3]}', '{"$substrCP": [null, 0, 1]}', '{"$substrBytes": ["hello", 1, 3]}', '{"$substrBytes": ["hello", 1, -1]}', '{"$substrBytes": ["$s", 2, 1]}', '{"$substr": [12345, 1, 2]}', '{"$substrBytes": ["hello", 3, 2147483647]}',
	'{"$split": ["a-b--c", "-"]}', '{"$split": ["abc", "x"]}', '{"$split": ["abc", ""]}', '{"$split": [null, "-"]}', '{"$split": ["--", "--"]}',
	'{"$indexOfCP": ["$s", "l"]}', '{"$indexOfBytes": ["$s", "l"]}', '{"$indexOfCP": ["$s", "l", 3]}', '{"$indexOfCP": ["$s", "l", 3, 3]}', '{"$indexOfCP": ["$s", ""]}', '{"$indexOfCP": ["$s", "", 5]}', '{"$indexOfCP": ["$s", "", 6]}', '{"$indexOfCP": [null, "l"]}', '{"$indexOfCP": ["$s", null]}',
	'{"$replaceOne": {"input": "a.b.c", "find": ".", "replacement": "--"}}', '{"$replaceAll": {"input": "a.b.c", "find": ".", "replacement": "--"}}', '{"$replaceAll": {"input": "aaa", "find": "aa", "replacement": "b"}}', '{"$replaceAll": {"input": "hé", "find": "", "replacement": "-"}}', '{"$replaceOne": {"input": "hé", "find": "", "replacement": "-"}}', '{"$replaceAll": {"input": null, "find": "a", "replacement": "b"}}', '{"$replaceAll": {"input": "a", "find": "a"}}',
	'{"$trim": {"input": "  a b \t\n"}}', '{"$ltrim": {"input": "  a "}}', '{"$rtrim": {"input": "  a "}}', '{"$trim": {"input": "xyaéx", "chars": "xé"}}', '{"$trim": {"input": "   "}}', '{"$trim": {"input": "  a", "chars": null}}', '{"$trim": {"input": 5}}',
	'{"$regexMatch": {"input": "$s", "regex": "^h.*o$"}}', '{"$regexMatch": {"input": "HELLO", "regex": "hello", "options": "i"}}', '{"$regexMatch": {"input": "$none", "regex": "a"}}', '{"$regexMatch": {"input": "$s", "regex": "$s"}}', '{"$regexMatch": {"input": "$s", "regex": "("}}'],
	'{"s": "héllo"}');

-- types
SELECT * FROM values_of(ARRAY['{"$toString": 1.50}', '{"$toString": true}', '{"$toString": "a"}', '{"$toString": null}', '{"$toString": [[1]]}', '{"$toInt": "42"}', '{"$toInt": "-42"}', '{"$toInt": "4.2"}', '{"$toInt": 4.9}', '{"$toInt": 3000000000}', '{"$toInt": ""}', '{"$toInt": true}',
	'{"$toLong": 3000000000.5}', '{"$toLong": 1e30}', '{"$toDouble": "1.5e3"}', '{"$toDouble": " 1"}', '{"$toDouble": "1e"}', '{"$toDouble": ".5"}', '{"$toDouble": "."}', '{"$toDecimal": "123456789012345678901234567890.1"}', '{"$toDouble": "1e9999"}',
	'{"$toBool": 0}', '{"$toBool": "false"}', '{"$toBool": "$none"}', '{"$isNumber": 5}', '{"$isNumber": "5"}', '{"$isNumber": "$none"}',
	'{"$convert": {"input": "x", "to": "int", "onError": "bad"}}', '{"$convert": {"input": "x", "to": "int"}}', '{"$convert": {"input": "$none", "to": "int", "onNull": 0}}', '{"$convert": {"input": 5, "to": 2}}', '{"$convert": {"input": 5, "to": "date"}}', '{"$convert": {"input": 5, "to": "text"}}', '{"$convert": {"input": null, "to": "int"}}',
	'{"$type": 1}', '{"$type": 1.5}', '{"$type": "$none"}', '{"$type": 1e10}']);

-- choice
SELECT * FROM values_of(ARRAY['{"$switch": {"branches": [{"case": {"$lt": ["$n", 5]}, "then": "small"}, {"case": {"$lt": ["$n", 50]}, "then": "middle"}], "default": "large"}}', '{"$switch": {"branches": [{"case": false, "then": 1}], "default": "$n"}}',
	'{"$switch": {"branches": [{"case": false, "then": 1}]}}', '{"$switch": {"branches": []}}', '{"$switch": {"branches": [{"case": true}]}}', '{"$switch": {"branches": [{"case": true, "then": 1, "else": 2}]}}', '{"$switch": {"branches": [{"case": true, "then": 1}], "other": 2}}', '{"$switch": 5}',
	'{"$cond": {"if": true, "then": 1}}', '{"$cond": {"if": true, "then": 1, "else": 2, "or": 3}}', '{"$cond": [{"$gt": ["$n", 5]}, "$$REMOVE", 1]}'], '{"n": 10}');

-- variables
SELECT * FROM values_of(ARRAY['{"$let": {"vars": {"x": "$n", "y": 2}, "in": {"$multiply": ["$$x", "$$y"]}}}', '{"$let": {"vars": {"x": 1}, "in": {"$let": {"vars": {"x": {"$add": ["$$x", 1]}}, "in": "$$x"}}}}', '{"$let": {"vars": {"x": 1, "y": "$$x"}, "in": "$$y"}}',
	'{"$let": {"vars": {"x": "$none"}, "in": {"$type": "$$x"}}}', '{"$let": {"vars": {}, "in": 5}}', '{"$let": {"vars": {"X": 1}, "in": 5}}', '{"$let": {"vars": {"x": "$o"}, "in": "$$x.a.b"}}', '{"$let": {"vars": {"x": 1}}}', '"$$x"', '{"$add": [{"$let": {"vars": {"x": 1}, "in": 1}}, "$$x"]}',
	'{"$map": {"input": "$a", "in": {"$multiply": ["$$this", 2]}}}', '{"$map": {"input": "$a", "as": "e", "in": {"$add": ["$$e", "$n"]}}}', '{"$map": {"input": "$none", "in": 1}}', '{"$map": {"input": 5, "in": 1}}', '{"$map": {"input": "$a", "in": "$$this.none"}}', '{"$map": {"input": "$a", "as": "", "in": 1}}',
	'{"$map": {"input": [[1, 2], [3]], "as": "row", "in": {"$map": {"input": "$$row", "as": "cell", "in": {"$concatArrays": ["$$row", ["$$cell", "$n"]]}}}}}',
	'{"$filter": {"input": "$a", "cond": {"$gt": ["$$this", 1]}}}', '{"$filter": {"input": "$a", "as": "e", "cond": {"$gt": ["$$e", 1]}, "limit": 1}}', '{"$filter": {"input": "$a", "cond": true, "limit": 0}}', '{"$filter": {"input": null, "cond": true}}',
	'{"$reduce": {"input": "$a", "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}}', '{"$reduce": {"input": ["a", "b"], "initialValue": "", "in": {"$concat": ["$$value", "$$this"]}}}', '{"$reduce": {"input": [], "initialValue": "$none", "in": 1}}', '{"$reduce": {"input": "$none", "initialValue": 1, "in": 1}}'],
	'{"n": 10, "a": [1, 2, 3], "o": {"a": {"b": 7}}}');

-- each element is seen at every depth, as recomputed in SQL
SELECT count(*) FROM generate_series(0, 200) n, LATERAL (SELECT jsonb_agg(i * 7 % 11) AS a FROM generate_series(0, n % 17) i) x
WHERE value_of('{"$reduce": {"input": {"$map": {"input": {"$filter": {"input": "$a", "as": "e", "cond": {"$gte": ["$$e", 4]}}}, "as": "e", "in": {"$pow": ["$$e", 2]}}}, "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}}', jsonb_build_object('a', a))
	IS DISTINCT FROM (SELECT to_jsonb(coalesce(sum(e::int ^ 2), 0)::int) FROM jsonb_array_elements_text(a) e WHERE e::int >= 4);
-- rounding to the even digit, as recomputed in SQL
SELECT count(*) FROM generate_series(-2000, 2000) n
WHERE value_of(format('{"$round": [%s, 1]}', n / 20.0)::jsonb) IS DISTINCT FROM
	to_jsonb(trim_scale(CASE WHEN n % 2 = 0 THEN n / 20.0 WHEN (n - 1) / 2 % 2 = 0 THEN (n - 1) / 20.0 ELSE (n + 1) / 20.0 END));

-- $project: includes, excludes, computes
CREATE FUNCTION project(spec jsonb, doc jsonb) RETURNS jsonb LANGUAGE sql AS $$ SELECT doc_update(doc, jsonb_build_array(jsonb_build_object('$project', spec))) $$;
SELECT spec, project(spec, '{"_id": 1, "a": 1, "b": {"c": 2, "d": 3}, "e": [{"f": 4, "g": 5}, 6, [{"f": 7}]]}')
FROM unnest(ARRAY['{"a": 1}', '{"a": 1, "_id": 0}', '{"a": 0}', '{"a": 0, "_id": 0}', '{"_id": 0}', '{"_id": 1}', '{"_id": 1, "a": 0}', '{"b.c": 1}', '{"b": {"c": true}}', '{"b.c": 0}', '{"b": {"c": false, "d": 0}}', '{"e.f": 1}', '{"e.f": 0}', '{"none": 1}', '{"a.x": 1}',
	'{"sum": {"$add": ["$a", "$b.c"]}}', '{"sum": "$a", "_id": 0}', '{"b.sum": {"$add": ["$a", 1]}}', '{"a.x": "$b.c"}', '{"e.n": "$a"}', '{"gone": "$none", "text": "plain"}', '{"_id": "$a"}', '{"b": {"c": 1, "sum": "$a"}}']::jsonb[]) spec;
\set VERBOSITY terse
SELECT project('{}', '{}');
SELECT project('{"a": 1, "b": 0}', '{}');
SELECT project('{"a": 1, "a.b": 1}', '{}');
SELECT project('{"a": {}}', '{}');
SELECT project('{"a": {"$add": [1], "b": 1}}', '{}');
SELECT project('5', '{}');
