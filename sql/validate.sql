--
-- Schemas: doc_validate, doc_violations, and $jsonSchema in queries
--

-- a schema, and documents that violate it in every way; all violations are found
CREATE TABLE shape (schema jsonb);
INSERT INTO shape VALUES ('{
	"title": "Products", "description": "what is sold", "bsonType": "object", "required": ["sku", "price", "kind"], "additionalProperties": false, "minProperties": 2, "maxProperties": 9,
	"properties": {
		"sku": {"bsonType": "string", "pattern": "^[A-Z]+-[0-9]+$", "minLength": 4, "maxLength": 8},
		"price": {"bsonType": ["int", "double"], "minimum": 0, "exclusiveMinimum": true, "maximum": 1000},
		"kind": {"enum": ["book", "game", null, {"a": [1]}]},
		"pages": {"type": "number", "multipleOf": 4},
		"tags": {"type": "array", "minItems": 1, "maxItems": 3, "uniqueItems": true, "items": {"type": "string"}},
		"size": {"type": "object", "required": ["w"], "properties": {"w": {"minimum": 1}}, "additionalProperties": {"type": "number"}},
		"pair": {"items": [{"type": "string"}, {"type": "number"}], "additionalItems": false},
		"any": {"anyOf": [{"type": "string"}, {"minimum": 10}]},
		"one": {"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]},
		"all": {"allOf": [{"minimum": 10}, {"maximum": 5}, {"not": {"enum": [7]}}]}},
	"patternProperties": {"^x_": {"type": "boolean"}},
	"dependencies": {"pages": ["kind", "tags"], "pair": {"required": ["one"], "properties": {"any": {"type": "string"}}}}}');

CREATE TABLE sample (id int, doc jsonb);
INSERT INTO sample VALUES
	(1, '{"sku": "AB-1", "price": 10.50, "kind": "book"}'),
	(2, '{"sku": "AB-12345", "price": 1000, "kind": {"a": [1.0]}, "pages": 8, "tags": ["a", "b", "c"], "size": {"w": 1, "h": 2}, "pair": ["a", 1], "one": 4, "any": "text"}'),
	(3, '{"sku": "AB-1", "price": 1, "kind": null, "x_on": true, "any": 12, "one": 3}'),
	(4, '{}'),
	(5, '{"sku": "ab", "price": 0, "kind": "Book", "other": 1}'),
	(6, '{"sku": "AB-123456789", "price": 1000.01, "kind": {"a": [1, 2]}, "x_on": 1, "pages": 6}'),
	(7, '{"sku": 5, "price": "10", "kind": "game", "tags": []}'),
	(8, '{"sku": "AB-1", "price": 1, "kind": "game", "tags": ["a", "b", "a", 1], "size": {"h": "2", "w": 0}, "pair": [1, "a", null, null]}'),
	(9, '{"sku": "AB-1", "price": 1, "kind": "game", "any": 9, "one": 6, "all": 7, "pair": ["a", 1]}'),
	(10, '{"sku": "AB-1", "price": 1, "kind": "game", "one": 5, "pair": ["a"], "any": 11}'),
	(11, '[1]'), (12, '"text"'), (13, 'null'), (14, NULL);
SELECT id, doc_validate(doc, schema), doc @~ jsonb_build_object('$jsonSchema', schema) AS in_query,
	(SELECT count(*) FROM doc_violations(doc, schema)) AS violations FROM sample, shape ORDER BY id;
SELECT id, v.* FROM sample, shape, doc_violations(doc, schema) v ORDER BY id, path COLLATE "C", keyword, message COLLATE "C";

-- what says nothing about a value's type accepts it; no keyword asks for a field by itself
SELECT doc_validate(v, '{"minimum": 5, "maxLength": 1, "minItems": 3, "required": ["a"], "properties": {"b": {"type": "null"}}}') AS valid, v
FROM unnest('{7,1,"\"a\"","\"ab\"","[1,2,3]","[1]","{\"a\": 1}","{\"b\": null}","{\"a\": 1, \"b\": 1}",true,"null"}'::jsonb[]) v;
SELECT doc_validate(v, '{}') FROM unnest('{1,"{}","[]"}'::jsonb[]) v;

-- types: one table of values, all names
SELECT t AS type, string_agg(v::text, '  ' ORDER BY o) FILTER (WHERE doc_validate(v, jsonb_build_object('bsonType', t))) AS values
FROM unnest('{double,string,object,array,binData,undefined,objectId,bool,date,"null",regex,dbPointer,javascript,symbol,javascriptWithScope,int,timestamp,long,decimal,minKey,maxKey,number}'::text[]) t,
	unnest('{"null",0,1.0,2147483647,2147483648,-2147483649,9223372036854775807,9223372036854775808,1e20,0.5,"\"a\"",true,"{}","[]"}'::jsonb[]) WITH ORDINALITY u(v, o) GROUP BY t ORDER BY t;
SELECT t AS type, string_agg(v::text, '  ' ORDER BY o) FILTER (WHERE doc_validate(v, jsonb_build_object('type', t))) AS values
FROM unnest('{object,array,number,boolean,string,"null"}'::text[]) t, unnest('{"null",0,0.5,"\"a\"",true,"{}","[]"}'::jsonb[]) WITH ORDINALITY u(v, o) GROUP BY t ORDER BY t;

-- numbers are compared as numeric compares them
WITH n AS (SELECT n FROM unnest('{0,0.00,1,-1,9999,10000,10001,99990000,100000000,9999999999999999,10000000000000000,10000000000000001,0.5,-0.5,1.5,1e30,-1e30,1e-30,1e400,12345678.9,12345678}'::numeric[]) n)
SELECT count(*) AS pairs, count(*) FILTER (WHERE doc_validate(to_jsonb(a.n), jsonb_build_object('minimum', b.n)) <> (a.n >= b.n)
		OR doc_validate(to_jsonb(a.n), jsonb_build_object('maximum', b.n)) <> (a.n <= b.n)
		OR doc_validate(to_jsonb(a.n), jsonb_build_object('minimum', b.n, 'exclusiveMinimum', true)) <> (a.n > b.n)
		OR doc_validate(to_jsonb(a.n), jsonb_build_object('maximum', b.n, 'exclusiveMaximum', true)) <> (a.n < b.n)
		OR (b.n > 0 AND doc_validate(to_jsonb(a.n), jsonb_build_object('multipleOf', b.n)) <> (mod(a.n, b.n) = 0))) AS wrong
FROM n a, n b;

-- lengths are characters, of one byte or more
SELECT n, s AS string, doc_validate(to_jsonb(s), jsonb_build_object('minLength', n, 'maxLength', n)) = (length(s) = n) AS right
FROM unnest(ARRAY['', 'a', 'é', 'aé', '漢字', '😀', 'abcd']) s, generate_series(0, 4) n WHERE doc_validate(to_jsonb(s), jsonb_build_object('minLength', n, 'maxLength', n)) <> (length(s) = n);

-- an object of many fields is looked up in, one of few is walked through: the same answers
WITH d AS (SELECT n, (SELECT jsonb_object_agg('f' || i, i) FROM generate_series(1, n) i) AS doc FROM unnest('{1,5,20,100,1000}'::int[]) n)
SELECT n, (SELECT string_agg(concat_ws(' ', path, keyword), ', ') FROM doc_violations(doc, '{"properties": {"f1": {"type": "string"}, "f20": {"maximum": 1}}, "required": ["f5", "g"]}')) AS violations,
	(SELECT count(*) FROM doc_violations(doc, '{"properties": {"f1": {}}, "additionalProperties": false}')) AS additional
FROM d ORDER BY n;

-- keys sort by length first in jsonb: fields and required ones interleave
SELECT path FROM doc_violations('{"bb": 1, "dddd": 1}', '{"properties": {"a": {}, "ccc": {}}, "required": ["eeeee", "a", "bb", "ccc", "dddd", "bbb"]}');

-- uniqueItems: equal is what compares as equal
SELECT v, doc_validate(v, '{"uniqueItems": true}') FROM unnest('{"[]","[1]","[1, 1.0]","[1, true]","[0, false]","[null, null]","[{\"a\": 1, \"b\": 2}, {\"b\": 2, \"a\": 1}]","[[1], [2]]","[[1], [1]]","[\"a\", \"A\"]"}'::jsonb[]) v;
SELECT doc_validate((SELECT jsonb_agg(i) FROM generate_series(1, 10000) i), '{"uniqueItems": true}'), doc_validate((SELECT jsonb_agg(i % 9999) FROM generate_series(1, 10000) i), '{"uniqueItems": true}');

-- paths that need care: dots and quotes in names, indexes, the document itself
SELECT path, keyword, message FROM doc_violations('{"a.b": {"": [[1]]}, "\"": 1}', '{"maxProperties": 1, "properties": {"a.b": {"properties": {"": {"items": {"items": {"type": "string"}}}}}}, "additionalProperties": {"type": "null"}}');

-- in queries, alone, beside fields, under $and, $or, $nor
SELECT doc @~ '{"$jsonSchema": {"required": ["a"]}}' AS alone, doc @~ '{"$jsonSchema": {"required": ["a"]}, "a": {"$gt": 5}}' AS beside,
	doc @~ '{"$or": [{"$jsonSchema": {"required": ["b"]}}, {"a": 9}]}' AS in_or, doc @~ '{"$nor": [{"$jsonSchema": {"required": ["b"]}}]}' AS in_nor
FROM unnest('{"{\"a\": 9, \"list\": [{\"x\": 1}]}","{\"b\": 1, \"list\": [{\"x\": 1}, {\"x\": 1, \"y\": 2}]}"}'::jsonb[]) doc;
SELECT '5'::jsonb @~ '{"$jsonSchema": {"minimum": 6}}', '[1]'::jsonb @~ '{"$jsonSchema": {"items": {"type": "number"}}}';
SELECT '{}'::jsonb @~ '{"a": {"$jsonSchema": {}}}';
SELECT '{}'::jsonb @~ '{"a": {"$elemMatch": {"$jsonSchema": {}}}}';
SELECT '{"a": [{"x": 1}]}'::jsonb <~ '{"$pull": {"a": {"$jsonSchema": {}}}}';
SELECT doc_update('{"a": [1]}', '{"$set": {"a.$[e]": 2}}', '[{"$jsonSchema": {}}]');
SELECT '{}'::jsonb @~ '{"$jsonSchema": []}';

-- as in an index, a constraint and a generated column
CREATE TABLE checked (doc jsonb CHECK (doc_validate(doc, '{"required": ["a"]}')), valid boolean GENERATED ALWAYS AS (doc_validate(doc, '{"properties": {"a": {"type": "number"}}}')) STORED);
INSERT INTO checked VALUES ('{"a": 1}'), ('{"a": "1"}'), (NULL) RETURNING *;
INSERT INTO checked VALUES ('{"b": 1}');
CREATE INDEX ON checked (doc_validate(doc, '{"required": ["b"]}'));

-- a schema for each row, and one that changes between calls
SELECT doc_validate(v, s) FROM (VALUES ('1'::jsonb, '{"type": "number"}'::jsonb), ('1', '{"type": "string"}'), ('"a"', '{"type": "string"}'), ('"a"', '{"type": "number"}')) u(v, s);
SELECT doc_validate(NULL, '{}'), doc_validate('{}', NULL), (SELECT count(*) FROM doc_violations(NULL, '{}')), (SELECT count(*) FROM doc_violations('{}', NULL));

-- a malformed schema is refused, with the place
CREATE FUNCTION refusal(schema jsonb, OUT state text, OUT message text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM doc_validate('{}', schema);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;
SELECT r.* FROM unnest('{
	"[]","1","{\"properties\": []}","{\"properties\": {\"a\": 1}}","{\"properties\": {\"a\": {\"properties\": {\"b.c\": {\"minimum\": \"x\"}}}}}",
	"{\"nope\": 1}","{\"items\": [{}, {\"$ref\": \"#\"}]}","{\"allOf\": [{}, {\"format\": \"email\"}]}","{\"dependencies\": {\"a\": {\"default\": 1}}}","{\"not\": {\"id\": \"x\"}}","{\"definitions\": {}}","{\"$schema\": \"x\"}",
	"{\"type\": \"integer\"}","{\"type\": \"bool\"}","{\"bsonType\": \"boolean\"}","{\"type\": 1}","{\"type\": []}","{\"type\": [\"string\", 1]}","{\"type\": [\"string\", \"string\"]}","{\"type\": \"string\", \"bsonType\": \"string\"}",
	"{\"enum\": []}","{\"enum\": 1}","{\"enum\": [1, 1.0]}","{\"allOf\": []}","{\"anyOf\": {}}","{\"oneOf\": [1]}","{\"not\": []}",
	"{\"minimum\": \"1\"}","{\"exclusiveMinimum\": true}","{\"maximum\": 1, \"exclusiveMaximum\": 1}","{\"multipleOf\": 0}","{\"multipleOf\": -1}",
	"{\"minLength\": -1}","{\"maxLength\": 1.5}","{\"minItems\": null}","{\"maxProperties\": 1e30}","{\"pattern\": 1}","{\"pattern\": \"a(b\"}","{\"patternProperties\": {\"[\": {}}}","{\"pattern\": \"(?>a)\"}",
	"{\"items\": 1}","{\"items\": [1]}","{\"additionalItems\": 1}","{\"uniqueItems\": 1}","{\"additionalProperties\": \"no\"}",
	"{\"required\": []}","{\"required\": [\"a\", 1]}","{\"required\": [\"a\", \"a\"]}","{\"required\": \"a\"}","{\"dependencies\": {\"a\": []}}","{\"dependencies\": {\"a\": [\"b\", \"b\"]}}","{\"dependencies\": {\"a\": 1}}","{\"title\": 1}","{\"description\": []}"}'::jsonb[]) s, refusal(s) r;
SELECT doc_validate('{}', '{"properties": {"a": {"items": {"pattern": "a(b"}}}}');
SELECT * FROM doc_violations('{}', '{"type": "integer"}');
-- a number of 1.0 is whole
SELECT doc_validate('"abc"', '{"maxLength": 2.0}');
DROP TABLE shape, sample, checked;
DROP FUNCTION refusal;
