/*
 * document/validate.c
 *		Schemas: a compiled schema meets a value.
 *
 * validate.h shows what a schema is compiled to.  There is one walk for both
 * questions that are asked: is the value valid, and what is wrong with it.  The
 * first has no report to write to, stops at the first violation, and allocates
 * nothing (but for uniqueItems); the second goes on and collects all.
 *
 * A violation has the path of what is wrong or missing.  Those inside allOf,
 * properties, items and dependencies are reported for themselves; anyOf, oneOf
 * and not are one violation each, since none of their schemas need be the one
 * that was meant.
 */
#include "postgres.h"

#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "jsonb/walk.h"
#include "match.h"
#include "validate.h"

/* An object is read whole unless it has this many fields for each that the schema names. */
#define LOOK_UP_FIELDS	8

/* So many violations stand in the DETAIL of an error. */
#define MOST_IN_DETAIL	20

/* A check under way; the same for all values of a document. */
typedef struct Report
{
	List	   *violations;
} Report;

static bool check_value(const Schema *schema, const JsonbValue *value, const SchemaPlace *place,
						Report *report);

static void
report_violation(Report *report, const SchemaPlace *place, const char *keyword, char *message)
{
	Violation  *violation = palloc(sizeof(Violation));

	violation->path = schema_place_to_cstring(place);
	violation->keyword = keyword;
	violation->message = message;
	report->violations = lappend(report->violations, violation);
}

/*
 * A keyword is violated at the place.  Without a report that is the end of the
 * check; else the message is made, and the check goes on.
 */
#define VIOLATED_AT(at, keyword, ...) \
	do { \
		if (report == NULL) \
			return false; \
		report_violation(report, at, keyword, psprintf(__VA_ARGS__)); \
		valid = false; \
	} while (0)

#define VIOLATED(keyword, ...) VIOLATED_AT(place, keyword, __VA_ARGS__)

/* A check of a part, which has reported what it found; without a report, one that fails is the end. */
#define CHECK(holds) \
	do { \
		if (!(holds)) \
		{ \
			if (report == NULL) \
				return false; \
			valid = false; \
		} \
	} while (0)

static bool
check_number(const Schema *schema, const JsonbValue *value, const SchemaPlace *place, Report *report)
{
	Numeric		number = value->val.numeric;
	bool		valid = true;

	if (schema->minimum != NULL &&
		number_compare(number, schema->minimum) < (schema->exclusive_minimum ? 1 : 0))
		VIOLATED("minimum", "must be %s %s, and is %s",
				 schema->exclusive_minimum ? "greater than" : "at least",
				 number_to_cstring(schema->minimum), number_to_cstring(number));
	if (schema->maximum != NULL &&
		number_compare(number, schema->maximum) > (schema->exclusive_maximum ? -1 : 0))
		VIOLATED("maximum", "must be %s %s, and is %s",
				 schema->exclusive_maximum ? "less than" : "at most",
				 number_to_cstring(schema->maximum), number_to_cstring(number));
	if (schema->multiple_of != NULL && !number_is_multiple(number, schema->multiple_of))
		VIOLATED("multipleOf", "must be a multiple of %s, and is %s",
				 number_to_cstring(schema->multiple_of), number_to_cstring(number));
	return valid;
}

/* A number of things that is too small or too large. */
static bool
check_count(int64 count, int64 least, const char *least_keyword, int64 most, const char *most_keyword,
			const char *thing, const SchemaPlace *place, Report *report)
{
	bool		valid = true;

	if (count < least)
		VIOLATED(least_keyword, "must have at least " INT64_FORMAT " %s%s, and has " INT64_FORMAT,
				 least, thing, least == 1 ? "" : "s", count);
	if (count > most)
		VIOLATED(most_keyword, "must have at most " INT64_FORMAT " %s%s, and has " INT64_FORMAT,
				 most, thing, most == 1 ? "" : "s", count);
	return valid;
}

/* The number of characters. */
static int64
string_length(const char *string, int len)
{
	int			i = 0;
	uint64		high_bits = 0;
	uint64		bytes;

	for (; i + (int) sizeof(bytes) <= len; i += sizeof(bytes))
	{
		memcpy(&bytes, string + i, sizeof(bytes));
		high_bits |= bytes;
	}
	for (; i < len; i++)
		high_bits |= (unsigned char) string[i];
	/* each byte is a character if all are ASCII */
	if ((high_bits & UINT64CONST(0x8080808080808080)) == 0)
		return len;
	return pg_mbstrlen_with_len(string, len);
}

/* Does the number of bytes tell that there are enough characters, and not too many? */
static bool
has_length(int len, int64 least, int64 most)
{
	return len <= most && len / MAX_MULTIBYTE_CHAR_LEN >= least;
}

