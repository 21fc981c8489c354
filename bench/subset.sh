#!/bin/bash
# Subsets: pushing into a list of the ten latest, and the first ten of many.
# Prints the medians of several runs, the two sides in turn, and their ratio.
# Needs psql's environment, and a database with the extension.
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
