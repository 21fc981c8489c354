/*
 * patterns/bucket_table.c
 *		Bucket pattern: a bucket table as a whole.
 *
 * There is no catalog of bucket tables.  The view of readings is one if it has
 * our trigger; the tables are those that its query names, in their order; the
 * options are the arguments of the trigger.  So renames, schemas and dumps are
 * PostgreSQL's business.  Columns are found by their numbers.
 *
 * What was found is kept for the session until one of the relations changes.
 * A change may be noticed in the midst of a statement: what is in use then lives
 * on until the transaction ends.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "rewrite/rewriteHandler.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "bucket_table.h"

/* A table that this session knows. */
typedef struct KnownTable
{
	Oid			view;			/* must be first */
	bool		valid;
	MemoryContext context;		/* holds the table */
	BucketTable *table;
} KnownTable;

/* What is found in the arguments of the view's trigger. */
enum
{
	ARG_META, ARG_TIME, ARG_WIDTH, ARG_CAPACITY, ARG_ZONE, ARG_DUPLICATE, NUM_ARGS
};

static HTAB *known_tables = NULL;
static uint64 changes = 0;		/* that were noticed so far */
static List *retired = NIL;		/* of KnownTable: replaced in this transaction */

PG_FUNCTION_INFO_V1(pattern_bucket_table_write);
PG_FUNCTION_INFO_V1(pattern_bucket_table_flush);
PG_FUNCTION_INFO_V1(pattern_bucket_table_refuse);

static void
forget_table(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS scan;
	KnownTable *known;

	changes++;
	hash_seq_init(&scan, known_tables);
	while ((known = hash_seq_search(&scan)) != NULL)
		if (known->table == NULL || relid == InvalidOid || relid == known->view ||
			relid == known->table->open || relid == known->table->sealed ||
			relid == known->table->open_index)
			known->valid = false;
}

/* A name in the statements changed that is of no relation. */
static void
forget_names(Datum arg, int cacheid, uint32 hash)
{
	forget_table(arg, InvalidOid);
}

static void
free_retired(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT && event != XACT_EVENT_PREPARE)
		return;
	while (retired != NIL)
	{
		KnownTable *known = linitial(retired);

		retired = list_delete_first(retired);
		bucket_table_free_plans(known->table);
		MemoryContextDelete(known->context);
		pfree(known);
	}
}

static void
known_tables_create(void)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(KnownTable)};

	control.hcxt = CacheMemoryContext;
	known_tables = hash_create("bucket tables", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(forget_table, (Datum) 0);
	/* a schema's new name is no change of what is in it */
	CacheRegisterSyscacheCallback(NAMESPACEOID, forget_names, (Datum) 0);
	/* and who may write what is found out once */
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, forget_names, (Datum) 0);
	RegisterXactCallback(free_retired, NULL);
}

pg_noreturn static void
not_a_bucket_table(Oid view)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("relation \"%s\" is not a bucket table", get_rel_name(view)),
			 errhint("Name the view of readings that create_bucket_table made.")));
}

pg_noreturn static void
altered_bucket_table(Oid view, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("bucket table \"%s\" was altered", get_rel_name(view)),
			 errdetail_internal("%s", detail),
			 errhint("Undo the change, or copy the readings into a new bucket table.")));
}

/* The relations with rows of their own that a query reads, in the order in which it first names them. */
static List *
query_tables(const Query *query)
{
	List	   *tables = NIL;
	ListCell   *cell;

	check_stack_depth();
	foreach(cell, query->rtable)
	{
		RangeTblEntry *rte = lfirst(cell);

		if (rte->rtekind == RTE_RELATION && 
			(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_PARTITIONED_TABLE))
			tables = list_append_unique_oid(tables, rte->relid);
		else if (rte->rtekind == RTE_SUBQUERY)
			tables = list_concat_unique_oid(tables, query_tables(rte->subquery));
	}
	return tables;
}

/* The view's trigger for rows, or for statements; NULL if it has none of ours. */
static Trigger *
find_trigger(Relation view, bool for_rows)
{
	TriggerDesc *triggers = view->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];

		if (function_is(trigger->tgfoid, for_rows ? "pattern_bucket_table_write" : "pattern_bucket_table_flush") &&
			TRIGGER_FOR_ROW(trigger->tgtype) == (for_rows ? TRIGGER_TYPE_ROW : 0))
			return trigger;
	}
	return NULL;
}

static OnDuplicate
read_on_duplicate(const char *name)
{
	if (strcmp(name, "replace") == 0)
		return DUPLICATE_REPLACE;
	if (strcmp(name, "ignore") == 0)
		return DUPLICATE_IGNORE;
	if (strcmp(name, "error") == 0)
		return DUPLICATE_ERROR;
	return DUPLICATE_KEEP;
}

