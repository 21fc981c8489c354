--# Polymorphic pattern

-- Documents of different shapes live in one table. A discriminator, here type, tells the
-- shapes apart. The document keeps its _id; a generated column makes it the primary key.
CREATE TABLE content (
    id  text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY,
    doc jsonb NOT NULL
);

-- An article, a video and a podcast. ObjectIds and dates are text: hexadecimal digits and
-- ISO 8601 in UTC, which sort as the dates do.
INSERT INTO content(doc) VALUES
('{"_id": "66d5b100f1e8a93b4c5d6e31", "type": "ARTICLE",
   "title": "Introduction to MongoDB Indexing", "author_id": "66d5b100f1e8a93b4c5d6e01",
   "published_at": "2026-09-01T08:00:00Z", "word_count": 1450,
   "body": "Indexing in MongoDB is powered by B-trees..."}'),
('{"_id": "66d5b100f1e8a93b4c5d6e32", "type": "VIDEO",
   "title": "Aggregation Pipeline Masterclass", "author_id": "66d5b100f1e8a93b4c5d6e02",
   "published_at": "2026-09-02T10:30:00Z", "duration_seconds": 3600,
   "video_url": "https://cdn.example.com/videos/agg-pipeline.mp4", "resolutions": ["1080p", "4K"]}'),
('{"_id": "66d5b100f1e8a93b4c5d6e33", "type": "PODCAST",
   "title": "Talking About Schemas", "author_id": "66d5b100f1e8a93b4c5d6e01",
   "published_at": "2026-09-03T06:00:00Z", "duration_seconds": 2100}');

-- Everything that one author published, the newest first, whatever its type.
--
--    db.content.find({author_id: ObjectId("66d5b100f1e8a93b4c5d6e01")}).sort({published_at: -1})
SELECT doc FROM content
WHERE doc @~ '{"author_id": "66d5b100f1e8a93b4c5d6e01"}'
ORDER BY doc->>'published_at' DESC;
--> {"_id": "66d5b100f1e8a93b4c5d6e33", "type": "PODCAST", "title": "Talking About Schemas",
-->  "author_id": "66d5b100f1e8a93b4c5d6e01", "published_at": "2026-09-03T06:00:00Z",
-->  "duration_seconds": 2100}
--> {"_id": "66d5b100f1e8a93b4c5d6e31", "body": "Indexing in MongoDB is powered by B-trees...",
-->  "type": "ARTICLE", "title": "Introduction to MongoDB Indexing",
-->  "author_id": "66d5b100f1e8a93b4c5d6e01", "word_count": 1450,
-->  "published_at": "2026-09-01T08:00:00Z"}

-- One type, and what only that type has.
SELECT doc->>'title' FROM content
WHERE doc @~ '{"type": "VIDEO", "duration_seconds": {"$gte": 3600}, "resolutions": "4K"}';
--> Aggregation Pipeline Masterclass

--## Indexes

