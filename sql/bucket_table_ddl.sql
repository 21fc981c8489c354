-- Bucket tables: who may do what, what may be renamed and dropped, and what
-- becomes of statements that fail.
SET client_min_messages = notice;
SET timezone = 'UTC';
\pset format unaligned
\pset tuples_only on
CREATE SCHEMA bucket_ddl;
SET search_path = bucket_ddl, public;

-- Arguments
SELECT create_bucket_table(NULL, 's', 't', '1 hour');
SELECT create_bucket_table('b', NULL, 't', '1 hour');
SELECT create_bucket_table('b', 's', NULL, '1 hour');
SELECT create_bucket_table('b', 's', 't', NULL);
SELECT create_bucket_table('b', 's', 's', '1 hour');
SELECT create_bucket_table('b', 'count', 't', '1 hour');
SELECT create_bucket_table('b', 's', 't', '0');
SELECT create_bucket_table('b', 's', 't', '1 month 1 day');
SELECT create_bucket_table('b', 's', 't', '1 hour', capacity => 0);
SELECT create_bucket_table('b', 's', 't', '1 hour', time_zone => 'Mars');
SELECT create_bucket_table('b', 's', 't', '1 hour', on_duplicate => 'merge');
SELECT create_bucket_table('no such schema.b', 's', 't', '1 hour');
SELECT create_bucket_table('nowhere.b', 's', 't', '1 hour');
SELECT create_bucket_table('a.b.c.d', 's', 't', '1 hour');
SELECT create_bucket_table('', 's', 't', '1 hour');
CREATE TABLE b_open (); SELECT create_bucket_table('b', 's', 't', '1 hour'); DROP TABLE b_open;
SELECT create_bucket_table('b', 's', 't', '1 hour', NULL, NULL, NULL, NULL);
SELECT create_bucket_table('b', 's', 't', '1 hour');
SELECT create_bucket_table('b', 's', 't', '1 hour', if_not_exists => true);
CREATE TABLE plain (doc jsonb);
CREATE VIEW other AS SELECT doc FROM plain;
SELECT create_bucket_table('plain', 's', 't', '1 hour', if_not_exists => true);
SELECT create_bucket_table('other', 's', 't', '1 hour', if_not_exists => true);
SELECT seal_buckets('plain');
SELECT seal_buckets('other');
SELECT seal_buckets(NULL);
SELECT drop_buckets('b', NULL);
SELECT bucket_range('plain', '1', 'epoch', 'epoch');
SELECT bucket_range('other', '1', 'epoch', 'epoch');
SELECT drop_bucket_table('other', if_exists => true);
SELECT drop_bucket_table('other');
SELECT drop_bucket_table('b_buckets');

-- How it is stored
\d+ b
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid IN ('b'::regclass, 'b_buckets'::regclass) ORDER BY 1;
SELECT relname, reloptions, relreplident FROM pg_class WHERE relname IN ('b_open', 'b_sealed') ORDER BY 1;

