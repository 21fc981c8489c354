/*
 * patterns/bucket_table_changes.c
 *		Bucket pattern: what statements change in buckets.
 *
 * A bucket is locked and taken apart once, however many of its readings a
 * statement changes, and is written once, at the end of the statement.  Its
 * summary is then made anew, since a minimum cannot be subtracted from.  What a
 * statement changes in batches of the open table is kept, and written, with it.
 *
 * Readings that an INSERT replaces are of any buckets, in any order.  So only
 * their times are kept, and the buckets are gone through one after the other at
 * the end: the memory that this takes does not depend on how large they are.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

static dlist_head all_edits = DLIST_STATIC_INIT(all_edits);

/* 40001: somebody else was first. */
pg_noreturn void
concurrent_update(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update")));
}

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
Edits *
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
	edits->loaded = AllocSetContextCreate(context, "loaded buckets", ALLOCSET_DEFAULT_SIZES);
	dlist_push_head(&all_edits, &edits->node);
	return edits;
}

/* Write a changed bucket; runs inside SPI, as the owner. */
static void
write_bucket(BucketTable *table, EditedBucket *bucket)
{
	Readings	left = {0};
	Datum		key[] = {JsonbPGetDatum(bucket->meta), TimestampTzGetDatum(bucket->start), Int32GetDatum(bucket->bucket_no)};

	for (uint32 i = 0; i < bucket->readings.n; i++)
	{
		const Edit *edit = &bucket->edits[i];
		const Reading *reading = &bucket->readings.items[i];

		if (!edit->done)
			readings_append(&left, reading->at, reading->doc, NULL);
		else if (edit->replacement != NULL)
			readings_append(&left, reading->at, edit->replacement, NULL);
	}
	if (bucket->bucket_no == NO_BUCKET)
	{
		BucketGroup group = {.meta = bucket->meta, .start = bucket->start, .readings = left};

		open_delete_locked(table, &bucket->tid);
		open_insert_many(table, list_make1(&group));
		return;
	}
	if (left.n == 0)
		bucket_table_write(table, BUCKET_DELETE, key);
	else
		bucket_table_put(table, BUCKET_UPDATE, bucket->meta, bucket->start, bucket->bucket_no, &left);
}

/* Write those of the buckets that were changed. */
static void
write_changed(BucketTable *table, List *buckets)
{
	ListCell   *cell;

	foreach(cell, buckets)
	{
		EditedBucket *bucket = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (!bucket->changed)
			continue;
		SPI_connect();
		write_bucket(table, bucket);
		SPI_finish();
	}
}

/* Write the buckets that are loaded, and forget them.  As the owner. */
static void
write_loaded(BucketTable *table, Edits *edits)
{
	HASH_SEQ_STATUS scan;
	EditedGroup *group;
	ListCell   *cell;

	if (edits->groups == NULL)
		return;
	hash_seq_init(&scan, edits->groups);
	while ((group = hash_seq_search(&scan)) != NULL)
	{
		write_changed(table, group->buckets);
		foreach(cell, group->open)
			write_changed(table, ((EditedOpen *) lfirst(cell))->batches);
	}
	edits->groups = NULL;
	MemoryContextReset(edits->loaded);
}

/* Groups one after the other, in the same order in every session. */
static int
compare_replaced(const void *a, const void *b)
{
	const Replaced *x = a;
	const Replaced *y = b;
	int			order = 0;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->meta != y->meta)
		order = compareJsonbContainers(&x->meta->root, &y->meta->root);
	if (order == 0 && x->at != y->at)
		order = x->at < y->at ? -1 : 1;
	return order;
}

/* Take what has been replaced out of buckets.  As the owner. */
static void
drop_replaced(BucketTable *table, Edits *edits)
{
	uint32		n = edits->nreplaced;

	qsort(edits->replaced, n, sizeof(Replaced), compare_replaced);
	for (uint32 i = 0; i < n; i++)
	{
		const Replaced *replaced = &edits->replaced[i];
		BucketGroup group = {.meta = replaced->meta, .start = replaced->start};

		CHECK_FOR_INTERRUPTS();
		SPI_connect();
		(void) edit_sealed(table, &group, replaced->at, NULL, NULL);
		SPI_finish();
		if (i + 1 == n || replaced[1].hash != replaced->hash || replaced[1].start != replaced->start)
			write_loaded(table, edits);
	}
}

