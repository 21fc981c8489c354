/*
 * patterns/attribute_query.c
 *		What the operands of @~ and @> ask of attributes.
 *
 * {"specs": {"$elemMatch": {"k": "size", "v": {"$gte": 65}}}} asks for one
 * element with a name and a value; $and, $or, $all and $in put such together.
 * {"specs.k": "size", "specs.v": 65} may be met by two elements, so that only
 * the name is looked up.  An element that is compared as a whole, or contained,
 * gives its name and its value.
 *
 * What is not understood is a condition of which nothing is known: it takes
 * away from what is looked up, never from what is found.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "document/match.h"

#include "attribute_index.h"

/* What is read for, and made. */
typedef struct QueryExtract
{
	const AttributeOptions *options;
	AttributeQuery *query;
} QueryExtract;

static bool
is_name(const PathStep *step, const char *name, int len)
{
	return step->len == len && memcmp(step->name, name, len) == 0;
}

/* Does the path have this step alone? */
static bool
is_field(const DocPath *path, const char *name, int len)
{
	return path->nsteps == 1 && is_name(&path->steps[0], name, len);
}

/* Does the path start with the attributes' path? */
static bool
is_at_path(const QueryExtract *extract, const DocPath *path)
{
	const DocPath *steps = extract->options->path;

	if (path->nsteps < steps->nsteps)
		return false;
	for (int i = 0; i < steps->nsteps; i++)
		if (!is_name(&path->steps[i], steps->steps[i].name, steps->steps[i].len))
			return false;
	return true;
}

/* The name is this value. */
static List *
name_equals(const JsonbValue *value)
{
	if (value->type != jbvString)
		return attribute_elements_unknown();
	return attribute_elements_named(list_make1(unconstify(JsonbValue *, value)));
}

/* The name is one of these values; a list of null would take elements without a name. */
static List *
name_is_in(uint32 n, JsonbValue *values)
{
	List	   *names = NIL;

	for (uint32 i = 0; i < n; i++)
	{
		if (values[i].type != jbvString)
			return attribute_elements_unknown();
		names = lappend(names, &values[i]);
	}
	return attribute_elements_named(names);
}

/* What a test of the key's field says. */
static List *
name_elements(const MatchTest *test)
{
	switch (test->type)
	{
		case TEST_EQ:
			return name_equals(&test->arg.value);
		case TEST_IN:
			return name_is_in(test->arg.list.n, test->arg.list.values);
		default:
			return attribute_elements_unknown();
	}
}

/* A comparison with a value; NULL if it says nothing about scalars. */
static AttributeTest *
value_compares(TestOperator operator, const JsonbValue *operand)
{
	AttributeTest *test;

	if (operand->type == jbvBinary)
	{
		if (operator != TEST_OPERATOR_EQ)
			return NULL;
		return value_is_array(operand) ? attribute_test_contains_array(operand) :
			attribute_test_object();
	}
	test = attribute_test_compare(operator, operand, KEY_ORDER_BYTES);
	/* missing compares like null, which is not less or greater than itself */
	if (operand->type == jbvNull && test->scalars.n > 0)
		attribute_test_add_missing(test);
	return test;
}

static AttributeTest *
value_is_in(uint32 n, const JsonbValue *values)
{
	AttributeTest *test = attribute_test_none();

	for (uint32 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		test = attribute_test_or(test, value_compares(TEST_OPERATOR_EQ, &values[i]));
	}
	return test;
}

static AttributeTest *
value_matches(const Regex *regex)
{
	const char *prefix;
	int			len;
	bool		exact = regex_prefix(regex, &prefix, &len);

	return attribute_test_prefix(prefix, len, exact);
}

/* What a test of the value's field says; NULL for nothing. */
static AttributeTest *
value_test(const MatchTest *test)
{
	switch (test->type)
	{
		case TEST_EQ:
			return value_compares(TEST_OPERATOR_EQ, &test->arg.value);
		case TEST_GT:
			return value_compares(TEST_OPERATOR_GT, &test->arg.value);
		case TEST_GTE:
			return value_compares(TEST_OPERATOR_GTE, &test->arg.value);
		case TEST_LT:
			return value_compares(TEST_OPERATOR_LT, &test->arg.value);
		case TEST_LTE:
			return value_compares(TEST_OPERATOR_LTE, &test->arg.value);
		case TEST_IN:
			return value_is_in(test->arg.list.n, test->arg.list.values);
		case TEST_REGEX:
			return value_matches(test->arg.regex);
		case TEST_EXISTS:
			return attribute_test_exists();
		case TEST_NOT:
			if (test->arg.tests.n == 1 && test->arg.tests.tests[0].type == TEST_EXISTS)
				return attribute_test_missing();
			return NULL;
		default:
			return NULL;
	}
}

