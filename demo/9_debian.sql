--# A real data set: Debian's packages

-- data/packages.tsv lists some two thousand packages of Debian 12 with their sizes and tags,
-- data/uploads.tsv the uploads of some four hundred source packages (see data/README.md).
CREATE TABLE package_rows (
    package text, source text, version text, section text, priority text, installed_kb int, download_bytes int, tags text
);
\copy package_rows FROM 'data/packages.tsv' WITH (HEADER)
CREATE TABLE upload_rows (source text, at timestamptz, version text, urgency text, changes int);
\copy upload_rows FROM 'data/uploads.tsv' WITH (HEADER)

SELECT * FROM package_rows WHERE package = 'freeciv-client-sdl';
--|       package       | source  |     version     | section | priority | installed_kb | download_bytes |                                                                        tags
--| --------------------+---------+-----------------+---------+----------+--------------+----------------+-----------------------------------------------------------------------------------------------------------------------------------------------------
--|  freeciv-client-sdl | freeciv | 3.0.6-1+deb12u1 | games   | optional |         2520 |         842716 | game::strategy,implemented-in::c,interface::graphical,interface::x11,network::client,role::program,uitoolkit::sdl,use::gameplaying,x11::application

--## Attributes: tags and sizes

-- A tag is a facet and a value, such as game::strategy. Which facets a package has differs
-- from package to package. In rows that takes a table of names and values with two indexes ...
CREATE TABLE tag_rows AS
SELECT package, split_part(tag, '::', 1) AS facet, substr(tag, strpos(tag, '::') + 2) AS value
FROM package_rows, string_to_table(tags, ',') AS tag;
ALTER TABLE tag_rows ADD PRIMARY KEY (package, facet, value);
CREATE INDEX ON tag_rows (facet, value, package);

