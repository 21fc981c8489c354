/*
 * patterns/outlier.c
 *		Outlier pattern: the trigger that keeps a document and its overflow whole.
 *
 * The trigger runs after the row was written: what a BEFORE trigger writes
 * elsewhere stays when the row itself is rejected.  It goes by the document as it
 * now is, not by the one that it was called for, since other triggers may have
 * written the row meanwhile and called it for that already.
 *
 *		flag set		the array is the head; what is beyond max_size goes to the end
 *						of the overflow
 *		flag not set	the array is all there is: what the overflow has is deleted, and
 *						what is beyond max_size takes its place
 *
 * A document within the limit pays for the WHEN clause and nothing else.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "outlier.h"

PG_FUNCTION_INFO_V1(pattern_outlier_exceeds);
PG_FUNCTION_INFO_V1(pattern_outlier_overflow);

/*
 * The one column of the table's primary key, its type, and the operator that
 * says whether two keys are equal.  55000 if there is none.
 */
void
outlier_key(Relation relation, Outlier *outlier)
{
	Oid			index_oid = primary_key_index(relation);
	Relation	index = OidIsValid(index_oid) ? index_open(index_oid, AccessShareLock) : NULL;
	Oid			operator;

	if (index == NULL || index->rd_index->indnkeyatts != 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" has no primary key of one column", RelationGetRelationName(relation)),
				 errhint("The rows of the overflow table refer to their document by it.")));
	outlier->key = index->rd_index->indkey.values[0];
	outlier->key_type = TupleDescAttr(RelationGetDescr(relation), outlier->key - 1)->atttypid;
	operator = get_opfamily_member(index->rd_opfamily[0], index->rd_opcintype[0], index->rd_opcintype[0],
								   BTEqualStrategyNumber);
	outlier->equal = operator_quoted_name(operator);
	index_close(index, AccessShareLock);
}

/* A path that may name the array: 22023 unless it has steps. */
DocPath *
outlier_path(ArrayType *array)
{
	Datum	   *steps;
	bool	   *nulls;
	int			n;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &steps, &nulls, &n);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"path\" must have at least one step"),
				 errdetail("The flag stands in the document beside the array.")));
	return path_from_texts(steps, nulls, n);
}

/* Find the call of outlier_exceeds; an expression_tree_walker. */
static bool
find_call(Node *node, void *context)
{
	FuncExpr  **call = context;

	if (node == NULL)
		return false;
	if (!IsA(node, FuncExpr) || !function_is(((FuncExpr *) node)->funcid, "pattern_outlier_exceeds"))
		return expression_tree_walker(node, find_call, context);
	*call = (FuncExpr *) node;
	return true;
}

/* A constant argument of the call. */
static Datum
constant_argument(const Trigger *trigger, const FuncExpr *call, int position)
{
	const Const *argument = (const Const *) list_nth(call->args, position);

	if (!IsA(argument, Const) || argument->constisnull)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("trigger \"%s\" calls outlier_exceeds() with an argument that is no constant", trigger->tgname),
				 errhint("Triggers of this kind are made by create_outlier.")));
	return argument->constvalue;
}

/*
 * What a trigger says, which its WHEN clause has: the columns' names there follow
 * those of the table.  False if it is no trigger of an outlier.
 */
bool
outlier_find(Relation relation, const Trigger *trigger, Outlier *result)
{
	FuncExpr   *call = NULL;
	const Var  *after;

	if (trigger->tgqual != NULL)
		(void) find_call(stringToNode(trigger->tgqual), &call);
	if (call == NULL)
		return false;
	after = lsecond(call->args);
	if (IsA(after, RelabelType))	/* of a domain */
		after = (const Var *) ((const RelabelType *) after)->arg;
	if (!IsA(after, Var))
		return false;
	result->relid = RelationGetRelid(relation);
	result->column = after->varattno;
	result->path_array = DatumGetArrayTypePCopy(constant_argument(trigger, call, 2));
	result->path = outlier_path(result->path_array);
	result->max_size = DatumGetInt32(constant_argument(trigger, call, 3));
	result->flag = TextDatumGetCString(constant_argument(trigger, call, 4));
	result->overflow = DatumGetObjectId(constant_argument(trigger, call, 5));
	outlier_key(relation, result);
	relation_check_trusted(result->relid, result->overflow);
	return true;
}

