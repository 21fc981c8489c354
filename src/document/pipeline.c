/*
 * document/pipeline.c
 *		Updates given as a pipeline: $set $addFields $unset $project $replaceWith $replaceRoot.
 *
 * Stages run one after the other, each on the document that the one before it
 * left.  The paths of a $set or $unset form a tree, as those of the update
 * operators do, but follow the other rules that MongoDB has here: a step is
 * always a key, a path goes into every element of an array, a scalar in the way
 * gives place to an object, and a field whose expression is missing goes away.
 * A $project that excludes is an $unset; one that includes builds a new document
 * from the tree.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "update.h"

/* A step of a stage's paths; a leaf sets its field, or removes it, or takes it over. */
typedef struct FieldNode
{
	const char *name;
	int			len;
	const Expression *expression;	/* leaf of $set, or of $project */
	bool		leaf;
	bool		computes;		/* $project: there is an expression in it */
	uint32		nchildren;
	uint32		maxchildren;
	struct FieldNode **children;	/* in the order of an object's keys */
} FieldNode;

typedef struct PipelineStage
{
	FieldNode  *fields;			/* $set, $unset, $project */
	bool		projects;		/* only the fields stay */
	const Expression *document; /* $replaceWith */
} PipelineStage;

struct Pipeline
{
	int			nstages;
	PipelineStage *stages;
};

static void apply_field(const FieldNode *node, const JsonbValue *root, const JsonbValue *old,
						UpdateEffect *effect);

static void
stage_error(const char *stage, const JsonbValue *operand, const char *expected)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid operand for the stage %s: %s", stage, value_to_cstring(operand)),
			 errdetail("The operand must be %s.", expected)));
}

static FieldNode *
child_for_name(FieldNode *parent, const char *name, int len)
{
	uint32		i = 0;
	FieldNode  *node;

	for (; i < parent->nchildren; i++)
	{
		int			cmp = key_compare(parent->children[i]->name, parent->children[i]->len, name, len);

		if (cmp == 0)
			return parent->children[i];
		if (cmp > 0)
			break;
	}
	parent->children = array_reserve(parent->children, parent->nchildren, &parent->maxchildren,
									 sizeof(FieldNode *));
	memmove(&parent->children[i + 1], &parent->children[i],
			(parent->nchildren - i) * sizeof(FieldNode *));
	node = palloc0(sizeof(FieldNode));
	node->name = name;
	node->len = len;
	parent->children[i] = node;
	parent->nchildren++;
	return node;
}

static bool
has_child(const FieldNode *parent, const JsonbValue *name)
{
	for (uint32 i = 0; i < parent->nchildren; i++)
		if (key_compare(parent->children[i]->name, parent->children[i]->len,
						name->val.string.val, name->val.string.len) == 0)
			return true;
	return false;
}

/* The leaf for a path below a node; its place must not be taken. */
static FieldNode *
add_path(FieldNode *node, const JsonbValue *text)
{
	char	   *name = text_for_message(text->val.string.val, text->val.string.len);
	DocPath    *path = path_parse(text->val.string.val, text->val.string.len, false);

	for (int i = 0; i < path->nsteps; i++)
	{
		const PathStep *step = &path->steps[i];

		if (step->name[0] == '$')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid field name \"%s\" in path \"%s\"", text_for_message(step->name, step->len), name),
					 errdetail("A field name does not begin with a dollar sign.")));
		node = child_for_name(node, step->name, step->len);
		if (node->leaf)
			update_conflict(name, path_to_cstring(path, i + 1));
	}
	if (node->nchildren > 0)
		update_conflict(name, psprintf("%s.%s", name, text_for_message(node->children[0]->name, node->children[0]->len)));
	node->leaf = true;
	return node;
}

/* An object of plain keys merges field by field; {} and all else are a value. */
static bool
is_nested(const JsonbValue *value)
{
	JsonbValue	key;

	if (!value_is_object(value) || value_count(value) == 0)
		return false;
	/* an operator's object is left to the expression, and its complaints too */
	for (uint32 i = 0; i < value_count(value); i++)
	{
		container_key(value->val.binary.data, i, &key);
		if (key.val.string.len > 0 && key.val.string.val[0] == '$')
			return false;
	}
	return true;
}

