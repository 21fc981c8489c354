/*
 * document/update_array.c
 *		The update operators on arrays: $push $addToSet $pop $pull $pullAll.
 *
 * An array is spliced where that says it all: pushing to an array of any length
 * costs the bytes copied.  Only $sort needs the elements one by one, and it
 * looks at nothing in them but the sort keys.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "update.h"

/* The operand of $push. */
typedef struct PushOperand
{
	ValueList	each;
	bool		has_position;
	bool		has_slice;
	int64		position;
	int64		slice;
	SortOrder  *order;			/* NULL: no $sort */
} PushOperand;

/* The operand of $addToSet. */
typedef struct AddToSetOperand
{
	ValueList	list;			/* different values, in the order given */
	uint32	   *places;			/* where each of them stands in the set */
	JsonbValue *set;
	uint32		n;				/* the size of the set, and of the list */
} AddToSetOperand;

/* The operand of $pullAll: a set. */
typedef struct PullAllOperand
{
	JsonbValue *set;
	uint32		n;
} PullAllOperand;

/* The operand of $pull. */
typedef struct PullOperand
{
	MatchQuery *query;			/* NULL: elements that equal the value */
	bool		objects_only;	/* the query is for documents */
	JsonbValue	value;
} PullOperand;

static void
set_array(UpdateEffect *effect, const ValueList *list)
{
	effect->kind = EFFECT_SET;
	values_finish(list, &effect->value);
}

/* Begin to edit the array that is there. */
static JsonbSplice *
edit_array(UpdateEffect *effect, const JsonbValue *old)
{
	effect->kind = EFFECT_SPLICE;
	effect->splice = splice_begin(old);
	return effect->splice;
}

static int64
compile_integer(const UpdateOperation *operation, const char *name, const JsonbValue *value)
{
	int64		n;

	if (value->type != jbvNumeric || !number_to_int64(value->val.numeric, &n))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid %s for %s at \"%s\": %s", name, operation->operator->name,
						operation->path, value_to_cstring(value)),
				 errdetail("The value must be an integer.")));
	return n;
}

static SortOrder *
compile_sort(const UpdateOperation *operation, const JsonbValue *sort)
{
	const char *hint = NULL;
	SortOrder  *order = sort_compile(sort, &hint);

	if (order == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid $sort for %s at \"%s\": %s", operation->operator->name,
						operation->path, value_to_cstring(sort)),
				 errdetail("$sort must be 1, -1, an object such as {\"field\": -1}, or an array of several such objects."),
				 hint != NULL ? errhint("%s", hint) : 0));
	return order;
}

/* A modifier that stands beside $each. */
static void
compile_modifier(const UpdateOperation *operation, PushOperand *push, const JsonbValue *key,
				 const JsonbValue *value)
{
	if (value_is_string(key, "$position"))
	{
		push->has_position = true;
		push->position = compile_integer(operation, "$position", value);
	}
	else if (value_is_string(key, "$slice"))
	{
		push->has_slice = true;
		push->slice = compile_integer(operation, "$slice", value);
	}
	else if (value_is_string(key, "$sort"))
		push->order = compile_sort(operation, value);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized modifier for %s at \"%s\": \"%s\"", operation->operator->name,
						operation->path, text_for_message(key->val.string.val, key->val.string.len)),
				 errhint("Beside $each there may be $position, $sort and $slice.")));
}

/* The values of $each. */
static void
compile_each(const UpdateOperation *operation, const JsonbValue *each, ValueList *list)
{
	if (!value_is_array(each))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid $each for %s at \"%s\": %s", operation->operator->name,
						operation->path, value_to_cstring(each)),
				 errdetail("The value must be an array.")));
	values_from_array(list, each);
}

static void *
compile_push(const UpdateOperation *operation, const JsonbValue *operand)
{
	PushOperand *push = palloc0(sizeof(PushOperand));
	JsonbWalk	walk;
	JsonbValue	key,
				value;

	if (!value_get_cstring(operand, "$each", &value))
	{
		values_append(&push->each, operand);
		return push;
	}
	compile_each(operation, &value, &push->each);
	walk_begin(&walk, operand->val.binary.data);
	while (walk_next(&walk, &key, &value))
		if (!value_is_string(&key, "$each"))
			compile_modifier(operation, push, &key, &value);
	return push;
}

/* Where in an array of count elements new ones are put; negative counts from its end. */
static uint32
push_position(const PushOperand *push, uint32 count)
{
	if (!push->has_position || push->position >= (int64) count)
		return count;
	if (push->position >= 0)
		return (uint32) push->position;
	return push->position < -(int64) count ? 0 : (uint32) (count + push->position);
}

/* The part [*low, *high) of total elements that $slice keeps. */
static void
push_window(const PushOperand *push, uint64 total, uint64 *low, uint64 *high)
{
	*low = 0;
	*high = total;
	if (!push->has_slice)
		return;
	if (push->slice >= 0)
		*high = Min(total, (uint64) push->slice);
	else if (push->slice > -(int64) total)
		*low = total + push->slice;
}

