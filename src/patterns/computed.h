/*
 * patterns/computed.h
 *		What the files of the computed engine tell each other.
 *
 * A definition is a view, a parent table and what stands in the triggers that
 * tie them together.  A row that is written adds to a delta of its key; a flush
 * applies the deltas of a query, or of a transaction, to the parents:
 *
 *		computed_definition	the view and the triggers, read into a Definition
 *		computed_view		what a view says
 *		computed_digest		what it says, in 16 digits
 *		computed_query		the SQL that computes groups anew
 *		computed_top		the same, for the first rows of a group by an index
 *		computed_state		what is kept of a group, and how a row changes it
 *		computed_store		a group's fields in its document
 *		computed_collect	rows → deltas
 *		computed_pending	the deltas, by subtransaction
 *		computed_flush		deltas → parents
 *		computed_writer		one parent's row: found, locked, written
 *		computed_parent		the trigger of the parent
 *		computed_queue		deltas → the queue → parents
 *		computed_batch		some parents at a time, and what their rows make
 *		computed_refresh	refresh_computed and verify_computed
 *		computed_ddl		create_computed
 *		computed_drop		drop_computed
 */
#ifndef PATTERN_COMPUTED_H
#define PATTERN_COMPUTED_H

#include "pattern.h"

#include "access/genam.h"
#include "access/skey.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "lib/ilist.h"
#include "nodes/parsenodes.h"
#include "utils/snapshot.h"
#include "utils/typcache.h"

/* Beside the fields: what cannot be seen from them. */
#define COMPUTED_HIDDEN "_computed"

typedef enum ComputedMode
{
	COMPUTED_IMMEDIATE,
	COMPUTED_DEFERRED,
	COMPUTED_QUEUED
} ComputedMode;

typedef enum StateKind
{
	STATE_COUNT,				/* rows, or rows with an argument */
	STATE_SUM,					/* of integers: rows, sum */
	STATE_SUM_NUMERIC,			/* of numerics: rows, sum */
	STATE_SUM_SCALED,			/* and greatest scale, at least so many rows of that scale */
	STATE_BOOL,					/* rows that are true, rows that are false */
	STATE_MIN,
	STATE_MAX,
	STATE_SUBSET				/* the first rows of an order */
} StateKind;

/* What is kept of one argument; several aggregates may share it. */
typedef struct StateSpec
{
	StateKind	kind;
	Expr	   *argument;		/* NULL: count(*) */
	Expr	   *filter;			/* NULL: none */
	ExprState  *argument_state;
	ExprState  *filter_state;
	Oid			type;			/* the argument's */
	Oid			collation;
	int16		typlen;
	bool		typbyval;
	FmgrInfo	compare;		/* STATE_MIN, STATE_MAX */
	FmgrInfo	input;			/* the same: reads a value back */
	Oid			input_param;
	int32		typmod;
	int			field;			/* STATE_MIN, STATE_MAX, STATE_SUBSET: where it is seen */
	int			slot;			/* the others: its first number in the hidden field */
	uint32		max_size;		/* STATE_SUBSET */
	SortOrder  *order;
} StateSpec;

typedef enum ResultKind
{
	RESULT_COUNT,
	RESULT_SUM,
	RESULT_AVG,
	RESULT_BOOL_AND,
	RESULT_BOOL_OR,
	RESULT_VALUE				/* the state's value itself */
} ResultKind;

/* An aggregate of the view. */
typedef struct AggregateSpec
{
	ResultKind	kind;
	int			state;
	Oid			type;			/* of the result */
} AggregateSpec;

/* A column of the view that becomes a field. */
typedef struct FieldSpec
{
	const char *name;
	int			len;
	Oid			type;
	int			aggregate;		/* it is just this aggregate; -1: see expression */
	ExprState  *expression;		/* over the aggregates' results */
	int			subset;			/* its STATE_SUBSET state, else -1 */
} FieldSpec;

