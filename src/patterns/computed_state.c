/*
 * patterns/computed_state.c
 *		Computed pattern: what is kept of a group, and how rows change it.
 *
 * A count, a sum or an average is kept by numbers that rows add to and subtract
 * from.  They stand in the hidden field, {"_computed": {"first field": [...]}},
 * because a field does not show them: an average hides how many rows it is of,
 * a sum of 0 whether there are any.  The hidden field also says that the fields
 * are ours: where it is missing, the group is computed from its rows.  A minimum,
 * a maximum and a subset are seen from the field itself, and change as long as no
 * row leaves that they are made of.
 *
 * What a delta cannot say makes the functions here return false: the group has to be computed from its
 * rows, which is always right.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "computed.h"

static int
numeric_scale_of(Numeric number)
{
	return DatumGetInt32(DirectFunctionCall1(numeric_scale, NumericGetDatum(number)));
}

static Numeric
numeric_keep(Numeric number)
{
	return DatumGetNumeric(datumCopy(NumericGetDatum(number), false, -1));
}

/* Add to a sum of numerics; the result is kept in the current memory context. */
static void
big_add(StateDelta *delta, Numeric number, int sign)
{
	Numeric		old = delta->big;
	Numeric		zero;

	if (old == NULL && sign > 0)
	{
		delta->big = numeric_keep(number);
		return;
	}
	zero = old == NULL ? int64_to_numeric(0) : old;
	delta->big = sign > 0 ? number_add(zero, number) : number_subtract(zero, number);
	pfree(zero);
}

static void
integer_add(StateDelta *delta, int64 value, int sign)
{
	int64		sum;
	bool		overflow = sign > 0 ? pg_add_s64_overflow(delta->sum, value, &sum) :
		pg_sub_s64_overflow(delta->sum, value, &sum);

	if (overflow)
		big_add(delta, int64_to_numeric(value), sign);
	else
		delta->sum = sum;
}

/* Note rows of a scale; the rows of lower scales are not counted. */
static void
scale_add(StateDelta *delta, int32 scale, int64 rows)
{
	if (scale > delta->scale)
	{
		delta->scale = scale;
		delta->scale_rows = rows;
	}
	else if (scale == delta->scale)
		delta->scale_rows += rows;
}

static bool
numeric_state_add(const StateSpec *spec, StateDelta *delta, Numeric value, int sign)
{
	if (numeric_is_nan(value) || numeric_is_inf(value))
		return false;
	big_add(delta, value, sign);
	if (spec->kind == STATE_SUM_SCALED)
		scale_add(delta, numeric_scale_of(value), sign);
	return true;
}

static int
extreme_compare(const StateSpec *spec, Datum a, Datum b)
{
	int			cmp = DatumGetInt32(FunctionCall2Coll(unconstify(FmgrInfo *, &spec->compare), spec->collation, a, b));

	return spec->kind == STATE_MAX ? (cmp < 0) - (cmp > 0) : cmp;
}

/* Keep the extreme of a value and what is kept. */
static void
extreme_add(const StateSpec *spec, Datum value, bool *has, Datum *kept)
{
	if (*has && extreme_compare(spec, value, *kept) >= 0)
		return;
	if (*has && !spec->typbyval)
		pfree(DatumGetPointer(*kept));
	if (!spec->typbyval && spec->typlen == -1)
		value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	*kept = datumCopy(value, spec->typbyval, spec->typlen);
	*has = true;
}

/* By the order of the subset. */
static int
element_compare(const StateSpec *spec, const Jsonb *a, const Jsonb *b)
{
	int			nkeys = spec->order->nkeys;
	JsonbValue *keys = palloc(2 * nkeys * sizeof(JsonbValue));
	JsonbValue	value;
	int			cmp;

	value_from_jsonb(a, &value);
	sort_order_keys(spec->order, &value, keys);
	value_from_jsonb(b, &value);
	sort_order_keys(spec->order, &value, keys + nkeys);
	cmp = sort_order_compare_keys(spec->order, keys, keys + nkeys);
	pfree(keys);
	return cmp;
}

