/*
 * patterns/extended_reference_follow.c
 *		Extended reference pattern: the triggers on the source, and the engine.
 *
 * When a copied field of a source row changes, one UPDATE goes to the documents
 * that refer to it, through the index on their reference.  It sets nothing: what
 * is to change, the trigger on the referring table finds from the source row as
 * it is by then, so that several changes of one row end in the same copy.
 *
 * The UPDATE runs as foreign keys' actions do: as the owner of the table, with the
 * latest snapshot, so that documents are found which were written since the
 * transaction began; under REPEATABLE READ such a document raises 40001.
 *
 * A source row is gone when its key is: deleted, or given another key.  It is not
 * when it moved to another partition.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "extended_reference.h"

PG_FUNCTION_INFO_V1(pattern_extended_reference_follow);

/* A definition that the trigger serves. */
typedef struct Followed
{
	const Reference *reference;
	SourceFields *fields;		/* of the relation that the trigger is on */
} Followed;

/* The trigger within one statement. */
typedef struct FollowState
{
	int			n;
	Followed   *followed;
	MemoryContext temporary;	/* for one row */
} FollowState;

/* The reference of a document as text, in SQL; palloc'd. */
char *
reference_key_sql(const Reference *reference, const char *alias)
{
	return psprintf("(%s%s OPERATOR(pg_catalog.#>>) %s::pg_catalog.text[])", alias,
					quote_identifier(get_attname(reference->relation, reference->column, false)),
					quote_literal_cstr(reference->key_text));
}

/* A relation in SQL: with its partitions, without what else inherits from it; palloc'd. */
static char *
relation_rows_sql(Oid relid)
{
	return psprintf("%s%s", get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE ? "" : "ONLY ", relation_quoted_name(relid));
}

/* The referring relation in SQL; palloc'd. */
char *
reference_relation_sql(const Reference *reference)
{
	return relation_rows_sql(reference->relation);
}

/* The source in SQL; palloc'd. */
char *
reference_source_sql(const Reference *reference)
{
	return relation_rows_sql(reference->source);
}

/*
 * Run a statement with one parameter, the key, or none; the number of rows.
 * nested: within a trigger, whose query then fires the triggers that it queues.
 */
static uint64
run_as_owner(const Reference *reference, const char *sql, const char *key, bool nested, int limit)
{
	Oid			types[] = {TEXTOID};
	Datum		values[1] = {key == NULL ? (Datum) 0 : CStringGetTextDatum(key)};
	Snapshot	snapshot = InvalidSnapshot;
	Snapshot	crosscheck = InvalidSnapshot;
	OwnerSwitch before;
	uint64		processed;
	int			result;

	SPI_connect();
	owner_enter(relation_owner(reference->relation), &before);
	if (IsolationUsesXactSnapshot())
	{
		CommandCounterIncrement();
		snapshot = GetLatestSnapshot();
		crosscheck = GetTransactionSnapshot();
	}
	result = SPI_execute_snapshot(spi_saved_plan(sql, key == NULL ? 0 : 1, types), values, NULL,
								  snapshot, crosscheck, false, !nested, limit);
	if (result < 0)
		elog(ERROR, "SPI_execute_snapshot failed: %s", SPI_result_code_string(result));
	processed = SPI_processed;
	owner_leave(&before);
	SPI_finish();
	return processed;
}

/*
 * Have the trigger on the referring table write what is not right in the
 * documents that refer to a key, or with NULL in all; returns how many it wrote.
 */
uint64
reference_rewrite(const ReferenceRewrite *now, const char *key, bool nested)
{
	const Reference *reference = now->reference;
	const char *column = quote_identifier(get_attname(reference->relation, reference->column, false));
	const char *sql = psprintf("UPDATE %s SET %s = %s WHERE %s %s",
							   reference_relation_sql(reference), column, column, reference_key_sql(reference, ""),
							   key == NULL ? "IS NOT NULL" : "OPERATOR(pg_catalog.=) $1");
	const ReferenceRewrite *before = reference_rewrite_enter(now);
	uint64		processed = 0;

	PG_TRY();
	{
		processed = run_as_owner(reference, sql, key, nested, 0);
	}
	PG_FINALLY();
	{
		reference_rewrite_leave(before);
	}
	PG_END_TRY();
	return processed;
}

static void
follow(const Reference *reference, const char *key)
{
	ReferenceRewrite now = {.reference = reference};

	now.depth = DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0)) + 1;
	(void) reference_rewrite(&now, key, true);
}

/* 23503 if documents refer to a key, or with NULL to any. */
static void
check_not_referred(const Reference *reference, const char *key)
{
	const char *sql = psprintf("SELECT 1 FROM %s WHERE %s %s", reference_relation_sql(reference),
							   reference_key_sql(reference, ""), key == NULL ? "IS NOT NULL" : "OPERATOR(pg_catalog.=) $1");

	if (run_as_owner(reference, sql, key, true, 1) == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("documents in relation \"%s\" still refer to relation \"%s\"",
					get_rel_name(reference->relation), get_rel_name(reference->source)),
			 key == NULL ? 0 : errdetail("The value at \"%s\" is %s.", path_to_cstring(reference->key, reference->key->nsteps),
										 text_for_message(key, strlen(key))),
			 errhint("Delete or change the documents first, or create the reference with another on_delete.")));
}

