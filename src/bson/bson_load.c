/*
 * bson/bson_load.c
 *		Loads the documents of a file into a table.
 *
 * It is one INSERT statement of the user's: privileges, row security, triggers,
 * constraints, defaults, generated columns and partitions are as for any other.
 * Its rows come from a function in its SELECT list, so that a document goes from
 * the file to the table without a stop in between.  The function finds the load in
 * the environment of the query, where SPI keeps the transition tables of triggers,
 * and knows it by the address of its name, which nothing else can have.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/queryenvironment.h"

#include "convert.h"

/* So many bad documents are named; then they are counted only. */
#define WARNINGS 100

static char load_name[] = "load_bson";

PG_FUNCTION_INFO_V1(pattern_load_bson);
PG_FUNCTION_INFO_V1(pattern_load_bson_rows);

/* The next good document; a warning for each bad one before it. */
static Jsonb *
load_next(BsonDocuments *documents)
{
	BsonRow		row;

	while (documents_next(documents, &row))
	{
		if (row.document != NULL)
			return row.document;
		if (documents->stream->excluded <= WARNINGS)
			ereport(WARNING,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("document skipped: %s", row.error)));
		pfree(row.error);
	}
	return NULL;
}

/* The load whose INSERT calls the function; 0A000 if nothing of the kind does. */
static BsonDocuments *
calling_load(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	EState	   *estate = rsinfo != NULL && IsA(rsinfo, ReturnSetInfo) ? rsinfo->econtext->ecxt_estate : NULL;
	EphemeralNamedRelation load = NULL;

	if (estate != NULL && estate->es_queryEnv != NULL)
		load = get_ENR(estate->es_queryEnv, load_name);
	if (load == NULL || load->md.name != load_name)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function of load_bson cannot be called by itself")));
	return load->reldata;
}

/* The rows for load_bson's INSERT. */
Datum
pattern_load_bson_rows(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	Jsonb	   *document;

	if (SRF_IS_FIRSTCALL())
	{
		funcctx = SRF_FIRSTCALL_INIT();
		funcctx->user_fctx = calling_load(fcinfo);
	}
	funcctx = SRF_PERCALL_SETUP();
	document = load_next(funcctx->user_fctx);
	if (document == NULL)
		SRF_RETURN_DONE(funcctx);
	SRF_RETURN_NEXT(funcctx, JsonbPGetDatum(document));
}

/* Insert the documents; how many they were. */
static uint64
load_documents(BsonDocuments *documents, Oid relid, const char *column, const char *schema)
{
	EphemeralNamedRelationData load = {0};
	StringInfoData sql;
	uint64		loaded;
	int			result;

	initStringInfo(&sql);
	appendStringInfo(&sql, "INSERT INTO %s (%s) SELECT %s.load_bson_rows()",
					 relation_quoted_name(relid), quote_identifier(column),
					 quote_identifier(schema));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	load.md.name = load_name;
	load.reldata = documents;
	if (SPI_register_relation(&load) != SPI_OK_REL_REGISTER)
		elog(ERROR, "SPI_register_relation failed");
	result = SPI_execute(sql.data, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	loaded = SPI_processed;
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	return loaded;
}

/* Load a file into a column; the number of documents. */
Datum
pattern_load_bson(PG_FUNCTION_ARGS)
{
	BsonDocuments documents = {0};
	Oid			relid;
	const char *column;
	uint64		loaded;

	argument_check_given(fcinfo, 0, "relation");
	argument_check_given(fcinfo, 1, "column_name");
	argument_check_given(fcinfo, 2, "filename");
	relid = PG_GETARG_OID(0);
	column = NameStr(*PG_GETARG_NAME(1));
	LockRelationOid(relid, RowExclusiveLock);
	if (get_rel_relkind(relid) == '\0')
		relation_missing(relid);
	relation_column(relid, column, JSONBOID);
	documents_begin(&documents, fcinfo, 3, 4, 5, 6);
	documents.stream = stream_of_file(PG_GETARG_TEXT_PP(2), relid);

	loaded = load_documents(&documents, relid, column, extension_schema(fcinfo));
	if (documents.stream->excluded > 0)
		ereport(NOTICE,
				(errmsg_plural("%lld document skipped", "%lld documents skipped",
							   documents.stream->excluded, (long long) documents.stream->excluded)));
	stream_close(documents.stream);
	PG_RETURN_INT64(loaded);
}
