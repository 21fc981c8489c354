/*
 * patterns/extended_reference_source.c
 *		Extended reference pattern: source rows, each read once a statement.
 *
 * A row trigger meets one row at a time, and a query for each would take several
 * times as long as the insert itself.  So rows are fetched by the unique index,
 * without SQL, and kept for the statement, by the text of their key: it thereby
 * sees one version of each.  No rights are checked and row security does not
 * apply, as for foreign keys; who may define a reference was checked before.
 *
 * A row with live fields is locked FOR SHARE until the transaction ends, so that
 * whoever changes it waits and then finds the document.  A row that may not go
 * unnoticed is locked FOR KEY SHARE.  A snapshot that is kept takes no lock; after
 * many rows, a source that is small enough is then read as a whole.
 *
 * Rows are seen as they are by now, with what the statement itself has changed: a
 * WITH clause may make the row that its INSERT refers to.  Where a copy must not
 * become stale, rows are forgotten as soon as the transaction has run another
 * command, say in a trigger, that may have changed them.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "extended_reference.h"

/* After so many rows of a statement, reading all of a small source takes less. */
#define MISSES_BEFORE_SCAN 500

/* The source, or one of its partitions. */
typedef struct SourceLeaf
{
	Oid			heap;
	Oid			index;			/* the unique one of the key */
	RegProcedure equal;			/* what the index takes for = */
	SourceFields *fields;
} SourceLeaf;

struct SourceReader
{
	const Reference *reference;

	/* the key */
	Oid			key_type;		/* below domains */
	FmgrInfo	key_input;
	Oid			key_ioparam;

	/* how rows are read */
	int			nleaves;
	SourceLeaf *leaves;
	bool		locks;
	LockTupleMode lock_mode;

	/* what was read in this statement */
	SourceRows *rows;
	MemoryContext temporary;
	int			misses;
	CommandId	command;		/* of the transaction, at that time */
};

/* The index by which rows of a relation are found by one column alone; InvalidOid if there is none. */
Oid
source_unique_index(Relation relation, AttrNumber column)
{
	Oid			found = InvalidOid;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(relation))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);
		Form_pg_index form = index->rd_index;

		if (form->indisunique && form->indisvalid && form->indimmediate &&
			form->indnkeyatts == 1 && form->indkey.values[0] == column &&
			(index->rd_rel->relam == BTREE_AM_OID || index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX) &&
			RelationGetIndexPredicate(index) == NIL)
			found = lfirst_oid(cell);
		index_close(index, AccessShareLock);
		if (OidIsValid(found))
			break;
	}
	return found;
}

/* Fill in how rows are found in the source or in one of its partitions. */
static void
open_leaf(SourceLeaf *leaf, const Reference *reference, Oid relid)
{
	Relation	heap = table_open(relid, AccessShareLock);
	Relation	index;
	Oid			type;

	leaf->heap = relid;
	leaf->fields = source_fields(reference, relid);
	leaf->index = source_unique_index(heap, source_fields_key(leaf->fields));
	if (!OidIsValid(leaf->index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("column \"%s\" of relation \"%s\" has no unique index",
						get_attname(relid, source_fields_key(leaf->fields), false), RelationGetRelationName(heap)),
				 errdetail("The extended reference at \"%s\" of relation \"%s\" finds its source by it.",
						   reference_describe(reference), get_rel_name(reference->relation)),
				 errhint("Create a unique index on the column.")));
	index = index_open(leaf->index, AccessShareLock);
	type = index->rd_opcintype[0];
	leaf->equal = get_opcode(get_opfamily_member(index->rd_opfamily[0], type, type, BTEqualStrategyNumber));
	index_close(index, AccessShareLock);
	table_close(heap, AccessShareLock);
}

/* The tables that hold the source's rows: it, or its partitions. */
static List *
leaf_tables(Oid source, LOCKMODE lockmode)
{
	List	   *leaves = NIL;
	ListCell   *cell;

	if (get_rel_relkind(source) != RELKIND_PARTITIONED_TABLE)
		return list_make1_oid(source);
	foreach(cell, find_all_inheritors(source, lockmode, NULL))
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_RELATION)
			leaves = lappend_oid(leaves, lfirst_oid(cell));
	return leaves;
}

