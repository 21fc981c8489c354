/*
 * jsonb/splice.c
 *		Says what is to be edited in a container: the input of the writer.
 *
 * A splice is a container with its edits, each of which takes the place of some
 * of its children.  The containers on the way to an edit are splices themselves,
 * so that the edits of a document form a tree, of only what changes.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "pattern.h"

/* The order of an object's edits: by place, new keys before the old child there. */
static int
compare_edits(const void *a, const void *b)
{
	const JsonbEdit *x = a;
	const JsonbEdit *y = b;

	CHECK_FOR_INTERRUPTS();
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if ((x->nremoved == 0 && x->within == NULL) != (y->nremoved == 0 && y->within == NULL))
		return x->nremoved == 0 && x->within == NULL ? -1 : 1;
	return key_compare(x->key.val.string.val, x->key.val.string.len,
					   y->key.val.string.val, y->key.val.string.len);
}

/* Put the edits in the order of their places; an array's are. */
void
splice_sort(JsonbSplice *splice)
{
	if (splice->in_order)
		return;
	Assert(JsonContainerIsObject(splice->container));
	qsort(splice->edits, splice->nedits, sizeof(JsonbEdit), compare_edits);
	splice->in_order = true;
}

/* Begin to edit a container that was read. */
JsonbSplice *
splice_begin(const JsonbValue *container)
{
	JsonbSplice *splice = palloc0(sizeof(JsonbSplice));

	Assert(container->type == jbvBinary);
	splice->container = container->val.binary.data;
	splice->container_len = container->val.binary.len;
	splice->in_order = true;
	return splice;
}

/* A new edit, all zeros but for its place. */
static JsonbEdit *
add_edit(JsonbSplice *splice, uint32 at)
{
	JsonbEdit  *edit;

	splice->edits = array_reserve(splice->edits, splice->nedits, &splice->maxedits, sizeof(JsonbEdit));
	edit = &splice->edits[splice->nedits++];
	memset(edit, 0, sizeof(JsonbEdit));
	edit->at = at;
	return edit;
}

/* Called when an object's edit is complete. */
static void
note_order(JsonbSplice *splice)
{
	JsonbEdit  *last = &splice->edits[splice->nedits - 1];

	if (splice->nedits > 1 && compare_edits(last - 1, last) > 0)
		splice->in_order = false;
}

/* Set a key of an object; the value is not copied.  Each key may be edited once. */
void
splice_put(JsonbSplice *splice, const char *key, int len, const JsonbValue *value)
{
	uint32		at;
	bool		found = container_find(splice->container, key, len, &at);
	JsonbEdit  *edit = add_edit(splice, at);

	edit->nremoved = found ? 1 : 0;
	edit->ninserted = 1;
	edit->value = *value;
	edit->key.type = jbvString;
	edit->key.val.string.val = unconstify(char *, key);
	edit->key.val.string.len = len;
	note_order(splice);
}

/* Remove a key of an object, if it is there. */
void
splice_drop(JsonbSplice *splice, const char *key, int len)
{
	uint32		at;

	if (!container_find(splice->container, key, len, &at))
		return;
	add_edit(splice, at)->nremoved = 1;
	note_order(splice);
}

/* Replace an array's element, or the value of an object's pair. */
void
splice_replace(JsonbSplice *splice, uint32 at, const JsonbValue *value)
{
	JsonbEdit  *edit = add_edit(splice, at);

	edit->nremoved = 1;
	edit->ninserted = 1;
	edit->value = *value;
	if (JsonContainerIsObject(splice->container))
		note_order(splice);
}

/* Remove n children.  An array's edits come in the order of their places. */
void
splice_remove(JsonbSplice *splice, uint32 at, uint32 n)
{
	if (JsonContainerIsArray(splice->container))
		add_edit(splice, at)->nremoved = n;
	else
		for (uint32 i = 0; i < n; i++)
		{
			/* one by one, as a new key may come between two of them */
			add_edit(splice, at + i)->nremoved = 1;
			note_order(splice);
		}
}

/* Insert elements before an array's element at; neither list nor values are copied. */
void
splice_insert(JsonbSplice *splice, uint32 at, JsonbValue *values, uint32 n)
{
	JsonbEdit  *edit = add_edit(splice, at);

	Assert(JsonContainerIsArray(splice->container));
	edit->ninserted = n;
	edit->values = values;
}

/* Edit a child that is a container by a splice that was begun for it. */
void
splice_nest(JsonbSplice *splice, uint32 at, JsonbSplice *inner)
{
	add_edit(splice, at)->within = inner;
	if (JsonContainerIsObject(splice->container))
		note_order(splice);
}

