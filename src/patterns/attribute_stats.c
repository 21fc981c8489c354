/*
 * patterns/attribute_stats.c
 *		Statistics on attributes, which ANALYZE gathers for the estimate of @~.
 *
 * CREATE STATISTICS ... ON (attribute_terms(doc, 'specs', 'k', 'v')) makes
 * ANALYZE sample an expression whose value is a document's keys in an attribute
 * index.  Its type has an ANALYZE function of its own, which stores one value of
 * bytes in a slot of a kind of its own: for each name how many rows have it, the
 * most common values, and a histogram of the others.  All values are keys, so
 * that numbers and strings, arrays' members and missing values are in one order
 * and the estimate asks what an index is asked: how many keys in this range?
 *
 * How many rows the table has is not known here, but when the estimate is made.
 * So a bucket of the histogram has what the number of different values can be
 * estimated from: how many were seen, and how many of them once.
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "attribute_index.h"

/*
 * The statistics are read whenever a query is planned, so that they are kept
 * small: names, values and buckets in all, and those of one name.
 */
#define MAX_NAMES		1000
#define MAX_VALUES		4000
#define MAX_NAME_VALUES	100
#define MIN_NAME_VALUES	4

/* Of one document, and of a sample. */
#define MAX_DOCUMENT_KEYS	250
#define MAX_SAMPLE_KEYS		5000000

/* A key of a row of the sample; while counted, rows. */
typedef struct SampleKey
{
	int			len;
	int			row;
	const uint8 *bytes;
} SampleKey;

/* A name in the sorted sample. */
typedef struct SampleName
{
	int			len;			/* of the name in its keys */
	int			rows;			/* that have it */
	uint32		first;			/* different keys, in order; row is how many rows have it */
	uint32		nkeys;
} SampleName;

typedef struct Sample
{
	int			nrows;
	uint32		nkeys;
	uint32		maxkeys;
	SampleKey  *keys;
	uint32		nnames;
	uint32		maxnames;
	SampleName *names;
} Sample;

PG_FUNCTION_INFO_V1(pattern_attribute_terms);
PG_FUNCTION_INFO_V1(pattern_attribute_terms_in);
PG_FUNCTION_INFO_V1(pattern_attribute_terms_out);
PG_FUNCTION_INFO_V1(pattern_attribute_terms_analyze);

