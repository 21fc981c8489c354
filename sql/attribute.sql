-- Attribute pattern: value functions
\pset null '(null)'

-- pack: the texts' television and shirt
SELECT attribute_pack('{"screen_size": 65, "refresh_rate": 120, "hdr_support": true, "resolution": "3840x2160"}',
                      '{"screen_size": "inches", "refresh_rate": "Hz", "weight": "kg"}');
SELECT attribute_pack('{"color": "red", "size": "XL", "material": "cotton"}');
SELECT attribute_pack('{}'), attribute_pack(NULL), attribute_pack('{"a": 1}', units => '{"a": null}'),
       attribute_pack('{"": null, "a": {"b": [1]}, "c": [1, 2]}');
SELECT attribute_pack('[1]');
SELECT attribute_pack('"x"');
SELECT attribute_pack('{"a": 1}', '[]');
SELECT attribute_pack('{"a": 1}', '{"a": 5}');

-- unpack is its inverse, for every value; a repeated name gives all its values
SELECT attribute_unpack('[{"k": "color", "v": "red"}, {"k": "size", "v": 65, "u": "inches"}, {"k": "color", "v": ["blue"]}, {"k": "flag"}]');
SELECT attribute_unpack('[]'), attribute_unpack(NULL);
SELECT doc, attribute_unpack(attribute_pack(doc)) = doc AS same
FROM (VALUES ('{}'::jsonb), ('{"a": 1.50, "b": "x", "c": null, "d": [1, [2], {}], "e": {"f": {}}, "": false}'),
             ((SELECT jsonb_object_agg('key' || i, i) FROM generate_series(1, 100) i))) v(doc)
WHERE length(doc::text) < 100 OR attribute_unpack(attribute_pack(doc)) <> doc;
SELECT attribute_unpack('{"k": "a", "v": 1}');
SELECT attribute_unpack('null');
SELECT attribute_unpack('[{"k": "a", "v": 1}, {"v": 2}]');
SELECT attribute_unpack('[{"k": 5, "v": 1}]');
SELECT attribute_unpack('["a"]');

-- get agrees with unpack, and passes over what is no attribute
SELECT name, attribute_get(a, name), attribute_unpack(a) -> name AS unpacked
FROM (VALUES ('[{"k": "t", "v": 21}, {"k": "flag"}, {"k": "n", "v": null}, {"k": "t", "v": 14, "u": "C"}, {"k": "", "v": "x"}]'::jsonb)) v(a),
     unnest(ARRAY['t', 'flag', 'n', '', 'missing', 'T']) name;
SELECT attribute_get('[1, "t", {"v": 2}, {"k": null, "v": 3}, {"k": ["t"], "v": 4}, [{"k": "t", "v": 5}], {"k": "t", "v": 6}]', 't');
SELECT attribute_get(NULL, 'a'), attribute_get('[]', NULL), attribute_get('[]', 'a');
SELECT attribute_get('{"k": "a", "v": 1}', 'a');

-- set: in place, the rest of the attribute and the array stay
SELECT attribute_set('[{"k": "color", "v": "red"}, {"k": "size", "v": 65, "u": "inches", "note": "diagonal"}, 7]', 'size', '70');
SELECT attribute_set('[{"k": "size", "v": 65, "u": "inches"}]', 'size', '165', unit => 'cm'),
       attribute_set('[{"k": "size", "v": 65}]', 'size', '165', 'cm'),
       attribute_set('[{"k": "size"}]', 'size', '[1, {"a": 2}]');
SELECT attribute_set('[{"k": "a", "v": 1}]', 'b', '"x"'), attribute_set('[]', 'b', 'null', 'm'), attribute_set(NULL, 'b', '2');
-- a repeated name is set once
SELECT attribute_set('[{"k": "t", "v": 1}, {"k": "a", "v": 2}, {"k": "t", "v": 3}, {"k": "t", "v": 4}]', 't', '9');
SELECT attribute_set('[]', NULL, '1');
SELECT attribute_set('[]', 'a', NULL);
SELECT attribute_set('null', 'a', '1');
SELECT attribute_set('{}', 'a', '1');
-- what was set is what one gets, in arrays of every length
SELECT count(*) AS wrong
FROM generate_series(0, 70) n,
     LATERAL (SELECT coalesce(jsonb_agg(jsonb_build_object('k', 'a' || i, 'v', repeat('x', i))), '[]') AS a FROM generate_series(1, n) i) s,
     LATERAL (SELECT attribute_set(a, 'a' || (n / 2), '"changed"') AS b) t
WHERE attribute_unpack(b) IS DISTINCT FROM jsonb_set(attribute_unpack(a), ARRAY['a' || (n / 2)], '"changed"')
   OR attribute_unpack(attribute_remove(b, 'a1')) IS DISTINCT FROM attribute_unpack(b) - 'a1';

-- remove
SELECT attribute_remove('[{"k": "t", "v": 1}, 5, {"k": "a", "v": 2}, {"k": "t", "v": 3}]', 't'),
       attribute_remove('[{"k": "a", "v": 1}]', 'a'), attribute_remove('[{"k": "a", "v": 1}]', 'b'), attribute_remove(NULL, 'a');
SELECT attribute_remove('[{"k": "a", "v": 1}]', NULL);
SELECT attribute_remove('5', 'a');

-- query
SELECT attribute_query('{"color": "red", "size": {"$gte": 65}}');
SELECT attribute_query('{"color": ["red", "blue"]}'), attribute_query('{"dim": {"w": 10}}'), attribute_query('{"n": null}');
SELECT attribute_query('{"flag": {"$exists": true}}'), attribute_query('{"flag": {"$exists": 1, "$ne": 5}}');
SELECT attribute_query('{"a": {"$exists": false}, "b": {"$exists": 0}, "c": 1}');
SELECT attribute_query('{}'), attribute_query(NULL);
SELECT attribute_query('[{"a": 1}]');
SELECT attribute_query('{"$or": [{"a": 1}]}');

