/*
 * patterns/bucket_table_autoseal.c
 *		Bucket pattern: what statements seal by themselves.
 *
 * A session counts what it writes to each group.  It tries to seal a group when
 * it has written a bucket's worth, and the window that a series leaves when it
 * goes on to the next.  The counts are hints: what is sealed is found out by
 * looking, and what no statement seals is left to seal_buckets.
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "bucket_table.h"

/* A window with fewer readings of a session is left to seal_buckets. */
#define WORTH_SEALING 16

/* How much a session has written to the latest window of a series, or to an earlier one. */
typedef struct GroupCount
{
	uint64		key;			/* must be first */
	uint32		n;				/* readings since sealing was last tried */
	TimestampTz start;			/* of the window; DT_NOBEGIN: nothing yet */
} GroupCount;

static HTAB *counts = NULL;

static uint64
hash_meta(const Jsonb *meta, Oid table)
{
	return hash_bytes_extended((const unsigned char *) VARDATA(meta), VARSIZE(meta) - VARHDRSZ, table);
}

/* Is it a table, and a transaction, in which statements seal? */
static bool
statements_seal(void)
{
	/* a plain INSERT must not fail with 40001 */
	return !IsolationUsesXactSnapshot();
}

/*
 * Make buckets of a statement's readings, if there are enough of them.  Those
 * that are left belong into the open table.
 */
void
seal_given(BucketTable *table, BucketGroup *group)
{
	uint32		n = group->readings.n;
	bool		over;

	if (n < Min(table->capacity, FEW_READINGS) || table->on_duplicate != DUPLICATE_KEEP || !statements_seal())
		return;
	over = group->end <= GetCurrentTimestamp();
	if (n >= table->capacity || over)
		seal_one(table, group, over ? SEAL_STATEMENT : SEAL_FULL);
}

static GroupCount *
get_count(uint64 key)
{
	const long	most = 50000;
	GroupCount *count;
	bool		found;

	if (counts != NULL && hash_get_num_entries(counts) > most)
	{
		hash_destroy(counts);
		counts = NULL;
	}
	if (counts == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(uint64), .entrysize = sizeof(GroupCount)};

		control.hcxt = TopMemoryContext;
		counts = hash_create("readings of groups", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	count = hash_search(counts, &key, HASH_ENTER, &found);
	if (!found)
	{
		count->n = 0;
		count->start = DT_NOBEGIN;
	}
	return count;
}

/* Seal a group that has readings in the open table only. */
static void
seal_stored(BucketTable *table, Jsonb *meta, TimestampTz start, SealExtent extent)
{
	BucketGroup group = {.meta = meta, .start = start};

	seal_one(table, &group, extent);
}

/*
 * A series goes on to its next window.  Seal the one before, if time has gone on,
 * too.
 */
static void
next_window(BucketTable *table, Jsonb *meta, GroupCount *series, TimestampTz start)
{
	GroupCount	before = *series;

	series->start = start;
	series->n = 0;
	if (before.start == DT_NOBEGIN)
		return;
	if (start > GetCurrentTimestamp())
		get_count(hash_combine64(before.key, (uint64) before.start))->n += before.n;
	else if (before.n >= WORTH_SEALING)
		seal_stored(table, meta, before.start, SEAL_ALL);
}

/*
 * n readings of a group were written to the open table.  Seal the group if this
 * session has written enough for a bucket; and the window before when a series
 * goes on to another.
 */
void
seal_count(BucketTable *table, Jsonb *meta, TimestampTz start, uint32 n)
{
	uint64		key = hash_meta(meta, table->open);
	GroupCount *count;

	if (!statements_seal())
		return;
	count = get_count(key);
	if (start > count->start)
	{
		next_window(table, meta, count, start);
		count = get_count(key);
	}
	else if (start < count->start)
		count = get_count(hash_combine64(key, (uint64) start));
	count->n += n;
	if (count->n >= table->capacity)
	{
		count->n %= table->capacity;
		seal_stored(table, meta, start, SEAL_FULL);
	}
}

/* A reading was taken back. */
void
seal_discount(BucketTable *table, Jsonb *meta, TimestampTz start)
{
	uint64		key = hash_meta(meta, table->open);
	GroupCount *count = get_count(key);

	if (start != count->start)
		count = get_count(hash_combine64(key, (uint64) start));
	if (count->n > 0)
		count->n--;
}
