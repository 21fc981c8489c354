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
#include "catalog/pg_type.h"
#include "executor/nodeHash.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/fmgroids.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "storage/bufmgr.h"
#include "utils/snapmgr.h"

#include "extended_reference.h"

/* After so many rows of a statement, reading all of a small source takes less. */
#define MISSES_BEFORE_SCAN 500

/* A column of a source as a value of a field. */
typedef struct SourceColumn
{
	AttrNumber	number;
	Oid			type;			/* below domains */
	const DocPath *path;
	FmgrInfo	to_jsonb;		/* for types that column_value does not know */
} SourceColumn;

/* How the columns of a relation, the source or a partition of it, become values. */
struct SourceFields
{
	AttrNumber	key;
	FmgrInfo	key_output;
	SourceColumn *columns;		/* one for each field */
};

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
	MemoryContext rows_context;
	MemoryContext temporary;
	HTAB	   *rows;
	int			misses;
};

/* A source's column in a partition, whose columns may stand in another order. */
static AttrNumber
leaf_column(Oid source, Oid leaf, AttrNumber column)
{
	return leaf == source ? column : get_attnum(leaf, get_attname(source, column, false));
}

/* The column becomes a value by to_jsonb, which must be told the type. */
static void
prepare_to_jsonb(FmgrInfo *to_jsonb, Oid type)
{
	Node	   *argument = (Node *) makeNullConst(type, -1, InvalidOid);

	fmgr_info(F_TO_JSONB, to_jsonb);
	fmgr_info_set_expr((Node *) makeFuncExpr(F_TO_JSONB, JSONBOID, list_make1(argument), InvalidOid,
											 InvalidOid, COERCE_EXPLICIT_CALL), to_jsonb);
}

/* The columns of a reference in its source or a partition of it; palloc'd. */
SourceFields *
source_fields(const Reference *reference, Oid leaf)
{
	SourceFields *result = palloc0(sizeof(SourceFields));
	Oid			output;
	bool		is_varlena;

	result->key = leaf_column(reference->source, leaf, reference->source_key);
	getTypeOutputInfo(get_atttype(leaf, result->key), &output, &is_varlena);
	fmgr_info(output, &result->key_output);
	result->columns = palloc0(reference->nfields * sizeof(SourceColumn));
	for (int i = 0; i < reference->nfields; i++)
	{
		SourceColumn *column = &result->columns[i];
		Oid			type;

		column->number = leaf_column(reference->source, leaf, reference->fields[i].column);
		type = get_atttype(leaf, column->number);
		column->type = getBaseType(type);
		column->path = reference->fields[i].path;
		prepare_to_jsonb(&column->to_jsonb, type);
	}
	return result;
}

/* A timestamp with time zone is copied in UTC, whatever the session's zone is. */
static void
timestamp_value(Datum datum, JsonbValue *result)
{
	const int	utc = 0;
	char	   *text = palloc(MAXDATELEN + 1);

	JsonEncodeDateTime(text, datum, TIMESTAMPTZOID, &utc);
	value_from_cstring(text, result);
}

/* What to_jsonb makes of a column's value. */
static void
column_value(SourceColumn *column, Datum datum, JsonbValue *result)
{
	switch (column->type)
	{
		case TEXTOID:
		case VARCHAROID:
			result->type = jbvString;
			result->val.string.val = VARDATA_ANY(DatumGetTextPP(datum));
			result->val.string.len = VARSIZE_ANY_EXHDR(DatumGetTextPP(datum));
			break;
		case INT2OID:
			value_from_int64(DatumGetInt16(datum), result);
			break;
		case INT4OID:
			value_from_int64(DatumGetInt32(datum), result);
			break;
		case INT8OID:
			value_from_int64(DatumGetInt64(datum), result);
			break;
		case BOOLOID:
			value_from_bool(DatumGetBool(datum), result);
			break;
		case TIMESTAMPTZOID:
			timestamp_value(datum, result);
			break;
		case JSONBOID:
			value_from_jsonb(DatumGetJsonbP(datum), result);
			break;
		default:
			value_from_jsonb(DatumGetJsonbP(FunctionCall1(&column->to_jsonb, datum)), result);
	}
}

/*
 * The value that a field takes from a source row: null where the column is NULL
 * or has nothing at the path, so that a copy has all its fields.
 */
void
source_field_value(SourceFields *fields, int i, HeapTuple tuple, TupleDesc desc, JsonbValue *result)
{
	SourceColumn *column = &fields->columns[i];
	JsonbValue	whole;
	bool		is_null;
	Datum		datum = heap_getattr(tuple, column->number, desc, &is_null);

	if (is_null)
	{
		result->type = jbvNull;
		return;
	}
	column_value(column, datum, &whole);
	if (!path_get(column->path, &whole, result))
		result->type = jbvNull;
}

