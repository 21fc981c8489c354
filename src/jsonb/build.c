/*
 * jsonb/build.c
 *		Builds new arrays and objects, as trees for the writer.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pattern.h"

/*
 * Room for one more element in a growable array of n elements, which may be NULL
 * while n is 0.  Returns the array, which may have moved.
 */
void *
array_reserve(void *array, uint32 n, uint32 *max, Size size)
{
	if (n < *max)
		return array;
	*max = Max(4, *max * 2);
	return array == NULL ? palloc(*max * size) : repalloc_huge(array, *max * size);
}

/* 54000 if there are more children than core can read in an array or an object. */
void
jsonb_check_count(uint64 count, bool is_object)
{
	Size		limit = Min(JB_CMASK, MaxAllocSize / (is_object ? sizeof(JsonbPair) : sizeof(JsonbValue)));

	if (count > limit)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("number of elements in one jsonb array or object exceeds the maximum allowed (%zu)",
						limit)));
}

/* Append to a list; the value itself is not copied. */
void
values_append(ValueList *list, const JsonbValue *value)
{
	list->values = array_reserve(list->values, list->n, &list->max, sizeof(JsonbValue));
	list->values[list->n++] = *value;
}

/* Append the elements of an array that was read. */
void
values_from_array(ValueList *list, const JsonbValue *array)
{
	JsonbWalk	walk;
	JsonbValue	element;

	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		values_append(list, &element);
	}
}

/* The list as an array to be written, which shares its memory. */
void
values_finish(const ValueList *list, JsonbValue *result)
{
	jsonb_check_count(list->n, false);
	result->type = jbvArray;
	result->val.array.nElems = list->n;
	result->val.array.elems = list->values;
	result->val.array.rawScalar = false;
}

/* Append a pair; neither key nor value is copied. */
void
pairs_append(PairList *list, const char *key, int len, const JsonbValue *value)
{
	JsonbPair  *pair;

	list->pairs = array_reserve(list->pairs, list->n, &list->max, sizeof(JsonbPair));
	pair = &list->pairs[list->n];
	pair->key.type = jbvString;
	pair->key.val.string.val = unconstify(char *, key);
	pair->key.val.string.len = len;
	pair->value = *value;
	pair->order = list->n++;
}

static int
compare_pairs(const void *a, const void *b)
{
	const JsonbPair *x = a;
	const JsonbPair *y = b;
	int			cmp = key_compare(x->key.val.string.val, x->key.val.string.len,
								  y->key.val.string.val, y->key.val.string.len);

	CHECK_FOR_INTERRUPTS();
	if (cmp != 0)
		return cmp;
	return x->order < y->order ? -1 : 1;
}

/* The list as an object to be written, which shares its memory; a key's last value counts. */
void
pairs_finish(PairList *list, JsonbValue *result)
{
	uint32		n = 0;

	jsonb_check_count(list->n, true);
	if (list->n > 1)
		qsort(list->pairs, list->n, sizeof(JsonbPair), compare_pairs);
	for (uint32 i = 0; i < list->n; i++)
	{
		const JsonbValue *key = &list->pairs[i].key;

		if (n > 0 && key_compare(list->pairs[n - 1].key.val.string.val,
								 list->pairs[n - 1].key.val.string.len,
								 key->val.string.val, key->val.string.len) == 0)
			n--;
		list->pairs[n++] = list->pairs[i];
	}
	result->type = jbvObject;
	result->val.object.nPairs = n;
	result->val.object.pairs = list->pairs;
}
