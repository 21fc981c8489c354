/*
 * document/expression_variable.c
 *		Operators that bind variables: $let $map $filter $reduce.
 *
 * A variable is found when the expression is compiled, by how many others are
 * bound between it and its use; when it is evaluated, its value stands on the
 * stack of the operator that binds it.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "expression.h"

/* A name for a variable: a small letter or one beyond ASCII, then also capitals, digits and underscores. */
static void
check_variable_name(const ExpressionOperator *operator, const JsonbValue *name)
{
	const char *s = name->val.string.val;
	bool		good = name->type == jbvString && name->val.string.len > 0 &&
		((s[0] >= 'a' && s[0] <= 'z') || IS_HIGHBIT_SET(s[0]));

	for (int i = 1; good && i < name->val.string.len; i++)
		good = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
			(s[i] >= '0' && s[i] <= '9') || s[i] == '_' || IS_HIGHBIT_SET(s[i]);
	if (!good)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid name of a variable of %s: %s", operator->name, value_to_cstring(name)),
				 errdetail("It begins with a small letter, and has only letters, digits and underscores.")));
}

/* Compile with a variable more. */
static Expression *
compile_bound(const JsonbValue *source, const JsonbValue *name, const ExpressionScope *outer)
{
	ExpressionScope scope = {0};

	scope.outer = outer;
	scope.name = *name;
	return expression_compile_within(source, &scope);
}

/* Evaluate with a variable more; found says that the value is not missing. */
static bool
evaluate_bound(const Expression *expression, EvaluationContext *context, const JsonbValue *value,
			   bool found, JsonbValue *result)
{
	EvaluationFrame frame;
	EvaluationContext inner = *context;

	frame.outer = context->frame;
	frame.found = found;
	if (found)
		frame.value = *value;
	inner.frame = &frame;
	return evaluate(expression, &inner, result);
}

/* The variables' values, each seen by none of the others, then what is done with them. */
static bool
evaluate_let(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	int			nvars = expression->nargs - 1;
	EvaluationContext inner = *context;
	EvaluationFrame *frames = palloc(Max(nvars, 1) * sizeof(EvaluationFrame));

	check_stack_depth();
	for (int i = 0; i < nvars; i++)
	{
		frames[i].outer = i == 0 ? context->frame : &frames[i - 1];
		frames[i].found = evaluate(expression->args[i], context, &frames[i].value);
		inner.frame = &frames[i];
	}
	return evaluate(expression->args[nvars], &inner, result);
}

/* {"vars": {"name": ..., ...}, "in": ...} */
static Expression *
compile_let(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"vars", "in"};
	Expression *expression = expression_new(operator);
	ExpressionScope *scopes;
	JsonbValue	parts[2],
				value;
	JsonbWalk	walk;

	expression_fields(operator, operand, names, 2, 2, parts);
	if (!value_is_object(&parts[0]))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the variables of $let must be an object: %s", value_to_cstring(&parts[0]))));
	expression->args = palloc((value_count(&parts[0]) + 1) * sizeof(Expression *));
	scopes = palloc0((value_count(&parts[0]) + 1) * sizeof(ExpressionScope));
	scopes[0].outer = scope;
	walk_begin(&walk, parts[0].val.binary.data);
	while (walk_next(&walk, &scopes[expression->nargs].name, &value))
	{
		check_variable_name(operator, &scopes[expression->nargs].name);
		expression->args[expression->nargs++] = expression_compile_within(&value, scope);
		scopes[expression->nargs].outer = &scopes[expression->nargs - 1];
	}
	expression->args[expression->nargs] =
		expression_compile_within(&parts[1], expression->nargs == 0 ? scope : &scopes[expression->nargs - 1]);
	expression->nargs++;
	return expression;
}

/* Argument 0 as an array; false if it is missing or null, when *result is null. */
static bool
evaluate_input(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	if (!evaluate_not_null(expression, 0, context, result))
		return false;
	check_array(expression, result);
	return true;
}