static Jsonb *
element_copy(const Jsonb *element)
{
	return (Jsonb *) memcpy(palloc(VARSIZE(element)), element, VARSIZE(element));
}

/* Keep an element that was added if it is one of the first. */
static void
subset_add(const StateSpec *spec, StateDelta *delta, const Jsonb *element)
{
	uint32		place = delta->nelements;

	if (spec->max_size == 0)
		return;
	while (place > 0 && element_compare(spec, element, delta->elements[place - 1]) < 0)
		place--;
	if (place >= spec->max_size)
		return;
	if (delta->nelements == spec->max_size)
		pfree(delta->elements[--delta->nelements]);
	if (delta->elements == NULL)
		delta->elements = palloc(8 * sizeof(Jsonb *));
	else if (delta->nelements >= 8 && (delta->nelements & (delta->nelements - 1)) == 0)
		delta->elements = repalloc(delta->elements, 2 * delta->nelements * sizeof(Jsonb *));
	memmove(delta->elements + place + 1, delta->elements + place,
			(delta->nelements - place) * sizeof(Jsonb *));
	delta->elements[place] = element_copy(element);
	delta->nelements++;
}

static void
subset_remove(const StateSpec *spec, StateDelta *delta, const Jsonb *element)
{
	if (delta->first_removed != NULL &&
		element_compare(spec, element, delta->first_removed) >= 0)
		return;
	if (delta->first_removed != NULL)
		pfree(delta->first_removed);
	delta->first_removed = element_copy(element);
}

/*
 * A row's argument comes (sign 1) or goes (-1).  What is kept is allocated in
 * the current memory context.  False if the group must be computed anew.
 */
bool
state_add(const StateSpec *spec, StateDelta *delta, Datum value, bool isnull, int sign)
{
	if (isnull)
		return true;
	if (spec->kind != STATE_BOOL)
		delta->count += sign;
	switch (spec->kind)
	{
		case STATE_COUNT:
			return true;
		case STATE_SUM:
			integer_add(delta, spec->type == INT4OID ? DatumGetInt32(value) :
						spec->type == INT2OID ? DatumGetInt16(value) : DatumGetInt64(value), sign);
			return true;
		case STATE_SUM_NUMERIC:
		case STATE_SUM_SCALED:
			return numeric_state_add(spec, delta, DatumGetNumeric(value), sign);
		case STATE_BOOL:
			if (DatumGetBool(value))
				delta->count += sign;
			else
				delta->other += sign;
			return true;
		case STATE_MIN:
		case STATE_MAX:
			if (sign > 0)
				extreme_add(spec, value, &delta->has_added, &delta->added);
			else
				extreme_add(spec, value, &delta->has_removed, &delta->removed);
			return true;
		case STATE_SUBSET:
			if (sign > 0)
				subset_add(spec, delta, DatumGetJsonbP(value));
			else
				subset_remove(spec, delta, DatumGetJsonbP(value));
			return true;
	}
	return false;
}

/* Add one delta of a state to another, in the current memory context. */
static void
state_merge(const StateSpec *spec, StateDelta *into, const StateDelta *from)
{
	into->count += from->count;
	into->other += from->other;
	integer_add(into, from->sum, 1);
	if (from->big != NULL)
		big_add(into, from->big, 1);
	scale_add(into, from->scale, from->scale_rows);
	if (from->has_added)
		extreme_add(spec, from->added, &into->has_added, &into->added);
	if (from->has_removed)
		extreme_add(spec, from->removed, &into->has_removed, &into->removed);
	for (uint32 i = 0; i < from->nelements; i++)
		subset_add(spec, into, from->elements[i]);
	if (from->first_removed != NULL)
		subset_remove(spec, into, from->first_removed);
}

