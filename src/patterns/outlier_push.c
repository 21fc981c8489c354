/*
 * patterns/outlier_push.c
 *		Outlier pattern: outlier_push and outlier_elements.
 *
 * A push costs the same at any length: it locks the row, looks at the head's
 * length and the flag, and writes either the document or one row of the overflow.
 * The row is locked before the overflow's sequence gives a number, so that the
 * elements stand in the order in which the pushes got the lock.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "outlier.h"

PG_FUNCTION_INFO_V1(pattern_outlier_push);
PG_FUNCTION_INFO_V1(pattern_outlier_elements);

/* How many rows of the overflow are fetched at a time. */
#define FETCH_SIZE 1000

/* Which outlier of a relation is meant; NULL: any. */
typedef struct Wanted
{
	const char *column;
	ArrayType  *path;
} Wanted;

static bool
is_wanted(const Wanted *wanted, const Outlier *outlier)
{
	if (wanted->column != NULL && strcmp(wanted->column, get_attname(outlier->relid, outlier->column, false)) != 0)
		return false;
	return wanted->path == NULL ||
		(VARSIZE(wanted->path) == VARSIZE(outlier->path_array) &&
		 memcmp(wanted->path, outlier->path_array, VARSIZE(wanted->path)) == 0);
}

/* The one outlier of the relation that is wanted, which stays locked; 42704 if there is none, 42725 if there are several. */
static void
find_wanted(Oid relid, LOCKMODE lockmode, const Wanted *wanted, Outlier *result)
{
	Relation	relation = try_relation_open(relid, lockmode);
	int			nfound = 0;

	if (relation == NULL)
		relation_missing(relid);
	for (int i = 0; relation->trigdesc != NULL && i < relation->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &relation->trigdesc->triggers[i];
		Outlier		outlier;

		if (TRIGGER_FOR_INSERT(trigger->tgtype) && outlier_find(relation, trigger, &outlier) &&
			is_wanted(wanted, &outlier))
		{
			*result = outlier;
			nfound++;
		}
	}
	relation_close(relation, NoLock);
	if (nfound == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relation \"%s\" has no such outlier", get_rel_name(relid)),
				 errhint("create_outlier makes one.")));
	if (nfound > 1)
		ereport(ERROR,
				(errcode(ERRCODE_AMBIGUOUS_PARAMETER),
				 errmsg("relation \"%s\" has several outliers", get_rel_name(relid)),
				 errhint("Say which by column_name and path.")));
}

/* A key, which may be of any type, as one of the primary key's. */
static Datum
convert_key(FunctionCallInfo fcinfo, int position, const Outlier *outlier)
{
	Oid			given = get_fn_expr_argtype(fcinfo->flinfo, position);
	Oid			output,
				input,
				parameter;
	bool		is_varlena;
	char	   *text;

	if (given == outlier->key_type)
		return PG_GETARG_DATUM(position);
	if (given == UNKNOWNOID)
		text = DatumGetCString(PG_GETARG_DATUM(position));
	else
	{
		getTypeOutputInfo(given, &output, &is_varlena);
		text = OidOutputFunctionCall(output, PG_GETARG_DATUM(position));
	}
	getTypeInputInfo(outlier->key_type, &input, &parameter);
	return OidInputFunctionCall(input, text, parameter, -1);
}

/* The relation, the key, and which outlier: arguments 0, 1, and two at the end. */
static Datum
read_arguments(FunctionCallInfo fcinfo, LOCKMODE lockmode, int column_position, Outlier *outlier)
{
	Wanted		wanted = {0};

	argument_check_given(fcinfo, 0, "relation");
	argument_check_given(fcinfo, 1, "key");
	if (!PG_ARGISNULL(column_position))
		wanted.column = argument_name(fcinfo, column_position, "column_name");
	if (!PG_ARGISNULL(column_position + 1))
		wanted.path = PG_GETARG_ARRAYTYPE_P(column_position + 1);
	find_wanted(PG_GETARG_OID(0), lockmode, &wanted, outlier);
	return convert_key(fcinfo, 1, outlier);
}

/* The column that holds the documents, for SQL. */
static const char *
document_column(const Outlier *outlier)
{
	return quote_identifier(get_attname(outlier->relid, outlier->column, false));
}

/* The document of a key, which is locked; 23503 if there is no row, 22004 if it has no document. */
static Jsonb *
lock_document(const Outlier *outlier, Datum key)
{
	bool		is_null;
	Datum		doc;

	if (outlier_run(psprintf("SELECT %s FROM %s WHERE %s FOR NO KEY UPDATE", document_column(outlier),
							 relation_quoted_name(outlier->relid), outlier_where(outlier)),
					outlier, key, InvalidOid, (Datum) 0, false, SPI_OK_SELECT) == 0)
	{
		Oid			output;
		bool		is_varlena;

		getTypeOutputInfo(outlier->key_type, &output, &is_varlena);
		ereport(ERROR,
				(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
				 errmsg("relation \"%s\" has no document with the key \"%s\"", get_rel_name(outlier->relid),
						OidOutputFunctionCall(output, key)),
				 errhint("Insert the document first.")));
	}
	doc = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
	if (is_null)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the document of relation \"%s\" is null", get_rel_name(outlier->relid))));
	return DatumGetJsonbP(doc);
}

