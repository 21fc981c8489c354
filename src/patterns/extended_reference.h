/*
 * patterns/extended_reference.h
 *		What the files of the extended reference pattern tell each other.
 *
 *		extended_reference			a definition, read from its trigger
 *		extended_reference_fields	what a user writes for fields
 *		extended_reference_value	values of columns as they are copied
 *		extended_reference_source	source rows, read
 *		extended_reference_rows		source rows, kept for a statement
 *		extended_reference_copy		the trigger of the referring table
 *		extended_reference_move		what that needs to know where rows move between partitions
 *		extended_reference_follow	the triggers of the source
 *		extended_reference_ddl		create_ and drop_extended_reference
 *		extended_reference_check	verify_ and refresh_extended_reference
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

/* extended_reference_value.c: columns as values */

/* How the columns of a source become values. */
typedef struct SourceFields SourceFields;

extern int	source_settings_enter(void);
extern void source_settings_leave(int level);
extern bool source_type_is_settled(Oid type);
extern SourceFields *source_fields(const Reference *reference, Oid leaf);
extern AttrNumber source_fields_key(const SourceFields *fields);
extern void source_field_value(SourceFields *fields, int i, HeapTuple tuple, TupleDesc desc,
							   JsonbValue *result);
extern char *source_key_text(SourceFields *fields, HeapTuple tuple, TupleDesc desc);
extern bool source_key_is_plausible(Oid type, const char *text);

/* extended_reference_rows.c: source rows that were read */
typedef struct SourceRows SourceRows;

/*
 * A source row as a statement sees it.  What a look-up reads stands together: with
 * many source rows, it is memory that takes the time.
 */
typedef struct SourceRow
{
	const JsonbValue *values;	/* of the fields */
	bool		found;

	/* what the copy made of the container that it was first put into */
	bool		copy_is_known;
	uint32		before_len;		/* that container's bytes in data; 0: there was none */
	uint32		after_at;
	uint32		after_len;

	uint32		key_len;
	char		data[FLEXIBLE_ARRAY_MEMBER];	/* the key as text, null-terminated; containers */
} SourceRow;

extern SourceRows *source_rows_create(void);
extern void source_rows_forget(SourceRows *rows);
extern bool source_rows_have_room(const SourceRows *rows);
extern const SourceRow *source_rows_find(const SourceRows *rows, const char *key, int len);
extern const SourceRow *source_rows_add(SourceRows *rows, const char *key, int len,
										const JsonbValue *values, int nvalues);
extern bool source_known_copy(const SourceRow *row, const JsonbValue *before, JsonbValue *after);
extern void source_rows_remember_copy(SourceRows *rows, const SourceRow *row,
									  const JsonbValue *before, const JsonbValue *after);

/* extended_reference_source.c: reading them */
typedef struct SourceReader SourceReader;

extern SourceReader *source_open(const Reference *reference);
extern const SourceRow *source_look_up(SourceReader *reader, const char *key, int len);
extern void source_remember_copy(SourceReader *reader, const SourceRow *row,
								 const JsonbValue *before, const JsonbValue *after);
extern Oid	source_unique_index(Relation relation, AttrNumber column);

/* extended_reference_move.c: documents that move to another partition */
extern char *reference_key_text(const Reference *reference, const JsonbValue *doc);
extern bool reference_same_value(const DocPath *path, const JsonbValue *a, const JsonbValue *b);
extern void reference_remember_updated(FunctionCallInfo fcinfo, const TriggerData *data,
									   HeapTuple tuple, AttrNumber column);
extern bool reference_moved(FunctionCallInfo fcinfo, const TriggerData *data, const Reference *reference,
							const JsonbValue *doc, const char *key);

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
extern char *reference_source_sql(const Reference *reference);
extern uint64 reference_rewrite(const ReferenceRewrite *now, const char *key, bool nested);

#endif							/* EXTENDED_REFERENCE_H */
