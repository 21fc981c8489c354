/*
 * patterns/computed_refresh.c
 *		Computed pattern: refresh_computed and verify_computed.
 *
 * Both go through the parents in batches, in the order of the key.  What is
 * stored and what the rows make are read under one snapshot, so that other
 * transactions may write meanwhile.  refresh then locks those parents that are
 * not right, computes them again under the latest snapshot, and writes them: it
 * blocks nobody for a parent that is right.  Of a batch in which nothing seems to
 * be right it locks all at once.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "computed.h"

/* So few parents are all looked at. */
#define FEW 1000

PG_FUNCTION_INFO_V1(pattern_refresh_computed);
PG_FUNCTION_INFO_V1(pattern_verify_computed);

/* What is told while refresh is at work. */
typedef struct Progress
{
	int64		parents;
	int64		changed;
	TimestampTz told;
} Progress;

static bool
document_agrees(const Batch *batch, const Jsonb *doc, const GroupResult *group)
{
	JsonbValue	root;

	value_from_jsonb(doc, &root);
	return group_agrees(batch->definition, &root, group);
}

/*
 * Are all parents of the batch wrong, as far as a few tell?  Then they need not be
 * looked at before they are locked, and are computed but once.
 */
static bool
batch_looks_wrong(Batch *batch, Writer *writer)
{
	const int	probes[] = {0, batch->nkeys - 1, batch->nkeys / 2};

	for (int i = 0; i < lengthof(probes); i++)
	{
		Datum		key = batch->keys[probes[i]];
		GroupResult group;
		JsonbValue	root;

		if (!writer_find(writer, key))
			return false;
		value_from_jsonb(writer->doc, &root);
		if (!group_read(batch->definition, &root, &group))
			return true;		/* not filled in yet */
		if (batch->nkeys < FEW)
			return false;
		group_recompute(batch->definition, key, false, &group);
		if (document_agrees(batch, writer->doc, &group))
			return false;
	}
	return true;
}

/* The keys of the batch whose parents are not right come to its front; returns how many. */
static int
batch_find_wrong(Batch *batch, Writer *writer)
{
	int			nwrong = 0;
	int			next = 0;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pattern computed parent", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());

	writer_renew(writer, snapshot);
	if (batch_looks_wrong(batch, writer))
		nwrong = batch->nkeys;
	else
	{
		batch_compute(batch, batch->keys, batch->nkeys, snapshot);
		for (int i = 0; i < batch->nkeys; i++)
		{
			CHECK_FOR_INTERRUPTS();
			if (writer_find(writer, batch->keys[i]) &&
				!document_agrees(batch, writer->doc, batch_group(batch, batch->keys[i], &next)))
				batch->keys[nwrong++] = batch->keys[i];
			MemoryContextReset(context);
		}
	}
	UnregisterSnapshot(snapshot);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return nwrong;
}

/* Lock a parent; false if there is none. */
static bool
lock_parent(Writer *writer, Datum key)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (!writer_find(writer, key))
			return false;
		if (writer_lock(writer))
			return true;
	}
}

/* Write the first n parents of the batch; returns how many changed. */
static int64
batch_write(Batch *batch, Writer *writer, int n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pattern computed parent", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Snapshot	snapshot;
	int64		changed = 0;
	int			next = 0;

	writer_renew(writer, NULL);
	for (int i = 0; i < n; i++)
	{
		(void) lock_parent(writer, batch->keys[i]);
		MemoryContextReset(context);
	}
	CommandCounterIncrement();
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	batch_compute(batch, batch->keys, n, snapshot);
	UnregisterSnapshot(snapshot);
	writer_renew(writer, NULL);
	for (int i = 0; i < n; i++)
	{
		const GroupResult *group = batch_group(batch, batch->keys[i], &next);
		Jsonb	   *doc;

		CHECK_FOR_INTERRUPTS();
		if (!writer_find(writer, batch->keys[i]) || document_agrees(batch, writer->doc, group))
			continue;
		doc = group_store(batch->definition, writer->doc, group);
		if (doc != writer->doc && writer_update(writer, batch->keys[i], doc))
			changed++;
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return changed;
}

/* NOTICE, at most once a second. */
static void
tell_progress(Progress *progress, const Definition *definition)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(progress->told, now, 1000))
		return;
	progress->told = now;
	ereport(NOTICE,
			(errmsg("refreshed view \"%s\" in " INT64_FORMAT " documents of relation \"%s\", " INT64_FORMAT " of which changed",
					get_rel_name(definition->key.view), progress->parents,
					get_rel_name(definition->key.parent), progress->changed)));
}

