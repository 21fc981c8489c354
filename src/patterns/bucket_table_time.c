/*
 * patterns/bucket_table_time.c
 *		Bucket pattern: the time that a reading is of.
 *
 * It is ISO 8601 text, or {"$date": …} as MongoDB writes a date.  The parser is
 * our own since the time of a reading must not depend on any setting of a
 * session: a cast follows DateStyle and TimeZone, and with them a reading would
 * be found in another window than it was put into.  Text without an offset is in
 * the table's time zone.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

/* Text while it is read. */
typedef struct Scanner
{
	const char *next;
	const char *end;
} Scanner;

PG_FUNCTION_INFO_V1(pattern_bucket_table_at);

/* Exactly `digits` digits to *result. */
static bool
scan_number(Scanner *scanner, int digits, int *result)
{
	int			n = 0;

	if (scanner->end - scanner->next < digits)
		return false;
	for (int i = 0; i < digits; i++)
	{
		char		c = *scanner->next++;

		if (c < '0' || c > '9')
			return false;
		n = n * 10 + (c - '0');
	}
	*result = n;
	return true;
}

static bool
scan_char(Scanner *scanner, char c)
{
	if (scanner->next == scanner->end || *scanner->next != c)
		return false;
	scanner->next++;
	return true;
}

/* A year of four to six digits, which a hyphen follows, a month and a day. */
static bool
scan_date(Scanner *scanner, int *julian)
{
	const char *hyphen = memchr(scanner->next, '-', scanner->end - scanner->next);
	int			year,
				month,
				day;

	if (hyphen == NULL || hyphen - scanner->next < 4 || hyphen - scanner->next > 6 ||
		!scan_number(scanner, hyphen - scanner->next, &year) || !scan_char(scanner, '-') ||
		!scan_number(scanner, 2, &month) || !scan_char(scanner, '-') ||
		!scan_number(scanner, 2, &day))
		return false;
	if (year < 1 || month < 1 || month > MONTHS_PER_YEAR || day < 1 ||
		day > day_tab[isleap(year)][month - 1])
		return false;
	*julian = date2j(year, month, day);
	return true;
}

/* The fraction of a second, rounded to microseconds. */
static bool
scan_fraction(Scanner *scanner, int64 *time)
{
	int			place = USECS_PER_SEC / 10;
	const char *start = scanner->next;
	bool		round_up = false;

	for (; scanner->next < scanner->end && *scanner->next >= '0' && *scanner->next <= '9'; scanner->next++)
	{
		if (scanner->next - start == 6)
			round_up = *scanner->next >= '5';
		*time += (*scanner->next - '0') * (int64) place;
		place /= 10;
	}
	if (round_up)
		(*time)++;
	return scanner->next > start;
}

/* Hours, minutes and, if they are there, seconds to microseconds. */
static bool
scan_time(Scanner *scanner, int64 *time)
{
	int			hour,
				minute,
				second = 0;

	if (!scan_number(scanner, 2, &hour) || !scan_char(scanner, ':') ||
		!scan_number(scanner, 2, &minute))
		return false;
	if (scan_char(scanner, ':') && !scan_number(scanner, 2, &second))
		return false;
	/* 24:00 and a leap second are the beginning of what follows, as in PostgreSQL */
	if (hour > HOURS_PER_DAY || minute >= MINS_PER_HOUR || second > SECS_PER_MINUTE)
		return false;
	*time = (((int64) hour * MINS_PER_HOUR + minute) * SECS_PER_MINUTE + second) * USECS_PER_SEC;
	if ((scan_char(scanner, '.') || scan_char(scanner, ',')) && !scan_fraction(scanner, time))
		return false;
	return *time <= USECS_PER_DAY || hour < HOURS_PER_DAY;
}

/* "Z", "+02", "+0200", "+02:00" or "+02:00:00"; *found is false at the end of the text. */
static bool
scan_offset(Scanner *scanner, bool *found, int64 *offset)
{
	bool		negative;
	int			hour,
				minute = 0,
				second = 0;

	*found = scanner->next < scanner->end;
	*offset = 0;
	if (!*found || scan_char(scanner, 'Z') || scan_char(scanner, 'z'))
		return scanner->next == scanner->end;
	negative = scan_char(scanner, '-');
	if ((!negative && !scan_char(scanner, '+')) || !scan_number(scanner, 2, &hour))
		return false;
	if (scanner->next < scanner->end)
	{
		(void) scan_char(scanner, ':');
		if (!scan_number(scanner, 2, &minute))
			return false;
	}
	if (scanner->next < scanner->end && (!scan_char(scanner, ':') || !scan_number(scanner, 2, &second)))
		return false;
	if (hour > MAX_TZDISP_HOUR || minute >= MINS_PER_HOUR || second >= SECS_PER_MINUTE)
		return false;
	*offset = (((int64) hour * MINS_PER_HOUR + minute) * SECS_PER_MINUTE + second) * USECS_PER_SEC;
	if (negative)
		*offset = -*offset;
	return scanner->next == scanner->end;
}

