/*
 * match.h
 *		The shape of a compiled query.
 *
 * A query has two floors.  *Conditions* are about a document: and, or and nor
 * of other conditions; a field; an expression.  A field is a path and *tests*,
 * all of which must hold, each for itself: a path through arrays leads to
 * several values, and a test holds if one of these satisfies it, so that two
 * tests of a field may be satisfied by different elements.
 *
 * {"a.b": {"$gte": 5, "$ne": 7}, "$or": [{"c": 1}, {"d": "x"}]}
 *
 *		AND
 *			FIELD a.b	GTE 5, NOT (EQ 7)
 *			OR
 *				AND		FIELD c		EQ 1
 *				AND		FIELD d		EQ "x"
 *
 * Operators on the value itself are a field whose path has no steps.  What is
 * short for something else is compiled as that: $ne is NOT EQ, $nin is NOT IN,
 * {"$exists": false} is NOT EXISTS, $all is one EQ or $elemMatch an element,
 * an empty $all is an empty IN.  $comment leaves nothing.
 */
#ifndef PATTERN_MATCH_H
#define PATTERN_MATCH_H

#include "pattern.h"

typedef enum MatchTestType
{
	TEST_EQ,					/* value */
	TEST_GT,
	TEST_GTE,
	TEST_LT,
	TEST_LTE,
	TEST_IN,					/* list */
	TEST_EXISTS,
	TEST_TYPE,					/* types */
	TEST_SIZE,					/* size */
	TEST_REGEX,					/* regex */
	TEST_MOD,					/* mod */
	TEST_BITS_ALL_SET,			/* bits */
	TEST_BITS_ALL_CLEAR,
	TEST_BITS_ANY_SET,
	TEST_BITS_ANY_CLEAR,
	TEST_ELEM_DOCUMENT,			/* document: an element satisfies the condition */
	TEST_ELEM_VALUE,			/* tests: an element satisfies all of them */
	TEST_NOT					/* tests: not all of them hold */
} MatchTestType;

/* Types are bits 1 << value_rank, such as these two; is a number one of those below? */
#define MATCH_TYPE_NUMBER	(1 << 1)
#define MATCH_TYPE_STRING	(1 << 2)
#define MATCH_TYPE_DOUBLE	(1 << 8)	/* has a fraction, or is beyond 64 bits */
#define MATCH_TYPE_INT		(1 << 9)	/* a whole number of 32 bits */
#define MATCH_TYPE_LONG		(1 << 10)	/* a whole number of 64 bits, but not of 32 */
#define MATCH_TYPE_NONE		(1 << 11)	/* no value */

/* Says something about one value, or about a missing one. */
typedef struct MatchTest
{
	MatchTestType type;
	bool		whole;			/* an array is tested, but not its elements */
	union
	{
		JsonbValue	value;
		struct
		{
			uint32		n;
			JsonbValue *values; /* ascending by value_compare, without duplicates */
		}			list;
		uint32		types;
		uint32		size;
		Regex	   *regex;
		struct
		{
			int64		divisor;
			int64		remainder;
		}			mod;
		uint64		bits;
		struct
		{
			int			n;
			struct MatchTest *tests;
		}			tests;
		struct MatchCondition *document;
	}			arg;
} MatchTest;

typedef enum MatchConditionType
{
	CONDITION_AND,				/* conditions */
	CONDITION_OR,
	CONDITION_NOR,
	CONDITION_FIELD,			/* field */
	CONDITION_EXPRESSION,		/* expression */
	CONDITION_SCHEMA			/* schema */
} MatchConditionType;

/* Says something about a document. */
typedef struct MatchCondition
{
	MatchConditionType type;
	union
	{
		struct
		{
			int			n;
			struct MatchCondition *conditions;
		}			conditions;
		struct
		{
			DocPath    *path;
			int			ntests;
			MatchTest  *tests;
		}			field;
		Expression *expression;
		Schema	   *schema;
	}			arg;
} MatchCondition;

struct MatchQuery
{
	MatchCondition root;		/* mostly an AND */
	const char *value_operator; /* one that stands at the root, else NULL */
};

/*
 * match.c
 */
extern bool match_has_type(uint32 types, const JsonbValue *value);

/*
 * match_compile.c
 */

/* What is being compiled. */
typedef struct MatchCompile
{
	MatchKind	kind;			/* what may stand here */
	bool		in_filter;		/* fields start with an identifier, which is cut off */
	char	   *identifier;		/* it, once one was found */
	const char *value_operator; /* for MatchQuery */
} MatchCompile;

/* Growable list of tests. */
typedef struct MatchTestList
{
	uint32		n;
	uint32		max;
	MatchTest  *tests;
} MatchTestList;

extern bool match_is_operator(const JsonbValue *key);
extern bool match_has_operator(const JsonbValue *value);
extern bool match_is_operators(const JsonbValue *value, const char *path);
extern MatchCondition *match_compile_element(const JsonbValue *query);

/*
 * match_operators.c
 */
extern MatchTest *match_add_test(MatchTestList *list, MatchTestType type, bool whole);
extern bool match_bson_type(const JsonbValue *name, uint32 *types);
extern void match_compile_operator(const JsonbValue *key, const JsonbValue *argument,
								   const JsonbValue *object, const char *path,
								   MatchTestList *list);
extern void match_compile_operators(const JsonbValue *object, const char *path,
									MatchTestList *list);

#endif							/* PATTERN_MATCH_H */
