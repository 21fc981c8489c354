/*
 * document/match_compile.c
 *		Compiles MongoDB's queries: what is said about fields, and and, or, nor.
 *
 * jsonb does not keep the order of keys, so nothing may depend on which key
 * comes first, as MongoDB has it in some places.  An object whose keys all
 * start with $ is operators, one without such keys is a value, and one that
 * has both is an error wherever it could be either.
 *
 * What is compiled points into the query's bytes, which must live as long.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "match.h"

static void compile_query(MatchCompile *compile, const JsonbValue *query, MatchCondition *result);

/* Does the key start with $ ? */
bool
match_is_operator(const JsonbValue *key)
{
	return key->val.string.len > 0 && key->val.string.val[0] == '$';
}

/* How many keys of an object start with $ */
static uint32
count_operators(const JsonbValue *object)
{
	uint32		n = 0;

	for (uint32 i = 0; i < value_count(object); i++)
	{
		JsonbValue	key;

		container_key(object->val.binary.data, i, &key);
		n += match_is_operator(&key);
	}
	return n;
}

/*
 * Is the object one of Extended JSON's forms of a value that JSON lacks?  Queries
 * have them as MongoDB's tools write them: {"_id": {"$oid": "..."}}.
 */
static bool
is_extended_json(const JsonbValue *object)
{
	static const char *const forms[][3] = {
		{"$oid"}, {"$date"}, {"$uuid"}, {"$binary"}, {"$timestamp"}, {"$symbol"},
		{"$numberInt"}, {"$numberLong"}, {"$numberDouble"}, {"$numberDecimal"},
		{"$minKey"}, {"$maxKey"}, {"$undefined"}, {"$dbPointer"},
		{"$code"}, {"$code", "$scope"}, {"$ref", "$id"}, {"$ref", "$id", "$db"}
	};
	JsonbValue	value;

	for (int i = 0; i < lengthof(forms); i++)
	{
		uint32		n = 0;

		while (n < lengthof(forms[i]) && forms[i][n] != NULL &&
			   value_get_cstring(object, forms[i][n], &value))
			n++;
		if (n == value_count(object) && (n == lengthof(forms[i]) || forms[i][n] == NULL))
			return true;
	}
	return false;
}

/* Is the value an object with a key that starts with $, and not Extended JSON? */
bool
match_has_operator(const JsonbValue *value)
{
	return value_is_object(value) && count_operators(value) > 0 && !is_extended_json(value);
}

/*
 * Is the value of a field in a query an object of operators?  One without them
 * is compared with; 22023 for one that has both, as it may mean either.
 */
bool
match_is_operators(const JsonbValue *value, const char *path)
{
	if (!match_has_operator(value))
		return false;
	if (count_operators(value) < value_count(value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query for \"%s\" mixes operators and fields", path),
				 errdetail("It is %s.", value_to_cstring(value)),
				 errhint("To compare with an object, write {\"$eq\": {...}}.")));
	return true;
}

/*
 * The steps of a field's name behind the first `skip` ones.  Unlike in an
 * update they may be empty, for there may be such keys, and an index is written
 * without leading zeros.
 */
static DocPath *
field_path(const JsonbValue *key, int skip)
{
	const char *name = key->val.string.val;
	const char *end = name + key->val.string.len;
	int			nsteps = 1;
	DocPath    *path;

	for (const char *c = name; c < end; c++)
		nsteps += (*c == '.');
	path = palloc0(offsetof(DocPath, steps) + nsteps * sizeof(PathStep));
	for (int i = 0; i < nsteps; i++)
	{
		const char *dot = memchr(name, '.', end - name);
		PathStep   *step = &path->steps[path->nsteps];

		step->name = name;
		step->len = (dot != NULL ? dot : end) - name;
		step->index = -1;
		if (step->len == 1 || (step->len > 1 && name[0] != '0'))
			step->index = path_step_index(name, step->len);
		if (i >= skip)
			path->nsteps++;
		if (dot != NULL)
			name = dot + 1;
	}
	return path;
}

