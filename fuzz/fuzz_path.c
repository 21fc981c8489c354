/*
 * fuzz_path.c
 *		jsonb/path.c, and path_put, against steps taken one by one.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "fuzz.h"

#define MAX_STEPS 80

extern void fuzz_path_once(Fuzz *fuzz);
extern void fuzz_put_once(Fuzz *fuzz);

/* A path as it grows. */
typedef struct Steps
{
	int			n;
	Tree	   *names[MAX_STEPS];
} Steps;

static void
add_step(Fuzz *fuzz, Steps *steps, Tree *name)
{
	steps->names[steps->n++] = name;
	appendStringInfo(&fuzz->log, "%s/", name->string);
}

static Tree *
index_name(Fuzz *fuzz, int index)
{
	char	   *digits = psprintf(one_in(fuzz, 8) ? "0%d" : "%d", index);

	return tree_string(digits, strlen(digits));
}

/* The index that a name stands for, or -1. */
static int
name_index(const Tree *name)
{
	int			index = 0;

	for (int i = 0; i < name->len; i++)
	{
		if (!isdigit((unsigned char) name->string[i]))
			return -1;
		index = index * 10 + name->string[i] - '0';
	}
	return name->len > 0 && name->len < 9 ? index : -1;
}

/* The path made of the steps, in a way by chance. */
static DocPath *
steps_to_path(Fuzz *fuzz, const Steps *steps)
{
	StringInfoData buf;
	Datum		texts[MAX_STEPS];
	bool		quoted = one_in(fuzz, 2);
	bool		dotted = steps->n > 0 && one_in(fuzz, 2);

	initStringInfo(&buf);
	for (int i = 0; i < steps->n; i++)
	{
		const Tree *name = steps->names[i];
		bool		special = memchr(name->string, '.', name->len) != NULL ||
			(quoted && name->len > 0 && name->string[0] == '"');

		texts[i] = PointerGetDatum(cstring_to_text_with_len(name->string, name->len));
		if (name->len == 0 || (special && !quoted))
			dotted = false;		/* cannot be written so */
		if (i > 0)
			appendStringInfoChar(&buf, '.');
		if (quoted && (special || one_in(fuzz, 2)))
		{
			appendStringInfoChar(&buf, '"');
			for (int j = 0; j < name->len; j++)
			{
				if (name->string[j] == '"')
					appendStringInfoChar(&buf, '"');
				appendStringInfoChar(&buf, name->string[j]);
			}
			appendStringInfoChar(&buf, '"');
		}
		else
			appendBinaryStringInfo(&buf, name->string, name->len);
	}
	if (dotted)
		return path_parse(buf.data, buf.len, quoted);
	return path_from_texts(texts, NULL, steps->n);
}

static void
check_steps(Fuzz *fuzz, const Steps *steps, const DocPath *path)
{
	fuzz_check(fuzz, path->nsteps == steps->n, "another number of steps");
	for (int i = 0; i < steps->n; i++)
		fuzz_check(fuzz, path->steps[i].len == steps->names[i]->len &&
				   memcmp(path->steps[i].name, steps->names[i]->string, path->steps[i].len) == 0 &&
				   path->steps[i].index == name_index(steps->names[i]),
				   "another step than was written");
}

/* What stands at a step, or NULL. */
static Tree *
take_step(const Tree *tree, const Tree *name)
{
	int			at = -1;

	if (tree->type == jbvObject)
		at = tree_find(tree, name);
	else if (tree->type == jbvArray)
		at = name_index(name);
	return at >= 0 && at < tree->n ? tree->children[at] : NULL;
}

/* path_parse, path_from_texts and path_get. */
void
fuzz_path_once(Fuzz *fuzz)
{
	Tree	   *tree = tree_random(fuzz, 0);
	Jsonb	   *jb = tree_to_jsonb(tree);
	JsonbValue	root,
				found;
	Steps		steps = {0};
	DocPath    *path;
	bool		exists;

	fuzz->document = jb;
	while (steps.n < MAX_STEPS - 1 && !one_in(fuzz, 12))
	{
		Tree	   *name = tree_random_key(fuzz);

		if (tree != NULL && tree->type == jbvArray && !one_in(fuzz, 8))
			name = index_name(fuzz, below(fuzz, tree->n + 1));
		else if (tree != NULL && tree->type == jbvObject && tree->n > 0 && !one_in(fuzz, 8))
			name = tree->keys[below(fuzz, tree->n)];
		add_step(fuzz, &steps, name);
		if (tree != NULL)
			tree = take_step(tree, name);
	}
	path = steps_to_path(fuzz, &steps);
	check_steps(fuzz, &steps, path);
	value_from_jsonb(jb, &root);
	exists = path_get(path, &root, &found);
	fuzz_check(fuzz, exists == (tree != NULL), "path_get: found and missing are confused");
	if (exists)
		fuzz_check_bytes(fuzz, value_to_jsonb(&found), tree_to_jsonb(tree), "path_get");
}

