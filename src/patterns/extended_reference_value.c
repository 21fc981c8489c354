/*
 * patterns/extended_reference_value.c
 *		Extended reference pattern: a source's columns as values, its keys as text.
 *
 * A copy must not depend on the session that happens to write it, since the next
 * one compares with it.  Values are those of value_from_datum; so far as the text
 * of a key takes something from the session's settings, it is made under settings
 * of our own.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "extended_reference.h"

/* A column of a source as a value of a field. */
typedef struct SourceColumn
{
	AttrNumber	number;
	Oid			type;			/* below domains */
	const DocPath *path;
} SourceColumn;

/* How the columns of a relation, the source or a partition of it, become values. */
struct SourceFields
{
	AttrNumber	key;
	Oid			key_type;		/* below domains */
	bool		key_is_settled;
	FmgrInfo	key_output;
	SourceColumn *columns;		/* one for each field */
};

/* The settings under which values are made that depend on them; returns what settings_leave takes back. */
int
source_settings_enter(void)
{
	static const char *const settings[][2] = {
		{"timezone", "UTC"}, {"datestyle", "ISO, MDY"}, {"intervalstyle", "postgres"},
		{"extra_float_digits", "1"}, {"bytea_output", "hex"}
	};
	int			level = NewGUCNestLevel();

	for (int i = 0; i < lengthof(settings); i++)
		(void) set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

void
source_settings_leave(int level)
{
	AtEOXact_GUC(true, level);
}

/* Is the text of a type, which is no domain, the same in every session? */
bool
source_type_is_settled(Oid type)
{
	Oid			element;

	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case NUMERICOID:
		case UUIDOID:
		case JSONOID:
		case JSONBOID:
			return true;
	}
	element = get_element_type(type);
	if (OidIsValid(element))
		return source_type_is_settled(getBaseType(element));
	return TypeCategory(type) == TYPCATEGORY_STRING || type_is_enum(type);
}

/* A source's column in a partition, whose columns may stand in another order. */
static AttrNumber
leaf_column(Oid source, Oid leaf, AttrNumber column)
{
	return leaf == source ? column : get_attnum(leaf, get_attname(source, column, false));
}

/* The columns of a reference in its source or a partition of it; palloc'd. */
SourceFields *
source_fields(const Reference *reference, Oid leaf)
{
	SourceFields *result = palloc0(sizeof(SourceFields));
	Oid			output;
	bool		is_varlena;

	result->key = leaf_column(reference->source, leaf, reference->source_key);
	result->key_type = getBaseType(get_atttype(leaf, result->key));
	result->key_is_settled = source_type_is_settled(result->key_type);
	getTypeOutputInfo(result->key_type, &output, &is_varlena);
	fmgr_info(output, &result->key_output);
	result->columns = palloc0(reference->nfields * sizeof(SourceColumn));
	for (int i = 0; i < reference->nfields; i++)
	{
		SourceColumn *column = &result->columns[i];

		column->number = leaf_column(reference->source, leaf, reference->fields[i].column);
		column->type = getBaseType(get_atttype(leaf, column->number));
		column->path = reference->fields[i].path;
	}
	return result;
}

AttrNumber
source_fields_key(const SourceFields *fields)
{
	return fields->key;
}

/*
 * The value that a field takes from a source row: null where the column is NULL
 * or has nothing at the path, so that a copy has all its fields.
 */
void
source_field_value(SourceFields *fields, int i, HeapTuple tuple, TupleDesc desc, JsonbValue *result)
{
	SourceColumn *column = &fields->columns[i];
	JsonbValue	whole;
	bool		is_null;
	Datum		datum = heap_getattr(tuple, column->number, desc, &is_null);

	if (is_null)
	{
		result->type = jbvNull;
		return;
	}
	value_from_datum(column->type, datum, false, &whole);
	if (!path_get(column->path, &whole, result))
		result->type = jbvNull;
}

/* The text that a cast makes of a key; palloc'd. */
static char *
key_output(SourceFields *fields, Datum key)
{
	char	   *text;

	if (fields->key_type == BOOLOID)
		return pstrdup(DatumGetBool(key) ? "true" : "false");
	text = OutputFunctionCall(&fields->key_output, key);
	if (fields->key_type == BPCHAROID)
		text[bpchartruelen(text, strlen(text))] = '\0';
	return text;
}

/* The key of a source row as text; palloc'd, NULL for NULL. */
char *
source_key_text(SourceFields *fields, HeapTuple tuple, TupleDesc desc)
{
	bool		is_null;
	Datum		key = heap_getattr(tuple, fields->key, desc, &is_null);
	char	   *text;
	int			level;

	if (is_null)
		return NULL;
	if (fields->key_is_settled)
		return key_output(fields, key);
	level = source_settings_enter();
	text = key_output(fields, key);
	source_settings_leave(level);
	return text;
}

/* Is it a whole number between two? */
static bool
is_integer(const char *text, int64 least, int64 most)
{
	char	   *end;
	int64		number;

	if (*text == '\0' || strspn(text, "-0123456789") != strlen(text))
		return false;
	errno = 0;
	number = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0' && number >= least && number <= most;
}

/* Is it a number with as few digits as numeric takes at least? */
static bool
is_number(const char *text)
{
	const int	max_digits = 16000;
	size_t		whole,
				fraction;

	if (strcmp(text, "NaN") == 0)
		return true;
	if (*text == '-')
		text++;
	if (strcmp(text, "Infinity") == 0)
		return true;
	whole = strspn(text, "0123456789");
	text += whole;
	fraction = *text == '.' ? strspn(text + 1, "0123456789") : 0;
	return whole > 0 && whole + fraction < max_digits && text[fraction > 0 ? fraction + 1 : 0] == '\0';
}

static bool
is_uuid(const char *text)
{
	const char *form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	for (; *form != '\0'; form++, text++)
		if (*form == '-' ? *text != '-' : *text == '\0' || strchr("0123456789abcdef", *text) == NULL)
			return false;
	return *text == '\0';
}

static bool
is_label(Oid type, const char *text)
{
	return strlen(text) < NAMEDATALEN &&
		SearchSysCacheExists2(ENUMTYPOIDNAME, ObjectIdGetDatum(type), CStringGetDatum(text));
}

/* Could the text be a key of this type at all?  Types that are not known here say so themselves. */
bool
source_key_is_plausible(Oid type, const char *text)
{
	switch (type)
	{
		case INT2OID:
			return is_integer(text, PG_INT16_MIN, PG_INT16_MAX);
		case INT4OID:
			return is_integer(text, PG_INT32_MIN, PG_INT32_MAX);
		case INT8OID:
			return is_integer(text, PG_INT64_MIN, PG_INT64_MAX);
		case OIDOID:
			return is_integer(text, 0, PG_UINT32_MAX);
		case NUMERICOID:
			return is_number(text);
		case UUIDOID:
			return is_uuid(text);
		case BOOLOID:
			return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
		default:
			return !type_is_enum(type) || is_label(type, text);
	}
}
