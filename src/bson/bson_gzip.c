/*
 * bson/bson_gzip.c
 *		Reads what gzip compressed.
 *
 * A file may have several members, one behind the other, as gzip, pigz and bgzip
 * write them and as cat puts them together; zeros may follow the last.  zlib's
 * memory is palloc'd, so that nothing is left of it after an error.
 */
#include "postgres.h"

#include <zlib.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "convert.h"

#define INPUT_SIZE (64 * 1024)

/* window bits: the largest window, and gzip's header instead of zlib's */
#define GZIP_WINDOW (MAX_WBITS + 16)

typedef struct GzipReader
{
	z_stream	zlib;
	bool		between;		/* is it before or behind a member? */
	bool		begun;			/* was there a member? */
	char		input[INPUT_SIZE];
} GzipReader;

static voidpf
gzip_palloc(voidpf context, uInt n, uInt size)
{
	return MemoryContextAlloc(context, (Size) n * size);
}

static void
gzip_pfree(voidpf context, voidpf memory)
{
	pfree(memory);
}

/* A reader at the start of a file, in the current memory context. */
GzipReader *
gzip_begin(void)
{
	GzipReader *gzip = palloc0(sizeof(GzipReader));

	gzip->between = true;
	gzip->zlib.zalloc = gzip_palloc;
	gzip->zlib.zfree = gzip_pfree;
	gzip->zlib.opaque = CurrentMemoryContext;
	if (inflateInit2(&gzip->zlib, GZIP_WINDOW) != Z_OK)
		elog(ERROR, "could not initialize zlib");
	return gzip;
}

pg_noreturn static void
gzip_invalid(const BsonStream *stream, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("invalid gzip data in file \"%s\" before byte %lld: %s", stream->filename,
					(long long) stream->file_read, what)));
}

/* Have input if there is any left. */
static bool
gzip_fill(GzipReader *gzip, BsonStream *stream)
{
	if (gzip->zlib.avail_in == 0)
	{
		gzip->zlib.next_in = (Bytef *) gzip->input;
		gzip->zlib.avail_in = stream_read_file(stream, gzip->input, INPUT_SIZE);
	}
	return gzip->zlib.avail_in > 0;
}

/* Go to the next member; false if there is none. */
static bool
gzip_next_member(GzipReader *gzip, BsonStream *stream)
{
	while (gzip_fill(gzip, stream))
	{
		if (!gzip->begun || *gzip->zlib.next_in != 0)
		{
			if (inflateReset2(&gzip->zlib, GZIP_WINDOW) != Z_OK)
				elog(ERROR, "could not reset zlib");
			gzip->between = false;
			gzip->begun = true;
			return true;
		}
		gzip->zlib.next_in++;
		gzip->zlib.avail_in--;
	}
	return false;
}

/*
 * Up to size bytes of what was compressed.  Returns how many; 0 only at the end.
 * 22P03 if the file is not gzip's, is damaged, or is cut off, but not before all
 * bytes were returned that come before the damage.
 */
Size
gzip_inflate(GzipReader *gzip, BsonStream *stream, char *to, Size size)
{
	gzip->zlib.next_out = (Bytef *) to;
	gzip->zlib.avail_out = size;
	while (gzip->zlib.avail_out == size)
	{
		int			result;

		CHECK_FOR_INTERRUPTS();
		if (gzip->between && !gzip_next_member(gzip, stream))
			break;
		if (!gzip_fill(gzip, stream))
			gzip_invalid(stream, "it is cut off");
		result = inflate(&gzip->zlib, Z_NO_FLUSH);
		if (result == Z_STREAM_END)
			gzip->between = true;
		else if (result != Z_OK && result != Z_BUF_ERROR && gzip->zlib.avail_out == size)
			gzip_invalid(stream, gzip->zlib.msg != NULL ? gzip->zlib.msg : "it is damaged");
	}
	return size - gzip->zlib.avail_out;
}
