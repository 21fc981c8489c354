-- Bucket tables: what is written to the view of readings is what it shows, and
-- what the bucket documents say.
SET client_min_messages = warning;
SET timezone = 'UTC';
\pset format unaligned
\pset tuples_only on
CREATE SCHEMA bucket_tables;
SET search_path = bucket_tables, public;

-- The example of the texts
SELECT create_bucket_table('weather', meta_field => 'sensor_id', time_field => 'timestamp', width => '1 hour', capacity => 3);
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S1", "timestamp": "2026-09-02T10:00:01Z", "temp": 21.4}') RETURNING *;
INSERT INTO weather(doc) VALUES
	('{"sensor_id": "S1", "timestamp": "2026-09-02T10:00:03Z", "temp": 24.8, "humidity": 45}'),
	('{"sensor_id": "S2", "timestamp": "2026-09-02T10:59:59.999999Z", "temp": "n/a"}'),
	('{"sensor_id": "S1", "timestamp": "2026-09-02T10:00:02Z", "temp": null}') RETURNING at;
SELECT * FROM weather ORDER BY at;
SELECT bucket_no, count, summary, doc FROM weather_buckets ORDER BY meta;
SELECT count(*) FROM weather_open;

-- Sealed or not, the documents are the same.
CREATE TABLE before AS TABLE weather_buckets;
SELECT seal_buckets('weather');
SELECT count(*) FROM weather_open;
(TABLE before EXCEPT TABLE weather_buckets) UNION ALL (TABLE weather_buckets EXCEPT TABLE before);
SELECT seal_buckets('weather');
SELECT * FROM weather ORDER BY at;

-- A reading that comes late gets into its window's documents at once, in a sealed
-- bucket that has room or in another one.
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S1", "timestamp": "2026-09-02T10:00:00Z", "temp": 1}'),
	('{"sensor_id": "S2", "timestamp": "2026-09-02T10:00:00Z", "temp": 2}');
SELECT meta, bucket_no, count, summary, doc->'readings' FROM weather_buckets ORDER BY meta, bucket_no;
SELECT seal_buckets('weather');
SELECT meta, bucket_no, count, summary, doc->'readings' FROM weather_buckets ORDER BY meta, bucket_no;
SELECT meta, bucket_no, first, last, count FROM weather_sealed ORDER BY meta, bucket_no;

-- UPDATE and DELETE, in buckets and before
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S1", "timestamp": "2026-09-02T10:30:00Z", "temp": 30}');
UPDATE weather SET doc = doc || '{"temp": 22.5}' WHERE at IN ('2026-09-02 10:00:02Z', '2026-09-02 10:30:00Z') RETURNING doc, at;
SELECT bucket_no, count, summary FROM weather_buckets WHERE meta = '"S1"' ORDER BY bucket_no;
DELETE FROM weather WHERE doc @~ '{"temp": {"$lt": 22}}' RETURNING doc->'temp';
SELECT meta, bucket_no, count, summary FROM weather_buckets ORDER BY meta, bucket_no;
-- another time, another series: the reading moves
UPDATE weather SET doc = jsonb_set(doc, '{timestamp}', '"2026-09-02T11:00:00Z"') WHERE at = '2026-09-02 10:00:03Z' RETURNING bucket_start;
UPDATE weather SET doc = doc || '{"sensor_id": "S9"}' WHERE at = '2026-09-02 10:30:00Z' RETURNING meta;
SELECT meta, bucket_start, count, summary FROM weather_buckets ORDER BY meta, bucket_start;
-- what follows from the document is not assigned to
UPDATE weather SET meta = '"S3"';
UPDATE weather SET at = at + interval '1 s';
UPDATE weather SET bucket_start = NULL;
INSERT INTO weather VALUES ('{"sensor_id": "S1", "timestamp": "2026-09-02T10:00:01Z"}', '"S2"');
INSERT INTO weather_buckets(doc) VALUES ('{}');
DELETE FROM weather_buckets;
BEGIN;
CREATE TABLE copied AS TABLE weather;
DELETE FROM weather;
SELECT count(*) FROM weather_sealed;
SELECT count(*) FROM weather_buckets;
INSERT INTO weather SELECT * FROM copied;
SELECT count(*), count(*) = (SELECT count(*) FROM copied) FROM weather;
ROLLBACK;
-- a row that a join yields twice is changed once
UPDATE weather SET doc = doc || jsonb_build_object('n', n) FROM generate_series(1, 3) AS n WHERE meta = '"S9"';

