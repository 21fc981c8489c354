/*
 * patterns/subset_agg.c
 *		Subset pattern: subset_agg, the first elements of an order in bounded memory.
 *
 * With an order, the state is a heap of the first max_size elements so far, the
 * last of them on top: it goes when one comes that belongs before it.  Without,
 * it is a ring of the last max_size, a row's at row % max_size.  Each element has the number of its row, so
 * that equal ones keep the order of their arrival.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "pattern.h"

/* An element that is kept. */
typedef struct SubsetItem
{
	JsonbValue *keys;			/* what it is sorted by; palloc'd */
	Jsonb	   *element;		/* behind its keys, in the same piece */
	int64		row;
} SubsetItem;

typedef struct SubsetState
{
	MemoryContext context;
	GroupOrder	order;
	uint32		max_size;
	int64		rows;			/* elements seen */
	uint32		n;
	uint32		max;			/* room in items */
	SubsetItem *items;			/* a heap, or a ring */
} SubsetState;

PG_FUNCTION_INFO_V1(pattern_subset_agg_add);
PG_FUNCTION_INFO_V1(pattern_subset_agg_combine);
PG_FUNCTION_INFO_V1(pattern_subset_agg_serialize);
PG_FUNCTION_INFO_V1(pattern_subset_agg_deserialize);
PG_FUNCTION_INFO_V1(pattern_subset_agg_final);

static SubsetState *
state_create(MemoryContext context, uint32 max_size, const text *order_by)
{
	MemoryContext caller = MemoryContextSwitchTo(context);
	SubsetState *state = palloc0(sizeof(SubsetState));

	state->context = context;
	state->max_size = max_size;
	group_order_init(&state->order, order_by);
	MemoryContextSwitchTo(caller);
	return state;
}

/* 22023 if the options of a row, or of another part, are not the group's. */
static void
state_check(const SubsetState *state, uint32 max_size, const text *order_by)
{
	if (state->max_size != max_size)
		aggregate_option_changed("max_size");
	group_order_check(&state->order, order_by);
}

/* By the order, then by row. */
static int
compare_items(const SubsetState *state, const SubsetItem *a, const SubsetItem *b)
{
	int			cmp = sort_order_compare_keys(state->order.order, a->keys, b->keys);

	if (cmp != 0)
		return cmp;
	return a->row < b->row ? -1 : (a->row > b->row);
}

/* compare_items for qsort_arg */
static int
compare_for_sort(const void *a, const void *b, void *state)
{
	CHECK_FOR_INTERRUPTS();
	return compare_items(state, a, b);
}

/* by row, for qsort_arg */
static int
compare_rows(const void *a, const void *b, void *state)
{
	const SubsetItem *x = a;
	const SubsetItem *y = b;

	return x->row < y->row ? -1 : (x->row > y->row);
}

/* Fill in an element's keys, nkeys of them. */
static void
item_keys(const SubsetState *state, const Jsonb *element, JsonbValue *keys)
{
	JsonbValue	value;

	value_from_jsonb(element, &value);
	sort_order_keys(state->order.order, &value, keys);
}

/* A copy of the element of a row. */
static void
item_make(const SubsetState *state, const Jsonb *element, int64 row, SubsetItem *item)
{
	Size		keys_size = state->order.order->nkeys * sizeof(JsonbValue);

	item->keys = MemoryContextAlloc(state->context, keys_size + VARSIZE(element));
	item->element = (Jsonb *) ((char *) item->keys + keys_size);
	memcpy(item->element, element, VARSIZE(element));
	item->row = row;
	item_keys(state, item->element, item->keys);
}

/* Put another element in the place of an item. */
static void
item_replace(const SubsetState *state, const Jsonb *element, int64 row, SubsetItem *item)
{
	pfree(item->keys);
	item_make(state, element, row, item);
}

/* Move an item of the heap up to where it belongs. */
static void
heap_up(SubsetState *state, uint32 at)
{
	SubsetItem	item = state->items[at];

	while (at > 0)
	{
		uint32		parent = (at - 1) / 2;

		if (compare_items(state, &item, &state->items[parent]) <= 0)
			break;
		state->items[at] = state->items[parent];
		at = parent;
	}
	state->items[at] = item;
}

/* Move the item on top of the heap down to where it belongs. */
static void
heap_down(SubsetState *state)
{
	SubsetItem	item = state->items[0];
	uint32		at = 0;

	for (;;)
	{
		uint64		child = 2 * (uint64) at + 1;

		if (child >= state->n)
			break;
		if (child + 1 < state->n &&
			compare_items(state, &state->items[child + 1], &state->items[child]) > 0)
			child++;
		if (compare_items(state, &item, &state->items[child]) >= 0)
			break;
		state->items[at] = state->items[child];
		at = child;
	}
	state->items[at] = item;
}

/* Does the element, of a later row, belong before the last one that is kept? */
static bool
is_before_last(const SubsetState *state, const Jsonb *element, int64 row)
{
	int			nkeys = state->order.order->nkeys;
	JsonbValue	few[4];
	SubsetItem	item;
	bool		result;

	item.keys = nkeys <= lengthof(few) ? few : palloc(nkeys * sizeof(JsonbValue));
	item.row = row;
	item_keys(state, element, item.keys);
	result = compare_items(state, &item, &state->items[0]) < 0;
	if (item.keys != few)
		pfree(item.keys);
	return result;
}

