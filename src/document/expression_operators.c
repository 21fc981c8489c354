/*
 * document/expression_operators.c
 *		The operators of the expression language.
 *
 * null and missing make arithmetic null, as in MongoDB; numbers are numeric, so
 * 0.1 + 0.2 is 0.3 and nothing overflows into a double.
 */
#include "postgres.h"

#include "expression.h"

pg_noreturn static void
argument_error(const Expression *expression, const JsonbValue *argument, const char *expected)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid argument for %s: %s of type %s", expression->operator->name,
					value_to_cstring(argument), value_type_name(argument)),
			 errdetail("The argument must be %s.", expected)));
}

/* Argument i; false if it is missing or null, when *result is null. */
static bool
evaluate_not_null(const Expression *expression, int i, EvaluationContext *context, JsonbValue *result)
{
	if (evaluate(expression->args[i], context, result) && result->type != jbvNull)
		return true;
	result->type = jbvNull;
	return false;
}

/* Both arguments; false if one is missing or null, when *a is null. */
static bool
evaluate_pair(const Expression *expression, EvaluationContext *context, JsonbValue *a, JsonbValue *b)
{
	bool		found = evaluate_not_null(expression, 0, context, a);

	if (!evaluate_not_null(expression, 1, context, b))
		found = false;
	if (!found)
		a->type = jbvNull;
	return found;
}

static void
check_number(const Expression *expression, const JsonbValue *argument)
{
	if (argument->type != jbvNumeric)
		argument_error(expression, argument, "a number");
}

/* Combine all arguments, from the first on; null ends it. */
static bool
evaluate_fold(const Expression *expression, EvaluationContext *context, JsonbValue *result,
			  int64 start, Numeric (*combine) (Numeric a, Numeric b))
{
	Numeric		sum = NULL;

	for (int i = 0; i < expression->nargs; i++)
	{
		JsonbValue	argument;

		if (!evaluate_not_null(expression, i, context, &argument))
		{
			result->type = jbvNull;
			return true;
		}
		check_number(expression, &argument);
		sum = sum == NULL ? argument.val.numeric : combine(sum, argument.val.numeric);
	}
	result->type = jbvNumeric;
	result->val.numeric = sum != NULL ? sum : int64_to_numeric(start);
	return true;
}

static bool
evaluate_add(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	return evaluate_fold(expression, context, result, 0, number_add);
}

static bool
evaluate_multiply(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	return evaluate_fold(expression, context, result, 1, number_multiply);
}

static bool
evaluate_subtract(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	b;

	if (!evaluate_pair(expression, context, result, &b))
		return true;
	check_number(expression, result);
	check_number(expression, &b);
	result->val.numeric = number_subtract(result->val.numeric, b.val.numeric);
	return true;
}

static bool
evaluate_divide(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	b;

	if (!evaluate_pair(expression, context, result, &b))
		return true;
	check_number(expression, result);
	check_number(expression, &b);
	if (number_is_zero(b.val.numeric))
		ereport(ERROR,
				(errcode(ERRCODE_DIVISION_BY_ZERO),
				 errmsg("$divide of %s by zero", value_to_cstring(result)),
				 errhint("Guard it with {\"$cond\": [{\"$eq\": [divisor, 0]}, null, {\"$divide\": ...}]}.")));
	result->val.numeric = number_divide(result->val.numeric, b.val.numeric);
	return true;
}

/* The order of two arguments; missing comes before null. */
static int
compare_arguments(const Expression *expression, EvaluationContext *context)
{
	JsonbValue	a,
				b;
	bool		has_a = evaluate(expression->args[0], context, &a);
	bool		has_b = evaluate(expression->args[1], context, &b);

	if (!has_a || !has_b)
		return (int) has_a - (int) has_b;
	return value_compare(&a, &b);
}

static bool
evaluate_eq(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	value_from_bool(compare_arguments(expression, context) == 0, result);
	return true;
}

static bool
evaluate_ne(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	value_from_bool(compare_arguments(expression, context) != 0, result);
	return true;
}

static bool
evaluate_gt(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	value_from_bool(compare_arguments(expression, context) > 0, result);
	return true;
}

static bool
evaluate_gte(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	value_from_bool(compare_arguments(expression, context) >= 0, result);
	return true;
}

static bool
evaluate_lt(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	value_from_bool(compare_arguments(expression, context) < 0, result);
	return true;
}

static bool
evaluate_lte(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	value_from_bool(compare_arguments(expression, context) <= 0, result);
	return true;
}

static bool
evaluate_cmp(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	int			cmp = compare_arguments(expression, context);

	value_from_int64(cmp < 0 ? -1 : (cmp > 0), result);
	return true;
}

