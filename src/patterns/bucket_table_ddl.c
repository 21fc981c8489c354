/*
 * patterns/bucket_table_ddl.c
 *		Bucket pattern: create_bucket_table, drop_bucket_table, drop_buckets, bucket_range.
 *
 * A bucket table NAME is the views NAME and NAME_buckets and the tables NAME_open
 * and NAME_sealed.  They are the user's and nothing else is stored: what the
 * functions of this file are given is the view NAME, by whatever name it has by
 * now, and it leads to the others.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "bucket_table.h"

/* A bucket table that is to be created. */
typedef struct NewTable
{
	const char *extension;		/* schema of the extension, quoted */
	Oid			namespace;
	char	   *name;
	/* for SQL: names with their schema, and literals */
	char	   *view;
	char	   *documents;
	char	   *open;
	char	   *sealed;
	char	   *meta_field;
	char	   *time_field;
	char	   *width;
	char	   *time_zone;
	char	   *on_duplicate;
	int32		capacity;
	bool		partitioned;
} NewTable;

PG_FUNCTION_INFO_V1(pattern_create_bucket_table);
PG_FUNCTION_INFO_V1(pattern_drop_bucket_table);
PG_FUNCTION_INFO_V1(pattern_drop_buckets);
PG_FUNCTION_INFO_V1(pattern_bucket_range);

/* A name that belongs to the table, with its schema; quoted. */
static char *
name_beside(const NewTable *table, const char *label)
{
	return quote_qualified_identifier(get_namespace_name(table->namespace),
									  label == NULL ? table->name : makeObjectName(table->name, NULL, label));
}

static void
check_fields(const char *meta_field, const char *time_field)
{
	static const char *const taken[] = {"count", "summary", "readings", "bucket_start", "bucket_end"};

	if (strcmp(meta_field, time_field) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("arguments \"%s\" and \"%s\" must not be the same field", "meta_field", "time_field"),
				 errdetail("Both are \"%s\".", text_for_message(meta_field, strlen(meta_field)))));
	for (int i = 0; i < lengthof(taken); i++)
		if (strcmp(meta_field, taken[i]) == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("argument \"%s\" must not be \"%s\"", "meta_field", meta_field),
					 errdetail("A bucket document has a field of that name already.")));
}

static void
check_on_duplicate(const char *on_duplicate)
{
	static const char *const known[] = {"keep", "replace", "ignore", "error"};

	for (int i = 0; i < lengthof(known); i++)
		if (strcmp(on_duplicate, known[i]) == 0)
			return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized on_duplicate: \"%s\"", text_for_message(on_duplicate, strlen(on_duplicate))),
			 errhint("It is one of keep, replace, ignore, error.")));
}

/* A width as text that every IntervalStyle reads alike. */
static char *
width_text(const Interval *width)
{
	struct pg_itm itm;
	char	   *text = palloc(MAXDATELEN + 1);

	interval2itm(*width, &itm);
	EncodeInterval(&itm, INTSTYLE_POSTGRES, text);
	return text;
}

/* An option's text; NULL: it was not given. */
static char *
option_text(FunctionCallInfo fcinfo, int position, const char *otherwise)
{
	return PG_ARGISNULL(position) ? pstrdup(otherwise) : text_to_cstring(PG_GETARG_TEXT_PP(position));
}

/* Where the name leads: a name, or a schema's and a name, quoted where they need it. */
static void
read_name(FunctionCallInfo fcinfo, NewTable *table)
{
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	RangeVar   *range = makeRangeVar(NULL, NULL, -1);
	List	   *names;

	if (!SplitIdentifierString(pstrdup(name), '.', &names) ||
		list_length(names) < 1 || list_length(names) > 2 || *(char *) llast(names) == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be a name, or a schema and a name", "name"),
				 errdetail("The value is \"%s\".", text_for_message(name, strlen(name))),
				 errhint("Quote what is no plain identifier, as in SQL.")));
	table->name = range->relname = llast(names);
	if (list_length(names) == 2)
	{
		range->schemaname = linitial(names);
		if (!OidIsValid(get_namespace_oid(range->schemaname, true)))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("schema \"%s\" does not exist", range->schemaname)));
	}
	table->namespace = RangeVarGetCreationNamespace(range);
}

