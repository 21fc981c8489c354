/*
 * document/validate_compile.c
 *		Compiles schemas: MongoDB's $jsonSchema, which is JSON Schema's draft 4
 *		and bsonType.
 *
 * A table has a line a keyword; a function compiles those of one shape.  What
 * MongoDB refuses is refused here, with the place in the schema: $ref,
 * definitions, format and other keywords that would not be followed must not
 * seem to be.
 *
 * What is compiled points into the schema's bytes, which must live as long.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "match.h"
#include "validate_compile.h"

#define NO_GROUP	((size_t) -1)

/* The place with dots between its steps; palloc'd, and empty at the root. */
char *
schema_place_to_cstring(const SchemaPlace *place)
{
	List	   *steps = NIL;
	StringInfoData buf;
	ListCell   *cell;

	for (; place != NULL; place = place->outer)
		steps = lcons(unconstify(SchemaPlace *, place), steps);
	initStringInfo(&buf);
	foreach(cell, steps)
	{
		const SchemaPlace *step = lfirst(cell);

		if (cell != list_head(steps))
			appendStringInfoChar(&buf, '.');
		if (step->name == NULL)
			appendStringInfo(&buf, "%u", step->index);
		else
			appendBinaryStringInfo(&buf, step->name, step->len);
	}
	return buf.data;
}

/* "a.b" in double quotes, or "the schema" at its root; for messages. */
static char *
name_place(const SchemaPlace *place)
{
	char	   *path;

	if (place == NULL)
		return "the schema";
	path = schema_place_to_cstring(place);
	return psprintf("\"%s\"", text_for_message(path, strlen(path)));
}

/* 22023: what stands at a place is not what must stand there. */
void
schema_error(const SchemaPlace *place, const char *must, const JsonbValue *found)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid schema: %s must %s", name_place(place), must),
			 errdetail("It is of type %s: %s.", value_type_name(found), value_to_cstring(found))));
}

/* The same, of the argument of a keyword. */
void
schema_call_error(const KeywordCall *call, const char *must)
{
	schema_error(call->place, must, call->argument);
}

/* The field of the schema that the keyword sets. */
static void *
target(const KeywordCall *call)
{
	return (char *) call->schema + call->keyword->offset;
}

/* title, description */
static void
compile_text(const KeywordCall *call)
{
	if (call->argument->type != jbvString)
		schema_call_error(call, "be a string");
}

/* minimum, maximum */
static void
compile_bound(const KeywordCall *call)
{
	if (call->argument->type != jbvNumeric)
		schema_call_error(call, "be a number");
	*(Numeric *) target(call) = call->argument->val.numeric;
}

/* multipleOf */
static void
compile_multiple_of(const KeywordCall *call)
{
	if (call->argument->type != jbvNumeric ||
		number_compare(call->argument->val.numeric, int64_to_numeric(0)) <= 0)
		schema_call_error(call, "be a number greater than 0");
	call->schema->multiple_of = call->argument->val.numeric;
}

/* uniqueItems */
static void
compile_flag(const KeywordCall *call)
{
	if (call->argument->type != jbvBool)
		schema_call_error(call, "be true or false");
	*(bool *) target(call) = call->argument->val.boolean;
}

/* exclusiveMinimum, exclusiveMaximum: true or false, as in draft 4, beside their bound */
static void
compile_exclusive(const KeywordCall *call)
{
	const char *bound = strcmp(call->keyword->name, "exclusiveMinimum") == 0 ? "minimum" : "maximum";
	JsonbValue	value;

	if (call->argument->type != jbvBool)
		schema_call_error(call, "be true or false");
	if (!value_get_cstring(call->source, bound, &value))
		schema_call_error(call, psprintf("stand beside \"%s\"", bound));
	*(bool *) target(call) = call->argument->val.boolean;
}

/* minLength and other numbers of things */
static void
compile_count(const KeywordCall *call)
{
	int64	   *count = target(call);

	if (call->argument->type != jbvNumeric ||
		!number_to_int64(call->argument->val.numeric, count) || *count < 0)
		schema_call_error(call, "be a whole number from 0 on");
}

/* JSON Schema's types; see value_rank. */
static const struct
{
	const char *name;
	uint32		types;
}			json_types[] =
{
	{"null", 1 << 0},
	{"number", 1 << 1},
	{"string", 1 << 2},
	{"object", 1 << 3},
	{"array", 1 << 4},
	{"boolean", 1 << 5}
};

static bool
json_type(const JsonbValue *name, uint32 *types)
{
	for (int i = 0; i < lengthof(json_types); i++)
	{
		if (value_is_string(name, json_types[i].name))
		{
			*types = json_types[i].types;
			return true;
		}
	}
	return false;
}

