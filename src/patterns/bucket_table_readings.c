/*
 * patterns/bucket_table_readings.c
 *		Bucket pattern: the readings of one bucket, and the views' functions.
 *
 * The readings of a bucket stand in the order of their times; among readings of
 * one time, in the order of their bytes, so that the order does not depend on
 * how they got there.  They are stored whole, as they were inserted: that the
 * series stands in each compresses to next to nothing, and reading them is to
 * copy bytes.
 */
#include "postgres.h"

#include "access/skey.h"
#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "common/hashfn.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "bucket_table.h"

PG_FUNCTION_INFO_V1(pattern_bucket_table_readings);
PG_FUNCTION_INFO_V1(pattern_bucket_table_document);
PG_FUNCTION_INFO_V1(pattern_bucket_table_merge);
PG_FUNCTION_INFO_V1(pattern_bucket_meta_compare);

/* Append a reading, which is not copied; tid may be NULL. */
void
readings_append(Readings *list, TimestampTz at, Jsonb *doc, ItemPointer tid)
{
	Reading    *reading;

	if (list->n == 0)
		list->in_order = true;
	else if (list->items[list->n - 1].at >= at)
		list->in_order = false;
	list->items = array_reserve(list->items, list->n, &list->max, sizeof(Reading));
	reading = &list->items[list->n++];
	reading->at = at;
	reading->doc = doc;
	reading->batch = NULL;
	if (tid != NULL)
		reading->tid = *tid;
	else
		ItemPointerSetInvalid(&reading->tid);
}

/* An order of documents that has no meaning but is always the same. */
int
jsonb_compare_bytes(const Jsonb *a, const Jsonb *b)
{
	return key_compare((const char *) &a->root, VARSIZE(a) - VARHDRSZ,
					   (const char *) &b->root, VARSIZE(b) - VARHDRSZ);
}

static int
compare_readings(const void *a, const void *b)
{
	const Reading *x = a;
	const Reading *y = b;

	CHECK_FOR_INTERRUPTS();
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return jsonb_compare_bytes(x->doc, y->doc);
}

void
readings_sort(Readings *list)
{
	if (list->n > 1 && !list->in_order)
		qsort(list->items, list->n, sizeof(Reading), compare_readings);
	list->in_order = true;
}

/* The first of a time, or with a document, of that: its place among readings that are in order. */
uint32
readings_find(const Readings *list, TimestampTz at, const Jsonb *doc)
{
	uint32		low = 0;
	uint32		high = list->n;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		const Reading *reading = &list->items[middle];

		if (reading->at < at || (reading->at == at && doc != NULL && jsonb_compare_bytes(reading->doc, doc) < 0))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A child of an array as a document of its own; palloc'd. */
static Jsonb *
element_document(const JsonbValue *element)
{
	Jsonb	   *doc;

	if (element->type != jbvBinary)
		return value_to_jsonb(element);
	doc = palloc(VARHDRSZ + element->val.binary.len);
	SET_VARSIZE(doc, VARHDRSZ + element->val.binary.len);
	memcpy(&doc->root, element->val.binary.data, element->val.binary.len);
	return doc;
}

static void
check_readings(const JsonbValue *readings)
{
	if (!value_is_array(readings))
		argument_mismatch("readings", "an array", readings);
}

/* Append the readings of an array, and with batches, of arrays in it. */
static void
append_array(const JsonbValue *array, const char *time_field, int time_len, pg_tz *zone, bool batches,
			 Readings *result)
{
	JsonbValue	reading;
	JsonbWalk	walk;

	check_readings(array);
	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &reading))
	{
		CHECK_FOR_INTERRUPTS();
		if (batches && value_is_array(&reading))
			append_array(&reading, time_field, time_len, zone, false, result);
		else if (!value_is_object(&reading))
			argument_mismatch("reading", "an object", &reading);
		else
			readings_append(result, reading_time(&reading, time_field, time_len, zone),
							element_document(&reading), NULL);
	}
}

