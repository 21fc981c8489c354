/*
 * jsonb/read.c
 *		Reads values out of jsonb's binary format, without copying them.
 *
 * Core's readers allocate what they return and build an iterator a level.
 * Ours fill a JsonbValue that the caller owns and that points into the
 * document, so that looking at one field of a large document costs a binary
 * search and nothing else.  A container's entries hold its children's types and
 * lengths: the keys first in an object, sorted by length and then by bytes,
 * then the values; every JB_OFFSET_STRIDE'th entry holds an end offset instead
 * of a length and says so by its HAS_OFF bit.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/numeric.h"

#include "walk.h"

/* Entry i's value. */
static void
entry_value(const JsonbContainer *container, uint32 i, JsonbValue *result)
{
	uint32		offset = entry_offset(container, i);

	fill_value(container->children[i], container_data(container),
			   offset, entry_length(container, i, offset), result);
}

/* The whole document as a value; a top-level scalar is taken out of its pseudo-array. */
void
value_from_jsonb(const Jsonb *jb, JsonbValue *result)
{
	if (JB_ROOT_IS_SCALAR(jb))
		entry_value(&jb->root, 0, result);
	else
		value_from_container(&jb->root, VARSIZE(jb) - VARHDRSZ, result);
}

/* A container of len bytes as a value. */
void
value_from_container(const JsonbContainer *container, uint32 len, JsonbValue *result)
{
	result->type = jbvBinary;
	result->val.binary.data = unconstify(JsonbContainer *, container);
	result->val.binary.len = len;
}

/* A string, which is not copied. */
void
value_from_cstring(const char *s, JsonbValue *result)
{
	result->type = jbvString;
	result->val.string.val = unconstify(char *, s);
	result->val.string.len = strlen(s);
}

/* A number; palloc'd. */
void
value_from_int64(int64 i, JsonbValue *result)
{
	result->type = jbvNumeric;
	result->val.numeric = int64_to_numeric(i);
}

/* true or false */
void
value_from_bool(bool b, JsonbValue *result)
{
	result->type = jbvBool;
	result->val.boolean = b;
}

/* For messages: "object", "array", "string", "number", "boolean" or "null". */
const char *
value_type_name(const JsonbValue *v)
{
	switch (v->type)
	{
		case jbvNull:
			return "null";
		case jbvString:
			return "string";
		case jbvNumeric:
			return "number";
		case jbvBool:
			return "boolean";
		case jbvArray:
			return "array";
		case jbvObject:
			return "object";
		default:
			return JsonContainerIsArray(v->val.binary.data) ? "array" : "object";
	}
}

/* For messages: text, cut to a readable length; palloc'd and null-terminated. */
char *
text_for_message(const char *text, int len)
{
	const int	limit = 120;

	if (len <= limit)
		return pnstrdup(text, len);
	return psprintf("%.*s...", pg_mbcliplen(text, len, limit), text);
}

/* For messages: the value as JSON text, cut to a readable length; palloc'd. */
char *
value_to_cstring(const JsonbValue *v)
{
	Jsonb	   *jb;
	char	   *text;

	/* do not print megabytes in order to show a line */
	if (v->type == jbvBinary && v->val.binary.len > 8192)
		return psprintf("%s of %u %s", value_type_name(v), value_count(v),
						JsonContainerIsArray(v->val.binary.data) ? "elements" : "fields");
	if (v->type == jbvString && v->val.string.len > 8192)
		return psprintf("string of %d bytes", v->val.string.len);
	jb = value_to_jsonb(v);
	text = JsonbToCString(NULL, &jb->root, VARSIZE(jb));
	return text_for_message(text, strlen(text));
}

/* Is the value this string? */
bool
value_is_string(const JsonbValue *v, const char *s)
{
	return v->type == jbvString && v->val.string.len == (int) strlen(s) &&
		memcmp(v->val.string.val, s, v->val.string.len) == 0;
}

/* Is the value true as a condition?  All but false, null and zero are. */
bool
value_is_true(const JsonbValue *v)
{
	if (v->type == jbvBool)
		return v->val.boolean;
	return v->type != jbvNull && (v->type != jbvNumeric || !number_is_zero(v->val.numeric));
}

/* The order of keys inside an object: by length, then by bytes. */
int
key_compare(const char *a, int alen, const char *b, int blen)
{
	if (alen != blen)
		return alen < blen ? -1 : 1;
	return memcmp(a, b, alen);
}

/* The key of an object's pair i. */
void
container_key(const JsonbContainer *container, uint32 i, JsonbValue *result)
{
	Assert(JsonContainerIsObject(container) && i < JsonContainerSize(container));
	entry_value(container, i, result);
}

/* An array's element i, or the value of an object's pair i. */
void
container_value(const JsonbContainer *container, uint32 i, JsonbValue *result)
{
	Assert(i < JsonContainerSize(container));
	if (JsonContainerIsObject(container))
		i += JsonContainerSize(container);
	entry_value(container, i, result);
}

/*
 * Finds a key in an object.  *position is its pair, or where it would be
 * inserted when the result is false.
 */
bool
container_find(const JsonbContainer *container, const char *key, int len, uint32 *position)
{
	char	   *data = container_data(container);
	uint32		low = 0;
	uint32		high = JsonContainerSize(container);

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		JEntry		entry = container->children[middle];
		int			cmp;

		/* most keys differ in length, which tells without looking for them */
		if (!JBE_HAS_OFF(entry) && JBE_OFFLENFLD(entry) != len)
			cmp = JBE_OFFLENFLD(entry) < len ? -1 : 1;
		else
		{
			uint32		offset = entry_offset(container, middle);

			cmp = key_compare(data + offset, entry_length(container, middle, offset), key, len);
		}
		if (cmp == 0)
		{
			*position = middle;
			return true;
		}
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*position = low;
	return false;
}

/* The value of a key; false if the value is no object or does not have it. */
bool
value_get(const JsonbValue *object, const char *key, int len, JsonbValue *result)
{
	uint32		position;

	if (!value_is_object(object) ||
		!container_find(object->val.binary.data, key, len, &position))
		return false;
	container_value(object->val.binary.data, position, result);
	return true;
}

/* The same for a null-terminated key. */
bool
value_get_cstring(const JsonbValue *object, const char *key, JsonbValue *result)
{
	return value_get(object, key, strlen(key), result);
}

/* Begin to read a container's children in order. */
void
walk_begin(JsonbWalk *walk, const JsonbContainer *container)
{
	walk_start(walk, container);
}

/*
 * The next child; false after the last.  key may be NULL, and is not touched in
 * an array.
 */
bool
walk_next(JsonbWalk *walk, JsonbValue *key, JsonbValue *value)
{
	const JsonbContainer *container = walk->container;
	char	   *data = container_data(container);
	uint32		i = walk->next;
	uint32		len;

	if (i >= walk->count)
		return false;
	walk->next++;
	if (JsonContainerIsObject(container))
	{
		len = entry_length(container, i, walk->key_offset);
		if (key != NULL)
			fill_value(container->children[i], data, walk->key_offset, len, key);
		walk->key_offset += len;
		i += walk->count;
	}
	len = entry_length(container, i, walk->value_offset);
	fill_value(container->children[i], data, walk->value_offset, len, value);
	walk->value_offset += len;
	return true;
}
