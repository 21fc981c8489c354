#!/bin/bash
# Bucket tables beside a plain table of the same readings with an index on the
# series and the time: inserts one by one, in bulk, WAL, size, and what queries
# read.  Prints both sides and their ratio, medians of RUNS runs in turn.
#
# It creates and drops objects called bench_* in the database of psql's
# environment, which must have the extension; the user must be a superuser.
# SECONDS_EACH is how long a run of single inserts takes, 5 if not set.
set -euo pipefail

runs=${RUNS:-5}
export PGOPTIONS='-c client_min_messages=warning -c max_parallel_workers_per_gather=0 -c timezone=UTC'
source "$(dirname "$0")/pgbench.sh"
files=$scripts

sql() { psql -XAtq -v ON_ERROR_STOP=1 "$@"; }

# tell WHAT BUCKETS PLAIN UNIT: the ratio says how many times as much the first is
tell() { awk -v what="$1" -v a="$2" -v b="$3" -v unit="$4" 'BEGIN { printf "%-62s %12.2f %12.2f %-10s %8.2f\n", what, a, b, unit, (b > 0 ? a / b : 0) }'; }

create()
{
	sql <<-SQL
	DROP TABLE IF EXISTS bench_plain;
	SELECT drop_bucket_table(oid::regclass) FROM pg_class WHERE relname = 'bench_buckets_table' AND relkind = 'v';
	CREATE TABLE bench_plain (doc jsonb NOT NULL);
	CREATE INDEX ON bench_plain ((doc->>'series'), (doc->>'timestamp'));
	SELECT create_bucket_table('bench_buckets_table', 'series', 'timestamp', '1 hour', capacity => 3600);
	SQL
}

