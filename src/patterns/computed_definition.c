/*
 * patterns/computed_definition.c
 *		Computed pattern: a definition, put together from the view and the triggers.
 *
 * Nothing is stored but catalog objects of the user's.  What a backend has put
 * together it keeps until one of the relations changes.  The triggers say:
 *
 *	- on the base table, the trigger of TRUNCATE: the view and the parent in its
 *	  WHEN clause; mode, digest of the view and path in its arguments;
 *	- on the parent: the view in its WHEN clause, the columns of the document and
 *	  of the key in its UPDATE OF.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "computed.h"

/* A definition's place in the cache; it outlives what was put together. */
typedef struct CacheEntry
{
	DefinitionKey key;
	Definition *current;		/* NULL: none */
} CacheEntry;

static HTAB *cache = NULL;
static uint64 changes = 0;		/* of any relation, that this backend was told of */
static slist_head retired = SLIST_STATIC_INIT(retired);

/* relcache callback */
static void
forget(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS scan;
	CacheEntry *entry;

	changes++;
	hash_seq_init(&scan, cache);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		Definition *definition = entry->current;

		if (definition != NULL &&
			(relid == InvalidOid || relid == definition->key.view || relid == definition->key.parent ||
			 relid == definition->view.base || relid == definition->queue))
			definition->valid = false;
	}
}

/* syscache callback: SQL that was written has names of schemas, functions, operators and types in it */
static void
forget_names(Datum arg, int cache_id, uint32 hash)
{
	forget(arg, InvalidOid);
}

static void
free_definition(Definition *definition)
{
	SPIPlanPtr	plans[] = {definition->one_plan, definition->many_plan,
	definition->lock_plan, definition->update_plan, definition->queue_plan};

	for (int i = 0; i < lengthof(plans); i++)
		if (plans[i] != NULL)
			SPI_freeplan(plans[i]);
	MemoryContextDelete(definition->context);
}

/* Definitions that were replaced may be in use until the transaction ends. */
static void
free_retired(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	while (!slist_is_empty(&retired))
		free_definition(slist_container(Definition, retired, slist_pop_head_node(&retired)));
}

static void
cache_create(void)
{
	HASHCTL		control = {0};

	control.keysize = sizeof(DefinitionKey);
	control.entrysize = sizeof(CacheEntry);
	cache = hash_create("pattern computed definitions", 16, &control, HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(forget, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, forget_names, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, forget_names, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, forget_names, (Datum) 0);
	CacheRegisterSyscacheCallback(OPEROID, forget_names, (Datum) 0);
	/* and who may write what is found out once */
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, forget_names, (Datum) 0);
	RegisterXactCallback(free_retired, NULL);
}

/* Does a trigger call our function behind this C symbol? */
bool
is_our_trigger(const Trigger *trigger, const char *symbol)
{
	return !trigger->tgisinternal && function_is(trigger->tgfoid, symbol);
}

/* How many relations a trigger of ours on a base table names: view, parent, and perhaps a queue. */
int
flush_targets(const Trigger *trigger)
{
	return trigger->tgnargs > 0 && strcmp(trigger->tgargs[0], "queued") == 0 ? 3 : 2;
}

/* Our trigger on a base table, NULL if there is none. */
Trigger *
definition_trigger(Relation base, Oid view, Oid parent)
{
	TriggerDesc *triggers = base->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];

		if (is_our_trigger(trigger, "pattern_computed_flush") && trigger->tgqual != NULL)
		{
			List	   *targets = trigger_targets(trigger, flush_targets(trigger));

			if (linitial_oid(targets) == view && lsecond_oid(targets) == parent)
				return trigger;
		}
	}
	return NULL;
}

/* Our trigger on a parent, NULL if there is none. */
Trigger *
parent_trigger(Relation parent, Oid view)
{
	TriggerDesc *triggers = parent->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];

		if (is_our_trigger(trigger, "pattern_computed_parent") && trigger->tgqual != NULL &&
			linitial_oid(trigger_targets(trigger, 1)) == view)
			return trigger;
	}
	return NULL;
}

