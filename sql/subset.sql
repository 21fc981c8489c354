-- Subset pattern: value functions
\pset null '(null)'

-- by an order: the first stay; the texts' three latest reviews
SELECT subset_push('[{"rating": 5, "createdAt": "2026-09-02"}, {"rating": 4, "createdAt": "2026-08-30"}]',
                   '{"rating": 3, "createdAt": "2026-09-01"}', 3, 'createdAt desc');
SELECT subset_push('[{"date": 9}, {"date": 7}, {"date": 5}]', '{"date": 8}', 3, 'date desc') AS into,
       subset_push('[{"date": 9}, {"date": 7}, {"date": 5}]', '{"date": 1}', 3, 'date desc') AS behind,
       subset_push('[{"date": 9}, {"date": 7}, {"date": 5}]', '{"date": 10}', 3, 'date desc') AS "before",
       subset_push('[{"date": 9}, {"date": 7}, {"date": 5}]', '{"date": 10}', 1, 'date desc') AS shorter,
       subset_push('[{"date": 9}, {"date": 7}, {"date": 5}]', '{"date": 1}', 2, 'date desc') AS cut;
-- without one: the last stay
SELECT subset_push('[1, 2, 3]', '4', 3), subset_push('[1, 2, 3]', '4', 10), subset_push('[1, 2, 3]', '4', 2), subset_push('[1, 2, 3]', '4', 1, order_by => NULL), subset_push('[1, 2, 3]', '4', 3, ' ');
-- an array is one element
SELECT subset_push('[[1, 2]]', '[3, 4]', 5), subset_push('[]', 'null', 1), subset_push('["x"]', '{}', 9);
-- nothing, and no room for anything
SELECT subset_push(NULL, '{"a": 1}', 3, 'a'), subset_push('[]', '{"a": 1}', 3, 'a'), subset_push(NULL, '1', 0), subset_push('[1, 2]', '3', 0), subset_push('[]', '3', 0, 'a');
-- equal ones keep the order of their arrival: the earlier ones stay
SELECT subset_push('[{"v": 2, "n": 1}, {"v": 1, "n": 2}, {"v": 1, "n": 3}]', '{"v": 1.0, "n": 4}', 4, 'v desc'),
       subset_push('[{"v": 2, "n": 1}, {"v": 1, "n": 2}, {"v": 1, "n": 3}]', '{"v": 1.0, "n": 4}', 3, 'v desc');
-- several keys, in the order in which they are named
SELECT subset_push('[{"value": 1, "date": 5}, {"value": 2, "date": 1}, {"value": 2, "date": 9}]', '{"value": 1, "date": 7}', 3, 'value desc, date desc') AS value_date,
       subset_push('[{"value": 1, "date": 5}, {"value": 2, "date": 1}, {"value": 2, "date": 9}]', '{"value": 1, "date": 7}', 3, 'date desc, value desc') AS date_value;
-- paths into the element; missing comes first, as null does; scalars have no fields
SELECT subset_push('[{"p": {"n": "b"}}, {"p": {}}]', '{"p": {"n": "a"}}', 9, 'p.n'), subset_push('[3, 1]', '2', 9, 'p.n'), subset_push('[{"a.b": 2}]', '{"a.b": 1}', 9, '"a.b"'),
       subset_push('[{"p": [1, 5]}]', '{"p": [2, 4]}', 9, 'p.1');
-- between types: null, numbers by value, strings by bytes, objects, arrays, booleans
SELECT subset_push('[{"v": true}, {"v": [1]}, {"v": {"a": 1}}, {"v": "a"}, {"v": "Z"}, {"v": "é"}, {"v": 10}, {"v": 9.5}, {"v": null}]', '{"v": false}', 99, 'v');
-- a list that is in no order is put into it
SELECT subset_push('[{"v": 1}, {"v": 3}, {"v": 2}, {"v": 5}]', '{"v": 4}', 3, 'v desc'), subset_push('[{"v": 1}, {"v": 3}, {"v": 2}]', '{"v": 2}', 3, 'v');

-- in a document
SELECT subset_push('{"title": "Headphones", "recent_reviews": [{"date": 2}, {"date": 1}], "zz": 1}', '{recent_reviews}', '{"date": 3}', 2, 'date desc'),
       subset_push('{"title": "Headphones"}', '{recent_reviews}', '{"date": 3}', 2, 'date desc'),
       subset_push('{"title": "Headphones"}', path => '{recent_reviews}', element => '{"date": 3}', max_size => 0);