/* Begin to read the source of a reference, which lives as long; in the current memory context. */
SourceReader *
source_open(const Reference *reference)
{
	SourceReader *reader = palloc0(sizeof(SourceReader));
	List	   *leaves;
	ListCell   *cell;
	Oid			input;

	reader->reference = reference;
	reader->locks = reference->has_live || reference->on_delete != ON_DELETE_KEEP;
	reader->lock_mode = reference->has_live ? LockTupleShare : LockTupleKeyShare;
	LockRelationOid(reference->source, reader->locks ? RowShareLock : AccessShareLock);
	leaves = leaf_tables(reference->source, reader->locks ? RowShareLock : AccessShareLock);
	reader->leaves = palloc0(Max(1, list_length(leaves)) * sizeof(SourceLeaf));
	foreach(cell, leaves)
		open_leaf(&reader->leaves[reader->nleaves++], reference, lfirst_oid(cell));

	reader->key_type = getBaseType(get_atttype(reference->source, reference->source_key));
	getTypeInputInfo(reader->key_type, &input, &reader->key_ioparam);
	fmgr_info(input, &reader->key_input);
	reader->rows = source_rows_create();
	reader->command = GetCurrentCommandId(false);
	reader->temporary = AllocSetContextCreate(CurrentMemoryContext, "pattern source row", ALLOCSET_DEFAULT_SIZES);
	return reader;
}

pg_noreturn static void
concurrent_update(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update")));
}

/* The command that a row must be older than: what the present one did is seen. */
static CommandId
seen_command(void)
{
	return GetCurrentCommandId(false) + 1;
}

/* The snapshot by which rows are read; to be ended by PopActiveSnapshot. */
static Snapshot
snapshot_enter(void)
{
	Snapshot	snapshot;

	PushCopiedSnapshot(IsolationUsesXactSnapshot() ? GetTransactionSnapshot() : GetLatestSnapshot());
	snapshot = GetActiveSnapshot();
	snapshot->curcid = seen_command();
	return snapshot;
}

/*
 * Lock the row in the slot, as its last version, which then is in the slot.
 * False if it was deleted meanwhile.
 */
static bool
lock_row(const SourceReader *reader, Relation heap, Snapshot snapshot, TupleTableSlot *slot)
{
	TM_FailureData failure;
	int			flags = TUPLE_LOCK_FLAG_LOCK_UPDATE_IN_PROGRESS;
	ItemPointerData tid = slot->tts_tid;

	if (!IsolationUsesXactSnapshot())
		flags |= TUPLE_LOCK_FLAG_FIND_LAST_VERSION;
	switch (table_tuple_lock(heap, &tid, snapshot, slot, seen_command(),
							 reader->lock_mode, LockWaitBlock, flags, &failure))
	{
		case TM_Ok:
			return true;
		case TM_Deleted:
			if (IsolationUsesXactSnapshot())
				concurrent_update();
			return false;
		default:
			concurrent_update();
	}
}

/* Keep the values of a row of the source. */
static const SourceRow *
keep_row(SourceReader *reader, const char *key, SourceFields *fields, HeapTuple tuple, TupleDesc desc)
{
	int			nfields = reader->reference->nfields;
	JsonbValue *values = palloc(nfields * sizeof(JsonbValue));

	for (int i = 0; i < nfields; i++)
		source_field_value(fields, i, tuple, desc, &values[i]);
	return source_rows_add(reader->rows, key, strlen(key), values, nfields);
}

/* Is the row's key the one that is looked for, also as text? */
static bool
key_is(SourceFields *fields, HeapTuple tuple, TupleDesc desc, const char *key)
{
	char	   *text = source_key_text(fields, tuple, desc);

	return text != NULL && strcmp(text, key) == 0;
}

/*
 * Read the row of a key from a leaf; NULL if it is not there.  *moved says that it
 * was changed while we waited for it, and is to be looked for anew.
 */
static const SourceRow *
read_leaf(SourceReader *reader, SourceLeaf *leaf, Datum value, const char *key, bool *moved)
{
	LOCKMODE	lockmode = reader->locks ? RowShareLock : AccessShareLock;
	Relation	heap = table_open(leaf->heap, lockmode);
	Relation	index = index_open(leaf->index, AccessShareLock);
	Snapshot	snapshot = snapshot_enter();
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	IndexScanDesc scan = index_begin(heap, index, snapshot, 1);
	ScanKeyData scankey;
	const SourceRow *row = NULL;
	bool		found;

	ScanKeyEntryInitialize(&scankey, 0, 1, BTEqualStrategyNumber, index->rd_opcintype[0],
						   index->rd_indcollation[0], leaf->equal, value);
	index_rescan(scan, &scankey, 1, NULL, 0);
	found = index_getnext_slot(scan, ForwardScanDirection, slot);
	index_endscan(scan);
	if (found && reader->locks && !lock_row(reader, heap, snapshot, slot))
	{
		*moved = true;
		found = false;
	}
	if (found)
	{
		bool		should_free;
		HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, &should_free);

		if (key_is(leaf->fields, tuple, RelationGetDescr(heap), key))
			row = keep_row(reader, key, leaf->fields, tuple, RelationGetDescr(heap));
		else
			*moved = reader->locks;
	}
	ExecDropSingleTupleTableSlot(slot);
	PopActiveSnapshot();
	index_close(index, AccessShareLock);
	/* a lock on rows wants the table's until the end of the transaction */
	table_close(heap, reader->locks ? NoLock : lockmode);
	return row;
}