/* ISO 8601 text to an instant; false if it is something else, or out of range. */
static bool
parse_time(const char *text, int len, pg_tz *zone, TimestampTz *result)
{
	Scanner		scanner = {text, text + len};
	int			julian;
	int64		time = 0;
	int64		offset = 0;
	bool		has_offset = false;
	Timestamp	local;

	if (!scan_date(&scanner, &julian))
		return false;
	if (scanner.next < scanner.end)
	{
		if ((!scan_char(&scanner, 'T') && !scan_char(&scanner, 't') && !scan_char(&scanner, ' ')) ||
			!scan_time(&scanner, &time) || !scan_offset(&scanner, &has_offset, &offset))
			return false;
	}
	/* so far from the end that nothing overflows */
	if (julian > TIMESTAMP_END_JULIAN - 3)
		return false;
	local = (julian - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY + time;
	*result = has_offset ? local - offset : window_instant(local, zone);
	return IS_VALID_TIMESTAMP(*result);
}

/* Milliseconds since 1970 to an instant; false if out of range. */
static bool
milliseconds_time(Numeric n, TimestampTz *result)
{
	int64		milliseconds;

	/* so far that nothing overflows */
	if (!number_to_int64(n, &milliseconds) ||
		milliseconds > END_TIMESTAMP / 1000 || milliseconds < MIN_TIMESTAMP / 1000)
		return false;
	*result = SetEpochTimestamp() + milliseconds * 1000;
	return IS_VALID_TIMESTAMP(*result);
}

/* The value of {"$date": …}; false if it is no date. */
static bool
date_time(const JsonbValue *date, pg_tz *zone, TimestampTz *result)
{
	JsonbValue	number;

	if (date->type == jbvString)
		return parse_time(date->val.string.val, date->val.string.len, zone, result);
	if (date->type == jbvNumeric)
		return milliseconds_time(date->val.numeric, result);
	if (value_is_object(date) && value_count(date) == 1 &&
		value_get_cstring(date, "$numberLong", &number) && number.type == jbvString)
	{
		char	   *end;
		char	   *text = pnstrdup(number.val.string.val, number.val.string.len);
		int64		milliseconds;

		errno = 0;
		milliseconds = strtoi64(text, &end, 10);
		if (errno != 0 || end == text || *end != '\0')
			return false;
		return milliseconds_time(int64_to_numeric(milliseconds), result);
	}
	return false;
}

/* The time in a value; false if it is none. */
static bool
value_time(const JsonbValue *value, pg_tz *zone, TimestampTz *result)
{
	JsonbValue	date;

	if (value->type == jbvString)
		return parse_time(value->val.string.val, value->val.string.len, zone, result);
	return value_is_object(value) && value_count(value) == 1 &&
		value_get_cstring(value, "$date", &date) && date_time(&date, zone, result);
}

/*
 * The time of a reading, an object.  22023 if the field is missing or is no
 * time.
 */
TimestampTz
reading_time(const JsonbValue *reading, const char *field, int len, pg_tz *zone)
{
	JsonbValue	value;
	TimestampTz result;

	if (!value_get(reading, field, len, &value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("reading has no field \"%s\"", text_for_message(field, len)),
				 errdetail("The field holds the time. The reading is %s.", value_to_cstring(reading))));
	if (!value_time(&value, zone, &result))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the value at \"%s\" must be a time", text_for_message(field, len)),
				 errdetail("The value is of type %s: %s.",
						   value_type_name(&value), value_to_cstring(&value)),
				 value.type == jbvNumeric ?
				 errhint("Write seconds since 1970 as text: to_jsonb(to_timestamp(n)); or milliseconds as {\"$date\": n}.") :
				 errhint("Write it like \"2026-09-02T10:00:01Z\", or as {\"$date\": \"2026-09-02T10:00:01Z\"}.")));
	return result;
}

/* bucket_table_at(reading jsonb, time_field text, time_zone text) → timestamptz */
Datum
pattern_bucket_table_at(PG_FUNCTION_ARGS)
{
	text	   *field = PG_GETARG_TEXT_PP(1);
	pg_tz	  **zone = fcinfo->flinfo->fn_extra;
	JsonbValue	reading;

	/* the time zone is the same for all rows of the view */
	if (zone == NULL || strcmp(pg_get_timezone_name(*zone), text_to_cstring(PG_GETARG_TEXT_PP(2))) != 0)
	{
		WindowRule	rule;
		Interval	day = {.day = 1};

		window_rule(&day, text_to_cstring(PG_GETARG_TEXT_PP(2)), &rule);
		if (zone == NULL)
			zone = fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(pg_tz *));
		*zone = rule.zone;
	}
	bucket_reading(PG_GETARG_JSONB_P(0), &reading);
	PG_RETURN_TIMESTAMPTZ(reading_time(&reading, VARDATA_ANY(field), VARSIZE_ANY_EXHDR(field), *zone));
}
