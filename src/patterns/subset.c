/*
 * patterns/subset.c
 *		Subset pattern: subset_push, which keeps the first elements of an order.
 *
 * A list that subset_push made is in order, so that a push is one insertion and
 * one removal.  That it is in order is seen while looking for the new element's
 * place; if it is not, because it comes from elsewhere, it is sorted.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "pattern.h"

/* The operands that are parsed once a statement. */
typedef struct SubsetOperands
{
	DocPath    *path;			/* NULL: the list itself is given */
	SortOrder  *order;			/* of no keys: the order of arrival */
} SubsetOperands;

PG_FUNCTION_INFO_V1(pattern_subset_push);
PG_FUNCTION_INFO_V1(pattern_subset_push_path);

static SortOrder *
compile_order(const text *order_by)
{
	return sort_order_parse(order_by == NULL ? "" : text_to_cstring(order_by));
}

/* compile for operand_compiled */
static void *
compile_push(Jsonb **operands)
{
	SubsetOperands *result = palloc0(sizeof(SubsetOperands));

	result->order = compile_order((text *) operands[0]);
	return result;
}

/* compile for operand_compiled */
static void *
compile_push_path(Jsonb **operands)
{
	SubsetOperands *result = palloc0(sizeof(SubsetOperands));
	ArrayType  *path = (ArrayType *) operands[0];
	Datum	   *steps;
	bool	   *nulls;
	int			nsteps;

	if (ARR_NDIM(path) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("wrong number of array subscripts")));
	deconstruct_array(path, TEXTOID, -1, false, TYPALIGN_INT, &steps, &nulls, &nsteps);
	result->path = path_from_texts(steps, nulls, nsteps);
	result->order = compile_order((text *) operands[1]);
	return result;
}

/*
 * Where the element belongs in a sorted list, behind its equals.  False if the
 * list is not sorted.
 */
static bool
find_place(const JsonbValue *list, const JsonbValue *element, const SortOrder *order, uint32 *place)
{
	Size		keys_size = order->nkeys * sizeof(JsonbValue);
	JsonbValue *keys = palloc(3 * keys_size);
	JsonbValue *element_keys = keys;
	JsonbValue *this_keys = keys + order->nkeys;
	JsonbValue *last_keys = this_keys + order->nkeys;
	JsonbWalk	walk;
	JsonbValue	this;

	*place = value_count(list);
	sort_order_keys(order, element, element_keys);
	walk_begin(&walk, list->val.binary.data);
	while (walk_next(&walk, NULL, &this))
	{
		uint32		at = walk.next - 1;
		JsonbValue *swap;

		CHECK_FOR_INTERRUPTS();
		sort_order_keys(order, &this, this_keys);
		if (at > 0 && sort_order_compare_keys(order, last_keys, this_keys) > 0)
			return false;
		if (*place > at && sort_order_compare_keys(order, this_keys, element_keys) > 0)
			*place = at;
		swap = last_keys;
		last_keys = this_keys;
		this_keys = swap;
	}
	pfree(keys);
	return true;
}

/* Put a list that is not in order into order, with the element. */
static void
push_sorting(JsonbSplice *splice, const JsonbValue *list, const JsonbValue *element,
			 uint32 max_size, const SortOrder *order)
{
	ValueList	values = {0};
	JsonbWalk	walk;
	JsonbValue	value;

	walk_begin(&walk, list->val.binary.data);
	while (walk_next(&walk, NULL, &value))
		values_append(&values, &value);
	values_append(&values, element);
	values_sort(values.values, values.n, order);
	splice_remove(splice, 0, walk.count);
	splice_insert(splice, walk.count, values.values, Min(values.n, max_size));
}

/* Note in the splice of a list what pushing the element does to it; nothing, perhaps. */
static void
push(JsonbSplice *splice, const JsonbValue *list, JsonbValue *element, uint32 max_size,
	 const SortOrder *order)
{
	uint32		count = value_count(list);
	uint32		place = count;
	uint32		excess = count >= max_size ? count - max_size + 1 : 0;

	if (max_size == 0)
	{
		if (count > 0)
			splice_remove(splice, 0, count);
	}
	else if (order->nkeys == 0)
	{
		if (excess > 0)
			splice_remove(splice, 0, excess);
		splice_insert(splice, count, element, 1);
	}
	else if (!find_place(list, element, order, &place))
		push_sorting(splice, list, element, max_size, order);
	else if (place < max_size)
	{
		splice_insert(splice, place, element, 1);
		if (excess > 0)
			splice_remove(splice, count - excess, excess);
	}
	else if (count > max_size)
		splice_remove(splice, max_size, count - max_size);
}

/* The list of the element alone, to be written. */
static void
first_push(JsonbValue *element, uint32 max_size, JsonbValue *result)
{
	ValueList	list = {Min(1, max_size), 1, element};

	values_finish(&list, result);
}

/* The size at this position. */
static uint32
get_max_size(FunctionCallInfo fcinfo, int position)
{
	argument_check_given(fcinfo, position, "max_size");
	argument_check_least("max_size", PG_GETARG_INT32(position), 0);
	return PG_GETARG_INT32(position);
}

/* subset_push(elements jsonb, element jsonb, max_size integer, order_by text DEFAULT NULL) → jsonb */
Datum
pattern_subset_push(PG_FUNCTION_ARGS)
{
	const int	args[] = {3};
	uint32		max_size = get_max_size(fcinfo, 2);
	SubsetOperands *operands;
	JsonbSplice *splice;
	JsonbValue	list,
				element;

	argument_check_given(fcinfo, 1, "element");
	operands = operand_compiled(fcinfo, args, 1, compile_push);
	value_from_jsonb(PG_GETARG_JSONB_P(1), &element);
	if (PG_ARGISNULL(0))
	{
		first_push(&element, max_size, &list);
		PG_RETURN_JSONB_P(value_to_jsonb(&list));
	}
	value_from_jsonb(PG_GETARG_JSONB_P(0), &list);
	if (!value_is_array(&list))
		argument_mismatch("elements", "an array", &list);
	splice = splice_begin(&list);
	push(splice, &list, &element, max_size, operands->order);
	if (splice->nedits == 0)
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	PG_RETURN_JSONB_P(splice_apply(splice));
}

/* subset_push(doc jsonb, path text[], element jsonb, max_size integer, order_by text DEFAULT NULL) → jsonb */
Datum
pattern_subset_push_path(PG_FUNCTION_ARGS)
{
	const int	args[] = {1, 4};
	uint32		max_size = get_max_size(fcinfo, 3);
	SubsetOperands *operands;
	JsonbSplice *splice,
			   *within;
	JsonbValue	doc,
				list,
				element;

	argument_check_given(fcinfo, 1, "path");
	argument_check_given(fcinfo, 2, "element");
	operands = operand_compiled(fcinfo, args, 2, compile_push_path);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	value_from_jsonb(PG_GETARG_JSONB_P(2), &element);
	value_from_jsonb(PG_GETARG_JSONB_P(0), &doc);
	if (doc.type != jbvBinary)
		argument_mismatch("doc", "an object or an array", &doc);
	splice = splice_begin(&doc);
	if (path_get(operands->path, &doc, &list))
	{
		if (!value_is_array(&list))
			field_mismatch(path_to_cstring(operands->path, operands->path->nsteps), "an array", &list);
		within = path_within(splice, operands->path);
		push(within, &list, &element, max_size, operands->order);
		if (within->nedits == 0)
			PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	else
	{
		first_push(&element, max_size, &list);
		path_put(splice, operands->path, &list);
	}
	PG_RETURN_JSONB_P(splice_apply(splice));
}
