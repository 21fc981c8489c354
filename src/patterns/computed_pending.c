/*
 * patterns/computed_pending.c
 *		Computed pattern: the changes that wait to be applied.
 *
 * A key's changes are kept by the subtransaction that made them, so that what
 * rolls back takes its changes along.  A flush is part of a
 * subtransaction, too: what it applied is only marked as consumed while an outer
 * one still has it, and waits again if the subtransaction of the flush rolls back.
 *
 * A flush is armed by an event of our trigger on the base table, put into the
 * queue of the query that writes (or, of a deferred trigger, into that of the
 * transaction) by core's own entry point, with a ResultRelInfo that has no
 * trigger but this.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "computed.h"

/* The deltas of one level of subtransactions. */
typedef struct Level
{
	dlist_head	made;			/* at this level */
	dlist_head	consumed;		/* at this level, made at a lower one */
} Level;

typedef struct Pending
{
	MemoryContext context;		/* of keys and deltas */
	HTAB	   *keys;
	dlist_head	all;			/* the keys, in the order of their first change */
	int			nkeys;
	int			flushes;		/* at work */
	uint64		generation;		/* changes when pointers to deltas become invalid */
	int			nlevels;		/* in levels, which begins with level 0 */
	Level	   *levels;
	MemoryContext armed_query;	/* an event is in this query's queue */
	int			armed_level;	/* a deferred event was queued at this level; 0: none waits */
} Pending;

/* A table of keys that was larger is not kept. */
#define KEYS_KEPT 10000

static Pending pending;

static uint32
lookup_hash(const void *key, Size size)
{
	return ((const PendingLookup *) key)->hash;
}

/* 0 if the same, as for memcmp */
static int
lookup_compare(const void *a, const void *b, Size size)
{
	const PendingLookup *x = a;
	const PendingLookup *y = b;

	if (x->key.view != y->key.view || x->key.parent != y->key.parent || x->hash != y->hash ||
		x->all != y->all)
		return 1;
	if (x->all)
		return 0;
	return !DatumGetBool(FunctionCall2Coll(&x->definition->key_equal,
										   x->definition->view.key_collation, x->value, y->value));
}

static void
create_keys(void)
{
	HASHCTL		control = {0};

	control.keysize = sizeof(PendingLookup);
	control.entrysize = sizeof(PendingKey);
	control.hash = lookup_hash;
	control.match = lookup_compare;
	pending.keys = hash_create("pattern computed keys", 64, &control,
							   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE);
}

/* Forget everything. */
static void
reset(void)
{
	if (pending.context == NULL)
		return;
	if (pending.nkeys > 0)
	{
		/* keys are not looked up any more: what compares them may be gone */
		hash_destroy(pending.keys);
		pending.keys = NULL;
	}
	dlist_init(&pending.all);
	pending.nkeys = 0;
	pending.nlevels = 0;
	pending.levels = NULL;
	pending.generation++;
	MemoryContextReset(pending.context);
}

static void
forget_delta(Delta *delta)
{
	dlist_delete(&delta->of_key);
	dlist_delete(&delta->of_level);
	if (delta->consumed > 0)
		dlist_delete(&delta->of_consumed);
	pfree(delta);
	pending.generation++;
}

static Level *
get_level(int level)
{
	if (level >= pending.nlevels)
	{
		int			n = level + 8;
		Level	   *levels = MemoryContextAlloc(pending.context, n * sizeof(Level));

		/* lists are circular: they are moved, not copied */
		for (int i = 0; i < n; i++)
		{
			dlist_init(&levels[i].made);
			dlist_init(&levels[i].consumed);
		}
		for (int i = 0; i < pending.nlevels; i++)
		{
			while (!dlist_is_empty(&pending.levels[i].made))
				dlist_push_tail(&levels[i].made, dlist_pop_head_node(&pending.levels[i].made));
			while (!dlist_is_empty(&pending.levels[i].consumed))
				dlist_push_tail(&levels[i].consumed, dlist_pop_head_node(&pending.levels[i].consumed));
		}
		pending.levels = levels;
		pending.nlevels = n;
	}
	return &pending.levels[level];
}

