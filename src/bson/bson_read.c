/*
 * bson/bson_read.c
 *		BSON to jsonb.
 *
 * libbson's iterator walks over the elements and checks their lengths; nothing
 * that it gives is used before it has been checked for what jsonb needs, and
 * what libbson lets pass is caught here: text that is no UTF-8, keys that come
 * twice, levels too many for the stack.  A document becomes a tree of values
 * that point into it, and that is written once.  No JSON text is made.
 *
 * Whatever is wrong is an error that says at which byte and in which field.
 * Nothing but memory is held while a document is read, so that a caller may
 * catch the error and go on with the next document.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "common/string.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "convert.h"
#include "libbson.h"

/* A document or an array while it is read. */
typedef struct Level
{
	const struct Level *parent;
	const uint8 *data;
	const bson_iter_t *iter;	/* NULL while no element of it can be named */
	bool		is_array;
	uint32		index;			/* of the element, in an array */
} Level;

/* A document while it is read. */
typedef struct Reader
{
	const BsonOptions *options;
	const BsonOrigin *origin;
	const uint8 *document;
	int			encoding;		/* the server's */
	const Level *level;
} Reader;

static void read_container(Reader *reader, const uint8 *data, uint32 len, bool is_array,
						   JsonbValue *result);

/* Append a key for a message; bytes that are no ASCII may not be text at all. */
static void
append_key(StringInfo buf, const char *key, int len)
{
	bool		is_text = GetDatabaseEncoding() == PG_UTF8 &&
		pg_encoding_verifymbstr(PG_UTF8, key, len) == len;

	for (int i = 0; i < len; i++)
	{
		if (is_text || !IS_HIGHBIT_SET(key[i]))
			appendStringInfoChar(buf, key[i]);
		else
			appendStringInfo(buf, "\\x%02x", (unsigned char) key[i]);
	}
}

static void
append_path(StringInfo buf, const Level *level)
{
	if (level == NULL)
		return;
	append_path(buf, level->parent);
	if (level->iter == NULL)
		return;
	if (buf->len > 0)
		appendStringInfoChar(buf, '.');
	if (level->is_array)
		appendStringInfo(buf, "%u", level->index);
	else
		append_key(buf, bson_iter_key(level->iter), bson_iter_key_len(level->iter));
}

/*
 * Where a byte stands, for a message: " in document 2 at "path", byte 25",
 * without a number if it is the only document, without a path at the root.
 */
static char *
where(const Reader *reader, const void *at)
{
	StringInfoData path;
	StringInfoData buf;

	initStringInfo(&path);
	append_path(&path, reader->level);
	initStringInfo(&buf);
	if (reader->origin->number > 0)
		appendStringInfo(&buf, " in document %lld", (long long) reader->origin->number);
	if (path.len > 0)
		appendStringInfo(&buf, " at \"%s\"", text_for_message(path.data, path.len));
	appendStringInfo(&buf, ", byte %lld",
					 (long long) (reader->origin->offset + ((const uint8 *) at - reader->document)));
	return buf.data;
}

pg_noreturn static void
invalid(const Reader *reader, const void *at, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid BSON%s: %s", where(reader, at), what)));
}

/* The text without its NULs, or with something in their place. */
static void
replace_nul(const Reader *reader, const char **s, uint32 *len)
{
	StringInfoData buf;

	if (reader->options->on_nul == NUL_ERROR)
		ereport(ERROR,
				(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
				 errmsg("jsonb cannot hold the NUL character%s",
						where(reader, memchr(*s, '\0', *len))),
				 errhint("Give on_nul => 'strip' or 'replace'.")));
	initStringInfo(&buf);
	for (uint32 i = 0; i < *len; i++)
	{
		if ((*s)[i] != '\0')
			appendStringInfoCharMacro(&buf, (*s)[i]);
		else if (reader->options->on_nul == NUL_REPLACE)
			appendBinaryStringInfo(&buf, "\xef\xbf\xbd", 3);
	}
	*s = buf.data;
	*len = buf.len;
}

