/*
 * patterns/bucket_table_edit_open.c
 *		Bucket pattern: UPDATE and DELETE of readings in the open table.
 *
 * Where duplicates are kept, the index leads to all open readings of a group, of
 * whatever time.  They are taken into memory once, as one snapshot shows them,
 * and what is to be changed is looked for there.  Only then its row is deleted,
 * or the batch locked that it is in; if somebody else was first, the group is
 * looked at anew.  A changed batch is written at the end of the statement.
 *
 * Elsewhere the index leads to the one reading of a time.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

/* A look at a group in the open table. */
typedef struct OpenScan
{
	Relation	open;
	Relation	index;
	TupleTableSlot *slot;
	Snapshot	snapshot;
	CommandId	curcid;			/* of the snapshot, as it was */
	IndexScanDesc scan;
} OpenScan;

static void
scan_begin(OpenScan *scan, BucketTable *table)
{
	scan->open = table_open(table->open, RowExclusiveLock);
	scan->index = open_index_open(table);
	scan->slot = table_slot_create(scan->open, NULL);
	scan->snapshot = RegisterSnapshot(IsolationUsesXactSnapshot() ? GetTransactionSnapshot() : GetLatestSnapshot());
	scan->curcid = scan->snapshot->curcid;
	scan->scan = index_begin_scan(scan->open, scan->index, scan->snapshot, 3, 0);
}

/* Look for rows of the group by the third column of the index, as of a command. */
static void
scan_group(OpenScan *scan, const BucketGroup *group, const ScanKeyData *third, CommandId cid)
{
	ScanKeyData keys[3];

	open_scan_keys(keys, group->meta, group->start);
	keys[2] = *third;
	scan->snapshot->curcid = cid;
	index_rescan(scan->scan, keys, 3, NULL, 0);
}

static bool
scan_next(OpenScan *scan)
{
	CHECK_FOR_INTERRUPTS();
	if (!index_getnext_slot(scan->scan, ForwardScanDirection, scan->slot))
		return false;
	slot_getallattrs(scan->slot);
	return true;
}

static void
scan_end(OpenScan *scan)
{
	index_endscan(scan->scan);
	scan->snapshot->curcid = scan->curcid;
	UnregisterSnapshot(scan->snapshot);
	ExecDropSingleTupleTableSlot(scan->slot);
	index_close(scan->index, AccessShareLock);
	table_close(scan->open, NoLock);
}

/* Delete a row, waiting for whoever changes it; the statement began with this command. */
static Found
delete_row(Relation open, ItemPointer tid, CommandId cid)
{
	TM_FailureData failure;

	switch (table_tuple_delete(open, tid, cid, GetActiveSnapshot(), InvalidSnapshot, true, &failure, false))
	{
		case TM_Ok:
			return FOUND;
		case TM_SelfModified:
			return FOUND_DONE;
		default:
			if (IsolationUsesXactSnapshot())
				concurrent_update();
			return FOUND_ELSEWHERE;
	}
}

/* Where a time is one reading's: delete it, if it is this one. */
static Found
delete_of_time(BucketTable *table, CommandId cid, const BucketGroup *group, const Reading *old)
{
	OpenScan	scan;
	ScanKeyData third;
	Found		found = FOUND_NOT;

	scan_begin(&scan, table);
	ScanKeyInit(&third, 3, BTEqualStrategyNumber, F_TIMESTAMPTZ_EQ, TimestampTzGetDatum(old->at));
	/* what the statement has changed already is seen, and recognised as such */
	scan_group(&scan, group, &third, cid);
	while (found == FOUND_NOT && scan_next(&scan))
		if (jsonb_compare_bytes(old->doc, DatumGetJsonbP(scan.slot->tts_values[OPEN_DOC - 1])) == 0)
			found = delete_row(scan.open, &scan.slot->tts_tid, cid);
	scan_end(&scan);
	return found;
}

/* Lock a batch, waiting for whoever has it; false if it has been changed.  As the owner. */
bool
edited_batch_lock(BucketTable *table, EditedBucket *batch)
{
	Relation	open = table_open(table->open, RowExclusiveLock);
	TupleTableSlot *slot = table_slot_create(open, NULL);
	ItemPointerData tid = batch->tid;
	TM_FailureData failure;
	TM_Result	result = table_tuple_lock(open, &tid, GetActiveSnapshot(), slot, GetCurrentCommandId(true),
										  LockTupleExclusive, LockWaitBlock, 0, &failure);

	ExecDropSingleTupleTableSlot(slot);
	table_close(open, NoLock);
	if (result == TM_SelfModified)
		open_changed_within(table);
	if (result != TM_Ok && IsolationUsesXactSnapshot())
		concurrent_update();
	batch->locked = result == TM_Ok;
	return batch->locked;
}

/* What is in memory of a group, NULL if it is not. */
static EditedOpen *
find_open(const EditedGroup *loaded, const BucketGroup *group)
{
	ListCell   *cell;

	foreach(cell, loaded->open)
	{
		EditedOpen *open = lfirst(cell);

		if (open->start == group->start && same_series(open->meta, group->meta))
			return open;
	}
	return NULL;
}

/* Nothing of the group is in memory yet, or only the batches that are locked.  In edits->loaded. */
static EditedOpen *
clear_open(EditedGroup *loaded, const BucketGroup *group)
{
	EditedOpen *open = find_open(loaded, group);
	List	   *locked = NIL;
	ListCell   *cell;

	if (open == NULL)
	{
		open = palloc0(sizeof(EditedOpen));
		open->meta = palloc(VARSIZE(group->meta));
		memcpy(open->meta, group->meta, VARSIZE(group->meta));
		open->start = group->start;
		loaded->open = lappend(loaded->open, open);
	}
	foreach(cell, open->batches)
		if (((EditedBucket *) lfirst(cell))->locked)
			locked = lappend(locked, lfirst(cell));
	open->batches = locked;
	memset(&open->rows, 0, sizeof(Readings));
	return open;
}

