/*
 * document/expression_array.c
 *		Operators on arrays, and on arrays as sets.
 *
 * A set is an array whose order and repetitions do not count; what a set
 * operator returns is sorted, so that equal sets give equal arrays.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "expression.h"

/* Argument i as an array; false if it is missing or null, when *result is null. */
static bool
evaluate_array_argument(const Expression *expression, int i, EvaluationContext *context, JsonbValue *result)
{
	if (!evaluate_not_null(expression, i, context, result))
		return false;
	check_array(expression, result);
	return true;
}

static bool
evaluate_array_elem_at(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	array,
				index;
	int64		i;

	if (!evaluate_pair(expression, context, &array, &index))
	{
		result->type = jbvNull;
		return true;
	}
	check_array(expression, &array);
	i = check_integer(expression, &index);
	if (i < 0)
		i += value_count(&array);
	if (i < 0 || i >= value_count(&array))
		return false;
	container_value(array.val.binary.data, (uint32) i, result);
	return true;
}

/* $first $last; arg is not NULL for $last */
static bool
evaluate_end(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	array;

	if (!evaluate_array_argument(expression, 0, context, &array))
	{
		result->type = jbvNull;
		return true;
	}
	if (value_count(&array) == 0)
		return false;
	container_value(array.val.binary.data, expression->operator->arg != NULL ? value_count(&array) - 1 : 0, result);
	return true;
}

static bool
evaluate_size(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	array;

	if (!evaluate(expression->args[0], context, &array))
		array.type = jbvNull;
	check_array(expression, &array);
	value_from_int64(value_count(&array), result);
	return true;
}

static bool
evaluate_is_array(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	value;

	value_from_bool(evaluate(expression->args[0], context, &value) && value_is_array(&value), result);
	return true;
}

static bool
evaluate_concat_arrays(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};

	for (int i = 0; i < expression->nargs; i++)
	{
		if (!evaluate_array_argument(expression, i, context, result))
			return true;
		values_from_array(&list, result);
	}
	return array_result(&list, result);
}

/* n elements of an array from the one at a place on. */
static bool
slice(const JsonbValue *array, int64 from, int64 n, JsonbValue *result)
{
	ValueList	list = {0};
	int64		count = value_count(array);

	from = Min(from, count);
	for (int64 i = from; i < Min(from + n, count); i++)
	{
		JsonbValue	element;

		container_value(array->val.binary.data, (uint32) i, &element);
		values_append(&list, &element);
	}
	return array_result(&list, result);
}

/* [array, n]: the first n, or the last -n; [array, position, n] */
static bool
evaluate_slice(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	array,
				number[2];
	int64		from,
				n;

	result->type = jbvNull;
	if (!evaluate_array_argument(expression, 0, context, &array))
		return true;
	for (int i = 1; i < expression->nargs; i++)
		if (!evaluate_not_null(expression, i, context, &number[i - 1]))
			return true;
	from = check_integer(expression, &number[0]);
	if (expression->nargs == 2)
		return from < 0 ? slice(&array, Max(0, value_count(&array) + from), -from, result) :
			slice(&array, 0, from, result);
	n = check_integer(expression, &number[1]);
	if (n <= 0)
		argument_error(expression, &number[1], "a positive number of elements");
	return slice(&array, from < 0 ? Max(0, value_count(&array) + from) : from, n, result);
}

/* The number of elements that $firstN and its like are to return. */
static int32
evaluate_n(const Expression *expression, int i, EvaluationContext *context)
{
	JsonbValue	n;

	if (!evaluate(expression->args[i], context, &n))
		n.type = jbvNull;
	if (check_integer(expression, &n) <= 0)
		argument_error(expression, &n, "a positive number of elements");
	return check_integer(expression, &n);
}

/* $firstN $lastN; arg is not NULL for $lastN */
static bool
evaluate_end_n(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	int64		n = evaluate_n(expression, 1, context);
	JsonbValue	array;

	if (!evaluate(expression->args[0], context, &array))
		array.type = jbvNull;
	check_array(expression, &array);
	return slice(&array, expression->operator->arg != NULL ? Max(0, value_count(&array) - n) : 0, n, result);
}