# readings of so many series interleaved, one a second
sql <<'SQL' > /dev/null
CREATE OR REPLACE FUNCTION bench_reading(n bigint, series integer, start timestamptz) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT jsonb_build_object('series', 'dev' || (n % series)::text, 'timestamp', to_char(start + n / series * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
		'temp', (150 + (hashint8(n) & 127)) / 10.0, 'humidity', 30 + (hashint8(n + 1) & 31))
$$;
SQL

# single TABLE SERIES CLIENTS: inserts a second
single()
{
	script single <<-SQL
	\\set n :i * :clients + :client
	\\set i :i + 1
	INSERT INTO $1(doc) VALUES (bench_reading(:n, :series, '2026-01-01Z'));
	SQL
	tps "$3" single -D i=0 -D clients="$3" -D series="$2"
}

printf '%-62s %12s %12s %-10s %8s\n' '' 'buckets' 'plain' '' 'ratio'
for series in 20 1000; do
	for clients in 1 2; do
		: > "$files/a"; : > "$files/b"
		for ((i = 0; i < runs; i++)); do
			create > /dev/null
			single bench_plain $series $clients >> "$files/b"
			single bench_buckets_table $series $clients >> "$files/a"
		done
		tell "single inserts, $series series, $clients clients (>= 0.8)" "$(median < "$files/a")" "$(median < "$files/b")" 1/s
	done
done

# the first and the last readings of a bucket of 3,600
create > /dev/null
cat > "$files/fill" <<'SQL'
DO $$
DECLARE
	started timestamptz; first double precision; last double precision;
BEGIN
	FOR i IN 0..3599 LOOP
		IF i IN (1, 3300) THEN started := clock_timestamp(); END IF;
		INSERT INTO bench_buckets_table(doc) VALUES (bench_reading(i, 1, '2026-01-01Z'));
		IF i = 300 THEN first := extract(epoch FROM clock_timestamp() - started); END IF;
		IF i = 3599 - 1 THEN last := extract(epoch FROM clock_timestamp() - started); END IF;
	END LOOP;
	INSERT INTO bench_rate VALUES (300 / first, 299 / last);
END $$;
SQL
sql -c 'CREATE TEMP TABLE bench_rate (first double precision, last double precision)' \
	$(for ((i = 0; i < runs; i++)); do echo "-f $files/fill"; done) \
	-c 'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY last), percentile_cont(0.5) WITHIN GROUP (ORDER BY first) FROM bench_rate' > "$files/rate"
IFS='|' read -r last first < <(tail -1 "$files/rate")
tell "rate at the last and the first of 3,600 readings (>= 0.95)" "$last" "$first" 1/s

# in bulk: SERIES READINGS START STATEMENTS: each statement goes on where the one before ended
bulk()
{
	sql > "$files/bulk" <<-SQL
	$(for ((i = 1; i <= $4; i++)); do
		echo "CREATE TEMP TABLE source_$i AS SELECT bench_reading(n, $1, '$3') AS doc FROM generate_series(($i - 1) * $2, $i * $2 - 1) n;"
		echo "\\copy source_$i TO '$files/source_$i'"
	done)
	CREATE TEMP TABLE result (what text, side text, seconds double precision, wal numeric);
	CREATE FUNCTION pg_temp.measure(what text, side text, statement text, n integer) RETURNS void LANGUAGE plpgsql AS \$\$
	DECLARE
		started timestamptz := clock_timestamp();
		wal pg_lsn := pg_current_wal_insert_lsn();
	BEGIN
		FOR i IN 1..n LOOP
			EXECUTE replace(statement, '#', i::text);
		END LOOP;
		INSERT INTO result VALUES (what, side, extract(epoch FROM clock_timestamp() - started) / n, (pg_current_wal_insert_lsn() - wal) / n);
	END \$\$;
	$(for ((i = 0; i < runs; i++)); do
		for side in bench_plain bench_buckets_table; do
			for statement in "INSERT INTO $side(doc) SELECT doc FROM source_#" "COPY $side(doc) FROM ''$files/source_#''"; do
				echo 'TRUNCATE bench_plain, bench_buckets_table_open, bench_buckets_table_sealed; CHECKPOINT;'
				echo "SELECT pg_temp.measure('${statement%% *}', '$side', '$statement', $4);"
			done
		done
	done)
	SELECT what, side, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds), min(wal) FROM result GROUP BY 1, 2 ORDER BY 1, 2;
	SQL
	for what in INSERT COPY; do
		a=$(awk -F'|' -v n="$2" -v what="$what" '$1 == what && $2 == "bench_buckets_table" { print n / $3 }' "$files/bulk")
		b=$(awk -F'|' -v n="$2" -v what="$what" '$1 == what && $2 == "bench_plain" { print n / $3 }' "$files/bulk")
		tell "$what of $2 readings of $1 series, $5 (>= 1.0)" "$a" "$b" 1/s
		a=$(awk -F'|' -v n="$2" -v what="$what" '$1 == what && $2 == "bench_buckets_table" { print $4 / n }' "$files/bulk")
		b=$(awk -F'|' -v n="$2" -v what="$what" '$1 == what && $2 == "bench_plain" { print $4 / n }' "$files/bulk")
		tell "    WAL$6" "$a" "$b" 'bytes'
	done
}
chmod 755 "$files"
for series in 20 1000; do
	create > /dev/null
	bulk $series 1000 2040-01-01Z 100 'a window that is open' ''
done
create > /dev/null
bulk 20 72000 2026-01-01Z 1 'whole buckets' ' (<= 30 bytes)'
create > /dev/null
bulk 1000 200000 2026-01-01Z 1 'windows that are over' ''

# WAL of single inserts, with sealing and vacuum
wal()
{
	sql <<-SQL | tail -1
	CHECKPOINT;
	CREATE TEMP TABLE wal AS SELECT pg_current_wal_insert_lsn() AS lsn;
	DO \$\$ BEGIN
		FOR i IN 0..143999 LOOP
			INSERT INTO $1(doc) VALUES (bench_reading(i, 20, '2026-01-01Z'));
			IF i % 100 = 0 THEN COMMIT; END IF;
		END LOOP;
	END \$\$;
	$2
	SELECT (pg_current_wal_insert_lsn() - lsn) / 144000 FROM wal;
	SQL
}
create > /dev/null
a=$(wal bench_buckets_table "SELECT seal_buckets('bench_buckets_table'); VACUUM bench_buckets_table_open;")
b=$(wal bench_plain 'VACUUM bench_plain;')
tell 'WAL of single inserts, sealed and vacuumed (<= 2)' "$a" "$b" bytes
a=$(sql -c "SELECT pg_total_relation_size('bench_buckets_table_sealed') / 144000.0")
b=$(sql -c "SELECT pg_total_relation_size('bench_plain') / 144000.0")
tell 'size of a reading, indexes included (<= 15 bytes, <= 1/15)' "$a" "$b" bytes

