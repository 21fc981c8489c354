/*
 * pattern.h
 *		What the files of this extension tell each other.
 *
 * Five floors, each of which may use those below it: patterns, document, bson,
 * server, jsonb.  The sections below stand in the order from the ground up.
 *
 * A value is a JsonbValue throughout.  A value that was *read* is null, a
 * string, a number, a boolean, or jbvBinary for an array or an object, and
 * points into the document that it came from.  A value that is to be *written*
 * may also be a tree of jbvArray and jbvObject; value_pack turns such a tree
 * into one that can be read.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include "compat.h"

#include "access/attnum.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "pgtime.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/hsearch.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

/*
 * jsonb/read.c: values out of the binary format
 */

/* Sequential reading of a container; see walk_begin. */
typedef struct JsonbWalk
{
	const JsonbContainer *container;
	uint32		count;			/* elements, or pairs */
	uint32		next;			/* the child that walk_next returns next */
	uint32		key_offset;		/* where its key starts, in an object */
	uint32		value_offset;	/* where its value starts */
} JsonbWalk;

static inline bool
value_is_array(const JsonbValue *v)
{
	return v->type == jbvBinary && JsonContainerIsArray(v->val.binary.data);
}

static inline bool
value_is_object(const JsonbValue *v)
{
	return v->type == jbvBinary && JsonContainerIsObject(v->val.binary.data);
}

/* The number of elements of an array, of pairs of an object. */
static inline uint32
value_count(const JsonbValue *v)
{
	return JsonContainerSize(v->val.binary.data);
}

extern void value_from_jsonb(const Jsonb *jb, JsonbValue *result);
extern void value_from_cstring(const char *s, JsonbValue *result);
extern void value_from_int64(int64 i, JsonbValue *result);
extern void value_from_bool(bool b, JsonbValue *result);
extern void value_from_container(const JsonbContainer *container, uint32 len,
								 JsonbValue *result);
extern const char *value_type_name(const JsonbValue *v);
extern char *text_for_message(const char *text, int len);
extern char *value_to_cstring(const JsonbValue *v);
extern bool value_is_string(const JsonbValue *v, const char *s);
extern bool value_is_true(const JsonbValue *v);

extern int	key_compare(const char *a, int alen, const char *b, int blen);
extern void container_key(const JsonbContainer *container, uint32 i, JsonbValue *result);
extern void container_value(const JsonbContainer *container, uint32 i, JsonbValue *result);
extern bool container_find(const JsonbContainer *container, const char *key, int len,
						   uint32 *position);
extern bool value_get(const JsonbValue *object, const char *key, int len, JsonbValue *result);
extern bool value_get_cstring(const JsonbValue *object, const char *key, JsonbValue *result);
extern void walk_begin(JsonbWalk *walk, const JsonbContainer *container);
extern bool walk_next(JsonbWalk *walk, JsonbValue *key, JsonbValue *value);

/*
 * jsonb/number.c: arithmetic on jsonb's numbers
 */

/* A number as numeric stores it. */
typedef struct NumberDigits
{
	bool		negative;
	int			weight;			/* of the first digit, as a power of 10,000 */
	int			ndigits;		/* 0: the number is zero */
	const char *digits;			/* int16 each, not aligned */
} NumberDigits;

static inline int
number_digit(const NumberDigits *number, int i)
{
	int16		digit;

	memcpy(&digit, number->digits + i * sizeof(int16), sizeof(int16));
	return digit;
}

extern void number_read(Numeric number, NumberDigits *result);
extern int	number_compare(Numeric a, Numeric b);
extern Numeric number_add(Numeric a, Numeric b);
extern Numeric number_subtract(Numeric a, Numeric b);
extern Numeric number_multiply(Numeric a, Numeric b);
extern Numeric number_divide(Numeric a, Numeric b);
extern bool number_is_zero(Numeric n);
extern bool number_is_multiple(Numeric a, Numeric b);
extern Numeric number_truncate(Numeric n);
extern bool number_to_int64(Numeric n, int64 *result);
extern Numeric number_trim(Numeric n);
extern Numeric number_from_int64(int64 i);
extern Numeric number_from_double(double d, int least_scale);
extern Numeric number_from_cstring(const char *text);
extern char *number_to_cstring(Numeric n);