static void
refresh_batch(Batch *batch, Progress *progress, bool tell)
{
	Writer		writer;
	int			n;

	CommandCounterIncrement();
	writer_open(&writer, batch->definition);
	n = batch_find_wrong(batch, &writer);
	if (n > 0)
		progress->changed += batch_write(batch, &writer, n);
	writer_close(&writer);
	CommandCounterIncrement();
	progress->parents += batch->nkeys;
	if (tell)
		tell_progress(progress, batch->definition);
}

/*
 * Make parents right, those with the keys or all; returns how many changed.  An
 * active snapshot is needed.
 */
int64
definition_refresh(Definition *definition, ArrayType *keys, bool tell)
{
	Progress	progress = {0, 0, GetCurrentTimestamp()};
	Batch	   *batch;

	LockRelationOid(definition->key.parent, RowExclusiveLock);
	LockRelationOid(definition->view.base, AccessShareLock);
	batch = batch_create(definition);
	if (keys != NULL)
	{
		batch_of_texts(batch, keys);
		if (batch->nkeys > 0)
			refresh_batch(batch, &progress, tell);
	}
	else
	{
		while (batch_next(batch))
			refresh_batch(batch, &progress, tell);
	}
	MemoryContextDelete(batch->context);
	return progress.changed;
}

/* Make the parents of these keys right; returns how many changed. */
int64
definition_refresh_keys(Definition *definition, Datum *keys, int nkeys)
{
	Progress	progress = {0, 0, GetCurrentTimestamp()};
	Batch	   *batch;

	LockRelationOid(definition->key.parent, RowExclusiveLock);
	LockRelationOid(definition->view.base, AccessShareLock);
	batch = batch_create(definition);
	for (int i = 0; i < nkeys; i += COMPUTED_BATCH)
	{
		batch->nkeys = Min(COMPUTED_BATCH, nkeys - i);
		batch->keys = keys + i;
		refresh_batch(batch, &progress, true);
		MemoryContextReset(batch->context);
	}
	MemoryContextDelete(batch->context);
	return progress.changed;
}

/* A key as text, alike in every session. */
static pg_noinline Datum
key_text(const Definition *definition, Datum key)
{
	Environment before;
	Oid			output;
	bool		varlena;
	volatile Datum result = 0;

	getTypeOutputInfo(definition->view.key_type, &output, &varlena);
	environment_enter(&before);
	PG_TRY();
	{
		result = CStringGetTextDatum(OidOutputFunctionCall(output, key));
	}
	PG_FINALLY();
	{
		environment_leave(&before);
	}
	PG_END_TRY();
	return result;
}

