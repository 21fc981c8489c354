/*
 * jsonb/order.c
 *		MongoDB's order of values, equality, and sorting by it.
 *
 * null (and missing) < numbers < strings < objects < arrays < booleans.
 * jsonb's own btree order is another one, and depends on the collation, so
 * compareJsonbContainers is of no use here.  Strings compare by their bytes,
 * arrays element by element, objects pair by pair in stored order: the value's
 * type, then the key, then the value; a prefix comes first.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pattern.h"

/* The place of the value's type in the order. */
int
value_rank(const JsonbValue *v)
{
	switch (v->type)
	{
		case jbvNull:
			return 0;
		case jbvNumeric:
			return 1;
		case jbvString:
			return 2;
		case jbvBool:
			return 5;
		default:
			Assert(v->type == jbvBinary);
			return JsonContainerIsArray(v->val.binary.data) ? 4 : 3;
	}
}

static inline int
compare_bytes(const char *a, int alen, const char *b, int blen)
{
	int			cmp = memcmp(a, b, Min(alen, blen));

	if (cmp != 0)
		return cmp < 0 ? -1 : 1;
	return alen == blen ? 0 : (alen < blen ? -1 : 1);
}

static int
compare_containers(const JsonbContainer *a, const JsonbContainer *b)
{
	JsonbWalk	awalk,
				bwalk;
	JsonbValue	akey,
				avalue,
				bkey,
				bvalue;
	bool		is_object = JsonContainerIsObject(a);

	check_stack_depth();
	walk_begin(&awalk, a);
	walk_begin(&bwalk, b);
	for (;;)
	{
		bool		amore = walk_next(&awalk, &akey, &avalue);
		bool		bmore = walk_next(&bwalk, &bkey, &bvalue);
		int			cmp;

		CHECK_FOR_INTERRUPTS();
		if (!amore || !bmore)
			return (int) amore - (int) bmore;
		if (is_object)
		{
			cmp = value_rank(&avalue) - value_rank(&bvalue);
			if (cmp == 0)
				cmp = compare_bytes(akey.val.string.val, akey.val.string.len,
									bkey.val.string.val, bkey.val.string.len);
			if (cmp != 0)
				return cmp;
		}
		cmp = value_compare(&avalue, &bvalue);
		if (cmp != 0)
			return cmp;
	}
}

/* Compares two values that were read: negative, zero or positive. */
int
value_compare(const JsonbValue *a, const JsonbValue *b)
{
	int			cmp = value_rank(a) - value_rank(b);

	if (cmp != 0)
		return cmp;
	switch (a->type)
	{
		case jbvNull:
			return 0;
		case jbvNumeric:
			return number_compare(a->val.numeric, b->val.numeric);
		case jbvString:
			return compare_bytes(a->val.string.val, a->val.string.len,
								 b->val.string.val, b->val.string.len);
		case jbvBool:
			return (int) a->val.boolean - (int) b->val.boolean;
		default:
			return compare_containers(a->val.binary.data, b->val.binary.data);
	}
}

/* Are two values that were read the same?  Numbers are by value, at any depth. */
bool
value_equal(const JsonbValue *a, const JsonbValue *b)
{
	if (value_rank(a) != value_rank(b))
		return false;
	if (a->type == jbvString)
		return a->val.string.len == b->val.string.len &&
			memcmp(a->val.string.val, b->val.string.val, a->val.string.len) == 0;
	if (a->type == jbvBinary)
	{
		/* the same bytes are the same value, but 1.0 and 1 are as well */
		if (value_count(a) != value_count(b))
			return false;
		if (a->val.binary.len == b->val.binary.len &&
			memcmp(a->val.binary.data, b->val.binary.data, a->val.binary.len) == 0)
			return true;
	}
	return value_compare(a, b) == 0;
}

static int
compare_members(const void *a, const void *b)
{
	CHECK_FOR_INTERRUPTS();
	return value_compare(a, b);
}

/* Make a set of n values, in place: sorted, and one of those that are equal.  Returns its size. */
uint32
values_make_set(JsonbValue *values, uint32 n)
{
	uint32		size = 0;

	if (n > 1)
		qsort(values, n, sizeof(JsonbValue), compare_members);
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (size == 0 || value_compare(&values[size - 1], &values[i]) != 0)
			values[size++] = values[i];
	}
	return size;
}

/* Is a value in a set of n?  *place is where, unless place is NULL. */
bool
values_set_find(const JsonbValue *set, uint32 n, const JsonbValue *value, uint32 *place)
{
	uint32		low = 0;
	uint32		high = n;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		int			cmp = value_compare(&set[middle], value);

		if (cmp == 0)
		{
			if (place != NULL)
				*place = middle;
			return true;
		}
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static void
order_syntax_error(const char *order_by, const char *at)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid order \"%s\"", text_for_message(order_by, strlen(order_by))),
			 *at == '\0' ? errdetail("The order ends where a field is expected.")
			 : errdetail("The order cannot be read at \"%s\".", text_for_message(at, strlen(at))),
			 errhint("An order is a list of fields with commas between them, each followed by asc or desc or neither, such as \"date desc, votes\".")));
}