SELECT subset_push('{}', '{stats,scores,bar}', '{"a": 1}', 5), subset_push('{"a": [{"b": [1]}, {}]}', '{a,0,b}', '2', 5), subset_push('{"a": [{"b": [1]}, {}]}', '{a,1,b}', '2', 5),
       subset_push('{"a": []}', '{a,2}', '1', 5), subset_push('[1, 2]', '{}', '3', 2);
SELECT subset_push('{"tags": []}', '{tags}', '"x"', 3), subset_push('{}', '{tags}', '"x"', 3), subset_push(NULL, '{tags}', '"x"', 3);
-- a document that does not change
SELECT subset_push('{"a": {"top": [{"v": 9}, {"v": 8}]}}', '{a,top}', '{"v": 7}', 2, 'v desc'), subset_push('{"a": []}', '{a}', '1', 0);

-- what cannot be done
SELECT subset_push('[]', NULL, 3);
SELECT subset_push('[]', '1', NULL);
SELECT subset_push('[]', '1', -1);
SELECT subset_push('null', '1', 1);
SELECT subset_push('{"a": 1}', '1', 1);
SELECT subset_push('[]', '1', 1, 'a b');
SELECT subset_push('[]', '1', 1, 'a, , b');
SELECT subset_push('[]', '1', 1, 'a..b');
SELECT subset_push('{}', NULL, '1', 1);
SELECT subset_push('{}', '{a,NULL}', '1', 1);
SELECT subset_push('{}', '{a}', NULL, 1);
SELECT subset_push('{}', '{a}', '1', NULL::int);
SELECT subset_push('{"a": {"b": null}}', '{a,b}', '1', 1);
SELECT subset_push('{"stats": 5}', '{stats,x}', '1', 1);
SELECT subset_push('{"a": [1]}', '{a,x}', '1', 1);
SELECT subset_push('{"a": []}', '{a,2000000000}', '1', 1);
SELECT subset_push('"x"', '{a}', '1', 1);
SELECT subset_push('{}', '{}', '1', 1);
SELECT subset_push('{}', '{{a},{b}}', '1', 1);
-- the order and the path follow their values from row to row, in PL/pgSQL too
SELECT o, subset_push('[{"a": 1, "b": 2}]', '{"a": 2, "b": 1}', 2, o) FROM (VALUES ('a'), ('b'), (NULL), ('a desc'), ('b')) v(o);
SELECT p, subset_push('{}', p, '1', 2) FROM (VALUES ('{a}'::text[]), ('{b,c}'), ('{a}')) v(p);
DO $$
DECLARE o text; p text[] := '{}'; doc jsonb := '{}'; BEGIN
  FOREACH o IN ARRAY ARRAY['a', 'b', 'b desc', 'a'] LOOP
    p := ARRAY[o];
    doc := subset_push(subset_push(doc, p, '{"a": 1, "b": 2}', 2, o), p, '{"a": 2, "b": 1}', 2, o);
  END LOOP;
  RAISE NOTICE '%', doc;
END $$;

-- random pushes: as sorting all that was pushed
CREATE TABLE pushed AS
SELECT list, i, jsonb_build_object('i', i, 'v', (i * 7919 + list * 31) % 23 / CASE WHEN i % 2 = 0 THEN 1 ELSE 2.0 END, 't', repeat('x', (i * 5 + list) % 7)) AS element
FROM generate_series(1, 60) list, generate_series(1, 40) i;
CREATE FUNCTION push_ordered(elements jsonb, element jsonb, max_size int) RETURNS jsonb LANGUAGE sql AS $$ SELECT subset_push(elements, element, max_size, 't desc, v') $$;
CREATE FUNCTION push_in_document(doc jsonb, element jsonb, max_size int) RETURNS jsonb LANGUAGE sql AS $$ SELECT subset_push(coalesce(doc, '{"k": "x"}'), '{deep,list}', element, max_size, 't desc, v') $$;
CREATE FUNCTION push_last(elements jsonb, element jsonb, max_size int) RETURNS jsonb LANGUAGE sql AS $$ SELECT subset_push(elements, element, max_size) $$;
CREATE AGGREGATE push_ordered(jsonb, int) (SFUNC = push_ordered, STYPE = jsonb);
CREATE AGGREGATE push_in_document(jsonb, int) (SFUNC = push_in_document, STYPE = jsonb);
CREATE AGGREGATE push_last(jsonb, int) (SFUNC = push_last, STYPE = jsonb);
CREATE VIEW expected AS
SELECT list, list % 45 AS max_size,
       coalesce((SELECT jsonb_agg(element ORDER BY n) FROM (SELECT element, row_number() OVER (ORDER BY element ->> 't' DESC, (element ->> 'v')::numeric, i) AS n FROM pushed p WHERE p.list = l.list) s WHERE n <= list % 45), '[]') AS first,
       coalesce((SELECT jsonb_agg(element ORDER BY i) FROM pushed p WHERE p.list = l.list AND i > 40 - list % 45), '[]') AS last
