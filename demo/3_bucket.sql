--# Bucket pattern

-- A sensor sends a reading every second. A bucket is one document for the readings of an
-- hour, with their count and a summary.

--## An hour in one document

-- The readings as they come, one row each: 3,600 of them.
CREATE TABLE readings (sensor_id text, doc jsonb);
INSERT INTO readings
SELECT 'SENSOR-EAST-01',
       jsonb_build_object('timestamp', to_char(timestamp '2026-09-02 10:00:00' + n * interval '1 s', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                          'temp', 21.4 + 0.1 * greatest(0, least(34, (n - 1) % 80, 74 - (n - 1) % 80)), 'humidity', 45)
FROM generate_series(1, 3600) AS n;

-- bucket_agg makes the bucket. What identifies it is put beside.
CREATE TABLE sensor_buckets (
    sensor_id    text GENERATED ALWAYS AS (doc->>'sensor_id') STORED NOT NULL,
    bucket_start text GENERATED ALWAYS AS (doc->>'bucket_start') STORED NOT NULL,
    doc          jsonb NOT NULL
);
INSERT INTO sensor_buckets(doc)
SELECT bucket_agg(doc, 'timestamp') || jsonb_build_object('_id', '66d5b300f1e8a93b4c5d6e50', 'sensor_id', sensor_id,
       'bucket_start', '2026-09-02T10:00:00Z', 'bucket_end', '2026-09-02T10:59:59Z')
FROM readings GROUP BY sensor_id;

SELECT doc - 'readings' || jsonb_build_object('readings', jsonb_path_query_array(doc, '$.readings[0 to 1]')) FROM sensor_buckets;
--> {"_id": "66d5b300f1e8a93b4c5d6e50", "count": 3600,
-->  "summary": {"avg_temp": 23.1, "max_temp": 24.8, "min_temp": 21.4, "sum_temp": 83160.0,
-->              "avg_humidity": 45, "max_humidity": 45, "min_humidity": 45, "sum_humidity": 162000},
-->  "readings": [{"temp": 21.4, "humidity": 45, "timestamp": "2026-09-02T10:00:01Z"},
-->               {"temp": 21.5, "humidity": 45, "timestamp": "2026-09-02T10:00:02Z"}],
-->  "sensor_id": "SENSOR-EAST-01", "bucket_end": "2026-09-02T10:59:59Z",
-->  "bucket_start": "2026-09-02T10:00:00Z"}

-- The average needs no reading. The readings are there when they are wanted.
SELECT doc->'summary'->'avg_temp' FROM sensor_buckets WHERE sensor_id = 'SENSOR-EAST-01' AND bucket_start = '2026-09-02T10:00:00Z';
--> 23.1

SELECT reading->>'timestamp' AS timestamp, reading->'temp' AS temp
FROM sensor_buckets, bucket_readings(doc) AS reading
WHERE reading @~ '{"timestamp": {"$gte": "2026-09-02T10:00:35Z", "$lt": "2026-09-02T10:00:38Z"}}';
--|       timestamp       | temp
--| ----------------------+------
--|  2026-09-02T10:00:35Z | 24.8
--|  2026-09-02T10:00:36Z | 24.8
--|  2026-09-02T10:00:37Z | 24.8

SELECT (SELECT count(*) FROM readings) AS rows_before, pg_size_pretty(pg_table_size('readings')) AS size_before,
       (SELECT count(*) FROM sensor_buckets) AS rows_after, pg_size_pretty(pg_table_size('sensor_buckets')) AS size_after;
--?

SELECT pg_table_size('readings') > 5 * pg_table_size('sensor_buckets');
--> t

--## Readings as they stream in

-- MongoDB's updateOne with upsert finds the hour's bucket that has room, or inserts one. Here
-- the same filter makes a unique index: at most one bucket of an hour has room, also when
-- many sessions write at once.
--
--    db.sensor_buckets.updateOne(
--      {sensor_id: "SENSOR-EAST-01", bucket_start: ISODate("2026-09-02T10:00:00Z"), count: {$lt: 3600}},
--      {$push: {readings: {timestamp: new Date(), temp: 22.8, humidity: 46}},
--       $inc: {count: 1, "summary.sum_temp": 22.8}, $min: {"summary.min_temp": 22.8}, $max: {"summary.max_temp": 22.8},
--       $setOnInsert: {bucket_start: ISODate("2026-09-02T10:00:00Z")}},
--      {upsert: true})
CREATE UNIQUE INDEX sensor_buckets_with_room ON sensor_buckets (sensor_id, bucket_start)
WHERE doc @~ '{"count": {"$lt": 3600}}';

PREPARE update_one(jsonb, jsonb) AS
INSERT INTO sensor_buckets AS bucket (doc) VALUES (doc_upsert($1, $2))
ON CONFLICT (sensor_id, bucket_start) WHERE doc @~ '{"count": {"$lt": 3600}}'
DO UPDATE SET doc = bucket.doc <~ $2
RETURNING doc;

-- The hour of 10:00 is full: the reading begins a second bucket.
EXECUTE update_one(
    '{"sensor_id": "SENSOR-EAST-01", "bucket_start": "2026-09-02T10:00:00Z", "count": {"$lt": 3600}}',
    '{"$push": {"readings": {"timestamp": "2026-09-02T10:59:59.5Z", "temp": 22.8, "humidity": 46}},
      "$inc": {"count": 1, "summary.sum_temp": 22.8}, "$min": {"summary.min_temp": 22.8}, "$max": {"summary.max_temp": 22.8},
      "$setOnInsert": {"bucket_start": "2026-09-02T10:00:00Z"}}');
--> {"count": 1, "summary": {"max_temp": 22.8, "min_temp": 22.8, "sum_temp": 22.8},
-->  "readings": [{"temp": 22.8, "humidity": 46, "timestamp": "2026-09-02T10:59:59.5Z"}],
-->  "sensor_id": "SENSOR-EAST-01", "bucket_start": "2026-09-02T10:00:00Z"}

-- The next one is pushed to it.
EXECUTE update_one(
    '{"sensor_id": "SENSOR-EAST-01", "bucket_start": "2026-09-02T10:00:00Z", "count": {"$lt": 3600}}',
    '{"$push": {"readings": {"timestamp": "2026-09-02T10:59:59.7Z", "temp": 21.9, "humidity": 46}},
      "$inc": {"count": 1, "summary.sum_temp": 21.9}, "$min": {"summary.min_temp": 21.9}, "$max": {"summary.max_temp": 21.9},
      "$setOnInsert": {"bucket_start": "2026-09-02T10:00:00Z"}}');
--> {"count": 2, "summary": {"max_temp": 22.8, "min_temp": 21.9, "sum_temp": 44.7},
-->  "readings": [{"temp": 22.8, "humidity": 46, "timestamp": "2026-09-02T10:59:59.5Z"},
-->               {"temp": 21.9, "humidity": 46, "timestamp": "2026-09-02T10:59:59.7Z"}],
-->  "sensor_id": "SENSOR-EAST-01", "bucket_start": "2026-09-02T10:00:00Z"}

--## A table that keeps its readings in buckets

-- Such an append writes the whole document anew. A bucket table is written like a table of
-- readings and costs as much; it makes the buckets by itself. Views show both.
SELECT create_bucket_table('stations', meta_field => 'sensor_id', time_field => 'timestamp', width => '1 hour', capacity => 3600);
--> t

-- An hour of readings, in one statement: it writes whole buckets.
INSERT INTO stations(doc)
SELECT doc || jsonb_build_object('sensor_id', sensor_id) FROM readings WHERE doc->>'timestamp' < '2026-09-02T11:00:00Z';

SELECT bucket_start, count, summary->'min_temp' AS min, summary->'max_temp' AS max, summary->'sum_temp' AS sum FROM stations_buckets;
--|      bucket_start      | count | min  | max  |   sum
--| ------------------------+-------+------+------+---------
--|  2026-09-02 10:00:00+00 |  3599 | 21.4 | 24.8 | 83138.6

SELECT (SELECT count(*) FROM stations_open) AS open, (SELECT count(*) FROM stations_sealed) AS sealed;
--> 0 | 1

SELECT doc - 'readings' || jsonb_build_object('readings', jsonb_path_query_array(doc, '$.readings[0 to 1]')) FROM stations_buckets;
--> {"count": 3599,
-->  "summary": {"avg_temp": 23.1004723534315088, "max_temp": 24.8, "min_temp": 21.4, "sum_temp": 83138.6,
-->              "avg_humidity": 45, "max_humidity": 45, "min_humidity": 45, "sum_humidity": 161955},
-->  "readings": [{"temp": 21.4, "humidity": 45, "sensor_id": "SENSOR-EAST-01", "timestamp": "2026-09-02T10:00:01Z"},
-->               {"temp": 21.5, "humidity": 45, "sensor_id": "SENSOR-EAST-01", "timestamp": "2026-09-02T10:00:02Z"}],
-->  "sensor_id": "SENSOR-EAST-01", "bucket_end": "2026-09-02T11:00:00Z", "bucket_start": "2026-09-02T10:00:00Z"}

-- A reading of the next hour, and one that comes late: both are where they belong at once.
INSERT INTO stations(doc) VALUES
    ('{"sensor_id": "SENSOR-EAST-01", "timestamp": "2026-09-02T11:00:01Z", "temp": 22.8, "humidity": 46}'),
    ('{"sensor_id": "SENSOR-EAST-01", "timestamp": "2026-09-02T10:30:00.5Z", "temp": 19.0, "humidity": 46}');

SELECT bucket_start, count, summary->'min_temp' AS min, summary->'max_temp' AS max, summary->'sum_temp' AS sum FROM stations_buckets ORDER BY 1;
--|      bucket_start      | count | min  | max  |   sum
--| ------------------------+-------+------+------+---------
--|  2026-09-02 10:00:00+00 |  3600 | 19.0 | 24.8 | 83157.6
--|  2026-09-02 11:00:00+00 |     1 | 22.8 | 22.8 |    22.8

-- Readings are corrected and deleted like rows, sealed or not. The summary follows.
UPDATE stations SET doc = doc || '{"temp": 29.0}'
WHERE meta = '"SENSOR-EAST-01"' AND bucket_start = '2026-09-02 10:00Z' AND at = '2026-09-02 10:30:00.5Z'
RETURNING doc->'temp';
--> 29.0

DELETE FROM stations WHERE meta = '"SENSOR-EAST-01"' AND at >= '2026-09-02 11:00Z';

SELECT seal_buckets('stations');
--> 1

SELECT bucket_start, bucket_no, count, summary->'max_temp' AS max FROM stations_buckets ORDER BY 1, 2;
--> 2026-09-02 10:00:00+00 | 0 | 3600 | 29.0

-- A range of time reads the buckets that it needs.
SELECT doc->>'timestamp' AS timestamp, doc->'temp' AS temp
FROM bucket_range('stations', '"SENSOR-EAST-01"', '2026-09-02T10:30:00Z', '2026-09-02T10:30:02Z') AS doc;
--|        timestamp        | temp
--| ------------------------+------
--|  2026-09-02T10:30:00Z   | 24.8
--|  2026-09-02T10:30:00.5Z | 29.0
--|  2026-09-02T10:30:01Z   | 24.8

-- A full window begins a second document. A time is a time: seconds since 1970 are refused.
INSERT INTO stations(doc) VALUES ('{"sensor_id": "SENSOR-EAST-01", "timestamp": {"$date": "2026-09-02T10:59:59.5Z"}, "temp": 22.8}');

SELECT bucket_no, count FROM stations_buckets ORDER BY 1;
--> 0 | 3600
--> 1 | 1

INSERT INTO stations(doc) VALUES ('{"sensor_id": "SENSOR-EAST-01", "timestamp": 1788346799}');
--> ERROR:  the value at "timestamp" must be a time
--> DETAIL:  The value is of type number: 1788346799.
--> HINT:  Write seconds since 1970 as text: to_jsonb(to_timestamp(n)); or milliseconds as {"$date": n}.

-- Old windows go as a whole.
SELECT drop_buckets('stations', '2026-09-02 11:00Z');
--> 2

--## Documents that you keep yourself

-- bucket_append writes count, summary and reading in one call, and keeps the average, too.
-- bucket_start says where the window of a time begins. With the key in columns of its own, a
-- document has no need to repeat it.
CREATE TABLE weather (
    sensor_id    text,
    bucket_start timestamptz,
    doc          jsonb NOT NULL,
    PRIMARY KEY (sensor_id, bucket_start)
);
PREPARE record(text, jsonb) AS
INSERT INTO weather AS bucket
VALUES ($1, bucket_start(($2->>'timestamp')::timestamptz, '1 hour'), bucket_append(NULL, $2))
ON CONFLICT (sensor_id, bucket_start)
DO UPDATE SET doc = bucket_append(bucket.doc, $2, capacity => 3600)
RETURNING doc;

EXECUTE record('SENSOR-WEST-02', '{"timestamp": "2026-09-02T11:05:00Z", "temp": 19.5, "humidity": 51}');
--> {"count": 1,
-->  "summary": {"avg_temp": 19.5, "max_temp": 19.5, "min_temp": 19.5, "sum_temp": 19.5,
-->              "avg_humidity": 51, "max_humidity": 51, "min_humidity": 51, "sum_humidity": 51},
-->  "readings": [{"temp": 19.5, "humidity": 51, "timestamp": "2026-09-02T11:05:00Z"}]}

EXECUTE record('SENSOR-WEST-02', '{"timestamp": "2026-09-02T11:40:00Z", "temp": 20.1, "humidity": 50}');
--> {"count": 2,
-->  "summary": {"avg_temp": 19.8, "max_temp": 20.1, "min_temp": 19.5, "sum_temp": 39.6,
-->              "avg_humidity": 50.5, "max_humidity": 51, "min_humidity": 50, "sum_humidity": 101},
-->  "readings": [{"temp": 19.5, "humidity": 51, "timestamp": "2026-09-02T11:05:00Z"},
-->               {"temp": 20.1, "humidity": 50, "timestamp": "2026-09-02T11:40:00Z"}]}

SELECT sensor_id, bucket_start, doc->'count' AS count FROM weather;
--|    sensor_id    |      bucket_start      | count
--| ----------------+------------------------+-------
--|  SENSOR-WEST-02 | 2026-09-02 11:00:00+00 | 2

-- A full bucket takes no more.
SELECT bucket_append('{"count": 2, "readings": [{"temp": 20}, {"temp": 21}]}', '{"temp": 22}', capacity => 2);
--> ERROR:  bucket is full
--> DETAIL:  It has 2 readings and a capacity of 2.
--> HINT:  Begin another bucket by appending the reading to NULL.

--## Other shapes

-- A bucket of two readings, as somebody else wrote it, takes a third and gets its summary.
SELECT bucket_append('{"sensorId": "sensor-17", "bucketStart": "2026-05-01T10:00:00Z", "count": 2,
                       "readings": [{"at": "2026-05-01T10:00:01Z", "temperature": 21.2},
                                    {"at": "2026-05-01T10:00:05Z", "temperature": 21.3}]}',
                     '{"at": "2026-05-01T10:00:09Z", "temperature": 21.1}', capacity => 200);