/*
 * jsonb/number_math.c: rounding, powers, and what no decimal holds
 */
extern Numeric number_abs(Numeric n);
extern Numeric number_floor(Numeric n);
extern Numeric number_ceil(Numeric n);
extern Numeric number_truncate_to(Numeric n, int places);
extern Numeric number_round_to(Numeric n, int places);
extern Numeric number_remainder(Numeric a, Numeric b);
extern Numeric number_power(Numeric a, Numeric b);
extern double number_to_double(Numeric n);

/*
 * jsonb/names.c: a hash table whose entries are found by a name
 */

/* What an entry begins with. */
typedef struct NameEntry
{
	const char *name;			/* not null-terminated */
	int			len;
} NameEntry;

extern HTAB *names_create(Size entrysize);
extern void *names_enter(HTAB *names, const char *name, int len, bool *found);

/*
 * jsonb/order.c: MongoDB's order, equality, and a stable sort
 */
typedef struct DocPath DocPath;

/* One key of an order. */
typedef struct SortKey
{
	DocPath    *path;			/* into the element; NULL: the element itself */
	bool		descending;
} SortKey;

typedef struct SortOrder
{
	int			nkeys;
	SortKey    *keys;			/* most significant first */
} SortOrder;

extern int	value_rank(const JsonbValue *v);
extern int	value_compare(const JsonbValue *a, const JsonbValue *b);
extern bool value_equal(const JsonbValue *a, const JsonbValue *b);
extern SortOrder *sort_order_parse(const char *order_by);
extern void sort_order_keys(const SortOrder *order, const JsonbValue *element, JsonbValue *keys);
extern int	sort_order_compare_keys(const SortOrder *order, const JsonbValue *a, const JsonbValue *b);
extern uint32 values_make_set(JsonbValue *values, uint32 n);
extern bool values_set_find(const JsonbValue *set, uint32 n, const JsonbValue *value, uint32 *place);
extern void values_sort(JsonbValue *values, uint32 n, const SortOrder *order);

/*
 * jsonb/path.c: where in a document
 */
typedef struct PathStep
{
	const char *name;			/* as written; not null-terminated */
	int			len;
	int32		index;			/* all digits: the number, else -1 */
} PathStep;

struct DocPath
{
	int			nsteps;
	PathStep	steps[FLEXIBLE_ARRAY_MEMBER];
};

extern int32 path_step_index(const char *name, int len);
extern DocPath *path_parse(const char *path, int len, bool quoted);
extern DocPath *path_from_texts(const Datum *texts, const bool *nulls, int n);
extern char *path_to_cstring(const DocPath *path, int nsteps);
extern bool path_get(const DocPath *path, const JsonbValue *root, JsonbValue *result);

/*
 * jsonb/splice.c: what is to be edited in a container
 */

/* What happens at one place of a container; made by the splice_* functions. */
typedef struct JsonbEdit
{
	uint32		at;				/* first child of the old container concerned */
	uint32		nremoved;		/* old children that go */
	uint32		ninserted;		/* new children in their place */
	JsonbValue	key;			/* of the new child, in an object */
	JsonbValue *values;			/* the new children; NULL: the one below */
	JsonbValue	value;
	struct JsonbSplice *within; /* instead: child `at` stays and is edited itself */
} JsonbEdit;

/* A container and the edits to be made to it. */
typedef struct JsonbSplice
{
	const JsonbContainer *container;
	uint32		container_len;	/* its bytes */
	uint32		nedits;
	uint32		maxedits;
	JsonbEdit  *edits;
	bool		in_order;		/* they stand in the order of their places */
} JsonbSplice;

extern JsonbSplice *splice_begin(const JsonbValue *container);
extern void splice_put(JsonbSplice *splice, const char *key, int len, const JsonbValue *value);
extern void splice_drop(JsonbSplice *splice, const char *key, int len);
extern void splice_replace(JsonbSplice *splice, uint32 at, const JsonbValue *value);
extern void splice_remove(JsonbSplice *splice, uint32 at, uint32 n);
extern void splice_insert(JsonbSplice *splice, uint32 at, JsonbValue *values, uint32 n);
extern void splice_nest(JsonbSplice *splice, uint32 at, JsonbSplice *inner);
extern JsonbSplice *splice_within(JsonbSplice *splice, uint32 at);
extern void splice_sort(JsonbSplice *splice);
extern void splice_check_padding(uint32 count, int32 index, const char *path);
extern void path_put(JsonbSplice *root, const DocPath *path, const JsonbValue *value);
extern JsonbSplice *path_within(JsonbSplice *root, const DocPath *path);