static void
read_new_table(FunctionCallInfo fcinfo, NewTable *table)
{
	char	   *meta_field,
			   *time_field,
			   *time_zone,
			   *on_duplicate;
	WindowRule	rule;

	argument_check_given(fcinfo, 0, "name");
	meta_field = argument_text(fcinfo, 1, "meta_field");
	time_field = argument_text(fcinfo, 2, "time_field");
	argument_check_given(fcinfo, 3, "width");
	table->capacity = PG_ARGISNULL(4) ? 1000 : PG_GETARG_INT32(4);
	time_zone = option_text(fcinfo, 5, "UTC");
	on_duplicate = option_text(fcinfo, 6, "keep");
	check_fields(meta_field, time_field);
	argument_check_least("capacity", table->capacity, 1);
	check_on_duplicate(on_duplicate);
	window_rule(PG_GETARG_INTERVAL_P(3), time_zone, &rule);
	read_name(fcinfo, table);
	table->partitioned = argument_flag(fcinfo, 8);
	table->extension = quote_identifier(extension_schema(fcinfo));
	table->view = name_beside(table, NULL);
	table->documents = name_beside(table, "buckets");
	table->open = name_beside(table, "open");
	table->sealed = name_beside(table, "sealed");
	table->meta_field = quote_literal_cstr(meta_field);
	table->time_field = quote_literal_cstr(time_field);
	table->time_zone = quote_literal_cstr(time_zone);
	table->width = quote_literal_cstr(width_text(PG_GETARG_INTERVAL_P(3)));
	table->on_duplicate = quote_literal_cstr(on_duplicate);
}

/* Run a statement in which {view} and the like stand for what belongs to the table. */
static void
run(const NewTable *table, const char *sql)
{
	const struct
	{
		const char *name;
		const char *value;
	}			names[] = {
		{"{x}", table->extension}, {"{view}", table->view}, {"{documents}", table->documents},
		{"{open}", table->open}, {"{sealed}", table->sealed}, {"{meta}", table->meta_field},
		{"{time}", table->time_field}, {"{width}", table->width}, {"{zone}", table->time_zone},
		{"{duplicate}", table->on_duplicate}, {"{capacity}", psprintf("%d", table->capacity)},
	};
	StringInfoData buf;

	initStringInfo(&buf);
	while (*sql != '\0')
	{
		bool		replaced = false;

		for (int i = 0; *sql == '{' && i < lengthof(names) && !replaced; i++)
		{
			if (strncmp(sql, names[i].name, strlen(names[i].name)) != 0)
				continue;
			appendStringInfoString(&buf, names[i].value);
			sql += strlen(names[i].name);
			replaced = true;
		}
		if (!replaced)
			appendStringInfoChar(&buf, *sql++);
	}
	spi_run(buf.data);
	pfree(buf.data);
}

/* How what repeats itself is compressed. */
#ifdef USE_LZ4
#define COMPRESSION " COMPRESSION lz4"
#else
#define COMPRESSION ""
#endif

static void
create_tables(const NewTable *table)
{
	run(table, "CREATE TABLE {open} ("
		" bucket_start pg_catalog.timestamptz NOT NULL, at pg_catalog.timestamptz NOT NULL, last pg_catalog.timestamptz,"
		" meta pg_catalog.jsonb NOT NULL, doc pg_catalog.jsonb" COMPRESSION " NOT NULL"
		") WITH (autovacuum_vacuum_scale_factor = 0.02)");
	run(table, strcmp(table->on_duplicate, "'keep'") == 0 ?
		"CREATE INDEX ON {open} (meta {x}.bucket_meta_ops, bucket_start, last)" :
		"CREATE UNIQUE INDEX ON {open} (meta {x}.bucket_meta_ops, bucket_start, at)");
	/* a batch is to be compressed, but not to be moved out of the row */
	run(table, "ALTER TABLE {open} REPLICA IDENTITY FULL, ALTER COLUMN doc SET STORAGE MAIN");
	run(table, psprintf("CREATE TABLE {sealed} ("
		" bucket_start pg_catalog.timestamptz NOT NULL, bucket_end pg_catalog.timestamptz NOT NULL,"
		" first pg_catalog.timestamptz NOT NULL, last pg_catalog.timestamptz NOT NULL,"
		" bucket_no pg_catalog.int4 NOT NULL, count pg_catalog.int4 NOT NULL, meta pg_catalog.jsonb NOT NULL,"
		" summary pg_catalog.jsonb NOT NULL, readings pg_catalog.jsonb" COMPRESSION " NOT NULL, PRIMARY KEY (meta, bucket_start, bucket_no))%s",
						table->partitioned ? " PARTITION BY RANGE (bucket_start)" : ""));
	if (table->partitioned)
		run(table, psprintf("CREATE TABLE %s PARTITION OF {sealed} DEFAULT", name_beside(table, "sealed_default")));
}

