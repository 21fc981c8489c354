/*
 * patterns/extended_reference_move.c
 *		Extended reference pattern: documents that move to another partition.
 *
 * Such a row is updated in one partition and inserted into the other, by the same
 * statement, and the trigger of the insert is not told.  It must not copy anew, or
 * a snapshot would become that of the day of the move.  So the trigger of the
 * update keeps the document that the statement updated last, in the statement's
 * memory, and that of the insert looks whether this is it: from another partition,
 * with the same reference and the same copy.  What else other triggers wrote into
 * it does not matter.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "extended_reference.h"

/* The document that a statement updated last. */
typedef struct UpdatedDocument
{
	struct UpdatedDocument *next;
	MemoryContext statement;
	MemoryContext memory;		/* of the document alone */
	Oid			partition;
	struct varlena *document;	/* as it was stored; NULL for SQL NULL */
	MemoryContextCallback callback;
} UpdatedDocument;

static UpdatedDocument *updated_documents;

/*
 * The reference in a document as text, as #>> gives it; palloc'd.  NULL if it is
 * missing or null, or, in a document that was stored before, no scalar.
 */
char *
reference_key_text(const Reference *reference, const JsonbValue *doc)
{
	JsonbValue	key;

	if (!path_get(reference->key, doc, &key))
		return NULL;
	switch (key.type)
	{
		case jbvString:
			return pnstrdup(key.val.string.val, key.val.string.len);
		case jbvNumeric:
			return number_to_cstring(key.val.numeric);
		case jbvBool:
			return pstrdup(key.val.boolean ? "true" : "false");
		default:
			return NULL;
	}
}

/* Is what two documents have at a path the same, if need be missing in both? */
bool
reference_same_value(const DocPath *path, const JsonbValue *a, const JsonbValue *b)
{
	JsonbValue	x,
				y;
	bool		has_x = path_get(path, a, &x);
	bool		has_y = path_get(path, b, &y);

	return has_x == has_y && (!has_x || value_equal(&x, &y));
}

/* Called when the memory of a statement goes. */
static void
forget_updated(void *arg)
{
	UpdatedDocument **link = &updated_documents;

	while (*link != arg)
		link = &(*link)->next;
	*link = (*link)->next;
}

/* What the statement updated last; NULL if it updated nothing. */
static UpdatedDocument *
find_updated(MemoryContext statement)
{
	UpdatedDocument *updated = updated_documents;

	while (updated != NULL && updated->statement != statement)
		updated = updated->next;
	return updated;
}

/* Keep the document of a row that is about to be updated, and may move. */
void
reference_remember_updated(FunctionCallInfo fcinfo, const TriggerData *data, HeapTuple tuple, AttrNumber column)
{
	MemoryContext statement = fcinfo->flinfo->fn_mcxt;
	UpdatedDocument *updated;
	MemoryContext caller;
	Datum		datum;
	bool		is_null;

	if (!data->tg_relation->rd_rel->relispartition)
		return;
	updated = find_updated(statement);
	if (updated == NULL)
	{
		updated = MemoryContextAllocZero(statement, sizeof(UpdatedDocument));
		updated->statement = statement;
		updated->memory = AllocSetContextCreate(statement, "pattern updated document", ALLOCSET_SMALL_SIZES);
		updated->callback.func = forget_updated;
		updated->callback.arg = updated;
		MemoryContextRegisterResetCallback(statement, &updated->callback);
		updated->next = updated_documents;
		updated_documents = updated;
	}
	MemoryContextReset(updated->memory);
	updated->partition = RelationGetRelid(data->tg_relation);
	datum = heap_getattr(tuple, column, RelationGetDescr(data->tg_relation), &is_null);
	caller = MemoryContextSwitchTo(updated->memory);
	updated->document = is_null ? NULL : (struct varlena *) DatumGetPointer(datumCopy(datum, false, -1));
	MemoryContextSwitchTo(caller);
}

/* Does a document that is inserted come from another partition, with the copy that it had there? */
bool
reference_moved(FunctionCallInfo fcinfo, const TriggerData *data, const Reference *reference,
			const JsonbValue *doc, const char *key)
{
	const UpdatedDocument *updated;
	JsonbValue	before;
	const char *key_before;

	if (!data->tg_relation->rd_rel->relispartition)
		return false;
	updated = find_updated(fcinfo->flinfo->fn_mcxt);
	if (updated == NULL || updated->document == NULL || updated->partition == RelationGetRelid(data->tg_relation))
		return false;
	value_from_jsonb(DatumGetJsonbP(PointerGetDatum(updated->document)), &before);
	key_before = reference_key_text(reference, &before);
	if (key_before == NULL || strcmp(key_before, key) != 0)
		return false;
	for (int i = 0; i < reference->nfields; i++)
		if (!reference_same_value(reference->fields[i].target, &before, doc))
			return false;
	return true;
}