/*
 * jsonb/build.c: new arrays and objects
 */

/* Growable list of values, for building arrays. */
typedef struct ValueList
{
	uint32		n;
	uint32		max;
	JsonbValue *values;
} ValueList;

/* Growable list of pairs, for building objects. */
typedef struct PairList
{
	uint32		n;
	uint32		max;
	JsonbPair  *pairs;
} PairList;

extern void *array_reserve(void *array, uint32 n, uint32 *max, Size size);
extern void jsonb_check_count(uint64 count, bool is_object);
extern void values_append(ValueList *list, const JsonbValue *value);
extern void values_from_array(ValueList *list, const JsonbValue *array);
extern void values_finish(const ValueList *list, JsonbValue *result);
extern void pairs_append(PairList *list, const char *key, int len, const JsonbValue *value);
extern void pairs_finish(PairList *list, JsonbValue *result);

/*
 * jsonb/write.c: the writer
 */
extern Jsonb *splice_apply(JsonbSplice *splice);
extern Jsonb *value_to_jsonb(const JsonbValue *value);
extern void value_pack(JsonbValue *value);

/*
 * server/operand.c: operands parsed once a statement
 */
typedef void *(*OperandCompile) (Jsonb **operands);

extern void *operand_compiled(FunctionCallInfo fcinfo, const int *args, int nargs,
							  OperandCompile compile);

/*
 * server/argument.c: what is wrong with an argument
 */
extern void argument_check_given(FunctionCallInfo fcinfo, int position, const char *name);
extern void argument_check_least(const char *name, int32 value, int32 least);
extern char *argument_name(FunctionCallInfo fcinfo, int position, const char *name);
extern char *argument_text(FunctionCallInfo fcinfo, int position, const char *name);
extern bool argument_flag(FunctionCallInfo fcinfo, int position);
extern void argument_mismatch(const char *name, const char *expected, const JsonbValue *found);
extern void field_mismatch(const char *path, const char *expected, const JsonbValue *found);

/*
 * server/relation.c: relations that users name
 */
pg_noreturn extern void relation_missing(Oid relid);
extern Oid	relation_owner(Oid relid);
extern void relation_lock_owned(Oid relid, LOCKMODE lockmode, const char *relkinds);
extern AttrNumber relation_column(Oid relid, const char *name, Oid type);
extern char *relation_quoted_name(Oid relid);
extern List *relation_views(Oid relid);
extern char *operator_quoted_name(Oid operator);
extern bool function_is(Oid function, const char *symbol);
extern char *extension_schema(FunctionCallInfo fcinfo);
extern char *extension_own_schema(void);

/*
 * server/datum_value.c
 */

/* The settings that make values look different, as they were. */
typedef struct Environment
{
	pg_tz	   *time_zone;
	int			date_style;
	int			date_order;
	int			interval_style;
	int			float_digits;
	int			bytea_form;
} Environment;

extern void environment_enter(Environment *before);
extern void environment_leave(const Environment *before);

/* What to_jsonb makes of a value in UTC and otherwise by PostgreSQL's defaults. */
extern void value_from_datum(Oid type, Datum value, bool isnull, JsonbValue *result);

/*
 * server/spi.c: SQL
 */
extern void spi_run(const char *sql);
extern List *spi_texts(const char *sql);
extern struct _SPI_plan *spi_saved_plan(const char *sql, int nargs, Oid *types);

/*
 * server/trigger.c: what the triggers of all patterns have in common
 */

/* Who was the user before owner_enter. */
typedef struct OwnerSwitch
{
	Oid			userid;
	int			context;
} OwnerSwitch;

extern TriggerData *trigger_data(FunctionCallInfo fcinfo);
extern List *trigger_targets(const Trigger *trigger, int ntargets);
extern char *trigger_target_call(const char *schema, const List *targets);
extern char *trigger_choose_name(Oid relid, const char *first, const char *second, const char *label);
extern void relation_check_trusted(Oid relid, Oid target);
extern void owner_enter(Oid owner, OwnerSwitch *before);
extern void owner_leave(const OwnerSwitch *before);

