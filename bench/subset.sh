#!/bin/bash
# Subsets: pushing into a list of the ten latest, the first ten of many, and what
# it costs to have them follow a table.
# Prints the medians of several runs, the two sides in turn, and their ratio.
# Needs psql's environment, and a database with the extension that may be filled.
set -euo pipefail
cd "$(dirname "$0")"
source ./compare.sh

setup <<'SQL'
CREATE FUNCTION pg_temp.review(i int, minutes int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
SELECT jsonb_build_object('review_id', i, 'author', 'user' || i % 1000, 'stars', 1 + i % 5,
	'date', to_char(timestamp '2026-01-01' + minutes * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
	'text', 'This is review text number ' || i || ' with some words about the product that run on a little') $$;
-- products with their ten latest reviews, and one more that is, for two of three, among them
CREATE TEMP TABLE product AS
SELECT p AS id, jsonb_build_object('name', 'Product ' || p, 'price', 9.99,
	'recent_reviews', (SELECT jsonb_agg(pg_temp.review(p * 10 + k, -k) ORDER BY k) FROM generate_series(0, 9) k)) AS doc,
	pg_temp.review(p, p * 7919 % 30 - 15) AS review
FROM generate_series(1, 20000) p;
CREATE TEMP TABLE review AS
SELECT p % 2000 AS product, pg_temp.review(p, (p::bigint * 7919 % 500000)::int) AS doc FROM generate_series(1, 100000) p;
ANALYZE product;
ANALYZE review;
SQL

push="SELECT count(subset_push(doc, '{recent_reviews}', review, 10, 'date desc')) FROM product"
compare "push into the ten latest" \
	"subset_push" 20000 "$push" \
	"unnest, sort, limit, jsonb_agg" 5000 "SELECT count(jsonb_set(doc, '{recent_reviews}', (SELECT jsonb_agg(e ORDER BY e ->> 'date' DESC) FROM
		(SELECT e FROM jsonb_array_elements((doc -> 'recent_reviews') || review) e ORDER BY e ->> 'date' DESC LIMIT 10) s))) FROM product WHERE id <= 5000"

compare "push into the ten latest, list alone" \
	"subset_push" 20000 "SELECT count(subset_push(list, review, 10, 'date desc')) FROM (SELECT doc -> 'recent_reviews' AS list, review FROM product OFFSET 0) s" \
	"unnest, sort, limit, jsonb_agg" 5000 "SELECT count((SELECT jsonb_agg(e ORDER BY e ->> 'date' DESC) FROM
		(SELECT e FROM jsonb_array_elements(list || review) e ORDER BY e ->> 'date' DESC LIMIT 10) s)) FROM (SELECT doc -> 'recent_reviews' AS list, review FROM product WHERE id <= 5000 OFFSET 0) s"

compare "push into the ten latest" \
	"subset_push" 20000 "$push" \
	"jsonb_set of one element" 20000 "SELECT count(jsonb_set(doc, '{recent_reviews,0}', review)) FROM product"

compare "push into the ten latest" \
	"subset_push" 20000 "$push" \
	"a look at the list" 20000 "SELECT count(doc -> 'recent_reviews') FROM product"

compare "the ten latest of 100,000, each" \
	"subset_agg" 100000 "SELECT subset_agg(doc, 10, 'date desc') FROM review" \
	"sort, limit, jsonb_agg" 100000 "SELECT jsonb_agg(doc) FROM (SELECT doc FROM review ORDER BY doc ->> 'date' DESC LIMIT 10) s"

compare "the ten latest of each of 2,000, each" \
	"subset_agg" 100000 "SELECT count(l) FROM (SELECT subset_agg(doc, 10, 'date desc') AS l FROM review GROUP BY product) s" \
	"row_number, filter, jsonb_agg" 100000 "SELECT count(l) FROM (SELECT jsonb_agg(doc ORDER BY n) AS l FROM
		(SELECT product, doc, row_number() OVER (PARTITION BY product ORDER BY doc ->> 'date' DESC) AS n FROM review) s WHERE n <= 10 GROUP BY product) s"

# Whole transactions: the row is found, changed and written.
source ./pgbench.sh

