-- doc_match beside the jsonpath that says the same, by sequential scans of one table.
--
--     psql -X -f bench/match.sql DATABASE        (the extension is created there)
--
-- Prints milliseconds, medians of 7 alternating runs, and their ratio: below 1
-- doc_match is faster.  Both must find the same rows.
\set ON_ERROR_STOP on
\set QUIET on
\pset footer off
SET max_parallel_workers_per_gather = 0;
SET jit = off;

CREATE TEMP TABLE product AS
SELECT jsonb_build_object(
    'sku', 'SKU-' || lpad(i::text, 7, '0'), 'price', round(((i * 7919) % 100000) / 100.0, 2), 'stock', (i * 31) % 500,
    'brand', 'brand-' || (i * 17) % 40, 'active', i % 3 <> 0, 'title', 'A product of number ' || i || ' in a line of text that is not short',
    'size', jsonb_build_object('width', i % 90, 'height', i % 70, 'unit', jsonb_build_object('name', 'cm')),
    'tags', jsonb_build_array('t' || i % 10, 't' || i % 7, 't' || i % 3),
    'specs', (SELECT jsonb_agg(jsonb_build_object('k', 'key' || (i * j) % 23, 'v', (i * j) % 101)) FROM generate_series(1, 8) j)) AS doc
FROM generate_series(1, 100000) i;
VACUUM ANALYZE product;
SELECT count(*) AS documents, pg_size_pretty(pg_relation_size('product')) AS size, round(avg(pg_column_size(doc))) AS bytes FROM product;

CREATE FUNCTION pg_temp.milliseconds(condition text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE started timestamptz := clock_timestamp();
BEGIN
    EXECUTE 'SELECT count(*) FROM product WHERE ' || condition;
    RETURN extract(epoch FROM clock_timestamp() - started) * 1000;
END $$;

CREATE FUNCTION pg_temp.compare(query text, path text, OUT rows bigint, OUT match float8, OUT jsonpath float8) LANGUAGE plpgsql AS $$
DECLARE
    ours text := format('doc @~ %L::jsonb', query);
    theirs text := format('doc @? %L::jsonpath', path);
    a float8[]; b float8[]; other bigint;
BEGIN
    EXECUTE 'SELECT count(*) FROM product WHERE ' || ours INTO rows;
    EXECUTE 'SELECT count(*) FROM product WHERE ' || theirs INTO other;
    IF rows <> other THEN
        RAISE EXCEPTION '% finds % rows, % finds %', query, rows, path, other;
    END IF;
    FOR i IN 1..7 LOOP
        a := a || pg_temp.milliseconds(ours);
        b := b || pg_temp.milliseconds(theirs);
    END LOOP;
    match := (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest(a) x);
    jsonpath := (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest(b) x);
END $$;

CREATE TEMP TABLE measured AS
SELECT n, what, c.* FROM (VALUES
    (1, 'nothing but the scan', '{}', '$'),
    (2, 'one number', '{"stock": 77}', '$.stock ? (@ == 77)'),
    (3, 'one string', '{"brand": "brand-7"}', '$.brand ? (@ == "brand-7")'),
    (4, 'two conditions', '{"brand": "brand-7", "price": {"$lt": 500}}', '$ ? (@.brand == "brand-7" && @.price < 500)'),
    (5, 'two conditions, the first true', '{"active": true, "stock": {"$gte": 250}}', '$ ? (@.active == true && @.stock >= 250)'),
    (6, 'a range', '{"price": {"$gte": 100, "$lt": 200}}', '$.price ? (@ >= 100 && @ < 200)'),
    (7, 'a nested path', '{"size.unit.name": "cm", "size.width": 7}', '$.size ? (@.unit.name == "cm" && @.width == 7)'),
    (8, 'in an array', '{"tags": "t5"}', '$.tags[*] ? (@ == "t5")'),
    (9, '$elemMatch', '{"specs": {"$elemMatch": {"k": "key5", "v": {"$gte": 80}}}}', '$.specs[*] ? (@.k == "key5" && @.v >= 80)'),
    (10, '$in of 5', '{"brand": {"$in": ["brand-1", "brand-2", "brand-3", "brand-4", "brand-5"]}}', '$.brand ? (@ == "brand-1" || @ == "brand-2" || @ == "brand-3" || @ == "brand-4" || @ == "brand-5")'),
    (11, '$or of two fields', '{"$or": [{"brand": "brand-7"}, {"stock": {"$lt": 10}}]}', '$ ? (@.brand == "brand-7" || @.stock < 10)'),
    (12, '$exists', '{"discount": {"$exists": true}}', '$.discount'),
    (13, '$regex, prefix', '{"sku": {"$regex": "^SKU-00"}}', '$.sku ? (@ starts with "SKU-00")'),
    (14, '$regex, text', '{"title": {"$regex": "777"}}', '$.title ? (@ like_regex "777")'),
    (15, '$regex, engine', '{"title": {"$regex": "[0-9]7+ in"}}', '$.title ? (@ like_regex "[0-9]7+ in")')) q(n, what, query, path),
    LATERAL pg_temp.compare(query, path) c;
SELECT what, rows, round(match::numeric, 1) AS doc_match, round(jsonpath::numeric, 1) AS jsonpath, round((match / jsonpath)::numeric, 2) AS ratio FROM measured ORDER BY n;