static void
create_views(const NewTable *table)
{
	run(table, "CREATE VIEW {view} (doc, meta, at, bucket_start) AS"
		" SELECT o.doc, o.meta, o.at, o.bucket_start FROM {open} AS o WHERE o.last IS NULL"
		" UNION ALL"
		" SELECT r.doc, r.meta, {x}.bucket_table_at(r.doc, {time}, {zone}), r.bucket_start"
		" FROM (SELECT {x}.bucket_table_batch(o.doc) AS doc, o.meta, o.bucket_start FROM {open} AS o"
		"  WHERE o.last IS NOT NULL) AS r"
		" UNION ALL"
		" SELECT r.doc, r.meta, {x}.bucket_table_at(r.doc, {time}, {zone}), r.bucket_start"
		" FROM (SELECT {x}.bucket_table_readings(s.readings) AS doc, s.meta, s.bucket_start FROM {sealed} AS s) AS r");
	/* what sealing would merge into the last bucket of a window is shown merged */
	run(table, "CREATE VIEW {documents} (meta, bucket_start, bucket_end, bucket_no, count, summary, doc) AS"
		" SELECT s.meta, s.bucket_start, s.bucket_end, s.bucket_no, s.count, s.summary,"
		" {x}.bucket_table_document({meta}, s.meta, s.bucket_start, s.bucket_end, s.count, s.summary, s.readings)"
		" FROM {sealed} AS s"
		" WHERE s.count OPERATOR(pg_catalog.>=) {capacity}"
		" OR NOT EXISTS (SELECT FROM {open} AS o WHERE o.meta OPERATOR(pg_catalog.=) s.meta"
		"  AND o.bucket_start OPERATOR(pg_catalog.=) s.bucket_start)"
		" OR EXISTS (SELECT FROM {sealed} AS later WHERE later.meta OPERATOR(pg_catalog.=) s.meta"
		"  AND later.bucket_start OPERATOR(pg_catalog.=) s.bucket_start"
		"  AND later.bucket_no OPERATOR(pg_catalog.>) s.bucket_no)"
		" UNION ALL"
		" SELECT g.meta, g.bucket_start, g.bucket_end, m.bucket_no, m.count, m.summary,"
		" {x}.bucket_table_document({meta}, g.meta, g.bucket_start, g.bucket_end, m.count, m.summary, m.readings)"
		" FROM (SELECT o.meta, o.bucket_start, {x}.bucket_end(o.bucket_start, {width}::pg_catalog.interval, {zone}) AS bucket_end,"
		"  pg_catalog.jsonb_agg(o.doc) AS docs FROM {open} AS o GROUP BY o.meta, o.bucket_start) AS g"
		" LEFT JOIN LATERAL (SELECT s.bucket_no, CASE WHEN s.count OPERATOR(pg_catalog.<) {capacity} THEN s.readings END AS readings"
		"  FROM {sealed} AS s WHERE s.meta OPERATOR(pg_catalog.=) g.meta"
		"  AND s.bucket_start OPERATOR(pg_catalog.=) g.bucket_start ORDER BY s.bucket_no DESC LIMIT 1) AS l ON true"
		" CROSS JOIN LATERAL {x}.bucket_table_merge(g.docs, l.bucket_no, l.readings, {capacity}, {time}, {zone}) AS m");
}

static void
create_triggers(const NewTable *table)
{
	run(table, "CREATE TRIGGER bucket_table_write INSTEAD OF INSERT OR UPDATE OR DELETE ON {view} FOR EACH ROW"
		" EXECUTE FUNCTION {x}.bucket_table_write({meta}, {time}, {width}, {capacity}, {zone}, {duplicate})");
	run(table, "CREATE TRIGGER bucket_table_flush AFTER UPDATE OR DELETE ON {view} FOR EACH STATEMENT"
		" EXECUTE FUNCTION {x}.bucket_table_flush()");
	run(table, "CREATE TRIGGER bucket_table_refuse INSTEAD OF INSERT OR UPDATE OR DELETE ON {documents} FOR EACH ROW"
		" EXECUTE FUNCTION {x}.bucket_table_refuse()");
}

/* 42710 if a name beside the table's own is taken. */
static void
check_names(const NewTable *table)
{
	static const char *const labels[] = {"buckets", "open", "sealed", "sealed_default"};

	for (int i = 0; i < (table->partitioned ? 4 : 3); i++)
	{
		char	   *name = makeObjectName(table->name, NULL, labels[i]);

		if (OidIsValid(get_relname_relid(name, table->namespace)))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("relation \"%s\" already exists", name),
					 errdetail("A bucket table \"%s\" needs the name.", table->name)));
	}
}

