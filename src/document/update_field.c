/*
 * document/update_field.c
 *		The update operators on fields: $set $unset $inc $mul $min $max $bit
 *		$currentDate $setOnInsert $rename.
 *
 * Arithmetic is numeric's: where MongoDB overflows an int64, jsonb's number
 * grows.
 */
#include "postgres.h"

#include "update.h"

/* The operands of $bit; MongoDB applies them in the order given, which jsonb forgets. */
typedef struct BitOperand
{
	bool		has_and;
	bool		has_or;
	bool		has_xor;
	int64		and_bits;
	int64		or_bits;
	int64		xor_bits;
} BitOperand;

static void
set_value(UpdateEffect *effect, const JsonbValue *value)
{
	effect->kind = EFFECT_SET;
	effect->value = *value;
}

static void
set_number(UpdateEffect *effect, Numeric number)
{
	effect->kind = EFFECT_SET;
	effect->value.type = jbvNumeric;
	effect->value.val.numeric = number;
}

/* compile: any operand */
static void *
compile_value(const UpdateOperation *operation, const JsonbValue *operand)
{
	JsonbValue *copy = palloc(sizeof(JsonbValue));

	*copy = *operand;
	return copy;
}

/* compile: a number */
static void *
compile_number(const UpdateOperation *operation, const JsonbValue *operand)
{
	if (operand->type != jbvNumeric)
		update_operand_error(operation, operand, "a number");
	return operand->val.numeric;
}

static void
apply_set(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
		  UpdateEffect *effect)
{
	set_value(effect, operation->operand);
}

/* idle: $setOnInsert while a document is updated */
static bool
not_inserting(const UpdateOperation *operation, const UpdateRun *run)
{
	return !run->inserting;
}

static void
apply_unset(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
			UpdateEffect *effect)
{
	effect->kind = EFFECT_REMOVE;
}

static void
apply_inc(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
		  UpdateEffect *effect)
{
	if (old == NULL)
		set_number(effect, operation->operand);
	else if (old->type != jbvNumeric)
		update_target_error(operation, old, "a number");
	else
		set_number(effect, number_add(old->val.numeric, operation->operand));
}

static void
apply_mul(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
		  UpdateEffect *effect)
{
	if (old == NULL)
		set_number(effect, int64_to_numeric(0));
	else if (old->type != jbvNumeric)
		update_target_error(operation, old, "a number");
	else
		set_number(effect, number_multiply(old->val.numeric, operation->operand));
}

static void
apply_min(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
		  UpdateEffect *effect)
{
	if (old == NULL || value_compare(operation->operand, old) < 0)
		set_value(effect, operation->operand);
}

static void
apply_max(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
		  UpdateEffect *effect)
{
	if (old == NULL || value_compare(operation->operand, old) > 0)
		set_value(effect, operation->operand);
}

static void *
compile_bit(const UpdateOperation *operation, const JsonbValue *operand)
{
	static const char *const expected = "an object with and, or, xor, and integers of 64 bits for them";
	BitOperand *bits = palloc0(sizeof(BitOperand));
	JsonbWalk	walk;
	JsonbValue	key,
				value;

	if (!value_is_object(operand) || value_count(operand) == 0)
		update_operand_error(operation, operand, expected);
	walk_begin(&walk, operand->val.binary.data);
	while (walk_next(&walk, &key, &value))
	{
		int64		n;

		if (value.type != jbvNumeric || !number_to_int64(value.val.numeric, &n))
			update_operand_error(operation, operand, expected);
		if (value_is_string(&key, "and"))
		{
			bits->has_and = true;
			bits->and_bits = n;
		}
		else if (value_is_string(&key, "or"))
		{
			bits->has_or = true;
			bits->or_bits = n;
		}
		else if (value_is_string(&key, "xor"))
		{
			bits->has_xor = true;
			bits->xor_bits = n;
		}
		else
			update_operand_error(operation, operand, expected);
	}
	return bits;
}

/* Several bits operands are applied as and, or, xor. */
static void
apply_bit(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
		  UpdateEffect *effect)
{
	const BitOperand *bits = operation->operand;
	int64		n = 0;

	if (old != NULL && (old->type != jbvNumeric || !number_to_int64(old->val.numeric, &n)))
		update_target_error(operation, old, "an integer of 64 bits");
	if (bits->has_and)
		n &= bits->and_bits;
	if (bits->has_or)
		n |= bits->or_bits;
	if (bits->has_xor)
		n ^= bits->xor_bits;
	set_number(effect, int64_to_numeric(n));
}

static void *
compile_current_date(const UpdateOperation *operation, const JsonbValue *operand)
{
	JsonbValue	type;

	if (operand->type != jbvBool &&
		!(value_is_object(operand) && value_count(operand) == 1 &&
		  value_get_cstring(operand, "$type", &type) &&
		  (value_is_string(&type, "date") || value_is_string(&type, "timestamp"))))
		update_operand_error(operation, operand,
							 "true, {\"$type\": \"date\"} or {\"$type\": \"timestamp\"}");
	return NULL;
}

