#!/bin/bash
# Fields computed from other rows: what maintaining count, sum and average in
# 10,000 parents costs, beside no maintenance and triggers as one writes them.
# Prints the medians of several rounds, all sides in turn, and their ratios.
# Needs psql's environment, and a database with the extension that may be filled;
# pins each client and its backend to a processor where it may (run it as the
# server's user or as root).  RUNS, SECONDS_EACH and ROWS make it longer or shorter,
# SIDES has some of the sides alone.
set -euo pipefail
cd "$(dirname "$0")"
source ./pgbench.sh

runs=${RUNS:-3}
rows=${ROWS:-1000000}
read -ra sides <<< "${SIDES:-none row statement immediate deferred queued}"

psql -qX -v ON_ERROR_STOP=1 <<'SQL'
SET client_min_messages = warning;

DO $do$
DECLARE
	side text;
BEGIN
	FOREACH side IN ARRAY '{none,row,statement,immediate,deferred,queued}'::text[] LOOP
		EXECUTE format('DROP SCHEMA IF EXISTS bench_%1$s CASCADE; CREATE SCHEMA bench_%1$s', side);
		EXECUTE format($q$
			CREATE TABLE bench_%1$s.parents (id int PRIMARY KEY, doc jsonb NOT NULL);
			INSERT INTO bench_%1$s.parents
			SELECT g, jsonb_build_object('title', 'Product ' || g, 'description', repeat(md5(g::text), 8), 'votes', 0, 'stars', 0, 'average', NULL) FROM generate_series(1, 10000) g;
			CREATE TABLE bench_%1$s.reviews (id bigserial PRIMARY KEY, parent_id int NOT NULL, stars int NOT NULL, body text, created timestamptz DEFAULT now());
			CREATE INDEX ON bench_%1$s.reviews (parent_id);
			CREATE VIEW bench_%1$s.ratings AS SELECT parent_id, count(*) AS votes, sum(stars) AS stars, avg(stars) AS average FROM bench_%1$s.reviews GROUP BY parent_id$q$, side);
		IF side IN ('immediate', 'deferred', 'queued') THEN
			EXECUTE format('SELECT create_computed(''bench_%1$s.parents'', ''doc'', ''bench_%1$s.ratings'', ''parent_id'', mode => %1$L)', side);
		END IF;
	END LOOP;
END $do$;

-- by hand: a row at a time, and a statement at a time
CREATE FUNCTION bench_row.add() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE bench_row.parents SET doc = doc || jsonb_build_object('votes', (doc ->> 'votes')::int + 1,
		'stars', (doc ->> 'stars')::int + NEW.stars, 'average', ((doc ->> 'stars')::numeric + NEW.stars) / ((doc ->> 'votes')::int + 1)) WHERE id = NEW.parent_id;
	RETURN NULL;
END $$;
CREATE TRIGGER add AFTER INSERT ON bench_row.reviews FOR EACH ROW EXECUTE FUNCTION bench_row.add();
CREATE FUNCTION bench_statement.add() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE bench_statement.parents SET doc = doc || jsonb_build_object('votes', (doc ->> 'votes')::int + votes,
		'stars', (doc ->> 'stars')::int + s.stars, 'average', ((doc ->> 'stars')::numeric + s.stars) / ((doc ->> 'votes')::int + votes))
	FROM (SELECT parent_id, count(*)::int AS votes, sum(stars)::int AS stars FROM new_rows GROUP BY parent_id) s WHERE id = s.parent_id;
	RETURN NULL;
END $$;
CREATE TRIGGER add AFTER INSERT ON bench_statement.reviews REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION bench_statement.add();
SQL

# begin anew with empty reviews
clean()
{
	psql -qX -v ON_ERROR_STOP=1 -c "TRUNCATE bench_$1.reviews" -c "UPDATE bench_$1.parents SET doc = doc || '{\"votes\": 0, \"stars\": 0, \"average\": null}'" -c "VACUUM FULL ANALYZE bench_$1.parents" -c CHECKPOINT
	if [ "$1" = queued ]; then refresh queued; fi
}

refresh()
{
	psql -qXAt -v ON_ERROR_STOP=1 -c "SET client_min_messages = warning" -c "SELECT refresh_computed('bench_$1.parents')" > /dev/null
}

# what the documents must hold after all of it
check()
{
	local wrong

	if [ "$1" = none ]; then return; fi
	if [ "$1" = queued ]; then refresh queued; fi
	wrong=$(psql -qXAt -c "SELECT count(*) FROM bench_$1.parents LEFT JOIN bench_$1.ratings ON parent_id = id WHERE (doc -> 'votes')::int <> coalesce(votes, 0) OR (doc -> 'stars' <> coalesce(to_jsonb(stars), 'null') AND votes > 0)")
	[ "$wrong" = 0 ] || echo "$1: $wrong documents are wrong" >&2
}

