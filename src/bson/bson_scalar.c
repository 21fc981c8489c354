/*
 * bson/bson_scalar.c
 *		The scalars of Extended JSON as text: dates, numbers, base64, UUIDs.
 *
 * Pure functions between bytes and text; what is wrong with a text is a false,
 * since only the caller knows where it stands.
 */
#include "postgres.h"

#include "common/base64.h"
#include "common/shortest_dec.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "convert.h"

#define MILLISECONDS_PER_DAY INT64CONST(86400000)

/* A string of len bytes, to be filled; palloc'd. */
static char *
new_string(int len, JsonbValue *result)
{
	result->type = jbvString;
	result->val.string.val = palloc(len);
	result->val.string.len = len;
	return result->val.string.val;
}

/* Write a number's last digits, with zeros before it; returns what follows. */
static char *
put_digits(char *s, int number, int digits)
{
	for (int i = digits - 1; i >= 0; i--, number /= 10)
		s[i] = '0' + number % 10;
	return s + digits;
}

/* Whole days and the milliseconds of the day, never negative. */
static int64
split_day(int64 milliseconds, int *of_day)
{
	int64		day = milliseconds / MILLISECONDS_PER_DAY;

	*of_day = milliseconds % MILLISECONDS_PER_DAY;
	if (*of_day < 0)
	{
		*of_day += MILLISECONDS_PER_DAY;
		day--;
	}
	return day;
}

/* Is the date, in UTC, of one of these years? */
bool
date_has_year(int64 milliseconds, int first_year, int last_year)
{
	int			of_day;
	int64		day = split_day(milliseconds, &of_day) + UNIX_EPOCH_JDATE;

	return day >= date2j(first_year, 1, 1) && day < date2j(last_year + 1, 1, 1);
}

/*
 * A date of the years 1 to 9999 in ISO 8601.  Whole seconds have no fraction in
 * Extended JSON; with one always, the text sorts as the date does.
 */
void
date_format(int64 milliseconds, bool always_fraction, JsonbValue *result)
{
	int			of_day;
	int64		day = split_day(milliseconds, &of_day);
	bool		fraction = always_fraction || of_day % 1000 != 0;
	char	   *s = new_string(fraction ? 24 : 20, result);
	int			y;
	int			m;
	int			d;

	j2date(day + UNIX_EPOCH_JDATE, &y, &m, &d);
	s = put_digits(s, y, 4);
	*s++ = '-';
	s = put_digits(s, m, 2);
	*s++ = '-';
	s = put_digits(s, d, 2);
	*s++ = 'T';
	s = put_digits(s, of_day / 3600000, 2);
	*s++ = ':';
	s = put_digits(s, of_day / 60000 % 60, 2);
	*s++ = ':';
	s = put_digits(s, of_day / 1000 % 60, 2);
	if (fraction)
	{
		*s++ = '.';
		s = put_digits(s, of_day % 1000, 3);
	}
	*s = 'Z';
}

/* Reads exactly that many digits and goes past them; -1 if they are not there. */
static int
take_digits(const char **s, const char *end, int digits)
{
	int			number = 0;

	if (end - *s < digits)
		return -1;
	for (int i = 0; i < digits; i++)
	{
		char		c = *(*s)++;

		if (c < '0' || c > '9')
			return -1;
		number = number * 10 + (c - '0');
	}
	return number;
}

/* Goes past a character; false if it is not there. */
static bool
take(const char **s, const char *end, char c)
{
	if (*s == end || **s != c)
		return false;
	(*s)++;
	return true;
}

/* Reads the fraction of a second, which may have zeros behind the milliseconds. */
static bool
take_fraction(const char **s, const char *end, int *milliseconds)
{
	int			digits = 0;

	*milliseconds = 0;
	for (; *s < end && **s >= '0' && **s <= '9'; (*s)++, digits++)
	{
		if (digits < 3)
			*milliseconds = *milliseconds * 10 + (**s - '0');
		else if (**s != '0')
			return false;
	}
	if (digits == 0)
		return false;
	for (; digits < 3; digits++)
		*milliseconds *= 10;
	return true;
}

/* Reads Z or an offset such as +02:00, +0200 or +02, in minutes. */
static bool
take_zone(const char **s, const char *end, int *minutes)
{
	bool		west = *s < end && **s == '-';
	int			hour;
	int			minute = 0;

	*minutes = 0;
	if (take(s, end, 'Z'))
		return true;
	if (!west && (*s == end || **s != '+'))
		return false;
	(*s)++;
	hour = take_digits(s, end, 2);
	if (*s < end)
	{
		(void) take(s, end, ':');
		minute = take_digits(s, end, 2);
	}
	if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
		return false;
	*minutes = (hour * 60 + minute) * (west ? -1 : 1);
	return true;
}

