/*
 * bson/bson_write.c
 *		jsonb to BSON.
 *
 * The document is read where it lies and appended to a bson_t, whose memory is
 * palloc'd.  A number becomes the first of int32, int64, double and Decimal128
 * that is the same number, and a double if it is written with a point: 1.0 is not
 * 1 in BSON.  Nothing is rounded.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "write.h"

static void write_value(const Place *place, const JsonbValue *value);

/* The path of a place for messages; palloc'd. */
char *
place_path(const Place *place)
{
	char	   *key = pnstrdup(place->name.val.string.val, place->name.val.string.len);
	char	   *path = place->parent == NULL ? key : psprintf("%s.%s", place_path(place->parent), key);

	return text_for_message(path, strlen(path));
}

/* 54000 if libbson could not append, which it can unless the document is too large. */
void
bson_write_check(bool written)
{
	if (!written)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("BSON document is too large"),
				 errdetail("It may have 2147483647 bytes.")));
}

/* A string in UTF-8, null-terminated; palloc'd. */
const char *
bson_text(const JsonbValue *text, int *len)
{
	char	   *s = pnstrdup(text->val.string.val, text->val.string.len);
	char	   *utf8 = pg_server_to_any(s, text->val.string.len, PG_UTF8);

	*len = strlen(utf8);
	return utf8;
}

/* A whole number with no point that fits into 64 bits. */
static bool
write_int(const Place *place, const char *digits)
{
	int64		i;
	char	   *end;

	errno = 0;
	i = strtoll(digits, &end, 10);
	if (*end != '\0' || errno != 0)
		return false;
	if (i >= PG_INT32_MIN && i <= PG_INT32_MAX)
		bson_write_check(bson_append_int32(place->bson, place->key, place->len, (int32) i));
	else
		bson_write_check(bson_append_int64(place->bson, place->key, place->len, i));
	return true;
}

/* A number with a point whose digits are those of a double. */
static bool
write_double(const Place *place, const char *digits, Numeric number)
{
	double		d;

	if (strchr(digits, '.') == NULL)
		return false;
	errno = 0;
	d = strtod(digits, NULL);
	if (!isfinite(d) || number_compare(number_from_double(d, 0), number) != 0)
		return false;
	bson_write_check(bson_append_double(place->bson, place->key, place->len, d));
	return true;
}

static bool
write_decimal(const Place *place, const char *digits)
{
	bson_decimal128_t decimal;

	if (!bson_decimal128_from_string(digits, &decimal))
		return false;
	bson_write_check(bson_append_decimal128(place->bson, place->key, place->len, &decimal));
	return true;
}

/* The first type that is the same number; 22003 if none is. */
static void
write_number(const Place *place, const JsonbValue *value)
{
	char	   *digits = number_to_cstring(value->val.numeric);

	if (!write_int(place, digits) &&
		!write_double(place, digits, value->val.numeric) &&
		!write_decimal(place, digits))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("BSON has no number for the value at \"%s\": %s", place_path(place),
						value_to_cstring(value)),
				 errdetail("A Decimal128 has 34 digits and an exponent from -6176 to 6111.")));
}

/* Append a field of a document. */
static void
write_field(const Place *place, bson_t *bson, const JsonbValue *key, const JsonbValue *value)
{
	Place		field;

	CHECK_FOR_INTERRUPTS();
	field.parent = place;
	field.bson = bson;
	field.name = *key;
	field.key = bson_text(key, &field.len);
	write_value(&field, value);
}

/*
 * A reference to another document, which drivers know by the order of its
 * fields: $ref, $id, $db, and then all others.
 */
static void
write_reference(const Place *place, bson_t *bson, const JsonbValue *object)
{
	static const char *const order[] = {"$ref", "$id", "$db"};
	JsonbWalk	walk;
	JsonbValue	key;
	JsonbValue	value;

	for (int i = 0; i < lengthof(order); i++)
	{
		value_from_cstring(order[i], &key);
		if (value_get_cstring(object, order[i], &value))
			write_field(place, bson, &key, &value);
	}
	walk_begin(&walk, object->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		bool		written = false;

		for (int i = 0; i < lengthof(order); i++)
			written = written || value_is_string(&key, order[i]);
		if (!written)
			write_field(place, bson, &key, &value);
	}
}

/* Append an object's fields to a document; place is NULL for the root. */
void
bson_write_fields(const Place *place, bson_t *bson, const JsonbValue *object)
{
	JsonbWalk	walk;
	JsonbValue	key;
	JsonbValue	value;

	check_stack_depth();
	if (value_get_cstring(object, "$ref", &value) && value_get_cstring(object, "$id", &value))
	{
		write_reference(place, bson, object);
		return;
	}
	walk_begin(&walk, object->val.binary.data);
	while (walk_next(&walk, &key, &value))
		write_field(place, bson, &key, &value);
}

static void
write_elements(const Place *place, bson_t *bson, const JsonbValue *array)
{
	JsonbWalk	walk;
	JsonbValue	value;
	uint32		index = 0;

	check_stack_depth();
	walk_begin(&walk, array->val.binary.data);
	for (; walk_next(&walk, NULL, &value); index++)
	{
		char		buffer[16];
		Place		element;

		CHECK_FOR_INTERRUPTS();
		element.parent = place;
		element.bson = bson;
		element.len = bson_uint32_to_string(index, &element.key, buffer, sizeof(buffer));
		value_from_cstring(element.key, &element.name);
		write_value(&element, &value);
	}
}

static void
write_value(const Place *place, const JsonbValue *value)
{
	bson_t		child;
	const char *s;
	int			len;

	switch (value->type)
	{
		case jbvNull:
			bson_write_check(bson_append_null(place->bson, place->key, place->len));
			break;
		case jbvBool:
			bson_write_check(bson_append_bool(place->bson, place->key, place->len,
											  value->val.boolean));
			break;
		case jbvNumeric:
			write_number(place, value);
			break;
		case jbvString:
			s = bson_text(value, &len);
			bson_write_check(bson_append_utf8(place->bson, place->key, place->len, s, len));
			break;
		default:
			if (value_is_array(value))
			{
				bson_write_check(bson_append_array_begin(place->bson, place->key, place->len, &child));
				write_elements(place, &child, value);
				bson_write_check(bson_append_array_end(place->bson, &child));
			}
			else if (!wrapper_write(place, value))
			{
				bson_write_check(bson_append_document_begin(place->bson, place->key, place->len,
															&child));
				bson_write_fields(place, &child, value);
				bson_write_check(bson_append_document_end(place->bson, &child));
			}
			break;
	}
}

/*
 * A document in Extended JSON, v2 or v1, as BSON; *result is to be destroyed.
 * 22023 if it is no object or if something in it looks like a wrapper and is
 * none; 22003 for a number that BSON does not have; 54000 if it is too large.
 */
void
document_to_bson(const Jsonb *document, bson_t *result)
{
	JsonbValue	root;
	const char *wrapper;

	value_from_jsonb(document, &root);
	if (!value_is_object(&root))
		argument_mismatch("document", "an object", &root);
	wrapper = wrapper_found(&root);
	if (wrapper != NULL)
		argument_mismatch("document", psprintf("a document, not a value in %s", wrapper), &root);
	bson_init(result);
	bson_write_fields(NULL, result, &root);
}
