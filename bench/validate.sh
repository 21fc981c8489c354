#!/bin/bash
# Validation: a schema of 15 properties against the same rules in PL/pgSQL, and
# what a CHECK with it adds to an insert.  Prints the medians of several runs,
# the two sides in turn, and their ratio; both sides must find the same
# documents valid.
# Needs psql's environment, and a database with the extension.
set -euo pipefail
cd "$(dirname "$0")"
source ./compare.sh

documents=${DOCUMENTS:-20000}
rows=${ROWS:-100000}
schema='{
	"bsonType": "object",
	"required": ["sku", "title", "price", "stock", "category", "created_at"],
	"properties": {
		"sku": {"bsonType": "string", "pattern": "^SKU-[0-9]+$"},
		"title": {"bsonType": "string", "minLength": 1, "maxLength": 200},
		"price": {"bsonType": "number", "minimum": 0},
		"stock": {"bsonType": "int", "minimum": 0},
		"brand": {"bsonType": "string", "maxLength": 40},
		"category": {"enum": ["book", "game", "garden", "kitchen", "music", "shoe", "tool", "toy"]},
		"active": {"bsonType": "bool"},
		"tags": {"bsonType": "array", "maxItems": 10, "items": {"bsonType": "string"}},
		"size": {"bsonType": "object", "required": ["width", "height"], "properties": {
			"width": {"bsonType": "number", "minimum": 0}, "height": {"bsonType": "number", "minimum": 0}}},
		"weight": {"bsonType": "number", "minimum": 0},
		"description": {"bsonType": "string", "maxLength": 2000},
		"created_at": {"bsonType": "string", "minLength": 20, "maxLength": 24},
		"rating": {"bsonType": "number", "minimum": 0, "maximum": 5},
		"reviews": {"bsonType": "int", "minimum": 0},
		"specs": {"bsonType": "array", "items": {"bsonType": "object", "required": ["k", "v"], "properties": {
			"k": {"bsonType": "string", "minLength": 1}}}}}}'

