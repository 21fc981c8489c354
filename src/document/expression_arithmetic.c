/*
 * document/expression_arithmetic.c
 *		Operators on numbers.
 *
 * null and missing make arithmetic null, as in MongoDB; numbers are numeric, so
 * 0.1 + 0.2 is 0.3 and nothing overflows into a double.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "expression.h"

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

/* Both arguments as numbers; false if one is missing or null, when *a is null. */
static bool
evaluate_numbers(const Expression *expression, EvaluationContext *context, JsonbValue *a, JsonbValue *b)
{
	if (!evaluate_pair(expression, context, a, b))
		return false;
	check_number(expression, a);
	check_number(expression, b);
	return true;
}

static bool
evaluate_subtract(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	b;

	if (!evaluate_numbers(expression, context, result, &b))
		return true;
	result->val.numeric = number_subtract(result->val.numeric, b.val.numeric);
	return true;
}

static void
check_divisor(const Expression *expression, const JsonbValue *dividend, const JsonbValue *divisor)
{
	if (number_is_zero(divisor->val.numeric))
		ereport(ERROR,
				(errcode(ERRCODE_DIVISION_BY_ZERO),
				 errmsg("%s of %s by zero", expression->operator->name, value_to_cstring(dividend)),
				 errhint("Guard it with {\"$cond\": [{\"$eq\": [divisor, 0]}, null, {\"%s\": ...}]}.",
						 expression->operator->name)));
}

static bool
evaluate_divide(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	b;

	if (!evaluate_numbers(expression, context, result, &b))
		return true;
	check_divisor(expression, result, &b);
	result->val.numeric = number_divide(result->val.numeric, b.val.numeric);
	return true;
}

/* The one argument as a number; false if it is missing or null, when *result is null. */
static bool
evaluate_number(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	if (!evaluate_not_null(expression, 0, context, result))
		return false;
	check_number(expression, result);
	return true;
}

/* $abs $ceil $floor: arg is the function of the number */
static bool
evaluate_unary(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	Numeric		(*const *function) (Numeric n) = expression->operator->arg;

	if (evaluate_number(expression, context, result))
		result->val.numeric = (*function) (result->val.numeric);
	return true;
}

/* $round $trunc: arg is the function of the number and the places */
static bool
evaluate_places(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	Numeric		(*const *function) (Numeric n, int places) = expression->operator->arg;
	bool		has_number = evaluate_number(expression, context, result);
	JsonbValue	places;
	int32		n = 0;

	if (expression->nargs == 2)
	{
		if (!evaluate_not_null(expression, 1, context, &places))
		{
			result->type = jbvNull;
			return true;
		}
		n = check_integer(expression, &places);
		if (n < -20 || n > 100)
			argument_error(expression, &places, "between -20 and 100");
	}
	if (has_number)
		result->val.numeric = (*function) (result->val.numeric, n);
	return true;
}

static bool
evaluate_mod(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	b;

	if (!evaluate_numbers(expression, context, result, &b))
		return true;
	check_divisor(expression, result, &b);
	result->val.numeric = number_remainder(result->val.numeric, b.val.numeric);
	return true;
}

static bool
evaluate_pow(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	b;

	if (!evaluate_numbers(expression, context, result, &b))
		return true;
	result->val.numeric = number_power(result->val.numeric, b.val.numeric);
	return true;
}

/* A function of doubles, and where it is defined. */
typedef struct DoubleFunction
{
	double		(*function) (double x);
	double		least;
	double		most;
	bool		open;			/* the bounds are not in it */
	const char *domain;
} DoubleFunction;

/* The number that a double is; 22003 for infinity and NaN, which jsonb does not have. */
static void
number_result(const Expression *expression, double d, JsonbValue *result)
{
	if (isinf(d) || isnan(d))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("the result of %s is out of range", expression->operator->name)));
	result->type = jbvNumeric;
	result->val.numeric = number_from_double(d, 0);
}

static bool
evaluate_double(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	const DoubleFunction *f = expression->operator->arg;
	double		x;

	if (!evaluate_number(expression, context, result))
		return true;
	x = number_to_double(result->val.numeric);
	if (x < f->least || x > f->most || (f->open && (x == f->least || x == f->most)))
		argument_error(expression, result, f->domain);
	number_result(expression, f->function(x), result);
	return true;
}

static double
sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double
degrees_to_radians(double x)
{
	return x * (M_PI / 180);
}

static double
radians_to_degrees(double x)
{
	return x * (180 / M_PI);
}

static bool
evaluate_atan2(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	x;

	if (!evaluate_numbers(expression, context, result, &x))
		return true;
	number_result(expression, atan2(number_to_double(result->val.numeric), number_to_double(x.val.numeric)), result);
	return true;
}

/* $log: of a number to a base */
static bool
evaluate_log(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	base;
	double		x,
				b;

	if (!evaluate_numbers(expression, context, result, &base))
		return true;
	x = number_to_double(result->val.numeric);
	b = number_to_double(base.val.numeric);
	if (x <= 0)
		argument_error(expression, result, "a positive number");
	if (b <= 0 || b == 1)
		argument_error(expression, &base, "a positive number other than 1");
	number_result(expression, log(x) / log(b), result);
	return true;
}

