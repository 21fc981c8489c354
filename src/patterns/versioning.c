/*
 * patterns/versioning.c
 *		Schema versions: the upgrade of one document.
 *
 * The user's function takes a document and returns it in a later version: the
 * next one, or the current one at once.  It is called until the document is
 * current, whether it is being written, in a batch, or only read through a view.
 * A version is a whole number; a document without one is older than all others.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "versioning.h"

/* A version of a document. */
typedef struct Version
{
	bool		known;			/* it has one that is a whole number */
	int32		number;
} Version;

/* An upgrade under way, for the context of errors. */
typedef struct UpgradeStep
{
	const Jsonb *document;
	Oid			function;
} UpgradeStep;

static Version
read_version(const Jsonb *doc, const char *field, int len)
{
	Version		version = {false, 0};
	JsonbValue	document,
				value;
	int64		number;

	value_from_jsonb(doc, &document);
	if (value_get(&document, field, len, &value) && value.type == jbvNumeric &&
		number_to_int64(value.val.numeric, &number) && number >= PG_INT32_MIN && number <= PG_INT32_MAX)
	{
		version.known = true;
		version.number = number;
	}
	return version;
}

/* For messages: a document, cut to a readable length. */
static char *
document_to_cstring(const Jsonb *doc)
{
	JsonbValue	document;

	value_from_jsonb(doc, &document);
	return value_to_cstring(&document);
}

/* An error_context_callback: which document was it? */
static void
add_step_context(void *arg)
{
	const UpgradeStep *step = arg;

	errcontext("upgrade of document %s by function %s", document_to_cstring(step->document),
			   format_procedure(step->function));
}

/* Call the user's function; 22004 if it returns NULL. */
static Jsonb *
call_upgrade(FmgrInfo *function, Jsonb *doc)
{
	LOCAL_FCINFO(fcinfo, 1);
	UpgradeStep step = {doc, function->fn_oid};
	ErrorContextCallback callback = {error_context_stack, add_step_context, &step};
	Datum		result;

	error_context_stack = &callback;
	InitFunctionCallInfoData(*fcinfo, function, 1, InvalidOid, NULL, NULL);
	fcinfo->args[0].value = JsonbPGetDatum(doc);
	fcinfo->args[0].isnull = false;
	result = FunctionCallInvoke(fcinfo);
	if (fcinfo->isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("upgrade function %s returned null", format_procedure(function->fn_oid))));
	error_context_stack = callback.previous;
	return DatumGetJsonbP(result);
}

/* 23514: the document is ahead of what we know. */
static void
raise_newer(const Versioning *versioning, Version version, const Jsonb *doc, Relation relation)
{
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("document has version %d, which is newer than the current version %d", version.number, versioning->current),
			 errdetail("The document is %s.", document_to_cstring(doc)),
			 errhint("Raise the current version with create_versioning(..., replace => true)."),
			 relation != NULL ? errtable(relation) : 0));
}

/* 22023: what the function returned is no step towards the current version. */
static void
check_progress(const Versioning *versioning, Version before, Version after)
{
	if (after.known && after.number <= versioning->current && (!before.known || after.number > before.number))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("upgrade function %s does not lead to version %d", format_procedure(versioning->upgrade), versioning->current),
			 errdetail("It made of a document %s one %s.",
					   before.known ? psprintf("of version %d", before.number) : "without a version",
					   after.known ? psprintf("of version %d", after.number) : "without a version"),
			 errhint("It must set \"%s\" to a later version, a whole number, up to the current one.",
					 text_for_message(versioning->field, strlen(versioning->field)))));
}

/* The document in the current version; relation may be NULL, and is for messages. */
static Jsonb *
upgrade_document(const Versioning *versioning, FmgrInfo *function, Jsonb *doc, Relation relation)
{
	int			len = strlen(versioning->field);
	Version		version = read_version(doc, versioning->field, len);

	if (version.known && version.number > versioning->current)
		raise_newer(versioning, version, doc, relation);
	while (!version.known || version.number < versioning->current)
	{
		Version		before = version;

		CHECK_FOR_INTERRUPTS();
		doc = call_upgrade(function, doc);
		version = read_version(doc, versioning->field, len);
		check_progress(versioning, before, version);
	}
	return doc;
}

/* 22023 unless it is a function from jsonb to jsonb, 42501 unless the user may call it. */
void
versioning_check_function(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	bool		fits;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("function with OID %u does not exist", function)));
	form = (Form_pg_proc) GETSTRUCT(tuple);
	fits = form->prokind == PROKIND_FUNCTION && !form->proretset && form->pronargs == 1 &&
		form->proargtypes.values[0] == JSONBOID && form->prorettype == JSONBOID;
	ReleaseSysCache(tuple);
	if (!fits)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s cannot upgrade documents", format_procedure(function)),
				 errdetail("The function must take one argument of type jsonb, and return one.")));
	if (object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, get_func_name(function));
}

PG_FUNCTION_INFO_V1(pattern_doc_version);

/* doc_version(doc jsonb, version_field text) → integer */
Datum
pattern_doc_version(PG_FUNCTION_ARGS)
{
	Jsonb	   *doc = PG_GETARG_JSONB_P(0);
	text	   *field = PG_GETARG_TEXT_PP(1);
	Version		version = read_version(doc, VARDATA_ANY(field), VARSIZE_ANY_EXHDR(field));

	PG_FREE_IF_COPY(doc, 0);
	if (!version.known)
		PG_RETURN_NULL();
	PG_RETURN_INT32(version.number);
}

