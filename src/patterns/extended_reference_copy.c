/*
 * patterns/extended_reference_copy.c
 *		Extended reference pattern: the trigger on the referring table.
 *
 * A copy is made when a document is inserted and when its reference changes, and
 * is guarded otherwise: an UPDATE that changes a copied field alone raises 23514.
 * The engine, which follows the source and refreshes, writes documents by an
 * UPDATE that sets nothing and lets this trigger decide, with the row locked,
 * what is to change; returning NULL, it leaves a document alone that is right.  A
 * C variable says that an UPDATE is the engine's, at its own depth of triggers
 * only, so that what other triggers write meanwhile is guarded as ever.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "extended_reference.h"

PG_FUNCTION_INFO_V1(pattern_extended_reference_copy);

/* The trigger within one statement. */
typedef struct CopyState
{
	Reference  *reference;
	DocPath    *parent;			/* of what holds the copy; NULL: the document itself does */
	int		   *order;			/* the fields in the order of an object's keys */
	bool		inserts;		/* the statement inserts, too */
	SourceReader *reader;		/* NULL: no row was needed yet */
} CopyState;

/* What becomes of a field: NULL leaves it alone. */
typedef const JsonbValue *FieldEdit;

static const JsonbValue removed;

/* What the engine writes at the moment; NULL: it does not. */
static const ReferenceRewrite *rewrite;

/* Begin to write as the engine; to be ended by reference_rewrite_leave, on errors too. */
const ReferenceRewrite *
reference_rewrite_enter(const ReferenceRewrite *now)
{
	const ReferenceRewrite *before = rewrite;

	rewrite = now;
	return before;
}

void
reference_rewrite_leave(const ReferenceRewrite *before)
{
	rewrite = before;
}

