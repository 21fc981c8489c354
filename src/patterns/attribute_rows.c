/*
 * patterns/attribute_rows.c
 *		How many rows have an entry, from the statistics on attributes.
 *
 * An entry's part of the rows is looked up in what attribute_stats.c stored:
 * common values, and the histogram's buckets between them.  AND multiplies, OR
 * adds up what is not in both; where an index would have to look at a document
 * it is counted as if it matched.
 *
 * The planner gives the statistics that it found for the estimate of @~.  An
 * index has the name of its own as an option, since an operator class learns
 * nothing of the table that it works for.  That name is only looked up: there
 * may be no such statistics, and no answer depends on them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_statistic_ext_data.h"
#include "catalog/pg_type.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "attribute_index.h"

/* A value that many rows have. */
typedef struct CommonValue
{
	KeyBytes	value;
	double		rows;
} CommonValue;

/* Values of one type, from one up to another. */
typedef struct Bucket
{
	KeyBytes	low;
	KeyBytes	high;
	double		rows;
	double		different;		/* values */
	double		single;			/* those of one row */
} Bucket;

/* What is known of one name. */
typedef struct NameStatistics
{
	double		rows;
	int			nvalues;
	CommonValue *values;
	int			nbuckets;
	Bucket	   *buckets;
} NameStatistics;

static void
statistics_begin(AttributeStatistics *statistics, bytea *stored, double table_rows)
{
	StringInfo	buf = &statistics->buf;

	buf->data = VARDATA_ANY(stored);
	buf->len = VARSIZE_ANY_EXHDR(stored);
	buf->maxlen = buf->len;
	buf->cursor = 0;
	statistics->nrows = pq_getmsgint(buf, 4);
	statistics->nrows = Max(statistics->nrows, 1);
	statistics->scale = Max(table_rows / statistics->nrows, 1);
	statistics->nrest = pq_getmsgint(buf, 4);
	statistics->rest_rows = pq_getmsgfloat4(buf);
	statistics->nnames = pq_getmsgint(buf, 4);
	statistics->offsets = buf->cursor;
	statistics->names = buf->cursor + 4 * statistics->nnames;
}

/* An element of a one-dimensional array, in place; false if it has none there. */
static bool
array_item(ArrayType *array, int number, Oid type, Datum *result)
{
	int16		typlen;
	bool		typbyval;
	char		typalign;
	bool		isnull;

	if (ARR_ELEMTYPE(array) != type)
		return false;
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	*result = array_get_element(PointerGetDatum(array), 1, &number, -1,
								typlen, typbyval, typalign, &isnull);
	return !isnull;
}

/*
 * Open what ANALYZE stored for an expression of statistics; false if it did not
 * yet.  What core has for this copies all of it three times.
 */
bool
attribute_statistics_open(AttributeStatistics *statistics, Oid oid, bool inherit,
						  int expression, double table_rows)
{
	HeapTuple	tuple = SearchSysCache2(STATEXTDATASTXOID, ObjectIdGetDatum(oid), BoolGetDatum(inherit));
	Oid			type = get_rel_type_id(StatisticRelationId);
	HeapTupleData row;
	ArrayType  *rows;
	Datum		value;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return false;
	value = SysCacheGetAttr(STATEXTDATASTXOID, tuple, Anum_pg_statistic_ext_data_stxdexpr, &isnull);
	rows = isnull ? NULL : DatumGetArrayTypePCopy(value);
	ReleaseSysCache(tuple);
	if (rows == NULL || !array_item(rows, expression + 1, type, &value))
		return false;

	memset(&row, 0, sizeof(row));
	row.t_data = DatumGetHeapTupleHeader(value);
	row.t_len = HeapTupleHeaderGetDatumLength(row.t_data);
	if (((Form_pg_statistic) GETSTRUCT(&row))->stakind1 != ATTRIBUTE_STATISTIC_KIND)
		return false;
	value = SysCacheGetAttr(STATRELATTINH, &row, Anum_pg_statistic_stavalues1, &isnull);
	if (isnull || !array_item(DatumGetArrayTypeP(value), 1, BYTEAOID, &value))
		return false;
	statistics_begin(statistics, DatumGetByteaPP(value), table_rows);
	return true;
}

/* Schema and name of statistics, from text; NIL if it is not both. */
List *
attribute_statistics_name(const char *name)
{
	List	   *names;

	if (!SplitIdentifierString(pstrdup(name), '.', &names) || list_length(names) != 2)
		return NIL;
	return names;
}