static List *
value_elements(const MatchTest *test)
{
	AttributeTest *result = value_test(test);

	return result == NULL ? attribute_elements_unknown() : attribute_elements_tested(result);
}

/* The elements that satisfy a condition of $elemMatch. */
static List *
condition_elements(const QueryExtract *extract, const MatchCondition *condition)
{
	const AttributeOptions *options = extract->options;
	const DocPath *path;
	List	   *elements = NIL;
	bool		is_key;

	check_stack_depth();
	switch (condition->type)
	{
		case CONDITION_AND:
		case CONDITION_OR:
			for (int i = 0; i < condition->arg.conditions.n; i++)
			{
				List	   *next = condition_elements(extract, &condition->arg.conditions.conditions[i]);

				if (i == 0)
					elements = next;
				else if (condition->type == CONDITION_AND)
					elements = attribute_elements_and(elements, next);
				else
					elements = attribute_elements_or(elements, next);
			}
			return elements != NIL ? elements : attribute_elements_unknown();
		case CONDITION_FIELD:
			path = condition->arg.field.path;
			is_key = is_field(path, options->key, options->key_len);
			if (!is_key && !is_field(path, options->value, options->value_len))
				return attribute_elements_unknown();
			for (int i = 0; i < condition->arg.field.ntests; i++)
			{
				const MatchTest *test = &condition->arg.field.tests[i];
				List	   *next = is_key ? name_elements(test) : value_elements(test);

				elements = i == 0 ? next : attribute_elements_and(elements, next);
			}
			return elements != NIL ? elements : attribute_elements_unknown();
		default:
			return attribute_elements_unknown();
	}
}

/*
 * The array has an element like this object, or one that contains it.  Only a
 * containing one that has nothing else to contain is settled by its key.
 */
static AttributeNode *
object_node(const QueryExtract *extract, const JsonbValue *object, bool contained)
{
	const AttributeOptions *options = extract->options;
	JsonbValue	name;
	JsonbValue	value;
	List	   *elements;
	AttributeTest *test;
	uint32		nused = 1;

	if (!value_get(object, options->key, options->key_len, &name) || name.type != jbvString)
		return NULL;
	elements = name_equals(&name);
	if (value_get(object, options->value, options->value_len, &value))
	{
		test = value_compares(TEST_OPERATOR_EQ, &value);
		if (value.type != jbvBinary)
		{
			/* here, null is not missing, nor is an array one of its members */
			test = attribute_test_compare(TEST_OPERATOR_EQ, &value, KEY_ORDER_BYTES);
			test->members = NIL;
		}
		elements = attribute_elements_and(elements, attribute_elements_tested(test));
		nused++;
	}
	else if (!contained)
		elements = attribute_elements_and(elements,
										  attribute_elements_tested(attribute_test_missing()));
	if (!contained || value_count(object) > nused)
		elements = attribute_elements_and(elements, attribute_elements_unknown());
	return attribute_node_elements(extract->query, elements);
}

/* The array has elements like those of this one, or ones that contain them. */
static AttributeNode *
array_node(const QueryExtract *extract, const JsonbValue *array, bool contained)
{
	AttributeNode *node = NULL;
	JsonbWalk	walk;
	JsonbValue	element;
	uint32		n = 0;

	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		AttributeNode *next = object_node(extract, &element, contained);

		CHECK_FOR_INTERRUPTS();
		node = n++ == 0 ? next : attribute_node_and(node, next);
	}
	return contained ? node : attribute_node_perhaps(node);
}

/* The attributes, as a whole or one of them, equal this value. */
static AttributeNode *
equals_node(const QueryExtract *extract, const JsonbValue *value)
{
	if (value_is_array(value))
		return array_node(extract, value, false);
	return object_node(extract, value, false);
}

