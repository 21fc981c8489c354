/*
 * patterns/attribute.c
 *		Attribute pattern: sparse fields as an array of {k, v, u} objects.
 *
 * An attribute is an element that is an object whose k is a string; its value is
 * its v, null if it has none.  A name may be repeated.  Functions that look
 * something up pass over other elements, so that one odd row does not break a
 * query; attribute_unpack, whose result would lose them, refuses them.
 *
 * Edits are splices: an attribute keeps its place and whatever else it holds.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "pattern.h"

#define NAME "k"
#define VALUE "v"
#define UNIT "u"

/* A name and its values, while attributes are unpacked. */
typedef struct Unpacked
{
	NameEntry	name;			/* must be first */
	ValueList	values;
} Unpacked;

PG_FUNCTION_INFO_V1(pattern_attribute_pack);
PG_FUNCTION_INFO_V1(pattern_attribute_unpack);
PG_FUNCTION_INFO_V1(pattern_attribute_get);
PG_FUNCTION_INFO_V1(pattern_attribute_set);
PG_FUNCTION_INFO_V1(pattern_attribute_remove);
PG_FUNCTION_INFO_V1(pattern_attribute_query);

/* The argument at this position, which is to be an array. */
static void
get_attributes(FunctionCallInfo fcinfo, int position, JsonbValue *attributes)
{
	value_from_jsonb(PG_GETARG_JSONB_P(position), attributes);
	if (!value_is_array(attributes))
		argument_mismatch("attributes", "an array", attributes);
}

/* An element's name and value; false if it is no attribute. */
bool
attribute_read(const JsonbValue *element, JsonbValue *name, JsonbValue *value)
{
	if (!value_get_cstring(element, NAME, name) || name->type != jbvString)
		return false;
	if (!value_get_cstring(element, VALUE, value))
		value->type = jbvNull;
	return true;
}

/* Is the element the attribute of this name? */
static bool
has_name(const JsonbValue *element, const text *name, JsonbValue *value)
{
	JsonbValue	found;

	return attribute_read(element, &found, value) &&
		found.val.string.len == VARSIZE_ANY_EXHDR(name) &&
		memcmp(found.val.string.val, VARDATA_ANY(name), found.val.string.len) == 0;
}

static void
value_from_text(const text *t, JsonbValue *result)
{
	result->type = jbvString;
	result->val.string.val = VARDATA_ANY(t);
	result->val.string.len = VARSIZE_ANY_EXHDR(t);
}

/* {k, v, u} to be written, u only if there is a unit. */
static void
make_attribute(const JsonbValue *name, const JsonbValue *value, const JsonbValue *unit,
			   JsonbValue *result)
{
	PairList	pairs = {0};

	pairs_append(&pairs, NAME, 1, name);
	pairs_append(&pairs, VALUE, 1, value);
	if (unit != NULL)
		pairs_append(&pairs, UNIT, 1, unit);
	pairs_finish(&pairs, result);
}

/* The unit of a name; false if there is none. */
static bool
find_unit(const JsonbValue *units, const JsonbValue *name, JsonbValue *unit)
{
	if (units == NULL ||
		!value_get(units, name->val.string.val, name->val.string.len, unit) ||
		unit->type == jbvNull)
		return false;
	if (unit->type != jbvString)
		field_mismatch(psprintf("units.%.*s", name->val.string.len, name->val.string.val),
					   "a string", unit);
	return true;
}

static Jsonb *
pack(const JsonbValue *doc, const JsonbValue *units)
{
	ValueList	list = {0};
	JsonbWalk	walk;
	JsonbValue	name,
				value,
				unit,
				attribute;

	walk_begin(&walk, doc->val.binary.data);
	while (walk_next(&walk, &name, &value))
	{
		CHECK_FOR_INTERRUPTS();
		make_attribute(&name, &value, find_unit(units, &name, &unit) ? &unit : NULL, &attribute);
		values_append(&list, &attribute);
	}
	values_finish(&list, &attribute);
	return value_to_jsonb(&attribute);
}