/* The rows of a table, as of its last ANALYZE. */
static double
relation_rows(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	double		result;

	if (!HeapTupleIsValid(tuple))
		return 0;
	result = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Open statistics by their name, with its schema.  False if there are none.
 * Whoever may use the index may: they choose how it is searched, and are not
 * shown.
 */
bool
attribute_statistics_open_named(AttributeStatistics *statistics, const char *name)
{
	List	   *names = attribute_statistics_name(name);
	HeapTuple	tuple;
	Form_pg_statistic_ext form;
	Oid			oid;
	double		rows;

	if (names == NIL)
		return false;
	tuple = SearchSysCache2(STATEXTNAMENSP, CStringGetDatum(lsecond(names)),
							ObjectIdGetDatum(get_namespace_oid(linitial(names), true)));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_statistic_ext) GETSTRUCT(tuple);
	oid = form->oid;
	rows = relation_rows(form->stxrelid);
	ReleaseSysCache(tuple);

	/* a partitioned table has nothing but what its inheritors have */
	return attribute_statistics_open(statistics, oid, false, 0, rows) ||
		attribute_statistics_open(statistics, oid, true, 0, rows);
}

/* A number in bytes of seven bits, the last ones first. */
static uint32
read_number(StringInfo buf)
{
	uint32		result = 0;
	int			byte;
	int			shift = 0;

	do
	{
		byte = pq_getmsgbyte(buf);
		result |= (uint32) (byte & 0x7F) << shift;
		shift += 7;
	} while (byte >= 0x80 && shift < 32);
	return result;
}

/* Some bytes behind their length, which are not copied. */
static KeyBytes
read_bytes(StringInfo buf)
{
	KeyBytes	result;

	result.len = read_number(buf);
	result.bytes = (const uint8 *) pq_getmsgbytes(buf, result.len);
	return result;
}

static int
compare_bytes(const KeyBytes *a, const KeyBytes *b)
{
	return key_bytes_compare(a->bytes, a->len, b->bytes, b->len);
}