static AttributeNode *
is_in_node(const QueryExtract *extract, uint32 n, const JsonbValue *values)
{
	AttributeNode *node = attribute_node_never();

	for (uint32 i = 0; i < n && node != NULL; i++)
		node = attribute_node_or(node, equals_node(extract, &values[i]));
	return node;
}

/* A test of the array at the path. */
static AttributeNode *
array_test_node(const QueryExtract *extract, const MatchTest *test)
{
	switch (test->type)
	{
		case TEST_ELEM_DOCUMENT:
			return attribute_node_elements(extract->query,
										   condition_elements(extract, test->arg.document));
		case TEST_EQ:
			return equals_node(extract, &test->arg.value);
		case TEST_IN:
			return is_in_node(extract, test->arg.list.n, test->arg.list.values);
		default:
			return NULL;
	}
}

/* A test of all elements' names. */
static AttributeNode *
names_test_node(const QueryExtract *extract, const MatchTest *test)
{
	AttributeNode *node = attribute_node_elements(extract->query, name_elements(test));

	/* a field of an array that is the value itself is a matter of its own */
	return extract->options->path->nsteps > 0 ? node : attribute_node_perhaps(node);
}

static AttributeNode *
field_node(const QueryExtract *extract, const DocPath *path, const MatchTest *tests, int ntests)
{
	const AttributeOptions *options = extract->options;
	int			nsteps = options->path->nsteps;
	AttributeNode *node = NULL;

	if (!is_at_path(extract, path))
		return NULL;
	if (path->nsteps != nsteps &&
		!(path->nsteps == nsteps + 1 &&
		  is_name(&path->steps[nsteps], options->key, options->key_len)))
		return NULL;
	for (int i = 0; i < ntests; i++)
	{
		AttributeNode *next = path->nsteps == nsteps ?
			array_test_node(extract, &tests[i]) : names_test_node(extract, &tests[i]);

		node = i == 0 ? next : attribute_node_and(node, next);
	}
	return node;
}

static AttributeNode *
condition_node(const QueryExtract *extract, const MatchCondition *condition)
{
	AttributeNode *node = NULL;

	check_stack_depth();
	switch (condition->type)
	{
		case CONDITION_AND:
		case CONDITION_OR:
			for (int i = 0; i < condition->arg.conditions.n; i++)
			{
				AttributeNode *next = condition_node(extract, &condition->arg.conditions.conditions[i]);

				if (i == 0)
					node = next;
				else if (condition->type == CONDITION_AND)
					node = attribute_node_and(node, next);
				else
					node = attribute_node_or(node, next);
			}
			return node;
		case CONDITION_FIELD:
			return field_node(extract, condition->arg.field.path,
							  condition->arg.field.tests, condition->arg.field.ntests);
		default:
			return NULL;
	}
}

/* May a step of digits be an index, which the document's keys know nothing of? */
static bool
has_index_steps(const AttributeOptions *options)
{
	for (int i = 0; i < options->path->nsteps; i++)
		if (options->path->steps[i].index >= 0)
			return true;
	return path_step_index(options->key, options->key_len) >= 0;
}

/* What @~ asks for. */
void
attribute_query_match(AttributeQuery *query, const AttributeOptions *options,
					  const MatchQuery *match)
{
	QueryExtract extract;

	extract.options = options;
	extract.query = query;
	query->root = has_index_steps(options) ? NULL : condition_node(&extract, &match->root);
}

/* What @> asks for. */
void
attribute_query_contains(AttributeQuery *query, const AttributeOptions *options,
						 const Jsonb *contained)
{
	QueryExtract extract;
	JsonbValue	value;
	JsonbValue	inner;
	bool		alone = true;

	extract.options = options;
	extract.query = query;
	value_from_jsonb(contained, &value);
	for (int i = 0; i < options->path->nsteps; i++)
	{
		const PathStep *step = &options->path->steps[i];

		if (!value_get(&value, step->name, step->len, &inner))
			return;
		alone = alone && value_count(&value) == 1;
		value = inner;
	}
	if (!value_is_array(&value))
		return;
	query->root = array_node(&extract, &value, true);
	if (!alone)
		query->root = attribute_node_perhaps(query->root);
}
