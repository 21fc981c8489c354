--
-- compute_document: fields computed inside one document
--
CREATE TABLE orders (
	id int PRIMARY KEY,
	doc jsonb,
	total numeric GENERATED ALWAYS AS ((doc ->> 'total')::numeric) STORED
);
CREATE TRIGGER total BEFORE INSERT OR UPDATE OF doc ON orders FOR EACH ROW
	EXECUTE FUNCTION compute_document('doc', '[{"$set": {"total": {"$multiply": ["$price", "$quantity"]}}}]');

-- the generated column sees what was computed; a NULL document stays NULL
INSERT INTO orders VALUES (1, '{"price": 2.50, "quantity": 4}'), (2, '{"price": 1, "quantity": 1, "total": 99}'), (3, NULL)
RETURNING *;
UPDATE orders SET doc = doc <~ '{"$inc": {"quantity": 1}}' RETURNING *;
UPDATE orders SET doc = '{"price": 3, "quantity": 3}' WHERE id = 3 RETURNING *;
INSERT INTO orders VALUES (1, '{"price": 5, "quantity": 2}') ON CONFLICT (id) DO UPDATE SET doc = orders.doc || '{"quantity": 7}' RETURNING *;
COPY orders (id, doc) FROM stdin;
4	{"price": 4, "quantity": 2.5}
\.
-- what is the same for the pipeline is the same row
UPDATE orders SET doc = doc WHERE id = 4 RETURNING *;
-- every document equals the pipeline run on it
SELECT count(*) AS documents, count(*) FILTER (WHERE (doc -> 'total')::numeric = (doc -> 'price')::numeric * (doc -> 'quantity')::numeric AND total = (doc -> 'total')::numeric) AS right
FROM orders;

-- an application that leaves the field alone in its copy cannot write a stale one
UPDATE orders SET doc = '{"price": 1, "quantity": 2, "total": 1000}' WHERE id = 4 RETURNING *;

-- what the pipeline cannot do fails, with the trigger's name
INSERT INTO orders VALUES (5, '{"price": "much", "quantity": 2}');
INSERT INTO orders VALUES (5, '[1, 2]');

-- the pipeline is compiled anew when the trigger is replaced, and when another takes its place
CREATE OR REPLACE TRIGGER total BEFORE INSERT OR UPDATE ON orders FOR EACH ROW
	EXECUTE FUNCTION compute_document('doc', '[{"$set": {"total": {"$add": ["$price", "$quantity"]}}}, {"$set": {"twice": {"$add": ["$total", "$total"]}}}]');
UPDATE orders SET doc = doc WHERE id = 1 RETURNING *;
DROP TRIGGER total ON orders;
CREATE TRIGGER total BEFORE INSERT OR UPDATE ON orders FOR EACH ROW WHEN (NEW.doc IS NOT NULL)
	EXECUTE FUNCTION compute_document('doc', '[{"$unset": "twice"}, {"$set": {"total": {"$subtract": ["$price", "$quantity"]}}}]');
UPDATE orders SET doc = doc WHERE id = 1 RETURNING *;
-- the column keeps its number in mind, and looks for it again
ALTER TABLE orders ADD COLUMN note text;
ALTER TABLE orders DROP COLUMN total;
INSERT INTO orders VALUES (6, '{"price": 10, "quantity": 4}', 'later') RETURNING *;
-- several triggers, in the order of their names
CREATE TRIGGER untaxed BEFORE INSERT OR UPDATE ON orders FOR EACH ROW
	EXECUTE FUNCTION compute_document('doc', '[{"$set": {"untaxed": {"$divide": ["$total", 1.25]}}}]');
UPDATE orders SET doc = doc WHERE id = 6 RETURNING *;

-- a column that was renamed is missed, not passed over
ALTER TABLE orders RENAME COLUMN doc TO document;
INSERT INTO orders VALUES (7, '{"price": 10, "quantity": 4}');
UPDATE orders SET note = 'x' WHERE id = 6;
SELECT id FROM orders WHERE id = 7 OR note = 'x';
ALTER TABLE orders RENAME COLUMN document TO doc;
UPDATE orders SET note = 'x' WHERE id = 6 RETURNING *;
DROP TABLE orders;

-- the clock
CREATE TABLE stamped (doc jsonb);
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON stamped FOR EACH ROW
	EXECUTE FUNCTION compute_document('doc', '[{"$set": {"changed": "$$NOW"}}]');
BEGIN;
INSERT INTO stamped VALUES ('{}') RETURNING (doc ->> 'changed')::timestamptz = date_trunc('milliseconds', transaction_timestamp()) AS now;
COMMIT;

-- partitioned tables: wherever the row is written, however the partition has its columns
CREATE TABLE events (kind text, doc jsonb) PARTITION BY LIST (kind);
CREATE TABLE events_a PARTITION OF events FOR VALUES IN ('a');
CREATE TABLE events_b (junk int, doc jsonb, kind text);
ALTER TABLE events_b DROP COLUMN junk;
ALTER TABLE events ATTACH PARTITION events_b FOR VALUES IN ('b');
CREATE TRIGGER length BEFORE INSERT OR UPDATE ON events FOR EACH ROW
	EXECUTE FUNCTION compute_document('doc', '[{"$set": {"sum": {"$add": ["$x", "$y"]}}}]');
INSERT INTO events VALUES ('a', '{"x": 1, "y": 2}'), ('b', '{"x": 3, "y": 4}'), ('a', '{"x": 5, "y": 6}');
INSERT INTO events_b (kind, doc) VALUES ('b', '{"x": 7, "y": 8}');
UPDATE events SET kind = 'b', doc = doc || '{"y": 10}' WHERE doc @> '{"x": 5}';
SELECT tableoid::regclass, kind, doc FROM events ORDER BY doc -> 'x';
DROP TABLE events;

