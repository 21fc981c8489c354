/*
 * fuzz.c
 *		Runs the fuzzers, and says what failed.
 *
 * A fuzzer is a function (seed bigint, iterations integer) returning the number
 * of comparisons it made.  Iteration i uses seed + i and nothing else, so that a
 * failure is repeated by its own seed and one iteration.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "fuzz.h"

PG_MODULE_MAGIC;

extern void fuzz_read_once(Fuzz *fuzz);
extern void fuzz_write_once(Fuzz *fuzz);
extern void fuzz_tree_once(Fuzz *fuzz);
extern void fuzz_put_once(Fuzz *fuzz);
extern void fuzz_path_once(Fuzz *fuzz);
extern void fuzz_compare_once(Fuzz *fuzz);
extern void fuzz_sort_once(Fuzz *fuzz);
extern void fuzz_set_once(Fuzz *fuzz);
extern void fuzz_names_once(Fuzz *fuzz);
extern void fuzz_bson_once(Fuzz *fuzz);

/* The iteration, for whatever error is raised in it. */
static void
fuzz_context(void *arg)
{
	Fuzz	   *fuzz = arg;

	if (fuzz->document != NULL)
	{
		char	   *text = JsonbToCString(NULL, unconstify(JsonbContainer *, &fuzz->document->root),
										  VARSIZE(fuzz->document));

		errcontext("seed %lld\ndocument %s\nedits %s", (long long) fuzz->seed, text, fuzz->log.data);
	}
	else
		errcontext("seed %lld", (long long) fuzz->seed);
}

static Datum
fuzz_run(FunctionCallInfo fcinfo, void (*once) (Fuzz *))
{
	int64		seed = PG_GETARG_INT64(0);
	int32		iterations = PG_GETARG_INT32(1);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "fuzz",
												  0, 1024, 1024);
	MemoryContext old = MemoryContextSwitchTo(context);
	ErrorContextCallback callback;
	Fuzz		fuzz = {0};

	fuzz.unicode = GetDatabaseEncoding() == PG_UTF8;
	callback.callback = fuzz_context;
	callback.arg = &fuzz;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	for (int32 i = 0; i < iterations; i++)
	{
		CHECK_FOR_INTERRUPTS();
		fuzz.seed = seed + i;
		pg_prng_seed(&fuzz.prng, (uint64) fuzz.seed);
		fuzz.budget = one_in(&fuzz, 8) ? 1000 : 60;
		fuzz.document = NULL;
		initStringInfo(&fuzz.log);
		ereport(DEBUG1, (errmsg_internal("seed %lld", (long long) fuzz.seed)));
		once(&fuzz);
		MemoryContextReset(context);
	}
	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	PG_RETURN_INT64(fuzz.checks);
}

#define FUZZER(name) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return fuzz_run(fcinfo, name##_once); \
	} \
	extern Datum name(PG_FUNCTION_ARGS)

FUZZER(fuzz_read);
FUZZER(fuzz_write);
FUZZER(fuzz_tree);
FUZZER(fuzz_put);
FUZZER(fuzz_path);
FUZZER(fuzz_compare);
FUZZER(fuzz_sort);
FUZZER(fuzz_set);
FUZZER(fuzz_names);
FUZZER(fuzz_bson);

void
fuzz_check(Fuzz *fuzz, bool holds, const char *what)
{
	fuzz->checks++;
	if (!holds)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("%s", what)));
}

static char *
hex_dump(const char *data, Size len, Size from)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (Size i = from; i < Min(len, from + 24); i++)
		appendStringInfo(&buf, "%02x", (unsigned char) data[i]);
	return buf.data;
}

/* The two documents have the same bytes. */
void
fuzz_check_bytes(Fuzz *fuzz, const Jsonb *got, const Jsonb *expected, const char *what)
{
	const char *a = (const char *) got;
	const char *b = (const char *) expected;
	Size		alen = VARSIZE(got);
	Size		blen = VARSIZE(expected);
	Size		i = 0;

	fuzz->checks++;
	if (alen == blen && memcmp(a, b, alen) == 0)
		return;
	while (i < Min(alen, blen) && a[i] == b[i])
		i++;
	i -= i % 4;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("%s: not the bytes that core writes", what),
			 errdetail("%zu bytes, expected %zu; from byte %zu on they are %s, expected %s; the document should be %s",
					   alen, blen, i, hex_dump(a, alen, i), hex_dump(b, blen, i),
					   JsonbToCString(NULL, unconstify(JsonbContainer *, &expected->root), blen))));
}
