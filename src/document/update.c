/*
 * document/update.c
 *		MongoDB's update language: doc_update, and how changes are compiled.
 *
 * Changes are an object of operators, an array of pipeline stages, or a
 * replacement.  Operators are compiled into one tree of paths; that two of them
 * are in conflict shows while the tree grows, whatever the document.  Semantics
 * follow MongoDB 7 and 8.
 */
#include "postgres.h"

#include "update.h"

/* While changes are compiled. */
typedef struct UpdateCompile
{
	DocUpdate  *update;
	ArrayFilter *filters;
	int			nfilters;
} UpdateCompile;

PG_FUNCTION_INFO_V1(pattern_doc_update);

/* The operand of an operator is not what it has to be. */
void
update_operand_error(const UpdateOperation *operation, const JsonbValue *operand,
					 const char *expected)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid operand for %s at \"%s\": %s", operation->operator->name,
					operation->path, value_to_cstring(operand)),
			 errdetail("The operand must be %s.", expected)));
}

/* The value that is there is not one that the operator can be applied to. */
void
update_target_error(const UpdateOperation *operation, const JsonbValue *old,
					const char *expected)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot apply %s at \"%s\" to a value of type %s: %s",
					operation->operator->name, operation->path, value_type_name(old),
					value_to_cstring(old)),
			 errdetail("The value must be %s.", expected)));
}

/* Two operators claim the same place. */
void
update_conflict(const char *path, const char *other)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("updating the path \"%s\" would create a conflict at \"%s\"", path, other),
			 errhint("An update may name each place of a document once, and not together with a place inside it.")));
}

/* For messages: the path of an operation at or below a node. */
const char *
update_node_path(const UpdateNode *node)
{
	while (node->operation == NULL)
		node = node->children[0];
	return node->operation->path;
}

static const UpdateOperator *
find_operator(const JsonbValue *key)
{
	static const UpdateOperator *const tables[] = {update_field_operators, update_array_operators};

	for (int i = 0; i < lengthof(tables); i++)
		for (const UpdateOperator *operator = tables[i]; operator->name != NULL; operator++)
			if (value_is_string(key, operator->name))
				return operator;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized update operator: \"%s\"",
					text_for_message(key->val.string.val, key->val.string.len)),
			 key->val.string.len > 0 && key->val.string.val[0] == '$' ? 0 :
			 errdetail("The other names in the update are operators, which begin with a dollar sign."),
			 errhint("Use $set to give a field a value.")));
	return NULL;
}

static ArrayFilter *
find_filter(UpdateCompile *compile, const char *name, int len, const char *path)
{
	for (int i = 0; i < compile->nfilters; i++)
		if (key_compare(compile->filters[i].identifier, strlen(compile->filters[i].identifier),
						name, len) == 0)
			return &compile->filters[i];
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("no array filter found for identifier \"%s\" in path \"%s\"",
					text_for_message(name, len), path),
			 errhint("Give the filter in array_filters: [{\"%s\": {...}}].", text_for_message(name, len))));
	return NULL;
}

/* Fill in a node from a step as it is written. */
static void
parse_step(UpdateCompile *compile, UpdateNode *node, const PathStep *step, const char *path, bool first)
{
	node->kind = STEP_FIELD;
	node->name = step->name;
	node->len = step->len;
	node->index = step->index;
	if (step->len == 1 && step->name[0] == '$')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the positional operator $ in path \"%s\" is not supported", path),
				 errhint("Use $[name] with array_filters to choose the elements, or $[] for all of them.")));
	if (step->len >= 3 && step->name[0] == '$' && step->name[1] == '[' && step->name[step->len - 1] == ']')
	{
		if (first)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("path \"%s\" has no array field before \"%s\"", path,
							text_for_message(step->name, step->len))));
		node->index = -1;
		if (step->len == 3)
			node->kind = STEP_ALL;
		else
		{
			ArrayFilter *filter = find_filter(compile, step->name + 2, step->len - 3, path);

			filter->used = true;
			node->kind = STEP_FILTERED;
			node->filter = filter;
		}
	}
}

/* The order of a node's children: fields in the order of an object's keys, then element steps. */
int
update_compare_steps(const UpdateNode *a, const UpdateNode *b)
{
	if ((a->kind == STEP_FIELD) != (b->kind == STEP_FIELD))
		return a->kind == STEP_FIELD ? -1 : 1;
	return key_compare(a->name, a->len, b->name, b->len);
}