/* The fields in the order in which an object has them, which saves the writer from sorting. */
static int *
fields_in_order(const Reference *reference)
{
	int		   *order = palloc(reference->nfields * sizeof(int));

	for (int i = 0; i < reference->nfields; i++)
	{
		const ReferenceField *field = &reference->fields[i];
		int			j = i;

		for (; j > 0 && key_compare(field->name, field->len, reference->fields[order[j - 1]].name,
									reference->fields[order[j - 1]].len) < 0; j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
	return order;
}

static CopyState *
copy_state(FunctionCallInfo fcinfo, const TriggerData *data)
{
	CopyState  *state = fcinfo->flinfo->fn_extra;
	MemoryContext caller;

	if (state != NULL)
		return state;
	caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	state = palloc0(sizeof(CopyState));
	state->reference = reference_read(data->tg_trigger, RelationGetRelid(data->tg_relation));
	if (state->reference->path->nsteps > 0)
	{
		Size		size = offsetof(DocPath, steps) + state->reference->path->nsteps * sizeof(PathStep);

		state->parent = palloc(size);
		memcpy(state->parent, state->reference->path, size);
		state->parent->nsteps--;
	}
	state->order = fields_in_order(state->reference);
	relation_check_trusted(state->reference->relation, state->reference->source);
	MemoryContextSwitchTo(caller);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

static const SourceRow *
look_up(CopyState *state, FunctionCallInfo fcinfo, const char *key)
{
	if (state->reader == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		state->reader = source_open(state->reference);
		MemoryContextSwitchTo(caller);
	}
	return source_look_up(state->reader, key, strlen(key));
}

/* Is the engine at work for this reference, in the UPDATE that fired the trigger? */
static bool
is_rewriting(const Reference *reference)
{
	return rewrite != NULL && strcmp(rewrite->reference->trigger, reference->trigger) == 0 &&
		rewrite->depth == DatumGetInt32(DirectFunctionCall1(pg_trigger_depth, (Datum) 0));
}

/* The same for a document that is to be stored: 22023 if it is an object or an array. */
static char *
key_text(const Reference *reference, const JsonbValue *doc)
{
	char	   *text = reference_key_text(reference, doc);
	JsonbValue	key;

	if (text == NULL && path_get(reference->key, doc, &key) && key.type == jbvBinary)
		field_mismatch(path_to_cstring(reference->key, reference->key->nsteps), "a string or a number", &key);
	return text;
}

/* Would nothing be left of the container that holds the copy? */
static bool
is_all_removed(const Reference *reference, const JsonbValue *container, const FieldEdit *edits)
{
	uint32		nleft = value_count(container);

	for (int i = 0; i < reference->nfields; i++)
	{
		uint32		at;

		if (edits[i] != NULL && edits[i] != &removed)
			return false;
		if (edits[i] == &removed &&
			container_find(container->val.binary.data, reference->fields[i].name, reference->fields[i].len, &at))
			nleft--;
	}
	return nleft == 0;
}

/* Edits in the container that holds the copy. */
static void
edit_container(const CopyState *state, const JsonbValue *doc, JsonbSplice *root, const JsonbValue *container,
			   const FieldEdit *edits)
{
	const Reference *reference = state->reference;
	JsonbSplice *splice;

	if (state->parent != NULL && is_all_removed(reference, container, edits))
	{
		JsonbValue	parent;
		const PathStep *last = &reference->path->steps[reference->path->nsteps - 1];

		/* nothing but the copy was in it */
		if (path_get(state->parent, doc, &parent) && value_is_object(&parent))
		{
			splice_drop(path_within(root, state->parent), last->name, last->len);
			return;
		}
	}
	splice = path_within(root, reference->path);
	for (int i = 0; i < reference->nfields; i++)
	{
		const ReferenceField *field = &reference->fields[state->order[i]];
		FieldEdit	edit = edits[state->order[i]];

		if (edit == &removed)
			splice_drop(splice, field->name, field->len);
		else if (edit != NULL)
			splice_put(splice, field->name, field->len, edit);
	}
}

/* Edits where there is no container yet. */
static void
make_container(const CopyState *state, JsonbSplice *root, const FieldEdit *edits)
{
	const Reference *reference = state->reference;
	PairList	pairs = {0};
	JsonbValue	object;

	for (int i = 0; i < reference->nfields; i++)
		if (edits[i] != NULL && edits[i] != &removed)
			pairs_append(&pairs, reference->fields[i].name, reference->fields[i].len, edits[i]);
	if (pairs.n == 0)
		return;
	pairs_finish(&pairs, &object);
	path_put(root, reference->path, &object);
}

/* The document with its fields edited; palloc'd.  22023 if something else is where the copy is to be. */
static Jsonb *
edit_fields(const CopyState *state, const JsonbValue *doc, const FieldEdit *edits)
{
	JsonbSplice *root = splice_begin(doc);
	JsonbValue	container;

	if (!path_get(state->reference->path, doc, &container) || container.type == jbvNull)
		make_container(state, root, edits);
	else if (value_is_object(&container))
		edit_container(state, doc, root, &container, edits);
	else
		field_mismatch(path_to_cstring(state->reference->path, state->reference->path->nsteps), "an object", &container);
	return splice_apply(root);
}

pg_noreturn static void
source_missing(const Reference *reference, const char *key, Relation relation)
{
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("document in relation \"%s\" refers to a row that is not in relation \"%s\"",
					get_rel_name(reference->relation), get_rel_name(reference->source)),
			 errdetail("The value at \"%s\" is %s, which \"%s\" of no row is.",
					   path_to_cstring(reference->key, reference->key->nsteps), text_for_message(key, strlen(key)),
					   get_attname(reference->source, reference->source_key, false)),
			 errtable(relation)));
}

pg_noreturn static void
copy_edited(const Reference *reference, const ReferenceField *field, const JsonbValue *before, const JsonbValue *after,
			Relation relation)
{
	JsonbValue	x,
				y;
	char	   *was = path_get(field->target, before, &x) ? value_to_cstring(&x) : "missing";
	char	   *is = path_get(field->target, after, &y) ? value_to_cstring(&y) : "missing";

	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("field \"%s\" is a copy from relation \"%s\" and cannot be edited",
					path_to_cstring(field->target, field->target->nsteps), get_rel_name(reference->source)),
			 errdetail("It was %s and would be %s.", was, is),
			 field->live ? errhint("Change the field in \"%s\", or the reference at \"%s\".", get_rel_name(reference->source),
								   path_to_cstring(reference->key, reference->key->nsteps)) :
			 errhint("Change the reference at \"%s\", or call refresh_extended_reference.",
					 path_to_cstring(reference->key, reference->key->nsteps)),
			 errtable(relation)));
}

