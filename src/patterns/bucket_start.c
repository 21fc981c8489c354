/*
 * patterns/bucket_start.c
 *		Bucket pattern: the time window that an instant falls into.
 *
 * Windows are laid out on the wall clock of a time zone: they begin at
 * 2000-01-03 00:00, a Monday, or at 2000-01-01 00:00 if the width is in months,
 * plus any multiple of the width.  Where the clock is changed, a window begins
 *
 * - of a width of a day or more: once, at its local time as PostgreSQL reads it
 *   (AT TIME ZONE), so that days of 23 and 25 hours are whole windows;
 * - of a shorter width: whenever the clock shows its local time, which may be
 *   twice, and where the clock jumps over or back across the start of a window.
 *
 * In both cases the starts are a set of instants, and the answer is the last of
 * them that is not later than the instant given: so windows never overlap, and
 * none begins after what it holds.
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

PG_FUNCTION_INFO_V1(pattern_bucket_start);
PG_FUNCTION_INFO_V1(pattern_bucket_end);

static void
timestamp_out_of_range(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			 errmsg("timestamp out of range")));
}

static void
bad_width(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" %s", "width", what)));
}

/* Days count as 24 hours of the wall clock.  22023 for a width that is none. */
static void
read_width(const Interval *interval, WindowRule *width)
{
	int64		days;

	if (interval->month != 0 && (interval->day != 0 || interval->time != 0))
		bad_width("cannot mix months with days or times");
	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &days) ||
		pg_add_s64_overflow(days, interval->time, &width->time))
		bad_width("is too large");
	width->months = interval->month;
	if (width->months < 0 || width->time < 0 || (width->months == 0 && width->time == 0))
		bad_width("must be greater than zero");
}

static inline int64
floor_divide(int64 a, int64 b)
{
	return a / b - (a % b < 0 ? 1 : 0);
}

/* The start of the window of a time on the wall clock. */
static Timestamp
floor_time(Timestamp local, int64 width)
{
	const int64 origin = 2 * USECS_PER_DAY;

	return floor_divide(local - origin, width) * width + origin;
}

/* The same for months. */
static Timestamp
floor_month(Timestamp local, int32 width)
{
	struct pg_tm tm;
	fsec_t		fsec;
	int64		month;
	int			year;

	if (timestamp2tm(local, NULL, &tm, &fsec, NULL, NULL) != 0)
		timestamp_out_of_range();
	month = (tm.tm_year - 2000) * (int64) MONTHS_PER_YEAR + tm.tm_mon - 1;
	month = floor_divide(month, width) * width;
	year = 2000 + floor_divide(month, MONTHS_PER_YEAR);
	month -= (year - 2000) * (int64) MONTHS_PER_YEAR;
	if (!IS_VALID_JULIAN(year, (int) month + 1, 1))
		timestamp_out_of_range();
	return (date2j(year, (int) month + 1, 1) - POSTGRES_EPOCH_JDATE) * USECS_PER_DAY;
}

static Timestamp
floor_local(Timestamp local, const WindowRule *width)
{
	return width->months > 0 ? floor_month(local, width->months) : floor_time(local, width->time);
}

/* The instant as PostgreSQL's zones count: seconds since 1970, rounded down. */
static pg_time_t
instant_seconds(TimestampTz at)
{
	return floor_divide(at, USECS_PER_SEC) +
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
}

/* What the wall clock is ahead of UTC at an instant. */
static int64
clock_offset(TimestampTz at, const pg_tz *zone)
{
	pg_time_t	seconds = instant_seconds(at);
	struct pg_tm *tm = pg_localtime(&seconds, zone);

	if (tm == NULL)
		timestamp_out_of_range();
	return tm->tm_gmtoff * USECS_PER_SEC;
}

/* The instant of a time on the wall clock, as AT TIME ZONE has it. */
TimestampTz
window_instant(Timestamp local, pg_tz *zone)
{
	struct pg_tm tm;
	fsec_t		fsec;

	if (timestamp2tm(local, NULL, &tm, &fsec, NULL, NULL) != 0)
		timestamp_out_of_range();
	return local + DetermineTimeZoneOffset(&tm, zone) * USECS_PER_SEC;
}

/* The start of a window of a day or more. */
static TimestampTz
start_of_days(TimestampTz at, const WindowRule *rule)
{
	Timestamp	local = floor_local(at + clock_offset(at, rule->zone), rule);
	TimestampTz start = window_instant(local, rule->zone);

	/* the clock has been changed at the start, and shows it again later */
	while (start > at)
	{
		local = floor_local(local - 1, rule);
		start = window_instant(local, rule->zone);
	}
	return start;
}