FROM generate_series(1, 60) l(list);
SELECT count(*) AS lists, count(*) FILTER (WHERE push_ordered <> first) AS wrong, count(*) FILTER (WHERE push_in_document <> jsonb_build_object('k', 'x', 'deep', jsonb_build_object('list', first))) AS wrong_in_document,
       count(*) FILTER (WHERE push_last <> last) AS wrong_last, count(*) FILTER (WHERE first_agg <> first) AS wrong_agg, count(*) FILTER (WHERE last_agg <> last) AS wrong_last_agg
FROM (SELECT list, push_ordered(element, list % 45 ORDER BY i), push_in_document(element, list % 45 ORDER BY i), push_last(element, list % 45 ORDER BY i),
             subset_agg(element, list % 45, 't desc, v' ORDER BY i) AS first_agg, subset_agg(element, list % 45 ORDER BY i) AS last_agg FROM pushed GROUP BY list) s JOIN expected USING (list);

-- the aggregate
SELECT subset_agg(e, 2, 'v desc'), subset_agg(e, 2), subset_agg(e, 0, 'v'), subset_agg(e, 9, NULL), subset_agg(e, 2147483647, 'v')
FROM (VALUES ('{"v": 1}'::jsonb), (NULL), ('{"v": 3}'), ('2'), ('{"v": 3, "later": true}')) v(e);
SELECT subset_agg(e, 3, 'v'), subset_agg(e, 3) FROM (VALUES (NULL::jsonb), (NULL)) v(e);
SELECT subset_agg(element, 3, 'v') FROM pushed WHERE false;
SELECT i, subset_agg(element -> 'i', 2) OVER w AS last, jsonb_path_query_array(subset_agg(element, 2, 'v desc, i') OVER w, '$[*].i') AS first FROM pushed WHERE list = 1 AND i < 5 WINDOW w AS (ORDER BY i);
SELECT subset_agg(element, NULL, 'v') FROM pushed;
SELECT subset_agg(element, -1) FROM pushed;
SELECT subset_agg(element, i) FROM pushed;
SELECT subset_agg(element, 3, CASE WHEN i < 3 THEN 'v' ELSE 't' END) FROM pushed;
SELECT subset_agg(element, 3, 'v foo') FROM pushed;

-- in parallel: the same elements; those that are equal in the order may be others
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2; SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT list, subset_agg(element, 10, 't desc, v, i') FROM pushed GROUP BY list;
SELECT count(*) AS lists, count(*) FILTER (WHERE agg <> expected) AS wrong
FROM (SELECT list, subset_agg(element, 10, 't desc, v, i') AS agg FROM pushed GROUP BY list) a
JOIN (SELECT list, jsonb_agg(element ORDER BY n) AS expected FROM (SELECT *, row_number() OVER (PARTITION BY list ORDER BY element ->> 't' DESC, (element ->> 'v')::numeric, i) AS n FROM pushed) s WHERE n <= 10 GROUP BY list) e USING (list);
SELECT jsonb_array_length(subset_agg(element, 7)), jsonb_array_length(subset_agg(element, 5000)), subset_agg(element, 0) FROM pushed;
SELECT (SELECT array_agg(e -> 'i' ORDER BY e -> 'i') FROM jsonb_array_elements(subset_agg(element, 5000, 'v')) e) = (SELECT array_agg(element -> 'i' ORDER BY element -> 'i') FROM pushed) AS all FROM pushed;
SELECT subset_agg(element, 3, 'v') FROM pushed WHERE list < 0;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather; RESET enable_hashagg;
DROP VIEW expected; DROP TABLE pushed;
DROP AGGREGATE push_ordered(jsonb, int), push_in_document(jsonb, int), push_last(jsonb, int);
DROP FUNCTION push_ordered, push_in_document, push_last;
