/*
 * patterns/bucket_table.h
 *		Bucket pattern: what the files about bucket tables tell each other.
 *
 * A bucket table is two ordinary tables and two views.  New readings land in the
 * open table: one row each, or where duplicates are kept, one row for several that
 * a statement brings of one series, a batch.  Its document is an array then, and
 * `last` says the last of their times, which is null for others.  Sealing moves
 * them into the sealed table, one row a bucket.  The view of readings has the
 * triggers, whose arguments are the options; its query names the tables.
 */
#ifndef BUCKET_TABLE_H
#define BUCKET_TABLE_H

#include "pattern.h"

#include "access/skey.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "lib/ilist.h"
#include "pgtime.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* Columns of the view of readings, of the open table, and of the sealed table, by their numbers. */
enum
{
	VIEW_DOC = 1, VIEW_META, VIEW_AT, VIEW_START, VIEW_NCOLUMNS = 4
};
enum
{
	OPEN_START = 1, OPEN_AT, OPEN_LAST, OPEN_META, OPEN_DOC, OPEN_NCOLUMNS = 5
};
enum
{
	SEALED_START = 1, SEALED_END, SEALED_FIRST, SEALED_LAST, SEALED_NO, SEALED_COUNT, SEALED_META,
	SEALED_SUMMARY, SEALED_READINGS, SEALED_NCOLUMNS = 9
};

/* How windows are laid out: months or microseconds, the other is zero. */
typedef struct WindowRule
{
	int32		months;
	int64		time;
	pg_tz	   *zone;
} WindowRule;

typedef enum OnDuplicate
{
	DUPLICATE_KEEP,
	DUPLICATE_REPLACE,
	DUPLICATE_IGNORE,
	DUPLICATE_ERROR
} OnDuplicate;

/* A statement on one of the tables, prepared when it is first needed. */
typedef enum BucketStatement
{
	BUCKET_LAST,				/* the last bucket of a window */
	BUCKET_LOCK_LAST,			/* its readings, if nobody has it locked */
	BUCKET_INSERT,
	BUCKET_UPDATE,
	BUCKET_DELETE,
	BUCKET_OF_TIME,				/* buckets that may hold a reading */
	BUCKET_LOCK,				/* one of them, waiting for whoever has it */
	OPEN_INSERT,				/* unless its time is taken */
	OPEN_DELETE,				/* what has this time */
	OPEN_REPLACE,				/* even if its time is taken */
	NUM_BUCKET_STATEMENTS
} BucketStatement;

/* What is known of a bucket table; see bucket_table_get. */
typedef struct BucketTable
{
	Oid			view;
	Oid			open;
	Oid			sealed;
	Oid			owner;
	Oid			open_index;		/* on (meta, bucket_start, last), or unique on (meta, bucket_start, at) */
	/* options */
	char	   *meta_field;
	char	   *time_field;
	int			meta_len;
	int			time_len;
	WindowRule	rule;
	int32		capacity;
	OnDuplicate on_duplicate;
	/* the window that was asked for last */
	TimestampTz start;
	TimestampTz end;
	/* triggers and statements */
	Trigger    *flush;			/* the view's statement trigger */
	SPIPlanPtr	plans[NUM_BUCKET_STATEMENTS];
} BucketTable;

struct OpenBatch;

/* A reading that is on its way. */
typedef struct Reading
{
	TimestampTz at;
	Jsonb	   *doc;
	struct OpenBatch *batch;	/* in the open table that it is a part of, while it is sealed */
	ItemPointerData tid;		/* in the open table, if it is a row of it */
} Reading;

/* Growable list of readings. */
typedef struct Readings
{
	uint32		n;
	uint32		max;
	Reading    *items;
	bool		in_order;		/* of their times */
} Readings;

/* The readings of one series in one window. */
typedef struct BucketGroup
{
	Jsonb	   *meta;
	TimestampTz start;
	TimestampTz end;
	Readings	readings;
} BucketGroup;

/*
 * bucket.c
 */
extern Jsonb *bucket_summary(const ValueList *readings);

/*
 * bucket_start.c
 */
extern void window_rule(const Interval *width, const char *time_zone, WindowRule *rule);
extern TimestampTz window_start(const WindowRule *rule, TimestampTz at);
extern TimestampTz window_end(const WindowRule *rule, TimestampTz at);
extern TimestampTz window_instant(Timestamp local, pg_tz *zone);

