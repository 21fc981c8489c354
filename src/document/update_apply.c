/*
 * document/update_apply.c
 *		Runs a compiled update on a document.
 *
 * The tree of paths and the document are walked together, and each container on
 * the way becomes one splice, or none when nothing in it changes.  Several
 * branches can meet in one array element, as "a.$[x].b" and "a.0.c" may: they
 * are merged for that element, and only then is it known whether they conflict.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "update.h"

static void apply_child(UpdateRun *run, const UpdateNode *node, const JsonbValue *old,
						UpdateEffect *effect);
static void create_child(UpdateRun *run, const UpdateNode *node, UpdateEffect *effect);

static bool
operation_idle(const UpdateRun *run, const UpdateOperation *operation)
{
	return operation->operator->idle != NULL && operation->operator->idle(operation, run);
}

/* The first operation at or below a node that minds an obstacle; NULL if none does. */
static const UpdateOperation *
strict_operation(const UpdateRun *run, const UpdateNode *node)
{
	check_stack_depth();
	if (node->operation != NULL)
		return node->operation->operator->lenient || operation_idle(run, node->operation)
			? NULL : node->operation;
	for (uint32 i = 0; i < node->nchildren; i++)
	{
		const UpdateOperation *found = strict_operation(run, node->children[i]);

		if (found != NULL)
			return found;
	}
	return NULL;
}

/* A field is wanted inside a value that has no such fields. */
static void
check_blocked(const UpdateRun *run, const UpdateNode *field, const JsonbValue *found)
{
	const UpdateOperation *operation = strict_operation(run, field);

	if (operation != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot apply %s at \"%s\": there is no field \"%s\" in a value of type %s",
						operation->operator->name, operation->path,
						text_for_message(field->name, field->len), value_type_name(found)),
				 errdetail("The value in the way is %s.", value_to_cstring(found)),
				 value_is_array(found) ? errhint("Name an element by its index, or use $[] or $[name] for several.") : 0));
}

static void
no_array(const UpdateNode *node, const JsonbValue *found)
{
	const char *path = update_node_path(node);
	const char *step = text_for_message(node->name, node->len);

	if (found == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the array field before \"%s\" in path \"%s\" is missing", step, path),
				 errdetail("An update of array elements needs the array.")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the value before \"%s\" in path \"%s\" is not an array but a value of type %s: %s",
					step, path, value_type_name(found), value_to_cstring(found))));
}

/* The first child that stands for elements of an array. */
static const UpdateNode *
first_element_step(const UpdateNode *node)
{
	return node->children[node->nchildren - node->nelements];
}

/* Both nodes' children under one node; palloc'd.  An operation cannot be shared. */
static const UpdateNode *
merge_nodes(const UpdateNode *a, const UpdateNode *b)
{
	UpdateNode *merged;
	int			i = 0;
	int			j = 0;

	check_stack_depth();
	if (a->operation != NULL || b->operation != NULL)
		update_conflict(update_node_path(a), update_node_path(b));
	merged = palloc(sizeof(UpdateNode));
	*merged = *a;
	merged->nelements = 0;
	merged->nchildren = 0;
	merged->children = palloc((a->nchildren + b->nchildren) * sizeof(UpdateNode *));
	while (i < a->nchildren || j < b->nchildren)
	{
		int			cmp = i == a->nchildren ? 1 : (j == b->nchildren ? -1 :
												   update_compare_steps(a->children[i], b->children[j]));
		const UpdateNode *child;

		if (cmp == 0)
			child = merge_nodes(a->children[i++], b->children[j++]);
		else
			child = cmp < 0 ? a->children[i++] : b->children[j++];
		merged->children[merged->nchildren++] = unconstify(UpdateNode *, child);
		merged->nelements += (child->kind != STEP_FIELD);
	}
	return merged;
}