--> {"count": 3,
-->  "summary": {"avg_temperature": 21.2, "max_temperature": 21.3, "min_temperature": 21.1,
-->              "sum_temperature": 63.6},
-->  "readings": [{"at": "2026-05-01T10:00:01Z", "temperature": 21.2},
-->               {"at": "2026-05-01T10:00:05Z", "temperature": 21.3},
-->               {"at": "2026-05-01T10:00:09Z", "temperature": 21.1}],
-->  "sensorId": "sensor-17", "bucketStart": "2026-05-01T10:00:00Z"}

-- A bucket that holds its sum beside the readings: an aggregate builds it, an update keeps it.
CREATE TABLE hours (id text GENERATED ALWAYS AS (doc->>'sensorId') STORED PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO hours(doc)
SELECT jsonb_build_object('sensorId', 'S1', 'hour', '2026-05-01T10:00:00Z', 'count', count(*), 'sumTemp', sum(temp),
                          'readings', jsonb_agg(jsonb_build_object('sec', sec, 'temp', temp) ORDER BY sec))
FROM (SELECT sec, CASE WHEN sec % 9 = 1 THEN 24.2 ELSE 24.1 END AS temp FROM generate_series(0, 3599) AS sec) AS second;

SELECT doc - 'readings' || jsonb_build_object('readings', jsonb_path_query_array(doc, '$.readings[0 to 1]')) FROM hours;
--> {"hour": "2026-05-01T10:00:00Z", "count": 3600, "sumTemp": 86800.0,
-->  "readings": [{"sec": 0, "temp": 24.1}, {"sec": 1, "temp": 24.2}], "sensorId": "S1"}

UPDATE hours
SET doc = doc <~ '{"$push": {"readings": {"sec": 3600, "temp": 24.3}}, "$inc": {"count": 1, "sumTemp": 24.3}}'
WHERE id = 'S1'
RETURNING doc - 'readings' || jsonb_build_object('readings', jsonb_path_query_array(doc, '$.readings[last]'));
--> {"hour": "2026-05-01T10:00:00Z", "count": 3601, "sumTemp": 86824.3,
-->  "readings": [{"sec": 3600, "temp": 24.3}], "sensorId": "S1"}

-- Such a bucket needs an end, too: here the last 3,600 readings stay.
UPDATE hours
SET doc = doc <~ '{"$push": {"readings": {"$each": [{"sec": 3601, "temp": 24.0}], "$slice": -3600}}}'
WHERE id = 'S1'
RETURNING jsonb_array_length(doc->'readings'), doc->'readings'->0->'sec' AS first, doc->'readings'->-1->'sec' AS last;
--|  jsonb_array_length | first | last
--| --------------------+-------+------
--|                3600 | 2     | 3601
