/*
 * jsonb/number_math.c
 *		Rounding, powers, and functions whose values no decimal holds.
 *
 * What can be exact is: rounding, remainders and powers with a whole exponent
 * are computed in numeric.  Roots, logarithms and the like are computed as
 * doubles and shown with the fewest digits that say which double it is, so that
 * they are the same as in MongoDB.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "pattern.h"

static inline Numeric
call1(PGFunction function, Numeric n)
{
	return DatumGetNumeric(DirectFunctionCall1(function, NumericGetDatum(n)));
}

static inline Numeric
call2(PGFunction function, Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(function, NumericGetDatum(a), NumericGetDatum(b)));
}

Numeric
number_abs(Numeric n)
{
	return call1(numeric_abs, n);
}

/* The largest whole number that is not larger. */
Numeric
number_floor(Numeric n)
{
	return call1(numeric_floor, n);
}

/* The smallest whole number that is not smaller. */
Numeric
number_ceil(Numeric n)
{
	return call1(numeric_ceil, n);
}

/* Without what stands behind that many digits behind the point; places may be negative. */
Numeric
number_truncate_to(Numeric n, int places)
{
	return number_trim(DatumGetNumeric(DirectFunctionCall2(numeric_trunc, NumericGetDatum(n),
														   Int32GetDatum(places))));
}

/* 10 ^ exponent */
static Numeric
power_of_ten(int exponent)
{
	char		text[16];

	snprintf(text, sizeof(text), "1e%d", exponent);
	return number_from_cstring(text);
}

/* Rounded to that many digits behind the point; what lies in the middle, to the even digit. */
Numeric
number_round_to(Numeric n, int places)
{
	Numeric		rounded = DatumGetNumeric(DirectFunctionCall2(numeric_round, NumericGetDatum(n),
															  Int32GetDatum(places)));
	Numeric		unit = power_of_ten(-places);
	Numeric		off = number_abs(number_subtract(rounded, n));
	Numeric		digit;

	/* numeric_round goes away from zero */
	if (number_compare(number_add(off, off), unit) == 0)
	{
		digit = number_remainder(rounded, number_add(unit, unit));
		if (!number_is_zero(digit))
			rounded = number_subtract(rounded, digit);
	}
	return number_trim(rounded);
}

/* What a division with a whole quotient leaves, with the sign of a; 22012 if b is zero. */
Numeric
number_remainder(Numeric a, Numeric b)
{
	return call2(numeric_mod, a, b);
}

/* The nearest double; 22003 if there is none. */
double
number_to_double(Numeric n)
{
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(n)));
}

/*
 * a ^ b; 2201F for a negative number to a broken power, and for zero to a
 * negative one; 22003 if it is out of range.
 */
Numeric
number_power(Numeric a, Numeric b)
{
	int64		exponent;
	double		power;

	if (number_to_int64(b, &exponent) && exponent >= PG_INT16_MIN && exponent <= PG_INT16_MAX)
		return number_trim(call2(numeric_power, a, b));
	power = DatumGetFloat8(DirectFunctionCall2(dpow, Float8GetDatum(number_to_double(a)),
											   Float8GetDatum(number_to_double(b))));
	return number_from_double(power, 0);
}