-- Rights: a role needs only its right on the view
CREATE ROLE bucket_writer; CREATE ROLE bucket_reader; CREATE ROLE bucket_nobody;
GRANT USAGE ON SCHEMA bucket_ddl TO bucket_writer, bucket_reader, bucket_nobody;
GRANT INSERT ON b TO bucket_writer;
GRANT SELECT, UPDATE, DELETE ON b TO bucket_reader;
ALTER TABLE b_open ENABLE ROW LEVEL SECURITY; ALTER TABLE b_open FORCE ROW LEVEL SECURITY;
ALTER TABLE b_sealed ENABLE ROW LEVEL SECURITY; ALTER TABLE b_sealed FORCE ROW LEVEL SECURITY;
CREATE POLICY none ON b_sealed USING (false);
SET ROLE bucket_writer;
INSERT INTO b(doc) VALUES ('{"s": 1, "t": "2026-09-02T10:00Z", "v": 1}');
INSERT INTO b(doc) SELECT jsonb_build_object('s', 1, 't', timestamp '2026-09-02' + i * interval '1 minute', 'v', i) FROM generate_series(1, 200) i;
SELECT count(*) FROM b;
DELETE FROM b;
SELECT seal_buckets('b');
SELECT drop_buckets('b', 'infinity');
SELECT drop_bucket_table('b');
SELECT count(*) FROM bucket_range('b', '1', '-infinity', 'infinity');
SELECT count(*) FROM b_open;
SET ROLE bucket_reader;
SELECT count(*) FROM bucket_range('b', '1', '-infinity', 'infinity');
DELETE FROM b WHERE at < '2026-09-02 00:30Z';
UPDATE b SET doc = doc || '{"v": 0}' WHERE at < '2026-09-02 01:00Z';
SELECT count(*), sum((doc->'v')::int) FROM b WHERE at < '2026-09-02 01:10Z';
INSERT INTO b(doc) VALUES ('{"s": 1, "t": "2026-09-02T10:00Z"}');
SELECT count(*) FROM b_buckets;
RESET ROLE;
SELECT seal_buckets('b') > 0;
SELECT sum(count) FROM b_buckets;
-- a view of somebody's own with our trigger leads nowhere
GRANT CREATE ON SCHEMA bucket_ddl TO bucket_nobody;
SET ROLE bucket_nobody;
CREATE VIEW trap AS SELECT o.doc, o.meta, o.at, o.bucket_start FROM b_open o UNION ALL SELECT s.readings, s.meta, s.first, s.bucket_start FROM b_sealed s;
CREATE TRIGGER w INSTEAD OF INSERT ON trap FOR EACH ROW EXECUTE FUNCTION public.bucket_table_write('s', 't', '01:00:00', '10', 'UTC', 'keep');
INSERT INTO trap(doc) VALUES ('{"s": 1, "t": "2026-09-02T10:00Z"}');
RESET ROLE;
DROP VIEW trap;
CREATE VIEW trap AS SELECT doc FROM plain;
CREATE TRIGGER w INSTEAD OF INSERT ON trap FOR EACH ROW EXECUTE FUNCTION public.bucket_table_write('s', 't', '01:00:00', '10', 'UTC', 'keep');
INSERT INTO trap(doc) VALUES ('{"s": 1, "t": "2026-09-02T10:00Z"}');
CREATE TRIGGER w AFTER INSERT ON plain FOR EACH ROW EXECUTE FUNCTION public.bucket_table_write('s', 't', '01:00:00', '10', 'UTC', 'keep');
INSERT INTO plain VALUES ('{"s": 1, "t": "2026-09-02T10:00Z"}');
DROP TRIGGER w ON plain;
SELECT bucket_table_write();

