/*
 * patterns/bucket_table_edit.c
 *		Bucket pattern: UPDATE and DELETE of readings.
 *
 * A reading has no identity but what it says: its series, its time and its
 * document, and among equal ones any is as good as another.  Sealing may move it
 * between the moment that a statement reads it and the moment that it is to be
 * changed; so it is looked for in the open table, and then in buckets.  It moves
 * in that direction only, so it cannot be missed.
 *
 * A bucket is locked and taken apart once, however many of its readings a
 * statement changes, and is written once, at the end of the statement.  Its
 * summary is then made anew, since a minimum cannot be subtracted from.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/spi.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

/* What becomes of a reading. */
typedef struct Edit
{
	bool		done;
	Jsonb	   *replacement;	/* NULL: it goes */
} Edit;

/* A bucket that is being changed. */
typedef struct EditedBucket
{
	Jsonb	   *meta;
	TimestampTz start;
	int32		bucket_no;
	Readings	readings;
	Edit	   *edits;			/* as many */
	bool		changed;
} EditedBucket;

/* What a subtransaction changes in the buckets of one table, until the statement's end. */
typedef struct Edits
{
	dlist_node	node;
	Oid			view;
	SubTransactionId subid;
	MemoryContext context;		/* holds this, too */
	List	   *buckets;		/* of EditedBucket, the last one first */
} Edits;

/* An UPDATE or DELETE, from its first row on. */
typedef struct EditStatement
{
	CommandId	cid;			/* when it began */
} EditStatement;

/* What came of looking for a reading. */
typedef enum Found
{
	FOUND,
	FOUND_DONE,					/* this very statement has changed it already */
	FOUND_NOT
} Found;

static dlist_head all_edits = DLIST_STATIC_INIT(all_edits);

static void
edits_forget(Edits *edits)
{
	dlist_delete(&edits->node);
	MemoryContextDelete(edits->context);
}

static void
edits_end_subtransaction(SubXactEvent event, SubTransactionId subid, SubTransactionId parent, void *arg)
{
	dlist_mutable_iter iter;

	if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
		return;
	dlist_foreach_modify(iter, &all_edits)
	{
		Edits	   *edits = dlist_container(Edits, node, iter.cur);

		if (edits->subid != subid)
			continue;
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			edits->subid = parent;
		else
			edits_forget(edits);
	}
}

static void
edits_end_transaction(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		dlist_init(&all_edits);
}

/* What this subtransaction changes in the table; with create, begun if it is nothing yet. */
static Edits *
edits_get(Oid view, bool create)
{
	static bool registered = false;
	SubTransactionId subid = GetCurrentSubTransactionId();
	MemoryContext context;
	Edits	   *edits;
	dlist_iter	iter;

	dlist_foreach(iter, &all_edits)
	{
		edits = dlist_container(Edits, node, iter.cur);
		if (edits->view == view && edits->subid == subid)
			return edits;
	}
	if (!create)
		return NULL;
	if (!registered)
	{
		RegisterSubXactCallback(edits_end_subtransaction, NULL);
		RegisterXactCallback(edits_end_transaction, NULL);
		registered = true;
	}
	if (!bucket_table_settle_edits(view))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("cannot change buckets of \"%s\" within a statement that changes them",
						get_rel_name(view)),
				 errdetail("The outer statement began before the subtransaction of this one.")));
	context = AllocSetContextCreate(TopTransactionContext, "edited buckets", ALLOCSET_DEFAULT_SIZES);
	edits = MemoryContextAllocZero(context, sizeof(Edits));
	edits->view = view;
	edits->subid = subid;
	edits->context = context;
	dlist_push_head(&all_edits, &edits->node);
	return edits;
}

