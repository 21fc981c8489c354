/*
 * patterns/bucket.c
 *		Bucket pattern: the document that holds many readings and their summary.
 *
 *		{"count": 2,
 *		 "summary": {"min_temp": 21, "max_temp": 24, "sum_temp": 45, "avg_temp": 22.5},
 *		 "readings": [{"at": "10:00", "temp": 21}, {"at": "10:01", "temp": 24}]}
 *
 * and whatever the caller keeps beside these three.  Every field of a reading
 * that is a number is summarised; sums are exact.  An average is over the
 * readings that have the field.  As long as all have it their number is "count"
 * and stands nowhere else; from the first reading without it on, it is kept as
 * "count_temp".  So an append looks at some numbers of the summary and never
 * into the readings, whose bytes are copied.
 *
 * A field that the summary does not have may still be in readings: documents
 * come from elsewhere too.  Then all readings are summarised anew, once.
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"

#include "bucket_table.h"

/* A field's part of the summary. */
typedef struct FieldSummary
{
	NameEntry	name;			/* must be first */
	Numeric		min;
	Numeric		max;
	Numeric		sum;
	bool		sum_is_ours;	/* to be freed */
	bool		has_count;		/* count_NAME stands in the document */
	int64		count;			/* readings that have the field */
} FieldSummary;

/* What is known of several readings. */
typedef struct Summary
{
	HTAB	   *names;			/* of FieldSummary */
	uint32		n;
	uint32		max;
	FieldSummary **fields;		/* in the order of their first appearance */
} Summary;

/* A bucket that is appended to. */
typedef struct Bucket
{
	JsonbValue	root;
	bool		has_summary;
	JsonbValue	summary;
	bool		has_readings;
	JsonbValue	readings;
	int64		count;
} Bucket;

PG_FUNCTION_INFO_V1(pattern_bucket_append);
PG_FUNCTION_INFO_V1(pattern_bucket_readings);

/* Count a value of the field in. */
static void
field_add(FieldSummary *field, Numeric n)
{
	if (field->count++ == 0)
	{
		field->min = field->max = field->sum = n;
		return;
	}
	if (number_compare(n, field->min) < 0)
		field->min = n;
	if (number_compare(n, field->max) > 0)
		field->max = n;
	n = number_add(field->sum, n);
	if (field->sum_is_ours)
		pfree(field->sum);
	field->sum = n;
	field->sum_is_ours = true;
}

/* "min_temp" for "min_" and "temp"; palloc'd, null-terminated. */
static char *
summary_key(const char *prefix, const NameEntry *name, int *len)
{
	int			prefix_len = strlen(prefix);
	char	   *key = palloc(prefix_len + name->len + 1);

	memcpy(key, prefix, prefix_len);
	memcpy(key + prefix_len, name->name, name->len);
	*len = prefix_len + name->len;
	key[*len] = '\0';
	return key;
}

static void
write_number(PairList *pairs, const char *prefix, const NameEntry *name, Numeric n)
{
	int			len;
	char	   *key = summary_key(prefix, name, &len);
	JsonbValue	value;

	value.type = jbvNumeric;
	value.val.numeric = n;
	pairs_append(pairs, key, len, &value);
}

/* A field's pairs in the summary of this many readings. */
static void
field_write(const FieldSummary *field, int64 readings, PairList *pairs)
{
	Numeric		count = int64_to_numeric(field->count);

	/* in the order in which an object has them */
	write_number(pairs, "avg_", &field->name, number_trim(number_divide(field->sum, count)));
	write_number(pairs, "max_", &field->name, field->max);
	write_number(pairs, "min_", &field->name, field->min);
	write_number(pairs, "sum_", &field->name, field->sum);
	if (field->has_count || field->count != readings)
		write_number(pairs, "count_", &field->name, count);
}