static const char *
skip_spaces(const char *s)
{
	while (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r')
		s++;
	return s;
}

/* The end of a dotted path with quoted names. */
static const char *
skip_path(const char *s)
{
	bool		in_quotes = false;

	for (; *s != '\0'; s++)
	{
		if (*s == '"')
			in_quotes = !in_quotes;
		else if (!in_quotes && strchr(" \t\n\r,", *s) != NULL)
			break;
	}
	return s;
}

/*
 * Parses SQL-like text, such as 'date desc, "a.b".votes'.  Blank text gives an
 * order of no keys.  22023 for a bad one, 22P02 for a bad path in it; palloc'd.
 */
SortOrder *
sort_order_parse(const char *order_by)
{
	SortOrder  *order = palloc(sizeof(SortOrder));
	const char *s = skip_spaces(order_by);
	int			max = 1;

	for (const char *c = s; *c != '\0'; c++)
		max += (*c == ',');
	order->nkeys = 0;
	order->keys = palloc(max * sizeof(SortKey));
	if (*s == '\0')
		return order;
	for (;;)
	{
		SortKey    *key = &order->keys[order->nkeys++];
		const char *end = skip_path(s);

		if (end == s)
			order_syntax_error(order_by, s);
		key->path = path_parse(s, end - s, true);
		key->descending = false;
		s = skip_spaces(end);
		end = skip_path(s);
		if (end > s)
		{
			if (end - s == 4 && pg_strncasecmp(s, "desc", 4) == 0)
				key->descending = true;
			else if (end - s != 3 || pg_strncasecmp(s, "asc", 3) != 0)
				order_syntax_error(order_by, s);
			s = skip_spaces(end);
		}
		if (*s == '\0')
			return order;
		if (*s != ',')
			order_syntax_error(order_by, s);
		s = skip_spaces(s + 1);
	}
}

/* The values that an element is sorted by, nkeys of them; missing is null. */
void
sort_order_keys(const SortOrder *order, const JsonbValue *element, JsonbValue *keys)
{
	for (int i = 0; i < order->nkeys; i++)
	{
		const SortKey *key = &order->keys[i];

		if (key->path == NULL)
			keys[i] = *element;
		else if (!path_get(key->path, element, &keys[i]))
			keys[i].type = jbvNull;
	}
}

/* Compares two elements by what sort_order_keys gave. */
int
sort_order_compare_keys(const SortOrder *order, const JsonbValue *a, const JsonbValue *b)
{
	for (int i = 0; i < order->nkeys; i++)
	{
		int			cmp = value_compare(&a[i], &b[i]);

		if (cmp != 0)
			return order->keys[i].descending ? -cmp : cmp;
	}
	return 0;
}

/* An element while it is sorted. */
typedef struct SortItem
{
	const JsonbValue *keys;
	uint32		position;		/* where it stood: equal elements keep their order */
} SortItem;

static int
compare_items(const void *a, const void *b, void *order)
{
	const SortItem *x = a;
	const SortItem *y = b;
	int			cmp;

	CHECK_FOR_INTERRUPTS();
	cmp = sort_order_compare_keys(order, x->keys, y->keys);
	if (cmp != 0)
		return cmp;
	return x->position < y->position ? -1 : (x->position > y->position);
}

/* Sorts values in place; equal ones keep their order. */
void
values_sort(JsonbValue *values, uint32 n, const SortOrder *order)
{
	MemoryContext context = CurrentMemoryContext;
	Size		nkeys = order->nkeys;
	SortItem   *items;
	JsonbValue *keys;
	JsonbValue *sorted;

	if (n < 2 || nkeys == 0)
		return;
	items = MemoryContextAllocHuge(context, n * sizeof(SortItem));
	keys = MemoryContextAllocHuge(context, n * nkeys * sizeof(JsonbValue));
	sorted = MemoryContextAllocHuge(context, n * sizeof(JsonbValue));
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		sort_order_keys(order, &values[i], &keys[i * nkeys]);
		items[i].keys = &keys[i * nkeys];
		items[i].position = i;
	}
	qsort_arg(items, n, sizeof(SortItem), compare_items, unconstify(SortOrder *, order));
	for (uint32 i = 0; i < n; i++)
		sorted[i] = values[items[i].position];
	memcpy(values, sorted, n * sizeof(JsonbValue));
	pfree(items);
	pfree(keys);
	pfree(sorted);
}
