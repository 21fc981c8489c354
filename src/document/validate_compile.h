/*
 * validate_compile.h
 *		What the files that compile schemas tell each other.
 */
#ifndef PATTERN_VALIDATE_COMPILE_H
#define PATTERN_VALIDATE_COMPILE_H

#include "validate.h"

/* The keyword that is being compiled. */
typedef struct KeywordCall
{
	const struct Keyword *keyword;
	const JsonbValue *argument;
	const JsonbValue *source;	/* the schema that it stands in */
	const SchemaPlace *place;	/* of the argument */
	Schema	   *schema;
} KeywordCall;

typedef struct Keyword
{
	const char *name;
	void		(*compile) (const KeywordCall *call);
	size_t		offset;			/* of what it sets in Schema */
	size_t		about;			/* of the flag that one of its group is there, or NO_GROUP */
} Keyword;

/* A step from a place to a key or to an element. */
static inline SchemaPlace
schema_place_of_key(const SchemaPlace *outer, const JsonbValue *key)
{
	return (SchemaPlace) {outer, key->val.string.val, key->val.string.len, 0};
}

static inline SchemaPlace
schema_place_of_element(const SchemaPlace *outer, uint32 index)
{
	return (SchemaPlace) {outer, NULL, 0, index};
}

/*
 * validate_compile.c
 */
extern Schema *schema_compile_at(const JsonbValue *source, const SchemaPlace *outer);
extern const Regex *schema_compile_regex(const JsonbValue *pattern, SchemaPlace *place);
extern JsonbValue *schema_array_argument(const KeywordCall *call, uint32 *n);
pg_noreturn extern void schema_error(const SchemaPlace *place, const char *must, const JsonbValue *found);
extern void schema_call_error(const KeywordCall *call, const char *must);

/*
 * validate_fields.c: keywords
 */
extern void schema_compile_more_fields(const KeywordCall *call);
extern void schema_compile_fields(const KeywordCall *call);
extern void schema_compile_required(const KeywordCall *call);
extern void schema_compile_patterns(const KeywordCall *call);
extern void schema_compile_dependencies(const KeywordCall *call);

#endif							/* PATTERN_VALIDATE_COMPILE_H */
