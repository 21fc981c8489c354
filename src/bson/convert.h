/*
 * convert.h
 *		What the files of this floor tell each other.
 *
 * A BSON document is a piece of memory.  libbson's types stay inside the files
 * that use them, so that this header does not need its headers.
 */
#ifndef PATTERN_CONVERT_H
#define PATTERN_CONVERT_H

#include <math.h>

#include "pattern.h"
#include "storage/fd.h"

/* The least that a document takes: its length and the zero at its end. */
#define BSON_LEAST 5

typedef enum BsonMode
{
	MODE_RELAXED,				/* Extended JSON v2, numbers and dates readable */
	MODE_CANONICAL,				/* Extended JSON v2, every type kept */
	MODE_PLAIN					/* plain values for what has an obvious one */
} BsonMode;

typedef enum BsonNul
{
	NUL_ERROR,
	NUL_STRIP,
	NUL_REPLACE					/* by U+FFFD */
} BsonNul;

/* How BSON is read. */
typedef struct BsonOptions
{
	BsonMode	mode;
	bool		last_wins;		/* of equal keys; else they are an error */
	BsonNul		on_nul;
} BsonOptions;

/* Where a document stands in a stream. */
typedef struct BsonOrigin
{
	int64		number;			/* 1 is the first document; 0: it is no stream */
	int64		offset;			/* its first byte */
} BsonOrigin;

/*
 * bson.c: arguments
 */
extern int	option_argument(FunctionCallInfo fcinfo, int position, const char *name,
							const char *const *choices);
extern void reading_options(FunctionCallInfo fcinfo, int mode, int on_duplicate, int on_nul,
							BsonOptions *options);

/*
 * bson_read.c: BSON to jsonb
 */
extern Jsonb *document_from_bson(const void *bson, Size len, const BsonOptions *options,
								 const BsonOrigin *origin, MemoryContext work);

/*
 * bson_stream.c: documents one behind the other, in a file or in memory
 */
struct GzipReader;

typedef struct BsonStream
{
	/* window: the bytes from start to end of the buffer are to be looked at */
	char	   *buffer;
	Size		size;
	Size		start;
	Size		end;
	BsonOrigin	next;			/* the document at start */
	bool		ended;			/* nothing comes any more */
	int64		excluded;		/* documents that had errors */

	/* file: none if filename is NULL */
	char	   *filename;
	File		file;
	off_t		file_read;		/* bytes that were read from it */
	off_t		file_size;
	struct GzipReader *gzip;	/* NULL: it is not compressed */
	bool		reporting;		/* is the progress reported? */
	MemoryContextCallback cleanup;
} BsonStream;

extern BsonStream *stream_of_bytes(bytea *bytes);
extern BsonStream *stream_of_file(const text *filename, Oid relid);
extern bool stream_next(BsonStream *stream, const char **document, Size *len, BsonOrigin *origin);
extern void stream_close(BsonStream *stream);

/*
 * bson_gzip.c: compressed files
 */
extern struct GzipReader *gzip_begin(void);
extern Size gzip_inflate(struct GzipReader *gzip, BsonStream *stream, char *to, Size size);
extern Size stream_read_file(BsonStream *stream, char *to, Size size);

/*
 * bson_documents.c: the documents of a stream as jsonb
 */
typedef struct BsonDocuments
{
	BsonStream *stream;
	BsonOptions options;
	bool		report;			/* errors of documents are returned */
	MemoryContext context;		/* holds all of this */
	MemoryContext work;			/* for one document */
} BsonDocuments;

/* A document, or what is wrong with it. */
typedef struct BsonRow
{
	int64		offset;
	Jsonb	   *document;		/* NULL: there is an error */
	char	   *error;
} BsonRow;

extern void documents_begin(BsonDocuments *documents, FunctionCallInfo fcinfo, int mode,
							int on_error, int on_duplicate, int on_nul);
extern bool documents_next(BsonDocuments *documents, BsonRow *row);

/*
 * bson_scalar.c: the scalars of Extended JSON as text
 */
extern void date_format(int64 milliseconds, bool always_fraction, JsonbValue *result);
extern bool date_has_year(int64 milliseconds, int first_year, int last_year);
extern bool date_parse(const char *s, int len, int64 *milliseconds);
extern void double_format(double d, JsonbValue *result);
extern int	decimal_digits(const char *s);
extern char *regex_options(const char *options);
extern void base64_format(const void *data, uint32 len, JsonbValue *result);
extern char *base64_parse(const JsonbValue *text, int *len);
extern void uuid_format(const unsigned char *bytes, JsonbValue *result);
extern bool uuid_parse(const JsonbValue *text, unsigned char *bytes);

#endif							/* PATTERN_CONVERT_H */
