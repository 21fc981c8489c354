/*
 * patterns/computed_view.c
 *		Computed pattern: what a view says, read from its query tree.
 *
 * A view is accepted if a row that is written tells which group it belongs to:
 * one table, one key, aggregates.  It is kept by adding and subtracting if all its aggregates are of
 * the kinds in StateKind, and else computed anew for each key that is touched.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_language.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "common/hashfn.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "computed.h"

/* 0A000: what the view has that cannot be kept, and the way out. */
pg_noreturn static void
view_refuse(Oid view, const char *what, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot keep view \"%s\" in documents: it has %s", get_rel_name(view), what),
			 errhint("%s", hint)));
	pg_unreachable();
}

static const char *const one_table =
"Select from one table and group by one of its columns or by one expression; what else the rows need must stand in that table.";

static void
check_clauses(Oid view, const Query *query)
{
	if (query->setOperations != NULL)
		view_refuse(view, "UNION, INTERSECT or EXCEPT", one_table);
	if (query->cteList != NIL)
		view_refuse(view, "WITH", one_table);
	if (query->hasSubLinks)
		view_refuse(view, "a subquery", one_table);
	if (query->distinctClause != NIL)
		view_refuse(view, "DISTINCT", "A group is one row already; DISTINCT may stand inside an aggregate.");
	if (query->hasWindowFuncs)
		view_refuse(view, "a window function", "Use an aggregate.");
	if (query->hasTargetSRFs)
		view_refuse(view, "a function that returns sets", "Use an aggregate.");
	if (query->havingQual != NULL)
		view_refuse(view, "HAVING", "Leave out HAVING; a parent whose rows do not count has the values of no rows. Conditions on rows belong in WHERE or FILTER.");
	if (query->limitCount != NULL || query->limitOffset != NULL)
		view_refuse(view, "LIMIT or OFFSET", "Use subset_agg for the first rows of each group.");
	if (query->groupingSets != NIL)
		view_refuse(view, "GROUPING SETS, ROLLUP or CUBE", "Group by one column or expression.");
	if (query->rowMarks != NIL)
		view_refuse(view, "FOR UPDATE or FOR SHARE", "Leave it out.");
	if (query->groupClause == NIL)
		view_refuse(view, "no GROUP BY", "Group by the column that refers to the parent.");
	if (list_length(query->groupClause) != 1)
		view_refuse(view, "more than one GROUP BY column", "Group by the column that refers to the parent alone.");
	if (!query->hasAggs)
		view_refuse(view, "no aggregate", "Select what is to be computed of a parent's rows, such as count(*).");
}

/* The one table that the view selects from. */
static RangeTblEntry *
check_table(Oid view, Query *query, int *rtindex)
{
	List	   *from = query->jointree->fromlist;
	RangeTblEntry *rte;

	if (list_length(from) != 1 || !IsA(linitial(from), RangeTblRef))
		view_refuse(view, from == NIL ? "no table" : "a join", one_table);
	*rtindex = ((RangeTblRef *) linitial(from))->rtindex;
	rte = rt_fetch(*rtindex, query->rtable);
	if (rte->rtekind != RTE_RELATION)
		view_refuse(view, "a subquery or a function in FROM", one_table);
	if (rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_PARTITIONED_TABLE)
		view_refuse(view, rte->relkind == RELKIND_VIEW ? "another view in FROM" :
					"something in FROM that is not a table", one_table);
	if (rte->tablesample != NULL)
		view_refuse(view, "TABLESAMPLE", "Leave it out.");
	if (rte->relkind == RELKIND_RELATION && rte->inh && has_subclass(rte->relid))
		view_refuse(view, "a table in FROM that others inherit from",
					"Select FROM ONLY it, or use a partitioned table.");
	if (rte->relkind == RELKIND_PARTITIONED_TABLE && !rte->inh)
		view_refuse(view, "ONLY before a partitioned table", "Leave out ONLY.");
	return rte;
}

