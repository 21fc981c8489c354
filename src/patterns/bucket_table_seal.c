/*
 * patterns/bucket_table_seal.c
 *		Bucket pattern: sealing, which moves readings from the open table into buckets.
 *
 * A group is what one series has in one window.  It is sealed by one transaction
 * at a time, which holds an advisory lock on it until it ends, and whoever does
 * not get the lock leaves the group to the holder: nobody waits.  Readings that
 * another transaction is about to change stay where they are.  The deletions in
 * the open table and the bucket are of one transaction, so that every snapshot
 * sees each reading once.
 *
 * The last bucket of a window is filled up first, then new ones are begun.  The
 * view of bucket documents shows open readings in the same way.
 *
 * A statement that brings many readings of a group at once hands them over in
 * memory, and they never get into the open table.
 *
 * The open rows of a group are taken into memory, batches apart, and sorted by
 * time.  What is left of a batch when full buckets have been made gets back into
 * the open table.  A group for which memory does not suffice is sealed in parts.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

/*
 * Groups share so many locks, since a transaction that seals many would run out
 * of shared memory with one for each.
 */
#define LOCKS_PER_TABLE 256

/* Advisory locks of users are in 1 (a bigint) and 2 (two integers). */
#define LOCK_SPACE 3

/* A statement rewrites a bucket with at most so many times the readings that it brings. */
#define REWRITE_FACTOR 3

/* A row of the open table that holds several readings. */
typedef struct OpenBatch
{
	ItemPointerData tid;
	enum
	{
		BATCH_STORED,
		BATCH_TAKEN,			/* deleted by this transaction */
		BATCH_LOST				/* another transaction is changing it */
	}			state;
} OpenBatch;

/* Sealing, from its beginning to its end. */
typedef struct Seal
{
	BucketTable *table;
	Relation	open;
	Relation	index;
	IndexScanDesc scan;
	MemoryContext scan_context; /* where the scan takes memory, now and then */
	TupleTableSlot *slot;
	Snapshot	snapshot;
	OwnerSwitch before;
	int64		sealed;
	/* the group at hand */
	MemoryContext context;		/* reset for each bucket */
	MemoryContext batches;		/* reset for each group */
	MemoryContext part;			/* open readings of the group; reset when they are sealed */
	MemoryContext next_part;	/* those that are left, with the next */
	Jsonb	   *meta;
	TimestampTz start;
	SealExtent	extent;
	bool		one_group;		/* the scan is of this group alone */
	int32		last_no;		/* -1: no bucket yet */
	int32		last_count;
	Readings	chunk;			/* what goes into the next bucket */
	uint32		room;			/* when it has so many readings */
	bool		must_write;		/* some of them are deleted already */
} Seal;

PG_FUNCTION_INFO_V1(pattern_seal_buckets);

/* The right to seal the group until the transaction ends; false if somebody else has it. */
static bool
lock_group(const Seal *seal)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, seal->table->sealed,
						 (uint32) (group_hash(seal->table->open, seal->meta, seal->start) % LOCKS_PER_TABLE), LOCK_SPACE);
	return LockAcquire(&tag, ExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL;
}

