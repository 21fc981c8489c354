/*
 * document/expression_convert.c
 *		Operators on types: what a value is, and conversions.
 *
 * jsonb has one kind of number: int, long, double and decimal differ in what
 * they accept and in the rounding, not in what they give.
 */
#include "postgres.h"

#include "expression.h"

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

static bool
evaluate_is_number(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	value;

	value_from_bool(evaluate(expression->args[0], context, &value) && value.type == jbvNumeric, result);
	return true;
}

/* Past the digits. */
static const char *
skip_digits(const char *s)
{
	while (*s >= '0' && *s <= '9')
		s++;
	return s;
}

/* A number as a text: a sign, digits, a fraction, an exponent of at most three digits; NULL if it is none. */
static Numeric
number_from_text(const char *text, bool whole)
{
	const char *s = text + (*text == '+' || *text == '-');
	const char *digits = s;
	Size		ndigits;

	s = skip_digits(s);
	ndigits = s - digits;
	if (!whole && *s == '.')
	{
		const char *fraction = s + 1;

		s = skip_digits(fraction);
		ndigits += s - fraction;
	}
	if (ndigits == 0)
		return NULL;
	if (!whole && (*s == 'e' || *s == 'E'))
	{
		const char *exponent = s + 1 + (s[1] == '+' || s[1] == '-');

		s = skip_digits(exponent);
		if (s == exponent || s - exponent > 3)
			return NULL;
	}
	return *s == '\0' ? number_from_cstring(text) : NULL;
}

/* Does a number fit into an integer of 32 or 64 bits? */
static bool
fits(Numeric n, const char *type)
{
	int64		i;

	return number_to_int64(n, &i) && (strcmp(type, "int") != 0 || i == (int32) i);
}

/* To int, long, double or decimal; false if that cannot be. */
static bool
convert_to_number(const JsonbValue *value, const char *type, JsonbValue *result)
{
	bool		whole = strcmp(type, "int") == 0 || strcmp(type, "long") == 0;
	Numeric		n = NULL;

	if (value->type == jbvNumeric)
		n = whole ? number_truncate(value->val.numeric) : value->val.numeric;
	else if (value->type == jbvBool)
		n = int64_to_numeric(value->val.boolean);
	else if (value->type == jbvString && memchr(value->val.string.val, '\0', value->val.string.len) == NULL)
		n = number_from_text(pnstrdup(value->val.string.val, value->val.string.len), whole);
	if (n == NULL || (whole && !fits(n, type)))
		return false;
	result->type = jbvNumeric;
	result->val.numeric = n;
	return true;
}

/* Convert a value that is not null; false if that cannot be.  type is a name or NULL for one unknown. */
static bool
convert(const JsonbValue *value, const char *type, JsonbValue *result)
{
	if (strcmp(type, "bool") == 0)
		value_from_bool(value_is_true(value), result);
	else if (strcmp(type, "string") != 0)
		return convert_to_number(value, type, result);
	else if (value->type == jbvString)
		*result = *value;
	else if (value->type == jbvNumeric)
		number_to_string(value, result);
	else if (value->type == jbvBool)
		value_from_cstring(value->val.boolean ? "true" : "false", result);
	else
		return false;
	return true;
}

pg_noreturn static void
conversion_error(const Expression *expression, const JsonbValue *value, const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s cannot convert %s of type %s to %s", expression->operator->name,
					value_to_cstring(value), value_type_name(value), type),
			 errhint("{\"$convert\": {\"input\": ..., \"to\": \"%s\", \"onError\": ...}} gives another value instead.", type)));
}

/* $toInt and its like; arg is the name of the type */
static bool
evaluate_to(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	const char *type = expression->operator->arg;
	JsonbValue	value;

	result->type = jbvNull;
	if (evaluate_not_null(expression, 0, context, &value) && !convert(&value, type, result))
		conversion_error(expression, &value, type);
	return true;
}

/* The type that $convert names, or its code in BSON. */
static const char *
evaluate_type_name(const Expression *expression, const JsonbValue *to)
{
	static const struct
	{
		const char *name;
		int			code;
	}			types[] = {{"double", 1}, {"string", 2}, {"bool", 8}, {"int", 16}, {"long", 18}, {"decimal", 19}};
	int64		code;

	for (int i = 0; i < lengthof(types); i++)
		if (to->type == jbvString ? value_is_string(to, types[i].name) :
			to->type == jbvNumeric && number_to_int64(to->val.numeric, &code) && code == types[i].code)
			return types[i].name;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s cannot convert to %s", expression->operator->name, value_to_cstring(to)),
			 errdetail("The types are double, string, bool, int, long and decimal.")));
	return NULL;
}

/* The arguments are input, to, onError and onNull; the last two may be NULL. */
static bool
evaluate_convert(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	value,
				to;
	const char *type;

	if (!evaluate_not_null(expression, 0, context, &value))
	{
		result->type = jbvNull;
		return expression->args[3] == NULL || evaluate(expression->args[3], context, result);
	}
	if (!evaluate_not_null(expression, 1, context, &to))
	{
		result->type = jbvNull;
		return true;
	}
	type = evaluate_type_name(expression, &to);
	if (convert(&value, type, result))
		return true;
	if (expression->args[2] == NULL)
		conversion_error(expression, &value, type);
	return evaluate(expression->args[2], context, result);
}

static Expression *
compile_convert(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"input", "to", "onError", "onNull"};

	return expression_named_arguments(operator, operand, names, 2, 4, scope);
}

const ExpressionOperator expression_convert_operators[] =
{
	{"$convert", evaluate_convert, 0, -1, compile_convert, NULL},
	{"$isNumber", evaluate_is_number, 1, 1, NULL, NULL},
	{"$toBool", evaluate_to, 1, 1, NULL, "bool"},
	{"$toDecimal", evaluate_to, 1, 1, NULL, "decimal"},
	{"$toDouble", evaluate_to, 1, 1, NULL, "double"},
	{"$toInt", evaluate_to, 1, 1, NULL, "int"},
	{"$toLong", evaluate_to, 1, 1, NULL, "long"},
	{"$toString", evaluate_to, 1, 1, NULL, "string"},
	{"$type", evaluate_type, 1, 1, NULL, NULL},
	{NULL, NULL, 0, 0, NULL, NULL}
};
