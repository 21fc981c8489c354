--
-- pattern_list: a row for each pattern, whose definition makes it again.
--
SET client_min_messages = warning;
CREATE SCHEMA listed;
SET search_path = listed, public;
\pset null (null)
CREATE VIEW here AS SELECT * FROM pattern_list AS l
WHERE (SELECT c.relnamespace::regnamespace::text FROM pg_class AS c WHERE c.oid = l.relation) IN ('listed', '"Other"');

-- one of each
CREATE TABLE products (id integer PRIMARY KEY, doc jsonb, specs jsonb);
SELECT create_attribute_index('products', 'specs');
SELECT create_attribute_index('products', 'doc', '{details,a.b,"say \"x\""}', key_name => 'n''ame', value_name => 'value', index_name => 'Products by "detail"');
CREATE INDEX by_hand ON products USING gin (doc jsonb_attribute_ops (path = 'more.specs')) WHERE id > 0;
SELECT create_bucket_table('weather', meta_field => 'sensor_id', time_field => 'timestamp', width => '1 hour', capacity => 3600);
SELECT create_bucket_table('listed."Odd Name"', 'it''s', 't', '1 mon', 10, 'Europe/Amsterdam', 'replace', partitioned => true);

CREATE TABLE movies (id integer PRIMARY KEY, code text UNIQUE, doc jsonb NOT NULL DEFAULT '{}');
CREATE TABLE reviews (id integer PRIMARY KEY, movie_id integer, "Text" text, stars integer, at date);
CREATE VIEW movie_ratings AS SELECT movie_id, count(*) AS total_votes, avg(stars) AS average FROM reviews GROUP BY movie_id;
CREATE VIEW movie_sums AS SELECT movie_id, sum(stars) AS sum_stars FROM reviews GROUP BY movie_id;
CREATE VIEW movie_least AS SELECT movie_id, min(stars) AS least FROM reviews WHERE stars > 0 GROUP BY movie_id;
SELECT create_computed('movies', 'doc', source => 'movie_ratings', key => 'movie_id');
SELECT create_computed('movies', 'doc', source => 'movie_sums', key => 'movie_id', path => '{stats,all time}', mode => 'deferred');
SELECT create_computed('movies', 'doc', source => 'movie_least', key => 'movie_id', parent_key => 'id', mode => 'queued');
SELECT create_subset('movies', 'doc', '{reviews}', 'reviews', 'movie_id', '{Text,stars,at}', 'at desc, "Text"', 10);
SELECT create_subset('movies', 'doc', '{best,two}', 'reviews', 'movie_id', '{stars}', 'stars desc', 2, mode => 'deferred');
CREATE TRIGGER compute BEFORE INSERT OR UPDATE OF doc ON movies FOR EACH ROW EXECUTE FUNCTION compute_document('doc', '[{"$set": {"twice": {"$multiply": ["$n", 2]}}}]');

CREATE TABLE customers (id text PRIMARY KEY, name text, profile jsonb, "E-mail" text UNIQUE);
CREATE TABLE orders (id integer PRIMARY KEY, doc jsonb);
SELECT create_extended_reference('orders', 'doc', '{customer}', 'customers', '{customer_id}', '{name}');
SELECT create_extended_reference('orders', 'doc', '{buyer,"a \"b\""}', 'customers', '{by,mail}', ARRAY['name:live', 'profile.address."zip code" AS "zip,code"', '"E-mail"'], source_key => 'E-mail', on_delete => 'remove');
SELECT create_extended_reference('orders', 'doc', '{}', 'customers', '{id}', '{profile.phone as phone,name as title}', 'live');

