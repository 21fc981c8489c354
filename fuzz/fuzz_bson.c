/*
 * fuzz_bson.c
 *		BSON against itself: what is read can be written and read again.
 *
 * Bytes that are no BSON must give an error of the documented classes, and
 * nothing else; bytes that are must give the same document after they have been
 * written and read again.  In canonical form nothing may change on the way.  The
 * bytes come from random documents, some of which are damaged, or from libFuzzer
 * (see libfuzzer.c).
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/memutils.h"

#include "../src/bson/write.h"
#include "fuzz_bson.h"

extern void _PG_init(void);
extern void fuzz_bson_once(Fuzz *fuzz);

void
_PG_init(void)
{
	bson_floor_init();
}

/* What an error may be: about the data, or that there is too much of it. */
static void
check_error(const ErrorData *error)
{
	int			class = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	if (class != ERRCODE_DATA_EXCEPTION && class != ERRCODE_PROGRAM_LIMIT_EXCEEDED)
		ReThrowError(unconstify(ErrorData *, error));
}

/* The document that bytes are; NULL if they are none. */
static Jsonb *
try_read(const void *bson, Size len, const BsonOptions *options)
{
	MemoryContext context = CurrentMemoryContext;
	const BsonOrigin origin = {0};
	Jsonb	   *volatile result = NULL;

	PG_TRY();
	{
		result = document_from_bson(bson, len, options, &origin, context);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		check_error(CopyErrorData());
		FlushErrorState();
	}
	PG_END_TRY();
	return result;
}

/* The bytes of a document; false if it cannot be written. */
static bool
try_write(const Jsonb *document, bson_t *bson)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool written = true;

	PG_TRY();
	{
		document_to_bson(document, bson);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		check_error(CopyErrorData());
		FlushErrorState();
		written = false;
	}
	PG_END_TRY();
	return written;
}

/* A document that was read, written and read again, is the same. */
static void
check_again(Fuzz *fuzz, const Jsonb *document, const BsonOptions *options)
{
	bson_t		bson;
	const uint8 *data;
	Jsonb	   *again;

	if (!try_write(document, &bson))
		return;
	data = bson_get_data(&bson);
	again = try_read(data, bson.len, options);
	fuzz_check(fuzz, again != NULL, "what was written cannot be read");
	fuzz_check_bytes(fuzz, again, document, "written and read again");
	bson_destroy(&bson);
}

/* Read bytes in every way. */
void
fuzz_bson_bytes(Fuzz *fuzz, const void *data, Size len)
{
	BsonOptions options;

	for (int mode = MODE_RELAXED; mode <= MODE_PLAIN; mode++)
	{
		for (int way = 0; way < 3; way++)
		{
			Jsonb	   *document;

			options.mode = mode;
			options.last_wins = way > 0;
			options.on_nul = (BsonNul) way;
			document = try_read(data, len, &options);
			fuzz->checks++;
			if (document != NULL && mode != MODE_PLAIN)
			{
				fuzz->document = document;
				check_again(fuzz, document, &options);
			}
		}
	}
}

/* Write a document of any kind, and what comes of it is read. */
void
fuzz_bson_document(Fuzz *fuzz, const Jsonb *document)
{
	bson_t		bson;

	fuzz->document = document;
	fuzz->checks++;
	if (try_write(document, &bson))
	{
		fuzz_bson_bytes(fuzz, bson_get_data(&bson), bson.len);
		bson_destroy(&bson);
	}
}

/* Values of Extended JSON, right ones and wrong ones. */
static const char *const wrappers[] = {
	"{\"$oid\": \"507f1f77bcf86cd799439011\"}", "{\"$oid\": 1}", "{\"$date\": \"2026-09-02T10:00:01.5Z\"}",
	"{\"$date\": {\"$numberLong\": \"-62135596800001\"}}", "{\"$date\": \"soon\"}",
	"{\"$numberInt\": \"-5\"}", "{\"$numberLong\": \"9223372036854775807\"}", "{\"$numberDouble\": \"-0.0\"}",
	"{\"$numberDouble\": \"NaN\"}", "{\"$numberDecimal\": \"1E-6176\"}", "{\"$numberDecimal\": \"1e9999\"}",
	"{\"$binary\": {\"base64\": \"AQI=\", \"subType\": \"02\"}}", "{\"$uuid\": \"00010203-0405-0607-0809-0a0b0c0d0e0f\"}",
	"{\"$regularExpression\": {\"pattern\": \"^a\", \"options\": \"im\"}}", "{\"$regex\": \"a\", \"$options\": \"\"}",
	"{\"$timestamp\": {\"t\": 4294967295, \"i\": 1}}", "{\"$code\": \"x\", \"$scope\": {\"a\": {\"$numberInt\": \"1\"}}}",
	"{\"$code\": \"x\"}", "{\"$symbol\": \"x\"}", "{\"$minKey\": 1}", "{\"$maxKey\": 1}", "{\"$undefined\": true}",
	"{\"$dbPointer\": {\"$ref\": \"b\", \"$id\": {\"$oid\": \"507f1f77bcf86cd799439011\"}}}",
	"{\"$ref\": \"c\", \"$id\": 1, \"$db\": \"d\", \"a\": 1}", "1.0", "0.1", "12345678901234567890123456789012345", "-2147483649",
};

/* Some of the values are wrappers. */
static void
put_wrappers(Fuzz *fuzz, Tree *tree)
{
	for (int i = 0; i < tree->n; i++)
	{
		if (one_in(fuzz, 6))
			tree->children[i] = tree_from_jsonb(DatumGetJsonbP(DirectFunctionCall1(jsonb_in,
																				   CStringGetDatum(wrappers[below(fuzz, lengthof(wrappers))]))));
		else
			put_wrappers(fuzz, tree->children[i]);
	}
}

void
fuzz_bson_once(Fuzz *fuzz)
{
	Tree	   *tree = tree_random_container(fuzz);
	Jsonb	   *document;
	bson_t		bson;
	char	   *bytes;
	Size		len;

	put_wrappers(fuzz, tree);
	document = tree_to_jsonb(tree);
	fuzz_bson_document(fuzz, document);
	if (!try_write(document, &bson))
		return;

	/* the same damaged */
	len = bson.len;
	bytes = palloc(len);
	memcpy(bytes, bson_get_data(&bson), len);
	bson_destroy(&bson);
	for (int damages = 1 + below(fuzz, 4); damages > 0; damages--)
		bytes[below(fuzz, len)] += one_in(fuzz, 2) ? 1 + below(fuzz, 255) : one_in(fuzz, 2) ? 1 : -1;
	fuzz->document = NULL;
	fuzz_bson_bytes(fuzz, bytes, one_in(fuzz, 4) ? below(fuzz, len) : len);
}
