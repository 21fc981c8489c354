/*
 * patterns/attribute_node.c
 *		Conditions as entries of an index, joined by AND, OR and PERHAPS.
 *
 * A node says what must hold of the entries that a document has.  NULL is the
 * node of which nothing is known: beside AND it makes the rest a PERHAPS, in an
 * OR it swallows the others.
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
	return node->type == type ? node->nodes : list_make1(node);
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
			node->entry = i;
			return node;
		}
	query->entries = array_reserve(query->entries, query->nentries, &query->maxentries,
								   sizeof(AttributeEntry *));
	entry = palloc(sizeof(AttributeEntry));
	entry->query = query;
	entry->low = low;
	entry->high = high;
	entry->is_range = !is_single(&low, &high);
	node->entry = query->nentries;
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

/* An element with this name. */
static AttributeNode *
named_node(AttributeQuery *query, const JsonbValue *name, const AttributeElement *element)
{
	NodeBuild	build;
	KeyRanges	ranges = {0};
	KeyRanges	marker = {0};
	AttributeNode *arrays = attribute_node_never();
	bool		any_array = true;
	bool		scalars_exact = element->exact;
	bool		arrays_exact = element->exact;
	ListCell   *lc;

	build.query = query;
	build.name.len = 0;
	if (!key_add_name(&build.name, name->val.string.val, name->val.string.len))
		scalars_exact = arrays_exact = false;

	key_ranges_add_types(&ranges, KEY_MISSING, KEY_ARRAY);
	foreach(lc, element->tests)
	{
		const AttributeTest *test = lfirst(lc);

		key_ranges_intersect(&ranges, &test->scalars);
		scalars_exact = scalars_exact && test->scalars_exact;
		arrays_exact = arrays_exact && test->arrays_exact;
		any_array = any_array && test->any_array;
	}
	if (!any_array)
		arrays = arrays_node(&build, element->tests, arrays_exact);
	else if (arrays_exact == scalars_exact)
		key_ranges_add_types(&ranges, KEY_ARRAY, KEY_ARRAY_END);
	else
	{
		KeyRanges	all = {0};

		key_ranges_add_types(&all, KEY_ARRAY, KEY_ARRAY_END);
		arrays = ranges_node(&build, false, &all, arrays_exact);
	}
	key_ranges_add_key(&marker, KEY_IRREGULAR);
	return attribute_node_or(attribute_node_or(ranges_node(&build, false, &ranges, scalars_exact),
											   arrays),
							 ranges_node(&build, false, &marker, false));
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
