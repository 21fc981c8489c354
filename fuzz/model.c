/*
 * model.c
 *		Documents as trees: made at random, made into jsonb and back by
 *		core, handed to the floor in all forms it accepts.
 *
 * The random documents are not uniform.  They prefer what is near the corners
 * of the format: containers about as wide as a multiple of the offset stride,
 * children of no length, keys that differ in one byte, numbers of every length
 * modulo four.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "fuzz.h"

Tree *
tree_new(enum jbvType type)
{
	Tree	   *tree = palloc0(sizeof(Tree));

	tree->type = type;
	return tree;
}

Tree *
tree_string(const char *s, int len)
{
	Tree	   *tree = tree_new(jbvString);

	tree->string = pnstrdup(s, len);
	tree->len = len;
	return tree;
}

static Tree *
tree_number(const char *text)
{
	Tree	   *tree = tree_new(jbvNumeric);

	tree->number = DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text),
													   ObjectIdGetDatum(InvalidOid),
													   Int32GetDatum(-1)));
	return tree;
}

/* key is NULL in an array */
void
tree_append(Tree *container, Tree *key, Tree *child)
{
	if (container->n == container->max)
	{
		Size		size = (container->max = container->max * 2 + 8) * sizeof(Tree *);

		container->children = container->children ? repalloc(container->children, size) : palloc(size);
		if (container->type == jbvObject)
			container->keys = container->keys ? repalloc(container->keys, size) : palloc(size);
	}
	if (container->type == jbvObject)
		container->keys[container->n] = key;
	container->children[container->n++] = child;
}

bool
tree_key_equal(const Tree *a, const Tree *b)
{
	return a->len == b->len && memcmp(a->string, b->string, a->len) == 0;
}

/* The last pair with the key, or -1. */
int
tree_find(const Tree *object, const Tree *key)
{
	for (int i = object->n - 1; i >= 0; i--)
		if (tree_key_equal(object->keys[i], key))
			return i;
	return -1;
}

/*
 * Random documents
 */
static void
append_character(Fuzz *fuzz, StringInfo buf)
{
	unsigned char utf8[8] = {0};
	pg_wchar	c;

	switch (fuzz->unicode ? below(fuzz, 8) : 0)
	{
		case 1:
			c = 0x80 + below(fuzz, 0x800 - 0x80);
			break;
		case 2:
			c = 0x800 + below(fuzz, 0xD800 - 0x800);
			break;
		case 3:
			c = 0x10000 + below(fuzz, 0x100000);
			break;
		default:
			c = one_in(fuzz, 8) ? 1 + below(fuzz, 127) : 'a' + below(fuzz, 4);
			break;
	}
	unicode_to_utf8(c, utf8);
	appendBinaryStringInfo(buf, (char *) utf8, pg_utf_mblen(utf8));
}

static Tree *
random_string(Fuzz *fuzz, int length)
{
	StringInfoData buf;

	initStringInfo(&buf);
	while (length-- > 0)
		append_character(fuzz, &buf);
	return tree_string(buf.data, buf.len);
}

static Tree *
random_number(Fuzz *fuzz)
{
	StringInfoData buf;
	int			digits = one_in(fuzz, 16) ? below(fuzz, 200) : below(fuzz, 12);

	initStringInfo(&buf);
	if (one_in(fuzz, 3))
		appendStringInfoChar(&buf, '-');
	appendStringInfo(&buf, "%u", below(fuzz, 4));
	while (digits-- > 0)
		appendStringInfoChar(&buf, one_in(fuzz, 3) ? '0' : '0' + below(fuzz, 10));
	if (one_in(fuzz, 3))
	{
		appendStringInfoChar(&buf, '.');
		for (digits = 1 + below(fuzz, one_in(fuzz, 16) ? 100 : 8); digits > 0; digits--)
			appendStringInfoChar(&buf, one_in(fuzz, 3) ? '0' : '0' + below(fuzz, 10));
	}
	if (one_in(fuzz, 8))
		appendStringInfo(&buf, "e%d", (int) below(fuzz, 200) - 100);
	return tree_number(buf.data);
}

Tree *
tree_random_scalar(Fuzz *fuzz)
{
	Tree	   *tree;

	switch (below(fuzz, 6))
	{
		case 0:
			return tree_new(jbvNull);
		case 1:
			tree = tree_new(jbvBool);
			tree->boolean = one_in(fuzz, 2);
			return tree;
		case 2:
		case 3:
			return random_string(fuzz, one_in(fuzz, 20) ? below(fuzz, 400) : below(fuzz, 9));
		default:
			return random_number(fuzz);
	}
}