/* $minN $maxN: those that come first or last, null left out; arg is not NULL for $maxN */
static bool
evaluate_extreme_n(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	SortKey		key = {NULL, expression->operator->arg != NULL};
	SortOrder	order = {1, &key};
	int32		n = evaluate_n(expression, 1, context);
	ValueList	list = {0};
	JsonbValue	array,
				element;
	JsonbWalk	walk;

	if (!evaluate(expression->args[0], context, &array))
		array.type = jbvNull;
	check_array(expression, &array);
	walk_begin(&walk, array.val.binary.data);
	while (walk_next(&walk, NULL, &element))
		if (element.type != jbvNull)
			values_append(&list, &element);
	values_sort(list.values, list.n, &order);
	list.n = Min(list.n, (uint32) n);
	return array_result(&list, result);
}

/* {"input": ..., "n": ...} */
static Expression *
compile_n(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"input", "n"};

	return expression_named_arguments(operator, operand, names, 2, 2, scope);
}

static bool
evaluate_in(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	value,
				array,
				element;
	bool		has_value = evaluate(expression->args[0], context, &value);
	bool		found = false;
	JsonbWalk	walk;

	if (!evaluate(expression->args[1], context, &array))
		array.type = jbvNull;
	check_array(expression, &array);
	walk_begin(&walk, array.val.binary.data);
	while (has_value && !found && walk_next(&walk, NULL, &element))
		found = value_equal(&element, &value);
	value_from_bool(found, result);
	return true;
}

/* A bound among the elements, which is not negative; false if it is null. */
static bool
evaluate_bound(const Expression *expression, int i, EvaluationContext *context, int32 *result)
{
	JsonbValue	bound;

	if (i >= expression->nargs)
		return true;
	if (!evaluate_not_null(expression, i, context, &bound))
		return false;
	*result = check_integer(expression, &bound);
	if (*result < 0)
		argument_error(expression, &bound, "an integer that is not negative");
	return true;
}

/* [array, value, from, to]: where the value is, or -1 */
static bool
evaluate_index_of_array(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	int32		from = 0;
	int32		to = PG_INT32_MAX;
	JsonbValue	array,
				value,
				element;
	bool		has_value;
	JsonbWalk	walk;

	result->type = jbvNull;
	if (!evaluate_array_argument(expression, 0, context, &array))
		return true;
	has_value = evaluate(expression->args[1], context, &value);
	if (!evaluate_bound(expression, 2, context, &from) || !evaluate_bound(expression, 3, context, &to))
		return true;
	value_from_int64(-1, result);
	walk_begin(&walk, array.val.binary.data);
	for (int32 i = 0; has_value && i < to && walk_next(&walk, NULL, &element); i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i >= from && value_equal(&element, &value))
		{
			value_from_int64(i, result);
			break;
		}
	}
	return true;
}

/* [start, end, step]: the integers from start on, up to before end */
static bool
evaluate_range(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};
	int32		numbers[3] = {0, 0, 1};

	for (int i = 0; i < expression->nargs; i++)
	{
		JsonbValue	number;

		if (!evaluate(expression->args[i], context, &number))
			number.type = jbvNull;
		numbers[i] = check_integer(expression, &number);
		if (i == 2 && numbers[i] == 0)
			argument_error(expression, &number, "an integer other than 0");
	}
	for (int64 i = numbers[0]; numbers[2] > 0 ? i < numbers[1] : i > numbers[1]; i += numbers[2])
	{
		JsonbValue	number;

		CHECK_FOR_INTERRUPTS();
		jsonb_check_count(list.n + 1, false);
		value_from_int64(i, &number);
		values_append(&list, &number);
	}
	return array_result(&list, result);
}

static bool
evaluate_reverse_array(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};

	if (!evaluate_array_argument(expression, 0, context, result))
		return true;
	values_from_array(&list, result);
	for (uint32 i = 0; i < list.n / 2; i++)
	{
		JsonbValue	value = list.values[i];

		list.values[i] = list.values[list.n - 1 - i];
		list.values[list.n - 1 - i] = value;
	}
	return array_result(&list, result);
}

