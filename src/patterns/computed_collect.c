/*
 * patterns/computed_collect.c
 *		Computed pattern: rows that are written become deltas.
 *
 * The row triggers on the base table never fire.  Their WHEN clauses call the
 * functions here, which look at the row at the moment at which it was written:
 * in every way in which rows are written, before any query that a trigger runs,
 * and without an event per row in the queue.
 *
 *		WHEN (computed_changed(NEW.tableoid, view, parent, OLD.tableoid, OLD.a, OLD.b, NEW.a, NEW.b))
 *
 * Called from anywhere else they would let anyone count rows that do not exist.
 * So they refuse to run unless their arguments are OLD and NEW of a trigger, by
 * a mark that only the executor of WHEN clauses leaves on them, and NEW.tableoid
 * says that the trigger is one of the base table.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "computed.h"

/* Arguments before the columns: of one row, of two. */
#define COLUMNS_AT 3
#define CHANGED_COLUMNS_AT 4

/* What a call keeps for the rows of its query. */
typedef struct Collector
{
	DefinitionKey key;
	Definition *definition;
	MemoryContext query;
	Oid			table;			/* that was found to be the base table or a partition of it */
	uint64		generation;		/* of last_delta */
	Datum		last_key;		/* of integers */
	Delta	   *last_delta;
	/* the states' arguments of a row that was changed, before and after */
	Datum	   *values[2];
	bool	   *nulls[2];
} Collector;

/* One of the two rows of an UPDATE, or the row of an INSERT or a DELETE. */
typedef struct Row
{
	bool		counts;			/* passes WHERE, and has a key */
	Datum		key;
	Datum	   *values;
	bool	   *nulls;
} Row;

PG_FUNCTION_INFO_V1(pattern_computed_added);
PG_FUNCTION_INFO_V1(pattern_computed_removed);
PG_FUNCTION_INFO_V1(pattern_computed_changed);
PG_FUNCTION_INFO_V1(pattern_computed_row);

/* Is it OLD or NEW, as the executor of WHEN clauses sees them?  No plan has both numbers in a Var. */
static bool
is_trigger_row(const Node *node)
{
	const Var  *var = (const Var *) node;

	return IsA(node, Var) && (var->varno == INNER_VAR || var->varno == OUTER_VAR) &&
		var->varnosyn == (Index) var->varno;
}

static bool
is_trigger_call(FunctionCallInfo fcinfo)
{
	FuncExpr   *call = (FuncExpr *) fcinfo->flinfo->fn_expr;
	ListCell   *cell;

	if (call == NULL || !IsA(call, FuncExpr) || call->funcvariadic ||
		list_length(call->args) < COLUMNS_AT)
		return false;
	if (!IsA(lsecond(call->args), Const) || !IsA(lthird(call->args), Const))
		return false;
	foreach(cell, call->args)
	{
		int			at = foreach_current_index(cell);

		if (at != 1 && at != 2 && !is_trigger_row(lfirst(cell)))
			return false;
	}
	return ((Var *) linitial(call->args))->varattno == TableOidAttributeNumber;
}

/* 39P01 unless it is a WHEN clause that calls. */
static void
check_call(FunctionCallInfo fcinfo)
{
	if (!is_trigger_call(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" can only be called in the WHEN clause of a trigger that create_computed made",
						get_func_name(fcinfo->flinfo->fn_oid))));
}

static Collector *
collector_create(FunctionCallInfo fcinfo)
{
	Collector  *collector;

	check_call(fcinfo);
	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
		argument_check_given(fcinfo, PG_ARGISNULL(1) ? 1 : 2, "relation");
	collector = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(Collector));
	collector->key.view = PG_GETARG_OID(1);
	collector->key.parent = PG_GETARG_OID(2);
	collector->query = fcinfo->flinfo->fn_mcxt;
	collector->generation = ~UINT64CONST(0);
	fcinfo->flinfo->fn_extra = collector;
	return collector;
}

/* Take the definition as it is now. */
static void
collector_renew(Collector *collector, FunctionCallInfo fcinfo, int rows)
{
	Definition *definition = definition_get(collector->key.view, collector->key.parent);
	List	   *args = ((FuncExpr *) fcinfo->flinfo->fn_expr)->args;
	int			columns_at = rows == 1 ? COLUMNS_AT : CHANGED_COLUMNS_AT;
	bool		same = PG_NARGS() == columns_at + rows * definition->ncolumns;

	for (int i = 0; same && i < rows * definition->ncolumns; i++)
	{
		Var		   *var = list_nth(args, columns_at + i);

		same = var->vartype == TupleDescAttr(definition->row->tts_tupleDescriptor, i % definition->ncolumns)->atttypid;
	}
	if (!same)
		definition->stale = true;
	definition_check(definition);
	collector->definition = definition;
	collector->table = InvalidOid;
	collector->generation = ~UINT64CONST(0);
	for (int i = 0; i < 2; i++)
	{
		collector->values[i] = MemoryContextAlloc(collector->query, Max(definition->view.nstates, 1) * sizeof(Datum));
		collector->nulls[i] = MemoryContextAlloc(collector->query, Max(definition->view.nstates, 1) * sizeof(bool));
	}
}

