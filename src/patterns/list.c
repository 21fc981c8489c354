/*
 * patterns/list.c
 *		The view pattern_list: what SQL cannot read in the catalogs.
 *
 * There is no catalog of patterns, and the view asks PostgreSQL's: SQL joins them
 * better than C would, and need not open the relations, which others may have
 * locked.  What remains are the arguments of a trigger and expressions, of which
 * this file makes a text[] and a jsonb.  Both say what is there and know no
 * pattern: which calls of which functions are one stands in the view.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pattern.h"

PG_FUNCTION_INFO_V1(pattern_trigger_arguments);
PG_FUNCTION_INFO_V1(pattern_expression);

static void read_node(Node *node, JsonbValue *result);

/* pattern_trigger_arguments(arguments bytea) → text[]: pg_trigger.tgargs, each ends with a zero byte */
Datum
pattern_trigger_arguments(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	const char *next = VARDATA_ANY(bytes);
	const char *end = next + VARSIZE_ANY_EXHDR(bytes);
	ArrayBuildState *state = initArrayResult(TEXTOID, CurrentMemoryContext, false);

	while (next < end)
	{
		int			len = strnlen(next, end - next);

		CHECK_FOR_INTERRUPTS();
		(void) pg_verifymbstr(next, len, false);
		state = accumArrayResult(state, PointerGetDatum(cstring_to_text_with_len(next, len)), false,
								 TEXTOID, CurrentMemoryContext);
		next += len + 1;
	}
	PG_RETURN_DATUM(makeArrayResult(state, CurrentMemoryContext));
}

/* Add a field to an object. */
static void
add_field(PairList *object, const char *name, const JsonbValue *value)
{
	pairs_append(object, name, strlen(name), value);
}

static void
add_oid(PairList *object, const char *name, Oid oid)
{
	JsonbValue	value;

	value_from_int64(oid, &value);
	add_field(object, name, &value);
}

/* Add what a node says. */
static void
add_node(PairList *object, const char *name, Node *node)
{
	JsonbValue	value;

	read_node(node, &value);
	add_field(object, name, &value);
}

static void
read_list(List *list, JsonbValue *result)
{
	ValueList	values = {0};
	ListCell   *cell;

	foreach(cell, list)
	{
		JsonbValue	value;

		CHECK_FOR_INTERRUPTS();
		read_node(lfirst(cell), &value);
		values_append(&values, &value);
	}
	values_finish(&values, result);
}

static void
read_call(Oid function, List *arguments, JsonbValue *result)
{
	PairList	object = {0};
	JsonbValue	value;

	add_oid(&object, "function", function);
	read_list(arguments, &value);
	add_field(&object, "arguments", &value);
	pairs_finish(&object, result);
}

/*
 * A constant of a type that documents and definitions are made of, or null: for
 * others functions of their owners would run.  What names an object by its OID
 * stays a number.
 */
static void
read_constant(const Const *constant, JsonbValue *result)
{
	PairList	object = {0};
	JsonbValue	value;

	value.type = jbvNull;
	if (!constant->constisnull)
		switch (constant->consttype)
		{
			case OIDOID:
			case REGCLASSOID:
			case REGPROCOID:
			case REGPROCEDUREOID:
				value_from_int64(DatumGetObjectId(constant->constvalue), &value);
				break;
			case UNKNOWNOID:
				value_from_cstring(DatumGetCString(constant->constvalue), &value);
				break;
			case BOOLOID:
			case INT2OID:
			case INT4OID:
			case INT8OID:
			case TEXTOID:
			case JSONBOID:
			case TEXTARRAYOID:
				value_from_datum(constant->consttype, constant->constvalue, false, &value);
				break;
		}
	add_field(&object, "value", &value);
	pairs_finish(&object, result);
}

/* Aggregates that look at some rows only, or in an order, are not said. */
static void
read_aggregate(const Aggref *aggregate, JsonbValue *result)
{
	List	   *arguments = NIL;
	ListCell   *cell;

	result->type = jbvNull;
	if (aggregate->aggfilter != NULL || aggregate->aggorder != NIL || aggregate->aggdistinct != NIL)
		return;
	foreach(cell, aggregate->args)
		arguments = lappend(arguments, ((TargetEntry *) lfirst(cell))->expr);
	read_call(aggregate->aggfnoid, arguments, result);
}

/* The relation that a query reads; InvalidOid unless it is one. */
static Oid
query_relation(const Query *query)
{
	const RangeTblRef *reference;
	const RangeTblEntry *entry;

	if (query->jointree == NULL || list_length(query->jointree->fromlist) != 1)
		return InvalidOid;
	reference = linitial(query->jointree->fromlist);
	if (!IsA(reference, RangeTblRef))
		return InvalidOid;
	entry = list_nth(query->rtable, reference->rtindex - 1);
	return entry->rtekind == RTE_RELATION ? entry->relid : InvalidOid;
}