-- Refused
INSERT INTO weather(doc) VALUES (NULL);
INSERT INTO weather(doc) VALUES ('[1]');
INSERT INTO weather(doc) VALUES ('{"timestamp": "2026-09-02T10:00:01Z"}');
INSERT INTO weather(doc) VALUES ('{"sensor_id": null, "timestamp": "2026-09-02T10:00:01Z"}');
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S1"}');
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S1", "timestamp": 1788343201}');
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S1", "timestamp": "2 Sep 2026"}');
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S1", "timestamp": "infinity"}');
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S1", "timestamp": null}');
INSERT INTO weather(doc) SELECT jsonb_build_object('sensor_id', repeat('x', 3000), 'timestamp', '2026-09-02T10:00:01Z');
UPDATE weather SET doc = doc - 'timestamp';
TRUNCATE weather;
COPY weather TO stdout;
-- ON CONFLICT is not for views: refused, or without effect
BEGIN;
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S5", "timestamp": "2026-09-02T10:00Z"}'), ('{"sensor_id": "S5", "timestamp": "2026-09-02T10:00Z"}') ON CONFLICT DO NOTHING;
SELECT count(*) FROM weather WHERE meta = '"S5"';
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S5", "timestamp": "2026-09-02T10:00Z"}') ON CONFLICT (meta, at) DO NOTHING;
ROLLBACK;
\set VERBOSITY sqlstate
INSERT INTO weather(doc) VALUES (NULL);
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S1"}');
INSERT INTO weather(doc) VALUES ('{"timestamp": "2026-09-02T10:00:01Z"}');
INSERT INTO weather(doc) VALUES ('{"sensor_id": "S1", "timestamp": 1788343201}');
INSERT INTO weather(doc) SELECT jsonb_build_object('sensor_id', repeat('x', 3000), 'timestamp', '2026-09-02T10:00:01Z');
UPDATE weather SET meta = '1';
INSERT INTO weather_buckets(doc) VALUES ('{}');
SELECT seal_buckets('pg_class'), seal_buckets('weather_open');
SELECT seal_buckets('weather_buckets');
SELECT create_bucket_table('weather', 'sensor_id', 'timestamp', '1 hour');
SELECT create_bucket_table('weather2', 'sensor_id', 'timestamp', '1 hour', on_duplicate => 'merge');
SELECT create_bucket_table('weather2', 'sensor_id', NULL, '1 hour');
BEGIN READ ONLY;
SELECT seal_buckets('weather');
ROLLBACK;
\set VERBOSITY default

-- drop_buckets, drop_bucket_table
SELECT count(*) FROM weather_buckets WHERE bucket_end <= '2026-09-02 11:00Z';
SELECT drop_buckets('weather', '2026-09-02 11:00Z');
SELECT meta, bucket_start, count FROM weather_buckets;
SELECT seal_buckets('weather', '2026-09-02 11:59Z'), seal_buckets('weather', '2026-09-02 12:00Z');
SELECT drop_buckets('weather', 'infinity'), drop_buckets('weather', 'infinity');
CREATE VIEW mine AS SELECT count(*) FROM weather;
SELECT drop_bucket_table('weather');
DROP VIEW mine;
SELECT drop_bucket_table('weather');
SELECT count(*) FROM pg_class WHERE relname LIKE 'weather%';