/* Find a name; the statistics stand behind it then. */
static bool
statistics_find(AttributeStatistics *statistics, const KeyBytes *name)
{
	StringInfo	buf = &statistics->buf;
	int			low = 0;
	int			high = statistics->nnames;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		KeyBytes	found;
		int			cmp;

		buf->cursor = statistics->offsets + 4 * middle;
		buf->cursor = statistics->names + pq_getmsgint(buf, 4);
		found = read_bytes(buf);
		cmp = compare_bytes(&found, name);
		if (cmp == 0)
			return true;
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* Read a name that was found; palloc'd. */
static void
name_read(AttributeStatistics *statistics, NameStatistics *name)
{
	StringInfo	buf = &statistics->buf;

	name->rows = read_number(buf);
	name->nvalues = read_number(buf);
	name->nbuckets = read_number(buf);
	name->values = palloc(name->nvalues * sizeof(CommonValue));
	name->buckets = palloc(name->nbuckets * sizeof(Bucket));
	for (int i = 0; i < name->nvalues; i++)
	{
		name->values[i].rows = read_number(buf);
		name->values[i].value = read_bytes(buf);
	}
	for (int i = 0; i < name->nbuckets; i++)
	{
		Bucket	   *bucket = &name->buckets[i];

		bucket->rows = read_number(buf);
		bucket->different = read_number(buf);
		bucket->single = read_number(buf);
		bucket->low = read_bytes(buf);
		bucket->high = read_bytes(buf);
	}
}

/* Bytes from a place on as the digits of a fraction. */
static double
bytes_fraction(const KeyBytes *bytes, int from)
{
	double		result = 0;
	double		scale = 1;

	for (int i = from; i < bytes->len && i < from + 6; i++)
	{
		scale /= 256;
		result += bytes->bytes[i] * scale;
	}
	return result;
}

/* Where a value is in a bucket, from 0 to 1. */
static double
value_position(const KeyBytes *value, const Bucket *bucket)
{
	const KeyBytes *low = &bucket->low;
	const KeyBytes *high = &bucket->high;
	double		from;
	double		to;
	double		at;
	int			common = 0;

	if (compare_bytes(value, low) <= 0)
		return 0;
	if (compare_bytes(value, high) > 0)
		return 1;
	if (low->bytes[0] >= KEY_NUMBER && low->bytes[0] < KEY_NUMBER_END)
	{
		from = key_to_number(low->bytes, low->len);
		to = key_to_number(high->bytes, high->len);
		at = key_to_number(value->bytes, value->len);
	}
	else
	{
		while (common < low->len && common < high->len &&
			   low->bytes[common] == high->bytes[common])
			common++;
		from = bytes_fraction(low, common);
		to = bytes_fraction(high, common);
		at = bytes_fraction(value, common);
	}
	if (!(to > from))
		return 0.5;
	return Min(Max((at - from) / (to - from), 0), 1);
}

/*
 * The rows of one value of a bucket, if all of them are as frequent.  How many
 * different ones the table has is estimated as for columns, by Haas and Stokes.
 */
static double
bucket_value_rows(const AttributeStatistics *statistics, const Bucket *bucket)
{
	double		n = bucket->rows;
	double		different = n * bucket->different /
		(n - bucket->single + bucket->single / statistics->scale);

	return n / Max(different, 1);
}

/* Rows that have one value. */
static double
value_rows(const AttributeStatistics *statistics, const NameStatistics *name, const KeyBytes *value)
{
	for (int i = 0; i < name->nvalues; i++)
	{
		const KeyBytes *common = &name->values[i].value;

		/* long ones are kept cut */
		if (common->len == Min(value->len, ATTRIBUTE_STATISTIC_BYTES) &&
			memcmp(common->bytes, value->bytes, common->len) == 0)
			return name->values[i].rows;
	}
	for (int i = 0; i < name->nbuckets; i++)
		if (compare_bytes(value, &name->buckets[i].low) >= 0 &&
			compare_bytes(value, &name->buckets[i].high) <= 0)
			return bucket_value_rows(statistics, &name->buckets[i]);
	return 0;
}

/* Rows that have a value from low up to, but not including, high. */
static double
range_rows(const NameStatistics *name, const KeyBytes *low, const KeyBytes *high)
{
	double		rows = 0;

	for (int i = 0; i < name->nvalues; i++)
		if (compare_bytes(&name->values[i].value, low) >= 0 &&
			compare_bytes(&name->values[i].value, high) < 0)
			rows += name->values[i].rows;
	for (int i = 0; i < name->nbuckets; i++)
	{
		const Bucket *bucket = &name->buckets[i];
		double		part = value_position(high, bucket) - value_position(low, bucket);

		rows += bucket->rows * Max(part, 0);
	}
	return rows;
}

/* Rows that have a measure, which is by itself or in an array. */
static double
measure_rows(const NameStatistics *name)
{
	static const uint8 bounds[][4] = {
		{KEY_NUMBER}, {KEY_NUMBER_END},
		{KEY_STRING, '0'}, {KEY_STRING, '9' + 1},
		{KEY_MEMBER, KEY_NUMBER}, {KEY_MEMBER, KEY_NUMBER_END},
		{KEY_MEMBER, KEY_STRING, '0'}, {KEY_MEMBER, KEY_STRING, '9' + 1}
	};
	double		rows = 0;

	for (int i = 0; i < lengthof(bounds); i += 2)
	{
		KeyBytes	low = {strlen((const char *) bounds[i]), bounds[i]};
		KeyBytes	high = {strlen((const char *) bounds[i + 1]), bounds[i + 1]};

		rows += range_rows(name, &low, &high);
	}
	return rows;
}

/* The part of the rows that have the entry. */
double
attribute_entry_selectivity(AttributeStatistics *statistics, const AttributeEntry *entry)
{
	KeyBytes	name = entry->low;
	KeyBytes	low;
	KeyBytes	high;
	NameStatistics found;
	double		rows;

	name.len = key_name_length(name.bytes, name.len);
	low.bytes = entry->low.bytes + name.len;
	low.len = entry->low.len - name.len;
	high.bytes = entry->high.bytes + name.len;
	high.len = entry->high.len - name.len;
	if (statistics_find(statistics, &name))
	{
		name_read(statistics, &found);
		if (low.len == 0)
			rows = measure_rows(&found);
		else if (entry->is_range)
			rows = range_rows(&found, &low, &high);
		else
			rows = value_rows(statistics, &found, &low);
		rows = Min(rows, found.rows);
	}
	else
		rows = statistics->nrest > 0 ? statistics->rest_rows / statistics->nrest : 0;
	/* what was not seen is rare, but not impossible: less than a row of the table */
	rows = Max(rows, 0.1 / statistics->scale);
	return Min(rows / statistics->nrows, 1);
}

/* The part of the rows for which the node holds, or may. */
double
attribute_node_selectivity(AttributeStatistics *statistics, const AttributeNode *node)
{
	double		result;
	ListCell   *lc;

	switch (node->type)
	{
		case ATTRIBUTE_ENTRY:
			return attribute_entry_selectivity(statistics, node->entry);
		case ATTRIBUTE_PERHAPS:
			return attribute_node_selectivity(statistics, linitial(node->nodes));
		case ATTRIBUTE_AND:
			result = 1;
			foreach(lc, node->nodes)
				result *= attribute_node_selectivity(statistics, lfirst(lc));
			return result;
		case ATTRIBUTE_OR:
			result = 1;
			foreach(lc, node->nodes)
				result *= 1 - attribute_node_selectivity(statistics, lfirst(lc));
			return 1 - result;
		default:
			return 0;
	}
}