static void
seal_begin(Seal *seal, BucketTable *table, MemoryContext context)
{
	memset(seal, 0, sizeof(Seal));
	seal->table = table;
	owner_enter(table->owner, &seal->before);
	/* so that what this very statement wrote is seen */
	CommandCounterIncrement();
	seal->open = table_open(table->open, RowExclusiveLock);
	seal->index = open_index_open(table);
	seal->slot = table_slot_create(seal->open, NULL);
	seal->context = AllocSetContextCreate(context, "bucket", ALLOCSET_DEFAULT_SIZES);
	seal->batches = AllocSetContextCreate(context, "batches", ALLOCSET_SMALL_SIZES);
	seal->part = AllocSetContextCreate(context, "open readings", ALLOCSET_DEFAULT_SIZES);
	seal->next_part = AllocSetContextCreate(context, "open readings", ALLOCSET_DEFAULT_SIZES);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

/* Scan the open table, of one group or whole, with a snapshot taken after the lock. */
static void
seal_scan(Seal *seal, ScanKey keys, int nkeys)
{
	seal->snapshot = RegisterSnapshot(IsolationUsesXactSnapshot() ? GetTransactionSnapshot() : GetLatestSnapshot());
	seal->scan = index_begin_scan(seal->open, seal->index, seal->snapshot, nkeys, 0);
	seal->scan_context = CurrentMemoryContext;
	index_rescan(seal->scan, keys, nkeys, NULL, 0);
}

static void
seal_end(Seal *seal)
{
	if (seal->scan != NULL)
	{
		index_endscan(seal->scan);
		UnregisterSnapshot(seal->snapshot);
	}
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	MemoryContextDelete(seal->context);
	MemoryContextDelete(seal->batches);
	MemoryContextDelete(seal->part);
	MemoryContextDelete(seal->next_part);
	ExecDropSingleTupleTableSlot(seal->slot);
	index_close(seal->index, AccessShareLock);
	table_close(seal->open, NoLock);
	owner_leave(&seal->before);
	/* so that what follows sees it */
	CommandCounterIncrement();
}

/* The next reading of the scan, in the slot; false at the end. */
static bool
seal_next(Seal *seal)
{
	MemoryContext caller = MemoryContextSwitchTo(seal->scan_context);
	bool		found;

	CHECK_FOR_INTERRUPTS();
	found = index_getnext_slot(seal->scan, ForwardScanDirection, seal->slot);
	MemoryContextSwitchTo(caller);
	if (found)
		slot_getallattrs(seal->slot);
	else
		ExecClearTuple(seal->slot);
	return found;
}

static TimestampTz
slot_time(const Seal *seal, int column)
{
	return DatumGetTimestampTz(seal->slot->tts_values[column - 1]);
}

/* A jsonb of the slot, copied. */
static Jsonb *
slot_jsonb(const Seal *seal, int column)
{
	return DatumGetJsonbPCopy(seal->slot->tts_values[column - 1]);
}

/* The number and count of the group's last bucket, -1 and 0 if there is none. */
static void
find_last(Seal *seal, Snapshot snapshot, int32 *no, int32 *count)
{
	Datum		values[] = {JsonbPGetDatum(seal->meta), TimestampTzGetDatum(seal->start)};
	bool		is_null;

	*no = -1;
	*count = 0;
	if (bucket_table_run(seal->table, BUCKET_LAST, values, snapshot) > 0)
	{
		HeapTuple	row = SPI_tuptable->vals[0];

		*no = DatumGetInt32(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &is_null));
		*count = DatumGetInt32(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &is_null));
	}
	SPI_freetuptable(SPI_tuptable);
}

static void
set_room(Seal *seal)
{
	int32		capacity = seal->table->capacity;

	seal->room = seal->last_no >= 0 && seal->last_count < capacity ?
		capacity - seal->last_count : capacity;
}

/*
 * Turn to a group, which the caller has locked.  false if the transaction's
 * snapshot does not show its last bucket: then it cannot be sealed here.
 */
static bool
begin_group(Seal *seal, SealExtent extent)
{
	find_last(seal, GetLatestSnapshot(), &seal->last_no, &seal->last_count);
	if (IsolationUsesXactSnapshot())
	{
		int32		no,
					count;

		find_last(seal, InvalidSnapshot, &no, &count);
		if (no != seal->last_no || count != seal->last_count)
			return false;
	}
	seal->extent = extent;
	seal->must_write = false;
	memset(&seal->chunk, 0, sizeof(Readings));
	set_room(seal);
	return true;
}

/* Delete a row of the open table; false if another transaction is changing it. */
static bool
delete_one(Seal *seal, ItemPointer tid)
{
	TM_FailureData failure;

	return table_tuple_delete(seal->open, tid, GetCurrentCommandId(true), seal->snapshot, InvalidSnapshot,
							  false, &failure, false) == TM_Ok;
}

/* The reading goes from the open table into the next bucket; false if another transaction is changing it. */
static bool
take_open(Seal *seal, Reading *reading)
{
	OpenBatch  *batch = reading->batch;

	if (batch != NULL)
	{
		if (batch->state == BATCH_STORED)
			batch->state = delete_one(seal, &batch->tid) ? BATCH_TAKEN : BATCH_LOST;
		if (batch->state == BATCH_LOST)
			return false;
	}
	else if (!delete_one(seal, &reading->tid))
		return false;
	reading->batch = NULL;
	ItemPointerSetInvalid(&reading->tid);
	seal->sealed++;
	seal->must_write = true;
	return true;
}

