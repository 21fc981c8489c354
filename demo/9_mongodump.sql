--# From a mongodump file to rows

-- A file of mongodump is BSON documents one behind the other. This one is made of Debian's
-- uploads, with the types that a MongoDB collection would have: ObjectIds, dates, int64.
CREATE TABLE upload_rows (source text, at timestamptz, version text, urgency text, changes int);
\copy upload_rows FROM 'data/uploads.tsv' WITH (HEADER)

SELECT lo_from_bytea(20261, string_agg(jsonb_to_bson(jsonb_build_object(
    '_id', jsonb_build_object('$oid', lpad(to_hex(n), 24, '0')),
    'source', source, 'version', version, 'urgency', urgency,
    'at', jsonb_build_object('$date', to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
    'changes', jsonb_build_object('$numberLong', changes::text))), ''::bytea ORDER BY n))
FROM (SELECT row_number() OVER (ORDER BY at, source, version) AS n, * FROM upload_rows) AS upload;
--> 20261

SELECT lo_export(20261, 'uploads.bson');
--> 1

-- What is in it, with the place of each document.
SELECT byte_offset, doc FROM bson_file('uploads.bson') LIMIT 1;
--> 0 | {"at": {"$date": "2019-01-04T06:34:59Z"}, "_id": {"$oid": "000000000000000000000001"},
-->      "source": "bison", "changes": 3, "urgency": "medium", "version": "2:3.2.4.dfsg-1"}

-- Plain values are what a relational user wants: ids and dates as text, all numbers as numbers.
CREATE TABLE uploads (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
SELECT load_bson('uploads', 'doc', 'uploads.bson', mode => 'plain') = (SELECT count(*) FROM upload_rows) AS all_of_them;
--> t

SELECT doc FROM uploads ORDER BY id LIMIT 1;
--> {"at": "2019-01-04T06:34:59.000Z", "_id": "000000000000000000000001", "source": "bison",
-->  "changes": 3, "urgency": "medium", "version": "2:3.2.4.dfsg-1"}

-- Nothing was lost: the documents say what the rows do.
SELECT count(*) FROM (
    SELECT source, at, version, urgency, changes FROM upload_rows
    EXCEPT ALL
    SELECT doc->>'source', (doc->>'at')::timestamptz, doc->>'version', doc->>'urgency', (doc->>'changes')::int FROM uploads) AS lost;
--> 0

-- The indexes of the collection, as mongodump notes them, become indexes of the table.
SELECT bson_metadata_ddl('{"indexes": [
    {"v": 2, "key": {"_id": 1}, "name": "_id_"},
    {"v": 2, "key": {"source": 1, "at": -1}, "name": "source_1_at_-1"},
    {"v": 2, "key": {"urgency": 1}, "name": "urgency_1", "partialFilterExpression": {"urgency": "high"}},
    {"v": 2, "key": {"at": 1}, "name": "at_1", "expireAfterSeconds": 3600}], "collectionName": "uploads"}', 'uploads', 'doc');
--> CREATE UNIQUE INDEX uploads__id_ ON "9_mongodump".uploads ((doc->'_id'))
--> CREATE INDEX "uploads_source_1_at_-1" ON "9_mongodump".uploads ((doc->'source'), (doc->'at') DESC)
--> CREATE INDEX uploads_urgency_1 ON "9_mongodump".uploads ((doc->'urgency')) WHERE doc OPERATOR(public.@~) '{"urgency": "high"}'
--> -- at_1: to be run from time to time: DELETE FROM "9_mongodump".uploads WHERE coalesce(doc#>>'{"at","$date"}', doc->>'at')::timestamptz < now() - interval '3600 seconds'
--> CREATE INDEX uploads_at_1 ON "9_mongodump".uploads ((doc->'at'))

-- A document that was damaged on the way is reported by its place, and the others are read.
SELECT lo_from_bytea(20262, jsonb_to_bson('{"n": 1}') || set_byte(jsonb_to_bson('{"s": "text"}'), 12, 255) || jsonb_to_bson('{"n": 3}'));
--> 20262

SELECT lo_export(20262, 'damaged.bson');
--> 1

SELECT byte_offset, doc, error FROM bson_file('damaged.bson', on_error => 'report');
--> 0 | {"n": 1} | NULL
--> 12 | NULL | invalid BSON in document 2 at "s", byte 23: text is not UTF-8
--> 29 | {"n": 3} | NULL

--## The patterns on what was loaded

-- Buckets: the uploads of a package in a year, with their summary.
CREATE TABLE upload_years AS
SELECT doc->>'source' AS source, bucket_start((doc->>'at')::timestamptz, '1 year') AS year,
       bucket_agg(doc - '_id' - 'source', 'at') AS bucket
FROM uploads GROUP BY 1, 2;

SELECT source, year::date, bucket->'count' AS uploads, bucket->'summary'->'max_changes' AS most_changes FROM upload_years
ORDER BY (bucket->>'count')::int DESC, source, year LIMIT 3;
--> linux | 2022-01-01 | 51 | 37
--> systemd | 2022-01-01 | 50 | 25
--> binutils | 2022-01-01 | 44 | 4

-- A subset: the two latest uploads of each package.
SELECT doc->>'source' AS source, subset_agg(jsonb_build_object('version', doc->'version', 'at', doc->'at'), 2, 'at desc') AS latest
FROM uploads WHERE doc @~ '{"source": {"$in": ["bash", "curl"]}}' GROUP BY 1 ORDER BY 1;
--> bash | [{"at": "2023-01-02T12:06:21.000Z", "version": "5.2.15-2"},
-->         {"at": "2022-12-31T15:40:30.000Z", "version": "5.2.15-1"}]
--> curl | [{"at": "2025-07-19T19:04:59.000Z", "version": "7.88.1-10+deb12u14"},
-->         {"at": "2025-06-16T23:56:01.000Z", "version": "7.88.1-10+deb12u13"}]

-- Attributes: one index for whatever a document has.
CREATE TABLE upload_specs AS SELECT id, attribute_pack(doc - '_id') AS specs FROM uploads;
SELECT create_attribute_index('upload_specs', 'specs');
--> t

SELECT count(*) FROM upload_specs WHERE specs @~ attribute_query('{"urgency": "medium", "changes": {"$gte": 20}}');
--> 46
