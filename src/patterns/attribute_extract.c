/*
 * patterns/attribute_extract.c
 *		The keys that a document has in an attribute index.
 *
 * A regular element, an object with a string as its name in the array at the
 * path, has the key of its name and value.  Objects have one key for all of them.
 * An array has one for each scalar in it, and one for all that are not.  Where a
 * scalar is a measure the name alone is another key, by which a wide range is
 * found without all of its values.
 *
 * Whatever else a condition may find a name in has that name's marker: names in
 * an array, elements in arrays of arrays, an object in the place of the array,
 * arrays on the way to it.  Conditions treat a marker as "perhaps", so that such
 * documents are looked at, but only for the names that are in them.  Behind the
 * marker is a value that may be compared together with the name; of elements in
 * an array that is every one of them, since jsonpath takes their fields apart.
 * If they are too many the marker stands alone.
 *
 * Elements in which no name can be found have no keys.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "attribute_index.h"

/* So many keys are put in order while they are made; more of them are sorted. */
#define MAX_INSERTED_KEYS 32

/* If names and values of irregular elements make more keys than this, names are marked alone. */
#define MAX_MARKED_VALUES 64

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
	KeyBuffer	bytes;			/* the name, and KEY_IRREGULAR if it is that */
	bool		regular;
} KeyStart;

static void
start_keys(KeyStart *start, const JsonbValue *name, bool regular)
{
	start->bytes.len = 0;
	start->regular = regular;
	key_add_name(&start->bytes, name->val.string.val, name->val.string.len);
	if (!regular)
		key_add_byte(&start->bytes, KEY_IRREGULAR);
}

/* Begin a key.  Where the element is irregular, being a member does not matter. */
static void
start_key(KeyBuffer *key, const KeyStart *start, bool member)
{
	key->len = start->bytes.len;
	memcpy(key->bytes, start->bytes.bytes, start->bytes.len);
	if (member && start->regular)
		key_add_byte(key, KEY_MEMBER);
}

/* Add a key that ends with a type. */
static void
add_type(KeyList *list, const KeyStart *start, bool member, uint8 type)
{
	KeyBuffer	key;

	start_key(&key, start, member);
	key_add_byte(&key, type);
	add_key(list, &key);
}

static void
add_scalar(KeyList *list, const KeyStart *start, bool member, const JsonbValue *value)
{
	KeyBuffer	key;
	int			ordered;

	start_key(&key, start, member);
	if (key_add_value(&key, value, &ordered))
		add_key(list, &key);
	else if (start->regular)
		add_type(list, start, false, KEY_IRREGULAR);
	else
		add_key(list, &start->bytes);
}

static bool
has_measure(const JsonbValue *array)
{
	JsonbWalk	walk;
	JsonbValue	member;

	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &member))
		if (value_is_measure(&member))
			return true;
	return false;
}

static void
add_members(KeyList *list, const KeyStart *start, const JsonbValue *array)
{
	JsonbWalk	walk;
	JsonbValue	member;

	if (start->regular && has_measure(array))
		add_key(list, &start->bytes);
	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &member))
	{
		CHECK_FOR_INTERRUPTS();
		if (member.type == jbvBinary)
			add_type(list, start, true, KEY_OBJECT);
		else
			add_scalar(list, start, true, &member);
	}
}

/* The keys of a value, which is NULL where it is missing. */
static void
add_value(KeyList *list, const KeyStart *start, const JsonbValue *value)
{
	if (value == NULL)
		add_type(list, start, false, KEY_MISSING);
	else if (value->type != jbvBinary)
	{
		if (start->regular && value_is_measure(value))
			add_key(list, &start->bytes);
		add_scalar(list, start, false, value);
	}
	else if (!value_is_array(value))
		add_type(list, start, false, KEY_OBJECT);
	else if (value_count(value) == 0)
		add_type(list, start, false, KEY_ARRAY);
	else
		add_members(list, start, value);
}

/* Names and values that may be compared together. */
typedef struct Irregular
{
	uint32		nnames;
	uint32		maxnames;
	JsonbValue *names;
	uint32		nvalues;
	uint32		maxvalues;
	JsonbValue *values;
	uint64		nscalars;		/* values, or members of them */
	bool		missing;		/* an element has no value */
} Irregular;

/* Collect the name, or all names in arrays, that a key field holds. */
static void
collect_names(Irregular *irregular, const JsonbValue *name)
{
	JsonbWalk	walk;
	JsonbValue	inner;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (name->type == jbvString)
	{
		irregular->names = array_reserve(irregular->names, irregular->nnames,
										 &irregular->maxnames, sizeof(JsonbValue));
		irregular->names[irregular->nnames++] = *name;
	}
	else if (value_is_array(name))
	{
		walk_begin(&walk, name->val.binary.data);
		while (walk_next(&walk, NULL, &inner))
			collect_names(irregular, &inner);
	}
}

/* Collect what an object has, or all objects in arrays. */
static void
collect_elements(Irregular *irregular, const AttributeOptions *options, const JsonbValue *value)
{
	JsonbWalk	walk;
	JsonbValue	inner;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (value_is_array(value))
	{
		walk_begin(&walk, value->val.binary.data);
		while (walk_next(&walk, NULL, &inner))
			collect_elements(irregular, options, &inner);
		return;
	}
	if (value_get(value, options->key, options->key_len, &inner))
		collect_names(irregular, &inner);
	if (!value_get(value, options->value, options->value_len, &inner))
		irregular->missing = true;
	else
	{
		irregular->values = array_reserve(irregular->values, irregular->nvalues,
										  &irregular->maxvalues, sizeof(JsonbValue));
		irregular->values[irregular->nvalues++] = inner;
		irregular->nscalars += value_is_array(&inner) ? value_count(&inner) : 1;
	}
}

/* Mark the names that are in an unexpected form or place, each with all values. */
static void
mark_elements(KeyList *list, const JsonbValue *value)
{
	Irregular	irregular = {0};
	KeyStart	start;

	collect_elements(&irregular, list->options, value);
	for (uint32 i = 0; i < irregular.nnames; i++)
	{
		start_keys(&start, &irregular.names[i], false);
		if (irregular.nnames * irregular.nscalars > MAX_MARKED_VALUES)
		{
			add_key(list, &start.bytes);
			continue;
		}
		if (irregular.missing)
			add_value(list, &start, NULL);
		for (uint32 j = 0; j < irregular.nvalues; j++)
			add_value(list, &start, &irregular.values[j]);
	}
}

/* The keys of an object in the array at the path. */
static void
add_element(KeyList *list, const JsonbValue *element)
{
	const AttributeOptions *options = list->options;
	JsonbValue	name;
	JsonbValue	value;
	KeyStart	start;

	if (!value_get(element, options->key, options->key_len, &name))
		return;
	if (name.type != jbvString)
	{
		mark_elements(list, element);
		return;
	}
	start_keys(&start, &name, true);
	add_value(list, &start,
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
		if (!value_is_array(value))
			mark_elements(list, value);
		else if (regular)
			add_elements(list, value);
		else
		{
			walk_begin(&walk, value->val.binary.data);
			while (walk_next(&walk, NULL, &inner))
				mark_elements(list, &inner);
		}
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
	list.max = MAX_INSERTED_KEYS;
	list.keys = palloc(list.max * sizeof(Datum));
	value_from_jsonb(doc, &root);
	follow_path(&list, &root, 0, true);
	if (list.n > MAX_INSERTED_KEYS)
		qsort(list.keys, list.n, sizeof(Datum), compare_keys);
	*n = list.n;
	return list.keys;
}
