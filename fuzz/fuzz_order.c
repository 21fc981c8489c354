/*
 * fuzz_order.c
 *		jsonb/order.c against a comparison and a sort written the long way.
 *
 * The order as MongoDB documents it for the types that JSON has, on trees:
 * nothing here knows the binary format.  Equality is also checked against core's.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "fuzz.h"

extern void fuzz_compare_once(Fuzz *fuzz);
extern void fuzz_sort_once(Fuzz *fuzz);
extern void fuzz_set_once(Fuzz *fuzz);

static int
sign(int64 i)
{
	return (i > 0) - (i < 0);
}

static int
class_of(const Tree *tree)
{
	static const enum jbvType classes[] =
	{jbvNull, jbvNumeric, jbvString, jbvObject, jbvArray, jbvBool};

	for (int i = 0; i < lengthof(classes); i++)
		if (classes[i] == tree->type)
			return i;
	return -1;
}

static int
compare_strings(const Tree *a, const Tree *b)
{
	for (int i = 0; i < a->len && i < b->len; i++)
		if (a->string[i] != b->string[i])
			return (unsigned char) a->string[i] < (unsigned char) b->string[i] ? -1 : 1;
	return sign((int64) a->len - b->len);
}

static int
compare_trees(const Tree *a, const Tree *b)
{
	if (class_of(a) != class_of(b))
		return class_of(a) < class_of(b) ? -1 : 1;
	switch (a->type)
	{
		case jbvNumeric:
			if (DatumGetBool(DirectFunctionCall2(numeric_lt, NumericGetDatum(a->number),
												 NumericGetDatum(b->number))))
				return -1;
			return DatumGetBool(DirectFunctionCall2(numeric_gt, NumericGetDatum(a->number),
													NumericGetDatum(b->number)));
		case jbvString:
			return compare_strings(a, b);
		case jbvBool:
			return sign((int64) a->boolean - b->boolean);
		case jbvArray:
		case jbvObject:
			for (int i = 0; i < a->n && i < b->n; i++)
			{
				int			cmp = sign(class_of(a->children[i]) - class_of(b->children[i]));

				if (cmp == 0 && a->type == jbvObject)
					cmp = compare_strings(a->keys[i], b->keys[i]);
				if (cmp == 0)
					cmp = compare_trees(a->children[i], b->children[i]);
				if (cmp != 0)
					return cmp;
			}
			return sign((int64) a->n - b->n);
		default:
			return 0;
	}
}

void
fuzz_compare_once(Fuzz *fuzz)
{
	Tree	   *first = tree_random(fuzz, 2);
	Jsonb	   *a = tree_to_jsonb(first);
	Jsonb	   *b = tree_to_jsonb(one_in(fuzz, 4) ? tree_random(fuzz, 2) : tree_mutate(fuzz, first));
	JsonbValue	x,
				y;
	int			expected = compare_trees(tree_from_jsonb(a), tree_from_jsonb(b));
	bool		core_equal = JB_ROOT_IS_SCALAR(a) == JB_ROOT_IS_SCALAR(b) &&
		compareJsonbContainers(&a->root, &b->root) == 0;

	fuzz->document = a;
	appendStringInfo(&fuzz->log, "none; the other is %s", JsonbToCString(NULL, &b->root, VARSIZE(b)));
	value_from_jsonb(a, &x);
	value_from_jsonb(b, &y);
	fuzz_check(fuzz, sign(value_compare(&x, &y)) == expected, "value_compare: another order");
	fuzz_check(fuzz, sign(value_compare(&y, &x)) == -expected, "value_compare: not antisymmetric");
	fuzz_check(fuzz, value_compare(&x, &x) == 0, "value_compare: not reflexive");
	fuzz_check(fuzz, value_equal(&x, &y) == (expected == 0), "value_equal: not as the order has it");
	fuzz_check(fuzz, value_equal(&x, &y) == core_equal, "value_equal: not as core has it");
}

/* Is there an equal tree among the first n? */
static bool
trees_contain(Tree **trees, int n, const Tree *tree)
{
	for (int i = 0; i < n; i++)
		if (compare_trees(trees[i], tree) == 0)
			return true;
	return false;
}