/* Are these functions' results fixed by environment_enter? */
static bool
is_environment_function(Oid funcid)
{
	return funcid == F_JSONB_BUILD_OBJECT_ANY || funcid == F_JSONB_BUILD_OBJECT_ ||
		funcid == F_JSONB_BUILD_ARRAY_ANY || funcid == F_JSONB_BUILD_ARRAY_ || funcid == F_TO_JSONB ||
		funcid == F_JSONB_AGG || funcid == F_JSONB_OBJECT_AGG;
}

typedef struct MutableSearch
{
	bool		environment;	/* functions that depend on settings, or on the user, are in it */
	bool		functions;		/* those that are not written in C, outside of what only a query calls */
} MutableSearch;

/* What runs no SQL of its own does not look up names. */
static bool
is_in_c(Oid funcid)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId;
	ReleaseSysCache(tuple);
	return result;
}

static bool
is_mutable_function(Oid funcid, void *context)
{
	/* a function of the user's may use the settings, and runs as the owner */
	if (is_environment_function(funcid) || funcid >= FirstNormalObjectId)
		((MutableSearch *) context)->environment = true;
	if (funcid >= FirstNormalObjectId && get_func_prokind(funcid) == PROKIND_FUNCTION && !is_in_c(funcid))
		((MutableSearch *) context)->functions = true;
	if (is_environment_function(funcid))
		return false;
	return func_volatile(funcid) != PROVOLATILE_IMMUTABLE;
}

/* Does the expression depend on more than its row? */
static bool
is_mutable(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (check_functions_in_node(node, is_mutable_function, context))
		return true;
	if (IsA(node, SQLValueFunction) || IsA(node, NextValueExpr))
		return true;
	return expression_tree_walker(node, is_mutable, context);
}

static void
check_immutable(Oid view, Node *node, ViewDefinition *result)
{
	MutableSearch search = {false, false};

	if (is_mutable(node, &search))
		view_refuse(view, "an expression that is not IMMUTABLE",
					"Its value could change without a write; use only the columns of the row and functions that are IMMUTABLE. A cast of text to a date or a time may be wrapped into a function that is.");
	result->environment = result->environment || search.environment;
	result->functions = result->functions || search.functions;
}

/* An Aggref's place in the list; it is added if it is new. */
static int
aggregate_number(ViewDefinition *result, Aggref *aggref)
{
	ListCell   *cell;

	foreach(cell, result->aggregates)
		if (equal(lfirst(cell), aggref))
			return foreach_current_index(cell);
	result->aggregates = lappend(result->aggregates, aggref);
	return list_length(result->aggregates) - 1;
}

/* Put a Var for each aggregate; an expression_tree_mutator.  *context: the ViewDefinition. */
static Node *
replace_aggregates(Node *node, void *context)
{
	ViewDefinition *result = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
	{
		Aggref	   *aggref = (Aggref *) node;

		return (Node *) makeVar(1, aggregate_number(result, aggref) + 1, aggref->aggtype, -1,
								aggref->aggcollid, 0);
	}
	return expression_tree_mutator(node, replace_aggregates, context);
}

/* Does it use a column outside of aggregates? */
static bool
has_column(Node *node, void *context)
{
	if (node == NULL || IsA(node, Aggref))
		return false;
	if (IsA(node, Var))
		return true;
	return expression_tree_walker(node, has_column, context);
}

static void
check_type(Oid view, const char *name, Oid type)
{
	Oid			base = getBaseType(type);

	if (type_is_rowtype(base) || type_is_rowtype(get_element_type(base)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot keep column \"%s\" of view \"%s\" in documents: it is of type %s",
						name, get_rel_name(view), format_type_be(type)),
				 errhint("Make a jsonb of it in the view, by jsonb_build_object for example.")));
	if (get_typtype(base) == TYPTYPE_PSEUDO)
		view_refuse(view, "a column of a pseudo-type", "Cast it.");
}

