/*
 * libfuzzer.c
 *		libFuzzer inside the server, for BSON.
 *
 * What is fuzzed needs numeric, encodings and memory contexts, so that the fuzzer
 * comes to the server and not the other way round: fuzz_libfuzzer calls libFuzzer's
 * driver, which ends the process when it is done.  See the script libfuzzer.
 *
 * The first byte of an input says what the rest is: BSON, or the text of a document
 * that is to be written as BSON.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "fuzz_bson.h"

extern int	LLVMFuzzerRunDriver(int *argc, char ***argv,
								int (*callback) (const uint8 *data, size_t size));

PG_FUNCTION_INFO_V1(fuzz_libfuzzer);

/* The document that a text is; NULL if it is none. */
static Jsonb *
parse_document(const uint8 *data, size_t size)
{
	MemoryContext context = CurrentMemoryContext;
	Jsonb	   *volatile result = NULL;

	if (memchr(data, '\0', size) != NULL || !pg_verify_mbstr(PG_UTF8, (const char *) data, size, true))
		return NULL;
	PG_TRY();
	{
		result = DatumGetJsonbP(DirectFunctionCall1(jsonb_in,
													CStringGetDatum(pnstrdup((const char *) data, size))));
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		FlushErrorState();
	}
	PG_END_TRY();
	return result;
}

/* Memory of its own size: what lies behind it belongs to the sanitizer. */
static void
try_bytes(Fuzz *fuzz, const uint8 *data, size_t size)
{
	uint8	   *copy = malloc(Max(size, 1));

	memcpy(copy, data, size);
	fuzz_bson_bytes(fuzz, copy, size);
	free(copy);
}

static int
try_input(const uint8 *data, size_t size)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "input",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Fuzz		fuzz = {0};

	if (size > 0)
	{
		initStringInfo(&fuzz.log);
		PG_TRY();
		{
			if (data[0] % 4 != 0)
				try_bytes(&fuzz, data + 1, size - 1);
			else
			{
				Jsonb	   *document = parse_document(data + 1, size - 1);

				if (document != NULL)
					fuzz_bson_document(&fuzz, document);
			}
		}
		PG_CATCH();
		{
			/* a finding */
			EmitErrorReport();
			abort();
		}
		PG_END_TRY();
	}
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return 0;
}

/* Run libFuzzer with these arguments, and end the process. */
Datum
fuzz_libfuzzer(PG_FUNCTION_ARGS)
{
	Datum	   *texts;
	int			n;
	int			argc;
	char	  **argv;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &n);
	argv = palloc0((n + 2) * sizeof(char *));
	argv[0] = "libfuzzer";
	for (argc = 1; argc <= n; argc++)
		argv[argc] = TextDatumGetCString(texts[argc - 1]);
	exit(LLVMFuzzerRunDriver(&argc, &argv, try_input));
}
