#!/bin/bash
# Outliers: what documents within the limit pay, and a million pushes to one of many.
# Prints the medians of several runs, the two sides in turn, and their ratio.
# Needs psql's environment, and a database with the extension.
set -euo pipefail
cd "$(dirname "$0")"
source ./compare.sh

POSTS=${POSTS:-100000}
PUSHES=${PUSHES:-1000000}

setup <<'SQL'
SET client_min_messages = warning;
SET synchronous_commit = off;
DROP SCHEMA IF EXISTS outlier_bench CASCADE;
CREATE SCHEMA outlier_bench;
SET search_path = outlier_bench, public;
CREATE TEMP SEQUENCE ids;
CREATE TABLE plain (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE guarded (id int PRIMARY KEY, doc jsonb NOT NULL);
SELECT create_outlier('guarded', 'doc', '{followers}', 50);
CREATE TEMP TABLE source AS
SELECT jsonb_build_object('title', 'Post number ' || p, 'body', repeat('some words ', 20), 'followers',
	(SELECT jsonb_agg('reader ' || f) FROM generate_series(1, 1 + p % 20) f)) AS doc
FROM generate_series(1, 50000) p;
SQL
compare "insert of 50,000 documents within the limit" \
	"with outlier" 50000 "INSERT INTO guarded SELECT nextval('ids'), doc FROM source" \
	"plain table" 50000 "INSERT INTO plain SELECT nextval('ids'), doc FROM source"

prelude+=("INSERT INTO plain SELECT nextval('ids'), doc FROM source; INSERT INTO guarded SELECT nextval('ids'), doc FROM source;")
compare "update of 50,000 documents within the limit" \
	"with outlier" 50000 "UPDATE guarded SET doc = doc <~ '{\"\$set\": {\"n\": 1}}'" \
	"plain table" 50000 "UPDATE plain SET doc = doc <~ '{\"\$set\": {\"n\": 1}}'"

# One document a statement, as applications write.
prelude+=("CREATE PROCEDURE update_each(name text) LANGUAGE plpgsql AS \$\$ DECLARE n int; BEGIN
	FOR n IN EXECUTE format('SELECT id FROM %s LIMIT 20000', name) LOOP EXECUTE format('UPDATE %s SET doc = doc <~ ''{\"\$set\": {\"n\": 1}}'' WHERE id = \$1', name) USING n; END LOOP; END \$\$;")
compare "20,000 updates of one document" \
	"with outlier" 20000 "CALL update_each('guarded')" \
	"plain table" 20000 "CALL update_each('plain')"

# Each push is a statement and a transaction of its own.
echo "$PUSHES pushes to one of $POSTS posts, in us each:"
psql -X -q -v ON_ERROR_STOP=1 <<SQL
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS outlier_bench CASCADE;
CREATE SCHEMA outlier_bench;
CREATE TABLE outlier_bench.posts (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO outlier_bench.posts SELECT p, '{"followers": []}' FROM generate_series(1, $POSTS) p;
SELECT create_outlier('outlier_bench.posts', 'doc', '{followers}', 50) \g /dev/null
SET synchronous_commit = off;
CREATE PROCEDURE outlier_bench.push(first int, last int) LANGUAGE plpgsql AS \$\$
BEGIN
	FOR i IN first..last LOOP
		PERFORM outlier_push('outlier_bench.posts', 77, to_jsonb(i));
		COMMIT;
	END LOOP;
END \$\$;
\\pset tuples_only on
SELECT format('SELECT clock_timestamp() AS start \\gset
CALL outlier_bench.push(%s, %s);
SELECT format(''%%s to %%s: %%s'', %1\$s, %2\$s, round((extract(epoch FROM clock_timestamp() - :''start''::timestamptz) * 1e6 / %s)::numeric, 1));',
	n * $PUSHES / 10 + 1, (n + 1) * $PUSHES / 10, $PUSHES / 10) FROM generate_series(0, 9) n \\g (format=unaligned) /tmp/outlier_bench.$$.sql
\\i /tmp/outlier_bench.$$.sql
SELECT 'elements in the document: ' || jsonb_array_length(doc->'followers') || ', in all: ' || (SELECT count(*) FROM outlier_elements('outlier_bench.posts', 77)) ||
	', in their order: ' || (SELECT bool_and(e = to_jsonb(o)) FROM outlier_elements('outlier_bench.posts', 77) WITH ORDINALITY x(e, o))
FROM outlier_bench.posts WHERE id = 77;
DROP SCHEMA outlier_bench CASCADE;
SQL
rm -f "/tmp/outlier_bench.$$.sql"
