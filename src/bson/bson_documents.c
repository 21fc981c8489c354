/*
 * bson/bson_documents.c
 *		The functions that return the documents of a stream, and the reading of
 *		them one by one, with or without their errors.
 *
 * A row is returned at each call.  In the SELECT list it goes on at once to where
 * it is needed; what stands in FROM is first collected by PostgreSQL in a file,
 * which no function can help.
 *
 * An error of a document is caught and becomes a row.  There is no subtransaction
 * around it, which would cost more than the document: reading a document takes
 * nothing but memory, of a context of its own.  So only the errors are caught that
 * say something about the data; all others end the statement.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "convert.h"

PG_FUNCTION_INFO_V1(pattern_bson_documents);
PG_FUNCTION_INFO_V1(pattern_bson_file);

/* Get ready to read a stream, which is to be opened; -1 for no argument on_error. */
void
documents_begin(BsonDocuments *documents, FunctionCallInfo fcinfo, int mode, int on_error,
				int on_duplicate, int on_nul)
{
	static const char *const choices[] = {"error", "report", NULL};

	reading_options(fcinfo, mode, on_duplicate, on_nul, &documents->options);
	documents->report = on_error >= 0 && option_argument(fcinfo, on_error, "on_error", choices) == 1;
	documents->context = CurrentMemoryContext;
	documents->work = AllocSetContextCreate(CurrentMemoryContext, "pattern bson document",
											ALLOCSET_DEFAULT_SIZES);
}

/* The document that is read, for whatever error is raised meanwhile. */
static void
document_context(void *arg)
{
	const BsonOrigin *origin = arg;

	errcontext("document %lld, byte %lld", (long long) origin->number, (long long) origin->offset);
}

/* A document of the stream as jsonb. */
static Jsonb *
read_document(BsonDocuments *documents, const char *bson, Size len, BsonOrigin *origin)
{
	ErrorContextCallback callback;
	Jsonb	   *result;

	callback.callback = document_context;
	callback.arg = origin;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	result = document_from_bson(bson, len, &documents->options, origin, documents->work);
	error_context_stack = callback.previous;
	return result;
}

/* The next document; false at the end. */
static bool
next_document(BsonDocuments *documents, BsonRow *row)
{
	const char *bson;
	Size		len;
	BsonOrigin	origin;
	MemoryContext caller = MemoryContextSwitchTo(documents->context);
	bool		found = stream_next(documents->stream, &bson, &len, &origin);

	MemoryContextSwitchTo(caller);
	row->offset = origin.offset;
	if (found)
		row->document = read_document(documents, bson, len, &origin);
	return found;
}

/* Does an error say something about the data, so that one may go on after it? */
static bool
is_about_data(int sqlerrcode)
{
	int			class = ERRCODE_TO_CATEGORY(sqlerrcode);

	return class == ERRCODE_DATA_EXCEPTION || class == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

/* What an error says, in the current memory context. */
static char *
error_text(const ErrorData *error)
{
	if (error->detail == NULL)
		return pstrdup(error->message);
	return psprintf("%s: %s", error->message, error->detail);
}

/* The same, with an error as a row. */
static bool
next_document_or_error(BsonDocuments *documents, BsonRow *row)
{
	MemoryContext caller = CurrentMemoryContext;
	volatile bool found = true;

	row->offset = documents->stream->next.offset;
	PG_TRY();
	{
		found = next_document(documents, row);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(documents->work);
		error = CopyErrorData();
		if (!is_about_data(error->sqlerrcode))
			PG_RE_THROW();
		FlushErrorState();
		MemoryContextSwitchTo(caller);
		row->error = error_text(error);
		documents->stream->excluded++;
	}
	PG_END_TRY();
	return found;
}

/*
 * The next row of a stream, in the current memory context; false at the end, when
 * the stream is closed.
 */
bool
documents_next(BsonDocuments *documents, BsonRow *row)
{
	CHECK_FOR_INTERRUPTS();
	MemoryContextReset(documents->work);
	memset(row, 0, sizeof(*row));
	if (documents->report)
		return next_document_or_error(documents, row);
	return next_document(documents, row);
}

/* The documents of a stream in memory. */
Datum
pattern_bson_documents(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	BsonRow		row;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext caller;
		BsonDocuments *documents;

		funcctx = SRF_FIRSTCALL_INIT();
		if (PG_ARGISNULL(0))
			SRF_RETURN_DONE(funcctx);
		caller = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
		documents = palloc0(sizeof(BsonDocuments));
		documents_begin(documents, fcinfo, 1, -1, 2, 3);
		documents->stream = stream_of_bytes(PG_GETARG_BYTEA_P_COPY(0));
		funcctx->user_fctx = documents;
		MemoryContextSwitchTo(caller);
	}
	funcctx = SRF_PERCALL_SETUP();
	if (!documents_next(funcctx->user_fctx, &row))
		SRF_RETURN_DONE(funcctx);
	SRF_RETURN_NEXT(funcctx, JsonbPGetDatum(row.document));
}

/* A row of bson_file. */
static Datum
row_datum(TupleDesc tupdesc, const BsonRow *row)
{
	Datum		values[3] = {0};
	bool		nulls[3] = {false};

	values[0] = Int64GetDatum(row->offset);
	if (row->document != NULL)
		values[1] = JsonbPGetDatum(row->document);
	else
		nulls[1] = true;
	if (row->error != NULL)
		values[2] = CStringGetTextDatum(row->error);
	else
		nulls[2] = true;
	return HeapTupleGetDatum(heap_form_tuple(tupdesc, values, nulls));
}

/* The documents of a file. */
Datum
pattern_bson_file(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	BsonRow		row;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext caller;
		BsonDocuments *documents;

		funcctx = SRF_FIRSTCALL_INIT();
		if (PG_ARGISNULL(0))
			SRF_RETURN_DONE(funcctx);
		caller = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
		if (get_call_result_type(fcinfo, NULL, &funcctx->tuple_desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		BlessTupleDesc(funcctx->tuple_desc);
		documents = palloc0(sizeof(BsonDocuments));
		documents_begin(documents, fcinfo, 1, 2, 3, 4);
		documents->stream = stream_of_file(PG_GETARG_TEXT_PP(0), InvalidOid);
		funcctx->user_fctx = documents;
		MemoryContextSwitchTo(caller);
	}
	funcctx = SRF_PERCALL_SETUP();
	if (!documents_next(funcctx->user_fctx, &row))
		SRF_RETURN_DONE(funcctx);
	SRF_RETURN_NEXT(funcctx, row_datum(funcctx->tuple_desc, &row));
}