/*
 * The index by which a parent is found by its key: unique, of that column alone.
 * InvalidOid if there is none.
 */
Oid
parent_key_index(Relation parent, AttrNumber key_column)
{
	Oid			result = InvalidOid;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(parent))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);
		Form_pg_index form = index->rd_index;

		if (form->indisunique && form->indimmediate && form->indisvalid && form->indnkeyatts == 1 &&
			form->indkey.values[0] == key_column &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
			(index->rd_rel->relam == BTREE_AM_OID || index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX))
			result = lfirst_oid(cell);
		index_close(index, AccessShareLock);
	}
	return result;
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/*
 * The type that keys have, from that of the view's column and that of the
 * parent's: one that holds the values of both.  InvalidOid if there is none.
 */
Oid
definition_key_type(Oid key, Oid column)
{
	Oid			type = getBaseType(column);

	if (is_integer(key) && is_integer(type))
		return get_typlen(key) < get_typlen(type) ? type : key;
	return type == getBaseType(key) || IsBinaryCoercible(type, key) ? key : InvalidOid;
}

/* A value of the view's column or of the parent's as a key. */
Datum
definition_key(const Definition *definition, Oid type, Datum value)
{
	if (definition->view.key_type == INT8OID && type != INT8OID && is_integer(type))
		return Int64GetDatum(type == INT2OID ? DatumGetInt16(value) : DatumGetInt32(value));
	if (definition->view.key_type == INT4OID && type == INT2OID)
		return Int32GetDatum(DatumGetInt16(value));
	return value;
}

/* 42804 unless keys of the view can be looked up in the parent's index. */
static void
prepare_key(Definition *definition)
{
	ViewDefinition *view = &definition->view;
	Oid			key_type = definition_key_type(view->key_type, get_atttype(definition->key.parent, definition->key_column));
	TypeCacheEntry *type = lookup_type_cache(OidIsValid(key_type) ? key_type : view->key_type,
											 TYPECACHE_HASH_PROC_FINFO | TYPECACHE_CMP_PROC_FINFO |
											 TYPECACHE_EQ_OPR_FINFO | TYPECACHE_BTREE_OPFAMILY);
	Relation	index = index_open(definition->index, AccessShareLock);
	Oid			equal = InvalidOid;

	if (OidIsValid(key_type) && OidIsValid(type->btree_opintype))
		equal = get_opfamily_member(index->rd_opfamily[0], index->rd_opcintype[0], type->btree_opintype,
									BTEqualStrategyNumber);
	if (!OidIsValid(equal) || !OidIsValid(type->hash_proc_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("keys of type %s in view \"%s\" cannot be looked up in column \"%s\" of relation \"%s\"",
						format_type_be(view->key_type), get_rel_name(definition->key.view),
						get_attname(definition->key.parent, definition->key_column, false),
						get_rel_name(definition->key.parent)),
				 errdetail("The column is of type %s.",
						   format_type_be(get_atttype(definition->key.parent, definition->key_column))),
				 errhint("Cast the key in the view.")));
	if (key_type != view->key_type)
	{
		/* an integer that is shorter than the parent's is compared with it by the operator for both */
		view->key_eq = get_opfamily_member(type->btree_opf, view->key_type, key_type, BTEqualStrategyNumber);
		view->key_type = key_type;
	}
	definition->key_operator = type->eq_opr;
	definition->index_collation = index->rd_indcollation[0];
	if ((OidIsValid(view->key_collation) && !get_collation_isdeterministic(view->key_collation)) ||
		(OidIsValid(definition->index_collation) && !get_collation_isdeterministic(definition->index_collation)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("keys of view \"%s\" have a nondeterministic collation", get_rel_name(definition->key.view)),
				 errhint("Give the key a deterministic collation.")));
	index_close(index, AccessShareLock);
	definition->key_subtype = type->btree_opintype;
	fmgr_info(get_opcode(equal), &definition->index_equal);
	fmgr_info(type->hash_proc_finfo.fn_oid, &definition->key_hash);
	fmgr_info(type->eq_opr_finfo.fn_oid, &definition->key_equal);
	fmgr_info(type->cmp_proc_finfo.fn_oid, &definition->key_compare);
	get_typlenbyval(view->key_type, &definition->key_len, &definition->key_byval);
}