/* All but false, null, missing and zero. */
static bool
evaluate_truth(const Expression *expression, EvaluationContext *context)
{
	JsonbValue	value;

	return evaluate(expression, context, &value) && value_is_true(&value);
}

static bool
evaluate_and(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	bool		all = true;

	for (int i = 0; i < expression->nargs && all; i++)
		all = evaluate_truth(expression->args[i], context);
	value_from_bool(all, result);
	return true;
}

static bool
evaluate_or(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	bool		any = false;

	for (int i = 0; i < expression->nargs && !any; i++)
		any = evaluate_truth(expression->args[i], context);
	value_from_bool(any, result);
	return true;
}

static bool
evaluate_not(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	value_from_bool(!evaluate_truth(expression->args[0], context), result);
	return true;
}

static bool
evaluate_cond(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	return evaluate(expression->args[evaluate_truth(expression->args[0], context) ? 1 : 2],
					context, result);
}

/* {"if": ..., "then": ..., "else": ...}, or the three in an array */
static Expression *
compile_cond(const ExpressionOperator *operator, const JsonbValue *operand, bool immutable)
{
	static const char *const names[] = {"if", "then", "else"};
	Expression *expression;
	JsonbValue	parts[lengthof(names)];
	JsonbValue	list;

	if (!value_is_object(operand))
		return expression_arguments(operator, operand, immutable);
	for (int i = 0; i < lengthof(names); i++)
		if (!value_get_cstring(operand, names[i], &parts[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("$cond needs \"%s\": %s", names[i], value_to_cstring(operand))));
	if (value_count(operand) > lengthof(names))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("$cond takes only \"if\", \"then\" and \"else\": %s", value_to_cstring(operand))));
	list.type = jbvArray;
	list.val.array.nElems = lengthof(names);
	list.val.array.elems = parts;
	list.val.array.rawScalar = false;
	value_pack(&list);
	expression = expression_arguments(operator, &list, immutable);
	return expression;
}

/* The first argument that is not null, else the last. */
static bool
evaluate_if_null(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	for (int i = 0; i < expression->nargs - 1; i++)
		if (evaluate_not_null(expression, i, context, result))
			return true;
	return evaluate(expression->args[expression->nargs - 1], context, result);
}

static Expression *
compile_literal(const ExpressionOperator *operator, const JsonbValue *operand, bool immutable)
{
	return expression_constant(operand);
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
	if (!value_is_array(&array))
		argument_error(expression, &array, "an array");
	if (index.type != jbvNumeric || !number_to_int64(index.val.numeric, &i) ||
		i != (int32) i)
		argument_error(expression, &index, "an integer of 32 bits");
	if (i < 0)
		i += value_count(&array);
	if (i < 0 || i >= value_count(&array))
		return false;
	container_value(array.val.binary.data, (uint32) i, result);
	return true;
}

/* MongoDB's name of the type; of a number, the smallest type that holds it. */
static bool
evaluate_type(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	value;
	const char *name;
	int64		n;

	if (!evaluate(expression->args[0], context, &value))
		name = "missing";
	else if (value.type == jbvBool)
		name = "bool";
	else if (value.type != jbvNumeric)
		name = value_type_name(&value);
	else if (!number_to_int64(value.val.numeric, &n))
		name = "double";
	else
		name = n == (int32) n ? "int" : "long";
	value_from_cstring(name, result);
	return true;
}

const ExpressionOperator expression_operators[] =
{
	{"$add", evaluate_add, 0, -1, NULL},
	{"$and", evaluate_and, 0, -1, NULL},
	{"$arrayElemAt", evaluate_array_elem_at, 2, 2, NULL},
	{"$cmp", evaluate_cmp, 2, 2, NULL},
	{"$cond", evaluate_cond, 3, 3, compile_cond},
	{"$divide", evaluate_divide, 2, 2, NULL},
	{"$eq", evaluate_eq, 2, 2, NULL},
	{"$gt", evaluate_gt, 2, 2, NULL},
	{"$gte", evaluate_gte, 2, 2, NULL},
	{"$ifNull", evaluate_if_null, 2, -1, NULL},
	{"$literal", NULL, 0, -1, compile_literal},
	{"$lt", evaluate_lt, 2, 2, NULL},
	{"$lte", evaluate_lte, 2, 2, NULL},
	{"$multiply", evaluate_multiply, 0, -1, NULL},
	{"$ne", evaluate_ne, 2, 2, NULL},
	{"$not", evaluate_not, 1, 1, NULL},
	{"$or", evaluate_or, 0, -1, NULL},
	{"$subtract", evaluate_subtract, 2, 2, NULL},
	{"$type", evaluate_type, 1, 1, NULL},
	{NULL, NULL, 0, 0, NULL}
};
