#!/bin/bash
# Queries of documents: @~ against the jsonpath that says the same, in scans of
# one table.  Prints the medians of several runs, the two sides in turn, and
# their ratio; both sides must find the same rows.
# Needs psql's environment, and a database with the extension.
set -euo pipefail
cd "$(dirname "$0")"
source ./compare.sh

documents=50000
setup <<SQL
SET temp_buffers = '64MB';
-- documents of 650 bytes
CREATE TEMP TABLE product AS
SELECT jsonb_build_object(
	'sku', 'SKU-' || lpad(i::text, 7, '0'), 'price', round(((i * 7919::bigint) % 100000) / 100.0, 2), 'stock', (i * 31) % 500,
	'brand', 'brand-' || (i * 17) % 40, 'active', i % 3 <> 0, 'title', 'A product of number ' || i || ' in a line of text that is not short',
	'size', jsonb_build_object('width', i % 90, 'height', i % 70, 'unit', jsonb_build_object('name', 'cm')),
	'tags', jsonb_build_array('t' || i % 10, 't' || i % 7, 't' || i % 3),
	'specs', (SELECT jsonb_agg(jsonb_build_object('k', 'key' || (i * j) % 23, 'v', (i * j) % 101)) FROM generate_series(1, 8) j)) AS doc
FROM generate_series(1, $documents) i;
VACUUM ANALYZE product;
SQL

# title, query, jsonpath
query()
{
	local ours="doc @~ '$2'" theirs="doc @? '$3'"

	prelude[1]="SELECT 1 / (count(*) = 0)::int FROM product WHERE ($ours) IS DISTINCT FROM ($theirs);"
	compare "$1" \
		"doc_match" $documents "SELECT count(*) FROM product WHERE $ours" \
		"jsonpath"  $documents "SELECT count(*) FROM product WHERE $theirs"
}

query "the scan alone"                 '{}' '$'
query "one number"                     '{"stock": 77}' '$.stock ? (@ == 77)'
query "one string"                     '{"brand": "brand-7"}' '$.brand ? (@ == "brand-7")'
query "two conditions"                 '{"brand": "brand-7", "price": {"$lt": 500}}' '$ ? (@.brand == "brand-7" && @.price < 500)'
query "two conditions, the first true" '{"active": true, "stock": {"$gte": 250}}' '$ ? (@.active == true && @.stock >= 250)'
query "a range"                        '{"price": {"$gte": 100, "$lt": 200}}' '$.price ? (@ >= 100 && @ < 200)'
query "nested fields"                  '{"size.unit.name": "cm", "size.width": 7}' '$.size ? (@.unit.name == "cm" && @.width == 7)'
query "in an array"                    '{"tags": "t5"}' '$.tags[*] ? (@ == "t5")'
query "\$elemMatch"                    '{"specs": {"$elemMatch": {"k": "key5", "v": {"$gte": 80}}}}' '$.specs[*] ? (@.k == "key5" && @.v >= 80)'
query "\$in of five"                   '{"brand": {"$in": ["brand-1", "brand-2", "brand-3", "brand-4", "brand-5"]}}' '$.brand ? (@ == "brand-1" || @ == "brand-2" || @ == "brand-3" || @ == "brand-4" || @ == "brand-5")'
query "\$or of two fields"             '{"$or": [{"brand": "brand-7"}, {"stock": {"$lt": 10}}]}' '$ ? (@.brand == "brand-7" || @.stock < 10)'
query "a field that is missing"        '{"discount": {"$exists": true}}' '$.discount'
query "\$regex, a prefix"              '{"sku": {"$regex": "^SKU-00"}}' '$.sku ? (@ starts with "SKU-00")'
query "\$regex, a text"                '{"title": {"$regex": "777"}}' '$.title ? (@ like_regex "777")'
query "\$regex, an expression"         '{"title": {"$regex": "[0-9]7+ in"}}' '$.title ? (@ like_regex "[0-9]7+ in")'
