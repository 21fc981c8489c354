/*
 * fuzz_write.c
 *		jsonb/write.c against what core builds, byte for byte.
 *
 * A document is edited twice at once: as bytes by a splice, and as a tree by the
 * most obvious code, which core then makes into jsonb.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "fuzz.h"

#define MAX_DEPTH 100

extern void fuzz_write_once(Fuzz *fuzz);
extern void fuzz_tree_once(Fuzz *fuzz);

static Tree *edit_container(Fuzz *fuzz, const Tree *tree, JsonbSplice *splice);

/* A new child, with a value to be written for it. */
static Tree *
random_child(Fuzz *fuzz, JsonbValue *value)
{
	Tree	   *tree;

	fuzz->budget = Max(fuzz->budget, 20);
	tree = tree_random(fuzz, 5);
	tree_to_value(fuzz, tree, value);
	return tree;
}

static bool
is_container(const Tree *tree)
{
	return tree->type == jbvArray || tree->type == jbvObject;
}

/* Up to three elements inserted before an array's element at. */
static void
insert_elements(Fuzz *fuzz, Tree *result, JsonbSplice *splice, int at)
{
	ValueList	list = {0};
	uint32		n = one_in(fuzz, 20) ? below(fuzz, 70) : below(fuzz, 4);

	for (uint32 i = 0; i < n; i++)
	{
		JsonbValue	value;

		tree_append(result, NULL, random_child(fuzz, &value));
		values_append(&list, &value);
	}
	appendStringInfo(&fuzz->log, "insert %u at %d; ", n, at);
	splice_insert(splice, at, list.values, n);
}

/* The splice of a child, made in either way. */
static JsonbSplice *
begin_within(Fuzz *fuzz, JsonbSplice *splice, int at)
{
	JsonbValue	child;
	JsonbSplice *inner;

	if (!one_in(fuzz, 4))
		return splice_within(splice, at);
	container_value(splice->container, at, &child);
	inner = splice_begin(&child);
	splice_nest(splice, at, inner);
	return inner;
}

/* How many children to remove of those that are left: few, or any number. */
static int
random_run(Fuzz *fuzz, int left)
{
	return 1 + below(fuzz, one_in(fuzz, 4) ? left : Min(left, 2));
}

/* An array's edits come in the order of their places. */
static Tree *
edit_array(Fuzz *fuzz, const Tree *tree, JsonbSplice *splice)
{
	Tree	   *result = tree_new(jbvArray);
	int			sparse = 1 + below(fuzz, one_in(fuzz, 2) ? 4 : tree->n + 4);

	for (int i = 0; i <= tree->n; i++)
	{
		JsonbValue	value;
		int			n;

		if (one_in(fuzz, sparse))
			insert_elements(fuzz, result, splice, i);
		if (i == tree->n)
			break;
		if (!one_in(fuzz, sparse))
			tree_append(result, NULL, tree->children[i]);
		else if (is_container(tree->children[i]) && !one_in(fuzz, 3))
		{
			appendStringInfo(&fuzz->log, "within %d {", i);
			tree_append(result, NULL, edit_container(fuzz, tree->children[i],
													 begin_within(fuzz, splice, i)));
			appendStringInfoString(&fuzz->log, "}; ");
		}
		else if (one_in(fuzz, 2))
		{
			appendStringInfo(&fuzz->log, "replace %d; ", i);
			tree_append(result, NULL, random_child(fuzz, &value));
			splice_replace(splice, i, &value);
		}
		else
		{
			n = random_run(fuzz, tree->n - i);
			appendStringInfo(&fuzz->log, "remove %d at %d; ", n, i);
			splice_remove(splice, i, n);
			i += n - 1;
		}
	}
	return result;
}

typedef enum ObjectOp
{
	OP_PUT,						/* an old key or a new one */
	OP_REPLACE,
	OP_DROP,					/* a key that is there or not */
	OP_REMOVE,
	OP_WITHIN
} ObjectOp;

typedef struct ObjectEdit
{
	ObjectOp	op;
	int			at;				/* the old pair, or -1 */
	int			n;				/* pairs to remove */
	Tree	   *key;
} ObjectEdit;

