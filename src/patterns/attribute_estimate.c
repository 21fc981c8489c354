/*
 * patterns/attribute_estimate.c
 *		How many rows match a query by @~, from the statistics on attributes.
 *
 * The planner asks for each condition.  If the column has statistics on
 * attribute_terms, the query is made entries of as an index would, and each
 * entry's part of the rows is looked up: common values, and the histogram's
 * buckets between them.  AND multiplies, OR adds up what is not in both; where
 * an index would have to look at a document it is counted as if it matched.
 *
 * Statistics are those of the table itself or, for a partition that has none,
 * those of the table that it is a part of.  Without any, or where nothing is
 * known of the query, the condition is tried on the column's own sample.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic_ext.h"
#include "libpq/pqformat.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "statistics/statistics.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "attribute_index.h"

/* As for other operators that match a pattern, where nothing else is known. */
#define DEFAULT_SELECTIVITY DEFAULT_MATCHING_SEL

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

/* Statistics as attribute_stats.c stores them; rows are those of the sample. */
typedef struct Statistics
{
	StringInfoData buf;
	double		nrows;
	double		scale;			/* rows of the table for one of the sample */
	int			nrest;			/* names that were left out, and their rows */
	double		rest_rows;
	int			nnames;
	int			offsets;		/* where the names' places are */
	int			names;			/* where the names are */
} Statistics;

PG_FUNCTION_INFO_V1(pattern_attribute_selectivity);

static void
statistics_open(Statistics *statistics, bytea *stored, double table_rows)
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