body="'a short review body of about sixty characters, more or less ok'"
for side in "${sides[@]}"; do
	script "single_$side" <<< "\\set p random(1, 10000)
\\set s random(1, 5)
INSERT INTO bench_$side.reviews(parent_id, stars, body) VALUES (:p, :s, $body);"
	{
		echo 'BEGIN;'
		for ((i = 0; i < 20; i++)); do
			printf '%s\n' "\\set s random(1, 5)" "INSERT INTO bench_$side.reviews(parent_id, stars, body) VALUES (42, :s, $body);"
		done
		echo 'COMMIT;'
	} | script "hot_$side"
done

echo "single-row inserts, random parents, 1 client: transactions a second"
measure "$runs" none "${sides[@]}" <<< 'clean $side; tps 1 single_$side'
for side in "${sides[@]}"; do check "$side"; done

echo "single-row inserts, random parents, 2 clients: transactions a second"
measure "$runs" none "${sides[@]}" <<< 'clean $side; tps 2 single_$side'
for side in "${sides[@]}"; do check "$side"; done

echo "hot parent, 2 clients, transactions of 20 inserts: transactions a second"
measure "$runs" row "${sides[@]}" <<< 'clean $side; tps 2 hot_$side'
for side in "${sides[@]}"; do check "$side"; done

for side in "${sides[@]}"; do
	psql -qX -v ON_ERROR_STOP=1 -c "ALTER TABLE bench_$side.reviews ADD FOREIGN KEY (parent_id) REFERENCES bench_$side.parents"
done
echo "with a foreign key: 100,000 rows of random parents in one INSERT ... SELECT: ms"
measure "$runs" none "${sides[@]}" <<< 'clean $side; ms "INSERT INTO bench_$side.reviews(parent_id, stars, body) SELECT 1 + (g * 7919::bigint) % 10000, 1 + g % 5, $body FROM generate_series(1, 100000) g"'
for side in "${sides[@]}"; do check "$side"; done

echo "with a foreign key: 10,000 rows of one parent in one INSERT ... SELECT: ms"
measure "$runs" none "${sides[@]}" <<< 'clean $side; ms "INSERT INTO bench_$side.reviews(parent_id, stars, body) SELECT 42, 1 + g % 5, $body FROM generate_series(1, 10000) g"'
for side in "${sides[@]}"; do check "$side"; done

echo "$rows rows of 10,000 parents: the view's SELECT, and refresh_computed: ms"
clean immediate
psql -qX -c "ALTER TABLE bench_immediate.reviews DISABLE TRIGGER USER" \
	-c "INSERT INTO bench_immediate.reviews(parent_id, stars, body) SELECT 1 + (g * 7919::bigint) % 10000, 1 + g % 5, $body FROM generate_series(1, $rows) g" \
	-c "ALTER TABLE bench_immediate.reviews ENABLE TRIGGER USER" -c "VACUUM ANALYZE bench_immediate.reviews"
stale="UPDATE bench_immediate.parents SET doc = doc || '{\"votes\": -1}'"
refresh="SELECT refresh_computed('bench_immediate.parents')"
measure "$runs" select select refresh again <<< '
case $side in
	select) ms "SELECT count(*) FROM (SELECT * FROM bench_immediate.ratings OFFSET 0) s" ;;
	refresh) psql -qX -c "SET session_replication_role = replica" -c "$stale" -c "VACUUM bench_immediate.parents" > /dev/null
		ms "$refresh" ;;
	again) ms "$refresh" ;;
esac'
echo "  memory of the backend that refreshes, at most: $(high_water "SET client_min_messages = warning; SET session_replication_role = replica; $stale; RESET session_replication_role; $refresh") kB; that does nothing: $(high_water "SELECT 1") kB"

echo "writers beside a refresh: the longest of their transactions, ms"
psql -qX -c "SET session_replication_role = replica" -c "$stale" > /dev/null
longest "$refresh" single_immediate

echo "rows that change nothing: is the parent untouched?"
psql -qXAt <<< "
SELECT ctid AS before FROM bench_immediate.parents WHERE id = 42 \\gset
UPDATE bench_immediate.reviews SET body = 'other' WHERE parent_id = 42;
UPDATE bench_immediate.reviews SET stars = stars WHERE parent_id = 42;
SELECT CASE WHEN ctid = :'before' THEN '  yes' ELSE '  NO' END FROM bench_immediate.parents WHERE id = 42;"

psql -qX -c "SET client_min_messages = warning" -c 'DROP SCHEMA bench_none, bench_row, bench_statement, bench_immediate, bench_deferred, bench_queued CASCADE'
