/*
 * patterns/computed_parent.c
 *		Computed pattern: the trigger of the parent.
 *
 * A parent that is new, or has another key, gets what its rows make.  In any other update the
 * maintained fields are put back as they were, so that an application that
 * writes a whole old document does not restore old counts.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/partition.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "computed.h"

PG_FUNCTION_INFO_V1(pattern_computed_parent);

static Jsonb *
row_document(HeapTuple row, TupleDesc desc, AttrNumber column)
{
	PairList	none = {0};
	JsonbValue	empty;
	bool		isnull;
	Datum		doc = heap_getattr(row, column, desc, &isnull);

	if (!isnull)
		return DatumGetJsonbP(doc);
	pairs_finish(&none, &empty);
	return value_to_jsonb(&empty);
}

/*
 * Another transaction may be at deleting the parent that had the key, or at giving
 * it another one, and may have changed its rows, of which this one sees only what
 * they were.  The new parent cannot be inserted before that transaction ends, so
 * it may as well be waited for before the rows are read.
 */
static void
wait_for_predecessor(const Definition *definition, const TriggerData *trigger, Datum key)
{
	Relation	parent = trigger->tg_relation;
	Oid			index_oid = parent_key_index(parent, trigger->tg_trigger->tgattr[1]);
	TransactionId other;

	if (!OidIsValid(index_oid))
		return;
	do
	{
		Relation	index = index_open(index_oid, RowExclusiveLock);
		TupleTableSlot *slot = table_slot_create(parent, NULL);
		ItemPointerData place;
		SnapshotData dirty;
		ScanKeyData scan_key;
		IndexScanDesc scan;

		InitDirtySnapshot(dirty);
		ScanKeyEntryInitializeWithInfo(&scan_key, 0, 1, BTEqualStrategyNumber, definition->key_subtype,
									   definition->index_collation,
									   unconstify(FmgrInfo *, &definition->index_equal), key);
		scan = begin_index_scan(parent, index, &dirty, 1);
		index_rescan(scan, &scan_key, 1, NULL, 0);
		other = InvalidTransactionId;
		if (index_getnext_slot(scan, ForwardScanDirection, slot))
		{
			other = dirty.xmax;
			place = slot->tts_tid;
		}
		index_endscan(scan);
		ExecDropSingleTupleTableSlot(slot);
		index_close(index, NoLock);
		if (TransactionIdIsValid(other))
			XactLockTableWait(other, parent, &place, XLTW_InsertIndex);
	} while (TransactionIdIsValid(other));
}

/* What the rows of a key make. */
static Jsonb *
compute(Definition *definition, Jsonb *doc, Datum key, bool isnull)
{
	GroupResult result;

	if (!isnull)
	{
		/* a row of the same query may wait to be added; what is computed has it already */
		definition_lock_missing(definition, key, true);
		if (pending_find(definition, key))
			pending_delta(definition, key, false)->recompute = true;
	}
	group_recompute(definition, key, isnull, &result);
	return group_store(definition, doc, &result);
}

/* What is stored, put back into the new document. */
static Jsonb *
put_back(Definition *definition, Jsonb *before, Jsonb *after, Datum key, bool isnull)
{
	GroupResult stored;
	JsonbValue	root;

	value_from_jsonb(before, &root);
	if (!group_read(definition, &root, &stored))
	{
		/* the definition was not filled in for this document: no part of the old one is ours */
		value_from_jsonb(after, &root);
		return group_read(definition, &root, &stored) ? compute(definition, after, key, isnull) : after;
	}
	return group_store(definition, after, &stored);
}

/*
 * The key of a row that is about to be written.  A generated one has no value yet,
 * or the old one; it is computed here.  *isnull is true where there is none.
 */