static void
apply_current_date(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
				   UpdateEffect *effect)
{
	effect->kind = EFFECT_SET;
	expression_clock(&effect->value);
}

/* Is one path a prefix of the other, or the same? */
static bool
paths_overlap(const DocPath *a, const DocPath *b)
{
	for (int i = 0; i < Min(a->nsteps, b->nsteps); i++)
		if (key_compare(a->steps[i].name, a->steps[i].len, b->steps[i].name, b->steps[i].len) != 0)
			return false;
	return true;
}

static void
check_rename_path(const UpdateOperation *operation, const JsonbValue *operand, const DocPath *path)
{
	for (int i = 0; i < path->nsteps; i++)
		if (path->steps[i].name[0] == '$' &&
			(path->steps[i].len == 1 || path->steps[i].name[1] == '['))
			update_operand_error(operation, operand, "a path without array elements, as must the source");
}

/* Compiles a $rename, whose operand is the target; the caller numbers it. */
UpdateRename *
update_rename_compile(const UpdateOperation *operation, DocPath *source, const JsonbValue *operand)
{
	UpdateRename *rename = palloc0(sizeof(UpdateRename));

	if (operand->type != jbvString)
		update_operand_error(operation, operand, "a string, the new path");
	rename->source = source;
	rename->target = path_parse(operand->val.string.val, operand->val.string.len, false);
	check_rename_path(operation, operand, rename->source);
	check_rename_path(operation, operand, rename->target);
	if (paths_overlap(rename->source, rename->target))
		update_operand_error(operation, operand, "a path outside the source");
	return rename;
}

/* How far a rename's path may be followed: no array, and for the source no scalar, before its end. */
static bool
rename_walk(const DocPath *path, const JsonbValue *doc, bool is_source, JsonbValue *result)
{
	*result = *doc;
	for (int i = 0; i < path->nsteps; i++)
	{
		const PathStep *step = &path->steps[i];
		JsonbValue	inner;

		if (value_is_array(result) || (is_source && !value_is_object(result)))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("cannot apply $rename at \"%s\": the value at \"%s\" is of type %s",
							path_to_cstring(path, path->nsteps), path_to_cstring(path, i),
							value_type_name(result)),
					 errdetail("$rename moves fields of objects, and does not reach into arrays.")));
		if (!value_get(result, step->name, step->len, &inner))
			return false;
		*result = inner;
	}
	return true;
}

/* Looks up what is renamed, before anything is changed. */
void
update_rename_lookup(UpdateRun *run, const JsonbValue *doc)
{
	const DocUpdate *update = run->update;

	run->renamed = palloc(update->nrenames * sizeof(JsonbValue));
	run->found = palloc(update->nrenames * sizeof(bool));
	for (int i = 0; i < update->nrenames; i++)
	{
		JsonbValue	target;

		run->found[i] = rename_walk(update->renames[i]->source, doc, true, &run->renamed[i]);
		if (run->found[i])
			(void) rename_walk(update->renames[i]->target, doc, false, &target);
	}
}

/* idle: a $rename whose source is missing */
static bool
rename_idle(const UpdateOperation *operation, const UpdateRun *run)
{
	return !run->found[((const UpdateRename *) operation->operand)->number];
}

static void
apply_rename_target(const UpdateOperation *operation, UpdateRun *run, const JsonbValue *old,
					UpdateEffect *effect)
{
	set_value(effect, &run->renamed[((const UpdateRename *) operation->operand)->number]);
}

const UpdateOperator update_rename_target =
{
	.name = "$rename", .apply = apply_rename_target, .idle = rename_idle, .creates = true
};

const UpdateOperator update_field_operators[] =
{
	{.name = "$set", .compile = compile_value, .apply = apply_set, .creates = true},
	{.name = "$unset", .compile = compile_value, .apply = apply_unset, .lenient = true},
	{.name = "$inc", .compile = compile_number, .apply = apply_inc, .creates = true},
	{.name = "$mul", .compile = compile_number, .apply = apply_mul, .creates = true},
	{.name = "$min", .compile = compile_value, .apply = apply_min, .creates = true},
	{.name = "$max", .compile = compile_value, .apply = apply_max, .creates = true},
	{.name = "$bit", .compile = compile_bit, .apply = apply_bit, .creates = true},
	{.name = "$currentDate", .compile = compile_current_date, .apply = apply_current_date, .creates = true},
	{.name = "$setOnInsert", .compile = compile_value, .apply = apply_set, .idle = not_inserting, .creates = true},
	{.name = "$rename", .apply = apply_unset, .idle = rename_idle},
	{0}
};