/* Take the chunk's readings out of the open table; those that others are changing stay there. */
static void
delete_open(Seal *seal)
{
	Readings   *chunk = &seal->chunk;
	uint32		n = 0;

	for (uint32 i = 0; i < chunk->n; i++)
	{
		Reading    *reading = &chunk->items[i];

		if ((reading->batch != NULL || ItemPointerIsValid(&reading->tid)) && !take_open(seal, reading))
			continue;
		chunk->items[n++] = *reading;
	}
	chunk->n = n;
}

/* Lock the last bucket and put its readings before the chunk's; false if somebody else has it. */
static bool
take_last(Seal *seal)
{
	BucketTable *table = seal->table;
	Datum		values[] = {JsonbPGetDatum(seal->meta), TimestampTzGetDatum(seal->start), Int32GetDatum(seal->last_no)};
	Readings	list = {0};
	bool		is_null;
	bool		taken = false;

	if (bucket_table_run(table, BUCKET_LOCK_LAST, values, InvalidSnapshot) > 0)
	{
		HeapTuple	row = SPI_tuptable->vals[0];
		int32		count = DatumGetInt32(SPI_getbinval(row, SPI_tuptable->tupdesc, 1, &is_null));

		if (count <= seal->last_count)
		{
			Jsonb	   *array = DatumGetJsonbP(SPI_getbinval(row, SPI_tuptable->tupdesc, 2, &is_null));

			readings_of_array(array, table->time_field, table->time_len, table->rule.zone, &list);
			for (uint32 i = 0; i < seal->chunk.n; i++)
				readings_append(&list, seal->chunk.items[i].at, seal->chunk.items[i].doc, NULL);
			seal->chunk = list;
			taken = true;
		}
	}
	SPI_freetuptable(SPI_tuptable);
	return taken;
}

/* Write the chunk as a bucket, merged into the last one if that has room. */
static void
write_bucket(Seal *seal)
{
	BucketTable *table = seal->table;
	Readings   *chunk = &seal->chunk;
	bool		merged = seal->last_no >= 0 && seal->last_count < table->capacity && take_last(seal);

	if (!merged)
		seal->last_no++;
	seal->last_count = chunk->n;
	bucket_table_put(table, merged ? BUCKET_UPDATE : BUCKET_INSERT, seal->meta, seal->start, seal->last_no, chunk);
	MemoryContextReset(seal->context);
	memset(chunk, 0, sizeof(Readings));
	seal->must_write = false;
	set_room(seal);
}

/* Add a reading of the group. */
static void
add_reading(Seal *seal, const Reading *reading)
{
	readings_append(&seal->chunk, reading->at, reading->doc, NULL);
	seal->chunk.items[seal->chunk.n - 1] = *reading;
	if (seal->chunk.n < seal->room)
		return;
	delete_open(seal);
	if (seal->chunk.n == seal->room)
		write_bucket(seal);
}

/*
 * Does what is left of the group go into a bucket that is not full?  If not it
 * stays open, where the view shows it as a part of the last bucket.
 */
static bool
write_rest(const Seal *seal)
{
	bool		has_room = seal->last_no >= 0 && seal->last_count < seal->table->capacity;

	if (seal->extent == SEAL_ALL || seal->must_write)
		return true;
	if (seal->extent == SEAL_FULL || seal->chunk.n < FEW_READINGS)
		return false;
	return !has_room || seal->last_count <= (uint64) REWRITE_FACTOR * seal->chunk.n;
}

/*
 * The group is complete.  What is left in the chunk is of no bucket: what was in
 * batches that are no more gets back into the open table, what the statement
 * gave gets back to it.
 */