static Datum
new_key(const Definition *definition, const TriggerData *trigger, HeapTuple row, bool *isnull)
{
	Relation	relation = trigger->tg_relation;
	TupleDesc	desc = RelationGetDescr(relation);
	AttrNumber	column = trigger->tg_trigger->tgattr[1];
	TupleTableSlot *slot;
	EState	   *estate;
	ExprContext *econtext;
	Oid			type = getBaseType(TupleDescAttr(desc, column - 1)->atttypid);
	Datum		key;

	if (TupleDescAttr(desc, column - 1)->attgenerated == '\0')
	{
		key = heap_getattr(row, column, desc, isnull);
		return *isnull ? key : definition_key(definition, type, key);
	}
	estate = CreateExecutorState();
	econtext = GetPerTupleExprContext(estate);
	slot = MakeSingleTupleTableSlot(desc, &TTSOpsHeapTuple);
	ExecStoreHeapTuple(row, slot, false);
	econtext->ecxt_scantuple = slot;
	key = ExecEvalExpr(ExecPrepareExpr((Expr *) build_column_default(relation, column), estate), econtext, isnull);
	if (!*isnull)
		key = datumCopy(definition_key(definition, type, key), definition->key_byval, definition->key_len);
	ExecDropSingleTupleTableSlot(slot);
	FreeExecutorState(estate);
	return key;
}

/* Is the key of the old row this one? */
static bool
has_key(const Definition *definition, const TriggerData *trigger, Datum key, bool isnull)
{
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	AttrNumber	column = trigger->tg_trigger->tgattr[1];
	bool		old_isnull;
	Datum		old = heap_getattr(trigger->tg_trigtuple, column, desc, &old_isnull);

	if (isnull || old_isnull)
		return isnull == old_isnull;
	old = definition_key(definition, getBaseType(TupleDescAttr(desc, column - 1)->atttypid), old);
	return DatumGetBool(FunctionCall2Coll(unconstify(FmgrInfo *, &definition->key_equal),
										  definition->index_collation, old, key));
}

/* The definition of a trigger, which on a partition is that of a table above. */
Definition *
parent_definition(const TriggerData *trigger)
{
	Oid			view = linitial_oid(trigger_targets(trigger->tg_trigger, 1));
	Oid			parent = RelationGetRelid(trigger->tg_relation);
	ListCell   *cell;

	if (!trigger->tg_trigger->tgisclone)
		return definition_get(view, parent);
	foreach(cell, get_partition_ancestors(parent))
	{
		Relation	ancestor = table_open(lfirst_oid(cell), AccessShareLock);
		Trigger    *found = parent_trigger(ancestor, view);
		bool		is_root = found != NULL && !found->tgisclone;

		table_close(ancestor, AccessShareLock);
		if (is_root)
			return definition_get(view, lfirst_oid(cell));
	}
	return definition_get(view, parent);
}

/* computed_parent(): BEFORE INSERT OR UPDATE OF the document and the key, for each row */
Datum
pattern_computed_parent(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);
	bool		is_update = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);
	HeapTuple	row = is_update ? trigger->tg_newtuple : trigger->tg_trigtuple;
	TupleDesc	desc = RelationGetDescr(trigger->tg_relation);
	Definition *definition;
	Jsonb	   *doc,
			   *result;
	Datum		key;
	bool		isnull;
	int			column;

	if (!TRIGGER_FIRED_BEFORE(trigger->tg_event) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired before a row is inserted or updated",
						get_func_name(fcinfo->flinfo->fn_oid))));
	if (writer_is_at_work())
		return PointerGetDatum(row);
	definition = parent_definition(trigger);
	column = trigger->tg_trigger->tgattr[0];
	doc = row_document(row, desc, column);
	key = new_key(definition, trigger, row, &isnull);
	if (!is_update || !has_key(definition, trigger, key, isnull))
	{
		definition_check(definition);
		if (!isnull)
			wait_for_predecessor(definition, trigger, key);
		result = compute(definition, doc, key, isnull);
	}
	else
		result = put_back(definition, row_document(trigger->tg_trigtuple, desc, column),
						  doc, key, isnull);
	if (result != doc)
	{
		Datum		value = JsonbPGetDatum(result);
		bool		null = false;

		row = heap_modify_tuple_by_cols(row, desc, 1, &column, &value, &null);
	}
	return PointerGetDatum(row);
}
