/*
 * document/update.h
 *		How an update is represented: shared by the files of the update language.
 *
 * The paths of all operators form one tree.  A node is a step; a leaf carries
 * an operation.  Running an update walks the tree and the document together,
 * so that a container is spliced once, however many operators touch it.
 *
 *		update.c			changes → tree, and the SQL functions
 *		update_apply.c		tree + document → splice
 *		update_field.c		$set $unset $inc $mul $min $max $bit $currentDate $rename
 *		update_array.c		$push $addToSet $pop $pull $pullAll
 *		pipeline.c			changes given as an array of stages
 */
#ifndef PATTERN_UPDATE_H
#define PATTERN_UPDATE_H

#include "pattern.h"

typedef struct UpdateOperation UpdateOperation;
typedef struct UpdateRun UpdateRun;

/* What an operation does to its place; the rest of UpdateEffect says with what. */
typedef enum UpdateEffectKind
{
	EFFECT_NONE,				/* nothing */
	EFFECT_SET,					/* value becomes the value */
	EFFECT_REMOVE,				/* the field goes; an array's element becomes null */
	EFFECT_SPLICE				/* the container that is there is edited */
} UpdateEffectKind;

typedef struct UpdateEffect
{
	UpdateEffectKind kind;
	JsonbValue	value;
	JsonbSplice *splice;
} UpdateEffect;

/*
 * An operator.  compile checks the operand and returns its compiled form; apply
 * is given the old value, or NULL where there is none.
 */
typedef struct UpdateOperator
{
	const char *name;
	void	   *(*compile) (const UpdateOperation *operation, const JsonbValue *operand);
	void		(*apply) (const UpdateOperation *operation, UpdateRun *run,
						  const JsonbValue *old, UpdateEffect *effect);
	bool		(*idle) (const UpdateOperation *operation, const UpdateRun *run);	/* does nothing this time; or NULL */
	bool		creates;		/* may create a missing field */
	bool		lenient;		/* a scalar in the path's way is no error */
} UpdateOperator;

/* An operator at work on a path. */
struct UpdateOperation
{
	const UpdateOperator *operator;
	const char *path;			/* for messages */
	void	   *operand;		/* what compile made */
};

/* A condition that array elements are chosen by. */
typedef struct ArrayFilter
{
	char	   *identifier;
	MatchQuery *query;
	bool		used;
} ArrayFilter;

typedef enum UpdateStepKind
{
	STEP_FIELD,					/* a key, or an index in an array */
	STEP_ALL,					/* $[]: each element */
	STEP_FILTERED				/* $[identifier]: each element that the filter matches */
} UpdateStepKind;

/* A step of the paths. */
typedef struct UpdateNode
{
	UpdateStepKind kind;
	const char *name;			/* as written; not null-terminated */
	int			len;
	int32		index;			/* of a STEP_FIELD of digits only, else -1 */
	const ArrayFilter *filter;	/* of a STEP_FILTERED */
	const UpdateOperation *operation;	/* leaf only */
	uint32		nchildren;
	uint32		nelements;		/* of them, STEP_ALL and STEP_FILTERED: they come last */
	uint32		maxchildren;
	struct UpdateNode **children;	/* fields in the order of an object's keys */
} UpdateNode;

/* One $rename: its two operations share it. */
typedef struct UpdateRename
{
	DocPath    *source;
	DocPath    *target;
	int			number;			/* among the renames of the update */
} UpdateRename;

/* What differs from document to document. */
struct UpdateRun
{
	const DocUpdate *update;
	bool		inserting;		/* for an upsert: $setOnInsert counts */
	JsonbValue *renamed;		/* each rename's value ... */
	bool	   *found;			/* ... if there is one */
};

typedef struct Pipeline Pipeline;

struct DocUpdate
{
	/* one of the three */
	UpdateNode *root;
	Pipeline   *pipeline;
	const JsonbValue *replacement;

	int			nrenames;
	UpdateRename **renames;
};

/* update_field.c, update_array.c: tables that end with a NULL name */
extern const UpdateOperator update_field_operators[];
extern const UpdateOperator update_array_operators[];

/* $rename is the one operator without compile; its target's side is apart */
extern const UpdateOperator update_rename_target;
extern UpdateRename *update_rename_compile(const UpdateOperation *operation, DocPath *source,
										   const JsonbValue *operand);
extern void update_rename_lookup(UpdateRun *run, const JsonbValue *doc);

/* update.c */
pg_noreturn extern void update_operand_error(const UpdateOperation *operation, const JsonbValue *operand,
								 const char *expected);
pg_noreturn extern void update_target_error(const UpdateOperation *operation, const JsonbValue *old,
								const char *expected);
pg_noreturn extern void update_conflict(const char *path, const char *other);
extern const char *update_node_path(const UpdateNode *node);
extern int	update_compare_steps(const UpdateNode *a, const UpdateNode *b);

/* update_apply.c */
extern Jsonb *update_apply(const DocUpdate *update, const JsonbValue *doc, bool inserting);

/* pipeline.c */
extern Pipeline *pipeline_compile(const JsonbValue *stages);
extern Jsonb *pipeline_run(const Pipeline *pipeline, Jsonb *doc);

#endif							/* PATTERN_UPDATE_H */
