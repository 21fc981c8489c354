/*
 * jsonb/number.c
 *		Arithmetic on jsonb's numbers.
 *
 * jsonb has one kind of number, numeric, without NaN and infinity.  numeric's
 * functions have no other interface in all supported versions than the one by
 * Datum, so this is the one file of the floor that calls through it.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "pattern.h"

static inline Numeric
call2(PGFunction function, Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(function, NumericGetDatum(a), NumericGetDatum(b)));
}

/* By value: negative, zero or positive. */
int
number_compare(Numeric a, Numeric b)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, NumericGetDatum(a), NumericGetDatum(b)));
}

/* a + b; 22003 if out of numeric's range.  As all below, palloc'd. */
Numeric
number_add(Numeric a, Numeric b)
{
	return call2(numeric_add, a, b);
}

/* a - b */
Numeric
number_subtract(Numeric a, Numeric b)
{
	return call2(numeric_sub, a, b);
}

/* a * b */
Numeric
number_multiply(Numeric a, Numeric b)
{
	return call2(numeric_mul, a, b);
}

/*
 * a / b with at least 16 significant digits, and without trailing zeros behind
 * the point; 22012 if b is zero.
 */
Numeric
number_divide(Numeric a, Numeric b)
{
	Numeric		quotient = call2(numeric_div, a, b);

	return DatumGetNumeric(DirectFunctionCall1(numeric_trim_scale, NumericGetDatum(quotient)));
}

bool
number_is_zero(Numeric n)
{
	return number_compare(n, int64_to_numeric(0)) == 0;
}

/* The number without its fraction. */
Numeric
number_truncate(Numeric n)
{
	return DatumGetNumeric(DirectFunctionCall2(numeric_trunc, NumericGetDatum(n), Int32GetDatum(0)));
}

/* Is it a whole number?  2.0 is. */
static bool
number_is_integral(Numeric n)
{
	return number_compare(n, DatumGetNumeric(DirectFunctionCall1(numeric_floor, NumericGetDatum(n)))) == 0;
}

/* A whole number within int64 to *result; false for any other. */
bool
number_to_int64(Numeric n, int64 *result)
{
	if (!number_is_integral(n) ||
		number_compare(n, int64_to_numeric(PG_INT64_MIN)) < 0 ||
		number_compare(n, int64_to_numeric(PG_INT64_MAX)) > 0)
		return false;
	*result = DatumGetInt64(DirectFunctionCall1(numeric_int8, NumericGetDatum(n)));
	return true;
}

/* The same number without zeros at the end of its fraction. */
Numeric
number_trim(Numeric n)
{
	return DatumGetNumeric(DirectFunctionCall1(numeric_trim_scale, NumericGetDatum(n)));
}
