/*
 * patterns/computed_writer.c
 *		Computed pattern: one parent's row is found, locked and written.
 *
 * A parent is found with the latest snapshot at every isolation level, so that
 * none is missed that was inserted meanwhile; one that a transaction's snapshot
 * does not see is 40001.  What was read without a lock is written only if
 * nobody changed the row since: writing waits for others, and then says that the
 * row is another, and the caller begins anew.
 *
 * An ordinary table is written directly, by what the executor's own
 * UPDATE comes down to for a row whose key stays: the index is read, the
 * heap is updated, indexes that need it get an entry, row triggers get
 * their event.  A table for which that does not do all that an UPDATE does (it is partitioned, has
 * statement triggers, generated columns, ...; see prepare_parent) gets an UPDATE.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "parser/parse_relation.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "computed.h"

/* The depth of triggers at which an UPDATE of our own runs; -1: none does. */
static int	own_update_depth = -1;

static int
trigger_depth(void)
{
	return DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0));
}

/*
 * Is it the engine itself whose UPDATE fires the parent's trigger?  A trigger of
 * the user's that it fires as well may write to parents, too: one level deeper.
 */
bool
writer_is_at_work(void)
{
	return own_update_depth >= 0 && own_update_depth == trigger_depth() - 1;
}

pg_noreturn static void
serialization_failure(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent %s", what)));
	pg_unreachable();
}

static Jsonb *
empty_document(void)
{
	PairList	none = {0};
	JsonbValue	value;

	pairs_finish(&none, &value);
	return value_to_jsonb(&value);
}

/* Tell the executor of the table, and which of its columns change. */
static void
executor_add_relation(EState *estate, Relation relation, Bitmapset *columns)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	rte->rtekind = RTE_RELATION;
	rte->relid = RelationGetRelid(relation);
	rte->relkind = relation->rd_rel->relkind;
	rte->rellockmode = RowExclusiveLock;
	init_range_table(estate, rte, columns);
}

/* What events and index entries need. */
static void
open_executor(Writer *writer)
{
	const Definition *definition = writer->definition;
	TriggerDesc *triggers = definition->parent_triggers;
	ResultRelInfo *relinfo;
	MemoryContext caller;

	if (writer->estate != NULL)
		return;
	caller = MemoryContextSwitchTo(writer->context);
	writer->estate = CreateExecutorState();
	executor_add_relation(writer->estate, writer->parent,
						  bms_make_singleton(definition->doc_column - FirstLowInvalidHeapAttributeNumber));
	relinfo = makeNode(ResultRelInfo);
	InitResultRelInfo(relinfo, writer->parent, 1, NULL, 0);
	relinfo->ri_TrigDesc = triggers;
	if (triggers != NULL)
	{
		relinfo->ri_TrigFunctions = palloc0(triggers->numtriggers * sizeof(FmgrInfo));
		relinfo->ri_TrigWhenExprs = palloc0(triggers->numtriggers * sizeof(ExprState *));
	}
	writer->estate->es_opened_result_relations =
		lappend(writer->estate->es_opened_result_relations, relinfo);
	writer->estate->es_output_cid = GetCurrentCommandId(true);
	writer->relinfo = relinfo;
	MemoryContextSwitchTo(caller);
}

/*
 * Begin to write to parents of a definition, whose table must be locked.  To be
 * closed by writer_close unless there is an error.
 */
void
writer_open(Writer *writer, Definition *definition)
{
	memset(writer, 0, sizeof(Writer));
	writer->definition = definition;
	writer->context = CurrentMemoryContext;
	writer->parent = table_open(definition->key.parent, NoLock);
	if (definition->direct)
	{
		CheckCmdReplicaIdentity(writer->parent, CMD_UPDATE);
		writer->index = index_open(definition->index, RowExclusiveLock);
		writer->slot = table_slot_create(writer->parent, NULL);
		writer->changed = MakeSingleTupleTableSlot(RelationGetDescr(writer->parent), &TTSOpsVirtual);
		if (definition->parent_triggers != NULL)
			AfterTriggerBeginQuery();
	}
	owner_enter(definition->parent_owner, &writer->owner);
}

static void
close_scan(Writer *writer)
{
	if (writer->scan != NULL)
		index_endscan(writer->scan);
	writer->scan = NULL;
	if (writer->snapshot != NULL)
		UnregisterSnapshot(writer->snapshot);
	writer->snapshot = NULL;
}

/* Read with another snapshot from now on; NULL: with the latest. */
void
writer_renew(Writer *writer, Snapshot snapshot)
{
	if (writer->scan != NULL)
		ExecClearTuple(writer->slot);
	close_scan(writer);
	writer->snapshot = RegisterSnapshot(snapshot != NULL ? snapshot : GetLatestSnapshot());
}