/* attribute_terms(value jsonb, path text, key text, value_name text) → attribute_terms */
Datum
pattern_attribute_terms(PG_FUNCTION_ARGS)
{
	Jsonb	   *doc = PG_GETARG_JSONB_P(0);
	AttributeOptions *options = attribute_options(text_to_cstring(PG_GETARG_TEXT_PP(1)),
												  text_to_cstring(PG_GETARG_TEXT_PP(2)),
												  text_to_cstring(PG_GETARG_TEXT_PP(3)));
	int			nkeys;
	Datum	   *keys = attribute_document_keys(options, doc, &nkeys);
	int			nsent = 0;
	StringInfoData buf;

	/* each key behind its length, but not the names alone */
	pq_begintypsend(&buf);
	for (int i = 0; i < nkeys && nsent < MAX_DOCUMENT_KEYS; i++)
	{
		bytea	   *key = DatumGetByteaPP(keys[i]);
		int			len = VARSIZE_ANY_EXHDR(key);

		if (key_name_length((uint8 *) VARDATA_ANY(key), len) == len)
			continue;
		pq_sendint16(&buf, len);
		pq_sendbytes(&buf, VARDATA_ANY(key), len);
		nsent++;
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* attribute_terms has no text that could be read */
Datum
pattern_attribute_terms_in(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot accept a value of type %s", "attribute_terms")));
	PG_RETURN_VOID();
}

/* The bytes of a value for reading. */
static void
terms_begin(bytea *terms, StringInfo buf)
{
	buf->data = VARDATA_ANY(terms);
	buf->len = VARSIZE_ANY_EXHDR(terms);
	buf->maxlen = buf->len;
	buf->cursor = 0;
}

/* The keys in hexadecimal digits, as bytea's are: {\x..., \x...} */
Datum
pattern_attribute_terms_out(PG_FUNCTION_ARGS)
{
	StringInfoData in;
	StringInfoData out;

	terms_begin(PG_GETARG_BYTEA_PP(0), &in);
	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	while (in.cursor < in.len)
	{
		int			len = pq_getmsgint(&in, 2);
		const char *bytes = pq_getmsgbytes(&in, len);

		appendStringInfoString(&out, out.len > 1 ? ", \\x" : "\\x");
		enlargeStringInfo(&out, 2 * len + 1);
		out.len += hex_encode(bytes, len, out.data + out.len);
	}
	appendStringInfoChar(&out, '}');
	PG_RETURN_CSTRING(out.data);
}

static int
compare_keys(const void *a, const void *b)
{
	const SampleKey *x = a;
	const SampleKey *y = b;
	int			cmp = key_bytes_compare(x->bytes, x->len, y->bytes, y->len);

	return cmp != 0 ? cmp : x->row - y->row;
}

static int
compare_rows(const void *a, const void *b)
{
	const SampleKey *x = *(const SampleKey *const *) a;
	const SampleKey *y = *(const SampleKey *const *) b;

	if (x->row != y->row)
		return x->row > y->row ? -1 : 1;
	return compare_keys(x, y);
}

static int
compare_name_rows(const void *a, const void *b)
{
	const SampleName *x = a;
	const SampleName *y = b;

	if (x->rows != y->rows)
		return x->rows > y->rows ? -1 : 1;
	return x->first < y->first ? -1 : 1;
}

static int
compare_names(const void *a, const void *b)
{
	return ((const SampleName *) a)->first < ((const SampleName *) b)->first ? -1 : 1;
}

/* Read the rows' keys. */
static void
sample_read(Sample *sample, VacAttrStats *stats, AnalyzeAttrFetchFunc fetch, int nrows)
{
	for (int row = 0; row < nrows && sample->nkeys < MAX_SAMPLE_KEYS; row++)
	{
		bool		isnull;
		Datum		value = fetch(stats, row, &isnull);
		StringInfoData buf;

		vacuum_delay_analyze();
		sample->nrows++;
		if (isnull)
			continue;
		terms_begin(DatumGetByteaPP(value), &buf);
		while (buf.cursor < buf.len)
		{
			SampleKey  *key;

			sample->keys = array_reserve(sample->keys, sample->nkeys, &sample->maxkeys,
										 sizeof(SampleKey));
			key = &sample->keys[sample->nkeys++];
			key->len = pq_getmsgint(&buf, 2);
			key->bytes = (const uint8 *) pq_getmsgbytes(&buf, key->len);
			key->row = row;
		}
	}
}

/* Does a key, or what was made of it, start with a name of this length, as another does? */
static bool
is_same_name(const SampleKey *a, const SampleKey *b, int name_len)
{
	return a->len > name_len && a->bytes[name_len] < KEY_NAME &&
		memcmp(a->bytes, b->bytes, name_len) == 0;
}

static bool
is_same_key(const SampleKey *a, const SampleKey *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/*
 * Sort the keys and find the names.  Of each different key one is left, with
 * the number of rows that have it in the place of its row.
 */
static void
sample_count(Sample *sample)
{
	uint32	   *seen = palloc0(Max(sample->nrows, 1) * sizeof(uint32));
	SampleName *name = NULL;
	SampleKey  *last = NULL;
	int			last_row = -1;
	uint32		n = 0;

	if (sample->nkeys > 0)
		qsort(sample->keys, sample->nkeys, sizeof(SampleKey), compare_keys);
	for (uint32 i = 0; i < sample->nkeys; i++)
	{
		SampleKey	key = sample->keys[i];

		if (name == NULL || !is_same_name(&key, last, name->len))
		{
			sample->names = array_reserve(sample->names, sample->nnames, &sample->maxnames,
										  sizeof(SampleName));
			name = &sample->names[sample->nnames++];
			name->len = key_name_length(key.bytes, key.len);
			name->rows = 0;
			name->first = n;
			name->nkeys = 0;
			last = NULL;
		}
		if (seen[key.row] != sample->nnames)
		{
			seen[key.row] = sample->nnames;
			name->rows++;
		}
		if (last == NULL || !is_same_key(&key, last))
		{
			last = &sample->keys[n++];
			*last = key;
			last->row = 1;
			name->nkeys++;
		}
		else if (key.row != last_row)
			last->row++;
		last_row = key.row;
	}
	pfree(seen);
}

/* Leave the names that most rows have; the rows of the others are added up. */
static uint32
leave_names(Sample *sample, double *rest_rows)
{
	uint32		rest = 0;

	*rest_rows = 0;
	if (sample->nnames <= MAX_NAMES)
		return 0;
	qsort(sample->names, sample->nnames, sizeof(SampleName), compare_name_rows);
	for (uint32 i = MAX_NAMES; i < sample->nnames; i++, rest++)
		*rest_rows += sample->names[i].rows;
	sample->nnames = MAX_NAMES;
	qsort(sample->names, sample->nnames, sizeof(SampleName), compare_names);
	return rest;
}

/* Append a number in as few bytes as it needs, seven bits each, the last ones first. */
static void
send_number(StringInfo buf, uint32 number)
{
	for (; number >= 0x80; number >>= 7)
		pq_sendbyte(buf, (number & 0x7F) | 0x80);
	pq_sendbyte(buf, number);
}

/* What follows the name in a key, cut. */
static void
send_value(StringInfo buf, const SampleKey *key, int name_len)
{
	int			len = Min(key->len - name_len, ATTRIBUTE_STATISTIC_BYTES);

	send_number(buf, len);
	pq_sendbytes(buf, (const char *) key->bytes + name_len, len);
}

/* The values that most rows have, most of them first; returns how many, and marks them. */
static uint32
send_common_values(StringInfo buf, const SampleName *name, const SampleKey *keys,
				   uint32 limit, bool *sent)
{
	const SampleKey **common = palloc(name->nkeys * sizeof(SampleKey *));
	bool		all = name->nkeys <= limit;
	uint32		n = 0;

	for (uint32 i = 0; i < name->nkeys; i++)
		common[i] = &keys[i];
	qsort(common, name->nkeys, sizeof(SampleKey *), compare_rows);
	if (!all)
		limit /= 2;				/* the other half is for the histogram */
	while (n < name->nkeys && n < limit && (all || common[n]->row > 1))
	{
		send_number(buf, common[n]->row);
		send_value(buf, common[n], name->len);
		sent[common[n] - keys] = true;
		n++;
	}
	pfree(common);
	return n;
}

/* The type of a value, and of an array's member. */
static int
value_class(const SampleKey *key, int name_len)
{
	const uint8 *value = key->bytes + name_len;
	int			class = 0;

	if (value[0] == KEY_MEMBER)
	{
		class = 0x100;
		value++;
	}
	return class + (value[0] >= KEY_NUMBER && value[0] < KEY_NUMBER_END ? KEY_NUMBER : value[0]);
}

/*
 * A histogram of the other values, in buckets of about as many rows, each of
 * values of one type; returns how many.
 */
static uint32
send_histogram(StringInfo buf, const SampleName *name, const SampleKey *keys,
			   uint32 limit, const bool *sent)
{
	double		total = 0;
	double		before = 0;		/* rows of buckets that are complete */
	uint32		rows = 0;
	uint32		different = 0;
	uint32		single = 0;
	uint32		nbuckets = 0;
	const SampleKey **others = palloc(name->nkeys * sizeof(SampleKey *));
	uint32		nothers = 0;
	uint32		first = 0;		/* of the bucket */

	for (uint32 i = 0; i < name->nkeys; i++)
		if (!sent[i])
		{
			total += keys[i].row;
			others[nothers++] = &keys[i];
		}
	for (uint32 i = 0; i < nothers; i++)
	{
		const SampleKey *key = others[i];

		rows += key->row;
		different++;
		single += (key->row == 1);
		if (before + rows < total * (nbuckets + 1) / limit && i + 1 < nothers &&
			value_class(key, name->len) == value_class(others[i + 1], name->len))
			continue;
		send_number(buf, rows);
		send_number(buf, different);
		send_number(buf, single);
		send_value(buf, others[first], name->len);
		send_value(buf, key, name->len);
		before += rows;
		nbuckets++;
		first = i + 1;
		rows = different = single = 0;
	}
	pfree(others);
	return nbuckets;
}

/* A name with its values. */
static void
send_name(StringInfo buf, const SampleName *name, const SampleKey *keys, uint32 limit)
{
	bool	   *sent = palloc0(name->nkeys * sizeof(bool));
	StringInfoData values;
	StringInfoData histogram;
	uint32		nvalues;
	uint32		nbuckets;

	initStringInfo(&values);
	initStringInfo(&histogram);
	nvalues = send_common_values(&values, name, keys, limit, sent);
	nbuckets = send_histogram(&histogram, name, keys, limit - nvalues, sent);
	send_number(buf, name->len);
	pq_sendbytes(buf, (const char *) keys[0].bytes, name->len);
	send_number(buf, name->rows);
	send_number(buf, nvalues);
	send_number(buf, nbuckets);
	pq_sendbytes(buf, values.data, values.len);
	pq_sendbytes(buf, histogram.data, histogram.len);
	pfree(values.data);
	pfree(histogram.data);
	pfree(sent);
}

/*
 * The sample as it is stored: the numbers of rows and of names, where each name
 * starts behind these, and the names in order.
 */
static bytea *
sample_store(Sample *sample)
{
	double		rest_rows;
	uint32		rest = leave_names(sample, &rest_rows);
	uint32		limit = Min(MAX_NAME_VALUES, Max(MIN_NAME_VALUES, MAX_VALUES / Max(sample->nnames, 1)));
	StringInfoData buf;
	StringInfoData names;

	initStringInfo(&names);
	pq_begintypsend(&buf);
	pq_sendint32(&buf, sample->nrows);
	pq_sendint32(&buf, rest);
	pq_sendfloat4(&buf, rest_rows);
	pq_sendint32(&buf, sample->nnames);
	for (uint32 i = 0; i < sample->nnames; i++)
	{
		const SampleName *name = &sample->names[i];

		pq_sendint32(&buf, names.len);
		send_name(&names, name, sample->keys + name->first, limit);
	}
	pq_sendbytes(&buf, names.data, names.len);
	return pq_endtypsend(&buf);
}

/* Gather the statistics of a sample of nrows rows; how many the table has is not known. */
static void
compute_statistics(VacAttrStats *stats, AnalyzeAttrFetchFunc fetch, int nrows, double totalrows)
{
	MemoryContext caller = MemoryContextSwitchTo(stats->anl_context);
	MemoryContext scratch = AllocSetContextCreate(caller, "attribute statistics",
												  ALLOCSET_DEFAULT_SIZES);
	Sample		sample = {0};
	bytea	   *stored;
	Datum	   *values = palloc(sizeof(Datum));

	MemoryContextSwitchTo(scratch);
	sample_read(&sample, stats, fetch, nrows);
	sample_count(&sample);
	stored = sample_store(&sample);

	MemoryContextSwitchTo(stats->anl_context);
	values[0] = PointerGetDatum(palloc(VARSIZE(stored)));
	memcpy(DatumGetPointer(values[0]), stored, VARSIZE(stored));
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(scratch);

	stats->stats_valid = true;
	stats->stakind[0] = ATTRIBUTE_STATISTIC_KIND;
	stats->stavalues[0] = values;
	stats->numvalues[0] = 1;
	stats->statypid[0] = BYTEAOID;
	stats->statyplen[0] = -1;
	stats->statypbyval[0] = false;
	stats->statypalign[0] = TYPALIGN_INT;
}

/* ANALYZE of the type */
Datum
pattern_attribute_terms_analyze(PG_FUNCTION_ARGS)
{
	VacAttrStats *stats = (VacAttrStats *) PG_GETARG_POINTER(0);

	stats->compute_stats = compute_statistics;
	stats->minrows = 300 * default_statistics_target;
	PG_RETURN_BOOL(true);
}
