/*
 * document/match_operators.c
 *		Compiles the query operators that a field's value is tested by.
 *
 * A table has a line an operator; a function compiles those of one shape.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "match.h"

/* An operator in the query. */
typedef struct OperatorCall
{
	const struct Operator *operator;
	const JsonbValue *argument;
	const JsonbValue *object;	/* in which it stands */
	const char *path;			/* the field's; NULL: the value itself */
} OperatorCall;

typedef struct Operator
{
	const char *name;
	void		(*compile) (const OperatorCall *call, MatchTestList *list);
	MatchTestType type;
	bool		negated;
} Operator;

/* Append a test, all zeros but for what is given. */
MatchTest *
match_add_test(MatchTestList *list, MatchTestType type, bool whole)
{
	MatchTest  *test;

	list->tests = array_reserve(list->tests, list->n, &list->max, sizeof(MatchTest));
	test = &list->tests[list->n++];
	memset(test, 0, sizeof(MatchTest));
	test->type = type;
	test->whole = whole;
	return test;
}

/* Append the negation of the tests. */
static void
add_negation(MatchTestList *list, const MatchTestList *of)
{
	MatchTest  *test = match_add_test(list, TEST_NOT, false);

	test->arg.tests.n = of->n;
	test->arg.tests.tests = of->tests;
}

pg_noreturn static void
argument_error(const OperatorCall *call, const char *needs)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("query operator \"%s\" needs %s", call->operator->name, needs),
			 call->path == NULL ?
			 errdetail("The argument is of type %s: %s.",
					   value_type_name(call->argument), value_to_cstring(call->argument)) :
			 errdetail("The argument at \"%s\" is of type %s: %s.", call->path,
					   value_type_name(call->argument), value_to_cstring(call->argument))));
}

/* A part of the argument that is wrong. */
static void
part_error(const OperatorCall *call, const JsonbValue *part, const char *rule)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("query operator \"%s\" %s", call->operator->name, rule),
			 call->path == NULL ?
			 errdetail("There is %s.", value_to_cstring(part)) :
			 errdetail("There is %s at \"%s\".", value_to_cstring(part), call->path)));
}

static void
check_array(const OperatorCall *call)
{
	if (!value_is_array(call->argument))
		argument_error(call, "an array");
}

/* Operators nested in a list of values; 22023. */
static void
check_no_operators(const OperatorCall *call, const JsonbValue *element)
{
	if (match_has_operator(element))
		part_error(call, element, "takes values, not operators");
}

/* $eq $gt $gte $lt $lte, and $ne */
static void
compile_comparison(const OperatorCall *call, MatchTestList *list)
{
	MatchTestList inner = {0};
	bool		negated = call->operator->negated;

	match_add_test(negated ? &inner : list, call->operator->type, false)->arg.value = *call->argument;
	if (negated)
		add_negation(list, &inner);
}

/* $in, and $nin */
static void
compile_list(const OperatorCall *call, MatchTestList *list)
{
	MatchTestList inner = {0};
	bool		negated = call->operator->negated;
	ValueList	values = {0};
	JsonbWalk	walk;
	JsonbValue	element;
	MatchTest  *test;

	check_array(call);
	walk_begin(&walk, call->argument->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		check_no_operators(call, &element);
		values_append(&values, &element);
	}

	test = match_add_test(negated ? &inner : list, TEST_IN, false);
	test->arg.list.n = values_make_set(values.values, values.n);
	test->arg.list.values = values.values;
	if (negated)
		add_negation(list, &inner);
}

/* $exists; anything but false, null and 0 is yes */
static void
compile_exists(const OperatorCall *call, MatchTestList *list)
{
	MatchTestList inner = {0};
	bool		exists = value_is_true(call->argument);

	match_add_test(exists ? list : &inner, TEST_EXISTS, true);
	if (!exists)
		add_negation(list, &inner);
}

/* A whole number of 64 bits; 22023 for anything else. */
static int64
int64_argument(const OperatorCall *call, const JsonbValue *value, const char *needs)
{
	int64		result;

	if (value->type != jbvNumeric || !number_to_int64(value->val.numeric, &result))
		argument_error(call, needs);
	return result;
}