/* Add the states of one delta to those of another, in the current memory context. */
void
states_merge(const ViewDefinition *view, StateDelta *into, const StateDelta *from)
{
	for (int i = 0; i < view->nstates; i++)
		state_merge(&view->states[i], &into[i], &from[i]);
}

/* Does the delta change nothing, whatever the group is? */
bool
delta_is_nothing(const ViewDefinition *view, const StateDelta *delta)
{
	for (int i = 0; i < view->nstates; i++)
	{
		const StateDelta *state = &delta[i];

		if (state->count != 0 || state->other != 0 || state->sum != 0 || state->has_added ||
			state->has_removed || state->nelements > 0 || state->first_removed != NULL ||
			state->scale_rows != 0 || (state->big != NULL && !number_is_zero(state->big)))
			return false;
	}
	return true;
}

/*
 * Applying
 */

/* A state of the group while a delta is applied. */
typedef struct State
{
	int64		count;
	int64		other;
	Numeric		sum;
	int32		scale;
	int64		scale_rows;
	bool		isnull;			/* STATE_MIN, STATE_MAX */
	Datum		value;			/* and STATE_SUBSET: a jsonb */
} State;

/* The number at a place of the hidden array. */
static bool
hidden_number(const JsonbValue *hidden, int i, Numeric *result)
{
	JsonbValue	value;

	container_value(hidden->val.binary.data, i, &value);
	if (value.type != jbvNumeric)
		return false;
	*result = value.val.numeric;
	return true;
}

static bool
hidden_int(const JsonbValue *hidden, int i, int64 *result)
{
	Numeric		number;

	return hidden_number(hidden, i, &number) && number_to_int64(number, result);
}

/* What the delta adds to a sum. */
static Numeric
delta_sum(const StateDelta *delta)
{
	if (delta->big == NULL)
		return int64_to_numeric(delta->sum);
	return delta->sum == 0 ? delta->big : number_add(int64_to_numeric(delta->sum), delta->big);
}

/*
 * The greatest scale of a group's numbers after a delta; false if it cannot be
 * told.  An average has as many digits as its scale asks for.
 */
static bool
apply_scale(const StateDelta *delta, State *state)
{
	if (state->count == 0)
	{
		/* nothing is left to have a scale */
		state->scale = 0;
		state->scale_rows = 0;
		return true;
	}
	if (delta->scale > state->scale)
	{
		state->scale = delta->scale;
		state->scale_rows = delta->scale_rows;
		return delta->scale_rows > 0;
	}
	if (delta->scale == state->scale)
		state->scale_rows += delta->scale_rows;
	return state->scale_rows > 0 || state->scale == 0;
}

static bool
apply_number(const StateSpec *spec, const JsonbValue *hidden, const StateDelta *delta, State *state)
{
	int64		scale = 0;
	Numeric		sum;

	if (!hidden_int(hidden, spec->slot, &state->count))
		return false;
	state->count += delta->count;
	if (state->count < 0)
		return false;
	if (spec->kind == STATE_BOOL)
	{
		if (!hidden_int(hidden, spec->slot + 1, &state->other))
			return false;
		state->other += delta->other;
		return state->other >= 0;
	}
	if (spec->kind == STATE_COUNT)
		return true;
	if (!hidden_number(hidden, spec->slot + 1, &sum))
		return false;
	state->sum = number_add(sum, delta_sum(delta));
	if (state->count == 0 && !number_is_zero(state->sum))
		return false;
	if (state->count == 0)
		state->sum = int64_to_numeric(0);
	if (spec->kind != STATE_SUM_SCALED)
		return true;
	if (!hidden_int(hidden, spec->slot + 2, &scale) ||
		!hidden_int(hidden, spec->slot + 3, &state->scale_rows))
		return false;
	state->scale = scale;
	return apply_scale(delta, state);
}

