/*
 * patterns/computed_store.c
 *		Computed pattern: a group's fields in its document.
 *
 * The fields stand at the definition's path, and beside them the hidden field
 * with the numbers that they do not show, {"_computed": {"first field": [...]}}.
 * A document is spliced: what is not a field of ours is copied as bytes, and a
 * document whose fields are what they should be is not written at all.  Values
 * that keep their length are written over.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "computed.h"

/* The hidden field's numbers, packed. */
void
hidden_finish(const ViewDefinition *view, JsonbValue *numbers, JsonbValue *hidden)
{
	ValueList	list = {view->nnumbers, view->nnumbers, numbers};

	values_finish(&list, hidden);
	value_pack(hidden);
}

/* What is stored of a group; false if it is not complete. */
bool
group_read(const Definition *definition, const JsonbValue *doc, GroupResult *result)
{
	const ViewDefinition *view = &definition->view;
	JsonbValue	place,
				hidden;

	if (!path_get(definition->path, doc, &place) ||
		!value_get_cstring(&place, COMPUTED_HIDDEN, &hidden) ||
		!value_get(&hidden, view->fields[0].name, view->fields[0].len, &result->hidden) ||
		!value_is_array(&result->hidden) ||
		value_count(&result->hidden) != view->nnumbers)
		return false;
	result->fields = palloc(view->nfields * sizeof(JsonbValue));
	for (int i = 0; i < view->nfields; i++)
		if (!value_get(&place, view->fields[i].name, view->fields[i].len, &result->fields[i]))
			return false;
	return true;
}

/*
 * A group as the query of computed_sql returns it: the fields, then the numbers
 * of the hidden field.
 */
void
group_from_row(const ViewDefinition *view, const Datum *values, const bool *nulls,
			   const Oid *types, GroupResult *result)
{
	JsonbValue *numbers = palloc(Max(view->nnumbers, 1) * sizeof(JsonbValue));

	result->fields = palloc(view->nfields * sizeof(JsonbValue));
	for (int i = 0; i < view->nfields; i++)
		value_from_datum(types[i], values[i], nulls[i], &result->fields[i]);
	for (int i = 0; i < view->nnumbers; i++)
	{
		int			at = view->nfields + i;

		if (nulls[at])
			value_from_int64(0, &numbers[i]);
		else
			value_from_datum(types[at], values[at], false, &numbers[i]);
	}
	hidden_finish(view, numbers, &result->hidden);
}

/* Where the fields go, as a splice of the document; objects are made on the way. */
static JsonbSplice *
splice_place(const Definition *definition, JsonbSplice *root, const JsonbValue *doc)
{
	JsonbValue	place;

	if (path_get(definition->path, doc, &place) && value_is_object(&place))
		return path_within(root, definition->path);
	return NULL;
}

/* The document with an empty object where the fields go. */
static Jsonb *
make_place(const Definition *definition, const JsonbValue *doc)
{
	JsonbSplice *splice;
	JsonbValue	place,
				empty;
	PairList	none = {0};

	if (!value_is_object(doc) ||
		(path_get(definition->path, doc, &place) && place.type != jbvNull))
		field_mismatch(path_to_cstring(definition->path, definition->path->nsteps), "an object",
					   value_is_object(doc) ? &place : doc);
	splice = splice_begin(doc);
	pairs_finish(&none, &empty);
	path_put(splice, definition->path, &empty);
	return splice_apply(splice);
}

/*
 * The document with the fields of a group; the same document if it has them.
 * 22023 if something that is no object is in their place.
 */
Jsonb *
group_store(const Definition *definition, Jsonb *doc, const GroupResult *result)
{
	const ViewDefinition *view = &definition->view;
	JsonbValue	root,
				place,
				old;
	JsonbSplice *splice,
			   *within;
	JsonbValue	pair;
	PairList	pairs = {0};
	bool		changed = false;

	value_from_jsonb(doc, &root);
	if (!value_is_object(&root))
		argument_mismatch("doc", "an object", &root);
	splice = splice_begin(&root);
	within = splice_place(definition, splice, &root);
	if (within == NULL)
		return group_store(definition, make_place(definition, &root), result);
	(void) path_get(definition->path, &root, &place);
	for (int i = 0; i < view->nfields; i++)
	{
		const FieldSpec *field = &view->fields[i];

		if (value_get(&place, field->name, field->len, &old) && value_equal(&old, &result->fields[i]))
			continue;
		splice_put(within, field->name, field->len, &result->fields[i]);
		changed = true;
	}
	if (!value_get_cstring(&place, COMPUTED_HIDDEN, &old) || !value_is_object(&old))
	{
		pairs_append(&pairs, view->fields[0].name, view->fields[0].len, &result->hidden);
		pairs_finish(&pairs, &pair);
		splice_put(within, COMPUTED_HIDDEN, strlen(COMPUTED_HIDDEN), &pair);
		changed = true;
	}
	else
	{
		JsonbValue	numbers;

		if (!value_get(&old, view->fields[0].name, view->fields[0].len, &numbers) ||
			!value_equal(&numbers, &result->hidden))
		{
			uint32		at;

			(void) container_find(place.val.binary.data, COMPUTED_HIDDEN, strlen(COMPUTED_HIDDEN), &at);
			splice_put(splice_within(within, at), view->fields[0].name, view->fields[0].len, &result->hidden);
			changed = true;
		}
	}
	return changed ? splice_apply(splice) : doc;
}

