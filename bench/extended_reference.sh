#!/bin/bash
# The extended reference: inserting with a copy beside inserting the documents
# that come of it, and a change of the source.  Prints medians of several runs,
# the sides in turn, and their ratio.  Needs psql's environment and a database
# with the extension; the tables are in a schema that is dropped at the end.
#
#	ROWS is the number of orders, 100000 if not set; a tenth as many customers.
set -euo pipefail
cd "$(dirname "$0")"
source ./compare.sh
rows=${ROWS:-100000}
export PGOPTIONS="${PGOPTIONS:-} -c search_path=extended_reference_bench,public -c client_min_messages=warning"

run() { psql -X -q -A -t -v ON_ERROR_STOP=1 -v rows="$rows" "$@"; }
trap 'run -c "DROP SCHEMA IF EXISTS extended_reference_bench CASCADE"' EXIT

run <<'SQL'
DROP SCHEMA IF EXISTS extended_reference_bench CASCADE;
CREATE SCHEMA extended_reference_bench;
CREATE TABLE customers (id int PRIMARY KEY, name text, phone text, credit text, doc jsonb);
INSERT INTO customers
SELECT g, 'Customer number ' || g, '+1-408-555-' || g, 'AAA', jsonb_build_object('address', jsonb_build_object('city', 'City ' || g % 100, 'zip', g))
FROM generate_series(1, :rows / 10) g;
CREATE TABLE plain (id int PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE snapshots (LIKE plain INCLUDING ALL);
CREATE TABLE followers (LIKE plain INCLUDING ALL);
-- as long without a reference as the index on it makes those with live fields
CREATE TABLE plain_indexed (LIKE plain INCLUDING ALL);
CREATE INDEX ON plain_indexed ((doc #>> '{customer,_id}'));
SELECT create_extended_reference('snapshots', 'doc', '{customer}', 'customers', '{customer,_id}', '{name,phone,address.city}') AS made \gset
SELECT create_extended_reference('followers', 'doc', '{customer}', 'customers', '{customer,_id}', '{name,phone,address.city}', mode => 'live') AS made \gset
CREATE TABLE stage AS
SELECT g AS id, jsonb_build_object('order_number', 'PO-' || g, 'status', 'SHIPPED', 'total_amount', g * 1.5, 'items', jsonb_build_array(g % 7, g % 11),
	'customer', jsonb_build_object('_id', 1 + g * 7919 % (:rows / 10))) AS doc
FROM generate_series(1, :rows) g;
INSERT INTO snapshots SELECT * FROM stage;
CREATE TABLE final AS SELECT * FROM snapshots;
VACUUM ANALYZE;
SQL

# milliseconds of INSERT INTO a table FROM another
insert_time()
{
	run -c "TRUNCATE $1"
	run -c '\timing on' -c "INSERT INTO $1 SELECT * FROM $2" | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p'
}

# median of numbers on the command line
middle() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }

plain=() snapshot=() indexed=() live=()
for ((i = 0; i < 5; i++)); do
	plain+=("$(insert_time plain final)")
	snapshot+=("$(insert_time snapshots stage)")
	indexed+=("$(insert_time plain_indexed final)")
	live+=("$(insert_time followers stage)")
done
printf '%-50s %10s %10s %7s\n' "inserting $rows orders, ms" without with ratio
awk -v a="$(middle "${plain[@]}")" -v b="$(middle "${snapshot[@]}")" 'BEGIN { printf "%-50s %10.0f %10.0f %7.2f\n", "three snapshot fields", a, b, b / a }'
awk -v a="$(middle "${indexed[@]}")" -v b="$(middle "${live[@]}")" 'BEGIN { printf "%-50s %10.0f %10.0f %7.2f\n", "three live fields, with the index on both sides", a, b, b / a }'

# a customer with a tenth of all orders
run <<'SQL'
UPDATE followers SET doc = jsonb_set(doc, '{customer,_id}', '1') WHERE id <= :rows / 10;
VACUUM ANALYZE followers;
SQL
time_of() { run -c '\timing on' -c "$1" | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p'; }
printf '\n%-50s %10.1f ms\n' "a change of no copied field" "$(time_of "UPDATE customers SET credit = credit || 'A' WHERE id = 1")"
printf '%-50s %10.1f ms\n' "a change of a copied field of $((rows / 10)) orders" "$(time_of "UPDATE customers SET name = name || '!' WHERE id = 1")"
printf '%-50s %10.1f ms\n' "updating as many by hand" "$(time_of "UPDATE plain_indexed SET doc = jsonb_set(doc, '{customer,name}', '\"x\"') WHERE id <= $rows / 10")"
printf '%-50s %10s\n' "copies that are not right" "$(run -c "SELECT count(*) FROM verify_extended_reference('followers', 'doc', '{customer}')")"
