#!/bin/bash
# BSON: reading a file of mongodump into a table, and what a document costs
# beside libbson's Extended JSON that is cast to jsonb.
# Prints medians of several runs, the two sides in turn, and their ratio.
# Needs psql's environment with a superuser on this machine, a database with the
# extension, a compiler, libbson's headers, xxd, and 3 times MEGABYTES of disk.
#
#	MEGABYTES is the size of the file, 200 if not set.
set -euo pipefail
cd "$(dirname "$0")"
source ./compare.sh
megabytes=${MEGABYTES:-200}
work=$(mktemp -d)
trap 'rm -rf "$work"; psql -X -q -c "DROP SCHEMA IF EXISTS bson_bench CASCADE" 2> /dev/null' EXIT
chmod 755 "$work"
run() { psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }

# Products with a few numbers, texts, dates and a list: about 600 bytes each
run -c "SET client_min_messages = warning" -c "DROP SCHEMA IF EXISTS bson_bench CASCADE" -c "CREATE SCHEMA bson_bench" \
	-c "CREATE TABLE bson_bench.document AS SELECT jsonb_to_bson(jsonb_build_object(
		'_id', jsonb_build_object('\$oid', lpad(to_hex(g), 24, '0')), 'name', 'Product number ' || g, 'price', round(random()::numeric * 1000, 2), 'stock', g % 1000,
		'sold', jsonb_build_object('\$numberLong', (g::bigint * 1000003)::text), 'weight', random(), 'created', jsonb_build_object('\$date', '2026-01-01T00:00:00Z'),
		'description', repeat('words about it ', 10), 'tags', jsonb_build_array('red', 'large', 'new', 'tag ' || g % 97),
		'specs', (SELECT jsonb_agg(jsonb_build_object('k', 'attribute ' || a, 'v', (g * a) % 5000)) FROM generate_series(1, 4) a))) AS bson FROM generate_series(1, 80000) g"
run -c "SELECT encode(string_agg(bson, ''), 'hex') FROM bson_bench.document" | xxd -r -p > "$work/chunk"
while [ "$(stat -c %s "$work/documents.bson" 2> /dev/null || echo 0)" -lt $((megabytes * 1000000)) ]; do
	cat "$work/chunk" >> "$work/documents.bson"
done
gzip -1 -k "$work/documents.bson"
chmod 644 "$work"/*
bytes=$(stat -c %s "$work/documents.bson")

# the median of the seconds that a statement takes
seconds()
{
	for ((i = 0; i < ${RUNS:-5}; i++)); do
		run -c 'SET synchronous_commit = off' -c "${2:-SELECT}" -c '\timing on' -c "$1" | awk '$1 == "Time:" { print $2 / 1000 }' | tail -1
	done | median
}
report() { awk -v title="$1" -v s="$2" -v bytes="$bytes" 'BEGIN { printf "%-45s %8.2f s %8.0f MB/s\n", title, s, bytes / 1e6 / s }'; }

run -c "CREATE UNLOGGED TABLE bson_bench.loaded (doc jsonb)"
echo "a file of $((bytes / 1000000)) MB:"
report "load_bson into an unlogged table" "$(seconds "SELECT load_bson('bson_bench.loaded', 'doc', '$work/documents.bson')" 'TRUNCATE bson_bench.loaded')"
report "load_bson, mode plain" "$(seconds "SELECT load_bson('bson_bench.loaded', 'doc', '$work/documents.bson', 'plain')" 'TRUNCATE bson_bench.loaded')"
run -c "ALTER TABLE bson_bench.loaded SET LOGGED"
report "load_bson into a table" "$(seconds "SELECT load_bson('bson_bench.loaded', 'doc', '$work/documents.bson')" 'TRUNCATE bson_bench.loaded')"
report "bson_file in the SELECT list" "$(seconds "SELECT count(*) FROM (SELECT bson_file('$work/documents.bson') OFFSET 0) f")"
report "bson_file in the SELECT list, compressed" "$(seconds "SELECT count(*) FROM (SELECT bson_file('$work/documents.bson.gz') OFFSET 0) f")"
report "bson_file in FROM" "$(seconds "SELECT count(*) FROM bson_file('$work/documents.bson')")"

# The other way: libbson writes text, PostgreSQL reads it
cat > "$work/relaxed.c" <<'C'
#include "postgres.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include <bson/bson.h>
PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(relaxed);
Datum
relaxed(PG_FUNCTION_ARGS)
{
	bytea	   *document = PG_GETARG_BYTEA_PP(0);
	bson_t		bson;
	char	   *json;
	text	   *result;

	if (!bson_init_static(&bson, (uint8_t *) VARDATA_ANY(document), VARSIZE_ANY_EXHDR(document)))
		elog(ERROR, "invalid BSON");
	json = bson_as_relaxed_extended_json(&bson, NULL);
	result = cstring_to_text(json);
	bson_free(json);
	PG_RETURN_TEXT_P(result);
}
C
"${CC:-cc}" -O2 -fPIC -shared -I"$("${PG_CONFIG:-pg_config}" --includedir-server)" "$work/relaxed.c" -o "$work/relaxed.so" \
	$(pkg-config --cflags --libs libbson-1.0 2> /dev/null || pkg-config --cflags --libs bson2)
chmod 644 "$work/relaxed.so"
setup <<SQL
CREATE FUNCTION pg_temp.relaxed(bytea) RETURNS text AS '$work/relaxed' LANGUAGE c IMMUTABLE STRICT;
SQL
compare "a document" \
	"bson_to_jsonb" 80000 "SELECT count(bson_to_jsonb(bson)) FROM bson_bench.document" \
	"bson_as_relaxed_extended_json, cast" 80000 "SELECT count(pg_temp.relaxed(bson)::jsonb) FROM bson_bench.document"
setup <<SQL
CREATE FUNCTION pg_temp.relaxed(bytea) RETURNS text AS '$work/relaxed' LANGUAGE c IMMUTABLE STRICT;
CREATE TEMP TABLE relaxed_documents (doc jsonb);
CREATE TEMP TABLE documents (doc jsonb);
\! head -c \$(stat -c %s "$work/chunk") "$work/documents.bson" > "$work/once.bson"; chmod 644 "$work/once.bson"
SQL
compare "a document into a table" \
	"load_bson" 80000 "SELECT load_bson('documents', 'doc', '$work/once.bson')" \
	"the same text, cast, INSERT" 80000 "INSERT INTO relaxed_documents SELECT pg_temp.relaxed(bson)::jsonb FROM bson_bench.document"