PG_FUNCTION_INFO_V1(pattern_version_differs);

/* version_differs(doc jsonb, version_field text, current_version integer, upgrade regprocedure) → boolean */
Datum
pattern_version_differs(PG_FUNCTION_ARGS)
{
	Jsonb	   *doc = PG_GETARG_JSONB_P(0);
	text	   *field = PG_GETARG_TEXT_PP(1);
	Version		version = read_version(doc, VARDATA_ANY(field), VARSIZE_ANY_EXHDR(field));

	PG_FREE_IF_COPY(doc, 0);
	PG_RETURN_BOOL(!version.known || version.number != PG_GETARG_INT32(2));
}

PG_FUNCTION_INFO_V1(pattern_doc_upgrade);

/* doc_upgrade(doc jsonb, upgrade regprocedure, current_version integer, version_field text) → jsonb */
Datum
pattern_doc_upgrade(PG_FUNCTION_ARGS)
{
	FmgrInfo   *function = fcinfo->flinfo->fn_extra;
	Versioning	versioning;

	argument_check_given(fcinfo, 1, "upgrade");
	argument_check_given(fcinfo, 2, "current_version");
	versioning.field = argument_text(fcinfo, 3, "version_field");
	versioning.upgrade = PG_GETARG_OID(1);
	versioning.current = PG_GETARG_INT32(2);
	if (function == NULL)
		function = fcinfo->flinfo->fn_extra = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(FmgrInfo));
	if (function->fn_oid != versioning.upgrade || !OidIsValid(versioning.upgrade))
	{
		versioning_check_function(versioning.upgrade);
		fmgr_info_cxt(versioning.upgrade, function, fcinfo->flinfo->fn_mcxt);
	}
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_JSONB_P(upgrade_document(&versioning, function, PG_GETARG_JSONB_P(0), NULL));
}

/* What a trigger says in its WHEN clause; false if it is another trigger's. */
bool
versioning_from_trigger(const Trigger *trigger, Versioning *result)
{
	const FuncExpr *call = trigger->tgqual != NULL ? stringToNode(trigger->tgqual) : NULL;

	if (call == NULL || !IsA(call, FuncExpr) || !function_is(call->funcid, "pattern_version_differs"))
		return false;
	for (int i = 1; i < 4; i++)
		if (!IsA(list_nth(call->args, i), Const) || ((const Const *) list_nth(call->args, i))->constisnull)
			return false;
	result->field = TextDatumGetCString(((const Const *) list_nth(call->args, 1))->constvalue);
	result->current = DatumGetInt32(((const Const *) list_nth(call->args, 2))->constvalue);
	result->upgrade = DatumGetObjectId(((const Const *) list_nth(call->args, 3))->constvalue);
	return true;
}

/* What the trigger needs for all rows of a statement. */
typedef struct TriggerState
{
	Versioning	versioning;
	FmgrInfo	function;
	void	   *domain;			/* cache of domain_check */
} TriggerState;

/* The state of the trigger, read once a statement; 55000 for one that is not as create_versioning makes it. */
static TriggerState *
trigger_state(FunctionCallInfo fcinfo, const Trigger *trigger)
{
	TriggerState *state = fcinfo->flinfo->fn_extra;
	MemoryContext caller;

	if (state != NULL)
		return state;
	caller = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	state = palloc0(sizeof(TriggerState));
	if (trigger->tgnattr != 1 || !TRIGGER_FOR_ROW(trigger->tgtype) || !TRIGGER_FOR_BEFORE(trigger->tgtype) ||
		!versioning_from_trigger(trigger, &state->versioning))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("trigger \"%s\" does not say how documents are upgraded", trigger->tgname),
				 errhint("Drop it, and call create_versioning().")));
	fmgr_info(state->versioning.upgrade, &state->function);
	MemoryContextSwitchTo(caller);
	fcinfo->flinfo->fn_extra = state;
	return state;
}

PG_FUNCTION_INFO_V1(pattern_upgrade_document);

/* upgrade_document() → trigger: the document in the current version */
Datum
pattern_upgrade_document(PG_FUNCTION_ARGS)
{
	TriggerData *data = trigger_data(fcinfo);
	TriggerState *state = trigger_state(fcinfo, data->tg_trigger);
	HeapTuple	row = TRIGGER_FIRED_BY_UPDATE(data->tg_event) ? data->tg_newtuple : data->tg_trigtuple;
	TupleDesc	descriptor = RelationGetDescr(data->tg_relation);
	int			number = data->tg_trigger->tgattr[0];
	Oid			type = TupleDescAttr(descriptor, number - 1)->atttypid;
	bool		is_null;
	Datum		doc = heap_getattr(row, number, descriptor, &is_null);

	if (is_null)
		return PointerGetDatum(row);
	doc = JsonbPGetDatum(upgrade_document(&state->versioning, &state->function, DatumGetJsonbP(doc), data->tg_relation));
	if (type != JSONBOID)
		domain_check(doc, false, type, &state->domain, fcinfo->flinfo->fn_mcxt);
	return PointerGetDatum(heap_modify_tuple_by_cols(row, descriptor, 1, &number, &doc, &is_null));
}
