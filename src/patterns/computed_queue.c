/*
 * patterns/computed_queue.c
 *		Computed pattern: the queue of a queued definition.
 *
 * It is an ordinary table of the user's with a row for each key that a
 * transaction touched; NULL stands for all keys.  Writers only insert.
 *
 * refresh first deletes the rows that it sees, then locks the parents, then
 * computes them under a later snapshot: what those rows stand for is committed
 * and seen, and a row that comes later is left for the next time.  Nothing is
 * added to what is stored, so that it does not matter which of the two has a
 * row that was written meanwhile.  Rows that another refresh is at are skipped.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "computed.h"

/* Keys that wait, in order. */
struct QueuedKeys
{
	bool		all;
	int			n;
	Datum	   *keys;
};

/*
 * Is the queue as it was made?  Then there is nothing that an INSERT does but to
 * put a row into the heap.
 */
static bool
is_plain(Relation queue, Oid key_type)
{
	TupleDesc	desc = RelationGetDescr(queue);

	return queue->rd_rel->relkind == RELKIND_RELATION && !queue->rd_rel->relispartition &&
		!queue->rd_rel->relhasindex && queue->trigdesc == NULL && queue->rd_rules == NULL &&
		desc->constr == NULL && desc->natts == 1 && TupleDescAttr(desc, 0)->atttypid == key_type;
}

static void
append_directly(Relation queue, Datum key, bool isnull)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(queue), &TTSOpsVirtual);

	slot->tts_values[0] = key;
	slot->tts_isnull[0] = isnull;
	ExecStoreVirtualTuple(slot);
	simple_table_tuple_insert(queue, slot);
	ExecDropSingleTupleTableSlot(slot);
}

static void
append_by_query(Definition *definition, Datum key, bool isnull)
{
	OwnerSwitch before;
	char		null = isnull ? 'n' : ' ';

	owner_enter(definition->parent_owner, &before);
	SPI_connect();
	if (definition->queue_plan == NULL)
	{
		definition->queue_plan = SPI_prepare(psprintf("INSERT INTO %s VALUES ($1)", relation_quoted_name(definition->queue)),
											 1, &definition->view.key_type);
		if (definition->queue_plan == NULL)
			elog(ERROR, "SPI_prepare returned %s", SPI_result_code_string(SPI_result));
		SPI_keepplan(definition->queue_plan);
	}
	if (SPI_execute_plan(definition->queue_plan, &key, &null, false, 0) != SPI_OK_INSERT)
		elog(ERROR, "could not append to a queue");
	SPI_finish();
	owner_leave(&before);
}

/* A key, or all of them, is touched by this transaction. */
void
queue_append(Definition *definition, Datum key, bool all)
{
	Relation	queue = table_open(definition->queue, RowExclusiveLock);

	if (is_plain(queue, definition->view.key_type))
		append_directly(queue, key, all);
	else
		append_by_query(definition, key, all);
	table_close(queue, NoLock);
}

/* The keys in SPI's result, each once, in the current memory context. */
static QueuedKeys *
read_keys(Definition *definition, MemoryContext context)
{
	MemoryContext caller = MemoryContextSwitchTo(context);
	QueuedKeys *result = palloc0(sizeof(QueuedKeys));
	int			n = 0;

	result->keys = palloc_extended(Max(SPI_processed, 1) * sizeof(Datum), MCXT_ALLOC_HUGE);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		key = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);

		if (isnull)
			result->all = true;
		else
			result->keys[result->n++] = datumCopy(key, definition->key_byval, definition->key_len);
	}
	qsort_arg(result->keys, result->n, sizeof(Datum), definition_compare_keys, definition);
	for (int i = 0; i < result->n; i++)
		if (i == 0 || definition_compare_keys(&result->keys[i], &result->keys[n - 1], definition) != 0)
			result->keys[n++] = result->keys[i];
	result->n = n;
	MemoryContextSwitchTo(caller);
	return result;
}

/* Delete the rows that nobody else is at. */
static QueuedKeys *
take_keys(Definition *definition)
{
	const char *queue = relation_quoted_name(definition->queue);
	MemoryContext caller = CurrentMemoryContext;
	QueuedKeys *result;
	OwnerSwitch before;

	owner_enter(definition->parent_owner, &before);
	SPI_connect();
	if (SPI_execute(psprintf("DELETE FROM %s WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT ctid FROM %s FOR UPDATE SKIP LOCKED)) RETURNING key",
							 queue, queue), false, 0) != SPI_OK_DELETE_RETURNING)
		elog(ERROR, "could not read a queue");
	result = read_keys(definition, caller);
	SPI_finish();
	owner_leave(&before);
	return result;
}

/* Forget what waits: all parents will be computed. */
void
queue_clear(Definition *definition)
{
	(void) take_keys(definition);
	CommandCounterIncrement();
}

/* Fold in what waits; returns how many documents changed. */
int64
queue_refresh(Definition *definition)
{
	QueuedKeys *keys = take_keys(definition);

	CommandCounterIncrement();
	if (keys->all)
		return definition_refresh(definition, NULL, true);
	return keys->n == 0 ? 0 : definition_refresh_keys(definition, keys->keys, keys->n);
}

/* What waits, under a snapshot; NULL if the definition has no queue. */
QueuedKeys *
queue_keys(Definition *definition, Snapshot snapshot)
{
	MemoryContext caller = CurrentMemoryContext;
	QueuedKeys *result;
	SPIPlanPtr	plan;
	OwnerSwitch before;

	if (definition->mode != COMPUTED_QUEUED)
		return NULL;
	owner_enter(definition->parent_owner, &before);
	SPI_connect();
	plan = SPI_prepare(psprintf("SELECT key FROM %s", relation_quoted_name(definition->queue)), 0, NULL);
	if (plan == NULL ||
		SPI_execute_snapshot(plan, NULL, NULL, snapshot, InvalidSnapshot, true, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read a queue");
	result = read_keys(definition, caller);
	SPI_finish();
	owner_leave(&before);
	return result;
}

/* Does the key wait? */
bool
queue_has(const QueuedKeys *keys, Definition *definition, Datum key)
{
	if (keys == NULL)
		return false;
	return keys->all ||
		bsearch_arg(&key, keys->keys, keys->n, sizeof(Datum), definition_compare_keys, definition) != NULL;
}