/* Write the document with what a splice edits, with the rights of the user. */
static void
write_document(const Outlier *outlier, Datum key, JsonbSplice *splice)
{
	if (outlier_run(psprintf("UPDATE %s SET %s = $2 WHERE %s", relation_quoted_name(outlier->relid),
							 document_column(outlier), outlier_where(outlier)),
					outlier, key, JSONBOID, JsonbPGetDatum(splice_apply(splice)), false, SPI_OK_UPDATE) != 1)
		outlier_raise_not_updated(outlier, key);
}

/* Put an element into the overflow, as the owner, and the flag into the document if it is not there. */
static void
push_overflow(const Outlier *outlier, Datum key, const JsonbValue *root, const ValueList *elements)
{
	bool		first = !outlier_flagged(outlier, root);
	OwnerSwitch before;

	if (first)
	{
		JsonbSplice *splice = splice_begin(root);
		JsonbValue	flag;

		value_from_bool(true, &flag);
		splice_put(splice, outlier->flag, strlen(outlier->flag), &flag);
		write_document(outlier, key, splice);
	}
	owner_enter(relation_owner(outlier->relid), &before);
	if (first)
		outlier_clear(outlier, key);
	outlier_spill(outlier, key, elements);
	owner_leave(&before);
}

/* Put an element behind the last; does it stand in the document? */
static bool
push(const Outlier *outlier, Datum key, const JsonbValue *element)
{
	Jsonb	   *doc = lock_document(outlier, key);
	ValueList	elements = {0};
	JsonbValue	root,
				array;
	JsonbSplice *splice;

	value_from_jsonb(doc, &root);
	values_append(&elements, element);
	splice = outlier_append(outlier, &root, &elements);
	if (outlier_flagged(outlier, &root) ||
		(path_get(outlier->path, &root, &array) ? value_count(&array) : 0) >= outlier->max_size)
	{
		push_overflow(outlier, key, &root, &elements);
		return false;
	}
	write_document(outlier, key, splice);
	return true;
}

/*
 * outlier_push(relation regclass, key "any", element jsonb, column_name name, path text[]) → boolean
 */
Datum
pattern_outlier_push(PG_FUNCTION_ARGS)
{
	Outlier		outlier;
	JsonbValue	element;
	Datum		key;
	bool		kept;

	argument_check_given(fcinfo, 2, "element");
	key = read_arguments(fcinfo, RowExclusiveLock, 3, &outlier);
	value_from_jsonb(PG_GETARG_JSONB_P(2), &element);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	kept = push(&outlier, key, &element);
	SPI_finish();
	PG_RETURN_BOOL(kept);
}

static void
put_element(ReturnSetInfo *rsinfo, Datum element)
{
	bool		is_null = false;

	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, &element, &is_null);
}

/* The elements in the document of a key, with the rights of the user; are there more in the overflow? */
static bool
put_head(const Outlier *outlier, Datum key, ReturnSetInfo *rsinfo)
{
	bool		is_null;
	Datum		doc;
	JsonbValue	value,
				array,
				element;
	JsonbWalk	walk;

	if (outlier_run(psprintf("SELECT %s FROM %s WHERE %s", document_column(outlier),
							 relation_quoted_name(outlier->relid), outlier_where(outlier)),
					outlier, key, InvalidOid, (Datum) 0, true, SPI_OK_SELECT) == 0)
		return false;
	doc = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
	if (is_null)
		return false;
	value_from_jsonb(DatumGetJsonbP(doc), &value);
	if (path_get(outlier->path, &value, &array) && value_is_array(&array))
	{
		walk_begin(&walk, array.val.binary.data);
		while (walk_next(&walk, NULL, &element))
		{
			CHECK_FOR_INTERRUPTS();
			put_element(rsinfo, JsonbPGetDatum(value_to_jsonb(&element)));
		}
	}
	return outlier_flagged(outlier, &value);
}

/* The elements in the overflow, in their order, as the owner. */
static void
put_overflow(const Outlier *outlier, Datum key, ReturnSetInfo *rsinfo)
{
	char	   *sql = psprintf("SELECT element FROM %s WHERE key %s $1 ORDER BY number",
							   relation_quoted_name(outlier->overflow), outlier->equal);
	Oid			type = outlier->key_type;
	OwnerSwitch before;
	Portal		portal;

	owner_enter(relation_owner(outlier->relid), &before);
	portal = SPI_cursor_open(NULL, spi_saved_plan(sql, 1, &type), &key, NULL, true);
	do
	{
		SPI_cursor_fetch(portal, true, FETCH_SIZE);
		for (uint64 i = 0; i < SPI_processed; i++)
		{
			bool		is_null;

			CHECK_FOR_INTERRUPTS();
			put_element(rsinfo, SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null));
		}
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed == FETCH_SIZE);
	SPI_cursor_close(portal);
	owner_leave(&before);
}

/*
 * outlier_elements(relation regclass, key "any", column_name name, path text[]) → SETOF jsonb
 */
Datum
pattern_outlier_elements(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Outlier		outlier;
	Datum		key = read_arguments(fcinfo, AccessShareLock, 2, &outlier);

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (put_head(&outlier, key, rsinfo))
		put_overflow(&outlier, key, rsinfo);
	SPI_finish();
	return (Datum) 0;
}
