--# Subset pattern

-- A product has thousands of reviews. Its page shows a few, and those are kept in the
-- product; all of them are in a table of their own.
CREATE TABLE products (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE reviews (
    id         text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY,
    product_id text GENERATED ALWAYS AS (doc->>'product_id') STORED REFERENCES products,
    doc        jsonb NOT NULL
);
CREATE INDEX reviews_product_id_date ON reviews (product_id, (doc->>'date') DESC);

INSERT INTO products(doc) VALUES
('{"_id": "66d5b400f1e8a93b4c5d6e60", "title": "Wireless Noise-Canceling Headphones", "price": 249.99,
   "rating_average": 4.8, "review_count": 3420,
   "recent_reviews": [
     {"reviewer": "Alex K.", "rating": 5, "comment": "Exceptional sound clarity and battery life.",
      "date": "2026-09-01T14:00:00Z"},
     {"reviewer": "Maria G.", "rating": 5, "comment": "Best ANC for frequent travelers.",
      "date": "2026-08-30T09:15:00Z"}]}');
INSERT INTO reviews(doc) VALUES
('{"_id": "66d5b400f1e8a93b4c5d6e61", "product_id": "66d5b400f1e8a93b4c5d6e60", "reviewer": "Alex K.", "rating": 5,
   "comment": "Exceptional sound clarity and battery life.", "date": "2026-09-01T14:00:00Z"}'),
('{"_id": "66d5b400f1e8a93b4c5d6e62", "product_id": "66d5b400f1e8a93b4c5d6e60", "reviewer": "Maria G.", "rating": 5,
   "comment": "Best ANC for frequent travelers.", "date": "2026-08-30T09:15:00Z"}');

-- The other 3,418 reviews are older.
INSERT INTO reviews(doc)
SELECT jsonb_build_object('_id', 'review ' || n, 'product_id', '66d5b400f1e8a93b4c5d6e60', 'reviewer', 'Reader ' || n,
                          'rating', CASE WHEN n % 5 = 0 THEN 4 ELSE 5 END, 'comment', 'Comment ' || n,
                          'date', to_char(timestamp '2026-08-30' - n * interval '3 hours', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
FROM generate_series(3, 3420) AS n;

-- What the product says of its reviews is so.
SELECT count(*) AS review_count, round(avg((doc->'rating')::numeric), 1) AS rating_average FROM reviews;
--|  review_count | rating_average
--| --------------+----------------
--|          3420 |            4.8

-- The product page: one row, no join.
SELECT doc FROM products WHERE id = '66d5b400f1e8a93b4c5d6e60';
--> {"_id": "66d5b400f1e8a93b4c5d6e60", "price": 249.99,
-->  "title": "Wireless Noise-Canceling Headphones", "review_count": 3420, "rating_average": 4.8,
-->  "recent_reviews": [{"date": "2026-09-01T14:00:00Z", "rating": 5,
-->                      "comment": "Exceptional sound clarity and battery life.",
-->                      "reviewer": "Alex K."},
-->                     {"date": "2026-08-30T09:15:00Z", "rating": 5,
-->                      "comment": "Best ANC for frequent travelers.", "reviewer": "Maria G."}]}

-- "View all 3,420 reviews", the second page of three.
SELECT doc->>'date' AS date, doc->>'reviewer' AS reviewer, doc->'rating' AS rating FROM reviews
WHERE product_id = '66d5b400f1e8a93b4c5d6e60' ORDER BY doc->>'date' DESC LIMIT 3 OFFSET 3;
--|          date         | reviewer | rating
--| ----------------------+----------+--------
--|  2026-08-29T12:00:00Z | Reader 4 | 5
--|  2026-08-29T09:00:00Z | Reader 5 | 4
--|  2026-08-29T06:00:00Z | Reader 6 | 5

--## A new review

-- The review is inserted, and pushed into the product: the five latest stay.
INSERT INTO reviews(doc) VALUES
('{"_id": "66d5b400f1e8a93b4c5d6e63", "product_id": "66d5b400f1e8a93b4c5d6e60", "reviewer": "Sam T.", "rating": 5,
   "comment": "Comfortable and well built", "date": "2026-09-03T08:30:00Z"}');
UPDATE products
SET doc = subset_push(doc, '{recent_reviews}',
                      '{"reviewer": "Sam T.", "rating": 5, "comment": "Comfortable and well built", "date": "2026-09-03T08:30:00Z"}',
                      max_size => 5, order_by => 'date desc')
WHERE id = '66d5b400f1e8a93b4c5d6e60'
RETURNING doc->'recent_reviews';
--> [{"date": "2026-09-03T08:30:00Z", "rating": 5, "comment": "Comfortable and well built",
-->   "reviewer": "Sam T."},
-->  {"date": "2026-09-01T14:00:00Z", "rating": 5,
-->   "comment": "Exceptional sound clarity and battery life.", "reviewer": "Alex K."},
-->  {"date": "2026-08-30T09:15:00Z", "rating": 5, "comment": "Best ANC for frequent travelers.",
-->   "reviewer": "Maria G."}]

-- In MongoDB's language, for a product whose display subset is the three latest:
--
--    db.products.updateOne({_id: productId}, {$push: {latestReviews: {$each: [{reviewId, rating: 5,
--      excerpt: "Comfortable and well built", createdAt: new Date()}], $sort: {createdAt: -1}, $slice: 3}}})
INSERT INTO products(doc) VALUES
('{"_id": "product 2", "title": "Office Chair",
   "latestReviews": [{"reviewId": 12, "rating": 4, "excerpt": "Sturdy", "createdAt": "2026-08-20T10:00:00Z"},
                     {"reviewId": 11, "rating": 5, "excerpt": "Very good", "createdAt": "2026-08-11T10:00:00Z"},
                     {"reviewId": 10, "rating": 3, "excerpt": "Fair", "createdAt": "2026-08-02T10:00:00Z"}]}');
UPDATE products
SET doc = doc <~ '{"$push": {"latestReviews": {
                     "$each": [{"reviewId": 13, "rating": 5, "excerpt": "Comfortable and well built",
                                "createdAt": "2026-09-03T08:30:00Z"}],
                     "$sort": {"createdAt": -1}, "$slice": 3}}}'