/* A view and a parent: what a definition is found by. */
typedef struct DefinitionKey
{
	Oid			view;
	Oid			parent;
} DefinitionKey;

/* What a view says, and nothing else. */
typedef struct ViewDefinition
{
	Query	   *query;			/* a copy of the view's */
	int			rtindex;		/* of the base table in it */
	Oid			base;
	Expr	   *key;			/* over the base table's columns; as all below */
	Oid			key_eq;			/* the operator that groups by it */
	AttrNumber	key_column;		/* of the view */
	Expr	   *where;			/* NULL: none */
	Oid			key_type;
	Oid			key_collation;
	List	   *aggregates;		/* Aggrefs, each once */
	List	   *expressions;	/* of the fields, in which Vars are aggregates */
	List	   *columns;		/* the base table's that are used, as a list of int */
	bool		incremental;
	bool		environment;	/* depends on settings; see environment_enter */
	bool		functions;		/* rows are put through functions of the user's */
	int			nstates;
	StateSpec  *states;
	int			nnumbers;		/* in the hidden field */
	int			naggregates;
	AggregateSpec *specs;
	int			nfields;
	FieldSpec  *fields;
	char	   *digest;
} ViewDefinition;

typedef struct Definition
{
	DefinitionKey key;
	MemoryContext context;
	bool		valid;			/* nothing that it was made from has changed */
	bool		stale;			/* the view is another than it was made for */
	ViewDefinition view;
	ComputedMode mode;
	DocPath    *path;
	AttrNumber	doc_column;		/* of the parent */
	AttrNumber	key_column;
	Oid			index;			/* unique, on the parent's key */
	Oid			base_owner;
	Oid			parent_owner;
	bool		direct;			/* the parent may be written without the executor */
	TriggerDesc *parent_triggers;	/* those that a direct write fires */
	TriggerDesc *flush;			/* the event that fires a flush */
	Trigger    *flush_trigger;	/* our trigger on the base table, unchanged */
	Oid			queue;			/* the queue table, if any */
	/* the key */
	int16		key_len;
	bool		key_byval;
	Oid			index_collation;
	FmgrInfo	key_hash;
	FmgrInfo	key_equal;
	FmgrInfo	key_compare;
	Oid			key_operator;	/* that two keys are equal by */
	FmgrInfo	index_equal;	/* the index's column and a key */
	Oid			key_subtype;
	/* to evaluate the expressions on a row */
	int			ncolumns;
	ExprContext *econtext;
	TupleTableSlot *row;
	ExprState  *key_state;
	ExprState  *where_state;
	TupleTableSlot *results;	/* the aggregates' */
	/* plans; made when first needed */
	SPIPlanPtr	one_plan;
	SPIPlanPtr	many_plan;
	SPIPlanPtr	lock_plan;
	SPIPlanPtr	update_plan;
	SPIPlanPtr	queue_plan;
	slist_node	retired;
} Definition;

/*
 * computed_definition.c
 */
extern int	state_width(StateKind kind);
extern char *view_digest(const ViewDefinition *view, List *columns);
extern void view_read(Oid view, const char *key, ViewDefinition *result);
extern Definition *definition_get(Oid view, Oid parent);
extern Oid	definition_key_type(Oid key, Oid column);
extern Datum definition_key(const Definition *definition, Oid type, Datum value);
extern bool definition_covers(const Definition *definition, Oid relid);
extern Oid	parent_key_index(Relation parent, AttrNumber key_column);
extern Trigger *parent_trigger(Relation parent, Oid view);
extern Trigger *definition_trigger(Relation base, Oid view, Oid parent);
extern int	flush_targets(const Trigger *trigger);
extern bool is_our_trigger(const Trigger *trigger, const char *symbol);
extern void definition_check(const Definition *definition);

/*
 * computed_query.c
 */
extern int	safe_path_enter(void);
extern void safe_path_leave(int level);
extern char *computed_sql(const ViewDefinition *view, bool many);

