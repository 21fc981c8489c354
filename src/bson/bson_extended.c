/*
 * bson/bson_extended.c
 *		Extended JSON's wrappers: objects that stand for values of BSON.
 *
 * An object is a wrapper if it has a field of a wrapper's name.  It must then be
 * a right one: what looks like a value and is none would be changed silently if
 * it were written as a document.  All other names that begin with $ are names.
 * Of the older form, v1, those remain that v2 does not write otherwise: $binary
 * with $type, and $regex with $options, which are also operators of the query
 * language and so have to be strings in order to count.
 */
#include "postgres.h"

#include "utils/float.h"

#include "write.h"

/* A wrapper's field, the one that may stand beside it, and what makes it right. */
typedef struct Wrapper
{
	const char *name;
	const char *partner;		/* NULL: none may */
	bool		(*write) (const Place *place, const JsonbValue *value, const JsonbValue *partner);
	const char *expected;
} Wrapper;

/* The two fields of an object that has no others. */
static bool
two_fields(const JsonbValue *object, const char *a, JsonbValue *a_value, const char *b,
		   JsonbValue *b_value)
{
	return value_is_object(object) && value_count(object) == 2 &&
		value_get_cstring(object, a, a_value) && value_get_cstring(object, b, b_value);
}

/* A value that must be a string, null-terminated and in UTF-8; NULL if it is none. */
static const char *
string_text(const JsonbValue *value, int *len)
{
	return value->type == jbvString ? bson_text(value, len) : NULL;
}

static bool
parse_oid(const JsonbValue *value, bson_oid_t *oid)
{
	int			len;
	const char *digits = string_text(value, &len);

	if (digits == NULL || len != 24 || !bson_oid_is_valid(digits, len))
		return false;
	bson_oid_init_from_string(oid, digits);
	return true;
}

/* A whole number in decimal digits, with a sign before it or none. */
static bool
parse_integer(const JsonbValue *value, int64 least, int64 greatest, int64 *result)
{
	int			len;
	const char *digits = string_text(value, &len);
	char	   *end;

	if (digits == NULL || len == 0 || strspn(digits, "-0123456789") != len)
		return false;
	errno = 0;
	*result = strtoll(digits, &end, 10);
	return *end == '\0' && end[-1] != '-' && errno == 0 && *result >= least && *result <= greatest;
}

/* {"$numberLong": "42"} */
static bool
parse_wrapped_long(const JsonbValue *value, int64 *result)
{
	JsonbValue	digits;

	return value_is_object(value) && value_count(value) == 1 &&
		value_get_cstring(value, "$numberLong", &digits) &&
		parse_integer(&digits, PG_INT64_MIN, PG_INT64_MAX, result);
}

static bool
write_oid(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	bson_oid_t	oid;

	if (!parse_oid(value, &oid))
		return false;
	bson_write_check(bson_append_oid(place->bson, place->key, place->len, &oid));
	return true;
}

static bool
write_symbol(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	int			len;
	const char *s = string_text(value, &len);

	if (s == NULL)
		return false;
	bson_write_check(bson_append_symbol(place->bson, place->key, place->len, s, len));
	return true;
}

static bool
write_number_int(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	int64		i;

	if (!parse_integer(value, PG_INT32_MIN, PG_INT32_MAX, &i))
		return false;
	bson_write_check(bson_append_int32(place->bson, place->key, place->len, (int32) i));
	return true;
}

static bool
write_number_long(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	int64		i;

	if (!parse_integer(value, PG_INT64_MIN, PG_INT64_MAX, &i))
		return false;
	bson_write_check(bson_append_int64(place->bson, place->key, place->len, i));
	return true;
}

/* Numbers that are too large or too small for a double are none. */
static bool
write_number_double(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	int			len;
	const char *digits = string_text(value, &len);
	char	   *end;
	double		d;

	if (digits == NULL)
		return false;
	if (strcmp(digits, "NaN") == 0)
		d = get_float8_nan();
	else if (strcmp(digits, "Infinity") == 0)
		d = get_float8_infinity();
	else if (strcmp(digits, "-Infinity") == 0)
		d = -get_float8_infinity();
	else
	{
		if (len == 0 || strspn(digits, "+-0123456789.eE") != len)
			return false;
		errno = 0;
		d = strtod(digits, &end);
		if (*end != '\0' || !isfinite(d) || (errno != 0 && d == 0))
			return false;
	}
	bson_write_check(bson_append_double(place->bson, place->key, place->len, d));
	return true;
}

