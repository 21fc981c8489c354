/*
 * patterns/attribute_extract.c
 *		The keys that a document has in an attribute index.
 *
 * A regular element, an object with a string as its name in the array at the
 * path, has the key of its name and value.  Objects have one key for all of them,
 * a flat array of scalars has one for each member.  Where one of these is a
 * measure the name alone is another key, by which a wide range is found without
 * all of its values.  Whatever else a condition may find a name in has that
 * name's marker: a deeper array, names in an array, elements in arrays of
 * arrays, an object in the place of the array, arrays on the way to it.
 * Conditions treat a marker as "perhaps", so that irregular documents are looked
 * at, but only for the names that are in them.
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

/* Add a key of a name and a type, but no value. */
static void
add_simple(KeyList *list, const KeyBuffer *name, uint8 type)
{
	KeyBuffer	key;

	key.len = name->len;
	memcpy(key.bytes, name->bytes, name->len);
	key_add_byte(&key, type);
	add_key(list, &key);
}

static void
add_scalar(KeyList *list, const KeyBuffer *name, const JsonbValue *value, bool member)
{
	KeyBuffer	key;
	int			ordered;

	key.len = name->len;
	memcpy(key.bytes, name->bytes, name->len);
	if (member)
		key_add_byte(&key, KEY_MEMBER);
	if (key_add_value(&key, value, &ordered))
		add_key(list, &key);
	else
		add_simple(list, name, KEY_IRREGULAR);
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

/* Does the array have no elements but scalars? */
static bool
array_is_flat(const JsonbValue *array)
{
	JsonbWalk	walk;
	JsonbValue	element;

	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &element))
		if (element.type == jbvBinary)
			return false;
	return true;
}

/* The keys of a value, which is NULL where it is missing. */
static void
add_value(KeyList *list, const KeyBuffer *name, const JsonbValue *value)
{
	JsonbWalk	walk;
	JsonbValue	member;

	if (value == NULL)
		add_simple(list, name, KEY_MISSING);
	else if (value->type != jbvBinary)
	{
		if (value_is_measure(value))
			add_key(list, name);
		add_scalar(list, name, value, false);
	}
	else if (!value_is_array(value))
		add_simple(list, name, KEY_OBJECT);
	else if (!array_is_flat(value))
		add_simple(list, name, KEY_IRREGULAR);
	else if (value_count(value) == 0)
		add_simple(list, name, KEY_ARRAY);
	else
	{
		bool		has_measure = false;

		walk_begin(&walk, value->val.binary.data);
		while (walk_next(&walk, NULL, &member))
		{
			CHECK_FOR_INTERRUPTS();
			if (!has_measure && value_is_measure(&member))
			{
				add_key(list, name);
				has_measure = true;
			}
			add_scalar(list, name, &member, true);
		}
	}
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
	JsonbValue	value;
	KeyBuffer	key;

	if (!value_get(element, options->key, options->key_len, &name))
		return;
	if (name.type != jbvString)
	{
		mark_names(list, &name);
		return;
	}
	key.len = 0;
	key_add_name(&key, name.val.string.val, name.val.string.len);
	add_value(list, &key,
			  value_get(element, options->value, options->value_len, &value) ? &value : NULL);
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
