/*
 * patterns/attribute_estimate.c
 *		How many rows match a query by @~, from the statistics on attributes.
 *
 * The planner asks for each condition.  If the column has statistics on
 * attribute_terms, the query is made entries of as an index would, and
 * attribute_rows.c says how many rows have these.
 *
 * Statistics are those of the table itself or, for a partition that has none,
 * those of the table that it is a part of.  Without any, or where nothing is
 * known of the query, the condition is tried on the column's own sample.
 */
#include "postgres.h"

#include "catalog/pg_statistic_ext.h"
#include "nodes/makefuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "attribute_index.h"

/* As for other operators that match a pattern, where nothing else is known. */
#define DEFAULT_SELECTIVITY DEFAULT_MATCHING_SEL

PG_FUNCTION_INFO_V1(pattern_attribute_selectivity);

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
			AttributeStatistics statistics;

			if (options == NULL)
				continue;
			attribute_query_match(&query, options, match);
			if (query.root == NULL)
				continue;
			if (!attribute_statistics_open(&statistics, info->statOid, info->inherit,
										   foreach_current_index(le), table_rows))
				continue;
			*result = attribute_node_selectivity(&statistics, query.root);
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
