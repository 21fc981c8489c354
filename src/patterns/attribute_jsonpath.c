/*
 * patterns/attribute_jsonpath.c
 *		What the operands of @? and @@ ask of attributes.
 *
 * @? holds if its path finds an item: $.specs[*] ? (@.k == "size" && @.v > 65),
 * with or without [*], whatever follows the filter.  A path that is a predicate
 * finds one in any case, its answer, and asks for nothing.  @@ holds if its
 * predicate is true: exists(...) of such a path, && and ||.
 *
 * In lax mode a comparison unwraps arrays on both sides and holds if it holds
 * of one pair, so that the members of a flat array are tested as values are.  In
 * strict mode it is unknown for them, and a filter on the array itself fails.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "attribute_index.h"

/* What is read from, and made. */
typedef struct PathExtract
{
	const AttributeOptions *options;
	AttributeQuery *query;
	bool		lax;
} PathExtract;

/* Is the item an accessor of this key? */
static bool
is_key(JsonPathItem *item, const char *key, int len)
{
	int32		item_len;
	char	   *item_key;

	if (item->type != jpiKey)
		return false;
	item_key = jspGetString(item, &item_len);
	return item_len == len && memcmp(item_key, key, len) == 0;
}

/* Is the expression @.key and no more? */
static bool
is_field(JsonPathItem *item, const char *key, int len)
{
	JsonPathItem next;

	return item->type == jpiCurrent && jspGetNext(item, &next) &&
		is_key(&next, key, len) && !jspHasNext(&next);
}

/* The value of a literal; false if it is none. */
static bool
get_literal(JsonPathItem *item, JsonbValue *result)
{
	int32		len;

	if (jspHasNext(item))
		return false;
	switch (item->type)
	{
		case jpiNull:
			result->type = jbvNull;
			return true;
		case jpiString:
			result->type = jbvString;
			result->val.string.val = jspGetString(item, &len);
			result->val.string.len = len;
			return true;
		case jpiNumeric:
			result->type = jbvNumeric;
			result->val.numeric = jspGetNumeric(item);
			return true;
		case jpiBool:
			value_from_bool(jspGetBool(item), result);
			return true;
		default:
			return false;
	}
}

/* The operator of a comparison, with its sides in order or not; false if there is none. */
static bool
get_operator(JsonPathItemType type, bool mirrored, TestOperator *result)
{
	switch (type)
	{
		case jpiEqual:
			*result = TEST_OPERATOR_EQ;
			return true;
		case jpiLess:
			*result = mirrored ? TEST_OPERATOR_GT : TEST_OPERATOR_LT;
			return true;
		case jpiLessOrEqual:
			*result = mirrored ? TEST_OPERATOR_GTE : TEST_OPERATOR_LTE;
			return true;
		case jpiGreater:
			*result = mirrored ? TEST_OPERATOR_LT : TEST_OPERATOR_GT;
			return true;
		case jpiGreaterOrEqual:
			*result = mirrored ? TEST_OPERATOR_LTE : TEST_OPERATOR_GTE;
			return true;
		default:
			return false;
	}
}

/* An element whose value passes a test; strict mode sees no members. */
static List *
tested_element(const PathExtract *extract, AttributeTest *test)
{
	if (!extract->lax)
		test->members = NIL;
	return attribute_elements_tested(test);
}

/* @.k == "name", or @.v compared with a literal */
static List *
comparison_elements(const PathExtract *extract, JsonPathItem *predicate)
{
	const AttributeOptions *options = extract->options;
	JsonPathItem left,
				right;
	JsonPathItem *field = &left;
	JsonbValue	literal;
	TestOperator operator;
	bool		mirrored;

	jspGetLeftArg(predicate, &left);
	jspGetRightArg(predicate, &right);
	mirrored = get_literal(&left, &literal);
	if (mirrored)
		field = &right;
	else if (!get_literal(&right, &literal))
		return attribute_elements_unknown();
	if (!get_operator(predicate->type, mirrored, &operator))
		return attribute_elements_unknown();

	if (is_field(field, options->key, options->key_len) &&
		operator == TEST_OPERATOR_EQ && literal.type == jbvString)
	{
		JsonbValue *name = palloc(sizeof(JsonbValue));

		*name = literal;
		return attribute_elements_named(list_make1(name));
	}
	if (is_field(field, options->value, options->value_len))
		return tested_element(extract, attribute_test_compare(operator, &literal,
															  KEY_ORDER_CODE_POINTS));
	return attribute_elements_unknown();
}