static void
end_group(Seal *seal, Readings *given)
{
	MemoryContext caller = MemoryContextSwitchTo(seal->context);
	BucketGroup rest = {.meta = seal->meta, .start = seal->start};
	uint32		n = 0;

	if (seal->chunk.n > 0 && write_rest(seal))
	{
		delete_open(seal);
		if (seal->chunk.n > 0)
			write_bucket(seal);
	}
	for (uint32 i = 0; i < seal->chunk.n; i++)
	{
		const Reading *reading = &seal->chunk.items[i];

		if (reading->batch != NULL && reading->batch->state == BATCH_TAKEN)
			readings_append(&rest.readings, reading->at, reading->doc, NULL);
		else if (reading->batch == NULL && !ItemPointerIsValid(&reading->tid))
			given->items[n++] = *reading;
	}
	given->n = n;
	if (rest.readings.n > 0)
		open_insert_many(seal->table, list_make1(&rest));
	MemoryContextSwitchTo(caller);
}

/* Is the reading in the slot of the group at hand? */
static bool
same_group(const Seal *seal)
{
	struct varlena *meta = (struct varlena *) DatumGetPointer(seal->slot->tts_values[OPEN_META - 1]);

	if (slot_time(seal, OPEN_START) != seal->start)
		return false;
	if (!VARATT_IS_EXTENDED(meta) || VARATT_IS_SHORT(meta))
		if (VARSIZE_ANY_EXHDR(meta) == VARSIZE(seal->meta) - VARHDRSZ &&
			memcmp(VARDATA_ANY(meta), VARDATA(seal->meta), VARSIZE_ANY_EXHDR(meta)) == 0)
			return true;
	return DatumGetBool(DirectFunctionCall2(jsonb_eq, PointerGetDatum(meta), JsonbPGetDatum(seal->meta)));
}

/* To the next row of the group; false if the slot holds a row of another, or none. */
static bool
next_of_group(Seal *seal)
{
	return seal_next(seal) && (seal->one_group || same_group(seal));
}

/* Append the readings of the row in the slot.  In seal->part. */
static void
take_row(Seal *seal, Readings *result)
{
	const BucketTable *table = seal->table;
	Jsonb	   *doc = slot_jsonb(seal, OPEN_DOC);
	uint32		n = result->n;
	OpenBatch  *batch;

	if (seal->slot->tts_isnull[OPEN_LAST - 1])
	{
		readings_append(result, slot_time(seal, OPEN_AT), doc, &seal->slot->tts_tid);
		return;
	}
	batch = MemoryContextAlloc(seal->batches, sizeof(OpenBatch));
	batch->tid = seal->slot->tts_tid;
	batch->state = BATCH_STORED;
	readings_of_array(doc, table->time_field, table->time_len, table->rule.zone, result);
	for (; n < result->n; n++)
		result->items[n].batch = batch;
	pfree(doc);
}

/* Seal readings, in the order of their times, as far as they fill buckets. */
static void
seal_readings(Seal *seal, Readings *list)
{
	MemoryContext caller = MemoryContextSwitchTo(seal->context);

	readings_sort(list);
	for (uint32 i = 0; i < list->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		add_reading(seal, &list->items[i]);
	}
	MemoryContextSwitchTo(caller);
}

/*
 * Before the next part of a group: what the chunk holds goes on with it, and the
 * memory of this part is free.  What has been deleted already is written.
 */
static void
next_part(Seal *seal, Readings *list)
{
	MemoryContext part = seal->part;
	MemoryContext caller = MemoryContextSwitchTo(seal->context);

	if (seal->must_write)
	{
		delete_open(seal);
		write_bucket(seal);
	}
	MemoryContextSwitchTo(seal->next_part);
	memset(list, 0, sizeof(Readings));
	for (uint32 i = 0; i < seal->chunk.n; i++)
	{
		Reading		reading = seal->chunk.items[i];

		/* those of a statement have their memory */
		if (reading.batch != NULL || ItemPointerIsValid(&reading.tid))
			reading.doc = DatumGetJsonbPCopy(JsonbPGetDatum(reading.doc));
		readings_append(list, reading.at, reading.doc, NULL);
		list->items[i] = reading;
	}
	MemoryContextSwitchTo(caller);
	memset(&seal->chunk, 0, sizeof(Readings));
	MemoryContextReset(seal->context);
	MemoryContextReset(part);
	seal->part = seal->next_part;
	seal->next_part = part;
}