/* $bitAnd $bitOr $bitXor */
static int64
bit_and(int64 a, int64 b)
{
	return a & b;
}

static int64
bit_or(int64 a, int64 b)
{
	return a | b;
}

static int64
bit_xor(int64 a, int64 b)
{
	return a ^ b;
}

static int64
check_bits(const Expression *expression, const JsonbValue *argument)
{
	int64		i;

	if (argument->type != jbvNumeric || !number_to_int64(argument->val.numeric, &i))
		argument_error(expression, argument, "an integer of 64 bits");
	return i;
}

static bool
evaluate_bits(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	int64		(*const *combine) (int64 a, int64 b) = expression->operator->arg;
	int64		bits = *combine == bit_and ? -1 : 0;
	bool		is_null = false;

	for (int i = 0; i < expression->nargs; i++)
	{
		if (!evaluate_not_null(expression, i, context, result))
			is_null = true;
		else
			bits = (*combine) (bits, check_bits(expression, result));
	}
	if (is_null)
		result->type = jbvNull;
	else
		value_from_int64(bits, result);
	return true;
}

static bool
evaluate_bit_not(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	if (evaluate_not_null(expression, 0, context, result))
		value_from_int64(~check_bits(expression, result), result);
	return true;
}

/* The values of an accumulator: the elements of the one argument if it is an array, else the arguments. */
static void
accumulated_values(const Expression *expression, EvaluationContext *context, ValueList *list)
{
	for (int i = 0; i < expression->nargs; i++)
	{
		JsonbValue	value;
		JsonbWalk	walk;

		if (!evaluate(expression->args[i], context, &value))
			continue;
		if (expression->nargs > 1 || !value_is_array(&value))
		{
			values_append(list, &value);
			continue;
		}
		walk_begin(&walk, value.val.binary.data);
		while (walk_next(&walk, NULL, &value))
			values_append(list, &value);
	}
}

/* The sum of the numbers among the values, and how many they are. */
static uint32
sum_numbers(const ValueList *list, JsonbValue *result)
{
	uint32		n = 0;

	value_from_int64(0, result);
	for (uint32 i = 0; i < list->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (list->values[i].type != jbvNumeric)
			continue;
		result->val.numeric = number_add(result->val.numeric, list->values[i].val.numeric);
		n++;
	}
	return n;
}

static bool
evaluate_sum(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};

	accumulated_values(expression, context, &list);
	(void) sum_numbers(&list, result);
	return true;
}

/* The mean of the numbers; null if there are none. */
static bool
evaluate_avg(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};
	uint32		n;

	accumulated_values(expression, context, &list);
	n = sum_numbers(&list, result);
	if (n == 0)
		result->type = jbvNull;
	else
		result->val.numeric = number_divide(result->val.numeric, int64_to_numeric(n));
	return true;
}

/* $min $max: the first or last in the order of values, of those that are not null; arg is not NULL for $max */
static bool
evaluate_extreme(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	int			sign = expression->operator->arg != NULL ? -1 : 1;
	ValueList	list = {0};

	accumulated_values(expression, context, &list);
	result->type = jbvNull;
	for (uint32 i = 0; i < list.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (list.values[i].type != jbvNull &&
			(result->type == jbvNull || sign * value_compare(&list.values[i], result) < 0))
			*result = list.values[i];
	}
	return true;
}

/* $stdDevPop $stdDevSamp: null for too few numbers; arg is not NULL for the sample's */
static bool
evaluate_deviation(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	int			lost = expression->operator->arg != NULL ? 1 : 0;
	ValueList	list = {0};
	uint32		n;
	double		mean,
				squares = 0;

	accumulated_values(expression, context, &list);
	n = sum_numbers(&list, result);
	if (n <= lost)
	{
		result->type = jbvNull;
		return true;
	}
	mean = number_to_double(result->val.numeric) / n;
	for (uint32 i = 0; i < list.n; i++)
	{
		if (list.values[i].type == jbvNumeric)
		{
			double		off = number_to_double(list.values[i].val.numeric) - mean;

			squares += off * off;
		}
	}
	number_result(expression, sqrt(squares / (n - lost)), result);
	return true;
}

#define ANYWHERE -INFINITY, INFINITY, false, ""

