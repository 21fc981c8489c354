/*
 * server/argument.c
 *		Arguments that must be given, and what is wrong with one, in the same
 *		words everywhere.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "pattern.h"

/* 22004 if the argument at this position is SQL NULL. */
void
argument_check_given(FunctionCallInfo fcinfo, int position, const char *name)
{
	if (PG_ARGISNULL(position))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("argument \"%s\" must not be null", name)));
}

/* A name, in the argument's own memory.  22004 if it is SQL NULL, 22023 if it is empty. */
char *
argument_name(FunctionCallInfo fcinfo, int position, const char *name)
{
	argument_check_given(fcinfo, position, name);
	if (*NameStr(*PG_GETARG_NAME(position)) == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be empty", name)));
	return NameStr(*PG_GETARG_NAME(position));
}

/* A text; palloc'd.  22004 if it is SQL NULL. */
char *
argument_text(FunctionCallInfo fcinfo, int position, const char *name)
{
	argument_check_given(fcinfo, position, name);
	return text_to_cstring(PG_GETARG_TEXT_PP(position));
}

/* An option that is off unless it is given as true. */
bool
argument_flag(FunctionCallInfo fcinfo, int position)
{
	return !PG_ARGISNULL(position) && PG_GETARG_BOOL(position);
}

/* 22023 if the argument is less than the smallest value that it may have. */
void
argument_check_least(const char *name, int32 value, int32 least)
{
	if (value < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be at least %d", name, least),
				 errdetail("It is %d.", value)));
}

/* 22023: the argument is not what was expected, "an array" for example. */
void
argument_mismatch(const char *name, const char *expected, const JsonbValue *found)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("argument \"%s\" must be %s", name, expected),
			 errdetail("The value is of type %s: %s.",
					   value_type_name(found), value_to_cstring(found))));
}

/* 22023: the value at a path inside an argument is not what was expected. */
void
field_mismatch(const char *path, const char *expected, const JsonbValue *found)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the value at \"%s\" must be %s", text_for_message(path, strlen(path)), expected),
			 errdetail("The value is of type %s: %s.",
					   value_type_name(found), value_to_cstring(found))));
}