/*
 * computed_state.c
 */

/* How rows changed one state. */
typedef struct StateDelta
{
	int64		count;			/* rows; or rows that are true */
	int64		other;			/* rows that are false */
	int64		sum;			/* of integers, while it fits */
	Numeric		big;			/* what does not fit, and sums of numerics; NULL: 0 */
	int32		scale;			/* the greatest scale of a number */
	int64		scale_rows;		/* rows of that scale */
	bool		has_added;
	bool		has_removed;
	Datum		added;			/* the extreme of the values added */
	Datum		removed;		/* and of those removed */
	uint32		nelements;		/* STATE_SUBSET: the first that were added, in order */
	Jsonb	  **elements;
	Jsonb	   *first_removed;	/* the first of those removed */
} StateDelta;

/* What has become of a group. */
typedef struct GroupResult
{
	JsonbValue *fields;
	JsonbValue	hidden;			/* the numbers, an array */
} GroupResult;

extern bool state_add(const StateSpec *spec, StateDelta *delta, Datum value, bool isnull, int sign);
extern void states_merge(const ViewDefinition *view, StateDelta *into, const StateDelta *from);
extern bool delta_is_nothing(const ViewDefinition *view, const StateDelta *delta);
extern bool group_apply(const Definition *definition, const JsonbValue *doc,
						const StateDelta *delta, GroupResult *stored, GroupResult *result);

/*
 * computed_store.c
 */
extern void hidden_finish(const ViewDefinition *view, JsonbValue *numbers, JsonbValue *hidden);
extern void group_from_row(const ViewDefinition *view, const Datum *values, const bool *nulls,
						   const Oid *types, GroupResult *result);
extern bool group_read(const Definition *definition, const JsonbValue *doc, GroupResult *result);
extern bool field_agrees(const FieldSpec *field, const JsonbValue *a, const JsonbValue *b);
extern bool hidden_agrees(const ViewDefinition *view, const JsonbValue *a, const JsonbValue *b);
extern bool group_agrees(const Definition *definition, const JsonbValue *doc, const GroupResult *result);
extern bool group_patch(const ViewDefinition *view, const GroupResult *stored, const GroupResult *result,
						bool *changed);
extern Jsonb *group_store(const Definition *definition, Jsonb *doc, const GroupResult *result);

/*
 * computed_pending.c
 */

/* What a key is found by. */
typedef struct PendingLookup
{
	DefinitionKey key;
	uint32		hash;
	bool		all;			/* not a key, but all of the definition */
	Datum		value;
	Definition *definition;		/* to compare keys with */
} PendingLookup;

typedef struct PendingKey
{
	PendingLookup lookup;		/* must be first */
	dlist_node	of_all;
	dlist_head	deltas;
	Definition *current;		/* good for one flush */
} PendingKey;

/* The changes of a key by one level of subtransactions. */
typedef struct Delta
{
	PendingKey *key;
	dlist_node	of_key;
	dlist_node	of_level;		/* the deltas of its level */
	dlist_node	of_consumed;	/* those consumed at a level */
	int			level;
	int			consumed;		/* at this level; 0: it still waits */
	bool		recompute;		/* the states do not say it all */
	const char *layout;			/* digest of the view that the states are of */
	int			nstates;
	StateDelta	states[FLEXIBLE_ARRAY_MEMBER];
} Delta;

extern uint64 pending_generation(void);
extern MemoryContext pending_context(void);
extern Delta *pending_delta(Definition *definition, Datum key, bool all);
extern bool pending_find(Definition *definition, Datum key);
extern Delta *pending_consume(Definition *definition, PendingKey *key);
extern PendingKey **pending_due(bool immediate, int *n);
extern void pending_release(PendingKey **keys, int n);
extern void pending_arm(Definition *definition, MemoryContext query, const TriggerData *truncate);
extern bool pending_is_armed(const Definition *definition, MemoryContext query);
extern void pending_fired(bool immediate);