static bool
check_string(const Schema *schema, const JsonbValue *value, const SchemaPlace *place, Report *report)
{
	const char *string = value->val.string.val;
	int			len = value->val.string.len;
	bool		valid = true;

	if (!has_length(len, schema->min_length, schema->max_length))
		CHECK(check_count(string_length(string, len), schema->min_length, "minLength",
						  schema->max_length, "maxLength", "character", place, report));
	if (schema->pattern != NULL && !regex_match(schema->pattern, string, len))
		VIOLATED("pattern", "must match %s, and is %s",
				 value_to_cstring(&schema->pattern_source), value_to_cstring(value));
	return valid;
}

/* Are two elements of an array equal? */
static bool
has_equal_elements(const JsonbValue *array)
{
	uint32		n = value_count(array);
	JsonbValue *elements = palloc_extended((Size) n * sizeof(JsonbValue), MCXT_ALLOC_HUGE);
	JsonbWalk	walk;
	uint32		i = 0;
	bool		result;

	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &elements[i]))
		i++;
	result = values_make_set(elements, n) < n;
	pfree(elements);
	return result;
}

static bool
check_elements(const Schema *schema, const JsonbValue *array, const SchemaPlace *outer, Report *report)
{
	uint32		nplaces = schema->items_list.n;
	bool		valid = true;
	SchemaPlace place = {outer, NULL, 0, 0};
	JsonbWalk	walk;
	JsonbValue	element;

	walk_begin(&walk, array->val.binary.data);
	for (; walk_next(&walk, NULL, &element); place.index++)
	{
		CHECK_FOR_INTERRUPTS();
		if (place.index < nplaces)
			CHECK(check_value(schema->items_list.schemas[place.index], &element, &place, report));
		else if (schema->items != NULL)
			CHECK(check_value(schema->items, &element, &place, report));
		else if (schema->no_more_items)
			VIOLATED_AT(&place, "additionalItems", "is not allowed behind %u elements", nplaces);
		else
			break;
	}
	return valid;
}

static bool
check_array(const Schema *schema, const JsonbValue *array, const SchemaPlace *place, Report *report)
{
	bool		valid = true;

	if (value_count(array) < schema->min_items || value_count(array) > schema->max_items)
		CHECK(check_count(value_count(array), schema->min_items, "minItems",
						  schema->max_items, "maxItems", "element", place, report));
	if (schema->unique_items && value_count(array) > 1 && has_equal_elements(array))
		VIOLATED("uniqueItems", "must not have equal elements");
	if (schema->items != NULL || schema->no_more_items || schema->items_list.n > 0)
		CHECK(check_elements(schema, array, place, report));
	return valid;
}

/* A field that is not named: patternProperties, then additionalProperties. */
static bool
check_other_field(const Schema *schema, const SchemaField *named, const JsonbValue *value,
				  const SchemaPlace *place, Report *report)
{
	bool		is_additional = named == NULL || !named->declared;
	bool		valid = true;

	for (uint32 i = 0; i < schema->npatterns; i++)
	{
		if (regex_match(schema->patterns[i].regex, place->name, place->len))
		{
			is_additional = false;
			CHECK(check_value(schema->patterns[i].schema, value, place, report));
		}
	}
	if (is_additional && schema->no_more_fields)
		VIOLATED("additionalProperties", "is not allowed");
	if (is_additional && schema->more_fields != NULL)
		CHECK(check_value(schema->more_fields, value, place, report));
	return valid;
}

/* key_compare, inline: it is called for each field of a document */
static inline int
compare_names(const char *a, int alen, const char *b, int blen)
{
	if (alen != blen)
		return alen < blen ? -1 : 1;
	return memcmp(a, b, alen);
}

/* The named field is not in the object. */
static bool
check_missing(const SchemaField *field, const SchemaPlace *outer, Report *report)
{
	SchemaPlace place = {outer, field->name, field->len, 0};
	bool		valid = true;

	if (field->required)
		VIOLATED_AT(&place, "required", "is missing");
	return valid;
}

/* Check all fields, those of the document and those of the schema side by side. */
static bool
check_fields(const Schema *schema, const JsonbValue *object, const SchemaPlace *outer, Report *report)
{
	const SchemaField *field = schema->fields;
	const SchemaField *end = field + schema->nfields;
	bool		others = schema->npatterns > 0 || schema->no_more_fields || schema->more_fields != NULL;
	bool		valid = true;
	JsonbWalk	walk;
	const char *name;
	int			len;

	walk_start(&walk, object->val.binary.data);
	while ((others || field < end) && walk_field(&walk, &name, &len))
	{
		const SchemaField *named = NULL;

		CHECK_FOR_INTERRUPTS();
		while (field < end)
		{
			int			cmp = compare_names(field->name, field->len, name, len);

			if (cmp == 0)
				named = field++;
			else if (cmp < 0)
			{
				CHECK(check_missing(field++, outer, report));
				continue;
			}
			break;
		}
		if (others || (named != NULL && named->schema != NULL))
		{
			SchemaPlace place = {outer, name, len, 0};
			JsonbValue	value;

			walk_field_value(&walk, &value);
			if (named != NULL && named->schema != NULL)
				CHECK(check_value(named->schema, &value, &place, report));
			if (others)
				CHECK(check_other_field(schema, named, &value, &place, report));
		}
		else
			walk_field_value(&walk, NULL);
	}
	for (; field < end; field++)
		CHECK(check_missing(field, outer, report));
	return valid;
}

