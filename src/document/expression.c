/*
 * document/expression.c
 *		MongoDB's expression language: compiling, field paths and variables.
 *
 * An expression becomes a tree of nodes, each with the function that evaluates
 * it.  What does not depend on the document is evaluated when it is compiled.
 * Values point into the document or are palloc'd; nothing is kept from one
 * evaluation to the next.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "expression.h"

static Expression *
new_expression(ExpressionEvaluate evaluate)
{
	Expression *expression = palloc0(sizeof(Expression));

	expression->evaluate = evaluate;
	return expression;
}

static bool
evaluate_constant(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	*result = expression->constant;
	return true;
}

static bool
is_constant(const Expression *expression)
{
	return expression->evaluate == evaluate_constant;
}

/* An expression that is this value; its memory is shared. */
Expression *
expression_constant(const JsonbValue *value)
{
	Expression *expression = new_expression(evaluate_constant);

	expression->constant = *value;
	return expression;
}

/* A list that was built, as an array that can be read; true. */
bool
array_result(const ValueList *list, JsonbValue *result)
{
	values_finish(list, result);
	value_pack(result);
	return true;
}

static bool walk_path(const DocPath *path, int step, const JsonbValue *value, JsonbValue *result);

/* A path goes into each element of an array; what is missing leaves no trace. */
static bool
walk_path_array(const DocPath *path, int step, const JsonbValue *array, JsonbValue *result)
{
	ValueList	list = {0};
	JsonbWalk	walk;
	JsonbValue	element,
				inner;

	check_stack_depth();
	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (element.type == jbvBinary && walk_path(path, step, &element, &inner))
			values_append(&list, &inner);
	}
	return array_result(&list, result);
}

static bool
walk_path(const DocPath *path, int step, const JsonbValue *value, JsonbValue *result)
{
	*result = *value;
	for (; step < path->nsteps; step++)
	{
		JsonbValue	inner;

		if (value_is_array(result))
		{
			inner = *result;
			return walk_path_array(path, step, &inner, result);
		}
		if (!value_get(result, path->steps[step].name, path->steps[step].len, &inner))
			return false;
		*result = inner;
	}
	return true;
}

/* A field of a value, or the value itself. */
static bool
evaluate_within(const Expression *expression, const JsonbValue *value, JsonbValue *result)
{
	if (expression->path != NULL)
		return walk_path(expression->path, 0, value, result);
	*result = *value;
	return true;
}

static bool
evaluate_root(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	return evaluate_within(expression, context->root, result);
}

static bool
evaluate_variable(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	const EvaluationFrame *frame = context->frame;

	for (int i = 0; i < expression->depth; i++)
		frame = frame->outer;
	return frame->found && evaluate_within(expression, &frame->value, result);
}

static bool
evaluate_remove(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	return false;
}

/* The start of the transaction as ISO 8601 text in UTC, to the millisecond; palloc'd. */
void
expression_clock(JsonbValue *result)
{
	struct pg_tm tm;
	fsec_t		fsec;

	if (timestamp2tm(GetCurrentTransactionStartTimestamp(), NULL, &tm, &fsec, NULL, NULL) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	value_from_cstring(psprintf("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year, tm.tm_mon,
								tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int) (fsec / 1000)),
					   result);
}

static bool
evaluate_now(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	expression_clock(result);
	return true;
}

static bool
evaluate_array(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};

	check_stack_depth();
	for (int i = 0; i < expression->nargs; i++)
	{
		JsonbValue	value;

		if (!evaluate(expression->args[i], context, &value))
			value.type = jbvNull;
		values_append(&list, &value);
	}
	return array_result(&list, result);
}

static bool
evaluate_object(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	PairList	pairs = {0};

	check_stack_depth();
	for (int i = 0; i < expression->nargs; i++)
	{
		const JsonbValue *key = &expression->keys[i];
		JsonbValue	value;

		if (evaluate(expression->args[i], context, &value))
			pairs_append(&pairs, key->val.string.val, key->val.string.len, &value);
	}
	pairs_finish(&pairs, result);
	value_pack(result);
	return true;
}

/* A name in an expression may not begin with a dollar sign, nor, as a key, hold a dot. */
static void
check_name(const char *name, int len, bool is_key)
{
	if (len == 0 || name[0] == '$' || memchr(name, '\0', len) != NULL ||
		(is_key && memchr(name, '.', len) != NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid field name in an expression: \"%s\"", text_for_message(name, len)),
				 errdetail("A field name is not empty, does not begin with a dollar sign, and has no dots.")));
}

/* A path's text as an expression on what evaluate goes into. */
static Expression *
compile_path(ExpressionEvaluate evaluate, const char *path, int len)
{
	Expression *expression = new_expression(evaluate);

	expression->path = path_parse(path, len, false);
	for (int i = 0; i < expression->path->nsteps; i++)
		check_name(expression->path->steps[i].name, expression->path->steps[i].len, false);
	return expression;
}

