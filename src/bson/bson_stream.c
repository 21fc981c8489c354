/*
 * bson/bson_stream.c
 *		BSON documents one behind the other, as mongodump writes them.
 *
 * A stream has a window on its bytes.  The window of a file moves on with the
 * documents and grows only with bytes that are there, so that memory is what the
 * largest document needs, whatever a wrong length says.  The window of bytes in
 * memory is all of them.
 *
 * A file is held open by PostgreSQL's virtual descriptors, not by those of the
 * transaction: a cursor may have been opened in a subtransaction that is gone.
 * The end of the memory context closes it.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "catalog/pg_authid.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "storage/fd.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "convert.h"

#define READ_SIZE (256 * 1024)

/* No larger document could become jsonb. */
#define BSON_MOST JENTRY_OFFLENMASK

/* Documents in memory, which must stay there. */
BsonStream *
stream_of_bytes(bytea *bytes)
{
	BsonStream *stream = palloc0(sizeof(BsonStream));

	stream->buffer = VARDATA_ANY(bytes);
	stream->end = VARSIZE_ANY_EXHDR(bytes);
	stream->file = -1;
	stream->next.number = 1;
	return stream;
}

/* 42501 unless the user may read files of the server, as for COPY. */
static void
check_may_read_files(void)
{
	if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_SERVER_FILES))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to read a file of the server"),
				 errdetail("Only roles with privileges of the \"%s\" role may do so.",
						   "pg_read_server_files"),
				 errhint("bson_documents reads what a client sends.")));
}

/* Only what can be read without waiting for somebody who writes it. */
static void
check_regular_file(const char *filename)
{
	const char *shown = text_for_message(filename, strlen(filename));
	struct stat st;

	if (strlen(filename) >= MAXPGPATH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the file name is too long: \"%s\"", shown)));
	if (stat(filename, &st) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", shown)));
	if (!S_ISREG(st.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", shown)));
}

static bool
ends_with(const char *s, const char *end)
{
	Size		len = strlen(s);

	return len >= strlen(end) && strcmp(s + len - strlen(end), end) == 0;
}

/* Show the progress as COPY does, unless another command shows its own. */
static void
progress_begin(BsonStream *stream, Oid relid)
{
	const int	params[] = {PROGRESS_COPY_COMMAND, PROGRESS_COPY_TYPE, PROGRESS_COPY_BYTES_TOTAL};
	const int64 values[] = {PROGRESS_COPY_COMMAND_FROM, PROGRESS_COPY_TYPE_FILE, stream->file_size};

	stream->reporting = MyBEEntry != NULL &&
		MyBEEntry->st_progress_command == PROGRESS_COMMAND_INVALID;
	if (!stream->reporting)
		return;
	pgstat_progress_start_command(PROGRESS_COMMAND_COPY, relid);
	pgstat_progress_update_multi_param(lengthof(params), params, values);
}

static void
progress_update(const BsonStream *stream)
{
	const int	params[] = {PROGRESS_COPY_BYTES_PROCESSED, PROGRESS_COPY_TUPLES_PROCESSED, PROGRESS_COPY_TUPLES_EXCLUDED};
	const int64 values[] = {stream->file_read, stream->next.number - 1 - stream->excluded, stream->excluded};

	if (stream->reporting)
		pgstat_progress_update_multi_param(lengthof(params), params, values);
}

/* Close the file; the memory goes with its context. */
static void
stream_cleanup(void *arg)
{
	stream_close(arg);
}

/* Close the stream's file, if it is open. */
void
stream_close(BsonStream *stream)
{
	if (stream->file < 0)
		return;
	if (stream->reporting)
		pgstat_progress_end_command();
	FileClose(stream->file);
	stream->file = -1;
	stream->ended = true;
}

/*
 * The documents of a file, which is compressed if its name ends with .gz.  It is
 * closed with the current memory context, at the latest.  The progress of a load
 * is that of the table relid.  42501 if the user may not read files, 42809 if it
 * is no regular file, and what opening it gives.
 */
BsonStream *
stream_of_file(const text *filename, Oid relid)
{
	BsonStream *stream = palloc0(sizeof(BsonStream));

	check_may_read_files();
	stream->filename = text_to_cstring(filename);
	canonicalize_path(stream->filename);
	check_regular_file(stream->filename);
	stream->size = READ_SIZE;
	stream->buffer = palloc(stream->size);
	stream->next.number = 1;
	if (ends_with(stream->filename, ".gz"))
		stream->gzip = gzip_begin();

	stream->file = PathNameOpenFile(stream->filename, O_RDONLY | PG_BINARY);
	if (stream->file < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\" for reading: %m", stream->filename)));
	stream->cleanup.func = stream_cleanup;
	stream->cleanup.arg = stream;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &stream->cleanup);
	stream->file_size = FileSize(stream->file);
	progress_begin(stream, relid);
	return stream;
}