CREATE TABLE shapes (id integer PRIMARY KEY, doc jsonb NOT NULL, "Other Doc" jsonb);
SELECT create_polymorphic('shapes', 'doc');
SELECT add_variant('shapes', 'doc', 'circle', '{"required": ["radius"], "properties": {"radius": {"bsonType": "double"}, "kind": {"enum": ["it''s", "\\"]}}}', view_name => 'Circles');
SELECT add_variant('shapes', 'doc', 'it''s "none"', '{}');
SELECT create_polymorphic('shapes', 'Other Doc', 'kind');
SELECT create_discriminator_index('shapes', 'doc', 'type', '{published_at}');
SELECT create_discriminator_index('shapes', 'doc', 'type', '{a,b}', descending => false);
SELECT create_discriminator_index('shapes', 'doc', 'type', index_name => 'of type');
ALTER TABLE orders ADD CONSTRAINT "order's shape" CHECK (doc_validate(doc, '{"required": ["customer_id"], "properties": {"n": {"minimum": 0}}}')) NOT VALID;

CREATE FUNCTION "Upgrade"(doc jsonb) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$ SELECT doc || '{"v": 3}' $$;
SELECT create_versioning('products', 'doc', 3, 'listed."Upgrade"(jsonb)', version_field => 'v');

CREATE TABLE books (id integer PRIMARY KEY, doc jsonb);
SELECT create_outlier('books', 'doc', '{buyers}', 3);
SELECT create_outlier('books', 'doc', '{marks,all}', 0, 'Marks of books', 'has more');

\x on
SELECT relation, column_name, pattern, path, options, object, definition FROM here;
\x off

-- drop them, each with what there is for it
CREATE FUNCTION drop_pattern(l here) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	path text := substring(l.definition, $re$path => (E?'(?:[^']|'')*')$re$);
BEGIN
	IF l.definition LIKE 'CREATE %' OR l.definition LIKE '%create_discriminator_index%' THEN
		EXECUTE 'DROP ' || l.object;
	ELSIF l.definition LIKE 'ALTER TABLE %' THEN
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %s', l.relation, substring(l.object, '^table constraint (.*) on '));
	ELSIF l.definition LIKE '%add_variant%' THEN
		RETURN;
	ELSIF l.pattern IN ('computed', 'subset') THEN
		EXECUTE format('SELECT drop_computed(%L, %L)', l.relation, substring(l.object, '^view (.*)'));
		IF l.definition LIKE '%create_subset%' THEN
			EXECUTE 'DROP ' || l.object;
		END IF;
	ELSIF l.pattern = 'bucket' THEN
		PERFORM drop_bucket_table(l.relation);
	ELSIF path IS NULL THEN
		EXECUTE format('SELECT drop_%s(%L, %L)', substring(l.definition, 'create_([a-z_]+)'), l.relation, l.column_name);
	ELSE
		EXECUTE format('SELECT drop_%s(%L, %L, %s)', substring(l.definition, 'create_([a-z_]+)'), l.relation, l.column_name, path);
	END IF;
END $$;

-- without any of them the definitions make all of them again, even if no schema but the extension's is on the search path
CREATE TABLE seen (n integer, relation text, column_name name, pattern text, path text, options jsonb, object text, definition text);
CREATE PROCEDURE round_trip() LANGUAGE plpgsql AS $$
DECLARE
	l here;
	d text;
BEGIN
	TRUNCATE seen;
	FOR l IN SELECT * FROM here LOOP
		INSERT INTO seen VALUES ((SELECT count(*) FROM seen), l.relation::text, l.column_name, l.pattern, l.path, l.options, l.object, l.definition);
	END LOOP;
	FOR l IN SELECT * FROM here LOOP
		PERFORM drop_pattern(l);
	END LOOP;
	RAISE WARNING '% patterns, and % without them', (SELECT count(*) FROM seen), (SELECT count(*) FROM here);
	PERFORM set_config('search_path', extnamespace::regnamespace::text, true) FROM pg_extension WHERE extname = 'pattern';
	FOR d IN SELECT definition FROM listed.seen ORDER BY n LOOP
		EXECUTE d;
	END LOOP;
END $$;
CALL round_trip();
CREATE VIEW now AS SELECT relation::text, column_name, pattern, path, options, object, definition FROM here;
SELECT count(*), count(definition), count(DISTINCT definition) FROM now;
(TABLE now EXCEPT SELECT relation, column_name, pattern, path, options, object, definition FROM seen)
UNION ALL (SELECT relation, column_name, pattern, path, options, object, definition FROM seen EXCEPT TABLE now);