/* attribute_pack(doc jsonb, units jsonb DEFAULT NULL) → jsonb */
Datum
pattern_attribute_pack(PG_FUNCTION_ARGS)
{
	JsonbValue	doc;
	JsonbValue	units;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	value_from_jsonb(PG_GETARG_JSONB_P(0), &doc);
	if (!value_is_object(&doc))
		argument_mismatch("doc", "an object", &doc);
	if (PG_ARGISNULL(1))
		PG_RETURN_JSONB_P(pack(&doc, NULL));
	value_from_jsonb(PG_GETARG_JSONB_P(1), &units);
	if (!value_is_object(&units))
		argument_mismatch("units", "an object", &units);
	PG_RETURN_JSONB_P(pack(&doc, &units));
}

/* The only value of a list, or an array of them all. */
static void
one_or_all(const ValueList *values, JsonbValue *result)
{
	if (values->n == 1)
		*result = values->values[0];
	else
		values_finish(values, result);
}

static Jsonb *
unpack(const JsonbValue *attributes)
{
	HTAB	   *names = names_create(sizeof(Unpacked));
	HASH_SEQ_STATUS seq;
	PairList	pairs = {0};
	JsonbWalk	walk;
	JsonbValue	element,
				name,
				value;
	Unpacked   *entry;
	bool		found;

	walk_begin(&walk, attributes->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (!attribute_read(&element, &name, &value))
			field_mismatch(psprintf("attributes.%u", walk.next - 1),
						   "an object with a string \"k\"", &element);
		entry = names_enter(names, name.val.string.val, name.val.string.len, &found);
		if (!found)
			entry->values = (ValueList) {0};
		values_append(&entry->values, &value);
	}
	hash_seq_init(&seq, names);
	while ((entry = hash_seq_search(&seq)) != NULL)
	{
		one_or_all(&entry->values, &value);
		pairs_append(&pairs, entry->name.name, entry->name.len, &value);
	}
	pairs_finish(&pairs, &value);
	return value_to_jsonb(&value);
}

/* attribute_unpack(attributes jsonb) → jsonb */
Datum
pattern_attribute_unpack(PG_FUNCTION_ARGS)
{
	JsonbValue	attributes;

	get_attributes(fcinfo, 0, &attributes);
	PG_RETURN_JSONB_P(unpack(&attributes));
}

/* attribute_get(attributes jsonb, name text) → jsonb */
Datum
pattern_attribute_get(PG_FUNCTION_ARGS)
{
	JsonbValue	attributes;
	text	   *name = PG_GETARG_TEXT_PP(1);
	ValueList	values = {0};
	JsonbWalk	walk;
	JsonbValue	element,
				value;

	get_attributes(fcinfo, 0, &attributes);
	walk_begin(&walk, attributes.val.binary.data);
	while (walk_next(&walk, NULL, &element))
		if (has_name(&element, name, &value))
			values_append(&values, &value);
	if (values.n == 0)
		PG_RETURN_NULL();
	one_or_all(&values, &value);
	PG_RETURN_JSONB_P(value_to_jsonb(&value));
}

/* The first attribute of the name is changed, others of that name go. */
static Jsonb *
set_attribute(const JsonbValue *attributes, const text *name, const JsonbValue *value,
			  const JsonbValue *unit)
{
	JsonbSplice *splice = splice_begin(attributes);
	bool		found = false;
	JsonbWalk	walk;
	JsonbValue	element,
				old,
				added,
				name_value;

	walk_begin(&walk, attributes->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (!has_name(&element, name, &old))
			continue;
		if (found)
			splice_remove(splice, walk.next - 1, 1);
		else
		{
			JsonbSplice *attribute = splice_within(splice, walk.next - 1);

			splice_put(attribute, VALUE, 1, value);
			if (unit != NULL)
				splice_put(attribute, UNIT, 1, unit);
		}
		found = true;
	}
	if (!found)
	{
		value_from_text(name, &name_value);
		make_attribute(&name_value, value, unit, &added);
		splice_insert(splice, walk.count, &added, 1);
	}
	return splice_apply(splice);
}

/* attribute_set(attributes jsonb, name text, value jsonb, unit text DEFAULT NULL) → jsonb */
Datum
pattern_attribute_set(PG_FUNCTION_ARGS)
{
	JsonbValue	attributes,
				value,
				unit;

	argument_check_given(fcinfo, 1, "name");
	argument_check_given(fcinfo, 2, "value");
	if (PG_ARGISNULL(0))
	{
		values_finish(&(ValueList) {0}, &attributes);
		value_pack(&attributes);
	}
	else
		get_attributes(fcinfo, 0, &attributes);
	value_from_jsonb(PG_GETARG_JSONB_P(2), &value);
	if (!PG_ARGISNULL(3))
		value_from_text(PG_GETARG_TEXT_PP(3), &unit);
	PG_RETURN_JSONB_P(set_attribute(&attributes, PG_GETARG_TEXT_PP(1), &value,
									PG_ARGISNULL(3) ? NULL : &unit));
}