static const DoubleFunction acos_function = {acos, -1, 1, false, "a number from -1 to 1"};
static const DoubleFunction acosh_function = {acosh, 1, INFINITY, false, "a number not less than 1"};
static const DoubleFunction asin_function = {asin, -1, 1, false, "a number from -1 to 1"};
static const DoubleFunction asinh_function = {asinh, ANYWHERE};
static const DoubleFunction atan_function = {atan, ANYWHERE};
static const DoubleFunction atanh_function = {atanh, -1, 1, true, "a number between -1 and 1"};
static const DoubleFunction cos_function = {cos, ANYWHERE};
static const DoubleFunction cosh_function = {cosh, ANYWHERE};
static const DoubleFunction degrees_function = {radians_to_degrees, ANYWHERE};
static const DoubleFunction exp_function = {exp, ANYWHERE};
static const DoubleFunction ln_function = {log, 0, INFINITY, true, "a positive number"};
static const DoubleFunction log10_function = {log10, 0, INFINITY, true, "a positive number"};
static const DoubleFunction radians_function = {degrees_to_radians, ANYWHERE};
static const DoubleFunction sigmoid_function = {sigmoid, ANYWHERE};
static const DoubleFunction sin_function = {sin, ANYWHERE};
static const DoubleFunction sinh_function = {sinh, ANYWHERE};
static const DoubleFunction sqrt_function = {sqrt, 0, INFINITY, false, "a number that is not negative"};
static const DoubleFunction tan_function = {tan, ANYWHERE};
static const DoubleFunction tanh_function = {tanh, ANYWHERE};

static Numeric (*const abs_function) (Numeric n) = number_abs;
static Numeric (*const ceil_function) (Numeric n) = number_ceil;
static Numeric (*const floor_function) (Numeric n) = number_floor;
static Numeric (*const round_function) (Numeric n, int places) = number_round_to;
static Numeric (*const trunc_function) (Numeric n, int places) = number_truncate_to;
static int64 (*const and_function) (int64 a, int64 b) = bit_and;
static int64 (*const or_function) (int64 a, int64 b) = bit_or;
static int64 (*const xor_function) (int64 a, int64 b) = bit_xor;

const ExpressionOperator expression_arithmetic_operators[] =
{
	{"$abs", evaluate_unary, 1, 1, NULL, &abs_function},
	{"$acos", evaluate_double, 1, 1, NULL, &acos_function},
	{"$acosh", evaluate_double, 1, 1, NULL, &acosh_function},
	{"$add", evaluate_add, 0, -1, NULL, NULL},
	{"$asin", evaluate_double, 1, 1, NULL, &asin_function},
	{"$asinh", evaluate_double, 1, 1, NULL, &asinh_function},
	{"$atan", evaluate_double, 1, 1, NULL, &atan_function},
	{"$atan2", evaluate_atan2, 2, 2, NULL, NULL},
	{"$atanh", evaluate_double, 1, 1, NULL, &atanh_function},
	{"$avg", evaluate_avg, 0, -1, NULL, NULL},
	{"$bitAnd", evaluate_bits, 0, -1, NULL, &and_function},
	{"$bitNot", evaluate_bit_not, 1, 1, NULL, NULL},
	{"$bitOr", evaluate_bits, 0, -1, NULL, &or_function},
	{"$bitXor", evaluate_bits, 0, -1, NULL, &xor_function},
	{"$ceil", evaluate_unary, 1, 1, NULL, &ceil_function},
	{"$cos", evaluate_double, 1, 1, NULL, &cos_function},
	{"$cosh", evaluate_double, 1, 1, NULL, &cosh_function},
	{"$degreesToRadians", evaluate_double, 1, 1, NULL, &radians_function},
	{"$divide", evaluate_divide, 2, 2, NULL, NULL},
	{"$exp", evaluate_double, 1, 1, NULL, &exp_function},
	{"$floor", evaluate_unary, 1, 1, NULL, &floor_function},
	{"$ln", evaluate_double, 1, 1, NULL, &ln_function},
	{"$log", evaluate_log, 2, 2, NULL, NULL},
	{"$log10", evaluate_double, 1, 1, NULL, &log10_function},
	{"$max", evaluate_extreme, 0, -1, NULL, ""},
	{"$min", evaluate_extreme, 0, -1, NULL, NULL},
	{"$mod", evaluate_mod, 2, 2, NULL, NULL},
	{"$multiply", evaluate_multiply, 0, -1, NULL, NULL},
	{"$pow", evaluate_pow, 2, 2, NULL, NULL},
	{"$radiansToDegrees", evaluate_double, 1, 1, NULL, &degrees_function},
	{"$round", evaluate_places, 1, 2, NULL, &round_function},
	{"$sigmoid", evaluate_double, 1, 1, NULL, &sigmoid_function},
	{"$sin", evaluate_double, 1, 1, NULL, &sin_function},
	{"$sinh", evaluate_double, 1, 1, NULL, &sinh_function},
	{"$sqrt", evaluate_double, 1, 1, NULL, &sqrt_function},
	{"$stdDevPop", evaluate_deviation, 0, -1, NULL, NULL},
	{"$stdDevSamp", evaluate_deviation, 0, -1, NULL, ""},
	{"$subtract", evaluate_subtract, 2, 2, NULL, NULL},
	{"$sum", evaluate_sum, 0, -1, NULL, NULL},
	{"$tan", evaluate_double, 1, 1, NULL, &tan_function},
	{"$tanh", evaluate_double, 1, 1, NULL, &tanh_function},
	{"$trunc", evaluate_places, 1, 2, NULL, &trunc_function},
	{NULL, NULL, 0, 0, NULL, NULL}
};