/* The columns of the view: its key and the fields. */
static void
read_columns(Oid view, const char *key, List *columns, ViewDefinition *result)
{
	SortGroupClause *group = linitial(result->query->groupClause);
	ListCell   *cell;

	result->fields = palloc0(list_length(columns) * sizeof(FieldSpec));
	foreach(cell, columns)
	{
		TargetEntry *column = lfirst(cell);
		FieldSpec  *field = &result->fields[result->nfields];

		if (column->ressortgroupref == group->tleSortGroupRef)
		{
			if (column->resjunk)
				view_refuse(view, "a GROUP BY column that it does not select", "Select the column that it groups by.");
			if (key != NULL && strcmp(column->resname, key) != 0)
				ereport(ERROR,
						(errcode(get_attnum(view, key) == InvalidAttrNumber ? ERRCODE_UNDEFINED_COLUMN : ERRCODE_FEATURE_NOT_SUPPORTED),
						 get_attnum(view, key) == InvalidAttrNumber ?
						 errmsg("column \"%s\" of relation \"%s\" does not exist", key, get_rel_name(view)) :
						 errmsg("column \"%s\" is not what view \"%s\" groups by", key, get_rel_name(view)),
						 errhint("The view groups by its column \"%s\".", column->resname)));
			result->key = column->expr;
			result->key_eq = group->eqop;
			result->key_column = column->resno;
			continue;
		}
		if (column->resjunk)
			continue;
		if (has_column((Node *) column->expr, NULL))
			view_refuse(view, psprintf("column \"%s\", which is not made of aggregates", column->resname),
						"Select only the column that it groups by and aggregates of the others.");
		if (strcmp(column->resname, COMPUTED_HIDDEN) == 0)
			view_refuse(view, "a column named \"" COMPUTED_HIDDEN "\"", "Give it another name; this one is ours.");
		field->name = column->resname;
		field->len = strlen(column->resname);
		field->type = exprType((Node *) column->expr);
		field->subset = -1;
		check_type(view, field->name, field->type);
		field->aggregate = IsA(column->expr, Aggref) ?
			aggregate_number(result, (Aggref *) column->expr) : -1;
		result->expressions = lappend(result->expressions, replace_aggregates((Node *) column->expr, result));
		result->nfields++;
	}
	if (result->key == NULL)
		view_refuse(view, "a GROUP BY column that it does not select", "Select the column that it groups by.");
	if (result->nfields == 0)
		view_refuse(view, "no column but its key", "Select what is to be computed of a parent's rows, such as count(*).");
}

/* Which columns of the base table are used, in order? */
static List *
used_columns(ViewDefinition *result)
{
	Bitmapset  *columns = NULL;
	List	   *list = NIL;
	int			i = -1;

	pull_varattnos((Node *) result->key, result->rtindex, &columns);
	pull_varattnos((Node *) result->where, result->rtindex, &columns);
	pull_varattnos((Node *) result->aggregates, result->rtindex, &columns);
	while ((i = bms_next_member(columns, i)) >= 0)
		list = lappend_int(list, i + FirstLowInvalidHeapAttributeNumber);
	return list;
}

static void
check_columns(Oid view, const ViewDefinition *result)
{
	ListCell   *cell;

	foreach(cell, result->columns)
		if (lfirst_int(cell) <= 0)
			view_refuse(view, lfirst_int(cell) == 0 ? "a whole row as a value" : "a system column",
						"Name the columns, in jsonb_build_object for example.");
}

/* Which state serves an aggregate? */
typedef struct StateMatch
{
	StateKind	kind;
	ResultKind	result;
} StateMatch;

static bool
match_extreme(Oid type, Oid collation)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return true;
		case TEXTOID:
			return get_collation_isdeterministic(collation);
		default:
			return false;
	}
}

/* Is it this extension's subset_agg with constant options and an order? */
static bool
match_subset(const Aggref *aggref)
{
	TargetEntry *size,
			   *order;

	if (list_length(aggref->args) != 3 ||
		strcmp(get_func_name(aggref->aggfnoid), "subset_agg") != 0 ||
		getExtensionOfObject(ProcedureRelationId, aggref->aggfnoid) != get_extension_oid("pattern", true))
		return false;
	size = lsecond(aggref->args);
	order = lthird(aggref->args);
	return IsA(size->expr, Const) && !((Const *) size->expr)->constisnull &&
		DatumGetInt32(((Const *) size->expr)->constvalue) >= 0 &&
		IsA(order->expr, Const) && !((Const *) order->expr)->constisnull;
}