-- Renames: of everything, while the session knows the table
ALTER VIEW b RENAME TO readings; ALTER VIEW b_buckets RENAME TO documents;
ALTER TABLE b_open RENAME TO landing; ALTER TABLE b_sealed RENAME TO "the buckets";
ALTER VIEW readings RENAME COLUMN at TO "when"; ALTER VIEW documents RENAME COLUMN bucket_end TO "until";
ALTER TABLE landing RENAME COLUMN doc TO reading; ALTER TABLE "the buckets" RENAME COLUMN count TO n;
ALTER TABLE "the buckets" RENAME COLUMN readings TO r;
CREATE SCHEMA bucket_elsewhere;
ALTER TABLE landing SET SCHEMA bucket_elsewhere;
INSERT INTO readings(doc) VALUES ('{"s": 2, "t": "2026-09-02T10:00Z", "v": 1}');
INSERT INTO readings(doc) SELECT jsonb_build_object('s', 2, 't', timestamp '2026-09-02' + i * interval '1 minute', 'v', i) FROM generate_series(1, 200) i;
SELECT seal_buckets('readings') > 0;
DELETE FROM readings WHERE meta = '2' AND "when" = '2026-09-02 01:00Z';
SELECT count(*) FROM bucket_range('readings', '2', '2026-09-02 00:50Z', '2026-09-02 01:10Z');
SELECT sum(count) FROM documents WHERE meta = '2';
SELECT drop_buckets('readings', '2026-09-02 02:00Z');
SELECT sum(count) FROM documents WHERE meta = '2';
-- a schema's new name, while another schema takes the old one, with the same names in it
ALTER TABLE "the buckets" SET SCHEMA bucket_elsewhere;
INSERT INTO readings(doc) SELECT jsonb_build_object('s', 4, 't', timestamp '2026-09-02 12:00' + i * interval '1 minute', 'v', i) FROM generate_series(1, 20) i;
SELECT seal_buckets('readings', 'infinity') > 0;
DELETE FROM readings WHERE meta = '4' AND doc->'v' = '1';
ALTER SCHEMA bucket_elsewhere RENAME TO bucket_moved;
CREATE SCHEMA bucket_elsewhere;
CREATE TABLE bucket_elsewhere.landing (LIKE bucket_moved.landing INCLUDING ALL);
CREATE TABLE bucket_elsewhere."the buckets" (LIKE bucket_moved."the buckets" INCLUDING ALL);
INSERT INTO readings(doc) SELECT jsonb_build_object('s', 4, 't', timestamp '2026-09-02 12:00' + i * interval '1 minute', 'v', i) FROM generate_series(21, 40) i;
SELECT seal_buckets('readings', 'infinity') > 0;
DELETE FROM readings WHERE meta = '4' AND doc->'v' = '2';
SELECT sum(count), (SELECT count(*) FROM bucket_elsewhere.landing) + (SELECT count(*) FROM bucket_elsewhere."the buckets") AS elsewhere
FROM documents WHERE meta = '4';
DELETE FROM readings WHERE meta = '4';
DROP TABLE bucket_elsewhere.landing, bucket_elsewhere."the buckets";
DROP SCHEMA bucket_elsewhere;
ALTER SCHEMA bucket_moved RENAME TO bucket_elsewhere;
ALTER TABLE bucket_elsewhere."the buckets" SET SCHEMA bucket_ddl;
-- what is needed is not dropped without
DROP TABLE bucket_elsewhere.landing;
ALTER TABLE "the buckets" DROP COLUMN summary;
-- an index and a trigger of one's own (fewer readings than a batch has)
CREATE INDEX own ON bucket_elsewhere.landing ((reading->'v')) WHERE reading ? 'v';
INSERT INTO readings(doc) SELECT jsonb_build_object('s', 3, 't', timestamp '2027-09-02' + i * interval '1 minute', 'v', i) FROM generate_series(7, 9) i;
SET enable_seqscan = off;
SELECT reading FROM bucket_elsewhere.landing WHERE reading->'v' = '7' AND reading ? 'v';
RESET enable_seqscan;
DROP TRIGGER bucket_table_flush ON readings;
INSERT INTO readings(doc) VALUES ('{"s": 2, "t": "2026-09-02T10:00Z", "v": 1}');
SELECT drop_bucket_table('documents');
DROP VIEW documents;
CREATE TRIGGER bucket_table_flush AFTER UPDATE OR DELETE ON readings FOR EACH STATEMENT EXECUTE FUNCTION public.bucket_table_flush();
SELECT drop_buckets('readings', 'infinity');
SELECT drop_bucket_table('readings');
SELECT relname FROM pg_class WHERE relnamespace IN ('bucket_ddl'::regnamespace, 'bucket_elsewhere'::regnamespace) ORDER BY 1;

-- Statements that fail, and subtransactions
SELECT create_bucket_table('"Weather Data"', 'a field', 'a "time"', '1 hour', capacity => 5);
CREATE FUNCTION reading(series text, minute int, value int DEFAULT 0) RETURNS jsonb IMMUTABLE RETURN
	jsonb_build_object('a field', series, 'a "time"', timestamp '2026-09-02 10:00' + minute * interval '1 minute', 'v', value);