/* At the end of a statement: write the buckets that it changed. */
void
bucket_table_flush_edits(Oid view)
{
	Edits	   *edits = edits_get(view, false);
	BucketTable *table;
	OwnerSwitch before;

	if (edits == NULL)
		return;
	table = bucket_table_get(view);
	owner_enter(table->owner, &before);
	write_loaded(table, edits);
	if (edits->nreplaced > 0)
		drop_replaced(table, edits);
	edits_forget(edits);
	owner_leave(&before);
	CommandCounterIncrement();
}

/* Something was loaded, before which so much memory was in use. */
void
edits_loaded(Edits *edits, Size before)
{
	edits->largest = Max(edits->largest, MemoryContextMemAllocated(edits->loaded, false) - before);
}

/*
 * Do not let a long statement fill the memory; but what a bucket, or an open
 * group, and the replacements of all that is in it take is granted, or it would
 * be loaded again for each of its readings.
 */
void
bucket_table_limit_edits(BucketTable *table)
{
	Edits	   *edits = edits_get(table->view, false);

	if (edits != NULL &&
		MemoryContextMemAllocated(edits->context, true) > maintenance_work_mem * (Size) 1024 + 2 * edits->largest)
		bucket_table_flush_edits(table->view);
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

/* The buckets of this hash that are loaded, with create, even if there are none yet. */
EditedGroup *
edits_group(Edits *edits, uint64 hash, bool create)
{
	EditedGroup *group;
	bool		found;

	if (edits->groups == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(uint64), .entrysize = sizeof(EditedGroup)};

		if (!create)
			return NULL;
		control.hcxt = edits->loaded;
		edits->groups = hash_create("edited buckets", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	group = hash_search(edits->groups, &hash, create ? HASH_ENTER : HASH_FIND, &found);
	if (create && !found)
	{
		group->buckets = NIL;
		group->open = NIL;
	}
	return group;
}

/* A bucket or a batch, taken apart.  In edits->loaded. */
EditedBucket *
edited_bucket(BucketTable *table, const BucketGroup *group, int32 bucket_no, Datum array)
{
	EditedBucket *bucket = palloc0(sizeof(EditedBucket));

	bucket->meta = palloc(VARSIZE(group->meta));
	memcpy(bucket->meta, group->meta, VARSIZE(group->meta));
	bucket->start = group->start;
	bucket->bucket_no = bucket_no;
	readings_of_array(DatumGetJsonbP(array), table->time_field, table->time_len, table->rule.zone, &bucket->readings);
	readings_sort(&bucket->readings);
	bucket->edits = palloc0(sizeof(Edit) * Max(bucket->readings.n, 1));
	return bucket;
}

/* Lock a bucket, waiting for whoever has it, and take it apart; NULL if it is gone.  Runs inside SPI. */
static EditedBucket *
load_bucket(BucketTable *table, Edits *edits, const BucketGroup *group, uint64 hash, int32 bucket_no)
{
	Datum		values[] = {JsonbPGetDatum(group->meta), TimestampTzGetDatum(group->start), Int32GetDatum(bucket_no)};
	EditedBucket *bucket = NULL;

	if (bucket_table_run(table, BUCKET_LOCK, values, InvalidSnapshot) > 0)
	{
		EditedGroup *loaded = edits_group(edits, hash, true);
		MemoryContext caller = MemoryContextSwitchTo(edits->loaded);
		Size		before = MemoryContextMemAllocated(edits->loaded, false);
		bool		is_null;

		bucket = edited_bucket(table, group, bucket_no,
							   SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
		bucket->locked = true;
		loaded->buckets = lcons(bucket, loaded->buckets);
		MemoryContextSwitchTo(caller);
		edits_loaded(edits, before);
	}
	SPI_freetuptable(SPI_tuptable);
	return bucket;
}

/* Change a reading in a bucket or batch that is loaded; doc NULL: all of this time. */
Found
edit_bucket(BucketTable *table, Edits *edits, EditedBucket *bucket, TimestampTz at, const Jsonb *doc, const Jsonb *replacement)
{
	Found		found = FOUND_NOT;

	for (uint32 i = readings_find(&bucket->readings, at, doc);
		 i < bucket->readings.n && bucket->readings.items[i].at == at; i++)
	{
		Edit	   *edit = &bucket->edits[i];

		if (doc != NULL && jsonb_compare_bytes(doc, bucket->readings.items[i].doc) != 0)
			break;
		if (edit->done)
		{
			if (found == FOUND_NOT)
				found = FOUND_DONE;
			continue;
		}
		if (!bucket->locked && !edited_batch_lock(table, bucket))
			return FOUND_ELSEWHERE;
		edit->done = true;
		bucket->changed = true;
		if (replacement != NULL)
		{
			edit->replacement = MemoryContextAlloc(edits->loaded, VARSIZE(replacement));
			memcpy(edit->replacement, replacement, VARSIZE(replacement));
		}
		found = FOUND;
		if (doc != NULL)
			break;
	}
	return found;
}

static EditedBucket *
find_loaded(Edits *edits, const BucketGroup *group, uint64 hash, int32 bucket_no)
{
	EditedGroup *loaded = edits_group(edits, hash, false);
	ListCell   *cell;

	if (loaded == NULL)
		return NULL;
	foreach(cell, loaded->buckets)
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
edit_loaded(BucketTable *table, Edits *edits, const BucketGroup *group, uint64 hash, TimestampTz at, const Jsonb *doc, const Jsonb *replacement)
{
	EditedGroup *loaded = edits_group(edits, hash, false);
	Found		result = FOUND_NOT;
	ListCell   *cell;

	if (loaded == NULL)
		return FOUND_NOT;
	foreach(cell, loaded->buckets)
	{
		EditedBucket *bucket = lfirst(cell);
		Found		found;

		if (bucket->start != group->start || !same_series(bucket->meta, group->meta))
			continue;
		found = edit_bucket(table, edits, bucket, at, doc, replacement);
		if (found == FOUND && doc != NULL)
			return FOUND;
		if (found != FOUND_NOT)
			result = found;
	}
	return result;
}

/* Will the readings of this time that are in buckets go? */
static bool
is_replaced(const Edits *edits, const BucketGroup *group, uint64 hash, TimestampTz at)
{
	for (uint32 i = 0; i < edits->nreplaced; i++)
	{
		const Replaced *replaced = &edits->replaced[i];

		if (replaced->at == at && replaced->hash == hash && replaced->start == group->start &&
			same_series(replaced->meta, group->meta))
			return true;
	}
	return false;
}

/*
 * Change a reading that is in a bucket, if there is one; doc NULL: all of this
 * time go, and 40001 if the transaction cannot see one.  Runs inside SPI, as the
 * owner.
 */
Found
edit_sealed(BucketTable *table, const BucketGroup *group, TimestampTz at, const Jsonb *doc, const Jsonb *replacement)
{
	uint64		hash = group_hash(table->open, group->meta, group->start);
	Edits	   *edits = edits_get(table->view, true);
	Datum		values[] = {JsonbPGetDatum(group->meta), TimestampTzGetDatum(group->start), TimestampTzGetDatum(at)};
	Found		result;
	SPITupleTable *rows;
	uint64		n;

	/* a statement around this one may have replaced it */
	if (doc != NULL && is_replaced(edits, group, hash, at))
		return FOUND_DONE;
	if (doc == NULL && IsolationUsesXactSnapshot())
		(void) time_is_sealed(table, group, at);
	result = edit_loaded(table, edits, group, hash, at, doc, replacement);
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

		if (find_loaded(edits, group, hash, bucket_no) != NULL)
			continue;
		bucket = load_bucket(table, edits, group, hash, bucket_no);
		if (bucket == NULL)
			continue;
		found = edit_bucket(table, edits, bucket, at, doc, replacement);
		if (found != FOUND_NOT)
			result = found;
		if (found == FOUND && doc != NULL)
			break;
	}
	SPI_freetuptable(rows);
	return result;
}

/*
 * The readings of this time that are in buckets go: another replaces them, which
 * is in the open table.  Unless at once, at the end of the statement.  Runs
 * inside SPI, as the owner.
 */
void
bucket_table_drop_time(BucketTable *table, const BucketGroup *group, TimestampTz at, bool at_once)
{
	MemoryContext caller;
	Edits	   *edits;
	Replaced   *replaced;

	if (at_once)
	{
		(void) edit_sealed(table, group, at, NULL, NULL);
		return;
	}
	edits = edits_get(table->view, true);
	caller = MemoryContextSwitchTo(edits->context);
	edits->replaced = array_reserve(edits->replaced, edits->nreplaced, &edits->max_replaced, sizeof(Replaced));
	replaced = &edits->replaced[edits->nreplaced];
	replaced->hash = group_hash(table->open, group->meta, group->start);
	replaced->start = group->start;
	replaced->at = at;
	if (edits->nreplaced > 0 && jsonb_compare_bytes(replaced[-1].meta, group->meta) == 0)
		replaced->meta = replaced[-1].meta;
	else
	{
		replaced->meta = palloc(VARSIZE(group->meta));
		memcpy(replaced->meta, group->meta, VARSIZE(group->meta));
	}
	edits->nreplaced++;
	MemoryContextSwitchTo(caller);
	bucket_table_limit_edits(table);
}