/* BSON's types; those that jsonb does not have match nothing. */
static const struct
{
	const char *name;
	int			code;
	uint32		types;
}			bson_types[] =
{
	{"double", 1, MATCH_TYPE_DOUBLE},
	{"string", 2, 1 << 2},
	{"object", 3, 1 << 3},
	{"array", 4, 1 << 4},
	{"binData", 5, 0},
	{"undefined", 6, 0},
	{"objectId", 7, 0},
	{"bool", 8, 1 << 5},
	{"date", 9, 0},
	{"null", 10, 1 << 0},
	{"regex", 11, 0},
	{"dbPointer", 12, 0},
	{"javascript", 13, 0},
	{"symbol", 14, 0},
	{"javascriptWithScope", 15, 0},
	{"int", 16, MATCH_TYPE_INT},
	{"timestamp", 17, 0},
	{"long", 18, MATCH_TYPE_LONG},
	{"decimal", 19, 0},
	{"minKey", -1, 0},
	{"maxKey", 127, 0},
	{"number", 0, 1 << 1}
};

/* The types that a name stands for; false if it is none. */
bool
match_bson_type(const JsonbValue *name, uint32 *types)
{
	for (int i = 0; i < lengthof(bson_types); i++)
	{
		if (value_is_string(name, bson_types[i].name))
		{
			*types = bson_types[i].types;
			return true;
		}
	}
	return false;
}

/* The types that a name or a code stands for. */
static uint32
type_argument(const OperatorCall *call, const JsonbValue *value)
{
	uint32		types;
	int64		code;

	if (value->type == jbvString)
	{
		if (match_bson_type(value, &types))
			return types;
	}
	else
	{
		code = int64_argument(call, value, "the name or the code of a type, or an array of them");
		for (int i = 0; i < lengthof(bson_types); i++)
			if (code != 0 && code == bson_types[i].code)
				return bson_types[i].types;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized type for query operator \"$type\": %s", value_to_cstring(value)),
			 errhint("Types of jsonb's values are \"null\", \"number\", \"int\", \"long\", \"double\", \"string\", \"object\", \"array\" and \"bool\".")));
}

/* $type */
static void
compile_type(const OperatorCall *call, MatchTestList *list)
{
	uint32		types = 0;
	JsonbWalk	walk;
	JsonbValue	element;

	if (value_is_array(call->argument))
	{
		if (value_count(call->argument) == 0)
			argument_error(call, "a type at least");
		walk_begin(&walk, call->argument->val.binary.data);
		while (walk_next(&walk, NULL, &element))
			types |= type_argument(call, &element);
	}
	else
		types = type_argument(call, call->argument);
	match_add_test(list, TEST_TYPE, false)->arg.types = types;
}

/* $size */
static void
compile_size(const OperatorCall *call, MatchTestList *list)
{
	const char *needs = "a whole number from 0 to 2147483647";
	int64		size = int64_argument(call, call->argument, needs);

	if (size < 0 || size > PG_INT32_MAX)
		argument_error(call, needs);
	match_add_test(list, TEST_SIZE, true)->arg.size = size;
}

/* The element's own operators, when an $elemMatch is all it is. */
static bool
is_elem_match(const JsonbValue *element, JsonbValue *argument)
{
	return value_is_object(element) && value_count(element) == 1 &&
		value_get_cstring(element, "$elemMatch", argument);
}

static void compile_elem_match(const OperatorCall *call, MatchTestList *list);

/* $all: a test for each element */
static void
compile_all(const OperatorCall *call, MatchTestList *list)
{
	JsonbWalk	walk;
	JsonbValue	element,
				argument;
	uint32		nmatches = 0;
	int			n = 0;

	check_array(call);
	if (value_count(call->argument) == 0)
		match_add_test(list, TEST_IN, false);	/* in nothing */
	walk_begin(&walk, call->argument->val.binary.data);
	for (; walk_next(&walk, NULL, &element); n++)
	{
		CHECK_FOR_INTERRUPTS();
		if (is_elem_match(&element, &argument))
		{
			OperatorCall inner = *call;

			inner.argument = &argument;
			compile_elem_match(&inner, list);
			nmatches++;
		}
		else
		{
			check_no_operators(call, &element);
			match_add_test(list, TEST_EQ, false)->arg.value = element;
		}
		if (nmatches != 0 && nmatches != n + 1)
			part_error(call, &element, "takes either values or $elemMatch in all its elements");
	}
}

