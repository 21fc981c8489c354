/*
 * patterns/extended_reference_check.c
 *		Extended reference pattern: verify_ and refresh_extended_reference.
 *
 * Both compare copies with their sources in plain SQL, which shares no code with
 * what makes the copies.  refresh then has the engine rewrite what differs.  Where
 * source rows are locked it goes from source row to source row, each before its
 * documents, which is the order in which a change of the source takes its locks.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "extended_reference.h"

#define KEYS_PER_FETCH 1000

PG_FUNCTION_INFO_V1(pattern_verify_extended_reference);
PG_FUNCTION_INFO_V1(pattern_refresh_extended_reference);

/* A field in a document, in SQL. */
static char *
stored_sql(const Reference *reference, const ReferenceField *field)
{
	return psprintf("(d.%s OPERATOR(pg_catalog.#>) %s::pg_catalog.text[])",
					quote_identifier(get_attname(reference->relation, reference->column, false)),
					quote_literal_cstr(path_to_literal(field->target)));
}

/* What it should be, in SQL. */
static char *
expected_sql(const Reference *reference, const ReferenceField *field)
{
	char	   *column = psprintf("s.%s", quote_identifier(get_attname(reference->source, field->column, false)));
	char	   *value = psprintf("pg_catalog.to_jsonb(%s)", column);

	/* in UTC, as the copy is */
	if (getBaseType(get_atttype(reference->source, field->column)) == TIMESTAMPTZOID)
		value = psprintf("pg_catalog.to_jsonb(CASE WHEN pg_catalog.isfinite(%s) THEN pg_catalog.concat("
						 "pg_catalog.to_jsonb(pg_catalog.timezone('UTC', %s)) OPERATOR(pg_catalog.#>>) '{}', '+00:00') "
						 "ELSE %s::pg_catalog.text END)", column, column, column);
	if (field->path->nsteps > 0)
		value = psprintf("(%s OPERATOR(pg_catalog.#>) %s::pg_catalog.text[])", value,
						 quote_literal_cstr(path_to_literal(field->path)));
	return psprintf("COALESCE(%s, 'null'::pg_catalog.jsonb)", value);
}

/* That the source row of a document is there, in SQL. */
static char *
source_found_sql(const Reference *reference)
{
	return psprintf("s.%s IS NOT NULL", quote_identifier(get_attname(reference->source, reference->source_key, false)));
}

/* The documents that refer, d, and their source rows, s, in SQL. */
static char *
joined_sql(const Reference *reference)
{
	return psprintf("FROM %s AS d LEFT JOIN %s AS s ON s.%s::pg_catalog.text OPERATOR(pg_catalog.=) %s",
					reference_relation_sql(reference), reference_source_sql(reference),
					quote_identifier(get_attname(reference->source, reference->source_key, false)),
					reference_key_sql(reference, "d."));
}

/* That a field is to be rewritten, given that the source row is there. */
static char *
field_is_wrong_sql(const Reference *reference, const ReferenceField *field, bool include_snapshot)
{
	if (field->live || include_snapshot)
		return psprintf("%s IS DISTINCT FROM %s", stored_sql(reference, field), expected_sql(reference, field));
	return psprintf("%s IS NULL", stored_sql(reference, field));
}

/* That a document is to be rewritten. */
static char *
is_wrong_sql(const Reference *reference, bool include_snapshot)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "CASE WHEN %s THEN ", source_found_sql(reference));
	for (int i = 0; i < reference->nfields; i++)
		appendStringInfo(&buf, "%s%s", i > 0 ? " OR " : "",
						 field_is_wrong_sql(reference, &reference->fields[i], include_snapshot));
	appendStringInfoString(&buf, " ELSE ");
	for (int i = 0; reference->on_delete == ON_DELETE_REMOVE && i < reference->nfields; i++)
		appendStringInfo(&buf, "%s%s IS NOT NULL", i > 0 ? " OR " : "", stored_sql(reference, &reference->fields[i]));
	appendStringInfo(&buf, "%s END", reference->on_delete == ON_DELETE_REMOVE ? "" : "false");
	return buf.data;
}