static void
check_table(Collector *collector, Oid table)
{
	if (!definition_covers(collector->definition, table))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("view \"%s\" does not select from relation \"%s\"",
						get_rel_name(collector->key.view), get_rel_name(table)),
				 errhint("Drop the trigger; create_computed creates those that are needed.")));
	collector->table = table;
}

static Collector *
collector_get(FunctionCallInfo fcinfo, int rows)
{
	Collector  *collector = fcinfo->flinfo->fn_extra;
	bool		first = collector == NULL;
	Definition *definition;

	if (first)
		collector = collector_create(fcinfo);
	if (first || !collector->definition->valid)
		collector_renew(collector, fcinfo, rows);
	definition = collector->definition;
	if (PG_GETARG_OID(0) != collector->table)
		check_table(collector, PG_GETARG_OID(0));
	if ((first || definition->mode != COMPUTED_IMMEDIATE) && !pending_is_armed(definition, collector->query))
		pending_arm(definition, collector->query, NULL);
	return collector;
}

/* The expressions on the row whose columns stand at these arguments. */
static void
evaluate(Definition *definition, NullableDatum *columns, Row *row)
{
	TupleTableSlot *slot = definition->row;
	ExprContext *econtext = definition->econtext;
	bool		isnull;

	ExecClearTuple(slot);
	for (int i = 0; i < definition->ncolumns; i++)
	{
		slot->tts_values[i] = columns[i].value;
		slot->tts_isnull[i] = columns[i].isnull;
	}
	ExecStoreVirtualTuple(slot);
	econtext->ecxt_scantuple = slot;
	row->counts = false;
	if (definition->where_state != NULL &&
		(!DatumGetBool(ExecEvalExpr(definition->where_state, econtext, &isnull)) || isnull))
		return;
	row->key = ExecEvalExpr(definition->key_state, econtext, &isnull);
	row->counts = !isnull;
	if (isnull)
		return;
	for (int i = 0; i < definition->view.nstates; i++)
	{
		StateSpec  *spec = &definition->view.states[i];

		row->nulls[i] = true;
		if (spec->filter_state != NULL &&
			(!DatumGetBool(ExecEvalExpr(spec->filter_state, econtext, &isnull)) || isnull))
			continue;
		row->nulls[i] = false;
		if (spec->argument_state != NULL)
			row->values[i] = ExecEvalExpr(spec->argument_state, econtext, &row->nulls[i]);
	}
}

static Delta *
delta_of(Collector *collector, Datum key)
{
	Delta	   *delta;

	if (collector->generation == pending_generation() && collector->last_key == key)
		return collector->last_delta;
	delta = pending_delta(collector->definition, key, false);
	if (collector->definition->key_byval)
	{
		collector->last_key = key;
		collector->last_delta = delta;
		collector->generation = pending_generation();
	}
	return delta;
}

/* An argument in plain memory, which goes with the row: what is kept of it is copied. */
static Datum
detoast_argument(const StateSpec *spec, Datum value)
{
	switch (spec->kind)
	{
		case STATE_SUM_NUMERIC:
		case STATE_SUM_SCALED:
		case STATE_SUBSET:
			return PointerGetDatum(PG_DETOAST_DATUM(value));
		case STATE_MIN:
		case STATE_MAX:
			return spec->typlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_PACKED(value)) : value;
		default:
			return value;
	}
}

static void
change_delta(Collector *collector, const Row *row, int sign, const Row *other)
{
	const ViewDefinition *view = &collector->definition->view;
	Delta	   *delta = delta_of(collector, row->key);
	MemoryContext caller;

	if (!view->incremental)
	{
		delta->recompute = true;
		return;
	}
	for (int i = 0; i < view->nstates; i++)
	{
		const StateSpec *spec = &view->states[i];
		Datum		value;

		/* what stays in the group unchanged has not left it */
		if (other != NULL && row->nulls[i] == other->nulls[i] &&
			(row->nulls[i] || spec->argument == NULL ||
			 datum_image_eq(row->values[i], other->values[i], spec->typbyval, spec->typlen)))
			continue;
		value = row->nulls[i] ? (Datum) 0 : detoast_argument(spec, row->values[i]);
		caller = MemoryContextSwitchTo(pending_context());
		if (!state_add(spec, &delta->states[i], value, row->nulls[i], sign))
			delta->recompute = true;
		MemoryContextSwitchTo(caller);
	}
}

/* A column of both rows: is it the same, without a look at what is toasted away? */
static bool
same_column(const NullableDatum *a, const NullableDatum *b, Form_pg_attribute column)
{
	if (a->isnull || b->isnull)
		return a->isnull == b->isnull;
	if (column->attlen == -1)
		return VARSIZE_ANY(DatumGetPointer(a->value)) == VARSIZE_ANY(DatumGetPointer(b->value)) &&
			memcmp(DatumGetPointer(a->value), DatumGetPointer(b->value),
				   VARSIZE_ANY(DatumGetPointer(a->value))) == 0;
	return datum_image_eq(a->value, b->value, column->attbyval, column->attlen);
}

