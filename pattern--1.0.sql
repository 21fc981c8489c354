/* pattern--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pattern" to load this file. \quit

--
-- 1. Documents: MongoDB's update language
--

CREATE FUNCTION doc_update(doc jsonb, changes jsonb, array_filters jsonb DEFAULT NULL) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_doc_update'
LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION doc_update(jsonb, jsonb, jsonb) IS
'the document after MongoDB update operators, a pipeline of stages, or a replacement; array_filters holds one object for each $[name]. NULL doc gives NULL, NULL changes is 22004, malformed changes are class 22';

CREATE FUNCTION doc_update_operator(doc jsonb, changes jsonb) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_doc_update'
LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION doc_update_operator(jsonb, jsonb) IS
'implementation of the operator <~';

CREATE OPERATOR <~ (
	LEFTARG = jsonb,
	RIGHTARG = jsonb,
	FUNCTION = doc_update_operator
);
COMMENT ON OPERATOR <~ (jsonb, jsonb) IS
'the document after MongoDB update operators, a pipeline of stages, or a replacement';

CREATE FUNCTION doc_upsert(filter jsonb, changes jsonb) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_doc_upsert'
LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION doc_upsert(jsonb, jsonb) IS
'the document that MongoDB inserts for updateOne(filter, changes, {upsert: true}) when nothing matches: the equalities of the filter, then the changes with $setOnInsert in force. A NULL argument is 22004';

--
-- 1. Documents: MongoDB's query language
--

CREATE FUNCTION doc_match(value jsonb, query jsonb) RETURNS boolean
	AS 'MODULE_PATHNAME', 'pattern_doc_match' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION doc_match(jsonb, jsonb) IS
'does a value match a MongoDB query: {"a.b": {"$gte": 5}, "$or": [...]}, or {"$gte": 5} on a value that is no object; 22023 for a wrong query, 0A000 for an operator that does not exist here';

CREATE OPERATOR @~ (
	LEFTARG = jsonb, RIGHTARG = jsonb, FUNCTION = doc_match,
	RESTRICT = matchingsel, JOIN = matchingjoinsel
);

COMMENT ON OPERATOR @~ (jsonb, jsonb) IS 'does the value match the MongoDB query';

--
-- Triggers of all patterns
--

CREATE FUNCTION pattern_target(VARIADIC relations regclass[]) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_target'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pattern_target(regclass[]) IS
'true. In the WHEN clause of a trigger of this extension it names the relations that the trigger needs, so that PostgreSQL keeps them together with it';

--
-- 2. Attribute pattern
--

CREATE FUNCTION attribute_pack(doc jsonb, units jsonb DEFAULT NULL) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_attribute_pack'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION attribute_pack(jsonb, jsonb) IS
'{"size": 65} as attributes: [{"k": "size", "v": 65}], with "u" where units, such as {"size": "inches"}, has the name; NULL for a NULL doc; 22023 unless both are objects and the units strings';

CREATE FUNCTION attribute_unpack(attributes jsonb) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_attribute_unpack'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION attribute_unpack(jsonb) IS
'the object that attributes [{"k", "v"}, ...] stand for, without units; a repeated k gives an array of its values, a missing v null; 22023 for an element that is no object with a string k';

CREATE FUNCTION attribute_get(attributes jsonb, name text) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_attribute_get'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION attribute_get(jsonb, text) IS
'the value of an attribute, an array of its values if the name is repeated, NULL if there is none; 22023 unless attributes is an array';

CREATE FUNCTION attribute_set(attributes jsonb, name text, value jsonb, unit text DEFAULT NULL) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_attribute_set'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION attribute_set(jsonb, text, jsonb, text) IS
'attributes with the value of one changed in place or added at the end; a unit of NULL leaves the unit alone, a repeated name is set once, NULL attributes start an array; 22004 for a NULL name or value, 22023 unless attributes is an array';

CREATE FUNCTION attribute_remove(attributes jsonb, name text) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_attribute_remove'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION attribute_remove(jsonb, text) IS
'attributes without those of this name; 22004 for a NULL name, 22023 unless attributes is an array';

CREATE FUNCTION attribute_query(conditions jsonb) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_attribute_query'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION attribute_query(jsonb) IS
'the query on attributes for conditions such as {"color": "red", "size": {"$gte": 65}}: one $elemMatch for each under $all; {"$exists": false} asks that no attribute has the name; 22023 for a name that begins with $';

CREATE FUNCTION attribute_facets_add(internal, jsonb) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_attribute_facets_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION attribute_facets_add(internal, jsonb) IS 'transition function of attribute_facets';

CREATE FUNCTION attribute_facets_combine(internal, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_attribute_facets_combine'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION attribute_facets_combine(internal, internal) IS 'combine function of attribute_facets';

CREATE FUNCTION attribute_facets_serialize(internal) RETURNS bytea
AS 'MODULE_PATHNAME', 'pattern_attribute_facets_serialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION attribute_facets_serialize(internal) IS 'serialization function of attribute_facets';

CREATE FUNCTION attribute_facets_deserialize(bytea, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_attribute_facets_deserialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION attribute_facets_deserialize(bytea, internal) IS 'deserialization function of attribute_facets';

CREATE FUNCTION attribute_facets_final(internal) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_attribute_facets_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION attribute_facets_final(internal) IS 'final function of attribute_facets';

CREATE AGGREGATE attribute_facets(attributes jsonb) (
	SFUNC = attribute_facets_add,
	STYPE = internal,
	FINALFUNC = attribute_facets_final,
	FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = attribute_facets_combine,
	SERIALFUNC = attribute_facets_serialize,
	DESERIALFUNC = attribute_facets_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE attribute_facets(jsonb) IS
'in how many rows each value of each attribute is: {"color": {"red": 12, "blue": 7}, ...}; members of an array count each, null, objects and elements that are no attributes do not count; {} over no rows';

--
-- 2. Attribute pattern: index
--

CREATE FUNCTION attribute_key(name text, value jsonb) RETURNS bytea
	AS 'MODULE_PATHNAME', 'pattern_attribute_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_key(text, jsonb) IS
'bytes that sort as the values of one attribute do: null, numbers by value, strings by code points, false, true; what an attribute index holds; NULL for an array or an object';

CREATE FUNCTION attribute_index_options(internal) RETURNS void
	AS 'MODULE_PATHNAME', 'pattern_attribute_index_options' LANGUAGE C IMMUTABLE PARALLEL SAFE;

COMMENT ON FUNCTION attribute_index_options(internal) IS 'for jsonb_attribute_ops: its options';

CREATE FUNCTION attribute_index_extract(jsonb, internal, internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'pattern_attribute_index_extract' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_index_extract(jsonb, internal, internal) IS
'for jsonb_attribute_ops: a document''s keys';

CREATE FUNCTION attribute_index_query(jsonb, internal, smallint, internal, internal, internal, internal)
	RETURNS internal
	AS 'MODULE_PATHNAME', 'pattern_attribute_index_query' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_index_query(jsonb, internal, smallint, internal, internal, internal, internal) IS
'for jsonb_attribute_ops: the keys that a query looks up';

CREATE FUNCTION attribute_index_consistent(internal, smallint, jsonb, integer, internal, internal, internal, internal)
	RETURNS boolean
	AS 'MODULE_PATHNAME', 'pattern_attribute_index_consistent' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_index_consistent(internal, smallint, jsonb, integer, internal, internal, internal, internal) IS
'for jsonb_attribute_ops: does a document with these keys match';

CREATE FUNCTION attribute_index_partial(bytea, bytea, smallint, internal) RETURNS integer
	AS 'MODULE_PATHNAME', 'pattern_attribute_index_partial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_index_partial(bytea, bytea, smallint, internal) IS
'for jsonb_attribute_ops: is a key in a range';

CREATE FUNCTION attribute_index_compare(bytea, bytea) RETURNS integer
	AS 'MODULE_PATHNAME', 'pattern_attribute_index_compare' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_index_compare(bytea, bytea) IS
'for jsonb_attribute_ops: the order of keys';

CREATE TYPE attribute_terms;

CREATE FUNCTION attribute_terms_in(cstring) RETURNS attribute_terms
	AS 'MODULE_PATHNAME', 'pattern_attribute_terms_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_terms_in(cstring) IS '0A000: a value of this type cannot be written';

CREATE FUNCTION attribute_terms_out(attribute_terms) RETURNS cstring
	AS 'MODULE_PATHNAME', 'pattern_attribute_terms_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_terms_out(attribute_terms) IS 'the keys in hexadecimal digits';

CREATE FUNCTION attribute_terms_analyze(internal) RETURNS boolean
	AS 'MODULE_PATHNAME', 'pattern_attribute_terms_analyze' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_terms_analyze(internal) IS 'gathers statistics on attributes';

CREATE TYPE attribute_terms (
	INPUT = attribute_terms_in, OUTPUT = attribute_terms_out, ANALYZE = attribute_terms_analyze,
	STORAGE = extended
);

COMMENT ON TYPE attribute_terms IS
'a document''s attributes as an attribute index has them; only for statistics';

CREATE FUNCTION attribute_terms(value jsonb, path text, key text, value_name text) RETURNS attribute_terms
	AS 'MODULE_PATHNAME', 'pattern_attribute_terms' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_terms(jsonb, text, text, text) IS
'for CREATE STATISTICS: the attributes at a dotted path, or of the value itself if it is empty, with the fields that hold names and values; the estimates of @~ are made of it, and an index that names the statistics chooses ranges by them';

CREATE FUNCTION attribute_selectivity(internal, oid, internal, integer) RETURNS double precision
	AS 'MODULE_PATHNAME', 'pattern_attribute_selectivity' LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION attribute_selectivity(internal, oid, internal, integer) IS
'restriction estimator of @~';

ALTER OPERATOR @~ (jsonb, jsonb) SET (RESTRICT = attribute_selectivity);

CREATE OPERATOR CLASS jsonb_attribute_ops FOR TYPE jsonb USING gin AS
	OPERATOR 1 @~ (jsonb, jsonb),
	OPERATOR 15 pg_catalog.@? (jsonb, jsonpath),
	OPERATOR 16 pg_catalog.@@ (jsonb, jsonpath),
	FUNCTION 1 attribute_index_compare(bytea, bytea),
	FUNCTION 2 attribute_index_extract(jsonb, internal, internal),
	FUNCTION 3 attribute_index_query(jsonb, internal, smallint, internal, internal, internal, internal),
	FUNCTION 4 attribute_index_consistent(internal, smallint, jsonb, integer, internal, internal, internal, internal),
	FUNCTION 5 attribute_index_partial(bytea, bytea, smallint, internal),
	FUNCTION 7 attribute_index_options(internal),
	STORAGE bytea;

COMMENT ON OPERATOR CLASS jsonb_attribute_ops USING gin IS
'attributes {k, v} in the array at an option''s path: equality, ranges, prefixes, existence by @~, @? and @@; options path, key, value, and statistics by which ranges are chosen';

CREATE OPERATOR CLASS jsonb_attribute_contains_ops FOR TYPE jsonb USING gin AS
	OPERATOR 1 @~ (jsonb, jsonb),
	OPERATOR 7 pg_catalog.@> (jsonb, jsonb),
	OPERATOR 15 pg_catalog.@? (jsonb, jsonpath),
	OPERATOR 16 pg_catalog.@@ (jsonb, jsonpath),
	FUNCTION 1 attribute_index_compare(bytea, bytea),
	FUNCTION 2 attribute_index_extract(jsonb, internal, internal),
	FUNCTION 3 attribute_index_query(jsonb, internal, smallint, internal, internal, internal, internal),
	FUNCTION 4 attribute_index_consistent(internal, smallint, jsonb, integer, internal, internal, internal, internal),
	FUNCTION 5 attribute_index_partial(bytea, bytea, smallint, internal),
	FUNCTION 7 attribute_index_options(internal),
	STORAGE bytea;

COMMENT ON OPERATOR CLASS jsonb_attribute_contains_ops USING gin IS
'jsonb_attribute_ops and @>, for columns that have no other GIN index';

CREATE FUNCTION create_attribute_index(relation regclass, column_name name, path text[] DEFAULT '{}', key_name text DEFAULT 'k',
	value_name text DEFAULT 'v', index_name name DEFAULT NULL, if_not_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_create_attribute_index'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION create_attribute_index(regclass, name, text[], text, text, name, boolean) IS
'make the index on the attributes at a path of a jsonb column, and its statistics, on partitions too; chooses jsonb_attribute_contains_ops if the column has no other GIN index, else jsonb_attribute_ops; false if both exist and if_not_exists says so, else 42710; 42501 for one who does not own the relation';

CREATE FUNCTION drop_attribute_index(relation regclass, column_name name, path text[] DEFAULT '{}', if_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_drop_attribute_index'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION drop_attribute_index(regclass, name, text[], boolean) IS
'drop the indexes on the attributes at a path of a jsonb column, and their statistics; false if there are none and if_exists says so, else 42704; 42501 for one who does not own the relation';

--
-- 3. Bucket pattern
--

CREATE FUNCTION bucket_append(bucket jsonb, reading jsonb, capacity integer DEFAULT NULL) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_bucket_append'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bucket_append(jsonb, jsonb, integer) IS
'the bucket {"count", "summary": {"min_temp", "max_temp", "sum_temp", "avg_temp", ...}, "readings": [...], ...} with one reading, an object, more; NULL or {} starts one; 54000 if it has capacity readings, 22004 for a NULL reading, 22023 for a bucket of another shape';

CREATE FUNCTION bucket_readings(bucket jsonb) RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'pattern_bucket_readings'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 200;
COMMENT ON FUNCTION bucket_readings(jsonb) IS
'the readings of a bucket in their order; 22023 for a bucket of another shape';

CREATE FUNCTION bucket_start(at timestamptz, width interval, time_zone text DEFAULT 'UTC') RETURNS timestamptz
AS 'MODULE_PATHNAME', 'pattern_bucket_start'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bucket_start(timestamptz, interval, text) IS
'the start of the window of this width that an instant falls into, on the wall clock of the time zone; windows begin at 2000-01-03, of months at 2000-01-01, plus multiples of the width; 22023 for an infinite instant, a width that is not positive or mixes months with days or times, or an unknown zone';

CREATE FUNCTION bucket_end(at timestamptz, width interval, time_zone text DEFAULT 'UTC') RETURNS timestamptz
AS 'MODULE_PATHNAME', 'pattern_bucket_end'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bucket_end(timestamptz, interval, text) IS
'the end of the window that an instant falls into, which is the start of the next and not part of it; errors as of bucket_start, 22008 if the end is beyond the range of timestamptz';

CREATE FUNCTION bucket_agg_add(internal, jsonb) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_bucket_agg_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bucket_agg_add(internal, jsonb) IS 'transition function of bucket_agg';

CREATE FUNCTION bucket_agg_add(internal, jsonb, text) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_bucket_agg_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bucket_agg_add(internal, jsonb, text) IS 'transition function of bucket_agg with an order';

CREATE FUNCTION bucket_agg_combine(internal, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_bucket_agg_combine'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bucket_agg_combine(internal, internal) IS 'combine function of bucket_agg';

CREATE FUNCTION bucket_agg_serialize(internal) RETURNS bytea
AS 'MODULE_PATHNAME', 'pattern_bucket_agg_serialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bucket_agg_serialize(internal) IS 'serialization function of bucket_agg';

CREATE FUNCTION bucket_agg_deserialize(bytea, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_bucket_agg_deserialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bucket_agg_deserialize(bytea, internal) IS 'deserialization function of bucket_agg';

CREATE FUNCTION bucket_agg_final(internal) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_bucket_agg_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bucket_agg_final(internal) IS 'final function of bucket_agg';

CREATE AGGREGATE bucket_agg(reading jsonb) (
	SFUNC = bucket_agg_add,
	STYPE = internal,
	FINALFUNC = bucket_agg_final,
	FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = bucket_agg_combine,
	SERIALFUNC = bucket_agg_serialize,
	DESERIALFUNC = bucket_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bucket_agg(jsonb) IS
'the bucket that appending the readings one after the other gives; NULL readings are ignored, NULL over none; 22023 for a reading that is no object, 54000 for more than a document holds';

CREATE AGGREGATE bucket_agg(reading jsonb, order_by text) (
	SFUNC = bucket_agg_add,
	STYPE = internal,
	FINALFUNC = bucket_agg_final,
	FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = bucket_agg_combine,
	SERIALFUNC = bucket_agg_serialize,
	DESERIALFUNC = bucket_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE bucket_agg(jsonb, text) IS
'the same, the readings sorted by an order such as ''at desc, temp'', equal ones in the order of their arrival; 22023 if the order is not the same for all rows of a group';

--
-- 3. Bucket pattern: bucket tables
--

CREATE FUNCTION bucket_meta_compare(jsonb, jsonb) RETURNS integer
AS 'MODULE_PATHNAME', 'pattern_bucket_meta_compare'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bucket_meta_compare(jsonb, jsonb) IS
'for bucket_meta_ops: the order of jsonb, without taking scalars apart';

CREATE OPERATOR CLASS bucket_meta_ops FOR TYPE jsonb USING btree AS
	OPERATOR 1 pg_catalog.<,
	OPERATOR 2 pg_catalog.<=,
	OPERATOR 3 pg_catalog.=,
	OPERATOR 4 pg_catalog.>=,
	OPERATOR 5 pg_catalog.>,
	FUNCTION 1 bucket_meta_compare(jsonb, jsonb),
	FUNCTION 4 pg_catalog.btequalimage(oid);
COMMENT ON OPERATOR CLASS bucket_meta_ops USING btree IS
'jsonb as jsonb_ops has it, faster where the values are strings; for the indexes of bucket tables, where values that are equal are the same bytes';

CREATE FUNCTION bucket_table_at(reading jsonb, time_field text, time_zone text) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'pattern_bucket_table_at'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bucket_table_at(jsonb, text, text) IS
'for the views of bucket tables: the time that a reading is of';

CREATE FUNCTION bucket_table_readings(readings jsonb) RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'pattern_bucket_table_readings'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1000;
COMMENT ON FUNCTION bucket_table_readings(jsonb) IS
'for the views of bucket tables: the readings of an array, one row each';

CREATE FUNCTION bucket_table_batch(readings jsonb) RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'pattern_bucket_table_readings'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 20;
COMMENT ON FUNCTION bucket_table_batch(jsonb) IS
'for the views of bucket tables: bucket_table_readings of what a statement brought, which is fewer';

CREATE FUNCTION bucket_table_document(meta_field text, meta jsonb, bucket_start timestamptz, bucket_end timestamptz,
	count integer, summary jsonb, readings jsonb) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_bucket_table_document'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bucket_table_document(text, jsonb, timestamptz, timestamptz, integer, jsonb, jsonb) IS
'for the views of bucket tables: the bucket document';

CREATE FUNCTION bucket_table_merge(open jsonb, last_no integer, last_readings jsonb, capacity integer, time_field text,
	time_zone text, OUT bucket_no integer, OUT count integer, OUT summary jsonb, OUT readings jsonb)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'pattern_bucket_table_merge'
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION bucket_table_merge(jsonb, integer, jsonb, integer, text, text) IS
'for the views of bucket tables: the buckets that sealing the open readings of a window would make or change';

CREATE FUNCTION bucket_table_write() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_bucket_table_write'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION bucket_table_write() IS
'trigger of create_bucket_table: what is written to the view of readings; its arguments are the options';

CREATE FUNCTION bucket_table_flush() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_bucket_table_flush'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION bucket_table_flush() IS
'trigger of create_bucket_table: what is written at the end of a statement';

CREATE FUNCTION bucket_table_refuse() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_bucket_table_refuse'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION bucket_table_refuse() IS
'trigger of create_bucket_table: bucket documents are not written to';

CREATE FUNCTION create_bucket_table(name text, meta_field text, time_field text, width interval, capacity integer DEFAULT 1000,
	time_zone text DEFAULT 'UTC', on_duplicate text DEFAULT 'keep', if_not_exists boolean DEFAULT false, partitioned boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_create_bucket_table'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION create_bucket_table(text, text, text, interval, integer, text, text, boolean, boolean) IS
'creates the views NAME, of readings, and NAME_buckets, of bucket documents, and the tables NAME_open and NAME_sealed behind them; on_duplicate, for readings of one series and time: keep, replace, ignore, error; partitioned: NAME_sealed by ranges of bucket_start, with a default partition; 42710 if the name is taken, 22023 for a wrong option, 22004 for NULL';

CREATE FUNCTION seal_buckets(name regclass, before timestamptz DEFAULT NULL) RETURNS bigint
AS 'MODULE_PATHNAME', 'pattern_seal_buckets'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION seal_buckets(regclass, timestamptz) IS
'moves the readings of windows that ended before, by default now, and of full buckets from the open table into buckets; returns their number; may run at any time, in any number of sessions; 42704 unless it is a bucket table, 42501 unless it is yours';

CREATE FUNCTION drop_buckets(name regclass, before timestamptz) RETURNS bigint
AS 'MODULE_PATHNAME', 'pattern_drop_buckets'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION drop_buckets(regclass, timestamptz) IS
'deletes all windows that ended before, readings included; returns the number of bucket documents; 42704 unless it is a bucket table, 42501 unless it is yours';

CREATE FUNCTION drop_bucket_table(name regclass, if_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_drop_bucket_table'
LANGUAGE C VOLATILE;
COMMENT ON FUNCTION drop_bucket_table(regclass, boolean) IS
'drops the views and tables of a bucket table, and its readings; 2BP01 if something depends on them, 42704 unless it is a bucket table, 42501 unless it is yours';

CREATE FUNCTION bucket_range(name regclass, meta jsonb, from_time timestamptz, to_time timestamptz) RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'pattern_bucket_range'
LANGUAGE C STABLE ROWS 1000;
COMMENT ON FUNCTION bucket_range(regclass, jsonb, timestamptz, timestamptz) IS
'the readings of a series from from_time on and before to_time, in the order of their times; reads the buckets of the windows in that range only; needs SELECT on the view';

--
-- 4. Subset pattern
--

CREATE FUNCTION subset_push(elements jsonb, element jsonb, max_size integer, order_by text DEFAULT NULL) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_subset_push'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION subset_push(jsonb, jsonb, integer, text) IS
'the first max_size of the elements and one more by an order such as ''date desc, votes'', equal ones in the order of their arrival; without an order the last max_size pushed; NULL elements start a list; 22004 for a NULL element or max_size, 22023 unless elements is an array, for a negative max_size and for a bad order';

CREATE FUNCTION subset_push(doc jsonb, path text[], element jsonb, max_size integer, order_by text DEFAULT NULL) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_subset_push_path'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION subset_push(jsonb, text[], jsonb, integer, text) IS
'the document with an element pushed to the list at a path, which is made if it is missing; NULL for a NULL document; 22004 for a NULL path, element or max_size, 22023 if no array is there or the path leads through a scalar';

CREATE FUNCTION subset_agg_add(internal, jsonb, integer) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_subset_agg_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION subset_agg_add(internal, jsonb, integer) IS 'transition function of subset_agg';

CREATE FUNCTION subset_agg_add(internal, jsonb, integer, text) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_subset_agg_add'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION subset_agg_add(internal, jsonb, integer, text) IS 'transition function of subset_agg with an order';

CREATE FUNCTION subset_agg_combine(internal, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_subset_agg_combine'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION subset_agg_combine(internal, internal) IS 'combine function of subset_agg';

CREATE FUNCTION subset_agg_serialize(internal) RETURNS bytea
AS 'MODULE_PATHNAME', 'pattern_subset_agg_serialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION subset_agg_serialize(internal) IS 'serialization function of subset_agg';

CREATE FUNCTION subset_agg_deserialize(bytea, internal) RETURNS internal
AS 'MODULE_PATHNAME', 'pattern_subset_agg_deserialize'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION subset_agg_deserialize(bytea, internal) IS 'deserialization function of subset_agg';

CREATE FUNCTION subset_agg_final(internal) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_subset_agg_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION subset_agg_final(internal) IS 'final function of subset_agg';

CREATE AGGREGATE subset_agg(element jsonb, max_size integer) (
	SFUNC = subset_agg_add,
	STYPE = internal,
	FINALFUNC = subset_agg_final,
	FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = subset_agg_combine,
	SERIALFUNC = subset_agg_serialize,
	DESERIALFUNC = subset_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE subset_agg(jsonb, integer) IS
'the last max_size elements in the order of their arrival; NULL elements are ignored, [] over none; 22004 for a NULL max_size, 22023 for a negative one or one that is not the same for all rows of a group';

CREATE AGGREGATE subset_agg(element jsonb, max_size integer, order_by text) (
	SFUNC = subset_agg_add,
	STYPE = internal,
	FINALFUNC = subset_agg_final,
	FINALFUNC_MODIFY = READ_ONLY,
	COMBINEFUNC = subset_agg_combine,
	SERIALFUNC = subset_agg_serialize,
	DESERIALFUNC = subset_agg_deserialize,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE subset_agg(jsonb, integer, text) IS
'the first max_size elements by an order such as ''date desc, votes'', equal ones in the order of their arrival; no more than these are held in memory; NULL elements are ignored, [] over none; 22023 if max_size or the order is not the same for all rows of a group';

CREATE FUNCTION create_subset(parent regclass, column_name name, path text[], child regclass, key name, fields text[],
	order_by text, max_size integer, parent_key name DEFAULT NULL, mode text DEFAULT 'immediate') RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_create_subset'
LANGUAGE C;
COMMENT ON FUNCTION create_subset(regclass, name, text[], regclass, name, text[], text, integer, name, text) IS
'keeps at a path of the parents'' documents the first max_size children by an order, as objects of the named columns; the order goes on with the columns that it does not name; makes a view PARENT_FIELD_subset, owned by the owner of the child, and create_computed on it: drop_computed and DROP VIEW undo it; 42501 unless owner of both, 42703 for a missing column, 22023 for an order that is empty or by a column not among the fields, and the errors of create_computed';

--
-- 5. Computed pattern
--

CREATE FUNCTION create_computed(relation regclass, column_name name, source regclass, key name, path text[] DEFAULT '{}',
	parent_key name DEFAULT NULL, mode text DEFAULT 'immediate', populate boolean DEFAULT true) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_create_computed'
LANGUAGE C;
COMMENT ON FUNCTION create_computed(regclass, name, regclass, name, text[], name, text, boolean) IS
'keeps the columns of a view, which groups the rows of one table by key, as fields at a path of the documents whose parent_key, by default the primary key, equals it; mode is immediate, deferred or queued; unless populate is false the documents get the fields at once; 0A000 with a hint for a view that cannot be kept, 42501 unless owner of all three relations, 42710 if it or one of its fields is kept already, 42703, 42704 or 42804 for a wrong column';

CREATE FUNCTION drop_computed(relation regclass, source regclass, if_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_drop_computed'
LANGUAGE C;
COMMENT ON FUNCTION drop_computed(regclass, regclass, boolean) IS
'ends what create_computed began: the fields of the view stay in the documents as they are, and so does the view; 42704 if it is not kept, or with if_exists a notice and false';

CREATE FUNCTION refresh_computed(relation regclass, source regclass DEFAULT NULL, keys text[] DEFAULT NULL) RETURNS bigint
AS 'MODULE_PATHNAME', 'pattern_refresh_computed'
LANGUAGE C;
COMMENT ON FUNCTION refresh_computed(regclass, regclass, text[]) IS
'computes the fields of a view again, of all views of the relation without one, of the parents with these keys alone, and returns the number of documents that changed; without source and keys a queued view has only what waits in its queue folded in; tells its progress by NOTICE; 42501 unless owner, 42704 if the view is not kept';

CREATE FUNCTION verify_computed(relation regclass, source regclass DEFAULT NULL)
RETURNS TABLE(key text, path text[], stored jsonb, expected jsonb)
AS 'MODULE_PATHNAME', 'pattern_verify_computed'
LANGUAGE C ROWS 10;
COMMENT ON FUNCTION verify_computed(regclass, regclass) IS
'the fields that are not as the view, or each of the views of the relation, says: key of the parent, path of the field, the value stored (NULL if there is none) and the value expected; no rows if all is right; what waits in a queue is taken as stored; 42501 unless owner, 42704 if the view is not kept';

CREATE FUNCTION computed_added(tableoid oid, view regclass, parent regclass, VARIADIC new_columns "any") RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_computed_added'
LANGUAGE C;
COMMENT ON FUNCTION computed_added(oid, regclass, regclass, "any") IS
'false; looks at a row that was inserted, in the WHEN clause of a trigger that create_computed makes; 39P01 anywhere else';

CREATE FUNCTION computed_removed(tableoid oid, view regclass, parent regclass, VARIADIC old_columns "any") RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_computed_removed'
LANGUAGE C;
COMMENT ON FUNCTION computed_removed(oid, regclass, regclass, "any") IS
'false; looks at a row that was deleted, in the WHEN clause of a trigger that create_computed makes; 39P01 anywhere else';

CREATE FUNCTION computed_changed(tableoid oid, view regclass, parent regclass, old_tableoid oid, VARIADIC columns "any") RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_computed_changed'
LANGUAGE C;
COMMENT ON FUNCTION computed_changed(oid, regclass, regclass, oid, "any") IS
'false; looks at a row before and after an update, in the WHEN clause of a trigger that create_computed makes; 39P01 anywhere else';

CREATE FUNCTION computed_row() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_computed_row'
LANGUAGE C;
COMMENT ON FUNCTION computed_row() IS
'trigger function of the triggers whose WHEN clauses look at rows; they never fire, 39P01 if one does';

CREATE FUNCTION computed_flush() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_computed_flush'
LANGUAGE C;
COMMENT ON FUNCTION computed_flush() IS
'trigger function computed_flush(mode, digest of the view, path...) of create_computed''s trigger for TRUNCATE, which also ends each query that changed rows: writes the parents';

CREATE FUNCTION computed_parent() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_computed_parent'
LANGUAGE C;
COMMENT ON FUNCTION computed_parent() IS
'trigger function of create_computed''s trigger on the documents: computes the fields of new ones and of those whose key changes, and puts them back when the document is written';

--
-- 5. Computed pattern: inside one document
--

CREATE FUNCTION compute_document() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_compute_document'
LANGUAGE C;
COMMENT ON FUNCTION compute_document() IS
'trigger function for BEFORE INSERT OR UPDATE ... FOR EACH ROW: compute_document(column, pipeline) runs a pipeline such as ''[{"$set": {"total": {"$add": ["$net", "$tax"]}}}]'' on the document in the column; NULL stays NULL; 39P01 for a trigger of another kind, 22023 for a wrong pipeline or unless there are two arguments, 42703, 42804 or 428C9 for a column that is missing, not jsonb or generated';

--
-- 6. Extended reference pattern
--

CREATE FUNCTION extended_reference_copy() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_extended_reference_copy'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION extended_reference_copy() IS
'trigger of create_extended_reference on the table that refers: copies fields of the source row into the document, and guards them; 23503 for a missing source row, 23514 for an edited copy';

CREATE FUNCTION extended_reference_follow() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_extended_reference_follow'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION extended_reference_follow() IS
'trigger of create_extended_reference on the source: has live fields written to the documents that refer to a row; 23503 where on_delete is restrict';

CREATE FUNCTION create_extended_reference(relation regclass, column_name name, path text[], source regclass, key text[],
	fields text[], mode text DEFAULT 'snapshot', source_key name DEFAULT NULL, on_delete text DEFAULT NULL,
	if_not_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_create_extended_reference'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION create_extended_reference(regclass, name, text[], regclass, text[], text[], text, name, text, boolean) IS
'from now on, copies fields of the source row whose source_key (the primary key, if NULL) is the text at key in the document to the object at path; fields are ''path [AS name] [:snapshot|:live]''; on_delete is keep, remove or restrict; true if it was created; needs ownership of both tables';

CREATE FUNCTION refresh_extended_reference(relation regclass, column_name name, path text[], include_snapshot boolean DEFAULT false)
RETURNS bigint
AS 'MODULE_PATHNAME', 'pattern_refresh_extended_reference'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION refresh_extended_reference(regclass, name, text[], boolean) IS
'writes live fields that differ from their source, snapshot fields that are missing and, with include_snapshot, also those that differ; the number of documents changed';

CREATE FUNCTION verify_extended_reference(relation regclass, column_name name, path text[])
RETURNS TABLE (key text, path text[], stored jsonb, expected jsonb)
AS 'MODULE_PATHNAME', 'pattern_verify_extended_reference'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION verify_extended_reference(regclass, name, text[]) IS
'the copied fields that are not as they should be, with the primary key of their document: live fields that differ from the source, snapshot fields that are missing, copies of a row that is gone unless on_delete is keep';

CREATE FUNCTION drop_extended_reference(relation regclass, column_name name, path text[], if_exists boolean DEFAULT false)
RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_drop_extended_reference'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION drop_extended_reference(regclass, name, text[], boolean) IS
'drops the triggers of the extended reference at a path, and the index made for it; the copies stay; true if there was one';

--
-- 7. Polymorphic pattern and schema versions: schemas
--

CREATE FUNCTION doc_validate(doc jsonb, schema jsonb) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_doc_validate'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION doc_validate(jsonb, jsonb) IS
'does a document, or any value, meet a schema in the dialect of MongoDB''s $jsonSchema: draft 4 and bsonType; 22023 for a malformed schema, with the place, 2201B for a wrong regular expression in it';

CREATE FUNCTION doc_violations(doc jsonb, schema jsonb) RETURNS TABLE (path text, keyword text, message text)
AS 'MODULE_PATHNAME', 'pattern_doc_violations'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 5;
COMMENT ON FUNCTION doc_violations(jsonb, jsonb) IS
'all that is wrong with a document by a schema: the dotted path of what is wrong or missing, empty for the document itself, the keyword that says so, and what it says; no rows for a valid document; errors as of doc_validate';

--
-- 7. Polymorphic pattern and schema versions: variants
--

CREATE FUNCTION variant_check(doc jsonb, discriminator text, variants jsonb) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_variant_check'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION variant_check(jsonb, text, jsonb) IS
'true for a document that meets the schema of its variant, which the discriminator, a field at its top, names; variants is {"name": schema, ...}. For a CHECK constraint: any other document is 23514, and the DETAIL lists what is wrong';

CREATE FUNCTION create_polymorphic(relation regclass, column_name name, discriminator text DEFAULT 'type',
	validate boolean DEFAULT true, if_not_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_create_polymorphic'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION create_polymorphic(regclass, name, text, boolean, boolean) IS
'let a jsonb column have documents of registered variants only, by a CHECK constraint; existing documents must have the discriminator (23514) unless validate is false, their variants are registered afterwards. False if the column is polymorphic already and if_not_exists says so, else 42710; 42501 for one who does not own the relation';

CREATE FUNCTION add_variant(relation regclass, column_name name, variant text, schema jsonb, view_name name DEFAULT NULL,
	validate boolean DEFAULT true, replace boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_add_variant'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION add_variant(regclass, name, text, jsonb, name, boolean, boolean) IS
'register a variant with its schema, as of doc_validate, and with a view of a typed column for each property if view_name is given; existing documents of it must meet the schema (23514) unless validate is false; 42710 if it exists, unless replace gives it another schema; 42704 if the column is not polymorphic, 22023 for a malformed schema';

CREATE FUNCTION drop_variant(relation regclass, column_name name, variant text, if_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_drop_variant'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION drop_variant(regclass, name, text, boolean) IS
'remove a variant and its view; 23514 while there are documents of it; false if it does not exist and if_exists says so, else 42704';

CREATE FUNCTION drop_polymorphic(relation regclass, column_name name, if_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_drop_polymorphic'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION drop_polymorphic(regclass, name, boolean) IS
'remove the constraint and the views of the variants; the documents stay; false if the column is not polymorphic and if_exists says so, else 42704';

CREATE FUNCTION create_discriminator_index(relation regclass, column_name name, discriminator text, path text[] DEFAULT '{}',
	descending boolean DEFAULT true, index_name name DEFAULT NULL, if_not_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_create_discriminator_index'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION create_discriminator_index(regclass, name, text, text[], boolean, name, boolean) IS
'make the btree index on the text of a discriminator and of what is at a path of a jsonb column: ((doc ->> ''type''), (doc ->> ''published_at'') DESC); false if there is such an index and if_not_exists says so, else 42710; 42501 for one who does not own the relation';

--
-- 7. Polymorphic pattern and schema versions: versions
--

CREATE FUNCTION doc_version(doc jsonb, version_field text DEFAULT 'schema_version') RETURNS integer
AS 'MODULE_PATHNAME', 'pattern_doc_version'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION doc_version(jsonb, text) IS
'the schema version of a document, NULL if the field holds no whole number; for an index on the documents that upgrade_documents has yet to find';

CREATE FUNCTION version_differs(doc jsonb, version_field text, current_version integer, upgrade regprocedure) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_version_differs'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION version_differs(jsonb, text, integer, regprocedure) IS
'has a document another version than the current one? For the WHEN clause of the trigger of create_versioning, which holds the definition';

CREATE FUNCTION doc_upgrade(doc jsonb, upgrade regprocedure, current_version integer, version_field text DEFAULT 'schema_version') RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_doc_upgrade'
LANGUAGE C STABLE;
COMMENT ON FUNCTION doc_upgrade(jsonb, regprocedure, integer, text) IS
'the document in the current version: upgrade, a function from jsonb to jsonb, is called until it is; for a view of documents as readers want them. NULL doc gives NULL; 23514 for a newer version, 22023 if the function makes no step, 22004 if it returns NULL, and its own errors';

CREATE FUNCTION upgrade_document() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_upgrade_document'
LANGUAGE C;
COMMENT ON FUNCTION upgrade_document() IS
'trigger of create_versioning: writes the document in the current version';

CREATE FUNCTION create_versioning(relation regclass, column_name name, current_version integer, upgrade regprocedure,
	version_field text DEFAULT 'schema_version', replace boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_create_versioning'
LANGUAGE C;
COMMENT ON FUNCTION create_versioning(regclass, name, integer, regprocedure, text, boolean) IS
'from now on a document of an older version, or of none, is upgraded when it is written: the function upgrade, from jsonb to jsonb, is called until version_field is current_version; a newer one is 23514. 42710 if the column has versions, unless replace gives it other ones; 42501 unless owned, 22023 for a function of another kind';

CREATE FUNCTION upgrade_documents(relation regclass, column_name name, batch_size integer DEFAULT 1000) RETURNS bigint
AS 'MODULE_PATHNAME', 'pattern_upgrade_documents'
LANGUAGE C;
COMMENT ON FUNCTION upgrade_documents(regclass, name, integer) IS
'upgrades at most batch_size documents that are older than the current version, and returns their number: to be called, a transaction each time, until it returns 0. Rows that others have locked are skipped, or waited for if there are no others; row security and a disabled trigger make no difference. 42704 if the column has no versions, 42501 unless owned';

CREATE FUNCTION drop_versioning(relation regclass, column_name name, if_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_drop_versioning'
LANGUAGE C;
COMMENT ON FUNCTION drop_versioning(regclass, name, boolean) IS
'documents are no longer upgraded; they stay as they are. 42704 if the column has no versions, unless if_exists';

--
-- 8. Outlier pattern
--

CREATE FUNCTION outlier_exceeds(before jsonb, after jsonb, path text[], max_size integer, flag text, overflow regclass) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_outlier_exceeds'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION outlier_exceeds(jsonb, jsonb, text[], integer, text, regclass) IS
'for the WHEN clauses of create_outlier: has the document after a write more than max_size elements at path, or lost the flag that it had before? The trigger moves them to the table overflow';

CREATE FUNCTION outlier_overflow() RETURNS trigger
AS 'MODULE_PATHNAME', 'pattern_outlier_overflow'
LANGUAGE C;
COMMENT ON FUNCTION outlier_overflow() IS
'the trigger of create_outlier: moves elements beyond the first to the overflow table';

CREATE FUNCTION create_outlier(relation regclass, column_name name, path text[], max_size integer,
	overflow name DEFAULT NULL, flag text DEFAULT 'has_extras') RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_create_outlier'
LANGUAGE C;
COMMENT ON FUNCTION create_outlier(regclass, name, text[], integer, name, text) IS
'keeps the first max_size elements of the array at path in the document and the rest, in order, in the table overflow (RELATION_FIELD if not given), which is created; flag is the field that says that there are some. The relation needs a primary key of one column. 42501 unless owned, 42710 if there is one for the path, 55000 without the primary key';

CREATE FUNCTION outlier_push(relation regclass, key "any", element jsonb, column_name name DEFAULT NULL, path text[] DEFAULT NULL) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_outlier_push'
LANGUAGE C;
COMMENT ON FUNCTION outlier_push(regclass, "any", jsonb, name, text[]) IS
'puts an element behind the last of the array of the document with a primary key, at the same cost for any length; true if it stands in the document, false if in the overflow table. column_name and path say which, if there are several. 23503 if there is no such document, 42704 if the relation has no outlier';

CREATE FUNCTION outlier_elements(relation regclass, key "any", column_name name DEFAULT NULL, path text[] DEFAULT NULL) RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'pattern_outlier_elements'
LANGUAGE C STABLE;
COMMENT ON FUNCTION outlier_elements(regclass, "any", name, text[]) IS
'all elements of the array of the document with a primary key: those in the document, then those in the overflow table, in their order; no rows if there is no such document';

CREATE FUNCTION drop_outlier(relation regclass, column_name name, path text[], if_exists boolean DEFAULT false) RETURNS boolean
AS 'MODULE_PATHNAME', 'pattern_drop_outlier'
LANGUAGE C;
COMMENT ON FUNCTION drop_outlier(regclass, name, text[], boolean) IS
'puts the elements of the overflow table back into the documents, and drops the table, the flags and the triggers. 42501 unless owned, 42704 if there is none';

--
-- 9. BSON
--

CREATE FUNCTION bson_to_jsonb(document bytea, mode text DEFAULT 'relaxed', on_duplicate text DEFAULT 'error', on_nul text DEFAULT 'error') RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_bson_to_jsonb'
LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bson_to_jsonb(bytea, text, text, text) IS
'a BSON document as jsonb; mode ''relaxed'' or ''canonical'' (Extended JSON v2) or ''plain'' (ObjectIds, dates and UUIDs as text, all numbers as numbers, other types relaxed); of equal keys on_duplicate ''last'' keeps the last; on_nul ''strip'' or ''replace'' (by U+FFFD) for NUL in strings; 22P03 for invalid BSON with byte and path, 22P05 for NUL or a character that the server''s encoding lacks, 22030 for equal keys, 22023 for an unknown option';

CREATE FUNCTION jsonb_to_bson(document jsonb) RETURNS bytea
AS 'MODULE_PATHNAME', 'pattern_jsonb_to_bson'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jsonb_to_bson(jsonb) IS
'a document in Extended JSON, v2 or v1, as BSON; a plain number becomes int32 or int64 if it is whole and written without a point, else double if that is the same number, else Decimal128; 22023 if it is no object or for a wrong wrapper, 22003 for a number that BSON does not have, 54000 beyond 1 GB';

CREATE FUNCTION bson_documents(stream bytea, mode text DEFAULT 'relaxed', on_duplicate text DEFAULT 'error', on_nul text DEFAULT 'error') RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'pattern_bson_documents'
LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 1000;
COMMENT ON FUNCTION bson_documents(bytea, text, text, text) IS
'the documents of a stream of BSON documents one behind the other, a mongodump file''s content; modes, options and errors as for bson_to_jsonb, which name the document by its number and the byte of the stream; 22P03 for a wrong length and for a document that is cut off';

CREATE FUNCTION bson_file(filename text, mode text DEFAULT 'relaxed', on_error text DEFAULT 'error', on_duplicate text DEFAULT 'error', on_nul text DEFAULT 'error') RETURNS TABLE (byte_offset bigint, doc jsonb, error text)
AS 'MODULE_PATHNAME', 'pattern_bson_file'
LANGUAGE C VOLATILE PARALLEL RESTRICTED ROWS 100000;
COMMENT ON FUNCTION bson_file(text, text, text, text, text) IS
'the documents of a file of the server, as mongodump writes it, compressed by gzip if its name ends with .gz; streams in the SELECT list and shows its progress in pg_stat_progress_copy; byte_offset counts in the uncompressed stream; with on_error ''report'' a bad document is a row with its error, and a wrong length or a cut file ends the stream with one; modes, other options and errors as for bson_documents; 42501 without pg_read_server_files, 42809 if it is no regular file';

CREATE FUNCTION load_bson(relation regclass, column_name name, filename text, mode text DEFAULT 'relaxed', on_error text DEFAULT 'error', on_duplicate text DEFAULT 'error', on_nul text DEFAULT 'error') RETURNS bigint
AS 'MODULE_PATHNAME', 'pattern_load_bson'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION load_bson(regclass, name, text, text, text, text, text) IS
'inserts the documents of a file, read as bson_file does, into a column of type jsonb, in one INSERT statement; the number of documents inserted; with on_error ''report'' a bad document is skipped with a WARNING, up to 100 of them, and a NOTICE counts all; 22004 for a NULL relation, column_name or filename, 42703 and 42804 for a wrong column, what INSERT raises, and the errors of bson_file';

CREATE FUNCTION load_bson_rows() RETURNS SETOF jsonb
AS 'MODULE_PATHNAME', 'pattern_load_bson_rows'
LANGUAGE C VOLATILE PARALLEL UNSAFE ROWS 100000;
COMMENT ON FUNCTION load_bson_rows() IS
'the documents for the INSERT of load_bson, which alone can call it; 0A000 otherwise';

CREATE FUNCTION bson_metadata_ddl(metadata jsonb, relation regclass, column_name name) RETURNS SETOF text
AS 'MODULE_PATHNAME', 'pattern_bson_metadata_ddl'
LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 10;
COMMENT ON FUNCTION bson_metadata_ddl(jsonb, regclass, name) IS
'the indexes of mongodump''s .metadata.json as CREATE INDEX statements on a column of documents, a row each; what cannot be carried over is a row with a comment of one line; 22023 if the metadata is not mongodump''s, 42703 and 42804 for a wrong column';

CREATE FUNCTION bson_size(document jsonb) RETURNS integer
AS 'MODULE_PATHNAME', 'pattern_bson_size'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bson_size(jsonb) IS
'the bytes of a document in BSON, that is of jsonb_to_bson(document), with its errors; MongoDB''s limit is 16777216';

CREATE FUNCTION bson_objectid() RETURNS text
AS 'MODULE_PATHNAME', 'pattern_bson_objectid'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION bson_objectid() IS
'a new ObjectId as 24 lowercase hexadecimal digits: the clock''s second, five random bytes of the process, a counter; ids of one process ascend, until the counter of 24 bits begins anew';

CREATE FUNCTION bson_objectid_time(id text) RETURNS timestamptz
AS 'MODULE_PATHNAME', 'pattern_bson_objectid_time'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bson_objectid_time(text) IS
'the second in which an ObjectId, 24 hexadecimal digits in either case, was made: 1970 to 2106; 22P02 if it is none';

--
-- 10. Overview
--

CREATE FUNCTION pattern_trigger_arguments(arguments bytea) RETURNS text[]
AS 'MODULE_PATHNAME', 'pattern_trigger_arguments'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pattern_trigger_arguments(bytea) IS
'for pattern_list: the arguments of a trigger, which are pg_trigger.tgargs';

CREATE FUNCTION pattern_expression(expression pg_node_tree) RETURNS jsonb
AS 'MODULE_PATHNAME', 'pattern_expression'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pattern_expression(pg_node_tree) IS
'for pattern_list: the calls, constants and columns that an expression, or a view''s query, of a system catalog is made of; objects are named by their OIDs, and null stands for what no pattern is made of';

CREATE VIEW pattern_list AS
WITH extension AS (
	SELECT pg_catalog.quote_ident(n.nspname) AS schema
	FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
	WHERE p.oid OPERATOR(pg_catalog.=) 'pattern_target(regclass[])'::pg_catalog.regprocedure
),
relation AS NOT MATERIALIZED (
	SELECT c.oid, c.relname, pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
	FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
),
-- the triggers of ours, but not those that partitions have from their parent
trigger AS MATERIALIZED (
	SELECT t.oid, t.tgrelid, t.tgfoid, t.tgtype, t.tgattr, pattern_trigger_arguments(t.tgargs) AS arguments, pattern_expression(t.tgqual) AS condition
	FROM pg_catalog.pg_trigger AS t
	WHERE t.tgparentid OPERATOR(pg_catalog.=) 0 AND t.tgfoid OPERATOR(pg_catalog.=) ANY (ARRAY['bucket_table_write()'::pg_catalog.regprocedure, 'computed_parent()'::pg_catalog.regprocedure,
		'computed_flush()'::pg_catalog.regprocedure, 'compute_document()'::pg_catalog.regprocedure, 'extended_reference_copy()'::pg_catalog.regprocedure,
		'upgrade_document()'::pg_catalog.regprocedure, 'outlier_overflow()'::pg_catalog.regprocedure]::pg_catalog.oid[])
),
-- indexes whose class looks for attributes; a partition's are its parent's
attribute AS (
	SELECT i.indexrelid AS objid, i.indrelid AS relid, i.indkey[0] AS attnum, c.relname AS index_name,
		i.indnatts OPERATOR(pg_catalog.=) 1 AND i.indkey[0] OPERATOR(pg_catalog.<>) 0 AND i.indpred IS NULL AS is_plain,
		coalesce((SELECT pg_catalog.substr(option, 5) FROM pg_catalog.unnest(a.attoptions) AS option WHERE pg_catalog.left(option, 4) OPERATOR(pg_catalog.=) 'key='), 'k') AS key_name,
		coalesce((SELECT pg_catalog.substr(option, 7) FROM pg_catalog.unnest(a.attoptions) AS option WHERE pg_catalog.left(option, 6) OPERATOR(pg_catalog.=) 'value='), 'v') AS value_name,
		ARRAY(SELECT coalesce(pg_catalog.replace(m.step[1], '""', '"'), m.step[2])
			FROM pg_catalog.unnest(a.attoptions) AS option,
				pg_catalog.regexp_matches(pg_catalog.substr(option, 6), '"((?:[^"]|"")*)"|([^."]+)', 'g') WITH ORDINALITY AS m(step, n)
			WHERE pg_catalog.left(option, 5) OPERATOR(pg_catalog.=) 'path=' ORDER BY m.n) AS steps
	FROM pg_catalog.pg_index AS i
	JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid
	JOIN pg_catalog.pg_opclass AS o ON o.oid OPERATOR(pg_catalog.=) i.indclass[0]
	JOIN pg_catalog.pg_amproc AS p ON p.amprocfamily OPERATOR(pg_catalog.=) o.opcfamily AND p.amproc OPERATOR(pg_catalog.=) 'attribute_index_extract(jsonb,internal,internal)'::pg_catalog.regprocedure
	JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) i.indexrelid AND a.attnum OPERATOR(pg_catalog.=) 1
	WHERE i.indisvalid AND NOT c.relispartition
),
bucket AS (
	SELECT t.tgrelid AS relid, t.arguments,
		EXISTS (SELECT FROM pg_catalog.pg_rewrite AS r
			JOIN pg_catalog.pg_depend AS d ON d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid OPERATOR(pg_catalog.=) r.oid AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass
			JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) d.refobjid AND c.relkind OPERATOR(pg_catalog.=) 'p'
			WHERE r.ev_class OPERATOR(pg_catalog.=) t.tgrelid) AS partitioned
	FROM trigger AS t
	WHERE t.tgfoid OPERATOR(pg_catalog.=) 'bucket_table_write()'::pg_catalog.regprocedure
),
-- views that are kept in documents: the trigger on the parent, the view, and a trigger of TRUNCATE, that of the view's table if there is one
computed_part AS (
	SELECT t.oid AS objid, t.tgrelid AS relid, t.tgattr[0] AS attnum, a.attname AS parent_key, s.oid AS view, s.name AS source, q.query,
		(SELECT (pg_catalog.array_agg(c.value OPERATOR(pg_catalog.->>) 'name'))[1] FROM pg_catalog.jsonb_array_elements(q.query OPERATOR(pg_catalog.->) 'columns') AS c
			WHERE (c.value OPERATOR(pg_catalog.->>) 'grouped') OPERATOR(pg_catalog.=) 'true') AS key,
		f.arguments[1] AS mode, f.arguments[3:] AS steps
	FROM trigger AS t
	JOIN relation AS s ON s.oid OPERATOR(pg_catalog.=) CASE WHEN (t.condition OPERATOR(pg_catalog.->>) 'function') OPERATOR(pg_catalog.=) 'pattern_target(regclass[])'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text
		THEN (t.condition OPERATOR(pg_catalog.#>>) '{arguments,0,0,value}')::pg_catalog.oid END
	LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) t.tgrelid AND a.attnum OPERATOR(pg_catalog.=) t.tgattr[1]
	LEFT JOIN LATERAL (SELECT pattern_expression(r.ev_action) OPERATOR(pg_catalog.->) 0 AS query
		FROM pg_catalog.pg_rewrite AS r WHERE r.ev_class OPERATOR(pg_catalog.=) s.oid AND r.ev_type OPERATOR(pg_catalog.=) '1') AS q ON true
	LEFT JOIN LATERAL (SELECT f.arguments FROM trigger AS f
		WHERE f.tgfoid OPERATOR(pg_catalog.=) 'computed_flush()'::pg_catalog.regprocedure
		AND (f.condition OPERATOR(pg_catalog.#>>) '{arguments,0,0,value}') OPERATOR(pg_catalog.=) s.oid::pg_catalog.text AND (f.condition OPERATOR(pg_catalog.#>>) '{arguments,0,1,value}') OPERATOR(pg_catalog.=) t.tgrelid::pg_catalog.text
		AND pg_catalog.cardinality(f.arguments) OPERATOR(pg_catalog.>=) 2
		ORDER BY f.tgrelid OPERATOR(pg_catalog.=) (q.query OPERATOR(pg_catalog.->>) 'relation')::pg_catalog.oid DESC NULLS LAST, f.oid LIMIT 1) AS f ON true
	WHERE t.tgfoid OPERATOR(pg_catalog.=) 'computed_parent()'::pg_catalog.regprocedure
),
computed AS MATERIALIZED (
	SELECT c.*, CASE WHEN pg_catalog.num_nulls(a.attname, c.key, c.steps, c.parent_key, c.mode) OPERATOR(pg_catalog.=) 0 THEN
		pg_catalog.format('SELECT %s.create_computed(relation => %L, column_name => %L, source => %L, key => %L, path => %L, parent_key => %L, mode => %L)',
			x.schema, r.name, a.attname, c.source, c.key, c.steps, c.parent_key, c.mode) END AS definition
	FROM computed_part AS c CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) c.relid
	LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) c.relid AND a.attnum OPERATOR(pg_catalog.=) c.attnum
),
-- those among them that are as create_subset writes them; it names the fields by the columns, which may have been renamed since
subset AS (
	SELECT c.objid, c.view, child.name AS child, k.attname AS key, f.fields, f.are_columns, c.steps OPERATOR(pg_catalog.||) (c.query OPERATOR(pg_catalog.#>>) '{columns,1,name}') AS steps,
		(e.call OPERATOR(pg_catalog.#>>) '{arguments,1,value}') AS max_size,
		-- what the order goes on with by itself
		pg_catalog.substring(e.call OPERATOR(pg_catalog.#>>) '{arguments,2,value}', '^(.+?)' OPERATOR(pg_catalog.||) f.rest OPERATOR(pg_catalog.||) '$') AS order_by
	FROM computed AS c
	CROSS JOIN LATERAL (SELECT c.query OPERATOR(pg_catalog.#>) '{columns,1,expression}' AS call) AS e
	JOIN relation AS child ON child.oid OPERATOR(pg_catalog.=) (c.query OPERATOR(pg_catalog.->>) 'relation')::pg_catalog.oid
	JOIN pg_catalog.pg_attribute AS k ON k.attrelid OPERATOR(pg_catalog.=) child.oid AND k.attnum OPERATOR(pg_catalog.=) (c.query OPERATOR(pg_catalog.#>>) '{columns,0,expression,column}')::pg_catalog.int2
	CROSS JOIN LATERAL (
		SELECT pg_catalog.array_agg(p.field ORDER BY p.n) AS fields, pg_catalog.bool_and(coalesce(p.field OPERATOR(pg_catalog.=) a.attname::pg_catalog.text, false)) AS are_columns,
			pg_catalog.string_agg('(?:, "' OPERATOR(pg_catalog.||) pg_catalog.regexp_replace(pg_catalog.replace(p.field, '"', '""'), '([^[:alnum:]_])', '\\\1', 'g') OPERATOR(pg_catalog.||) '")?', '' ORDER BY p.n) AS rest
		FROM (SELECT n.n, e.call OPERATOR(pg_catalog.#>>) ARRAY['arguments', '0', 'arguments', (2 OPERATOR(pg_catalog.*) n.n)::pg_catalog.text, 'value'] AS field,
				(e.call OPERATOR(pg_catalog.#>>) ARRAY['arguments', '0', 'arguments', (2 OPERATOR(pg_catalog.*) n.n OPERATOR(pg_catalog.+) 1)::pg_catalog.text, 'column'])::pg_catalog.int2 AS attnum
			FROM pg_catalog.generate_series(0, pg_catalog.jsonb_array_length(e.call OPERATOR(pg_catalog.#>) '{arguments,0,arguments}') OPERATOR(pg_catalog./) 2 OPERATOR(pg_catalog.-) 1) AS n(n)) AS p
		LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) child.oid AND a.attnum OPERATOR(pg_catalog.=) p.attnum) AS f
	WHERE pg_catalog.jsonb_array_length(c.query OPERATOR(pg_catalog.->) 'columns') OPERATOR(pg_catalog.=) 2 AND pg_catalog.jsonb_typeof(c.query OPERATOR(pg_catalog.->) 'where') OPERATOR(pg_catalog.=) 'null'
	AND (c.query OPERATOR(pg_catalog.#>>) '{columns,0,grouped}') OPERATOR(pg_catalog.=) 'true' AND f.are_columns IS NOT NULL
	AND (e.call OPERATOR(pg_catalog.->>) 'function') OPERATOR(pg_catalog.=) 'subset_agg(jsonb,integer,text)'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text
	AND (e.call OPERATOR(pg_catalog.#>>) '{arguments,0,function}') OPERATOR(pg_catalog.=) 'pg_catalog.jsonb_build_object("any")'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text
),
-- arguments {path}, {key}, on_delete and a {mode,name,path, ...} for each field, and the columns of the source in the WHEN clause
reference AS (
	SELECT t.oid AS objid, t.tgrelid AS relid, (t.condition OPERATOR(pg_catalog.#>>) '{and,2,or,0,is null,column}')::pg_catalog.int2 AS attnum,
		t.arguments, s.name AS source, k.attname AS source_key, f.mode, f.fields
	FROM trigger AS t
	CROSS JOIN LATERAL (SELECT t.condition OPERATOR(pg_catalog.#>) '{and,1,arguments,0,arguments}' AS columns) AS c
	LEFT JOIN relation AS s ON s.oid OPERATOR(pg_catalog.=) CASE WHEN (t.condition OPERATOR(pg_catalog.#>>) '{and,0,function}') OPERATOR(pg_catalog.=) 'pattern_target(regclass[])'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text
		THEN (t.condition OPERATOR(pg_catalog.#>>) '{and,0,arguments,0,0,value}')::pg_catalog.oid END
	LEFT JOIN pg_catalog.pg_attribute AS k ON k.attrelid OPERATOR(pg_catalog.=) s.oid AND k.attnum OPERATOR(pg_catalog.=) (c.columns OPERATOR(pg_catalog.#>>) '{0,field}')::pg_catalog.int2
	CROSS JOIN LATERAL (
		SELECT CASE WHEN pg_catalog.bool_and(p.live) THEN 'live' ELSE 'snapshot' END AS mode,
			pg_catalog.array_agg((SELECT pg_catalog.string_agg(CASE WHEN step.step OPERATOR(pg_catalog.~) '^[A-Za-z0-9_]+$' THEN step.step ELSE '"' OPERATOR(pg_catalog.||) pg_catalog.replace(step.step, '"', '""') OPERATOR(pg_catalog.||) '"' END, '.' ORDER BY step.n)
					FROM pg_catalog.unnest(p.path) WITH ORDINALITY AS step(step, n))
				OPERATOR(pg_catalog.||) CASE WHEN p.name OPERATOR(pg_catalog.=) p.path[pg_catalog.cardinality(p.path)] THEN '' ELSE ' AS "' OPERATOR(pg_catalog.||) pg_catalog.replace(p.name, '"', '""') OPERATOR(pg_catalog.||) '"' END
				OPERATOR(pg_catalog.||) CASE WHEN p.live AND NOT p.all_live THEN ':live' ELSE '' END ORDER BY p.n) AS fields
		FROM (SELECT field.n, field.parts[1] OPERATOR(pg_catalog.=) 'live' AS live, pg_catalog.bool_and(field.parts[1] OPERATOR(pg_catalog.=) 'live') OVER () AS all_live,
				field.parts[2] AS name, a.attname::pg_catalog.text OPERATOR(pg_catalog.||) field.parts[3:] AS path
			FROM (SELECT argument.n, CASE WHEN argument.value OPERATOR(pg_catalog.~) '^\{(?:(?:"(?:[^"\\]|\\.)*"|[^{}",\\ \t\n\r\v\f]+)(?:,(?:"(?:[^"\\]|\\.)*"|[^{}",\\ \t\n\r\v\f]+))*)?\}$' THEN argument.value::pg_catalog.text[] END AS parts
				FROM pg_catalog.unnest(t.arguments[4:]) WITH ORDINALITY AS argument(value, n)) AS field
			LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) s.oid
				AND a.attnum OPERATOR(pg_catalog.=) (c.columns OPERATOR(pg_catalog.#>>) ARRAY[field.n::pg_catalog.text, 'field'])::pg_catalog.int2) AS p) AS f
	WHERE t.tgfoid OPERATOR(pg_catalog.=) 'extended_reference_copy()'::pg_catalog.regprocedure
),
-- calls at the top of CHECK constraints; those of partitions and children are their parent's
constraint_call AS MATERIALIZED (
	SELECT c.oid AS objid, c.conrelid AS relid, c.conname, c.convalidated, c.function, e.arguments,
		(e.arguments OPERATOR(pg_catalog.#>>) '{0,column}')::pg_catalog.int2 AS attnum
	FROM (SELECT c.*, d.refobjid AS function FROM pg_catalog.pg_depend AS d JOIN pg_catalog.pg_constraint AS c ON c.oid OPERATOR(pg_catalog.=) d.objid
		WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
		AND d.refobjid OPERATOR(pg_catalog.=) ANY (ARRAY['variant_check(jsonb,text,jsonb)'::pg_catalog.regprocedure, 'doc_validate(jsonb,jsonb)'::pg_catalog.regprocedure]::pg_catalog.oid[])
		AND c.contype OPERATOR(pg_catalog.=) 'c' AND c.conrelid OPERATOR(pg_catalog.<>) 0 AND c.coninhcount OPERATOR(pg_catalog.=) 0 OFFSET 0) AS c
	CROSS JOIN LATERAL (SELECT pattern_expression(c.conbin) AS call OFFSET 0) AS f
	CROSS JOIN LATERAL (SELECT f.call OPERATOR(pg_catalog.->) 'arguments' AS arguments WHERE (f.call OPERATOR(pg_catalog.->>) 'function') OPERATOR(pg_catalog.=) c.function::pg_catalog.text) AS e
),
polymorphic AS (
	SELECT c.objid, c.relid, c.attnum, c.convalidated AS validate, c.arguments OPERATOR(pg_catalog.#>>) '{1,value}' AS discriminator,
		CASE WHEN pg_catalog.jsonb_typeof(c.arguments OPERATOR(pg_catalog.#>) '{2,value}') OPERATOR(pg_catalog.=) 'object' THEN c.arguments OPERATOR(pg_catalog.#>) '{2,value}' ELSE '{}'::pg_catalog.jsonb END AS variants
	FROM constraint_call AS c
	WHERE c.function OPERATOR(pg_catalog.=) 'variant_check(jsonb,text,jsonb)'::pg_catalog.regprocedure AND c.attnum IS NOT NULL AND (c.arguments OPERATOR(pg_catalog.#>>) '{1,value}') IS NOT NULL
),
-- views of variants: WHERE pattern_target(table) AND (doc ->> discriminator) = variant
variant_view AS MATERIALIZED (
	SELECT DISTINCT ON (relid, attnum, discriminator, variant) r.ev_class AS view, (q.query OPERATOR(pg_catalog.->>) 'relation')::pg_catalog.oid AS relid,
		(e.call OPERATOR(pg_catalog.#>>) '{arguments,0,arguments,0,column}')::pg_catalog.int2 AS attnum,
		e.call OPERATOR(pg_catalog.#>>) '{arguments,0,arguments,1,value}' AS discriminator, e.call OPERATOR(pg_catalog.#>>) '{arguments,1,value}' AS variant
	-- OFFSET 0: no other views are taken apart
	FROM (SELECT r.ev_class, r.ev_action FROM pg_catalog.pg_depend AS d JOIN pg_catalog.pg_rewrite AS r ON r.oid OPERATOR(pg_catalog.=) d.objid AND r.ev_type OPERATOR(pg_catalog.=) '1'
		WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass
		AND d.refobjid OPERATOR(pg_catalog.=) 'pattern_target(regclass[])'::pg_catalog.regprocedure OFFSET 0) AS r
	CROSS JOIN LATERAL (SELECT pattern_expression(r.ev_action) OPERATOR(pg_catalog.->) 0 AS query) AS q
	CROSS JOIN LATERAL (SELECT q.query OPERATOR(pg_catalog.#>) '{where,and,1}' AS call) AS e
	WHERE (q.query OPERATOR(pg_catalog.#>>) '{where,and,0,function}') OPERATOR(pg_catalog.=) 'pattern_target(regclass[])'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text
	AND (e.call OPERATOR(pg_catalog.->>) 'function') OPERATOR(pg_catalog.=) 'pg_catalog.texteq(text,text)'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text
	AND (e.call OPERATOR(pg_catalog.#>>) '{arguments,0,function}') OPERATOR(pg_catalog.=) 'pg_catalog.jsonb_object_field_text(jsonb,text)'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text
	ORDER BY relid, attnum, discriminator, variant, view
),
-- indexes on the text of a discriminator: one that create_discriminator_index has commented, or that of a polymorphic column
commented AS (
	SELECT d.objoid AS objid, i.indrelid AS relid
	FROM pg_catalog.pg_description AS d JOIN pg_catalog.pg_index AS i ON i.indexrelid OPERATOR(pg_catalog.=) d.objoid
	WHERE d.classoid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objsubid OPERATOR(pg_catalog.=) 0 AND d.description OPERATOR(pg_catalog.=) 'made by create_discriminator_index'
),
discriminator AS (
	SELECT i.indexrelid AS objid, i.indrelid AS relid, f.attnum, f.discriminator, i.relname AS index_name,
		i.indnatts OPERATOR(pg_catalog.=) 1 OR (i.indoption[1] OPERATOR(pg_catalog.&) 1) OPERATOR(pg_catalog.=) 1 AS descending,
		CASE (e.keys OPERATOR(pg_catalog.#>>) '{1,function}')
			WHEN 'pg_catalog.jsonb_object_field_text(jsonb,text)'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text THEN ARRAY[e.keys OPERATOR(pg_catalog.#>>) '{1,arguments,1,value}']
			WHEN 'pg_catalog.jsonb_extract_path_text(jsonb,text[])'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text THEN
				CASE WHEN pg_catalog.jsonb_typeof(e.keys OPERATOR(pg_catalog.#>) '{1,arguments,1,value}') OPERATOR(pg_catalog.=) 'array' THEN ARRAY(SELECT pg_catalog.jsonb_array_elements_text(e.keys OPERATOR(pg_catalog.#>) '{1,arguments,1,value}')) END
			ELSE CASE WHEN i.indnatts OPERATOR(pg_catalog.=) 1 THEN '{}'::pg_catalog.text[] END END AS steps
	FROM (SELECT i.*, c.relname FROM (SELECT p.relid FROM polymorphic AS p UNION SELECT m.relid FROM commented AS m) AS t
		JOIN pg_catalog.pg_index AS i ON i.indrelid OPERATOR(pg_catalog.=) t.relid AND i.indisvalid AND NOT i.indisunique AND i.indpred IS NULL
		JOIN pg_catalog.pg_class AS c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid AND NOT c.relispartition
		JOIN pg_catalog.pg_am AS am ON am.oid OPERATOR(pg_catalog.=) c.relam AND am.amname OPERATOR(pg_catalog.=) 'btree' OFFSET 0) AS i
	CROSS JOIN LATERAL (SELECT pattern_expression(i.indexprs) AS keys) AS e
	CROSS JOIN LATERAL (SELECT (e.keys OPERATOR(pg_catalog.#>>) '{0,arguments,0,column}')::pg_catalog.int2 AS attnum, e.keys OPERATOR(pg_catalog.#>>) '{0,arguments,1,value}' AS discriminator) AS f
	WHERE i.indnatts OPERATOR(pg_catalog.=) pg_catalog.jsonb_array_length(e.keys) AND i.indnatts OPERATOR(pg_catalog.<=) 2 AND f.discriminator IS NOT NULL
	AND (e.keys OPERATOR(pg_catalog.#>>) '{0,function}') OPERATOR(pg_catalog.=) 'pg_catalog.jsonb_object_field_text(jsonb,text)'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text
	AND (i.indnatts OPERATOR(pg_catalog.=) 1 OR (e.keys OPERATOR(pg_catalog.#>>) '{1,arguments,0,column}') OPERATOR(pg_catalog.=) f.attnum::pg_catalog.text)
	AND (EXISTS (SELECT FROM commented AS m WHERE m.objid OPERATOR(pg_catalog.=) i.indexrelid)
		OR EXISTS (SELECT FROM polymorphic AS p WHERE p.relid OPERATOR(pg_catalog.=) i.indrelid AND p.attnum OPERATOR(pg_catalog.=) f.attnum AND p.discriminator OPERATOR(pg_catalog.=) f.discriminator))
),
version AS (
	SELECT t.oid AS objid, t.tgrelid AS relid, t.tgattr[0] AS attnum, e.arguments OPERATOR(pg_catalog.#>>) '{1,value}' AS version_field,
		e.arguments OPERATOR(pg_catalog.#>) '{2,value}' AS current_version,
		(SELECT o.identity FROM pg_catalog.pg_identify_object('pg_catalog.pg_proc'::pg_catalog.regclass, (e.arguments OPERATOR(pg_catalog.#>>) '{3,value}')::pg_catalog.oid, 0) AS o) AS upgrade
	FROM trigger AS t
	CROSS JOIN LATERAL (SELECT CASE WHEN (t.condition OPERATOR(pg_catalog.->>) 'function') OPERATOR(pg_catalog.=) 'version_differs(jsonb,text,integer,regprocedure)'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text
		THEN t.condition OPERATOR(pg_catalog.->) 'arguments' END AS arguments) AS e
	WHERE t.tgfoid OPERATOR(pg_catalog.=) 'upgrade_document()'::pg_catalog.regprocedure
),
-- an outlier has two triggers, and three on a partitioned table, whose WHEN clauses end with the same call
outlier AS (
	SELECT DISTINCT ON (relid, attnum, steps) t.oid AS objid, t.tgrelid AS relid, (e.arguments OPERATOR(pg_catalog.#>>) '{1,column}')::pg_catalog.int2 AS attnum,
		CASE WHEN pg_catalog.jsonb_typeof(e.arguments OPERATOR(pg_catalog.#>) '{2,value}') OPERATOR(pg_catalog.=) 'array' THEN ARRAY(SELECT pg_catalog.jsonb_array_elements_text(e.arguments OPERATOR(pg_catalog.#>) '{2,value}')) END AS steps,
		e.arguments OPERATOR(pg_catalog.#>) '{3,value}' AS max_size, e.arguments OPERATOR(pg_catalog.#>>) '{4,value}' AS flag, (e.arguments OPERATOR(pg_catalog.#>>) '{5,value}')::pg_catalog.oid AS overflow
	FROM trigger AS t
	CROSS JOIN LATERAL (SELECT coalesce(t.condition OPERATOR(pg_catalog.#>) '{and,-1}', t.condition) AS call) AS c
	CROSS JOIN LATERAL (SELECT c.call OPERATOR(pg_catalog.->) 'arguments' AS arguments
		WHERE (c.call OPERATOR(pg_catalog.->>) 'function') OPERATOR(pg_catalog.=) 'outlier_exceeds(jsonb,jsonb,text[],integer,text,regclass)'::pg_catalog.regprocedure::pg_catalog.oid::pg_catalog.text) AS e
	WHERE t.tgfoid OPERATOR(pg_catalog.=) 'outlier_overflow()'::pg_catalog.regprocedure
	ORDER BY relid, attnum, steps, t.tgtype, objid
),
entry(classid, objid, relid, attnum, pattern, steps, options, definition, step) AS (
	SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, a.objid, a.relid, a.attnum, 'attribute', a.steps,
		pg_catalog.jsonb_build_object('key_name', a.key_name, 'value_name', a.value_name, 'index_name', a.index_name),
		CASE WHEN a.is_plain THEN pg_catalog.format('SELECT %s.create_attribute_index(relation => %L, column_name => %L, path => %L, key_name => %L, value_name => %L, index_name => %L)',
			x.schema, r.name, c.attname, a.steps, a.key_name, a.value_name, a.index_name)
		ELSE pg_catalog.pg_get_indexdef(a.objid) END, 1
	FROM attribute AS a CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) a.relid
	LEFT JOIN pg_catalog.pg_attribute AS c ON c.attrelid OPERATOR(pg_catalog.=) a.relid AND c.attnum OPERATOR(pg_catalog.=) a.attnum
	UNION ALL
	SELECT 'pg_catalog.pg_class'::pg_catalog.regclass, b.relid, b.relid, NULL, 'bucket', NULL,
		pg_catalog.jsonb_build_object('meta_field', b.arguments[1], 'time_field', b.arguments[2], 'width', b.arguments[3],
			'capacity', CASE WHEN b.arguments[4] OPERATOR(pg_catalog.~) '^[0-9]+$' THEN pg_catalog.to_jsonb(b.arguments[4]::pg_catalog.numeric) ELSE pg_catalog.to_jsonb(b.arguments[4]) END,
			'time_zone', b.arguments[5], 'on_duplicate', b.arguments[6], 'partitioned', b.partitioned),
		CASE WHEN pg_catalog.cardinality(b.arguments) OPERATOR(pg_catalog.=) 6 THEN pg_catalog.format('SELECT %s.create_bucket_table(name => %L, meta_field => %L, time_field => %L, width => %L, capacity => %s, time_zone => %L, on_duplicate => %L, partitioned => %s)',
			x.schema, r.name, b.arguments[1], b.arguments[2], b.arguments[3],
			CASE WHEN b.arguments[4] OPERATOR(pg_catalog.~) '^[0-9]+$' THEN b.arguments[4] ELSE pg_catalog.quote_literal(b.arguments[4]) END,
			b.arguments[5], b.arguments[6], b.partitioned::pg_catalog.text) END, 1
	FROM bucket AS b CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) b.relid
	UNION ALL
	SELECT 'pg_catalog.pg_class'::pg_catalog.regclass, s.view, c.relid, c.attnum, 'subset', s.steps,
		pg_catalog.jsonb_build_object('child', s.child, 'key', s.key, 'fields', s.fields, 'order_by', s.order_by, 'max_size', s.max_size::pg_catalog.int4,
			'parent_key', c.parent_key, 'mode', c.mode),
		CASE WHEN pg_catalog.num_nulls(a.attname, s.steps, s.order_by, s.max_size, c.parent_key, c.mode) OPERATOR(pg_catalog.>) 0 THEN NULL
		WHEN s.are_columns THEN
			pg_catalog.format('SELECT %s.create_subset(parent => %L, column_name => %L, path => %L, child => %L, key => %L, fields => %L, order_by => %L, max_size => %s, parent_key => %L, mode => %L)',
				x.schema, r.name, a.attname, s.steps, s.child, s.key, s.fields, s.order_by, s.max_size, c.parent_key, c.mode)
		ELSE c.definition END, 1
	FROM subset AS s JOIN computed AS c ON c.objid OPERATOR(pg_catalog.=) s.objid CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) c.relid
	LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) c.relid AND a.attnum OPERATOR(pg_catalog.=) c.attnum
	UNION ALL
	SELECT 'pg_catalog.pg_class'::pg_catalog.regclass, c.view, c.relid, c.attnum, 'computed', c.steps,
		pg_catalog.jsonb_build_object('source', c.source, 'key', c.key, 'parent_key', c.parent_key, 'mode', c.mode),
		c.definition, 1
	FROM computed AS c
	WHERE NOT EXISTS (SELECT FROM subset AS s WHERE s.objid OPERATOR(pg_catalog.=) c.objid)
	UNION ALL
	SELECT 'pg_catalog.pg_trigger'::pg_catalog.regclass, t.oid, t.tgrelid, a.attnum, 'computed', '{}',
		pg_catalog.jsonb_build_object('column_name', t.arguments[1], 'pipeline', t.arguments[2]), pg_catalog.pg_get_triggerdef(t.oid), 1
	FROM trigger AS t
	LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) t.tgrelid AND a.attname::pg_catalog.text OPERATOR(pg_catalog.=) t.arguments[1]
	WHERE t.tgfoid OPERATOR(pg_catalog.=) 'compute_document()'::pg_catalog.regprocedure
	UNION ALL
	SELECT 'pg_catalog.pg_trigger'::pg_catalog.regclass, f.objid, f.relid, f.attnum, 'extended reference', CASE WHEN f.arguments[1] OPERATOR(pg_catalog.~) '^\{(?:(?:"(?:[^"\\]|\\.)*"|[^{}",\\ \t\n\r\v\f]+)(?:,(?:"(?:[^"\\]|\\.)*"|[^{}",\\ \t\n\r\v\f]+))*)?\}$' THEN f.arguments[1]::pg_catalog.text[] END,
		pg_catalog.jsonb_build_object('source', f.source, 'key', CASE WHEN f.arguments[2] OPERATOR(pg_catalog.~) '^\{(?:(?:"(?:[^"\\]|\\.)*"|[^{}",\\ \t\n\r\v\f]+)(?:,(?:"(?:[^"\\]|\\.)*"|[^{}",\\ \t\n\r\v\f]+))*)?\}$' THEN f.arguments[2]::pg_catalog.text[] END, 'fields', f.fields,
			'mode', f.mode, 'source_key', f.source_key, 'on_delete', f.arguments[3]),
		CASE WHEN pg_catalog.num_nulls(a.attname, f.source, f.fields, f.source_key, f.arguments[3], pg_catalog.array_position(f.fields, NULL)) OPERATOR(pg_catalog.=) 1 THEN
			pg_catalog.format('SELECT %s.create_extended_reference(relation => %L, column_name => %L, path => %L, source => %L, key => %L, fields => %L, mode => %L, source_key => %L, on_delete => %L)',
				x.schema, r.name, a.attname, f.arguments[1], f.source, f.arguments[2], f.fields, f.mode, f.source_key, f.arguments[3]) END, 1
	FROM reference AS f CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) f.relid
	LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) f.relid AND a.attnum OPERATOR(pg_catalog.=) f.attnum
	UNION ALL
	SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, p.objid, p.relid, p.attnum, 'polymorphic', ARRAY[p.discriminator],
		pg_catalog.jsonb_build_object('discriminator', p.discriminator, 'validate', p.validate),
		pg_catalog.format('SELECT %s.create_polymorphic(relation => %L, column_name => %L, discriminator => %L, validate => %s)',
			x.schema, r.name, a.attname, p.discriminator, p.validate::pg_catalog.text), 1
	FROM polymorphic AS p CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) p.relid
	JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) p.relid AND a.attnum OPERATOR(pg_catalog.=) p.attnum
	UNION ALL
	SELECT CASE WHEN v.view IS NULL THEN 'pg_catalog.pg_constraint'::pg_catalog.regclass ELSE 'pg_catalog.pg_class'::pg_catalog.regclass END, coalesce(v.view, p.objid), p.relid, p.attnum, 'polymorphic', ARRAY[p.discriminator],
		pg_catalog.jsonb_build_object('variant', variant.key, 'schema', variant.value, 'view_name', w.relname, 'validate', p.validate),
		pg_catalog.format('SELECT %s.add_variant(relation => %L, column_name => %L, variant => %L, schema => %L, view_name => %L, validate => %s)',
			x.schema, r.name, a.attname, variant.key, variant.value, w.relname, p.validate::pg_catalog.text), 2
	FROM polymorphic AS p CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) p.relid
	JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) p.relid AND a.attnum OPERATOR(pg_catalog.=) p.attnum
	CROSS JOIN LATERAL pg_catalog.jsonb_each(p.variants) AS variant
	LEFT JOIN variant_view AS v ON v.relid OPERATOR(pg_catalog.=) p.relid AND v.attnum OPERATOR(pg_catalog.=) p.attnum AND v.discriminator OPERATOR(pg_catalog.=) p.discriminator AND v.variant OPERATOR(pg_catalog.=) variant.key
	LEFT JOIN relation AS w ON w.oid OPERATOR(pg_catalog.=) v.view
	UNION ALL
	SELECT 'pg_catalog.pg_class'::pg_catalog.regclass, d.objid, d.relid, d.attnum, 'polymorphic', d.steps,
		pg_catalog.jsonb_build_object('discriminator', d.discriminator, 'descending', d.descending, 'index_name', d.index_name),
		pg_catalog.format('SELECT %s.create_discriminator_index(relation => %L, column_name => %L, discriminator => %L, path => %L, descending => %s, index_name => %L)',
			x.schema, r.name, a.attname, d.discriminator, d.steps, d.descending::pg_catalog.text, d.index_name), 3
	FROM discriminator AS d CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) d.relid
	JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) d.relid AND a.attnum OPERATOR(pg_catalog.=) d.attnum
	WHERE d.steps IS NOT NULL
	UNION ALL
	SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, c.objid, c.relid, c.attnum, 'schema validation', NULL,
		pg_catalog.jsonb_build_object('schema', c.arguments OPERATOR(pg_catalog.#>) '{1,value}'),
		CASE WHEN pg_catalog.num_nulls(a.attname, c.arguments OPERATOR(pg_catalog.#>) '{1,value}') OPERATOR(pg_catalog.=) 0 THEN
			pg_catalog.format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%s.doc_validate(%I, %L))%s', r.name, c.conname, x.schema, a.attname, c.arguments OPERATOR(pg_catalog.#>) '{1,value}',
				CASE WHEN c.convalidated THEN '' ELSE ' NOT VALID' END)
		ELSE pg_catalog.format('ALTER TABLE %s ADD CONSTRAINT %I %s', r.name, c.conname, pg_catalog.pg_get_constraintdef(c.objid)) END, 1
	FROM constraint_call AS c CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) c.relid
	LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) c.relid AND a.attnum OPERATOR(pg_catalog.=) c.attnum
	WHERE c.function OPERATOR(pg_catalog.=) 'doc_validate(jsonb,jsonb)'::pg_catalog.regprocedure
	UNION ALL
	SELECT 'pg_catalog.pg_trigger'::pg_catalog.regclass, v.objid, v.relid, v.attnum, 'schema versioning', ARRAY[v.version_field],
		pg_catalog.jsonb_build_object('current_version', v.current_version, 'upgrade', v.upgrade, 'version_field', v.version_field),
		CASE WHEN pg_catalog.num_nulls(a.attname, v.current_version, v.upgrade, v.version_field) OPERATOR(pg_catalog.=) 0 THEN
			pg_catalog.format('SELECT %s.create_versioning(relation => %L, column_name => %L, current_version => %s, upgrade => %L, version_field => %L)',
				x.schema, r.name, a.attname, v.current_version, v.upgrade, v.version_field) END, 1
	FROM version AS v CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) v.relid
	LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) v.relid AND a.attnum OPERATOR(pg_catalog.=) v.attnum
	UNION ALL
	SELECT CASE WHEN w.oid IS NULL THEN 'pg_catalog.pg_trigger'::pg_catalog.regclass ELSE 'pg_catalog.pg_class'::pg_catalog.regclass END, coalesce(w.oid, o.objid), o.relid, o.attnum, 'outlier', o.steps,
		pg_catalog.jsonb_build_object('max_size', o.max_size, 'overflow', w.relname, 'flag', o.flag),
		CASE WHEN pg_catalog.num_nulls(a.attname, o.steps, w.relname, o.flag) OPERATOR(pg_catalog.=) 0 AND pg_catalog.jsonb_typeof(o.max_size) OPERATOR(pg_catalog.=) 'number' THEN
			pg_catalog.format('SELECT %s.create_outlier(relation => %L, column_name => %L, path => %L, max_size => %s, overflow => %L, flag => %L)',
				x.schema, r.name, a.attname, o.steps, o.max_size, w.relname, o.flag) END, 1
	FROM outlier AS o CROSS JOIN extension AS x JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) o.relid
	LEFT JOIN relation AS w ON w.oid OPERATOR(pg_catalog.=) o.overflow
	LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) o.relid AND a.attnum OPERATOR(pg_catalog.=) o.attnum
)
SELECT e.relid::pg_catalog.regclass AS relation, a.attname AS column_name, e.pattern, p.path, e.options,
	o.type OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) o.identity AS object, e.definition
FROM entry AS e
JOIN relation AS r ON r.oid OPERATOR(pg_catalog.=) e.relid
LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid OPERATOR(pg_catalog.=) e.relid AND a.attnum OPERATOR(pg_catalog.=) e.attnum AND NOT a.attisdropped
CROSS JOIN LATERAL (
	SELECT pg_catalog.string_agg(CASE WHEN s.step OPERATOR(pg_catalog.~) '^[^."]+$' THEN s.step ELSE '"' OPERATOR(pg_catalog.||) pg_catalog.replace(s.step, '"', '""') OPERATOR(pg_catalog.||) '"' END, '.' ORDER BY s.n) AS path
	FROM pg_catalog.unnest(e.steps) WITH ORDINALITY AS s(step, n)) AS p
LEFT JOIN LATERAL pg_catalog.pg_identify_object(e.classid, e.objid, 0) AS o ON true
ORDER BY r.name COLLATE pg_catalog."C", e.attnum, e.pattern COLLATE pg_catalog."C", e.step, o.identity COLLATE pg_catalog."C", (e.options OPERATOR(pg_catalog.->>) 'variant') COLLATE pg_catalog."C";
COMMENT ON VIEW pattern_list IS
'the patterns that are configured in the database, a row each, as the catalogs show them; definition is the call that makes the same again where it is missing';
GRANT SELECT ON pattern_list TO PUBLIC;
