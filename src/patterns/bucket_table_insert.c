/*
 * patterns/bucket_table_insert.c
 *		Bucket pattern: how readings get into a bucket table.
 *
 * The first reading of a statement is written to the open table at once, so that
 * a statement of one reading costs what an INSERT costs.  From the second on they
 * are held in memory; the first is taken back, and a trigger is armed that fires
 * once at the end of the statement.  Then whole buckets are made of groups that
 * are large enough, and the rest goes into the open table in bulk.
 *
 * What is held is of one statement, whose trigger's FmgrInfo leads to it, and of
 * one subtransaction: if that aborts, the trigger never fires, and what is held
 * is dropped.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

/* Memory is taken in pieces of this size. */
#define PIECE_SIZE (256 * 1024)

/* Rows are written to the open table by so many. */
#define BATCH_SIZE 500

/* A group in a hash table, found by series and window. */
typedef struct GroupKey
{
	Jsonb	   *meta;
	TimestampTz start;
} GroupKey;

typedef struct GroupEntry
{
	GroupKey	key;			/* must be first */
	BucketGroup		group;
} GroupEntry;

/* The readings of one statement that are held in memory. */
typedef struct Held
{
	dlist_node	node;
	uint64		id;				/* of the statement */
	Oid			view;
	SubTransactionId subid;
	MemoryContext context;		/* of all below; reset when they are written */
	HTAB	   *groups;			/* of GroupEntry; NULL: none held */
	List	   *order;			/* of BucketGroup, as they came */
	char	   *piece;			/* memory for readings */
	Size		piece_left;
} Held;

/* A statement, in the memory that it runs in. */
typedef struct InsertStatement
{
	uint64		id;
	MemoryContextCallback end;	/* when the statement's memory goes */
	Held	   *held;			/* in TopTransactionContext; NULL: nothing yet */
	bool		armed;			/* the trigger fires at the end */
	/* the first reading, to be taken back if it is not the only one */
	BucketGroup		group;
	Reading		first;
} InsertStatement;

/* The open table while it is written to. */
typedef struct OpenWriter
{
	OwnerSwitch before;
	Relation	open;
	EState	   *estate;
	ResultRelInfo *info;
} OpenWriter;

static dlist_head all_held = DLIST_STATIC_INIT(all_held);
static uint64 last_id = 0;

static void
held_forget(Held *held)
{
	dlist_delete(&held->node);
	MemoryContextDelete(held->context);
	pfree(held);
}

/* What a subtransaction held goes with it. */
static void
held_end_subtransaction(SubXactEvent event, SubTransactionId subid, SubTransactionId parent, void *arg)
{
	dlist_mutable_iter iter;

	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	dlist_foreach_modify(iter, &all_held)
	{
		Held	   *held = dlist_container(Held, node, iter.cur);

		if (held->subid != subid)
			continue;
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			held->subid = parent;
		else
			held_forget(held);
	}
}

/* The memory is gone with the transaction's. */
static void
held_end_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		dlist_init(&all_held);
}

static void
open_begin(OpenWriter *writer, BucketTable *table)
{
	owner_enter(table->owner, &writer->before);
	writer->open = table_open(table->open, RowExclusiveLock);
	writer->estate = CreateExecutorState();
	writer->info = makeNode(ResultRelInfo);
	InitResultRelInfo(writer->info, writer->open, 1, NULL, 0);
	ExecOpenIndices(writer->info, false);
}

static void
open_end(OpenWriter *writer)
{
	ExecCloseIndices(writer->info);
	ExecResetTupleTable(writer->estate->es_tupleTable, false);
	FreeExecutorState(writer->estate);
	table_close(writer->open, NoLock);
	owner_leave(&writer->before);
}

