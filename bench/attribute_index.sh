#!/bin/bash
# The attribute index beside PostgreSQL's jsonb_path_ops and, where it is
# installed, jsquery: building, size, searching, inserting, and the estimates.
# Prints medians of several runs, the two sides in turn, and their ratio.
# Needs psql's environment, a database with the extension, 1.5 GB and minutes;
# the tables stay in the schema attribute_bench for another run.
#
#	ROWS is the number of products, 1000000 if not set.
set -euo pipefail
cd "$(dirname "$0")"
source ./compare.sh
rows=${ROWS:-1000000}
export PGOPTIONS="${PGOPTIONS:-} -c search_path=attribute_bench,public -c client_min_messages=warning"

run() { psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

# Products with up to 6 of 300 attributes: colors, voltages, sizes, brands, and
# numbers, strings and booleans; the first attributes and values are frequent.
# Twice, since each side needs its table; and once with 1 % of irregular ones.
if [ "$(run -c "SELECT count(*) FROM pg_tables WHERE schemaname = 'attribute_bench'")" = 0 ]; then
	echo "making $rows products ..."
	run -v rows="$rows" <<'SQL'
CREATE SCHEMA attribute_bench;
SELECT setseed(0.42) AS ready \gset
CREATE FUNCTION attribute(a int, r float8) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
		WHEN a = 1 THEN jsonb_build_object('k', 'color', 'v', 'color' || floor(24 * r ^ 3))
		WHEN a = 2 THEN jsonb_build_object('k', 'voltage', 'v', ('{1.5,3,3.3,5,9,12,18,20,24,36,48}'::numeric[])[1 + floor(11 * r ^ 1.5)::int], 'u', 'V')
		WHEN a = 3 THEN jsonb_build_object('k', 'screen_size', 'v', round((5 + 95 * r ^ 3)::numeric, 1), 'u', 'inch')
		WHEN a = 4 THEN jsonb_build_object('k', 'brand', 'v', 'brand' || floor(5000 * r ^ 2))
		WHEN a % 3 = 0 THEN jsonb_build_object('k', 'attr_' || a, 'v', round((1000 * r ^ 3)::numeric, 1), 'u', 'unit')
		WHEN a % 3 = 1 THEN jsonb_build_object('k', 'attr_' || a, 'v', 'value' || floor(1000 * r ^ 2))
		ELSE jsonb_build_object('k', 'attr_' || a, 'v', r < 0.5) END $$;
CREATE UNLOGGED TABLE drawn AS
	SELECT id, n, 1 + floor(300 * random() ^ 2)::int AS a, random() AS r
	FROM generate_series(1, :rows + 20000) id, generate_series(1, 6) n;
CREATE TABLE everything AS
	SELECT id, jsonb_agg(attribute(a, r) ORDER BY n) AS specs FROM (SELECT DISTINCT ON (id, a) * FROM drawn ORDER BY id, a, n) d GROUP BY id ORDER BY id;
DROP TABLE drawn;
CREATE TABLE products AS SELECT * FROM everything WHERE id <= :rows;
CREATE TABLE products_core AS SELECT * FROM products;
CREATE TABLE products_irregular AS
	SELECT id, CASE WHEN id % 100 > 0 THEN specs ELSE CASE id / 100 % 4
		WHEN 0 THEN jsonb_set(specs, '{0,v}', '{"from": 1, "to": 2}')
		WHEN 1 THEN jsonb_set(specs, '{0,k}', jsonb_build_array(specs #> '{0,k}', 'other'))
		WHEN 2 THEN jsonb_set(specs, '{0,v}', jsonb_build_array(jsonb_build_array(specs #> '{0,v}')))
		ELSE jsonb_set(specs, '{0}', jsonb_build_array(specs -> 0)) END END AS specs FROM products;
CREATE TABLE stage AS SELECT * FROM everything WHERE id > :rows;
DROP TABLE everything;
SQL
	for table in products products_core products_irregular stage; do run -c "VACUUM ANALYZE $table"; done
fi
jsquery=
if [ "$(run -c "SELECT count(*) FROM pg_available_extensions WHERE name = 'jsquery'")" = 1 ]; then
	jsquery=1
	run -c 'CREATE EXTENSION IF NOT EXISTS jsquery'
fi

# seconds and megabytes of an index made by a statement on a table
build()
{
	local name=$1 statement=$2 times=() i
	for ((i = 0; i < 3; i++)); do
		run -c "DROP INDEX IF EXISTS $name"
		times+=("$(run -c '\timing on' -c "SET max_parallel_maintenance_workers = 0" -c "$statement" | awk '$1 == "Time:" { t = $2 } END { print t / 1000 }')")
	done
	echo "$(printf '%s\n' "${times[@]}" | median) $(run -c "SELECT round(pg_relation_size('$name') / 1024.0 / 1024)")"
}

show_build() { awk -v title="$1" -v a="$2" -v b="$3" 'BEGIN { split(a, x, " "); split(b, y, " "); printf "%-45s %6.1f s (%.1f times)   %4d MB (%.1f times)\n", title, x[1], x[1] / y[1], x[2], x[2] / y[2] }'; }

run -c "SELECT drop_attribute_index('products', 'specs', if_exists => true), drop_attribute_index('products_irregular', 'specs', if_exists => true)" > /dev/null
core=$(build core_specs "CREATE INDEX core_specs ON products_core USING gin (specs jsonb_path_ops)")
show_build "build and size: jsonb_path_ops" "$core" "$core"
if [ -n "$jsquery" ]; then
	show_build "build and size: jsquery" "$(build jsquery_specs "CREATE INDEX jsquery_specs ON products_core USING gin (specs jsonb_path_value_ops)")" "$core"
fi
show_build "build and size: CREATE INDEX" "$(build products_specs "CREATE INDEX products_specs ON products USING gin (specs jsonb_attribute_ops)")" "$core"
run -c 'DROP INDEX products_specs'
show_build "build and size: create_attribute_index" "$(build products_specs "SELECT create_attribute_index('products', 'specs', index_name => 'products_specs')")" "$core"
run -c "SELECT create_attribute_index('products_irregular', 'specs')" > /dev/null
for table in products products_core products_irregular; do run -c "VACUUM ANALYZE $table"; done

# Milliseconds of runs of a statement that has been run before: what it reads is in memory.
times_of()
{
	{
		printf '%s\n' 'SET jit = off;' 'SET max_parallel_workers_per_gather = 0;' "$1;" "$1;" '\timing on'
		for ((i = 0; i < ${RUNS:-9}; i++)); do printf '%s;\n' "$1"; done
	} | run | awk '$1 == "Time:" { print $2 }'
}
warm() { times_of "$1" | median; }

# TITLE, A and its statement, B and its statement: in turn, but several runs of one before those of the other,
# since together the tables are larger than most caches
compare_warm()
{
	local a_times='' b_times='' turn
	for ((turn = 0; turn < 3; turn++)); do
		a_times+=$(times_of "$3")$'\n'
		b_times+=$(times_of "$5")$'\n'
	done
	awk -v title="$1" -v a="$2" -v b="$4" -v x="$(printf %s "$a_times" | median)" -v y="$(printf %s "$b_times" | median)" \
		'BEGIN { printf "%-45s %-12s %8.2f ms   %-16s %8.2f ms   %6.2f times\n", title, a, x, b, y, y / x }'
}

# the rows themselves are fetched, as a search does
rows_of() { echo "SELECT count(*) FROM (SELECT id FROM $1 WHERE $2 OFFSET 0) s"; }
found() { run -c "$(rows_of products "$1")"; }

# TITLE, our condition, core's, jsquery's
search()
{
	local title
	title="$1: $(found "$2") rows"
	compare_warm "$title" "@~" "$(rows_of products "$2")" "jsonb_path_ops" "$(rows_of products_core "$3")"
	[ -z "$jsquery" ] || compare_warm "$title" "@~" "$(rows_of products "$2")" "jsquery" "$(rows_of products_core "$4")"
}
match() { echo "specs @~ '{\"\$elemMatch\": {\"k\": \"$1\", \"v\": $2}}'"; }
path() { echo "specs @? '\$[*] ? (@.k == \"$1\" && @.v $2)'::jsonpath"; }
size() { path screen_size ">= $1"; }

search "equal" "$(match brand '"brand40"')" "specs @> '[{\"k\": \"brand\", \"v\": \"brand40\"}]'" "specs @@ '#(k = \"brand\" and v = \"brand40\")'::jsquery"
search "equal" "$(match color '"color4"')" "specs @> '[{\"k\": \"color\", \"v\": \"color4\"}]'" "specs @@ '#(k = \"color\" and v = \"color4\")'::jsquery"
for bound in 97.5 65 20; do
	search "range" "$(match screen_size "{\"\$gte\": $bound}")" "$(size $bound)" "specs @@ '#(k = \"screen_size\" and v >= $bound)'::jsquery"
done
# NAME VALUE NAME BOUND: an equality and a range in one condition, the three beside each other
conjunction()
{
	local ours core ours_only="specs @~ '{\"\$all\": [{\"\$elemMatch\": {\"k\": \"$1\", \"v\": \"$2\"}}, {\"\$elemMatch\": {\"k\": \"$3\", \"v\": {\"\$gte\": $4}}}]}'"
	ours=$(warm "$(rows_of products "$ours_only")")
	core=$(warm "$(rows_of products_core "specs @> '[{\"k\": \"$1\", \"v\": \"$2\"}]' AND $(path "$3" ">= $4")")")
	printf '%-45s %-12s %8.2f ms   %-16s %8.2f ms' \
		"equal and range: $(found "$(match "$1" "\"$2\"")") and $(found "$(match "$3" "{\"\$gte\": $4}")"): $(found "$ours_only") rows" "@~" "$ours" "jsonb_path_ops" "$core"
	[ -z "$jsquery" ] || printf '   %-8s %8.2f ms' jsquery "$(warm "$(rows_of products_core "specs @@ '#(k = \"$1\" and v = \"$2\") and #(k = \"$3\" and v >= $4)'::jsquery")")"
	echo
}

both='specs @~ '\''{"$all": [{"$elemMatch": {"k": "color", "v": "color4"}}, {"$elemMatch": {"k": "voltage", "v": {"$gte": 18}}}]}'\'
conjunction color color4 voltage 18
for equal in brand/brand40 brand/brand0 color/color20 color/color4 color/color1 color/color0; do
	for bound in 99.9 97.5 65 20 6; do conjunction "${equal%/*}" "${equal#*/}" screen_size "$bound"; done
done

for bound in 97.5 65 20; do
	compare_warm "range, both by the attribute index" "@~" "$(rows_of products "$(match screen_size "{\"\$gte\": $bound}")")" "@?" "$(rows_of products "$(size $bound)")"
done
for bound in 97.5 65 20; do
	compare_warm "range, 1 % of the documents irregular" "irregular" "$(rows_of products_irregular "$(match screen_size "{\"\$gte\": $bound}")")" "regular" "$(rows_of products "$(match screen_size "{\"\$gte\": $bound}")")"
done
for equal in brand/brand40 color/color4; do
	compare_warm "equal, 1 % of the documents irregular" "irregular" "$(rows_of products_irregular "$(match "${equal%/*}" "\"${equal#*/}\"")")" "regular" "$(rows_of products "$(match "${equal%/*}" "\"${equal#*/}\"")")"
done
compare_warm "both, 1 % of the documents irregular" "irregular" "$(rows_of products_irregular "$both")" "regular" "$(rows_of products "$both")"

# 20,000 rows, which are taken back again
inserts() { echo "DO \$\$ BEGIN INSERT INTO $1 SELECT * FROM stage; $2 RAISE ''; EXCEPTION WHEN raise_exception THEN END \$\$"; }
[ -z "$jsquery" ] || run -c 'DROP INDEX jsquery_specs'
run -c 'ALTER INDEX products_specs SET (fastupdate = off)' -c 'ALTER INDEX core_specs SET (fastupdate = off)'
compare "insert, fastupdate off" "attribute" 20000 "$(inserts products '')" "jsonb_path_ops" 20000 "$(inserts products_core '')"
run -c 'ALTER INDEX products_specs SET (fastupdate = on, gin_pending_list_limit = 65536)' -c 'ALTER INDEX core_specs SET (fastupdate = on, gin_pending_list_limit = 65536)'
compare "insert, fastupdate on, and cleaned" "attribute" 20000 "$(inserts products "PERFORM gin_clean_pending_list('products_specs');")" \
	"jsonb_path_ops" 20000 "$(inserts products_core "PERFORM gin_clean_pending_list('core_specs');")"
run -c 'VACUUM products' -c 'VACUUM products_core'

compare "planning" "with statistics" 1000 "DO \$\$ BEGIN FOR i IN 1 .. 1000 LOOP EXECUTE 'EXPLAIN SELECT FROM products WHERE $(match color '"color4"' | sed "s/'/''/g")'; END LOOP; END \$\$" \
	"core's @>" 1000 "DO \$\$ BEGIN FOR i IN 1 .. 1000 LOOP EXECUTE 'EXPLAIN SELECT FROM products_core WHERE specs @> ''[{\"k\": \"color\", \"v\": \"color4\"}]'''; END LOOP; END \$\$"

# 200 queries about what random products have: by how much the estimates are wrong, either way
run <<'SQL'
SELECT setseed(0.7) AS ready \gset
CREATE TEMP TABLE had AS
SELECT id, e ->> 'k' AS k, e -> 'v' AS v, row_number() OVER (ORDER BY random()) AS n
FROM (SELECT * FROM products TABLESAMPLE BERNOULLI (1) REPEATABLE (1) WHERE random() < 0.2) p, jsonb_array_elements(specs) e;
CREATE FUNCTION pg_temp.rows(query jsonb, OUT estimated float8, OUT matched float8) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM products WHERE specs @~ %L', query) INTO plan;
	estimated := plan #>> '{0,Plan,Plan Rows}';
	EXECUTE format('SELECT greatest(count(*), 1) FROM products WHERE specs @~ %L', query) INTO matched;
END $$;
CREATE TEMP TABLE asked AS
WITH number AS (SELECT k, v, row_number() OVER (ORDER BY n) AS n FROM had WHERE jsonb_typeof(v) = 'number')
SELECT 'equal' AS kind, jsonb_build_object('$elemMatch', jsonb_build_object('k', k, 'v', v)) AS query FROM had WHERE n <= 50
UNION ALL
SELECT 'range', jsonb_build_object('$elemMatch', jsonb_build_object('k', k, 'v', CASE n % 3 WHEN 0 THEN jsonb_build_object('$gte', v) WHEN 1 THEN jsonb_build_object('$lt', v)
	ELSE jsonb_build_object('$gte', v, '$lt', v::numeric * 1.3 + 1) END)) FROM number WHERE n <= 50
UNION ALL
SELECT 'existence', jsonb_build_object('$elemMatch', jsonb_build_object('k', k)) FROM had WHERE n BETWEEN 101 AND 150
UNION ALL
SELECT 'conjunction', jsonb_build_object('$all', jsonb_build_array(jsonb_build_object('$elemMatch', jsonb_build_object('k', a.k, 'v', a.v)), jsonb_build_object('$elemMatch', jsonb_build_object('k', b.k))))
FROM had a CROSS JOIN LATERAL (SELECT k FROM had b WHERE b.id = a.id AND b.k <> a.k ORDER BY n LIMIT 1) b WHERE a.n BETWEEN 201 AND 250;
SELECT format('estimates: %-12s %s queries, wrong by a factor of %s, of ten %s, at most %s', coalesce(kind, 'all'), count(*), round(percentile_disc(0.5) WITHIN GROUP (ORDER BY e)::numeric, 2),
	round(percentile_disc(0.9) WITHIN GROUP (ORDER BY e)::numeric, 2), round(max(e)::numeric, 2))
FROM (SELECT kind, greatest(estimated, matched) / least(estimated, matched) AS e FROM asked, pg_temp.rows(query)) a GROUP BY ROLLUP (kind);
SQL
