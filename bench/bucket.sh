#!/bin/bash
# Buckets: appending to a document, making one of many readings, finding windows.
# Prints the medians of several runs, the two sides in turn, and their ratio.
# Needs psql's environment, and a database with the extension.
set -euo pipefail
cd "$(dirname "$0")"
source ./compare.sh

setup <<'SQL'
CREATE TEMP TABLE reading AS
SELECT i, timestamptz '2026-01-01' + i * interval '1 minute' AS at, jsonb_build_object(
	'timestamp', to_char(timestamp '2026-09-02' + i * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
	'temp', 20 + (i % 97) / 10.0, 'humidity', 40 + i % 20) AS doc
FROM generate_series(1, 180000) i;
ANALYZE reading;
-- one device-hour of readings, and the first ten of them
CREATE TEMP TABLE bucket AS SELECT bucket_agg(doc) AS doc FROM reading WHERE i <= 3600;
CREATE TEMP TABLE small AS SELECT bucket_agg(doc) AS doc FROM reading WHERE i <= 10;
SQL

# a document that is in memory and not toasted, n times
from() { echo "FROM (SELECT doc || '{}' AS doc FROM $1 OFFSET 0) d, generate_series(1, $2) g"; }

reading="'{\"timestamp\": \"2026-09-02T01:00:01Z\", \"temp\": 21.4, \"humidity\": 45}'"
append="SELECT count(bucket_append(doc, $reading))"
# what one writes without it, for one of the two fields
by_hand="SELECT count(doc || jsonb_build_object('count', (doc ->> 'count')::int + 1, 'readings', (doc -> 'readings') || $reading,
	'summary', (doc -> 'summary') || jsonb_build_object('min_temp', least((doc #>> '{summary,min_temp}')::numeric, 21.4), 'max_temp', greatest((doc #>> '{summary,max_temp}')::numeric, 21.4),
	'sum_temp', (doc #>> '{summary,sum_temp}')::numeric + 21.4, 'avg_temp', ((doc #>> '{summary,sum_temp}')::numeric + 21.4) / ((doc ->> 'count')::int + 1))))"

compare "append to 3,600 readings" \
	"bucket_append"  4000 "$append $(from bucket 4000)" \
	"|| on the array, no summary" 400 "SELECT count((doc -> 'readings') || $reading) $(from bucket 400)"

compare "append to 3,600 readings, whole document" \
	"bucket_append"  4000 "$append $(from bucket 4000)" \
	"|| with one field's summary" 100 "$by_hand $(from bucket 100)"

compare "append to 3,600 readings" \
	"bucket_append"  4000 "$append $(from bucket 4000)" \
	"a copy of its bytes" 4000 "SELECT count(overlay(b placing 'x'::bytea from 1)) FROM (SELECT decode(repeat('00', pg_column_size(doc || '{}')), 'hex') AS b FROM bucket OFFSET 0) d, generate_series(1, 4000)"

compare "append to 10 readings, whole document" \
	"bucket_append"  50000 "$append $(from small 50000)" \
	"|| with one field's summary" 5000 "$by_hand $(from small 5000)"

agg="SELECT count(b) FROM (SELECT bucket_agg(doc) AS b FROM reading GROUP BY i / 3600) s"
compare "180,000 readings into 51 buckets, each" \
	"bucket_agg"  180000 "$agg" \
	"jsonb_agg, min, max, sum, avg" 180000 "SELECT count(b) FROM (SELECT jsonb_build_object('count', count(*), 'readings', jsonb_agg(doc), 'summary', jsonb_build_object(
		'min_temp', min(t), 'max_temp', max(t), 'sum_temp', sum(t), 'avg_temp', avg(t), 'min_humidity', min(h), 'max_humidity', max(h), 'sum_humidity', sum(h), 'avg_humidity', avg(h))) AS b
		FROM (SELECT i, doc, (doc ->> 'temp')::numeric AS t, (doc ->> 'humidity')::numeric AS h FROM reading OFFSET 0) s GROUP BY i / 3600) s"

compare "180,000 readings into 51 buckets, sorted" \
	"bucket_agg"  180000 "SELECT count(b) FROM (SELECT bucket_agg(doc, 'timestamp') AS b FROM reading GROUP BY i / 3600) s" \
	"jsonb_agg ORDER BY, no summary" 180000 "SELECT count(b) FROM (SELECT jsonb_agg(doc ORDER BY doc ->> 'timestamp') AS b FROM reading GROUP BY i / 3600) s"

compare "180,000 readings into 51 buckets, each" \
	"bucket_agg"  180000 "$agg" \
	"count of the same groups" 180000 "SELECT count(b) FROM (SELECT count(doc) AS b FROM reading GROUP BY i / 3600) s"

compare "readings out of a bucket of 3,600" \
	"bucket_readings" 360000 "SELECT count(*) $(from bucket 100), bucket_readings(doc)" \
	"jsonb_array_elements" 360000 "SELECT count(*) $(from bucket 100), jsonb_array_elements(doc -> 'readings')"

compare "window of an hour in New York" \
	"bucket_start" 180000 "SELECT count(bucket_start(at, '1 hour', 'America/New_York')) FROM reading" \
	"date_trunc" 180000 "SELECT count(date_trunc('hour', at, 'America/New_York')) FROM reading"

compare "window of a day in New York" \
	"bucket_start" 180000 "SELECT count(bucket_start(at, '1 day', 'America/New_York')) FROM reading" \
	"date_trunc" 180000 "SELECT count(date_trunc('day', at, 'America/New_York')) FROM reading"