/* The triggers that a direct write of the parent fires; *direct is false if there may be none. */
static void
prepare_parent(Definition *definition, Relation parent)
{
	TriggerDesc *triggers = CopyTriggerDesc(parent->trigdesc);
	TupleConstr *constraints = parent->rd_att->constr;
	Bitmapset  *keys = RelationGetIndexAttrBitmap(parent, INDEX_ATTR_BITMAP_KEY);
	bool		is_key = bms_is_member(definition->doc_column - FirstLowInvalidHeapAttributeNumber, keys);
	int			n = 0;

	definition->direct = parent->rd_rel->relkind == RELKIND_RELATION && !parent->rd_rel->relispartition &&
		!is_key && parent->rd_rules == NULL && TupleDescAttr(parent->rd_att, definition->doc_column - 1)->atttypid == JSONBOID &&
		(constraints == NULL || (!constraints->has_generated_stored && constraints->num_check == 0));
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];

		/* the key of the parent stays as it is, and with it what refers to it */
		if (!TRIGGER_FOR_UPDATE(trigger->tgtype) || is_our_trigger(trigger, "pattern_computed_parent") ||
			RI_FKey_trigger_type(trigger->tgfoid) == RI_TRIGGER_PK)
			continue;
		if (!TRIGGER_FOR_ROW(trigger->tgtype) || TRIGGER_FOR_BEFORE(trigger->tgtype) ||
			trigger->tgnewtable != NULL || trigger->tgoldtable != NULL)
			definition->direct = false;
		triggers->triggers[n++] = *trigger;
	}
	if (n == 0)
		return;
	triggers->numtriggers = n;
	triggers->trig_update_before_row = false;
	triggers->trig_update_after_row = true;
	definition->parent_triggers = triggers;
}

/* What the parent's trigger says. */
static void
read_parent(Definition *definition, Oid view)
{
	Relation	parent = table_open(definition->key.parent, AccessShareLock);
	Trigger    *trigger = parent_trigger(parent, view);

	if (trigger == NULL || trigger->tgnattr != 2)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" has lost its trigger for view \"%s\"",
						RelationGetRelationName(parent), get_rel_name(view)),
				 errhint("Call drop_computed and create_computed.")));
	definition->doc_column = trigger->tgattr[0];
	definition->key_column = trigger->tgattr[1];
	definition->parent_owner = parent->rd_rel->relowner;
	definition->index = parent_key_index(parent, definition->key_column);
	if (!OidIsValid(definition->index))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" has lost the unique index on its key", RelationGetRelationName(parent)),
				 errhint("Create a unique index on column \"%s\".",
						 get_attname(definition->key.parent, definition->key_column, false))));
	prepare_parent(definition, parent);
	table_close(parent, AccessShareLock);
}

/* The event that fires a flush: our trigger as if it were AFTER, and with no WHEN. */
static void
prepare_flush(Definition *definition, const Trigger *trigger)
{
	TriggerDesc *flush = palloc0(sizeof(TriggerDesc));
	Trigger    *event = palloc(sizeof(Trigger));

	*event = *trigger;
	event->tgname = pstrdup(trigger->tgname);
	event->tgtype = TRIGGER_TYPE_TRUNCATE;
	event->tgenabled = TRIGGER_FIRES_ALWAYS;
	event->tgqual = NULL;
	event->tgnargs = 0;
	event->tgargs = NULL;
	event->tgnattr = 0;
	event->tgdeferrable = event->tginitdeferred = definition->mode != COMPUTED_IMMEDIATE;
	flush->triggers = event;
	flush->numtriggers = 1;
	flush->trig_truncate_after_statement = true;
	definition->flush = flush;
}

