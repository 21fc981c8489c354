/*
 * patterns/versioning_ddl.c
 *		Schema versions: create_versioning, upgrade_documents, drop_versioning.
 *
 * A batch updates rows which nobody else has locked, and its rows stay locked
 * until the caller's transaction ends.  So a call is one batch,
 * and the caller commits between calls; what is left is found again by its
 * version, so that nothing needs to be remembered.  Only a call that finds no
 * other rows waits for those that are locked, for they may stay as they are.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "versioning.h"

PG_FUNCTION_INFO_V1(pattern_create_versioning);
PG_FUNCTION_INFO_V1(pattern_upgrade_documents);
PG_FUNCTION_INFO_V1(pattern_drop_versioning);

/* So many documents are upgraded by one statement. */
#define FETCH_SIZE 1000

/* A column that the user owns, and its trigger if it has one. */
typedef struct VersionedColumn
{
	Oid			relid;
	const char *name;
	AttrNumber	number;
	char	   *trigger;		/* its name; NULL: there are no versions */
	Versioning	versioning;
} VersionedColumn;

/* Find the trigger of the column. */
static void
find_trigger(VersionedColumn *column)
{
	Relation	relation = relation_open(column->relid, NoLock);

	for (int i = 0; relation->trigdesc != NULL && i < relation->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &relation->trigdesc->triggers[i];

		if (TRIGGER_FOR_ROW(trigger->tgtype) && TRIGGER_FOR_BEFORE(trigger->tgtype) &&
			trigger->tgnattr == 1 && trigger->tgattr[0] == column->number &&
			versioning_from_trigger(trigger, &column->versioning))
			column->trigger = pstrdup(trigger->tgname);
	}
	relation_close(relation, NoLock);
}

/* Read the first two arguments, lock the relation, and find out what it has. */
static void
open_column(FunctionCallInfo fcinfo, LOCKMODE lockmode, VersionedColumn *column)
{
	static const char relkinds[] = {RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, '\0'};

	memset(column, 0, sizeof(VersionedColumn));
	argument_check_given(fcinfo, 0, "relation");
	column->relid = PG_GETARG_OID(0);
	column->name = argument_name(fcinfo, 1, "column_name");
	relation_lock_owned(column->relid, lockmode, relkinds);
	column->number = relation_column(column->relid, column->name, JSONBOID);
	find_trigger(column);
}

/* 42704, or a NOTICE, for a column without versions. */
static void
report_missing(const VersionedColumn *column, bool if_exists)
{
	ereport(if_exists ? NOTICE : ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("column \"%s\" of relation \"%s\" has no schema versions%s", column->name,
					get_rel_name(column->relid), if_exists ? ", skipping" : "")));
}

static void
drop_trigger(const VersionedColumn *column)
{
	spi_run(psprintf("DROP TRIGGER %s ON %s", quote_identifier(column->trigger), relation_quoted_name(column->relid)));
}

/*
 * create_versioning(relation regclass, column_name name, current_version integer,
 * upgrade regprocedure, version_field text, replace boolean) → boolean
 */
Datum
pattern_create_versioning(PG_FUNCTION_ARGS)
{
	char	   *schema = extension_schema(fcinfo);
	VersionedColumn column;
	const char *quoted;
	char	   *field;

	argument_check_given(fcinfo, 2, "current_version");
	argument_check_given(fcinfo, 3, "upgrade");
	field = argument_text(fcinfo, 4, "version_field");
	/* DROP TRIGGER takes the stronger one */
	open_column(fcinfo, argument_flag(fcinfo, 5) ? AccessExclusiveLock : ShareRowExclusiveLock, &column);
	versioning_check_function(PG_GETARG_OID(3));
	if (column.trigger != NULL && !argument_flag(fcinfo, 5))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("column \"%s\" of relation \"%s\" has schema versions already, up to %d", column.name,
						get_rel_name(column.relid), column.versioning.current),
				 errhint("replace => true gives it other ones.")));
	if (column.trigger != NULL)
		drop_trigger(&column);
	quoted = quote_identifier(column.name);
	spi_run(psprintf("CREATE TRIGGER %s BEFORE INSERT OR UPDATE OF %s ON %s FOR EACH ROW "
					 "WHEN (%s(NEW.%s, %s::pg_catalog.text, %d, %s::pg_catalog.regprocedure)) EXECUTE FUNCTION %s()",
					 quote_identifier(trigger_choose_name(column.relid, column.name, NULL, "version")),
					 quoted, relation_quoted_name(column.relid),
					 quote_qualified_identifier(schema, "version_differs"), quoted,
					 quote_literal_cstr(field), PG_GETARG_INT32(2),
					 quote_literal_cstr(format_procedure_qualified(PG_GETARG_OID(3))),
					 quote_qualified_identifier(schema, "upgrade_document")));
	PG_RETURN_BOOL(true);
}

/* How far a call is, and when it last said so. */
typedef struct Progress
{
	int64		upgraded;
	int64		limit;
	TimestampTz told;
} Progress;

/* NOTICE, at most once a second. */
static void
tell_progress(Progress *progress, Oid relid)
{
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(progress->told, now, 1000))
		return;
	progress->told = now;
	ereport(NOTICE,
			(errmsg_plural("%lld document of relation \"%s\" upgraded", "%lld documents of relation \"%s\" upgraded",
						   progress->upgraded, (long long) progress->upgraded, get_rel_name(relid))));
}

/*
 * The documents of a table or a partition that are older.  The condition is one
 * that an index on doc_version answers.  Rows that are locked are skipped, or
 * waited for.
 */