/*
 * bucket_table_time.c: what time a reading is of
 */
extern TimestampTz reading_time(const JsonbValue *reading, const char *field, int len, pg_tz *zone);

/*
 * bucket_table.c: a bucket table as a whole
 */
extern BucketTable *bucket_table_get(Oid view);
extern BucketTable *bucket_table_of_trigger(TriggerData *trigger);
extern BucketTable *bucket_table_argument(FunctionCallInfo fcinfo, int position, bool owned);
extern void bucket_table_window(BucketTable *table, TimestampTz at, TimestampTz *start, TimestampTz *end);
extern void reading_read(BucketTable *table, const Jsonb *doc, Jsonb **meta, TimestampTz *at);

/*
 * bucket_table_sql.c: the statements
 */
extern uint64 bucket_table_run(BucketTable *table, BucketStatement statement, Datum *values,
							   Snapshot snapshot);
extern void bucket_table_write(BucketTable *table, BucketStatement statement, Datum *values);
extern void bucket_table_put(BucketTable *table, BucketStatement statement, Jsonb *meta, TimestampTz start,
							 int32 bucket_no, Readings *list);
extern void bucket_table_free_plans(BucketTable *table);

/*
 * bucket_table_readings.c: readings of one bucket
 */
extern Jsonb *series_document(JsonbValue *value);
extern bool same_series(Jsonb *a, Jsonb *b);
extern uint64 group_hash(Oid table, Jsonb *meta, TimestampTz start);
extern void open_scan_keys(ScanKey keys, Jsonb *meta, TimestampTz start);
extern void readings_append(Readings *list, TimestampTz at, Jsonb *doc, ItemPointer tid);
extern void readings_sort(Readings *list);
extern uint32 readings_find(const Readings *list, TimestampTz at, const Jsonb *doc);
extern int	jsonb_compare_bytes(const Jsonb *a, const Jsonb *b);
extern void readings_of_array(const Jsonb *array, const char *time_field, int time_len, pg_tz *zone,
							  Readings *result);
extern void readings_finish(const Readings *list, uint32 first, uint32 n, Jsonb **array, Jsonb **summary);

/*
 * bucket_table_open.c: writes to the open table
 */
extern Relation open_index_open(const BucketTable *table);
extern void open_insert_one(BucketTable *table, const BucketGroup *group, const Reading *reading,
							ItemPointer tid);
extern void open_insert_many(BucketTable *table, List *groups);
extern bool open_insert_unique(BucketTable *table, const BucketGroup *group, const Reading *reading,
							   OnDuplicate on_duplicate, bool moved);
extern void open_insert_moved(BucketTable *table, const BucketGroup *group, const Reading *reading);
extern bool time_is_sealed(BucketTable *table, const BucketGroup *group, TimestampTz at);
extern bool open_take_back(BucketTable *table, Reading *reading);
pg_noreturn extern void open_changed_within(BucketTable *table);
extern void open_delete_locked(BucketTable *table, ItemPointer tid);

/*
 * bucket_table_insert.c: how readings get in
 */
extern void bucket_table_read_row(TriggerData *trigger, HeapTuple row, BucketGroup *group, Reading *reading,
								  bool *given);
extern void bucket_table_changed_row(TriggerData *trigger, BucketTable *table, BucketGroup *group,
									 Reading *reading);
extern Datum bucket_table_result_row(TriggerData *trigger, const BucketGroup *group, const Reading *reading);
extern Datum bucket_table_insert(FunctionCallInfo fcinfo, TriggerData *trigger);
extern void bucket_table_flush_inserts(Oid view);

/*
 * bucket_table_edit.c: UPDATE and DELETE
 */
extern Datum bucket_table_update(FunctionCallInfo fcinfo, TriggerData *trigger);
extern Datum bucket_table_delete(FunctionCallInfo fcinfo, TriggerData *trigger);
extern void bucket_table_occupied(BucketTable *table, const BucketGroup *group, const Reading *reading);

/*
 * bucket_table_changes.c: what statements change in buckets
 */

#define NO_BUCKET (-1)

/* What becomes of a reading. */
typedef struct Edit
{
	bool		done;
	Jsonb	   *replacement;	/* NULL: it goes */
} Edit;