/* Add a row of verify_computed's. */
static void
report(ReturnSetInfo *result, const Definition *definition, Datum key, const char *name, int len,
	   const char *inner, const JsonbValue *stored, const JsonbValue *expected)
{
	Datum		values[4];
	bool		nulls[4] = {false, false, stored == NULL, false};
	int			nsteps = definition->path->nsteps;
	Datum	   *steps = palloc((nsteps + 2) * sizeof(Datum));

	values[0] = key_text(definition, key);
	for (int i = 0; i < nsteps; i++)
		steps[i] = PointerGetDatum(cstring_to_text_with_len(definition->path->steps[i].name, definition->path->steps[i].len));
	steps[nsteps++] = PointerGetDatum(cstring_to_text_with_len(name, len));
	if (inner != NULL)
		steps[nsteps++] = CStringGetTextDatum(inner);
	values[1] = PointerGetDatum(construct_array(steps, nsteps, TEXTOID, -1, false, TYPALIGN_INT));
	values[2] = stored == NULL ? (Datum) 0 : JsonbPGetDatum(value_to_jsonb(stored));
	values[3] = JsonbPGetDatum(value_to_jsonb(expected));
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* The differences between a parent's document and what its rows make. */
static void
verify_parent(ReturnSetInfo *result, const Definition *definition, Datum key, const Jsonb *doc,
			  const GroupResult *expected)
{
	const ViewDefinition *view = &definition->view;
	JsonbValue	root,
				place,
				stored,
				hidden;
	bool		reported = false;
	bool		has_place;

	value_from_jsonb(doc, &root);
	has_place = path_get(definition->path, &root, &place);
	for (int i = 0; i < view->nfields; i++)
	{
		const FieldSpec *field = &view->fields[i];
		bool		found = has_place && value_get(&place, field->name, field->len, &stored);

		if (found && field_agrees(field, &stored, &expected->fields[i]))
			continue;
		report(result, definition, key, field->name, field->len, NULL, found ? &stored : NULL, &expected->fields[i]);
		reported = true;
	}
	/* what is hidden shows in the fields of tomorrow */
	if (!reported && has_place && value_get_cstring(&place, COMPUTED_HIDDEN, &hidden) &&
		value_get(&hidden, view->fields[0].name, view->fields[0].len, &stored) &&
		view->nnumbers > 0 && !hidden_agrees(view, &stored, &expected->hidden))
		report(result, definition, key, COMPUTED_HIDDEN, strlen(COMPUTED_HIDDEN), view->fields[0].name,
			   &stored, &expected->hidden);
}

static void
verify_batch(ReturnSetInfo *result, Batch *batch, Writer *writer)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pattern computed parent", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	QueuedKeys *queued = queue_keys(batch->definition, snapshot);
	int			next = 0;

	writer_renew(writer, snapshot);
	batch_compute(batch, batch->keys, batch->nkeys, snapshot);
	for (int i = 0; i < batch->nkeys; i++)
	{
		MemoryContext each = AllocSetContextCreate(context, "pattern computed parent", ALLOCSET_DEFAULT_SIZES);

		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(each);
		if (writer_find(writer, batch->keys[i]) && !queue_has(queued, batch->definition, batch->keys[i]))
			verify_parent(result, batch->definition, batch->keys[i], writer->doc,
						  batch_group(batch, batch->keys[i], &next));
		MemoryContextSwitchTo(context);
		MemoryContextDelete(each);
	}
	UnregisterSnapshot(snapshot);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

static void
definition_verify(ReturnSetInfo *result, Definition *definition)
{
	Batch	   *batch;
	Writer		writer;

	LockRelationOid(definition->key.parent, RowExclusiveLock);
	LockRelationOid(definition->view.base, AccessShareLock);
	batch = batch_create(definition);
	while (batch_next(batch))
	{
		CommandCounterIncrement();
		writer_open(&writer, definition);
		verify_batch(result, batch, &writer);
		writer_close(&writer);
	}
	MemoryContextDelete(batch->context);
}

/* The views kept in documents of a relation of the user's; of these, the one that is given. */
static List *
get_views(FunctionCallInfo fcinfo)
{
	Oid			parent;
	List	   *views;

	argument_check_given(fcinfo, 0, "relation");
	parent = PG_GETARG_OID(0);
	relation_lock_owned(parent, RowExclusiveLock, (char[]) {RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, '\0'});
	views = parent_views(parent);
	if (PG_ARGISNULL(1))
		return views;
	if (!list_member_oid(views, PG_GETARG_OID(1)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("view \"%s\" is not kept in documents of relation \"%s\"",
						get_rel_name(PG_GETARG_OID(1)), get_rel_name(parent))));
	return list_make1_oid(PG_GETARG_OID(1));
}

/* Apply what this transaction has changed, and begin. */
static void
begin(void)
{
	computed_flush_due(true);
	computed_flush_due(false);
}

/* refresh_computed(relation regclass, source regclass DEFAULT NULL, keys text[] DEFAULT NULL) → bigint */
Datum
pattern_refresh_computed(PG_FUNCTION_ARGS)
{
	List	   *views = get_views(fcinfo);
	ArrayType  *keys = PG_ARGISNULL(2) ? NULL : PG_GETARG_ARRAYTYPE_P(2);
	int64		changed = 0;
	ListCell   *cell;

	begin();
	foreach(cell, views)
	{
		bool		restamped = computed_restamp(PG_GETARG_OID(0), lfirst_oid(cell));
		Definition *definition = definition_get(lfirst_oid(cell), PG_GETARG_OID(0));

		/* of all views together, those that are queued have what waits folded in */
		if (definition->mode == COMPUTED_QUEUED && PG_ARGISNULL(1) && keys == NULL && !restamped)
			changed += queue_refresh(definition);
		else
		{
			if (definition->mode == COMPUTED_QUEUED && keys == NULL)
				queue_clear(definition);
			changed += definition_refresh(definition, restamped ? NULL : keys, true);
		}
	}
	PG_RETURN_INT64(changed);
}

/* verify_computed(relation regclass, source regclass DEFAULT NULL) → TABLE(key text, path text[], stored jsonb, expected jsonb) */
Datum
pattern_verify_computed(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	List	   *views = get_views(fcinfo);
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, 0);
	begin();
	foreach(cell, views)
	{
		Definition *definition = definition_get(lfirst_oid(cell), PG_GETARG_OID(0));

		definition_check(definition);
		definition_verify(result, definition);
	}
	return (Datum) 0;
}