/* The text in the server's encoding, which is another one than UTF-8. */
static void
convert_text(const Reader *reader, const char *at, const char **s, uint32 *len)
{
	Oid			conversion = FindDefaultConversionProc(PG_UTF8, reader->encoding);
	Size		size = (Size) *len * MAX_CONVERSION_GROWTH + 1;
	unsigned char *converted;

	if (!OidIsValid(conversion))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("default conversion function for encoding \"%s\" to \"%s\" does not exist",
						"UTF8", GetDatabaseEncodingName())));
	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("string of %u bytes is too long%s", *len, where(reader, at))));
	converted = palloc(size);
	if (pg_do_encoding_conversion_buf(conversion, PG_UTF8, reader->encoding,
									  (unsigned char *) unconstify(char *, *s), *len,
									  converted, size, true) != *len)
		ereport(ERROR,
				(errcode(ERRCODE_UNTRANSLATABLE_CHARACTER),
				 errmsg("encoding \"%s\" lacks a character of the string%s",
						GetDatabaseEncodingName(), where(reader, at))));
	*s = (const char *) converted;
	*len = strlen((const char *) converted);
}

/* Text of the document as a string of jsonb. */
static void
read_text(Reader *reader, const char *s, uint32 len, JsonbValue *result)
{
	const char *at = s;
	uint32		valid = pg_encoding_verifymbstr(PG_UTF8, s, len);

	if (valid < len && s[valid] == '\0')
	{
		replace_nul(reader, &s, &len);
		valid = pg_encoding_verifymbstr(PG_UTF8, s, len);
	}
	if (valid < len)
		invalid(reader, at, "text is not UTF-8");
	if (reader->encoding != PG_UTF8 && reader->encoding != PG_SQL_ASCII)
		convert_text(reader, at, &s, &len);
	result->type = jbvString;
	result->val.string.val = unconstify(char *, s);
	result->val.string.len = len;
}

/* {key: value} */
static void
wrap(const char *key, const JsonbValue *value, JsonbValue *result)
{
	JsonbPair  *pair = palloc(sizeof(JsonbPair));

	value_from_cstring(key, &pair->key);
	pair->value = *value;
	result->type = jbvObject;
	result->val.object.nPairs = 1;
	result->val.object.pairs = pair;
}

/* {key: value, other_key: other_value} */
static void
pair_up(const char *key, const JsonbValue *value, const char *other_key,
		const JsonbValue *other_value, JsonbValue *result)
{
	PairList	pairs = {0};

	pairs_append(&pairs, key, strlen(key), value);
	pairs_append(&pairs, other_key, strlen(other_key), other_value);
	pairs_finish(&pairs, result);
}

static void
read_int(Reader *reader, int64 i, const char *wrapper, JsonbValue *result)
{
	JsonbValue	text;

	if (reader->options->mode != MODE_CANONICAL)
	{
		result->type = jbvNumeric;
		result->val.numeric = number_from_int64(i);
		return;
	}
	value_from_cstring(psprintf(INT64_FORMAT, i), &text);
	wrap(wrapper, &text, result);
}

/* In relaxed mode 1.0 shows by its point that it is a double. */
static void
read_double(Reader *reader, double d, JsonbValue *result)
{
	JsonbValue	text;

	if (reader->options->mode != MODE_CANONICAL && isfinite(d))
	{
		result->type = jbvNumeric;
		result->val.numeric = number_from_double(d, reader->options->mode == MODE_PLAIN ? 0 : 1);
		return;
	}
	double_format(d, &text);
	wrap("$numberDouble", &text, result);
}

/*
 * The digits of a Decimal128.  Its bits hold some numbers of 35 digits, which are
 * none, and which readers take for zero or for what they look like.
 */