/* The child of a node for a step; made if it is not there. */
static UpdateNode *
child_for_step(UpdateNode *parent, const UpdateNode *step)
{
	uint32		low = 0;
	uint32		high = parent->nchildren;
	UpdateNode *node;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		int			cmp = update_compare_steps(parent->children[middle], step);

		if (cmp == 0)
			return parent->children[middle];
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle;
	}
	parent->children = array_reserve(parent->children, parent->nchildren, &parent->maxchildren,
									 sizeof(UpdateNode *));
	memmove(&parent->children[low + 1], &parent->children[low],
			(parent->nchildren - low) * sizeof(UpdateNode *));
	node = palloc(sizeof(UpdateNode));
	*node = *step;
	parent->children[low] = node;
	parent->nchildren++;
	if (node->kind != STEP_FIELD)
		parent->nelements++;
	return node;
}

/* Put an operation at its place in the tree. */
static void
add_operation(UpdateCompile *compile, const UpdateOperation *operation, const DocPath *path)
{
	UpdateNode *node = compile->update->root;

	for (int i = 0; i < path->nsteps; i++)
	{
		UpdateNode	step = {0};

		parse_step(compile, &step, &path->steps[i], operation->path, i == 0);
		node = child_for_step(node, &step);
		if (node->operation != NULL)
			update_conflict(operation->path, node->operation->path);
	}
	if (node->nchildren > 0)
		update_conflict(operation->path, update_node_path(node));
	node->operation = operation;
}

static UpdateOperation *
new_operation(const UpdateOperator *operator, const JsonbValue *path)
{
	UpdateOperation *operation = palloc0(sizeof(UpdateOperation));

	operation->operator = operator;
	operation->path = text_for_message(path->val.string.val, path->val.string.len);
	return operation;
}

/* $rename is a removal at one place and a $set at another. */
static void
compile_rename(UpdateCompile *compile, UpdateOperation *operation, DocPath *source,
			   const JsonbValue *operand)
{
	DocUpdate  *update = compile->update;
	UpdateRename *rename = update_rename_compile(operation, source, operand);
	UpdateOperation *target = new_operation(&update_rename_target, operand);

	rename->number = update->nrenames++;
	if (update->renames == NULL)
		update->renames = palloc(sizeof(UpdateRename *));
	else
		update->renames = repalloc(update->renames, update->nrenames * sizeof(UpdateRename *));
	update->renames[rename->number] = rename;
	operation->operand = rename;
	target->operand = rename;
	add_operation(compile, operation, rename->source);
	add_operation(compile, target, rename->target);
}

/* Compile one operator: all its paths with their operands. */
static void
compile_operator(UpdateCompile *compile, const UpdateOperator *operator, const JsonbValue *paths)
{
	JsonbWalk	walk;
	JsonbValue	key,
				operand;

	if (!value_is_object(paths))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid operand for %s: %s", operator->name, value_to_cstring(paths)),
				 errdetail("The operand must be an object of paths, such as {\"%s\": {\"a.b\": ...}}.",
						   operator->name)));
	walk_begin(&walk, paths->val.binary.data);
	while (walk_next(&walk, &key, &operand))
	{
		DocPath    *path = path_parse(key.val.string.val, key.val.string.len, false);
		UpdateOperation *operation = new_operation(operator, &key);

		if (operator->compile == NULL)
			compile_rename(compile, operation, path, &operand);
		else
		{
			operation->operand = operator->compile(operation, &operand);
			add_operation(compile, operation, path);
		}
	}
}

static void
compile_filters(UpdateCompile *compile, const JsonbValue *filters)
{
	JsonbWalk	walk;
	JsonbValue	filter;

	if (filters == NULL)
		return;
	if (!value_is_array(filters))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid array_filters: %s", value_to_cstring(filters)),
				 errdetail("array_filters must be an array of objects, such as [{\"name\": {\"$gte\": 5}}].")));
	compile->filters = palloc0(value_count(filters) * sizeof(ArrayFilter));
	walk_begin(&walk, filters->val.binary.data);
	while (walk_next(&walk, NULL, &filter))
	{
		ArrayFilter *f = &compile->filters[compile->nfilters];

		f->query = match_compile_filter(&filter, &f->identifier);
		for (int i = 0; i < compile->nfilters; i++)
			if (strcmp(compile->filters[i].identifier, f->identifier) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("array_filters has two filters for identifier \"%s\"", f->identifier),
						 errhint("Combine the conditions in one filter.")));
		compile->nfilters++;
	}
}

