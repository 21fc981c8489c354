/*
 * patterns/attribute_extract.c
 *		The keys that a document has in an attribute index.
 *
 * A regular element, an object with a string as its name in the array at the
 * path, has the key of its name and value.  Objects have one key for all of them,
 * a flat array of scalars has one for each member.  Where one of these is a
 * measure the name alone is another key, by which a wide range is found without
 * all of its values.
 *
 * Whatever else a condition may find a name in has that name's marker: a deeper
 * array, elements in arrays of arrays, an object in the place of the array,
 * arrays on the way to it.  Conditions treat a marker as "perhaps", so that
 * irregular documents are looked at, but only for the names that are in them.
 * If the name is irregular, being one of an array, but the value is not, the
 * marker has the value behind it: in other cases the value that is compared may
 * be another element's.
 *
 * Elements in which no name can be found have no keys.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "attribute_index.h"

/* So many keys are put in order while they are made; more of them are sorted. */
#define MAX_INSERTED_KEYS 32

/* Growable list of keys. */
typedef struct KeyList
{
	const AttributeOptions *options;
	uint32		n;
	uint32		max;
	Datum	   *keys;			/* bytea */
} KeyList;

static inline int
compare_datums(Datum a, Datum b)
{
	bytea	   *x = (bytea *) DatumGetPointer(a);
	bytea	   *y = (bytea *) DatumGetPointer(b);

	return key_bytes_compare((uint8 *) VARDATA_ANY(x), VARSIZE_ANY_EXHDR(x),
							 (uint8 *) VARDATA_ANY(y), VARSIZE_ANY_EXHDR(y));
}

static int
compare_keys(const void *a, const void *b)
{
	return compare_datums(*(const Datum *) a, *(const Datum *) b);
}

static void
add_key(KeyList *list, const KeyBuffer *key)
{
	Datum		datum = PointerGetDatum(key_to_bytea(key->bytes, key->len));
	uint32		at = list->n;

	list->keys = array_reserve(list->keys, list->n, &list->max, sizeof(Datum));
	if (list->n < MAX_INSERTED_KEYS)
		for (; at > 0 && compare_datums(list->keys[at - 1], datum) > 0; at--)
			list->keys[at] = list->keys[at - 1];
	list->keys[at] = datum;
	list->n++;
}

/* What all keys of an element begin with. */
typedef struct KeyStart
{
	KeyBuffer	bytes;			/* the name, and the marker's byte behind one of several */
	bool		regular;
} KeyStart;

/* Add what the keys begin with and a type, but no value. */
static void
add_simple(KeyList *list, const KeyStart *start, uint8 type)
{
	KeyBuffer	key;

	key.len = start->bytes.len;
	memcpy(key.bytes, start->bytes.bytes, start->bytes.len);
	key_add_byte(&key, type);
	add_key(list, &key);
}

/* Add the marker of a value that has no key. */
static void
add_irregular(KeyList *list, const KeyStart *start)
{
	if (start->regular)
		add_simple(list, start, KEY_IRREGULAR);
	else
		add_key(list, &start->bytes);
}

/* Add a scalar; if it is irregular anyway, being a member does not matter. */
static void
add_scalar(KeyList *list, const KeyStart *start, const JsonbValue *value, bool member)
{
	KeyBuffer	key;
	int			ordered;

	key.len = start->bytes.len;
	memcpy(key.bytes, start->bytes.bytes, start->bytes.len);
	if (member && start->regular)
		key_add_byte(&key, KEY_MEMBER);
	if (key_add_value(&key, value, &ordered))
		add_key(list, &key);
	else
		add_irregular(list, start);
}

/* Does the array have a member of which this is true? */
static bool
has_member(const JsonbValue *array, bool (*test) (const JsonbValue *value))
{
	JsonbWalk	walk;
	JsonbValue	member;

	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &member))
		if (test(&member))
			return true;
	return false;
}

static bool
is_container(const JsonbValue *value)
{
	return value->type == jbvBinary;
}

static bool
is_measure(const JsonbValue *value)
{
	return value_is_measure(value);
}

/* The keys of a flat array that is not empty. */
static void
add_members(KeyList *list, const KeyStart *start, const JsonbValue *array)
{
	JsonbWalk	walk;
	JsonbValue	member;

	if (start->regular && has_member(array, is_measure))
		add_key(list, &start->bytes);
	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &member))
	{
		CHECK_FOR_INTERRUPTS();
		add_scalar(list, start, &member, true);
	}
}

/* The keys of a value, which is NULL where it is missing. */
static void
add_value(KeyList *list, const KeyStart *start, const JsonbValue *value)
{
	if (value == NULL)
		add_simple(list, start, KEY_MISSING);
	else if (value->type != jbvBinary)
	{
		if (start->regular && value_is_measure(value))
			add_key(list, &start->bytes);
		add_scalar(list, start, value, false);
	}
	else if (!value_is_array(value))
		add_simple(list, start, KEY_OBJECT);
	else if (value_count(value) == 0)
		add_simple(list, start, KEY_ARRAY);
	else if (has_member(value, is_container))
		add_irregular(list, start);
	else
		add_members(list, start, value);
}

