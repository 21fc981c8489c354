/*
 * patterns/computed_flush.c
 *		Computed pattern: what waits is applied to the parents.
 *
 * All definitions of a flush take part in one order: by table, then by
 * key, so that two flushes lock what they have in common in the same order.  A
 * parent is written once, and only if something changes.
 *
 * What a delta cannot say is computed from the rows, after the parent was locked
 * and with the latest snapshot: whoever changed a row of the group and has
 * committed had the lock before and is seen, and who has not comes after.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "computed.h"

/* Locks for parents that are not there, of a table; see definition_lock_missing. */
#define MISSING_LOCKS 256
/* The fourth field of an advisory lock's tag; core uses 1 and 2. */
#define LOCK_SPACE 0x7061

PG_FUNCTION_INFO_V1(pattern_computed_flush);

/* A parent's changes, of one definition or several. */
typedef struct ParentGroup
{
	Datum		key;
	int			n;
	Definition **definitions;
	Delta	  **deltas;
} ParentGroup;

/*
 * Rows may come for a parent that another transaction is inserting.  Each would
 * not see the other's, so both take this lock, in modes that exclude each other,
 * until they end; then who comes second sees the first.  It is one lock for all
 * definitions of the parent, as each takes it in its own time.  Keys share
 * locks, so that a transaction does not need one for each.
 */
void
definition_lock_missing(Definition *definition, Datum key, bool is_parent)
{
	uint32		hash = DatumGetUInt32(FunctionCall1Coll(&definition->key_hash, definition->view.key_collation, key));
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, definition->key.parent, hash % MISSING_LOCKS, LOCK_SPACE);
	(void) LockAcquire(&tag, is_parent ? RowExclusiveLock : ShareLock, false, false);
}

/* Make a query of ours ready, once. */
static void
prepare(Definition *definition, bool many)
{
	SPIPlanPtr *plan = many ? &definition->many_plan : &definition->one_plan;
	Oid			type = many ? get_array_type(definition->view.key_type) : definition->view.key_type;
	int			options = 0;

	if (*plan != NULL)
		return;
	/* workers do not have the settings of environment_enter */
	if (many)
		options = CURSOR_OPT_CUSTOM_PLAN | (definition->view.environment ? 0 : CURSOR_OPT_PARALLEL_OK);
	*plan = SPI_prepare_cursor(computed_sql(&definition->view, many), 1, &type, options);
	if (*plan == NULL)
		elog(ERROR, "SPI_prepare returned %s", SPI_result_code_string(SPI_result));
	SPI_keepplan(*plan);
}

/* Run computed_sql's query as the owner of the base table; SPI is connected. */
void
definition_query(Definition *definition, bool many, Datum argument, bool isnull, Snapshot snapshot)
{
	Environment before;
	OwnerSwitch owner;
	char		null = isnull ? 'n' : ' ';
	int			level;
	volatile int result = 0;

	owner_enter(definition->base_owner, &owner);
	level = safe_path_enter();
	environment_enter(&before);
	PG_TRY();
	{
		prepare(definition, many);
		result = SPI_execute_snapshot(many ? definition->many_plan : definition->one_plan,
									  &argument, &null, snapshot, InvalidSnapshot, true, false, 0);
	}
	PG_FINALLY();
	{
		environment_leave(&before);
	}
	PG_END_TRY();
	if (result != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_snapshot returned %s", SPI_result_code_string(result));
	safe_path_leave(level);
	owner_leave(&owner);
}

/* A row of the query's result as a group, in the current memory context; *key may be NULL. */
void
definition_row(const ViewDefinition *view, HeapTuple tuple, TupleDesc desc, Datum *key, GroupResult *result)
{
	int			first = key == NULL ? 0 : 1;
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *nulls = palloc(desc->natts * sizeof(bool));
	Oid		   *types = palloc(desc->natts * sizeof(Oid));

	heap_deform_tuple(heap_copytuple(tuple), desc, values, nulls);
	for (int i = 0; i < desc->natts; i++)
		types[i] = TupleDescAttr(desc, i)->atttypid;
	if (key != NULL)
		*key = values[0];
	group_from_row(view, values + first, nulls + first, types + first, result);
}

/*
 * A group as its rows make it now, in the current memory context; without a key,
 * as it is of no rows.
 */
void
group_recompute(Definition *definition, Datum key, bool isnull, GroupResult *result)
{
	MemoryContext caller = CurrentMemoryContext;
	Snapshot	snapshot;

	CommandCounterIncrement();
	SPI_connect();
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	definition_query(definition, false, key, isnull, snapshot);
	MemoryContextSwitchTo(caller);
	definition_row(&definition->view, SPI_tuptable->vals[0], SPI_tuptable->tupdesc, NULL, result);
	UnregisterSnapshot(snapshot);
	SPI_finish();
}

/*
 * The document after one definition's changes, which may be written into it.
 * *again is set if the row is another by now.
 */
static Jsonb *
apply_delta(Writer *writer, ParentGroup *group, int i, Jsonb *doc, bool *changed, bool *again)
{
	Definition *definition = group->definitions[i];
	const Delta *delta = group->deltas[i];
	GroupResult stored,
				result;
	JsonbValue	root;
	Jsonb	   *written;

	value_from_jsonb(doc, &root);
	if (delta->recompute || !group_apply(definition, &root, delta->states, &stored, &result))
	{
		if (!writer_lock(writer))
		{
			*again = true;
			return doc;
		}
		group_recompute(definition, group->key, false, &result);
	}
	else if (group_patch(&definition->view, &stored, &result, changed))
		return doc;
	written = group_store(definition, doc, &result);
	*changed |= written != doc;
	return written;
}

/* Apply to a parent that was found; false if it has to be found anew. */
static bool
apply_group(Writer *writer, ParentGroup *group)
{
	Jsonb	   *doc = writer->doc;
	bool		changed = false;
	bool		again = false;

	for (int i = 0; i < group->n && !again; i++)
		doc = apply_delta(writer, group, i, doc, &changed, &again);
	if (again)
		return false;
	/* that nothing changes is true of this version of the row only */
	if (!changed)
		return writer_lock(writer);
	return writer_update(writer, group->key, doc);
}

static void
flush_group(Writer *writer, ParentGroup *group)
{
	bool		waited = false;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (writer_find(writer, group->key))
		{
			if (apply_group(writer, group))
				return;
		}
		else if (waited)
			return;
		else
		{
			/* it is one lock for all definitions of the parent */
			definition_lock_missing(group->definitions[0], group->key, false);
			waited = true;
			writer_renew(writer, NULL);
		}
	}
}