-- db.content.createIndex({type: 1, published_at: -1}) is an index on two expressions. Three
-- thousand more documents give the planner something to choose for.
CREATE INDEX content_type_published_at ON content ((doc->>'type'), (doc->>'published_at') DESC);
CREATE INDEX content_author_published_at ON content ((doc->>'author_id'), (doc->>'published_at') DESC);
INSERT INTO content(doc)
SELECT jsonb_build_object('_id', to_char(n, 'FM000000000000000000000000'), 'title', 'No. ' || n,
                          'type', (ARRAY['ARTICLE', 'VIDEO', 'PODCAST'])[n % 3 + 1], 'author_id', 'author ' || n % 100,
                          'published_at', to_char(timestamp '2024-01-01' + n * interval '7 hours', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
FROM generate_series(1, 3000) AS n;
ANALYZE content;

EXPLAIN (COSTS OFF)
SELECT doc FROM content WHERE doc->>'type' = 'VIDEO' ORDER BY doc->>'published_at' DESC LIMIT 2;
--> Limit
-->   ->  Index Scan using content_type_published_at on content
-->         Index Cond: ((doc ->> 'type'::text) = 'VIDEO'::text)

SELECT doc->>'title' AS title, doc->>'published_at' AS published_at FROM content
WHERE doc->>'type' = 'VIDEO' ORDER BY doc->>'published_at' DESC LIMIT 2;
--|               title               |     published_at
--| ----------------------------------+----------------------
--|  Aggregation Pipeline Masterclass | 2026-09-02T10:30:00Z
--|  No. 2998                         | 2026-05-24T10:00:00Z

-- A partial index holds the documents of one shape and nothing else. Its condition may be a
-- query in MongoDB's language.
CREATE INDEX content_long_videos ON content ((doc->>'published_at'))
WHERE doc @~ '{"type": "VIDEO", "duration_seconds": {"$gte": 3600}}';

EXPLAIN (COSTS OFF)
SELECT doc->>'title' FROM content
WHERE doc @~ '{"type": "VIDEO", "duration_seconds": {"$gte": 3600}}' AND doc->>'published_at' >= '2026-09';
--> Index Scan using content_long_videos on content
-->   Index Cond: ((doc ->> 'published_at'::text) >= '2026-09'::text)

--## Shapes that are kept

-- A constraint says what each type must have. It, too, is a query.
ALTER TABLE content ADD CONSTRAINT content_shape CHECK (doc @~ '{
    "title": {"$type": "string"},
    "$or": [{"type": "ARTICLE"},
            {"type": "PODCAST"},
            {"type": "VIDEO", "resolutions": {"$not": {"$elemMatch": {"$nin": ["720p", "1080p", "4K"]}}}}]}');

INSERT INTO content(doc) VALUES ('{"_id": "1", "type": "VIDEO", "title": "A test", "resolutions": ["1080p", "big"]}');
--> ERROR:  new row for relation "content" violates check constraint "content_shape"
--> DETAIL:  Failing row contains (1, {"_id": "1", "type": "VIDEO", "title": "A test", "resolutions": ...).

--## Versions of a shape

-- Videos had their length in seconds; from version 2 on it is an object. A function takes a
-- document from one version to the next.
CREATE TABLE videos (id int PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO videos SELECT n, jsonb_build_object('title', 'No. ' || n, 'duration_seconds', n * 60) FROM generate_series(1, 2500) AS n;
CREATE FUNCTION upgrade_video(doc jsonb) RETURNS jsonb LANGUAGE sql AS $$
    SELECT doc - 'duration_seconds' || jsonb_build_object('schema_version', 2,
        'duration', jsonb_build_object('minutes', (doc->>'duration_seconds')::int / 60))
$$;
SELECT create_versioning('videos', 'doc', 2, 'upgrade_video(jsonb)');
--> t

-- Whatever is written is of the current version, and a view shows all documents as if they were.
UPDATE videos SET doc = doc <~ '{"$set": {"seen": true}}' WHERE id = 1;
CREATE VIEW current_videos AS SELECT id, doc_upgrade(doc, 'upgrade_video(jsonb)', 2) AS doc FROM videos;
SELECT videos.doc, current_videos.doc FROM videos JOIN current_videos USING (id) WHERE id <= 2 ORDER BY id;
--> {"seen": true, "title": "No. 1", "duration": {"minutes": 1}, "schema_version": 2} | {"seen": true, "title": "No. 1", "duration": {"minutes": 1}, "schema_version": 2}
--> {"title": "No. 2", "duration_seconds": 120} | {"title": "No. 2", "duration": {"minutes": 2}, "schema_version": 2}

-- The others follow in batches, each in a transaction of its own, until nothing is left.
SELECT upgrade_documents('videos', 'doc', batch_size => 1000);
--> 1000
SELECT upgrade_documents('videos', 'doc', batch_size => 2000);
--> 1499
SELECT upgrade_documents('videos', 'doc');
--> 0