/*
 * create_bucket_table(name text, meta_field text, time_field text, width interval, capacity integer,
 * time_zone text, on_duplicate text, if_not_exists boolean, partitioned boolean) → boolean
 */
Datum
pattern_create_bucket_table(PG_FUNCTION_ARGS)
{
	bool		if_not_exists = argument_flag(fcinfo, 7);
	NewTable	table;
	Oid			existing;

	read_new_table(fcinfo, &table);
	existing = get_relname_relid(table.name, table.namespace);
	if (OidIsValid(existing))
	{
		if (if_not_exists)
			(void) bucket_table_get(existing);
		ereport(if_not_exists ? NOTICE : ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("bucket table \"%s\" already exists%s", table.name, if_not_exists ? ", skipping" : "")));
		PG_RETURN_BOOL(false);
	}
	check_names(&table);
	create_tables(&table);
	create_views(&table);
	create_triggers(&table);
	PG_RETURN_BOOL(true);
}

/* The view of bucket documents, which reads the same tables; InvalidOid if it was dropped.  Inside SPI. */
static Oid
find_documents(const BucketTable *table)
{
	static const char sql[] =
	"SELECT rule.ev_class FROM pg_catalog.pg_depend AS depend"
	" JOIN pg_catalog.pg_rewrite AS rule ON rule.oid OPERATOR(pg_catalog.=) depend.objid"
	" JOIN pg_catalog.pg_trigger AS trigger ON trigger.tgrelid OPERATOR(pg_catalog.=) rule.ev_class"
	" JOIN pg_catalog.pg_proc AS function ON function.oid OPERATOR(pg_catalog.=) trigger.tgfoid"
	" WHERE depend.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass"
	" AND depend.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
	" AND depend.refobjid OPERATOR(pg_catalog.=) $1"
	" AND function.proname OPERATOR(pg_catalog.=) 'bucket_table_refuse'";
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(table->sealed)};
	bool		is_null;

	if (SPI_execute_with_args(sql, 1, types, values, NULL, true, 1) != SPI_OK_SELECT || SPI_processed == 0)
		return InvalidOid;
	return DatumGetObjectId(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
}

/* Is the relation in the argument a bucket table?  Anything else that is wrong with it is an error. */
static bool
is_bucket_table(Oid relid)
{
	bool		found = false;
	Relation	view = relation_open(relid, NoLock);

	for (int i = 0; view->trigdesc != NULL && i < view->trigdesc->numtriggers; i++)
		found |= function_is(view->trigdesc->triggers[i].tgfoid, "pattern_bucket_table_write");
	relation_close(view, NoLock);
	return found;
}

/* drop_bucket_table(name regclass, if_exists boolean DEFAULT false) → boolean */
Datum
pattern_drop_bucket_table(PG_FUNCTION_ARGS)
{
	static const char relkinds[] = {RELKIND_VIEW, '\0'};
	bool		if_exists = argument_flag(fcinfo, 1);
	BucketTable *table;
	Oid			relid;
	Oid			documents;
	char	   *views,
			   *tables;

	argument_check_given(fcinfo, 0, "name");
	relid = PG_GETARG_OID(0);
	relation_lock_owned(relid, AccessExclusiveLock, relkinds);
	if (if_exists && !is_bucket_table(relid))
	{
		ereport(NOTICE,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relation \"%s\" is not a bucket table, skipping", get_rel_name(relid))));
		PG_RETURN_BOOL(false);
	}
	table = bucket_table_get(relid);
	views = relation_quoted_name(table->view);
	tables = psprintf("%s, %s", relation_quoted_name(table->open), relation_quoted_name(table->sealed));
	SPI_connect();
	documents = find_documents(table);
	SPI_finish();
	if (OidIsValid(documents))
		views = psprintf("%s, %s", views, relation_quoted_name(documents));
	spi_run(psprintf("DROP VIEW %s", views));
	spi_run(psprintf("DROP TABLE %s", tables));
	PG_RETURN_BOOL(true);
}

/*
 * drop_buckets(name regclass, before timestamptz) → bigint: the documents of all
 * windows that end by then, counted as the view of bucket documents shows them,
 * and deleted under the same snapshot
 */
