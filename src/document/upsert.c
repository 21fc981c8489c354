/*
 * document/upsert.c
 *		doc_upsert: the document that an upsert inserts when nothing matches.
 *
 * What the filter says by equality becomes fields, which is a $set on an empty
 * document; then the changes are applied with $setOnInsert in force.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "update.h"

typedef struct Upsert
{
	Jsonb	   *document;		/* from the filter */
	DocUpdate  *update;
} Upsert;

PG_FUNCTION_INFO_V1(pattern_doc_upsert);

static void collect_equalities(PairList *fields, const JsonbValue *filter);

static void
add_equality(PairList *fields, const JsonbValue *path, const JsonbValue *value)
{
	for (uint32 i = 0; i < fields->n; i++)
		if (value_equal(&fields->pairs[i].key, path))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("cannot infer the field \"%s\" from the filter: it is matched twice",
							text_for_message(path->val.string.val, path->val.string.len))));
	pairs_append(fields, path->val.string.val, path->val.string.len, value);
}

/* Each filter in the array of a logical operator. */
static void
collect_from_list(PairList *fields, const JsonbValue *filters)
{
	JsonbWalk	walk;
	JsonbValue	filter;

	walk_begin(&walk, filters->val.binary.data);
	while (walk_next(&walk, NULL, &filter))
		collect_equalities(fields, &filter);
}

/* A field's condition: a plain value, {"$eq": value} or {"$all": [values]}. */
static void
collect_from_condition(PairList *fields, const JsonbValue *path, const JsonbValue *condition)
{
	JsonbWalk	walk;
	JsonbValue	key,
				value;

	if (!value_is_object(condition) || value_count(condition) == 0)
	{
		add_equality(fields, path, condition);
		return;
	}
	container_key(condition->val.binary.data, 0, &key);
	if (key.val.string.len == 0 || key.val.string.val[0] != '$')
	{
		add_equality(fields, path, condition);
		return;
	}
	if (value_get_cstring(condition, "$eq", &value))
		add_equality(fields, path, &value);
	if (value_get_cstring(condition, "$all", &value))
	{
		walk_begin(&walk, value.val.binary.data);
		while (walk_next(&walk, NULL, &value))
			if (!value_get_cstring(&value, "$elemMatch", &key))
				add_equality(fields, path, &value);
	}
}

/* What a filter, which is a valid query, says by equality. */
static void
collect_equalities(PairList *fields, const JsonbValue *filter)
{
	JsonbWalk	walk;
	JsonbValue	key,
				value;

	check_stack_depth();
	walk_begin(&walk, filter->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		if (value_is_string(&key, "$and") ||
			(value_is_string(&key, "$or") && value_count(&value) == 1))
			collect_from_list(fields, &value);
		else if (key.val.string.len > 0 && key.val.string.val[0] != '$')
			collect_from_condition(fields, &key, &value);
	}
}

/* The document that a filter describes. */
static Jsonb *
document_from_filter(const JsonbValue *filter)
{
	PairList	fields = {0};
	PairList	changes = {0};
	JsonbValue	value,
				empty;
	Jsonb	   *result;

	(void) match_compile(filter, MATCH_DOCUMENT);	/* for its checks */
	collect_equalities(&fields, filter);
	pairs_finish(&fields, &value);
	pairs_append(&changes, "$set", 4, &value);
	pairs_finish(&changes, &value);
	value_pack(&value);

	pairs_finish(&(PairList) {0}, &empty);
	value_pack(&empty);
	result = update_apply(update_compile(&value, NULL), &empty, true);
	return result != NULL ? result : value_to_jsonb(&empty);
}

/* A replacement takes nothing from the filter but the _id. */
static Jsonb *
only_id(Jsonb *document)
{
	PairList	pairs = {0};
	JsonbValue	value,
				id;

	value_from_jsonb(document, &value);
	if (value_get_cstring(&value, "_id", &id))
		pairs_append(&pairs, "_id", 3, &id);
	pairs_finish(&pairs, &value);
	return value_to_jsonb(&value);
}

/* compile for operand_compiled */
static void *
compile_upsert(Jsonb **operands)
{
	Upsert	   *upsert = palloc(sizeof(Upsert));
	JsonbValue	filter,
				changes;

	value_from_jsonb(operands[0], &filter);
	value_from_jsonb(operands[1], &changes);
	if (!value_is_object(&filter))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid filter: %s", value_to_cstring(&filter)),
				 errdetail("A filter is an object of conditions.")));
	upsert->document = document_from_filter(&filter);
	upsert->update = update_compile(&changes, NULL);
	if (upsert->update->replacement != NULL)
		upsert->document = only_id(upsert->document);
	return upsert;
}

/* doc_upsert(filter jsonb, changes jsonb) returns jsonb */
Datum
pattern_doc_upsert(PG_FUNCTION_ARGS)
{
	static const int args[] = {0, 1};
	Upsert	   *upsert;
	Jsonb	   *result;

	argument_check_given(fcinfo, 0, "filter");
	argument_check_given(fcinfo, 1, "changes");
	upsert = operand_compiled(fcinfo, args, 2, compile_upsert);
	if (upsert->update->root != NULL)
	{
		JsonbValue	value;

		value_from_jsonb(upsert->document, &value);
		result = update_apply(upsert->update, &value, true);
		if (result == NULL)
			result = upsert->document;
	}
	else
		result = update_document(upsert->update, upsert->document);
	PG_RETURN_JSONB_P(result);
}