/* Has the source a row of this key, at the end of the command? */
static bool
source_has(const Reference *reference, const char *key)
{
	CommandCounterIncrement();
	return source_look_up(source_open(reference), key, strlen(key))->found;
}

/* A key is no longer that of the row that had it. */
static void
key_gone(const Reference *reference, const char *key)
{
	if (reference->on_delete == ON_DELETE_RESTRICT && !source_has(reference, key))
		check_not_referred(reference, key);
	else if (reference->on_delete == ON_DELETE_REMOVE || reference->has_live)
		follow(reference, key);
}

static bool
live_fields_differ(const Followed *followed, HeapTuple before, HeapTuple after, TupleDesc desc)
{
	for (int i = 0; i < followed->reference->nfields; i++)
	{
		JsonbValue	x,
					y;

		if (!followed->reference->fields[i].live)
			continue;
		source_field_value(followed->fields, i, before, desc, &x);
		source_field_value(followed->fields, i, after, desc, &y);
		if (!value_equal(&x, &y))
			return true;
	}
	return false;
}

static void
row_updated(const Followed *followed, HeapTuple before, HeapTuple after, TupleDesc desc)
{
	char	   *old_key = source_key_text(followed->fields, before, desc);
	char	   *new_key = source_key_text(followed->fields, after, desc);

	if (old_key != NULL && (new_key == NULL || strcmp(old_key, new_key) != 0))
	{
		key_gone(followed->reference, old_key);
		old_key = NULL;
	}
	if (new_key != NULL && followed->reference->has_live &&
		(old_key == NULL || live_fields_differ(followed, before, after, desc)))
		follow(followed->reference, new_key);
}

static void
row_changed(const TriggerData *data, const Followed *followed)
{
	TupleDesc	desc = RelationGetDescr(data->tg_relation);
	char	   *key;

	if (TRIGGER_FIRED_BY_UPDATE(data->tg_event))
	{
		row_updated(followed, data->tg_trigtuple, data->tg_newtuple, desc);
		return;
	}
	key = source_key_text(followed->fields, data->tg_trigtuple, desc);
	if (key != NULL && TRIGGER_FIRED_BY_DELETE(data->tg_event))
		key_gone(followed->reference, key);
	else if (key != NULL && followed->reference->has_live)
		follow(followed->reference, key);
}

static void
source_truncated(const Reference *reference)
{
	if (reference->on_delete == ON_DELETE_RESTRICT)
		check_not_referred(reference, NULL);
	else
		follow(reference, NULL);
}

/* Does the trigger's relation hold the rows, or some of the rows, of the source? */
static bool
is_of_source(Oid relid, Oid source)
{
	return relid == source ||
		(get_rel_relispartition(relid) && list_member_oid(get_partition_ancestors(relid), source));
}

static FollowState *
follow_state(FunctionCallInfo fcinfo, const TriggerData *data)
{
	FollowState *state = fcinfo->flinfo->fn_extra;
	Oid			relid = RelationGetRelid(data->tg_relation);
	MemoryContext caller;
	List	   *references;
	ListCell   *cell;
	Oid			target;

	if (state != NULL)
		return state;
	if (data->tg_trigger->tgnargs != 2)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("trigger \"%s\" is not as create_extended_reference made it", data->tg_trigger->tgname)));
	caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	target = linitial_oid(trigger_targets(data->tg_trigger, 1));
	relation_check_trusted(relid, target);
	LockRelationOid(target, RowExclusiveLock);
	references = references_of(target, extension_schema(fcinfo));
	state = palloc0(sizeof(FollowState));
	state->followed = palloc0(Max(1, list_length(references)) * sizeof(Followed));
	foreach(cell, references)
	{
		Reference  *reference = lfirst(cell);

		if (!is_of_source(relid, reference->source) || strcmp(reference->path_text, data->tg_trigger->tgargs[0]) != 0 ||
			strcmp(reference->key_text, data->tg_trigger->tgargs[1]) != 0)
			continue;
		state->followed[state->n].reference = reference;
		state->followed[state->n++].fields = source_fields(reference, relid);
	}
	state->temporary = AllocSetContextCreate(CurrentMemoryContext, "pattern source row", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(caller);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

/* extended_reference_follow(path, key) → trigger on the source of the reference with this path and key */
Datum
pattern_extended_reference_follow(PG_FUNCTION_ARGS)
{
	TriggerData *data = trigger_data(fcinfo);
	FollowState *state;
	MemoryContext caller;

	if (!TRIGGER_FIRED_AFTER(data->tg_event) ||
		TRIGGER_FIRED_FOR_ROW(data->tg_event) == TRIGGER_FIRED_BY_TRUNCATE(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("trigger \"%s\" must be fired after INSERT, UPDATE or DELETE, for each row, or after TRUNCATE", data->tg_trigger->tgname)));
	state = follow_state(fcinfo, data);
	caller = MemoryContextSwitchTo(state->temporary);
	for (int i = 0; i < state->n; i++)
	{
		if (TRIGGER_FIRED_BY_TRUNCATE(data->tg_event))
			source_truncated(state->followed[i].reference);
		else
			row_changed(data, &state->followed[i]);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(state->temporary);
	return PointerGetDatum(NULL);
}
