/*
 * patterns/bucket_table_sql.c
 *		Bucket pattern: the statements that bucket tables are kept with.
 *
 * Buckets are few: they are written by prepared statements.  Only the readings
 * in the open table are written directly.  Names are those of today; a renamed
 * column, table or schema makes the session forget what it knows of the bucket
 * table, its statements included.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

/* A column's name for SQL. */
static const char *
column(Oid relid, AttrNumber number)
{
	return quote_identifier(get_attname(relid, number, false));
}

/* Replace {open}, {sealed} and the columns' names, {s1} and {o1}, in a statement. */
static char *
fill_in_names(const BucketTable *table, const char *sql)
{
	StringInfoData buf;

	initStringInfo(&buf);
	while (*sql != '\0')
	{
		const char *end;

		if (*sql != '{')
		{
			appendStringInfoChar(&buf, *sql++);
			continue;
		}
		end = strchr(sql, '}');
		if (strncmp(sql, "{open}", 6) == 0)
			appendStringInfoString(&buf, relation_quoted_name(table->open));
		else if (strncmp(sql, "{sealed}", 8) == 0)
			appendStringInfoString(&buf, relation_quoted_name(table->sealed));
		else
			appendStringInfoString(&buf, column(sql[1] == 's' ? table->sealed : table->open, sql[2] - '0'));
		sql = end + 1;
	}
	return buf.data;
}

#define BUCKET_KEY "{s7} OPERATOR(pg_catalog.=) $1 AND {s1} OPERATOR(pg_catalog.=) $2"

static const struct
{
	const char *sql;
	int			ntypes;
	Oid			types[SEALED_NCOLUMNS];
}			statements[NUM_BUCKET_STATEMENTS] =
{
	[BUCKET_LAST] = {
		"SELECT {s5}, {s6} FROM {sealed} WHERE " BUCKET_KEY " ORDER BY {s5} DESC LIMIT 1",
		2, {JSONBOID, TIMESTAMPTZOID}
	},
	[BUCKET_LOCK_LAST] = {
		"SELECT {s6}, {s9} FROM {sealed} WHERE " BUCKET_KEY " AND {s5} OPERATOR(pg_catalog.=) $3 FOR UPDATE SKIP LOCKED",
		3, {JSONBOID, TIMESTAMPTZOID, INT4OID}
	},
	[BUCKET_INSERT] = {
		"INSERT INTO {sealed} ({s1}, {s2}, {s3}, {s4}, {s5}, {s6}, {s7}, {s8}, {s9}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		9, {TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, INT4OID, JSONBOID, JSONBOID, JSONBOID}
	},
	[BUCKET_UPDATE] = {
		"UPDATE {sealed} SET {s3} = $3, {s4} = $4, {s6} = $6, {s8} = $8, {s9} = $9 WHERE {s7} OPERATOR(pg_catalog.=) $7 AND {s1} OPERATOR(pg_catalog.=) $1 AND {s2} OPERATOR(pg_catalog.=) $2 AND {s5} OPERATOR(pg_catalog.=) $5",
		9, {TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, TIMESTAMPTZOID, INT4OID, INT4OID, JSONBOID, JSONBOID, JSONBOID}
	},
	[BUCKET_DELETE] = {
		"DELETE FROM {sealed} WHERE " BUCKET_KEY " AND {s5} OPERATOR(pg_catalog.=) $3",
		3, {JSONBOID, TIMESTAMPTZOID, INT4OID}
	},
	[BUCKET_OF_TIME] = {
		"SELECT {s5}, {s9} FROM {sealed} WHERE " BUCKET_KEY " AND {s3} OPERATOR(pg_catalog.<=) $3 AND {s4} OPERATOR(pg_catalog.>=) $3 ORDER BY {s5}",
		3, {JSONBOID, TIMESTAMPTZOID, TIMESTAMPTZOID}
	},
	[BUCKET_LOCK] = {
		"SELECT {s9} FROM {sealed} WHERE " BUCKET_KEY " AND {s5} OPERATOR(pg_catalog.=) $3 FOR UPDATE",
		3, {JSONBOID, TIMESTAMPTZOID, INT4OID}
	},
	[OPEN_INSERT] = {
		"INSERT INTO {open} ({o1}, {o2}, {o4}, {o5}) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
		4, {TIMESTAMPTZOID, TIMESTAMPTZOID, JSONBOID, JSONBOID}
	},
	[OPEN_DELETE] = {
		"DELETE FROM {open} WHERE {o4} OPERATOR(pg_catalog.=) $3 AND {o1} OPERATOR(pg_catalog.=) $1 AND {o2} OPERATOR(pg_catalog.=) $2",
		4, {TIMESTAMPTZOID, TIMESTAMPTZOID, JSONBOID, JSONBOID}
	},
	[OPEN_REPLACE] = {
		"INSERT INTO {open} ({o1}, {o2}, {o4}, {o5}) VALUES ($1, $2, $3, $4) ON CONFLICT ({o4}, {o1}, {o2}) DO UPDATE SET {o5} = excluded.{o5}",
		4, {TIMESTAMPTZOID, TIMESTAMPTZOID, JSONBOID, JSONBOID}
	},
};

