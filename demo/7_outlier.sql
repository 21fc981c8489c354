--# Outlier pattern

-- Most posts have a few followers, one has very many. The first five are kept in the post, the
-- others in a table; has_extras says that there are others.
CREATE TABLE posts (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
SELECT create_outlier('posts', 'doc', '{followers}', 5);
--> t
INSERT INTO posts(doc) VALUES ('{"_id": "quiet", "followers": ["ann", "bob"]}'), ('{"_id": "famous", "followers": []}');

-- Followers come, one after the other: into the post while it has room, else into the table.
SELECT count(*) FILTER (WHERE kept) AS in_the_post, count(*) FILTER (WHERE NOT kept) AS in_the_table
FROM (SELECT outlier_push('posts', 'famous', to_jsonb('reader ' || n)) AS kept FROM generate_series(1, 1000) AS n) AS followed;
--|  in_the_post | in_the_table
--| -------------+--------------
--|            5 |          995

SELECT doc FROM posts ORDER BY id;
--> {"_id": "famous", "followers": ["reader 1", "reader 2", "reader 3", "reader 4", "reader 5"],
-->  "has_extras": true}
--> {"_id": "quiet", "followers": ["ann", "bob"]}

-- All followers of a post in the order in which they came, here some of them.
SELECT place, follower FROM outlier_elements('posts', 'famous') WITH ORDINALITY AS everyone(follower, place)
WHERE place IN (1, 2, 5, 6, 7, 1000) ORDER BY place;
--|  place |   follower
--| -------+---------------
--|      1 | "reader 1"
--|      2 | "reader 2"
--|      5 | "reader 5"
--|      6 | "reader 6"
--|      7 | "reader 7"
--|   1000 | "reader 1000"

-- An update that adds many at once, as an application writes it, goes the same way.
UPDATE posts SET doc = doc <~ '{"$push": {"followers": {"$each": ["carl", "dora", "emil", "fay"]}}}' WHERE id = 'quiet';
SELECT doc->>'has_extras' AS has_extras, (SELECT string_agg(follower->>0, ', ') FROM outlier_elements('posts', 'quiet') AS follower) AS followers
FROM posts WHERE id = 'quiet';
--|  has_extras |            followers
--| ------------+---------------------------------
--|  true       | ann, bob, carl, dora, emil, fay

-- A post that is replaced by one without the flag has what is in it, and no more.
UPDATE posts SET doc = '{"_id": "quiet", "followers": ["ann"]}' WHERE id = 'quiet';
SELECT count(*) FROM outlier_elements('posts', 'quiet');
--> 1

-- A post without extras is read alone, and the flag finds those that have some.
SELECT id FROM posts WHERE doc @~ '{"has_extras": {"$ne": true}}';
--> quiet
