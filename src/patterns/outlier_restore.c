/*
 * patterns/outlier_restore.c
 *		Outlier pattern: the overflow goes back into the documents.
 *
 * It is done before the overflow table is dropped, so that no element may be left
 * there: one that its document does not take is an error.  Everything is done as
 * the owner, from whom row security hides no document, and sees what there is
 * now, whatever the snapshot of the transaction.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "outlier.h"

/* The values of the first column of what SPI has returned, none of which is NULL. */
static Datum *
first_column(void)
{
	Datum	   *values = palloc_extended(Max(SPI_processed, 1) * sizeof(Datum), MCXT_ALLOC_HUGE);

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		is_null;

		values[i] = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &is_null);
	}
	return values;
}

/* The elements that a document has in the overflow, in their order. */
static void
read_overflow(const Outlier *outlier, Datum key, ValueList *elements)
{
	Oid			type = outlier->key_type;
	uint64		n = outlier_run_latest(psprintf("SELECT element FROM %s WHERE key %s $1 ORDER BY number",
												relation_quoted_name(outlier->overflow), outlier->equal),
									   1, &type, &key, true, SPI_OK_SELECT);
	Datum	   *found = first_column();

	for (uint64 i = 0; i < n; i++)
	{
		JsonbValue	element;

		CHECK_FOR_INTERRUPTS();
		value_from_jsonb(DatumGetJsonbP(found[i]), &element);
		values_append(elements, &element);
	}
}

/* Put the elements of one document back, and take its flag away. */
static void
restore_document(const Outlier *outlier, Datum key)
{
	char	   *documents = relation_quoted_name(outlier->relid);
	const char *column = quote_identifier(get_attname(outlier->relid, outlier->column, false));
	Oid			types[] = {outlier->key_type, JSONBOID};
	Datum		values[] = {key, (Datum) 0};
	ValueList	elements = {0};
	JsonbValue	root;
	JsonbSplice *splice;
	bool		is_null = true;

	/* a level of its own: what is read here is freed at its end */
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (outlier_run_latest(psprintf("SELECT %s FROM %s WHERE %s", column, documents, outlier_where(outlier)),
						   1, types, values, true, SPI_OK_SELECT) == 1)
		values[1] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
	if (!is_null)
	{
		value_from_jsonb(DatumGetJsonbP(values[1]), &root);
		if (outlier_flagged(outlier, &root))
			read_overflow(outlier, key, &elements);
	}
	if (elements.n == 0)
	{
		SPI_finish();
		return;
	}
	splice = outlier_append(outlier, &root, &elements);
	splice_drop(splice, outlier->flag, strlen(outlier->flag));
	values[1] = JsonbPGetDatum(splice_apply(splice));
	if (outlier_run_latest(psprintf("UPDATE %s SET %s = $2 WHERE %s", documents, column, outlier_where(outlier)),
						   2, types, values, true, SPI_OK_UPDATE) != 1)
		outlier_raise_not_updated(outlier, key);
	SPI_finish();
}

/* Take the flag from documents that have nothing in the overflow. */
static void
drop_flags(const Outlier *outlier)
{
	const char *column = quote_identifier(get_attname(outlier->relid, outlier->column, false));
	char	   *flag = quote_literal_cstr(outlier->flag);

	(void) outlier_run_latest(psprintf("UPDATE %s SET %s = %s OPERATOR(pg_catalog.-) %s::pg_catalog.text "
									   "WHERE %s OPERATOR(pg_catalog.->) %s::pg_catalog.text IS NOT NULL",
									   relation_quoted_name(outlier->relid), column, column, flag, column, flag),
							  0, NULL, NULL, true, SPI_OK_UPDATE);
}

/* Put what is in the overflow back into the documents, and take the flags away. */
void
outlier_restore(const Outlier *outlier)
{
	OwnerSwitch before;
	uint64		n;
	Datum	   *keys;

	LockRelationOid(outlier->overflow, AccessExclusiveLock);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	owner_enter(relation_owner(outlier->relid), &before);
	n = outlier_run_latest(psprintf("SELECT DISTINCT key FROM %s ORDER BY 1", relation_quoted_name(outlier->overflow)),
						   0, NULL, NULL, true, SPI_OK_SELECT);
	keys = first_column();
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		restore_document(outlier, keys[i]);
	}
	drop_flags(outlier);
	owner_leave(&before);
	SPI_finish();
}
