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
-- 2. Attribute pattern
--

--
-- 3. Bucket pattern
--

--
-- 4. Subset pattern
--

--
-- 9. BSON
--