-- Two windows where the clock shows the same time twice
SELECT create_bucket_table('autumn', 's', 't', '1 hour', time_zone => 'America/New_York');
INSERT INTO autumn(doc) VALUES ('{"s": 1, "t": "2024-11-03T05:30:00Z"}'), ('{"s": 1, "t": "2024-11-03T06:30:00Z"}'),
	('{"s": 1, "t": "2024-11-03T00:10:00"}');
SELECT bucket_start, bucket_end, count FROM autumn_buckets ORDER BY 1;
SELECT create_bucket_table('days', 's', 't', '1 day', time_zone => 'Europe/Berlin');
INSERT INTO days(doc) VALUES ('{"s": 1, "t": "2026-03-29T00:00:00"}'), ('{"s": 1, "t": "2026-03-29T23:59:59.999999"}'), ('{"s": 1, "t": "2026-10-25T12:00"}');
SELECT bucket_start, bucket_end - bucket_start, count FROM days_buckets ORDER BY 1;
SELECT create_bucket_table('months', 's', 't', '1 month');
INSERT INTO months(doc) VALUES ('{"s": 1, "t": "1969-12-31T23:30:00Z"}'), ('{"s": 1, "t": "2024-02-29"}'), ('{"s": 1, "t": "0001-01-01T00:00:00Z"}');
SELECT bucket_start, bucket_end, count FROM months_buckets ORDER BY 1;
SELECT create_bucket_table('old', 's', 't', '1 hour');
INSERT INTO old(doc) VALUES ('{"s": 1, "t": "1969-12-31T23:30:00Z"}'), ('{"s": 1, "t": "1999-12-31T23:59:59.999Z"}');
SELECT seal_buckets('old');
SELECT bucket_start, bucket_end, count FROM old_buckets ORDER BY 1;
INSERT INTO old(doc) VALUES ('{"s": 1, "t": "294276-12-31T23:59:59Z"}');

-- Times of all kinds: as they are written, and as MongoDB writes a date
SELECT create_bucket_table('times', 's', 't', '1 second', time_zone => 'Asia/Kathmandu');
INSERT INTO times(doc) SELECT jsonb_build_object('s', i, 't', t) FROM unnest(ARRAY['"2026-09-02T10:00:01Z"', '"2026-09-02 10:00:01.5+00"',
	'"2026-09-02t10:00:01,123456789z"', '"2026-09-02T10:00:01.9999995-03:30"', '"2026-09-02T10:00:01+0545"', '"2026-09-02T10:00"', '"2026-09-02"', '"2026-09-02T24:00:00Z"',
	'"2026-06-30T23:59:60Z"', '{"$date": "2026-09-02T10:00:01Z"}', '{"$date": 1788343201123}', '{"$date": {"$numberLong": "-1"}}', '"12026-09-02T10:00:01Z"']::jsonb[])
	WITH ORDINALITY u(t, i);
SELECT doc->'t', at FROM times ORDER BY meta;
SET timezone = 'America/Los_Angeles'; SET datestyle = 'German';
SELECT count(*) FROM times WHERE at <> public.bucket_table_at(doc, 't', 'Asia/Kathmandu');
SELECT at = '2026-09-02 04:15:00Z' FROM times WHERE meta = '6';
RESET datestyle; SET timezone = 'UTC';
DO $$
DECLARE
	t jsonb;