/* Does the document say that there is more in the overflow table? */
bool
outlier_flagged(const Outlier *outlier, const JsonbValue *doc)
{
	JsonbValue	flag;

	return value_is_object(doc) && value_get_cstring(doc, outlier->flag, &flag) && value_is_true(&flag);
}

/* The path of outlier_exceeds; an OperandCompile, which takes any varlena. */
static void *
compile_path(Jsonb **operands)
{
	return outlier_path((ArrayType *) operands[0]);
}

/* A document's flag. */
static bool
has_flag(Jsonb *doc, const text *flag)
{
	JsonbValue	root,
				value;

	value_from_jsonb(doc, &root);
	return value_is_object(&root) && value_get(&root, VARDATA_ANY(flag), VARSIZE_ANY_EXHDR(flag), &value) &&
		value_is_true(&value);
}

/*
 * outlier_exceeds(before jsonb, after jsonb, path text[], max_size integer, flag text, overflow regclass) → boolean:
 * has a row that is written become one with too many elements, or lost its flag?
 */
Datum
pattern_outlier_exceeds(PG_FUNCTION_ARGS)
{
	static const int path_argument[] = {2};
	const DocPath *path;
	Jsonb	   *after;
	JsonbValue	root,
				array;

	for (int i = 2; i < 5; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_BOOL(false);
	path = operand_compiled(fcinfo, path_argument, 1, compile_path);
	after = PG_ARGISNULL(1) ? NULL : PG_GETARG_JSONB_P(1);
	if (after != NULL)
	{
		value_from_jsonb(after, &root);
		if (path_get(path, &root, &array) && value_is_array(&array) && value_count(&array) > PG_GETARG_INT32(3))
			PG_RETURN_BOOL(true);
	}
	PG_RETURN_BOOL(!PG_ARGISNULL(0) && has_flag(PG_GETARG_JSONB_P(0), PG_GETARG_TEXT_PP(4)) &&
				   (after == NULL || !has_flag(after, PG_GETARG_TEXT_PP(4))));
}

/*
 * Run a statement on a key, $1, and a value, $2, unless its type is InvalidOid;
 * returns the number of rows.  Connected to SPI.
 */
uint64
outlier_run(const char *sql, const Outlier *outlier, Datum key, Oid type, Datum value, bool read_only,
			int expected)
{
	Oid			types[] = {outlier->key_type, type};
	Datum		values[] = {key, value};
	SPIPlanPtr	plan = spi_saved_plan(sql, OidIsValid(type) ? 2 : 1, types);
	int			result = SPI_execute_plan(plan, values, NULL, read_only, 0);

	if (result != expected)
		elog(ERROR, "SPI_execute_plan returned %s", SPI_result_code_string(result));
	return SPI_processed;
}

/* 55000: a trigger or a rule kept a document from being written, and elements would be lost or be there twice. */
void
outlier_raise_not_updated(const Outlier *outlier, Datum key)
{
	Oid			output;
	bool		is_varlena;

	getTypeOutputInfo(outlier->key_type, &output, &is_varlena);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("could not write the document of relation \"%s\" with the key \"%s\"",
					get_rel_name(outlier->relid), OidOutputFunctionCall(output, key)),
			 errdetail("Its row cannot be updated."),
			 errhint("Disable the trigger or the rule that prevents it.")));
}

/* The condition that finds the document with the key $1. */
char *
outlier_where(const Outlier *outlier)
{
	return psprintf("%s %s $1", quote_identifier(get_attname(outlier->relid, outlier->key, false)), outlier->equal);
}

/* Put elements at the end of a document's overflow, in their order.  Connected to SPI, as the owner. */
void
outlier_spill(const Outlier *outlier, Datum key, const ValueList *elements)
{
	JsonbValue	array;

	values_finish(elements, &array);
	(void) outlier_run(psprintf("INSERT INTO %s (key, element) SELECT $1, e.value "
								"FROM pg_catalog.jsonb_array_elements($2) WITH ORDINALITY AS e(value, place) ORDER BY e.place",
								relation_quoted_name(outlier->overflow)),
					   outlier, key, JSONBOID, JsonbPGetDatum(value_to_jsonb(&array)), false, SPI_OK_INSERT);
}