-- facets
CREATE TABLE product(id int PRIMARY KEY, specs jsonb);
INSERT INTO product VALUES
  (1, '[{"k": "color", "v": "red"}, {"k": "size", "v": 65, "u": "inches"}, {"k": "hdr", "v": true}]'),
  (2, '[{"k": "color", "v": "red"}, {"k": "color", "v": "red"}, {"k": "size", "v": 65.00}]'),
  (3, '[{"k": "color", "v": ["red", "blue", "red"]}, {"k": "size", "v": 6.5e1}, {"k": "hdr", "v": false}]'),
  (4, '[{"k": "color", "v": null}, {"k": "color"}, {"k": "dim", "v": {"w": 1}}, {"k": "nested", "v": [[1], {"a": 1}, 2, null]}]'),
  (5, '[1, "color", null, {"v": "red"}, {"k": 1, "v": 2}, [{"k": "color", "v": "red"}]]'),
  (6, '{"k": "color", "v": "red"}'), (7, 'null'), (8, NULL), (9, '[]'), (10, '[{"k": "", "v": ""}]');
SELECT jsonb_pretty(attribute_facets(specs)) FROM product;
SELECT attribute_facets(specs) FROM product WHERE false;
SELECT attribute_facets(specs) FROM product WHERE id IN (7, 8);
-- a number and a string of the same text are one key of the result, and one row
SELECT attribute_facets('[{"k": "n", "v": 1}, {"k": "n", "v": "1"}, {"k": "n", "v": 1.0}]');
SELECT id % 2 AS odd, attribute_facets(specs) FROM product WHERE id < 4 GROUP BY 1 ORDER BY 1;
-- in a window, where the final function runs again and again on a growing state
SELECT id, attribute_facets(specs) OVER (ORDER BY id) FROM product WHERE id < 4;

-- against plain SQL, in one process and in several
CREATE TABLE many AS
SELECT i, jsonb_agg(jsonb_build_object('k', 'k' || k, 'v', CASE WHEN k % 3 = 0 THEN to_jsonb((i * 7 + k) % 11 / 2.0) ELSE to_jsonb('v' || i % (k + 2)) END)) AS specs
FROM generate_series(1, 5000) i, generate_series(1, 8) k WHERE (i + k) % 3 > 0 GROUP BY i;
CREATE VIEW counted AS
SELECT jsonb_object_agg(k, v) AS facets FROM
  (SELECT k, jsonb_object_agg(v, n) AS v FROM
    (SELECT e ->> 'k' AS k, CASE WHEN jsonb_typeof(e -> 'v') = 'number' THEN trim_scale((e ->> 'v')::numeric)::text ELSE e ->> 'v' END AS v, count(DISTINCT i) AS n
     FROM many, jsonb_array_elements(specs) e GROUP BY 1, 2) s GROUP BY k) s;
SELECT attribute_facets(specs) = (SELECT facets FROM counted) AS same FROM many;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT attribute_facets(specs) FROM many;
SELECT attribute_facets(specs) = (SELECT facets FROM counted) AS same FROM many;
SELECT attribute_facets(specs) FROM many WHERE i < 0;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;
DROP VIEW counted; DROP TABLE many, product;

-- the queries find what the conditions say, and the facets count what the queries find
CREATE TABLE product AS SELECT id, specs FROM (VALUES
  (1, '[{"k": "ram", "v": 16, "u": "GB"}, {"k": "color", "v": "red"}]'::jsonb), (2, '[{"k": "ram", "v": 8}, {"k": "color", "v": ["red", "blue"]}]'),
  (3, '[{"k": "ram", "v": "16GB"}, {"k": "hdr", "v": true}]'), (4, '[{"k": "ram", "v": 14}, {"k": "ram", "v": 21}, {"k": "color", "v": "blue"}]'), (5, '[]'), (6, NULL),
  (7, '[{"k": "ram", "v": null}, {"k": "hdr"}, {"k": "color", "v": "red"}, {"k": "color", "v": "red"}]')) v(id, specs);
SELECT conditions, array(SELECT id FROM product WHERE specs @~ attribute_query(conditions) ORDER BY id) AS ids,
       array(SELECT id FROM product WHERE jsonb_build_object('specs', specs) @~ jsonb_build_object('specs', attribute_query(conditions)) AND specs IS NOT NULL ORDER BY id) AS "as a field"
FROM unnest(ARRAY['{"ram": 16.0}', '{"ram": {"$gte": 10}, "color": "red"}', '{"ram": {"$gt": 15, "$lt": 20}}', '{"ram": {"$gt": 15}}', '{"color": {"$in": ["blue", "green"]}}', '{"color": ["red", "blue"]}',
                  '{"hdr": {"$exists": true}}', '{"hdr": {"$exists": false}, "ram": {"$exists": false}}', '{"hdr": {"$exists": false}, "color": "blue"}', '{"color": {"$ne": "red"}}', '{"ram": null}', '{"ram": {"$regex": "^16"}}', '{}']::jsonb[]) conditions;
SELECT name, value, n, (SELECT count(*) FROM product WHERE specs @~ attribute_query(jsonb_build_object(name, CASE name WHEN 'color' THEN to_jsonb(value) WHEN 'hdr' THEN value::jsonb ELSE CASE WHEN value ~ 'G' THEN to_jsonb(value) ELSE value::jsonb END END))) AS found
FROM (SELECT attribute_facets(specs) AS facets FROM product) f, jsonb_each(facets) a(name, counts), jsonb_each(counts) c(value, n) ORDER BY name, value;
DROP TABLE product;