/* Room for one item more. */
static void
state_grow(SubsetState *state)
{
	if (state->n < state->max)
		return;
	state->max = Min(state->max_size, Max(8, (uint64) state->max * 2));
	if (state->items == NULL)
		state->items = MemoryContextAlloc(state->context, state->max * sizeof(SubsetItem));
	else
		state->items = repalloc_huge(state->items, state->max * sizeof(SubsetItem));
}

/* Keep the element of the next row if it is one of the first. */
static void
state_add(SubsetState *state, const Jsonb *element)
{
	bool		ordered = state->order.order->nkeys > 0;
	int64		row = state->rows++;

	if (state->max_size == 0)
		return;
	if (state->n < state->max_size)
	{
		state_grow(state);
		item_make(state, element, row, &state->items[state->n++]);
		if (ordered)
			heap_up(state, state->n - 1);
	}
	else if (!ordered)
		item_replace(state, element, row, &state->items[row % state->max_size]);
	else if (is_before_last(state, element, row))
	{
		item_replace(state, element, row, &state->items[0]);
		heap_down(state);
	}
}

/* The items in an order, by row or as compare_for_sort has it; the state is not touched. */
static SubsetItem *
state_sorted(const SubsetState *state, qsort_arg_comparator compare)
{
	Size		size = state->n * sizeof(SubsetItem);
	SubsetItem *items = MemoryContextAllocHuge(CurrentMemoryContext, Max(size, 1));

	if (size > 0)
		memcpy(items, state->items, size);
	qsort_arg(items, state->n, sizeof(SubsetItem), compare, unconstify(SubsetState *, state));
	return items;
}

/* subset_agg's state after an element */
Datum
pattern_subset_agg_add(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	SubsetState *state = PG_ARGISNULL(0) ? NULL : (SubsetState *) PG_GETARG_POINTER(0);
	const text *order_by;

	if (!PG_ARGISNULL(1))
	{
		argument_check_given(fcinfo, 2, "max_size");
		argument_check_least("max_size", PG_GETARG_INT32(2), 0);
		order_by = PG_NARGS() > 3 && !PG_ARGISNULL(3) ? PG_GETARG_TEXT_PP(3) : NULL;
		if (state == NULL)
			state = state_create(context, PG_GETARG_INT32(2), order_by);
		else
			state_check(state, PG_GETARG_INT32(2), order_by);
		state_add(state, PG_GETARG_JSONB_P(1));
	}
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

/* the states of two parts as one: the second's elements as if they came after the first's */
Datum
pattern_subset_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	SubsetState *state = PG_ARGISNULL(0) ? NULL : (SubsetState *) PG_GETARG_POINTER(0);
	SubsetState *other = PG_ARGISNULL(1) ? NULL : (SubsetState *) PG_GETARG_POINTER(1);

	if (other != NULL)
	{
		SubsetItem *items = state_sorted(other, compare_rows);

		if (state == NULL)
			state = state_create(context, other->max_size, other->order.order_by);
		else
			state_check(state, other->max_size, other->order.order_by);
		for (uint32 i = 0; i < other->n; i++)
			state_add(state, items[i].element);
		pfree(items);
	}
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

/* a state as bytes: the elements that are kept, by row */
Datum
pattern_subset_agg_serialize(PG_FUNCTION_ARGS)
{
	SubsetState *state = (SubsetState *) PG_GETARG_POINTER(0);
	SubsetItem *items = state_sorted(state, compare_rows);
	StringInfoData buf;

	(void) aggregate_context(fcinfo);
	pq_begintypsend(&buf);
	group_order_send(&state->order, &buf);
	pq_sendint32(&buf, state->max_size);
	pq_sendint32(&buf, state->n);
	for (uint32 i = 0; i < state->n; i++)
	{
		pq_sendint32(&buf, VARSIZE(items[i].element));
		pq_sendbytes(&buf, (const char *) items[i].element, VARSIZE(items[i].element));
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* and back */
Datum
pattern_subset_agg_deserialize(PG_FUNCTION_ARGS)
{
	SubsetState *state;
	GroupOrder	order;
	StringInfoData buf;
	uint32		n;

	(void) aggregate_context(fcinfo);
	aggregate_bytes(PG_GETARG_BYTEA_PP(0), &buf);
	group_order_receive(&order, &buf);
	state = state_create(CurrentMemoryContext, pq_getmsgint(&buf, 4), order.order_by);
	n = pq_getmsgint(&buf, 4);
	for (uint32 i = 0; i < n; i++)
	{
		int			size = pq_getmsgint(&buf, 4);
		Jsonb	   *element = palloc(size);

		/* where they stand they have no alignment */
		memcpy(element, pq_getmsgbytes(&buf, size), size);
		state_add(state, element);
		pfree(element);
	}
	pq_getmsgend(&buf);
	PG_RETURN_POINTER(state);
}

/* subset_agg's result; [] over no elements */
Datum
pattern_subset_agg_final(PG_FUNCTION_ARGS)
{
	SubsetState *state = PG_ARGISNULL(0) ? NULL : (SubsetState *) PG_GETARG_POINTER(0);
	ValueList	list = {0};
	JsonbValue	value;

	(void) aggregate_context(fcinfo);
	if (state != NULL)
	{
		SubsetItem *items = state_sorted(state, compare_for_sort);

		for (uint32 i = 0; i < state->n; i++)
		{
			value_from_jsonb(items[i].element, &value);
			values_append(&list, &value);
		}
	}
	values_finish(&list, &value);
	PG_RETURN_JSONB_P(value_to_jsonb(&value));
}