/* @.v starts with "prefix" */
static List *
prefix_elements(const PathExtract *extract, JsonPathItem *predicate)
{
	JsonPathItem field,
				prefix;
	JsonbValue	literal;

	jspGetLeftArg(predicate, &field);
	jspGetRightArg(predicate, &prefix);
	if (!is_field(&field, extract->options->value, extract->options->value_len) ||
		!get_literal(&prefix, &literal) || literal.type != jbvString)
		return attribute_elements_unknown();
	return tested_element(extract, attribute_test_prefix(literal.val.string.val,
														 literal.val.string.len, true));
}

/* The elements for which a filter's predicate can be true. */
static List *
predicate_elements(const PathExtract *extract, JsonPathItem *predicate)
{
	JsonPathItem left,
				right;

	check_stack_depth();
	switch (predicate->type)
	{
		case jpiAnd:
			jspGetLeftArg(predicate, &left);
			jspGetRightArg(predicate, &right);
			return attribute_elements_and(predicate_elements(extract, &left),
										  predicate_elements(extract, &right));
		case jpiOr:
			jspGetLeftArg(predicate, &left);
			jspGetRightArg(predicate, &right);
			return attribute_elements_or(predicate_elements(extract, &left),
										 predicate_elements(extract, &right));
		case jpiExists:
			jspGetArg(predicate, &left);
			if (is_field(&left, extract->options->value, extract->options->value_len))
				return attribute_elements_tested(attribute_test_exists());
			return attribute_elements_unknown();
		case jpiStartsWith:
			return prefix_elements(extract, predicate);
		case jpiEqual:
		case jpiLess:
		case jpiLessOrEqual:
		case jpiGreater:
		case jpiGreaterOrEqual:
			return comparison_elements(extract, predicate);
		default:
			return attribute_elements_unknown();
	}
}

/* The path finds an item. */
static AttributeNode *
path_node(const PathExtract *extract, JsonPathItem *path)
{
	const DocPath *steps = extract->options->path;
	JsonPathItem item = *path;
	JsonPathItem next;
	AttributeNode *node;
	bool		unwrapped = false;

	if (item.type != jpiRoot)
		return NULL;
	for (int i = 0; i < steps->nsteps; i++)
	{
		if (!jspGetNext(&item, &next) || !is_key(&next, steps->steps[i].name, steps->steps[i].len))
			return NULL;
		item = next;
	}
	if (!jspGetNext(&item, &next))
		return NULL;
	if (next.type == jpiAnyArray)
	{
		item = next;
		unwrapped = true;
		if (!jspGetNext(&item, &next))
			return NULL;
	}
	if (next.type != jpiFilter || !(unwrapped || extract->lax))
		return NULL;
	jspGetArg(&next, &item);
	node = attribute_node_elements(extract->query, predicate_elements(extract, &item));
	return jspHasNext(&next) ? attribute_node_perhaps(node) : node;
}

/* The predicate is true. */
static AttributeNode *
predicate_node(const PathExtract *extract, JsonPathItem *predicate)
{
	JsonPathItem left,
				right;

	check_stack_depth();
	if (jspHasNext(predicate))
		return NULL;
	switch (predicate->type)
	{
		case jpiAnd:
			jspGetLeftArg(predicate, &left);
			jspGetRightArg(predicate, &right);
			return attribute_node_and(predicate_node(extract, &left),
									  predicate_node(extract, &right));
		case jpiOr:
			jspGetLeftArg(predicate, &left);
			jspGetRightArg(predicate, &right);
			return attribute_node_or(predicate_node(extract, &left),
									 predicate_node(extract, &right));
		case jpiExists:
			jspGetArg(predicate, &left);
			return path_node(extract, &left);
		default:
			return NULL;
	}
}

/* What @? asks for, or with as_predicate @@. */
void
attribute_query_jsonpath(AttributeQuery *query, const AttributeOptions *options,
						 JsonPath *path, bool as_predicate)
{
	PathExtract extract;
	JsonPathItem root;

	extract.options = options;
	extract.query = query;
	extract.lax = (path->header & JSONPATH_LAX) != 0;
	jspInit(&root, path);
	query->root = as_predicate ? predicate_node(&extract, &root) : path_node(&extract, &root);
}
