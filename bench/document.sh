#!/bin/bash
# Updates of documents: doc_update against what is written without it.
# Prints the medians of several runs, the two sides in turn, and their ratio.
# Needs psql's environment, and a database with the extension.
set -euo pipefail
cd "$(dirname "$0")"
source ./compare.sh

setup <<'SQL'
-- one device-hour of readings, 373 kB
CREATE TEMP TABLE bucket AS
SELECT jsonb_build_object('sensor', 'S1', 'count', 3600, 'readings', jsonb_agg(jsonb_build_object(
	'timestamp', to_char(timestamp '2026-09-02' + g * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
	'temp', 20 + (g % 50) / 10.0, 'humidity', 40 + g % 20) ORDER BY g)) AS doc
FROM generate_series(1, 3600) g;
-- 150 fields, 10 kB
CREATE TEMP TABLE wide AS
SELECT jsonb_object_agg('field_' || g, CASE g % 4
	WHEN 0 THEN to_jsonb(g) WHEN 1 THEN to_jsonb(repeat('x', 70))
	WHEN 2 THEN jsonb_build_array(g, g + 1, 'abc', repeat('z', 20))
	ELSE jsonb_build_object('a', g, 'b', repeat('y', 30)) END) || '{"likes": 5, "views": 100}' AS doc
FROM generate_series(1, 150) g;
-- a list of the ten latest reviews
CREATE TEMP TABLE product AS
SELECT jsonb_build_object('name', 'Product', 'reviews', jsonb_agg(jsonb_build_object(
	'review_id', g, 'author', 'user' || g, 'stars', 1 + g % 5,
	'date', to_char(timestamp '2026-01-01' - g * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
	'text', 'This is review text number ' || g || ' with some words about the product that run on a little') ORDER BY g)) AS doc
FROM generate_series(1, 10) g;
SQL

# a document that is in memory and not toasted, n times
from() { echo "FROM (SELECT doc || '{}' AS doc FROM $1 OFFSET 0) d, generate_series(1, $2) g"; }

compare "append to 3,600 readings" \
	"doc_update"     5000 "SELECT count(doc <~ '{\"\$push\": {\"readings\": {\"timestamp\": \"2026-09-02T01:00:01Z\", \"temp\": 21.4, \"humidity\": 45}}}') $(from bucket 5000)" \
	"|| on the array" 500 "SELECT count((doc -> 'readings') || '{\"timestamp\": \"2026-09-02T01:00:01Z\", \"temp\": 21.4, \"humidity\": 45}'::jsonb) $(from bucket 500)"

compare "append to 3,600 readings, whole document" \
	"doc_update"     5000 "SELECT count(doc <~ '{\"\$push\": {\"readings\": {\"timestamp\": \"2026-09-02T01:00:01Z\", \"temp\": 21.4, \"humidity\": 45}}}') $(from bucket 5000)" \
	"jsonb_set, ||"   200 "SELECT count(jsonb_set(doc, '{readings}', (doc -> 'readings') || '{\"timestamp\": \"2026-09-02T01:00:01Z\", \"temp\": 21.4, \"humidity\": 45}')) $(from bucket 200)"

compare "add to two fields of 10 kB" \
	"doc_update"    50000 "SELECT count(doc <~ '{\"\$inc\": {\"likes\": 1, \"views\": 2}}') $(from wide 50000)" \
	"jsonb_set twice" 5000 "SELECT count(jsonb_set(jsonb_set(doc, '{likes}', to_jsonb((doc ->> 'likes')::numeric + 1)), '{views}', to_jsonb((doc ->> 'views')::numeric + 2))) $(from wide 5000)"

compare "push into the ten latest" \
	"doc_update"    20000 "SELECT count(doc <~ '{\"\$push\": {\"reviews\": {\"\$each\": [{\"review_id\": 11, \"author\": \"user11\", \"stars\": 2, \"date\": \"2025-12-31T23:54:30Z\", \"text\": \"A review\"}], \"\$sort\": {\"date\": -1}, \"\$slice\": 10}}}') $(from product 20000)" \
	"unnest, sort, limit, jsonb_agg" 2000 "SELECT count(jsonb_set(doc, '{reviews}', (SELECT jsonb_agg(e ORDER BY e ->> 'date' DESC) FROM (SELECT e FROM jsonb_array_elements((doc -> 'reviews') || '{\"review_id\": 11, \"author\": \"user11\", \"stars\": 2, \"date\": \"2025-12-31T23:54:30Z\", \"text\": \"A review\"}') e ORDER BY e ->> 'date' DESC LIMIT 10) s))) $(from product 2000)"

compare "computed fields by a pipeline" \
	"doc_update"    50000 "SELECT count(doc <~ '[{\"\$set\": {\"likes\": {\"\$add\": [\"\$likes\", 1]}, \"rate\": {\"\$divide\": [\"\$likes\", \"\$views\"]}}}]') $(from wide 50000)" \
	"|| jsonb_build_object" 5000 "SELECT count(doc || jsonb_build_object('likes', (doc ->> 'likes')::numeric + 1, 'rate', (doc ->> 'likes')::numeric / (doc ->> 'views')::numeric)) $(from wide 5000)"
