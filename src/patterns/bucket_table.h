/*
 * patterns/bucket_table.h
 *		Bucket pattern: what the files about bucket tables tell each other.
 *
 * A bucket table is two ordinary tables and two views.  New readings land in the
 * open table: one row each, or one row for several that a statement brings of one
 * series, a batch.  Sealing moves them into the sealed table, one row a bucket.
 * The view of readings has the triggers, whose arguments are the options; its
 * query names the tables.
 */
#ifndef BUCKET_TABLE_H
#define BUCKET_TABLE_H

#include "pattern.h"

#include "access/skey.h"
#include "datatype/timestamp.h"
#include "executor/spi.h"
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
	OPEN_START = 1, OPEN_AT, OPEN_META, OPEN_DOC, OPEN_NCOLUMNS = 4
};
enum
{
	SEALED_START = 1, SEALED_END, SEALED_FIRST, SEALED_LAST, SEALED_NO, SEALED_COUNT, SEALED_META,
	SEALED_SUMMARY, SEALED_READINGS, SEALED_NCOLUMNS = 9
};

/*
 * What stands for the time of a batch in the open table, whose document is an
 * array: so the index finds batches before all readings of their group.  No
 * reading is of this time.  Only where duplicates are kept.
 */
#define BATCH_AT DT_NOBEGIN

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
	Oid			open_index;		/* on (meta, bucket_start, at) */
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
extern void bucket_table_free_plans(BucketTable *table);

/*
 * bucket_table_readings.c: readings of one bucket
 */
extern uint64 group_hash(Oid table, Jsonb *meta, TimestampTz start);
extern void open_scan_keys(ScanKey keys, Jsonb *meta, TimestampTz start);
extern void readings_append(Readings *list, TimestampTz at, Jsonb *doc, ItemPointer tid);
extern void readings_sort(Readings *list);
extern int	jsonb_compare_bytes(const Jsonb *a, const Jsonb *b);
extern void readings_of_array(const Jsonb *array, const char *time_field, int time_len, pg_tz *zone,
							  Readings *result);
extern Jsonb *readings_array(const Readings *list, uint32 first, uint32 n);
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

/*
 * bucket_table_changes.c: what statements change in buckets
 */

/* What came of looking for a reading. */
typedef enum Found
{
	FOUND,
	FOUND_DONE,					/* this very statement has changed it already */
	FOUND_ELSEWHERE,			/* where it was somebody else has changed something */
	FOUND_NOT
} Found;

pg_noreturn extern void concurrent_update(void);
extern bool same_series(Jsonb *a, Jsonb *b);
extern Found edit_sealed(BucketTable *table, const BucketGroup *group, TimestampTz at, const Jsonb *doc,
						 const Jsonb *replacement);
extern Found edit_batches(BucketTable *table, const BucketGroup *group, TimestampTz at, const Jsonb *doc,
						  const Jsonb *replacement, bool reload);
extern void bucket_table_limit_edits(BucketTable *table);
extern void bucket_table_flush_edits(Oid view);
extern bool bucket_table_settle_edits(Oid view);
extern void bucket_table_drop_time(BucketTable *table, const BucketGroup *group, TimestampTz at, bool at_once);

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

extern void seal_one(BucketTable *table, BucketGroup *group, SealExtent extent, uint32 expected);

/*
 * bucket_table_autoseal.c: what statements seal
 */
extern void seal_given(BucketTable *table, BucketGroup *group);
extern void seal_count(BucketTable *table, Jsonb *meta, TimestampTz start, uint32 n);
extern void seal_discount(BucketTable *table, Jsonb *meta, TimestampTz start);

#endif							/* BUCKET_TABLE_H */