static JsonbSplice *
apply_object(UpdateRun *run, const UpdateNode *node, const JsonbValue *old)
{
	const JsonbContainer *container = old->val.binary.data;
	JsonbSplice *splice = splice_begin(old);

	if (node->nelements > 0)
		no_array(first_element_step(node), old);
	for (uint32 i = 0; i < node->nchildren; i++)
	{
		const UpdateNode *child = node->children[i];
		UpdateEffect effect;
		uint32		at;

		if (container_find(container, child->name, child->len, &at))
		{
			JsonbValue	value;

			container_value(container, at, &value);
			apply_child(run, child, &value, &effect);
			if (effect.kind == EFFECT_SET)
				splice_replace(splice, at, &effect.value);
			else if (effect.kind == EFFECT_REMOVE)
				splice_remove(splice, at, 1);
			else if (effect.kind == EFFECT_SPLICE)
				splice_nest(splice, at, effect.splice);
		}
		else
		{
			create_child(run, child, &effect);
			if (effect.kind != EFFECT_SET)
				continue;
			if (node == run->update->root && child->name[0] == '$')
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("cannot create the field \"%s\": its name begins with a dollar sign",
								text_for_message(child->name, child->len))));
			splice_put(splice, child->name, child->len, &effect.value);
		}
	}
	return splice;
}

/* Apply to the element at a place of an array. */
static void
apply_element(UpdateRun *run, const UpdateNode *node, JsonbSplice *splice, uint32 at,
			  const JsonbValue *element)
{
	UpdateEffect effect;

	apply_child(run, node, element, &effect);
	if (effect.kind == EFFECT_SPLICE)
		splice_nest(splice, at, effect.splice);
	else if (effect.kind != EFFECT_NONE)
	{
		if (effect.kind == EFFECT_REMOVE)
			effect.value.type = jbvNull;	/* an array keeps its length */
		splice_replace(splice, at, &effect.value);
	}
}

static int
compare_indexes(const void *a, const void *b)
{
	const UpdateNode *x = *(UpdateNode *const *) a;
	const UpdateNode *y = *(UpdateNode *const *) b;

	return x->index < y->index ? -1 : (x->index > y->index);
}

/* The children of a node that are indexes, in order; "1" and "01" are one. */
static int
index_children(UpdateRun *run, const UpdateNode *node, const JsonbValue *array,
			   const UpdateNode **indexes)
{
	int			nfields = node->nchildren - node->nelements;
	int			n = 0;
	int			unique = 0;

	for (int i = 0; i < nfields; i++)
	{
		if (node->children[i]->index >= 0)
			indexes[n++] = node->children[i];
		else
			check_blocked(run, node->children[i], array);
	}
	if (n > 1)
		qsort(indexes, n, sizeof(UpdateNode *), compare_indexes);
	for (int i = 0; i < n; i++)
	{
		if (unique > 0 && indexes[unique - 1]->index == indexes[i]->index)
			indexes[unique - 1] = merge_nodes(indexes[unique - 1], indexes[i]);
		else
			indexes[unique++] = indexes[i];
	}
	return unique;
}

/* What applies to an element: the index if it is its, and the element steps; NULL if nothing. */
static const UpdateNode *
node_for_element(const UpdateNode *node, const UpdateNode *index, const JsonbValue *element)
{
	const UpdateNode *found = index;

	for (uint32 i = node->nchildren - node->nelements; i < node->nchildren; i++)
	{
		const UpdateNode *child = node->children[i];

		if (child->kind == STEP_FILTERED && !match_value(child->filter->query, element))
			continue;
		found = found == NULL ? child : merge_nodes(found, child);
	}
	return found;
}

/* Indexes past the end: nulls, then what is created there. */
static void
append_elements(UpdateRun *run, JsonbSplice *splice, uint32 count,
				const UpdateNode **indexes, int nindexes)
{
	ValueList	list = {0};
	JsonbValue	null = {.type = jbvNull};

	for (int i = 0; i < nindexes; i++)
	{
		UpdateEffect effect;

		create_child(run, indexes[i], &effect);
		if (effect.kind != EFFECT_SET)
			continue;
		splice_check_padding(count + list.n, indexes[i]->index, update_node_path(indexes[i]));
		while (count + list.n < (uint32) indexes[i]->index)
			values_append(&list, &null);
		values_append(&list, &effect.value);
	}
	if (list.n > 0)
		splice_insert(splice, count, list.values, list.n);
}