/* The last change of the clock after `after` and not later than `upto`; false if there is none. */
static bool
last_clock_change(TimestampTz after, TimestampTz upto, const pg_tz *zone, TimestampTz *change)
{
	pg_time_t	seconds = instant_seconds(after);
	pg_time_t	last = instant_seconds(upto);
	pg_time_t	next;
	bool		found = false;
	long int	offset_before,
				offset_after;
	int			dst_before,
				dst_after;

	while (pg_next_dst_boundary(&seconds, &offset_before, &dst_before,
								&next, &offset_after, &dst_after, zone) > 0 &&
		   next <= last)
	{
		*change = (next - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY) * USECS_PER_SEC;
		found = true;
		seconds = next;
	}
	return found;
}

/* The start of a window of less than a day. */
static TimestampTz
start_of_time(TimestampTz at, int64 width, const pg_tz *zone)
{
	for (;;)
	{
		int64		offset = clock_offset(at, zone);
		Timestamp	local = floor_time(at + offset, width);
		TimestampTz change;
		TimestampTz before;

		if (!last_clock_change(local - offset, at, zone, &change))
			return local - offset;
		before = change - 1;
		if (floor_time(before + clock_offset(before, zone), width) != local)
			return change;
		/* the change stays within the window: look on from there */
		at = before;
	}
}

static pg_tz *
find_zone(const char *name)
{
	pg_tz	   *zone = pg_tzset(name);

	if (zone == NULL || !pg_tz_acceptable(zone))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time zone \"%s\" not recognized", text_for_message(name, strlen(name)))));
	return zone;
}

/* The rule of windows of a width in a time zone; 22023 if either is none. */
void
window_rule(const Interval *width, const char *time_zone, WindowRule *rule)
{
	read_width(width, rule);
	rule->zone = find_zone(time_zone);
}

/* The start of the window that a finite instant falls into; 22008 if there is no such time. */
TimestampTz
window_start(const WindowRule *rule, TimestampTz at)
{
	TimestampTz start = rule->months > 0 || rule->time >= USECS_PER_DAY ?
		start_of_days(at, rule) : start_of_time(at, rule->time, rule->zone);

	if (!IS_VALID_TIMESTAMP(start))
		timestamp_out_of_range();
	return start;
}

/* The end of the same window, which is the start of the next. */
TimestampTz
window_end(const WindowRule *rule, TimestampTz at)
{
	TimestampTz start = window_start(rule, at);
	int64		step = rule->time;
	TimestampTz end = start;
	TimestampTz before;

	if (rule->months > 0 && pg_mul_s64_overflow(rule->months, DAYS_PER_MONTH * USECS_PER_DAY, &step))
		timestamp_out_of_range();
	/* some later window, and back from it to the next */
	do
	{
		if (pg_add_s64_overflow(end, step, &end) || !IS_VALID_TIMESTAMP(end))
			timestamp_out_of_range();
	} while ((before = window_start(rule, end)) == start);
	do
	{
		end = before;
		before = window_start(rule, end - 1);
	} while (before > start);
	return end;
}

/* The rule in the second and third argument of the functions below. */
static void
rule_arguments(FunctionCallInfo fcinfo, WindowRule *rule)
{
	argument_check_given(fcinfo, 1, "width");
	window_rule(PG_GETARG_INTERVAL_P(1), PG_ARGISNULL(2) ? "UTC" : text_to_cstring(PG_GETARG_TEXT_PP(2)), rule);
}

/* The instant in the first; 22023 if it is infinite. */
static TimestampTz
instant_argument(FunctionCallInfo fcinfo)
{
	TimestampTz at = PG_GETARG_TIMESTAMPTZ(0);

	if (TIMESTAMP_NOT_FINITE(at))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be finite", "at"),
				 errdetail("The value is %s.", TIMESTAMP_IS_NOBEGIN(at) ? "-infinity" : "infinity")));
	return at;
}

/* bucket_start(at timestamptz, width interval, time_zone text DEFAULT 'UTC') → timestamptz */
Datum
pattern_bucket_start(PG_FUNCTION_ARGS)
{
	WindowRule	rule;

	rule_arguments(fcinfo, &rule);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(window_start(&rule, instant_argument(fcinfo)));
}

/* bucket_end(at timestamptz, width interval, time_zone text DEFAULT 'UTC') → timestamptz */
Datum
pattern_bucket_end(PG_FUNCTION_ARGS)
{
	WindowRule	rule;

	rule_arguments(fcinfo, &rule);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(window_end(&rule, instant_argument(fcinfo)));
}