static bool
find_directly(Writer *writer, Datum key)
{
	const Definition *definition = writer->definition;
	MemoryContext caller;
	ScanKeyData scan_key;
	Datum		doc;
	bool		isnull;
	bool		found;

	caller = MemoryContextSwitchTo(writer->context);
	if (writer->scan == NULL)
		writer->scan = begin_index_scan(writer->parent, writer->index, writer->snapshot, 1);
	ScanKeyEntryInitializeWithInfo(&scan_key, 0, 1, BTEqualStrategyNumber, definition->key_subtype,
								   definition->index_collation,
								   unconstify(FmgrInfo *, &definition->index_equal), key);
	index_rescan(writer->scan, &scan_key, 1, NULL, 0);
	found = index_getnext_slot(writer->scan, ForwardScanDirection, writer->slot);
	MemoryContextSwitchTo(caller);
	if (!found)
		return false;
	if (IsolationUsesXactSnapshot() &&
		!table_tuple_satisfies_snapshot(writer->parent, writer->slot, GetTransactionSnapshot()))
		serialization_failure("update");
	doc = slot_getattr(writer->slot, definition->doc_column, &isnull);
	writer->doc = isnull ? empty_document() : DatumGetJsonbPCopy(doc);
	return true;
}

/* Run a plan for a key; its result is left to SPI_finish. */
static void
run_plan(Writer *writer, SPIPlanPtr plan, Datum *values, int expected)
{
	int			result = SPI_execute_snapshot(plan, values, NULL, writer->snapshot,
											  expected == SPI_OK_UPDATE && IsolationUsesXactSnapshot() ?
											  GetTransactionSnapshot() : InvalidSnapshot,
											  false, true, 0);

	if (result != expected)
		elog(ERROR, "SPI_execute_snapshot returned %s", SPI_result_code_string(result));
}

static SPIPlanPtr
make_plan(const char *sql, int nargs, Oid *types)
{
	SPIPlanPtr	plan = SPI_prepare(sql, nargs, types);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare returned %s", SPI_result_code_string(SPI_result));
	SPI_keepplan(plan);
	return plan;
}

/* Find and lock, by a query. */
static bool
find_by_query(Writer *writer, Datum key)
{
	Definition *definition = writer->definition;
	MemoryContext caller = CurrentMemoryContext;
	Oid			parent = definition->key.parent;
	bool		found;

	SPI_connect();
	if (definition->lock_plan == NULL)
	{
		const char *column = quote_identifier(get_attname(parent, definition->key_column, false));

		definition->lock_plan =
			make_plan(psprintf("SELECT %s FROM %s WHERE %s %s $1 FOR NO KEY UPDATE",
							   quote_identifier(get_attname(parent, definition->doc_column, false)),
							   relation_quoted_name(parent), column, operator_quoted_name(definition->key_operator)),
					  1, &definition->view.key_type);
	}
	run_plan(writer, definition->lock_plan, &key, SPI_OK_SELECT);
	found = SPI_processed > 0;
	if (found)
	{
		bool		isnull;
		Datum		doc = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);

		MemoryContextSwitchTo(caller);
		writer->doc = isnull ? empty_document() : DatumGetJsonbPCopy(doc);
		writer->locked = true;
	}
	SPI_finish();
	return found;
}

/*
 * Find the parent of a key; its document is in writer->doc, in the current
 * memory context.
 */
bool
writer_find(Writer *writer, Datum key)
{
	writer->locked = false;
	if (writer->snapshot == NULL)
		writer_renew(writer, NULL);
	return writer->definition->direct ? find_directly(writer, key) : find_by_query(writer, key);
}

/* Is the row still what was found?  40001 if it is not and the transaction has one snapshot. */
static bool
check_result(TM_Result result)
{
	switch (result)
	{
		case TM_Ok:
			return true;
		case TM_Updated:
			if (IsolationUsesXactSnapshot())
				serialization_failure("update");
			return false;
		case TM_Deleted:
			if (IsolationUsesXactSnapshot())
				serialization_failure("delete");
			return false;
		case TM_SelfModified:
			/* by this very flush, under another key of the row */
			CommandCounterIncrement();
			return false;
		default:
			elog(ERROR, "unexpected status of a parent's row: %d", result);
	}
	return false;
}

/*
 * Lock the row that was found.  False if it is another by now, and must be found
 * anew.
 */
bool
writer_lock(Writer *writer)
{
	TM_FailureData failure;

	if (!writer->locked)
		writer->locked = check_result(table_tuple_lock(writer->parent, &writer->slot->tts_tid, writer->snapshot,
													   writer->slot, GetCurrentCommandId(true),
													   LockTupleNoKeyExclusive, LockWaitBlock, 0, &failure));
	if (!writer->locked)
		writer_renew(writer, NULL);
	return writer->locked;
}

