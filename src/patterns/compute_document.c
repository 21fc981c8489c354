/*
 * patterns/compute_document.c
 *		Computed pattern: compute_document, fields computed inside one document.
 *
 * A trigger function for CREATE TRIGGER by hand: its arguments are the column
 * and a pipeline.  A session compiles the pipeline once for a trigger and keeps
 * it beside the number of the column; a change to the table (or to the trigger,
 * which counts as one) throws both away.  An entry is freed when another one is
 * made, never by the callback: that may come while the pipeline runs.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pattern.h"

/* What a trigger of ours does; in the hash table, by the trigger's OID. */
typedef struct DocumentTrigger
{
	Oid			tgoid;			/* key */
	Oid			relid;
	bool		valid;
	AttrNumber	column;
	Oid			domain;			/* the column's type, if it is one */
	void	   *domain_cache;
	MemoryContext context;		/* holds the pipeline */
	DocUpdate  *pipeline;
} DocumentTrigger;

static HTAB *document_triggers = NULL;

PG_FUNCTION_INFO_V1(pattern_compute_document);

/* A relcache callback: forget what was known of a relation, or of all. */
static void
forget_relation(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS status;
	DocumentTrigger *entry;

	hash_seq_init(&status, document_triggers);
	while ((entry = hash_seq_search(&status)) != NULL)
		if (relid == InvalidOid || entry->relid == relid)
			entry->valid = false;
}

static void
create_cache(void)
{
	HASHCTL		ctl;

	if (document_triggers != NULL)
		return;
	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(DocumentTrigger);
	document_triggers = hash_create("pattern compute_document triggers", 16, &ctl,
									HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(forget_relation, (Datum) 0);
}

/* Remove what is of no use any more. */
static void
sweep_cache(void)
{
	HASH_SEQ_STATUS status;
	DocumentTrigger *entry;

	hash_seq_init(&status, document_triggers);
	while ((entry = hash_seq_search(&status)) != NULL)
	{
		if (entry->valid)
			continue;
		MemoryContextDelete(entry->context);
		hash_search(document_triggers, &entry->tgoid, HASH_REMOVE, NULL);
	}
}

/* 39P01 unless the trigger can change the row that is about to be written. */
static void
check_event(const TriggerData *data)
{
	if (TRIGGER_FIRED_BEFORE(data->tg_event) && TRIGGER_FIRED_FOR_ROW(data->tg_event) &&
		!TRIGGER_FIRED_BY_DELETE(data->tg_event))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("trigger \"%s\" of relation \"%s\" must be one before each row that is inserted or updated",
					data->tg_trigger->tgname, RelationGetRelationName(data->tg_relation)),
			 errhint("Create it with BEFORE INSERT OR UPDATE ... FOR EACH ROW.")));
}

/* The column that an argument of the trigger names. */
static AttrNumber
find_column(Relation relation, const char *name)
{
	AttrNumber	number;

	if (get_attnum(RelationGetRelid(relation), name) == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", name,
						RelationGetRelationName(relation)),
				 errhint("If it was renamed, create the trigger anew with its name of today.")));
	number = relation_column(RelationGetRelid(relation), name, JSONBOID);
	if (TupleDescAttr(RelationGetDescr(relation), number - 1)->attgenerated != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_GENERATED_ALWAYS),
				 errmsg("column \"%s\" of relation \"%s\" is a generated column", name,
						RelationGetRelationName(relation)),
				 errdetail("A trigger cannot give it a value.")));
	return number;
}

/* Compile the pipeline that an argument of the trigger holds. */
static DocUpdate *
compile_pipeline(const char *argument)
{
	Jsonb	   *source = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(argument)));
	JsonbValue	changes;

	value_from_jsonb(source, &changes);
	if (!value_is_array(&changes))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("what a document computes must be a pipeline, an array of stages"),
				 errdetail("It is of type %s: %s.", value_type_name(&changes), value_to_cstring(&changes)),
				 errhint("Write [{\"$set\": {...}}].")));
	return update_compile(&changes, NULL);
}

/* errcontext: whose arguments are wrong, or whose pipeline failed */
static void
trigger_context(void *arg)
{
	const TriggerData *data = arg;

	errcontext("trigger \"%s\" of relation \"%s\"", data->tg_trigger->tgname,
			   RelationGetRelationName(data->tg_relation));
}

/* Read the arguments of a trigger into a new entry. */
static DocumentTrigger *
create_entry(const TriggerData *data)
{
	const Trigger *trigger = data->tg_trigger;
	Oid			relid = RelationGetRelid(data->tg_relation);
	DocumentTrigger new = {0};
	DocumentTrigger *entry;
	MemoryContext caller;
	Oid			type;

	if (trigger->tgnargs != 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("compute_document needs two arguments"),
				 errdetail("The trigger has %d.", trigger->tgnargs),
				 errhint("Give it the name of a column and a pipeline, as in compute_document('doc', '[{\"$set\": {...}}]').")));
	new.tgoid = trigger->tgoid;
	new.relid = relid;
	new.column = find_column(data->tg_relation, trigger->tgargs[0]);
	type = get_atttype(relid, new.column);
	if (getBaseType(type) != type)
		new.domain = type;
	/* until it is compiled it belongs to the query, which may end in an error */
	new.context = AllocSetContextCreate(CurrentMemoryContext, "pattern compute_document",
										ALLOCSET_SMALL_SIZES);
	caller = MemoryContextSwitchTo(new.context);
	new.pipeline = compile_pipeline(trigger->tgargs[1]);
	MemoryContextSwitchTo(caller);

	entry = hash_search(document_triggers, &new.tgoid, HASH_ENTER, NULL);
	*entry = new;
	entry->valid = true;
	MemoryContextSetParent(entry->context, CacheMemoryContext);
	return entry;
}

static DocumentTrigger *
find_entry(const TriggerData *data)
{
	DocumentTrigger *entry;

	create_cache();
	entry = hash_search(document_triggers, &data->tg_trigger->tgoid, HASH_FIND, NULL);
	if (entry != NULL && entry->valid)
		return entry;
	sweep_cache();
	return create_entry(data);
}

/* The row with what the document computes; the row itself if that changes nothing. */
static HeapTuple
compute_row(DocumentTrigger *entry, const TriggerData *data)
{
	HeapTuple	row = TRIGGER_FIRED_BY_UPDATE(data->tg_event) ? data->tg_newtuple : data->tg_trigtuple;
	TupleDesc	desc = RelationGetDescr(data->tg_relation);
	int			column = entry->column;
	bool		is_null;
	Datum		value = heap_getattr(row, column, desc, &is_null);
	Jsonb	   *old,
			   *new;

	if (is_null)
		return row;
	old = DatumGetJsonbP(value);
	new = update_document(entry->pipeline, old);
	if (new == old)
		return row;
	value = JsonbPGetDatum(new);
	if (OidIsValid(entry->domain))
		domain_check(value, false, entry->domain, &entry->domain_cache, entry->context);
	return heap_modify_tuple_by_cols(row, desc, 1, &column, &value, &is_null);
}

/* compute_document(column, pipeline) → trigger */
Datum
pattern_compute_document(PG_FUNCTION_ARGS)
{
	TriggerData *data = trigger_data(fcinfo);
	ErrorContextCallback callback;
	HeapTuple	row;

	check_event(data);
	callback.callback = trigger_context;
	callback.arg = data;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	row = compute_row(find_entry(data), data);
	error_context_stack = callback.previous;
	PG_RETURN_POINTER(row);
}
