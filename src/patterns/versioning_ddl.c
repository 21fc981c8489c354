/*
 * patterns/versioning_ddl.c
 *		Schema versions: create_versioning, upgrade_documents, drop_versioning.
 *
 * A batch is a statement that updates rows which nobody else has locked, and its
 * rows stay locked until the caller's transaction ends.  So a call is one batch,
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
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"

#include "versioning.h"

PG_FUNCTION_INFO_V1(pattern_create_versioning);
PG_FUNCTION_INFO_V1(pattern_upgrade_documents);
PG_FUNCTION_INFO_V1(pattern_drop_versioning);

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
	open_column(fcinfo, ShareRowExclusiveLock, &column);
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
					 quote_identifier(makeObjectName(column.name, "version", NULL)),
					 quoted, relation_quoted_name(column.relid),
					 quote_qualified_identifier(schema, "version_differs"), quoted,
					 quote_literal_cstr(field), PG_GETARG_INT32(2),
					 quote_literal_cstr(format_procedure_qualified(PG_GETARG_OID(3))),
					 quote_qualified_identifier(schema, "upgrade_document")));
	PG_RETURN_BOOL(true);
}

/*
 * Upgrade at most limit documents of a table or a partition; returns their
 * number.  The condition is one that an index on doc_version answers.  Rows that
 * are locked are skipped, or waited for.  The upgrade is written out, so that it
 * does not depend on the trigger, which may be disabled.
 */
static uint64
upgrade_batch(const VersionedColumn *column, Oid relid, const char *schema, int64 limit, bool wait)
{
	const Versioning *versioning = &column->versioning;
	const char *quoted = quote_identifier(column->name);
	const char *field = quote_literal_cstr(versioning->field);
	char	   *version = psprintf("%s(%s, %s)", quote_qualified_identifier(schema, "doc_version"), quoted, field);
	char	   *table = relation_quoted_name(relid);
	uint64		changed;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (SPI_execute(psprintf("UPDATE ONLY %s SET %s = %s(%s, %s::pg_catalog.regprocedure, %d, %s) "
							 "WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY("
							 "SELECT ctid FROM ONLY %s WHERE %s IS NOT NULL AND (%s OPERATOR(pg_catalog.<) %d OR %s IS NULL) "
							 "LIMIT " INT64_FORMAT " FOR NO KEY UPDATE%s))",
							 table, quoted, quote_qualified_identifier(schema, "doc_upgrade"), quoted,
							 quote_literal_cstr(format_procedure_qualified(versioning->upgrade)), versioning->current, field,
							 table, quoted, version, versioning->current, version, limit, wait ? "" : " SKIP LOCKED"),
					false, 0) != SPI_OK_UPDATE)
		elog(ERROR, "SPI_execute failed");
	changed = SPI_processed;
	SPI_finish();
	return changed;
}

/* The same for the relation and its partitions, as the owner, from whom row security hides nothing. */
static int64
upgrade_tables(const VersionedColumn *column, const char *schema, int64 limit, bool wait)
{
	OwnerSwitch before;
	int64		changed = 0;
	ListCell   *cell;

	owner_enter(relation_owner(column->relid), &before);
	foreach(cell, find_all_inheritors(column->relid, RowExclusiveLock, NULL))
	{
		Oid			relid = lfirst_oid(cell);

		if (get_rel_relkind(relid) == RELKIND_RELATION && changed < limit &&
			(relid == column->relid || get_rel_relispartition(relid)))
			changed += upgrade_batch(column, relid, schema, limit - changed, wait);
	}
	owner_leave(&before);
	return changed;
}

/* upgrade_documents(relation regclass, column_name name, batch_size integer) → bigint */
Datum
pattern_upgrade_documents(PG_FUNCTION_ARGS)
{
	char	   *schema = extension_schema(fcinfo);
	VersionedColumn column;
	int64		changed;
	int32		limit;

	argument_check_given(fcinfo, 2, "batch_size");
	limit = PG_GETARG_INT32(2);
	argument_check_least("batch_size", limit, 1);
	open_column(fcinfo, RowExclusiveLock, &column);
	if (column.trigger == NULL)
		report_missing(&column, false);
	changed = upgrade_tables(&column, schema, limit, false);
	/* there may be others that are only locked: 0 means that none is left */
	if (changed == 0)
		changed = upgrade_tables(&column, schema, limit, true);
	PG_RETURN_INT64(changed);
}

/* drop_versioning(relation regclass, column_name name, if_exists boolean) → boolean */
Datum
pattern_drop_versioning(PG_FUNCTION_ARGS)
{
	VersionedColumn column;

	open_column(fcinfo, ShareRowExclusiveLock, &column);
	if (column.trigger == NULL)
	{
		report_missing(&column, argument_flag(fcinfo, 2));
		PG_RETURN_BOOL(false);
	}
	drop_trigger(&column);
	PG_RETURN_BOOL(true);
}