/*
 * Run a statement on what there is now, although the transaction's snapshot may
 * be older; returns the number of rows.  A row that it may not see and that the
 * statement writes is 40001, as of foreign keys' actions.  Connected to SPI.
 */
uint64
outlier_run_latest(const char *sql, int nargs, Oid *types, Datum *values, bool fire_triggers, int expected)
{
	SPIPlanPtr	plan = spi_saved_plan(sql, nargs, types);
	Snapshot	latest = InvalidSnapshot;
	Snapshot	crosscheck = InvalidSnapshot;
	int			result;

	if (IsolationUsesXactSnapshot())
	{
		CommandCounterIncrement();
		latest = GetLatestSnapshot();
		crosscheck = GetTransactionSnapshot();
	}
	result = SPI_execute_snapshot(plan, values, NULL, latest, crosscheck, false, fire_triggers, 0);
	if (result != expected)
		elog(ERROR, "SPI_execute_snapshot returned %s", SPI_result_code_string(result));
	return SPI_processed;
}

/*
 * Delete a document's overflow, all that there is: a push leaves the document's
 * row as it is, so that a transaction with an older snapshot may write the row
 * and yet not see what was pushed.  Connected to SPI, as the owner.
 */
void
outlier_clear(const Outlier *outlier, Datum key)
{
	Oid			type = outlier->key_type;

	(void) outlier_run_latest(psprintf("DELETE FROM %s WHERE key %s $1", relation_quoted_name(outlier->overflow), outlier->equal),
							  1, &type, &key, false, SPI_OK_DELETE);
}

/* The document with elements behind the last of its array, still to be applied; an error if there cannot be an array. */
JsonbSplice *
outlier_append(const Outlier *outlier, const JsonbValue *root, const ValueList *elements)
{
	JsonbSplice *splice = splice_begin(root);
	JsonbValue	array;
	bool		found = path_get(outlier->path, root, &array);

	if (!value_is_object(root) || (found && !value_is_array(&array)))
		field_mismatch(path_to_cstring(outlier->path, outlier->path->nsteps), "an array", found ? &array : root);
	if (found)
		splice_insert(path_within(splice, outlier->path), value_count(&array), elements->values, elements->n);
	else
	{
		values_finish(elements, &array);
		path_put(splice, outlier->path, &array);
	}
	return splice;
}

/* The document of a row as it now is; NULL if the row or the document is gone. */
static Jsonb *
current_document(const Outlier *outlier, Datum key)
{
	bool		is_null;
	Datum		doc;

	if (outlier_run(psprintf("SELECT %s FROM ONLY %s WHERE %s",
							 quote_identifier(get_attname(outlier->relid, outlier->column, false)),
							 relation_quoted_name(outlier->relid), outlier_where(outlier)),
					outlier, key, InvalidOid, (Datum) 0, false, SPI_OK_SELECT) == 0)
		return NULL;
	doc = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
	return is_null ? NULL : DatumGetJsonbP(doc);
}

/* The document with the head of its array alone, and the flag; the rest to *elements. */
static Jsonb *
cut_document(const Outlier *outlier, const JsonbValue *root, const JsonbValue *array, ValueList *elements)
{
	JsonbSplice *splice = splice_begin(root);
	JsonbValue	flag;

	for (uint32 i = outlier->max_size; i < value_count(array); i++)
	{
		JsonbValue	element;

		container_value(array->val.binary.data, i, &element);
		values_append(elements, &element);
	}
	splice_remove(path_within(splice, outlier->path), outlier->max_size, elements->n);
	value_from_bool(true, &flag);
	splice_put(splice, outlier->flag, strlen(outlier->flag), &flag);
	return splice_apply(splice);
}

/*
 * Bring the overflow and the document of a row together.  Connected to SPI, as the
 * owner.  key_before is what the key was; the foreign key may not have followed it yet.
 */