/* The document with a copy of all fields of a source row. */
static Jsonb *
copy_row(const CopyState *state, const JsonbValue *doc, const SourceRow *row, FieldEdit *edits)
{
	const Reference *reference = state->reference;
	bool		is_within = reference->path->nsteps > 0;
	JsonbValue	container,
				root,
				after;
	JsonbValue *before = NULL;
	Jsonb	   *result;

	if (path_get(reference->path, doc, &container) && container.type != jbvNull)
		before = &container;
	if (is_within && (before == NULL || value_is_object(before)) && source_known_copy(row, before, &after))
	{
		JsonbSplice *splice = splice_begin(doc);

		path_put(splice, reference->path, &after);
		return splice_apply(splice);
	}
	for (int i = 0; i < reference->nfields; i++)
		edits[i] = &row->values[i];
	result = edit_fields(state, doc, edits);
	value_from_jsonb(result, &root);
	if (is_within && path_get(reference->path, &root, &after))
		source_remember_copy(state->reader, row, before, &after);
	return result;
}

/* The copy of a new reference, or none; NULL if there is nothing to do. */
static Jsonb *
copy_anew(CopyState *state, FunctionCallInfo fcinfo, const TriggerData *data, const JsonbValue *doc,
		  const char *key, FieldEdit *edits)
{
	const SourceRow *row;

	if (key == NULL)
	{
		JsonbValue	container;

		if (!path_get(state->reference->path, doc, &container) || !value_is_object(&container))
			return NULL;
		for (int i = 0; i < state->reference->nfields; i++)
			edits[i] = &removed;
		return edit_fields(state, doc, edits);
	}
	row = look_up(state, fcinfo, key);
	if (!row->found)
		source_missing(state->reference, key, data->tg_relation);
	return copy_row(state, doc, row, edits);
}

/*
 * The reference stays: the copy must stay too.  What an INSERT ... ON CONFLICT DO
 * UPDATE takes from its own row was copied a moment ago; a snapshot then keeps
 * what it was.  NULL if there is nothing to do.
 */
static Jsonb *
guard_copy(CopyState *state, FunctionCallInfo fcinfo, const TriggerData *data,
		   const JsonbValue *before, const JsonbValue *after, const char *key, FieldEdit *edits)
{
	const Reference *reference = state->reference;
	JsonbValue *was = palloc(reference->nfields * sizeof(JsonbValue));
	bool		is_edited = false;

	for (int i = 0; i < reference->nfields; i++)
	{
		const ReferenceField *field = &reference->fields[i];
		const SourceRow *row;
		JsonbValue	value;

		if (reference_same_value(field->target, before, after))
			continue;
		row = state->inserts ? look_up(state, fcinfo, key) : NULL;
		if (row == NULL || !row->found || !path_get(field->target, after, &value) || !value_equal(&value, &row->values[i]))
			copy_edited(reference, field, before, after, data->tg_relation);
		if (field->live || !path_get(field->target, before, &was[i]))
			continue;
		edits[i] = &was[i];
		is_edited = true;
	}
	return is_edited ? edit_fields(state, after, edits) : NULL;
}

/* What the engine makes of a document; NULL if it is right. */
static Jsonb *
rewrite_copy(CopyState *state, FunctionCallInfo fcinfo, const JsonbValue *doc, const char *key, FieldEdit *edits)
{
	const Reference *reference = state->reference;
	const SourceRow *row = look_up(state, fcinfo, key);
	bool		is_edited = false;

	if (!row->found && reference->on_delete != ON_DELETE_REMOVE)
		return NULL;
	for (int i = 0; i < reference->nfields; i++)
	{
		const ReferenceField *field = &reference->fields[i];
		JsonbValue	value;
		bool		has = path_get(field->target, doc, &value);

		if (!row->found && has)
			edits[i] = &removed;
		else if (row->found && has ? (field->live || rewrite->all) && !value_equal(&value, &row->values[i]) :
				 row->found && (field->live || rewrite->fill))
			edits[i] = &row->values[i];
		is_edited |= edits[i] != NULL;
	}
	return is_edited ? edit_fields(state, doc, edits) : NULL;
}

static HeapTuple
with_document(const TriggerData *data, HeapTuple tuple, int column, Jsonb *doc)
{
	Datum		datum = JsonbPGetDatum(doc);
	bool		is_null = false;

	return heap_modify_tuple_by_cols(tuple, RelationGetDescr(data->tg_relation), 1, &column, &datum, &is_null);
}

/* The document of a row; NULL for SQL NULL. */
static Jsonb *
row_document(const TriggerData *data, HeapTuple tuple, AttrNumber column)
{
	bool		is_null;
	Datum		datum = heap_getattr(tuple, column, RelationGetDescr(data->tg_relation), &is_null);

	return is_null ? NULL : DatumGetJsonbP(datum);
}

