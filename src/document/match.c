/*
 * document/match.c
 *		MongoDB's query language: a compiled query meets a value.
 *
 * match.h shows what a query is compiled to.  Here it is tried on a document,
 * which is read in place: the usual field, whose path meets no array, costs a
 * binary search a step and allocates nothing.
 *
 * An array on the way is traversed: the rest of the path is tried on each
 * element that is an object and, if the step is a number, on the element of
 * that index, which is the only way into an array of arrays.  At the end of the
 * path a test sees each element and then the array itself, but only the whole
 * of an element that the last step named by its index.  Where no element takes
 * the path there is no value at all, not even a missing one.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "match.h"

static bool condition_holds(const MatchCondition *condition, const JsonbValue *value,
							bool as_document);
static bool test_value(const MatchTest *test, const JsonbValue *value);

/* Does one value satisfy all tests? */
static bool
tests_value(const MatchTest *tests, int n, const JsonbValue *value)
{
	for (int i = 0; i < n; i++)
		if (!test_value(&tests[i], value))
			return false;
	return true;
}

/* A comparison; only values of one type compare. */
static bool
test_compare(const MatchTest *test, const JsonbValue *value)
{
	const JsonbValue *with = &test->arg.value;
	int			cmp;

	if (value == NULL)			/* compares like null */
		return with->type == jbvNull && test->type != TEST_GT && test->type != TEST_LT;
	if (test->type == TEST_EQ)
		return value_equal(value, with);
	if (value_rank(value) != value_rank(with))
		return false;
	cmp = value_compare(value, with);
	switch (test->type)
	{
		case TEST_GT:
			return cmp > 0;
		case TEST_GTE:
			return cmp >= 0;
		case TEST_LT:
			return cmp < 0;
		default:
			Assert(test->type == TEST_LTE);
			return cmp <= 0;
	}
}

/* Is the value, or null when it is missing, in the list? */
static bool
test_in(const MatchTest *test, const JsonbValue *value)
{
	const JsonbValue *values = test->arg.list.values;
	uint32		n = test->arg.list.n;

	if (value == NULL)			/* null comes first */
		return n > 0 && values[0].type == jbvNull;
	return values_set_find(values, n, value, NULL);
}

/* The MATCH_TYPE_ bit of a number. */
static uint32
number_type(Numeric n)
{
	int64		i;

	if (!number_to_int64(n, &i))
		return MATCH_TYPE_DOUBLE;
	return i >= PG_INT32_MIN && i <= PG_INT32_MAX ? MATCH_TYPE_INT : MATCH_TYPE_LONG;
}

/* Is the value of one of the types, which are MATCH_TYPE_ bits and 1 << value_rank? */
bool
match_has_type(uint32 types, const JsonbValue *value)
{
	if (types & (1 << value_rank(value)))
		return true;
	return value->type == jbvNumeric &&
		(types & (MATCH_TYPE_DOUBLE | MATCH_TYPE_INT | MATCH_TYPE_LONG)) != 0 &&
		(types & number_type(value->val.numeric)) != 0;
}

/* The number's fraction is cut off; beyond 64 bits there is no remainder. */
static bool
test_mod(const MatchTest *test, const JsonbValue *value)
{
	int64		divisor = test->arg.mod.divisor;
	int64		i;

	if (value->type != jbvNumeric || !number_to_int64(number_truncate(value->val.numeric), &i))
		return false;
	/* the smallest number divided by -1 would trap */
	return (divisor == -1 ? 0 : i % divisor) == test->arg.mod.remainder;
}

/* Only whole numbers of 64 bits have bits. */
static bool
test_bits(const MatchTest *test, const JsonbValue *value)
{
	uint64		mask = test->arg.bits;
	int64		i;

	if (value->type != jbvNumeric || !number_to_int64(value->val.numeric, &i))
		return false;
	switch (test->type)
	{
		case TEST_BITS_ALL_SET:
			return ((uint64) i & mask) == mask;
		case TEST_BITS_ALL_CLEAR:
			return ((uint64) i & mask) == 0;
		case TEST_BITS_ANY_SET:
			return ((uint64) i & mask) != 0;
		default:
			Assert(test->type == TEST_BITS_ANY_CLEAR);
			return (~(uint64) i & mask) != 0;
	}
}