static void
compile_set(FieldNode *node, const JsonbValue *fields, bool nested)
{
	JsonbWalk	walk;
	JsonbValue	key,
				value;

	check_stack_depth();
	walk_begin(&walk, fields->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		FieldNode  *child;

		if (nested && memchr(key.val.string.val, '.', key.val.string.len) != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("a dotted path cannot stand inside an object: \"%s\"",
							text_for_message(key.val.string.val, key.val.string.len))));
		child = add_path(node, &key);
		if (is_nested(&value))
		{
			child->leaf = false;
			compile_set(child, &value, true);
		}
		else
			child->expression = expression_compile(&value, false);
	}
}

static void
compile_unset(FieldNode *node, const JsonbValue *operand)
{
	static const char *const expected = "a path, or an array of paths";
	JsonbWalk	walk;
	JsonbValue	path;

	if (operand->type == jbvString)
	{
		(void) add_path(node, operand);
		return;
	}
	if (!value_is_array(operand) || value_count(operand) == 0)
		stage_error("$unset", operand, expected);
	walk_begin(&walk, operand->val.binary.data);
	while (walk_next(&walk, NULL, &path))
	{
		if (path.type != jbvString)
			stage_error("$unset", operand, expected);
		(void) add_path(node, &path);
	}
}

/* What the fields of a $project ask for. */
typedef struct Projection
{
	FieldNode  *included;		/* and computed */
	FieldNode  *excluded;
	bool		has_id;			/* _id is named, */
	bool		keeps_id;		/* and included */
} Projection;

/* Is it 1 or true, 0 or false?  False for an expression. */
static bool
is_switch(const JsonbValue *value)
{
	return value->type == jbvBool || value->type == jbvNumeric;
}

/* Mark the nodes on the way to the leaf at a path as computing. */
static void
mark_computing(FieldNode *node, const JsonbValue *text)
{
	DocPath    *path = path_parse(text->val.string.val, text->val.string.len, false);

	for (int i = 0; i < path->nsteps; i++)
	{
		node = child_for_name(node, path->steps[i].name, path->steps[i].len);
		node->computes = true;
	}
}

/* One field at a path, which is dotted and from the document's root. */
static void
compile_projected(Projection *projection, const JsonbValue *path, const JsonbValue *value)
{
	if (is_nested(value))
	{
		JsonbWalk	walk;
		JsonbValue	key,
					inner;

		check_stack_depth();
		walk_begin(&walk, value->val.binary.data);
		while (walk_next(&walk, &key, &inner))
		{
			JsonbValue	whole;

			value_from_cstring(psprintf("%.*s.%.*s", path->val.string.len, path->val.string.val,
										key.val.string.len, key.val.string.val), &whole);
			compile_projected(projection, &whole, &inner);
		}
	}
	else if (is_switch(value) && value_is_string(path, "_id"))
	{
		projection->has_id = true;
		projection->keeps_id = value_is_true(value);
	}
	else if (is_switch(value))
		(void) add_path(value_is_true(value) ? projection->included : projection->excluded, path);
	else if (value_is_object(value) && value_count(value) == 0)
		stage_error("$project", value, "1, 0, an expression, or an object of fields");
	else
	{
		add_path(projection->included, path)->expression = expression_compile(value, false);
		mark_computing(projection->included, path);
	}
}

static void
compile_project(PipelineStage *stage, const JsonbValue *operand)
{
	Projection	projection = {0};
	JsonbValue	id,
				key,
				value;
	JsonbWalk	walk;

	if (!value_is_object(operand) || value_count(operand) == 0)
		stage_error("$project", operand, "an object of fields");
	projection.included = palloc0(sizeof(FieldNode));
	projection.excluded = palloc0(sizeof(FieldNode));
	walk_begin(&walk, operand->val.binary.data);
	while (walk_next(&walk, &key, &value))
		compile_projected(&projection, &key, &value);
	if (projection.included->nchildren > 0 && projection.excluded->nchildren > 0)
		stage_error("$project", operand, "fields that are all included or all excluded, but for _id");

	/* _id stays unless it is excluded, or the only one that is */
	stage->projects = projection.included->nchildren > 0 ||
		(projection.excluded->nchildren == 0 && projection.keeps_id);
	stage->fields = stage->projects ? projection.included : projection.excluded;
	value_from_cstring("_id", &id);
	if (stage->projects ? (projection.keeps_id || (!projection.has_id && !has_child(stage->fields, &id))) :
		(projection.has_id && !projection.keeps_id))
		(void) add_path(stage->fields, &id);
}