/* A reading as a row of the open table. */
static void
open_store(TupleTableSlot *slot, const BucketGroup *group, const Reading *reading)
{
	ExecClearTuple(slot);
	memset(slot->tts_isnull, 0, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (int i = OPEN_NCOLUMNS; i < slot->tts_tupleDescriptor->natts; i++)
		slot->tts_isnull[i] = true;
	slot->tts_values[OPEN_START - 1] = TimestampTzGetDatum(group->start);
	slot->tts_values[OPEN_AT - 1] = TimestampTzGetDatum(reading->at);
	slot->tts_values[OPEN_META - 1] = JsonbPGetDatum(group->meta);
	slot->tts_values[OPEN_DOC - 1] = JsonbPGetDatum(reading->doc);
	ExecStoreVirtualTuple(slot);
}

/* Write a reading to the open table, where it is then at *tid. */
static void
open_insert_one(BucketTable *table, const BucketGroup *group, const Reading *reading, ItemPointer tid)
{
	OpenWriter	writer;
	TupleTableSlot *slot;

	open_begin(&writer, table);
	slot = table_slot_create(writer.open, &writer.estate->es_tupleTable);
	open_store(slot, group, reading);
	table_tuple_insert(writer.open, slot, GetCurrentCommandId(true), 0, NULL);
	if (writer.info->ri_NumIndices > 0)
		(void) exec_insert_index_tuples(writer.info, slot, writer.estate);
	*tid = slot->tts_tid;
	open_end(&writer);
}

/* Write n rows at once. */
static void
write_batch(OpenWriter *writer, TupleTableSlot **slots, int n)
{
	CHECK_FOR_INTERRUPTS();
	table_multi_insert(writer->open, slots, n, GetCurrentCommandId(true), 0, NULL);
	for (int i = 0; i < n; i++)
	{
		if (writer->info->ri_NumIndices > 0)
			(void) exec_insert_index_tuples(writer->info, slots[i], writer->estate);
		ExecClearTuple(slots[i]);
	}
	ResetPerTupleExprContext(writer->estate);
}

/* Write all readings of the groups to the open table. */
static void
open_insert_many(BucketTable *table, List *groups)
{
	OpenWriter	writer;
	TupleTableSlot *slots[BATCH_SIZE];
	int			nslots = 0;
	int			n = 0;
	ListCell   *cell;

	open_begin(&writer, table);
	foreach(cell, groups)
	{
		BucketGroup	   *group = lfirst(cell);

		for (uint32 i = 0; i < group->readings.n; i++)
		{
			if (n == nslots)
				slots[nslots++] = table_slot_create(writer.open, &writer.estate->es_tupleTable);
			open_store(slots[n++], group, &group->readings.items[i]);
			if (n < BATCH_SIZE)
				continue;
			write_batch(&writer, slots, n);
			n = 0;
		}
	}
	if (n > 0)
		write_batch(&writer, slots, n);
	open_end(&writer);
}

static uint32
group_hash(const void *key, Size size)
{
	const GroupKey *k = key;

	return hash_bytes((const unsigned char *) VARDATA(k->meta), VARSIZE(k->meta) - VARHDRSZ) ^
		hash_bytes_uint32((uint32) (k->start / USECS_PER_SEC));
}

static int
group_match(const void *a, const void *b, Size size)
{
	const GroupKey *x = a;
	const GroupKey *y = b;

	return x->start != y->start || jsonb_compare_bytes(x->meta, y->meta) != 0;
}

static void *
group_copy(void *to, const void *from, Size size)
{
	return memcpy(to, from, size);
}

/* Nothing is held yet, or no longer. */
static void
held_reset(Held *held)
{
	MemoryContextReset(held->context);
	held->groups = NULL;
	held->order = NIL;
	held->piece_left = 0;
}

static Held *
held_create(Oid view, uint64 id)
{
	static bool registered = false;
	Held	   *held = MemoryContextAllocZero(TopTransactionContext, sizeof(Held));

	if (!registered)
	{
		RegisterSubXactCallback(held_end_subtransaction, NULL);
		RegisterXactCallback(held_end_transaction, NULL);
		registered = true;
	}
	held->view = view;
	held->id = id;
	held->subid = GetCurrentSubTransactionId();
	held->context = AllocSetContextCreate(TopTransactionContext, "readings", ALLOCSET_DEFAULT_SIZES);
	dlist_push_head(&all_held, &held->node);
	return held;
}

/* A copy of a document in the memory of what is held. */
static Jsonb *
held_copy(Held *held, const Jsonb *doc)
{
	Size		size = MAXALIGN(VARSIZE(doc));
	char	   *copy;

	if (size > held->piece_left)
	{
		held->piece_left = Max(size, PIECE_SIZE);
		held->piece = MemoryContextAllocHuge(held->context, held->piece_left);
	}
	copy = held->piece;
	held->piece += size;
	held->piece_left -= size;
	memcpy(copy, doc, VARSIZE(doc));
	return (Jsonb *) copy;
}

static void
held_add(Held *held, const BucketGroup *group, const Reading *reading)
{
	MemoryContext caller = MemoryContextSwitchTo(held->context);
	GroupKey	key = {group->meta, group->start};
	GroupEntry *entry;
	bool		found;

	if (held->groups == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(GroupKey), .entrysize = sizeof(GroupEntry)};

		control.hash = group_hash;
		control.match = group_match;
		control.keycopy = group_copy;
		control.hcxt = held->context;
		held->groups = hash_create("groups", 64, &control,
								   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_KEYCOPY | HASH_CONTEXT);
	}
	entry = hash_search(held->groups, &key, HASH_ENTER, &found);
	if (!found)
	{
		memset(&entry->group, 0, sizeof(BucketGroup));
		entry->key.meta = held_copy(held, group->meta);
		entry->group.meta = entry->key.meta;
		entry->group.start = group->start;
		entry->group.end = group->end;
		held->order = lappend(held->order, &entry->group);
	}
	readings_append(&entry->group.readings, reading->at, held_copy(held, reading->doc), NULL);
	MemoryContextSwitchTo(caller);
}