BEGIN
	FOR t IN SELECT * FROM unnest(ARRAY['"2026-9-02"', '"2026-02-29"', '"2026-13-01"', '"0000-01-01"', '"2026-09-02T25:00"', '"2026-09-02T24:00:01"', '"2026-09-02T10:60"', '"2026-09-02T10:00:61"',
		'"2026-09-02T10:00:01."', '"2026-09-02T10:00:01Zx"', '"2026-09-02T10:00:01+2"', '"2026-09-02T10:00:01+16:00"', '"2026-09-02T"', '""', '" 2026-09-02"', '"9999999-01-01"', '"999999-01-01"',
		'{"$date": "x"}', '{"$date": 1e30}', '{"$date": 1.5}', '{"$date": {"$numberLong": "9223372036854775808"}}', '{"$date": {"$numberLong": "1x"}}', '{"$date": 1, "x": 1}', '{}', '[]', 'true']::jsonb[])
	LOOP
		BEGIN
			INSERT INTO times(doc) VALUES (jsonb_build_object('s', 1, 't', t));
			RAISE WARNING 'accepted %', t;
		EXCEPTION WHEN invalid_parameter_value THEN
		END;
	END LOOP;
END $$;
SELECT count(*) FROM times;

-- A late reading, after sealing
SELECT create_bucket_table('late', 's', 't', '1 hour');
INSERT INTO late(doc) SELECT jsonb_build_object('s', 's1', 't', '2026-09-02T' || t || 'Z', 'v', v) FROM (VALUES ('10:05', 4), ('10:40', 6), ('11:05', 9)) r(t, v);
SELECT seal_buckets('late');
INSERT INTO late(doc) VALUES ('{"s": "s1", "t": "2026-09-02T10:30Z", "v": 1}');
SELECT bucket_start, count, summary, jsonb_path_query_array(doc, '$.readings[*].t') FROM late_buckets ORDER BY 1;
SELECT seal_buckets('late');
SELECT bucket_start, count, summary, jsonb_path_query_array(doc, '$.readings[*].t') FROM late_buckets ORDER BY 1;

-- One group several times in a statement
SELECT create_bucket_table('batch', 's', 't', '1 hour');
INSERT INTO batch(doc) VALUES ('{"s": "s1", "t": "2026-09-02T10:01Z", "v": 2}'), ('{"s": "s1", "t": "2026-09-02T10:02Z", "v": 3}'),
	('{"s": "s2", "t": "2026-09-02T10:01Z", "v": 5}'), ('{"s": "s1", "t": "2026-09-02T10:03Z", "v": 4}');
SELECT meta, count, summary->'sum_v' FROM batch_buckets ORDER BY 1;

-- However readings come, a window has no more documents than it needs.
SELECT create_bucket_table('batches', 's', 't', '1 hour', capacity => 3500);
DO $$
BEGIN
	FOR size IN 1..400 LOOP
		INSERT INTO batches(doc) SELECT jsonb_build_object('s', size % 3, 't', timestamp '2026-09-02' + n * interval '1 second', 'v', size)
		FROM generate_series(1, (size * 37) % 150) n;
	END LOOP;
END $$;
SELECT meta, count(*), sum(count), sum(count) / 3500 + 1 AS needed, max(count) FROM batches_buckets GROUP BY 1 ORDER BY 1;
SELECT seal_buckets('batches') > 0;
SELECT meta, count(*), sum(count), sum(count) / 3500 + 1 AS needed, max(count) FROM batches_buckets GROUP BY 1 ORDER BY 1;

-- Sums are exact
SELECT create_bucket_table('exact', 's', 't', '1 day', capacity => 20000);
INSERT INTO exact(doc) SELECT jsonb_build_object('s', 'tenth', 't', timestamp '2026-09-02' + i * interval '1 s', 'v', 0.1) FROM generate_series(1, 10000) i;
INSERT INTO exact(doc) SELECT jsonb_build_object('s', 'large', 't', timestamp '2026-09-02' + i * interval '1 s', 'v', v) FROM unnest(ARRAY[1e16, 1, -1e16]) WITH ORDINALITY u(v, i);
INSERT INTO exact(doc) SELECT jsonb_build_object('s', 'gone', 't', timestamp '2026-09-02' + i * interval '1 s', 'v', i / 10.0) FROM generate_series(1, 2) i;
SELECT meta, count, summary->'sum_v', summary->'avg_v' FROM exact_buckets ORDER BY 1;
SELECT seal_buckets('exact') > 0;
DELETE FROM exact WHERE meta = '"gone"';
SELECT meta, count, summary->'sum_v', summary->'avg_v' FROM exact_buckets ORDER BY 1;