/* Some bytes behind their length, which are not copied. */
static KeyBytes
read_bytes(StringInfo buf)
{
	KeyBytes	result;

	result.len = pq_getmsgint(buf, 2);
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
statistics_find(Statistics *statistics, const KeyBytes *name)
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
name_read(Statistics *statistics, NameStatistics *name)
{
	StringInfo	buf = &statistics->buf;

	name->rows = pq_getmsgint(buf, 4);
	name->nvalues = pq_getmsgint(buf, 2);
	name->nbuckets = pq_getmsgint(buf, 2);
	name->values = palloc(name->nvalues * sizeof(CommonValue));
	name->buckets = palloc(name->nbuckets * sizeof(Bucket));
	for (int i = 0; i < name->nvalues; i++)
	{
		name->values[i].rows = pq_getmsgint(buf, 4);
		name->values[i].value = read_bytes(buf);
	}
	for (int i = 0; i < name->nbuckets; i++)
	{
		Bucket	   *bucket = &name->buckets[i];

		bucket->rows = pq_getmsgint(buf, 4);
		bucket->different = pq_getmsgint(buf, 4);
		bucket->single = pq_getmsgint(buf, 4);
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
bucket_value_rows(const Statistics *statistics, const Bucket *bucket)
{
	double		n = bucket->rows;
	double		different = n * bucket->different /
		(n - bucket->single + bucket->single / statistics->scale);

	return n / Max(different, 1);
}

/* Rows that have one value. */
static double
value_rows(const Statistics *statistics, const NameStatistics *name, const KeyBytes *value)
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

/* The part of the rows that have the entry. */
static double
entry_selectivity(Statistics *statistics, const AttributeEntry *entry)
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
		if (entry->is_range)
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
static double
node_selectivity(Statistics *statistics, const AttributeQuery *query, const AttributeNode *node)
{
	double		result;
	ListCell   *lc;

	switch (node->type)
	{
		case ATTRIBUTE_ENTRY:
			return entry_selectivity(statistics, query->entries[node->entry]);
		case ATTRIBUTE_PERHAPS:
			return node_selectivity(statistics, query, linitial(node->nodes));
		case ATTRIBUTE_AND:
			result = 1;
			foreach(lc, node->nodes)
				result *= node_selectivity(statistics, query, lfirst(lc));
			return result;
		case ATTRIBUTE_OR:
			result = 1;
			foreach(lc, node->nodes)
				result *= 1 - node_selectivity(statistics, query, lfirst(lc));
			return 1 - result;
		default:
			return 0;
	}
}

/* Is the expression the column, or whatever, that a condition is on? */
static bool
is_same_expression(Node *a, Node *b)
{
	if (IsA(a, Var) && IsA(b, Var))
		return ((Var *) a)->varno == ((Var *) b)->varno &&
			((Var *) a)->varattno == ((Var *) b)->varattno;
	return equal(a, b);
}

/* The options of attribute_terms(value, 'path', 'key', 'value'); NULL if it is not that. */
static AttributeOptions *
terms_options(Node *expression, Node *value)
{
	FuncExpr   *call = (FuncExpr *) expression;
	char	   *options[3];
	FmgrInfo	flinfo;

	if (!IsA(expression, FuncExpr) || list_length(call->args) != 4 ||
		!is_same_expression(linitial(call->args), value))
		return NULL;
	for (int i = 0; i < 3; i++)
	{
		Const	   *option = list_nth(call->args, i + 1);

		if (!IsA(option, Const) || option->constisnull)
			return NULL;
		options[i] = TextDatumGetCString(option->constvalue);
	}
	fmgr_info(call->funcid, &flinfo);
	if (flinfo.fn_addr != pattern_attribute_terms)
		return NULL;
	return attribute_options(options[0], options[1], options[2]);
}

/* What ANALYZE stored; NULL if it did not yet. */
static bytea *
load_statistics(const StatisticExtInfo *info, int expression)
{
	HeapTuple	tuple = statext_expressions_load(info->statOid, info->inherit, expression);
	AttStatsSlot slot;

	if (tuple == NULL ||
		!get_attstatsslot(&slot, tuple, ATTRIBUTE_STATISTIC_KIND, InvalidOid, ATTSTATSSLOT_VALUES))
		return NULL;
	return slot.nvalues == 1 ? DatumGetByteaPP(slot.values[0]) : NULL;
}

/*
 * What matches of a table, by its statistics on a value.  False if it has none,
 * or if nothing is known of the query.
 */
static bool
relation_selectivity(PlannerInfo *root, RelOptInfo *rel, Node *value, const MatchQuery *match,
					 double table_rows, double *result)
{
	bool		inherit = planner_rt_fetch(rel->relid, root)->inh;
	ListCell   *ls,
			   *le;

	foreach(ls, rel->statlist)
	{
		StatisticExtInfo *info = lfirst(ls);

		if (info->kind != STATS_EXT_EXPRESSIONS || info->inherit != inherit)
			continue;
		foreach(le, info->exprs)
		{
			AttributeOptions *options = terms_options(lfirst(le), value);
			AttributeQuery query = {0};
			Statistics	statistics;
			bytea	   *stored;

			if (options == NULL)
				continue;
			attribute_query_match(&query, options, match);
			if (query.root == NULL)
				continue;
			stored = load_statistics(info, foreach_current_index(le));
			if (stored == NULL)
				continue;
			statistics_open(&statistics, stored, table_rows);
			*result = node_selectivity(&statistics, &query, query.root);
			return true;
		}
	}
	return false;
}

/* The same for the table, or else for one that it is a partition of. */
static bool
match_selectivity(PlannerInfo *root, RelOptInfo *rel, Node *value, const MatchQuery *match,
				  double *result)
{
	double		table_rows = rel->tuples;

	for (;;)
	{
		AppendRelInfo *parent;
		Var		   *var = (Var *) value;

		if (relation_selectivity(root, rel, value, match, table_rows, result))
			return true;
		if (rel->reloptkind != RELOPT_OTHER_MEMBER_REL || root->append_rel_array == NULL ||
			!IsA(value, Var))
			return false;
		parent = root->append_rel_array[rel->relid];
		if (parent == NULL || var->varattno < 1 || var->varattno > parent->num_child_cols ||
			parent->parent_colnos[var->varattno - 1] == 0)
			return false;
		value = (Node *) makeVar(parent->parent_relid, parent->parent_colnos[var->varattno - 1],
								 var->vartype, var->vartypmod, var->varcollid, 0);
		rel = find_base_rel(root, parent->parent_relid);
	}
}

/* restriction estimator of @~ */
Datum
pattern_attribute_selectivity(PG_FUNCTION_ARGS)
{
	PlannerInfo *root = (PlannerInfo *) PG_GETARG_POINTER(0);
	Oid			operator = PG_GETARG_OID(1);
	List	   *args = (List *) PG_GETARG_POINTER(2);
	int			varRelid = PG_GETARG_INT32(3);
	VariableStatData variable;
	Node	   *other;
	bool		on_left;
	bool		known = false;
	double		result;

	if (get_restriction_variable(root, args, varRelid, &variable, &other, &on_left))
	{
		Const	   *operand = (Const *) other;

		if (on_left && IsA(operand, Const) && !operand->constisnull &&
			variable.rel != NULL && variable.acl_ok &&
			planner_rt_fetch(variable.rel->relid, root)->securityQuals == NIL)
		{
			JsonbValue	query;

			value_from_jsonb(DatumGetJsonbP(operand->constvalue), &query);
			known = match_selectivity(root, variable.rel, variable.var,
									  match_compile(&query, MATCH_ANY), &result);
		}
		ReleaseVariableStats(variable);
	}
	if (!known)
		result = generic_restriction_selectivity(root, operator, PG_GET_COLLATION(), args,
												 varRelid, DEFAULT_SELECTIVITY);
	CLAMP_PROBABILITY(result);
	PG_RETURN_FLOAT8(result);
}
