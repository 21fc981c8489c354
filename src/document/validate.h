/*
 * validate.h
 *		The shape of a compiled schema.
 *
 * A schema is one struct: each keyword has its place in it, and what is not
 * said there is such that everything meets it.  What a keyword says about
 * values of one type does not concern others, so that a value is checked by its
 * type and a group of keywords, and a schema without keywords of that group is
 * left at once.
 *
 * The fields of an object are named once, whether by properties, by required or
 * by both, and stand in the order in which jsonb keeps keys: a document is read
 * along with them, in one pass.
 */
#ifndef PATTERN_VALIDATE_H
#define PATTERN_VALIDATE_H

#include "pattern.h"

/* A field that properties or required names. */
typedef struct SchemaField
{
	const char *name;			/* not null-terminated */
	int			len;
	bool		required;
	bool		declared;		/* in properties, so that it is no additional one */
	const Schema *schema;		/* NULL: any value */
} SchemaField;

/* Fields whose names match a regular expression. */
typedef struct SchemaPattern
{
	const Regex *regex;
	const Schema *schema;
} SchemaPattern;

/* What is asked for when an object has a field. */
typedef struct SchemaDependency
{
	const char *name;
	int			len;
	const Schema *schema;		/* NULL: the fields below */
	uint32		nfields;
	const JsonbValue *fields;
} SchemaDependency;

/* Several schemas. */
typedef struct SchemaList
{
	uint32		n;
	const Schema **schemas;
} SchemaList;

#define SCHEMA_NO_MAXIMUM	PG_INT64_MAX

struct Schema
{
	/* any value */
	uint32		types;			/* MATCH_TYPE_ bits; 0: any */
	const char *types_keyword;	/* "type" or "bsonType" */
	JsonbValue	types_source;	/* as written */
	bool		has_enum;
	uint32		nenum;
	JsonbValue *enum_values;	/* a set, see values_make_set */
	JsonbValue	enum_source;
	SchemaList	all_of;
	SchemaList	any_of;
	SchemaList	one_of;
	const Schema *not;
	bool		is_combined;	/* one of these four is there */

	/* numbers */
	bool		about_numbers;
	Numeric		minimum;		/* NULL: none */
	Numeric		maximum;
	bool		exclusive_minimum;
	bool		exclusive_maximum;
	Numeric		multiple_of;

	/* strings */
	bool		about_strings;
	int64		min_length;
	int64		max_length;
	const Regex *pattern;
	JsonbValue	pattern_source;

	/* arrays */
	bool		about_arrays;
	int64		min_items;
	int64		max_items;
	bool		unique_items;
	bool		has_items_list; /* a schema for each place */
	SchemaList	items_list;
	const Schema *items;		/* for each element, or for those behind the list */
	bool		no_more_items;	/* none behind the list */

	/* objects */
	bool		about_objects;
	int64		min_properties;
	int64		max_properties;
	uint32		nfields;
	SchemaField *fields;		/* in the order of key_compare */
	uint32		npatterns;
	SchemaPattern *patterns;
	bool		no_more_fields; /* none but those of fields and patterns */
	const Schema *more_fields;	/* for these */
	uint32		ndependencies;
	SchemaDependency *dependencies;
};

/* Where in a document, or in a schema: a list that begins at the innermost step. */
typedef struct SchemaPlace
{
	const struct SchemaPlace *outer;
	const char *name;			/* NULL: an index */
	int			len;
	uint32		index;
} SchemaPlace;

/*
 * validate_compile.c
 */
extern char *schema_place_to_cstring(const SchemaPlace *place);

#endif							/* PATTERN_VALIDATE_H */