static bool
same_columns(const Definition *definition, const NullableDatum *before, const NullableDatum *after)
{
	for (int i = 0; i < definition->ncolumns; i++)
		if (!same_column(&before[i], &after[i], TupleDescAttr(definition->row->tts_tupleDescriptor, i)))
			return false;
	return true;
}

static bool
same_key(const Definition *definition, const Row *a, const Row *b)
{
	return a->counts && b->counts &&
		DatumGetBool(FunctionCall2Coll(unconstify(FmgrInfo *, &definition->key_equal),
									   definition->view.key_collation, a->key, b->key));
}

/* Rows come (added) and go (removed); NULL for none. */
static void
collect_rows(Collector *collector, NullableDatum *removed, NullableDatum *added)
{
	Definition *definition = collector->definition;
	Row			rows[2] = {{false, 0, collector->values[0], collector->nulls[0]},
	{false, 0, collector->values[1], collector->nulls[1]}};
	bool		same;

	if (removed != NULL)
		evaluate(definition, removed, &rows[0]);
	if (added != NULL)
		evaluate(definition, added, &rows[1]);
	same = same_key(definition, &rows[0], &rows[1]);
	if (rows[0].counts)
		change_delta(collector, &rows[0], -1, same ? &rows[1] : NULL);
	if (rows[1].counts)
		change_delta(collector, &rows[1], 1, same ? &rows[0] : NULL);
}

/* The same with settings that are alike in every session. */
static pg_noinline void
collect_in_environment(Collector *collector, NullableDatum *removed, NullableDatum *added)
{
	Environment before;

	environment_enter(&before);
	PG_TRY();
	{
		collect_rows(collector, removed, added);
	}
	PG_FINALLY();
	{
		environment_leave(&before);
	}
	PG_END_TRY();
}

/*
 * The same as the owner of the rows: a function of the user's sees what he may
 * see, and so must not find what the one who writes has put into his search path.
 */
static void
collect_as_owner(Collector *collector, NullableDatum *removed, NullableDatum *added)
{
	OwnerSwitch owner;
	int			level;

	owner_enter(collector->definition->base_owner, &owner);
	level = safe_path_enter();
	collect_in_environment(collector, removed, added);
	safe_path_leave(level);
	owner_leave(&owner);
}

static void
collect(Collector *collector, NullableDatum *removed, NullableDatum *added)
{
	Definition *definition = collector->definition;
	MemoryContext caller;

	if (removed != NULL && added != NULL && same_columns(definition, removed, added))
		return;
	caller = MemoryContextSwitchTo(definition->econtext->ecxt_per_tuple_memory);
	if (definition->view.functions)
		collect_as_owner(collector, removed, added);
	else if (definition->view.environment)
		collect_in_environment(collector, removed, added);
	else
		collect_rows(collector, removed, added);
	MemoryContextSwitchTo(caller);
	ResetExprContext(definition->econtext);
}

/* computed_added(tableoid, view, parent, VARIADIC NEW's columns) → false */
Datum
pattern_computed_added(PG_FUNCTION_ARGS)
{
	collect(collector_get(fcinfo, 1), NULL, &fcinfo->args[COLUMNS_AT]);
	PG_RETURN_BOOL(false);
}

/* computed_removed(tableoid, view, parent, VARIADIC OLD's columns) → false */
Datum
pattern_computed_removed(PG_FUNCTION_ARGS)
{
	collect(collector_get(fcinfo, 1), &fcinfo->args[COLUMNS_AT], NULL);
	PG_RETURN_BOOL(false);
}

/*
 * computed_changed(tableoid, view, parent, old tableoid, VARIADIC OLD's columns, then NEW's) → false
 *
 * A row that moves to another partition is removed there and added here; on top
 * of that its root is told of a change, of rows that are in no table, which is
 * not counted.
 */
Datum
pattern_computed_changed(PG_FUNCTION_ARGS)
{
	Collector  *collector;
	NullableDatum *columns = &fcinfo->args[CHANGED_COLUMNS_AT];

	if (fcinfo->flinfo->fn_extra == NULL)
		check_call(fcinfo);
	if (PG_NARGS() > CHANGED_COLUMNS_AT && (!OidIsValid(PG_GETARG_OID(0)) || PG_GETARG_OID(0) != PG_GETARG_OID(3)))
		PG_RETURN_BOOL(false);
	collector = collector_get(fcinfo, 2);
	collect(collector, columns, columns + collector->definition->ncolumns);
	PG_RETURN_BOOL(false);
}

/* computed_row(): what the row triggers would call, if their WHEN were ever true */
Datum
pattern_computed_row(PG_FUNCTION_ARGS)
{
	(void) trigger_data(fcinfo);
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("function \"%s\" is only for triggers that create_computed makes",
					get_func_name(fcinfo->flinfo->fn_oid))));
	PG_RETURN_POINTER(NULL);
}
