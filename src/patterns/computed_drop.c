/*
 * patterns/computed_drop.c
 *		Computed pattern: drop_computed.
 *
 * A definition must be got rid of whatever has become of it: the view may be one
 * that is refused by now, or of another table, and some of the triggers may be
 * gone.  So the triggers are found by what they depend on, the view.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "computed.h"

PG_FUNCTION_INFO_V1(pattern_drop_computed);

static const char tables[] = {RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, '\0'};

/* Is it one of the triggers that look at rows for a view and a parent? */
static bool
is_row_trigger(const Trigger *trigger, Oid view, Oid parent)
{
	FuncExpr   *call;
	Const	   *first,
			   *second;

	if (!is_our_trigger(trigger, "pattern_computed_row") || trigger->tgqual == NULL)
		return false;
	call = stringToNode(trigger->tgqual);
	if (!IsA(call, FuncExpr) || list_length(call->args) < 3)
		return false;
	first = lsecond(call->args);
	second = lthird(call->args);
	return IsA(first, Const) && IsA(second, Const) &&
		DatumGetObjectId(first->constvalue) == view && DatumGetObjectId(second->constvalue) == parent;
}

/* Drop the triggers of a definition that a table has itself. */
static void
drop_triggers(Oid relid, Oid view, Oid parent)
{
	Relation	relation = table_open(relid, NoLock);
	TriggerDesc *triggers = CopyTriggerDesc(relation->trigdesc);

	table_close(relation, NoLock);
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];
		bool		is_flush = is_our_trigger(trigger, "pattern_computed_flush") && trigger->tgqual != NULL;

		if (trigger->tgisclone)
			continue;
		if (is_flush)
		{
			List	   *targets = trigger_targets(trigger, flush_targets(trigger));

			is_flush = linitial_oid(targets) == view && lsecond_oid(targets) == parent;
		}
		if (is_flush || is_row_trigger(trigger, view, parent))
			spi_run(psprintf("DROP TRIGGER %s ON %s", quote_identifier(trigger->tgname), relation_quoted_name(relid)));
	}
}

/* Drop those of a base table and its partitions. */
void
computed_drop_triggers(Oid base, Oid view, Oid parent)
{
	ListCell   *cell;

	foreach(cell, find_all_inheritors(base, ShareRowExclusiveLock, NULL))
		drop_triggers(lfirst_oid(cell), view, parent);
}

/*
 * The tables with triggers for a view, apart from the parent as such, whatever the
 * view says by now and whichever of the triggers are left.
 */
static List *
find_trigger_tables(Oid view)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	Relation	triggers = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *result = NIL;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(view));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ScanKeyData key;
		SysScanDesc found;

		if (form->classid != TriggerRelationId)
			continue;
		ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(form->objid));
		found = systable_beginscan(triggers, TriggerOidIndexId, true, NULL, 1, &key);
		if (HeapTupleIsValid(tuple = systable_getnext(found)))
			result = list_append_unique_oid(result, ((Form_pg_trigger) GETSTRUCT(tuple))->tgrelid);
		systable_endscan(found);
	}
	systable_endscan(scan);
	table_close(triggers, AccessShareLock);
	table_close(depend, AccessShareLock);
	list_sort(result, list_oid_cmp);
	return result;
}

/* Does a table have a trigger of a definition on its rows? */
static bool
has_base_trigger(Oid relid, Oid view, Oid parent, Oid *queue)
{
	Relation	relation = table_open(relid, AccessShareLock);
	Trigger    *flush = definition_trigger(relation, view, parent);
	bool		result = flush != NULL;

	for (int i = 0; !result && relation->trigdesc != NULL && i < relation->trigdesc->numtriggers; i++)
		result = is_row_trigger(&relation->trigdesc->triggers[i], view, parent);
	if (flush != NULL && flush_targets(flush) == 3)
		*queue = lthird_oid(trigger_targets(flush, 3));
	table_close(relation, AccessShareLock);
	return result;
}

/* The tables that have one, and the queue; the parent may be among them. */
static List *
find_bases(Oid view, Oid parent, Oid *queue)
{
	List	   *result = NIL;
	ListCell   *cell;

	*queue = InvalidOid;
	foreach(cell, find_trigger_tables(view))
		if (has_base_trigger(lfirst_oid(cell), view, parent, queue))
			result = lappend_oid(result, lfirst_oid(cell));
	return result;
}

static void
drop_parent_trigger(Oid parent, Oid view)
{
	Relation	relation = table_open(parent, NoLock);
	Trigger    *trigger = parent_trigger(relation, view);
	char	   *name = trigger == NULL ? NULL : pstrdup(trigger->tgname);

	table_close(relation, NoLock);
	if (name != NULL)
		spi_run(psprintf("DROP TRIGGER %s ON %s", quote_identifier(name), relation_quoted_name(parent)));
}

/* drop_computed(relation regclass, source regclass, if_exists boolean) → boolean */
Datum
pattern_drop_computed(PG_FUNCTION_ARGS)
{
	Oid			parent,
				view,
				queue;
	List	   *bases;
	ListCell   *cell;

	argument_check_given(fcinfo, 0, "relation");
	argument_check_given(fcinfo, 1, "source");
	parent = PG_GETARG_OID(0);
	view = PG_GETARG_OID(1);
	relation_lock_owned(parent, ShareRowExclusiveLock, tables);
	bases = find_bases(view, parent, &queue);
	if (bases == NIL && !list_member_oid(parent_views(parent), view))
	{
		ereport(argument_flag(fcinfo, 2) ? NOTICE : ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("view \"%s\" is not kept in documents of relation \"%s\"%s", get_rel_name(view),
						get_rel_name(parent), argument_flag(fcinfo, 2) ? ", skipping" : "")));
		PG_RETURN_BOOL(false);
	}
	/* what this transaction has changed before is still applied */
	computed_flush_due(true);
	computed_flush_due(false);
	foreach(cell, bases)
	{
		relation_lock_owned(lfirst_oid(cell), ShareRowExclusiveLock, tables);
		drop_triggers(lfirst_oid(cell), view, parent);
	}
	drop_parent_trigger(parent, view);
	if (OidIsValid(queue))
		spi_run(psprintf("DROP TABLE %s", relation_quoted_name(queue)));
	PG_RETURN_BOOL(true);
}