/* Write what is held. */
static void
held_write(Held *held)
{
	BucketTable *table = bucket_table_get(held->view);
	uint64		n = 0;
	ListCell   *cell;

	if (held->order == NIL)
		return;
	foreach(cell, held->order)
	{
		BucketGroup	   *group = lfirst(cell);

		readings_sort(&group->readings);
		seal_given(table, group);
	}
	foreach(cell, held->order)
		n += ((BucketGroup *) lfirst(cell))->readings.n;
	if (n > 0)
		open_insert_many(table, held->order);
	foreach(cell, held->order)
	{
		BucketGroup	   *group = lfirst(cell);

		seal_count(table, group->meta, group->start, group->readings.n);
	}
	held_reset(held);
}

/* At the end of a statement on this view: write what this subtransaction holds for it. */
void
bucket_table_flush_inserts(Oid view)
{
	SubTransactionId subid = GetCurrentSubTransactionId();
	dlist_iter	iter;

	dlist_foreach(iter, &all_held)
	{
		Held	   *held = dlist_container(Held, node, iter.cur);

		if (held->view == view && held->subid == subid)
			held_write(held);
	}
}

/*
 * Have the view's statement trigger fire once at the end of this query.  The
 * trigger is one for UPDATE and DELETE, so that an INSERT of one row does not pay
 * for it; here it is queued by core's own entry point, with a description of the
 * relation's triggers that holds this one alone.
 */
static void
arm_flush(BucketTable *table, Relation view)
{
	ResultRelInfo *info = makeNode(ResultRelInfo);
	TriggerDesc triggers = {0};
	EState	   *estate = CreateExecutorState();

	InitResultRelInfo(info, view, 1, NULL, 0);
	triggers.triggers = table->flush;
	triggers.numtriggers = 1;
	triggers.trig_delete_after_statement = true;
	info->ri_TrigDesc = &triggers;
	ExecASDeleteTriggers(estate, info, NULL);
	FreeExecutorState(estate);
}

/* Take the first reading of the statement out of the open table again; false if it is no longer there. */
static bool
take_back_first(BucketTable *table, InsertStatement *statement)
{
	OwnerSwitch before;
	Relation	open;
	TM_FailureData failure;
	TM_Result	result;

	owner_enter(table->owner, &before);
	/* what this very command wrote cannot be deleted by it */
	CommandCounterIncrement();
	open = table_open(table->open, RowExclusiveLock);
	result = table_tuple_delete(open, &statement->first.tid, GetCurrentCommandId(true),
								GetActiveSnapshot(), InvalidSnapshot, false, &failure, false);
	table_close(open, NoLock);
	owner_leave(&before);
	return result == TM_Ok;
}