static void
compile_stage(PipelineStage *stage, const JsonbValue *source)
{
	JsonbValue	name,
				operand;

	if (!value_is_object(source) || value_count(source) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid pipeline stage: %s", value_to_cstring(source)),
				 errdetail("A stage is an object with one field, the name of the stage.")));
	container_key(source->val.binary.data, 0, &name);
	container_value(source->val.binary.data, 0, &operand);
	if (value_is_string(&name, "$set") || value_is_string(&name, "$addFields"))
	{
		if (!value_is_object(&operand))
			stage_error("$set", &operand, "an object of fields");
		stage->fields = palloc0(sizeof(FieldNode));
		compile_set(stage->fields, &operand, false);
	}
	else if (value_is_string(&name, "$unset"))
	{
		stage->fields = palloc0(sizeof(FieldNode));
		compile_unset(stage->fields, &operand);
	}
	else if (value_is_string(&name, "$replaceWith"))
		stage->document = expression_compile(&operand, false);
	else if (value_is_string(&name, "$replaceRoot"))
	{
		JsonbValue	root;

		if (!value_get_cstring(&operand, "newRoot", &root) || value_count(&operand) != 1)
			stage_error("$replaceRoot", &operand, "an object with the field newRoot alone");
		stage->document = expression_compile(&root, false);
	}
	else if (value_is_string(&name, "$project"))
		compile_project(stage, &operand);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized stage in an update pipeline: \"%s\"",
						text_for_message(name.val.string.val, name.val.string.len)),
				 errhint("The stages of an update are $set, $addFields, $unset, $project, $replaceWith and $replaceRoot.")));
}

/* Compiles an array of stages; the result is palloc'd and points into it. */
Pipeline *
pipeline_compile(const JsonbValue *stages)
{
	Pipeline   *pipeline = palloc0(sizeof(Pipeline));
	JsonbWalk	walk;
	JsonbValue	stage;

	pipeline->stages = palloc0(Max(value_count(stages), 1) * sizeof(PipelineStage));
	walk_begin(&walk, stages->val.binary.data);
	while (walk_next(&walk, NULL, &stage))
		compile_stage(&pipeline->stages[pipeline->nstages++], &stage);
	return pipeline;
}

static void
apply_object(const FieldNode *node, const JsonbValue *root, const JsonbValue *old,
			 UpdateEffect *effect)
{
	JsonbSplice *splice = splice_begin(old);

	for (uint32 i = 0; i < node->nchildren; i++)
	{
		const FieldNode *child = node->children[i];
		UpdateEffect inner;
		JsonbValue	value;
		uint32		at;
		bool		found = container_find(old->val.binary.data, child->name, child->len, &at);

		if (found)
			container_value(old->val.binary.data, at, &value);
		apply_field(child, root, found ? &value : NULL, &inner);
		if (inner.kind == EFFECT_SET)
			splice_put(splice, child->name, child->len, &inner.value);
		else if (inner.kind == EFFECT_REMOVE && found)
			splice_remove(splice, at, 1);
		else if (inner.kind == EFFECT_SPLICE)
			splice_nest(splice, at, inner.splice);
	}
	effect->splice = splice;
}

static void
apply_array(const FieldNode *node, const JsonbValue *root, const JsonbValue *old,
			UpdateEffect *effect)
{
	JsonbSplice *splice = splice_begin(old);
	JsonbWalk	walk;
	JsonbValue	element;

	walk_begin(&walk, old->val.binary.data);
	for (uint32 at = 0; walk_next(&walk, NULL, &element); at++)
	{
		UpdateEffect inner;

		CHECK_FOR_INTERRUPTS();
		apply_field(node, root, &element, &inner);
		if (inner.kind == EFFECT_SET)
			splice_replace(splice, at, &inner.value);
		else if (inner.kind == EFFECT_SPLICE)
			splice_nest(splice, at, inner.splice);
	}
	effect->splice = splice;
}

/* Does a node only remove? */
static bool
only_removes(const FieldNode *node)
{
	while (!node->leaf && node->nchildren > 0)
		node = node->children[0];
	return node->leaf && node->expression == NULL;
}

