/*
 * patterns/bucket_agg.c
 *		Bucket pattern: the aggregate that makes a bucket of many readings.
 *
 * The state is the readings' bytes, one after the other, and nothing else:
 * sorting and the summary are left to the final function, so that combining two
 * states is to join their bytes and the result is what appending one reading
 * after the other would give.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "pattern.h"

typedef struct BucketState
{
	GroupOrder	order;
	uint32		n;
	StringInfoData readings;	/* jsonb values, each at a multiple of four */
} BucketState;

PG_FUNCTION_INFO_V1(pattern_bucket_agg_add);
PG_FUNCTION_INFO_V1(pattern_bucket_agg_combine);
PG_FUNCTION_INFO_V1(pattern_bucket_agg_serialize);
PG_FUNCTION_INFO_V1(pattern_bucket_agg_deserialize);
PG_FUNCTION_INFO_V1(pattern_bucket_agg_final);

/* A state without readings, in this memory context. */
static BucketState *
state_create(MemoryContext context, const text *order_by)
{
	MemoryContext caller = MemoryContextSwitchTo(context);
	BucketState *state = palloc0(sizeof(BucketState));

	group_order_init(&state->order, order_by);
	initStringInfo(&state->readings);
	MemoryContextSwitchTo(caller);
	return state;
}

/* Room for len bytes more at a multiple of four; 54000 if no document could hold them. */
static char *
state_reserve(BucketState *state, Size len)
{
	StringInfo	buf = &state->readings;
	Size		padded = INTALIGN(len);

	if (padded > JENTRY_OFFLENMASK - buf->len)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("total size of the readings of one bucket exceeds the maximum of %u bytes",
						JENTRY_OFFLENMASK),
				 errhint("Group the readings by narrower time windows.")));
	enlargeStringInfo(buf, padded);
	buf->len += padded;
	return buf->data + buf->len - padded;
}

/* bucket_agg's state after a reading */
Datum
pattern_bucket_agg_add(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	BucketState *state = PG_ARGISNULL(0) ? NULL : (BucketState *) PG_GETARG_POINTER(0);
	const text *order_by;
	struct varlena *reading;
	Jsonb	   *copy;
	JsonbValue	value;

	if (PG_ARGISNULL(1))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	order_by = PG_NARGS() > 2 && !PG_ARGISNULL(2) ? PG_GETARG_TEXT_PP(2) : NULL;
	if (state == NULL)
		state = state_create(context, order_by);
	else
		group_order_check(&state->order, order_by);

	/* straight from the row, whose short values have no alignment */
	reading = PG_GETARG_VARLENA_PP(1);
	copy = (Jsonb *) state_reserve(state, VARHDRSZ + VARSIZE_ANY_EXHDR(reading));
	SET_VARSIZE(copy, VARHDRSZ + VARSIZE_ANY_EXHDR(reading));
	memcpy(VARDATA(copy), VARDATA_ANY(reading), VARSIZE_ANY_EXHDR(reading));
	bucket_reading(copy, &value);
	state->n++;
	PG_RETURN_POINTER(state);
}

/* the states of two parts as one */
Datum
pattern_bucket_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	BucketState *state = PG_ARGISNULL(0) ? NULL : (BucketState *) PG_GETARG_POINTER(0);
	BucketState *other = PG_ARGISNULL(1) ? NULL : (BucketState *) PG_GETARG_POINTER(1);

	if (other != NULL)
	{
		if (state == NULL)
			state = state_create(context, other->order.order_by);
		else
			group_order_check(&state->order, other->order.order_by);
		memcpy(state_reserve(state, other->readings.len), other->readings.data, other->readings.len);
		state->n += other->n;
	}
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

/* a state as bytes */
Datum
pattern_bucket_agg_serialize(PG_FUNCTION_ARGS)
{
	BucketState *state = (BucketState *) PG_GETARG_POINTER(0);
	StringInfoData buf;

	(void) aggregate_context(fcinfo);
	pq_begintypsend(&buf);
	group_order_send(&state->order, &buf);
	pq_sendint32(&buf, state->n);
	pq_sendbytes(&buf, state->readings.data, state->readings.len);
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* and back */
Datum
pattern_bucket_agg_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	BucketState *state = palloc0(sizeof(BucketState));
	StringInfoData buf;
	int			len;

	(void) aggregate_context(fcinfo);
	aggregate_bytes(bytes, &buf);
	group_order_receive(&state->order, &buf);
	state->n = pq_getmsgint(&buf, 4);
	len = buf.len - buf.cursor;
	initStringInfo(&state->readings);
	memcpy(state_reserve(state, len), pq_getmsgbytes(&buf, len), len);
	PG_RETURN_POINTER(state);
}

/* bucket_agg's result; NULL over no readings */
Datum
pattern_bucket_agg_final(PG_FUNCTION_ARGS)
{
	BucketState *state = PG_ARGISNULL(0) ? NULL : (BucketState *) PG_GETARG_POINTER(0);
	ValueList	readings = {0};
	char	   *next;

	(void) aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	next = state->readings.data;
	for (uint32 i = 0; i < state->n; i++)
	{
		Jsonb	   *reading = (Jsonb *) next;
		JsonbValue	value;

		CHECK_FOR_INTERRUPTS();
		value_from_jsonb(reading, &value);
		values_append(&readings, &value);
		next += INTALIGN(VARSIZE(reading));
	}
	values_sort(readings.values, readings.n, state->order.order);
	PG_RETURN_JSONB_P(bucket_build(&readings));
}