/* Look up the few fields that the schema names in an object of many. */
static bool
look_up_fields(const Schema *schema, const JsonbValue *object, const SchemaPlace *outer, Report *report)
{
	bool		valid = true;

	for (uint32 i = 0; i < schema->nfields; i++)
	{
		const SchemaField *field = &schema->fields[i];
		SchemaPlace place = {outer, field->name, field->len, 0};
		JsonbValue	value;

		if (!value_get(object, field->name, field->len, &value))
			CHECK(check_missing(field, outer, report));
		else if (field->schema != NULL)
			CHECK(check_value(field->schema, &value, &place, report));
	}
	return valid;
}

static bool
has_field(const JsonbValue *object, const char *name, int len)
{
	uint32		position;

	return container_find(object->val.binary.data, name, len, &position);
}

static bool
check_dependencies(const Schema *schema, const JsonbValue *object, const SchemaPlace *outer, Report *report)
{
	bool		valid = true;

	for (uint32 i = 0; i < schema->ndependencies; i++)
	{
		const SchemaDependency *dependency = &schema->dependencies[i];

		if (!has_field(object, dependency->name, dependency->len))
			continue;
		if (dependency->schema != NULL)
			CHECK(check_value(dependency->schema, object, outer, report));
		for (uint32 j = 0; j < dependency->nfields; j++)
		{
			const JsonbValue *name = &dependency->fields[j];
			SchemaPlace place = {outer, name->val.string.val, name->val.string.len, 0};

			if (!has_field(object, name->val.string.val, name->val.string.len))
				VIOLATED_AT(&place, "dependencies", "is missing beside \"%s\"",
							text_for_message(dependency->name, dependency->len));
		}
	}
	return valid;
}

static bool
check_object(const Schema *schema, const JsonbValue *object, const SchemaPlace *place, Report *report)
{
	bool		others = schema->npatterns > 0 || schema->no_more_fields || schema->more_fields != NULL;
	bool		valid = true;

	if (value_count(object) < schema->min_properties || value_count(object) > schema->max_properties)
		CHECK(check_count(value_count(object), schema->min_properties, "minProperties",
						  schema->max_properties, "maxProperties", "field", place, report));
	if (!others && value_count(object) / LOOK_UP_FIELDS > schema->nfields)
		CHECK(look_up_fields(schema, object, place, report));
	else
		CHECK(check_fields(schema, object, place, report));
	if (schema->ndependencies > 0)
		CHECK(check_dependencies(schema, object, place, report));
	return valid;
}

/* How many of the schemas does the value meet?  Stops at the given number. */
static uint32
count_valid(const SchemaList *list, const JsonbValue *value, uint32 stop)
{
	uint32		n = 0;

	for (uint32 i = 0; i < list->n && n < stop; i++)
		n += check_value(list->schemas[i], value, NULL, NULL);
	return n;
}

/* allOf, anyOf, oneOf, not */
static bool
check_combined(const Schema *schema, const JsonbValue *value, const SchemaPlace *place, Report *report)
{
	bool		valid = true;
	uint32		n;

	check_stack_depth();
	for (uint32 i = 0; i < schema->all_of.n; i++)
		CHECK(check_value(schema->all_of.schemas[i], value, place, report));
	if (schema->any_of.n > 0 && count_valid(&schema->any_of, value, 1) == 0)
		VIOLATED("anyOf", "must meet one of %u schemas, and meets none", schema->any_of.n);
	if (schema->one_of.n > 0)
	{
		n = count_valid(&schema->one_of, value, report == NULL ? 2 : PG_UINT32_MAX);
		if (n != 1)
			VIOLATED("oneOf", "must meet exactly one of %u schemas, and meets %u", schema->one_of.n, n);
	}
	if (schema->not != NULL && check_value(schema->not, value, NULL, NULL))
		VIOLATED("not", "must not meet the schema that stands under \"not\"");
	return valid;
}

