--# Attribute pattern

-- Products of different kinds have different fields. As a list of keys and values they have
-- all one shape, and one index serves every key. attribute_pack makes the list.
SELECT attribute_pack('{"screen_size": 65, "refresh_rate": 120}',
                      units => '{"screen_size": "inches", "refresh_rate": "Hz"}');
--> [{"k": "screen_size", "u": "inches", "v": 65}, {"k": "refresh_rate", "u": "Hz", "v": 120}]

-- A whole document: the sparse fields move into specs, the others stay.
SELECT doc - '{screen_size,refresh_rate}'::text[] ||
       jsonb_build_object('specs', attribute_pack(doc - '{_id,title}'::text[]))
FROM (VALUES ('{"_id": 1, "title": "4K TV", "screen_size": 65, "refresh_rate": 120}'::jsonb)) AS product(doc);
--> {"_id": 1, "specs": [{"k": "screen_size", "v": 65}, {"k": "refresh_rate", "v": 120}],
-->  "title": "4K TV"}

-- attribute_unpack is the way back.
SELECT attribute_unpack('[{"k": "screen_size", "v": 65, "u": "inches"}, {"k": "refresh_rate", "v": 120, "u": "Hz"}]');
--> {"screen_size": 65, "refresh_rate": 120}

--## A catalog of products

CREATE TABLE products (
    id  text GENERATED ALWAYS AS (coalesce(doc->>'_id', doc->>'name')) STORED PRIMARY KEY,
    doc jsonb NOT NULL
);
INSERT INTO products(doc) VALUES
('{"_id": "66d5b200f1e8a93b4c5d6e40", "sku": "PROD-TV-4K-01", "title": "Ultra HD Smart TV 65 Inch",
   "category": "Electronics", "price": 799.99,
   "specs": [{"k": "screen_size", "v": 65, "u": "inches"}, {"k": "refresh_rate", "v": 120, "u": "Hz"},
             {"k": "resolution", "v": "3840x2160"}, {"k": "hdr_support", "v": true}]}'),
('{"name": "Cotton Shirt",
   "specs": [{"k": "color", "v": "red"}, {"k": "size", "v": "XL"}, {"k": "material", "v": "cotton"}]}'),
('{"name": "Developer Laptop", "specs": [{"k": "ram", "v": "16GB"}, {"k": "storage", "v": "512GB"}]}'),
('{"name": "Laptop", "specs": [{"k": "memory", "v": "16GB"}, {"k": "screen", "v": "14 inch"}]}');

-- Televisions with a screen of 65 inches or more.
--
--    db.products.find({specs: {$elemMatch: {k: "screen_size", v: {$gte: 65}}}})
SELECT doc FROM products
WHERE doc @~ '{"specs": {"$elemMatch": {"k": "screen_size", "v": {"$gte": 65}}}}';
--> {"_id": "66d5b200f1e8a93b4c5d6e40", "sku": "PROD-TV-4K-01", "price": 799.99,
-->  "specs": [{"k": "screen_size", "u": "inches", "v": 65},
-->            {"k": "refresh_rate", "u": "Hz", "v": 120},
-->            {"k": "resolution", "v": "3840x2160"},
-->            {"k": "hdr_support", "v": true}],
-->  "title": "Ultra HD Smart TV 65 Inch", "category": "Electronics"}

-- Products with 16GB of ram.
--
--    db.products.find({specs: {$elemMatch: {k: "ram", v: "16GB"}}})
SELECT id FROM products WHERE doc @~ '{"specs": {"$elemMatch": {"k": "ram", "v": "16GB"}}}';
--> Developer Laptop

--## The pitfall

-- Without $elemMatch each condition may be met by another element, here color by one and XL
-- by the next: the shirt has no attribute "color" of value "XL", and is found all the same.
SELECT id FROM products WHERE doc @~ '{"specs.k": "color", "specs.v": "XL"}';
--> Cotton Shirt

SELECT count(*) FROM products WHERE doc @~ '{"specs": {"$elemMatch": {"k": "color", "v": "XL"}}}';
--> 0

SELECT id FROM products WHERE doc @~ '{"specs": {"$elemMatch": {"k": "color", "v": "red"}}}';
--> Cotton Shirt

--## One index for all attributes

-- db.products.createIndex({"specs.k": 1, "specs.v": 1}), and the statistics that the planner
-- needs to know how many products a condition finds.
SELECT create_attribute_index('products', 'doc', '{specs}');
--> t

-- Five thousand more products give the planner something to choose for. VACUUM puts what was
-- just inserted into the index's tree, and ANALYZE makes its statistics.
INSERT INTO products(doc)
SELECT jsonb_build_object('name', 'Parcel ' || n, 'specs', attribute_pack(jsonb_build_object(
    'height', n % 1000, 'depth', n % 77, 'label', 'L-' || n % 500, 'fragile', n % 50 = 0)))
FROM generate_series(1, 5000) AS n;
VACUUM ANALYZE products;

