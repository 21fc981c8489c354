-- Bucket tables: two readings of one series and time, in whatever order they get
-- in and are sealed.
SET client_min_messages = warning;
SET timezone = 'UTC';
\pset format unaligned
\pset tuples_only on
CREATE SCHEMA bucket_duplicates;
SET search_path = bucket_duplicates, public;

SELECT on_duplicate, create_bucket_table('t_' || on_duplicate, 's', 't', '1 hour', capacity => 4, on_duplicate => on_duplicate)
FROM unnest(ARRAY['keep', 'replace', 'ignore', 'error']) on_duplicate;

-- What one writes to all four, and what they then say
CREATE PROCEDURE write(what text) LANGUAGE plpgsql AS $$
DECLARE
	name text;
	n bigint;
	detail text;
BEGIN
	FOREACH name IN ARRAY ARRAY['t_keep', 't_replace', 't_ignore', 't_error'] LOOP
		BEGIN
			EXECUTE replace(what, '{t}', name);
			GET DIAGNOSTICS n = ROW_COUNT;
			RAISE INFO '%: % rows', name, n;
		EXCEPTION WHEN unique_violation OR serialization_failure THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
			RAISE INFO '%: % % %', name, SQLSTATE, SQLERRM, detail;
		END;
	END LOOP;
END $$;
CREATE VIEW said AS
SELECT 1 AS n, 'keep' AS on_duplicate, meta, bucket_no, count, summary, doc->'readings' AS readings FROM t_keep_buckets
UNION ALL SELECT 2, 'replace', meta, bucket_no, count, summary, doc->'readings' FROM t_replace_buckets
UNION ALL SELECT 3, 'ignore', meta, bucket_no, count, summary, doc->'readings' FROM t_ignore_buckets
UNION ALL SELECT 4, 'error', meta, bucket_no, count, summary, doc->'readings' FROM t_error_buckets;

CALL write($$INSERT INTO {t}(doc) VALUES ('{"s": "s1", "t": "2026-09-02T10:00Z", "v": 5}')$$);
CALL write($$INSERT INTO {t}(doc) VALUES ('{"s": "s1", "t": "2026-09-02T10:00:00.000Z", "v": 7}')$$);
SELECT on_duplicate, count, summary->'sum_v', summary->'min_v', summary->'max_v' FROM said ORDER BY n;
-- the first is sealed
SELECT seal_buckets('t_keep'), seal_buckets('t_replace'), seal_buckets('t_ignore'), seal_buckets('t_error');
CALL write($$INSERT INTO {t}(doc) VALUES ('{"s": "s1", "t": "2026-09-02T12:00+02:00", "v": 9}')$$);
SELECT on_duplicate, count, summary->'sum_v', summary->'min_v', summary->'max_v', readings FROM said ORDER BY n;
SELECT seal_buckets('t_keep'), seal_buckets('t_replace'), seal_buckets('t_ignore'), seal_buckets('t_error');
SELECT on_duplicate, count, summary->'sum_v', summary->'min_v', summary->'max_v', readings FROM said ORDER BY n;
-- within a statement, and beside others
CALL write($$INSERT INTO {t}(doc) SELECT jsonb_build_object('s', s, 't', '2026-09-02T10:00:0' || i % 3, 'v', i) FROM unnest(ARRAY['s1', 's2']) s, generate_series(1, 5) i$$);
SELECT on_duplicate, meta, bucket_no, count, summary->'sum_v', readings FROM said ORDER BY n, meta, bucket_no;
-- moved to a time that is taken, in the open table and in a bucket
SELECT seal_buckets('t_keep'), seal_buckets('t_replace'), seal_buckets('t_ignore'), seal_buckets('t_error');
CALL write($$INSERT INTO {t}(doc) VALUES ('{"s": "s3", "t": "2026-09-02T10:00Z", "v": 1}'), ('{"s": "s3", "t": "2026-09-02T10:01Z", "v": 2}')$$);
SELECT seal_buckets('t_keep'), seal_buckets('t_replace'), seal_buckets('t_ignore'), seal_buckets('t_error');
CALL write($$INSERT INTO {t}(doc) VALUES ('{"s": "s3", "t": "2026-09-02T10:02Z", "v": 3}'), ('{"s": "s3", "t": "2026-09-02T10:03Z", "v": 4}')$$);
CALL write($$UPDATE {t} SET doc = doc || '{"t": "2026-09-02T10:00Z"}' WHERE at = '2026-09-02 10:02Z'$$);
CALL write($$UPDATE {t} SET doc = doc || '{"t": "2026-09-02T10:03Z"}' WHERE at = '2026-09-02 10:01Z'$$);
-- the same time and another value is no duplicate of itself
CALL write($$UPDATE {t} SET doc = doc || '{"v": 40}' WHERE at = '2026-09-02 10:03Z'$$);
SELECT on_duplicate, count, summary->'sum_v', readings FROM said WHERE meta = '"s3"' ORDER BY n, bucket_no;
-- RETURNING tells what got in
INSERT INTO t_ignore(doc) VALUES ('{"s": "s1", "t": "2026-09-02T10:00Z", "v": 5}'), ('{"s": "s5", "t": "2026-09-02T10:00Z", "v": 5}') RETURNING doc;
-- COPY
COPY t_ignore(doc) FROM stdin;
{"s": "s5", "t": "2026-09-02T10:00Z", "v": 6}
{"s": "s5", "t": "2026-09-02T10:01Z", "v": 7}
\.
COPY t_error(doc) FROM stdin;
{"s": "s5", "t": "2026-09-02T10:00Z", "v": 6}
{"s": "s5", "t": "2026-09-02T10:00Z", "v": 7}
\.
SELECT doc FROM t_ignore WHERE meta = '"s5"' ORDER BY at;
SELECT count(*) FROM t_error WHERE meta = '"s5"';