/* libbson makes NaN of what does not fit, and does not always say so. */
static bool
write_number_decimal(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	int			len;
	const char *digits = string_text(value, &len);
	bson_decimal128_t decimal;
	char		text[BSON_DECIMAL128_STRING];

	if (digits == NULL || !bson_decimal128_from_string(digits, &decimal))
		return false;
	bson_decimal128_to_string(&decimal, text);
	if (strcmp(text, BSON_DECIMAL128_NAN) == 0 && pg_strcasecmp(digits, "nan") != 0)
		return false;
	bson_write_check(bson_append_decimal128(place->bson, place->key, place->len, &decimal));
	return true;
}

/* A type of binary data in one or two hexadecimal digits; -1 if it is none. */
static int
parse_subtype(const JsonbValue *value)
{
	int			len;
	const char *digits = string_text(value, &len);

	if (digits == NULL || len < 1 || len > 2 || strspn(digits, "0123456789abcdefABCDEF") != len)
		return -1;
	return strtol(digits, NULL, 16);
}

static bool
write_binary(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	JsonbValue	base64;
	JsonbValue	type;
	int			subtype;
	int			len;
	char	   *bytes;

	if (partner != NULL)
	{
		base64 = *value;
		type = *partner;
	}
	else if (!two_fields(value, "base64", &base64, "subType", &type))
		return false;
	subtype = parse_subtype(&type);
	if (subtype < 0 || base64.type != jbvString)
		return false;
	bytes = base64_parse(&base64, &len);
	if (bytes == NULL)
		return false;
	bson_write_check(bson_append_binary(place->bson, place->key, place->len,
										(bson_subtype_t) subtype, (const uint8 *) bytes, len));
	return true;
}

static bool
write_uuid(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	uint8		bytes[16];

	if (value->type != jbvString || !uuid_parse(value, bytes))
		return false;
	bson_write_check(bson_append_binary(place->bson, place->key, place->len, BSON_SUBTYPE_UUID,
										bytes, sizeof(bytes)));
	return true;
}

static bool
write_code(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	int			len;
	const char *code = string_text(value, &len);
	bson_t		scope;

	if (code == NULL || (partner != NULL && !value_is_object(partner)))
		return false;
	if (partner == NULL)
	{
		bson_write_check(bson_append_code(place->bson, place->key, place->len, code));
		return true;
	}
	bson_init(&scope);
	bson_write_fields(place, &scope, partner);
	bson_write_check(bson_append_code_with_scope(place->bson, place->key, place->len, code, &scope));
	bson_destroy(&scope);
	return true;
}

/* A whole number of 32 bits without a sign. */
static bool
parse_uint32(const JsonbValue *value, uint32 *result)
{
	int64		i;

	if (value->type != jbvNumeric || !number_to_int64(value->val.numeric, &i) || i < 0 ||
		i > PG_UINT32_MAX)
		return false;
	*result = (uint32) i;
	return true;
}

static bool
write_timestamp(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	JsonbValue	t;
	JsonbValue	i;
	uint32		seconds;
	uint32		increment;

	if (!two_fields(value, "t", &t, "i", &i) || !parse_uint32(&t, &seconds) ||
		!parse_uint32(&i, &increment))
		return false;
	bson_write_check(bson_append_timestamp(place->bson, place->key, place->len, seconds, increment));
	return true;
}

/* libbson would leave out options that it does not know. */
static bool
append_regex(const Place *place, const JsonbValue *pattern, const JsonbValue *options)
{
	int			len;
	int			options_len;
	const char *pattern_text = string_text(pattern, &len);
	const char *options_text = string_text(options, &options_len);

	if (pattern_text == NULL || options_text == NULL ||
		strspn(options_text, "ilmsux") != options_len)
		return false;
	bson_write_check(bson_append_regex_w_len(place->bson, place->key, place->len, pattern_text, len,
											 options_text));
	return true;
}

static bool
write_regex(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	JsonbValue	pattern;
	JsonbValue	options;

	return two_fields(value, "pattern", &pattern, "options", &options) &&
		append_regex(place, &pattern, &options);
}

static bool
write_regex_v1(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	return append_regex(place, value, partner);
}

static bool
write_dbpointer(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	JsonbValue	ref;
	JsonbValue	id;
	JsonbValue	digits;
	bson_oid_t	oid;
	int			len;

	if (!two_fields(value, "$ref", &ref, "$id", &id) || ref.type != jbvString ||
		!value_is_object(&id) || value_count(&id) != 1 ||
		!value_get_cstring(&id, "$oid", &digits) || !parse_oid(&digits, &oid))
		return false;
	bson_write_check(bson_append_dbpointer(place->bson, place->key, place->len,
										   bson_text(&ref, &len), &oid));
	return true;
}

