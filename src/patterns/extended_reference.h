/*
 * extended_reference.h
 *		What the files of the extended reference pattern tell each other.
 *
 * extended_reference.c reads a definition, extended_reference_fields.c what a
 * user writes for fields, extended_reference_source.c reads source rows,
 * extended_reference_copy.c is the referring table's trigger,
 * extended_reference_follow.c the source's, extended_reference_ddl.c creates and
 * drops them, extended_reference_check.c compares and refreshes.
 */
#ifndef EXTENDED_REFERENCE_H
#define EXTENDED_REFERENCE_H

#include "pattern.h"

#include "nodes/pg_list.h"
#include "utils/array.h"

/* What becomes of a copy when its source is deleted. */
typedef enum OnDelete
{
	ON_DELETE_KEEP,
	ON_DELETE_REMOVE,
	ON_DELETE_RESTRICT
} OnDelete;

/* One field that is copied. */
typedef struct ReferenceField
{
	const char *name;			/* its key in the copy; not null-terminated */
	int			len;
	bool		live;
	AttrNumber	column;			/* of the source */
	DocPath    *path;			/* into that column; no steps: all of it */
	DocPath    *target;			/* where the copy is in the document */
} ReferenceField;

/* A definition, as its trigger on the referring table holds it. */
typedef struct Reference
{
	/* the referring side */
	Oid			relation;
	const char *trigger;		/* the trigger's name */
	AttrNumber	column;			/* of the document */
	const char *path_text;		/* array literals */
	const char *key_text;
	DocPath    *path;			/* of the object that holds the copy */
	DocPath    *key;			/* of the reference */

	/* the source */
	Oid			source;
	AttrNumber	source_key;
	OnDelete	on_delete;

	int			nfields;
	bool		has_live;
	ReferenceField *fields;
} Reference;

/* extended_reference.c: definitions */
extern const char *const on_delete_names[];
extern OnDelete on_delete_parse(const char *name);
extern DocPath *path_from_array(ArrayType *array);
extern char *path_to_literal(const DocPath *path);
extern DocPath *path_child(const DocPath *path, const char *name, int len);
extern bool paths_overlap(const DocPath *a, const DocPath *b);
extern bool paths_equal(const DocPath *a, const DocPath *b);
extern Reference *reference_read(const Trigger *trigger, Oid relid);
extern Oid	reference_function(const char *schema, const char *name);
extern List *references_of(Oid relid, const char *schema);
extern const Reference *reference_find(Oid relid, AttrNumber column, const DocPath *path,
									   const char *schema);
extern char *reference_describe(const Reference *reference);
extern void reference_missing(const Reference *reference, int level);

/* extended_reference_fields.c: fields as a user writes them */
extern void reference_parse_fields(Reference *reference, ArrayType *fields, const char *mode);
extern const ReferenceField *reference_cyclic_field(const Reference *reference, const char *schema);

/* extended_reference_ddl.c: what all table functions read */
extern void reference_arguments(FunctionCallInfo fcinfo, Reference *reference, LOCKMODE lockmode);

/* extended_reference_source.c: source rows */
typedef struct SourceReader SourceReader;

/* A source row as a statement sees it. */
typedef struct SourceRow
{
	NameEntry	key;			/* as text */
	bool		found;
	JsonbValue *values;			/* of the fields */
} SourceRow;

/* How the columns of a source become values. */
typedef struct SourceFields SourceFields;

extern SourceReader *source_open(const Reference *reference);
extern const SourceRow *source_look_up(SourceReader *reader, const char *key, int len);
extern Oid	source_unique_index(Relation relation, AttrNumber column);
extern SourceFields *source_fields(const Reference *reference, Oid leaf);
extern void source_field_value(SourceFields *fields, int i, HeapTuple tuple, TupleDesc desc,
							   JsonbValue *result);
extern char *source_key_text(SourceFields *fields, HeapTuple tuple, TupleDesc desc);

/* extended_reference_copy.c: the trigger on the referring table */

/* What the engine writes, so that the trigger lets it pass. */
typedef struct ReferenceRewrite
{
	const Reference *reference;
	int			depth;			/* of the triggers that are its own */
	bool		fill;			/* also snapshot fields that are missing */
	bool		all;			/* also snapshot fields that are there */
} ReferenceRewrite;

extern const ReferenceRewrite *reference_rewrite_enter(const ReferenceRewrite *rewrite);
extern void reference_rewrite_leave(const ReferenceRewrite *before);

/* extended_reference_follow.c: the triggers on the source */

extern char *reference_key_sql(const Reference *reference, const char *alias);
extern char *reference_relation_sql(const Reference *reference);
extern uint64 reference_rewrite(const ReferenceRewrite *now, const char *key, bool nested);

#endif							/* EXTENDED_REFERENCE_H */