-- what is renamed and moved is shown by its new names, and made again by them
ALTER TABLE products RENAME COLUMN doc TO "New Doc";
ALTER TABLE products RENAME TO "Goods";
ALTER TABLE movies RENAME COLUMN doc TO document;
ALTER TABLE movies RENAME COLUMN id TO "Id";
ALTER VIEW movie_ratings RENAME TO ratings;
ALTER TABLE reviews RENAME COLUMN movie_id TO film;
ALTER TABLE reviews RENAME COLUMN at TO day;
ALTER TABLE customers RENAME COLUMN name TO "full name";
ALTER TABLE customers RENAME COLUMN profile TO about;
ALTER TABLE books_buyers RENAME TO "buyers of books";
ALTER VIEW "Circles" RENAME TO circles;
ALTER FUNCTION "Upgrade" RENAME TO upgrade;
CREATE SCHEMA "Other";
ALTER TABLE customers SET SCHEMA "Other";
ALTER TABLE shapes SET SCHEMA "Other";
ALTER VIEW circles SET SCHEMA "Other";
ALTER EXTENSION pattern SET SCHEMA "Other";
SELECT relation, column_name, pattern, path, object, definition FROM here
WHERE relation::text ~ 'Goods|movies|orders|shapes|books';
SET search_path = listed, "Other";
CALL round_trip();
-- the names that calls choose are others now
SELECT relation, pattern, object FROM now EXCEPT SELECT relation, pattern, object FROM seen;
(SELECT relation, column_name, pattern, path, options, definition FROM now EXCEPT SELECT relation, column_name, pattern, path, options, definition FROM seen)
UNION ALL (SELECT relation, column_name, pattern, path, options, definition FROM seen EXCEPT SELECT relation, column_name, pattern, path, options, definition FROM now);
SET search_path = listed, public;
ALTER EXTENSION pattern SET SCHEMA public;

