/*
 * patterns/computed_digest.c
 *		Computed pattern: what a view says, in 16 digits.
 *
 * Triggers hold the digest of the view that they were made for, so that one that
 * was replaced under them is noticed.  It must be the same after a dump and a
 * restore, on another server version, and after columns and tables were renamed:
 * so it is of names of functions and operators, and of the places of columns.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "computed.h"

/* Append what identifies an expression in every database and version; expression_tree_walker. */
typedef struct Digest
{
	StringInfoData buf;
	const ViewDefinition *view;
} Digest;

static bool
digest_node(Node *node, void *context)
{
	Digest	   *digest = context;
	ListCell   *cell;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			foreach(cell, digest->view->columns)
				if (lfirst_int(cell) == ((Var *) node)->varattno)
					appendStringInfo(&digest->buf, " $%d", foreach_current_index(cell));
			break;
		case T_Const:
			if (((Const *) node)->constisnull)
				appendStringInfoString(&digest->buf, " null");
			else
			{
				Oid			output;
				bool		varlena;

				getTypeOutputInfo(((Const *) node)->consttype, &output, &varlena);
				appendStringInfo(&digest->buf, " %s", OidOutputFunctionCall(output, ((Const *) node)->constvalue));
			}
			break;
		case T_FuncExpr:
			appendStringInfo(&digest->buf, " %s", get_func_name(((FuncExpr *) node)->funcid));
			break;
		case T_Aggref:
			appendStringInfo(&digest->buf, " %s%s%s%s", get_func_name(((Aggref *) node)->aggfnoid),
							 ((Aggref *) node)->aggfilter != NULL ? " filter" : "",
							 ((Aggref *) node)->aggdistinct != NIL ? " distinct" : "",
							 ((Aggref *) node)->aggorder != NIL ? " order" : "");
			break;
		case T_SortGroupClause:
			appendStringInfo(&digest->buf, " by %s", get_opname(((SortGroupClause *) node)->sortop));
			break;
		case T_MinMaxExpr:
			appendStringInfoString(&digest->buf, ((MinMaxExpr *) node)->op == IS_GREATEST ? " greatest" : " least");
			break;
		case T_CoalesceExpr:
			appendStringInfoString(&digest->buf, " coalesce");
			break;
		case T_CaseExpr:
			appendStringInfoString(&digest->buf, " case");
			break;
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_CoerceToDomain:
			appendStringInfo(&digest->buf, " %s", format_type_be_qualified(exprType(node)));
			break;
		case T_DistinctExpr:
		case T_NullIfExpr:
			/* both are OpExprs */
			appendStringInfo(&digest->buf, " %s %s", IsA(node, NullIfExpr) ? "nullif" : "distinct",
							 get_opname(((OpExpr *) node)->opno));
			break;
		case T_ScalarArrayOpExpr:
			appendStringInfo(&digest->buf, " %s %s", get_opname(((ScalarArrayOpExpr *) node)->opno),
							 ((ScalarArrayOpExpr *) node)->useOr ? "any" : "all");
			break;
		case T_OpExpr:
			appendStringInfo(&digest->buf, " %s", get_opname(((OpExpr *) node)->opno));
			break;
		case T_BoolExpr:
			appendStringInfo(&digest->buf, " bool%d", ((BoolExpr *) node)->boolop);
			break;
		case T_NullTest:
			appendStringInfo(&digest->buf, " null%d", ((NullTest *) node)->nulltesttype);
			break;
		case T_BooleanTest:
			appendStringInfo(&digest->buf, " test%d", ((BooleanTest *) node)->booltesttype);
			break;
		default:
			break;
	}
	appendStringInfoChar(&digest->buf, '(');
	(void) expression_tree_walker(node, digest_node, context);
	appendStringInfoChar(&digest->buf, ')');
	return false;
}

/* What the view computes, in 16 digits. */
char *
view_digest(const ViewDefinition *view, List *columns)
{
	Digest		digest;
	ListCell   *cell;

	initStringInfo(&digest.buf);
	digest.view = view;
	(void) digest_node((Node *) view->key, &digest);
	(void) digest_node((Node *) view->where, &digest);
	foreach(cell, columns)
	{
		TargetEntry *column = lfirst(cell);

		if (column->resjunk || column->expr == view->key)
			continue;
		appendStringInfo(&digest.buf, ";%s %s", column->resname, format_type_be(exprType((Node *) column->expr)));
		(void) digest_node((Node *) column->expr, &digest);
	}
	return psprintf("%016llx", (unsigned long long)
					DatumGetUInt64(hash_any_extended((unsigned char *) digest.buf.data, digest.buf.len, 0)));
}