/* A subtransaction ends well: what is its own becomes its parent's. */
static void
level_commit(int level)
{
	Level	   *this = get_level(level);
	Level	   *parent = get_level(level - 1);

	this = get_level(level);
	while (!dlist_is_empty(&this->consumed))
	{
		Delta	   *delta = dlist_container(Delta, of_consumed, dlist_pop_head_node(&this->consumed));

		delta->consumed = level - 1;
		dlist_push_tail(&parent->consumed, &delta->of_consumed);
		if (delta->level >= delta->consumed)
			forget_delta(delta);
	}
	while (!dlist_is_empty(&this->made))
	{
		Delta	   *delta = dlist_container(Delta, of_level, dlist_pop_head_node(&this->made));

		delta->level = level - 1;
		dlist_push_tail(&parent->made, &delta->of_level);
	}
	pending.generation++;
}

/* It rolls back: what it made never happened, what it consumed waits again. */
static void
level_abort(int level)
{
	Level	   *this = get_level(level);

	while (!dlist_is_empty(&this->consumed))
	{
		Delta	   *delta = dlist_container(Delta, of_consumed, dlist_pop_head_node(&this->consumed));

		delta->consumed = 0;
	}
	while (!dlist_is_empty(&this->made))
		forget_delta(dlist_container(Delta, of_level, dlist_head_node(&this->made)));
	pending.generation++;
}

/* subtransaction callback */
static void
subtransaction_end(SubXactEvent event, SubTransactionId mySubid, SubTransactionId parentSubid, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();

	if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
		return;
	if (event == SUBXACT_EVENT_ABORT_SUB)
	{
		pending.armed_query = NULL;
		/* what failed may be a flush; those of outer levels are not inside of a subtransaction of theirs */
		if (pending.armed_level >= level)
			pending.armed_level = 0;
	}
	else if (pending.armed_level >= level)
		pending.armed_level = level - 1;
	if (level >= pending.nlevels)
		return;
	if (event == SUBXACT_EVENT_COMMIT_SUB)
		level_commit(level);
	else
		level_abort(level);
}

/* 55000 if a change would be lost. */
static void
check_nothing_waits(void)
{
	dlist_iter	i,
				j;

	dlist_foreach(i, &pending.all)
	{
		PendingKey *key = dlist_container(PendingKey, of_all, i.cur);

		dlist_foreach(j, &key->deltas)
			if (dlist_container(Delta, of_key, j.cur)->consumed == 0)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("changes of computed fields were not applied before the transaction ended"),
					 errhint("A trigger of ours was dropped or disabled in the same transaction.")));
	}
}

/* transaction callback */
static void
transaction_end(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			check_nothing_waits();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			pending.armed_query = NULL;
			pending.armed_level = 0;
			pending.flushes = 0;
			if (pending.nkeys > 0 || pending.nlevels > 0)
				reset();
			break;
		default:
			break;
	}
}

static void
initialize(void)
{
	pending.context = AllocSetContextCreate(TopMemoryContext, "pattern computed changes", ALLOCSET_DEFAULT_SIZES);
	dlist_init(&pending.all);
	RegisterXactCallback(transaction_end, NULL);
	RegisterSubXactCallback(subtransaction_end, NULL);
}

/* Changes whenever pointers to deltas become invalid. */
uint64
pending_generation(void)
{
	return pending.generation;
}

/* Where what deltas keep is allocated. */
MemoryContext
pending_context(void)
{
	return pending.context;
}

static void
fill_lookup(Definition *definition, Datum key, bool all, PendingLookup *lookup)
{
	/* there is padding in it, but it is compared field by field */
	lookup->key = definition->key;
	lookup->all = all;
	lookup->value = key;
	lookup->definition = definition;
	lookup->hash = all ? 0 :
		DatumGetUInt32(FunctionCall1Coll(&definition->key_hash, definition->view.key_collation, key));
	lookup->hash ^= definition->key.view;
}