static Portal
open_older(const VersionedColumn *column, Oid relid, const char *schema, int64 limit, bool wait)
{
	const Versioning *versioning = &column->versioning;
	const char *quoted = quote_identifier(column->name);
	char	   *version = psprintf("%s(%s, %s)", quote_qualified_identifier(schema, "doc_version"), quoted,
								   quote_literal_cstr(versioning->field));
	SPIPlanPtr	plan = SPI_prepare(psprintf("SELECT ctid FROM ONLY %s WHERE %s IS NOT NULL AND (%s OPERATOR(pg_catalog.<) %d OR %s IS NULL) "
											"LIMIT " INT64_FORMAT " FOR NO KEY UPDATE%s",
											relation_quoted_name(relid), quoted, version, versioning->current, version, limit,
											wait ? "" : " SKIP LOCKED"), 0, NULL);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	return SPI_cursor_open(NULL, plan, NULL, NULL, false);
}

/* The upgrade is written out, so that it does not depend on the trigger, which may be disabled. */
static SPIPlanPtr
prepare_upgrade(const VersionedColumn *column, Oid relid, const char *schema)
{
	const Versioning *versioning = &column->versioning;
	const char *quoted = quote_identifier(column->name);
	Oid			type = TIDARRAYOID;
	SPIPlanPtr	plan = SPI_prepare(psprintf("UPDATE ONLY %s SET %s = %s(%s, %s::pg_catalog.regprocedure, %d, %s) "
											"WHERE ctid OPERATOR(pg_catalog.=) ANY ($1)",
											relation_quoted_name(relid), quoted, quote_qualified_identifier(schema, "doc_upgrade"), quoted,
											quote_literal_cstr(format_procedure_qualified(versioning->upgrade)),
											versioning->current, quote_literal_cstr(versioning->field)), 1, &type);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	return plan;
}

/* The places of the rows that were fetched. */
static ArrayType *
fetched_places(void)
{
	Datum	   *places = palloc(SPI_processed * sizeof(Datum));
	ArrayType  *result;

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		is_null;

		places[i] = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);
	}
	result = construct_array(places, SPI_processed, TIDOID, sizeof(ItemPointerData), false, TYPALIGN_SHORT);
	pfree(places);
	return result;
}

/* Upgrade documents of a table or a partition, until the limit of the call is reached. */
static void
upgrade_table(const VersionedColumn *column, Oid relid, const char *schema, bool wait, Progress *progress)
{
	Portal		portal;
	SPIPlanPtr	plan;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	portal = open_older(column, relid, schema, progress->limit - progress->upgraded, wait);
	plan = prepare_upgrade(column, relid, schema);
	for (;;)
	{
		SPITupleTable *fetched;
		ArrayType  *array;
		Datum		places;

		CHECK_FOR_INTERRUPTS();
		SPI_cursor_fetch(portal, true, FETCH_SIZE);
		if (SPI_processed == 0)
			break;
		fetched = SPI_tuptable;
		array = fetched_places();
		places = PointerGetDatum(array);
		if (SPI_execute_plan(plan, &places, NULL, false, 0) != SPI_OK_UPDATE)
			elog(ERROR, "SPI_execute_plan failed");
		progress->upgraded += SPI_processed;
		tell_progress(progress, column->relid);
		SPI_freetuptable(fetched);
		pfree(array);
	}
	SPI_cursor_close(portal);
	SPI_finish();
}

/* The same for the relation and its partitions, as the owner, from whom row security hides nothing. */
static void
upgrade_tables(const VersionedColumn *column, const char *schema, bool wait, Progress *progress)
{
	OwnerSwitch before;
	ListCell   *cell;

	owner_enter(relation_owner(column->relid), &before);
	foreach(cell, find_all_inheritors(column->relid, RowExclusiveLock, NULL))
	{
		Oid			relid = lfirst_oid(cell);

		if (get_rel_relkind(relid) == RELKIND_RELATION && progress->upgraded < progress->limit &&
			(relid == column->relid || get_rel_relispartition(relid)))
			upgrade_table(column, relid, schema, wait, progress);
	}
	owner_leave(&before);
}

/* upgrade_documents(relation regclass, column_name name, batch_size integer) → bigint */
Datum
pattern_upgrade_documents(PG_FUNCTION_ARGS)
{
	char	   *schema = extension_schema(fcinfo);
	VersionedColumn column;
	Progress	progress = {0};

	argument_check_given(fcinfo, 2, "batch_size");
	progress.limit = PG_GETARG_INT32(2);
	argument_check_least("batch_size", progress.limit, 1);
	open_column(fcinfo, RowExclusiveLock, &column);
	if (column.trigger == NULL)
		report_missing(&column, false);
	progress.told = GetCurrentTimestamp();
	upgrade_tables(&column, schema, false, &progress);
	/* there may be others that are only locked: 0 means that none is left */
	if (progress.upgraded == 0)
		upgrade_tables(&column, schema, true, &progress);
	PG_RETURN_INT64(progress.upgraded);
}

/* drop_versioning(relation regclass, column_name name, if_exists boolean) → boolean */
Datum
pattern_drop_versioning(PG_FUNCTION_ARGS)
{
	VersionedColumn column;

	open_column(fcinfo, AccessExclusiveLock, &column);
	if (column.trigger == NULL)
	{
		report_missing(&column, argument_flag(fcinfo, 2));
		PG_RETURN_BOOL(false);
	}
	drop_trigger(&column);
	PG_RETURN_BOOL(true);
}