static HeapTuple
copy_on_insert(CopyState *state, FunctionCallInfo fcinfo, const TriggerData *data, FieldEdit *edits)
{
	AttrNumber	column = state->reference->column;
	Jsonb	   *jb = row_document(data, data->tg_trigtuple, column);
	JsonbValue	doc;
	char	   *key;

	state->inserts = true;
	if (jb == NULL)
		return data->tg_trigtuple;
	value_from_jsonb(jb, &doc);
	key = key_text(state->reference, &doc);
	if (key == NULL || reference_moved(fcinfo, data, state->reference, &doc, key))
		return data->tg_trigtuple;
	return with_document(data, data->tg_trigtuple, column, copy_anew(state, fcinfo, data, &doc, key, edits));
}

/* Are the bytes of the document what they were?  If not, its value may still be. */
static bool
is_same_document(const TriggerData *data, AttrNumber column)
{
	TupleDesc	desc = RelationGetDescr(data->tg_relation);
	bool		was_null,
				is_null;
	Datum		before = heap_getattr(data->tg_trigtuple, column, desc, &was_null);
	Datum		after = heap_getattr(data->tg_newtuple, column, desc, &is_null);

	if (was_null || is_null)
		return was_null && is_null;
	return datumIsEqual(before, after, false, -1);
}

/* The engine's UPDATE of a document, which it leaves alone by NULL. */
static HeapTuple
copy_on_rewrite(CopyState *state, FunctionCallInfo fcinfo, const TriggerData *data, FieldEdit *edits)
{
	AttrNumber	column = state->reference->column;
	Jsonb	   *jb = row_document(data, data->tg_newtuple, column);
	Jsonb	   *result = NULL;
	JsonbValue	doc;
	const char *key;

	if (jb == NULL)
		return NULL;
	value_from_jsonb(jb, &doc);
	key = reference_key_text(state->reference, &doc);
	if (key != NULL)
		result = rewrite_copy(state, fcinfo, &doc, key, edits);
	return result == NULL ? NULL : with_document(data, data->tg_newtuple, column, result);
}

static HeapTuple
copy_on_update(CopyState *state, FunctionCallInfo fcinfo, const TriggerData *data, FieldEdit *edits)
{
	const Reference *reference = state->reference;
	Jsonb	   *old;
	Jsonb	   *new;
	JsonbValue	before,
				after;
	char	   *old_key = NULL;
	char	   *new_key;
	Jsonb	   *result = NULL;

	if (is_same_document(data, reference->column))
		return data->tg_newtuple;
	old = row_document(data, data->tg_trigtuple, reference->column);
	new = row_document(data, data->tg_newtuple, reference->column);
	if (new == NULL)
		return data->tg_newtuple;
	value_from_jsonb(new, &after);
	if (old != NULL)
	{
		value_from_jsonb(old, &before);
		old_key = reference_key_text(reference, &before);
	}
	/* what is no reference may stay one */
	new_key = old != NULL && reference_same_value(reference->key, &before, &after) ?
		reference_key_text(reference, &after) : key_text(reference, &after);
	if (old_key != NULL && new_key != NULL && strcmp(old_key, new_key) == 0)
		result = guard_copy(state, fcinfo, data, &before, &after, new_key, edits);
	else if (old_key != NULL || new_key != NULL)
		result = copy_anew(state, fcinfo, data, &after, new_key, edits);
	return result == NULL ? data->tg_newtuple : with_document(data, data->tg_newtuple, reference->column, result);
}

/* extended_reference_copy(path, key, on_delete, {mode,name,path…}…) → trigger; see extended_reference.c */
Datum
pattern_extended_reference_copy(PG_FUNCTION_ARGS)
{
	TriggerData *data = trigger_data(fcinfo);
	CopyState  *state;
	FieldEdit  *edits;
	HeapTuple	tuple;

	if (!TRIGGER_FIRED_BEFORE(data->tg_event) || !TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		TRIGGER_FIRED_BY_DELETE(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("trigger \"%s\" must be fired before INSERT or UPDATE, for each row", data->tg_trigger->tgname)));
	state = copy_state(fcinfo, data);
	edits = palloc0(state->reference->nfields * sizeof(FieldEdit));
	if (TRIGGER_FIRED_BY_INSERT(data->tg_event))
		return PointerGetDatum(copy_on_insert(state, fcinfo, data, edits));
	if (is_rewriting(state->reference))
		return PointerGetDatum(copy_on_rewrite(state, fcinfo, data, edits));
	tuple = copy_on_update(state, fcinfo, data, edits);
	reference_remember_updated(fcinfo, data, tuple, state->reference->column);
	return PointerGetDatum(tuple);
}
