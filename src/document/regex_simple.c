/*
 * document/regex_simple.c
 *		Regular expressions that take no engine: ^SKU-[0-9]+$ and its like.
 *
 * What schemas ask of strings is mostly a row of characters and of sets of them,
 * each so many times.  Where no set that may come more or fewer times has a
 * character in common with what may follow it, taking as many as there are is
 * always right, and there is nothing to try again: one loop over the string.
 * Everything else, and all that is not ASCII in a pattern, is left to the engine.
 */
#include "postgres.h"

#include "regex.h"

#define NO_MAXIMUM	PG_INT32_MAX

/* Characters of a set, so many times. */
typedef struct SimpleItem
{
	uint64		set[2];			/* a bit for each ASCII character */
	int			min;
	int			max;
} SimpleItem;

struct RegexSimple
{
	bool		to_end;			/* $ */
	int			n;
	SimpleItem	items[FLEXIBLE_ARRAY_MEMBER];
};

/* A pattern while it is read. */
typedef struct SimpleReader
{
	const char *in;
	const char *end;
} SimpleReader;

static void
set_add(SimpleItem *item, int c)
{
	item->set[c >> 6] |= UINT64CONST(1) << (c & 63);
}

static bool
set_has(const SimpleItem *item, int c)
{
	return c < 128 && (item->set[c >> 6] >> (c & 63) & 1) != 0;
}

static void
set_add_range(SimpleItem *item, int first, int last)
{
	for (int c = first; c <= last; c++)
		set_add(item, c);
}

static bool
is_one_of(char c, const char *characters)
{
	return c != '\0' && strchr(characters, c) != NULL;
}

static bool
is_alphanumeric(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A character behind a backslash. */
static bool
read_escape(SimpleReader *reader, SimpleItem *item)
{
	char		c;

	if (reader->in == reader->end)
		return false;
	c = *reader->in++;
	if (c == 'd')
		set_add_range(item, '0', '9');
	else if (is_one_of(c, ".-/+*?()[]{}^$|\\"))
		set_add(item, c);
	else
		return false;
	return true;
}

/* A set in brackets, behind the first one. */
static bool
read_bracket(SimpleReader *reader, SimpleItem *item)
{
	const char *start = reader->in;

	while (reader->in < reader->end)
	{
		char		c = *reader->in++;
		bool		is_range = reader->end - reader->in > 1 && reader->in[0] == '-' && reader->in[1] != ']';

		if (c == ']')
			return reader->in - 1 > start;
		if (is_range)
		{
			char		last = reader->in[1];

			if (!is_alphanumeric(c) || !is_alphanumeric(last) || c > last)
				return false;
			set_add_range(item, c, last);
			reader->in += 2;
			/* what a hyphen behind a range means is left to the engine */
			if (reader->in < reader->end && *reader->in == '-')
				return false;
		}
		else if (c == '\\')
		{
			if (!read_escape(reader, item) || (reader->in < reader->end && *reader->in == '-'))
				return false;
		}
		else if (is_alphanumeric(c) || is_one_of(c, "_ .@,:;/#%+*=!~-"))
			set_add(item, c);
		else
			return false;
	}
	return false;
}

static bool
read_number(SimpleReader *reader, int *result)
{
	const int	max = 1000;
	const char *start = reader->in;

	*result = 0;
	while (reader->in < reader->end && *reader->in >= '0' && *reader->in <= '9' && *result <= max)
		*result = *result * 10 + (*reader->in++ - '0');
	return reader->in > start && *result <= max;
}

static bool
read_character(SimpleReader *reader, char c)
{
	if (reader->in == reader->end || *reader->in != c)
		return false;
	reader->in++;
	return true;
}

/* How many times, if that is said. */
static bool
read_quantifier(SimpleReader *reader, SimpleItem *item)
{
	item->min = item->max = 1;
	if (read_character(reader, '*'))
	{
		item->min = 0;
		item->max = NO_MAXIMUM;
	}
	else if (read_character(reader, '+'))
		item->max = NO_MAXIMUM;
	else if (read_character(reader, '?'))
		item->min = 0;
	else if (read_character(reader, '{'))
	{
		if (!read_number(reader, &item->min))
			return false;
		item->max = item->min;
		if (read_character(reader, ',') && !read_number(reader, &item->max))
		{
			if (reader->in == reader->end || *reader->in != '}')
				return false;
			item->max = NO_MAXIMUM;
		}
		if (!read_character(reader, '}') || item->max < item->min)
			return false;
	}
	return reader->in == reader->end || !is_one_of(*reader->in, "*+?{");
}

static bool
read_item(SimpleReader *reader, SimpleItem *item)
{
	char		c = *reader->in++;

	if (c == '[')
	{
		if (!read_bracket(reader, item))
			return false;
	}
	else if (c == '\\')
	{
		if (!read_escape(reader, item))
			return false;
	}
	else if (is_alphanumeric(c) || is_one_of(c, "_ -@:;,/#=%!~&'\"<>"))
		set_add(item, c);
	else
		return false;
	return read_quantifier(reader, item);
}

/* May the item take as many as there are, whatever follows? */
static bool
is_greedy_right(const RegexSimple *simple, int i)
{
	const SimpleItem *item = &simple->items[i];

	if (item->min == item->max)
		return true;
	for (int j = i + 1; j < simple->n; j++)
	{
		const SimpleItem *next = &simple->items[j];

		if ((item->set[0] & next->set[0]) != 0 || (item->set[1] & next->set[1]) != 0)
			return false;
		if (next->min > 0)
			break;
	}
	return true;
}

/* What takes no engine of patterns without options; palloc'd, NULL for another. */
RegexSimple *
regex_simple_compile(const char *pattern, int len)
{
	RegexSimple *simple = palloc0(offsetof(RegexSimple, items) + len * sizeof(SimpleItem));
	SimpleReader reader = {pattern, pattern + len};

	if (!read_character(&reader, '^'))
		return NULL;
	while (reader.in < reader.end && !simple->to_end)
	{
		if (*reader.in == '$')
		{
			reader.in++;
			simple->to_end = true;
		}
		else if (!read_item(&reader, &simple->items[simple->n++]))
			return NULL;
	}
	if (reader.in < reader.end)
		return NULL;
	for (int i = 0; i < simple->n; i++)
		if (!is_greedy_right(simple, i))
			return NULL;
	return simple;
}

/* Does the string match?  $ is also before a newline at the end. */
bool
regex_simple_match(const RegexSimple *simple, const char *s, int len)
{
	const char *end = s + len;

	for (int i = 0; i < simple->n; i++)
	{
		const SimpleItem *item = &simple->items[i];
		int			count = 0;

		while (count < item->max && s < end && set_has(item, (unsigned char) *s))
		{
			count++;
			s++;
		}
		if (count < item->min)
			return false;
	}
	return !simple->to_end || s == end || (end - s == 1 && *s == '\n');
}