/* Append the readings of an array of them to *result. */
void
readings_of_array(const Jsonb *array, const char *time_field, int time_len, pg_tz *zone, Readings *result)
{
	JsonbValue	readings;

	value_from_jsonb(array, &readings);
	append_array(&readings, time_field, time_len, zone, false, result);
}

/* n readings from `first` on as an array, and their summary, unless it is NULL; both palloc'd. */
void
readings_finish(const Readings *list, uint32 first, uint32 n, Jsonb **array, Jsonb **summary)
{
	ValueList	values = {0};
	JsonbValue	value;

	for (uint32 i = 0; i < n; i++)
	{
		value_from_jsonb(list->items[first + i].doc, &value);
		values_append(&values, &value);
	}
	if (summary != NULL)
		*summary = bucket_summary(&values);
	values_finish(&values, &value);
	*array = value_to_jsonb(&value);
	if (values.values != NULL)
		pfree(values.values);
}

/* bucket_table_readings(readings jsonb) → SETOF jsonb: as jsonb_array_elements, but one row at a time */
Datum
pattern_bucket_table_readings(PG_FUNCTION_ARGS)
{
	FuncCallContext *context;
	JsonbWalk  *walk;
	JsonbValue	reading;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext caller;
		JsonbValue	readings;

		context = SRF_FIRSTCALL_INIT();
		caller = MemoryContextSwitchTo(context->multi_call_memory_ctx);
		value_from_jsonb(PG_GETARG_JSONB_P_COPY(0), &readings);
		check_readings(&readings);
		walk = palloc(sizeof(JsonbWalk));
		walk_begin(walk, readings.val.binary.data);
		context->user_fctx = walk;
		MemoryContextSwitchTo(caller);
	}
	context = SRF_PERCALL_SETUP();
	walk = context->user_fctx;
	if (walk_next(walk, NULL, &reading))
		SRF_RETURN_NEXT(context, JsonbPGetDatum(element_document(&reading)));
	SRF_RETURN_DONE(context);
}