/* Apply to the value that is there, or NULL. */
static void
apply_field(const FieldNode *node, const JsonbValue *root, const JsonbValue *old,
			UpdateEffect *effect)
{
	PairList	pairs = {0};

	check_stack_depth();
	effect->kind = EFFECT_NONE;
	if (node->leaf)
	{
		if (node->expression != NULL && expression_evaluate(node->expression, root, &effect->value))
			effect->kind = EFFECT_SET;
		else
			effect->kind = EFFECT_REMOVE;
		return;
	}
	if (old != NULL && old->type == jbvBinary)
	{
		if (value_is_object(old))
			apply_object(node, root, old, effect);
		else
			apply_array(node, root, old, effect);
		if (effect->splice->nedits > 0)
			effect->kind = EFFECT_SPLICE;
		return;
	}
	if (only_removes(node))
		return;
	/* missing, or a scalar: an object takes its place */
	for (uint32 i = 0; i < node->nchildren; i++)
	{
		UpdateEffect inner;

		apply_field(node->children[i], root, NULL, &inner);
		if (inner.kind == EFFECT_SET)
			pairs_append(&pairs, node->children[i]->name, node->children[i]->len, &inner.value);
	}
	effect->kind = EFFECT_SET;
	pairs_finish(&pairs, &effect->value);
}

static bool project_field(const FieldNode *node, const JsonbValue *root, const JsonbValue *old,
						  JsonbValue *result);

/* The fields of an object, or of what is none, that a $project takes. */
static void
project_object(const FieldNode *node, const JsonbValue *root, const JsonbValue *old, JsonbValue *result)
{
	PairList	pairs = {0};

	for (uint32 i = 0; i < node->nchildren; i++)
	{
		const FieldNode *child = node->children[i];
		JsonbValue	value;
		bool		found = old != NULL && value_get(old, child->name, child->len, &value);

		if (project_field(child, root, found ? &value : NULL, &value))
			pairs_append(&pairs, child->name, child->len, &value);
	}
	pairs_finish(&pairs, result);
	value_pack(result);
}

static void
project_array(const FieldNode *node, const JsonbValue *root, const JsonbValue *old, JsonbValue *result)
{
	ValueList	list = {0};
	JsonbWalk	walk;
	JsonbValue	element,
				value;

	walk_begin(&walk, old->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (project_field(node, root, &element, &value))
			values_append(&list, &value);
	}
	values_finish(&list, result);
	value_pack(result);
}

/* What a $project makes of the value that is there, or NULL; false for nothing. */
static bool
project_field(const FieldNode *node, const JsonbValue *root, const JsonbValue *old, JsonbValue *result)
{
	check_stack_depth();
	if (node->leaf)
	{
		if (node->expression != NULL)
			return expression_evaluate(node->expression, root, result);
		if (old != NULL && old != result)
			*result = *old;
		return old != NULL;
	}
	if (old != NULL && value_is_array(old))
		project_array(node, root, old, result);
	else if (old != NULL && value_is_object(old))
		project_object(node, root, old, result);
	else if (node->computes)
		project_object(node, root, NULL, result);
	else
		return false;
	return true;
}

static Jsonb *
run_stage(const PipelineStage *stage, Jsonb *doc)
{
	JsonbValue	root,
				value;
	UpdateEffect effect;

	value_from_jsonb(doc, &root);
	if (stage->projects)
	{
		project_object(stage->fields, &root, &root, &value);
		return value_to_jsonb(&value);
	}
	if (stage->document == NULL)
	{
		apply_object(stage->fields, &root, &root, &effect);
		return effect.splice->nedits > 0 ? splice_apply(effect.splice) : doc;
	}
	if (!expression_evaluate(stage->document, &root, &value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the document that replaces another is missing"),
				 errdetail("The expression of $replaceWith must give an object.")));
	if (!value_is_object(&value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a document cannot be replaced by a value of type %s: %s",
						value_type_name(&value), value_to_cstring(&value)),
				 errdetail("The expression of $replaceWith must give an object.")));
	return value_to_jsonb(&value);
}

/* The document behind the last stage; palloc'd, or doc itself. */
Jsonb *
pipeline_run(const Pipeline *pipeline, Jsonb *doc)
{
	for (int i = 0; i < pipeline->nstages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		doc = run_stage(&pipeline->stages[i], doc);
	}
	return doc;
}
