/*
 * bson/bson.c
 *		The functions of BSON documents and ObjectIds, and libbson's memory.
 *
 * This floor alone includes libbson's header.  When libbson cannot get memory, or
 * does not like its input, it ends the process, and with it every session of the
 * server.  So its memory is PostgreSQL's, where the lack of it is an error as any
 * other, and nothing is given to it that has not been checked before.  The copy
 * of libbson that this concerns is our own: it is linked statically, and no other
 * library sees it.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "write.h"

#define OBJECTID_DIGITS 24

PG_FUNCTION_INFO_V1(pattern_bson_to_jsonb);
PG_FUNCTION_INFO_V1(pattern_jsonb_to_bson);
PG_FUNCTION_INFO_V1(pattern_bson_size);
PG_FUNCTION_INFO_V1(pattern_bson_objectid);
PG_FUNCTION_INFO_V1(pattern_bson_objectid_time);

/* 54000 if palloc would refuse as an internal error what libbson asks for. */
static void
check_allocation(size_t size)
{
	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("BSON document is too large"),
				 errdetail("It needs a buffer of %zu bytes.", size)));
}

static void *
bson_palloc(size_t size)
{
	check_allocation(size);
	return palloc(size);
}

static void *
bson_palloc0(size_t n, size_t size)
{
	if (size > 0 && n > MaxAllocSize / size)
		check_allocation(SIZE_MAX);
	return palloc0(n * size);
}

static void *
bson_repalloc(void *memory, size_t size)
{
	check_allocation(size);
	return memory == NULL ? palloc(size) : repalloc(memory, size);
}

static void
bson_pfree(void *memory)
{
	if (memory != NULL)
		pfree(memory);
}

/* Nothing that we call needs it; what palloc gives is aligned for every type. */
static void *
bson_palloc_aligned(size_t alignment, size_t size)
{
	return bson_palloc(size);
}

/* Give libbson PostgreSQL's memory; called once, when the library is loaded. */
void
bson_floor_init(void)
{
	const bson_mem_vtable_t vtable = {
		.malloc = bson_palloc,
		.calloc = bson_palloc0,
		.realloc = bson_repalloc,
		.free = bson_pfree,
		.aligned_alloc = bson_palloc_aligned
	};

	bson_mem_set_vtable(&vtable);
}

/*
 * Which of the choices, a list that ends with NULL, an argument is: the first if
 * it is SQL NULL, 22023 if none.
 */
int
option_argument(FunctionCallInfo fcinfo, int position, const char *name,
				const char *const *choices)
{
	StringInfoData list;
	JsonbValue	given;

	if (PG_ARGISNULL(position))
		return 0;
	value_from_cstring(text_to_cstring(PG_GETARG_TEXT_PP(position)), &given);
	initStringInfo(&list);
	for (int i = 0; choices[i] != NULL; i++)
	{
		if (value_is_string(&given, choices[i]))
			return i;
		appendStringInfo(&list, "%s\"%s\"", i == 0 ? "" : choices[i + 1] == NULL ? " or " : ", ",
						 choices[i]);
	}
	argument_mismatch(name, list.data, &given);
	return 0;					/* not reached */
}

/* The options for reading from the arguments at these positions. */
void
reading_options(FunctionCallInfo fcinfo, int mode, int on_duplicate, int on_nul,
				BsonOptions *options)
{
	static const char *const modes[] = {"relaxed", "canonical", "plain", NULL};
	static const char *const duplicates[] = {"error", "last", NULL};
	static const char *const nuls[] = {"error", "strip", "replace", NULL};

	options->mode = option_argument(fcinfo, mode, "mode", modes);
	options->last_wins = option_argument(fcinfo, on_duplicate, "on_duplicate", duplicates) == 1;
	options->on_nul = option_argument(fcinfo, on_nul, "on_nul", nuls);
}

/* A BSON document as jsonb; see document_from_bson for the errors. */
Datum
pattern_bson_to_jsonb(PG_FUNCTION_ARGS)
{
	const BsonOrigin origin = {0};
	BsonOptions options;
	bytea	   *document;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	reading_options(fcinfo, 1, 2, 3, &options);
	document = PG_GETARG_BYTEA_PP(0);
	PG_RETURN_JSONB_P(document_from_bson(VARDATA_ANY(document), VARSIZE_ANY_EXHDR(document),
										 &options, &origin, CurrentMemoryContext));
}

/* A document in Extended JSON as BSON; see document_to_bson for the errors. */
Datum
pattern_jsonb_to_bson(PG_FUNCTION_ARGS)
{
	bson_t		bson;
	bytea	   *result;

	document_to_bson(PG_GETARG_JSONB_P(0), &bson);
	result = (bytea *) bson_palloc(VARHDRSZ + (Size) bson.len);
	SET_VARSIZE(result, VARHDRSZ + bson.len);
	memcpy(VARDATA(result), bson_get_data(&bson), bson.len);
	bson_destroy(&bson);
	PG_RETURN_BYTEA_P(result);
}

/* How many bytes jsonb_to_bson makes of a document. */
Datum
pattern_bson_size(PG_FUNCTION_ARGS)
{
	bson_t		bson;
	uint32		size;

	document_to_bson(PG_GETARG_JSONB_P(0), &bson);
	size = bson.len;
	bson_destroy(&bson);
	PG_RETURN_INT32(size);
}

/*
 * A new ObjectId: the current second, five random bytes of the process, and a
 * counter that starts at a random place.  libbson's default context compares the
 * process's id at each call, so that a backend does not go on with what it
 * inherited from the postmaster, and parallel workers have bytes of their own.
 */
Datum
pattern_bson_objectid(PG_FUNCTION_ARGS)
{
	bson_oid_t	oid;
	char		digits[OBJECTID_DIGITS + 1];

	bson_oid_init(&oid, NULL);
	bson_oid_to_string(&oid, digits);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(digits, OBJECTID_DIGITS));
}

/* Reads an ObjectId's digits; 22P02 if they are none. */
static void
objectid_parse(const text *id, bson_oid_t *result)
{
	const char *digits = VARDATA_ANY(id);
	int			len = VARSIZE_ANY_EXHDR(id);

	if (len != OBJECTID_DIGITS || !bson_oid_is_valid(digits, len))
	{
		JsonbValue	value;

		value.type = jbvString;
		value.val.string.val = unconstify(char *, digits);
		value.val.string.len = len;
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid ObjectId: %s", value_to_cstring(&value)),
				 errdetail("An ObjectId has 24 hexadecimal digits.")));
	}
	/* reads that many digits, no terminator */
	bson_oid_init_from_string(result, digits);
}

/* The second in which an ObjectId was made; 22P02 if it is none. */
Datum
pattern_bson_objectid_time(PG_FUNCTION_ARGS)
{
	bson_oid_t	oid;

	objectid_parse(PG_GETARG_TEXT_PP(0), &oid);
	PG_RETURN_TIMESTAMPTZ(time_t_to_timestamptz((pg_time_t) bson_oid_get_time_t(&oid)));
}