/* One of several names, with the value. */
static void
add_one_name(KeyList *list, const JsonbValue *name, const JsonbValue *value)
{
	KeyStart	start;

	start.bytes.len = 0;
	start.regular = false;
	key_add_name(&start.bytes, name->val.string.val, name->val.string.len);
	key_add_byte(&start.bytes, KEY_IRREGULAR);
	add_value(list, &start, value);
}

/* All names in arrays, each with the value. */
static void
add_names(KeyList *list, const JsonbValue *names, const JsonbValue *value)
{
	JsonbWalk	walk;
	JsonbValue	inner;

	check_stack_depth();
	if (!value_is_array(names))
		return;
	walk_begin(&walk, names->val.binary.data);
	while (walk_next(&walk, NULL, &inner))
	{
		CHECK_FOR_INTERRUPTS();
		if (inner.type == jbvString)
			add_one_name(list, &inner, value);
		else
			add_names(list, &inner, value);
	}
}

static void
add_marker(KeyList *list, const JsonbValue *name)
{
	KeyBuffer	key;

	key.len = 0;
	key_add_name(&key, name->val.string.val, name->val.string.len);
	key_add_byte(&key, KEY_IRREGULAR);
	add_key(list, &key);
}

/* Mark the name, or all names in arrays, that a key field holds. */
static void
mark_names(KeyList *list, const JsonbValue *name)
{
	JsonbWalk	walk;
	JsonbValue	inner;

	check_stack_depth();
	if (name->type == jbvString)
		add_marker(list, name);
	else if (value_is_array(name))
	{
		walk_begin(&walk, name->val.binary.data);
		while (walk_next(&walk, NULL, &inner))
			mark_names(list, &inner);
	}
}

/* Mark the names of an object, or of all objects in arrays, that is in an unexpected place. */
static void
mark_elements(KeyList *list, const JsonbValue *value)
{
	JsonbWalk	walk;
	JsonbValue	inner;

	check_stack_depth();
	if (value_is_array(value))
	{
		walk_begin(&walk, value->val.binary.data);
		while (walk_next(&walk, NULL, &inner))
			mark_elements(list, &inner);
	}
	else if (value_get(value, list->options->key, list->options->key_len, &inner))
		mark_names(list, &inner);
}

/* The keys of an object in the array at the path. */
static void
add_element(KeyList *list, const JsonbValue *element)
{
	const AttributeOptions *options = list->options;
	JsonbValue	name;
	JsonbValue	field;
	const JsonbValue *value = NULL;
	KeyStart	start;

	if (!value_get(element, options->key, options->key_len, &name))
		return;
	if (value_get(element, options->value, options->value_len, &field))
		value = &field;
	if (name.type != jbvString)
	{
		add_names(list, &name, value);
		return;
	}
	start.bytes.len = 0;
	start.regular = true;
	key_add_name(&start.bytes, name.val.string.val, name.val.string.len);
	add_value(list, &start, value);
}

static void
add_elements(KeyList *list, const JsonbValue *array)
{
	JsonbWalk	walk;
	JsonbValue	element;

	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (value_is_object(&element))
			add_element(list, &element);
		else
			mark_elements(list, &element);
	}
}

/* Follow the path from a step on; regular: no array was met. */
static void
follow_path(KeyList *list, const JsonbValue *value, int step, bool regular)
{
	const DocPath *path = list->options->path;
	JsonbWalk	walk;
	JsonbValue	inner;

	check_stack_depth();
	if (step == path->nsteps)
	{
		if (regular && value_is_array(value))
			add_elements(list, value);
		else
			mark_elements(list, value);
	}
	else if (value_is_array(value))
	{
		walk_begin(&walk, value->val.binary.data);
		while (walk_next(&walk, NULL, &inner))
			follow_path(list, &inner, step, false);
	}
	else if (value_get(value, path->steps[step].name, path->steps[step].len, &inner))
		follow_path(list, &inner, step + 1, regular);
}

/*
 * The keys of a document, as bytea; *n of them, in order, perhaps with
 * duplicates; palloc'd.  GIN would sort them otherwise, with a call for each
 * comparison.
 */
Datum *
attribute_document_keys(const AttributeOptions *options, const Jsonb *doc, int *n)
{
	KeyList		list = {0};
	JsonbValue	root;

	list.options = options;
	value_from_jsonb(doc, &root);
	follow_path(&list, &root, 0, true);
	if (list.n > MAX_INSERTED_KEYS)
		qsort(list.keys, list.n, sizeof(Datum), compare_keys);
	*n = list.n;
	return list.keys;
}