-- Against a plain table, at random: one reading of each time
CREATE TABLE plain (doc jsonb, s int, t timestamptz, PRIMARY KEY (s, t));
SELECT create_bucket_table('random', 's', 't', '1 minute', capacity => 7, on_duplicate => 'replace');
SELECT setseed(0.5);
DO $$
DECLARE
	reading jsonb; series int; instant timestamptz;
BEGIN
	FOR i IN 1..3000 LOOP
		series := random() * 3;
		instant := timestamptz '2026-09-02 10:00Z' + floor(random() * 600) * interval '1 second';
		reading := jsonb_build_object('s', series, 't', instant, 'v', i);
		IF random() < 0.8 THEN
			INSERT INTO random(doc) VALUES (reading);
			INSERT INTO plain VALUES (reading, series, instant) ON CONFLICT ON CONSTRAINT plain_pkey DO UPDATE SET doc = excluded.doc;
		ELSIF random() < 0.5 THEN
			DELETE FROM random WHERE meta = to_jsonb(series) AND at BETWEEN instant AND instant + interval '3 s';
			DELETE FROM plain WHERE s = series AND t BETWEEN instant AND instant + interval '3 s';
		ELSE
			UPDATE random SET doc = doc || jsonb_build_object('u', i) WHERE meta = to_jsonb(series) AND at BETWEEN instant AND instant + interval '3 s';
			UPDATE plain SET doc = doc || jsonb_build_object('u', i) WHERE s = series AND t BETWEEN instant AND instant + interval '3 s';
		END IF;
		IF i % 100 = 0 THEN
			PERFORM seal_buckets('random');
		END IF;
	END LOOP;
END $$;
SELECT count(*) > 500 FROM plain;
SELECT count(*) FROM ((SELECT doc::text FROM plain EXCEPT ALL SELECT doc::text FROM random) UNION ALL (SELECT doc::text FROM random EXCEPT ALL SELECT doc::text FROM plain)) d;
SELECT count(*) FROM random_buckets WHERE count > 7 OR count <> jsonb_array_length(doc->'readings') OR summary <> (SELECT bucket_agg(r)->'summary' FROM jsonb_array_elements(doc->'readings') r);

