/*
 * document/expression_operators.c
 *		The operators of the expression language: the table, and those that compare,
 *		decide and choose.
 */
#include "postgres.h"

#include "expression.h"

/* 22023: an operator cannot take this argument; expected is "a number" for example. */
void
argument_error(const Expression *expression, const JsonbValue *argument, const char *expected)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid argument for %s: %s of type %s", expression->operator->name,
					value_to_cstring(argument), value_type_name(argument)),
			 errdetail("The argument must be %s.", expected)));
}

/* Argument i; false if it is missing or null, when *result is null. */
bool
evaluate_not_null(const Expression *expression, int i, EvaluationContext *context, JsonbValue *result)
{
	if (evaluate(expression->args[i], context, result) && result->type != jbvNull)
		return true;
	result->type = jbvNull;
	return false;
}

/* Both arguments; false if one is missing or null, when *a is null. */
bool
evaluate_pair(const Expression *expression, EvaluationContext *context, JsonbValue *a, JsonbValue *b)
{
	bool		found = evaluate_not_null(expression, 0, context, a);

	if (!evaluate_not_null(expression, 1, context, b))
		found = false;
	if (!found)
		a->type = jbvNull;
	return found;
}

void
check_number(const Expression *expression, const JsonbValue *argument)
{
	if (argument->type != jbvNumeric)
		argument_error(expression, argument, "a number");
}

void
check_array(const Expression *expression, const JsonbValue *argument)
{
	if (!value_is_array(argument))
		argument_error(expression, argument, "an array");
}

void
check_string(const Expression *expression, const JsonbValue *argument)
{
	if (argument->type != jbvString)
		argument_error(expression, argument, "a string");
}

/* The argument as an integer. */
int32
check_integer(const Expression *expression, const JsonbValue *argument)
{
	int64		i;

	if (argument->type != jbvNumeric || !number_to_int64(argument->val.numeric, &i) || i != (int32) i)
		argument_error(expression, argument, "an integer of 32 bits");
	return (int32) i;
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
bool
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
compile_cond(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"if", "then", "else"};

	if (!value_is_object(operand))
		return expression_arguments(operator, operand, scope);
	return expression_named_arguments(operator, operand, names, 3, 3, scope);
}

/* The arguments are cases and what they give, in turn, and the default, which may be NULL. */
static bool
evaluate_switch(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	const Expression *otherwise = expression->args[expression->nargs - 1];

	for (int i = 0; i + 1 < expression->nargs; i += 2)
		if (evaluate_truth(expression->args[i], context))
			return evaluate(expression->args[i + 1], context, result);
	if (otherwise == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("$switch found no branch that applies, and has no default")));
	return evaluate(otherwise, context, result);
}

/* {"branches": [{"case": ..., "then": ...}, ...], "default": ...} */
static Expression *
compile_switch(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"branches", "default"};
	static const char *const branch_names[] = {"case", "then"};
	Expression *expression = expression_new(operator);
	JsonbValue	parts[2];
	JsonbWalk	walk;
	JsonbValue	branch;

	expression_fields(operator, operand, names, 1, 2, parts);
	if (!value_is_array(&parts[0]) || (value_count(&parts[0]) == 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the branches of $switch must be an array of at least one: %s", value_to_cstring(operand))));
	expression->args = palloc((2 * value_count(&parts[0]) + 1) * sizeof(Expression *));
	walk_begin(&walk, parts[0].val.binary.data);
	while (walk_next(&walk, NULL, &branch))
	{
		JsonbValue	pair[2];

		expression_fields(operator, &branch, branch_names, 2, 2, pair);
		for (int i = 0; i < 2; i++)
			expression->args[expression->nargs++] = expression_compile_within(&pair[i], scope);
	}
	expression->args[expression->nargs++] = parts[1].type == jbvObject ? NULL :
		expression_compile_within(&parts[1], scope);
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
compile_literal(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	return expression_constant(operand);
}

const ExpressionOperator expression_operators[] =
{
	{"$and", evaluate_and, 0, -1, NULL, NULL},
	{"$cmp", evaluate_cmp, 2, 2, NULL, NULL},
	{"$cond", evaluate_cond, 3, 3, compile_cond, NULL},
	{"$eq", evaluate_eq, 2, 2, NULL, NULL},
	{"$gt", evaluate_gt, 2, 2, NULL, NULL},
	{"$gte", evaluate_gte, 2, 2, NULL, NULL},
	{"$ifNull", evaluate_if_null, 2, -1, NULL, NULL},
	{"$literal", NULL, 0, -1, compile_literal, NULL},
	{"$lt", evaluate_lt, 2, 2, NULL, NULL},
	{"$lte", evaluate_lte, 2, 2, NULL, NULL},
	{"$ne", evaluate_ne, 2, 2, NULL, NULL},
	{"$not", evaluate_not, 1, 1, NULL, NULL},
	{"$or", evaluate_or, 0, -1, NULL, NULL},
	{"$switch", evaluate_switch, 0, -1, compile_switch, NULL},
	{NULL, NULL, 0, 0, NULL, NULL}
};