/* Short, from few letters: keys of the same length, and the same keys, are frequent. */
Tree *
tree_random_key(Fuzz *fuzz)
{
	if (one_in(fuzz, 40))
		return random_string(fuzz, 100 + below(fuzz, 200));
	if (one_in(fuzz, 16))
	{
		char	   *digits = psprintf("%u", below(fuzz, 12));

		return tree_string(digits, strlen(digits));
	}
	return random_string(fuzz, below(fuzz, 6));
}

static int
random_count(Fuzz *fuzz, int depth)
{
	int			count;

	switch (below(fuzz, 12))
	{
		case 0:
			count = 0;
			break;
		case 1:
			count = 1;
			break;
		case 2:
			count = JB_OFFSET_STRIDE * (1 + below(fuzz, 2)) - 4 + below(fuzz, 9);
			break;
		case 3:
			count = depth == 0 ? 3 * JB_OFFSET_STRIDE + below(fuzz, 300) : below(fuzz, 20);
			break;
		default:
			count = below(fuzz, 9);
			break;
	}
	return Min(count, Max(fuzz->budget, 0));
}

static Tree *
random_container(Fuzz *fuzz, enum jbvType type, int depth)
{
	Tree	   *tree = tree_new(type);
	int			count = random_count(fuzz, depth);
	int			style = below(fuzz, 6);

	fuzz->budget -= count;
	for (int i = 0; i < count; i++)
	{
		Tree	   *child;

		if (style == 0)
			child = tree_new(one_in(fuzz, 2) ? jbvNull : jbvBool);
		else if (style == 1)
			child = random_string(fuzz, below(fuzz, 4));
		else if (style == 2)
			child = random_number(fuzz);
		else
			child = tree_random(fuzz, depth + 1);
		tree_append(tree, type == jbvObject ? tree_random_key(fuzz) : NULL, child);
	}
	return tree;
}

/* Any value. */
Tree *
tree_random(Fuzz *fuzz, int depth)
{
	int			levels;
	Tree	   *tree;

	if (depth > 8 || fuzz->budget <= 0 || one_in(fuzz, 2))
		return tree_random_scalar(fuzz);
	tree = random_container(fuzz, one_in(fuzz, 2) ? jbvObject : jbvArray, depth);
	if (depth > 0 && !one_in(fuzz, 50))
		return tree;
	/* now and then, far below the root */
	for (levels = one_in(fuzz, 10) ? below(fuzz, 60) : 0; levels > 0; levels--)
	{
		Tree	   *outer = tree_new(one_in(fuzz, 2) ? jbvObject : jbvArray);

		tree_append(outer, tree_random_key(fuzz), tree);
		tree = outer;
	}
	return tree;
}

/* An array or an object. */
Tree *
tree_random_container(Fuzz *fuzz)
{
	return random_container(fuzz, one_in(fuzz, 2) ? jbvObject : jbvArray, 0);
}

/* A value that differs in few places, or only in how its numbers are written. */
Tree *
tree_mutate(Fuzz *fuzz, const Tree *tree)
{
	Tree	   *copy;

	if (one_in(fuzz, 30))
		return tree_random(fuzz, 4);
	switch (tree->type)
	{
		case jbvString:
			if (one_in(fuzz, 12))
			{
				StringInfoData buf;

				initStringInfo(&buf);
				appendBinaryStringInfo(&buf, tree->string, tree->len);
				append_character(fuzz, &buf);
				return tree_string(buf.data, buf.len);
			}
			return tree_string(tree->string, tree->len);
		case jbvNumeric:
			copy = tree_new(jbvNumeric);
			/* the same number with another scale */
			copy->number = one_in(fuzz, 3) ?
				number_add(tree->number, tree_number("0.000")->number) : tree->number;
			if (one_in(fuzz, 12))
				copy->number = number_add(tree->number, tree_number("0.5")->number);
			return copy;
		case jbvArray:
		case jbvObject:
			copy = tree_new(tree->type);
			for (int i = 0; i < tree->n; i++)
			{
				Tree	   *key = tree->type == jbvObject ? tree->keys[i] : NULL;

				if (one_in(fuzz, 60))
					continue;
				if (key != NULL && one_in(fuzz, 60))
					key = tree_random_key(fuzz);
				tree_append(copy, key, tree_mutate(fuzz, tree->children[i]));
			}
			return copy;
		default:
			copy = tree_new(tree->type);
			copy->boolean = tree->boolean;
			return copy;
	}
}

/*
 * To jsonb and back, by core
 */
void
tree_scalar_value(const Tree *tree, JsonbValue *value)
{
	value->type = tree->type;
	switch (tree->type)
	{
		case jbvString:
			value->val.string.val = tree->string;
			value->val.string.len = tree->len;
			break;
		case jbvNumeric:
			value->val.numeric = tree->number;
			break;
		case jbvBool:
			value->val.boolean = tree->boolean;
			break;
		default:
			Assert(tree->type == jbvNull);
			break;
	}
}

