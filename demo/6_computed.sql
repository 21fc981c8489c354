--# Computed pattern

-- Totals that are read often and changed now and then are kept in the document.
CREATE TABLE movies (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO movies(doc) VALUES
('{"_id": "66d5b600f1e8a93b4c5d6e80", "title": "Interstellar Odyssey", "release_year": 2026,
   "total_votes": 1250, "sum_stars": 6000, "average_rating": 4.80}');

-- A review gives five stars. A pipeline computes from the fields as they were.
--
--    db.movies.updateOne({_id: ObjectId("66d5b600f1e8a93b4c5d6e80")}, [{$set: {...}}])
UPDATE movies
SET doc = doc <~ '[{"$set": {
    "total_votes": {"$add": ["$total_votes", 1]},
    "sum_stars": {"$add": ["$sum_stars", 5]},
    "average_rating": {"$divide": [{"$add": ["$sum_stars", 5]}, {"$add": ["$total_votes", 1]}]}}}]'
WHERE id = '66d5b600f1e8a93b4c5d6e80'
RETURNING doc;
--> {"_id": "66d5b600f1e8a93b4c5d6e80", "title": "Interstellar Odyssey", "sum_stars": 6005,
-->  "total_votes": 1251, "release_year": 2026, "average_rating": 4.8001598721023181}

-- In two stages the second uses what the first has set.
UPDATE movies
SET doc = doc <~ '[{"$set": {"total_votes": {"$add": ["$total_votes", 1]}, "sum_stars": {"$add": ["$sum_stars", 3]}}},
                   {"$set": {"average_rating": {"$divide": ["$sum_stars", "$total_votes"]}}}]'
WHERE id = '66d5b600f1e8a93b4c5d6e80'
RETURNING doc;
--> {"_id": "66d5b600f1e8a93b4c5d6e80", "title": "Interstellar Odyssey", "sum_stars": 6008,
-->  "total_votes": 1252, "release_year": 2026, "average_rating": 4.7987220447284345}

--## Counters

-- db.products.updateOne({_id: 1}, {$inc: {totalSales: 250, orderCount: 1}})
CREATE TABLE products (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO products(doc) VALUES ('{"_id": 1, "name": "Desk", "totalSales": 1000, "orderCount": 4}');

UPDATE products SET doc = doc <~ '{"$inc": {"totalSales": 250, "orderCount": 1}}' WHERE id = '1'
RETURNING doc;
--> {"_id": 1, "name": "Desk", "orderCount": 5, "totalSales": 1250}

--## Built again from the source

-- A stored total can be checked against the rows that it sums up, and built again from them.
CREATE TABLE orders (product_id text, amount numeric);
INSERT INTO orders VALUES ('1', 300), ('1', 200), ('1', 250), ('1', 250), ('1', 250), ('1', 70);

SELECT doc - '{_id,name}'::text[] AS stored, computed
FROM products, LATERAL (SELECT jsonb_build_object('totalSales', sum(amount), 'orderCount', count(*)) AS computed
                        FROM orders WHERE product_id = products.id) AS source
WHERE NOT doc @> computed;
--|                 stored                 |               computed
--| ---------------------------------------+---------------------------------------
--|  {"orderCount": 5, "totalSales": 1250} | {"orderCount": 6, "totalSales": 1320}

UPDATE products
SET doc = doc || (SELECT jsonb_build_object('totalSales', sum(amount), 'orderCount', count(*)) FROM orders WHERE product_id = products.id)
RETURNING doc;
--> {"_id": 1, "name": "Desk", "orderCount": 6, "totalSales": 1320}

--## Kept from the rows

-- Here the reviews are rows, and a view says what is computed of them. The movie's fields
-- follow the view: whatever happens to the rows, the document has it in the same transaction.
CREATE TABLE reviews (movie_id text, stars int, author text);
INSERT INTO reviews SELECT '66d5b600f1e8a93b4c5d6e80', CASE WHEN n <= 250 THEN 4 ELSE 5 END, 'Viewer ' || n FROM generate_series(1, 1250) AS n;

CREATE VIEW movie_ratings AS
SELECT movie_id, count(*) AS total_votes, sum(stars) AS sum_stars, avg(stars) AS average_rating FROM reviews GROUP BY movie_id;

SELECT create_computed('movies', 'doc', source => 'movie_ratings', key => 'movie_id');
--> t

-- The document now holds what the 1,250 rows say. (The engine keeps what it needs itself in
-- the field _computed.)
SELECT doc - '_computed' FROM movies;
--> {"_id": "66d5b600f1e8a93b4c5d6e80", "title": "Interstellar Odyssey", "sum_stars": 6000,
-->  "total_votes": 1250, "release_year": 2026, "average_rating": 4.8000000000000000}

-- A new review with five stars, one that was changed, one that was deleted:
INSERT INTO reviews VALUES ('66d5b600f1e8a93b4c5d6e80', 5, 'Viewer 1251');
UPDATE reviews SET stars = 1 WHERE author = 'Viewer 7';
DELETE FROM reviews WHERE author = 'Viewer 8';
SELECT doc->'total_votes' AS total_votes, doc->'sum_stars' AS sum_stars, round((doc->'average_rating')::numeric, 4) AS average_rating FROM movies;
--|  total_votes | sum_stars | average_rating
--| -------------+-----------+----------------
--|  1250        | 5998      |         4.7984

-- An application that writes an old copy of the document back changes the title, and no count.
UPDATE movies SET doc = '{"_id": "66d5b600f1e8a93b4c5d6e80", "title": "Interstellar Odyssey II", "total_votes": 3}'
RETURNING doc->'title' AS title, doc->'total_votes' AS total_votes;
--|            title           | total_votes
--| ---------------------------+-------------
--|  "Interstellar Odyssey II" | 1250

-- Is it right now? No row is different from the view.
SELECT count(*) AS differences FROM verify_computed('movies');
--> 0

-- Something that no trigger can see: a session that replicates rows of another server. The
-- document is then behind, which is reported, and is built again from the rows.
SET session_replication_role = replica;
DELETE FROM reviews WHERE author = 'Viewer 9';
RESET session_replication_role;
SELECT path[1] AS field, stored, expected FROM verify_computed('movies') WHERE path[1] <> 'average_rating' ORDER BY field;
--|     field    | stored | expected
--| -------------+--------+----------
--|  sum_stars   | 5998   | 5994
--|  total_votes | 1250   | 1249

SELECT refresh_computed('movies');
--> 1

SELECT count(*) AS differences FROM verify_computed('movies');
--> 0

--## Within one document

-- What is computed from other fields of the same document needs a trigger and a pipeline.
CREATE TRIGGER products_average BEFORE INSERT OR UPDATE OF doc ON products
FOR EACH ROW EXECUTE FUNCTION compute_document('doc', '[{"$set": {"averageSale": {"$divide": ["$totalSales", "$orderCount"]}}}]');
UPDATE products SET doc = doc <~ '{"$inc": {"totalSales": 80, "orderCount": 1}}' WHERE id = '1'
RETURNING doc;
--> {"_id": 1, "name": "Desk", "orderCount": 7, "totalSales": 1400, "averageSale": 200}
