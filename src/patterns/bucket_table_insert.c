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

#include "access/htup_details.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

/* Memory is taken in pieces of this size. */
#define PIECE_SIZE (256 * 1024)

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

static uint32
key_hash(const void *key, Size size)
{
	const GroupKey *k = key;

	return hash_bytes((const unsigned char *) VARDATA(k->meta), VARSIZE(k->meta) - VARHDRSZ) ^
		hash_bytes_uint32((uint32) (k->start / USECS_PER_SEC));
}

static int
key_match(const void *a, const void *b, Size size)
{
	const GroupKey *x = a;
	const GroupKey *y = b;

	return x->start != y->start || jsonb_compare_bytes(x->meta, y->meta) != 0;
}

static void *
key_copy(void *to, const void *from, Size size)
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

		control.hash = key_hash;
		control.match = key_match;
		control.keycopy = key_copy;
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
		if (open_take_back(table, &statement->first))
		{
			seal_discount(table, statement->group.meta, statement->group.start);
			held_add(statement->held, &statement->group, &statement->first);
		}
	}
	held_add(statement->held, group, reading);
	if (MemoryContextMemAllocated(statement->held->context, true) > maintenance_work_mem * (Size) 1024)
		held_write(statement->held);
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
	if (given[VIEW_META - 1] && !same_series(said_group.meta, group->meta))
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
	if (!given[VIEW_META - 1] || !same_series(before_group.meta, after_group.meta))
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
		if (!open_insert_unique(table, &group, &reading, table->on_duplicate, false))
			return PointerGetDatum(NULL);
		bucket_table_occupied(table, &group, &reading);
	}
	return bucket_table_result_row(trigger, &group, &reading);
}
