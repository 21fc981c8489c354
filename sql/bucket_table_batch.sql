-- Batches: what a statement brings of one series lands in few rows of the open
-- table, and nobody who uses the views can tell.
SET client_min_messages = warning;
SET timezone = 'UTC';
\pset format unaligned
\pset tuples_only on
CREATE SCHEMA bucket_table_batch;
SET search_path = bucket_table_batch, public;
CREATE FUNCTION reading(series text, n integer, v integer DEFAULT NULL) RETURNS jsonb LANGUAGE sql AS
	$$ SELECT jsonb_build_object('s', series, 't', to_char(timestamp '2040-09-02 10:00' + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'v', coalesce(v, n)) $$;
-- how many rows of the open table are batches, and how many are not
CREATE FUNCTION landed(open regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT %L || count(last) || %L || count(*) - count(last) FROM %s',
		'batches: ', ', others: ', open) INTO result;
	RETURN result;
END $$;

SELECT create_bucket_table('weather', 's', 't', '1 hour', capacity => 10);
INSERT INTO weather(doc) SELECT reading('a', i) FROM unnest(ARRAY[5, 1, 3, 2]) i;
INSERT INTO weather(doc) SELECT reading('b', i) FROM generate_series(1, 3) i;
INSERT INTO weather(doc) VALUES (reading('a', 4));
SELECT landed('weather_open');
SELECT doc->'t', meta, at, bucket_start FROM weather ORDER BY meta, at;
SELECT meta, count, summary, doc->'readings' FROM weather_buckets ORDER BY meta;
-- a bucket is made of the earliest readings, wherever they are; what is left is open again
INSERT INTO weather(doc) SELECT reading('a', i) FROM generate_series(8, 15) i;
SELECT landed('weather_open');
SELECT bucket_no, count, summary, doc->'readings' FROM weather_buckets WHERE meta = '"a"' ORDER BY bucket_no;
CREATE TABLE before AS TABLE weather_buckets;
SELECT seal_buckets('weather');
SELECT landed('weather_open');
SELECT count(*) FROM weather_sealed;
(TABLE before EXCEPT TABLE weather_buckets) UNION ALL (TABLE weather_buckets EXCEPT TABLE before);
SELECT seal_buckets('weather');
SELECT seal_buckets('weather', 'infinity');
SELECT landed('weather_open');
(TABLE before EXCEPT TABLE weather_buckets) UNION ALL (TABLE weather_buckets EXCEPT TABLE before);
DELETE FROM weather;
SELECT count(*) FROM weather_sealed;

-- A statement that fills a bucket takes a batch along, and is taken along by it.
INSERT INTO weather(doc) SELECT reading('a', i) FROM generate_series(21, 29) i;
INSERT INTO weather(doc) SELECT reading('a', i) FROM generate_series(1, 12) i;
SELECT landed('weather_open');
SELECT bucket_no, count, summary->'min_v', summary->'max_v' FROM weather_buckets ORDER BY bucket_no;
SELECT string_agg(doc->>'v', ' ' ORDER BY at) FROM weather;
DELETE FROM weather;

-- UPDATE and DELETE of readings in batches
INSERT INTO weather(doc) SELECT reading('a', i) FROM generate_series(1, 9) i;
UPDATE weather SET doc = doc || '{"v": 40}' WHERE doc->'v' = '4' RETURNING doc->'v', at;
UPDATE weather SET doc = doc || jsonb_build_object('v', (doc->'v')::int + 100) WHERE at >= '2040-09-02 10:00:08Z' RETURNING doc->'v';
DELETE FROM weather WHERE doc->'v' IN ('1', '40', '2') RETURNING doc->'v';
DELETE FROM weather WHERE doc->'v' = '1';
SELECT landed('weather_open');
SELECT count, summary, doc->'readings' FROM weather_buckets;
-- another time, another series, another window
UPDATE weather SET doc = doc <~ '{"$set": {"t": "2040-09-02T10:30:00Z"}}' WHERE doc->'v' = '3' RETURNING at;
UPDATE weather SET doc = doc <~ '{"$set": {"t": "2040-09-02T12:30:00Z"}}' WHERE doc->'v' = '5' RETURNING at, bucket_start;
UPDATE weather SET doc = doc <~ '{"$set": {"s": "b"}}' WHERE doc->'v' IN ('6', '7') RETURNING meta;
SELECT landed('weather_open');
SELECT meta, bucket_start, count, summary->'sum_v' FROM weather_buckets ORDER BY meta, bucket_start;
-- equal readings are as many as they were, and a row that a join yields twice is changed once
INSERT INTO weather(doc) SELECT reading('c', 1, 1) FROM generate_series(1, 5);
WITH one AS (SELECT doc FROM weather WHERE meta = '"c"' LIMIT 1)
	DELETE FROM weather USING one WHERE weather.doc = one.doc AND weather.meta = '"c"';
SELECT count(*) FROM weather WHERE meta = '"c"';
INSERT INTO weather(doc) SELECT reading('c', i, 1) FROM generate_series(1, 5) i;
WITH changed AS (UPDATE weather SET doc = doc || jsonb_build_object('n', n) FROM generate_series(1, 3) AS n WHERE meta = '"c"' RETURNING doc->'n')
	SELECT count(*) FROM changed;
SELECT landed('weather_open');
WITH gone AS (DELETE FROM weather USING generate_series(1, 3) AS n WHERE meta = '"c"' RETURNING 1) SELECT count(*) FROM gone;
-- the last reading of a batch takes its row along
DELETE FROM weather;
SELECT landed('weather_open');
-- in a subtransaction that is rolled back
INSERT INTO weather(doc) SELECT reading('a', i) FROM generate_series(1, 6) i;
DO $$
BEGIN
	BEGIN
		INSERT INTO weather(doc) SELECT bucket_table_batch.reading('a', i) FROM generate_series(11, 13) i;
		UPDATE weather SET doc = doc || '{"v": 0}';
		RAISE SQLSTATE 'PT001';
	EXCEPTION WHEN SQLSTATE 'PT001' THEN
	END;
	UPDATE weather SET doc = doc || '{"w": 0}' WHERE doc->'v' > '4';
END $$;
SELECT landed('weather_open');
SELECT doc FROM weather ORDER BY at;
-- a function that changes readings of the batch while a statement does
CREATE FUNCTION change_other(v jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	UPDATE bucket_table_batch.weather SET doc = doc || '{"other": true}' WHERE doc->'v' = '2';
	RETURN v;
END $$;
UPDATE weather SET doc = doc || jsonb_build_object('x', change_other(doc->'v')) WHERE doc->'v' IN ('5', '6');
SELECT doc FROM weather ORDER BY at;
-- whoever writes to the open table itself
WITH gone AS (DELETE FROM weather_open RETURNING 1)
	DELETE FROM weather USING (SELECT count(*) FROM gone) n WHERE doc->'v' = '2';
DELETE FROM weather;

-- Long and few: a row has about 16 kB; a large document has a row of its own.
INSERT INTO weather(doc) SELECT reading('a', i) || jsonb_build_object('note', repeat(md5(i::text), 100)) FROM generate_series(1, 9) i;
SELECT landed('weather_open');
INSERT INTO weather(doc) SELECT reading('d', i) || jsonb_build_object('note', repeat(md5(i::text), 1000)) FROM generate_series(1, 5) i;
SELECT landed('weather_open');
UPDATE weather SET doc = doc - 'note' WHERE doc->'v' IN ('2', '5');
SELECT landed('weather_open');
SELECT meta, count, summary, jsonb_array_length(doc->'readings') FROM weather_buckets ORDER BY meta;
SELECT drop_buckets('weather', 'infinity');
SELECT landed('weather_open');

-- Where each time is one reading's, every reading is a row.
SELECT create_bucket_table('once', 's', 't', '1 hour', on_duplicate => 'ignore');
INSERT INTO once(doc) SELECT reading('a', i % 5) FROM generate_series(1, 9) i;
SELECT landed('once_open');

-- At random, beside a plain table; sealing has little memory and must go over a
-- window in parts.
SELECT create_bucket_table('many', 's', 't', '1 hour', capacity => 700);
CREATE TABLE plain (doc jsonb);
SELECT setseed(0.5);
DO $$
DECLARE
	docs jsonb[];
BEGIN
	FOR i IN 1..150 LOOP
		docs := ARRAY(SELECT bucket_table_batch.reading('s' || floor(random() * 3), floor(random() * 7200)::int, floor(random() * 1000)::int)
			|| jsonb_build_object('note', repeat('x', floor(random() * 50)::int)) FROM generate_series(1, floor(random() ^ 2 * 200)::int));
		INSERT INTO many(doc) SELECT unnest(docs);
		INSERT INTO plain SELECT unnest(docs);
		IF i % 10 = 0 THEN
			DELETE FROM many WHERE doc->'v' < to_jsonb(i) AND doc->'v' > to_jsonb(i - 15);
			DELETE FROM plain WHERE doc->'v' < to_jsonb(i) AND doc->'v' > to_jsonb(i - 15);
		ELSIF i % 10 = 5 THEN
			UPDATE many SET doc = doc || '{"u": 1}' WHERE doc->'v' > to_jsonb(990 - i);
			UPDATE plain SET doc = doc || '{"u": 1}' WHERE doc->'v' > to_jsonb(990 - i);
		ELSIF i % 50 = 1 THEN
			PERFORM seal_buckets('many');
		END IF;
	END LOOP;
END $$;
BEGIN ISOLATION LEVEL REPEATABLE READ;
CREATE TABLE more AS SELECT reading('s1', (i * 7919) % 3600, i) AS doc FROM generate_series(1, 30000) i;
INSERT INTO many(doc) TABLE more;
INSERT INTO plain TABLE more;
COMMIT;
CREATE FUNCTION differences() RETURNS TABLE(missing bigint, surplus bigint, summaries bigint, counts bigint) LANGUAGE sql AS $$
	SELECT (SELECT count(*) FROM (SELECT doc::text FROM plain EXCEPT ALL SELECT doc::text FROM many) d),
		(SELECT count(*) FROM (SELECT doc::text FROM many EXCEPT ALL SELECT doc::text FROM plain) d),
		(SELECT count(*) FROM (SELECT meta, bucket_start, sum(count) AS n, sum((summary->'sum_v')::int) AS v FROM many_buckets GROUP BY 1, 2) b
			FULL JOIN (SELECT doc->'s' AS meta, date_trunc('hour', (doc->>'t')::timestamptz) AS bucket_start, count(*) AS n, sum((doc->'v')::int) AS v
				FROM plain GROUP BY 1, 2) p USING (meta, bucket_start) WHERE (b.n, b.v) IS DISTINCT FROM (p.n, p.v)),
		(SELECT count(*) FROM many_buckets WHERE count > 700 OR count <> jsonb_array_length(doc->'readings'))
$$;
SELECT * FROM differences();
SET maintenance_work_mem = '1MB';
SELECT seal_buckets('many') > 30000;
SELECT * FROM differences();
SELECT seal_buckets('many', 'infinity') < 10000;
RESET maintenance_work_mem;
SELECT * FROM differences();
SELECT landed('many_open');
-- the comparison sees what is missing
DELETE FROM plain WHERE ctid = (SELECT min(ctid) FROM plain);
SELECT * FROM differences();
-- a bucket that is larger than the memory for sealing is filled all the same
SELECT create_bucket_table('large', 's', 't', '1 hour', capacity => 20000);
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO large(doc) TABLE more;
INSERT INTO large(doc) SELECT reading('s2', i % 3600, i) FROM generate_series(1, 500) i;
COMMIT;
SET maintenance_work_mem = '1MB';
SELECT seal_buckets('large');
SELECT seal_buckets('large');
SELECT meta, bucket_no, count, summary FROM large_buckets ORDER BY meta, bucket_no;
SELECT seal_buckets('large', 'infinity');
RESET maintenance_work_mem;
SELECT landed('large_open');
SELECT meta, bucket_no, count, summary FROM large_buckets ORDER BY meta, bucket_no;
SELECT count(*) FROM (SELECT doc::text FROM more EXCEPT ALL SELECT doc::text FROM large) d;
DROP SCHEMA bucket_table_batch CASCADE;