# sealing
create > /dev/null
sql <<'SQL'
INSERT INTO bench_buckets_table_open(bucket_start, at, meta, doc) SELECT date_trunc('hour', at), at, doc->'series', doc
FROM (SELECT bench_reading(n, 20, '2026-01-01Z') AS doc, timestamptz '2026-01-01Z' + n / 20 * interval '1 second' AS at FROM generate_series(0, 719999) n) r;
VACUUM ANALYZE bench_buckets_table_open;
CHECKPOINT;
SQL
seconds_sealing=$(sql -c '\timing on' -c "SELECT seal_buckets('bench_buckets_table')" | awk '$1 == "Time:" { print $2 / 1000 }')
tell 'seal_buckets, one client (>= 300,000 a second)' "$(awk -v s="$seconds_sealing" 'BEGIN { print 720000 / s }')" 300000 1/s

# reading: a day of 20 series
create > /dev/null
sql <<'SQL'
INSERT INTO bench_plain SELECT bench_reading(n, 20, '2026-01-01Z') FROM generate_series(0, 20 * 86400 - 1) n;
INSERT INTO bench_buckets_table(doc) TABLE bench_plain;
SELECT seal_buckets('bench_buckets_table');
VACUUM ANALYZE bench_plain; VACUUM ANALYZE bench_buckets_table_open; VACUUM ANALYZE bench_buckets_table_sealed;
SQL
# times BUCKETS PLAIN: the medians in milliseconds
times()
{
	for ((i = 0; i < runs; i++)); do printf '%s\n' "$1" "$2"; done > "$files/query"
	{ echo "$1"; echo "$2"; echo '\timing on'; cat "$files/query"; } | sql | awk '$1 == "Time:" { print $2 }' > "$files/times"
	tell "$3" "$(awk 'NR % 2 == 1' "$files/times" | median)" "$(awk 'NR % 2 == 0' "$files/times" | median)" ms
}
rows="SELECT count(doc) FROM bench_buckets_table WHERE meta = '\"dev7\"' AND bucket_start = '2026-01-01 03:00Z';"
plain_rows="SELECT count(doc) FROM bench_plain WHERE doc->>'series' = 'dev7' AND doc->>'timestamp' >= '2026-01-01T03:00:00Z' AND doc->>'timestamp' < '2026-01-01T04:00:00Z';"
times "SELECT count(a) FROM (SELECT meta, bucket_start, summary->'avg_temp' AS a FROM bench_buckets_table_buckets OFFSET 0) s;" \
	"SELECT count(a) FROM (SELECT doc->>'series', substr(doc->>'timestamp', 1, 13), avg((doc->>'temp')::numeric) AS a FROM bench_plain GROUP BY 1, 2 OFFSET 0) s;" \
	'hourly averages of a day of 20 series (<= 1/100)'
times "$rows" "$plain_rows" 'an hour of one series as rows (<= 1)'
times "SELECT count(*) FROM bucket_range('bench_buckets_table', '\"dev7\"', '2026-01-01 03:00Z', '2026-01-01 04:00Z');" \
	"SELECT count(*) FROM (SELECT doc FROM bench_plain WHERE doc->>'series' = 'dev7' AND doc->>'timestamp' >= '2026-01-01T03:00:00Z' AND doc->>'timestamp' < '2026-01-01T04:00:00Z' ORDER BY doc->>'timestamp' OFFSET 0) s;" 'the same by bucket_range, in order'
buffers() { sql -c "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) $1" | awk '/Buffers: shared/ { split($3, hit, "="); sub("read=", "", $4); print hit[2] + $4; exit }'; }
tell 'buffers of an hour of one series (<= 1/3)' "$(buffers "$rows")" "$(buffers "$plain_rows")" buffers

sql -c 'DROP TABLE bench_plain' -c "SELECT drop_bucket_table('bench_buckets_table')" -c 'DROP FUNCTION bench_reading' > /dev/null