/*
 * server/aggregate.c: what the states of aggregates have in common
 */

/* The order of an aggregate's values, the same for all rows of a group. */
typedef struct GroupOrder
{
	text	   *order_by;		/* as given; NULL: not given */
	SortOrder  *order;			/* what it says; of no keys if not given */
} GroupOrder;

extern MemoryContext aggregate_context(FunctionCallInfo fcinfo);
extern void aggregate_option_changed(const char *name);
extern void aggregate_bytes(bytea *bytes, StringInfo buf);
extern void group_order_init(GroupOrder *order, const text *order_by);
extern void group_order_check(const GroupOrder *order, const text *order_by);
extern void group_order_send(const GroupOrder *order, StringInfo buf);
extern void group_order_receive(GroupOrder *order, StringInfo buf);

/*
 * bson/bson.c
 */
extern void bson_floor_init(void);

/*
 * document/regex.c: MongoDB's regular expressions
 */
typedef struct Regex Regex;

extern Regex *regex_compile(const JsonbValue *pattern, const JsonbValue *options);
extern bool regex_match(const Regex *regex, const char *s, int len);
extern bool regex_prefix(const Regex *regex, const char **prefix, int *len);

/*
 * document/validate.c: schemas
 */
typedef struct Schema Schema;

/* What is wrong with a document. */
typedef struct Violation
{
	char	   *path;			/* dotted; empty: the document itself */
	const char *keyword;		/* of the schema */
	char	   *message;		/* what follows the name of the field: "must be ..." */
} Violation;

extern Schema *schema_compile(const JsonbValue *source);
extern void schema_allow_field(Schema *schema, const char *name, int len);
extern bool schema_valid(const Schema *schema, const JsonbValue *value);
extern List *schema_violations(const Schema *schema, const JsonbValue *value);
extern char *violations_to_cstring(const List *violations);

/*
 * document/sort.c: MongoDB's $sort
 */
extern SortOrder *sort_compile(const JsonbValue *sort, const char **hint);

/*
 * document/match.c: MongoDB's query language
 */
typedef struct MatchQuery MatchQuery;

typedef enum MatchKind
{
	MATCH_ANY,					/* fields, or operators on the value itself */
	MATCH_DOCUMENT,				/* fields only */
	MATCH_VALUE					/* operators only */
} MatchKind;

extern MatchQuery *match_compile(const JsonbValue *query, MatchKind kind);
extern MatchQuery *match_compile_filter(const JsonbValue *filter, char **identifier);
extern bool match_value(const MatchQuery *query, const JsonbValue *value);

/*
 * document/expression.c: MongoDB's expression language
 */
typedef struct Expression Expression;

extern Expression *expression_compile(const JsonbValue *source, bool immutable);
extern void expression_clock(JsonbValue *result);
extern bool expression_evaluate(const Expression *expression, const JsonbValue *root,
								JsonbValue *result);

/*
 * document/update.c: MongoDB's update language
 */
typedef struct DocUpdate DocUpdate;

extern DocUpdate *update_compile(const JsonbValue *changes, const JsonbValue *array_filters);
extern Jsonb *update_document(const DocUpdate *update, Jsonb *doc);

/*
 * patterns/attribute.c: {k, v, u} objects
 */
extern bool attribute_read(const JsonbValue *element, JsonbValue *name, JsonbValue *value);

/*
 * patterns/bucket.c: documents of many readings
 */
extern void bucket_reading(const Jsonb *reading, JsonbValue *result);
extern Jsonb *bucket_build(const ValueList *readings);

/*
 * patterns/computed.c: fields that are kept equal to a view
 */
extern bool computed_create(Oid relation, const char *column, Oid source, const char *key,
							ArrayType *path, const char *parent_key, const char *mode,
							bool populate);

/*
 * patterns/computed_top.c: the first rows of a group by an index
 */
extern bool computed_sorts_alike(Oid type);
extern bool computed_is_c_collation(Oid collation);
extern bool computed_order_index(Oid relid, AttrNumber key, AttrNumber column, Oid *collation);

#endif							/* PATTERN_H */