/* The field of this name; where it stands in a reading is where it stood in the first, as a rule. */
static FieldSummary *
summary_field(Summary *summary, uint32 position, const JsonbValue *name)
{
	FieldSummary *field;
	bool		found;

	if (position < summary->n)
	{
		field = summary->fields[position];
		if (field->name.len == name->val.string.len &&
			memcmp(field->name.name, name->val.string.val, field->name.len) == 0)
			return field;
	}
	field = names_enter(summary->names, name->val.string.val, name->val.string.len, &found);
	if (found)
		return field;
	field->count = 0;
	field->sum_is_ours = false;
	field->has_count = false;
	summary->fields = array_reserve(summary->fields, summary->n, &summary->max,
									sizeof(FieldSummary *));
	summary->fields[summary->n++] = field;
	return field;
}

/* Summarise readings from the start; what is no object among them has no fields. */
static void
summarise(const ValueList *readings, PairList *pairs)
{
	Summary		summary = {0};

	summary.names = names_create(sizeof(FieldSummary));
	for (uint32 i = 0; i < readings->n; i++)
	{
		uint32		position = 0;
		JsonbWalk	walk;
		JsonbValue	name,
					value;

		CHECK_FOR_INTERRUPTS();
		if (!value_is_object(&readings->values[i]))
			continue;
		walk_begin(&walk, readings->values[i].val.binary.data);
		while (walk_next(&walk, &name, &value))
			if (value.type == jbvNumeric)
				field_add(summary_field(&summary, position++, &name), value.val.numeric);
	}
	for (uint32 i = 0; i < summary.n; i++)
		field_write(summary.fields[i], readings->n, pairs);
	hash_destroy(summary.names);
}

/* A bucket of these readings, which must be objects; palloc'd. */
Jsonb *
bucket_build(const ValueList *readings)
{
	PairList	bucket = {0};
	PairList	summary = {0};
	JsonbValue	value;

	value_from_int64(readings->n, &value);
	pairs_append(&bucket, "count", 5, &value);
	summarise(readings, &summary);
	pairs_finish(&summary, &value);
	pairs_append(&bucket, "summary", 7, &value);
	values_finish(readings, &value);
	pairs_append(&bucket, "readings", 8, &value);
	pairs_finish(&bucket, &value);
	return value_to_jsonb(&value);
}

/* The summary of readings alone; palloc'd. */
Jsonb *
bucket_summary(const ValueList *readings)
{
	PairList	summary = {0};
	JsonbValue	value;

	summarise(readings, &summary);
	pairs_finish(&summary, &value);
	return value_to_jsonb(&value);
}

/* A reading as a value; 22023 unless it is an object. */
void
bucket_reading(const Jsonb *reading, JsonbValue *result)
{
	value_from_jsonb(reading, result);
	if (!value_is_object(result))
		argument_mismatch("reading", "an object", result);
}

/* A number of the summary; false if it is missing or null. */
static bool
read_number(const JsonbValue *summary, const char *prefix, const NameEntry *name, Numeric *result)
{
	int			len;
	char	   *key = summary_key(prefix, name, &len);
	JsonbValue	found;

	if (!value_get(summary, key, len, &found) || found.type == jbvNull)
		return false;
	if (found.type != jbvNumeric)
		field_mismatch(psprintf("summary.%s", key), "a number", &found);
	*result = found.val.numeric;
	return true;
}

/* What the bucket's summary says of a field; false if it does not tell all. */
static bool
field_read(const Bucket *bucket, FieldSummary *field)
{
	Numeric		count;

	if (!read_number(&bucket->summary, "min_", &field->name, &field->min) ||
		!read_number(&bucket->summary, "max_", &field->name, &field->max) ||
		!read_number(&bucket->summary, "sum_", &field->name, &field->sum))
		return false;
	field->sum_is_ours = false;
	field->count = bucket->count;
	field->has_count = read_number(&bucket->summary, "count_", &field->name, &count);
	if (field->has_count &&
		(!number_to_int64(count, &field->count) || field->count < 1 || field->count > bucket->count))
	{
		JsonbValue	found;
		int			len;

		found.type = jbvNumeric;
		found.val.numeric = count;
		field_mismatch(psprintf("summary.%s", summary_key("count_", &field->name, &len)),
					   psprintf("a whole number from 1 to %lld", (long long) bucket->count), &found);
	}
	return true;
}