static bool
evaluate_sort_array(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};

	if (!evaluate_array_argument(expression, 0, context, result))
		return true;
	values_from_array(&list, result);
	values_sort(list.values, list.n, expression->compiled);
	return array_result(&list, result);
}

/* {"input": ..., "sortBy": ...}; the order is no expression */
static Expression *
compile_sort_array(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"input", "sortBy"};
	Expression *expression = expression_new(operator);
	const char *hint = NULL;
	JsonbValue	parts[2];

	expression_fields(operator, operand, names, 2, 2, parts);
	expression->compiled = sort_compile(&parts[1], &hint);
	if (expression->compiled == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid \"sortBy\" of $sortArray: %s", value_to_cstring(&parts[1])),
				 errdetail("It must be 1, -1, an object such as {\"field\": -1}, or an array of several such objects."),
				 hint != NULL ? errhint("%s", hint) : 0));
	expression->nargs = 1;
	expression->args = palloc(sizeof(Expression *));
	expression->args[0] = expression_compile_within(&parts[0], scope);
	return expression;
}

/* {"inputs": [...], "useLongestLength": ..., "defaults": [...]}: arrays of the elements at the same place */
static bool
evaluate_zip(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	inputs = {0};
	ValueList	defaults = {0};
	ValueList	list = {0};
	uint32		length = 0;
	bool		longest = expression->args[1] != NULL && evaluate_truth(expression->args[1], context);

	if (!evaluate_array_argument(expression, 0, context, result))
		return true;
	values_from_array(&inputs, result);
	if (expression->args[2] != NULL && evaluate_array_argument(expression, 2, context, result))
		values_from_array(&defaults, result);
	for (uint32 i = 0; i < inputs.n; i++)
	{
		uint32		count;

		if (inputs.values[i].type == jbvNull)
		{
			result->type = jbvNull;
			return true;
		}
		check_array(expression, &inputs.values[i]);
		count = value_count(&inputs.values[i]);
		length = i == 0 ? count : longest ? Max(length, count) : Min(length, count);
	}
	for (uint32 place = 0; place < length; place++)
	{
		ValueList	tuple = {0};
		JsonbValue	value;

		CHECK_FOR_INTERRUPTS();
		for (uint32 i = 0; i < inputs.n; i++)
		{
			if (place < value_count(&inputs.values[i]))
				container_value(inputs.values[i].val.binary.data, place, &value);
			else if (i < defaults.n)
				value = defaults.values[i];
			else
				value.type = jbvNull;
			values_append(&tuple, &value);
		}
		array_result(&tuple, &value);
		values_append(&list, &value);
	}
	return array_result(&list, result);
}

static Expression *
compile_zip(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"inputs", "useLongestLength", "defaults"};

	return expression_named_arguments(operator, operand, names, 1, lengthof(names), scope);
}

/*
 * Sets
 */

/* An array as a set. */
static void
set_from_array(const JsonbValue *array, ValueList *set)
{
	values_from_array(set, array);
	set->n = values_make_set(set->values, set->n);
}

/* Argument i as a set, which may not be null. */
static void
evaluate_set(const Expression *expression, int i, EvaluationContext *context, ValueList *set)
{
	JsonbValue	array;

	if (!evaluate(expression->args[i], context, &array))
		array.type = jbvNull;
	check_array(expression, &array);
	set_from_array(&array, set);
}

static bool
is_subset(const ValueList *a, const ValueList *b)
{
	for (uint32 i = 0; i < a->n; i++)
		if (!values_set_find(b->values, b->n, &a->values[i], NULL))
			return false;
	return true;
}

static bool
evaluate_set_equals(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	first = {0};
	bool		all = true;

	evaluate_set(expression, 0, context, &first);
	for (int i = 1; i < expression->nargs; i++)
	{
		ValueList	other = {0};

		evaluate_set(expression, i, context, &other);
		all &= other.n == first.n && is_subset(&other, &first);
	}
	value_from_bool(all, result);
	return true;
}