/* Does an element satisfy the condition, or all tests? */
static bool
test_elements(const MatchTest *test, const JsonbValue *value)
{
	JsonbWalk	walk;
	JsonbValue	element;

	if (!value_is_array(value))
		return false;
	check_stack_depth();
	walk_begin(&walk, value->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (test->type == TEST_ELEM_VALUE ?
			tests_value(test->arg.tests.tests, test->arg.tests.n, &element) :
			element.type == jbvBinary && condition_holds(test->arg.document, &element, true))
			return true;
	}
	return false;
}

/* Does this one value, NULL for a missing one, satisfy the test? */
static bool
test_value(const MatchTest *test, const JsonbValue *value)
{
	switch (test->type)
	{
		case TEST_EQ:
		case TEST_GT:
		case TEST_GTE:
		case TEST_LT:
		case TEST_LTE:
			return test_compare(test, value);
		case TEST_IN:
			return test_in(test, value);
		case TEST_NOT:
			check_stack_depth();
			return !tests_value(test->arg.tests.tests, test->arg.tests.n, value);
		default:
			break;
	}
	if (value == NULL)
		return false;
	switch (test->type)
	{
		case TEST_EXISTS:
			return true;
		case TEST_TYPE:
			return match_has_type(test->arg.types, value);
		case TEST_SIZE:
			return value_is_array(value) && value_count(value) == test->arg.size;
		case TEST_REGEX:
			return value->type == jbvString &&
				regex_match(test->arg.regex, value->val.string.val, value->val.string.len);
		case TEST_MOD:
			return test_mod(test, value);
		case TEST_ELEM_DOCUMENT:
		case TEST_ELEM_VALUE:
			return test_elements(test, value);
		default:
			return test_bits(test, value);
	}
}

/* Does an element of the array, or the array itself, satisfy the test? */
static bool
test_array(const MatchTest *test, const JsonbValue *array)
{
	JsonbWalk	walk;
	JsonbValue	element;

	if (!test->whole)
	{
		walk_begin(&walk, array->val.binary.data);
		while (walk_next(&walk, NULL, &element))
		{
			CHECK_FOR_INTERRUPTS();
			if (test_value(test, &element))
				return true;
		}
	}
	return test_value(test, array);
}

/*
 * Follow the n steps through objects, from *value on, which is replaced.  False
 * if there is nothing; else *nleft are the steps left at an array, or none.
 */
static bool
follow_objects(const PathStep *steps, int n, JsonbValue *value, int *nleft)
{
	while (n > 0 && value_is_object(value))
	{
		if (!value_get(value, steps->name, steps->len, value))
			return false;
		steps++;
		n--;
	}
	*nleft = n;
	return n == 0 || value_is_array(value);
}

/* Does a value that the n steps lead to from this array satisfy the test? */
static bool
test_path_in_array(const MatchTest *test, const PathStep *steps, int n, const JsonbValue *array)
{
	JsonbWalk	walk;
	JsonbValue	element;
	uint32		i = 0;

	check_stack_depth();
	if (n == 0)
		return test_array(test, array);
	walk_begin(&walk, array->val.binary.data);
	for (; walk_next(&walk, NULL, &element); i++)
	{
		bool		is_step = steps->index >= 0 && (uint32) steps->index == i;
		JsonbValue	value;
		int			nleft;

		CHECK_FOR_INTERRUPTS();
		if (value_is_object(&element))
		{
			/* the step is a key of the element, and perhaps its index as well */
			for (int skip = 0; skip <= (is_step && n > 1 ? 1 : 0); skip++)
			{
				value = element;
				if (!follow_objects(steps + skip, n - skip, &value, &nleft))
				{
					if (test_value(test, NULL))
						return true;
				}
				else if (value_is_array(&value) ?
						 test_path_in_array(test, steps + n - nleft, nleft, &value) :
						 test_value(test, &value))
					return true;
			}
		}
		if (is_step && n == 1 && test_value(test, &element))
			return true;
		if (is_step && n > 1 && value_is_array(&element) &&
			test_path_in_array(test, steps + 1, n - 1, &element))
			return true;
	}
	return false;
}

