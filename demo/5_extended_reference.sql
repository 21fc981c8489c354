--# Extended reference pattern

-- An order refers to its customer. What every list of orders shows of the customer, it holds
-- a copy of.
CREATE TABLE customers (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);
CREATE TABLE orders (
    id          text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY,
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
FROM orders JOIN customers ON customers.id = orders.doc->>'customerId';
--|   item  | customer
--| --------+----------
--|  Pencil | Asha

--## With the pattern: a copy made when the order is

-- Which fields are copied is said once. A field is a snapshot, unless it is said to be live.
SELECT create_extended_reference('orders', 'doc', path => '{customer}', source => 'customers', key => '{customer,id}',
                                 fields => '{name,city}');
--> t

INSERT INTO orders(doc) VALUES ('{"_id": 501, "item": "Notebook", "customer": {"id": 7}}') RETURNING doc;
--> {"_id": 501, "item": "Notebook", "customer": {"id": 7, "city": "Pune", "name": "Asha"}}

SELECT doc->>'item' AS item, doc->'customer'->>'name' AS customer FROM orders WHERE id = '501';
--|    item   | customer
--| ----------+----------
--|  Notebook | Asha

-- An order refers to a customer that there is.
INSERT INTO orders(doc) VALUES ('{"_id": 502, "item": "Pen", "customer": {"id": 8}}');
--> ERROR:  document in relation "orders" refers to a row that is not in relation "customers"
--> DETAIL:  The value at "customer.id" is 8, which "id" of no row is.

--## Point-in-time accuracy, and a field that follows

-- Purchase orders keep the name and the city of the day; the telephone number is the current one.
CREATE TABLE purchase_orders (id text GENERATED ALWAYS AS (doc->>'_id') STORED PRIMARY KEY, doc jsonb NOT NULL);

SELECT create_extended_reference('purchase_orders', 'doc', '{customer}', 'customers', '{customer,_id}',
                                 '{name,"billing_address.city AS shipping_city",phone:live}');
--> t

INSERT INTO purchase_orders(doc) VALUES
('{"_id": "66d5b500f1e8a93b4c5d6e71", "order_number": "PO-88412", "order_date": "2026-09-02T11:00:00Z",
   "status": "SHIPPED", "total_amount": 5420.00, "customer": {"_id": "66d5b500f1e8a93b4c5d6e70"}}')
RETURNING doc;
--> {"_id": "66d5b500f1e8a93b4c5d6e71", "status": "SHIPPED",
-->  "customer": {"_id": "66d5b500f1e8a93b4c5d6e70", "name": "Precision Engineering Ltd",
-->               "phone": "+1-408-555-0199", "shipping_city": "San Jose"},
-->  "order_date": "2026-09-02T11:00:00Z", "order_number": "PO-88412", "total_amount": 5420.00}

-- The customer moves, and takes another name and another number.
UPDATE customers
SET doc = doc <~ '{"$set": {"name": "Precision Robotics Ltd", "billing_address.city": "Oakland", "phone": "+1-510-555-0100"}}'
WHERE id = '66d5b500f1e8a93b4c5d6e70';

SELECT doc->'customer' FROM purchase_orders;
--> {"_id": "66d5b500f1e8a93b4c5d6e70", "name": "Precision Engineering Ltd",
-->  "phone": "+1-510-555-0100", "shipping_city": "San Jose"}

-- The record is permanent.
UPDATE purchase_orders SET doc = doc <~ '{"$set": {"customer.name": "Precision Robotics Ltd"}}';
--> ERROR:  field "customer.name" is a copy from relation "customers" and cannot be edited
--> DETAIL:  It was "Precision Engineering Ltd" and would be "Precision Robotics Ltd".
--> HINT:  Change the reference at "customer._id", or call refresh_extended_reference.

-- Everything else can be changed, and an order can go to another customer.
UPDATE purchase_orders SET doc = doc <~ '{"$set": {"status": "RETURNED", "customer._id": 7}}'
RETURNING doc->'status', doc->'customer';
--> "RETURNED" | {"_id": 7, "name": "Asha", "phone": null, "shipping_city": null}

-- Is every copy right?
SELECT count(*) FROM verify_extended_reference('purchase_orders', 'doc', '{customer}');
--> 0