static bool
evaluate_set_is_subset(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	a = {0};
	ValueList	b = {0};

	evaluate_set(expression, 0, context, &a);
	evaluate_set(expression, 1, context, &b);
	value_from_bool(is_subset(&a, &b), result);
	return true;
}

static bool
evaluate_set_union(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};

	for (int i = 0; i < expression->nargs; i++)
	{
		if (!evaluate_array_argument(expression, i, context, result))
			return true;
		values_from_array(&list, result);
	}
	list.n = values_make_set(list.values, list.n);
	return array_result(&list, result);
}

/* $setIntersection, and $setDifference, which has two arguments; arg is not NULL for it */
static bool
evaluate_set_filter(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	bool		in_other = expression->operator->arg == NULL;
	ValueList	set = {0};

	for (int i = 0; i < expression->nargs; i++)
	{
		ValueList	other = {0};
		uint32		n = 0;

		if (!evaluate_array_argument(expression, i, context, result))
			return true;
		set_from_array(result, i == 0 ? &set : &other);
		for (uint32 k = 0; i > 0 && k < set.n; k++)
			if (values_set_find(other.values, other.n, &set.values[k], NULL) == in_other)
				set.values[n++] = set.values[k];
		if (i > 0)
			set.n = n;
	}
	return array_result(&set, result);
}

/* $anyElementTrue $allElementsTrue; arg is not NULL for the latter */
static bool
evaluate_elements_true(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	bool		all = expression->operator->arg != NULL;
	bool		found = false;
	JsonbValue	array,
				element;
	JsonbWalk	walk;

	if (!evaluate(expression->args[0], context, &array))
		array.type = jbvNull;
	check_array(expression, &array);
	walk_begin(&walk, array.val.binary.data);
	while (!found && walk_next(&walk, NULL, &element))
		found = value_is_true(&element) != all;
	value_from_bool(found != all, result);
	return true;
}

const ExpressionOperator expression_array_operators[] =
{
	{"$allElementsTrue", evaluate_elements_true, 1, 1, NULL, ""},
	{"$anyElementTrue", evaluate_elements_true, 1, 1, NULL, NULL},
	{"$arrayElemAt", evaluate_array_elem_at, 2, 2, NULL, NULL},
	{"$concatArrays", evaluate_concat_arrays, 0, -1, NULL, NULL},
	{"$first", evaluate_end, 1, 1, NULL, NULL},
	{"$firstN", evaluate_end_n, 0, -1, compile_n, NULL},
	{"$in", evaluate_in, 2, 2, NULL, NULL},
	{"$indexOfArray", evaluate_index_of_array, 2, 4, NULL, NULL},
	{"$isArray", evaluate_is_array, 1, 1, NULL, NULL},
	{"$last", evaluate_end, 1, 1, NULL, ""},
	{"$lastN", evaluate_end_n, 0, -1, compile_n, ""},
	{"$maxN", evaluate_extreme_n, 0, -1, compile_n, ""},
	{"$minN", evaluate_extreme_n, 0, -1, compile_n, NULL},
	{"$range", evaluate_range, 2, 3, NULL, NULL},
	{"$reverseArray", evaluate_reverse_array, 1, 1, NULL, NULL},
	{"$setDifference", evaluate_set_filter, 2, 2, NULL, ""},
	{"$setEquals", evaluate_set_equals, 2, -1, NULL, NULL},
	{"$setIntersection", evaluate_set_filter, 1, -1, NULL, NULL},
	{"$setIsSubset", evaluate_set_is_subset, 2, 2, NULL, NULL},
	{"$setUnion", evaluate_set_union, 0, -1, NULL, NULL},
	{"$size", evaluate_size, 1, 1, NULL, NULL},
	{"$slice", evaluate_slice, 2, 3, NULL, NULL},
	{"$sortArray", evaluate_sort_array, 0, -1, compile_sort_array, NULL},
	{"$zip", evaluate_zip, 0, -1, compile_zip, NULL},
	{NULL, NULL, 0, 0, NULL, NULL}
};