/* Operators that combine queries, and so belong to documents */
static bool
combines_queries(const JsonbValue *key)
{
	return value_is_string(key, "$and") || value_is_string(key, "$or") ||
		value_is_string(key, "$nor");
}

/* Is $elemMatch's argument operators on an element?  Otherwise it is a query. */
static bool
elements_are_values(const OperatorCall *call)
{
	const JsonbContainer *container = call->argument->val.binary.data;
	bool		operators = false;
	bool		query = false;

	for (uint32 i = 0; i < JsonContainerSize(container); i++)
	{
		JsonbValue	key;

		container_key(container, i, &key);
		if (!match_is_operator(&key) || combines_queries(&key))
			query = true;
		else if (!value_is_string(&key, "$comment"))
			operators = true;
	}
	if (operators && query)
		argument_error(call, "either operators on an element or a query for it");
	return operators;
}

/* $elemMatch */
static void
compile_elem_match(const OperatorCall *call, MatchTestList *list)
{
	if (!value_is_object(call->argument))
		argument_error(call, "an object");
	if (elements_are_values(call))
	{
		MatchTestList inner = {0};
		MatchTest  *test;

		match_compile_operators(call->argument, call->path, &inner);
		test = match_add_test(list, TEST_ELEM_VALUE, true);
		test->arg.tests.n = inner.n;
		test->arg.tests.tests = inner.tests;
	}
	else
	{
		MatchCondition *document = match_compile_element(call->argument);

		match_add_test(list, TEST_ELEM_DOCUMENT, true)->arg.document = document;
	}
}

/* $not */
static void
compile_not(const OperatorCall *call, MatchTestList *list)
{
	MatchTestList inner = {0};

	if (!value_is_object(call->argument) || value_count(call->argument) == 0 ||
		!match_is_operators(call->argument, call->path != NULL ? call->path : "$not"))
		argument_error(call, "an object of operators");
	match_compile_operators(call->argument, call->path, &inner);
	add_negation(list, &inner);
}

/* $regex, which takes $options from beside it */
static void
compile_regex(const OperatorCall *call, MatchTestList *list)
{
	JsonbValue	options;
	bool		has_options = value_get_cstring(call->object, "$options", &options);
	Regex	   *regex;

	if (call->argument->type != jbvString)
		argument_error(call, "a string");
	if (has_options && options.type != jbvString)
		part_error(call, &options, "needs a string for its \"$options\"");
	regex = regex_compile(call->argument, has_options ? &options : NULL);
	match_add_test(list, TEST_REGEX, false)->arg.regex = regex;
}

/* $options, which only $regex reads */
static void
compile_options(const OperatorCall *call, MatchTestList *list)
{
	JsonbValue	regex;

	if (!value_get_cstring(call->object, "$regex", &regex))
		argument_error(call, "a \"$regex\" beside it");
}

/* $mod: [divisor, remainder], whose fractions are cut off */
static void
compile_mod(const OperatorCall *call, MatchTestList *list)
{
	const char *needs = "an array of two numbers of 64 bits: divisor and remainder";
	MatchTest  *test = match_add_test(list, TEST_MOD, false);
	int64		numbers[2];

	if (!value_is_array(call->argument) || value_count(call->argument) != 2)
		argument_error(call, needs);
	for (int i = 0; i < 2; i++)
	{
		JsonbValue	value;

		container_value(call->argument->val.binary.data, i, &value);
		if (value.type != jbvNumeric ||
			!number_to_int64(number_truncate(value.val.numeric), &numbers[i]))
			argument_error(call, needs);
	}
	if (numbers[0] == 0)
		argument_error(call, "a divisor other than 0");
	test->arg.mod.divisor = numbers[0];
	test->arg.mod.remainder = numbers[1];
}

/* $bitsAllSet and so on: a mask, or an array of positions; those from 63 on are the sign */
static void
compile_bits(const OperatorCall *call, MatchTestList *list)
{
	const char *needs = "a mask, or an array of positions, that are whole numbers from 0 on";
	uint64		bits = 0;
	JsonbWalk	walk;
	JsonbValue	element;

	if (value_is_array(call->argument))
	{
		walk_begin(&walk, call->argument->val.binary.data);
		while (walk_next(&walk, NULL, &element))
		{
			int64		position = int64_argument(call, &element, needs);

			CHECK_FOR_INTERRUPTS();
			if (position < 0 || position > PG_INT32_MAX)
				argument_error(call, needs);
			bits |= UINT64CONST(1) << Min(position, 63);
		}
	}
	else
	{
		int64		mask = int64_argument(call, call->argument, needs);

		if (mask < 0)
			argument_error(call, needs);
		bits = mask;
	}
	match_add_test(list, call->operator->type, false)->arg.bits = bits;
}

