/*
 * patterns/attribute_node.c
 *		Conditions as entries of an index, joined by AND, OR and PERHAPS.
 *
 * A node says what must hold of the entries that a document has.  NULL is the
 * node of which nothing is known: beside AND it makes the rest a PERHAPS, in an
 * OR it swallows the others.
 *
 * An element that is asked for by ranges is, at second best, one that has any
 * measure under its name, which is a single key: the node's coarse form, for
 * attribute_choice.c to take.
 */
#include "postgres.h"

#include "attribute_index.h"

/* More entries than this are not worth looking up. */
#define MAX_ENTRIES 1000

/* A set of more ranges is made one, from its first key to its last. */
#define MAX_RANGES 200

static AttributeNode *
make_node(AttributeNodeType type, List *nodes)
{
	AttributeNode *node = palloc0(sizeof(AttributeNode));

	node->type = type;
	node->nodes = nodes;
	return node;
}

/* Holds of no document. */
AttributeNode *
attribute_node_never(void)
{
	return make_node(ATTRIBUTE_NEVER, NIL);
}

/* The document has to be looked at. */
AttributeNode *
attribute_node_perhaps(AttributeNode *node)
{
	if (node == NULL || node->type == ATTRIBUTE_NEVER || node->type == ATTRIBUTE_PERHAPS)
		return node;
	return make_node(ATTRIBUTE_PERHAPS, list_make1(node));
}

/* The parts of a node of this type, or the node itself. */
static List *
node_parts(AttributeNode *node, AttributeNodeType type)
{
	return node->type == type && node->coarse == NULL ? node->nodes : list_make1(node);
}

/* Both hold. */
AttributeNode *
attribute_node_and(AttributeNode *a, AttributeNode *b)
{
	if (a == NULL || b == NULL)
		return attribute_node_perhaps(a != NULL ? a : b);
	if (a->type == ATTRIBUTE_NEVER || b->type == ATTRIBUTE_NEVER)
		return attribute_node_never();
	return make_node(ATTRIBUTE_AND, list_concat_copy(node_parts(a, ATTRIBUTE_AND),
													 node_parts(b, ATTRIBUTE_AND)));
}

/* One of them holds. */
AttributeNode *
attribute_node_or(AttributeNode *a, AttributeNode *b)
{
	if (a == NULL || b == NULL)
		return NULL;
	if (a->type == ATTRIBUTE_NEVER)
		return b;
	if (b->type == ATTRIBUTE_NEVER)
		return a;
	return make_node(ATTRIBUTE_OR, list_concat_copy(node_parts(a, ATTRIBUTE_OR),
													node_parts(b, ATTRIBUTE_OR)));
}

/* What is being made entries of. */
typedef struct NodeBuild
{
	AttributeQuery *query;
	KeyBuffer	name;			/* all keys start with it */
} NodeBuild;

/* The name, KEY_MEMBER if it is that, and some bytes; palloc'd. */
static KeyBytes
whole_key(const KeyBuffer *name, bool member, const KeyBytes *rest)
{
	uint8	   *bytes = palloc(name->len + 1 + rest->len);
	KeyBytes	result;
	int			len = name->len;

	memcpy(bytes, name->bytes, name->len);
	if (member)
		bytes[len++] = KEY_MEMBER;
	memcpy(bytes + len, rest->bytes, rest->len);
	result.bytes = bytes;
	result.len = len + rest->len;
	return result;
}

/* Is the range one key? */
static bool
is_single(const KeyBytes *low, const KeyBytes *high)
{
	return high->len == low->len + 1 && high->bytes[low->len] == 0 &&
		memcmp(low->bytes, high->bytes, low->len) == 0;
}

static bool
same_bytes(const KeyBytes *a, const KeyBytes *b)
{
	return key_bytes_compare(a->bytes, a->len, b->bytes, b->len) == 0;
}

/* The node of one entry, which the query has only once. */
static AttributeNode *
entry_node(AttributeQuery *query, KeyBytes low, KeyBytes high)
{
	AttributeNode *node = make_node(ATTRIBUTE_ENTRY, NIL);
	AttributeEntry *entry;

	for (uint32 i = 0; i < query->nentries; i++)
		if (same_bytes(&query->entries[i]->low, &low) &&
			same_bytes(&query->entries[i]->high, &high))
		{
			node->entry = query->entries[i];
			return node;
		}
	query->entries = array_reserve(query->entries, query->nentries, &query->maxentries,
								   sizeof(AttributeEntry *));
	entry = palloc(sizeof(AttributeEntry));
	entry->query = query;
	entry->number = -1;
	entry->low = low;
	entry->high = high;
	entry->is_range = !is_single(&low, &high);
	node->entry = entry;
	query->entries[query->nentries++] = entry;
	return node;
}