/* What tells a document from others, as text, in SQL. */
static char *
document_key_sql(const Reference *reference)
{
	Relation	relation = relation_open(reference->relation, AccessShareLock);
	Bitmapset  *columns = RelationGetIndexAttrBitmap(relation, INDEX_ATTR_BITMAP_PRIMARY_KEY);
	StringInfoData buf;
	int			n = 0;
	int			member = -1;

	initStringInfo(&buf);
	while ((member = bms_next_member(columns, member)) >= 0)
		appendStringInfo(&buf, "%sd.%s", n++ > 0 ? ", " : "",
						 quote_identifier(get_attname(reference->relation, member + FirstLowInvalidHeapAttributeNumber, false)));
	relation_close(relation, AccessShareLock);
	if (n == 0)
		return pstrdup("d.ctid::pg_catalog.text");
	return psprintf(n == 1 ? "%s::pg_catalog.text" : "ROW(%s)::pg_catalog.text", buf.data);
}

/* The query whose rows verify_extended_reference returns. */
static char *
verify_sql(const Reference *reference)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "SELECT %s, f.path, f.stored, f.expected %s CROSS JOIN LATERAL (VALUES ",
					 document_key_sql(reference), joined_sql(reference));
	for (int i = 0; i < reference->nfields; i++)
	{
		const ReferenceField *field = &reference->fields[i];

		appendStringInfo(&buf, "%s(%s::pg_catalog.text[], %s, CASE WHEN %s THEN %s END, CASE WHEN %s THEN %s ELSE %s END)",
						 i > 0 ? ", " : "", quote_literal_cstr(path_to_literal(field->target)), stored_sql(reference, field),
						 source_found_sql(reference), expected_sql(reference, field),
						 source_found_sql(reference), field_is_wrong_sql(reference, field, false),
						 reference->on_delete == ON_DELETE_KEEP ? "false" :
						 psprintf("%s IS NOT NULL", stored_sql(reference, field)));
	}
	appendStringInfo(&buf, ") AS f(path, stored, expected, is_wrong) WHERE %s IS NOT NULL AND f.is_wrong",
					 reference_key_sql(reference, "d."));
	return buf.data;
}

/* The reference that three arguments name; 42704 if there is none. */
static const Reference *
existing_reference(FunctionCallInfo fcinfo, LOCKMODE lockmode)
{
	Reference	asked = {0};
	const Reference *reference;

	reference_arguments(fcinfo, &asked, lockmode);
	reference = reference_find(asked.relation, asked.column, asked.path, extension_schema(fcinfo));
	if (reference == NULL)
		reference_missing(&asked, ERROR);
	relation_check_trusted(reference->relation, reference->source);
	return reference;
}

/* Fetch from a query of ours, whose values are to be those of the copies. */
static void
fetch_rows(Portal portal)
{
	int			level = source_settings_enter();

	SPI_cursor_fetch(portal, true, KEYS_PER_FETCH);
	source_settings_leave(level);
}

static Portal
open_query(const char *sql, bool read_only)
{
	int			level = source_settings_enter();
	Portal		portal = SPI_cursor_open_with_args(NULL, sql, 0, NULL, NULL, NULL, read_only, 0);

	source_settings_leave(level);
	return portal;
}

