--# Extended reference pattern

-- An order refers to its customer. What every list of orders shows of the customer, it holds
-- a copy of.
CREATE TABLE customers (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE orders (
    id          text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY,
    customer_id text GENERATED ALWAYS AS (coalesce(doc->>'customerId', doc->'customer'->>'_id', doc->'customer'->>'id')) STORED
                REFERENCES customers,
    doc         jsonb NOT NULL
);

INSERT INTO customers(doc) VALUES
('{"_id": "66d5b500f1e8a93b4c5d6e70", "name": "Precision Engineering Ltd", "tax_id": "US-9481029",
   "phone": "+1-408-555-0199", "credit_rating": "AAA",
   "billing_address": {"street": "500 Main St", "city": "San Jose", "state": "CA", "zip": "95112"},
   "internal_notes": "Key enterprise account managed by Sarah."}'),
('{"_id": 7, "name": "Asha", "city": "Pune", "email": "asha@example.com"}');

--## Without the pattern: a join

INSERT INTO orders(doc) VALUES ('{"_id": 500, "item": "Pencil", "customerId": 7}');

SELECT orders.doc->>'item' AS item, customers.doc->>'name' AS customer
FROM orders JOIN customers ON customers.id = orders.customer_id;
--|   item  | customer
--| --------+----------
--|  Pencil | Asha

--## With the pattern: a copy made when the order is

-- The fields are named once, in the statement that inserts the order.
INSERT INTO orders(doc)
SELECT '{"_id": 501, "item": "Notebook"}'::jsonb ||
       jsonb_build_object('customer', jsonb_build_object('id', doc->'_id', 'name', doc->'name', 'city', doc->'city'))
FROM customers WHERE id = '7'
RETURNING doc;
--> {"_id": 501, "item": "Notebook", "customer": {"id": 7, "city": "Pune", "name": "Asha"}}

INSERT INTO orders(doc)
SELECT '{"_id": "66d5b500f1e8a93b4c5d6e71", "order_number": "PO-88412", "order_date": "2026-09-02T11:00:00Z",
         "status": "SHIPPED", "total_amount": 5420.00}'::jsonb ||
       jsonb_build_object('customer', jsonb_build_object('_id', doc->'_id', 'name', doc->'name',
                                                         'shipping_city', doc->'billing_address'->'city', 'phone', doc->'phone'))
FROM customers WHERE id = '66d5b500f1e8a93b4c5d6e70'
RETURNING doc;
--> {"_id": "66d5b500f1e8a93b4c5d6e71", "status": "SHIPPED",
-->  "customer": {"_id": "66d5b500f1e8a93b4c5d6e70", "name": "Precision Engineering Ltd",
-->               "phone": "+1-408-555-0199", "shipping_city": "San Jose"},
-->  "order_date": "2026-09-02T11:00:00Z", "order_number": "PO-88412", "total_amount": 5420.00}

SELECT doc->>'item' AS item, doc->'customer'->>'name' AS customer FROM orders WHERE id = '501';
--|    item   | customer
--| ----------+----------
--|  Notebook | Asha

-- The customer moves and takes another name. The order keeps what was right when it was placed.
UPDATE customers
SET doc = doc <~ '{"$set": {"name": "Precision Robotics Ltd", "billing_address.city": "Oakland"}}'
WHERE id = '66d5b500f1e8a93b4c5d6e70'
RETURNING doc;
--> {"_id": "66d5b500f1e8a93b4c5d6e70", "name": "Precision Robotics Ltd",
-->  "phone": "+1-408-555-0199", "tax_id": "US-9481029", "credit_rating": "AAA",
-->  "internal_notes": "Key enterprise account managed by Sarah.",
-->  "billing_address": {"zip": "95112", "city": "Oakland", "state": "CA", "street": "500 Main St"}}

SELECT doc->'customer' FROM orders WHERE id = '66d5b500f1e8a93b4c5d6e71';
--> {"_id": "66d5b500f1e8a93b4c5d6e70", "name": "Precision Engineering Ltd",
-->  "phone": "+1-408-555-0199", "shipping_city": "San Jose"}

-- A telephone number should be the current one, in old orders too: it is written to them.
UPDATE orders
SET doc = doc <~ '{"$set": {"customer.phone": "+1-510-555-0100"}}'
WHERE customer_id = '66d5b500f1e8a93b4c5d6e70'
RETURNING doc->'customer';
--> {"_id": "66d5b500f1e8a93b4c5d6e70", "name": "Precision Engineering Ltd",
-->  "phone": "+1-510-555-0100", "shipping_city": "San Jose"}
