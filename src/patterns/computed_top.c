/*
 * patterns/computed_top.c
 *		Computed pattern: the first rows of a group, read through an index.
 *
 * A subset whose member goes is read again, and its view would read all rows of
 * the group for the first few.  With an index on the key and the column that the
 * order begins with, they are the first that the index gives, with those that
 * tie with the last of them.  subset_agg makes the list of these as it would of all.
 *
 * The order of the column must be that of its values as jsonb.  It is for the
 * types here, but for a few values, which are added: they are found through the
 * index too, and in most tables there are none.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "computed.h"

/* What the query is made of. */
typedef struct TopQuery
{
	const Aggref *aggref;		/* subset_agg */
	const Var  *column;			/* that the order begins with */
	const StateSpec *spec;
	bool		descending;
	Oid			collation;		/* the index's, of the column */
} TopQuery;

/* Is it the name of a field, as a constant of jsonb_build_object? */
static bool
is_field_name(const Node *node, const PathStep *step)
{
	const Const *name = (const Const *) node;
	const char *value;

	if (!IsA(node, Const) || name->constisnull)
		return false;
	/* a literal stays one of no type where any type will do */
	if (name->consttype == UNKNOWNOID)
		value = DatumGetCString(name->constvalue);
	else if (name->consttype == TEXTOID)
		value = TextDatumGetCString(name->constvalue);
	else
		return false;
	return key_compare(value, strlen(value), step->name, step->len) == 0;
}

/* The column of the table that is a field of the subset's elements; NULL if it is none. */
static const Var *
find_column(const Expr *element, const PathStep *step)
{
	const FuncExpr *build = (const FuncExpr *) element;

	if (!IsA(element, FuncExpr) || build->funcid != F_JSONB_BUILD_OBJECT_ANY || build->funcvariadic)
		return NULL;
	for (int i = 0; i + 1 < list_length(build->args); i += 2)
	{
		const Node *value = list_nth(build->args, i + 1);

		if (is_field_name(list_nth(build->args, i), step))
			return IsA(value, Var) ? (const Var *) value : NULL;
	}
	return NULL;
}

/* Do values of a type, texts by the collation C, sort as their jsonb does, but for the strange ones? */
bool
computed_sorts_alike(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case TEXTOID:
		case VARCHAROID:
			return true;
		default:
			return false;
	}
}

/* The condition for values that sort otherwise as jsonb; NULL: there are none. */
static char *
strange_values(const Var *column, const char *sql)
{
	switch (column->vartype)
	{
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			/* a string in jsonb, which comes after all numbers */
			return psprintf("%s = '-Infinity'", sql);
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			/* years before Christ, and of more than four digits, in any time zone */
			return psprintf("(%s < '0001-01-03' OR %s > '9999-12-29')", sql, sql);
		default:
			return NULL;
	}
}

/* Is what a collation is made of libc's C? */
static bool
is_c_locale(int cache_id, HeapTuple tuple, AttrNumber provider, AttrNumber locale)
{
	bool		isnull;
	char		name = DatumGetChar(SysCacheGetAttr(cache_id, tuple, provider, &isnull));
	Datum		value = SysCacheGetAttr(cache_id, tuple, locale, &isnull);
	const char *rules = isnull ? "" : TextDatumGetCString(value);

	return name == COLLPROVIDER_LIBC && (strcmp(rules, "C") == 0 || strcmp(rules, "POSIX") == 0);
}

/* Does a collation sort by bytes?  (pg_locale.h, which knows, wants ICU's headers.) */
bool
computed_is_c_collation(Oid collation)
{
	bool		is_default = collation == DEFAULT_COLLATION_OID;
	int			cache_id = is_default ? DATABASEOID : COLLOID;
	HeapTuple	tuple = SearchSysCache1(cache_id, ObjectIdGetDatum(is_default ? MyDatabaseId : collation));
	bool		result = false;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (is_default)
		result = is_c_locale(cache_id, tuple, Anum_pg_database_datlocprovider, Anum_pg_database_datcollate);
	else
		result = is_c_locale(cache_id, tuple, Anum_pg_collation_collprovider, Anum_pg_collation_collcollate);
	ReleaseSysCache(tuple);
	return result;
}

/*
 * Does a table have an index that gives the rows of a key in the order of a
 * column?  Of texts it must be by the collation C; *collation is the index's.
 */