/* Edit a child that is a container; twice for the same child gives the same splice. */
JsonbSplice *
splice_within(JsonbSplice *splice, uint32 at)
{
	JsonbValue	child;
	JsonbSplice *inner;

	for (int i = (int) splice->nedits - 1; i >= 0; i--)
	{
		if (splice->edits[i].at == at && splice->edits[i].within != NULL)
			return splice->edits[i].within;
		if (splice->in_order && splice->edits[i].at < at)
			break;
	}
	container_value(splice->container, at, &child);
	inner = splice_begin(&child);
	splice_nest(splice, at, inner);
	return inner;
}

/* The value wrapped in an object for each step from `from` on. */
static void
wrap_value(const DocPath *path, int from, const JsonbValue *value, JsonbValue *result)
{
	*result = *value;
	for (int i = path->nsteps - 1; i >= from; i--)
	{
		PairList	pairs = {0};

		pairs_append(&pairs, path->steps[i].name, path->steps[i].len, result);
		pairs_finish(&pairs, result);
	}
}

static void
path_blocked(const DocPath *path, int step, const JsonbValue *found)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("cannot reach \"%s\" in the document", path_to_cstring(path, path->nsteps)),
			 errdetail("The value at \"%s\" is of type %s: %s.", path_to_cstring(path, step),
					   value_type_name(found), value_to_cstring(found))));
}

/*
 * Follows a path as far as containers exist, editing them.  Returns the step at
 * which the innermost of them, *splice, is entered.  22023 if a scalar, or an
 * array that is not given an index, is in the way.
 */
static int
path_descend(JsonbSplice **splice, const DocPath *path)
{
	for (int i = 0;; i++)
	{
		const PathStep *step = &path->steps[i];
		const JsonbContainer *container = (*splice)->container;
		JsonbValue	found;
		uint32		at = step->index;

		if (JsonContainerIsArray(container))
		{
			if (step->index < 0)
			{
				value_from_container(container, (*splice)->container_len, &found);
				path_blocked(path, i, &found);
			}
			if (at >= JsonContainerSize(container))
				return i;
		}
		else if (!container_find(container, step->name, step->len, &at))
			return i;
		if (i == path->nsteps - 1)
			return i;
		container_value(container, at, &found);
		if (found.type != jbvBinary)
			path_blocked(path, i + 1, &found);
		*splice = splice_within(*splice, at);
	}
}

/*
 * 2202E if too many nulls would have to be put behind count elements before the
 * one at index; the limit is MongoDB's.
 */
void
splice_check_padding(uint32 count, int32 index, const char *path)
{
	const int	max_padding = 1500000;

	if (index - (int64) count > max_padding)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("cannot set \"%s\" in an array of %u elements", path, count),
				 errdetail("At most %d nulls are put before a new element.", max_padding)));
}

/*
 * Set the value at a path, which must have steps; objects are made where it is
 * missing, and nulls up to an index.  No two paths may share a missing parent.
 * 22023 if a scalar is in the way, 54000 for an index far behind the end.
 */
void
path_put(JsonbSplice *root, const DocPath *path, const JsonbValue *value)
{
	int			i = path_descend(&root, path);
	const PathStep *step = &path->steps[i];
	JsonbValue	wrapped;

	wrap_value(path, i + 1, value, &wrapped);
	if (JsonContainerIsObject(root->container))
		splice_put(root, step->name, step->len, &wrapped);
	else if ((uint32) step->index < JsonContainerSize(root->container))
		splice_replace(root, step->index, &wrapped);
	else
	{
		uint32		count = JsonContainerSize(root->container);
		uint32		n = step->index - count + 1;
		JsonbValue *values;

		splice_check_padding(count, step->index, path_to_cstring(path, i + 1));
		values = palloc(n * sizeof(JsonbValue));
		for (uint32 j = 0; j + 1 < n; j++)
			values[j].type = jbvNull;
		values[n - 1] = wrapped;
		splice_insert(root, count, values, n);
	}
}

/* Edit the container at a path, which must be there. */
JsonbSplice *
path_within(JsonbSplice *root, const DocPath *path)
{
	for (int i = 0; i < path->nsteps; i++)
	{
		const PathStep *step = &path->steps[i];
		uint32		at = step->index;

		if (JsonContainerIsObject(root->container) &&
			!container_find(root->container, step->name, step->len, &at))
			elog(ERROR, "path is not in the document");
		root = splice_within(root, at);
	}
	return root;
}