/* The part of the window that falls into the n elements from start on, relative to start. */
static void
window_part(uint64 low, uint64 high, uint64 start, uint32 n, uint32 *from, uint32 *to)
{
	*from = low <= start ? 0 : (uint32) Min(low - start, n);
	*to = high <= start ? 0 : (uint32) Min(high - start, n);
}

/* Insert and cut without looking at the elements. */
static void
push_splice(const PushOperand *push, const JsonbValue *old, UpdateEffect *effect)
{
	uint32		count = value_count(old);
	uint32		position = push_position(push, count);
	uint32		added = push->each.n;
	uint64		low,
				high;
	uint32		from,
				to;
	JsonbSplice *splice;

	push_window(push, (uint64) count + added, &low, &high);
	if (added == 0 && low == 0 && high == count)
		return;
	splice = edit_array(effect, old);

	/* old elements before the new ones */
	window_part(low, high, 0, position, &from, &to);
	if (from > 0)
		splice_remove(splice, 0, from);
	if (to < position && to >= from)
		splice_remove(splice, to, position - to);
	/* the new ones */
	window_part(low, high, position, added, &from, &to);
	if (to > from)
		splice_insert(splice, position, push->each.values + from, to - from);
	/* and behind them */
	window_part(low, high, (uint64) position + added, count - position, &from, &to);
	if (from > 0)
		splice_remove(splice, position, from);
	if (to < count - position && to >= from)
		splice_remove(splice, position + to, count - position - to);
}

/* Insert, sort, cut. */
static void
push_sorted(const PushOperand *push, const JsonbValue *old, UpdateEffect *effect)
{
	ValueList	list = {0};
	uint64		low,
				high;

	if (old != NULL)
		values_from_array(&list, old);
	/* where equal elements stand is where they were inserted */
	for (uint32 i = 0; i < push->each.n; i++)
		values_append(&list, &push->each.values[i]);
	if (old != NULL && push->has_position)
	{
		uint32		count = value_count(old);
		uint32		position = push_position(push, count);

		memmove(list.values + position + push->each.n, list.values + position,
				(count - position) * sizeof(JsonbValue));
		memcpy(list.values + position, push->each.values, push->each.n * sizeof(JsonbValue));
	}
	values_sort(list.values, list.n, push->order);
	push_window(push, list.n, &low, &high);
	list.values += low;
	list.n = high - low;
	set_array(effect, &list);
}

static void
apply_push(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
		   UpdateEffect *effect)
{
	const PushOperand *push = operation->operand;

	if (old != NULL && !value_is_array(old))
		update_target_error(operation, old, "an array");
	if (push->order != NULL)
		push_sorted(push, old, effect);
	else if (old != NULL)
		push_splice(push, old, effect);
	else
	{
		ValueList	list = push->each;
		uint64		low,
					high;

		push_window(push, list.n, &low, &high);
		list.values += low;
		list.n = high - low;
		set_array(effect, &list);
	}
}

/* The values of a list as a set of their own, whose size is *n. */
static JsonbValue *
set_from_list(const ValueList *list, uint32 *n)
{
	JsonbValue *set = palloc(Max(list->n, 1) * sizeof(JsonbValue));

	if (list->n > 0)
		memcpy(set, list->values, list->n * sizeof(JsonbValue));
	*n = values_make_set(set, list->n);
	return set;
}

static void *
compile_add_to_set(const UpdateOperation *operation, const JsonbValue *operand)
{
	AddToSetOperand *add = palloc0(sizeof(AddToSetOperand));
	ValueList	given = {0};
	JsonbValue	each;
	bool	   *seen;

	if (value_get_cstring(operand, "$each", &each))
	{
		if (value_count(operand) > 1)
			update_operand_error(operation, operand, "a value, or an object of $each alone");
		compile_each(operation, &each, &given);
	}
	else
		values_append(&given, operand);

	add->set = set_from_list(&given, &add->n);
	add->places = palloc(Max(add->n, 1) * sizeof(uint32));
	seen = palloc0(Max(add->n, 1));
	for (uint32 i = 0; i < given.n; i++)
	{
		uint32		place = 0;

		CHECK_FOR_INTERRUPTS();
		if (values_set_find(add->set, add->n, &given.values[i], &place) && !seen[place])
		{
			seen[place] = true;
			add->places[add->list.n] = place;
			values_append(&add->list, &given.values[i]);
		}
	}
	return add;
}

static void
apply_add_to_set(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
				 UpdateEffect *effect)
{
	const AddToSetOperand *add = operation->operand;
	ValueList	added = {0};
	JsonbWalk	walk;
	JsonbValue	element;
	bool	   *present;

	if (old == NULL)
	{
		set_array(effect, &add->list);
		return;
	}
	if (!value_is_array(old))
		update_target_error(operation, old, "an array");
	present = palloc0(Max(add->n, 1));
	walk_begin(&walk, old->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		uint32		place;

		CHECK_FOR_INTERRUPTS();
		if (values_set_find(add->set, add->n, &element, &place))
			present[place] = true;
	}
	for (uint32 i = 0; i < add->list.n; i++)
		if (!present[add->places[i]])
			values_append(&added, &add->list.values[i]);
	if (added.n > 0)
		splice_insert(edit_array(effect, old), value_count(old), added.values, added.n);
}