static bool
evaluate_map(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};
	JsonbValue	element,
				value;
	JsonbWalk	walk;

	check_stack_depth();
	if (!evaluate_input(expression, context, result))
		return true;
	walk_begin(&walk, result->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (!evaluate_bound(expression->args[1], context, &element, true, &value))
			value.type = jbvNull;
		values_append(&list, &value);
	}
	return array_result(&list, result);
}

/* The first elements, up to a limit, of which the condition is true. */
static bool
evaluate_filter(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};
	int32		limit = PG_INT32_MAX;
	JsonbValue	element,
				value;
	JsonbWalk	walk;

	check_stack_depth();
	if (expression->args[2] != NULL && evaluate_not_null(expression, 2, context, &value))
	{
		limit = check_integer(expression, &value);
		if (limit <= 0)
			argument_error(expression, &value, "a positive limit");
	}
	if (!evaluate_input(expression, context, result))
		return true;
	walk_begin(&walk, result->val.binary.data);
	while (list.n < limit && walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (evaluate_bound(expression->args[1], context, &element, true, &value) && value_is_true(&value))
			values_append(&list, &element);
	}
	return array_result(&list, result);
}

/* {"input": ..., arg: ..., "as": name, "limit": ...}; arg is "in" or "cond", the name is "this" if not given */
static Expression *
compile_each(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	const char *names[] = {"input", operator->arg, "as", "limit"};
	Expression *expression = expression_new(operator);
	JsonbValue	parts[4];

	expression_fields(operator, operand, names, 2, strcmp(names[1], "cond") == 0 ? 4 : 3, parts);
	if (parts[2].type == jbvObject)
		value_from_cstring("this", &parts[2]);
	else
		check_variable_name(operator, &parts[2]);
	expression->nargs = 3;
	expression->args = palloc0(3 * sizeof(Expression *));
	expression->args[0] = expression_compile_within(&parts[0], scope);
	expression->args[1] = compile_bound(&parts[1], &parts[2], scope);
	if (strcmp(names[1], "cond") == 0 && parts[3].type != jbvObject)
		expression->args[2] = expression_compile_within(&parts[3], scope);
	return expression;
}

/* $$value is what the elements before gave, $$this the element. */
static bool
evaluate_reduce(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	EvaluationContext inner = *context;
	EvaluationFrame value_frame,
				this_frame;
	JsonbValue	array;
	JsonbWalk	walk;

	check_stack_depth();
	if (!evaluate_input(expression, context, &array))
	{
		result->type = jbvNull;
		return true;
	}
	value_frame.outer = context->frame;
	value_frame.found = evaluate(expression->args[1], context, &value_frame.value);
	this_frame.outer = &value_frame;
	this_frame.found = true;
	inner.frame = &this_frame;
	walk_begin(&walk, array.val.binary.data);
	while (walk_next(&walk, NULL, &this_frame.value))
	{
		JsonbValue	value;

		CHECK_FOR_INTERRUPTS();
		value_frame.found = evaluate(expression->args[2], &inner, &value);
		value_frame.value = value;
	}
	*result = value_frame.value;
	return value_frame.found;
}

/* {"input": ..., "initialValue": ..., "in": ...} */
static Expression *
compile_reduce(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"input", "initialValue", "in"};
	Expression *expression = expression_new(operator);
	ExpressionScope value_scope = {0};
	JsonbValue	parts[3],
				name;

	expression_fields(operator, operand, names, 3, 3, parts);
	value_scope.outer = scope;
	value_from_cstring("value", &value_scope.name);
	value_from_cstring("this", &name);
	expression->nargs = 3;
	expression->args = palloc(3 * sizeof(Expression *));
	expression->args[0] = expression_compile_within(&parts[0], scope);
	expression->args[1] = expression_compile_within(&parts[1], scope);
	expression->args[2] = compile_bound(&parts[2], &name, &value_scope);
	return expression;
}

const ExpressionOperator expression_variable_operators[] =
{
	{"$filter", evaluate_filter, 0, -1, compile_each, "cond"},
	{"$let", evaluate_let, 0, -1, compile_let, NULL},
	{"$map", evaluate_map, 0, -1, compile_each, "in"},
	{"$reduce", evaluate_reduce, 0, -1, compile_reduce, NULL},
	{NULL, NULL, 0, 0, NULL, NULL}
};