BEGIN;
INSERT INTO "Weather Data"(doc) SELECT reading('a', i) FROM generate_series(1, 3) i;
SAVEPOINT s;
INSERT INTO "Weather Data"(doc) SELECT reading('a', i) FROM generate_series(4, 9) i;
DELETE FROM "Weather Data" WHERE doc->'v' = '0' AND at < '2026-09-02 10:03Z';
ROLLBACK TO s;
INSERT INTO "Weather Data"(doc) SELECT reading('a', 100 / (7 - i)) FROM generate_series(4, 9) i;
ROLLBACK TO s;
UPDATE "Weather Data" SET doc = doc || jsonb_build_object('v', 1 / (extract(minute FROM at) - 3)::int);
ROLLBACK TO s;
INSERT INTO "Weather Data"(doc) SELECT reading('a', i) FROM generate_series(11, 12) i;
COMMIT;
SELECT count, doc->'readings' FROM "Weather Data_buckets";
CREATE FUNCTION write_in_between(i int) RETURNS jsonb VOLATILE LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		INSERT INTO "Weather Data"(doc) SELECT reading('b', j, i) FROM generate_series(i * 3, i * 3 + 2) j;
		DELETE FROM "Weather Data" WHERE meta = '"b"' AND doc->'v' = to_jsonb(i) AND at < timestamp '2026-09-02 10:01' + i * interval '3 minutes';
		PERFORM 1 / (i % 2);
	EXCEPTION WHEN division_by_zero THEN
	END;
	INSERT INTO "Weather Data"(doc) SELECT reading('c', j) FROM generate_series(1, 2) j;
	RETURN reading('d', i);
END $$;
INSERT INTO "Weather Data"(doc) SELECT write_in_between(i) FROM generate_series(0, 5) i;
SELECT meta, sum(count), sum((summary->'sum_v')::int) FROM "Weather Data_buckets" GROUP BY 1 ORDER BY 1;
WITH a AS (INSERT INTO "Weather Data"(doc) SELECT reading('e', i) FROM generate_series(1, 4) i RETURNING at),
	b AS (INSERT INTO "Weather Data"(doc) SELECT reading('f', i) FROM generate_series(1, 8) i RETURNING at),
	c AS (DELETE FROM "Weather Data" WHERE meta = '"d"' RETURNING at)
SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b), (SELECT count(*) FROM c);
SELECT meta, sum(count), max(count) FROM "Weather Data_buckets" WHERE meta IN ('"d"', '"e"', '"f"') GROUP BY 1 ORDER BY 1;
-- in the midst of a change of buckets
CREATE FUNCTION seal_in_between() RETURNS bigint VOLATILE LANGUAGE sql AS $$ SELECT seal_buckets('"Weather Data"', 'infinity') $$;
UPDATE "Weather Data" SET doc = doc || jsonb_build_object('sealed', seal_in_between() * 0, 'v', 1) WHERE meta IN ('"a"', '"c"', '"e"');
SELECT meta, sum(count), sum((summary->'sum_v')::int) FROM "Weather Data_buckets" WHERE meta IN ('"a"', '"c"', '"e"') GROUP BY 1 ORDER BY 1;
-- a row that a join yields again after its bucket was written is changed once
UPDATE "Weather Data" SET doc = doc || jsonb_build_object('sealed', seal_in_between() * 0, 'v', (doc->'v')::int + 1) FROM generate_series(1, 3)
WHERE meta IN ('"a"', '"c"', '"e"');
SELECT meta, sum(count), sum((summary->'sum_v')::int) FROM "Weather Data_buckets" WHERE meta IN ('"a"', '"c"', '"e"') GROUP BY 1 ORDER BY 1;
-- a trigger that keeps a bucket from being written loses no reading, and doubles none
CREATE FUNCTION refuse_bucket() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON "Weather Data_sealed" FOR EACH ROW EXECUTE FUNCTION refuse_bucket();
INSERT INTO "Weather Data"(doc) SELECT reading('refused', i) FROM generate_series(1, 2) i;
SELECT seal_buckets('"Weather Data"', 'infinity');
UPDATE "Weather Data" SET doc = doc || '{"v": 9}' WHERE meta = '"e"';
DELETE FROM "Weather Data" WHERE meta = '"e"';
SELECT count(*) FROM "Weather Data" WHERE meta = '"refused"';
DROP TRIGGER refuse ON "Weather Data_sealed";
DELETE FROM "Weather Data" WHERE meta = '"refused"';
-- COPY
COPY "Weather Data"(doc) FROM stdin;
{"a field": "copy", "a \\"time\\"": "2026-09-02T10:00Z"}
{"a field": "copy", "a \\"time\\"": "2026-09-02T10:01Z"}
{"a field": "copy", "a \\"time\\"": "2027-09-02T10:01Z"}
\.
COPY "Weather Data"(doc) FROM stdin;
{"a field": "copy", "a \\"time\\"": "2026-09-02T10:00Z"}
{"a field": "copy"}
\.
SELECT at FROM "Weather Data" WHERE meta = '"copy"' ORDER BY 1;
-- above READ COMMITTED nothing is sealed by statements, and seal_buckets sees what the transaction sees
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO "Weather Data"(doc) SELECT reading('rr', i) FROM generate_series(1, 100) i;
SELECT count(*) FROM "Weather Data_sealed" WHERE meta = '"rr"';
SELECT seal_buckets('"Weather Data"', 'infinity') >= 100;
SELECT sum(count), max(count) FROM "Weather Data_buckets" WHERE meta = '"rr"';
COMMIT;
-- memory is bounded: what is held is written from time to time
SET maintenance_work_mem = '1MB';
INSERT INTO "Weather Data"(doc) SELECT reading('large', i, i) FROM generate_series(1, 30000) i;
DELETE FROM "Weather Data" WHERE meta = '"large"' AND doc->'v' < '10000';
RESET maintenance_work_mem;
SELECT sum(count), sum((summary->'sum_v')::int) FROM "Weather Data_buckets" WHERE meta = '"large"';
-- a partitioned table of buckets: a month of them goes with its partition
SELECT create_bucket_table('p', 's', 't', '1 day', capacity => 3, partitioned => true);
CREATE TABLE p_august PARTITION OF p_sealed FOR VALUES FROM ('2026-08-01') TO ('2026-09-01');
INSERT INTO p(doc) SELECT jsonb_build_object('s', 1, 't', timestamp '2026-08-30' + i * interval '6 hours', 'v', i) FROM generate_series(1, 15) i;
SELECT seal_buckets('p') > 0;
UPDATE p SET doc = doc || '{"v": 100}' WHERE at < '2026-08-30 12:00Z' OR at > '2026-09-02 12:00Z';
SELECT tableoid::regclass, bucket_no, count, summary->'max_v' FROM p_sealed ORDER BY bucket_start, bucket_no;
DROP TABLE p_august;
SELECT sum(count) FROM p_buckets;
SELECT drop_buckets('p', '2026-09-02'), drop_bucket_table('p');
-- dropping the extension takes the views along, never the readings
BEGIN;
DROP EXTENSION pattern;
ROLLBACK;
BEGIN;
DROP EXTENSION pattern CASCADE;
SELECT count(*) > 0 FROM "Weather Data_sealed";
ROLLBACK;
SELECT drop_bucket_table('"Weather Data"');
DROP OWNED BY bucket_writer, bucket_reader, bucket_nobody;
DROP ROLE bucket_writer, bucket_reader, bucket_nobody;
SET client_min_messages = warning;
DROP SCHEMA bucket_ddl, bucket_elsewhere CASCADE;
