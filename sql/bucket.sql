-- Bucket pattern: value functions
\pset null '(null)'
SET timezone = 'UTC';

-- what a bucket of these readings must be, in plain SQL
CREATE FUNCTION expected_bucket(readings jsonb) RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_build_object('count', jsonb_array_length(readings), 'readings', readings, 'summary',
    coalesce((SELECT jsonb_object_agg(stat || '_' || name, number) FROM
      (SELECT name, min(n) AS min, max(n) AS max, sum(n) AS sum, avg(n) AS avg, count(n) AS count
       FROM (SELECT f.key AS name, (f.value #>> '{}')::numeric AS n FROM jsonb_array_elements(readings) r(doc), jsonb_each(r.doc) f
             WHERE jsonb_typeof(f.value) = 'number') s GROUP BY name) g,
      LATERAL (VALUES ('min', min), ('max', max), ('sum', sum), ('avg', avg), ('count', nullif(count, jsonb_array_length(readings)))) v(stat, number)
      WHERE number IS NOT NULL), '{}')) $$;
CREATE FUNCTION append(bucket jsonb, reading jsonb) RETURNS jsonb LANGUAGE sql AS $$ SELECT bucket_append(bucket, reading) $$;
CREATE AGGREGATE appended(jsonb) (SFUNC = append, STYPE = jsonb);

-- one reading after the other
SELECT bucket_append(NULL, '{"timestamp": "2026-09-02T10:00:01Z", "temp": 21.4, "humidity": 45}');
SELECT jsonb_pretty(bucket_append(bucket_append('{}', '{"at": "10:00", "temp": 21}'), '{"at": "10:01", "temp": 24, "ok": true, "nested": {"temp": 5}}'));
SELECT bucket_append(NULL, '{}'), bucket_append('{}', '{"a": null, "b": "1", "c": [1]}');
-- what the caller keeps beside them stays, also inside the summary
SELECT bucket_append('{"sensor_id": "SENSOR-EAST-01", "bucket_start": "2026-09-02T10:00:00Z", "bucket_end": "2026-09-02T10:59:59Z", "a": [1, {"x": 2}], "zzzzzzzzzz": null}',
                     '{"timestamp": "2026-09-02T10:00:01Z", "temp": 21.4}');
SELECT bucket_append('{"sensor_id": "S1", "count": 1, "summary": {"min_temp": 21.4, "max_temp": 21.4, "sum_temp": 21.4, "avg_temp": 21.4, "note": "ok", "sum_note": "x"}, "readings": [{"temp": 21.4}]}',
                     '{"temp": 24.8}');
-- a bucket that had no summary, or not all of it, gets one of all its readings
SELECT bucket_append('{"sensorId": "sensor-17", "bucketStart": "2026-05-01T10:00:00Z", "readings": [{"at": "10:00:01", "temperature": 21.2}, {"at": "10:00:05", "temperature": 21.3}], "count": 2}',
                     '{"at": "10:00:06", "temperature": 21.5}');
SELECT bucket_append('{"count": 2, "summary": {"min_temp": 1, "max_temp": 3, "sum_temp": 4}, "readings": [{"temp": 1, "hum": 40}, {"temp": 3, "hum": 50}]}', '{"temp": 2}');
SELECT bucket_append('{"count": 2, "summary": {"min_temp": 1, "max_temp": 3, "sum_temp": 4}, "readings": [{"temp": 1, "hum": 40}, {"temp": 3, "hum": 50}]}', '{"temp": 2, "hum": 45}');
SELECT bucket_append('{"count": 0, "summary": {"min_temp": null, "sum_temp": 0}, "readings": []}', '{"temp": 5}'),
       bucket_append('{"readings": [{"t": 1}, 7, null]}', '{"t": 2}'), bucket_append('{"summary": {}}', '{"t": 2}');

-- fields that not every reading has: the average is of those that have it
SELECT jsonb_pretty(appended(r) -> 'summary')
FROM (VALUES ('{"temp": 20, "hum": 40}'::jsonb), ('{"temp": 22}'), ('{"temp": "n/a", "hum": 60}'), ('{"temp": 24, "wind": 5}')) v(r);

-- sums are exact
SELECT appended(jsonb_build_object('x', x)) -> 'summary' FROM unnest(ARRAY[1e16, 1, -1e16]) x;
SELECT appended('{"x": 0.1}') -> 'summary' FROM generate_series(1, 1000);
SELECT bucket_agg('{"x": 0.1}') -> 'summary' FROM generate_series(1, 10000);
SELECT bucket_agg(jsonb_build_object('x', x)) -> 'summary'
FROM unnest(ARRAY[99999999999999999999999999999999999999.5, -0.00000000000000000000000000000000000001, 1e-30, 5, -7.25]::numeric[]) x;

-- full
SELECT bucket_append('{"count": 2, "readings": [{"a": 1}, {"a": 2}]}', '{"a": 3}', 3) -> 'count' AS count;
SELECT bucket_append('{"count": 2, "readings": [{"a": 1}, {"a": 2}]}', '{"a": 3}', capacity => 2);
SELECT bucket_append('{"count": 3600, "readings": []}', '{"a": 3}', 3600);
SELECT bucket_append(NULL, '{"a": 3}', 0);
SELECT bucket_append(NULL, '{"a": 3}', NULL) -> 'count' AS count, bucket_append(NULL, '{"a": 3}', 1) -> 'count' AS count;

-- documents of another shape
SELECT bucket_append('{}', NULL);
SELECT bucket_append('{}', '5');
SELECT bucket_append('{}', '[{"a": 1}]');
SELECT bucket_append('null', '{"a": 1}');
SELECT bucket_append('[]', '{"a": 1}');
SELECT bucket_append('{"count": "1", "readings": [1]}', '{"a": 1}');
SELECT bucket_append('{"count": null}', '{"a": 1}');
SELECT bucket_append('{"count": 0.5}', '{"a": 1}');
SELECT bucket_append('{"count": -1}', '{"a": 1}');
SELECT bucket_append('{"count": 1e30}', '{"a": 1}');
SELECT bucket_append('{"count": 1, "readings": [{}, {}]}', '{"a": 1}');
SELECT bucket_append('{"count": 1}', '{"a": 1}');
SELECT bucket_append('{"readings": {"a": 1}}', '{"a": 1}');
SELECT bucket_append('{"readings": null}', '{"a": 1}');
SELECT bucket_append('{"summary": [1]}', '{"a": 1}');
SELECT bucket_append('{"count": 1, "summary": {"min_a": 1, "max_a": "2", "sum_a": 1}, "readings": [{"a": 1}]}', '{"a": 1}');
SELECT bucket_append('{"count": 1, "summary": {"min_a": 1, "max_a": 2, "sum_a": 1, "count_a": 2}, "readings": [{"a": 1}]}', '{"a": 1}');

-- random readings of every number up to 150: appending, aggregating and plain SQL agree
CREATE TABLE reading AS
SELECT b AS bucket, i AS at,
       jsonb_build_object('at', i, 'text', repeat('x', i % 5)) ||
       CASE WHEN (i * 7 + b) % 11 > 0 THEN jsonb_build_object('temp', (i * 37 + b * 11) % 101 / 8.0) ELSE '{}' END ||
       CASE WHEN i % 4 < b % 5 THEN jsonb_build_object('f' || (i + b) % 3, CASE WHEN i % 6 = 0 THEN '"n/a"' ELSE to_jsonb(round(i / 7.0, i % 9) * 1e5) END) ELSE '{}' END AS doc
FROM generate_series(1, 150) b, generate_series(1, b) i;
SELECT count(*) AS buckets, count(*) FILTER (WHERE appended <> expected) AS wrong, count(*) FILTER (WHERE aggregated::text <> appended::text) AS other
FROM (SELECT expected_bucket(jsonb_agg(doc ORDER BY at)) AS expected, appended(doc ORDER BY at) AS appended, bucket_agg(doc ORDER BY at) AS aggregated
      FROM reading GROUP BY bucket) s;
-- the fields beside stay where they are, of whatever length, while the bucket grows
SELECT count(*) AS buckets, count(*) FILTER (WHERE doc <> expected_bucket(doc -> 'readings') || jsonb_build_object(name, repeat('y', n), repeat('z', 20), n)) AS wrong
FROM generate_series(0, 9) n, LATERAL (SELECT repeat('k', n + 1) AS name) k, LATERAL (
  WITH RECURSIVE growing(i, doc) AS (
    SELECT 0, jsonb_build_object(name, repeat('y', n), repeat('z', 20), n)
    UNION ALL SELECT i + 1, bucket_append(growing.doc, (SELECT r.doc FROM reading r WHERE bucket = 150 AND at = i + 1)) FROM growing WHERE i < 70)
  SELECT doc FROM growing WHERE i > 0) g;

-- the aggregate with an order: numbers by value, missing first, equal ones in the order of arrival
SELECT bucket_agg(r, 't') -> 'readings' AS readings, bucket_agg(r, 'a.b desc, n') -> 'readings' AS "by path", bucket_agg(r, NULL) -> 'readings' AS unordered
FROM (VALUES ('{"t": 10, "n": 1}'::jsonb), (NULL), ('{"t": 9, "n": 2, "a": {"b": 1}}'), ('{"n": 3, "a": {"b": 2}}'), ('{"t": 10.0, "n": 4}')) v(r);
SELECT count(*) AS buckets, count(*) FILTER (WHERE bucket_agg <> expected) AS wrong
FROM (SELECT bucket_agg(doc, 'temp desc, at'), expected_bucket(jsonb_agg(doc ORDER BY (doc ->> 'temp')::numeric DESC NULLS LAST, at)) AS expected
      FROM (SELECT * FROM reading ORDER BY md5(doc::text)) s GROUP BY bucket) s;
SELECT bucket_agg(r, 't') FROM (SELECT NULL::jsonb) v(r);
SELECT bucket_agg(doc) FROM reading WHERE bucket < 0;
SELECT bucket, bucket_agg(doc) -> 'summary' AS summary FROM reading WHERE bucket < 4 GROUP BY bucket ORDER BY bucket;
-- late readings land in their own bucket
SELECT b, bucket_agg(doc, 'at') - 'readings' AS bucket, bucket_agg(doc, 'at') @? '$.readings[1] ? (@.at == "2026-05-01T10:30:00Z")' AS "second is the late one"
FROM (VALUES ('2026-05-01T10:05:00Z', 4), ('2026-05-01T10:40:00Z', 6), ('2026-05-01T11:05:00Z', 9), ('2026-05-01T10:30:00Z', 1)) v(at, v),
     LATERAL (SELECT bucket_start(at::timestamptz, '1 hour') AS b, jsonb_build_object('at', at, 'v', v) AS doc) s
GROUP BY b ORDER BY b;
SELECT bucket_agg('7') FROM reading;
SELECT bucket_agg(doc, 'at,') FROM reading;
SELECT bucket_agg(doc, CASE WHEN at < 3 THEN 'at' ELSE 'temp' END) FROM reading WHERE bucket = 5;
SELECT bucket_agg(doc, CASE WHEN at < 3 THEN 'at' END) FROM reading WHERE bucket = 5;
SELECT at, bucket_agg(doc, 'at desc') OVER (ORDER BY at) -> 'summary' -> 'sum_at' AS sum, bucket_agg(doc, 'at desc') OVER (ORDER BY at) -> 'readings' -> 0 -> 'at' AS last
FROM reading WHERE bucket = 4;

-- in parallel
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
SET enable_hashagg = off;
EXPLAIN (COSTS OFF) SELECT bucket, bucket_agg(doc, 'at') FROM reading GROUP BY bucket;
SELECT count(*) AS buckets, count(*) FILTER (WHERE bucket_agg <> expected) AS wrong
FROM (SELECT bucket, bucket_agg(doc, 'at') FROM reading GROUP BY bucket) p
JOIN (SELECT bucket, expected_bucket(jsonb_agg(doc ORDER BY at)) AS expected FROM reading GROUP BY bucket) e USING (bucket);
SELECT bucket_agg(doc) FROM reading WHERE bucket < 0;
DO $$ BEGIN -- the error may come from a worker, with another context
  PERFORM bucket_agg(doc, CASE WHEN at < 3 THEN 'at' END) FROM reading;
EXCEPTION WHEN invalid_parameter_value THEN RAISE NOTICE '%', SQLERRM; END $$;
RESET enable_hashagg; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;

-- readings, from a stored and compressed document too
SELECT * FROM bucket_readings('{"count": 2, "readings": [{"a": 1}, "x"]}');
SELECT count(*) FROM bucket_readings('{}') a FULL JOIN bucket_readings(NULL) b ON true;
SELECT bucket_readings('{"readings": []}');
SELECT * FROM bucket_readings('{"readings": 5}');
SELECT * FROM bucket_readings('7');
CREATE TABLE stored AS SELECT bucket_agg(jsonb_build_object('at', i, 'temp', i % 7)) AS doc FROM generate_series(1, 5000) i;
SELECT count(*), sum((r ->> 'at')::int), min(r ->> 'temp') FROM stored, bucket_readings(doc) r;
UPDATE stored SET doc = bucket_append(doc, '{"at": 5001, "temp": -1}');
SELECT doc - 'readings' AS doc, doc -> 'readings' -> -1 AS last, doc = expected_bucket(doc -> 'readings') AS same FROM stored;
-- several readings for the same bucket in one statement
CREATE TABLE bucket(sensor text PRIMARY KEY, doc jsonb);
INSERT INTO bucket VALUES ('s1', bucket_append('{"sensor": "s1"}', '{"v": 2}'));
INSERT INTO bucket AS b SELECT sensor, bucket_agg(r) FROM (VALUES ('s1', '{"v": 3}'::jsonb), ('s2', '{"v": 5}'), ('s1', '{"v": 4}')) n(sensor, r) GROUP BY sensor
ON CONFLICT (sensor) DO UPDATE SET doc = b.doc || (SELECT bucket_agg(r) FROM (SELECT bucket_readings(b.doc) UNION ALL SELECT bucket_readings(excluded.doc)) s(r));
SELECT sensor, doc FROM bucket ORDER BY sensor;
DROP TABLE bucket, stored, reading;
DROP AGGREGATE appended(jsonb);
DROP FUNCTION append, expected_bucket;

-- windows of time: against date_bin, whose origin one has to give
SELECT count(*) AS cases, count(*) FILTER (WHERE bucket_start(at, width) <> date_bin(width, at, '2000-01-03Z')) AS wrong
FROM (SELECT at, width FROM generate_series(-40, 90) i, (VALUES ('-1'::interval), ('1')) s(sign),
        LATERAL (SELECT timestamptz '1999-12-31 23:59:59.999999Z' + i * abs(i) * interval '3 days 7 hours 11 minutes 13.7 seconds') a(at),
        unnest(ARRAY['1 second', '7 minutes', '1 hour', '25 hours', '1 day', '2 days', '1 week', '1 day 12:00', '0.25 seconds', '1 microsecond', '1 day -1 hour']::interval[]) width) s;
SELECT count(*) AS cases, count(*) FILTER (WHERE bucket_start(at, w) <> date_trunc(unit, at)) AS wrong
FROM (SELECT timestamptz '2024-02-29 13:14:15.5Z' + i * interval '100 days 5 hours' AS at FROM generate_series(-400, 400) i) a,
     (VALUES ('second', interval '1 second'), ('minute', '1 minute'), ('hour', '1 hour'), ('day', '1 day'), ('week', '1 week'), ('month', '1 month'), ('quarter', '3 months'), ('year', '1 year')) u(unit, w);
SELECT bucket_start('1969-12-31 23:30Z', '1 hour'), bucket_start('1999-12-31 23:59:59.999Z', '1 day'), bucket_start('0099-06-15 BC', '100 years'), bucket_start('2024-02-29', '5 months');
SELECT bucket_start(at => '2026-09-02 10:20:30Z', width => '1 hour', time_zone => 'Asia/Kolkata'), bucket_start('2026-09-02 10:20:30Z', '1 day', NULL), bucket_start(NULL, '1 day');

-- where the clocks change: in New York an hour comes twice, and each is a window
SELECT at, bucket_start(at, '1 hour', 'America/New_York') AS hour, bucket_start(at, '6 hours', 'America/New_York') AS "6 hours", bucket_start(at, '1 day', 'America/New_York') AS day
FROM (VALUES (timestamptz '2024-11-03 03:59Z'), ('2024-11-03 05:30Z'), ('2024-11-03 06:30Z'), ('2024-11-03 07:30Z'), ('2024-11-03 11:00Z'), ('2024-11-04 04:59Z'), ('2024-11-04 05:00Z'),
             ('2024-03-10 06:59Z'), ('2024-03-10 07:00Z'), ('2024-03-10 10:00Z'), ('2024-03-11 03:59Z'), ('2024-03-11 04:00Z')) v(at);
-- days of 23 and 25 hours, also where midnight is skipped (Beirut) or comes twice (Amman, Havana), and a skipped day (Apia)
SELECT zone, start AT TIME ZONE zone AS local, lead(start) OVER (PARTITION BY zone, span ORDER BY start) - start AS length
FROM (SELECT DISTINCT zone, span, bucket_start(at, '1 day', zone) AS start
      FROM (VALUES ('America/New_York', 1, timestamptz '2024-03-09 12:00Z'), ('America/New_York', 2, '2024-11-02 12:00Z'), ('Asia/Beirut', 1, '2024-03-29 12:00Z'),
                   ('Asia/Amman', 1, '2021-10-28 12:00Z'), ('America/Havana', 1, '2024-11-02 12:00Z'), ('Pacific/Apia', 1, '2011-12-29 12:00Z')) z(zone, span, since),
           generate_series(since, since + interval '2 days', '1 hour') at) s ORDER BY zone, span, start;
-- no window begins after what it holds, none overlaps another, and starts are their own starts
SELECT width, count(*) AS cases, count(*) FILTER (WHERE start > at) AS late, count(*) FILTER (WHERE start < before) AS back, count(*) FILTER (WHERE bucket_start(start, width, zone) <> start) AS moved,
       count(*) FILTER (WHERE start <> date_trunc('day', at, zone) AND date_trunc('day', at, zone) <= at AND width = '1 day') AS "other than date_trunc"
FROM (SELECT *, lag(start) OVER (PARTITION BY zone, width, since ORDER BY at) AS before
      FROM (SELECT *, bucket_start(at, width, zone) AS start
            FROM unnest(ARRAY['America/New_York', 'America/St_Johns', 'America/Havana', 'Asia/Amman', 'Australia/Lord_Howe', 'Pacific/Apia', 'Europe/Dublin', 'Africa/Casablanca']) zone,
                 unnest(ARRAY['20 minutes', '1 hour', '7 hours', '1 day', '36 hours', '1 month']::interval[]) width,
                 unnest(ARRAY['1987-10-24Z', '2011-12-28Z', '2021-03-25Z', '2021-10-27Z', '2024-03-08Z', '2024-11-01Z']::timestamptz[]) since,
                 generate_series(since, since + interval '4 days', '10 minutes') at) s) s GROUP BY width ORDER BY width;

-- what is no window
SELECT bucket_start('infinity', '1 hour');
SELECT bucket_start('-infinity', '1 hour');
SELECT bucket_start('2024-01-01', '0 seconds');
SELECT bucket_start('2024-01-01', '-1 day');
SELECT bucket_start('2024-01-01', '1 day -25 hours');
SELECT bucket_start('2024-01-01', '1 month 1 day');
SELECT bucket_start('2024-01-01', '1 month -1 second');
SELECT bucket_start('2024-01-01', '-1 month');
SELECT bucket_start('2024-01-01', '2000000000 days');
SELECT bucket_start('2024-01-01', NULL);
SELECT bucket_start('2024-01-01', '1 day', 'Nowhere/Land');
SELECT bucket_start('2024-01-01', '1 day', '');
SELECT bucket_start('4713-11-24 00:00Z BC', '1000 days');
SELECT bucket_start('4713-11-24 00:00Z BC', '100000 years');
SELECT bucket_start('294276-12-31 23:59:59.999999Z', '7 hours', 'Asia/Tokyo'), bucket_start('294276-12-31 23:59:59.999999Z', '5 years', 'Asia/Tokyo');