static const Operator known_operators[] =
{
	{"$eq", compile_comparison, TEST_EQ, false},
	{"$ne", compile_comparison, TEST_EQ, true},
	{"$gt", compile_comparison, TEST_GT, false},
	{"$gte", compile_comparison, TEST_GTE, false},
	{"$lt", compile_comparison, TEST_LT, false},
	{"$lte", compile_comparison, TEST_LTE, false},
	{"$in", compile_list, TEST_IN, false},
	{"$nin", compile_list, TEST_IN, true},
	{"$exists", compile_exists, TEST_EXISTS, false},
	{"$type", compile_type, TEST_TYPE, false},
	{"$size", compile_size, TEST_SIZE, false},
	{"$all", compile_all, TEST_EQ, false},
	{"$elemMatch", compile_elem_match, TEST_ELEM_DOCUMENT, false},
	{"$not", compile_not, TEST_NOT, true},
	{"$regex", compile_regex, TEST_REGEX, false},
	{"$options", compile_options, TEST_REGEX, false},
	{"$mod", compile_mod, TEST_MOD, false},
	{"$bitsAllSet", compile_bits, TEST_BITS_ALL_SET, false},
	{"$bitsAllClear", compile_bits, TEST_BITS_ALL_CLEAR, false},
	{"$bitsAnySet", compile_bits, TEST_BITS_ANY_SET, false},
	{"$bitsAnyClear", compile_bits, TEST_BITS_ANY_CLEAR, false}
};

/* Those that stand beside fields, not within one. */
static const char *const query_operators[] = {"$and", "$or", "$nor", "$expr", "$jsonSchema"};

/* Those of MongoDB that we do not have. */
static const char *const unsupported_operators[] = {
	"$where", "$text", "$rand", "$sampleRate", "$alwaysTrue", "$alwaysFalse",
	"$geoIntersects", "$geoWithin", "$within", "$near", "$nearSphere"
};

static bool
is_one_of(const JsonbValue *key, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (value_is_string(key, names[i]))
			return true;
	return false;
}

/* The operator of this name that tests a value; an error if it is none. */
static const Operator *
find_operator(const JsonbValue *key, const char *path)
{
	char	   *name;

	for (int i = 0; i < lengthof(known_operators); i++)
		if (value_is_string(key, known_operators[i].name))
			return &known_operators[i];

	name = pnstrdup(key->val.string.val, key->val.string.len);
	if (is_one_of(key, query_operators, lengthof(query_operators)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query operator \"%s\" cannot stand here", name),
				 path == NULL ? 0 : errdetail("It stands at \"%s\".", path),
				 errhint("It is written beside fields, at the top of a query.")));
	if (is_one_of(key, unsupported_operators, lengthof(unsupported_operators)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("query operator \"%s\" is not supported", name)));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized query operator \"%s\"", name),
			 path == NULL ? 0 : errdetail("It stands at \"%s\".", path)));
}

/*
 * Compiles one operator, which stands in the object, to tests at
 * the end of the list.  22023 for a wrong one, 0A000 for one that we lack.
 */
void
match_compile_operator(const JsonbValue *key, const JsonbValue *argument,
					   const JsonbValue *object, const char *path, MatchTestList *list)
{
	OperatorCall call = {.argument = argument, .object = object, .path = path};

	check_stack_depth();
	if (value_is_string(key, "$comment"))
		return;
	call.operator = find_operator(key, path);
	call.operator->compile(&call, list);
}

/* Compiles an object of operators, all of which must hold. */
void
match_compile_operators(const JsonbValue *object, const char *path, MatchTestList *list)
{
	JsonbWalk	walk;
	JsonbValue	key,
				argument;

	walk_begin(&walk, object->val.binary.data);
	while (walk_next(&walk, &key, &argument))
		match_compile_operator(&key, &argument, object, path, list);
}
