/*
 * patterns/computed_query.c
 *		Computed pattern: the SQL that computes groups from their rows.
 *
 * It is the view's own query, for one key or for many, with the numbers of the
 * hidden field as further columns.  Without GROUP BY it gives a row also for a
 * key that has none, which is what such a parent gets.  Names are
 * qualified, and the query runs with a search_path of pg_catalog alone.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "computed.h"

/* Look nothing up but in pg_catalog until path_leave or the end of the (sub)transaction. */
int
safe_path_enter(void)
{
	int			level = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

void
safe_path_leave(int level)
{
	AtEOXact_GUC(true, level);
}

/* An aggregate of core's over an argument; NULL: over the rows. */
static Expr *
make_aggregate(Oid function, Oid result, Expr *argument, Expr *filter)
{
	Aggref	   *aggref = makeNode(Aggref);

	aggref->aggfnoid = function;
	aggref->aggtype = result;
	aggref->aggfilter = copyObject(filter);
	aggref->aggstar = argument == NULL;
	aggref->aggkind = AGGKIND_NORMAL;
	aggref->aggsplit = AGGSPLIT_SIMPLE;
	aggref->aggno = -1;
	aggref->aggtransno = -1;
	aggref->location = -1;
	if (argument != NULL)
	{
		aggref->args = list_make1(makeTargetEntry(copyObject(argument), 1, NULL, false));
		aggref->aggargtypes = list_make1_oid(exprType((Node *) argument));
	}
	return (Expr *) aggref;
}

static Oid
sum_function(Oid type, Oid *result)
{
	*result = type == INT2OID || type == INT4OID ? INT8OID : NUMERICOID;
	return type == INT2OID ? F_SUM_INT2 : type == INT4OID ? F_SUM_INT4 :
		type == INT8OID ? F_SUM_INT8 : F_SUM_NUMERIC;
}

static Expr *
and_also(Expr *condition, Expr *filter)
{
	return filter == NULL ? condition : make_andclause(list_make2(filter, condition));
}

/* The columns that give a state's numbers. */
static List *
state_columns(const StateSpec *spec)
{
	Expr	   *count = make_aggregate(spec->argument == NULL ? F_COUNT_ : F_COUNT_ANY, INT8OID,
									   spec->argument, spec->filter);
	Oid			type;
	Oid			function;
	Expr	   *sum;

	switch (spec->kind)
	{
		case STATE_COUNT:
			return list_make1(count);
		case STATE_BOOL:
			return list_make2(make_aggregate(F_COUNT_, INT8OID, NULL, and_also(spec->argument, spec->filter)),
							  make_aggregate(F_COUNT_, INT8OID, NULL,
											 and_also(make_notclause(spec->argument), spec->filter)));
		case STATE_SUM:
		case STATE_SUM_NUMERIC:
		case STATE_SUM_SCALED:
			function = sum_function(spec->type, &type);
			sum = make_aggregate(function, type, spec->argument, spec->filter);
			if (spec->kind != STATE_SUM_SCALED)
				return list_make2(count, sum);
			/* that it is one row of that scale at least will do */
			return list_make4(count, sum,
							  make_aggregate(F_MAX_INT4, INT4OID,
											 (Expr *) makeFuncExpr(F_SCALE, INT4OID, list_make1(spec->argument),
																   InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL),
											 spec->filter),
							  makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true));
		default:
			return NIL;
	}
}

static Param *
make_param(int id, Oid type, Oid collation)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = id;
	param->paramtype = type;
	param->paramtypmod = -1;
	param->paramcollid = collation;
	param->location = -1;
	return param;
}

/* key = $1, or key = ANY ($1) */
static Expr *
key_condition(const ViewDefinition *view, bool many)
{
	Oid			type = many ? get_array_type(view->key_type) : view->key_type;
	List	   *operands = list_make2(copyObject(view->key), make_param(1, type, view->key_collation));
	ScalarArrayOpExpr *any;

	if (!many)
		return make_opclause(view->key_eq, BOOLOID, false, linitial(operands), lsecond(operands),
							 InvalidOid, view->key_collation);
	any = makeNode(ScalarArrayOpExpr);
	any->opno = view->key_eq;
	any->opfuncid = get_opcode(view->key_eq);
	any->useOr = true;
	any->inputcollid = view->key_collation;
	any->args = operands;
	any->location = -1;
	return (Expr *) any;
}

/*
 * The query for one key, which gives one row, or for an array of keys, which
 * gives the rows of those that have any, the key first.  Then come the fields
 * and the numbers of the hidden field.
 */
char *
computed_sql(const ViewDefinition *view, bool many)
{
	Query	   *query = copyObject(view->query);
	List	   *columns = NIL;
	ListCell   *cell;
	int			level;
	char	   *sql = many ? NULL : computed_top_sql(view);

	if (sql != NULL)
		return sql;
	foreach(cell, query_columns(query))
	{
		TargetEntry *column = lfirst(cell);
		bool		is_key = column->resno == view->key_column;

		if (column->resjunk || (is_key && !many))
			continue;
		if (!is_key)
			column->ressortgroupref = 0;
		columns = is_key ? lcons(column, columns) : lappend(columns, column);
	}
	for (int i = 0; i < view->nstates; i++)
	{
		foreach(cell, state_columns(&view->states[i]))
			columns = lappend(columns, makeTargetEntry(lfirst(cell), 0, NULL, false));
	}
	foreach(cell, columns)
	{
		TargetEntry *column = lfirst(cell);

		column->resno = foreach_current_index(cell) + 1;
		column->resname = psprintf("c%d", column->resno);
	}
	query->targetList = columns;
	query->sortClause = NIL;
	query_group_directly(query);
	if (!many)
		query->groupClause = NIL;
	query->jointree->quals = (Node *) make_and_qual(query->jointree->quals, (Node *) key_condition(view, many));
	level = safe_path_enter();
	sql = pg_get_querydef(query, false);
	safe_path_leave(level);
	return sql;
}