/* Note the identifier that a filter's field starts with; there is one for all of them. */
static void
take_identifier(MatchCompile *compile, const JsonbValue *key)
{
	const char *name = key->val.string.val;
	const char *dot = memchr(name, '.', key->val.string.len);
	char	   *identifier = pnstrdup(name, dot != NULL ? dot - name : key->val.string.len);

	if (identifier[0] < 'a' || identifier[0] > 'z' ||
		strspn(identifier, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") !=
		strlen(identifier))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid identifier \"%s\" in an array filter", identifier),
				 errdetail("An identifier starts with a lower-case letter and has letters and digits only.")));
	if (compile->identifier != NULL && strcmp(compile->identifier, identifier) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("array filter has two identifiers, \"%s\" and \"%s\"",
						compile->identifier, identifier),
				 errhint("Write one filter for each identifier.")));
	compile->identifier = identifier;
}

/* "field": value, or "field": {operators} */
static void
compile_field(MatchCompile *compile, const JsonbValue *key, const JsonbValue *value,
			  MatchCondition *result)
{
	char	   *name = pnstrdup(key->val.string.val, key->val.string.len);
	MatchTestList list = {0};

	if (compile->in_filter)
		take_identifier(compile, key);
	if (match_is_operators(value, name))
		match_compile_operators(value, name, &list);
	else
		match_add_test(&list, TEST_EQ, false)->arg.value = *value;
	result->type = CONDITION_FIELD;
	result->arg.field.path = field_path(key, compile->in_filter ? 1 : 0);
	result->arg.field.ntests = list.n;
	result->arg.field.tests = list.tests;
}

/* "$and": [queries] */
static void
compile_logical(MatchCompile *compile, MatchConditionType type, const char *name,
				const JsonbValue *argument, MatchCondition *result)
{
	JsonbWalk	walk;
	JsonbValue	element;
	int			n = 0;

	if (!value_is_array(argument) || value_count(argument) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query operator \"%s\" needs an array of queries, not empty", name),
				 errdetail("The argument is %s.", value_to_cstring(argument))));
	result->type = type;
	result->arg.conditions.n = value_count(argument);
	result->arg.conditions.conditions =
		palloc_extended(value_count(argument) * sizeof(MatchCondition), MCXT_ALLOC_HUGE);
	walk_begin(&walk, argument->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (!value_is_object(&element))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("query operator \"%s\" needs an array of queries", name),
					 errdetail("Element %d is of type %s: %s.", n, value_type_name(&element),
							   value_to_cstring(&element))));
		compile_query(compile, &element, &result->arg.conditions.conditions[n++]);
	}
}

/* "$expr": expression, of a whole document */
static void
compile_expression(MatchCompile *compile, const JsonbValue *argument, MatchCondition *result)
{
	if (compile->kind != MATCH_ANY || compile->in_filter)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query operator \"$expr\" cannot stand here"),
				 errhint("It is written at the top of a query, for it is about the whole document.")));
	result->type = CONDITION_EXPRESSION;
	result->arg.expression = expression_compile(argument, true);
}

/* "$jsonSchema": schema, of a whole document */
static void
compile_schema(MatchCompile *compile, const JsonbValue *argument, MatchCondition *result)
{
	if (compile->in_filter)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query operator \"$jsonSchema\" cannot stand here"),
				 errhint("It is written beside fields, at the top of a query.")));
	result->type = CONDITION_SCHEMA;
	result->arg.schema = schema_compile(argument);
}

/* Operators that stand where a query is expected, in which they know no field. */
static void
check_operator_here(MatchCompile *compile, const char *name)
{
	if (compile->kind == MATCH_DOCUMENT || compile->in_filter)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query operator \"%s\" needs a field", name),
				 errhint("Write {\"%s\": {\"%s\": ...}}.",
						 compile->in_filter ? "identifier" : "field", name)));
	if (compile->value_operator == NULL)
		compile->value_operator = name;
}

/* A key of a query that starts with $, and is one of those that combine queries. */
static bool
logical_operator(const char *name, MatchConditionType *type)
{
	if (strcmp(name, "$and") == 0)
		*type = CONDITION_AND;
	else if (strcmp(name, "$or") == 0)
		*type = CONDITION_OR;
	else if (strcmp(name, "$nor") == 0)
		*type = CONDITION_NOR;
	else
		return false;
	return true;
}

static void
mixed_query(const JsonbValue *query)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("query has fields beside operators on the value itself"),
			 errdetail("The query is %s.", value_to_cstring(query))));
}

