SET timezone = 'UTC';

-- an ObjectId: the second, the process's random bytes, the counter
SELECT bson_objectid() ~ '^[0-9a-f]{24}$' AS form,
       octet_length(bson_objectid()) AS length,
       bson_objectid() = bson_objectid() AS equal;
SELECT count(*), count(DISTINCT id) AS ids, count(DISTINCT substr(id, 9, 10)) AS processes
FROM (SELECT bson_objectid() AS id FROM generate_series(1, 10000)) AS made;
SELECT bson_objectid_time(bson_objectid()) BETWEEN clock_timestamp() - interval '2 seconds' AND clock_timestamp() AS now;

-- an id of a later second sorts behind, byte by byte
SELECT bson_objectid() AS first \gset
SELECT pg_sleep(1.1);
SELECT bson_objectid() > :'first' COLLATE "C" AS later;

-- against the digits' own value
SELECT id, bson_objectid_time(id) AS time,
       bson_objectid_time(id) = to_timestamp(('x' || substr(id, 1, 8))::bit(32)::bigint & 4294967295) AS as_computed
FROM unnest(ARRAY['000000000000000000000000', '507f1f77bcf86cd799439011', '7fffffff0000000000000000',
                  '800000000000000000000000', 'ffffffffffffffffffffffff', 'FFFFFFFFFFFFFFFFFFFFFFFF', '507F1f77bcf86cd799439011']) AS id;
SELECT bson_objectid_time(NULL) IS NULL AS strict;

-- what is no ObjectId
CREATE FUNCTION complaint(id text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN bson_objectid_time(id)::text;
EXCEPTION WHEN data_exception THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SELECT complaint(id)
FROM unnest(ARRAY['', '507f1f77bcf86cd79943901', '507f1f77bcf86cd7994390111', '507f1f77bcf86cd79943901g', ' 07f1f77bcf86cd799439011',
                  '507f1f77bcf86cd79943901' || chr(233), 'ABCDEFGHIJKL', '{"$oid": "507f1f77bcf86cd799439011"}',
                  repeat('507f1f77bcf86cd799439011', 10), repeat('5', 1000000)]) AS id;
SELECT bson_objectid_time('507f1f77-bcf86cd79943901');
DROP FUNCTION complaint;

-- as a key, with a column that is generated from it
CREATE TABLE posts (
	id text PRIMARY KEY DEFAULT bson_objectid(),
	created timestamptz GENERATED ALWAYS AS (bson_objectid_time(id)) STORED,
	doc jsonb
);
INSERT INTO posts(doc) SELECT jsonb_build_object('n', n) FROM generate_series(1, 100) n;
INSERT INTO posts(id) VALUES ('507f1f77bcf86cd799439011');
SELECT count(*), min(created), max(created) > now() - interval '2 seconds' AS recent FROM posts;
INSERT INTO posts(id) VALUES ('me');
DROP TABLE posts;