-- Readings that are moved onto others which the statement has yet to move: none is lost, open or sealed
SELECT create_bucket_table('shifted', 's', 't', '1 hour', capacity => 2, on_duplicate => 'replace');
INSERT INTO shifted(doc) SELECT jsonb_build_object('s', 1, 't', '2026-09-02T10:0' || i, 'v', i) FROM generate_series(1, 5) i;
UPDATE shifted SET doc = jsonb_set(doc, '{t}', to_jsonb(at + interval '1 minute'));
SELECT seal_buckets('shifted') > 0;
UPDATE shifted SET doc = jsonb_set(doc, '{t}', to_jsonb(at + interval '1 minute'));
CREATE TABLE copied AS TABLE shifted;
DELETE FROM shifted;
INSERT INTO shifted(doc) SELECT jsonb_set(doc, '{t}', to_jsonb(at + interval '1 minute')) FROM copied;
SELECT count(*), sum((doc->'v')::int), min(at) AT TIME ZONE 'UTC' = '2026-09-02 10:02' FROM shifted;
SELECT sum(count), sum((summary->'sum_v')::int) FROM shifted_buckets;
-- nor when a WITH deletes and inserts, unless it has deleted all when it begins to insert
SELECT seal_buckets('shifted') > 0;
WITH d AS (DELETE FROM shifted RETURNING doc, at) INSERT INTO shifted(doc) SELECT jsonb_set(doc, '{t}', to_jsonb(at + interval '1 minute')) FROM d;
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM shifted;
INSERT INTO shifted(doc) SELECT doc FROM copied;
SELECT count(*) FROM shifted_open;
WITH d AS (DELETE FROM shifted RETURNING doc, at) INSERT INTO shifted(doc) SELECT jsonb_set(doc, '{t}', to_jsonb(at + interval '1 minute')) FROM d;
ROLLBACK;
WITH d AS (DELETE FROM shifted RETURNING doc, at)
	INSERT INTO shifted(doc) SELECT jsonb_set(doc, '{t}', to_jsonb(at + interval '1 minute')) FROM d ORDER BY at;
SELECT count(*), sum((doc->'v')::int) FROM shifted;

-- One statement that replaces readings in thousands of buckets, again and again, in little memory
SELECT create_bucket_table('many', 's', 't', '1 hour', capacity => 20, on_duplicate => 'replace');
CREATE FUNCTION many_reading(n integer, v integer) RETURNS jsonb LANGUAGE sql AS
	$$ SELECT jsonb_build_object('s', n % 2000, 't', timestamptz '2020-09-02 10:00Z' + n / 2000 * interval '1 minute', 'v', v) $$;
INSERT INTO many(doc) SELECT many_reading(n, 1) FROM generate_series(0, 2000 * 12 - 1) n;
SELECT seal_buckets('many');
SET maintenance_work_mem = '1MB';
INSERT INTO many(doc) SELECT many_reading(n % 6000, 1 + n / 6000) FROM generate_series(0, 2 * 6000 - 1) n;
RESET maintenance_work_mem;
SELECT count(*), sum((doc->'v')::int), count(*) FILTER (WHERE doc->'v' = '2') FROM many;
SELECT sum(count), sum((summary->'sum_v')::int), max(count), count(*) FROM many_buckets;
SELECT seal_buckets('many');
SELECT count(*), sum((doc->'v')::int), count(*) FILTER (WHERE doc->'v' = '2') FROM many;
SELECT sum(count), sum((summary->'sum_v')::int), max(count), count(*) FROM many_buckets;

-- A statement within one that has replaced a reading finds the new one alone
CREATE FUNCTION and_change(doc jsonb, statement text) RETURNS jsonb LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN doc; END $$;
SELECT create_bucket_table('within', 's', 't', '1 hour', on_duplicate => 'replace');
INSERT INTO within(doc) SELECT many_reading(n * 2000, 1) FROM generate_series(0, 3) n;
SELECT seal_buckets('within');
INSERT INTO within(doc) SELECT CASE n WHEN 1 THEN and_change(doc, 'UPDATE within SET doc = doc || ''{"u": 1}''') WHEN 2 THEN and_change(doc, 'DELETE FROM within WHERE doc->''v'' = ''1''') ELSE doc END
FROM (SELECT n, many_reading(n * 2000, 2) AS doc FROM generate_series(0, 2) n) r;
SELECT doc FROM within ORDER BY at;
SELECT count, summary->'sum_v' AS sum FROM within_buckets;
DROP SCHEMA bucket_duplicates CASCADE;
