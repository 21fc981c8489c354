/*
 * document/sort.c
 *		MongoDB's way to write the order of an array's elements.
 *
 * 1 or -1 for the elements themselves, {"field": -1} for one key, and an array of
 * several such objects, since jsonb forgets the order of an object's keys.
 */
#include "postgres.h"

#include "pattern.h"

/* 1 or -1; false for anything else. */
static bool
compile_direction(const JsonbValue *direction, SortKey *result)
{
	int64		n;

	if (direction->type != jbvNumeric || !number_to_int64(direction->val.numeric, &n) ||
		(n != 1 && n != -1))
		return false;
	result->descending = n == -1;
	return true;
}

/* One key, as {"field": -1}. */
static bool
compile_key(const JsonbValue *sort, SortKey *result, const char **hint)
{
	JsonbValue	key,
				direction;

	if (!value_is_object(sort) || value_count(sort) == 0)
		return false;
	if (value_count(sort) > 1)
	{
		*hint = "jsonb does not keep the order of an object's keys. Write [{\"first\": 1}, {\"second\": -1}].";
		return false;
	}
	container_key(sort->val.binary.data, 0, &key);
	container_value(sort->val.binary.data, 0, &direction);
	result->path = path_parse(key.val.string.val, key.val.string.len, false);
	return compile_direction(&direction, result);
}

static bool
compile_keys(const JsonbValue *sort, SortOrder *order, const char **hint)
{
	JsonbWalk	walk;
	JsonbValue	element;

	if (value_count(sort) < 2)
	{
		*hint = "One key stands without an array around it.";
		return false;
	}
	order->nkeys = 0;
	order->keys = palloc(value_count(sort) * sizeof(SortKey));
	walk_begin(&walk, sort->val.binary.data);
	while (walk_next(&walk, NULL, &element))
		if (!compile_key(&element, &order->keys[order->nkeys++], hint))
			return false;
	return true;
}

/*
 * The order; palloc'd, its paths point into sort.  NULL if it is none, when *hint
 * may say how it is written.  22P02 for a bad path.
 */
SortOrder *
sort_compile(const JsonbValue *sort, const char **hint)
{
	SortOrder  *order = palloc(sizeof(SortOrder));

	if (value_is_array(sort))
		return compile_keys(sort, order, hint) ? order : NULL;
	order->nkeys = 1;
	order->keys = palloc0(sizeof(SortKey));
	if (value_is_object(sort))
		return compile_key(sort, &order->keys[0], hint) ? order : NULL;
	return compile_direction(sort, &order->keys[0]) ? order : NULL;
}