/* Read on in the file.  Returns how many bytes came; 0 at its end. */
Size
stream_read_file(BsonStream *stream, char *to, Size size)
{
	int			n;

	CHECK_FOR_INTERRUPTS();
	n = FileRead(stream->file, to, size, stream->file_read, WAIT_EVENT_COPY_FILE_READ);
	if (n < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read file \"%s\": %m", stream->filename)));
	stream->file_read += n;
	progress_update(stream);
	return n;
}

/* Have room for more bytes in the window of a file. */
static void
make_room(BsonStream *stream)
{
	if (stream->start > 0)
	{
		memmove(stream->buffer, stream->buffer + stream->start, stream->end - stream->start);
		stream->end -= stream->start;
		stream->start = 0;
	}
	if (stream->end == stream->size)
	{
		stream->size *= 2;
		stream->buffer = repalloc(stream->buffer, stream->size);
	}
}

/* Have so many bytes in the window.  Returns false if there are fewer. */
static bool
fill(BsonStream *stream, Size need)
{
	while (stream->end - stream->start < need)
	{
		Size		n;

		if (stream->filename == NULL)
			return false;
		make_room(stream);
		if (stream->gzip != NULL)
			n = gzip_inflate(stream->gzip, stream, stream->buffer + stream->end,
							 stream->size - stream->end);
		else
			n = stream_read_file(stream, stream->buffer + stream->end, stream->size - stream->end);
		if (n == 0)
			return false;
		stream->end += n;
	}
	return true;
}

/* 22P03: the document at start does not end within the stream. */
pg_noreturn static void
incomplete(const BsonStream *stream, Size need)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("document %lld is incomplete, byte %lld", (long long) stream->next.number,
					(long long) stream->next.offset),
			 errdetail("It needs %zu bytes, and %zu are left.", need, stream->end - stream->start)));
}

/* 22P03: the first bytes are no length that a document could have. */
pg_noreturn static void
wrong_length(const BsonStream *stream, uint32 len)
{
	const unsigned char *first = (const unsigned char *) stream->buffer + stream->start;
	bool		is_gzip = stream->gzip == NULL && stream->next.number == 1 &&
		first[0] == 0x1f && first[1] == 0x8b;

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("document %lld has a wrong length, byte %lld", (long long) stream->next.number,
					(long long) stream->next.offset),
			 errdetail("A document has from %d to %d bytes, not %u.", BSON_LEAST, BSON_MOST, len),
			 is_gzip ? errhint("It looks like a file that gzip compressed; the name of such a file must end with \".gz\".") : 0));
}

/*
 * The next document; false at the end.  It stays where it is until the next call.
 * 22P03 for a wrong length or a document that is cut off, after which there is
 * nothing more; so it is after an error of reading.
 */
bool
stream_next(BsonStream *stream, const char **document, Size *len, BsonOrigin *origin)
{
	uint32		length;

	*origin = stream->next;
	if (stream->ended)
	{
		stream_close(stream);
		return false;
	}
	/* unless it ends well */
	stream->ended = true;
	if (!fill(stream, sizeof(length)))
	{
		if (stream->end > stream->start)
			incomplete(stream, sizeof(length));
		stream_close(stream);
		return false;
	}
	memcpy(&length, stream->buffer + stream->start, sizeof(length));
	length = pg_bswap32(pg_ntoh32(length));
	if (length < BSON_LEAST || length > BSON_MOST)
		wrong_length(stream, length);
	if (!fill(stream, length))
		incomplete(stream, length);

	*document = stream->buffer + stream->start;
	*len = length;
	stream->start += length;
	stream->next.offset += length;
	stream->next.number++;
	stream->ended = false;
	return true;
}