/* A key in one of the ranges, of a member or not. */
static AttributeNode *
ranges_node(const NodeBuild *build, bool member, const KeyRanges *ranges, bool exact)
{
	AttributeNode *node = attribute_node_never();
	KeyRange	all;
	const KeyRange *range = ranges->ranges;
	uint32		n = ranges->n;

	if (n > MAX_RANGES)
	{
		all.low = range[0].low;
		all.high = range[n - 1].high;
		range = &all;
		n = 1;
		exact = false;
	}
	for (uint32 i = 0; i < n; i++)
		node = attribute_node_or(node, entry_node(build->query,
												  whole_key(&build->name, member, &range[i].low),
												  whole_key(&build->name, member, &range[i].high)));
	return exact ? node : attribute_node_perhaps(node);
}

/* Arrays that pass all tests, not all of which any array passes. */
static AttributeNode *
arrays_node(const NodeBuild *build, const List *tests, bool exact)
{
	List	   *members = NIL;
	AttributeNode *node = NULL;
	ListCell   *lc;

	foreach(lc, tests)
	{
		const AttributeTest *test = lfirst(lc);

		if (test->any_array)
			continue;
		if (test->members == NIL)
			return attribute_node_never();
		members = list_concat(members, test->members);
	}
	/* the members may be of different elements' arrays */
	exact = exact && list_length(members) == 1;
	foreach(lc, members)
	{
		AttributeNode *member = ranges_node(build, true, lfirst(lc), exact);

		node = node == NULL ? member : attribute_node_and(node, member);
	}
	return node;
}

/* A key that is the name and this byte. */
static AttributeNode *
type_node(const NodeBuild *build, uint8 type, bool exact)
{
	KeyRanges	ranges = {0};

	key_ranges_add_key(&ranges, type);
	return ranges_node(build, false, &ranges, exact);
}

/* The key that is the name alone: there is a measure. */
static AttributeNode *
measure_node(const NodeBuild *build, bool exact)
{
	static const uint8 end = 0;
	AttributeNode *node;
	KeyBytes	nothing = {0, &end};
	KeyBytes	behind = {1, &end};

	node = entry_node(build->query, whole_key(&build->name, false, &nothing),
					  whole_key(&build->name, false, &behind));
	return exact ? node : attribute_node_perhaps(node);
}

/* What an element with some name is asked. */
typedef struct NamedTest
{
	KeyRanges	scalars;
	bool		scalars_exact;
	bool		objects;
	bool		objects_exact;
	bool		any_array;
	bool		arrays_exact;
} NamedTest;

/* All tests of the element in one; but those of arrays' members. */
static void
join_tests(const AttributeElement *element, bool name_exact, NamedTest *all)
{
	bool		exact = element->exact && name_exact;
	ListCell   *lc;

	memset(all, 0, sizeof(NamedTest));
	key_ranges_add_types(&all->scalars, KEY_MISSING, KEY_OBJECT);
	all->objects = all->any_array = true;
	all->scalars_exact = all->objects_exact = all->arrays_exact = exact;
	foreach(lc, element->tests)
	{
		const AttributeTest *test = lfirst(lc);

		key_ranges_intersect(&all->scalars, &test->scalars);
		all->scalars_exact &= test->scalars_exact;
		all->objects &= test->objects;
		all->objects_exact &= test->objects_exact;
		all->any_array &= test->any_array;
		all->arrays_exact &= test->arrays_exact;
	}
}

/* May it be any value? */
static bool
takes_all_values(const NamedTest *test)
{
	return test->scalars.n == 1 && test->scalars.ranges[0].low.bytes[0] <= KEY_NULL &&
		test->scalars.ranges[0].high.bytes[0] == KEY_OBJECT && test->objects && test->any_array;
}

/* What members an array that passes all tests has at least one of; NULL if it may be any. */
static const KeyRanges *
some_members(const List *tests)
{
	ListCell   *lc;

	foreach(lc, tests)
	{
		const AttributeTest *test = lfirst(lc);

		if (!test->any_array)
			return test->members != NIL ? linitial(test->members) : palloc0(sizeof(KeyRanges));
	}
	return NULL;
}

/* The value is a measure, or else what the tests ask. */
static AttributeNode *
coarse_node(const NodeBuild *build, const AttributeElement *element, const NamedTest *test,
			bool exact)
{
	const KeyRanges *members = some_members(element->tests);
	KeyRanges	others = {0};
	KeyRanges	other_members = {0};

	key_ranges_add(&others, &test->scalars);
	key_ranges_leave_measures(&others);
	if (test->objects)
		key_ranges_add_types(&others, KEY_OBJECT, KEY_ARRAY);
	if (members == NULL)
	{
		key_ranges_add_types(&others, KEY_ARRAY, KEY_MEMBER);
		key_ranges_add_types(&other_members, KEY_NULL, KEY_ARRAY);
	}
	else
		key_ranges_add(&other_members, members);
	key_ranges_leave_measures(&other_members);
	key_ranges_add_behind(&others, KEY_MEMBER, &other_members);
	return attribute_node_or(measure_node(build, exact), ranges_node(build, false, &others, exact));
}