/* The key of a source row as text; palloc'd, NULL for NULL. */
char *
source_key_text(SourceFields *fields, HeapTuple tuple, TupleDesc desc)
{
	bool		is_null;
	Datum		key = heap_getattr(tuple, fields->key, desc, &is_null);

	return is_null ? NULL : OutputFunctionCall(&fields->key_output, key);
}

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
	leaf->index = source_unique_index(heap, leaf->fields->key);
	if (!OidIsValid(leaf->index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("column \"%s\" of relation \"%s\" has no unique index",
						get_attname(relid, leaf->fields->key, false), RelationGetRelationName(heap)),
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

static void
forget_rows(SourceReader *reader)
{
	MemoryContext caller;

	MemoryContextReset(reader->rows_context);
	caller = MemoryContextSwitchTo(reader->rows_context);
	reader->rows = names_create(sizeof(SourceRow));
	MemoryContextSwitchTo(caller);
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
	reader->rows_context = AllocSetContextCreate(CurrentMemoryContext, "pattern source rows", ALLOCSET_DEFAULT_SIZES);
	reader->temporary = AllocSetContextCreate(CurrentMemoryContext, "pattern source row", ALLOCSET_DEFAULT_SIZES);
	forget_rows(reader);
	return reader;
}

pg_noreturn static void
concurrent_update(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent update")));
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
	switch (table_tuple_lock(heap, &tid, snapshot, slot, GetCurrentCommandId(false),
							 reader->lock_mode, LockWaitBlock, flags, &failure))
	{
		case TM_Ok:
			return true;
		case TM_SelfModified:
			/* changed by this very statement: the source's trigger comes after it */
			return table_tuple_fetch_row_version(heap, &tid, snapshot, slot);
		case TM_Deleted:
			if (IsolationUsesXactSnapshot())
				concurrent_update();
			return false;
		default:
			concurrent_update();
	}
}

/* The bytes that a value points to, and how many; 0 for none. */
static Size
value_bytes(JsonbValue *value, char ***bytes)
{
	switch (value->type)
	{
		case jbvString:
			*bytes = &value->val.string.val;
			return value->val.string.len;
		case jbvNumeric:
			*bytes = (char **) &value->val.numeric;
			return VARSIZE_ANY(value->val.numeric);
		case jbvBinary:
			*bytes = (char **) &value->val.binary.data;
			return value->val.binary.len;
		default:
			return 0;
	}
}

/* Take over the values of a row of the source, in one piece of memory. */
static void
keep_row(SourceReader *reader, SourceFields *fields, HeapTuple tuple, TupleDesc desc, SourceRow *row)
{
	int			nfields = reader->reference->nfields;
	JsonbValue *values = palloc(nfields * sizeof(JsonbValue));
	Size		size = nfields * sizeof(JsonbValue);
	char	  **bytes;
	char	   *next;

	for (int i = 0; i < nfields; i++)
	{
		source_field_value(fields, i, tuple, desc, &values[i]);
		size += MAXALIGN(value_bytes(&values[i], &bytes));
	}
	row->values = MemoryContextAlloc(reader->rows_context, size);
	memcpy(row->values, values, nfields * sizeof(JsonbValue));
	next = (char *) (row->values + nfields);
	for (int i = 0; i < nfields; i++)
	{
		Size		n = value_bytes(&row->values[i], &bytes);

		if (n == 0)
			continue;
		*bytes = memcpy(next, *bytes, n);
		next += MAXALIGN(n);
	}
	row->found = true;
}

/* Is the row's key the one that is looked for, also as text? */
static bool
key_is(SourceFields *fields, HeapTuple tuple, TupleDesc desc, const char *key)
{
	char	   *text = source_key_text(fields, tuple, desc);

	return text != NULL && strcmp(text, key) == 0;
}

/*
 * Read the row of a key from a leaf.  *moved says that it was changed while we
 * waited for it, and is to be looked for anew.
 */
static bool
read_leaf(SourceReader *reader, SourceLeaf *leaf, Datum value, const char *key,
		  SourceRow *row, bool *moved)
{
	LOCKMODE	lockmode = reader->locks ? RowShareLock : AccessShareLock;
	Relation	heap = table_open(leaf->heap, lockmode);
	Relation	index = index_open(leaf->index, AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(IsolationUsesXactSnapshot() ? GetTransactionSnapshot() : GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(heap, NULL);
	IndexScanDesc scan = index_begin(heap, index, snapshot, 1);
	ScanKeyData scankey;
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

		found = key_is(leaf->fields, tuple, RelationGetDescr(heap), key);
		if (found)
			keep_row(reader, leaf->fields, tuple, RelationGetDescr(heap), row);
		else
			*moved = reader->locks;
	}
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	index_close(index, AccessShareLock);
	/* a lock on rows wants the table's until the end of the transaction */
	table_close(heap, reader->locks ? NoLock : lockmode);
	return found;
}

/* Could the text be a key at all?  Other types than integers say so themselves. */
static bool
key_is_plausible(const SourceReader *reader, const char *key)
{
	if (reader->key_type != INT2OID && reader->key_type != INT4OID && reader->key_type != INT8OID)
		return true;
	if (*key == '-')
		key++;
	return *key != '\0' && strlen(key) < 19 && strspn(key, "0123456789") == strlen(key);
}

/* Read the row of a key, a null-terminated one, into *row, which is all zeros but for its name. */
static void
read_row(SourceReader *reader, const char *key, SourceRow *row)
{
	Datum		value;

	if (!key_is_plausible(reader, key))
		return;
	value = InputFunctionCall(&reader->key_input, unconstify(char *, key), reader->key_ioparam, -1);

	/* twice: a row that went away while we waited may stand elsewhere now */
	for (int attempt = 0; attempt < 2; attempt++)
	{
		bool		moved = false;

		for (int i = 0; i < reader->nleaves; i++)
			if (read_leaf(reader, &reader->leaves[i], value, key, row, &moved))
				return;
		if (!moved)
			return;
	}
}

static bool
has_room(const SourceReader *reader)
{
	return MemoryContextMemAllocated(reader->rows_context, true) <= get_hash_memory_limit();
}

/* An entry for a key that has none, not found yet. */
static SourceRow *
add_row(SourceReader *reader, const char *key, int len)
{
	char	   *copy = MemoryContextAlloc(reader->rows_context, len + 1);
	bool		found;
	SourceRow  *row;

	memcpy(copy, key, len);
	copy[len] = '\0';
	row = names_enter(reader->rows, copy, len, &found);
	row->found = false;
	return row;
}

static SourceRow *
find_row(const SourceReader *reader, const char *key, int len)
{
	NameEntry	name = {key, len};

	return hash_search(reader->rows, &name, HASH_FIND, NULL);
}

/* Take over one row of a scan, unless it was read before. */
static void
scan_row(SourceReader *reader, SourceFields *fields, HeapTuple tuple, TupleDesc desc)
{
	MemoryContext caller = MemoryContextSwitchTo(reader->temporary);
	char	   *key = source_key_text(fields, tuple, desc);

	if (key != NULL && find_row(reader, key, strlen(key)) == NULL)
		keep_row(reader, fields, tuple, desc, add_row(reader, key, strlen(key)));
	MemoryContextSwitchTo(caller);
	MemoryContextReset(reader->temporary);
}

/* Read all rows of a leaf, if it is small, as far as there is room. */
static void
scan_leaf(SourceReader *reader, SourceLeaf *leaf)
{
	Relation	heap = table_open(leaf->heap, AccessShareLock);
	Snapshot	snapshot;
	TupleTableSlot *slot;
	TableScanDesc scan;

	if ((Size) RelationGetNumberOfBlocks(heap) * BLCKSZ <= get_hash_memory_limit())
	{
		snapshot = RegisterSnapshot(IsolationUsesXactSnapshot() ? GetTransactionSnapshot() : GetLatestSnapshot());
		slot = table_slot_create(heap, NULL);
		scan = table_beginscan(heap, snapshot, 0, NULL);
		while (has_room(reader) && table_scan_getnextslot(scan, ForwardScanDirection, slot))
		{
			bool		should_free;

			CHECK_FOR_INTERRUPTS();
			scan_row(reader, leaf->fields, ExecFetchSlotHeapTuple(slot, false, &should_free), RelationGetDescr(heap));
		}
		table_endscan(scan);
		ExecDropSingleTupleTableSlot(slot);
		UnregisterSnapshot(snapshot);
	}
	table_close(heap, AccessShareLock);
}

/*
 * The source row whose key, as text, is this.  It lives until the reader
 * forgets it, at the next call.  40001 if it changed since the transaction began.
 */
const SourceRow *
source_look_up(SourceReader *reader, const char *key, int len)
{
	SourceRow  *row = find_row(reader, key, len);
	MemoryContext caller;

	if (row != NULL)
		return row;
	if (!has_room(reader))
		forget_rows(reader);
	if (++reader->misses == MISSES_BEFORE_SCAN && !reader->locks)
	{
		for (int i = 0; i < reader->nleaves; i++)
			scan_leaf(reader, &reader->leaves[i]);
		row = find_row(reader, key, len);
		if (row != NULL)
			return row;
	}
	row = add_row(reader, key, len);
	caller = MemoryContextSwitchTo(reader->temporary);
	read_row(reader, row->key.name, row);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(reader->temporary);
	return row;
}