/* An object while its edits are made. */
typedef struct ObjectEdits
{
	JsonbSplice *splice;
	JsonbSplice **withins;		/* the old pairs' splices, where they have one */
	Tree	  **children;		/* the old pairs' new values, NULL if removed */
	Tree	   *added;			/* the new pairs */
} ObjectEdits;

/* Make one edit of an object. */
static void
edit_pair(Fuzz *fuzz, const Tree *tree, const ObjectEdit *edit, ObjectEdits *object)
{
	JsonbValue *value = palloc(sizeof(JsonbValue));
	Tree	   *child;
	JsonbSplice *within;

	switch (edit->op)
	{
		case OP_PUT:
			appendStringInfo(&fuzz->log, "put %s; ", edit->key->string);
			child = random_child(fuzz, value);
			splice_put(object->splice, edit->key->string, edit->key->len, value);
			if (edit->at >= 0)
				object->children[edit->at] = child;
			else
				tree_append(object->added, edit->key, child);
			break;
		case OP_REPLACE:
			appendStringInfo(&fuzz->log, "replace %d; ", edit->at);
			object->children[edit->at] = random_child(fuzz, value);
			splice_replace(object->splice, edit->at, value);
			break;
		case OP_DROP:
			appendStringInfo(&fuzz->log, "drop %s; ", edit->key->string);
			splice_drop(object->splice, edit->key->string, edit->key->len);
			if (edit->at >= 0)
				object->children[edit->at] = NULL;
			break;
		case OP_REMOVE:
			appendStringInfo(&fuzz->log, "remove %d at %d; ", edit->n, edit->at);
			splice_remove(object->splice, edit->at, edit->n);
			for (int i = 0; i < edit->n; i++)
				object->children[edit->at + i] = NULL;
			break;
		case OP_WITHIN:
			/* in two goes, which must reach the same splice */
			if (object->withins[edit->at] == NULL)
			{
				within = begin_within(fuzz, object->splice, edit->at);
				object->withins[edit->at] = within;
				appendStringInfo(&fuzz->log, "within %d {", edit->at);
				object->children[edit->at] = edit_container(fuzz, tree->children[edit->at],
															within);
				appendStringInfoString(&fuzz->log, "}; ");
			}
			else
				appendStringInfo(&fuzz->log, "within %d again; ", edit->at);
			fuzz_check(fuzz, splice_within(object->splice, edit->at) == object->withins[edit->at],
					   "splice_within: another splice for the same child");
			break;
	}
}

/* An object's edits come in any order, one a key. */
static Tree *
edit_object(Fuzz *fuzz, const Tree *tree, JsonbSplice *splice)
{
	int			sparse = 1 + below(fuzz, one_in(fuzz, 2) ? 4 : tree->n + 4);
	int			nnew = one_in(fuzz, 20) ? below(fuzz, 70) : below(fuzz, 5);
	Tree	  **children = palloc((tree->n + 1) * sizeof(Tree *));
	ObjectEdits object = {0};
	ObjectEdit *edits = palloc0((2 * tree->n + nnew) * sizeof(ObjectEdit));
	int			nedits = 0;
	Tree	   *planned = tree_new(jbvObject);

	object.splice = splice;
	object.withins = palloc0((tree->n + 1) * sizeof(JsonbSplice *));
	object.children = children;
	object.added = tree_new(jbvObject);

	/* what to do */
	for (int i = 0; i < tree->n; i++)
	{
		ObjectEdit *edit = &edits[nedits];

		children[i] = tree->children[i];
		if (!one_in(fuzz, sparse))
			continue;
		nedits++;
		edit->at = i;
		edit->key = tree->keys[i];
		edit->n = 1;
		if (is_container(tree->children[i]) && one_in(fuzz, 2))
		{
			edit->op = OP_WITHIN;
			if (one_in(fuzz, 2))
				edits[nedits++] = *edit;
			continue;
		}
		edit->op = below(fuzz, OP_WITHIN);
		if (edit->op == OP_REMOVE)
		{
			edit->n = random_run(fuzz, tree->n - i);
			for (int j = 1; j < edit->n; j++, i++)
				children[i + 1] = tree->children[i + 1];
		}
	}
	for (int i = 0; i < nnew; i++)
	{
		Tree	   *key = tree_random_key(fuzz);

		if (tree_find(tree, key) >= 0 || tree_find(planned, key) >= 0)
			continue;
		tree_append(planned, key, key);
		edits[nedits].op = one_in(fuzz, 8) ? OP_DROP : OP_PUT;
		edits[nedits].at = -1;
		edits[nedits++].key = key;
	}

	/* in random order, mostly */
	for (int i = one_in(fuzz, 4) ? 0 : nedits - 1; i > 0; i--)
	{
		int			j = below(fuzz, i + 1);
		ObjectEdit	swap = edits[i];

		edits[i] = edits[j];
		edits[j] = swap;
	}
	for (int i = 0; i < nedits; i++)
		edit_pair(fuzz, tree, &edits[i], &object);

	for (int i = 0; i < tree->n; i++)
		if (children[i] != NULL)
			tree_append(object.added, tree->keys[i], children[i]);
	return object.added;
}

