/*
 * jsonb/number.c
 *		Arithmetic on jsonb's numbers.
 *
 * jsonb has one kind of number, numeric, without NaN and infinity.  numeric's
 * functions have no other interface in all supported versions than the one by
 * Datum, so this is the one file of the floor that calls through it.
 *
 * numeric keeps its digits private to core's numeric.c.  number_read is the one
 * place that knows them; sql/attribute_key.sql holds it against numeric_cmp.
 * Most numbers of documents are whole and short, and are compared without a
 * call.
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

/* The parts of a number as numeric stores it, which are not copied. */
void
number_read(Numeric number, NumberDigits *result)
{
	const char *data = VARDATA_ANY(number);
	int			len = VARSIZE_ANY_EXHDR(number);
	uint16		header;
	int			header_len = sizeof(uint16);

	memcpy(&header, data, sizeof(uint16));
	if ((header & 0xC000) == 0xC000)
		elog(ERROR, "unexpected NaN or infinity in jsonb");
	if ((header & 0xC000) == 0x8000)
	{
		/* short: sign, 6 bits of scale, 7 bits of weight */
		result->negative = (header & 0x2000) != 0;
		result->weight = (header & 0x3F) - ((header & 0x40) != 0 ? 0x40 : 0);
	}
	else
	{
		int16		weight;

		memcpy(&weight, data + header_len, sizeof(int16));
		header_len += sizeof(int16);
		result->negative = (header & 0xC000) == 0x4000;
		result->weight = weight;
	}
	result->digits = data + header_len;
	result->ndigits = (len - header_len) / (int) sizeof(int16);
}

/* A whole number of at most 16 digits; false for any other.  Zeros at the end are not stored. */
static bool
read_short_integer(Numeric number, int64 *result)
{
	NumberDigits digits;
	int64		value = 0;

	number_read(number, &digits);
	if (digits.ndigits > 0 && (digits.weight > 3 || digits.ndigits > digits.weight + 1))
		return false;
	for (int i = 0; digits.ndigits > 0 && i <= digits.weight; i++)
		value = value * 10000 + (i < digits.ndigits ? number_digit(&digits, i) : 0);
	*result = digits.negative ? -value : value;
	return true;
}

/* By value: negative, zero or positive. */
int
number_compare(Numeric a, Numeric b)
{
	int64		x,
				y;

	if (read_short_integer(a, &x) && read_short_integer(b, &y))
		return (x > y) - (x < y);
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

/* Is a / b a whole number?  b is not zero. */
bool
number_is_multiple(Numeric a, Numeric b)
{
	return number_is_zero(call2(numeric_mod, a, b));
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
	if (read_short_integer(n, result))
		return true;
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
