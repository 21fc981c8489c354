/*
 * patterns/outlier.h
 *		What the files of the outlier pattern share.
 *
 *		outlier.c		the trigger that moves what is too much to the overflow table
 *		outlier_push.c	outlier_push, outlier_elements
 *		outlier_ddl.c	create_outlier, drop_outlier
 *		outlier_restore.c	the way back: what drop_outlier does to the documents
 *
 * The array at the path holds the first max_size elements, and the flag in the
 * document says that the rest are in the overflow table, by number.  A document
 * without the flag has none there: what may be left, of a write that no trigger
 * saw, does not count.
 */
#ifndef PATTERN_OUTLIER_H
#define PATTERN_OUTLIER_H

#include "pattern.h"

/* An outlier, as its trigger has it. */
typedef struct Outlier
{
	Oid			relid;			/* the table with the documents, or a partition of it */
	Oid			overflow;
	AttrNumber	column;			/* of the documents */
	AttrNumber	key;			/* the primary key */
	Oid			key_type;
	const char *equal;			/* its operator for equality, for SQL */
	ArrayType  *path_array;
	DocPath    *path;
	int32		max_size;
	const char *flag;
} Outlier;

/* outlier.c */
extern bool outlier_find(Relation relation, const Trigger *trigger, Outlier *result);
extern void outlier_key(Relation relation, Outlier *outlier);
extern DocPath *outlier_path(ArrayType *array);
extern bool outlier_flagged(const Outlier *outlier, const JsonbValue *doc);
extern uint64 outlier_run(const char *sql, const Outlier *outlier, Datum key, Oid type, Datum value,
						  bool read_only, int expected);
extern uint64 outlier_run_latest(const char *sql, int nargs, Oid *types, Datum *values, bool fire_triggers,
								 int expected);
extern void outlier_clear(const Outlier *outlier, Datum key);
extern JsonbSplice *outlier_append(const Outlier *outlier, const JsonbValue *root, const ValueList *elements);
extern void outlier_raise_not_updated(const Outlier *outlier, Datum key);
extern char *outlier_where(const Outlier *outlier);
extern void outlier_spill(const Outlier *outlier, Datum key, const ValueList *elements);

/* outlier_restore.c */
extern void outlier_restore(const Outlier *outlier);

#endif							/* PATTERN_OUTLIER_H */