/* How an aggregate is kept; false if it is not. */
static bool
match_aggregate(const Aggref *aggref, StateMatch *match)
{
	Expr	   *argument = aggref->args == NIL ? NULL : ((TargetEntry *) linitial(aggref->args))->expr;
	char	   *name = get_func_name(aggref->aggfnoid);

	if (aggref->aggdistinct != NIL || aggref->aggorder != NIL || aggref->aggkind != AGGKIND_NORMAL)
		return false;
	match->result = RESULT_VALUE;
	match->kind = STATE_SUBSET;
	if (match_subset(aggref))
		return true;
	if (get_func_namespace(aggref->aggfnoid) != PG_CATALOG_NAMESPACE)
		return false;
	switch (aggref->aggfnoid)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
			*match = (StateMatch) {STATE_COUNT, RESULT_COUNT};
			return true;
		case F_SUM_INT2:
		case F_SUM_INT4:
		case F_SUM_INT8:
			*match = (StateMatch) {STATE_SUM, RESULT_SUM};
			return true;
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
			*match = (StateMatch) {STATE_SUM, RESULT_AVG};
			return true;
		case F_SUM_NUMERIC:
			*match = (StateMatch) {STATE_SUM_NUMERIC, RESULT_SUM};
			return true;
		case F_AVG_NUMERIC:
			/* a typmod is a scale that all values have */
			*match = (StateMatch) {exprTypmod((Node *) argument) >= 0 ? STATE_SUM_NUMERIC : STATE_SUM_SCALED, RESULT_AVG};
			return true;
		case F_BOOL_AND:
		case F_EVERY:
			*match = (StateMatch) {STATE_BOOL, RESULT_BOOL_AND};
			return true;
		case F_BOOL_OR:
			*match = (StateMatch) {STATE_BOOL, RESULT_BOOL_OR};
			return true;
		default:
			break;
	}
	if (strcmp(name, "min") != 0 && strcmp(name, "max") != 0)
		return false;
	match->kind = name[1] == 'i' ? STATE_MIN : STATE_MAX;
	return match_extreme(aggref->aggtype, aggref->inputcollid) && exprType((Node *) argument) == aggref->aggtype;
}

/* The state of an argument; it is made if there is none yet. */
static int
state_number(ViewDefinition *result, const Aggref *aggref, StateKind kind)
{
	Expr	   *argument = aggref->args == NIL ? NULL : ((TargetEntry *) linitial(aggref->args))->expr;
	StateSpec  *spec;

	for (int i = 0; i < result->nstates; i++)
		if (result->states[i].kind == kind && kind != STATE_SUBSET &&
			equal(result->states[i].argument, argument) &&
			equal(result->states[i].filter, aggref->aggfilter))
			return i;
	spec = &result->states[result->nstates++];
	spec->kind = kind;
	spec->argument = argument;
	spec->filter = aggref->aggfilter;
	spec->type = argument == NULL ? InvalidOid : exprType((Node *) argument);
	spec->collation = aggref->inputcollid;
	spec->field = -1;
	spec->slot = -1;
	if (argument != NULL)
		get_typlenbyval(spec->type, &spec->typlen, &spec->typbyval);
	return result->nstates - 1;
}

/* Numbers of a state in the hidden field. */
int
state_width(StateKind kind)
{
	switch (kind)
	{
		case STATE_COUNT:
			return 1;
		case STATE_SUM:
		case STATE_SUM_NUMERIC:
		case STATE_BOOL:
			return 2;
		case STATE_SUM_SCALED:
			return 4;
		default:
			return 0;
	}
}