/* Put the value there, in objects made for some more steps. */
static Tree *
wrap_value(Fuzz *fuzz, Steps *steps, Tree *value)
{
	int			first = steps->n;

	while (steps->n < MAX_STEPS && one_in(fuzz, 2))
		add_step(fuzz, steps, tree_random_key(fuzz));
	for (int i = steps->n - 1; i >= first; i--)
	{
		Tree	   *outer = tree_new(jbvObject);

		tree_append(outer, steps->names[i], value);
		value = outer;
	}
	value->closed = true;
	return value;
}

/*
 * Choose a path on which path_put is defined after those before it, and put the
 * value there; false if none was met.
 */
static bool
put_somewhere(Fuzz *fuzz, Tree *tree, Tree *value, Steps *steps)
{
	for (;;)
	{
		Tree	   *child;
		Tree	   *name;
		int			at;

		if (tree->type == jbvArray)
		{
			/* an array's edits come in order, and end with what is appended */
			if (tree->low > tree->n)
				return false;
			at = tree->low + below(fuzz, tree->n - tree->low + 3);
			name = index_name(fuzz, at);
			tree->low = at;
		}
		else
		{
			name = tree->n > 0 && !one_in(fuzz, 3) ?
				tree->keys[below(fuzz, tree->n)] : tree_random_key(fuzz);
			at = tree_find(tree, name);
		}
		add_step(fuzz, steps, name);

		if (at < 0)
		{
			tree_append(tree, name, wrap_value(fuzz, steps, value));
			return true;
		}
		if (at >= tree->n)
		{
			while (tree->n < at)
				tree_append(tree, NULL, tree_new(jbvNull));
			tree_append(tree, NULL, wrap_value(fuzz, steps, value));
			tree->low = tree->n + 1;
			return true;
		}
		child = tree->children[at];
		if (child->closed)
			return false;
		if ((child->type != jbvArray && child->type != jbvObject) ||
			(!child->entered && one_in(fuzz, 4)))
		{
			tree->children[at] = value;
			value->closed = true;
			tree->low = at + 1;
			return true;
		}
		child->entered = true;
		tree = child;
	}
}

/* Several path_puts into one document. */
void
fuzz_put_once(Fuzz *fuzz)
{
	Jsonb	   *jb = tree_to_jsonb(tree_random_container(fuzz));
	Tree	   *tree = tree_from_jsonb(jb);
	JsonbValue	root;
	JsonbSplice *splice;
	JsonbValue	found;
	DocPath    *path = NULL;
	Jsonb	   *got;
	Jsonb	   *last = NULL;

	fuzz->document = jb;
	value_from_jsonb(jb, &root);
	splice = splice_begin(&root);
	for (int i = 1 + below(fuzz, 8); i > 0; i--)
	{
		Steps		steps = {0};
		Tree	   *value;
		JsonbValue *written = palloc(sizeof(JsonbValue));

		fuzz->budget = Max(fuzz->budget, 20);
		value = tree_random(fuzz, 5);
		if (put_somewhere(fuzz, tree, value, &steps))
		{
			path = steps_to_path(fuzz, &steps);
			tree_to_value(fuzz, value, written);
			path_put(splice, path, written);
			last = tree_to_jsonb(value);
		}
		appendStringInfoString(&fuzz->log, "; ");
	}
	got = splice_apply(splice);
	fuzz_check_bytes(fuzz, got, tree_to_jsonb(tree), "path_put");
	if (path != NULL)
	{
		value_from_jsonb(got, &root);
		fuzz_check(fuzz, path_get(path, &root, &found), "path_put: nothing is there afterwards");
		fuzz_check_bytes(fuzz, value_to_jsonb(&found), last, "path_put: another value is there");
	}
}