static PendingKey *
find_key(Definition *definition, Datum value, bool all, bool create)
{
	PendingLookup lookup;
	PendingKey *key;
	bool		found;

	fill_lookup(definition, value, all, &lookup);
	key = hash_search_with_hash_value(pending.keys, &lookup, lookup.hash,
									  create ? HASH_ENTER : HASH_FIND, &found);
	if (found || !create)
		return key;
	dlist_init(&key->deltas);
	if (!all)
	{
		MemoryContext caller = MemoryContextSwitchTo(pending.context);

		key->lookup.value = datumCopy(value, definition->key_byval, definition->key_len);
		MemoryContextSwitchTo(caller);
	}
	dlist_push_tail(&pending.all, &key->of_all);
	pending.nkeys++;
	return key;
}

static Delta *
make_delta(Definition *definition, PendingKey *key, int level)
{
	int			nstates = definition->view.nstates;
	Delta	   *delta = MemoryContextAllocZero(pending.context,
											   offsetof(Delta, states) + nstates * sizeof(StateDelta));

	delta->key = key;
	delta->level = level;
	delta->nstates = nstates;
	delta->recompute = !definition->view.incremental;
	delta->layout = definition->view.digest;
	dlist_push_head(&key->deltas, &delta->of_key);
	dlist_push_tail(&get_level(level)->made, &delta->of_level);
	return delta;
}

/*
 * The delta of a key, or of all of a definition, that changes now go to.  It is
 * good until pending_generation changes.
 */
Delta *
pending_delta(Definition *definition, Datum value, bool all)
{
	int			level = GetCurrentTransactionNestLevel();
	PendingKey *key;
	Delta	   *delta;

	if (pending.context == NULL)
		initialize();
	if (pending.keys == NULL)
		create_keys();
	key = find_key(definition, value, all, true);
	if (!dlist_is_empty(&key->deltas))
	{
		delta = dlist_head_element(Delta, of_key, &key->deltas);
		if (delta->level == level && delta->consumed == 0)
		{
			/* the view was replaced meanwhile: what the states mean is not known any more */
			if (strcmp(delta->layout, definition->view.digest) != 0)
				delta->recompute = true;
			if (delta->nstates == definition->view.nstates)
				return delta;
			forget_delta(delta);
			delta = make_delta(definition, key, level);
			delta->recompute = true;
			return delta;
		}
	}
	return make_delta(definition, key, level);
}

/* Does a change of the key wait? */
bool
pending_find(Definition *definition, Datum value)
{
	PendingKey *key;
	dlist_iter	i;

	if (pending.nkeys == 0)
		return false;
	key = find_key(definition, value, false, false);
	if (key == NULL)
		return false;
	dlist_foreach(i, &key->deltas)
		if (dlist_container(Delta, of_key, i.cur)->consumed == 0)
		return true;
	return false;
}

static void
mark_consumed(Delta *delta, int level)
{
	Assert(delta->consumed == 0 && delta->level <= level);
	delta->consumed = level;
	dlist_push_tail(&get_level(level)->consumed, &delta->of_consumed);
	if (delta->level == level)
		forget_delta(delta);
}

/*
 * Takes all changes of a key that wait; NULL if there are none.  The result is
 * in the current memory context.
 */
Delta *
pending_consume(Definition *definition, PendingKey *key)
{
	const ViewDefinition *view = &definition->view;
	int			level = GetCurrentTransactionNestLevel();
	Delta	   *merged = NULL;
	dlist_mutable_iter i;

	dlist_foreach_modify(i, &key->deltas)
	{
		Delta	   *delta = dlist_container(Delta, of_key, i.cur);

		if (delta->consumed > 0)
			continue;
		if (merged == NULL)
		{
			merged = palloc0(offsetof(Delta, states) + view->nstates * sizeof(StateDelta));
			merged->key = key;
			merged->nstates = view->nstates;
			merged->layout = view->digest;
		}
		if (delta->recompute || delta->nstates != view->nstates || strcmp(delta->layout, view->digest) != 0)
			merged->recompute = true;
		else
			states_merge(view, merged->states, delta->states);
		mark_consumed(delta, level);
	}
	return merged;
}

