/*
 * patterns/bucket_table_edit.c
 *		Bucket pattern: UPDATE and DELETE of readings.
 *
 * A reading has no identity but what it says: its series, its time and its
 * document, and among equal ones any is as good as another.  Sealing may move it
 * between the moment that a statement reads it and the moment that it is to be
 * changed; so it is looked for in the open table, and then in buckets.  It moves
 * in that direction only, so it cannot be missed.  Since what the open table has
 * of a group is kept in memory, and sealing moves readings from one of its rows
 * to another, too, that is read anew before a reading is missed.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

/* What a statement has changed: the hash of what a reading was, or of a time that it moved one to. */
typedef struct ChangedReading
{
	uint64		hash;
	char		status;			/* of simplehash */
} ChangedReading;

#define SH_PREFIX changed
#define SH_ELEMENT_TYPE ChangedReading
#define SH_KEY_TYPE uint64
#define SH_KEY hash
#define SH_HASH_KEY(table, key) ((uint32) (key))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* An UPDATE or DELETE, from its first row on. */
typedef struct EditStatement
{
	dlist_node	node;
	MemoryContextCallback end;	/* when the statement's memory goes */
	MemoryContext context;
	Oid			view;
	CommandId	cid;			/* when it began */
	changed_hash *changed;		/* NULL: none yet */
} EditStatement;

static dlist_head statements = DLIST_STATIC_INIT(statements);

static void
statement_end(void *arg)
{
	dlist_delete(&((EditStatement *) arg)->node);
}

/* What is known of the statement; its memory is the trigger's. */
static EditStatement *
statement_get(FunctionCallInfo fcinfo, BucketTable *table)
{
	EditStatement *statement = fcinfo->flinfo->fn_extra;

	if (statement == NULL)
	{
		statement = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(EditStatement));
		statement->context = fcinfo->flinfo->fn_mcxt;
		statement->view = table->view;
		statement->cid = GetCurrentCommandId(true);
		statement->end.func = statement_end;
		statement->end.arg = statement;
		MemoryContextRegisterResetCallback(statement->context, &statement->end);
		dlist_push_head(&statements, &statement->node);
		fcinfo->flinfo->fn_extra = statement;
	}
	return statement;
}

/* Look for a reading in one place after the other, and change it where it is. */
static Found
edit_where_it_is(BucketTable *table, const EditStatement *statement, const BucketGroup *group, const Reading *old,
				 const Jsonb *replacement, bool again, bool *is_row)
{
	Found		open = edit_open(table, statement->cid, group, old, replacement, again, is_row);
	Found		sealed;

	if (open == FOUND)
		return FOUND;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	sealed = edit_sealed(table, group, old->at, old->doc, replacement);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	return Min(open, sealed);
}

/* Take a reading away; *is_row says where it was.  With a replacement, that takes its place in a batch or a bucket. */
static Found
edit_reading(BucketTable *table, const EditStatement *statement, const BucketGroup *group, const Reading *old,
			 const Jsonb *replacement, bool *is_row)
{
	OwnerSwitch before;
	Found		found;

	owner_enter(table->owner, &before);
	found = edit_where_it_is(table, statement, group, old, replacement, false, is_row);
	if (found != FOUND && table->on_duplicate == DUPLICATE_KEEP)
		found = edit_where_it_is(table, statement, group, old, replacement, true, is_row);
	owner_leave(&before);
	return found;
}

/* The series and the time are a part of the document. */
static uint64
reading_hash(const Reading *reading)
{
	return hash_bytes_extended((const unsigned char *) VARDATA(reading->doc), VARSIZE(reading->doc) - VARHDRSZ, 0);
}

static uint64
time_hash(const BucketTable *table, const BucketGroup *group, const Reading *reading)
{
	return hash_combine64(group_hash(table->open, group->meta, group->start), (uint64) reading->at);
}

/* Remember what was changed: a bucket may be written before the statement comes to a reading again. */
static void
remember(EditStatement *statement, uint64 hash)
{
	bool		found;

	if (statement->changed == NULL)
		statement->changed = changed_create(statement->context, 64, NULL);
	(void) changed_insert(statement->changed, hash, &found);
}

static bool
remembers(const EditStatement *statement, uint64 hash)
{
	return statement->changed != NULL && changed_lookup(statement->changed, hash) != NULL;
}

/* A reading gets a time, of which others are replaced: statements that are at it will not find them. */
void
bucket_table_occupied(BucketTable *table, const BucketGroup *group, const Reading *reading)
{
	dlist_iter	iter;

	if (table->on_duplicate != DUPLICATE_REPLACE)
		return;
	dlist_foreach(iter, &statements)
	{
		EditStatement *statement = dlist_container(EditStatement, node, iter.cur);

		if (statement->view == table->view)
			remember(statement, time_hash(table, group, reading));
	}
}

/* 27000 if the reading is gone since the statement itself has put another in its place. */
static void
check_not_replaced(BucketTable *table, const EditStatement *statement, const BucketGroup *group, const Reading *old)
{
	if (table->on_duplicate == DUPLICATE_REPLACE && remembers(statement, time_hash(table, group, old)) &&
		!remembers(statement, reading_hash(old)))
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 errmsg("reading to be changed was already replaced in \"%s\"", get_rel_name(table->view)),
				 errdetail("The statement moved another reading to its time, %s.", timestamptz_to_str(old->at)),
				 errhint("Copy the readings, delete them, and insert the copies with their new times.")));
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
	EditStatement *statement = statement_get(fcinfo, table);
	BucketGroup		group;
	Reading		old;
	bool		is_row;

	old_row(trigger, table, &group, &old);
	bucket_table_limit_edits(table);
	check_not_replaced(table, statement, &group, &old);
	if (edit_reading(table, statement, &group, &old, NULL, &is_row) != FOUND)
		return PointerGetDatum(NULL);
	return PointerGetDatum(trigger->tg_trigtuple);
}

/* INSTEAD OF UPDATE */
Datum
bucket_table_update(FunctionCallInfo fcinfo, TriggerData *trigger)
{
	BucketTable *table = bucket_table_of_trigger(trigger);
	EditStatement *statement = statement_get(fcinfo, table);
	BucketGroup		old_group,
				group;
	Reading		old,
				reading;
	Found		found;
	bool		stays,
				is_row;

	old_row(trigger, table, &old_group, &old);
	bucket_table_changed_row(trigger, table, &group, &reading);
	stays = old.at == reading.at && same_series(old_group.meta, group.meta);
	bucket_table_limit_edits(table);
	check_not_replaced(table, statement, &old_group, &old);
	found = edit_reading(table, statement, &old_group, &old, stays ? reading.doc : NULL, &is_row);
	if (found != FOUND)
	{
		/* a row that a join yields twice is changed once */
		if (found == FOUND_NOT && !remembers(statement, reading_hash(&old)))
			concurrent_update();
		return PointerGetDatum(NULL);
	}
	if (!is_row || table->on_duplicate == DUPLICATE_REPLACE)
		remember(statement, reading_hash(&old));
	if (!stays)
		bucket_table_occupied(table, &group, &reading);
	if (!stays || is_row)
		open_insert_moved(table, &group, &reading);
	return bucket_table_result_row(trigger, &group, &reading);
}