static void
put_row(ReturnSetInfo *result, HeapTuple tuple, TupleDesc desc)
{
	Datum		values[4];
	bool		nulls[4];

	heap_deform_tuple(tuple, desc, values, nulls);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * verify_extended_reference(relation regclass, column_name name, path text[])
 * → TABLE(key text, path text[], stored jsonb, expected jsonb)
 */
Datum
pattern_verify_extended_reference(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const Reference *reference = existing_reference(fcinfo, AccessShareLock);
	const char *sql = verify_sql(reference);
	OwnerSwitch before;
	Portal		portal;

	InitMaterializedSRF(fcinfo, 0);
	SPI_connect();
	owner_enter(relation_owner(reference->relation), &before);
	portal = open_query(sql, true);
	do
	{
		CHECK_FOR_INTERRUPTS();
		SPI_freetuptable(SPI_tuptable);
		fetch_rows(portal);
		for (uint64 i = 0; i < SPI_processed; i++)
			put_row(result, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	owner_leave(&before);
	SPI_finish();
	return (Datum) 0;
}

/* Rewrite the documents of one source row, which is locked first. */
static uint64
refresh_key(const ReferenceRewrite *now, SourceReader *reader, const char *key)
{
	(void) source_look_up(reader, key, strlen(key));
	return reference_rewrite(now, key, false);
}

static void
tell_progress(uint64 processed, TimestampTz *last)
{
	TimestampTz at = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(*last, at, 1000))
		return;
	*last = at;
	ereport(NOTICE, (errmsg("%llu documents refreshed", (unsigned long long) processed)));
}

/* Go through the source rows of which a copy is wrong; the number of documents rewritten. */
static uint64
refresh_by_key(const ReferenceRewrite *now)
{
	const Reference *reference = now->reference;
	char	   *key_sql = reference_key_sql(reference, "d.");
	char	   *sql = psprintf("SELECT DISTINCT %s %s WHERE %s IS NOT NULL AND %s ORDER BY 1", key_sql, joined_sql(reference),
							   key_sql, is_wrong_sql(reference, now->all));
	SourceReader *reader = source_open(reference);
	TimestampTz last = GetCurrentTimestamp();
	uint64		processed = 0;
	OwnerSwitch before;
	Portal		portal;
	uint64		n;

	SPI_connect();
	owner_enter(relation_owner(reference->relation), &before);
	portal = open_query(sql, false);
	do
	{
		SPITupleTable *keys;

		fetch_rows(portal);
		keys = SPI_tuptable;
		n = SPI_processed;
		for (uint64 i = 0; i < n; i++)
		{
			CHECK_FOR_INTERRUPTS();
			processed += refresh_key(now, reader, SPI_getvalue(keys->vals[i], keys->tupdesc, 1));
			tell_progress(processed, &last);
		}
		SPI_freetuptable(keys);
	} while (n > 0);
	SPI_cursor_close(portal);
	owner_leave(&before);
	SPI_finish();
	return processed;
}

/*
 * Can all be done in one statement?  Not if the source is locked row by row, nor if
 * it takes our settings to compare keys, which the triggers of others shall not see.
 */
static bool
is_done_at_once(const Reference *reference)
{
	return !reference->has_live && reference->on_delete == ON_DELETE_KEEP &&
		source_type_is_settled(getBaseType(get_atttype(reference->source, reference->source_key)));
}

/* Without locks on the source, nor an index on the reference: all in one statement. */
static uint64
refresh_at_once(const ReferenceRewrite *now)
{
	const Reference *reference = now->reference;
	const char *column = quote_identifier(get_attname(reference->relation, reference->column, false));
	char	   *sql = psprintf("UPDATE %s AS d SET %s = d.%s FROM %s AS s WHERE s.%s::pg_catalog.text OPERATOR(pg_catalog.=) %s AND %s",
							   reference_relation_sql(reference), column, column, reference_source_sql(reference),
							   quote_identifier(get_attname(reference->source, reference->source_key, false)),
							   reference_key_sql(reference, "d."), is_wrong_sql(reference, now->all));
	OwnerSwitch before;
	uint64		processed;
	int			result;

	SPI_connect();
	owner_enter(relation_owner(reference->relation), &before);
	result = SPI_execute(sql, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	processed = SPI_processed;
	owner_leave(&before);
	SPI_finish();
	return processed;
}

/* refresh_extended_reference(relation regclass, column_name name, path text[], include_snapshot boolean) → bigint */
Datum
pattern_refresh_extended_reference(PG_FUNCTION_ARGS)
{
	const Reference *reference = existing_reference(fcinfo, RowExclusiveLock);
	ReferenceRewrite now = {.reference = reference, .fill = true, .all = argument_flag(fcinfo, 3)};
	const ReferenceRewrite *before;
	uint64		processed = 0;

	now.depth = DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0)) + 1;
	before = reference_rewrite_enter(&now);
	PG_TRY();
	{
		processed = is_done_at_once(reference) ? refresh_at_once(&now) : refresh_by_key(&now);
	}
	PG_FINALLY();
	{
		reference_rewrite_leave(before);
	}
	PG_END_TRY();
	PG_RETURN_INT64(processed);
}