/*
 * computed_flush.c
 */
extern void computed_flush_due(bool immediate);
extern void group_recompute(Definition *definition, Datum key, bool isnull, GroupResult *result);
extern void definition_lock_missing(Definition *definition, Datum key, bool is_parent);
extern void definition_query(Definition *definition, bool many, Datum argument, bool isnull,
							 Snapshot snapshot);
extern void definition_row(const ViewDefinition *view, HeapTuple tuple, TupleDesc desc, Datum *key,
						   GroupResult *result);

/*
 * computed_writer.c
 */

/* The parents of one table while they are written. */
typedef struct Writer
{
	Definition *definition;
	MemoryContext context;		/* where it was opened: of all here but doc */
	Relation	parent;
	Relation	index;
	IndexScanDesc scan;
	Snapshot	snapshot;
	EState	   *estate;
	ResultRelInfo *relinfo;
	TupleTableSlot *slot;		/* the row as found */
	TupleTableSlot *changed;
	OwnerSwitch owner;
	Jsonb	   *doc;			/* of the row found; never NULL */
	bool		locked;
} Writer;

extern void writer_open(Writer *writer, Definition *definition);
extern bool writer_find(Writer *writer, Datum key);
extern bool writer_lock(Writer *writer);
extern void writer_renew(Writer *writer, Snapshot snapshot);
extern bool writer_update(Writer *writer, Datum key, Jsonb *doc);
extern void writer_close(Writer *writer);
extern bool writer_is_at_work(void);

/*
 * computed_queue.c
 */

/* Keys that wait in a queue. */
typedef struct QueuedKeys QueuedKeys;

extern void queue_append(Definition *definition, Datum key, bool all);
extern int64 queue_refresh(Definition *definition);
extern void queue_clear(Definition *definition);
extern QueuedKeys *queue_keys(Definition *definition, Snapshot snapshot);
extern bool queue_has(const QueuedKeys *keys, Definition *definition, Datum key);

/*
 * computed_batch.c
 */
#define COMPUTED_BATCH 10000

/* A group of a batch. */
typedef struct BatchRow
{
	Datum		key;
	GroupResult group;
} BatchRow;

/* Some parents, of a definition. */
typedef struct Batch
{
	Definition *definition;
	MemoryContext context;		/* of all below; reset for each batch */
	int			nkeys;
	Datum	   *keys;			/* in order */
	int			nrows;
	BatchRow   *rows;			/* of keys that have any, in order */
	GroupResult empty;			/* of no rows; not in the context */
	bool		has_last;
	Datum		last;			/* key of this batch, as SQL sorts; not in the context */
} Batch;

extern char *type_name(Oid type);
extern int	definition_compare_keys(const void *a, const void *b, void *definition);
extern Batch *batch_create(Definition *definition);
extern bool batch_next(Batch *batch);
extern void batch_of_texts(Batch *batch, ArrayType *texts);
extern void batch_compute(Batch *batch, const Datum *keys, int nkeys, Snapshot snapshot);
extern const GroupResult *batch_group(const Batch *batch, Datum key, int *next);

/*
 * computed_refresh.c
 */
extern int64 definition_refresh(Definition *definition, ArrayType *keys, bool tell);
extern int64 definition_refresh_keys(Definition *definition, Datum *keys, int nkeys);

/*
 * computed_parent.c
 */
extern Definition *parent_definition(const TriggerData *trigger);

/*
 * computed_ddl.c
 */
extern List *parent_views(Oid parent);
extern bool computed_restamp(Oid parent, Oid view);

/*
 * computed_drop.c
 */
extern void computed_drop_triggers(Oid base, Oid view, Oid parent);

/*
 * computed_top.c
 */
extern char *computed_top_sql(const ViewDefinition *view);

#endif							/* PATTERN_COMPUTED_H */