/* The instant as ISO 8601 text in UTC; palloc'd. */
static char *
instant_text(TimestampTz instant)
{
	struct pg_tm tm;
	fsec_t		fsec;
	char	   *text = palloc(MAXDATELEN + 1);

	if (TIMESTAMP_NOT_FINITE(instant))
	{
		EncodeSpecialTimestamp(instant, text);
		return text;
	}
	if (timestamp2tm(instant, NULL, &tm, &fsec, NULL, NULL) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	EncodeDateTime(&tm, fsec, false, 0, NULL, USE_XSD_DATES, text);
	strcat(text, "Z");
	return text;
}

/*
 * bucket_table_document(meta_field text, meta jsonb, bucket_start timestamptz, bucket_end timestamptz,
 * count integer, summary jsonb, readings jsonb) → jsonb
 */
Datum
pattern_bucket_table_document(PG_FUNCTION_ARGS)
{
	text	   *field = PG_GETARG_TEXT_PP(0);
	PairList	document = {0};
	JsonbValue	meta,
				readings,
				value;

	value_from_jsonb(PG_GETARG_JSONB_P(1), &meta);
	value_from_jsonb(PG_GETARG_JSONB_P(6), &readings);
	check_readings(&readings);
	pairs_append(&document, VARDATA_ANY(field), VARSIZE_ANY_EXHDR(field), &meta);
	value_from_cstring(instant_text(PG_GETARG_TIMESTAMPTZ(2)), &value);
	pairs_append(&document, "bucket_start", 12, &value);
	value_from_cstring(instant_text(PG_GETARG_TIMESTAMPTZ(3)), &value);
	pairs_append(&document, "bucket_end", 10, &value);
	value_from_int64(PG_GETARG_INT32(4), &value);
	pairs_append(&document, "count", 5, &value);
	value_from_jsonb(PG_GETARG_JSONB_P(5), &value);
	pairs_append(&document, "summary", 7, &value);
	pairs_append(&document, "readings", 8, &readings);
	pairs_finish(&document, &value);
	PG_RETURN_JSONB_P(value_to_jsonb(&value));
}

/* A row of bucket_table_merge. */
static void
put_bucket(ReturnSetInfo *result, int32 bucket_no, const Readings *list, uint32 first, uint32 n)
{
	Jsonb	   *array,
			   *summary;
	Datum		values[4];
	bool		nulls[4] = {false, false, false, false};

	readings_finish(list, first, n, &array, &summary);
	values[0] = Int32GetDatum(bucket_no);
	values[1] = Int32GetDatum(n);
	values[2] = JsonbPGetDatum(summary);
	values[3] = JsonbPGetDatum(array);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	pfree(array);
	pfree(summary);
}

/*
 * bucket_table_merge(open jsonb, last_no integer, last_readings jsonb, capacity integer, time_field text,
 * time_zone text) → TABLE(bucket_no integer, count integer, summary jsonb, readings jsonb):
 * the buckets that sealing the open readings and batches of a window would make, or change
 */
Datum
pattern_bucket_table_merge(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int32		bucket_no = PG_ARGISNULL(1) ? -1 : PG_GETARG_INT32(1);
	Readings	list = {0};
	Readings	last = {0};
	Interval	day = {.day = 1};
	JsonbValue	open;
	WindowRule	rule;
	char	   *time_field;
	int			capacity;
	uint32		next = 0;

	argument_check_given(fcinfo, 0, "open");
	argument_check_given(fcinfo, 3, "capacity");
	capacity = PG_GETARG_INT32(3);
	argument_check_least("capacity", capacity, 1);
	time_field = argument_text(fcinfo, 4, "time_field");
	window_rule(&day, argument_text(fcinfo, 5, "time_zone"), &rule);
	value_from_jsonb(PG_GETARG_JSONB_P(0), &open);
	append_array(&open, time_field, strlen(time_field), rule.zone, true, &list);
	readings_sort(&list);
	InitMaterializedSRF(fcinfo, 0);

	/* the last bucket first, as far as it has room */
	if (!PG_ARGISNULL(2))
	{
		readings_of_array(PG_GETARG_JSONB_P(2), time_field, strlen(time_field), rule.zone, &last);
		while (last.n < capacity && next < list.n)
		{
			readings_append(&last, list.items[next].at, list.items[next].doc, NULL);
			next++;
		}
		readings_sort(&last);
		put_bucket(result, bucket_no, &last, 0, last.n);
	}
	while (next < list.n)
	{
		uint32		n = Min(list.n - next, capacity);

		CHECK_FOR_INTERRUPTS();
		if (bucket_no == PG_INT32_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many buckets in one window")));
		put_bucket(result, ++bucket_no, &list, next, n);
		next += n;
	}
	PG_RETURN_NULL();
}

static Numeric
without_trailing_zeros(Numeric number)
{
	return DatumGetNumeric(DirectFunctionCall1(numeric_trim_scale, NumericGetDatum(number)));
}

/*
 * A series as it is stored; palloc'd.  1 and 1.0 are one, and the bytes of one are
 * always the same, so that an index may keep it once for many rows.
 */
Jsonb *
series_document(JsonbValue *value)
{
	JsonbParseState *state = NULL;
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	child,
			   *result = NULL;

	if (value->type == jbvNumeric)
		value->val.numeric = without_trailing_zeros(value->val.numeric);
	if (value->type != jbvBinary)
		return value_to_jsonb(value);
	iterator = JsonbIteratorInit(value->val.binary.data);
	while ((token = JsonbIteratorNext(&iterator, &child, false)) != WJB_DONE)
	{
		bool		is_leaf = token == WJB_KEY || token == WJB_VALUE || token == WJB_ELEM;

		if (is_leaf && child.type == jbvNumeric)
			child.val.numeric = without_trailing_zeros(child.val.numeric);
		result = pushJsonbValue(&state, token, is_leaf ? &child : NULL);
	}
	return JsonbValueToJsonb(result);
}

/* As the index compares: 1 and 1.0 are one series. */
bool
same_series(Jsonb *a, Jsonb *b)
{
	return jsonb_compare_bytes(a, b) == 0 || compareJsonbContainers(&a->root, &b->root) == 0;
}

/* The value of a top-level scalar; false if it is none. */
static bool
scalar_value(struct varlena *jsonb, JsonbValue *result)
{
	const JsonbContainer *root = (const JsonbContainer *) VARDATA_ANY(jsonb);
	uint32		header;
	JEntry		entry;

	/* a short value is not aligned, and one string or boolean needs not be */
	memcpy(&header, root, sizeof(header));
	if ((header & (JB_FARRAY | JB_FSCALAR)) != (JB_FARRAY | JB_FSCALAR))
		return false;
	memcpy(&entry, root->children, sizeof(entry));
	if (!JBE_ISSTRING(entry))
		return false;
	result->type = jbvString;
	result->val.string.val = (char *) &root->children[1];
	result->val.string.len = JBE_OFFLENFLD(entry);
	return true;
}

/* A hash of a series and a window, by jsonb's own: 1 and 1.0 are one series. */
uint64
group_hash(Oid table, Jsonb *meta, TimestampTz start)
{
	uint64		hash = DatumGetUInt64(DirectFunctionCall2(jsonb_hash_extended, JsonbPGetDatum(meta),
														  Int64GetDatum(table)));

	return hash_combine64(hash, murmurhash32((uint32) (start / USECS_PER_SEC)));
}

/* The same for equality alone. */
static Datum
meta_equal(PG_FUNCTION_ARGS)
{
	return BoolGetDatum(DatumGetInt32(pattern_bucket_meta_compare(fcinfo)) == 0);
}

/* Keys for a scan of the open table's index: a series and a window. */
void
open_scan_keys(ScanKey keys, Jsonb *meta, TimestampTz start)
{
	FmgrInfo	equal = {0};

	/* jsonb's own equality would take longer than all the rest of a scan */
	equal.fn_addr = meta_equal;
	equal.fn_oid = F_JSONB_EQ;
	equal.fn_nargs = 2;
	equal.fn_strict = true;
	equal.fn_mcxt = CurrentMemoryContext;
	ScanKeyEntryInitializeWithInfo(&keys[0], 0, 1, BTEqualStrategyNumber, InvalidOid, InvalidOid,
								   &equal, JsonbPGetDatum(meta));
	ScanKeyInit(&keys[1], 2, BTEqualStrategyNumber, F_TIMESTAMPTZ_EQ, TimestampTzGetDatum(start));
}

/*
 * bucket_meta_compare(jsonb, jsonb) → integer: as jsonb_cmp, which builds an
 * iterator for each side and would take most of the time of an insertion into
 * the open table's index
 */
Datum
pattern_bucket_meta_compare(PG_FUNCTION_ARGS)
{
	struct varlena *a = PG_GETARG_VARLENA_PP(0);
	struct varlena *b = PG_GETARG_VARLENA_PP(1);
	JsonbValue	x,
				y;

	if (scalar_value(a, &x) && scalar_value(b, &y))
	{
		if (x.val.string.len == y.val.string.len &&
			memcmp(x.val.string.val, y.val.string.val, x.val.string.len) == 0)
			PG_RETURN_INT32(0);
		PG_RETURN_INT32(varstr_cmp(x.val.string.val, x.val.string.len,
								   y.val.string.val, y.val.string.len, DEFAULT_COLLATION_OID));
	}
	PG_RETURN_DATUM(DirectFunctionCall2(jsonb_cmp, PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)));
}