-- a domain's rule holds for what is computed
CREATE DOMAIN small_doc AS jsonb CHECK ((VALUE -> 'n')::int < 10);
CREATE TABLE small (doc small_doc);
CREATE TRIGGER n BEFORE INSERT OR UPDATE ON small FOR EACH ROW
	EXECUTE FUNCTION compute_document('doc', '[{"$set": {"n": {"$add": ["$n", 5]}}}]');
INSERT INTO small VALUES ('{"n": 1}'), ('{"n": 4}') RETURNING *;
INSERT INTO small VALUES ('{"n": 2}'), ('{"n": 5}');
DROP TABLE small;
DROP DOMAIN small_doc;

-- a document so large that it is stored apart
CREATE TABLE large (id int, doc jsonb);
CREATE TRIGGER n BEFORE INSERT OR UPDATE ON large FOR EACH ROW
	EXECUTE FUNCTION compute_document('doc', '[{"$set": {"n": {"$add": ["$m", 1]}}}]');
INSERT INTO large SELECT 1, jsonb_build_object('m', 1, 'list', jsonb_agg(md5(i::text))) FROM generate_series(1, 2000) i;
UPDATE large SET doc = doc || '{"m": 5}';
SELECT doc - 'list' AS doc, jsonb_array_length(doc -> 'list') AS length, doc -> 'list' ->> 1999 = md5('2000') AS last FROM large;
DROP TABLE large;

-- a role with the right to write to the table needs none on the function's side
CREATE ROLE compute_document_writer;
GRANT INSERT ON stamped TO compute_document_writer;
SET ROLE compute_document_writer;
INSERT INTO stamped VALUES ('{"by": "writer"}');
RESET ROLE;
SELECT doc ? 'changed' AS stamped FROM stamped WHERE doc ->> 'by' = 'writer';
DROP TABLE stamped;
DROP ROLE compute_document_writer;

-- what is wrong with a trigger shows at the first write, and says which trigger it is
CREATE TABLE t (id int, doc jsonb, j json, always jsonb GENERATED ALWAYS AS (doc -> 'x') STORED);
CREATE TABLE attempts (n int GENERATED ALWAYS AS IDENTITY, arguments text, timing text DEFAULT 'BEFORE INSERT ON t FOR EACH ROW');
INSERT INTO attempts (arguments) VALUES
	(''),
	($$'doc'$$),
	($$'doc', '[]', 'x'$$),
	($$'no such', '[]'$$),
	($$'ctid', '[]'$$),
	($$'id', '[]'$$),
	($$'j', '[]'$$),
	($$'always', '[]'$$),
	($$'doc', ''$$),
	($$'doc', '{'$$),
	($$'doc', '{"$inc": {"n": 1}}'$$),
	($$'doc', '{"n": 1}'$$),
	($$'doc', 'null'$$),
	($$'doc', '[1]'$$),
	($$'doc', '[{"$group": {}}]'$$),
	($$'doc', '[{"$set": {"n": {"$nothing": 1}}}]'$$),
	($$'doc', '[]'$$),
	($$'doc', '[{"$set": {"n": 1}}]'$$);
INSERT INTO attempts (arguments, timing) SELECT $$'doc', '[]'$$, unnest(ARRAY[
	'AFTER INSERT ON t FOR EACH ROW', 'BEFORE INSERT ON t FOR EACH STATEMENT', 'AFTER INSERT ON t']);
DO $$
DECLARE
	a attempts;
	result jsonb;
	state text;
	message text;
	detail text;
	hint text;
BEGIN
	FOR a IN SELECT * FROM attempts ORDER BY n LOOP
		BEGIN
			EXECUTE format('CREATE TRIGGER attempt %s EXECUTE FUNCTION compute_document(%s)', a.timing, a.arguments);
			INSERT INTO t (id, doc) VALUES (1, '{"a": 1}') RETURNING doc INTO result;
			RAISE NOTICE '% (%): %', a.timing, a.arguments, result;
			DROP TRIGGER attempt ON t;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
			RAISE NOTICE '% (%): %', a.timing, a.arguments, concat_ws(' | ', state, message, nullif(detail, ''), nullif(hint, ''));
		END;
	END LOOP;
END $$;
CREATE TRIGGER deleted BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION compute_document('doc', '[]');
DELETE FROM t;
CREATE VIEW v AS SELECT * FROM t;
CREATE TRIGGER instead INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION compute_document('doc', '[]');
INSERT INTO v (id, doc) VALUES (1, '{}');
SELECT compute_document();
DROP TABLE t CASCADE;
DROP TABLE attempts;

-- many triggers in one session, made and dropped again
DO $$
BEGIN
	FOR i IN 1..200 LOOP
		EXECUTE format('CREATE TEMP TABLE many (doc jsonb);
			CREATE TRIGGER n BEFORE INSERT ON many FOR EACH ROW EXECUTE FUNCTION compute_document(''doc'', ''[{"$set": {"n": %s}}]'')', i);
		EXECUTE 'INSERT INTO many VALUES (''{}'')';
		EXECUTE format('DO $x$ BEGIN ASSERT (SELECT doc FROM many) = ''{"n": %s}''; END $x$', i);
		DROP TABLE many;
	END LOOP;
END $$;
SELECT count(*) <= 2 AS swept FROM pg_backend_memory_contexts WHERE name = 'pattern compute_document';
