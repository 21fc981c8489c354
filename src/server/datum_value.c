/*
 * server/datum_value.c
 *		Values of any type as jsonb, alike in every session.
 *
 * A value is what to_jsonb makes of it in a session whose time zone is UTC and
 * whose settings are the defaults: who writes must not show in what is stored.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/bytea.h"
#include "utils/datetime.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

#include "pattern.h"

/*
 * Make values look as they are stored, until environment_leave, which must be
 * called also when there is an error.
 */
void
environment_enter(Environment *before)
{
	static pg_tz *utc = NULL;

	if (utc == NULL)
		utc = pg_tzset("UTC");
	before->time_zone = session_timezone;
	before->date_style = DateStyle;
	before->date_order = DateOrder;
	before->interval_style = IntervalStyle;
	before->float_digits = extra_float_digits;
	before->bytea_form = bytea_output;
	session_timezone = utc;
	DateStyle = USE_ISO_DATES;
	DateOrder = DATEORDER_MDY;
	IntervalStyle = INTSTYLE_POSTGRES;
	extra_float_digits = 1;
	bytea_output = BYTEA_OUTPUT_HEX;
}

void
environment_leave(const Environment *before)
{
	session_timezone = before->time_zone;
	DateStyle = before->date_style;
	DateOrder = before->date_order;
	IntervalStyle = before->interval_style;
	extra_float_digits = before->float_digits;
	bytea_output = before->bytea_form;
}

/* A numeric; NaN and the infinities, which jsonb lacks, are strings as in core. */
static void
numeric_value(Numeric number, JsonbValue *result)
{
	if (numeric_is_nan(number) || numeric_is_inf(number))
		value_from_cstring(DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number))), result);
	else
	{
		result->type = jbvNumeric;
		result->val.numeric = number;
	}
}

static void
text_value(const text *value, JsonbValue *result)
{
	result->type = jbvString;
	result->val.string.val = VARDATA_ANY(value);
	result->val.string.len = VARSIZE_ANY_EXHDR(value);
}

/* Any type, by to_jsonb. */
static void
other_value(Oid type, Datum value, JsonbValue *result)
{
	FmgrInfo	flinfo;
	Const	   *argument = makeNode(Const);
	FuncExpr   *call = makeNode(FuncExpr);
	Environment before;
	Datum		jsonb = 0;

	argument->consttype = type;
	call->funcid = F_TO_JSONB;
	call->funcresulttype = JSONBOID;
	call->args = list_make1(argument);
	fmgr_info(F_TO_JSONB, &flinfo);
	fmgr_info_set_expr((Node *) call, &flinfo);
	environment_enter(&before);
	PG_TRY();
	{
		jsonb = FunctionCall1(&flinfo, value);
	}
	PG_FINALLY();
	{
		environment_leave(&before);
	}
	PG_END_TRY();
	value_from_jsonb(DatumGetJsonbP(jsonb), result);
}

/* A value as it is stored; it may share the value's memory. */
void
value_from_datum(Oid type, Datum value, bool isnull, JsonbValue *result)
{
	const int	utc = 0;
	char		buf[MAXDATELEN + 1];

	if (isnull)
	{
		result->type = jbvNull;
		return;
	}
	switch (type)
	{
		case BOOLOID:
			value_from_bool(DatumGetBool(value), result);
			break;
		case INT2OID:
			value_from_int64(DatumGetInt16(value), result);
			break;
		case INT4OID:
			value_from_int64(DatumGetInt32(value), result);
			break;
		case INT8OID:
			value_from_int64(DatumGetInt64(value), result);
			break;
		case NUMERICOID:
			numeric_value(DatumGetNumeric(value), result);
			break;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			text_value(DatumGetTextPP(value), result);
			break;
		case JSONBOID:
			value_from_jsonb(DatumGetJsonbP(value), result);
			break;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			JsonEncodeDateTime(buf, value, type, &utc);
			value_from_cstring(pstrdup(buf), result);
			break;
		default:
			if (getBaseType(type) != type)
				value_from_datum(getBaseType(type), value, false, result);
			else
				other_value(type, value, result);
	}
}