static SPIPlanPtr
get_plan(BucketTable *table, BucketStatement statement)
{
	if (table->plans[statement] == NULL)
	{
		Oid			types[SEALED_NCOLUMNS];
		SPIPlanPtr	plan;

		memcpy(types, statements[statement].types, sizeof(types));
		plan = SPI_prepare(fill_in_names(table, statements[statement].sql),
						   statements[statement].ntypes, types);
		if (plan == NULL)
			elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
		SPI_keepplan(plan);
		table->plans[statement] = plan;
	}
	return table->plans[statement];
}

/*
 * Run a statement as the owner, who must have been entered, inside SPI_connect
 * and SPI_finish, which the caller sees to.  Rows are in SPI_tuptable; returns
 * how many rows there were.
 */
uint64
bucket_table_run(BucketTable *table, BucketStatement statement, Datum *values, Snapshot snapshot)
{
	int			result = SPI_execute_snapshot(get_plan(table, statement), values, NULL, snapshot,
											  InvalidSnapshot, false, true, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute_snapshot failed: %s", SPI_result_code_string(result));
	return SPI_processed;
}

/*
 * The same for a statement that must write one row: 55000 if a trigger or a rule
 * of somebody's kept it from that, since readings would be lost or doubled.
 */
void
bucket_table_write(BucketTable *table, BucketStatement statement, Datum *values)
{
	if (bucket_table_run(table, statement, values, InvalidSnapshot) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("bucket was not written to \"%s\"", get_rel_name(table->sealed)),
				 errdetail("A trigger or a rule of the table, or a statement within this one, prevented it.")));
}

/* Write readings, which get into the order of their times, as a bucket. */
void
bucket_table_put(BucketTable *table, BucketStatement statement, Jsonb *meta, TimestampTz start, int32 bucket_no,
				 Readings *list)
{
	Jsonb	   *array,
			   *summary;
	Datum		values[SEALED_NCOLUMNS];

	readings_sort(list);
	readings_finish(list, 0, list->n, &array, &summary);
	values[SEALED_START - 1] = TimestampTzGetDatum(start);
	values[SEALED_END - 1] = TimestampTzGetDatum(window_end(&table->rule, start));
	values[SEALED_FIRST - 1] = TimestampTzGetDatum(list->items[0].at);
	values[SEALED_LAST - 1] = TimestampTzGetDatum(list->items[list->n - 1].at);
	values[SEALED_NO - 1] = Int32GetDatum(bucket_no);
	values[SEALED_COUNT - 1] = Int32GetDatum(list->n);
	values[SEALED_META - 1] = JsonbPGetDatum(meta);
	values[SEALED_SUMMARY - 1] = JsonbPGetDatum(summary);
	values[SEALED_READINGS - 1] = JsonbPGetDatum(array);
	bucket_table_write(table, statement, values);
}

/* Let the statements go, when the table is forgotten. */
void
bucket_table_free_plans(BucketTable *table)
{
	for (int i = 0; i < NUM_BUCKET_STATEMENTS; i++)
		if (table->plans[i] != NULL)
			SPI_freeplan(table->plans[i]);
}
