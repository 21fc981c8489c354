--# Event history and current state

-- What a user does is written to one table, what a user is to another.
CREATE TABLE users (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE user_activity (
    id  text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY,
    doc jsonb NOT NULL
);
INSERT INTO users(doc) VALUES ('{"_id": "65a000000000000000000010", "name": "A learner", "courses": 0}');
INSERT INTO user_activity(doc) VALUES
('{"_id": "65a000000000000000000060", "userId": "65a000000000000000000010", "eventType": "course_completed",
   "resourceId": "mongodb-indexes", "occurredAt": "2026-05-01T12:00:00Z", "metadata": {"durationSeconds": 1800}}');

-- Other users do things as well.
INSERT INTO user_activity(doc)
SELECT jsonb_build_object('_id', 'event ' || n, 'userId', 'user ' || n % 50, 'eventType', 'page_viewed',
                          'occurredAt', to_char(timestamp '2026-04-01' + n * interval '20 min', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
FROM generate_series(1, 3000) AS n;

-- db.userActivity.createIndex({userId: 1, occurredAt: -1, _id: -1})
CREATE INDEX user_activity_recent ON user_activity ((doc->>'userId'), (doc->>'occurredAt') DESC, (doc->>'_id') DESC);
ANALYZE user_activity;

EXPLAIN (COSTS OFF)
SELECT doc FROM user_activity WHERE doc->>'userId' = '65a000000000000000000010'
ORDER BY doc->>'occurredAt' DESC, doc->>'_id' DESC LIMIT 10;
--> Limit
-->   ->  Index Scan using user_activity_recent on user_activity
-->         Index Cond: ((doc ->> 'userId'::text) = '65a000000000000000000010'::text)

SELECT doc FROM user_activity WHERE doc->>'userId' = '65a000000000000000000010'
ORDER BY doc->>'occurredAt' DESC, doc->>'_id' DESC LIMIT 10;
--> {"_id": "65a000000000000000000060", "userId": "65a000000000000000000010",
-->  "metadata": {"durationSeconds": 1800}, "eventType": "course_completed",
-->  "occurredAt": "2026-05-01T12:00:00Z", "resourceId": "mongodb-indexes"}

-- An event and the state that follows from it are one transaction.
BEGIN;
INSERT INTO user_activity(doc) VALUES
('{"_id": "65a000000000000000000061", "userId": "65a000000000000000000010", "eventType": "course_completed",
   "resourceId": "schema-patterns", "occurredAt": "2026-05-02T09:00:00Z", "metadata": {"durationSeconds": 2400}}');
UPDATE users
SET doc = doc <~ '{"$inc": {"courses": 1}, "$max": {"lastActive": "2026-05-02T09:00:00Z"},
                   "$push": {"recent": {"$each": ["schema-patterns"], "$position": 0, "$slice": 3}}}'
WHERE id = '65a000000000000000000010';
COMMIT;

SELECT doc FROM users;
--> {"_id": "65a000000000000000000010", "name": "A learner", "recent": ["schema-patterns"],
-->  "courses": 1, "lastActive": "2026-05-02T09:00:00Z"}
