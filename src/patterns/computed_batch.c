/*
 * patterns/computed_batch.c
 *		Computed pattern: some parents at a time, and what their rows make.
 *
 * Batches follow the order of the key, and one holds no more than COMPUTED_BATCH
 * parents: that is the memory that refresh and verify need.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "computed.h"

/* for qsort_arg, by key */
static int
compare_rows(const void *a, const void *b, void *arg)
{
	Definition *definition = arg;

	return DatumGetInt32(FunctionCall2Coll(&definition->key_compare, definition->index_collation,
										   ((const BatchRow *) a)->key, ((const BatchRow *) b)->key));
}

/* for qsort_arg: keys in the order in which they are locked */
int
definition_compare_keys(const void *a, const void *b, void *arg)
{
	Definition *definition = arg;

	return DatumGetInt32(FunctionCall2Coll(&definition->key_compare, definition->index_collation,
										   *(const Datum *) a, *(const Datum *) b));
}

/* A type for SQL, without a length. */
char *
type_name(Oid type)
{
	return format_type_extended(type, -1, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
}

Batch *
batch_create(Definition *definition)
{
	Batch	   *batch = palloc0(sizeof(Batch));

	batch->definition = definition;
	batch->context = AllocSetContextCreate(CurrentMemoryContext, "pattern computed batch", ALLOCSET_DEFAULT_SIZES);
	group_recompute(definition, (Datum) 0, true, &batch->empty);
	return batch;
}

/* The next batch begins behind the last key of this one. */
static void
batch_note_last(Batch *batch)
{
	const Definition *definition = batch->definition;

	if (batch->has_last && !definition->key_byval)
		pfree(DatumGetPointer(batch->last));
	batch->last = datumCopy(batch->keys[batch->nkeys - 1], definition->key_byval, definition->key_len);
	batch->has_last = true;
}

/* The keys behind the last one of a batch, or the first; false if there are none. */
bool
batch_next(Batch *batch)
{
	Definition *definition = batch->definition;
	Oid			parent = definition->key.parent;
	const char *column = quote_identifier(get_attname(parent, definition->key_column, false));
	bool		first = !batch->has_last;
	OwnerSwitch before;
	Oid			type = definition->view.key_type;
	TypeCacheEntry *order = lookup_type_cache(type, TYPECACHE_GT_OPR);

	MemoryContextReset(batch->context);
	owner_enter(definition->parent_owner, &before);
	SPI_connect();
	if (SPI_execute_with_args(psprintf("SELECT %s::%s FROM %s WHERE %s ORDER BY %s LIMIT %d", column,
									   type_name(type), relation_quoted_name(parent),
									   first ? psprintf("%s IS NOT NULL", column) :
									   psprintf("%s %s $1", column, operator_quoted_name(order->gt_opr)),
									   column, COMPUTED_BATCH),
							  first ? 0 : 1, &type, &batch->last, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the keys of a parent");
	batch->nkeys = SPI_processed;
	batch->keys = MemoryContextAlloc(batch->context, Max(batch->nkeys, 1) * sizeof(Datum));
	for (int i = 0; i < batch->nkeys; i++)
	{
		bool		isnull;
		Datum		key = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);
		MemoryContext caller = MemoryContextSwitchTo(batch->context);

		batch->keys[i] = datumCopy(key, definition->key_byval, definition->key_len);
		MemoryContextSwitchTo(caller);
	}
	SPI_finish();
	owner_leave(&before);
	if (batch->nkeys > 0)
		batch_note_last(batch);
	/* the index may have another collation than the column */
	qsort_arg(batch->keys, batch->nkeys, sizeof(Datum), definition_compare_keys, definition);
	return batch->nkeys > 0;
}

/* The keys that are named. */
void
batch_of_texts(Batch *batch, ArrayType *texts)
{
	Definition *definition = batch->definition;
	MemoryContext caller = MemoryContextSwitchTo(batch->context);
	Datum	   *values;
	bool	   *nulls;
	int			n;
	Oid			input,
				param;

	deconstruct_array(texts, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &n);
	getTypeInputInfo(definition->view.key_type, &input, &param);
	batch->keys = palloc(Max(n, 1) * sizeof(Datum));
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			batch->keys[batch->nkeys++] = OidInputFunctionCall(input, TextDatumGetCString(values[i]), param, -1);
	qsort_arg(batch->keys, batch->nkeys, sizeof(Datum), definition_compare_keys, definition);
	MemoryContextSwitchTo(caller);
}

/* What the rows of these keys make. */
void
batch_compute(Batch *batch, const Datum *keys, int nkeys, Snapshot snapshot)
{
	Definition *definition = batch->definition;
	ArrayType  *array;
	Datum	   *copy;
	int16		len;
	bool		byval;
	char		align;
	MemoryContext caller;

	get_typlenbyvalalign(definition->view.key_type, &len, &byval, &align);
	/* construct_array puts what it detoasts into the list that it is given */
	copy = palloc(nkeys * sizeof(Datum));
	memcpy(copy, keys, nkeys * sizeof(Datum));
	array = construct_array(copy, nkeys, definition->view.key_type, len, byval, align);
	SPI_connect();
	definition_query(definition, true, PointerGetDatum(array), false, snapshot);
	caller = MemoryContextSwitchTo(batch->context);
	batch->nrows = SPI_processed;
	batch->rows = palloc_extended(Max(batch->nrows, 1) * sizeof(BatchRow), MCXT_ALLOC_HUGE);
	for (int i = 0; i < batch->nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		definition_row(&definition->view, SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
					   &batch->rows[i].key, &batch->rows[i].group);
		batch->rows[i].key = definition_key(definition, SPI_gettypeid(SPI_tuptable->tupdesc, 1), batch->rows[i].key);
	}
	qsort_arg(batch->rows, batch->nrows, sizeof(BatchRow), compare_rows, definition);
	MemoryContextSwitchTo(caller);
	SPI_finish();
}

/* The group of a key; *next goes through the rows as the keys do. */
const GroupResult *
batch_group(const Batch *batch, Datum key, int *next)
{
	BatchRow	wanted = {key, {NULL, {0}}};

	while (*next < batch->nrows && compare_rows(&batch->rows[*next], &wanted, batch->definition) < 0)
		(*next)++;
	if (*next < batch->nrows && compare_rows(&batch->rows[*next], &wanted, batch->definition) == 0)
		return &batch->rows[*next].group;
	return &batch->empty;
}