/* The bits of one name of a type. */
static uint32
type_bits(const KeywordCall *call, const JsonbValue *name, const SchemaPlace *place)
{
	bool		is_bson = call->keyword->offset == offsetof(Schema, types_source);
	uint32		types;

	if (name->type != jbvString)
		schema_error(place, "be the name of a type, or an array of names", name);
	if (is_bson ? match_bson_type(name, &types) : json_type(name, &types))
		return types;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid schema: unrecognized type at %s: %s", name_place(place), value_to_cstring(name)),
			 is_bson ?
			 errhint("Types of jsonb's values are \"null\", \"number\", \"int\", \"long\", \"double\", \"string\", \"object\", \"array\" and \"bool\".") :
			 errhint("Types are \"null\", \"number\", \"string\", \"object\", \"array\" and \"boolean\"; for whole numbers write \"bsonType\": [\"int\", \"long\"].")));
}

/* type, bsonType: a name, or an array of names */
static void
compile_type(const KeywordCall *call)
{
	Schema	   *schema = call->schema;
	uint32		n = 1;
	JsonbValue	element;

	if (schema->types_keyword != NULL)
		schema_call_error(call, "not stand beside \"type\" or \"bsonType\"");
	schema->types_keyword = call->keyword->name;
	schema->types_source = *call->argument;
	if (!value_is_array(call->argument))
		schema->types = type_bits(call, call->argument, call->place);
	else
	{
		JsonbValue *names;

		n = value_count(call->argument);
		if (n == 0)
			schema_call_error(call, "have a type at least");
		names = palloc(n * sizeof(JsonbValue));
		for (uint32 i = 0; i < n; i++)
		{
			SchemaPlace place = schema_place_of_element(call->place, i);

			container_value(call->argument->val.binary.data, i, &element);
			schema->types |= type_bits(call, &element, &place);
			names[i] = element;
		}
		if (values_make_set(names, n) < n)
			schema_call_error(call, "not name a type twice");
	}
	/* none of jsonb's values has such a type */
	schema->types |= MATCH_TYPE_NONE;
}

/* The elements of an array argument, which must not be empty; palloc'd. */
JsonbValue *
schema_array_argument(const KeywordCall *call, uint32 *n)
{
	JsonbWalk	walk;
	JsonbValue *elements;
	uint32		i = 0;

	if (!value_is_array(call->argument) || value_count(call->argument) == 0)
		schema_call_error(call, "be an array, not empty");
	*n = value_count(call->argument);
	elements = palloc_extended(*n * sizeof(JsonbValue), MCXT_ALLOC_HUGE);
	walk_begin(&walk, call->argument->val.binary.data);
	while (walk_next(&walk, NULL, &elements[i]))
	{
		CHECK_FOR_INTERRUPTS();
		i++;
	}
	return elements;
}

/* enum */
static void
compile_enum(const KeywordCall *call)
{
	Schema	   *schema = call->schema;
	uint32		n;

	schema->enum_values = schema_array_argument(call, &n);
	schema->nenum = values_make_set(schema->enum_values, n);
	if (schema->nenum < n)
		schema_call_error(call, "not have a value twice");
	schema->has_enum = true;
	schema->enum_source = *call->argument;
}

/* allOf, anyOf, oneOf, and the list of items */
static void
compile_list(const KeywordCall *call)
{
	SchemaList *list = target(call);
	JsonbValue *elements = schema_array_argument(call, &list->n);

	list->schemas = palloc_extended(list->n * sizeof(Schema *), MCXT_ALLOC_HUGE);
	for (uint32 i = 0; i < list->n; i++)
	{
		SchemaPlace place = schema_place_of_element(call->place, i);

		list->schemas[i] = schema_compile_at(&elements[i], &place);
	}
}

/* not */
static void
compile_not(const KeywordCall *call)
{
	call->schema->not = schema_compile_at(call->argument, call->place);
}

/* The regular expression of this keyword is at this place; an error_context_callback. */
static void
add_regex_context(void *arg)
{
	errcontext("schema, at %s", name_place(arg));
}

/* A regular expression at a place in the schema. */
const Regex *
schema_compile_regex(const JsonbValue *pattern, SchemaPlace *place)
{
	ErrorContextCallback callback = {error_context_stack, add_regex_context, place};
	const Regex *regex;

	error_context_stack = &callback;
	regex = regex_compile(pattern, NULL);
	error_context_stack = callback.previous;
	return regex;
}

/* pattern */
static void
compile_pattern(const KeywordCall *call)
{
	SchemaPlace place = *call->place;

	if (call->argument->type != jbvString)
		schema_call_error(call, "be a string");
	call->schema->pattern = schema_compile_regex(call->argument, &place);
	call->schema->pattern_source = *call->argument;
}

/* items: a schema for all elements, or an array of one for each place */
static void
compile_items(const KeywordCall *call)
{
	if (value_is_array(call->argument))
	{
		call->schema->has_items_list = true;
		if (value_count(call->argument) > 0)
			compile_list(call);
	}
	else
		call->schema->items = schema_compile_at(call->argument, call->place);
}