-- ... and in documents it is a list in each package: its sizes, and its facets with a value or an
-- array of them.
CREATE TABLE packages (name text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO packages(doc)
SELECT jsonb_build_object('_id', package, 'source', source, 'version', version, 'section', section, 'priority', priority,
       'specs', attribute_pack(facets || jsonb_build_object('installed_size', installed_kb, 'download_size', download_bytes),
                               units => '{"installed_size": "kB", "download_size": "B"}'))
FROM package_rows JOIN LATERAL (
    SELECT jsonb_object_agg(facet, CASE WHEN "values"->1 IS NULL THEN "values"->0 ELSE "values" END) AS facets
    FROM (SELECT facet, jsonb_agg(value ORDER BY value) AS "values" FROM tag_rows
          WHERE tag_rows.package = package_rows.package GROUP BY facet) AS facet) AS facets ON true;

SELECT doc FROM packages WHERE name = 'freeciv-client-sdl';
--> {"_id": "freeciv-client-sdl",
-->  "specs": [{"k": "use", "v": "gameplaying"},
-->            {"k": "x11", "v": "application"},
-->            {"k": "game", "v": "strategy"},
-->            {"k": "role", "v": "program"},
-->            {"k": "network", "v": "client"},
-->            {"k": "interface", "v": ["graphical", "x11"]},
-->            {"k": "uitoolkit", "v": "sdl"},
-->            {"k": "download_size", "u": "B", "v": 842716},
-->            {"k": "implemented-in", "v": "c"},
-->            {"k": "installed_size", "u": "kB", "v": 2520}],
-->  "source": "freeciv", "section": "games", "version": "3.0.6-1+deb12u1", "priority": "optional"}

-- Strategy games with a graphical interface that take less than 3 MB.
SELECT name, attribute_get(doc->'specs', 'installed_size') AS kb FROM packages
WHERE doc->'specs' @~ attribute_query('{"game": "strategy", "interface": "graphical", "installed_size": {"$lt": 3000}}')
ORDER BY attribute_get(doc->'specs', 'installed_size') DESC LIMIT 5;
--|         name        |  kb
--| --------------------+------
--|  killbots           | 2657
--|  freeciv-client-sdl | 2520
--|  kshisen            | 2287
--|  pingus             | 2244
--|  crimson            | 2132

-- The rows say the same, in three joins.
SELECT package, installed_kb AS kb FROM package_rows
JOIN tag_rows AS game USING (package) JOIN tag_rows AS interface USING (package)
WHERE game.facet = 'game' AND game.value = 'strategy' AND interface.facet = 'interface' AND interface.value = 'graphical'
      AND installed_kb < 3000
ORDER BY installed_kb DESC LIMIT 5;
--|       package       |  kb
--| --------------------+------
--|  killbots           | 2657
--|  freeciv-client-sdl | 2520
--|  kshisen            | 2287
--|  pingus             | 2244
--|  crimson            | 2132

-- One index serves every tag and every size.
CREATE INDEX packages_specs ON packages USING gin ((doc->'specs') jsonb_attribute_ops);
ANALYZE packages;

EXPLAIN (COSTS OFF)
SELECT name FROM packages WHERE doc->'specs' @~ '{"$elemMatch": {"k": "installed_size", "v": {"$gt": 100000}}}';
--> Bitmap Heap Scan on packages
-->   Recheck Cond: ((doc -> 'specs'::text) @~ '{"$elemMatch": {"k": "installed_size", "v": {"$gt": 100000}}}'::jsonb)
-->   ->  Bitmap Index Scan on packages_specs
-->         Index Cond: ((doc -> 'specs'::text) @~ '{"$elemMatch": {"k": "installed_size", "v": {"$gt": 100000}}}'::jsonb)

SELECT count(*) FROM packages WHERE doc->'specs' @~ '{"$elemMatch": {"k": "installed_size", "v": {"$gt": 100000}}}';
--> 11

SELECT count(*) FROM package_rows WHERE installed_kb > 100000;
--> 11

-- A package with several toolkits has a list of them, whose members count each.
SELECT count(*) FROM packages WHERE doc->'specs' @~ attribute_query('{"game": "strategy", "uitoolkit": "sdl"}');
--> 32

SELECT count(*) FROM tag_rows AS game JOIN tag_rows AS uitoolkit USING (package)
WHERE game.facet = 'game' AND game.value = 'strategy' AND uitoolkit.facet = 'uitoolkit' AND uitoolkit.value = 'sdl';
--> 32

-- What the editors are made with, and how often.
SELECT value, count FROM (SELECT attribute_facets(doc->'specs')->'implemented-in' AS facet FROM packages WHERE doc->>'section' = 'editors') AS editors,
     jsonb_each(facet) AS counted(value, count)
ORDER BY count DESC, value LIMIT 5;
--|  value | count
--| -------+-------
--|  c     | 30
--|  c++   | 19
--|  lisp  | 18
--|  perl  | 8
--|  java  | 7

SELECT value, count(*) FROM package_rows JOIN tag_rows USING (package)
WHERE section = 'editors' AND facet = 'implemented-in'
GROUP BY value ORDER BY count(*) DESC, value LIMIT 5;
--|  value | count
--| -------+-------
--|  c     |    30
--|  c++   |    19
--|  lisp  |    18
--|  perl  |     8
--|  java  |     7

SELECT (SELECT count(*) FROM package_rows) + (SELECT count(*) FROM tag_rows) AS rows_before, (SELECT count(*) FROM packages) AS documents;
--|  rows_before | documents
--| -------------+-----------
--|        17158 |      2006

SELECT pg_size_pretty(pg_total_relation_size('tag_rows')) AS tags_in_rows, pg_size_pretty(pg_total_relation_size('packages')) AS packages_as_documents;
--?

--## Buckets: the uploads of a month

-- A document per upload, with an index on its time ...
CREATE TABLE uploads (doc jsonb NOT NULL);
INSERT INTO uploads SELECT to_jsonb(upload) FROM upload_rows AS upload ORDER BY at;
CREATE INDEX ON uploads ((doc->>'at'));

-- ... becomes a document per month. The first years are put together by bucket_agg, at once.
CREATE TABLE months (month timestamptz PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO months
SELECT bucket_start((doc->>'at')::timestamptz, '1 month'), bucket_agg(doc, 'at, source')
FROM uploads WHERE doc->>'at' < '2025' GROUP BY 1;

SELECT doc - 'readings' || jsonb_build_object('readings', jsonb_path_query_array(doc, '$.readings[0 to 1]'))
FROM months WHERE month = '2022-10-01';
--> {"count": 188,
-->  "summary": {"avg_changes": 2.8351063829787234, "max_changes": 11, "min_changes": 1,
-->              "sum_changes": 533},
-->  "readings": [{"at": "2022-10-01T04:34:05+00:00", "source": "python3.11", "changes": 1,
-->                "urgency": "medium", "version": "3.11.0~rc2-2"},
-->               {"at": "2022-10-01T11:48:17+00:00", "source": "gnutls28", "changes": 1,
-->                "urgency": "low", "version": "3.7.8-1"}]}

-- The later ones come one after the other, as uploads do.
CREATE FUNCTION record(upload jsonb) RETURNS void
BEGIN ATOMIC
    INSERT INTO months AS bucket
    VALUES (bucket_start((upload->>'at')::timestamptz, '1 month'), bucket_append(NULL, upload))
    ON CONFLICT (month) DO UPDATE SET doc = bucket_append(bucket.doc, upload, capacity => 1000);
END;
DO $$
DECLARE
    upload jsonb;
BEGIN
    FOR upload IN SELECT doc FROM uploads WHERE doc->>'at' >= '2025' ORDER BY doc->>'at', doc->>'source' LOOP
        PERFORM record(upload);
    END LOOP;
END $$;

-- Both ways give the same: no month's bucket differs from the aggregate over its uploads.
SELECT count(*) AS months, count(*) FILTER (WHERE months.doc IS DISTINCT FROM built.doc) AS different
FROM months FULL JOIN (SELECT bucket_start((doc->>'at')::timestamptz, '1 month') AS month, bucket_agg(doc, 'at, source') AS doc
                       FROM uploads GROUP BY 1) AS built USING (month);
--|  months | different
--| --------+-----------
--|      95 |         0

-- How many changes the uploads of a month brought: the summary knows. The rows know it, too.
SELECT to_char(month, 'YYYY-MM') AS month, doc->'count' AS uploads, doc->'summary'->'sum_changes' AS changes,
       round((doc->'summary'->'avg_changes')::numeric, 2) AS average
FROM months WHERE month >= '2022-10-01' AND month < '2023-01-01' ORDER BY month;
--|   month  | uploads | changes | average
--| ---------+---------+---------+---------
--|  2022-10 | 188     | 533     |    2.84
--|  2022-11 | 158     | 509     |    3.22
--|  2022-12 | 161     | 555     |    3.45

SELECT to_char(at, 'YYYY-MM') AS month, count(*) AS uploads, sum(changes) AS changes, round(avg(changes), 2) AS average
FROM upload_rows WHERE at >= '2022-10-01' AND at < '2023-01-01' GROUP BY 1 ORDER BY 1;
--|   month  | uploads | changes | average
--| ---------+---------+---------+---------
--|  2022-10 |     188 |     533 |    2.84
--|  2022-11 |     158 |     509 |    3.22
--|  2022-12 |     161 |     555 |    3.45

SELECT (SELECT count(*) FROM uploads) AS uploads, (SELECT count(*) FROM months) AS months;
--|  uploads | months
--| ---------+--------
--|     6232 |     95

SELECT pg_size_pretty(pg_table_size('uploads')) AS uploads, pg_size_pretty(pg_indexes_size('uploads')) AS their_index,
       pg_size_pretty(pg_table_size('months')) AS months, pg_size_pretty(pg_indexes_size('months')) AS their_index;
--?

SELECT pg_total_relation_size('uploads') > 2 * pg_total_relation_size('months');
--> t

--## Subset, computed, extended reference: the source packages

-- A source package holds what people ask for first: how many uploads and changes, when the last one
-- was, the three latest, and a copy of its program's section and priority. The years before 2025 at once:
CREATE TABLE sources (name text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
CREATE FUNCTION program(source text) RETURNS jsonb
BEGIN ATOMIC
    SELECT jsonb_build_object('name', doc->'_id', 'section', doc->'section', 'priority', doc->'priority') FROM packages WHERE name = source;
END;
CREATE FUNCTION source_documents(before text) RETURNS SETOF jsonb
BEGIN ATOMIC
    SELECT jsonb_build_object('_id', doc->'source', 'uploads', count(*), 'changes', sum((doc->'changes')::int), 'last_upload', max(doc->>'at'),
           'latest', subset_agg(doc - '{source,urgency}'::text[], 3, 'at desc'), 'program', program(doc->>'source'))
    FROM uploads WHERE doc->>'at' < before GROUP BY doc->'source', doc->>'source';
END;
INSERT INTO sources(doc) SELECT source_documents('2025');

SELECT doc FROM sources WHERE name = 'curl';
--> {"_id": "curl",
-->  "latest": [{"at": "2024-09-17T19:29:24+00:00", "changes": 2, "version": "7.88.1-10+deb12u8"},
-->             {"at": "2024-08-17T17:06:29+00:00", "changes": 2, "version": "7.88.1-10+deb12u7"},
-->             {"at": "2024-04-02T23:02:10+00:00", "changes": 4, "version": "7.88.1-10+deb12u6"}],
-->  "changes": 153, "program": {"name": "curl", "section": "web", "priority": "optional"},
-->  "uploads": 48, "last_upload": "2024-09-17T19:29:24+00:00"}

-- Each later upload is one statement that counts, compares dates and keeps the latest three.
CREATE FUNCTION count_upload(upload jsonb) RETURNS void
BEGIN ATOMIC
    WITH change(doc) AS (SELECT jsonb_build_object(
        '$inc', jsonb_build_object('uploads', 1, 'changes', upload->'changes'),
        '$max', jsonb_build_object('last_upload', upload->'at'),
        '$push', jsonb_build_object('latest', jsonb_build_object('$each', jsonb_build_array(upload - '{source,urgency}'::text[]),
                                                                 '$sort', '{"at": -1}'::jsonb, '$slice', 3)),
        '$setOnInsert', jsonb_build_object('program', program(upload->>'source'))))
    INSERT INTO sources(doc) SELECT doc_upsert(jsonb_build_object('_id', upload->'source'), doc) FROM change
    ON CONFLICT (name) DO UPDATE SET doc = sources.doc <~ (SELECT doc FROM change);
END;
DO $$
DECLARE
    upload jsonb;
BEGIN
    FOR upload IN SELECT doc FROM uploads WHERE doc->>'at' >= '2025' ORDER BY doc->>'at' LOOP
        PERFORM count_upload(upload);
    END LOOP;
END $$;

SELECT doc FROM sources WHERE name = 'curl';
--> {"_id": "curl",
-->  "latest": [{"at": "2025-07-19T19:04:59+00:00", "changes": 1, "version": "7.88.1-10+deb12u14"},
-->             {"at": "2025-06-16T23:56:01+00:00", "changes": 2, "version": "7.88.1-10+deb12u13"},
-->             {"at": "2025-03-09T10:45:45+00:00", "changes": 1, "version": "7.88.1-10+deb12u12"}],
-->  "changes": 165, "program": {"name": "curl", "section": "web", "priority": "optional"},
-->  "uploads": 54, "last_upload": "2025-07-19T19:04:59+00:00"}

-- No document differs from what a query over all uploads says.
SELECT count(*) AS sources, count(*) FILTER (WHERE sources.doc IS DISTINCT FROM built.doc) AS different
FROM sources FULL JOIN source_documents('infinity') AS built(doc) ON built.doc->>'_id' = name;
--|  sources | different
--| ---------+-----------
--|      396 |         0

-- The uploads by section of the program, with no join. (Libraries have no program of their name.)
SELECT doc->'program'->>'section' AS section, count(*) AS sources, sum((doc->'uploads')::int) AS uploads
FROM sources WHERE doc @~ '{"program.priority": {"$in": ["required", "important"]}}'
GROUP BY 1 ORDER BY uploads DESC LIMIT 4;
--|  section | sources | uploads
--| ---------+---------+---------
--|  admin   |      12 |     350
--|  utils   |      10 |     137
--|  shells  |       2 |      44
--|  net     |       1 |      26

--## Outliers: some sources are uploaded very often

SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY uploads) AS median, percentile_disc(0.99) WITHIN GROUP (ORDER BY uploads) AS "99 %", max(uploads) AS most
FROM (SELECT (doc->'uploads')::int AS uploads FROM sources) AS source;
--|  median | 99 % | most
--| --------+------+------
--|      10 |  131 |  201

-- Versions are kept in the document up to 40; the flag says that the rows have more.
UPDATE sources
SET doc = doc <~ jsonb_build_object('$push', jsonb_build_object('versions', jsonb_build_object('$each', versions, '$slice', 40)),
                                    '$set', CASE WHEN versions->40 IS NULL THEN '{}' ELSE '{"has_extras": true}'::jsonb END)
FROM (SELECT source, jsonb_agg(version ORDER BY at) AS versions FROM upload_rows GROUP BY source) AS history
WHERE source = name;

SELECT count(*) AS sources, count(*) FILTER (WHERE doc @~ '{"has_extras": true}') AS outliers, max(jsonb_array_length(doc->'versions')) AS longest
FROM sources;
--|  sources | outliers | longest
--| ---------+----------+---------
--|      396 |       26 |      40