/* The memory of a statement goes; what it held has been written, or its (sub)transaction aborted. */
static void
statement_end(void *arg)
{
	const InsertStatement *statement = arg;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &all_held)
	{
		Held	   *held = dlist_container(Held, node, iter.cur);

		if (held->id == statement->id)
			held_forget(held);
	}
}

/* What is known of the statement; nothing yet at its first reading. */
static InsertStatement *
statement_get(FunctionCallInfo fcinfo)
{
	MemoryContext context = fcinfo->flinfo->fn_mcxt;
	InsertStatement *statement = fcinfo->flinfo->fn_extra;

	if (statement == NULL)
	{
		statement = MemoryContextAllocZero(context, sizeof(InsertStatement));
		statement->id = ++last_id;
		fcinfo->flinfo->fn_extra = statement;
	}
	return statement;
}

/* The first reading of a statement. */
static void
insert_first(FunctionCallInfo fcinfo, InsertStatement *statement, BucketTable *table,
			 const BucketGroup *group, const Reading *reading)
{
	MemoryContext context = fcinfo->flinfo->fn_mcxt;

	open_insert_one(table, group, reading, &statement->first.tid);
	seal_count(table, group->meta, group->start, 1);
	statement->group = *group;
	statement->first.at = reading->at;
	statement->group.meta = MemoryContextAlloc(context, VARSIZE(group->meta));
	memcpy(statement->group.meta, group->meta, VARSIZE(group->meta));
	statement->first.doc = MemoryContextAlloc(context, VARSIZE(reading->doc));
	memcpy(statement->first.doc, reading->doc, VARSIZE(reading->doc));
}

/* All that follow it. */
static void
insert_next(FunctionCallInfo fcinfo, InsertStatement *statement, BucketTable *table, Relation view,
			const BucketGroup *group, const Reading *reading)
{
	if (statement->held == NULL)
	{
		statement->held = held_create(table->view, statement->id);
		statement->end.func = statement_end;
		statement->end.arg = statement;
		MemoryContextRegisterResetCallback(fcinfo->flinfo->fn_mcxt, &statement->end);
		arm_flush(table, view);
		if (take_back_first(table, statement))
			held_add(statement->held, &statement->group, &statement->first);
	}
	held_add(statement->held, group, reading);
	if (MemoryContextMemAllocated(statement->held->context, true) > maintenance_work_mem * (Size) 1024)
		held_write(statement->held);
}

pg_noreturn static void
time_taken(BucketTable *table, const BucketGroup *group, const Reading *reading)
{
	JsonbValue	meta;

	value_from_jsonb(group->meta, &meta);
	ereport(ERROR,
			(errcode(ERRCODE_UNIQUE_VIOLATION),
			 errmsg("reading of this time already exists in \"%s\"", get_rel_name(table->view)),
			 errdetail("The series is %s, the time is %s.", value_to_cstring(&meta),
					   timestamptz_to_str(reading->at))));
}

/* Does a bucket hold a reading of this time?  40001 if the transaction cannot see it. */
static bool
time_is_sealed(BucketTable *table, const BucketGroup *group, TimestampTz at)
{
	Datum		values[] = {JsonbPGetDatum(group->meta), TimestampTzGetDatum(group->start), TimestampTzGetDatum(at)};
	uint64		visible = 0;
	uint64		n;
	bool		found = false;

	if (IsolationUsesXactSnapshot())
		visible = bucket_table_run(table, BUCKET_OF_TIME, values, InvalidSnapshot);
	n = bucket_table_run(table, BUCKET_OF_TIME, values, GetLatestSnapshot());
	for (uint64 i = 0; i < n && !found; i++)
	{
		bool		is_null;
		Datum		array = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &is_null);
		Readings	list = {0};

		readings_of_array(DatumGetJsonbP(array), table->time_field, table->time_len, table->rule.zone, &list);
		for (uint32 j = 0; j < list.n && !found; j++)
			found = list.items[j].at == at;
	}
	if (found && IsolationUsesXactSnapshot() && visible != n)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update")));
	return found;
}

