/*
 * patterns/bucket_table_open.c
 *		Bucket pattern: writes to the open table.
 *
 * Where nothing asks for the time of a reading, rows and index entries are
 * written directly: a statement of its own for each would cost as much again as
 * the INSERT that brought it.  What a statement brings of one series gets into
 * few rows, as batches: a row and its index entry cost as much as all the rest of
 * a reading's way.  Constraints and triggers that somebody adds to the open table
 * are not looked at; indexes are kept.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

/* Rows are written by so many. */
#define ROWS_AT_ONCE 100

/* Readings of a group make a batch from so many on. */
#define LEAST_IN_BATCH 4

/* A batch has about so many bytes, before it is compressed. */
#define BATCH_BYTES 16384

/* The open table while it is written to. */
typedef struct OpenWriter
{
	OwnerSwitch before;
	Relation	open;
	EState	   *estate;
	ResultRelInfo *info;
	/* rows that are to be written */
	TupleTableSlot *slots[ROWS_AT_ONCE];
	int			nslots;
	int			nrows;
} OpenWriter;

static void
open_begin(OpenWriter *writer, BucketTable *table)
{
	owner_enter(table->owner, &writer->before);
	writer->open = table_open(table->open, RowExclusiveLock);
	writer->estate = CreateExecutorState();
	writer->info = makeNode(ResultRelInfo);
	writer->nslots = writer->nrows = 0;
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

/*
 * The index of the open table, which the caller has locked: what was known of it
 * before may have been replaced meanwhile, and nothing replaces it from then on.
 */
Relation
open_index_open(const BucketTable *table)
{
	return index_open(bucket_table_get(table->view)->open_index, AccessShareLock);
}

/* A row of the open table: a reading, or a batch. */
static void
open_store(TupleTableSlot *slot, const BucketGroup *group, TimestampTz at, const TimestampTz *last, const Jsonb *doc)
{
	ExecClearTuple(slot);
	memset(slot->tts_isnull, 0, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (int i = OPEN_NCOLUMNS; i < slot->tts_tupleDescriptor->natts; i++)
		slot->tts_isnull[i] = true;
	if (last != NULL)
		slot->tts_values[OPEN_LAST - 1] = TimestampTzGetDatum(*last);
	else
		slot->tts_isnull[OPEN_LAST - 1] = true;
	slot->tts_values[OPEN_START - 1] = TimestampTzGetDatum(group->start);
	slot->tts_values[OPEN_AT - 1] = TimestampTzGetDatum(at);
	slot->tts_values[OPEN_META - 1] = JsonbPGetDatum(group->meta);
	slot->tts_values[OPEN_DOC - 1] = JsonbPGetDatum(doc);
	ExecStoreVirtualTuple(slot);
}

/* Write a reading to the open table, where it is then at *tid. */
void
open_insert_one(BucketTable *table, const BucketGroup *group, const Reading *reading, ItemPointer tid)
{
	OpenWriter	writer;
	TupleTableSlot *slot;

	open_begin(&writer, table);
	slot = table_slot_create(writer.open, &writer.estate->es_tupleTable);
	open_store(slot, group, reading->at, NULL, reading->doc);
	table_tuple_insert(writer.open, slot, GetCurrentCommandId(true), 0, NULL);
	if (writer.info->ri_NumIndices > 0)
		(void) exec_insert_index_tuples(writer.info, slot, writer.estate);
	*tid = slot->tts_tid;
	open_end(&writer);
}

/* Write the rows in the slots. */
static void
write_rows(OpenWriter *writer)
{
	CHECK_FOR_INTERRUPTS();
	if (writer->nrows == 0)
		return;
	table_multi_insert(writer->open, writer->slots, writer->nrows, GetCurrentCommandId(true), 0, NULL);
	for (int i = 0; i < writer->nrows; i++)
	{
		if (writer->info->ri_NumIndices > 0)
			(void) exec_insert_index_tuples(writer->info, writer->slots[i], writer->estate);
		ExecClearTuple(writer->slots[i]);
	}
	writer->nrows = 0;
	ResetPerTupleExprContext(writer->estate);
}

/* How many readings from `first` on go into one row. */
static uint32
readings_of_row(const Readings *list, uint32 first)
{
	Size		size = 0;
	uint32		n = 0;

	if (list->n < LEAST_IN_BATCH)
		return 1;
	while (first + n < list->n && (n == 0 || size + VARSIZE(list->items[first + n].doc) <= BATCH_BYTES))
		size += VARSIZE(list->items[first + n++].doc);
	return n;
}

/* Put readings of a group into the next slot, as a row of their own or as a batch. */
static void
open_put(OpenWriter *writer, const BucketGroup *group, uint32 first, uint32 n)
{
	const Reading *reading = &group->readings.items[first];
	TupleTableSlot *slot;
	MemoryContext caller;
	Jsonb	   *array;

	if (writer->nrows == writer->nslots)
		writer->slots[writer->nslots++] = table_slot_create(writer->open, &writer->estate->es_tupleTable);
	slot = writer->slots[writer->nrows++];
	if (n == 1)
		open_store(slot, group, reading->at, NULL, reading->doc);
	else
	{
		caller = MemoryContextSwitchTo(GetPerTupleMemoryContext(writer->estate));
		readings_finish(&group->readings, first, n, &array, NULL);
		open_store(slot, group, reading->at, &reading[n - 1].at, array);
		MemoryContextSwitchTo(caller);
	}
	if (writer->nrows == ROWS_AT_ONCE)
		write_rows(writer);
}

/* Write all readings of the groups, each in the order of their times, to the open table, which keeps duplicates. */
void
open_insert_many(BucketTable *table, List *groups)
{
	OpenWriter	writer;
	ListCell   *cell;

	open_begin(&writer, table);
	foreach(cell, groups)
	{
		const BucketGroup *group = lfirst(cell);
		uint32		n;

		for (uint32 i = 0; i < group->readings.n; i += n)
		{
			n = readings_of_row(&group->readings, i);
			open_put(&writer, group, i, n);
		}
	}
	write_rows(&writer);
	open_end(&writer);
}

/* 27000: something that a statement set off has changed what it is changing. */
pg_noreturn void
open_changed_within(BucketTable *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
			 errmsg("readings to be changed were already changed in \"%s\" by the same statement",
					get_rel_name(table->open)),
			 errhint("Write to \"%s\" instead.", get_rel_name(table->view))));
}