/* A bucket that is being changed, or a batch in the open table that may be. */
typedef struct EditedBucket
{
	Jsonb	   *meta;
	TimestampTz start;
	int32		bucket_no;		/* NO_BUCKET: a batch */
	ItemPointerData tid;		/* of a batch */
	bool		locked;			/* a batch, when it is first changed */
	Readings	readings;
	Edit	   *edits;			/* as many */
	bool		changed;
} EditedBucket;

/* What a series and a window have in the open table, where duplicates are kept. */
typedef struct EditedOpen
{
	Jsonb	   *meta;
	TimestampTz start;
	Readings	rows;			/* in the order of their times */
	bool	   *done;			/* as many: deleted */
	List	   *batches;		/* of EditedBucket */
} EditedOpen;

/* The buckets of a series and a window that are being changed. */
typedef struct EditedGroup
{
	uint64		hash;			/* must be first */
	/* those of another group with this hash, too */
	List	   *buckets;		/* of EditedBucket */
	List	   *open;			/* of EditedOpen */
} EditedGroup;

/* A time whose readings in buckets go, since a reading in the open table replaces them. */
typedef struct Replaced
{
	uint64		hash;			/* of the group */
	Jsonb	   *meta;
	TimestampTz start;
	TimestampTz at;
} Replaced;

/* What a subtransaction changes in the buckets of one table, until the statement's end. */
typedef struct Edits
{
	dlist_node	node;
	Oid			view;
	SubTransactionId subid;
	MemoryContext context;		/* holds this, too */
	/* buckets that are loaded */
	MemoryContext loaded;		/* holds them */
	Size		largest;		/* what the largest bucket, or open group, took */
	HTAB	   *groups;			/* of EditedGroup; NULL: none */
	/* what is to be looked for in buckets at the end */
	Replaced   *replaced;
	uint32		nreplaced;
	uint32		max_replaced;
} Edits;

/* What came of looking for a reading; the less, the better. */
typedef enum Found
{
	FOUND,
	FOUND_DONE,					/* this very statement has changed it already */
	FOUND_ELSEWHERE,			/* where it was somebody else has changed something */
	FOUND_NOT
} Found;

pg_noreturn extern void concurrent_update(void);
extern Edits *edits_get(Oid view, bool create);
extern void edits_loaded(Edits *edits, Size before);
extern EditedGroup *edits_group(Edits *edits, uint64 hash, bool create);
extern EditedBucket *edited_bucket(BucketTable *table, const BucketGroup *group, int32 bucket_no, Datum array);
extern Found edit_bucket(BucketTable *table, Edits *edits, EditedBucket *bucket, TimestampTz at,
						 const Jsonb *doc, const Jsonb *replacement);
extern Found edit_sealed(BucketTable *table, const BucketGroup *group, TimestampTz at, const Jsonb *doc,
						 const Jsonb *replacement);
extern void bucket_table_limit_edits(BucketTable *table);
extern void bucket_table_flush_edits(Oid view);
extern bool bucket_table_settle_edits(Oid view);
extern void bucket_table_drop_time(BucketTable *table, const BucketGroup *group, TimestampTz at, bool at_once);

/*
 * bucket_table_edit_open.c: what statements change in the open table
 */
extern bool edited_batch_lock(BucketTable *table, EditedBucket *batch);
extern Found edit_open(BucketTable *table, CommandId cid, const BucketGroup *group, const Reading *old,
					   const Jsonb *replacement, bool again, bool *is_row);

/*
 * bucket_table_seal.c: from the open table into buckets
 */

/* A statement hands over readings of a window that is over from so many on. */
#define FEW_READINGS 64

/* How far a group is sealed. */
typedef enum SealExtent
{
	SEAL_FULL,					/* only buckets that are full */
	SEAL_STATEMENT,				/* what pays at the end of a statement */
	SEAL_ALL
} SealExtent;

extern void seal_one(BucketTable *table, BucketGroup *group, SealExtent extent);

/*
 * bucket_table_autoseal.c: what statements seal
 */
extern void seal_given(BucketTable *table, BucketGroup *group);
extern void seal_count(BucketTable *table, Jsonb *meta, TimestampTz start, uint32 n);
extern void seal_discount(BucketTable *table, Jsonb *meta, TimestampTz start);

#endif							/* BUCKET_TABLE_H */