-- of partitioned tables and what inherits from tables, the one at the top
CREATE TABLE parts (id integer, doc jsonb, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (id);
CREATE TABLE parts_1_1 PARTITION OF parts_1 DEFAULT;
CREATE TABLE parts_2 PARTITION OF parts DEFAULT;
CREATE VIEW part_numbers AS SELECT (doc ->> 'of')::integer AS part, count(*) AS n FROM parts GROUP BY 1;
SELECT create_attribute_index('parts', 'doc', '{specs}');
SELECT create_computed('parts', 'doc', 'part_numbers', 'part');
SELECT create_extended_reference('parts', 'doc', '{customer}', '"Other".customers', '{customer_id}', '{about.phone:live}');
SELECT create_polymorphic('parts', 'doc');
SELECT create_discriminator_index('parts', 'doc', 'type');
SELECT create_versioning('parts', 'doc', 3, 'upgrade(jsonb)');
SELECT create_outlier('parts', 'doc', '{places}', 5);
CREATE TABLE old_shapes (doc jsonb);
CREATE TABLE heirs () INHERITS (old_shapes);
SELECT create_polymorphic('old_shapes', 'doc');
CREATE TABLE parts_3 (id integer NOT NULL, doc jsonb);
ALTER TABLE parts_3 ADD CONSTRAINT parts_doc_variant CHECK (variant_check(doc, 'type', '{}'));
ALTER TABLE parts ATTACH PARTITION parts_3 FOR VALUES FROM (200) TO (300);
SELECT relation, pattern, path, object, definition IS NOT NULL AS defined FROM here WHERE relation::text ~ 'part|heirs|old';
CALL round_trip();
(TABLE now EXCEPT SELECT relation, column_name, pattern, path, options, object, definition FROM seen)
UNION ALL (SELECT relation, column_name, pattern, path, options, object, definition FROM seen EXCEPT TABLE now);

-- what somebody wrote by hand is shown as far as it can be understood
CREATE TABLE hands (id integer PRIMARY KEY, doc jsonb, "when" text);
CREATE VIEW hand_view AS SELECT id AS key, 1 AS n FROM hands;
CREATE VIEW hand_values AS VALUES (1);
CREATE TRIGGER a BEFORE INSERT ON hands FOR EACH ROW EXECUTE FUNCTION compute_document();
CREATE TRIGGER b BEFORE INSERT ON hands FOR EACH ROW WHEN (NEW."when" <> 'EXECUTE FUNCTION compute_document(') EXECUTE FUNCTION compute_document('no such', 'x', 'y');
CREATE TRIGGER c BEFORE INSERT ON hands FOR EACH ROW EXECUTE FUNCTION computed_parent();
CREATE TRIGGER d BEFORE INSERT ON hands FOR EACH ROW WHEN (pattern_target('hands', 'books')) EXECUTE FUNCTION computed_parent('a');
CREATE TRIGGER e BEFORE INSERT OR UPDATE OF doc, id ON hands FOR EACH ROW WHEN (pattern_target('hand_view')) EXECUTE FUNCTION computed_parent();
CREATE TRIGGER f BEFORE INSERT OR UPDATE OF doc, id ON hands FOR EACH ROW WHEN (pattern_target('hand_values')) EXECUTE FUNCTION computed_parent();
CREATE TRIGGER g BEFORE INSERT ON hands FOR EACH ROW WHEN (pattern_target(VARIADIC NULL)) EXECUTE FUNCTION computed_parent();
CREATE TRIGGER h BEFORE TRUNCATE ON hands FOR EACH STATEMENT WHEN (pattern_target('hand_view', 'hands')) EXECUTE FUNCTION computed_flush('x');
CREATE TRIGGER i BEFORE TRUNCATE ON hands FOR EACH STATEMENT EXECUTE FUNCTION computed_flush();
CREATE TRIGGER j BEFORE INSERT ON hands FOR EACH ROW EXECUTE FUNCTION extended_reference_copy();
CREATE TRIGGER k BEFORE INSERT ON hands FOR EACH ROW WHEN (pattern_target('orders')) EXECUTE FUNCTION extended_reference_copy('{a', '}', 'x', '{', '{live}', '{"}', '{a,b}c', '{{a,b},{c,d}}');
CREATE TRIGGER l BEFORE INSERT ON hands FOR EACH ROW WHEN (pattern_target('orders') AND num_nulls((NULL::orders).id, 1, NEW.doc) >= 0 AND (NEW.doc IS NULL OR true)) EXECUTE FUNCTION extended_reference_copy('{a}', '{}', 'x', '{live,n}', '{}', '{"a\"\\",NULL}');
CREATE TRIGGER m BEFORE INSERT ON hands FOR EACH ROW WHEN ('abc' = NEW."when" AND false AND ('1' IS NULL OR true)) EXECUTE FUNCTION extended_reference_copy('{a}', '{b}', 'keep', '{live,n}');
CREATE TRIGGER n BEFORE INSERT ON hands FOR EACH ROW EXECUTE FUNCTION upgrade_document();
CREATE TRIGGER o BEFORE INSERT ON hands FOR EACH ROW WHEN (version_differs(NEW.doc, NEW."when", NEW.id, 0)) EXECUTE FUNCTION upgrade_document();
CREATE TRIGGER p AFTER INSERT ON hands FOR EACH ROW EXECUTE FUNCTION outlier_overflow();
CREATE TRIGGER q AFTER INSERT ON hands FOR EACH ROW WHEN (outlier_exceeds(NEW.doc, '{}', '{{a,NULL},{c,d}}', NEW.id, NULL, NULL)) EXECUTE FUNCTION outlier_overflow();
CREATE TRIGGER r AFTER INSERT ON hands FOR EACH ROW WHEN (NEW.id > 1 AND NOT outlier_exceeds(NEW.doc, NEW.doc, '{a}', 1, 'x', 'books')) EXECUTE FUNCTION outlier_overflow();
CREATE TRIGGER s INSTEAD OF INSERT ON hand_view FOR EACH ROW EXECUTE FUNCTION bucket_table_write();
CREATE TRIGGER t INSTEAD OF INSERT ON hand_values FOR EACH ROW EXECUTE FUNCTION bucket_table_write('a', 'b', 'c', 'many', '99999999999999999999', 'f', 'g');
ALTER TABLE hands ADD CHECK (variant_check(doc, "when", '{}')), ADD CHECK (variant_check(doc, 'x', '[]')), ADD CHECK (variant_check(doc, 'y', NULL) OR id > 0),
	ADD CHECK (doc_validate(doc, doc)), ADD CHECK (NOT doc_validate(doc, '{}'));
CREATE DOMAIN shaped AS jsonb CHECK (doc_validate(VALUE, '{}'));
CREATE VIEW variant_like AS SELECT id FROM hands WHERE pattern_target('hands') AND doc ->> 'x' = 'y';
CREATE VIEW variant_unlike AS SELECT id FROM hands WHERE pattern_target('hands', 'books');
CREATE VIEW variant_joined AS SELECT a.id FROM hands a, hands b WHERE pattern_target('hands') AND (a.doc ->> 'x') = 'y';
CREATE INDEX ON hands USING gin ((doc -> 'specs') jsonb_attribute_ops (key = 'n'));
CREATE INDEX ON hands USING gin (doc jsonb_attribute_contains_ops (path = '"a.b".c."d""e"'), doc);
SELECT column_name, pattern, path, options, object, definition FROM here WHERE relation::text ~ 'hand';

-- a view that was replaced by one of another table is still kept as it was
CREATE TABLE other_hands (id integer, n integer);
CREATE VIEW hand_count AS SELECT id, count(*) AS n FROM other_hands GROUP BY id;
SELECT create_computed('books', 'doc', 'hand_count', 'id', path => '{of,hands}', mode => 'deferred');
CREATE OR REPLACE VIEW hand_count AS SELECT film AS id, count(*) AS n FROM reviews GROUP BY film;
SELECT path, options, definition FROM here WHERE object = 'view listed.hand_count';

-- an index on a discriminator needs no polymorphic column; one by hand is like any other then
CREATE TABLE plain (doc jsonb);
CREATE INDEX ON plain ((doc ->> 'type'));
CREATE INDEX ON plain ((doc ->> 'kind'));
SELECT create_discriminator_index('plain', 'doc', 'kind', '{at}');
SELECT path, options, object, definition FROM here WHERE relation = 'plain'::regclass;

-- anyone may look, also at what belongs to others, and at what another session's temporary tables have
CREATE ROLE regress_list_reader;
REVOKE ALL ON SCHEMA listed FROM PUBLIC;
SET ROLE regress_list_reader;
SELECT count(*) FROM pattern_list WHERE definition LIKE '%listed.%';
RESET ROLE;
DROP ROLE regress_list_reader;
CREATE TEMP TABLE passing (id integer PRIMARY KEY, doc jsonb);
SELECT create_outlier('passing', 'doc', '{a}', 1);
SELECT regexp_replace(object, 'pg_temp_[0-9]+', 'pg_temp_n') AS object FROM pattern_list WHERE relation = 'passing'::regclass;

-- and nobody's operators and functions are called
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.not_equal(oid, oid) RETURNS boolean LANGUAGE sql AS 'SELECT 1 / 0 = 0';
CREATE OPERATOR hostile.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = hostile.not_equal);
CREATE FUNCTION hostile.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS 'SELECT (1 / 0)::text';
SET search_path = hostile, pg_catalog, listed, public;
SELECT count(*) > 50 AS found FROM public.pattern_list;
SET search_path = listed, public;

-- functions of the view
SELECT pattern_trigger_arguments(''), pattern_trigger_arguments('\x00'), pattern_trigger_arguments('\x610000'), pattern_trigger_arguments('\x61006263');
SELECT pattern_trigger_arguments('\xff00');
SELECT pattern_expression(NULL);
SELECT jsonb_path_query_array(pattern_expression(conbin), '$.**.value') FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype = 'c';

SET client_min_messages = error;
DROP SCHEMA listed, "Other", hostile CASCADE;
SELECT count(*) FROM pattern_list WHERE definition LIKE '%listed.%';