static ComputedMode
read_mode(const char *mode)
{
	return strcmp(mode, "deferred") == 0 ? COMPUTED_DEFERRED :
		strcmp(mode, "queued") == 0 ? COMPUTED_QUEUED : COMPUTED_IMMEDIATE;
}

/* What the trigger of the base table says. */
static void
read_base(Definition *definition)
{
	Relation	base = table_open(definition->view.base, AccessShareLock);
	Trigger    *trigger = definition_trigger(base, definition->key.view, definition->key.parent);
	Datum	   *steps;

	if (trigger == NULL || trigger->tgnargs < 2)
	{
		/* the view is another altogether, or somebody points a trigger of ours elsewhere */
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("view \"%s\" is not kept in documents of relation \"%s\" for rows of relation \"%s\"",
						get_rel_name(definition->key.view), get_rel_name(definition->key.parent),
						RelationGetRelationName(base)),
				 errhint("Call drop_computed and create_computed.")));
	}
	definition->mode = read_mode(trigger->tgargs[0]);
	definition->stale = strcmp(trigger->tgargs[1], definition->view.digest) != 0;
	steps = palloc((trigger->tgnargs - 2) * sizeof(Datum));
	for (int i = 2; i < trigger->tgnargs; i++)
		steps[i - 2] = CStringGetTextDatum(trigger->tgargs[i]);
	definition->path = path_from_texts(steps, NULL, trigger->tgnargs - 2);
	definition->base_owner = base->rd_rel->relowner;
	if (definition->mode == COMPUTED_QUEUED)
		definition->queue = lthird_oid(trigger_targets(trigger, 3));
	prepare_flush(definition, trigger);
	table_close(base, AccessShareLock);
}

/* Vars of the base table become places in the row; an expression_tree_mutator. */
static Node *
place_columns(Node *node, void *context)
{
	const ViewDefinition *view = context;
	ListCell   *cell;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		foreach(cell, view->columns)
			if (lfirst_int(cell) == var->varattno)
				var->varattno = foreach_current_index(cell) + 1;
		var->varno = 1;
		return (Node *) var;
	}
	return expression_tree_mutator(node, place_columns, context);
}

static ExprState *
prepare_expression(Expr *expression, ViewDefinition *view)
{
	if (expression == NULL)
		return NULL;
	expression = (Expr *) place_columns((Node *) expression, view);
	return ExecInitExpr((Expr *) expression_planner(expression), NULL);
}