static JsonbValue *
push_tree(JsonbParseState **state, const Tree *tree, JsonbIteratorToken token)
{
	JsonbValue	value;

	if (tree->type == jbvArray)
	{
		pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
		for (int i = 0; i < tree->n; i++)
			push_tree(state, tree->children[i], WJB_ELEM);
		return pushJsonbValue(state, WJB_END_ARRAY, NULL);
	}
	if (tree->type == jbvObject)
	{
		pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
		for (int i = 0; i < tree->n; i++)
		{
			push_tree(state, tree->keys[i], WJB_KEY);
			push_tree(state, tree->children[i], WJB_VALUE);
		}
		return pushJsonbValue(state, WJB_END_OBJECT, NULL);
	}
	tree_scalar_value(tree, &value);
	return pushJsonbValue(state, token, &value);
}

Jsonb *
tree_to_jsonb(const Tree *tree)
{
	JsonbParseState *state = NULL;
	JsonbValue	scalar;

	if (tree->type == jbvArray || tree->type == jbvObject)
		return JsonbValueToJsonb(push_tree(&state, tree, WJB_ELEM));
	tree_scalar_value(tree, &scalar);
	return JsonbValueToJsonb(&scalar);
}

/* The value that the iterator has just returned. */
static Tree *
read_tree(JsonbIterator **it, JsonbIteratorToken token, JsonbValue *value)
{
	Tree	   *tree;
	Tree	   *key = NULL;
	JsonbIteratorToken end = token == WJB_BEGIN_ARRAY ? WJB_END_ARRAY : WJB_END_OBJECT;

	if (token != WJB_BEGIN_ARRAY && token != WJB_BEGIN_OBJECT)
	{
		if (value->type == jbvString)
			return tree_string(value->val.string.val, value->val.string.len);
		tree = tree_new(value->type);
		if (value->type == jbvNumeric)
			tree->number = value->val.numeric;
		else if (value->type == jbvBool)
			tree->boolean = value->val.boolean;
		return tree;
	}
	tree = tree_new(token == WJB_BEGIN_ARRAY ? jbvArray : jbvObject);
	while ((token = JsonbIteratorNext(it, value, false)) != end)
	{
		if (token == WJB_KEY)
			key = tree_string(value->val.string.val, value->val.string.len);
		else
			tree_append(tree, key, read_tree(it, token, value));
	}
	return tree;
}

Tree *
tree_from_jsonb(Jsonb *jb)
{
	JsonbIterator *it = JsonbIteratorInit(&jb->root);
	JsonbValue	value;
	JsonbIteratorToken token = JsonbIteratorNext(&it, &value, false);
	bool		scalar = token == WJB_BEGIN_ARRAY && value.val.array.rawScalar;
	Tree	   *tree = read_tree(&it, token, &value);

	return scalar ? tree->children[0] : tree;
}

/*
 * The tree as a value to be written, in a form by chance: what was read from a
 * document of its own, or out of the middle of another, or a tree.
 */
void
tree_to_value(Fuzz *fuzz, const Tree *tree, JsonbValue *value)
{
	Jsonb	   *jb;

	if (tree->type != jbvArray && tree->type != jbvObject)
		tree_scalar_value(tree, value);
	else if (one_in(fuzz, 3))
	{
		jb = tree_to_jsonb(tree);
		value_from_jsonb(jb, value);
	}
	else if (one_in(fuzz, 2))
	{
		Tree	   *outer = tree_new(jbvArray);

		tree_append(outer, NULL, random_string(fuzz, below(fuzz, 5)));
		tree_append(outer, NULL, unconstify(Tree *, tree));
		jb = tree_to_jsonb(outer);
		container_value(&jb->root, 1, value);
	}
	else if (tree->type == jbvArray)
	{
		ValueList	list = {0};

		for (int i = 0; i < tree->n; i++)
		{
			JsonbValue	child;

			tree_to_value(fuzz, tree->children[i], &child);
			values_append(&list, &child);
		}
		values_finish(&list, value);
	}
	else
	{
		PairList	list = {0};

		for (int i = 0; i < tree->n; i++)
		{
			JsonbValue	child;

			/* a key's last value counts */
			if (one_in(fuzz, 8))
			{
				Tree	   *key = tree->keys[below(fuzz, tree->n)];

				if (tree_find(tree, key) >= i)
				{
					value_from_bool(true, &child);
					pairs_append(&list, key->string, key->len, &child);
				}
			}
			tree_to_value(fuzz, tree->children[i], &child);
			pairs_append(&list, tree->keys[i]->string, tree->keys[i]->len, &child);
		}
		pairs_finish(&list, value);
	}
}
