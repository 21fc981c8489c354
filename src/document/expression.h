/*
 * document/expression.h
 *		How an expression is represented: shared by the files of the expression language.
 *
 *		expression.c			source → tree, field paths, variables
 *		expression_operators.c	the operators
 *
 * An operator is a line in a table and a function; adding one touches nothing else.
 */
#ifndef PATTERN_EXPRESSION_H
#define PATTERN_EXPRESSION_H

#include "pattern.h"

/* What an evaluation knows. */
typedef struct EvaluationContext
{
	const JsonbValue *root;		/* the document */
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
							bool immutable);
} ExpressionOperator;

struct Expression
{
	ExpressionEvaluate evaluate;
	const ExpressionOperator *operator;	/* NULL: no operator */
	JsonbValue	constant;
	DocPath    *path;			/* of a field path */
	int			nargs;
	Expression **args;			/* arguments, or an array's or an object's values */
	JsonbValue *keys;			/* of an object */
};

static inline bool
evaluate(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	return expression->evaluate(expression, context, result);
}

/* expression_operators.c: ends with a NULL name */
extern const ExpressionOperator expression_operators[];

/* expression.c */
extern Expression *expression_constant(const JsonbValue *value);
extern Expression *expression_arguments(const ExpressionOperator *operator, const JsonbValue *operand,
										bool immutable);

#endif							/* PATTERN_EXPRESSION_H */