/* Fields that all readings had and this one lacks get a count of their own. */
static void
summary_note_lacking(const Bucket *bucket, const JsonbValue *reading, PairList *changes)
{
	const int	prefix = strlen("sum_");
	JsonbWalk	walk;
	JsonbValue	key,
				sum,
				value;

	walk_begin(&walk, bucket->summary.val.binary.data);
	while (walk_next(&walk, &key, &sum))
	{
		FieldSummary field;

		if (key.val.string.len < prefix || memcmp(key.val.string.val, "sum_", prefix) != 0)
			continue;
		field.name.name = key.val.string.val + prefix;
		field.name.len = key.val.string.len - prefix;
		if (value_get(reading, field.name.name, field.name.len, &value) && value.type == jbvNumeric)
			continue;
		if (field_read(bucket, &field) && !field.has_count)
			write_number(changes, "count_", &field.name, int64_to_numeric(field.count));
	}
}

/* The pairs of the summary that a reading changes; false if the summary does not tell. */
static bool
summary_append(const Bucket *bucket, const JsonbValue *reading, PairList *changes)
{
	JsonbWalk	walk;
	JsonbValue	name,
				value;

	if (bucket->count == 0 || !bucket->has_summary)
		return false;
	walk_begin(&walk, reading->val.binary.data);
	while (walk_next(&walk, &name, &value))
	{
		FieldSummary field;

		if (value.type != jbvNumeric)
			continue;
		field.name.name = name.val.string.val;
		field.name.len = name.val.string.len;
		if (!field_read(bucket, &field))
			return false;
		field_add(&field, value.val.numeric);
		field_write(&field, bucket->count + 1, changes);
	}
	summary_note_lacking(bucket, reading, changes);
	return true;
}

/* The same from all readings and the new one. */
static void
summary_renew(const Bucket *bucket, const JsonbValue *reading, PairList *changes)
{
	ValueList	readings = {0};
	JsonbWalk	walk;
	JsonbValue	old;

	if (bucket->has_readings)
	{
		walk_begin(&walk, bucket->readings.val.binary.data);
		while (walk_next(&walk, NULL, &old))
			values_append(&readings, &old);
	}
	values_append(&readings, reading);
	summarise(&readings, changes);
}

/* A field of the bucket; false if it is missing. */
static bool
bucket_get(const Bucket *bucket, const char *key, JsonbValue *result)
{
	return value_get_cstring(&bucket->root, key, result);
}

/* Take the document apart; 22023 if a field is not of its type. */
static void
bucket_read(Bucket *bucket)
{
	JsonbValue	count;

	if (!value_is_object(&bucket->root))
		argument_mismatch("bucket", "an object", &bucket->root);
	bucket->has_readings = bucket_get(bucket, "readings", &bucket->readings);
	if (bucket->has_readings && !value_is_array(&bucket->readings))
		field_mismatch("readings", "an array", &bucket->readings);
	bucket->has_summary = bucket_get(bucket, "summary", &bucket->summary);
	if (bucket->has_summary && !value_is_object(&bucket->summary))
		field_mismatch("summary", "an object", &bucket->summary);
	if (!bucket_get(bucket, "count", &count))
		bucket->count = bucket->has_readings ? value_count(&bucket->readings) : 0;
	else if (count.type != jbvNumeric || !number_to_int64(count.val.numeric, &bucket->count) ||
			 bucket->count < 0)
		field_mismatch("count", "a whole number that is not negative", &count);
}

