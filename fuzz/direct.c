/*
 * direct.c
 *		The jsonb floor as SQL functions, for cases that are written out.
 *
 * What can be said in SQL is compared in SQL: t/ has the other side.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "fuzz.h"

PG_FUNCTION_INFO_V1(floor_sort);
PG_FUNCTION_INFO_V1(floor_put);
PG_FUNCTION_INFO_V1(floor_get);
PG_FUNCTION_INFO_V1(floor_parse);
PG_FUNCTION_INFO_V1(floor_number);
PG_FUNCTION_INFO_V1(floor_nest);
PG_FUNCTION_INFO_V1(floor_size);
PG_FUNCTION_INFO_V1(floor_count);

extern Datum floor_sort(PG_FUNCTION_ARGS);
extern Datum floor_put(PG_FUNCTION_ARGS);
extern Datum floor_get(PG_FUNCTION_ARGS);
extern Datum floor_parse(PG_FUNCTION_ARGS);
extern Datum floor_number(PG_FUNCTION_ARGS);
extern Datum floor_nest(PG_FUNCTION_ARGS);
extern Datum floor_size(PG_FUNCTION_ARGS);
extern Datum floor_count(PG_FUNCTION_ARGS);

/* sort(elements jsonb, order_by text) returns jsonb */
Datum
floor_sort(PG_FUNCTION_ARGS)
{
	Jsonb	   *elements = PG_GETARG_JSONB_P(0);
	SortOrder  *order = sort_order_parse(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	ValueList	list = {0};
	JsonbWalk	walk;
	JsonbValue	value;

	walk_begin(&walk, &elements->root);
	while (walk_next(&walk, NULL, &value))
		values_append(&list, &value);
	values_sort(list.values, list.n, order);
	values_finish(&list, &value);
	PG_RETURN_JSONB_P(value_to_jsonb(&value));
}

static DocPath *
path_argument(ArrayType *array)
{
	Datum	   *texts;
	bool	   *nulls;
	int			n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &n);
	return path_from_texts(texts, nulls, n);
}

/* put(doc jsonb, path text[], value jsonb) returns jsonb */
Datum
floor_put(PG_FUNCTION_ARGS)
{
	JsonbValue	root,
				value;
	JsonbSplice *splice;

	value_from_jsonb(PG_GETARG_JSONB_P(0), &root);
	value_from_jsonb(PG_GETARG_JSONB_P(2), &value);
	splice = splice_begin(&root);
	path_put(splice, path_argument(PG_GETARG_ARRAYTYPE_P(1)), &value);
	PG_RETURN_JSONB_P(splice_apply(splice));
}

/* get(doc jsonb, path text[]) returns jsonb */
Datum
floor_get(PG_FUNCTION_ARGS)
{
	JsonbValue	root,
				value;

	value_from_jsonb(PG_GETARG_JSONB_P(0), &root);
	if (!path_get(path_argument(PG_GETARG_ARRAYTYPE_P(1)), &root, &value))
		PG_RETURN_NULL();
	PG_RETURN_JSONB_P(value_to_jsonb(&value));
}

/* parse(path text, quoted boolean) returns text[] */
Datum
floor_parse(PG_FUNCTION_ARGS)
{
	text	   *path_text = PG_GETARG_TEXT_PP(0);
	DocPath    *path = path_parse(VARDATA_ANY(path_text), VARSIZE_ANY_EXHDR(path_text),
								  PG_GETARG_BOOL(1));
	Datum	   *texts = palloc(path->nsteps * sizeof(Datum));

	for (int i = 0; i < path->nsteps; i++)
		texts[i] = PointerGetDatum(cstring_to_text_with_len(path->steps[i].name, path->steps[i].len));
	PG_RETURN_ARRAYTYPE_P(construct_array(texts, path->nsteps, TEXTOID, -1, false, TYPALIGN_INT));
}

/* number(n numeric) returns bigint: null unless it is one */
Datum
floor_number(PG_FUNCTION_ARGS)
{
	int64		result;

	if (!number_to_int64(PG_GETARG_NUMERIC(0), &result))
		PG_RETURN_NULL();
	PG_RETURN_INT64(result);
}

/* nest(levels integer) returns integer: bytes of {"a": {"a": ... }}, made as a tree */
Datum
floor_nest(PG_FUNCTION_ARGS)
{
	JsonbValue	value;

	value_from_bool(true, &value);
	for (int32 i = PG_GETARG_INT32(0); i > 0; i--)
	{
		PairList	pairs = {0};

		pairs_append(&pairs, "a", 1, &value);
		pairs_finish(&pairs, &value);
	}
	PG_RETURN_INT32(VARSIZE(value_to_jsonb(&value)));
}

/*
 * size(way text, bytes integer) returns integer: bytes of a document whose
 * children have so many bytes, made in one of several ways
 */
Datum
floor_size(PG_FUNCTION_ARGS)
{
	char	   *way = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int32		bytes = PG_GETARG_INT32(1);
	ValueList	list = {0};
	JsonbValue	half,
				value;
	JsonbSplice *splice;
	Jsonb	   *jb;

	/* an array of two strings */
	half.type = jbvString;
	half.val.string.len = bytes / 2;
	half.val.string.val = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	memset(half.val.string.val, 'x', bytes);
	values_append(&list, &half);
	if (strcmp(way, "tree") == 0)
	{
		half.val.string.len = bytes - bytes / 2;
		values_append(&list, &half);
		values_finish(&list, &value);
		PG_RETURN_INT32(VARSIZE(value_to_jsonb(&value)));
	}
	values_finish(&list, &value);
	jb = value_to_jsonb(&value);
	value_from_jsonb(jb, &value);
	splice = splice_begin(&value);
	half.val.string.len = bytes - bytes / 2;
	/* after the old child, which is copied first, or before it */
	splice_insert(splice, strcmp(way, "append") == 0 ? 1 : 0, &half, 1);
	PG_RETURN_INT32(VARSIZE(splice_apply(splice)));
}

/* count(way text, n bigint) returns bigint: children of a list said to have n */
Datum
floor_count(PG_FUNCTION_ARGS)
{
	char	   *way = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int64		n = PG_GETARG_INT64(1);
	JsonbValue	value;

	if (strcmp(way, "array") == 0)
	{
		ValueList	list = {0};

		list.n = n;
		values_finish(&list, &value);
		PG_RETURN_INT64(value.val.array.nElems);
	}
	else
	{
		PairList	list = {0};

		/* no longer than what is there unless it is refused */
		list.n = n;
		pairs_finish(&list, &value);
		PG_RETURN_INT64(value.val.object.nPairs);
	}
}