Datum
pattern_drop_buckets(PG_FUNCTION_ARGS)
{
	BucketTable *table = bucket_table_argument(fcinfo, 0, true);
	Oid			types[] = {TIMESTAMPTZOID};
	Datum		values[1];
	OwnerSwitch before;
	StringInfoData sql;
	int64		dropped;
	bool		is_null;
	Oid			documents;

	argument_check_given(fcinfo, 1, "before");
	values[0] = TimestampTzGetDatum(PG_GETARG_TIMESTAMPTZ(1));
	owner_enter(table->owner, &before);
	SPI_connect();
	documents = find_documents(table);
	if (!OidIsValid(documents))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("bucket table \"%s\" was altered", get_rel_name(table->view)),
				 errdetail("Its view of bucket documents is missing.")));
	initStringInfo(&sql);
	appendStringInfo(&sql, "WITH gone AS (SELECT DISTINCT %s AS meta, %s AS bucket_start FROM %s WHERE %s OPERATOR(pg_catalog.<=) $1),",
					 quote_identifier(get_attname(documents, 1, false)), quote_identifier(get_attname(documents, 2, false)),
					 relation_quoted_name(documents), quote_identifier(get_attname(documents, 3, false)));
	appendStringInfo(&sql, " open_gone AS (DELETE FROM %s AS o USING gone WHERE o.%s OPERATOR(pg_catalog.=) gone.meta AND o.%s OPERATOR(pg_catalog.=) gone.bucket_start),",
					 relation_quoted_name(table->open), quote_identifier(get_attname(table->open, OPEN_META, false)),
					 quote_identifier(get_attname(table->open, OPEN_START, false)));
	appendStringInfo(&sql, " sealed_gone AS (DELETE FROM %s AS s WHERE s.%s OPERATOR(pg_catalog.<=) $1 AND s.%s OPERATOR(pg_catalog.<) $1)",
					 relation_quoted_name(table->sealed), quote_identifier(get_attname(table->sealed, SEALED_END, false)),
					 quote_identifier(get_attname(table->sealed, SEALED_START, false)));
	appendStringInfo(&sql, " SELECT pg_catalog.count(*) FROM %s WHERE %s OPERATOR(pg_catalog.<=) $1",
					 relation_quoted_name(documents), quote_identifier(get_attname(documents, 3, false)));
	if (SPI_execute_with_args(sql.data, 1, types, values, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not drop buckets");
	dropped = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null));
	SPI_finish();
	owner_leave(&before);
	PG_RETURN_INT64(dropped);
}

/* The query of bucket_range, over the view, and so with the caller's rights on it. */
static char *
range_query(const BucketTable *table)
{
	char	   *doc = pstrdup(quote_identifier(get_attname(table->view, VIEW_DOC, false)));
	char	   *meta = pstrdup(quote_identifier(get_attname(table->view, VIEW_META, false)));
	char	   *at = pstrdup(quote_identifier(get_attname(table->view, VIEW_AT, false)));
	char	   *start = pstrdup(quote_identifier(get_attname(table->view, VIEW_START, false)));

	return psprintf("SELECT %s FROM %s WHERE %s OPERATOR(pg_catalog.=) $1"
					" AND %s OPERATOR(pg_catalog.>=) $2 AND %s OPERATOR(pg_catalog.<) $4"
					" AND %s OPERATOR(pg_catalog.>=) $3 AND %s OPERATOR(pg_catalog.<) $4 ORDER BY %s",
					doc, relation_quoted_name(table->view), meta, start, start, at, at, at);
}

/* bucket_range(name regclass, meta jsonb, from_time timestamptz, to_time timestamptz) → SETOF jsonb */
Datum
pattern_bucket_range(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	BucketTable *table = bucket_table_argument(fcinfo, 0, false);
	Oid			types[] = {JSONBOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID};
	Datum		values[4];
	TimestampTz from;
	Portal		portal;

	argument_check_given(fcinfo, 1, "meta");
	argument_check_given(fcinfo, 2, "from_time");
	argument_check_given(fcinfo, 3, "to_time");
	from = PG_GETARG_TIMESTAMPTZ(2);
	values[0] = PG_GETARG_DATUM(1);
	values[1] = TimestampTzGetDatum(TIMESTAMP_NOT_FINITE(from) ? from : window_start(&table->rule, from));
	values[2] = TimestampTzGetDatum(from);
	values[3] = PG_GETARG_DATUM(3);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	SPI_connect();
	portal = SPI_cursor_open_with_args(NULL, range_query(table), 4, types, values, NULL, true, 0);
	do
	{
		SPI_cursor_fetch(portal, true, 1000);
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			bool		is_null;
			Datum		doc = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);

			CHECK_FOR_INTERRUPTS();
			tuplestore_putvalues(result->setResult, result->setDesc, &doc, &is_null);
		}
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	SPI_finish();
	PG_RETURN_NULL();
}