/* Write a changed bucket; runs inside SPI, as the owner. */
static void
write_bucket(BucketTable *table, EditedBucket *bucket)
{
	Readings	left = {0};
	Jsonb	   *array,
			   *summary;
	Datum		key[] = {JsonbPGetDatum(bucket->meta), TimestampTzGetDatum(bucket->start), Int32GetDatum(bucket->bucket_no)};
	Datum		values[SEALED_NCOLUMNS];

	for (uint32 i = 0; i < bucket->readings.n; i++)
	{
		const Edit *edit = &bucket->edits[i];
		const Reading *reading = &bucket->readings.items[i];

		if (!edit->done)
			readings_append(&left, reading->at, reading->doc, NULL);
		else if (edit->replacement != NULL)
			readings_append(&left, reading->at, edit->replacement, NULL);
	}
	if (left.n == 0)
	{
		(void) bucket_table_run(table, BUCKET_DELETE, key, InvalidSnapshot);
		return;
	}
	readings_sort(&left);
	readings_finish(&left, 0, left.n, &array, &summary);
	values[SEALED_START - 1] = TimestampTzGetDatum(bucket->start);
	values[SEALED_END - 1] = TimestampTzGetDatum(window_end(&table->rule, bucket->start));
	values[SEALED_FIRST - 1] = TimestampTzGetDatum(left.items[0].at);
	values[SEALED_LAST - 1] = TimestampTzGetDatum(left.items[left.n - 1].at);
	values[SEALED_NO - 1] = Int32GetDatum(bucket->bucket_no);
	values[SEALED_COUNT - 1] = Int32GetDatum(left.n);
	values[SEALED_META - 1] = JsonbPGetDatum(bucket->meta);
	values[SEALED_SUMMARY - 1] = JsonbPGetDatum(summary);
	values[SEALED_READINGS - 1] = JsonbPGetDatum(array);
	(void) bucket_table_run(table, BUCKET_UPDATE, values, InvalidSnapshot);
}

static void
spi_connect(void)
{
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

static void
spi_finish(void)
{
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
}

/* At the end of a statement: write the buckets that it changed. */
void
bucket_table_flush_edits(Oid view)
{
	Edits	   *edits = edits_get(view, false);
	BucketTable *table;
	OwnerSwitch before;
	ListCell   *cell;

	if (edits == NULL)
		return;
	table = bucket_table_get(view);
	owner_enter(table->owner, &before);
	foreach(cell, edits->buckets)
	{
		EditedBucket *bucket = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (!bucket->changed)
			continue;
		spi_connect();
		write_bucket(table, bucket);
		spi_finish();
	}
	edits_forget(edits);
	owner_leave(&before);
	CommandCounterIncrement();
}

/*
 * Before buckets are changed otherwise: write what a statement of this
 * subtransaction has changed in them.  false if one of an outer subtransaction
 * is at it, whose copies of buckets would be out of date.
 */
bool
bucket_table_settle_edits(Oid view)
{
	dlist_iter	iter;

	bucket_table_flush_edits(view);
	dlist_foreach(iter, &all_edits)
		if (dlist_container(Edits, node, iter.cur)->view == view)
			return false;
	return true;
}

/* Lock a bucket, waiting for whoever has it, and take it apart; NULL if it is gone.  Runs inside SPI. */
static EditedBucket *
load_bucket(BucketTable *table, Edits *edits, const BucketGroup *group, int32 bucket_no)
{
	Datum		values[] = {JsonbPGetDatum(group->meta), TimestampTzGetDatum(group->start), Int32GetDatum(bucket_no)};
	EditedBucket *bucket = NULL;

	if (bucket_table_run(table, BUCKET_LOCK, values, InvalidSnapshot) > 0)
	{
		MemoryContext caller = MemoryContextSwitchTo(edits->context);
		bool		is_null;
		Jsonb	   *array = DatumGetJsonbP(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));

		bucket = palloc0(sizeof(EditedBucket));
		bucket->meta = palloc(VARSIZE(group->meta));
		memcpy(bucket->meta, group->meta, VARSIZE(group->meta));
		bucket->start = group->start;
		bucket->bucket_no = bucket_no;
		readings_of_array(array, table->time_field, table->time_len, table->rule.zone, &bucket->readings);
		readings_sort(&bucket->readings);
		bucket->edits = palloc0(sizeof(Edit) * Max(bucket->readings.n, 1));
		edits->buckets = lcons(bucket, edits->buckets);
		MemoryContextSwitchTo(caller);
	}
	SPI_freetuptable(SPI_tuptable);
	return bucket;
}