psql -qX -v ON_ERROR_STOP=1 <<'SQL'
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS bench_subset CASCADE;
CREATE SCHEMA bench_subset;
CREATE FUNCTION bench_subset.review(i int, minutes int) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
SELECT jsonb_build_object('review_id', i, 'author', 'user' || i % 1000, 'stars', 1 + i % 5,
	'date', to_char(timestamp '2026-01-01' + minutes * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
	'text', 'This is review text number ' || i || ' with some words about the product that run on a little') $$;
CREATE TABLE bench_subset.product (id int PRIMARY KEY, doc jsonb NOT NULL);
-- what is pushed, as an application would send it
CREATE TABLE bench_subset.incoming (i int PRIMARY KEY, review jsonb NOT NULL);
INSERT INTO bench_subset.incoming SELECT i, bench_subset.review(i, (i::bigint * 7919 % 500000)::int) FROM generate_series(1, 100000) i;
VACUUM ANALYZE bench_subset.incoming;
-- products with reviews in a table, and their ten latest in the document
CREATE TABLE bench_subset.followed (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO bench_subset.followed SELECT p, jsonb_build_object('name', 'Product ' || p, 'price', 9.99) FROM generate_series(1, 10000) p;
CREATE TABLE bench_subset.reviews (review_id int, product int, author text, stars int, date timestamp, text text);
CREATE INDEX reviews_date ON bench_subset.reviews (product, date);
INSERT INTO bench_subset.reviews SELECT p * 10 + k, p, 'user' || (p * 10 + k) % 1000, 1 + k % 5, timestamp '2026-01-01' - k * interval '1 minute', 'This is review text number ' || p * 10 + k || ' with some words about the product that run on a little'
FROM generate_series(1, 10000) p, generate_series(0, 9) k;
SELECT create_subset('bench_subset.followed', 'doc', '{recent_reviews}', 'bench_subset.reviews', 'product', '{review_id,author,stars,date,text}', 'date desc', 10);
-- and one with as many as all others together
INSERT INTO bench_subset.followed VALUES (0, '{"name": "Product 0"}');
INSERT INTO bench_subset.reviews SELECT -i, 0, 'user' || i % 1000, 1 + i % 5, timestamp '2026-01-01' - i * interval '1 second', 'This is review text number ' || i || ' with some words about the product that run on a little'
FROM generate_series(1, 100000) i;
ANALYZE bench_subset.reviews;
-- the same reviews without anybody who follows
CREATE TABLE bench_subset.alone (LIKE bench_subset.reviews INCLUDING ALL);
INSERT INTO bench_subset.alone TABLE bench_subset.reviews;
ANALYZE bench_subset.alone;
SQL

renew()
{
	psql -qX -v ON_ERROR_STOP=1 -c 'TRUNCATE bench_subset.product' -c "INSERT INTO bench_subset.product
		SELECT p, jsonb_build_object('name', 'Product ' || p, 'price', 9.99, 'recent_reviews', (SELECT jsonb_agg(bench_subset.review(p * 10 + k, -k) ORDER BY k) FROM generate_series(0, 9) k))
		FROM generate_series(1, 10000) p" -c 'VACUUM ANALYZE bench_subset.product' -c CHECKPOINT
}

random='\set p random(1, 10000)
\set i random(1, 100000)
\set d random(1, 500000)'
review='(SELECT review FROM bench_subset.incoming WHERE i = :i)'
script push <<< "$random
UPDATE bench_subset.product SET doc = subset_push(doc, '{recent_reviews}', $review, 10, 'date desc') WHERE id = :p;"
script plain <<< "$random
UPDATE bench_subset.product SET doc = jsonb_set(doc, '{recent_reviews}', (SELECT jsonb_agg(e ORDER BY e ->> 'date' DESC) FROM
	(SELECT e FROM jsonb_array_elements((doc -> 'recent_reviews') || $review) e ORDER BY e ->> 'date' DESC LIMIT 10) s)) WHERE id = :p;"
script set <<< "$random
UPDATE bench_subset.product SET doc = jsonb_set(doc, '{recent_reviews,0}', $review) WHERE id = :p;"
insert="(review_id, product, author, stars, date, text) VALUES (:i, :p, 'user' || :i % 1000, 1 + :i % 5, timestamp '2026-01-01' + :d * interval '1 minute', 'This is review text number ' || :i || ' with some words about the product that run on a little');"
script followed <<< "$random
INSERT INTO bench_subset.reviews $insert"
script alone <<< "$random
INSERT INTO bench_subset.alone $insert"

echo "push into the ten latest of 10,000 products, 1 client: transactions a second"
measure "${RUNS:-5}" plain push plain set <<< 'renew; tps 1 $side'
echo "insert a review of one of 10,000 products, 1 client: transactions a second"
measure "${RUNS:-5}" alone alone followed <<< 'tps 1 $side'

# One of the ten latest of 100,000 goes, and its successor is found: by an index
# on (product, date), or among all.
echo "delete one of the ten latest of 100,000: ms"
delete='DELETE FROM bench_subset.@TABLE@ WHERE product = 0 AND date = (SELECT max(date) FROM bench_subset.@TABLE@ WHERE product = 0)'
measure "${RUNS:-5}" alone alone followed without <<< '
case $side in
	alone) ms "${delete//@TABLE@/alone}" ;;
	followed) ms "${delete//@TABLE@/reviews}" ;;
	without) psql -qX -c "DROP INDEX bench_subset.reviews_date" -c "CREATE INDEX reviews_product ON bench_subset.reviews (product)"
		ms "${delete//@TABLE@/reviews}"
		psql -qX -c "CREATE INDEX reviews_date ON bench_subset.reviews (product, date)" -c "DROP INDEX bench_subset.reviews_product" ;;
esac'
wrong=$(psql -qXAt -c "SELECT count(*) FROM verify_computed('bench_subset.followed')")
[ "$wrong" = 0 ] || echo "$wrong documents are wrong" >&2
psql -qX -c "SET client_min_messages = warning" -c 'DROP SCHEMA bench_subset CASCADE'