static void
check_filters_used(const UpdateCompile *compile)
{
	for (int i = 0; i < compile->nfilters; i++)
		if (!compile->filters[i].used)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the array filter for identifier \"%s\" was not used in the update",
							compile->filters[i].identifier),
					 errhint("Use it in a path as \"field.$[%s]\".", compile->filters[i].identifier)));
}

/* Do the changes hold operators?  Their first name tells; $ sorts among the first. */
static bool
has_operators(const JsonbValue *changes)
{
	JsonbWalk	walk;
	JsonbValue	key,
				value;

	walk_begin(&walk, changes->val.binary.data);
	while (walk_next(&walk, &key, &value))
		if (key.val.string.len > 0 && key.val.string.val[0] == '$')
			return true;
	return false;
}

static void
compile_operators(UpdateCompile *compile, const JsonbValue *changes)
{
	JsonbWalk	walk;
	JsonbValue	key,
				operand;

	compile->update->root = palloc0(sizeof(UpdateNode));
	walk_begin(&walk, changes->val.binary.data);
	while (walk_next(&walk, &key, &operand))
		compile_operator(compile, find_operator(&key), &operand);
}

/*
 * Compiles changes, with their array filters or NULL.  The result is palloc'd
 * and points into both.  Errors are of class 22.
 */
DocUpdate *
update_compile(const JsonbValue *changes, const JsonbValue *array_filters)
{
	UpdateCompile compile = {0};
	DocUpdate  *update = palloc0(sizeof(DocUpdate));

	compile.update = update;
	compile_filters(&compile, array_filters);
	if (value_is_array(changes))
		update->pipeline = pipeline_compile(changes);
	else if (!value_is_object(changes))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid changes: %s", value_to_cstring(changes)),
				 errdetail("Changes are an object of update operators, an array of pipeline stages, or an object that replaces the document.")));
	else if (has_operators(changes))
		compile_operators(&compile, changes);
	else
	{
		JsonbValue *replacement = palloc(sizeof(JsonbValue));

		*replacement = *changes;
		update->replacement = replacement;
	}
	check_filters_used(&compile);
	return update;
}

/* The replacement, with the document's _id. */
static Jsonb *
replace_document(const JsonbValue *replacement, const JsonbValue *doc)
{
	JsonbSplice *splice = splice_begin(replacement);
	JsonbValue	id,
				new_id;

	if (value_get_cstring(doc, "_id", &id))
	{
		if (!value_get_cstring(replacement, "_id", &new_id))
			splice_put(splice, "_id", 3, &id);
		else if (!value_equal(&id, &new_id))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("a replacement cannot change \"_id\" from %s to %s",
							value_to_cstring(&id), value_to_cstring(&new_id)),
					 errhint("Leave \"_id\" out of the replacement, or set it with $set.")));
	}
	return splice_apply(splice);
}

/* The updated document; palloc'd, or doc itself when nothing changes. */
Jsonb *
update_document(const DocUpdate *update, Jsonb *doc)
{
	JsonbValue	value;
	Jsonb	   *result;

	value_from_jsonb(doc, &value);
	if (!value_is_object(&value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot update a document of type %s: %s", value_type_name(&value),
						value_to_cstring(&value)),
				 errdetail("A document must be an object.")));
	if (update->replacement != NULL)
		return replace_document(update->replacement, &value);
	if (update->pipeline != NULL)
		return pipeline_run(update->pipeline, doc);
	result = update_apply(update, &value, false);
	return result != NULL ? result : doc;
}

/* compile for operand_compiled */
static void *
compile_changes(Jsonb **operands)
{
	JsonbValue	changes,
				array_filters;

	value_from_jsonb(operands[0], &changes);
	if (operands[1] == NULL)
		return update_compile(&changes, NULL);
	value_from_jsonb(operands[1], &array_filters);
	return update_compile(&changes, &array_filters);
}

/* The same for the operator, which has no array filters. */
static void *
compile_changes_only(Jsonb **operands)
{
	JsonbValue	changes;

	value_from_jsonb(operands[0], &changes);
	return update_compile(&changes, NULL);
}

/*
 * doc_update(doc jsonb, changes jsonb, array_filters jsonb) returns jsonb, and
 * doc <~ changes
 */
Datum
pattern_doc_update(PG_FUNCTION_ARGS)
{
	static const int args[] = {1, 2};
	DocUpdate  *update;

	argument_check_given(fcinfo, 1, "changes");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (PG_NARGS() > 2)
		update = operand_compiled(fcinfo, args, 2, compile_changes);
	else
		update = operand_compiled(fcinfo, args, 1, compile_changes_only);
	PG_RETURN_JSONB_P(update_document(update, PG_GETARG_JSONB_P(0)));
}
