--
-- The relations that a trigger of ours names in its WHEN clause
--
CREATE TABLE parents (id int PRIMARY KEY, doc jsonb);
CREATE TABLE children (id int PRIMARY KEY, parent_id int);
CREATE VIEW child_counts AS SELECT parent_id, count(*) AS n FROM children GROUP BY parent_id;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER names_others AFTER INSERT ON children FOR EACH ROW
	WHEN (pattern_target('child_counts'::regclass, 'parents'::regclass) AND NEW.parent_id > 0) EXECUTE FUNCTION nothing();

-- they are followed when they are renamed or moved
ALTER TABLE parents RENAME TO "Parents' place";
CREATE SCHEMA elsewhere;
ALTER VIEW child_counts SET SCHEMA elsewhere;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'names_others';

-- dropping one is refused, or takes the trigger along
DROP TABLE "Parents' place";
DROP VIEW elsewhere.child_counts;
DROP TABLE "Parents' place" CASCADE;
SELECT count(*) FROM pg_trigger WHERE tgname = 'names_others';

-- the call costs nothing: it is evaluated before the first row
EXPLAIN (VERBOSE, COSTS OFF) SELECT id FROM children WHERE pattern_target('children'::regclass);
SELECT pattern_target('children', NULL), pattern_target(VARIADIC NULL);