/* Sets, against looking at every member. */
void
fuzz_set_once(Fuzz *fuzz)
{
	int			n = below(fuzz, 30);
	Tree	  **trees = palloc0((n + 1) * sizeof(Tree *));
	JsonbValue *values = palloc0((n + 1) * sizeof(JsonbValue));
	int			distinct = 0;
	uint32		size;

	for (int i = 0; i < n; i++)
	{
		Tree	   *tree = i > 0 && one_in(fuzz, 2) ?
			tree_mutate(fuzz, trees[below(fuzz, i)]) : tree_random(fuzz, 6);
		Jsonb	   *jb = tree_to_jsonb(tree);

		trees[i] = tree_from_jsonb(jb);
		value_from_jsonb(jb, &values[i]);
		distinct += !trees_contain(trees, i, trees[i]);
	}
	size = values_make_set(values, n);
	fuzz_check(fuzz, size == distinct, "values_make_set: another size");
	for (uint32 i = 1; i < size; i++)
		fuzz_check(fuzz, value_compare(&values[i - 1], &values[i]) < 0, "values_make_set: not in order");
	for (int i = 0; i < 2 * n; i++)
	{
		Tree	   *tree = i < n ? trees[i] : tree_mutate(fuzz, trees[i - n]);
		Jsonb	   *jb = tree_to_jsonb(tree);
		JsonbValue	value;
		uint32		place = PG_UINT32_MAX;
		bool		found;

		value_from_jsonb(jb, &value);
		found = values_set_find(values, size, &value, &place);
		fuzz_check(fuzz, found == trees_contain(trees, n, tree_from_jsonb(jb)),
				   "values_set_find: found and missing are confused");
		fuzz_check(fuzz, !found || (place < size && value_equal(&values[place], &value)),
				   "values_set_find: another member's place");
	}
}

/*
 * Sorting
 */

/* The value of a key, or of a key in the value of a key. */
static const Tree *
sort_key(const Tree *element, const char *path)
{
	static const Tree missing = {.type = jbvNull};
	const char *dot = strchr(path, '.');
	int			at = -1;

	if (element->type == jbvObject)
		at = tree_find(element, tree_string(path, dot ? dot - path : strlen(path)));
	if (at < 0)
		return &missing;
	return dot ? sort_key(element->children[at], dot + 1) : element->children[at];
}

static Tree *
random_element(Fuzz *fuzz, int i)
{
	static const char *const names[] = {"a", "b", "cc"};
	Tree	   *element = tree_new(jbvObject);

	if (one_in(fuzz, 10))
		return tree_random_scalar(fuzz);
	for (int j = 0; j < lengthof(names); j++)
	{
		Tree	   *value = tree_new(jbvBool);
		Tree	   *inner = tree_new(jbvObject);

		/* few values, so that many are equal */
		value->boolean = one_in(fuzz, 2);
		if (one_in(fuzz, 3))
			value = tree_string("xyz", below(fuzz, 4));
		else if (one_in(fuzz, 10))
			value = tree_random(fuzz, 6);
		if (one_in(fuzz, 5))
			continue;
		tree_append(inner, tree_string("d", 1), value);
		tree_append(element, tree_string(names[j], strlen(names[j])), one_in(fuzz, 2) ? value : inner);
	}
	tree_append(element, tree_string("i", 1), tree_string(psprintf("%d", i), strlen(psprintf("%d", i))));
	return element;
}

void
fuzz_sort_once(Fuzz *fuzz)
{
	static const char *const paths[] = {"a", "b", "cc", "a.d", "b.d", "cc.d"};
	Tree	   *list = tree_new(jbvArray);
	ValueList	values = {0};
	StringInfoData order_by;
	const char *keys[4];
	bool		descending[4];
	int			nkeys = below(fuzz, 5);
	JsonbValue	result;
	Jsonb	   *jb;

	for (int i = below(fuzz, one_in(fuzz, 10) ? 300 : 20); i > 0; i--)
		tree_append(list, NULL, random_element(fuzz, i));
	fuzz->document = jb = tree_to_jsonb(list);
	list = tree_from_jsonb(jb);

	initStringInfo(&order_by);
	for (int i = 0; i < nkeys; i++)
	{
		keys[i] = paths[below(fuzz, lengthof(paths))];
		descending[i] = one_in(fuzz, 2);
		appendStringInfo(&order_by, "%s%s%s", i > 0 ? " , " : "", keys[i],
						 descending[i] ? " desc" : one_in(fuzz, 2) ? " ASC " : "");
	}
	appendStringInfo(&fuzz->log, "sort by %s", order_by.data);

	/* insertion sort: an element goes before those that are greater */
	for (int i = 0; i < list->n; i++)
	{
		Tree	   *element = list->children[i];
		int			at = i;

		for (; at > 0; at--)
		{
			int			cmp = 0;

			for (int k = 0; k < nkeys && cmp == 0; k++)
			{
				cmp = compare_trees(sort_key(list->children[at - 1], keys[k]),
									sort_key(element, keys[k]));
				if (descending[k])
					cmp = -cmp;
			}
			if (cmp <= 0)
				break;
			list->children[at] = list->children[at - 1];
		}
		list->children[at] = element;
	}

	for (uint32 i = 0; i < JsonContainerSize(&jb->root); i++)
	{
		JsonbValue	value;

		container_value(&jb->root, i, &value);
		values_append(&values, &value);
	}
	values_sort(values.values, values.n, sort_order_parse(order_by.data));
	values_finish(&values, &result);
	fuzz_check_bytes(fuzz, value_to_jsonb(&result), tree_to_jsonb(list), "values_sort");
}