/* The bytes that a document has for a value; NULL if it is said by its entry alone. */
static char *
value_bytes(const JsonbValue *value, Size *len)
{
	switch (value->type)
	{
		case jbvString:
			*len = value->val.string.len;
			return value->val.string.val;
		case jbvNumeric:
			*len = VARSIZE_ANY(value->val.numeric);
			return (char *) value->val.numeric;
		case jbvBinary:
			*len = value->val.binary.len;
			return (char *) value->val.binary.data;
		default:
			return NULL;
	}
}

/* Write a value over the one that stands in a document, if it is as long; false if it is not. */
static bool
patch_value(const JsonbValue *stored, const JsonbValue *value, bool *changed)
{
	Size		stored_len = 0;
	Size		len = 0;
	char	   *to = value_bytes(stored, &stored_len);
	const char *from = value_bytes(value, &len);

	if (stored->type != value->type || stored_len != len)
		return false;
	if (to == NULL)
		return value_equal(stored, value);
	if (memcmp(to, from, len) != 0)
	{
		memcpy(to, from, len);
		*changed = true;
	}
	return true;
}

/*
 * Write a group over the one that was read from a document, as far as values are
 * as long as those there; false if there are others, which are left to
 * group_store.  Most rows change a count by one and a sum by little.
 */
bool
group_patch(const ViewDefinition *view, const GroupResult *stored, const GroupResult *result, bool *changed)
{
	bool		all = patch_value(&stored->hidden, &result->hidden, changed);

	for (int i = 0; i < view->nfields; i++)
		all &= patch_value(&stored->fields[i], &result->fields[i], changed);
	return all;
}

/*
 * Are two values of a field the same?  A sum of floats depends on the order in
 * which its rows are read, in the last digits.
 */
bool
field_agrees(const FieldSpec *field, const JsonbValue *a, const JsonbValue *b)
{
	double		x,
				y;

	if (value_equal(a, b))
		return true;
	if ((field->type != FLOAT4OID && field->type != FLOAT8OID) || a->type != jbvNumeric || b->type != jbvNumeric)
		return false;
	x = DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(a->val.numeric)));
	y = DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(b->val.numeric)));
	return fabs(x - y) <= Max(fabs(x), fabs(y)) * (field->type == FLOAT4OID ? 1e-5 : 1e-9);
}

/*
 * Do the numbers of a hidden field say the same?  How many rows have the greatest
 * scale is known as "one at least" when a group was computed from its rows.
 */
bool
hidden_agrees(const ViewDefinition *view, const JsonbValue *a, const JsonbValue *b)
{
	if (!value_is_array(a) || !value_is_array(b) || value_count(a) != value_count(b))
		return false;
	for (int i = 0; i < view->nstates; i++)
	{
		const StateSpec *spec = &view->states[i];
		int			n = spec->slot < 0 ? 0 : state_width(spec->kind);

		if (spec->kind == STATE_SUM_SCALED)
			n--;
		for (int j = 0; j < n; j++)
		{
			JsonbValue	x,
						y;

			container_value(a->val.binary.data, spec->slot + j, &x);
			container_value(b->val.binary.data, spec->slot + j, &y);
			if (!value_equal(&x, &y))
				return false;
		}
	}
	return true;
}

/* Does a document have the fields of a group, computed from its rows? */
bool
group_agrees(const Definition *definition, const JsonbValue *doc, const GroupResult *result)
{
	const ViewDefinition *view = &definition->view;
	GroupResult stored;

	if (!group_read(definition, doc, &stored))
		return false;
	for (int i = 0; i < view->nfields; i++)
		if (!field_agrees(&view->fields[i], &stored.fields[i], &result->fields[i]))
			return false;
	return hidden_agrees(view, &stored.hidden, &result->hidden);
}