/* May the field be a value of the type?  Somebody may have written it while triggers did not fire. */
static bool
may_be_value(const StateSpec *spec, const JsonbValue *field)
{
	int64		number;

	switch (spec->type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			if (field->type != jbvNumeric || numeric_scale_of(field->val.numeric) > 0 ||
				!number_to_int64(field->val.numeric, &number))
				return false;
			return spec->type == INT8OID || (spec->type == INT4OID ? number == (int32) number : number == (int16) number);
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return field->type == jbvNumeric || value_is_string(field, "NaN") ||
				value_is_string(field, "Infinity") || value_is_string(field, "-Infinity");
		default:
			return field->type == jbvString;
	}
}

/* A value of the field back as the type's. */
static bool
extreme_read(const StateSpec *spec, const JsonbValue *field, State *state)
{
	char	   *text;

	state->isnull = field->type == jbvNull;
	if (state->isnull)
		return true;
	if (!may_be_value(spec, field))
		return false;
	if (field->type == jbvString)
		text = pnstrdup(field->val.string.val, field->val.string.len);
	else if (field->type == jbvNumeric)
		text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(field->val.numeric)));
	else
		return false;
	state->value = InputFunctionCall(unconstify(FmgrInfo *, &spec->input), text,
									 spec->input_param, spec->typmod);
	return true;
}

static bool
apply_extreme(const StateSpec *spec, const JsonbValue *field, const StateDelta *delta, State *state)
{
	if (!extreme_read(spec, field, state))
		return false;
	if (delta->has_added &&
		(state->isnull || extreme_compare(spec, delta->added, state->value) < 0))
	{
		state->value = delta->added;
		state->isnull = false;
	}
	if (!delta->has_removed)
		return true;
	return !state->isnull && extreme_compare(spec, delta->removed, state->value) > 0;
}

/* The list after the elements that were added; false if one left that it is made of. */
static bool
apply_subset(const StateSpec *spec, const JsonbValue *field, const StateDelta *delta, State *state)
{
	StateDelta	merged = {0};
	ValueList	list = {0};
	JsonbWalk	walk;
	JsonbValue	value;

	if (!value_is_array(field) || value_count(field) > spec->max_size)
		return false;
	walk_begin(&walk, field->val.binary.data);
	while (walk_next(&walk, NULL, &value))
		subset_add(spec, &merged, value_to_jsonb(&value));
	for (uint32 i = 0; i < delta->nelements; i++)
		subset_add(spec, &merged, delta->elements[i]);
	if (delta->first_removed != NULL &&
		(merged.nelements < spec->max_size || merged.nelements == 0 ||
		 element_compare(spec, delta->first_removed, merged.elements[merged.nelements - 1]) <= 0))
		return false;
	for (uint32 i = 0; i < merged.nelements; i++)
	{
		value_from_jsonb(merged.elements[i], &value);
		values_append(&list, &value);
	}
	values_finish(&list, &value);
	state->value = JsonbPGetDatum(value_to_jsonb(&value));
	return true;
}

/* An aggregate's result from its state. */
static void
aggregate_result(const AggregateSpec *spec, const State *state, Datum *value, bool *isnull)
{
	*isnull = false;
	switch (spec->kind)
	{
		case RESULT_COUNT:
			*value = Int64GetDatum(state->count);
			break;
		case RESULT_SUM:
			*isnull = state->count == 0;
			if (*isnull)
				break;
			if (spec->type == INT8OID)
				*value = DirectFunctionCall1(numeric_int8, NumericGetDatum(state->sum));
			else
				*value = NumericGetDatum(state->sum);
			break;
		case RESULT_AVG:
			*isnull = state->count == 0;
			if (!*isnull)
				*value = DirectFunctionCall2(numeric_div, NumericGetDatum(state->sum),
											 NumericGetDatum(int64_to_numeric(state->count)));
			break;
		case RESULT_BOOL_AND:
			*isnull = state->count == 0 && state->other == 0;
			*value = BoolGetDatum(state->other == 0);
			break;
		case RESULT_BOOL_OR:
			*isnull = state->count == 0 && state->other == 0;
			*value = BoolGetDatum(state->count > 0);
			break;
		case RESULT_VALUE:
			*isnull = state->isnull;
			*value = state->value;
			break;
	}
}