bool
computed_order_index(Oid relid, AttrNumber key, AttrNumber column, Oid *collation)
{
	Relation	relation = table_open(relid, AccessShareLock);
	bool		found = false;
	ListCell   *cell;

	*collation = InvalidOid;
	foreach(cell, RelationGetIndexList(relation))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);
		Form_pg_index form = index->rd_index;

		if (!found && form->indisvalid && form->indnkeyatts > 1 && index->rd_rel->relam == BTREE_AM_OID &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
			form->indkey.values[0] == key && form->indkey.values[1] == column)
		{
			*collation = index->rd_indcollation[1];
			found = !OidIsValid(*collation) || computed_is_c_collation(*collation);
		}
		index_close(index, AccessShareLock);
	}
	table_close(relation, AccessShareLock);
	return found;
}

/* Is the view one that can be read so? */
static bool
match_view(const ViewDefinition *view, TopQuery *top)
{
	const SortKey *first;

	if (view->nfields != 1 || view->fields[0].subset < 0 || view->fields[0].aggregate != 0 ||
		view->naggregates != 1 || !IsA(view->key, Var))
		return false;
	top->aggref = linitial(view->aggregates);
	top->spec = &view->states[view->fields[0].subset];
	if (top->aggref->aggfilter != NULL || top->spec->max_size == 0 || top->spec->order->nkeys == 0)
		return false;
	first = &top->spec->order->keys[0];
	if (first->path == NULL || first->path->nsteps != 1)
		return false;
	top->descending = first->descending;
	top->column = find_column(top->spec->argument, &first->path->steps[0]);
	return top->column != NULL && computed_sorts_alike(top->column->vartype) &&
		computed_order_index(view->base, ((const Var *) view->key)->varattno, top->column->varattno, &top->collation);
}

/* An expression over the base table, called r, as SQL. */
static char *
to_sql(const ViewDefinition *view, const void *expression)
{
	Node	   *node = copyObjectImpl(expression);

	if (view->rtindex != 1)
		ChangeVarNodes(node, view->rtindex, 1, 0);
	return deparse_expression(node, deparse_context_for("r", view->base), true, false);
}

/* The rows of the key $1 that the view counts, with an AND for more conditions behind. */
static char *
rows_of_key(const ViewDefinition *view)
{
	Param	   *key = makeNode(Param);
	Expr	   *condition;
	StringInfoData buf;

	key->paramkind = PARAM_EXTERN;
	key->paramid = 1;
	key->paramtype = view->key_type;
	key->paramtypmod = -1;
	key->paramcollid = view->key_collation;
	key->location = -1;
	condition = make_opclause(view->key_eq, BOOLOID, false, view->key, (Expr *) key, InvalidOid, view->key_collation);
	initStringInfo(&buf);
	appendStringInfo(&buf, "SELECT r.* FROM %s r WHERE %s AND ", relation_quoted_name(view->base), to_sql(view, condition));
	if (view->where != NULL)
		appendStringInfo(&buf, "(%s) AND ", to_sql(view, view->where));
	return buf.data;
}

/* The first rows by the index, then those that it does not have in their place. */
static char *
top_sql(const ViewDefinition *view, const TopQuery *top)
{
	const char *rows = rows_of_key(view);
	const char *column = to_sql(view, top->column);
	const char *strange = strange_values(top->column, column);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "WITH top AS MATERIALIZED (%s%s IS NOT NULL", rows, column);
	if (strange != NULL)
		appendStringInfo(&buf, " AND NOT %s", strange);
	appendStringInfo(&buf, " ORDER BY %s%s%s FETCH FIRST %u ROWS WITH TIES) ", column,
					 top->collation != top->column->varcollid ? " COLLATE \"C\"" : "",
					 top->descending ? " DESC" : "", top->spec->max_size);
	appendStringInfo(&buf, "SELECT %s AS c1 FROM (TABLE top UNION ALL %s%s IS NULL", to_sql(view, top->aggref), rows, column);
	if (top->descending)
		appendStringInfo(&buf, " AND (SELECT pg_catalog.count(*) FROM top) < %u", top->spec->max_size);
	if (strange != NULL)
		appendStringInfo(&buf, " UNION ALL %s%s", rows, strange);
	appendStringInfoString(&buf, ") r");
	return buf.data;
}

/*
 * The query for one key, $1, that gives the subset as its one column; NULL if the
 * view is not such a one.  palloc'd.
 */
char *
computed_top_sql(const ViewDefinition *view)
{
	TopQuery	top;
	int			level;
	char	   *sql;

	if (!match_view(view, &top))
		return NULL;
	level = safe_path_enter();
	sql = top_sql(view, &top);
	safe_path_leave(level);
	return sql;
}