/* The value is what the tests ask. */
static AttributeNode *
tested_node(const NodeBuild *build, const AttributeElement *element, NamedTest *test)
{
	AttributeNode *node = attribute_node_never();

	if (test->objects)
		node = type_node(build, KEY_OBJECT, test->objects_exact);
	if (!test->any_array)
		node = attribute_node_or(node, arrays_node(build, element->tests, test->arrays_exact));
	else
	{
		KeyRanges	all = {0};

		key_ranges_add_types(&all, KEY_ARRAY, KEY_ARRAY_END);
		node = attribute_node_or(node, ranges_node(build, false, &all, test->arrays_exact));
	}
	return attribute_node_or(ranges_node(build, false, &test->scalars, test->scalars_exact), node);
}

/* The name is marked, whatever the value is. */
static AttributeNode *
marked_node(const NodeBuild *build)
{
	KeyRanges	all = {0};

	key_ranges_add_types(&all, KEY_IRREGULAR, KEY_IRREGULAR + 1);
	return ranges_node(build, false, &all, false);
}

/* The name is marked, and the value is not known or at least one that the tests ask for. */
static AttributeNode *
marked_value_node(const NodeBuild *build, const AttributeElement *element, const NamedTest *test)
{
	const KeyRanges *members = some_members(element->tests);
	KeyRanges	values = {0};
	KeyRanges	marked = {0};

	key_ranges_add(&values, &test->scalars);
	if (test->objects)
		key_ranges_add_types(&values, KEY_OBJECT, KEY_ARRAY);
	if (members != NULL)
		key_ranges_add(&values, members);
	else
		key_ranges_add_types(&values, KEY_NULL, KEY_MEMBER);
	key_ranges_add_behind(&marked, KEY_IRREGULAR, &values);
	return attribute_node_or(type_node(build, KEY_IRREGULAR, false),
							 ranges_node(build, false, &marked, false));
}

/* Is a range one of the node's entries? */
static bool
has_range(const AttributeNode *node)
{
	ListCell   *lc;

	if (node->type == ATTRIBUTE_ENTRY)
		return node->entry->is_range;
	foreach(lc, node->nodes)
		if (has_range(lfirst(lc)))
			return true;
	return false;
}

/* An element with this name. */
static AttributeNode *
named_node(AttributeQuery *query, const JsonbValue *name, const AttributeElement *element)
{
	NodeBuild	build;
	NamedTest	test;
	AttributeNode *node;
	bool		exact;

	build.query = query;
	build.name.len = 0;
	exact = key_add_name(&build.name, name->val.string.val, name->val.string.len);
	join_tests(element, exact, &test);
	if (takes_all_values(&test))
		return attribute_node_or(coarse_node(&build, element, &test, test.scalars_exact &&
											 test.objects_exact && test.arrays_exact),
								 marked_node(&build));
	node = attribute_node_or(tested_node(&build, element, &test),
							 marked_value_node(&build, element, &test));
	if (has_range(node))
		node->coarse = attribute_node_or(coarse_node(&build, element, &test, false),
										 marked_node(&build));
	return node;
}

/* An element of the array is one of these; NULL unless all have names. */
AttributeNode *
attribute_node_elements(AttributeQuery *query, List *elements)
{
	AttributeNode *node = attribute_node_never();
	ListCell   *le,
			   *ln;

	foreach(le, elements)
	{
		const AttributeElement *element = lfirst(le);

		if (element->names == NIL)
			return NULL;
		foreach(ln, element->names)
		{
			node = attribute_node_or(node, named_node(query, lfirst(ln), element));
			if (query->nentries > MAX_ENTRIES)
				return NULL;
		}
	}
	return node;
}

/* Number the entries that are left in a node. */
static void
number_entries(AttributeQuery *query, const AttributeNode *node)
{
	ListCell   *lc;

	if (node->type == ATTRIBUTE_ENTRY && node->entry->number < 0)
	{
		node->entry->number = query->nentries;
		query->entries[query->nentries++] = node->entry;
	}
	foreach(lc, node->nodes)
		number_entries(query, lfirst(lc));
}

/* Number the entries that the query's root has, and forget the others. */
void
attribute_query_number(AttributeQuery *query)
{
	query->nentries = 0;
	if (query->root != NULL)
		number_entries(query, query->root);
}