/* The fields of a group from the results of its aggregates. */
static void
compute_fields(const Definition *definition, const Datum *values, const bool *nulls, JsonbValue *fields)
{
	const ViewDefinition *view = &definition->view;
	bool		have_row = false;

	for (int i = 0; i < view->nfields; i++)
	{
		const FieldSpec *field = &view->fields[i];
		Datum		value;
		bool		isnull;

		if (field->aggregate >= 0)
		{
			value_from_datum(field->type, values[field->aggregate], nulls[field->aggregate], &fields[i]);
			continue;
		}
		if (!have_row)
		{
			ExecClearTuple(definition->results);
			memcpy(definition->results->tts_values, values, view->naggregates * sizeof(Datum));
			memcpy(definition->results->tts_isnull, nulls, view->naggregates * sizeof(bool));
			ExecStoreVirtualTuple(definition->results);
			have_row = true;
		}
		definition->econtext->ecxt_scantuple = definition->results;
		value = ExecEvalExpr(field->expression, definition->econtext, &isnull);
		value_from_datum(field->type, value, isnull, &fields[i]);
	}
}

/* The numbers of a state for the hidden field. */
static void
hidden_write(const StateSpec *spec, const State *state, JsonbValue *numbers)
{
	if (spec->slot < 0)
		return;
	value_from_int64(state->count, &numbers[spec->slot]);
	if (spec->kind == STATE_BOOL)
		value_from_int64(state->other, &numbers[spec->slot + 1]);
	if (spec->kind == STATE_BOOL || spec->kind == STATE_COUNT)
		return;
	numbers[spec->slot + 1].type = jbvNumeric;
	numbers[spec->slot + 1].val.numeric = state->sum;
	if (spec->kind == STATE_SUM_SCALED)
	{
		value_from_int64(state->scale, &numbers[spec->slot + 2]);
		value_from_int64(state->scale_rows, &numbers[spec->slot + 3]);
	}
}

/*
 * The group of a document, and what it is after a delta.  False if it must be
 * computed from its rows.
 */
bool
group_apply(const Definition *definition, const JsonbValue *doc, const StateDelta *delta,
			GroupResult *stored, GroupResult *result)
{
	const ViewDefinition *view = &definition->view;
	State	   *states = palloc0(view->nstates * sizeof(State));
	Datum	   *values = palloc0(view->naggregates * sizeof(Datum));
	bool	   *nulls = palloc(view->naggregates * sizeof(bool));
	JsonbValue *numbers = palloc(Max(view->nnumbers, 1) * sizeof(JsonbValue));

	if (!view->incremental || !group_read(definition, doc, stored))
		return false;
	for (int i = 0; i < view->nstates; i++)
	{
		const StateSpec *spec = &view->states[i];
		bool		known;

		if (spec->slot >= 0)
			known = apply_number(spec, &stored->hidden, &delta[i], &states[i]);
		else if (spec->kind == STATE_SUBSET)
			known = apply_subset(spec, &stored->fields[spec->field], &delta[i], &states[i]);
		else
			known = apply_extreme(spec, &stored->fields[spec->field], &delta[i], &states[i]);
		if (!known)
			return false;
		hidden_write(spec, &states[i], numbers);
	}
	for (int i = 0; i < view->naggregates; i++)
		aggregate_result(&view->specs[i], &states[view->specs[i].state], &values[i], &nulls[i]);
	result->fields = palloc(view->nfields * sizeof(JsonbValue));
	compute_fields(definition, values, nulls, result->fields);
	hidden_finish(view, numbers, &result->hidden);
	return true;
}