/*
 * The keys whose changes wait for a flush, of immediate definitions or of the
 * others.  To be given to pending_release.
 */
PendingKey **
pending_due(bool immediate, int *n)
{
	PendingKey **result;
	dlist_iter	i;

	*n = 0;
	pending.flushes++;
	if (pending.nkeys == 0)
		return NULL;
	result = MemoryContextAllocHuge(CurrentMemoryContext, pending.nkeys * sizeof(PendingKey *));
	dlist_foreach(i, &pending.all)
	{
		PendingKey *key = dlist_container(PendingKey, of_all, i.cur);

		if ((key->lookup.definition->mode == COMPUTED_IMMEDIATE) == immediate)
			result[(*n)++] = key;
	}
	return result;
}

/* The flush is done: forget the keys that have no changes any more. */
void
pending_release(PendingKey **keys, int n)
{
	pending.flushes--;
	if (pending.flushes > 0)
		return;					/* those further out may still look at them */
	for (int i = 0; i < n; i++)
	{
		PendingKey *key = keys[i];

		if (!dlist_is_empty(&key->deltas))
			continue;
		dlist_delete(&key->of_all);
		if (!key->lookup.all && !key->lookup.definition->key_byval)
		{
			Pointer		value = DatumGetPointer(key->lookup.value);

			hash_search_with_hash_value(pending.keys, &key->lookup, key->lookup.hash, HASH_REMOVE, NULL);
			pfree(value);
		}
		else
			hash_search_with_hash_value(pending.keys, &key->lookup, key->lookup.hash, HASH_REMOVE, NULL);
		pending.nkeys--;
	}
	if (pending.nkeys > 0)
		return;
	if (n > KEYS_KEPT)
	{
		hash_destroy(pending.keys);
		pending.keys = NULL;
	}
	reset();
}

/* Is a flush of the definition under way for this query, or for the transaction? */
bool
pending_is_armed(const Definition *definition, MemoryContext query)
{
	return definition->mode == COMPUTED_IMMEDIATE ? pending.armed_query == query : pending.armed_level > 0;
}

/* Queue the event of a trigger like our flush. */
static void
queue_event(Relation relation, TriggerDesc *flush)
{
	ResultRelInfo info;
	EState		estate;

	memset(&info, 0, sizeof(info));
	memset(&estate, 0, sizeof(estate));
	info.type = T_ResultRelInfo;
	info.ri_RelationDesc = relation;
	info.ri_TrigDesc = flush;
	estate.type = T_EState;
	ExecASTruncateTriggers(&estate, &info);
}

/*
 * See to it that there is a flush when the query, or the transaction, ends.  Of a
 * TRUNCATE, the trigger that it fires: it closes no tables but its own.
 */
void
pending_arm(Definition *definition, MemoryContext query, const TriggerData *truncate)
{
	if (pending.context == NULL)
		initialize();
	if (truncate != NULL)
	{
		TriggerDesc flush = *definition->flush;
		Trigger		trigger = flush.triggers[0];

		trigger.tgoid = truncate->tg_trigger->tgoid;
		flush.triggers = &trigger;
		queue_event(truncate->tg_relation, &flush);
	}
	else
	{
		Relation	base = table_open(definition->view.base, RowExclusiveLock);

		queue_event(base, definition->flush);
		table_close(base, NoLock);
	}
	if (definition->mode == COMPUTED_IMMEDIATE)
		pending.armed_query = query;
	else
		pending.armed_level = GetCurrentTransactionNestLevel();
}

/* A flush begins: what changes from now on needs another. */
void
pending_fired(bool immediate)
{
	if (immediate)
		pending.armed_query = NULL;
	else
		pending.armed_level = 0;
}
