--# Outlier pattern

-- Most posts have a few followers, one has very many. The first few are kept in the post, the
-- others in a table; has_extras says that there are others.
CREATE TABLE posts (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE posts_followers (post_id text REFERENCES posts, number bigint GENERATED ALWAYS AS IDENTITY, follower jsonb NOT NULL);
INSERT INTO posts(doc) VALUES ('{"_id": "quiet", "followers": ["ann", "bob"]}'), ('{"_id": "famous", "followers": []}');

-- A follower comes: into the post while it has fewer than five, else into the table. The lock
-- on the post makes others wait.
CREATE FUNCTION follow(post text, follower jsonb) RETURNS boolean
BEGIN ATOMIC
    WITH before AS (
        SELECT id, jsonb_array_length(doc->'followers') < 5 AS has_room FROM posts WHERE id = post FOR NO KEY UPDATE
    ), spilled AS (
        INSERT INTO posts_followers(post_id, follower) SELECT id, follower FROM before WHERE NOT has_room
    )
    UPDATE posts
    SET doc = doc <~ CASE WHEN has_room THEN jsonb_build_object('$push', jsonb_build_object('followers', follower))
                          ELSE '{"$set": {"has_extras": true}}' END
    FROM before WHERE posts.id = before.id
    RETURNING has_room;
END;

SELECT count(*) FILTER (WHERE kept) AS in_the_post, count(*) FILTER (WHERE NOT kept) AS in_the_table
FROM (SELECT follow('famous', to_jsonb('reader ' || n)) AS kept FROM generate_series(1, 1000) AS n) AS followed;
--|  in_the_post | in_the_table
--| -------------+--------------
--|            5 |          995

SELECT doc FROM posts ORDER BY id;
--> {"_id": "famous", "followers": ["reader 1", "reader 2", "reader 3", "reader 4", "reader 5"],
-->  "has_extras": true}
--> {"_id": "quiet", "followers": ["ann", "bob"]}

-- All followers of a post in the order in which they came, here some of them.
SELECT place, follower FROM (
    SELECT place, follower FROM posts, jsonb_array_elements(doc->'followers') WITH ORDINALITY AS kept(follower, place) WHERE id = 'famous'
    UNION ALL
    SELECT 5 + number, follower FROM posts_followers WHERE post_id = 'famous') AS everyone
WHERE place IN (1, 2, 5, 6, 7, 1000) ORDER BY place;
--|  place |   follower
--| -------+---------------
--|      1 | "reader 1"
--|      2 | "reader 2"
--|      5 | "reader 5"
--|      6 | "reader 6"
--|      7 | "reader 7"
--|   1000 | "reader 1000"

-- A post without extras is read alone, and the flag finds those that have some.
SELECT id FROM posts WHERE doc @~ '{"has_extras": {"$ne": true}}';
--> quiet