static bool
update_directly(Writer *writer, Jsonb *doc)
{
	const Definition *definition = writer->definition;
	TupleTableSlot *slot = writer->slot;
	TupleTableSlot *changed = writer->changed;
	int			natts = slot->tts_tupleDescriptor->natts;
	TU_UpdateIndexes update_indexes;
	TM_FailureData failure;
	LockTupleMode lock_mode;
	MemoryContext caller;
	List	   *recheck = NIL;

	slot_getallattrs(slot);
	ExecClearTuple(changed);
	memcpy(changed->tts_values, slot->tts_values, natts * sizeof(Datum));
	memcpy(changed->tts_isnull, slot->tts_isnull, natts * sizeof(bool));
	changed->tts_values[definition->doc_column - 1] = JsonbPGetDatum(doc);
	changed->tts_isnull[definition->doc_column - 1] = false;
	ExecStoreVirtualTuple(changed);
	changed->tts_tableOid = RelationGetRelid(writer->parent);
	if (!check_result(table_tuple_update(writer->parent, &slot->tts_tid, changed, GetCurrentCommandId(true),
										 writer->snapshot, InvalidSnapshot, true, &failure,
										 &lock_mode, &update_indexes)))
	{
		writer_renew(writer, NULL);
		return false;
	}
	if (update_indexes != TU_None || definition->parent_triggers != NULL)
		open_executor(writer);
	if (update_indexes != TU_None)
	{
		if (writer->relinfo->ri_IndexRelationDescs == NULL)
		{
			caller = MemoryContextSwitchTo(writer->context);
			ExecOpenIndices(writer->relinfo, false);
			MemoryContextSwitchTo(caller);
		}
		recheck = insert_index_tuples(writer->relinfo, changed, writer->estate, update_indexes);
	}
	if (definition->parent_triggers != NULL)
		ExecARUpdateTriggers(writer->estate, writer->relinfo, NULL, NULL, &slot->tts_tid, NULL,
							 changed, recheck, NULL, false);
	if (writer->estate != NULL)
		ResetPerTupleExprContext(writer->estate);
	return true;
}

static void
update_by_query(Writer *writer, Datum key, Jsonb *doc)
{
	Definition *definition = writer->definition;
	Oid			parent = definition->key.parent;
	Oid			types[] = {definition->view.key_type, JSONBOID};
	Datum		values[] = {key, JsonbPGetDatum(doc)};
	int			depth = own_update_depth;

	SPI_connect();
	if (definition->update_plan == NULL)
		definition->update_plan =
			make_plan(psprintf("UPDATE %s SET %s = $2 WHERE %s %s $1",
							   relation_quoted_name(parent),
							   quote_identifier(get_attname(parent, definition->doc_column, false)),
							   quote_identifier(get_attname(parent, definition->key_column, false)),
							   operator_quoted_name(definition->key_operator)),
					  2, types);
	own_update_depth = trigger_depth();
	PG_TRY();
	{
		run_plan(writer, definition->update_plan, values, SPI_OK_UPDATE);
	}
	PG_FINALLY();
	{
		own_update_depth = depth;
	}
	PG_END_TRY();
	SPI_finish();
}

/*
 * Give the row that was found another document.  False if it is another row by
 * now, and must be found anew.
 */
bool
writer_update(Writer *writer, Datum key, Jsonb *doc)
{
	if (writer->definition->direct)
		return update_directly(writer, doc);
	update_by_query(writer, key, doc);
	return true;
}

/* The end: triggers of the parents' table fire. */
void
writer_close(Writer *writer)
{
	if (writer->slot != NULL)
		ExecClearTuple(writer->slot);
	close_scan(writer);
	if (writer->definition->direct && writer->definition->parent_triggers != NULL)
	{
		CommandCounterIncrement();
		open_executor(writer);
		/* the parents may be rows of another definition, whose flush is an event of a trigger that is not in relinfo */
		writer->estate->es_opened_result_relations = NIL;
		AfterTriggerEndQuery(writer->estate);
	}
	if (writer->slot != NULL)
		ExecDropSingleTupleTableSlot(writer->slot);
	if (writer->changed != NULL)
		ExecDropSingleTupleTableSlot(writer->changed);
	if (writer->relinfo != NULL)
		ExecCloseIndices(writer->relinfo);
	if (writer->estate != NULL)
	{
		/* the parent itself is closed below */
		writer->estate->es_opened_result_relations = NIL;
		ExecCloseResultRelations(writer->estate);
		ExecResetTupleTable(writer->estate->es_tupleTable, false);
		FreeExecutorState(writer->estate);
	}
	if (writer->index != NULL)
		index_close(writer->index, NoLock);
	table_close(writer->parent, NoLock);
	owner_leave(&writer->owner);
}
