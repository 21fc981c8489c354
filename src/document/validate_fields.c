/*
 * document/validate_fields.c
 *		Compiles what a schema says about an object's fields.
 *
 * properties and required name fields; both go into one list, in the order in
 * which jsonb keeps keys.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "validate_compile.h"

/* additionalProperties */
void
schema_compile_more_fields(const KeywordCall *call)
{
	if (call->argument->type == jbvBool)
		call->schema->no_more_fields = !call->argument->val.boolean;
	else
		call->schema->more_fields = schema_compile_at(call->argument, call->place);
}

static void
check_object(const KeywordCall *call)
{
	if (!value_is_object(call->argument))
		schema_call_error(call, "be an object");
}

/*
 * Where a name stands among the first n fields of a schema, which are in order,
 * or would stand; true if it is there.
 */
static bool
find_field(const Schema *schema, uint32 n, const char *name, int len, uint32 *position)
{
	uint32		low = 0;
	uint32		high = n;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		const SchemaField *field = &schema->fields[middle];
		int			cmp = key_compare(field->name, field->len, name, len);

		if (cmp == 0)
		{
			*position = middle;
			return true;
		}
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*position = low;
	return false;
}

/* properties, whose keys are in order */
void
schema_compile_fields(const KeywordCall *call)
{
	Schema	   *schema = call->schema;
	JsonbWalk	walk;
	JsonbValue	key,
				value;

	check_object(call);
	schema->fields = palloc_extended((Size) value_count(call->argument) * sizeof(SchemaField),
									 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	walk_begin(&walk, call->argument->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		SchemaPlace place = schema_place_of_key(call->place, &key);
		SchemaField *field = &schema->fields[schema->nfields++];

		CHECK_FOR_INTERRUPTS();
		field->name = key.val.string.val;
		field->len = key.val.string.len;
		field->declared = true;
		field->schema = schema_compile_at(&value, &place);
	}
}

static int
compare_fields(const void *a, const void *b)
{
	const SchemaField *x = a;
	const SchemaField *y = b;

	return key_compare(x->name, x->len, y->name, y->len);
}

/* The names in an array of strings, none of them twice; palloc'd. */
static JsonbValue *
names_argument(const KeywordCall *call, uint32 *n)
{
	JsonbValue *names = schema_array_argument(call, n);

	for (uint32 i = 0; i < *n; i++)
	{
		SchemaPlace place = schema_place_of_element(call->place, i);

		if (names[i].type != jbvString)
			schema_error(&place, "be a string", &names[i]);
	}
	if (values_make_set(names, *n) < *n)
		schema_call_error(call, "not have a name twice");
	return names;
}

/* required; compiled behind properties */
void
schema_compile_required(const KeywordCall *call)
{
	Schema	   *schema = call->schema;
	uint32		ndeclared = schema->nfields;
	uint32		n;
	JsonbValue *names = names_argument(call, &n);
	SchemaField *fields = palloc_extended((Size) (ndeclared + n) * sizeof(SchemaField),
										  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	if (ndeclared > 0)
		memcpy(fields, schema->fields, ndeclared * sizeof(SchemaField));
	schema->fields = fields;
	for (uint32 i = 0; i < n; i++)
	{
		uint32		position;

		if (!find_field(schema, ndeclared, names[i].val.string.val, names[i].val.string.len, &position))
		{
			position = schema->nfields++;
			fields[position].name = names[i].val.string.val;
			fields[position].len = names[i].val.string.len;
		}
		fields[position].required = true;
	}
	qsort(fields, schema->nfields, sizeof(SchemaField), compare_fields);
}

/* patternProperties */
void
schema_compile_patterns(const KeywordCall *call)
{
	Schema	   *schema = call->schema;
	JsonbWalk	walk;
	JsonbValue	key,
				value;

	check_object(call);
	schema->patterns = palloc_extended((Size) value_count(call->argument) * sizeof(SchemaPattern), MCXT_ALLOC_HUGE);
	walk_begin(&walk, call->argument->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		SchemaPlace place = schema_place_of_key(call->place, &key);
		SchemaPattern *pattern = &schema->patterns[schema->npatterns++];

		CHECK_FOR_INTERRUPTS();
		pattern->regex = schema_compile_regex(&key, &place);
		pattern->schema = schema_compile_at(&value, &place);
	}
}

/* dependencies: beside a field others, or a schema for the whole object */
void
schema_compile_dependencies(const KeywordCall *call)
{
	Schema	   *schema = call->schema;
	JsonbWalk	walk;
	JsonbValue	key,
				value;

	check_object(call);
	schema->dependencies = palloc_extended((Size) value_count(call->argument) * sizeof(SchemaDependency),
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	walk_begin(&walk, call->argument->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		SchemaPlace place = schema_place_of_key(call->place, &key);
		SchemaDependency *dependency = &schema->dependencies[schema->ndependencies++];
		KeywordCall inner = *call;

		CHECK_FOR_INTERRUPTS();
		dependency->name = key.val.string.val;
		dependency->len = key.val.string.len;
		inner.argument = &value;
		inner.place = &place;
		if (value_is_object(&value))
			dependency->schema = schema_compile_at(&value, &place);
		else
			dependency->fields = names_argument(&inner, &dependency->nfields);
	}
}

/* From now on a schema that is closed takes this field of the document, too. */
void
schema_allow_field(Schema *schema, const char *name, int len)
{
	SchemaField *fields;
	uint32		position;

	if (find_field(schema, schema->nfields, name, len, &position))
	{
		schema->fields[position].declared = true;
		return;
	}
	fields = palloc0((Size) (schema->nfields + 1) * sizeof(SchemaField));
	if (position > 0)
		memcpy(fields, schema->fields, position * sizeof(SchemaField));
	if (position < schema->nfields)
		memcpy(&fields[position + 1], &schema->fields[position], (schema->nfields - position) * sizeof(SchemaField));
	fields[position].name = name;
	fields[position].len = len;
	fields[position].declared = true;
	schema->fields = fields;
	schema->nfields++;
}