static void
keep_whole(const Outlier *outlier, Datum key, Datum key_before)
{
	Jsonb	   *doc = current_document(outlier, key);
	ValueList	elements = {0};
	JsonbValue	root,
				array;
	Jsonb	   *cut;

	if (doc == NULL)
	{
		outlier_clear(outlier, key);
		return;
	}
	value_from_jsonb(doc, &root);
	if (!outlier_flagged(outlier, &root))
	{
		outlier_clear(outlier, key);
		outlier_clear(outlier, key_before);
	}
	if (!path_get(outlier->path, &root, &array) || !value_is_array(&array) ||
		value_count(&array) <= outlier->max_size)
		return;
	cut = cut_document(outlier, &root, &array, &elements);
	outlier_spill(outlier, key, &elements);
	if (outlier_run(psprintf("UPDATE ONLY %s SET %s = $2 WHERE %s", relation_quoted_name(outlier->relid),
							 quote_identifier(get_attname(outlier->relid, outlier->column, false)),
							 outlier_where(outlier)),
					outlier, key, JSONBOID, JsonbPGetDatum(cut), false, SPI_OK_UPDATE) != 1)
		outlier_raise_not_updated(outlier, key);
}

/* Has a row a document with the flag? */
static bool
row_flagged(const Outlier *outlier, HeapTuple row, TupleDesc descriptor)
{
	bool		is_null;
	Datum		doc = heap_getattr(row, outlier->column, descriptor, &is_null);
	JsonbValue	root;

	if (is_null)
		return false;
	value_from_jsonb(DatumGetJsonbP(doc), &root);
	return outlier_flagged(outlier, &root);
}

/*
 * 0A000 for a document that is replaced by one without the flag while its key
 * changes.  When the row moves to another partition, what sees the new document
 * does not know the old key, and the overflow would follow to it.
 */
static void
check_move(const Outlier *outlier, const TriggerData *trigger)
{
	TupleDesc	descriptor = RelationGetDescr(trigger->tg_relation);

	if (row_flagged(outlier, trigger->tg_trigtuple, descriptor) && !row_flagged(outlier, trigger->tg_newtuple, descriptor))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot replace a document with extras and change its key at once in partition \"%s\"",
						RelationGetRelationName(trigger->tg_relation)),
				 errhint("Change the key and the document in two updates.")));
}

/* outlier_overflow(): the trigger, AFTER INSERT OR UPDATE FOR EACH ROW, and BEFORE UPDATE of partitions */
Datum
pattern_outlier_overflow(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = trigger_data(fcinfo);
	bool		is_update = TRIGGER_FIRED_BY_UPDATE(trigger->tg_event);
	HeapTuple	row = is_update ? trigger->tg_newtuple : trigger->tg_trigtuple;
	OwnerSwitch before;
	Outlier		outlier;
	bool		is_null;
	Datum		key;

	if (!(TRIGGER_FIRED_AFTER(trigger->tg_event) || (TRIGGER_FIRED_BEFORE(trigger->tg_event) && is_update)) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) || TRIGGER_FIRED_BY_DELETE(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("trigger \"%s\" must be fired after an insert or update, for each row",
						trigger->tg_trigger->tgname)));
	if (!outlier_find(trigger->tg_relation, trigger->tg_trigger, &outlier))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the WHEN clause of trigger \"%s\" does not call outlier_exceeds()", trigger->tg_trigger->tgname),
				 errhint("Triggers of this kind are made by create_outlier.")));
	if (TRIGGER_FIRED_BEFORE(trigger->tg_event))
	{
		check_move(&outlier, trigger);
		return PointerGetDatum(row);
	}
	key = heap_getattr(row, outlier.key, RelationGetDescr(trigger->tg_relation), &is_null);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	owner_enter(relation_owner(outlier.relid), &before);
	keep_whole(&outlier, key, heap_getattr(trigger->tg_trigtuple, outlier.key, RelationGetDescr(trigger->tg_relation), &is_null));
	owner_leave(&before);
	SPI_finish();
	return PointerGetDatum(NULL);
}