/*
 * Write a reading whose time may be taken.  It gets into the open table first,
 * whose index makes others of the same time wait, and only then buckets are
 * looked into: the other way round a reading could be sealed in between.
 * Returns false if it was ignored.
 */
static bool
insert_unique(BucketTable *table, Relation view, const BucketGroup *group, const Reading *reading, OnDuplicate on_duplicate)
{
	Datum		values[] = {TimestampTzGetDatum(group->start), TimestampTzGetDatum(reading->at),
	JsonbPGetDatum(group->meta), JsonbPGetDatum(reading->doc)};
	OwnerSwitch before;
	bool		inserted;

	owner_enter(table->owner, &before);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	inserted = bucket_table_run(table, on_duplicate == DUPLICATE_REPLACE ? OPEN_REPLACE : OPEN_INSERT,
								values, InvalidSnapshot) > 0;
	if (on_duplicate == DUPLICATE_REPLACE)
		bucket_table_drop_time(table, group, reading->at);
	else if (inserted && time_is_sealed(table, group, reading->at))
	{
		(void) bucket_table_run(table, OPEN_DELETE, values, InvalidSnapshot);
		inserted = false;
	}
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	owner_leave(&before);
	if (!inserted && on_duplicate == DUPLICATE_ERROR)
		time_taken(table, group, reading);
	if (inserted)
		seal_count(table, group->meta, group->start, 1);
	return inserted;
}

/* Write a reading that an UPDATE made or moved. */
void
bucket_table_insert_moved(BucketTable *table, Relation view, const BucketGroup *group, const Reading *reading)
{
	ItemPointerData tid;

	if (table->on_duplicate == DUPLICATE_KEEP)
		open_insert_one(table, group, reading, &tid);
	else
		(void) insert_unique(table, view, group, reading,
							 table->on_duplicate == DUPLICATE_REPLACE ? DUPLICATE_REPLACE : DUPLICATE_ERROR);
}

/* 0A000: a column that follows from the document was given another value. */
pg_noreturn static void
column_assigned(TriggerData *trigger, int column)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot assign to column \"%s\" of view \"%s\"",
					NameStr(TupleDescAttr(RelationGetDescr(trigger->tg_relation), column - 1)->attname),
					RelationGetRelationName(trigger->tg_relation)),
			 errhint("Write the document: the column follows from it.")));
}

/*
 * What a row of the view says: a group without readings, and a reading.  They
 * point into the row or the current memory context.
 */
void
bucket_table_read_row(TriggerData *trigger, HeapTuple row, BucketGroup *group, Reading *reading, bool *given)
{
	Datum		values[VIEW_NCOLUMNS];
	bool		nulls[VIEW_NCOLUMNS];

	memset(group, 0, sizeof(BucketGroup));
	memset(reading, 0, sizeof(Reading));
	heap_deform_tuple(row, RelationGetDescr(trigger->tg_relation), values, nulls);
	if (nulls[VIEW_DOC - 1])
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a reading must not be null")));
	reading->doc = DatumGetJsonbP(values[VIEW_DOC - 1]);
	for (int i = 0; i < VIEW_NCOLUMNS; i++)
		given[i] = !nulls[i];
	if (given[VIEW_META - 1])
		group->meta = DatumGetJsonbP(values[VIEW_META - 1]);
	if (given[VIEW_AT - 1])
		reading->at = DatumGetTimestampTz(values[VIEW_AT - 1]);
	if (given[VIEW_START - 1])
		group->start = DatumGetTimestampTz(values[VIEW_START - 1]);
}