/* Delete a row that this transaction has locked.  As the owner. */
void
open_delete_locked(BucketTable *table, ItemPointer tid)
{
	Relation	open = table_open(table->open, RowExclusiveLock);
	TM_FailureData failure;

	if (table_tuple_delete(open, tid, GetCurrentCommandId(true), GetActiveSnapshot(), InvalidSnapshot,
						   true, &failure, false) != TM_Ok)
		open_changed_within(table);
	table_close(open, NoLock);
}

/* Take a reading that this transaction wrote out of the open table again; false if it is no longer there. */
bool
open_take_back(BucketTable *table, Reading *reading)
{
	OwnerSwitch before;
	Relation	open;
	TupleTableSlot *slot;
	Snapshot	snapshot;
	TM_FailureData failure;
	bool		deleted;

	owner_enter(table->owner, &before);
	/* what this very command wrote cannot be deleted by it */
	CommandCounterIncrement();
	open = table_open(table->open, RowExclusiveLock);
	slot = table_slot_create(open, NULL);
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	/* it may have been sealed */
	deleted = table_tuple_fetch_row_version(open, &reading->tid, snapshot, slot) &&
		table_tuple_delete(open, &reading->tid, GetCurrentCommandId(true), snapshot,
						   InvalidSnapshot, false, &failure, false) == TM_Ok;
	UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(slot);
	table_close(open, NoLock);
	owner_leave(&before);
	return deleted;
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

/* Does the snapshot show a reading of this time in a bucket? */
static bool
bucket_has_time(BucketTable *table, const BucketGroup *group, TimestampTz at, Snapshot snapshot)
{
	Datum		values[] = {JsonbPGetDatum(group->meta), TimestampTzGetDatum(group->start), TimestampTzGetDatum(at)};
	uint64		n = bucket_table_run(table, BUCKET_OF_TIME, values, snapshot);
	bool		found = false;

	for (uint64 i = 0; i < n && !found; i++)
	{
		bool		is_null;
		Datum		array = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2, &is_null);
		Readings	list = {0};

		readings_of_array(DatumGetJsonbP(array), table->time_field, table->time_len, table->rule.zone, &list);
		for (uint32 j = 0; j < list.n && !found; j++)
			found = list.items[j].at == at;
	}
	SPI_freetuptable(SPI_tuptable);
	return found;
}

/* Does a bucket hold a reading of this time?  40001 if the transaction cannot see it.  Inside SPI, as the owner. */
bool
time_is_sealed(BucketTable *table, const BucketGroup *group, TimestampTz at)
{
	bool		found = bucket_has_time(table, group, at, GetLatestSnapshot());

	if (found && IsolationUsesXactSnapshot() && !bucket_has_time(table, group, at, InvalidSnapshot))
		concurrent_update();
	return found;
}

/*
 * Write a reading whose time may be taken.  It gets into the open table first,
 * whose index makes others of the same time wait, and only then buckets are
 * looked into: the other way round a reading could be sealed in between.
 * Returns false if it was ignored.  An UPDATE that moved the reading may come
 * upon the one that it replaces.
 */
bool
open_insert_unique(BucketTable *table, const BucketGroup *group, const Reading *reading, OnDuplicate on_duplicate,
				   bool moved)
{
	Datum		values[] = {TimestampTzGetDatum(group->start), TimestampTzGetDatum(reading->at),
	JsonbPGetDatum(group->meta), JsonbPGetDatum(reading->doc)};
	OwnerSwitch before;
	bool		inserted;

	/* what an UPDATE has taken out of a bucket is not in the way */
	if (on_duplicate != DUPLICATE_REPLACE)
		(void) bucket_table_settle_edits(table->view);
	owner_enter(table->owner, &before);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	inserted = bucket_table_run(table, on_duplicate == DUPLICATE_REPLACE ? OPEN_REPLACE : OPEN_INSERT,
								values, InvalidSnapshot) > 0;
	if (on_duplicate == DUPLICATE_REPLACE)
		bucket_table_drop_time(table, group, reading->at, moved);
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
open_insert_moved(BucketTable *table, const BucketGroup *group, const Reading *reading)
{
	ItemPointerData tid;

	if (table->on_duplicate == DUPLICATE_KEEP)
		open_insert_one(table, group, reading, &tid);
	else
		(void) open_insert_unique(table, group, reading,
							 table->on_duplicate == DUPLICATE_REPLACE ? DUPLICATE_REPLACE : DUPLICATE_ERROR, true);
}