/* Prepare to evaluate the expressions on a row of the columns that are used. */
static void
prepare_expressions(Definition *definition)
{
	ViewDefinition *view = &definition->view;
	TupleDesc	row = CreateTemplateTupleDesc(Max(list_length(view->columns), 1));
	TupleDesc	results = CreateTemplateTupleDesc(Max(view->naggregates, 1));
	Node	   *key;
	ListCell   *cell;

	definition->ncolumns = list_length(view->columns);
	TupleDescInitEntry(row, 1, NULL, INT4OID, -1, 0);
	foreach(cell, view->columns)
	{
		Oid			type;
		int32		typmod;
		Oid			collation;

		get_atttypetypmodcoll(view->base, lfirst_int(cell), &type, &typmod, &collation);
		TupleDescInitEntry(row, foreach_current_index(cell) + 1, NULL, type, typmod, 0);
		TupleDescInitEntryCollation(row, foreach_current_index(cell) + 1, collation);
	}
	TupleDescInitEntry(results, 1, NULL, INT4OID, -1, 0);
	foreach(cell, view->aggregates)
		TupleDescInitEntry(results, foreach_current_index(cell) + 1, NULL, exprType(lfirst(cell)), -1, 0);
	definition->econtext = CreateStandaloneExprContext();
	definition->row = MakeSingleTupleTableSlot(row, &TTSOpsVirtual);
	definition->results = MakeSingleTupleTableSlot(results, &TTSOpsVirtual);
	key = (Node *) copyObject(view->key);
	if (exprType(key) != view->key_type && is_integer(view->key_type))
		key = coerce_to_target_type(NULL, key, exprType(key), view->key_type, -1, COERCION_IMPLICIT,
									COERCE_IMPLICIT_CAST, -1);
	definition->key_state = prepare_expression((Expr *) key, view);
	definition->where_state = prepare_expression(view->where, view);
	for (int i = 0; i < view->nstates; i++)
	{
		view->states[i].argument_state = prepare_expression(view->states[i].argument, view);
		view->states[i].filter_state = prepare_expression(view->states[i].filter, view);
	}
	for (int i = 0; i < view->nfields; i++)
	{
		Expr	   *expression = list_nth(view->expressions, i);

		if (view->fields[i].aggregate < 0)
			view->fields[i].expression = ExecInitExpr((Expr *) expression_planner(expression), NULL);
	}
}

static Definition *
build(Oid view, Oid parent)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pattern computed definition", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Definition *definition = palloc0(sizeof(Definition));
	OwnerSwitch before;
	int			level;

	definition->context = context;
	definition->key.view = view;
	definition->key.parent = parent;
	if (get_rel_relkind(view) != RELKIND_VIEW)
		relation_missing(view);
	view_read(view, NULL, &definition->view);
	read_base(definition);
	read_parent(definition, view);
	prepare_key(definition);
	relation_check_trusted(view, definition->view.base);
	relation_check_trusted(definition->view.base, parent);
	owner_enter(definition->base_owner, &before);
	/* functions in SQL are put in place of their calls */
	level = safe_path_enter();
	prepare_expressions(definition);
	safe_path_leave(level);
	owner_leave(&before);
	MemoryContextSwitchTo(caller);
	return definition;
}

/*
 * The definition of a view and a parent.  It may be used until the transaction
 * ends, and is current as long as it is valid.  55000 if there is none.
 */
Definition *
definition_get(Oid view, Oid parent)
{
	DefinitionKey key = {view, parent};
	CacheEntry *entry;
	Definition *definition;
	bool		found;
	uint64		before;

	if (cache == NULL)
		cache_create();
	entry = hash_search(cache, &key, HASH_FIND, &found);
	if (found && entry->current != NULL && entry->current->valid)
		return entry->current;
	/* what changes while it is put together must not be missed */
	do
	{
		before = changes;
		definition = build(view, parent);
	} while (before != changes);
	MemoryContextSetParent(definition->context, TopMemoryContext);
	entry = hash_search(cache, &key, HASH_ENTER, &found);
	if (found && entry->current != NULL)
		slist_push_head(&retired, &entry->current->retired);
	entry->current = definition;
	definition->valid = true;
	return definition;
}

/* Is it the base table or a partition of it? */
bool
definition_covers(const Definition *definition, Oid relid)
{
	return relid == definition->view.base ||
		(get_rel_relispartition(relid) &&
		 list_member_oid(get_partition_ancestors(relid), definition->view.base));
}

/* 55000 if the view is another than the triggers were made for. */
void
definition_check(const Definition *definition)
{
	if (definition->stale)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("view \"%s\" was replaced by another", get_rel_name(definition->key.view)),
				 errdetail("Documents of relation \"%s\" are kept as the view was before.",
						   get_rel_name(definition->key.parent)),
				 errhint("Run refresh_computed(%s, %s).",
						 quote_literal_cstr(relation_quoted_name(definition->key.parent)),
						 quote_literal_cstr(relation_quoted_name(definition->key.view)))));
}