/* The options in the arguments of the trigger, which anyone may have written. */
static void
read_options(BucketTable *table, const Trigger *trigger)
{
	char	  **args = trigger->tgargs;
	Datum		width;

	if (trigger->tgnargs != NUM_ARGS)
		altered_bucket_table(table->view, "Its trigger has other arguments.");
	table->meta_field = pstrdup(args[ARG_META]);
	table->meta_len = strlen(table->meta_field);
	table->time_field = pstrdup(args[ARG_TIME]);
	table->time_len = strlen(table->time_field);
	width = DirectFunctionCall3(interval_in, CStringGetDatum(args[ARG_WIDTH]),
								ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
	window_rule(DatumGetIntervalP(width), args[ARG_ZONE], &table->rule);
	table->capacity = pg_strtoint32(args[ARG_CAPACITY]);
	if (table->capacity < 1)
		altered_bucket_table(table->view, "Its trigger has other arguments.");
	table->on_duplicate = read_on_duplicate(args[ARG_DUPLICATE]);
}

/*
 * A valid index of the open table on a group, and `last` where duplicates are
 * kept, or `at` where they are not; InvalidOid if none is seen.
 */
static Oid
search_open_index(Relation open, OnDuplicate on_duplicate)
{
	AttrNumber	third = on_duplicate == DUPLICATE_KEEP ? OPEN_LAST : OPEN_AT;
	Oid			found = InvalidOid;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(open))
	{
		Relation	index = relation_open(lfirst_oid(cell), AccessShareLock);
		Form_pg_index form = index->rd_index;

		if (form->indnkeyatts == 3 && form->indisvalid &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
			form->indkey.values[0] == OPEN_META &&
			form->indkey.values[1] == OPEN_START && form->indkey.values[2] == third)
			found = lfirst_oid(cell);
		relation_close(index, NoLock);
	}
	return found;
}

/* The index of the open table by which groups are found. */
static Oid
find_open_index(BucketTable *table)
{
	Relation	open = relation_open(table->open, AccessShareLock);
	Oid			found;
	uint64		before;

	do
	{
		/* REINDEX CONCURRENTLY may make the other one valid while we look */
		before = changes;
		found = search_open_index(open, table->on_duplicate);
	} while (!OidIsValid(found) && before != changes);
	relation_close(open, NoLock);
	if (!OidIsValid(found))
		altered_bucket_table(table->view, "Its index is missing.");
	return found;
}

/* Fill *table from the catalogs, in the current memory context. */
static void
read_table(Oid relid, BucketTable *table)
{
	Relation	view = relation_open(relid, AccessShareLock);
	Trigger    *trigger = find_trigger(view, true);
	List	   *tables;

	table->view = relid;
	if (view->rd_rel->relkind != RELKIND_VIEW || trigger == NULL)
		not_a_bucket_table(relid);
	tables = query_tables(get_view_query(view));
	if (RelationGetNumberOfAttributes(view) != VIEW_NCOLUMNS)
		altered_bucket_table(relid, "It has other columns.");
	if (list_length(tables) != 2)
		altered_bucket_table(relid, "Its query must read the open table, and then the sealed table.");
	table->open = linitial_oid(tables);
	table->sealed = lsecond_oid(tables);
	if (get_rel_relkind(table->open) != RELKIND_RELATION)
		altered_bucket_table(relid, "Its open table is partitioned.");
	if (get_atttype(table->open, OPEN_DOC) != JSONBOID || get_atttype(table->sealed, SEALED_READINGS) != JSONBOID)
		altered_bucket_table(relid, "Its tables have other columns.");
	table->owner = relation_owner(table->open);
	relation_check_trusted(relid, table->open);
	relation_check_trusted(relid, table->sealed);
	read_options(table, trigger);
	table->open_index = find_open_index(table);
	trigger = find_trigger(view, false);
	if (trigger == NULL)
		altered_bucket_table(relid, "Its trigger for statements is missing.");
	table->flush = palloc(sizeof(Trigger));
	*table->flush = *trigger;
	table->flush->tgname = pstrdup(trigger->tgname);
	table->flush->tgnargs = 0;
	table->flush->tgargs = NULL;
	table->start = table->end = DT_NOBEGIN;
	relation_close(view, NoLock);
}

/*
 * The bucket table whose view of readings this is.  42704 if it is none, 55000
 * if somebody altered what it is made of, 42501 if its tables belong to somebody
 * else.  Valid until the transaction ends.
 */