WHERE id = 'product 2'
RETURNING doc;
--> {"_id": "product 2", "title": "Office Chair",
-->  "latestReviews": [{"rating": 5, "excerpt": "Comfortable and well built", "reviewId": 13,
-->                     "createdAt": "2026-09-03T08:30:00Z"},
-->                    {"rating": 4, "excerpt": "Sturdy", "reviewId": 12,
-->                     "createdAt": "2026-08-20T10:00:00Z"},
-->                    {"rating": 5, "excerpt": "Very good", "reviewId": 11,
-->                     "createdAt": "2026-08-11T10:00:00Z"}]}

-- A review that is older than all three changes nothing.
SELECT subset_push(doc->'latestReviews', '{"reviewId": 1, "createdAt": "2025-01-01T00:00:00Z"}', 3, 'createdAt desc') = doc->'latestReviews'
FROM products WHERE id = 'product 2';
--> t

--## The subset from all reviews

-- subset_agg takes the first few of any number of rows. Here it fills the five places.
UPDATE products
SET doc = doc || (SELECT jsonb_build_object('recent_reviews', subset_agg(doc - '{_id,product_id}'::text[], 5, 'date desc'))
                  FROM reviews WHERE product_id = products.id)
WHERE id = '66d5b400f1e8a93b4c5d6e60'
RETURNING doc->'recent_reviews';
--> [{"date": "2026-09-03T08:30:00Z", "rating": 5, "comment": "Comfortable and well built",
-->   "reviewer": "Sam T."},
-->  {"date": "2026-09-01T14:00:00Z", "rating": 5,
-->   "comment": "Exceptional sound clarity and battery life.", "reviewer": "Alex K."},
-->  {"date": "2026-08-30T09:15:00Z", "rating": 5, "comment": "Best ANC for frequent travelers.",
-->   "reviewer": "Maria G."},
-->  {"date": "2026-08-29T15:00:00Z", "rating": 5, "comment": "Comment 3", "reviewer": "Reader 3"},
-->  {"date": "2026-08-29T12:00:00Z", "rating": 5, "comment": "Comment 4", "reviewer": "Reader 4"}]

SELECT (SELECT pg_size_pretty(sum(pg_column_size(doc))) FROM reviews WHERE product_id = products.id) AS all_reviews,
       pg_size_pretty(pg_column_size(doc)::bigint) AS product_with_five
FROM products WHERE id = '66d5b400f1e8a93b4c5d6e60';
--?

--## A subset that follows its table

-- create_subset keeps the first five by itself. It names columns of the reviews' table; here
-- they are generated from the reviews' documents.
ALTER TABLE reviews
    ADD reviewer text GENERATED ALWAYS AS (doc->>'reviewer') STORED,
    ADD rating jsonb GENERATED ALWAYS AS (doc->'rating') STORED,
    ADD date text GENERATED ALWAYS AS (doc->>'date') STORED;
CREATE INDEX ON reviews (product_id, date);
SELECT create_subset('products', 'doc', '{recent_reviews}', 'reviews', key => 'product_id',
                     fields => '{reviewer,rating,date}', order_by => 'date desc', max_size => 5);
--> t

-- A review comes, another one is withdrawn: the list has the five latest, filled up by the one
-- that came sixth.
INSERT INTO reviews(doc) VALUES
('{"_id": "review 9001", "product_id": "66d5b400f1e8a93b4c5d6e60", "reviewer": "Kim", "rating": 4, "date": "2026-09-05T12:00:00Z"}');
DELETE FROM reviews WHERE reviewer = 'Alex K.';
SELECT doc->'recent_reviews' FROM products WHERE id = '66d5b400f1e8a93b4c5d6e60';
--> [{"date": "2026-09-05T12:00:00Z", "rating": 4, "reviewer": "Kim"},
-->  {"date": "2026-09-03T08:30:00Z", "rating": 5, "reviewer": "Sam T."},
-->  {"date": "2026-08-30T09:15:00Z", "rating": 5, "reviewer": "Maria G."},
-->  {"date": "2026-08-29T15:00:00Z", "rating": 5, "reviewer": "Reader 3"},
-->  {"date": "2026-08-29T12:00:00Z", "rating": 5, "reviewer": "Reader 4"}]

-- Changed dates and changed products are followed as well.
UPDATE reviews SET doc = doc || '{"date": "2026-10-01T00:00:00Z"}' WHERE reviewer = 'Reader 3000';
UPDATE reviews SET doc = doc || '{"product_id": "product 2"}' WHERE reviewer IN ('Kim', 'Maria G.');
SELECT id, jsonb_path_query_array(doc, '$.recent_reviews[*].reviewer') FROM products ORDER BY id;
--|             id            |                    jsonb_path_query_array
--| --------------------------+---------------------------------------------------------------
--|  66d5b400f1e8a93b4c5d6e60 | ["Reader 3000", "Sam T.", "Reader 3", "Reader 4", "Reader 5"]
--|  product 2                | ["Kim", "Maria G."]