/*
 * Seal a group, whose first row in the open table, if it has one, is in the
 * slot, together with readings that a statement brings: those that do not get
 * into a bucket are left there.  A part of it is as much as fills a bucket, and
 * more if there is memory for it.
 */
static void
seal_group(Seal *seal, Readings *given, bool has_row)
{
	Readings	list = *given;

	if (has_row)
	{
		MemoryContext caller = MemoryContextSwitchTo(seal->part);

		memset(&list, 0, sizeof(Readings));
		for (uint32 i = 0; i < given->n; i++)
			readings_append(&list, given->items[i].at, given->items[i].doc, NULL);
		MemoryContextSwitchTo(caller);
	}
	for (;;)
	{
		MemoryContext caller = MemoryContextSwitchTo(seal->part);

		while (has_row && (list.n < seal->room ||
						   MemoryContextMemAllocated(seal->part, true) < maintenance_work_mem * (Size) 1024))
		{
			take_row(seal, &list);
			has_row = next_of_group(seal);
		}
		MemoryContextSwitchTo(caller);
		seal_readings(seal, &list);
		if (!has_row)
			break;
		next_part(seal, &list);
	}
	end_group(seal, given);
	MemoryContextReset(seal->context);
	MemoryContextReset(seal->part);
	MemoryContextReset(seal->batches);
}

/*
 * Seal a group together with readings that a statement brings.  Those that do
 * not get into a bucket are left in group->readings, and belong into the open
 * table.
 */
void
seal_one(BucketTable *table, BucketGroup *group, SealExtent extent)
{
	ScanKeyData keys[2];
	Seal		seal;

	if (!bucket_table_settle_edits(table->view))
		return;
	seal_begin(&seal, table, CurrentMemoryContext);
	seal.meta = group->meta;
	seal.start = group->start;
	seal.one_group = true;
	if (lock_group(&seal))
	{
		open_scan_keys(keys, seal.meta, seal.start);
		seal_scan(&seal, keys, 2);
		if (begin_group(&seal, extent))
			seal_group(&seal, &group->readings, seal_next(&seal));
	}
	seal_end(&seal);
}

/* Begin with the group of the reading in the slot; false if it is not to be sealed now. */
static bool
enter_group(Seal *seal, MemoryContext groups, TimestampTz limit)
{
	MemoryContext caller;
	bool		over,
				entered;

	MemoryContextReset(groups);
	caller = MemoryContextSwitchTo(groups);
	seal->meta = slot_jsonb(seal, OPEN_META);
	seal->start = slot_time(seal, OPEN_START);
	over = window_end(&seal->table->rule, seal->start) <= limit;
	entered = lock_group(seal) && begin_group(seal, over ? SEAL_ALL : SEAL_FULL);
	MemoryContextSwitchTo(caller);
	return entered;
}

/* Seal all groups whose windows end by the limit, and the full buckets of others. */
static int64
seal_all(BucketTable *table, TimestampTz limit)
{
	MemoryContext groups = AllocSetContextCreate(CurrentMemoryContext, "bucket group", ALLOCSET_SMALL_SIZES);
	Readings	none = {0};
	Seal		seal;

	if (!bucket_table_settle_edits(table->view))
		return 0;
	seal_begin(&seal, table, CurrentMemoryContext);
	seal_scan(&seal, NULL, 0);
	(void) seal_next(&seal);
	while (!TTS_EMPTY(seal.slot))
	{
		if (enter_group(&seal, groups, limit))
			seal_group(&seal, &none, true);
		else
			while (next_of_group(&seal))
				 ;
	}
	seal_end(&seal);
	MemoryContextDelete(groups);
	return seal.sealed;
}

/* seal_buckets(name regclass, before timestamptz DEFAULT NULL) → bigint */
Datum
pattern_seal_buckets(PG_FUNCTION_ARGS)
{
	BucketTable *table = bucket_table_argument(fcinfo, 0, true);
	TimestampTz limit = PG_ARGISNULL(1) ? GetCurrentTransactionStartTimestamp() : PG_GETARG_TIMESTAMPTZ(1);

	PreventCommandIfReadOnly("seal_buckets()");
	PG_RETURN_INT64(seal_all(table, limit));
}