/* The new row of the view, read from its document.  What else it says must be the same. */
static void
new_row(TriggerData *trigger, BucketTable *table, HeapTuple row, BucketGroup *group, Reading *reading)
{
	bool		given[VIEW_NCOLUMNS];
	BucketGroup		said_group;
	Reading		said;

	bucket_table_read_row(trigger, row, &said_group, &said, given);
	memset(group, 0, sizeof(BucketGroup));
	reading->doc = said.doc;
	ItemPointerSetInvalid(&reading->tid);
	reading_read(table, reading->doc, &group->meta, &reading->at);
	bucket_table_window(table, reading->at, &group->start, &group->end);
	if (given[VIEW_META - 1] && jsonb_compare_bytes(said_group.meta, group->meta) != 0)
		column_assigned(trigger, VIEW_META);
	if (given[VIEW_AT - 1] && said.at != reading->at)
		column_assigned(trigger, VIEW_AT);
	if (given[VIEW_START - 1] && said_group.start != group->start)
		column_assigned(trigger, VIEW_START);
}

/*
 * The row that an UPDATE makes.  It says what the old one said beside the
 * document, or somebody assigned to a column: 0A000.
 */
void
bucket_table_changed_row(TriggerData *trigger, BucketTable *table, BucketGroup *group, Reading *reading)
{
	bool		given[VIEW_NCOLUMNS];
	BucketGroup		before_group,
				after_group;
	Reading		before,
				after;

	bucket_table_read_row(trigger, trigger->tg_trigtuple, &before_group, &before, given);
	bucket_table_read_row(trigger, trigger->tg_newtuple, &after_group, &after, given);
	if (!given[VIEW_META - 1] || jsonb_compare_bytes(before_group.meta, after_group.meta) != 0)
		column_assigned(trigger, VIEW_META);
	if (!given[VIEW_AT - 1] || before.at != after.at)
		column_assigned(trigger, VIEW_AT);
	if (!given[VIEW_START - 1] || before_group.start != after_group.start)
		column_assigned(trigger, VIEW_START);
	memset(group, 0, sizeof(BucketGroup));
	*reading = after;
	ItemPointerSetInvalid(&reading->tid);
	reading_read(table, reading->doc, &group->meta, &reading->at);
	bucket_table_window(table, reading->at, &group->start, &group->end);
}

/* The row as it is then in the view, for RETURNING. */
Datum
bucket_table_result_row(TriggerData *trigger, const BucketGroup *group, const Reading *reading)
{
	Datum		values[VIEW_NCOLUMNS];
	bool		nulls[VIEW_NCOLUMNS] = {false, false, false, false};

	values[VIEW_DOC - 1] = JsonbPGetDatum(reading->doc);
	values[VIEW_META - 1] = JsonbPGetDatum(group->meta);
	values[VIEW_AT - 1] = TimestampTzGetDatum(reading->at);
	values[VIEW_START - 1] = TimestampTzGetDatum(group->start);
	return PointerGetDatum(heap_form_tuple(RelationGetDescr(trigger->tg_relation), values, nulls));
}

/* INSTEAD OF INSERT */
Datum
bucket_table_insert(FunctionCallInfo fcinfo, TriggerData *trigger)
{
	BucketTable *table = bucket_table_of_trigger(trigger);
	InsertStatement *statement = fcinfo->flinfo->fn_extra;
	BucketGroup		group;
	Reading		reading;

	new_row(trigger, table, trigger->tg_trigtuple, &group, &reading);
	if (statement == NULL)
	{
		statement = statement_get(fcinfo);
		if (table->on_duplicate == DUPLICATE_KEEP)
		{
			insert_first(fcinfo, statement, table, &group, &reading);
			return bucket_table_result_row(trigger, &group, &reading);
		}
	}
	if (table->on_duplicate == DUPLICATE_KEEP)
		insert_next(fcinfo, statement, table, trigger->tg_relation, &group, &reading);
	else
	{
		if (table->on_duplicate == DUPLICATE_REPLACE && !statement->armed)
			arm_flush(table, trigger->tg_relation);
		statement->armed = true;
		if (!insert_unique(table, trigger->tg_relation, &group, &reading, table->on_duplicate))
			return PointerGetDatum(NULL);
	}
	return bucket_table_result_row(trigger, &group, &reading);
}