-- The index answers equality and ranges, by every attribute, whether its values are numbers,
-- text or booleans.
EXPLAIN (COSTS OFF)
SELECT id FROM products WHERE doc @~ '{"specs": {"$elemMatch": {"k": "height", "v": {"$gte": 997}}}}';
--> Bitmap Heap Scan on products
-->   Recheck Cond: (doc @~ '{"specs": {"$elemMatch": {"k": "height", "v": {"$gte": 997}}}}'::jsonb)
-->   ->  Bitmap Index Scan on products_doc_idx
-->         Index Cond: (doc @~ '{"specs": {"$elemMatch": {"k": "height", "v": {"$gte": 997}}}}'::jsonb)

SELECT count(*) FROM products WHERE doc @~ '{"specs": {"$elemMatch": {"k": "height", "v": {"$gte": 997}}}}';
--> 15

-- Several at once, a prefix among them; the answer is the plain SQL's below.
SELECT count(*) FROM products
WHERE doc @~ '{"specs": {"$all": [{"$elemMatch": {"k": "label", "v": {"$regex": "^L-4"}}},
                                  {"$elemMatch": {"k": "fragile", "v": true}},
                                  {"$elemMatch": {"k": "depth", "v": {"$gt": 40, "$lte": 60}}}]}}';
--> 5

SELECT count(*) FROM generate_series(1, 5000) AS n
WHERE 'L-' || n % 500 LIKE 'L-4%' AND n % 50 = 0 AND n % 77 > 40 AND n % 77 <= 60;
--> 5

-- jsonpath, PostgreSQL's own language, uses it too.
EXPLAIN (COSTS OFF)
SELECT id FROM products WHERE doc @? '$.specs[*] ? (@.k == "label" && @.v == "L-7")';
--> Bitmap Heap Scan on products
-->   Recheck Cond: (doc @? '$."specs"[*]?(@."k" == "label" && @."v" == "L-7")'::jsonpath)
-->   ->  Bitmap Index Scan on products_doc_idx
-->         Index Cond: (doc @? '$."specs"[*]?(@."k" == "label" && @."v" == "L-7")'::jsonpath)

--## Several attributes at once

-- Two sparse products become documents with attributes, and a third has been one from the start.
INSERT INTO products(doc)
SELECT jsonb_build_object('name', name, 'attributes', attribute_pack(sparse))
FROM (VALUES ('Kettle', '{"color": "red", "size": "XL", "voltage": "220V"}'::jsonb),
             ('Dress', '{"color": "red", "size": "XL"}')) AS product(name, sparse);
INSERT INTO products(doc) VALUES
('{"name": "Industrial Drill", "sku": "DR-900",
   "attributes": [{"k": "color", "v": "Yellow"}, {"k": "voltage", "v": "20V"}, {"k": "batteryType", "v": "Li-Ion"}]}');

-- Their attributes are in another field, with an index of its own.
--
--    db.products.createIndex({"attributes.k": 1, "attributes.v": 1})
SELECT create_attribute_index('products', 'doc', '{attributes}');
--> t

--    db.products.find({attributes: {$all: [{$elemMatch: {k: "color", v: "Yellow"}},
--                                          {$elemMatch: {k: "voltage", v: "20V"}}]}})
SELECT doc FROM products
WHERE doc @~ '{"attributes": {"$all": [{"$elemMatch": {"k": "color", "v": "Yellow"}},
                                       {"$elemMatch": {"k": "voltage", "v": "20V"}}]}}';
--> {"sku": "DR-900", "name": "Industrial Drill",
-->  "attributes": [{"k": "color", "v": "Yellow"},
-->                 {"k": "voltage", "v": "20V"},
-->                 {"k": "batteryType", "v": "Li-Ion"}]}

-- attribute_query writes that query from plain conditions.
SELECT attribute_query('{"color": "Yellow", "voltage": "20V"}');
--> {"$all": [{"$elemMatch": {"k": "color", "v": "Yellow"}},
-->           {"$elemMatch": {"k": "voltage", "v": "20V"}}]}

SELECT id FROM products
WHERE doc->'attributes' @~ attribute_query('{"color": "red", "size": {"$in": ["L", "XL"]}}')
ORDER BY id;
--> Dress
--> Kettle

--## Single attributes

-- Read one, change one in place, add one, remove one.
SELECT attribute_get(doc->'attributes', 'voltage') FROM products WHERE id = 'Industrial Drill';
--> "20V"

UPDATE products
SET doc = doc || jsonb_build_object('attributes',
    attribute_remove(attribute_set(attribute_set(doc->'attributes', 'voltage', '18', unit => 'V'), 'weight', '1.6', 'kg'), 'color'))
WHERE id = 'Industrial Drill' RETURNING doc;
--> {"sku": "DR-900", "name": "Industrial Drill",
-->  "attributes": [{"k": "voltage", "u": "V", "v": 18},
-->                 {"k": "batteryType", "v": "Li-Ion"},
-->                 {"k": "weight", "u": "kg", "v": 1.6}]}

-- What a shop shows beside its search: how many products have each value.
SELECT attribute_facets(doc->'attributes') FROM products;
--> {"size": {"XL": 2}, "color": {"red": 2}, "weight": {"1.6": 1}, "voltage": {"18": 1, "220V": 1},
-->  "batteryType": {"Li-Ion": 1}}