/* additionalItems, which says nothing unless items is an array */
static void
compile_additional_items(const KeywordCall *call)
{
	const Schema *schema = NULL;
	JsonbValue	items;

	if (call->argument->type != jbvBool)
		schema = schema_compile_at(call->argument, call->place);
	if (!value_get_cstring(call->source, "items", &items) || !value_is_array(&items))
		return;
	call->schema->no_more_items = schema == NULL && !call->argument->val.boolean;
	call->schema->items = schema;
}

#define OF(field) offsetof(Schema, field)

/* properties stands before required; type needs another offset than bsonType only to be told from it */
static const Keyword known_keywords[] =
{
	{"title", compile_text, 0, NO_GROUP},
	{"description", compile_text, 0, NO_GROUP},
	{"type", compile_type, OF(types), NO_GROUP},
	{"bsonType", compile_type, OF(types_source), NO_GROUP},
	{"enum", compile_enum, OF(enum_values), NO_GROUP},
	{"allOf", compile_list, OF(all_of), OF(is_combined)},
	{"anyOf", compile_list, OF(any_of), OF(is_combined)},
	{"oneOf", compile_list, OF(one_of), OF(is_combined)},
	{"not", compile_not, OF(not), OF(is_combined)},
	{"minimum", compile_bound, OF(minimum), OF(about_numbers)},
	{"maximum", compile_bound, OF(maximum), OF(about_numbers)},
	{"exclusiveMinimum", compile_exclusive, OF(exclusive_minimum), OF(about_numbers)},
	{"exclusiveMaximum", compile_exclusive, OF(exclusive_maximum), OF(about_numbers)},
	{"multipleOf", compile_multiple_of, OF(multiple_of), OF(about_numbers)},
	{"minLength", compile_count, OF(min_length), OF(about_strings)},
	{"maxLength", compile_count, OF(max_length), OF(about_strings)},
	{"pattern", compile_pattern, OF(pattern), OF(about_strings)},
	{"minItems", compile_count, OF(min_items), OF(about_arrays)},
	{"maxItems", compile_count, OF(max_items), OF(about_arrays)},
	{"uniqueItems", compile_flag, OF(unique_items), OF(about_arrays)},
	{"items", compile_items, OF(items_list), OF(about_arrays)},
	{"additionalItems", compile_additional_items, OF(items), OF(about_arrays)},
	{"minProperties", compile_count, OF(min_properties), OF(about_objects)},
	{"maxProperties", compile_count, OF(max_properties), OF(about_objects)},
	{"properties", schema_compile_fields, OF(fields), OF(about_objects)},
	{"required", schema_compile_required, OF(fields), OF(about_objects)},
	{"patternProperties", schema_compile_patterns, OF(patterns), OF(about_objects)},
	{"additionalProperties", schema_compile_more_fields, OF(more_fields), OF(about_objects)},
	{"dependencies", schema_compile_dependencies, OF(dependencies), OF(about_objects)}
};

/* 22023 unless the key is a keyword. */
static void
check_keyword(const JsonbValue *key, const SchemaPlace *outer)
{
	SchemaPlace place = schema_place_of_key(outer, key);

	for (int i = 0; i < lengthof(known_keywords); i++)
		if (value_is_string(key, known_keywords[i].name))
			return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid schema: unrecognized keyword at %s", name_place(&place)),
			 errhint("Keywords are those of JSON Schema's draft 4 and \"bsonType\", without $ref, $schema, id, definitions, default and format. Names of fields stand in \"properties\".")));
}

/* Compiles the schema at a place; NULL is the root. */
Schema *
schema_compile_at(const JsonbValue *source, const SchemaPlace *outer)
{
	Schema	   *schema;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (!value_is_object(source))
		schema_error(outer, "be an object", source);
	for (uint32 i = 0; i < value_count(source); i++)
	{
		JsonbValue	key;

		container_key(source->val.binary.data, i, &key);
		check_keyword(&key, outer);
	}

	schema = palloc0(sizeof(Schema));
	schema->max_length = schema->max_items = schema->max_properties = SCHEMA_NO_MAXIMUM;
	for (int i = 0; i < lengthof(known_keywords); i++)
	{
		const Keyword *keyword = &known_keywords[i];
		SchemaPlace place = {outer, keyword->name, strlen(keyword->name), 0};
		JsonbValue	argument;
		KeywordCall call = {keyword, &argument, source, &place, schema};

		if (!value_get_cstring(source, keyword->name, &argument))
			continue;
		if (keyword->about != NO_GROUP)
			*(bool *) ((char *) schema + keyword->about) = true;
		keyword->compile(&call);
	}
	return schema;
}

/*
 * Compiles a schema; palloc'd, and points into it.  22023 with the place for one
 * that is wrong, 2201B and 0A000 for its regular expressions.
 */
Schema *
schema_compile(const JsonbValue *source)
{
	return schema_compile_at(source, NULL);
}