-- Many readings of one instant, in two sessions of which one is later
SELECT create_bucket_table('dense', 's', 't', '1 hour', capacity => 2);
INSERT INTO dense(doc) SELECT jsonb_build_object('s', 1, 't', '2026-09-02T10:00:00Z', 'i', i) FROM generate_series(1, 5) i;
\c -
SET search_path = bucket_tables, public; SET client_min_messages = warning; SET timezone = 'UTC';
INSERT INTO dense(doc) SELECT jsonb_build_object('s', 1, 't', '2026-09-02T10:00:00Z', 'i', i) FROM generate_series(6, 10) i;
SELECT bucket_no, count FROM dense_buckets ORDER BY 1;
SELECT seal_buckets('dense') >= 0;
SELECT bucket_no, count, jsonb_path_query_array(doc, '$.readings[*].i') FROM dense_buckets ORDER BY 1;
SELECT jsonb_agg(doc->'i' ORDER BY doc->'i') FROM dense;

-- A series may be any value; numbers are equal by value, and stay as they were written.
SELECT create_bucket_table('metas', 's', 't', '1 hour');
INSERT INTO metas(doc) SELECT jsonb_build_object('s', s, 't', '2026-09-02T10:00:00Z') FROM unnest(ARRAY['1', '1.0', '"1"', 'true', '[]', '{"a": 1}', '{"a": 1.00}', '""']::jsonb[]) s;
SELECT seal_buckets('metas');
SELECT meta, count, doc FROM metas_buckets ORDER BY meta;
SELECT doc->'s' FROM metas WHERE meta = '1' ORDER BY doc->>'s';
DELETE FROM metas WHERE meta IN ('1', '{"a": 1}') AND doc->>'s' LIKE '%1.0%';
SELECT meta, count FROM metas_buckets ORDER BY meta;
DELETE FROM metas WHERE meta = '1.000';
SELECT count(*) FROM metas;

-- bucket_range
SELECT create_bucket_table('ranges', 's', 't', '10 minutes');
INSERT INTO ranges(doc) SELECT jsonb_build_object('s', 'S' || i % 2, 't', timestamp '2026-09-02' + i * interval '1 minute', 'i', i) FROM generate_series(0, 99) i;
SELECT string_agg(doc->>'i', ' ') FROM bucket_range('ranges', '"S1"', '2026-09-02 00:55Z', '2026-09-02 01:11Z') doc;
SELECT count(*) FROM bucket_range('ranges', '"S1"', '-infinity', 'infinity');
SELECT count(*) FROM bucket_range('ranges', '"S3"', '-infinity', 'infinity');
SELECT bucket_range('ranges', NULL, '-infinity', 'infinity');
SELECT bucket_range('ranges', '1', NULL, 'infinity');
SELECT bucket_range('ranges', '1', 'infinity', NULL);
SELECT bucket_range(NULL, '1', '-infinity', 'infinity');
-- predicates reach the buckets
SET enable_seqscan = off; SET enable_bitmapscan = off;
CREATE FUNCTION index_conditions(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Index Cond|Scan' THEN
			RETURN NEXT regexp_replace(line, '^[ >-]*', '');
		END IF;
	END LOOP;
END $$;
SELECT index_conditions($$SELECT doc FROM ranges WHERE meta = '"S1"' AND bucket_start >= '2026-09-02 00:30Z'$$);
SELECT index_conditions($$SELECT summary FROM ranges_buckets WHERE meta = '"S1"' AND bucket_start = '2026-09-02 00:30Z'$$);
RESET enable_seqscan; RESET enable_bitmapscan;

DROP SCHEMA bucket_tables CASCADE;