/* Is the second key of the same parent as the first? */
static bool
same_parent(const PendingKey *a, const PendingKey *b)
{
	Definition *x = a->current;
	Definition *y = b->current;

	return x->key.parent == y->key.parent && x->key_column == y->key_column &&
		x->view.key_type == y->view.key_type &&
		DatumGetInt32(FunctionCall2Coll(&x->key_compare, x->index_collation,
										a->lookup.value, b->lookup.value)) == 0;
}

/* for qsort: by table, then by key, then by definition */
static int
compare_keys(const void *a, const void *b)
{
	const PendingKey *x = *(PendingKey *const *) a;
	const PendingKey *y = *(PendingKey *const *) b;
	Definition *p = x->current;
	Definition *q = y->current;
	int			cmp = 0;

	if (p != q)
	{
		if (p->key.parent != q->key.parent)
			return p->key.parent < q->key.parent ? -1 : 1;
		if (p->key_column != q->key_column)
			return p->key_column < q->key_column ? -1 : 1;
		if (p->view.key_type != q->view.key_type)
			return p->view.key_type < q->view.key_type ? -1 : 1;
	}
	cmp = DatumGetInt32(FunctionCall2Coll(&p->key_compare, p->index_collation,
										  x->lookup.value, y->lookup.value));
	if (cmp != 0)
		return cmp;
	return p->key.view < q->key.view ? -1 : (p->key.view > q->key.view);
}

/* Take the changes of the keys at the front that are one parent's; returns how many keys. */
static int
collect_group(PendingKey **keys, int n, ParentGroup *group)
{
	int			i = 0;

	group->n = 0;
	group->key = keys[0]->lookup.value;
	group->definitions = palloc(n * sizeof(Definition *));
	group->deltas = palloc(n * sizeof(Delta *));
	do
	{
		Delta	   *delta = pending_consume(keys[i]->current, keys[i]);

		if (delta == NULL || (!delta->recompute && delta_is_nothing(&keys[i]->current->view, delta->states)))
			continue;
		group->definitions[group->n] = keys[i]->current;
		group->deltas[group->n++] = delta;
	} while (++i < n && same_parent(keys[0], keys[i]));
	return i;
}

/* How many keys at the front are of the first one's table and column? */
static int
count_table(PendingKey **keys, int n)
{
	int			i = 1;

	while (i < n && keys[i]->current->key.parent == keys[0]->current->key.parent &&
		   keys[i]->current->key_column == keys[0]->current->key_column &&
		   keys[i]->current->view.key_type == keys[0]->current->view.key_type)
		i++;
	return i;
}

/* How many of the next keys are of the same parent, at most? */
static int
count_parent(PendingKey **keys, int n)
{
	int			i = 1;

	while (i < n && same_parent(keys[0], keys[i]))
		i++;
	return i;
}