/* What keywords say about values of the value's type. */
static bool
check_by_type(const Schema *schema, const JsonbValue *value, const SchemaPlace *place, Report *report)
{
	switch (value->type)
	{
		case jbvNumeric:
			return !schema->about_numbers || check_number(schema, value, place, report);
		case jbvString:
			return !schema->about_strings || check_string(schema, value, place, report);
		case jbvBinary:
			check_stack_depth();
			if (value_is_array(value))
				return !schema->about_arrays || check_array(schema, value, place, report);
			return !schema->about_objects || check_object(schema, value, place, report);
		default:
			return true;
	}
}

/* Is the value of one of the types?  For most values the bit of their own type tells. */
static inline bool
has_type(uint32 types, const JsonbValue *value)
{
	if (value->type == jbvString && (types & MATCH_TYPE_STRING) != 0)
		return true;
	if (value->type == jbvNumeric && (types & MATCH_TYPE_NUMBER) != 0)
		return true;
	return match_has_type(types, value);
}

/*
 * Does the value at a place meet the schema?  Violations are added to the report,
 * which may be NULL.
 */
static bool
check_value(const Schema *schema, const JsonbValue *value, const SchemaPlace *place, Report *report)
{
	bool		valid = true;

	if (schema->types != 0 && !has_type(schema->types, value))
		VIOLATED(schema->types_keyword, "must be of type %s, and is of type %s: %s",
				 value_to_cstring(&schema->types_source), value_type_name(value), value_to_cstring(value));
	if (schema->has_enum && !values_set_find(schema->enum_values, schema->nenum, value, NULL))
		VIOLATED("enum", "must be one of %s, and is %s",
				 value_to_cstring(&schema->enum_source), value_to_cstring(value));
	CHECK(check_by_type(schema, value, place, report));
	if (schema->is_combined)
		CHECK(check_combined(schema, value, place, report));
	return valid;
}

/* Does the value meet the schema? */
bool
schema_valid(const Schema *schema, const JsonbValue *value)
{
	return check_value(schema, value, NULL, NULL);
}

/* All that is wrong with the value, as a list of Violation; palloc'd. */
List *
schema_violations(const Schema *schema, const JsonbValue *value)
{
	Report		report = {NIL};

	(void) check_value(schema, value, NULL, &report);
	return report.violations;
}

/* For a DETAIL: a sentence for each violation, on a line each; palloc'd. */
char *
violations_to_cstring(const List *violations)
{
	StringInfoData buf;
	const ListCell *cell;

	initStringInfo(&buf);
	foreach(cell, violations)
	{
		const Violation *violation = lfirst(cell);
		int			i = foreach_current_index(cell);

		if (i > 0)
			appendStringInfoChar(&buf, '\n');
		if (i == MOST_IN_DETAIL)
		{
			appendStringInfo(&buf, "There are %d more violations.", list_length(violations) - i);
			break;
		}
		if (*violation->path == '\0')
			appendStringInfoString(&buf, "The document");
		else
			appendStringInfo(&buf, "Field \"%s\"", text_for_message(violation->path, strlen(violation->path)));
		appendStringInfo(&buf, " %s (%s).", violation->message, violation->keyword);
	}
	return buf.data;
}

static void *
compile_operand(Jsonb **operands)
{
	JsonbValue	source;

	value_from_jsonb(operands[0], &source);
	return schema_compile(&source);
}

static const int schema_argument[] = {1};

PG_FUNCTION_INFO_V1(pattern_doc_validate);

/* doc_validate(doc jsonb, schema jsonb) → boolean */
Datum
pattern_doc_validate(PG_FUNCTION_ARGS)
{
	Jsonb	   *doc = PG_GETARG_JSONB_P(0);
	const Schema *schema = operand_compiled(fcinfo, schema_argument, 1, compile_operand);
	JsonbValue	value;
	bool		result;

	value_from_jsonb(doc, &value);
	result = schema_valid(schema, &value);
	PG_FREE_IF_COPY(doc, 0);
	PG_RETURN_BOOL(result);
}

PG_FUNCTION_INFO_V1(pattern_doc_violations);

/* doc_violations(doc jsonb, schema jsonb) → TABLE(path text, keyword text, message text) */
Datum
pattern_doc_violations(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const Schema *schema;
	JsonbValue	value;
	ListCell   *cell;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	schema = operand_compiled(fcinfo, schema_argument, 1, compile_operand);
	value_from_jsonb(PG_GETARG_JSONB_P(0), &value);
	foreach(cell, schema_violations(schema, &value))
	{
		const Violation *violation = lfirst(cell);
		Datum		row[3];
		bool		nulls[3] = {false, false, false};

		CHECK_FOR_INTERRUPTS();
		row[0] = CStringGetTextDatum(violation->path);
		row[1] = CStringGetTextDatum(violation->keyword);
		row[2] = CStringGetTextDatum(violation->message);
		tuplestore_putvalues(result->setResult, result->setDesc, row, nulls);
	}
	return (Datum) 0;
}