static void
read_decimal(Reader *reader, const bson_iter_t *iter, JsonbValue *result)
{
	char	   *digits = palloc(BSON_DECIMAL128_STRING);
	bson_decimal128_t decimal;
	JsonbValue	text;

	bson_iter_decimal128(iter, &decimal);
	bson_decimal128_to_string(&decimal, digits);
	if (decimal_digits(digits) > 34)
		invalid(reader, bson_iter_key(iter), "decimal of more than 34 digits");
	if (reader->options->mode == MODE_PLAIN && strpbrk(digits, "NI") == NULL)
	{
		result->type = jbvNumeric;
		result->val.numeric = number_from_cstring(digits);
		return;
	}
	value_from_cstring(digits, &text);
	wrap("$numberDecimal", &text, result);
}

/*
 * Extended JSON has text for 1970 to 9999.  The plain form has it from the year 1
 * on, but not for later ones, which do not sort as text and are no ISO 8601.
 */
static void
read_date(Reader *reader, int64 milliseconds, JsonbValue *result)
{
	JsonbValue	value;

	if (reader->options->mode == MODE_PLAIN && date_has_year(milliseconds, 1, 9999))
	{
		date_format(milliseconds, true, result);
		return;
	}
	if (reader->options->mode == MODE_RELAXED && date_has_year(milliseconds, 1970, 9999))
		date_format(milliseconds, false, &value);
	else
	{
		JsonbValue	text;

		value_from_cstring(psprintf(INT64_FORMAT, milliseconds), &text);
		wrap("$numberLong", &text, &value);
	}
	wrap("$date", &value, result);
}

static void
read_oid(Reader *reader, const bson_oid_t *oid, bool plain, JsonbValue *result)
{
	char	   *digits = palloc(2 * sizeof(oid->bytes) + 1);
	JsonbValue	text;

	bson_oid_to_string(oid, digits);
	value_from_cstring(digits, &text);
	if (plain)
		*result = text;
	else
		wrap("$oid", &text, result);
}

static void
read_binary(Reader *reader, const bson_iter_t *iter, JsonbValue *result)
{
	bson_subtype_t subtype;
	uint32		len;
	const uint8 *bytes;
	JsonbValue	base64;
	JsonbValue	type;
	JsonbValue	both;

	bson_iter_binary(iter, &subtype, &len, &bytes);
	if (reader->options->mode == MODE_PLAIN && subtype == BSON_SUBTYPE_UUID && len == 16)
	{
		uuid_format(bytes, result);
		return;
	}
	if (!AllocSizeIsValid((Size) len / 3 * 4 + 4))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("binary data of %u bytes is too long%s", len, where(reader, bytes))));
	base64_format(bytes, len, &base64);
	value_from_cstring(psprintf("%02x", (unsigned) subtype), &type);
	pair_up("base64", &base64, "subType", &type, &both);
	wrap("$binary", &both, result);
}

static void
read_regex(Reader *reader, const bson_iter_t *iter, JsonbValue *result)
{
	const char *options;
	const char *pattern = bson_iter_regex(iter, &options);
	JsonbValue	pattern_text;
	JsonbValue	options_text;
	JsonbValue	both;

	read_text(reader, pattern, strlen(pattern), &pattern_text);
	read_text(reader, options, strlen(options), &options_text);
	if (options_text.val.string.len > 0 && pg_is_ascii(options))
		value_from_cstring(regex_options(options), &options_text);
	pair_up("pattern", &pattern_text, "options", &options_text, &both);
	wrap("$regularExpression", &both, result);
}

static void
read_timestamp(Reader *reader, const bson_iter_t *iter, JsonbValue *result)
{
	uint32		seconds;
	uint32		increment;
	JsonbValue	t;
	JsonbValue	i;
	JsonbValue	both;

	bson_iter_timestamp(iter, &seconds, &increment);
	value_from_int64(seconds, &t);
	value_from_int64(increment, &i);
	pair_up("t", &t, "i", &i, &both);
	wrap("$timestamp", &both, result);
}