/* Read the row of a key, which is null-terminated; NULL if there is none. */
static const SourceRow *
read_row(SourceReader *reader, const char *key)
{
	Datum		value;

	if (!source_key_is_plausible(reader->key_type, key))
		return NULL;
	value = InputFunctionCall(&reader->key_input, unconstify(char *, key), reader->key_ioparam, -1);

	/* twice: a row that went away while we waited may stand elsewhere now */
	for (int attempt = 0; attempt < 2; attempt++)
	{
		bool		moved = false;

		for (int i = 0; i < reader->nleaves; i++)
		{
			const SourceRow *row = read_leaf(reader, &reader->leaves[i], value, key, &moved);

			if (row != NULL)
				return row;
		}
		if (!moved)
			break;
	}
	return NULL;
}

/* Take over one row of a scan, unless it was read before. */
static void
scan_row(SourceReader *reader, SourceFields *fields, HeapTuple tuple, TupleDesc desc)
{
	MemoryContext caller = MemoryContextSwitchTo(reader->temporary);
	char	   *key = source_key_text(fields, tuple, desc);

	if (key != NULL && source_rows_find(reader->rows, key, strlen(key)) == NULL)
		(void) keep_row(reader, key, fields, tuple, desc);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(reader->temporary);
}

/* Read all rows of a leaf, if it is small, as far as there is room. */
static void
scan_leaf(SourceReader *reader, SourceLeaf *leaf)
{
	Relation	heap = table_open(leaf->heap, AccessShareLock);
	TupleTableSlot *slot;
	TableScanDesc scan;

	if ((Size) RelationGetNumberOfBlocks(heap) * BLCKSZ <= get_hash_memory_limit())
	{
		slot = table_slot_create(heap, NULL);
		scan = table_beginscan(heap, snapshot_enter(), 0, NULL);
		while (source_rows_have_room(reader->rows) && table_scan_getnextslot(scan, ForwardScanDirection, slot))
		{
			bool		should_free;

			CHECK_FOR_INTERRUPTS();
			scan_row(reader, leaf->fields, ExecFetchSlotHeapTuple(slot, false, &should_free), RelationGetDescr(heap));
		}
		table_endscan(scan);
		ExecDropSingleTupleTableSlot(slot);
		PopActiveSnapshot();
	}
	table_close(heap, AccessShareLock);
}

/*
 * The source row whose key, as text, is this; key[len] is zero.  It lives until the
 * reader forgets it, at the next call.  40001 if it changed since the transaction
 * began.
 */
const SourceRow *
source_look_up(SourceReader *reader, const char *key, int len)
{
	const SourceRow *row;
	MemoryContext caller;

	if (reader->locks && reader->command != GetCurrentCommandId(false))
	{
		source_rows_forget(reader->rows);
		reader->command = GetCurrentCommandId(false);
	}
	row = source_rows_find(reader->rows, key, len);
	if (row != NULL)
		return row;
	if (!source_rows_have_room(reader->rows))
		source_rows_forget(reader->rows);
	if (++reader->misses == MISSES_BEFORE_SCAN && !reader->locks)
	{
		for (int i = 0; i < reader->nleaves; i++)
			scan_leaf(reader, &reader->leaves[i]);
		row = source_rows_find(reader->rows, key, len);
		if (row != NULL)
			return row;
	}
	caller = MemoryContextSwitchTo(reader->temporary);
	row = read_row(reader, key);
	if (row == NULL)
		row = source_rows_add(reader->rows, key, len, NULL, 0);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(reader->temporary);
	return row;
}

/* As source_rows_remember_copy. */
void
source_remember_copy(SourceReader *reader, const SourceRow *row, const JsonbValue *before, const JsonbValue *after)
{
	source_rows_remember_copy(reader->rows, row, before, after);
}