/* Plan random edits in the splice; returns the tree that they should give. */
static Tree *
edit_container(Fuzz *fuzz, const Tree *tree, JsonbSplice *splice)
{
	if (one_in(fuzz, 30))
		return unconstify(Tree *, tree);	/* no edits at all */
	if (tree->type == jbvArray)
		return edit_array(fuzz, tree, splice);
	return edit_object(fuzz, tree, splice);
}

/* The same in a container somewhere in the document. */
static Tree *
edit_below(Fuzz *fuzz, Tree *tree, JsonbSplice *splice)
{
	Tree	  **place = &tree;
	Datum		steps[MAX_DEPTH];
	int			n = 0;

	while ((*place)->n > 0 && n < MAX_DEPTH && !one_in(fuzz, 8))
	{
		Tree	   *outer = *place;
		int			at = below(fuzz, outer->n);

		if (!is_container(outer->children[at]))
			continue;
		steps[n++] = outer->type == jbvArray ? CStringGetTextDatum(psprintf("%d", at)) :
			PointerGetDatum(cstring_to_text_with_len(outer->keys[at]->string, outer->keys[at]->len));
		appendStringInfo(&fuzz->log, "below %d: ", at);
		place = &outer->children[at];
	}
	*place = edit_container(fuzz, *place, path_within(splice, path_from_texts(steps, NULL, n)));
	return tree;
}

/* Splices, several in a row on what the one before wrote. */
void
fuzz_write_once(Fuzz *fuzz)
{
	Jsonb	   *jb = tree_to_jsonb(tree_random_container(fuzz));

	for (int rounds = 1 + below(fuzz, 3); rounds > 0; rounds--)
	{
		Tree	   *tree = tree_from_jsonb(jb);
		Jsonb	   *before = palloc(VARSIZE(jb));
		JsonbValue	root;
		JsonbSplice *splice;
		Tree	   *expected;
		Jsonb	   *got;

		memcpy(before, jb, VARSIZE(jb));
		fuzz->document = before;
		resetStringInfo(&fuzz->log);
		value_from_jsonb(jb, &root);
		splice = splice_begin(&root);
		expected = one_in(fuzz, 4) ? edit_below(fuzz, tree, splice) :
			edit_container(fuzz, tree, splice);
		got = splice_apply(splice);
		fuzz_check_bytes(fuzz, jb, before, "splice_apply wrote into its argument");
		fuzz_check_bytes(fuzz, got, tree_to_jsonb(expected), "splice_apply");
		jb = got;
	}
}

/* Whole values: scalars, trees, and trees with binary parts. */
void
fuzz_tree_once(Fuzz *fuzz)
{
	Tree	   *tree = tree_random(fuzz, 0);
	Jsonb	   *expected = tree_to_jsonb(tree);
	JsonbValue	value;

	fuzz->document = expected;
	tree_to_value(fuzz, tree, &value);
	fuzz_check_bytes(fuzz, value_to_jsonb(&value), expected, "value_to_jsonb");
	value_pack(&value);
	fuzz_check(fuzz, value.type != jbvArray && value.type != jbvObject, "value_pack: still a tree");
	fuzz_check_bytes(fuzz, value_to_jsonb(&value), expected, "value_pack");
}