static void
read_dbpointer(Reader *reader, const bson_iter_t *iter, JsonbValue *result)
{
	uint32		len;
	const char *collection;
	const bson_oid_t *oid;
	JsonbValue	ref;
	JsonbValue	id;
	JsonbValue	both;

	bson_iter_dbpointer(iter, &len, &collection, &oid);
	read_text(reader, collection, len, &ref);
	read_oid(reader, oid, false, &id);
	pair_up("$ref", &ref, "$id", &id, &both);
	wrap("$dbPointer", &both, result);
}

/* libbson lets the code of a code with scope end where it likes. */
static void
read_code_with_scope(Reader *reader, const bson_iter_t *iter, JsonbValue *result)
{
	uint32		len;
	uint32		scope_len;
	const uint8 *scope_data;
	const char *code = bson_iter_codewscope(iter, &len, &scope_len, &scope_data);
	JsonbValue	text;
	JsonbValue	scope;

	if (code[len] != '\0' || (const uint8 *) code + len + 1 != scope_data)
		invalid(reader, code, "code and scope do not have their lengths");
	read_text(reader, code, len, &text);
	read_container(reader, scope_data, scope_len, false, &scope);
	pair_up("$code", &text, "$scope", &scope, result);
}

/* The value of the element that the iterator stands on. */
static void
read_value(Reader *reader, const bson_iter_t *iter, JsonbValue *result)
{
	JsonbValue	value;
	uint32		len;
	const char *s;
	const uint8 *data;

	switch (bson_iter_type(iter))
	{
		case BSON_TYPE_DOUBLE:
			read_double(reader, bson_iter_double(iter), result);
			break;
		case BSON_TYPE_UTF8:
			s = bson_iter_utf8(iter, &len);
			read_text(reader, s, len, result);
			break;
		case BSON_TYPE_DOCUMENT:
			bson_iter_document(iter, &len, &data);
			read_container(reader, data, len, false, result);
			break;
		case BSON_TYPE_ARRAY:
			bson_iter_array(iter, &len, &data);
			read_container(reader, data, len, true, result);
			break;
		case BSON_TYPE_BINARY:
			read_binary(reader, iter, result);
			break;
		case BSON_TYPE_UNDEFINED:
			value_from_bool(true, &value);
			wrap("$undefined", &value, result);
			break;
		case BSON_TYPE_OID:
			read_oid(reader, bson_iter_oid(iter), reader->options->mode == MODE_PLAIN, result);
			break;
		case BSON_TYPE_BOOL:
			value_from_bool(bson_iter_bool(iter), result);
			break;
		case BSON_TYPE_DATE_TIME:
			read_date(reader, bson_iter_date_time(iter), result);
			break;
		case BSON_TYPE_NULL:
			result->type = jbvNull;
			break;
		case BSON_TYPE_REGEX:
			read_regex(reader, iter, result);
			break;
		case BSON_TYPE_DBPOINTER:
			read_dbpointer(reader, iter, result);
			break;
		case BSON_TYPE_CODE:
			s = bson_iter_code(iter, &len);
			read_text(reader, s, len, &value);
			wrap("$code", &value, result);
			break;
		case BSON_TYPE_SYMBOL:
			s = bson_iter_symbol(iter, &len);
			read_text(reader, s, len, &value);
			wrap("$symbol", &value, result);
			break;
		case BSON_TYPE_CODEWSCOPE:
			read_code_with_scope(reader, iter, result);
			break;
		case BSON_TYPE_INT32:
			read_int(reader, bson_iter_int32(iter), "$numberInt", result);
			break;
		case BSON_TYPE_TIMESTAMP:
			read_timestamp(reader, iter, result);
			break;
		case BSON_TYPE_INT64:
			read_int(reader, bson_iter_int64(iter), "$numberLong", result);
			break;
		case BSON_TYPE_DECIMAL128:
			read_decimal(reader, iter, result);
			break;
		case BSON_TYPE_MAXKEY:
			value_from_int64(1, &value);
			wrap("$maxKey", &value, result);
			break;
		case BSON_TYPE_MINKEY:
			value_from_int64(1, &value);
			wrap("$minKey", &value, result);
			break;
		default:
			invalid(reader, bson_iter_key(iter), "unknown type");
	}
}

