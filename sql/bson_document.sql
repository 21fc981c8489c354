-- BSON written by hand, byte by byte: type, key, value
CREATE FUNCTION doc(elements text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT decode(lpad(to_hex(((n & 255) << 24) | ((n >> 8 & 255) << 16) | ((n >> 16) << 8)), 8, '0') || replace(elements, ' ', '') || '00', 'hex')
	FROM (SELECT length(replace(elements, ' ', '')) / 2 + 5 AS n) s $$;
CREATE FUNCTION complaint(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	hint text;
BEGIN
	EXECUTE 'SELECT (' || query || ')::text' INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || ' ' || SQLERRM || CASE WHEN hint <> '' THEN ' (' || hint || ')' ELSE '' END;
END $$;

CREATE TABLE sample (n int GENERATED ALWAYS AS IDENTITY, what text, elements text);
INSERT INTO sample(what, elements) VALUES
	('nothing', ''),
	('double', '01 6100 000000000000f83f'),
	('double that is whole', '01 6100 0000000000001440'),
	('double of many digits', '01 6100 9a9999999999b93f 01 6200 555555555555d53f'),
	('double, largest', '01 6100 ffffffffffffef7f'),
	('double, smallest', '01 6100 0100000000000000'),
	('double, negative zero', '01 6100 0000000000000080'),
	('double, none and infinite', '01 6100 000000000000f87f 01 6200 000000000000f07f 01 6300 000000000000f0ff'),
	('string', '02 6100 03000000 c3a9 00'),
	('string that looks like a number', '02 6100 04000000 4e614e 00'),
	('document', '03 6100 0c000000 10 6200 01000000 00'),
	('array', '04 6100 13000000 10 3000 01000000 10 3100 02000000 00'),
	('array, its keys are not looked at', '04 6100 12000000 10 00 01000000 10 7800 02000000 00'),
	('empty array', '04 6100 05000000 00'),
	('binary', '05 6100 05000000 00 0102030405'),
	('binary, old', '05 6100 06000000 02 02000000 ffff'),
	('UUID', '05 6100 10000000 04 000102030405060708090a0b0c0d0e0f'),
	('UUID, old', '05 6100 10000000 03 000102030405060708090a0b0c0d0e0f'),
	('UUID of a wrong length', '05 6100 02000000 04 0001'),
	('MD5', '05 6100 10000000 05 000102030405060708090a0b0c0d0e0f'),
	('undefined', '06 6100'),
	('ObjectId', '07 6100 507f1f77bcf86cd799439011'),
	('boolean', '08 6100 01 08 6200 00'),
	('date', '09 6100 c5d8d6cc3b010000'),
	('date of a whole second', '09 6100 0000000000000000'),
	('date before 1970', '09 6100 ffffffffffffffff'),
	('date, the last of 9999', '09 6100 ffdb1fd277e60000'),
	('date, the first of 10000', '09 6100 00dc1fd277e60000'),
	('date, the first of the year 1', '09 6100 0028d3ed7cc7ffff'),
	('date before the year 1', '09 6100 ff27d3ed7cc7ffff'),
	('dates, the first and last', '09 6100 0000000000000080 09 6200 ffffffffffffff7f'),
	('null', '0a 6100'),
	('regular expression', '0b 6100 5e6100 696d00'),
	('regular expression, its options in disorder', '0b 6100 5e6100 6d696d00'),
	('pointer', '0c 6100 02000000 6200 507f1f77bcf86cd799439011'),
	('code', '0d 6100 02000000 7800'),
	('symbol', '0e 6100 02000000 7800'),
	('code with scope', '0f 6100 16000000 02000000 7800 0c000000 10 7900 01000000 00'),
	('int32', '10 6100 01000000 10 6200 ffffff7f 10 6300 00000080'),
	('timestamp', '11 6100 01000000 ffffffff'),
	('int64', '12 6100 0100000000000000 12 6200 ffffffffffffff7f 12 6300 0000000000000080 12 6400 0100000000002000'),
	('decimal', '13 6100 6e000000000000000000000000003c30 13 6200 01000000000000000000000000004630 13 6300 00000000000000000000000000003cb0'),
	('decimal, none and infinite', '13 6100 0000000000000000000000000000007c 13 6200 00000000000000000000000000000078 13 6300 000000000000000000000000000000f8'),
	('smallest and largest key', 'ff 6100 7f 6200'),
	('empty key', '10 00 01000000'),
	('keys with dollars and dots', '10 2466 00 01000000 10 612e62 00 02000000'),
	('reference', '03 6100 1a000000 02 2472656600 02000000 6300 10 24696400 01000000 00');

SELECT what, bson_to_jsonb(doc(elements)) AS relaxed FROM sample ORDER BY n;
SELECT what, bson_to_jsonb(doc(elements), 'canonical') AS canonical FROM sample ORDER BY n;
SELECT what, bson_to_jsonb(doc(elements), mode => 'plain') AS plain FROM sample
WHERE bson_to_jsonb(doc(elements), 'plain')::text <> bson_to_jsonb(doc(elements))::text ORDER BY n;

-- and back, to the same bytes: the canonical form keeps everything but the keys of an array and the order of options
SELECT what, jsonb_to_bson(bson_to_jsonb(doc(elements), 'canonical')) AS back
FROM sample WHERE jsonb_to_bson(bson_to_jsonb(doc(elements), 'canonical')) <> doc(elements);
SELECT count(*), bool_and(bson_size(bson_to_jsonb(doc(elements), 'canonical')) = length(jsonb_to_bson(bson_to_jsonb(doc(elements), 'canonical')))) AS size FROM sample;
-- the relaxed form loses what jsonb has no number for, and where an int32 would do for an int64
SELECT what, encode(jsonb_to_bson(bson_to_jsonb(doc(elements))), 'hex') AS back
FROM sample WHERE jsonb_to_bson(bson_to_jsonb(doc(elements))) <> doc(elements) ORDER BY n;
-- PostgreSQL reads the dates and numbers of the plain form as the same
SET timezone = 'UTC';
SELECT bson_to_jsonb(doc('09 6100 c5d8d6cc3b010000'), 'plain')->>'a' AS text, (bson_to_jsonb(doc('09 6100 c5d8d6cc3b010000'), 'plain')->>'a')::timestamptz = to_timestamp(1356351330.501) AS same;
SELECT count(*), bool_and(extract(epoch FROM (bson_to_jsonb(jsonb_to_bson(jsonb_build_object('a', jsonb_build_object('$date', jsonb_build_object('$numberLong', ms::text)))), 'plain')->>'a')::timestamptz) * 1000 = ms) AS same
FROM (SELECT (-62135596800000 + i::bigint * 315537897599999 / 1000)::bigint AS ms FROM generate_series(0, 1000) i) s;
SELECT count(*), bool_and((bson_to_jsonb(d, mode)->>'a')::float8 = f) AS same, bool_and((bson_to_jsonb(d, mode)->'a')::text::numeric = f::text::numeric) AS as_text
FROM (SELECT sin(i) * 10::float8 ^ (i % 600 - 300) AS f FROM generate_series(1, 5000) i) f,
	LATERAL (SELECT jsonb_to_bson(jsonb_build_object('a', jsonb_build_object('$numberDouble', f::text))) AS d) d, unnest('{relaxed,plain}'::text[]) mode;
SELECT count(*), bool_and(bson_to_jsonb(jsonb_to_bson(jsonb_build_object('a', i))) = jsonb_build_object('a', i)) AS same
FROM (SELECT trunc(s * (10::numeric ^ e + d)) AS i FROM generate_series(0, 18) e, unnest('{-1,0,1}'::int[]) d, unnest('{-1,1}'::int[]) s) i;

-- numbers of jsonb: the first type that is the same
SELECT number, bson_to_jsonb(jsonb_to_bson(jsonb_build_object('a', number::numeric)), 'canonical')->'a' AS written
FROM unnest(ARRAY['0', '-0', '0.0', '1', '1.0', '-2147483648', '2147483648', '-9223372036854775808', '9223372036854775807', '9223372036854775808',
	'0.1', '1.50', '0.1000000000000000055511151231257827', '3.14159265358979323846', '123456789012345678901234567890.1234',
	'1e300', '1e308', '1.0e22', '1e6144', '1e-6176', '1234567890123456789012345678901234', '1234567890123456789012345678901234e10']) WITH ORDINALITY n(number, i) ORDER BY i;
SELECT number, complaint(format('jsonb_to_bson(jsonb_build_object(''a'', jsonb_build_array(%s::numeric)))', number)) AS complaint
FROM unnest(ARRAY['12345678901234567890123456789012345', '1e6145', '1e-6177']) number;

-- wrappers, right ones in their several forms
SELECT given, bson_to_jsonb(jsonb_to_bson(jsonb_build_object('a', given::jsonb)), 'canonical')->'a' AS canonical
FROM unnest(ARRAY['{"$uuid": "00010203-0405-0607-0809-0A0B0C0D0E0F"}', '{"$binary": "AQI=", "$type": "80"}', '{"$binary": {"base64": "AQI=", "subType": "0"}}',
	'{"$regex": "^a", "$options": "mi"}', '{"$regularExpression": {"pattern": "^a", "options": "mmi"}}',
	'{"$date": "2026-09-02T10:00:01Z"}', '{"$date": "2026-09-02T10:00:01.5Z"}', '{"$date": "2026-09-02T12:00:01.123+02:00"}', '{"$date": "2026-09-02T08:00:01.123000-0200"}',
	'{"$date": "2026-09-02T10:00+00"}', '{"$date": "0001-01-01T00:00:00Z"}', '{"$date": "2024-02-29T23:59:59.999Z"}',
	'{"$numberDecimal": "1e3"}', '{"$numberDecimal": "0.000001234567890123456789012345678901234"}', '{"$numberDecimal": "0E99999"}', '{"$numberDecimal": "nan"}', '{"$numberDecimal": "-inf"}', '{"$numberDouble": "1e0"}', '{"$numberDouble": "4.9e-324"}',
	'{"$code": "x", "$scope": {"d": {"$date": "1970-01-01T00:00:00Z"}}}']) WITH ORDINALITY w(given, i) ORDER BY i;
-- objects that are none, and go through as they are
SELECT given, bson_to_jsonb(jsonb_to_bson(jsonb_build_object('a', given::jsonb))) = jsonb_build_object('a', given::jsonb) AS same
FROM unnest(ARRAY['{"$ref": "#/defs/x"}', '{"$foo": 1}', '{"$ref": "c", "$id": {"$oid": "0123456789abcdef01234567"}}', '{"$ref": "c", "$id": {"x": [1]}, "$db": "d", "extra": 1}',
	'{"$type": "string"}', '{"$type": 2}', '{"$regex": "^a"}', '{"$regex": {"$regularExpression": {"pattern": "a", "options": ""}}, "$options": "i"}', '{"$regex": "a", "$options": "i", "b": 1}',
	'{"$scope": {}}', '{"$options": "i"}', '{"$": 1, "": 2, ".": 3}', '{"t": 1, "i": 2}']) WITH ORDINALITY w(given, i) ORDER BY i;
-- a reference's fields have an order
SELECT convert_from(substring(bson from position('\x2472656600'::bytea in bson) for 4), 'UTF8') AS first,
	position('$ref'::bytea in bson) < position('$id'::bytea in bson) AND position('$id'::bytea in bson) < position('$db'::bytea in bson) AND position('$db'::bytea in bson) < position('\x1061'::bytea in bson) AS in_order
FROM jsonb_to_bson('{"r": {"a": 1, "$db": "d", "$id": 1, "$ref": "c"}}') bson;

-- wrong ones
SELECT given, complaint(format('jsonb_to_bson(%L)', jsonb_build_object('a', jsonb_build_array(given::jsonb)))) AS complaint
FROM unnest(ARRAY['{"$oid": "123"}', '{"$oid": "0123456789abcdef01234567", "x": 1}', '{"$oid": 42}', '{"$oid": "0123456789abcdef0123456g"}',
	'{"$numberInt": "2147483648"}', '{"$numberInt": "-2147483649"}', '{"$numberInt": ""}', '{"$numberInt": "-"}', '{"$numberInt": " 1"}', '{"$numberInt": "1-"}',
	'{"$numberLong": "9223372036854775808"}', '{"$numberDouble": "1e309"}', '{"$numberDouble": "1e-400"}', '{"$numberDouble": "0x10"}', '{"$numberDouble": ""}', '{"$numberDouble": "infinity"}',
	'{"$numberDecimal": "1E99999999999"}', '{"$numberDecimal": "1E+6145"}', '{"$numberDecimal": "1E-6177"}', '{"$numberDecimal": "12345678901234567890123456789012345"}', '{"$numberDecimal": ""}', '{"$numberDecimal": "x"}', '{"$numberDecimal": "1 "}',
	'{"$binary": "x", "$type": "00"}', '{"$binary": "AQI=", "$type": 0}', '{"$binary": {"base64": "AQI=", "subType": "100"}}', '{"$binary": "AQI="}',
	'{"$date": 42}', '{"$date": "2026-09-02"}', '{"$date": "2026-09-02T10:00:01"}', '{"$date": "2026-02-29T10:00:01Z"}', '{"$date": "2026-09-02T10:00:01.1234Z"}', '{"$date": "2026-09-02T24:00:00Z"}', '{"$date": "10000-01-01T00:00:00Z"}', '{"$date": {"$numberInt": "1"}}',
	'{"$timestamp": {"t": -1, "i": 1}}', '{"$timestamp": {"t": 4294967296, "i": 1}}', '{"$timestamp": {"t": 1.5, "i": 1}}',
	'{"$regularExpression": {"pattern": "a", "options": "g"}}', '{"$code": "x", "$scope": 1}', '{"$dbPointer": {"$ref": "b", "$id": {"$oid": "5"}}}', '{"$minKey": 2}', '{"$maxKey": "1"}', '{"$undefined": false}', '{"$symbol": 1}', '{"$uuid": "0001"}']) WITH ORDINALITY w(given, i) ORDER BY i;
SELECT given, complaint(format('jsonb_to_bson(%L)', given)) AS complaint FROM unnest(ARRAY['1', 'null', '"a"', '[]', '{"$oid": "0123456789abcdef01234567"}']) given;

-- NUL, characters, keys
SELECT mode, complaint(format('bson_to_jsonb(doc(''03 6100 21000000 04 6200 19000000 02 3000 02000000 7800 02 3100 04000000 79007a00 00 00''), on_nul => %L)', mode)) AS nul FROM unnest('{error,strip,replace,NULL}'::text[]) mode;
SELECT what, complaint(format('bson_to_jsonb(doc(%L), ''plain'', on_nul => ''strip'')', elements)) AS complaint
FROM (VALUES ('bytes FF FE', '02 6100 03000000 fffe00'), ('a lone C3', '02 6100 02000000 c300'), ('a surrogate', '02 6100 04000000 eda08000'), ('overlong', '02 6100 03000000 c08000'), ('beyond Unicode', '02 6100 05000000 f490808000'),
	('the replacement character', '02 6100 04000000 efbfbd00'), ('a key', '10 ff00 01000000'), ('in an array', '04 6100 11000000 0a 3000 02 3100 02000000 c300 00'), ('behind a NUL', '02 6100 03000000 00ff00'),
	('a pattern', '0b 6100 ff00 00'), ('its options', '0b 6100 00 ff00'), ('code', '0d 6100 02000000 ff00'), ('a scope', '0f 6100 18000000 02000000 7800 0e000000 02 7900 02000000 ff00 00'), ('a decimal of 35 digits', '13 6100 6effffffffffffff1dffffffffff1d30'), ('a pointer', '0c 6100 02000000 ff00 507f1f77bcf86cd799439011')) v(what, elements);
SELECT complaint(format('bson_to_jsonb(doc(''10 6100 01000000 10 6200 02000000 10 6100 03000000''), on_duplicate => %L)', given)) AS duplicate FROM unnest('{error,last,NULL}'::text[]) given;
SELECT complaint(format('bson_to_jsonb(doc(''04 6200 24000000 0a 3000 03 3100 19000000 02 7800 01000000 00 0a 7900 02 7800 02000000 7a00 00 00''), on_duplicate => %L)', given)) AS duplicate FROM unnest('{error,last}'::text[]) given;

-- what is no BSON
SELECT bytes, complaint(format('bson_to_jsonb(%L)', bytes)) AS complaint
FROM unnest(ARRAY['\x', '\x00', '\x05000000', '\x0500000001', '\x0500000000', '\x0400000000', '\xffffffff00', '\x0600000000', '\x050000000000', '\x0c0000001061000100000000', '\x0c000000106100010000000000',
	'\x0b00000010610001000000', '\x080000000a610000', '\x0800000014610000', '\x090000000861000200', '\x0c0000000861000000000000',
	'\x1000000003610000000000000000000000', '\x100000000361000400000000000000000000']::bytea[]) WITH ORDINALITY b(bytes, i) ORDER BY i;
SELECT complaint(call) FROM unnest(ARRAY[$$bson_to_jsonb('\x0500000000', 'readable')$$, $$bson_to_jsonb('\x0500000000', on_duplicate => 'first')$$, $$bson_to_jsonb('\x0500000000', on_nul => '')$$]) call;
SELECT bson_to_jsonb(NULL) IS NULL AS document, bson_to_jsonb('\x0500000000', NULL, NULL, NULL) AS options, jsonb_to_bson(NULL) IS NULL AS strict, bson_size(NULL) IS NULL AS size, bson_size('{}') AS empty;

-- every document cut anywhere, and every byte of it changed, is an error of the documented classes or a document that is the same when written and read again
CREATE FUNCTION state(bson bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	doc jsonb;
BEGIN
	doc := bson_to_jsonb(bson, 'canonical', 'last', 'strip');
	RETURN CASE WHEN bson_to_jsonb(jsonb_to_bson(doc), 'canonical') = doc THEN 'same' ELSE 'other' END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SELECT state(substring(d for at)) AS state, count(*) > 0 AS some FROM sample, doc(elements) d, generate_series(0, length(d) - 1) at GROUP BY 1 ORDER BY 1;
SELECT state(set_byte(d, at, (get_byte(d, at) + change) & 255)) AS state, count(*) > 0 AS some
FROM sample, doc(elements) d, generate_series(0, length(d) - 1) at, unnest('{1,-1,16,127,128,250}'::int[]) change GROUP BY 1 ORDER BY 1;

-- depth
CREATE FUNCTION nested(levels int) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	bson bytea := doc('');
BEGIN
	FOR i IN 1 .. levels LOOP
		bson := doc('03 6100 ' || encode(bson, 'hex'));
	END LOOP;
	RETURN bson;
END $$;
SELECT levels, bson_to_jsonb(nested(levels)) = (repeat('{"a": ', levels) || '{}' || repeat('}', levels))::jsonb AS same,
	jsonb_to_bson(bson_to_jsonb(nested(levels))) = nested(levels) AS back FROM unnest('{1,100,201,500}'::int[]) levels;

-- a stream
SELECT bson_documents(doc('10 6100 01000000') || doc('') || doc('02 6200 02000000 7800'), 'canonical');
SELECT count(*) FROM bson_documents('');
SELECT count(*) FROM bson_documents(NULL);
SELECT n, doc FROM bson_documents((SELECT string_agg(jsonb_to_bson(jsonb_build_object('n', i)), '' ORDER BY i) FROM generate_series(1, 10000) i)) WITH ORDINALITY d(doc, n) WHERE n IN (1, 10000);
-- cut short: two documents of 12 bytes
SELECT bytes, complaint(format('(SELECT count(*) FROM bson_documents(%L))', substring(doc('10 6100 01000000') || doc('10 6100 01000000') for bytes))) AS complaint FROM unnest('{12,13,15,16,19,23,24}'::int[]) bytes;
SELECT complaint(format('(SELECT array_agg(d) FROM bson_documents(doc('''') || doc(%L) || doc('''')) d)', elements)) AS complaint
FROM unnest(ARRAY['02 6100 02000000 c300', '03 6100 21000000 04 6200 19000000 02 3000 02000000 7800 02 3100 04000000 79007a00 00 00', '10 6100 01000000 10 6100 02000000']) elements;
SELECT bson_documents(doc('10 6100 01000000 10 6100 02000000') || doc('02 6100 03000000 780000'), 'plain', on_duplicate => 'last', on_nul => 'replace');
SELECT complaint($$(SELECT count(*) FROM bson_documents(doc('') || '\xffffff7f'))$$), complaint($$(SELECT count(*) FROM bson_documents('\x0000000000'))$$), complaint($$(SELECT count(*) FROM bson_documents('\x1f8b08000000000000'))$$);

DROP TABLE sample;
DROP FUNCTION complaint, state, nested, doc;
