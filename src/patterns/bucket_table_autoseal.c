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

/* What a session remembers of a group that it wrote to. */
typedef struct GroupCount
{
	uint64		key;			/* must be first */
	uint32		n;				/* readings since sealing was last tried */
	TimestampTz latest;			/* for a series: the start of its latest window */
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
	bool		over = group->end <= GetCurrentTimestamp();

	if (table->on_duplicate != DUPLICATE_KEEP || !statements_seal())
		return;
	if (group->readings.n >= table->capacity || (over && group->readings.n >= FEW_READINGS))
		seal_one(table, group, over ? SEAL_STATEMENT : SEAL_FULL, 0);
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
		count->latest = DT_NOBEGIN;
	}
	return count;
}

/* Seal a group that has readings in the open table only. */
static void
seal_stored(BucketTable *table, Jsonb *meta, TimestampTz start, SealExtent extent, uint32 expected)
{
	BucketGroup		group = {0};

	group.meta = meta;
	group.start = start;
	group.end = window_end(&table->rule, start);
	seal_one(table, &group, extent, expected);
}

/*
 * n readings of a group were written to the open table.  Seal the group if this
 * session has written enough for a bucket; and the window before when a series
 * goes on to another and time has done so, too.
 */
void
seal_count(BucketTable *table, Jsonb *meta, TimestampTz start, uint32 n)
{
	uint64		key = hash_meta(meta, table->open);
	GroupCount *series;
	GroupCount *count;
	TimestampTz before;
	uint32		left;

	if (!statements_seal())
		return;
	count = get_count(hash_combine64(key, (uint64) start));
	count->n += n;
	if (count->n >= table->capacity)
	{
		n = count->n;
		count->n %= table->capacity;
		seal_stored(table, meta, start, SEAL_FULL, n);
	}
	series = get_count(key);
	before = series->latest;
	if (start <= before)
		return;
	series->latest = start;
	if (before == DT_NOBEGIN || start > GetCurrentTimestamp())
		return;
	count = get_count(hash_combine64(key, (uint64) before));
	left = count->n;
	count->n = 0;
	if (left >= WORTH_SEALING)
		seal_stored(table, meta, before, SEAL_ALL, 0);
}