/* Tests of the value itself. */
static void
compile_tests(const MatchTestList *tests, MatchCondition *result)
{
	result->type = CONDITION_FIELD;
	result->arg.field.path = palloc0(offsetof(DocPath, steps));
	result->arg.field.ntests = tests->n;
	result->arg.field.tests = tests->tests;
}

/* An object of fields, logical operators, and operators on the value itself: their and. */
static void
compile_query(MatchCompile *compile, const JsonbValue *query, MatchCondition *result)
{
	MatchCondition *conditions;
	MatchConditionType type;
	MatchTestList tests = {0};
	JsonbWalk	walk;
	JsonbValue	key,
				value;
	int			n = 0;
	bool		has_fields = false;
	bool		has_operators = false;

	check_stack_depth();
	if (compile->kind == MATCH_VALUE && is_extended_json(query))
	{
		/* no operators, but a value */
		match_add_test(&tests, TEST_EQ, false)->arg.value = *query;
		compile_tests(&tests, result);
		return;
	}
	conditions = palloc_extended((value_count(query) + 1) * sizeof(MatchCondition), MCXT_ALLOC_HUGE);
	walk_begin(&walk, query->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		char	   *name;

		CHECK_FOR_INTERRUPTS();
		if (!match_is_operator(&key))
		{
			if (compile->kind == MATCH_VALUE)
				mixed_query(query);
			has_fields = true;
			compile_field(compile, &key, &value, &conditions[n++]);
			continue;
		}
		name = pnstrdup(key.val.string.val, key.val.string.len);
		if (strcmp(name, "$comment") == 0 || strcmp(name, "$expr") == 0)
			continue;
		if (logical_operator(name, &type) && compile->kind != MATCH_VALUE)
			compile_logical(compile, type, name, &value, &conditions[n++]);
		else if (strcmp(name, "$jsonSchema") == 0 && compile->kind != MATCH_VALUE)
			compile_schema(compile, &value, &conditions[n++]);
		else
		{
			has_operators = true;
			match_compile_operator(&key, &value, query, NULL, &tests);
			check_operator_here(compile, name);
		}
	}
	if (has_fields && has_operators)
		mixed_query(query);
	if (has_operators)
		compile_tests(&tests, &conditions[n++]);
	/* the last, for it costs the most */
	if (value_get_cstring(query, "$expr", &value))
		compile_expression(compile, &value, &conditions[n++]);
	result->type = CONDITION_AND;
	result->arg.conditions.n = n;
	result->arg.conditions.conditions = conditions;
}

/* The condition of an $elemMatch on documents; palloc'd. */
MatchCondition *
match_compile_element(const JsonbValue *query)
{
	MatchCompile compile = {.kind = MATCH_DOCUMENT};
	MatchCondition *result = palloc(sizeof(MatchCondition));

	compile_query(&compile, query, result);
	return result;
}

static void
check_object(const JsonbValue *value, const char *what)
{
	if (!value_is_object(value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be an object", what),
				 errdetail("It is of type %s: %s.", value_type_name(value), value_to_cstring(value))));
}

/*
 * Compiles a query; palloc'd, and points into it.  22023 for one that is wrong,
 * 0A000 for an operator that we do not have.
 */
MatchQuery *
match_compile(const JsonbValue *query, MatchKind kind)
{
	MatchCompile compile = {.kind = kind};
	MatchQuery *result = palloc(sizeof(MatchQuery));

	check_object(query, "query");
	compile_query(&compile, query, &result->root);
	result->value_operator = compile.value_operator;
	return result;
}

/*
 * Compiles an array filter, a query whose fields all start with the same
 * identifier: {"x.a": {"$gt": 5}}.  match_value is given what is bound to it.
 */
MatchQuery *
match_compile_filter(const JsonbValue *filter, char **identifier)
{
	MatchCompile compile = {.kind = MATCH_ANY, .in_filter = true};
	MatchQuery *result = palloc(sizeof(MatchQuery));

	check_object(filter, "array filter");
	compile_query(&compile, filter, &result->root);
	if (compile.identifier == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("array filter has no identifier"),
				 errdetail("The filter is %s.", value_to_cstring(filter)),
				 errhint("Write {\"name\": ...} or {\"name.field\": ...} for $[name].")));
	result->value_operator = NULL;
	*identifier = compile.identifier;
	return result;
}