/* The first reading of a time or a later one. */
static uint32
lower_bound(const Readings *list, TimestampTz at)
{
	uint32		low = 0;
	uint32		high = list->n;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (list->items[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Change a reading in a bucket that is loaded; doc NULL: all of this time. */
static Found
edit_bucket(Edits *edits, EditedBucket *bucket, TimestampTz at, const Jsonb *doc, const Jsonb *replacement)
{
	Found		found = FOUND_NOT;

	for (uint32 i = lower_bound(&bucket->readings, at);
		 i < bucket->readings.n && bucket->readings.items[i].at == at; i++)
	{
		Edit	   *edit = &bucket->edits[i];

		if (doc != NULL && jsonb_compare_bytes(doc, bucket->readings.items[i].doc) != 0)
			continue;
		if (edit->done)
		{
			if (found == FOUND_NOT)
				found = FOUND_DONE;
			continue;
		}
		edit->done = true;
		bucket->changed = true;
		if (replacement != NULL)
		{
			edit->replacement = MemoryContextAlloc(edits->context, VARSIZE(replacement));
			memcpy(edit->replacement, replacement, VARSIZE(replacement));
		}
		found = FOUND;
		if (doc != NULL)
			break;
	}
	return found;
}

/* As the index compares: 1 and 1.0 are one series. */
static bool
same_series(Jsonb *a, Jsonb *b)
{
	return jsonb_compare_bytes(a, b) == 0 || compareJsonbContainers(&a->root, &b->root) == 0;
}

static EditedBucket *
find_loaded(const Edits *edits, const BucketGroup *group, int32 bucket_no)
{
	ListCell   *cell;

	foreach(cell, edits->buckets)
	{
		EditedBucket *bucket = lfirst(cell);

		if (bucket->start == group->start && bucket->bucket_no == bucket_no &&
			same_series(bucket->meta, group->meta))
			return bucket;
	}
	return NULL;
}

/* Change a reading in the buckets that are loaded. */
static Found
edit_loaded(Edits *edits, const BucketGroup *group, TimestampTz at, const Jsonb *doc, const Jsonb *replacement)
{
	Found		result = FOUND_NOT;
	ListCell   *cell;

	foreach(cell, edits->buckets)
	{
		EditedBucket *bucket = lfirst(cell);
		Found		found;

		if (bucket->start != group->start || !same_series(bucket->meta, group->meta))
			continue;
		found = edit_bucket(edits, bucket, at, doc, replacement);
		if (found == FOUND && doc != NULL)
			return FOUND;
		if (found != FOUND_NOT)
			result = found;
	}
	return result;
}

/* Change a reading that is in a bucket, if there is one; runs inside SPI, as the owner. */
static Found
edit_sealed(BucketTable *table, const BucketGroup *group, TimestampTz at, const Jsonb *doc, const Jsonb *replacement)
{
	Edits	   *edits = edits_get(table->view, true);
	Found		result = edit_loaded(edits, group, at, doc, replacement);
	Datum		values[] = {JsonbPGetDatum(group->meta), TimestampTzGetDatum(group->start), TimestampTzGetDatum(at)};
	SPITupleTable *rows;
	uint64		n;

	if (result == FOUND && doc != NULL)
		return FOUND;
	n = bucket_table_run(table, BUCKET_OF_TIME, values, InvalidSnapshot);
	rows = SPI_tuptable;
	for (uint64 i = 0; i < n; i++)
	{
		bool		is_null;
		int32		bucket_no = DatumGetInt32(SPI_getbinval(rows->vals[i], rows->tupdesc, 1, &is_null));
		EditedBucket *bucket;
		Found		found;

		if (find_loaded(edits, group, bucket_no) != NULL)
			continue;
		bucket = load_bucket(table, edits, group, bucket_no);
		if (bucket == NULL)
			continue;
		found = edit_bucket(edits, bucket, at, doc, replacement);
		if (found != FOUND_NOT)
			result = found;
		if (found == FOUND && doc != NULL)
			break;
	}
	SPI_freetuptable(rows);
	return result;
}

/* The readings of this time that are in buckets go: another replaces them.  Runs inside SPI, as the owner. */
void
bucket_table_drop_time(BucketTable *table, const BucketGroup *group, TimestampTz at)
{
	(void) edit_sealed(table, group, at, NULL, NULL);
}

pg_noreturn static void
concurrent_update(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update")));
}

/*
 * Delete a reading from the open table, waiting for whoever changes it; *again
 * if somebody did, and the reading may be elsewhere by now.
 */
static Found
delete_open(BucketTable *table, const EditStatement *statement, const BucketGroup *group, TimestampTz at,
			const Jsonb *doc, bool *again)
{
	Relation	open = table_open(table->open, RowExclusiveLock);
	Relation	index = index_open(table->open_index, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(open, NULL);
	Snapshot	snapshot = RegisterSnapshot(IsolationUsesXactSnapshot() ? GetTransactionSnapshot() : GetLatestSnapshot());
	IndexScanDesc scan = index_begin_scan(open, index, snapshot, 3, 0);
	Found		found = FOUND_NOT;
	ScanKeyData keys[3];

	/* what the statement has changed already is seen, and recognised as such */
	snapshot->curcid = statement->cid;
	open_scan_keys(keys, group->meta, group->start);
	ScanKeyInit(&keys[2], 3, BTEqualStrategyNumber, F_TIMESTAMPTZ_EQ, TimestampTzGetDatum(at));
	index_rescan(scan, keys, 3, NULL, 0);
	*again = false;
	while (found != FOUND && index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		TM_FailureData failure;
		bool		is_null;

		CHECK_FOR_INTERRUPTS();
		if (jsonb_compare_bytes(doc, DatumGetJsonbP(slot_getattr(slot, OPEN_DOC, &is_null))) != 0)
			continue;
		switch (table_tuple_delete(open, &slot->tts_tid, statement->cid, snapshot,
								   InvalidSnapshot, true, &failure, false))
		{
			case TM_Ok:
				found = FOUND;
				break;
			case TM_SelfModified:
				found = FOUND_DONE;
				break;
			default:
				if (IsolationUsesXactSnapshot())
					concurrent_update();
				*again = true;
				break;
		}
	}
	index_endscan(scan);
	UnregisterSnapshot(snapshot);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	table_close(open, NoLock);
	return found;
}

/* What is known of the statement; its memory is the trigger's. */
static EditStatement *
statement_get(FunctionCallInfo fcinfo)
{
	EditStatement *statement = fcinfo->flinfo->fn_extra;

	if (statement == NULL)
	{
		statement = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(EditStatement));
		statement->cid = GetCurrentCommandId(true);
		fcinfo->flinfo->fn_extra = statement;
	}
	return statement;
}

/* Take a reading away; in_open says where it was.  With a replacement, that takes its place in a bucket. */
static Found
edit_reading(BucketTable *table, const EditStatement *statement, const BucketGroup *group, const Reading *old, const Jsonb *replacement, bool *in_open)
{
	OwnerSwitch before;
	Found		open,
				sealed = FOUND_NOT;
	bool		again;

	owner_enter(table->owner, &before);
	do
	{
		open = delete_open(table, statement, group, old->at, old->doc, &again);
	} while (open == FOUND_NOT && again);
	*in_open = open == FOUND;
	if (open != FOUND)
	{
		spi_connect();
		sealed = edit_sealed(table, group, old->at, old->doc, replacement);
		spi_finish();
	}
	owner_leave(&before);
	if (open == FOUND || sealed == FOUND)
		return FOUND;
	return open == FOUND_DONE || sealed == FOUND_DONE ? FOUND_DONE : FOUND_NOT;
}

/* Do not let the buckets of a long statement fill the memory. */
static void
limit_memory(BucketTable *table)
{
	Edits	   *edits = edits_get(table->view, false);

	if (edits != NULL && MemoryContextMemAllocated(edits->context, true) > maintenance_work_mem * (Size) 1024)
		bucket_table_flush_edits(table->view);
}

/* The row that is to be changed. */
static void
old_row(TriggerData *trigger, BucketTable *table, BucketGroup *group, Reading *reading)
{
	bool		given[VIEW_NCOLUMNS];

	bucket_table_read_row(trigger, trigger->tg_trigtuple, group, reading, given);
	/* the series and the time as they are in the document */
	reading_read(table, reading->doc, &group->meta, &reading->at);
	bucket_table_window(table, reading->at, &group->start, &group->end);
}

/* INSTEAD OF DELETE */
Datum
bucket_table_delete(FunctionCallInfo fcinfo, TriggerData *trigger)
{
	BucketTable *table = bucket_table_of_trigger(trigger);
	BucketGroup		group;
	Reading		old;
	bool		in_open;

	old_row(trigger, table, &group, &old);
	limit_memory(table);
	if (edit_reading(table, statement_get(fcinfo), &group, &old, NULL, &in_open) != FOUND)
		return PointerGetDatum(NULL);
	return PointerGetDatum(trigger->tg_trigtuple);
}

/* INSTEAD OF UPDATE */
Datum
bucket_table_update(FunctionCallInfo fcinfo, TriggerData *trigger)
{
	BucketTable *table = bucket_table_of_trigger(trigger);
	BucketGroup		old_group,
				group;
	Reading		old,
				reading;
	Found		found;
	bool		stays,
				in_open;

	old_row(trigger, table, &old_group, &old);
	bucket_table_changed_row(trigger, table, &group, &reading);
	stays = old.at == reading.at && same_series(old_group.meta, group.meta);
	limit_memory(table);
	found = edit_reading(table, statement_get(fcinfo), &old_group, &old, stays ? reading.doc : NULL, &in_open);
	if (found == FOUND_NOT)
		concurrent_update();
	if (found == FOUND_DONE)
		return PointerGetDatum(NULL);
	if (!stays || in_open)
		open_insert_moved(table, &group, &reading);
	return bucket_table_result_row(trigger, &group, &reading);
}