static void
flush_table(PendingKey **keys, int n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pattern computed flush", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = CurrentMemoryContext;
	Writer		writer;

	writer_open(&writer, keys[0]->current);
	MemoryContextSwitchTo(context);
	for (int i = 0; i < n;)
	{
		ParentGroup		group;

		i += collect_group(keys + i, count_parent(keys + i, n - i), &group);
		if (group.n > 0)
			flush_group(&writer, &group);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(caller);
	writer_close(&writer);
	MemoryContextDelete(context);
}

/* Tables are locked before what is known of them is used. */
static void
take_definitions(PendingKey **keys, int n)
{
	Oid			locked = InvalidOid;

	for (int i = 0; i < n; i++)
	{
		DefinitionKey *key = &keys[i]->lookup.key;

		if (key->parent != locked)
			LockRelationOid(key->parent, RowExclusiveLock);
		locked = key->parent;
	}
	for (int i = 0; i < n; i++)
	{
		keys[i]->current = i > 0 && memcmp(&keys[i]->lookup.key, &keys[i - 1]->lookup.key, sizeof(DefinitionKey)) == 0 ?
			keys[i - 1]->current : definition_get(keys[i]->lookup.key.view, keys[i]->lookup.key.parent);
		definition_check(keys[i]->current);
	}
}

/* Definitions all of whose parents must be computed come first; returns how many. */
static int
flush_all(PendingKey **keys, int n)
{
	int			rest = 0;

	for (int i = 0; i < n; i++)
	{
		if (!keys[i]->lookup.all)
			continue;
		if (pending_consume(keys[i]->current, keys[i]) != NULL)
		{
			for (int j = 0; j < n; j++)
				if (!keys[j]->lookup.all && keys[j]->current->key.view == keys[i]->current->key.view &&
					keys[j]->current->key.parent == keys[i]->current->key.parent)
					(void) pending_consume(keys[j]->current, keys[j]);
			if (keys[i]->current->mode == COMPUTED_QUEUED)
				queue_append(keys[i]->current, 0, true);
			else
				(void) definition_refresh(keys[i]->current, NULL, false);
		}
	}
	for (int i = 0; i < n; i++)
		if (!keys[i]->lookup.all)
			keys[rest++] = keys[i];
	return rest;
}

/* The keys of queued definitions go to their queues; returns how many are left. */
static int
flush_queued(PendingKey **keys, int n)
{
	int			rest = 0;

	for (int i = 0; i < n; i++)
	{
		if (keys[i]->current->mode != COMPUTED_QUEUED)
			keys[rest++] = keys[i];
		else
		{
			Delta	   *delta = pending_consume(keys[i]->current, keys[i]);

			if (delta != NULL && (delta->recompute || !delta_is_nothing(&keys[i]->current->view, delta->states)))
				queue_append(keys[i]->current, keys[i]->lookup.value, false);
		}
	}
	return rest;
}

/* Apply what waits, of immediate definitions or of the others. */
void
computed_flush_due(bool immediate)
{
	int			n;
	int			left;
	PendingKey **keys;
	PendingKey **order;

	pending_fired(immediate);
	keys = pending_due(immediate, &n);
	if (n > 0)
	{
		CommandCounterIncrement();
		PushActiveSnapshot(GetTransactionSnapshot());
		take_definitions(keys, n);
		order = palloc(n * sizeof(PendingKey *));
		memcpy(order, keys, n * sizeof(PendingKey *));
		left = flush_all(order, n);
		if (!immediate)
			left = flush_queued(order, left);
		if (left > 1)
			qsort(order, left, sizeof(PendingKey *), compare_keys);
		for (int i = 0; i < left;)
		{
			int			count = count_table(order + i, left - i);

			flush_table(order + i, count);
			i += count;
		}
		PopActiveSnapshot();
		CommandCounterIncrement();
	}
	pending_release(keys, n);
}

/* All parents of the definition of a TRUNCATE must be computed when it is done. */
static void
note_truncate(TriggerData *trigger)
{
	List	   *targets = trigger_targets(trigger->tg_trigger, flush_targets(trigger->tg_trigger));
	Definition *definition = definition_get(linitial_oid(targets), lsecond_oid(targets));

	definition_check(definition);
	if (!definition_covers(definition, RelationGetRelid(trigger->tg_relation)))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("view \"%s\" does not select from relation \"%s\"",
						get_rel_name(definition->key.view), RelationGetRelationName(trigger->tg_relation)),
				 errhint("Drop the trigger; create_computed creates those that are needed.")));
	pending_delta(definition, (Datum) 0, true)->recompute = true;
	pending_arm(definition, NULL, trigger);
}

/* computed_flush(mode, digest, VARIADIC path): a trigger of TRUNCATE, and the event that ends a query */
Datum
pattern_computed_flush(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);

	if (!TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"%s\" must be fired by TRUNCATE", get_func_name(fcinfo->flinfo->fn_oid))));
	if (TRIGGER_FIRED_BEFORE(trigger->tg_event))
		note_truncate(trigger);
	else
		computed_flush_due(trigger->tg_trigger->tgnargs == 0 ||
						   strcmp(trigger->tg_trigger->tgargs[0], "immediate") == 0);
	PG_RETURN_POINTER(NULL);
}
