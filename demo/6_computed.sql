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