/* Do all tests hold on the values that the n steps lead to from this array? */
static bool
tests_path_in_array(const MatchTest *tests, int ntests, const PathStep *steps, int n,
					const JsonbValue *array)
{
	check_stack_depth();
	for (int i = 0; i < ntests; i++)
	{
		const MatchTest *test = &tests[i];
		bool		holds;

		if (test->type == TEST_NOT)
			holds = !tests_path_in_array(test->arg.tests.tests, test->arg.tests.n, steps, n, array);
		else
			holds = test_path_in_array(test, steps, n, array);
		if (!holds)
			return false;
	}
	return true;
}

/* Does a field satisfy its tests? */
static bool
field_holds(const MatchCondition *condition, const JsonbValue *document, bool as_document)
{
	const MatchTest *tests = condition->arg.field.tests;
	const PathStep *steps = condition->arg.field.path->steps;
	int			ntests = condition->arg.field.ntests;
	int			n = condition->arg.field.path->nsteps;
	JsonbValue	value = *document;
	int			nleft;

	if (as_document && n > 0 && value_is_array(document))
	{
		/* an array that is a document has its indexes for keys */
		if (steps->index < 0 || (uint32) steps->index >= value_count(document))
			return tests_value(tests, ntests, NULL);
		container_value(document->val.binary.data, steps->index, &value);
		steps++;
		n--;
	}
	if (!follow_objects(steps, n, &value, &nleft))
		return tests_value(tests, ntests, NULL);
	if (value_is_array(&value))
		return tests_path_in_array(tests, ntests, steps + n - nleft, nleft, &value);
	return tests_value(tests, ntests, &value);
}

/*
 * Does the value satisfy the condition?  With as_document an array is taken for
 * a document, as $elemMatch does, and not traversed.
 */
static bool
condition_holds(const MatchCondition *condition, const JsonbValue *value, bool as_document)
{
	const MatchCondition *conditions = condition->arg.conditions.conditions;
	JsonbValue	result;

	if (condition->type == CONDITION_FIELD)
		return field_holds(condition, value, as_document);
	if (condition->type == CONDITION_EXPRESSION)
		return expression_evaluate(condition->arg.expression, value, &result) &&
			value_is_true(&result);
	if (condition->type == CONDITION_SCHEMA)
		return schema_valid(condition->arg.schema, value);
	check_stack_depth();
	for (int i = 0; i < condition->arg.conditions.n; i++)
	{
		/* the first that fails decides an and; one that holds, an or and a nor */
		if (condition_holds(&conditions[i], value, as_document) != (condition->type == CONDITION_AND))
			return condition->type == CONDITION_OR;
	}
	return condition->type != CONDITION_OR;
}

/* Does a value satisfy the query? */
bool
match_value(const MatchQuery *query, const JsonbValue *value)
{
	return condition_holds(&query->root, value, false);
}

static void *
compile_operand(Jsonb **operands)
{
	JsonbValue	query;

	value_from_jsonb(operands[0], &query);
	return match_compile(&query, MATCH_ANY);
}

/* An object is a document, of which operators must name a field. */
static void
check_value_operator(const MatchQuery *query, const JsonbValue *value)
{
	if (query->value_operator != NULL && value_is_object(value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query operator \"%s\" needs a field when a document is matched",
						query->value_operator),
				 errdetail("The document is %s.", value_to_cstring(value)),
				 errhint("Write {\"field\": {\"%s\": ...}}.", query->value_operator)));
}

PG_FUNCTION_INFO_V1(pattern_doc_match);

/* doc_match(value jsonb, query jsonb) → boolean */
Datum
pattern_doc_match(PG_FUNCTION_ARGS)
{
	static const int query_arg[] = {1};
	Jsonb	   *jb = PG_GETARG_JSONB_P(0);
	MatchQuery *query = operand_compiled(fcinfo, query_arg, 1, compile_operand);
	JsonbValue	value;
	bool		result;

	value_from_jsonb(jb, &value);
	check_value_operator(query, &value);
	result = match_value(query, &value);
	PG_FREE_IF_COPY(jb, 0);
	PG_RETURN_BOOL(result);
}