/* 22030: name the key that comes twice in a document. */
pg_noreturn static void
duplicate_key(Reader *reader, Level *level, uint32 len)
{
	HTAB	   *names = names_create(sizeof(NameEntry));
	bson_iter_t iter;
	bool		found = false;

	level->iter = &iter;
	if (bson_iter_init_from_data(&iter, level->data, len))
		while (!found && bson_iter_next(&iter))
			names_enter(names, bson_iter_key(&iter), bson_iter_key_len(&iter), &found);
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_JSON_OBJECT_KEY_VALUE),
			 errmsg("field comes twice%s", where(reader, bson_iter_key(&iter))),
			 errhint("Give on_duplicate => 'last' to keep the last one.")));
}

static void
read_array(Reader *reader, bson_iter_t *iter, Level *level, JsonbValue *result)
{
	ValueList	list = {0};

	for (; bson_iter_next(iter); level->index++)
	{
		JsonbValue	value;

		CHECK_FOR_INTERRUPTS();
		level->iter = iter;
		read_value(reader, iter, &value);
		level->iter = NULL;
		values_append(&list, &value);
	}
	values_finish(&list, result);
}

static void
read_object(Reader *reader, bson_iter_t *iter, Level *level, uint32 len, JsonbValue *result)
{
	PairList	list = {0};

	while (bson_iter_next(iter))
	{
		JsonbValue	key;
		JsonbValue	value;

		CHECK_FOR_INTERRUPTS();
		level->iter = iter;
		read_text(reader, bson_iter_key(iter), bson_iter_key_len(iter), &key);
		read_value(reader, iter, &value);
		level->iter = NULL;
		pairs_append(&list, key.val.string.val, key.val.string.len, &value);
	}
	pairs_finish(&list, result);
	if (result->val.object.nPairs < list.n && !reader->options->last_wins)
		duplicate_key(reader, level, len);
}

/* A document or an array as a tree, whose strings may point into it. */
static void
read_container(Reader *reader, const uint8 *data, uint32 len, bool is_array, JsonbValue *result)
{
	bson_iter_t iter;
	Level		level = {0};

	check_stack_depth();
	level.parent = reader->level;
	level.data = data;
	level.is_array = is_array;
	if (!bson_iter_init_from_data(&iter, data, len))
		invalid(reader, data, "length and end of a document do not agree");
	reader->level = &level;
	if (is_array)
		read_array(reader, &iter, &level, result);
	else
		read_object(reader, &iter, &level, len, result);
	if (iter.err_off != 0)
		invalid(reader, data + iter.err_off, "element of an unknown type or a wrong length");
	reader->level = level.parent;
}

/*
 * A BSON document of len bytes as jsonb; palloc'd in the current memory context.
 * What is needed in between is left in the context work.  22P03 if the document
 * is invalid; 22P05 for a NUL or for a character that the server's encoding
 * lacks, 22030 for a key that comes twice, unless the options allow it.
 */
Jsonb *
document_from_bson(const void *bson, Size len, const BsonOptions *options,
				   const BsonOrigin *origin, MemoryContext work)
{
	MemoryContext caller = MemoryContextSwitchTo(work);
	Reader		reader = {0};
	JsonbValue	tree;

	reader.options = options;
	reader.origin = origin;
	reader.document = bson;
	reader.encoding = GetDatabaseEncoding();
	if (len < BSON_LEAST)
		invalid(&reader, bson, psprintf("a document has at least %d bytes, not %zu", BSON_LEAST, len));
	read_container(&reader, bson, len, false, &tree);
	MemoryContextSwitchTo(caller);
	return value_to_jsonb(&tree);
}
