/*
 * server/aggregate.c
 *		What the states of our aggregates have in common.
 *
 * A state is a struct in the aggregate's memory context, passed as "internal".
 * PostgreSQL does not let aggregates have options, so that max_size and order_by
 * arrive with every row; they must be the same for all rows of a group, since a
 * result that depends on which row came first would change with the plan.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/builtins.h"

#include "pattern.h"

/* Where the state of this call lives. */
MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function of an aggregate cannot be called by itself")));
	return context;
}

/* 22023: an option is not what it was for the rows before. */
void
aggregate_option_changed(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" must be the same for all rows of a group", name)));
}

static bool
same_text(const text *a, const text *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

/* Keep a group's order_by, NULL for none, in the current memory context. */
void
group_order_init(GroupOrder *order, const text *order_by)
{
	char	   *source = order_by == NULL ? "" : text_to_cstring(order_by);

	order->order_by = order_by == NULL ? NULL : cstring_to_text(source);
	order->order = sort_order_parse(source);
}

/* 22023 unless this is the group's order_by. */
void
group_order_check(const GroupOrder *order, const text *order_by)
{
	if (!same_text(order->order_by, order_by))
		aggregate_option_changed("order_by");
}

/* Write the order_by for another process. */
void
group_order_send(const GroupOrder *order, StringInfo buf)
{
	int			len = order->order_by == NULL ? -1 : VARSIZE(order->order_by) - VARHDRSZ;

	pq_sendint32(buf, len);
	if (len > 0)
		pq_sendbytes(buf, VARDATA(order->order_by), len);
}

/* Read what group_order_send wrote, into the current memory context. */
void
group_order_receive(GroupOrder *order, StringInfo buf)
{
	int			len = pq_getmsgint(buf, 4);

	group_order_init(order, len < 0 ? NULL :
					 cstring_to_text_with_len(pq_getmsgbytes(buf, len), len));
}

/* A serialized state to be read with pq_getmsg…; its bytes are not copied. */
void
aggregate_bytes(bytea *bytes, StringInfo buf)
{
	buf->data = VARDATA_ANY(bytes);
	buf->len = VARSIZE_ANY_EXHDR(bytes);
	buf->maxlen = buf->len;
	buf->cursor = 0;
}