/* How many variables are bound further in than the one of this name; -1 if there is none. */
static int
find_variable(const ExpressionScope *scope, const JsonbValue *name)
{
	for (int depth = 0; scope->outer != NULL; depth++, scope = scope->outer)
		if (key_compare(scope->name.val.string.val, scope->name.val.string.len,
						name->val.string.val, name->val.string.len) == 0)
			return depth;
	return -1;
}

static bool
is_immutable(const ExpressionScope *scope)
{
	while (scope->outer != NULL)
		scope = scope->outer;
	return scope->immutable;
}

/* $$NAME or $$NAME.path; the text is what stands behind the dollar signs. */
static Expression *
compile_variable(const char *text, int len, const ExpressionScope *scope)
{
	const char *dot = memchr(text, '.', len);
	int			name_len = dot != NULL ? dot - text : len;
	Expression *expression;
	JsonbValue	name;
	int			depth;

	name.type = jbvString;
	name.val.string.val = unconstify(char *, text);
	name.val.string.len = name_len;
	depth = find_variable(scope, &name);
	if (depth >= 0 || value_is_string(&name, "ROOT") || value_is_string(&name, "CURRENT"))
	{
		ExpressionEvaluate evaluate = depth >= 0 ? evaluate_variable : evaluate_root;

		expression = dot == NULL ? new_expression(evaluate) :
			compile_path(evaluate, dot + 1, text + len - (dot + 1));
		expression->depth = depth;
		return expression;
	}
	if (value_is_string(&name, "REMOVE") && dot == NULL)
		return new_expression(evaluate_remove);
	if (value_is_string(&name, "NOW") && dot == NULL)
	{
		if (is_immutable(scope))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("the variable $$NOW is not supported in a query"),
					 errdetail("A query gives the same answer at all times, so that it can be indexed."),
					 errhint("Put the time into the query as a value.")));
		return new_expression(evaluate_now);
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized variable in an expression: \"$$%s\"", text_for_message(text, len)),
			 errhint("The variables are $$ROOT, $$CURRENT, $$NOW, $$REMOVE, and those of $let, $map, $filter and $reduce around it. Write {\"$literal\": ...} for text that begins with a dollar sign.")));
	return NULL;
}

static Expression *
compile_string(const JsonbValue *source, const ExpressionScope *scope)
{
	const char *text = source->val.string.val;
	int			len = source->val.string.len;

	if (len == 0 || text[0] != '$')
		return expression_constant(source);
	if (len > 1 && text[1] == '$')
		return compile_variable(text + 2, len - 2, scope);
	if (len == 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"$\" is not a field path"),
				 errhint("Write {\"$literal\": \"$\"} for the text.")));
	return compile_path(evaluate_root, text + 1, len - 1);
}

/* Arguments and an array's or object's values that are constant make a constant. */
static Expression *
fold(Expression *expression)
{
	EvaluationContext context = {0};
	JsonbValue	value;

	for (int i = 0; i < expression->nargs; i++)
		if (!is_constant(expression->args[i]))
			return expression;
	return evaluate(expression, &context, &value) ? expression_constant(&value) : expression;
}

static Expression *
compile_array(const JsonbValue *source, const ExpressionScope *scope)
{
	Expression *expression = new_expression(evaluate_array);
	JsonbWalk	walk;
	JsonbValue	element;

	expression->args = palloc(value_count(source) * sizeof(Expression *));
	walk_begin(&walk, source->val.binary.data);
	while (walk_next(&walk, NULL, &element))
		expression->args[expression->nargs++] = expression_compile_within(&element, scope);
	return fold(expression);
}

/*
 * The arguments of an operator: the operand's elements if it is an array, else
 * the operand.  Their number is checked.
 */
Expression *
expression_arguments(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	Expression *expression = expression_new(operator);
	int			nargs = value_is_array(operand) ? value_count(operand) : 1;

	if (nargs < operator->min_args || (operator->max_args >= 0 && nargs > operator->max_args))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("wrong number of arguments for %s: %d", operator->name, nargs),
				 operator->max_args < 0 ? errdetail("It takes at least %d.", operator->min_args) :
				 operator->min_args == operator->max_args ? errdetail("It takes %d.", operator->min_args) :
				 errdetail("It takes %d to %d.", operator->min_args, operator->max_args)));
	expression->args = palloc(Max(nargs, 1) * sizeof(Expression *));
	if (value_is_array(operand))
	{
		JsonbWalk	walk;
		JsonbValue	element;

		walk_begin(&walk, operand->val.binary.data);
		while (walk_next(&walk, NULL, &element))
			expression->args[expression->nargs++] = expression_compile_within(&element, scope);
	}
	else
		expression->args[expression->nargs++] = expression_compile_within(operand, scope);
	return expression;
}

/*
 * The fields of an operand that is an object: *parts takes them in the order of
 * names, of which the first nrequired must be there.  A field that is not there
 * is of type jbvObject with no pairs.  22023 for any other field.
 */