/* 54000 if there is no room for one more; 22023 if the count does not count the readings. */
static void
bucket_check(const Bucket *bucket, bool has_capacity, int32 capacity)
{
	int64		readings = bucket->has_readings ? value_count(&bucket->readings) : 0;

	if (has_capacity && bucket->count >= capacity)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("bucket is full"),
				 errdetail("It has %lld readings and a capacity of %d.",
						   (long long) bucket->count, capacity),
				 errhint("Begin another bucket by appending the reading to NULL.")));
	if (bucket->count != readings)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the value at \"%s\" must be the number of readings", "count"),
				 errdetail("The value is %lld, and \"%s\" has %lld elements.",
						   (long long) bucket->count, "readings", (long long) readings)));
}

/* The document with one reading more. */
static Jsonb *
bucket_add(const Bucket *bucket, JsonbValue *reading)
{
	JsonbSplice *splice = splice_begin(&bucket->root);
	PairList	changes = {0};
	JsonbSplice *within;
	JsonbValue	value;
	uint32		at;

	if (!summary_append(bucket, reading, &changes))
	{
		changes.n = 0;
		summary_renew(bucket, reading, &changes);
	}
	value_from_int64(bucket->count + 1, &value);
	splice_put(splice, "count", 5, &value);

	if (!bucket->has_summary)
	{
		pairs_finish(&changes, &value);
		splice_put(splice, "summary", 7, &value);
	}
	else if (container_find(bucket->root.val.binary.data, "summary", 7, &at))
	{
		within = splice_within(splice, at);
		for (uint32 i = 0; i < changes.n; i++)
			splice_put(within, changes.pairs[i].key.val.string.val,
					   changes.pairs[i].key.val.string.len, &changes.pairs[i].value);
	}

	if (!bucket->has_readings)
	{
		ValueList	first = {1, 1, reading};

		values_finish(&first, &value);
		splice_put(splice, "readings", 8, &value);
	}
	else if (container_find(bucket->root.val.binary.data, "readings", 8, &at))
		splice_insert(splice_within(splice, at), value_count(&bucket->readings), reading, 1);
	return splice_apply(splice);
}

/* bucket_append(bucket jsonb, reading jsonb, capacity integer DEFAULT NULL) → jsonb */
Datum
pattern_bucket_append(PG_FUNCTION_ARGS)
{
	bool		has_capacity = !PG_ARGISNULL(2);
	int32		capacity = has_capacity ? PG_GETARG_INT32(2) : 0;
	Bucket		bucket;
	JsonbValue	reading;

	argument_check_given(fcinfo, 1, "reading");
	if (has_capacity)
		argument_check_least("capacity", capacity, 1);
	bucket_reading(PG_GETARG_JSONB_P(1), &reading);
	if (PG_ARGISNULL(0))
	{
		ValueList	only = {1, 1, &reading};

		PG_RETURN_JSONB_P(bucket_build(&only));
	}
	value_from_jsonb(PG_GETARG_JSONB_P(0), &bucket.root);
	bucket_read(&bucket);
	bucket_check(&bucket, has_capacity, capacity);
	PG_RETURN_JSONB_P(bucket_add(&bucket, &reading));
}

/* bucket_readings(bucket jsonb) → SETOF jsonb */
Datum
pattern_bucket_readings(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Bucket		bucket;
	JsonbWalk	walk;
	JsonbValue	reading;

	value_from_jsonb(PG_GETARG_JSONB_P(0), &bucket.root);
	bucket_read(&bucket);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (!bucket.has_readings)
		PG_RETURN_NULL();
	walk_begin(&walk, bucket.readings.val.binary.data);
	while (walk_next(&walk, NULL, &reading))
	{
		Jsonb	   *jb = value_to_jsonb(&reading);
		Datum		row = JsonbPGetDatum(jb);
		bool		is_null = false;

		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(result->setResult, result->setDesc, &row, &is_null);
		pfree(jb);
	}
	PG_RETURN_NULL();
}