BucketTable *
bucket_table_get(Oid view)
{
	KnownTable *known;
	MemoryContext context;
	MemoryContext caller;
	BucketTable *table;
	uint64		before;
	bool		found;

	if (known_tables == NULL)
		known_tables_create();
	known = hash_search(known_tables, &view, HASH_FIND, NULL);
	if (known != NULL && known->valid)
		return known->table;

	before = changes;
	context = AllocSetContextCreate(CurrentMemoryContext, "bucket table", ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(context);
	table = palloc0(sizeof(BucketTable));
	read_table(view, table);
	MemoryContextSwitchTo(TopMemoryContext);
	known = hash_search(known_tables, &view, HASH_ENTER, &found);
	if (!found)
		known->context = NULL;
	known->valid = false;
	if (known->context != NULL)
	{
		KnownTable *old = palloc(sizeof(KnownTable));

		*old = *known;
		retired = lappend(retired, old);
	}
	MemoryContextSetParent(context, CacheMemoryContext);
	known->context = context;
	known->table = table;
	/* what changed while it was read may have been read before */
	known->valid = before == changes;
	MemoryContextSwitchTo(caller);
	return table;
}

BucketTable *
bucket_table_of_trigger(TriggerData *trigger)
{
	return bucket_table_get(RelationGetRelid(trigger->tg_relation));
}

/* The bucket table in an argument; with owned, 42501 unless it is the user's. */
BucketTable *
bucket_table_argument(FunctionCallInfo fcinfo, int position, bool owned)
{
	static const char relkinds[] = {RELKIND_VIEW, '\0'};
	Oid			relid;

	argument_check_given(fcinfo, position, "name");
	relid = PG_GETARG_OID(position);
	if (owned)
		relation_lock_owned(relid, AccessShareLock, relkinds);
	else
	{
		Relation	relation = try_relation_open(relid, AccessShareLock);

		if (relation == NULL)
			relation_missing(relid);
		if (relation->rd_rel->relkind != RELKIND_VIEW)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("relation \"%s\" is of the wrong kind", RelationGetRelationName(relation)),
					 errdetail_relkind_not_supported(relation->rd_rel->relkind)));
		relation_close(relation, NoLock);
	}
	return bucket_table_get(relid);
}

/* The window of an instant. */
void
bucket_table_window(BucketTable *table, TimestampTz at, TimestampTz *start, TimestampTz *end)
{
	if (at < table->start || at >= table->end)
	{
		TimestampTz new_end = window_end(&table->rule, at);

		table->start = window_start(&table->rule, at);
		table->end = new_end;
	}
	*start = table->start;
	*end = table->end;
}

/*
 * Meta and time of a reading; *meta is palloc'd.  22023 if one is missing or no
 * such thing, 54000 if meta is longer than an index takes.
 */
void
reading_read(BucketTable *table, const Jsonb *doc, Jsonb **meta, TimestampTz *at)
{
	const Size	most = 2500;	/* a third of a page, less the other columns of an index */
	JsonbValue	reading,
				value;

	value_from_jsonb(doc, &reading);
	if (!value_is_object(&reading))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a reading must be an object"),
				 errdetail("The value is of type %s: %s.", value_type_name(&reading), value_to_cstring(&reading))));
	if (!value_get(&reading, table->meta_field, table->meta_len, &value) || value.type == jbvNull)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("reading has no field \"%s\"", text_for_message(table->meta_field, table->meta_len)),
				 errdetail("The field says which series the reading belongs to. The reading is %s.",
						   value_to_cstring(&reading))));
	*at = reading_time(&reading, table->time_field, table->time_len, table->rule.zone);
	*meta = series_document(&value);
	if (VARSIZE(*meta) > most)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the value at \"%s\" is too long", text_for_message(table->meta_field, table->meta_len)),
				 errdetail("It has %u bytes, and the most are %zu.", VARSIZE(*meta), most),
				 errhint("Let a short identifier say which series a reading belongs to.")));
}

/* INSTEAD OF INSERT OR UPDATE OR DELETE on the view of readings */
Datum
pattern_bucket_table_write(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);

	if (!TRIGGER_FIRED_INSTEAD(trigger->tg_event) || !TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("trigger \"%s\" must be fired instead of an operation, for each row",
						trigger->tg_trigger->tgname)));
	if (TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		return bucket_table_insert(fcinfo, trigger);
	if (TRIGGER_FIRED_BY_UPDATE(trigger->tg_event))
		return bucket_table_update(fcinfo, trigger);
	return bucket_table_delete(fcinfo, trigger);
}

/* AFTER UPDATE OR DELETE, for each statement; an INSERT of several rows arms it, too */
Datum
pattern_bucket_table_flush(PG_FUNCTION_ARGS)
{
	Oid			view = RelationGetRelid(trigger_data(fcinfo)->tg_relation);

	bucket_table_flush_edits(view);
	bucket_table_flush_inserts(view);
	PG_RETURN_POINTER(NULL);
}

/* INSTEAD OF INSERT OR UPDATE OR DELETE on the view of bucket documents */
Datum
pattern_bucket_table_refuse(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot write to \"%s\"", RelationGetRelationName(trigger_data(fcinfo)->tg_relation)),
			 errdetail("Its documents are made of the readings of a bucket table."),
			 errhint("Write readings to the view of readings.")));
	PG_RETURN_POINTER(NULL);
}