/* What a state needs that is seen from its own field. */
static void
prepare_visible(ViewDefinition *result, int aggregate, StateSpec *spec)
{
	const Aggref *aggref = list_nth(result->aggregates, aggregate);

	for (int i = 0; i < result->nfields; i++)
		if (result->fields[i].aggregate == aggregate)
			spec->field = i;
	if (spec->kind == STATE_SUBSET)
	{
		TargetEntry *size = lsecond(aggref->args);
		TargetEntry *order = lthird(aggref->args);

		spec->max_size = DatumGetInt32(((Const *) size->expr)->constvalue);
		spec->order = sort_order_parse(TextDatumGetCString(((Const *) order->expr)->constvalue));
		if (spec->order->nkeys == 0)
			spec->field = -1;
		for (int i = 0; i < result->nfields; i++)
			if (result->fields[i].aggregate == aggregate)
				result->fields[i].subset = spec - result->states;
	}
	else
	{
		TypeCacheEntry *type = lookup_type_cache(spec->type, TYPECACHE_CMP_PROC_FINFO);
		Oid			input;

		fmgr_info_copy(&spec->compare, &type->cmp_proc_finfo, CurrentMemoryContext);
		getTypeInputInfo(spec->type, &input, &spec->input_param);
		fmgr_info(input, &spec->input);
		spec->typmod = -1;
	}
}

/* The states and results, if all aggregates have some. */
static void
read_aggregates(ViewDefinition *result)
{
	int			n = list_length(result->aggregates);
	ListCell   *cell;

	result->naggregates = n;
	result->states = palloc0(n * sizeof(StateSpec));
	result->specs = palloc0(n * sizeof(AggregateSpec));
	foreach(cell, result->aggregates)
	{
		Aggref	   *aggref = lfirst(cell);
		AggregateSpec *spec = &result->specs[foreach_current_index(cell)];
		StateSpec  *state;
		StateMatch	match;
		int			width;

		result->incremental = match_aggregate(aggref, &match);
		if (!result->incremental)
			break;
		spec->kind = match.result;
		spec->type = aggref->aggtype;
		spec->state = state_number(result, aggref, match.kind);
		state = &result->states[spec->state];
		width = state_width(match.kind);
		if (width > 0 && state->slot < 0)
		{
			state->slot = result->nnumbers;
			result->nnumbers += width;
		}
		if (width == 0)
		{
			prepare_visible(result, foreach_current_index(cell), state);
			result->incremental = state->field >= 0;
			if (!result->incremental)
				break;
		}
	}
	if (!result->incremental)
	{
		result->nstates = 0;
		result->nnumbers = 0;
	}
}

/*
 * Reads a view.  0A000 with a hint if it cannot be kept; key, if not NULL, is the column
 * that it must group by.  All of the result is palloc'd.
 */
void
view_read(Oid view, const char *key, ViewDefinition *result)
{
	Relation	relation = table_open(view, AccessShareLock);
	List	   *columns;
	RangeTblEntry *rte;
	Environment before;

	memset(result, 0, sizeof(ViewDefinition));
	if (relation->rd_rel->relkind != RELKIND_VIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" is not a view", RelationGetRelationName(relation)),
				 errhint("Create a view that groups the rows by their parent.")));
	result->query = copyObject(get_view_query(relation));
	table_close(relation, NoLock);
	check_clauses(view, result->query);
	rte = check_table(view, result->query, &result->rtindex);
	result->base = rte->relid;
	result->where = (Expr *) copyObject(result->query->jointree->quals);
	columns = query_columns(result->query);
	read_columns(view, key, columns, result);
	result->key_type = exprType((Node *) result->key);
	result->key_collation = exprCollation((Node *) result->key);
	check_immutable(view, (Node *) result->key, result);
	check_immutable(view, (Node *) result->where, result);
	check_immutable(view, (Node *) columns, result);
	result->columns = used_columns(result);
	check_columns(view, result);
	read_aggregates(result);
	environment_enter(&before);
	PG_TRY();
	{
		result->digest = view_digest(result, columns);
	}
	PG_FINALLY();
	{
		environment_leave(&before);
	}
	PG_END_TRY();
}
