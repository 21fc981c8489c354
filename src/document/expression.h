/*
 * document/expression.h
 *		How an expression is represented: shared by the files of the expression language.
 *
 *		expression.c			source → tree, field paths, variables
 *		expression_operators.c	the table of operators; comparison, logic, choice
 *		expression_arithmetic.c	numbers
 *		expression_array.c		arrays, and sets as arrays without order
 *		expression_object.c		objects
 *		expression_string.c		strings
 *		expression_convert.c	types
 *		expression_variable.c	operators that bind variables: $let $map $filter $reduce
 *
 * An operator is a line in the table and a function; adding one touches nothing else.
 */
#ifndef PATTERN_EXPRESSION_H
#define PATTERN_EXPRESSION_H

#include "pattern.h"

/* The variables that an expression may use: a name, and what stands around it. */
typedef struct ExpressionScope
{
	bool		immutable;		/* nothing that depends on the time */
	const struct ExpressionScope *outer;	/* NULL: the whole expression's, which has no name */
	JsonbValue	name;
} ExpressionScope;

/* The values of the variables, in the same nesting. */
typedef struct EvaluationFrame
{
	const struct EvaluationFrame *outer;
	bool		found;			/* it is not missing */
	JsonbValue	value;
} EvaluationFrame;

/* What an evaluation knows. */
typedef struct EvaluationContext
{
	const JsonbValue *root;		/* the document */
	const EvaluationFrame *frame;	/* the innermost variable; NULL: none */
} EvaluationContext;

/* False means missing, which is not null. */
typedef bool (*ExpressionEvaluate) (const Expression *expression, EvaluationContext *context,
									JsonbValue *result);

/* An operator; an operand that is not an array is the one argument. */
typedef struct ExpressionOperator
{
	const char *name;
	ExpressionEvaluate evaluate;
	int			min_args;
	int			max_args;		/* -1: no limit */
	/* for operands of another form; NULL: arguments as they are */
	Expression *(*compile) (const struct ExpressionOperator *operator, const JsonbValue *operand,
							const ExpressionScope *scope);
	const void *arg;			/* what evaluate makes of it */
} ExpressionOperator;

struct Expression
{
	ExpressionEvaluate evaluate;
	const ExpressionOperator *operator;	/* NULL: no operator */
	JsonbValue	constant;
	DocPath    *path;			/* of a field path; NULL: the whole value */
	int			depth;			/* of a variable: how many are bound further in */
	int			nargs;
	Expression **args;			/* arguments, or an array's or an object's values */
	JsonbValue *keys;			/* of an object */
	const void *compiled;		/* what an operator makes of operands that are no expressions */
};

static inline bool
evaluate(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	return expression->evaluate(expression, context, result);
}

/* expression.c */
extern bool array_result(const ValueList *list, JsonbValue *result);
extern Expression *expression_constant(const JsonbValue *value);
extern Expression *expression_new(const ExpressionOperator *operator);
extern Expression *expression_compile_within(const JsonbValue *source, const ExpressionScope *scope);
extern Expression *expression_arguments(const ExpressionOperator *operator, const JsonbValue *operand,
										const ExpressionScope *scope);
extern void expression_fields(const ExpressionOperator *operator, const JsonbValue *operand,
							  const char *const *names, int nrequired, int nnames, JsonbValue *parts);
extern Expression *expression_named_arguments(const ExpressionOperator *operator, const JsonbValue *operand,
											  const char *const *names, int nrequired, int nnames,
											  const ExpressionScope *scope);

/* the operators of each file; ends with a NULL name */
extern const ExpressionOperator expression_operators[];
extern const ExpressionOperator expression_arithmetic_operators[];
extern const ExpressionOperator expression_array_operators[];
extern const ExpressionOperator expression_object_operators[];
extern const ExpressionOperator expression_string_operators[];
extern const ExpressionOperator expression_convert_operators[];
extern const ExpressionOperator expression_variable_operators[];

/* expression_operators.c: arguments as operators take them */
pg_noreturn extern void argument_error(const Expression *expression, const JsonbValue *argument,
									   const char *expected);
extern bool evaluate_not_null(const Expression *expression, int i, EvaluationContext *context,
							  JsonbValue *result);
extern bool evaluate_pair(const Expression *expression, EvaluationContext *context, JsonbValue *a,
						  JsonbValue *b);
extern bool evaluate_truth(const Expression *expression, EvaluationContext *context);
extern void check_number(const Expression *expression, const JsonbValue *argument);
extern void check_array(const Expression *expression, const JsonbValue *argument);
extern void check_string(const Expression *expression, const JsonbValue *argument);
extern int32 check_integer(const Expression *expression, const JsonbValue *argument);

/* expression_string.c */
extern void number_to_string(const JsonbValue *number, JsonbValue *result);

#endif							/* PATTERN_EXPRESSION_H */