/*
 * Reads a date in ISO 8601, to the minute at least, with a zone.  False if it is
 * none, or is more exact than a millisecond.
 */
bool
date_parse(const char *s, int len, int64 *milliseconds)
{
	const char *end = s + len;
	int			year = take_digits(&s, end, 4);
	int			month = take(&s, end, '-') ? take_digits(&s, end, 2) : -1;
	int			day = take(&s, end, '-') ? take_digits(&s, end, 2) : -1;
	int			hour = take(&s, end, 'T') ? take_digits(&s, end, 2) : -1;
	int			minute = take(&s, end, ':') ? take_digits(&s, end, 2) : -1;
	int			second = 0;
	int			fraction = 0;
	int			zone;

	if (year < 0 || month < 1 || month > 12 || day < 1 || day > day_tab[isleap(year)][month - 1] ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59)
		return false;
	if (take(&s, end, ':'))
	{
		second = take_digits(&s, end, 2);
		if (second < 0 || second > 59)
			return false;
		if (take(&s, end, '.') && !take_fraction(&s, end, &fraction))
			return false;
	}
	if (!take_zone(&s, end, &zone) || s != end)
		return false;
	*milliseconds = (int64) (date2j(year, month, day) - UNIX_EPOCH_JDATE) * MILLISECONDS_PER_DAY +
		(((int64) hour * 60 + minute - zone) * 60 + second) * 1000 + fraction;
	return true;
}

/* A double as canonical Extended JSON writes it: 1.0, 1.5E+20, NaN, -Infinity. */
void
double_format(double d, JsonbValue *result)
{
	char		text[DOUBLE_SHORTEST_DECIMAL_LEN + 2];
	int			len = double_to_shortest_decimal_bufn(d, text);
	char	   *exponent = memchr(text, 'e', len);

	if (exponent != NULL)
		*exponent = 'E';
	else if (isfinite(d) && memchr(text, '.', len) == NULL)
	{
		text[len++] = '.';
		text[len++] = '0';
	}
	memcpy(new_string(len, result), text, len);
}

/* How many digits a number has from the first that is not zero to its exponent. */
int
decimal_digits(const char *s)
{
	int			n = 0;

	for (; *s != '\0' && *s != 'E'; s++)
		n += ((*s > '0' && *s <= '9') || n > 0) && *s >= '0' && *s <= '9';
	return n;
}

/* The options of a regular expression in alphabetical order, each once; palloc'd. */
char *
regex_options(const char *options)
{
	char	   *sorted = palloc0(strlen(options) + 1);
	int			n = 0;

	for (; *options != '\0'; options++)
	{
		int			at = n;

		if (strchr(sorted, *options) != NULL)
			continue;
		for (; at > 0 && (unsigned char) sorted[at - 1] > (unsigned char) *options; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = *options;
		n++;
	}
	return sorted;
}

/* Bytes in base64. */
void
base64_format(const void *data, uint32 len, JsonbValue *result)
{
	int			size = pg_b64_enc_len(len);
	char	   *s = new_string(size, result);

	result->val.string.len = pg_b64_encode(data, len, s, size);
}

/* The bytes of a text in base64; palloc'd, NULL if it is none. */
char *
base64_parse(const JsonbValue *text, int *len)
{
	int			size = pg_b64_dec_len(text->val.string.len);
	char	   *result = palloc(size + 1);

	*len = pg_b64_decode(text->val.string.val, text->val.string.len, (void *) result, size);
	return *len < 0 ? NULL : result;
}

/* Does a hyphen of a UUID's text stand before this byte? */
static inline bool
uuid_hyphen(int byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

/* 16 bytes as a UUID's text. */
void
uuid_format(const unsigned char *bytes, JsonbValue *result)
{
	static const char digits[] = "0123456789abcdef";
	char	   *s = new_string(36, result);

	for (int i = 0; i < 16; i++)
	{
		if (uuid_hyphen(i))
			*s++ = '-';
		*s++ = digits[bytes[i] >> 4];
		*s++ = digits[bytes[i] & 15];
	}
}

/* The value of a hexadecimal digit, -1 if it is none. */
static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The 16 bytes of a UUID's text in its standard form; false if it is none. */
bool
uuid_parse(const JsonbValue *text, unsigned char *bytes)
{
	const char *s = text->val.string.val;

	if (text->val.string.len != 36)
		return false;
	for (int i = 0; i < 16; i++)
	{
		int			high;
		int			low;

		if (uuid_hyphen(i) && *s++ != '-')
			return false;
		high = hex_value(*s++);
		low = hex_value(*s++);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = high << 4 | low;
	}
	return true;
}