static bool
has_batch(const EditedOpen *open, ItemPointer tid)
{
	ListCell   *cell;

	foreach(cell, open->batches)
		if (ItemPointerEquals(&((EditedBucket *) lfirst(cell))->tid, tid))
			return true;
	return false;
}

/* Take the open readings of a group into memory. */
static EditedOpen *
load_open(BucketTable *table, Edits *edits, EditedGroup *loaded, const BucketGroup *group, CommandId cid)
{
	Size		before = MemoryContextMemAllocated(edits->loaded, false);
	MemoryContext caller;
	EditedOpen *open;
	OpenScan	scan;
	ScanKeyData third;

	scan_begin(&scan, table);
	caller = MemoryContextSwitchTo(edits->loaded);
	open = clear_open(loaded, group);
	/* what the statement has deleted already is seen, and recognised as such */
	ScanKeyEntryInitialize(&third, SK_ISNULL | SK_SEARCHNULL, 3, InvalidStrategy, InvalidOid, InvalidOid, InvalidOid, 0);
	scan_group(&scan, group, &third, cid);
	while (scan_next(&scan))
		readings_append(&open->rows, DatumGetTimestampTz(scan.slot->tts_values[OPEN_AT - 1]),
						DatumGetJsonbPCopy(scan.slot->tts_values[OPEN_DOC - 1]), &scan.slot->tts_tid);
	readings_sort(&open->rows);
	open->done = palloc0(Max(open->rows.n, 1) * sizeof(bool));
	/* and so are the batches that it has written, if memory was short */
	ScanKeyEntryInitialize(&third, SK_ISNULL | SK_SEARCHNOTNULL, 3, InvalidStrategy, InvalidOid, InvalidOid, InvalidOid, 0);
	scan_group(&scan, group, &third, GetCurrentCommandId(false));
	while (scan_next(&scan))
	{
		EditedBucket *batch;

		if (has_batch(open, &scan.slot->tts_tid))
			continue;
		batch = edited_bucket(table, group, NO_BUCKET, scan.slot->tts_values[OPEN_DOC - 1]);
		batch->tid = scan.slot->tts_tid;
		open->batches = lappend(open->batches, batch);
	}
	MemoryContextSwitchTo(caller);
	scan_end(&scan);
	edits_loaded(edits, before);
	return open;
}

/* Delete a reading that is a row, of those in memory. */
static Found
delete_in_memory(BucketTable *table, EditedOpen *open, CommandId cid, const Reading *old)
{
	Relation	relation = table_open(table->open, RowExclusiveLock);
	Found		found = FOUND_NOT;

	for (uint32 i = readings_find(&open->rows, old->at, old->doc);
		 i < open->rows.n && found != FOUND && found != FOUND_ELSEWHERE; i++)
	{
		Reading    *reading = &open->rows.items[i];

		if (reading->at != old->at || jsonb_compare_bytes(reading->doc, old->doc) != 0)
			break;
		found = open->done[i] ? FOUND_DONE : delete_row(relation, &reading->tid, cid);
		open->done[i] = true;
	}
	table_close(relation, NoLock);
	return found;
}

/* Change a reading that is in a batch, of those in memory. */
static Found
edit_in_batch(BucketTable *table, Edits *edits, EditedOpen *open, const Reading *old, const Jsonb *replacement)
{
	Found		result = FOUND_NOT;
	ListCell   *cell;

	foreach(cell, open->batches)
	{
		Found		found = edit_bucket(table, edits, lfirst(cell), old->at, old->doc, replacement);

		if (found == FOUND || found == FOUND_ELSEWHERE)
			return found;
		result = Min(result, found);
	}
	return result;
}

/* Change a reading that is in memory, and where it came from. */
static Found
edit_in_memory(BucketTable *table, Edits *edits, EditedOpen *open, CommandId cid, const Reading *old,
			   const Jsonb *replacement, bool *is_row)
{
	Found		row = delete_in_memory(table, open, cid, old);
	Found		batch;

	*is_row = row == FOUND;
	if (row == FOUND || row == FOUND_ELSEWHERE)
		return row;
	batch = edit_in_batch(table, edits, open, old, replacement);
	return batch == FOUND_ELSEWHERE ? batch : Min(row, batch);
}

/*
 * Change a reading in the open table, where *is_row says whether it was a row of
 * its own, which is then deleted; in a batch, the replacement takes its place.
 * The statement began with this command.  With again, what is in memory of the
 * group is not relied on.  As the owner.
 */
Found
edit_open(BucketTable *table, CommandId cid, const BucketGroup *group, const Reading *old,
		  const Jsonb *replacement, bool again, bool *is_row)
{
	Edits	   *edits;
	EditedGroup *loaded;
	EditedOpen *open;
	Found		found;

	if (table->on_duplicate != DUPLICATE_KEEP)
	{
		while ((found = delete_of_time(table, cid, group, old)) == FOUND_ELSEWHERE)
			 ;
		*is_row = found == FOUND;
		return found;
	}
	edits = edits_get(table->view, true);
	loaded = edits_group(edits, group_hash(table->open, group->meta, group->start), true);
	open = find_open(loaded, group);
	if (open == NULL || again)
		open = load_open(table, edits, loaded, group, cid);
	while ((found = edit_in_memory(table, edits, open, cid, old, replacement, is_row)) == FOUND_ELSEWHERE)
		open = load_open(table, edits, loaded, group, cid);
	return found;
}