void
expression_fields(const ExpressionOperator *operator, const JsonbValue *operand,
				  const char *const *names, int nrequired, int nnames, JsonbValue *parts)
{
	uint32		nfound = 0;

	if (!value_is_object(operand))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the operand of %s must be an object: %s", operator->name, value_to_cstring(operand))));
	for (int i = 0; i < nnames; i++)
	{
		if (value_get_cstring(operand, names[i], &parts[i]))
			nfound++;
		else if (i >= nrequired)
			parts[i].type = jbvObject;
		else
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s needs \"%s\": %s", operator->name, names[i], value_to_cstring(operand))));
	}
	if (nfound == value_count(operand))
		return;
	for (uint32 i = 0; i < value_count(operand); i++)
	{
		JsonbValue	key;
		bool		known = false;

		container_key(operand->val.binary.data, i, &key);
		for (int n = 0; n < nnames; n++)
			known |= value_is_string(&key, names[n]);
		if (!known)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unrecognized field of %s: \"%s\"", operator->name,
							text_for_message(key.val.string.val, key.val.string.len))));
	}
}

/* An operator whose arguments are the fields of an object; one that is not given is NULL. */
Expression *
expression_named_arguments(const ExpressionOperator *operator, const JsonbValue *operand,
						   const char *const *names, int nrequired, int nnames,
						   const ExpressionScope *scope)
{
	Expression *expression = expression_new(operator);
	JsonbValue *parts = palloc(nnames * sizeof(JsonbValue));

	expression_fields(operator, operand, names, nrequired, nnames, parts);
	expression->nargs = nnames;
	expression->args = palloc0(nnames * sizeof(Expression *));
	for (int i = 0; i < nnames; i++)
		if (parts[i].type != jbvObject)
			expression->args[i] = expression_compile_within(&parts[i], scope);
	return expression;
}

static Expression *
compile_operator(const JsonbValue *name, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const ExpressionOperator *const tables[] = {
		expression_operators, expression_arithmetic_operators, expression_array_operators,
		expression_object_operators, expression_string_operators, expression_convert_operators,
		expression_variable_operators
	};

	for (int i = 0; i < lengthof(tables); i++)
		for (const ExpressionOperator *operator = tables[i]; operator->name != NULL; operator++)
			if (value_is_string(name, operator->name))
				return operator->compile != NULL ? operator->compile(operator, operand, scope) :
					expression_arguments(operator, operand, scope);
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the expression operator \"%s\" is not supported",
					text_for_message(name->val.string.val, name->val.string.len))));
	return NULL;
}

static Expression *
compile_object(const JsonbValue *source, const ExpressionScope *scope)
{
	Expression *expression = new_expression(evaluate_object);
	uint32		count = value_count(source);
	JsonbWalk	walk;
	JsonbValue	key,
				value;

	expression->args = palloc(Max(count, 1) * sizeof(Expression *));
	expression->keys = palloc(Max(count, 1) * sizeof(JsonbValue));
	walk_begin(&walk, source->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		if (key.val.string.len > 0 && key.val.string.val[0] == '$')
		{
			if (count > 1)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("the expression operator \"%s\" must stand alone in its object: %s",
								text_for_message(key.val.string.val, key.val.string.len),
								value_to_cstring(source))));
			return compile_operator(&key, &value, scope);
		}
		check_name(key.val.string.val, key.val.string.len, true);
		expression->keys[expression->nargs] = key;
		expression->args[expression->nargs++] = expression_compile_within(&value, scope);
	}
	return fold(expression);
}

/* An operator without arguments yet. */
Expression *
expression_new(const ExpressionOperator *operator)
{
	Expression *expression = new_expression(operator->evaluate);

	expression->operator = operator;
	return expression;
}

/* Compile a part of an expression, with the variables that are bound around it. */
Expression *
expression_compile_within(const JsonbValue *source, const ExpressionScope *scope)
{
	check_stack_depth();
	if (source->type == jbvString)
		return compile_string(source, scope);
	if (value_is_array(source))
		return compile_array(source, scope);
	if (value_is_object(source))
		return compile_object(source, scope);
	return expression_constant(source);
}

/*
 * Compiles an expression; immutable refuses what depends on the time.  The
 * result is palloc'd and points into the source.  22023 for a malformed one,
 * 22P02 for a bad path, 0A000 for an operator that is not supported.
 */
Expression *
expression_compile(const JsonbValue *source, bool immutable)
{
	ExpressionScope scope = {0};

	scope.immutable = immutable;
	return expression_compile_within(source, &scope);
}

/* The value for a document, in *result; false if it is missing.  Class 22 errors. */
bool
expression_evaluate(const Expression *expression, const JsonbValue *root, JsonbValue *result)
{
	EvaluationContext context = {0};

	context.root = root;
	return evaluate(expression, &context, result);
}
