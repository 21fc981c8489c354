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
 * Most numbers of documents are short, and differ before the point: these are
 * compared without a call.
 */
#include "postgres.h"

#include "common/shortest_dec.h"
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

/* A number whose whole part is short. */
typedef struct ShortNumber
{
	int64		whole;			/* what is left when the fraction is cut off */
	int			fraction;		/* its sign; 0: there is none */
} ShortNumber;

/* False unless the whole part has at most 16 digits.  Zeros at the end are not stored. */
static inline bool
read_short_number(Numeric number, ShortNumber *result)
{
	NumberDigits digits;
	int64		value = 0;

	number_read(number, &digits);
	if (digits.ndigits == 0)
		digits.weight = -1;
	if (digits.weight > 3)
		return false;
	for (int i = 0; i <= digits.weight; i++)
		value = value * 10000 + (i < digits.ndigits ? number_digit(&digits, i) : 0);
	result->whole = digits.negative ? -value : value;
	result->fraction = digits.ndigits <= digits.weight + 1 ? 0 : digits.negative ? -1 : 1;
	return true;
}

/* A whole number of at most 16 digits; false for any other. */
static bool
read_short_integer(Numeric number, int64 *result)
{
	ShortNumber parts;

	if (!read_short_number(number, &parts) || parts.fraction != 0)
		return false;
	*result = parts.whole;
	return true;
}

/* By value: negative, zero or positive. */
int
number_compare(Numeric a, Numeric b)
{
	ShortNumber x,
				y;

	if (read_short_number(a, &x) && read_short_number(b, &y))
	{
		if (x.whole != y.whole)
			return x.whole < y.whole ? -1 : 1;
		if (x.fraction == 0 || y.fraction == 0 || x.fraction != y.fraction)
			return x.fraction - y.fraction;
	}
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

/*
 * The number digits * 10^exponent, shown with that many digits behind the point,
 * which must suffice for it; palloc'd.  NULL if it does not fit into numeric's
 * short header.
 *
 * This writes down numeric's form on disk, which cannot change: digits in base
 * 10,000, the most significant first, without zeros at either end.  Core would
 * allocate three times for it, and parse text if there is a fraction.
 */
static Numeric
short_number(bool negative, uint64 digits, int exponent, int scale)
{
	static const uint32 power[] = {1, 10, 100, 1000};
	int			shift = ((exponent % 4) + 4) % 4;
	int			weight = (exponent - shift) / 4 - 1;
	int16		groups[8];		/* the least significant first */
	int			n = 0;
	int			zeros = 0;
	Size		size;
	uint16		header;
	char	   *result;

	if (digits == 0)
		weight = 0;
	else if (shift > 0)
	{
		groups[n++] = (digits % power[4 - shift]) * power[shift];
		digits /= power[4 - shift];
	}
	for (; digits > 0; digits /= 10000)
		groups[n++] = digits % 10000;
	weight += n;
	if (scale > 63 || weight > 63 || weight < -64)
		return NULL;

	while (zeros < n && groups[zeros] == 0)
		zeros++;
	header = 0x8000 | (negative && n > 0 ? 0x2000 : 0) | (scale << 7) | (weight & 0x7F);
	size = VARHDRSZ + sizeof(header) + (n - zeros) * sizeof(int16);
	result = palloc(size);
	SET_VARSIZE(result, size);
	memcpy(VARDATA(result), &header, sizeof(header));
	for (int i = n - 1, to = VARHDRSZ + sizeof(header); i >= zeros; i--, to += sizeof(int16))
		memcpy(result + to, &groups[i], sizeof(int16));
	return (Numeric) result;
}

/* A whole number; palloc'd. */
Numeric
number_from_int64(int64 i)
{
	uint64		digits = i < 0 ? -(uint64) i : (uint64) i;

	return short_number(i < 0, digits, 0, 0);
}

/*
 * The number with the fewest digits that is read as this double again, which must
 * be finite, shown with at least that many digits behind the point; palloc'd.
 */
Numeric
number_from_double(double d, int least_scale)
{
	char		text[DOUBLE_SHORTEST_DECIMAL_LEN];
	uint64		digits = 0;
	int			exponent = 0;
	bool		fraction = false;
	int			scale;
	Numeric		result;
	const char *s = text;

	text[double_to_shortest_decimal_bufn(d, text)] = '\0';
	if (*s == '-')
		s++;
	for (; *s != '\0' && *s != 'e'; s++)
	{
		if (*s == '.')
			fraction = true;
		else
		{
			digits = digits * 10 + (*s - '0');
			exponent -= fraction;
		}
	}
	if (*s == 'e')
		exponent += atoi(s + 1);

	scale = Max(least_scale, -exponent);
	result = short_number(text[0] == '-', digits, exponent, scale);
	if (result == NULL)
		result = DatumGetNumeric(DirectFunctionCall2(numeric_round,
													 NumericGetDatum(number_from_cstring(text)),
													 Int32GetDatum(scale)));
	return result;
}

/* The number that a text is, which must be one; palloc'd. */
Numeric
number_from_cstring(const char *text)
{
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text),
											   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

/* Is the number written without digits after a point? */
static bool
has_no_scale(Numeric number)
{
	uint16		header;

	memcpy(&header, VARDATA_ANY(number), sizeof(uint16));
	return ((header & 0xC000) == 0x8000 ? header & 0x1F80 : header & 0x3FFF) == 0;
}

/* The number as text, never with an exponent; palloc'd. */
char *
number_to_cstring(Numeric n)
{
	int64		value;

	if (has_no_scale(n) && read_short_integer(n, &value))
	{
		char	   *text = palloc(MAXINT8LEN + 1);

		(void) pg_lltoa(value, text);
		return text;
	}
	return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(n)));
}