static JsonbSplice *
apply_array(UpdateRun *run, const UpdateNode *node, const JsonbValue *old)
{
	const UpdateNode **indexes = palloc(node->nchildren * sizeof(UpdateNode *));
	int			nindexes = index_children(run, node, old, indexes);
	JsonbSplice *splice = splice_begin(old);
	uint32		count = value_count(old);
	int			next = 0;		/* the index that comes next */
	JsonbValue	element;

	if (node->nelements > 0)
	{
		JsonbWalk	walk;

		walk_begin(&walk, old->val.binary.data);
		for (uint32 at = 0; walk_next(&walk, NULL, &element); at++)
		{
			const UpdateNode *index = NULL;
			const UpdateNode *found;

			CHECK_FOR_INTERRUPTS();
			if (next < nindexes && (uint32) indexes[next]->index == at)
				index = indexes[next++];
			found = node_for_element(node, index, &element);
			if (found != NULL)
				apply_element(run, found, splice, at, &element);
		}
	}
	for (; next < nindexes && (uint32) indexes[next]->index < count; next++)
	{
		container_value(old->val.binary.data, indexes[next]->index, &element);
		apply_element(run, indexes[next], splice, indexes[next]->index, &element);
	}
	append_elements(run, splice, count, indexes + next, nindexes - next);
	return splice;
}

/* Apply a node to the value that is there. */
static void
apply_child(UpdateRun *run, const UpdateNode *node, const JsonbValue *old, UpdateEffect *effect)
{
	check_stack_depth();
	effect->kind = EFFECT_NONE;
	if (node->operation != NULL)
	{
		if (!operation_idle(run, node->operation))
			node->operation->operator->apply(node->operation, run, old, effect);
		return;
	}
	if (old->type != jbvBinary)
	{
		if (node->nelements > 0)
			no_array(first_element_step(node), old);
		for (uint32 i = 0; i < node->nchildren; i++)
			check_blocked(run, node->children[i], old);
		return;
	}
	effect->splice = value_is_object(old) ? apply_object(run, node, old) : apply_array(run, node, old);
	if (effect->splice->nedits > 0)
		effect->kind = EFFECT_SPLICE;
}

/* Apply a node where there is no value: objects are made for its path, if it ends in one. */
static void
create_child(UpdateRun *run, const UpdateNode *node, UpdateEffect *effect)
{
	PairList	pairs = {0};

	check_stack_depth();
	effect->kind = EFFECT_NONE;
	if (node->operation != NULL)
	{
		if (node->operation->operator->creates && !operation_idle(run, node->operation))
			node->operation->operator->apply(node->operation, run, NULL, effect);
		return;
	}
	if (node->nelements > 0)
		no_array(first_element_step(node), NULL);
	for (uint32 i = 0; i < node->nchildren; i++)
	{
		const UpdateNode *child = node->children[i];
		UpdateEffect inner;

		create_child(run, child, &inner);
		if (inner.kind == EFFECT_SET)
			pairs_append(&pairs, child->name, child->len, &inner.value);
	}
	if (pairs.n > 0)
	{
		effect->kind = EFFECT_SET;
		pairs_finish(&pairs, &effect->value);
	}
}

/*
 * The updated document, palloc'd; NULL if nothing changes.  With inserting, the
 * document is one that an upsert is about to insert.
 */
Jsonb *
update_apply(const DocUpdate *update, const JsonbValue *doc, bool inserting)
{
	UpdateRun	run = {0};
	JsonbSplice *splice;

	run.update = update;
	run.inserting = inserting;
	if (update->nrenames > 0)
		update_rename_lookup(&run, doc);
	splice = apply_object(&run, update->root, doc);
	return splice->nedits > 0 ? splice_apply(splice) : NULL;
}