/* 1 or -1: is it the first element that goes? */
static void *
compile_pop(const UpdateOperation *operation, const JsonbValue *operand)
{
	int64		n;
	bool	   *first = palloc(sizeof(bool));

	if (operand->type != jbvNumeric || !number_to_int64(operand->val.numeric, &n) ||
		(n != 1 && n != -1))
		update_operand_error(operation, operand, "1, for the last element, or -1, for the first");
	*first = (n == -1);
	return first;
}

static void
apply_pop(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
		  UpdateEffect *effect)
{
	const bool *first = operation->operand;

	if (!value_is_array(old))
		update_target_error(operation, old, "an array");
	if (value_count(old) > 0)
		splice_remove(edit_array(effect, old), *first ? 0 : value_count(old) - 1, 1);
}

/*
 * The operand of $pull: an object of operators is a condition on the element,
 * another object a query for elements that are objects, and anything else a
 * value.
 */
static void *
compile_pull(const UpdateOperation *operation, const JsonbValue *operand)
{
	static const char *const unsuitable[] = {"$expr", "$jsonSchema", "$text", "$where"};
	static const char *const logical[] = {"$and", "$or", "$nor"};
	PullOperand *pull = palloc0(sizeof(PullOperand));
	JsonbWalk	walk;
	JsonbValue	key,
				value;
	bool		is_condition = false;

	if (!value_is_object(operand))
	{
		pull->value = *operand;
		return pull;
	}
	walk_begin(&walk, operand->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		bool		is_logical = false;

		for (int i = 0; i < lengthof(unsuitable); i++)
			if (value_is_string(&key, unsuitable[i]))
				update_operand_error(operation, operand, "a condition without $expr, $jsonSchema, $text and $where");
		for (int i = 0; i < lengthof(logical); i++)
			is_logical = is_logical || value_is_string(&key, logical[i]);
		if (key.val.string.len > 0 && key.val.string.val[0] == '$' && !is_logical)
			is_condition = true;
	}
	pull->objects_only = !is_condition;
	pull->query = match_compile(operand, is_condition ? MATCH_VALUE : MATCH_DOCUMENT);
	return pull;
}

static bool
pull_matches(const void *operand, const JsonbValue *element)
{
	const PullOperand *pull = operand;

	if (pull->query == NULL)
		return value_equal(&pull->value, element);
	if (pull->objects_only && !value_is_object(element))
		return false;
	return match_value(pull->query, element);
}

static bool
pull_all_matches(const void *operand, const JsonbValue *element)
{
	const PullAllOperand *pull = operand;

	return values_set_find(pull->set, pull->n, element, NULL);
}

/* Remove the elements that match. */
static void
remove_elements(const UpdateOperation *operation, const JsonbValue *old, UpdateEffect *effect,
				bool (*matches) (const void *operand, const JsonbValue *element))
{
	JsonbSplice *splice = NULL;
	JsonbWalk	walk;
	JsonbValue	element;
	uint32		run = 0;		/* matching elements right before `at` */
	uint32		at = 0;

	if (!value_is_array(old))
		update_target_error(operation, old, "an array");
	walk_begin(&walk, old->val.binary.data);
	for (;; at++)
	{
		bool		more = walk_next(&walk, NULL, &element);

		CHECK_FOR_INTERRUPTS();
		if (more && matches(operation->operand, &element))
		{
			run++;
			continue;
		}
		if (run > 0)
		{
			if (splice == NULL)
				splice = edit_array(effect, old);
			splice_remove(splice, at - run, run);
			run = 0;
		}
		if (!more)
			break;
	}
}

static void
apply_pull(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
		   UpdateEffect *effect)
{
	remove_elements(operation, old, effect, pull_matches);
}

static void *
compile_pull_all(const UpdateOperation *operation, const JsonbValue *operand)
{
	PullAllOperand *pull = palloc(sizeof(PullAllOperand));
	ValueList	list = {0};

	if (!value_is_array(operand))
		update_operand_error(operation, operand, "an array");
	values_from_array(&list, operand);
	pull->set = set_from_list(&list, &pull->n);
	return pull;
}

static void
apply_pull_all(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
			   UpdateEffect *effect)
{
	remove_elements(operation, old, effect, pull_all_matches);
}

const UpdateOperator update_array_operators[] =
{
	{.name = "$push", .compile = compile_push, .apply = apply_push, .creates = true},
	{.name = "$addToSet", .compile = compile_add_to_set, .apply = apply_add_to_set, .creates = true},
	{.name = "$pop", .compile = compile_pop, .apply = apply_pop},
	{.name = "$pull", .compile = compile_pull, .apply = apply_pull},
	{.name = "$pullAll", .compile = compile_pull_all, .apply = apply_pull_all},
	{0}
};