setup <<SQL
SET client_min_messages = warning;
SET temp_buffers = '256MB';
SET synchronous_commit = off;
-- documents of 1 kB
CREATE TEMP TABLE product AS
SELECT jsonb_build_object(
	'sku', 'SKU-' || lpad(i::text, 7, '0'), 'title', 'A product of number ' || i || ' in a line of text', 'price', round(((i * 7919::bigint) % 100000) / 100.0, 2),
	'stock', (i * 31) % 500, 'brand', 'brand-' || (i * 17) % 40, 'category', (ARRAY['book', 'game', 'garden', 'kitchen', 'music', 'shoe', 'tool', 'toy'])[i % 8 + 1],
	'active', i % 3 <> 0, 'tags', jsonb_build_array('t' || i % 10, 't' || i % 7, 't' || i % 3),
	'size', jsonb_build_object('width', i % 90, 'height', i % 70 + 0.5), 'weight', (i % 1000) / 8.0,
	'description', repeat('Words about product ' || i || '. ', 15), 'created_at', to_char(timestamp '2026-01-01' + i * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
	'rating', (i % 51) / 10.0, 'reviews', CASE i % 100 WHEN 0 THEN -1 ELSE i % 1000 END,
	'specs', (SELECT jsonb_agg(jsonb_build_object('k', 'key' || (i * j) % 23, 'v', (i * j) % 101)) FROM generate_series(1, 4) j)) AS doc
FROM generate_series(1, $rows) i;
SELECT 1 / (avg(pg_column_size(doc)) BETWEEN 1000 AND 1250)::int FROM product;
VACUUM ANALYZE product;

CREATE FUNCTION pg_temp.is_string(value jsonb, low int, high int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$
BEGIN
	RETURN value IS NULL OR jsonb_typeof(value) = 'string' AND length(value #>> '{}') BETWEEN low AND high;
END \$\$;
CREATE FUNCTION pg_temp.is_number(value jsonb, low numeric, high numeric, whole boolean) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$
BEGIN
	RETURN value IS NULL OR jsonb_typeof(value) = 'number' AND value::numeric BETWEEN low AND high
		AND (NOT whole OR value::numeric = trunc(value::numeric));
END \$\$;
CREATE FUNCTION pg_temp.is_product(doc jsonb) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$
DECLARE
	element jsonb;
BEGIN
	IF NOT doc ?& '{sku,title,price,stock,category,created_at}' THEN
		RETURN false;
	END IF;
	IF NOT (pg_temp.is_string(doc->'sku', 0, 100) AND doc->>'sku' ~ '^SKU-[0-9]+\$' AND pg_temp.is_string(doc->'title', 1, 200)
		AND pg_temp.is_number(doc->'price', 0, 'infinity', false) AND pg_temp.is_number(doc->'stock', 0, 2147483647, true)
		AND pg_temp.is_string(doc->'brand', 0, 40)
		AND doc->>'category' IN ('book', 'game', 'garden', 'kitchen', 'music', 'shoe', 'tool', 'toy')
		AND (NOT doc ? 'active' OR jsonb_typeof(doc->'active') = 'boolean')
		AND pg_temp.is_number(doc->'weight', 0, 'infinity', false) AND pg_temp.is_string(doc->'description', 0, 2000)
		AND pg_temp.is_string(doc->'created_at', 20, 24) AND pg_temp.is_number(doc->'rating', 0, 5, false)
		AND pg_temp.is_number(doc->'reviews', 0, 2147483647, true)) THEN
		RETURN false;
	END IF;
	IF doc ? 'tags' THEN
		IF jsonb_typeof(doc->'tags') <> 'array' OR jsonb_array_length(doc->'tags') > 10 THEN
			RETURN false;
		END IF;
		FOR element IN SELECT jsonb_array_elements(doc->'tags') LOOP
			IF jsonb_typeof(element) <> 'string' THEN
				RETURN false;
			END IF;
		END LOOP;
	END IF;
	IF doc ? 'size' AND NOT (jsonb_typeof(doc->'size') = 'object' AND doc->'size' ?& '{width,height}'
		AND pg_temp.is_number(doc->'size'->'width', 0, 'infinity', false) AND pg_temp.is_number(doc->'size'->'height', 0, 'infinity', false)) THEN
		RETURN false;
	END IF;
	IF doc ? 'specs' THEN
		IF jsonb_typeof(doc->'specs') <> 'array' THEN
			RETURN false;
		END IF;
		FOR element IN SELECT jsonb_array_elements(doc->'specs') LOOP
			IF NOT (jsonb_typeof(element) = 'object' AND element ?& '{k,v}' AND pg_temp.is_string(element->'k', 1, 1000000)) THEN
				RETURN false;
			END IF;
		END LOOP;
	END IF;
	RETURN true;
END \$\$;
SELECT 1 / (count(*) FILTER (WHERE pg_temp.is_product(doc) <> doc_validate(doc, '$schema')) = 0 AND count(*) FILTER (WHERE pg_temp.is_product(doc)) BETWEEN 1 AND count(*) - 1)::int
FROM (SELECT doc FROM product LIMIT $documents) p;
DELETE FROM product WHERE doc->>'reviews' = '-1';
INSERT INTO product SELECT jsonb_set(doc, '{reviews}', '7') FROM product LIMIT $rows - (SELECT count(*) FROM product);
SELECT 1 / (count(*) = $rows)::int FROM product;

DROP TABLE IF EXISTS bench_plain, bench_checked, bench_variants;
CREATE TABLE bench_plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE bench_checked (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, doc jsonb NOT NULL, CHECK (doc_validate(doc, '$schema')));
CREATE TABLE bench_variants (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, doc jsonb NOT NULL);
SELECT create_polymorphic('bench_variants', 'doc', 'category');
SELECT count(add_variant('bench_variants', 'doc', category, '$schema')) FROM unnest('{book,game,garden,kitchen,music,shoe,tool,toy}'::text[]) category;
SQL
trap 'psql -X -q -c "SET client_min_messages = warning; DROP TABLE IF EXISTS bench_plain, bench_checked, bench_variants"' EXIT
drop_tables="DROP TABLE bench_plain, bench_checked, bench_variants;"
tables=${prelude[0]}

prelude[0]+=$drop_tables
compare "a document of 1 kB, 15 properties" \
	"doc_validate" $documents "SELECT count(*) FROM (SELECT doc FROM product LIMIT $documents OFFSET 0) p WHERE doc_validate(doc, '$schema')" \
	"PL/pgSQL" $documents "SELECT count(*) FROM (SELECT doc FROM product LIMIT $documents OFFSET 0) p WHERE pg_temp.is_product(doc)"

# the times of an insert into each table in turn, which is empty before; title, expression
insert()
{
	local times

	times=$({
		printf '%s\n' '\set QUIET 1' '\pset format unaligned' '\pset tuples_only on' 'SET jit = off;' "$tables"
		for ((i = 0; i <= ${RUNS:-5}; i++)); do
			for table in bench_plain bench_checked bench_variants; do
				printf '%s\n' '\timing off' "TRUNCATE $table;" "CHECKPOINT;" '\timing on' \
					"INSERT INTO $table(doc) SELECT $2 FROM product;"
			done
		done
	} | psql -X -v ON_ERROR_STOP=1 | awk '$1 == "Time:" && ++n > 3 { print $2 }')
	awk -v title="$1" -v n="$rows" \
		-v plain="$(awk 'NR % 3 == 1' <<< "$times" | median)" -v checked="$(awk 'NR % 3 == 2' <<< "$times" | median)" \
		-v variants="$(awk 'NR % 3 == 0' <<< "$times" | median)" \
		'BEGIN {
			printf "%-45s no constraint  %8.1f ms   CHECK (doc_validate) %8.1f ms  %+5.1f %%   8 variants %8.1f ms  %+5.1f %%\n",
				title, plain, checked, 100 * (checked / plain - 1), variants, 100 * (variants / plain - 1) }'
}

insert "insert $rows documents sent as text" "doc::text::jsonb"
insert "insert $rows documents of another table" "doc"