/* The columns of a query; those that it groups by are marked. */
static void
read_columns(Query *query, JsonbValue *result)
{
	ValueList	values = {0};
	ListCell   *cell;
	ListCell   *group;

	foreach(cell, query_columns(query))
	{
		TargetEntry *column = lfirst(cell);
		PairList	object = {0};
		JsonbValue	value;
		bool		grouped = false;

		if (column->resjunk)
			continue;
		foreach(group, query->groupClause)
			grouped |= ((SortGroupClause *) lfirst(group))->tleSortGroupRef == column->ressortgroupref;
		value_from_cstring(column->resname == NULL ? "" : column->resname, &value);
		add_field(&object, "name", &value);
		value_from_bool(grouped, &value);
		add_field(&object, "grouped", &value);
		add_node(&object, "expression", (Node *) column->expr);
		pairs_finish(&object, &value);
		values_append(&values, &value);
	}
	values_finish(&values, result);
}

static void
read_query(Query *query, JsonbValue *result)
{
	PairList	object = {0};
	JsonbValue	value;

	add_oid(&object, "relation", query_relation(query));
	read_columns(query, &value);
	add_field(&object, "columns", &value);
	add_node(&object, "where", query->jointree == NULL ? NULL : query->jointree->quals);
	pairs_finish(&object, result);
}

static void
read_operator(const OpExpr *operator, JsonbValue *result)
{
	read_call(get_opcode(operator->opno), operator->args, result);
}

static void
read_boolean(const BoolExpr *boolean, JsonbValue *result)
{
	PairList	object = {0};
	JsonbValue	value;

	read_list(boolean->args, &value);
	add_field(&object, boolean->boolop == AND_EXPR ? "and" : boolean->boolop == OR_EXPR ? "or" : "not", &value);
	pairs_finish(&object, result);
}

static void
read_null_test(const NullTest *test, JsonbValue *result)
{
	PairList	object = {0};

	add_node(&object, test->nulltesttype == IS_NULL ? "is null" : "is not null", (Node *) test->arg);
	pairs_finish(&object, result);
}

/* A column of the row, or of a NULL of a relation's row type. */
static void
read_number(const char *name, AttrNumber number, JsonbValue *result)
{
	PairList	object = {0};
	JsonbValue	value;

	value_from_int64(number, &value);
	add_field(&object, name, &value);
	pairs_finish(&object, result);
}

/* What a node says; null for one that no pattern is made of. */
static void
read_node(Node *node, JsonbValue *result)
{
	check_stack_depth();
	result->type = jbvNull;
	while (node != NULL && (IsA(node, RelabelType) || IsA(node, CoerceToDomain)))
		node = (Node *) (IsA(node, RelabelType) ? ((RelabelType *) node)->arg : ((CoerceToDomain *) node)->arg);
	if (node == NULL)
		return;
	if (IsA(node, List))
		read_list((List *) node, result);
	else if (IsA(node, FuncExpr))
		read_call(((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args, result);
	else if (IsA(node, OpExpr))
		read_operator((OpExpr *) node, result);
	else if (IsA(node, Aggref))
		read_aggregate((Aggref *) node, result);
	else if (IsA(node, BoolExpr))
		read_boolean((BoolExpr *) node, result);
	else if (IsA(node, Const))
		read_constant((Const *) node, result);
	else if (IsA(node, ArrayExpr))
		read_list(((ArrayExpr *) node)->elements, result);
	else if (IsA(node, Var))
		read_number("column", ((Var *) node)->varattno, result);
	else if (IsA(node, NullTest))
		read_null_test((NullTest *) node, result);
	else if (IsA(node, FieldSelect) && IsA(((FieldSelect *) node)->arg, Const))
		read_number("field", ((FieldSelect *) node)->fieldnum, result);
	else if (IsA(node, Query))
		read_query((Query *) node, result);
}

/*
 * pattern_expression(expression pg_node_tree) → jsonb
 *
 *	a call			{"function": oid, "arguments": […]}
 *	a constant		{"value": …}
 *	a column		{"column": number}, of a relation's NULL {"field": number}
 *	AND, OR, NOT	{"and": […]} …
 *	IS NULL			{"is null": …}
 *	a list, ARRAY[]	[…]
 *	a query			{"relation": oid, "columns": [{"name", "grouped", "expression"}, …], "where": …}
 *	anything else	null
 */
Datum
pattern_expression(PG_FUNCTION_ARGS)
{
	JsonbValue	result;

	read_node(stringToNode(TextDatumGetCString(PG_GETARG_DATUM(0))), &result);
	PG_RETURN_JSONB_P(value_to_jsonb(&result));
}
