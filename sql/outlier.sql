--
-- Outlier pattern: the first elements in the document, the rest in a table
--
CREATE TABLE posts (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
-- what is too much already is moved when the outlier is created
INSERT INTO posts(doc) VALUES ('{"_id": "famous", "followers": [1, 2, 3, 4, 5]}'), ('{"_id": "quiet", "followers": [1]}');
SELECT create_outlier('posts', 'doc', '{followers}', 3);
SELECT * FROM posts ORDER BY id;
SELECT key, element FROM posts_followers ORDER BY key, number;
\d posts
\d posts_followers

-- what was written, kept beside the documents by hand: each step compares
CREATE TABLE expected (id text PRIMARY KEY, elements jsonb NOT NULL);
INSERT INTO expected VALUES ('famous', '[1, 2, 3, 4, 5]'), ('quiet', '[1]');
CREATE VIEW wrong AS
SELECT coalesce(p.id, e.id) AS id, a.elements AS got, e.elements AS expected, p.doc
FROM posts p FULL JOIN expected e USING (id)
LEFT JOIN LATERAL (SELECT coalesce(jsonb_agg(x), '[]') AS elements FROM outlier_elements('posts', p.id) x) a ON true
WHERE a.elements IS DISTINCT FROM e.elements
   OR jsonb_array_length(p.doc->'followers') > 3
   OR (p.doc ? 'has_extras') <> EXISTS (SELECT FROM posts_followers o WHERE o.key = p.id);
SELECT * FROM wrong;

-- pushes: true while there is room in the document
SELECT n, outlier_push('posts', 'quiet', to_jsonb(n)) FROM generate_series(2, 5) n;
UPDATE expected SET elements = '[1, 2, 3, 4, 5]' WHERE id = 'quiet';
SELECT outlier_push('posts', 'famous', '{"name": "x"}'), outlier_push('posts', 'famous', 'null');
UPDATE expected SET elements = elements || '[{"name": "x"}, null]' WHERE id = 'famous';
SELECT * FROM wrong;

-- writes of the application: growing goes to the end; the head is not refilled
UPDATE posts SET doc = doc <~ '{"$push": {"followers": {"$each": [7, 8]}}}';
UPDATE expected SET elements = elements || '[7, 8]';
SELECT * FROM wrong;
UPDATE posts SET doc = doc <~ '{"$pull": {"followers": 1}, "$set": {"title": "t"}}';
UPDATE expected SET elements = elements - 0;
SELECT * FROM wrong;
SELECT outlier_push('posts', 'quiet', '9');
UPDATE expected SET elements = elements || '9' WHERE id = 'quiet';
SELECT * FROM wrong;

-- a document without the flag is all there is: shrinking and replacing
UPDATE posts SET doc = '{"_id": "quiet", "followers": ["a", "b"]}' WHERE id = 'quiet';
UPDATE posts SET doc = '{"_id": "famous", "followers": ["a", "b", "c", "d", "e"]}' WHERE id = 'famous';
UPDATE expected SET elements = CASE id WHEN 'quiet' THEN '["a", "b"]'::jsonb ELSE '["a", "b", "c", "d", "e"]' END;
SELECT * FROM wrong;
-- the key changes: with the flag, and while the document is replaced
UPDATE posts SET doc = doc <~ '{"$set": {"_id": "renamed"}}' WHERE id = 'famous';
UPDATE expected SET id = 'renamed' WHERE id = 'famous';
SELECT * FROM wrong;
UPDATE posts SET doc = '{"_id": "again", "followers": [1, 2, 3, 4]}' WHERE id = 'renamed';
UPDATE expected SET id = 'again', elements = '[1, 2, 3, 4]' WHERE id = 'renamed';
SELECT * FROM wrong;
UPDATE posts SET doc = '{"_id": "once more", "followers": []}' WHERE id = 'again';
UPDATE expected SET id = 'once more', elements = '[]' WHERE id = 'again';
SELECT * FROM wrong;
-- deleted
UPDATE posts SET doc = doc <~ '{"$push": {"followers": {"$each": [1, 2, 3, 4]}}}' WHERE id = 'once more';
DELETE FROM posts WHERE id = 'once more';
DELETE FROM expected WHERE id = 'once more';
SELECT * FROM wrong;
SELECT count(*) FROM posts_followers;

-- INSERT … ON CONFLICT: the rejected row leaves nothing, the other sees the whole array
INSERT INTO posts(doc) VALUES ('{"_id": "quiet", "followers": [1, 2, 3, 4, 5]}') ON CONFLICT (id) DO NOTHING;
SELECT * FROM wrong;
INSERT INTO posts(doc) VALUES ('{"_id": "quiet", "followers": [1, 2, 3, 4, 5]}') ON CONFLICT (id) DO UPDATE SET doc = excluded.doc;
UPDATE expected SET elements = '[1, 2, 3, 4, 5]' WHERE id = 'quiet';
SELECT * FROM wrong;
-- many at once, COPY, a check that fails, a savepoint that is rolled back
INSERT INTO posts(doc) SELECT jsonb_build_object('_id', 'p' || n, 'followers', (SELECT jsonb_agg(i) FROM generate_series(1, n) i)) FROM generate_series(1, 6) n;
INSERT INTO expected SELECT 'p' || n, (SELECT jsonb_agg(i) FROM generate_series(1, n) i) FROM generate_series(1, 6) n;
COPY posts(doc) FROM stdin;
{"_id": "c1", "followers": [1, 2, 3, 4]}
{"_id": "c2"}
\.
INSERT INTO expected VALUES ('c1', '[1, 2, 3, 4]'), ('c2', '[]');
SELECT * FROM wrong;
ALTER TABLE posts ADD CHECK (doc->>'title' <> 'bad');
INSERT INTO posts(doc) VALUES ('{"_id": "bad", "title": "bad", "followers": [1, 2, 3, 4]}');
BEGIN;
SAVEPOINT s;
UPDATE posts SET doc = doc <~ '{"$push": {"followers": 99}}';
ROLLBACK TO s;
SELECT outlier_push('posts', 'c2', '1');
COMMIT;
UPDATE expected SET elements = '[1]' WHERE id = 'c2';
SELECT * FROM wrong;

-- a trigger of the user's that writes the same row before ours sees it
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF NOT NEW.doc ? 'stamp' THEN UPDATE posts SET doc = doc || '{"stamp": 1}' WHERE id = NEW.id; END IF; RETURN NULL; END $$;
CREATE TRIGGER "A first" AFTER INSERT OR UPDATE ON posts FOR EACH ROW EXECUTE FUNCTION stamp();
INSERT INTO posts(doc) VALUES ('{"_id": "stamped", "followers": [1, 2, 3, 4, 5, 6]}');
INSERT INTO expected VALUES ('stamped', '[1, 2, 3, 4, 5, 6]');
SELECT * FROM wrong;
UPDATE posts SET doc = '{"_id": "stamped", "followers": [6, 5, 4, 3, 2]}' WHERE id = 'stamped';
UPDATE expected SET elements = '[6, 5, 4, 3, 2]' WHERE id = 'stamped';
SELECT * FROM wrong;
DROP TRIGGER "A first" ON posts;

-- a document within the limit is written by the first command of the transaction alone
BEGIN;
UPDATE posts SET doc = doc <~ '{"$set": {"n": 1}}' WHERE id = 'p2';
SELECT cmin FROM posts WHERE id = 'p2';
COMMIT;

-- TRUNCATE: the foreign key says that the overflow goes too
BEGIN;
TRUNCATE posts;
ROLLBACK;
BEGIN;
TRUNCATE posts CASCADE;
SELECT count(*) FROM posts_followers;
ROLLBACK;

-- names follow: the table, its columns, the overflow, their schema
ALTER TABLE posts RENAME TO "The posts";
ALTER TABLE "The posts" RENAME doc TO "Doc";
ALTER TABLE posts_followers RENAME TO "the rest";
CREATE SCHEMA elsewhere;
ALTER TABLE "the rest" SET SCHEMA elsewhere;
UPDATE "The posts" SET "Doc" = "Doc" <~ '{"$push": {"followers": {"$each": ["x", "y"]}}}' WHERE id = 'p2';
SELECT outlier_push('"The posts"', 'p2', '"z"'), (SELECT jsonb_agg(e) FROM outlier_elements('"The posts"', 'p2') e) AS before_it;
SELECT * FROM outlier_elements('"The posts"', 'p2');
DROP TABLE elsewhere."the rest";
ALTER TABLE "The posts" DROP COLUMN "Doc";
-- dropped: everything is back in the documents
DROP VIEW wrong;
SELECT drop_outlier('"The posts"', 'Doc', '{followers}');
SELECT "Doc" FROM "The posts" WHERE id IN ('p2', 'p6', 'stamped') ORDER BY id;
SELECT count(*) FROM pg_trigger WHERE tgrelid = '"The posts"'::regclass AND NOT tgisinternal;
DROP TABLE "The posts", expected CASCADE;
DROP SCHEMA elsewhere CASCADE;

-- two arrays of one document, a nested one, another flag, a key that is no text
CREATE TABLE things (id int PRIMARY KEY, doc jsonb);
SELECT create_outlier('things', 'doc', '{a}', 1, flag => 'more_a'), create_outlier('things', 'doc', '{b,"the list"}', 0, overflow => 'rest of b', flag => 'more_b');
INSERT INTO things VALUES (1, '{"a": [1, 2], "b": {"the list": [3, 4]}}'), (2, NULL), (3, '{"a": 5}');
SELECT * FROM things ORDER BY id;
SELECT outlier_push('things', 1, '9');
SELECT outlier_push('things', 1, '9', 'doc', '{a}'), outlier_push('things', 1, '8', path => '{b,"the list"}');
SELECT jsonb_agg(a) FROM outlier_elements('things', 1, path => '{a}') a;
SELECT jsonb_agg(b) FROM outlier_elements('things', '1', path => '{b,"the list"}') b;
SELECT jsonb_agg(b) FROM outlier_elements('things', 1::numeric, path => '{b,"the list"}') b;
SELECT outlier_push('things', 4, '9', path => '{a}');
SELECT outlier_push('things', 2, '9', path => '{a}');
SELECT outlier_push('things', 3, '9', path => '{a}');
SELECT outlier_push('things', 'x', '9', path => '{a}');
SELECT outlier_push('things', NULL, '9', path => '{a}');
SELECT outlier_push('things', 1, NULL, path => '{a}');
SELECT count(*) FROM outlier_elements('things', 4, path => '{a}');
SELECT count(*) FROM outlier_elements('things', 2, path => '{a}');
SELECT outlier_push('pg_class', 1, '1');
-- wrong calls
SELECT create_outlier('things', 'doc', '{a}', 1);
SELECT create_outlier('things', 'doc', '{}', 1);
SELECT create_outlier('things', 'doc', NULL, 1);
SELECT create_outlier('things', 'doc', '{c}', -1);
SELECT create_outlier('things', 'doc', '{c}', NULL);
SELECT create_outlier('things', 'doc', '{c}', 1, flag => 'c');
SELECT create_outlier('things', 'doc', '{c}', 1, flag => '');
SELECT create_outlier('things', 'none', '{c}', 1);
SELECT create_outlier('things', 'id', '{c}', 1);
SELECT create_outlier('things', 'doc', '{c}', 1, overflow => 'things');
CREATE TABLE no_key (id int, doc jsonb);
SELECT create_outlier('no_key', 'doc', '{c}', 1);
CREATE VIEW a_view AS SELECT * FROM things;
SELECT create_outlier('a_view', 'doc', '{c}', 1);
SELECT drop_outlier('things', 'doc', '{c}');
SELECT drop_outlier('things', 'doc', '{c}', if_exists => true);
SELECT outlier_exceeds(NULL, NULL, '{a}', 1, 'f', NULL), outlier_exceeds('{"f": true}', NULL, '{a}', 1, 'f', NULL), outlier_exceeds('{"f": true}', '{"f": 1}', '{a}', 1, 'f', NULL),
       outlier_exceeds('{"f": true}', '{"f": false}', '{a}', 1, 'f', NULL), outlier_exceeds(NULL, '{"a": [1, 2]}', '{a}', 1, 'f', NULL), outlier_exceeds(NULL, '{"a": [1, 2]}', '{a}', 2, 'f', NULL);
-- a trigger by hand that is none of ours
CREATE TRIGGER by_hand AFTER INSERT ON no_key FOR EACH ROW EXECUTE FUNCTION outlier_overflow();
INSERT INTO no_key VALUES (1, '{}');
DROP TRIGGER by_hand ON no_key;
CREATE TRIGGER by_hand BEFORE INSERT ON no_key FOR EACH ROW EXECUTE FUNCTION outlier_overflow();
INSERT INTO no_key VALUES (1, '{}');
DROP TABLE no_key;
SELECT outlier_overflow();
-- nor is a function of the same name
CREATE SCHEMA lookalike;
CREATE FUNCTION lookalike.outlier_exceeds(id int) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE FUNCTION lookalike.version_differs(a jsonb, b int, c int, d int) RETURNS boolean LANGUAGE sql AS 'SELECT true';
CREATE TABLE lookalike.t (id int PRIMARY KEY, doc jsonb);
CREATE TRIGGER lookalike AFTER INSERT ON lookalike.t FOR EACH ROW WHEN (lookalike.outlier_exceeds(NEW.id)) EXECUTE FUNCTION outlier_overflow();
CREATE TRIGGER lookalike_version BEFORE INSERT OR UPDATE OF doc ON lookalike.t FOR EACH ROW WHEN (lookalike.version_differs(NEW.doc, 1, 2, 3)) EXECUTE FUNCTION upgrade_document();
SELECT outlier_push('lookalike.t', 1, '1');
SELECT upgrade_documents('lookalike.t', 'doc');
INSERT INTO lookalike.t VALUES (1, '{}');
DROP TRIGGER lookalike_version ON lookalike.t;
INSERT INTO lookalike.t VALUES (1, '{}');
SET client_min_messages = warning;
DROP SCHEMA lookalike CASCADE;
RESET client_min_messages;

-- rights: a role that may write the documents needs nothing else, under row security too;
-- a trigger pointed at a table of somebody else's is refused
CREATE ROLE outlier_app;
CREATE ROLE outlier_other;
GRANT SELECT, INSERT, UPDATE, DELETE ON things TO outlier_app;
ALTER TABLE things ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON things USING (id < 100);
SET ROLE outlier_app;
SELECT create_outlier('things', 'doc', '{c}', 1);
SELECT drop_outlier('things', 'doc', '{a}');
INSERT INTO things VALUES (50, '{"a": [1, 2, 3]}');
SELECT outlier_push('things', 50, '4', path => '{a}');
SELECT jsonb_agg(a) FROM outlier_elements('things', 50, path => '{a}') a;
SELECT * FROM things_a;
RESET ROLE;
INSERT INTO things VALUES (500, '{"a": [1, 2, 3]}');
SET ROLE outlier_app;
SELECT count(*) FROM outlier_elements('things', 500, path => '{a}');
SELECT outlier_push('things', 500, '4', path => '{a}');
RESET ROLE;
GRANT CREATE ON SCHEMA public TO outlier_other;
SET ROLE outlier_other;
CREATE TABLE mine (id int PRIMARY KEY, doc jsonb);
CREATE TRIGGER steal AFTER INSERT ON mine FOR EACH ROW WHEN (outlier_exceeds(NULL, NEW.doc, '{a}'::text[], 1, 'f', 'things_a'::regclass)) EXECUTE FUNCTION outlier_overflow();
INSERT INTO mine VALUES (1, '{"a": [1, 2]}');
DROP TABLE mine;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM outlier_other;
DROP TABLE things CASCADE;
DROP TABLE things_a, "rest of b";
DROP ROLE outlier_app, outlier_other;

-- partitions
CREATE TABLE divided (id int PRIMARY KEY, doc jsonb) PARTITION BY RANGE (id);
CREATE TABLE division_1 PARTITION OF divided FOR VALUES FROM (0) TO (10);
SELECT create_outlier('divided', 'doc', '{a}', 1);
CREATE TABLE division_2 (doc jsonb, gone int, id int PRIMARY KEY);
ALTER TABLE division_2 DROP COLUMN gone;
ALTER TABLE divided ATTACH PARTITION division_2 FOR VALUES FROM (10) TO (20);
INSERT INTO divided VALUES (1, '{"a": [1, 2]}'), (11, '{"a": [1, 2, 3]}');
INSERT INTO division_2(id, doc) VALUES (12, '{"a": [7, 8]}');
SELECT outlier_push('divided', 11, '4');
UPDATE divided SET id = 2 WHERE id = 11;
SELECT id, doc, (SELECT jsonb_agg(e) FROM outlier_elements('divided', id) e) AS elements FROM divided ORDER BY id;
SELECT drop_outlier('divided', 'doc', '{a}');
SELECT * FROM divided ORDER BY id;
DROP TABLE divided;
