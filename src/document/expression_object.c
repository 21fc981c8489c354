/*
 * document/expression_object.c
 *		Operators on objects.
 */
#include "postgres.h"

#include "expression.h"

/* A splice with edits, as an object that can be read. */
static bool
object_result(JsonbSplice *splice, JsonbValue *result)
{
	value_from_jsonb(splice_apply(splice), result);
	return true;
}

static void
check_object(const Expression *expression, const JsonbValue *argument)
{
	if (!value_is_object(argument))
		argument_error(expression, argument, "an object");
}

/* The fields of all; of those with the same name, the last. */
static bool
evaluate_merge_objects(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	PairList	pairs = {0};

	for (int i = 0; i < expression->nargs; i++)
	{
		JsonbValue	object,
					key,
					value;
		JsonbWalk	walk;

		if (!evaluate_not_null(expression, i, context, &object))
			continue;
		check_object(expression, &object);
		walk_begin(&walk, object.val.binary.data);
		while (walk_next(&walk, &key, &value))
			pairs_append(&pairs, key.val.string.val, key.val.string.len, &value);
	}
	pairs_finish(&pairs, result);
	value_pack(result);
	return true;
}

/* {"a": 1} → [{"k": "a", "v": 1}] */
static bool
evaluate_object_to_array(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};
	JsonbValue	key,
				value;
	JsonbWalk	walk;

	if (!evaluate_not_null(expression, 0, context, result))
		return true;
	check_object(expression, result);
	walk_begin(&walk, result->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		PairList	pairs = {0};
		JsonbValue	element;

		pairs_append(&pairs, "k", 1, &key);
		pairs_append(&pairs, "v", 1, &value);
		pairs_finish(&pairs, &element);
		values_append(&list, &element);
	}
	return array_result(&list, result);
}

/* [{"k": "a", "v": 1}] or [["a", 1]] → {"a": 1} */
static bool
evaluate_array_to_object(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	static const char *const expected = "an array of {\"k\": name, \"v\": value}, or of [name, value]";
	PairList	pairs = {0};
	JsonbValue	element,
				key,
				value;
	JsonbWalk	walk;

	if (!evaluate_not_null(expression, 0, context, result))
		return true;
	check_array(expression, result);
	walk_begin(&walk, result->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		if (element.type != jbvBinary || value_count(&element) != 2)
			argument_error(expression, result, expected);
		if (value_is_array(&element))
		{
			container_value(element.val.binary.data, 0, &key);
			container_value(element.val.binary.data, 1, &value);
		}
		else if (!value_get_cstring(&element, "k", &key) || !value_get_cstring(&element, "v", &value))
			argument_error(expression, result, expected);
		if (key.type != jbvString)
			argument_error(expression, result, expected);
		pairs_append(&pairs, key.val.string.val, key.val.string.len, &value);
	}
	pairs_finish(&pairs, result);
	value_pack(result);
	return true;
}

/* The name of a field, argument 0, which does not depend on the document. */
static void
evaluate_field_name(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	if (!evaluate(expression->args[0], context, result))
		result->type = jbvNull;
	check_string(expression, result);
}

static bool
evaluate_get_field(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	field,
				input;
	bool		has_input = true;

	evaluate_field_name(expression, context, &field);
	if (expression->args[1] == NULL)
		input = *context->root;
	else
		has_input = evaluate(expression->args[1], context, &input);
	if (has_input && input.type == jbvNull)
	{
		result->type = jbvNull;
		return true;
	}
	return has_input && value_is_object(&input) &&
		value_get(&input, field.val.string.val, field.val.string.len, result);
}

/* $setField $unsetField: the object with or without the field; null of null */
static bool
evaluate_set_field(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbSplice *splice;
	JsonbValue	field,
				value;

	evaluate_field_name(expression, context, &field);
	if (!evaluate_not_null(expression, 1, context, result))
		return true;
	check_object(expression, result);
	splice = splice_begin(result);
	if (expression->nargs > 2 && evaluate(expression->args[2], context, &value))
		splice_put(splice, field.val.string.val, field.val.string.len, &value);
	else
		splice_drop(splice, field.val.string.val, field.val.string.len);
	return object_result(splice, result);
}

/* "field", or {"field": ..., "input": ...} */
static Expression *
compile_get_field(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"field", "input"};
	JsonbValue	field;

	if (value_is_object(operand) && value_get_cstring(operand, "field", &field))
		return expression_named_arguments(operator, operand, names, 2, 2, scope);
	{
		Expression *expression = expression_new(operator);

		expression->nargs = 2;
		expression->args = palloc0(2 * sizeof(Expression *));
		expression->args[0] = expression_compile_within(operand, scope);
		return expression;
	}
}

static Expression *
compile_set_field(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"field", "input", "value"};
	int			n = operator->arg != NULL ? 3 : 2;

	return expression_named_arguments(operator, operand, names, n, n, scope);
}

const ExpressionOperator expression_object_operators[] =
{
	{"$arrayToObject", evaluate_array_to_object, 1, 1, NULL, NULL},
	{"$getField", evaluate_get_field, 0, -1, compile_get_field, NULL},
	{"$mergeObjects", evaluate_merge_objects, 0, -1, NULL, NULL},
	{"$objectToArray", evaluate_object_to_array, 1, 1, NULL, NULL},
	{"$setField", evaluate_set_field, 0, -1, compile_set_field, ""},
	{"$unsetField", evaluate_set_field, 0, -1, compile_set_field, NULL},
	{NULL, NULL, 0, 0, NULL, NULL}
};