/* attribute_remove(attributes jsonb, name text) → jsonb */
Datum
pattern_attribute_remove(PG_FUNCTION_ARGS)
{
	text	   *name;
	JsonbValue	attributes,
				element,
				value;
	JsonbSplice *splice;
	JsonbWalk	walk;

	argument_check_given(fcinfo, 1, "name");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	name = PG_GETARG_TEXT_PP(1);
	get_attributes(fcinfo, 0, &attributes);
	splice = splice_begin(&attributes);
	walk_begin(&walk, attributes.val.binary.data);
	while (walk_next(&walk, NULL, &element))
		if (has_name(&element, name, &value))
			splice_remove(splice, walk.next - 1, 1);
	if (splice->nedits == 0)
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	PG_RETURN_JSONB_P(splice_apply(splice));
}

/* {key: value} to be written. */
static void
make_object(const char *key, const JsonbValue *value, JsonbValue *result)
{
	PairList	pairs = {0};

	pairs_append(&pairs, key, strlen(key), value);
	pairs_finish(&pairs, result);
}

/* Is the condition {"$exists": …} and nothing else?  *exists is what it asks. */
static bool
is_existence(const JsonbValue *condition, bool *exists)
{
	JsonbValue	argument;

	if (!value_is_object(condition) || value_count(condition) != 1 ||
		!value_get_cstring(condition, "$exists", &argument))
		return false;
	*exists = value_is_true(&argument);
	return true;
}

/* {"$elemMatch": {"k": name, "v": condition}}, without v to ask for the name alone. */
static void
make_element_match(const JsonbValue *name, const JsonbValue *condition, JsonbValue *result)
{
	PairList	pairs = {0};

	pairs_append(&pairs, NAME, 1, name);
	if (condition != NULL)
		pairs_append(&pairs, VALUE, 1, condition);
	pairs_finish(&pairs, result);
	make_object("$elemMatch", result, result);
}

/*
 * The query for the conditions: an element for each attribute that is asked for,
 * and none with the name of one that must not be there.
 */
static Jsonb *
make_query(const JsonbValue *conditions)
{
	ValueList	present = {0};
	ValueList	absent = {0};
	PairList	query = {0};
	JsonbWalk	walk;
	JsonbValue	name,
				condition,
				result;
	bool		exists;

	walk_begin(&walk, conditions->val.binary.data);
	while (walk_next(&walk, &name, &condition))
	{
		if (name.val.string.len > 0 && name.val.string.val[0] == '$')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unrecognized attribute name \"%s\"",
							text_for_message(name.val.string.val, name.val.string.len)),
					 errhint("The conditions are attribute names with a value or operators on the value; combine several queries with AND, OR and NOT.")));
		if (is_existence(&condition, &exists) && !exists)
			values_append(&absent, &name);
		else
		{
			make_element_match(&name, is_existence(&condition, &exists) ? NULL : &condition, &result);
			values_append(&present, &result);
		}
	}
	if (present.n > 0)
	{
		values_finish(&present, &result);
		pairs_append(&query, "$all", 4, &result);
	}
	if (absent.n > 0)
	{
		values_finish(&absent, &result);
		make_object("$in", &result, &result);
		make_element_match(&result, NULL, &result);
		pairs_append(&query, "$not", 4, &result);
	}
	if (query.n == 0)
	{
		/* no condition: {"$all": []} matches nothing, this everything */
		values_finish(&present, &result);
		pairs_append(&query, "$nin", 4, &result);
	}
	pairs_finish(&query, &result);
	return value_to_jsonb(&result);
}

/* attribute_query(conditions jsonb) → jsonb */
Datum
pattern_attribute_query(PG_FUNCTION_ARGS)
{
	JsonbValue	conditions;

	value_from_jsonb(PG_GETARG_JSONB_P(0), &conditions);
	if (!value_is_object(&conditions))
		argument_mismatch("conditions", "an object", &conditions);
	PG_RETURN_JSONB_P(make_query(&conditions));
}