static bool
write_date(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	int64		milliseconds;

	if (value->type == jbvString)
	{
		if (!date_parse(value->val.string.val, value->val.string.len, &milliseconds))
			return false;
	}
	else if (!parse_wrapped_long(value, &milliseconds))
		return false;
	bson_write_check(bson_append_date_time(place->bson, place->key, place->len, milliseconds));
	return true;
}

static bool
is_one(const JsonbValue *value)
{
	int64		i;

	return value->type == jbvNumeric && number_to_int64(value->val.numeric, &i) && i == 1;
}

static bool
write_minkey(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	if (!is_one(value))
		return false;
	bson_write_check(bson_append_minkey(place->bson, place->key, place->len));
	return true;
}

static bool
write_maxkey(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	if (!is_one(value))
		return false;
	bson_write_check(bson_append_maxkey(place->bson, place->key, place->len));
	return true;
}

static bool
write_undefined(const Place *place, const JsonbValue *value, const JsonbValue *partner)
{
	if (value->type != jbvBool || !value->val.boolean)
		return false;
	bson_write_check(bson_append_undefined(place->bson, place->key, place->len));
	return true;
}

static const Wrapper wrappers[] = {
	{"$oid", NULL, write_oid, "a string of 24 hexadecimal digits"},
	{"$date", NULL, write_date, "a date in ISO 8601 to the millisecond, with a time zone, or its milliseconds in $numberLong"},
	{"$numberInt", NULL, write_number_int, "a whole number of 32 bits in a string"},
	{"$numberLong", NULL, write_number_long, "a whole number of 64 bits in a string"},
	{"$numberDouble", NULL, write_number_double, "a number of double precision in a string"},
	{"$numberDecimal", NULL, write_number_decimal, "a decimal number of at most 34 digits in a string"},
	{"$binary", "$type", write_binary, "an object of base64 and subType, which are strings of base64 and of two hexadecimal digits"},
	{"$uuid", NULL, write_uuid, "a UUID in a string"},
	{"$regularExpression", NULL, write_regex, "an object of pattern and options, which are strings, the options of the letters ilmsux"},
	{"$timestamp", NULL, write_timestamp, "an object of t and i, which are whole numbers of 32 bits without a sign"},
	{"$code", "$scope", write_code, "a string, beside a $scope that is an object or none"},
	{"$symbol", NULL, write_symbol, "a string"},
	{"$dbPointer", NULL, write_dbpointer, "an object of $ref, a string, and $id, an ObjectId"},
	{"$minKey", NULL, write_minkey, "1"},
	{"$maxKey", NULL, write_maxkey, "1"},
	{"$undefined", NULL, write_undefined, "true"},
};

static const Wrapper regex_v1 = {"$regex", "$options", write_regex_v1, "a string, beside $options of the letters ilmsux"};

static const Wrapper *
find_wrapper(const JsonbValue *object)
{
	JsonbWalk	walk;
	JsonbValue	key;
	JsonbValue	value;
	JsonbValue	pattern;

	walk_begin(&walk, object->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		if (key.val.string.len < 2 || key.val.string.val[0] != '$')
			continue;
		for (int i = 0; i < lengthof(wrappers); i++)
			if (value_is_string(&key, wrappers[i].name))
				return &wrappers[i];
	}
	if (two_fields(object, "$regex", &pattern, "$options", &value) &&
		pattern.type == jbvString && value.type == jbvString)
		return &regex_v1;
	return NULL;
}

/* The name of the wrapper that an object is or looks like; NULL if it is none. */
const char *
wrapper_found(const JsonbValue *object)
{
	const Wrapper *wrapper = find_wrapper(object);

	return wrapper == NULL || wrapper == &regex_v1 ? NULL : wrapper->name;
}

/*
 * Write the value that an object stands for.  False if it is no wrapper; 22023 if
 * it is a wrong one.
 */
bool
wrapper_write(const Place *place, const JsonbValue *object)
{
	const Wrapper *wrapper = find_wrapper(object);
	JsonbValue	value;
	JsonbValue	partner;
	bool		has_partner;

	if (wrapper == NULL)
		return false;
	value_get_cstring(object, wrapper->name, &value);
	has_partner = wrapper->partner != NULL && value_get_cstring(object, wrapper->partner, &partner);
	if (value_count(object) != (has_partner ? 2 : 1) ||
		!wrapper->write(place, &value, has_partner ? &partner : NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid %s at \"%s\": %s", wrapper->name, place_path(place),
						value_to_cstring(object)),
				 errdetail("The value of %s must be %s, and no other field may stand beside it.",
						   wrapper->name, wrapper->expected)));
	return true;
}
