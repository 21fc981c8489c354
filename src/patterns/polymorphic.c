/*
 * patterns/polymorphic.c
 *		Polymorphic pattern: the check of a document by the variant that it is of.
 *
 * variant_check stands in a CHECK constraint.  A plain constraint would only say
 * that it is violated; this one raises the error itself, so that the DETAIL lists
 * what is wrong.  The names of the table and of the constraint, which a function
 * in a constraint is not told, are looked up when there is an error to raise: the
 * constraints that depend on the function are read, and the one that calls it
 * with the same constants, on a table that this transaction writes to, is it.
 *
 * The schema of a variant is compiled when the first document of it comes.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_proc.h"
#include "nodes/primnodes.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "polymorphic.h"

/* The discriminator's name and the variants, compiled. */
typedef struct VariantSet
{
	const char *discriminator;	/* not null-terminated */
	int			discriminator_len;
	JsonbValue	variants;
	Schema	  **schemas;		/* in the variants' order; NULL: not yet compiled */
	MemoryContext context;		/* in which they are compiled */
} VariantSet;

/* What a document is by its discriminator. */
typedef struct VariantOf
{
	bool		is_document;
	bool		has_value;		/* there is a discriminator */
	JsonbValue	value;			/* it */
	bool		has_name;		/* and it can name a variant */
	const char *name;			/* not null-terminated */
	int			len;
} VariantOf;

static void *
compile_variants(Jsonb **operands)
{
	VariantSet *set = palloc(sizeof(VariantSet));
	text	   *discriminator = (text *) operands[0];

	set->discriminator = VARDATA(discriminator);
	set->discriminator_len = VARSIZE(discriminator) - VARHDRSZ;
	value_from_jsonb(operands[1], &set->variants);
	if (!value_is_object(&set->variants))
		argument_mismatch("variants", "an object of schemas", &set->variants);
	set->schemas = palloc_extended((Size) value_count(&set->variants) * sizeof(Schema *),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	set->context = CurrentMemoryContext;
	return set;
}

/* The schema of a variant, compiled; the document's discriminator is one of its fields in any case. */
static const Schema *
variant_schema(VariantSet *set, uint32 position)
{
	if (set->schemas[position] == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(set->context);
		JsonbValue	source;
		Schema	   *schema;

		container_value(set->variants.val.binary.data, position, &source);
		schema = schema_compile(&source);
		schema_allow_field(schema, set->discriminator, set->discriminator_len);
		set->schemas[position] = schema;
		MemoryContextSwitchTo(caller);
	}
	return set->schemas[position];
}

/* Which variant does the document say that it is?  As ->> has it: a string, a number or a boolean. */
static void
read_variant(const VariantSet *set, const JsonbValue *document, VariantOf *variant)
{
	variant->is_document = value_is_object(document);
	variant->has_name = false;
	variant->has_value = value_get(document, set->discriminator, set->discriminator_len, &variant->value);
	if (!variant->has_value || variant->value.type == jbvNull || variant->value.type == jbvBinary)
		return;
	variant->has_name = true;
	if (variant->value.type == jbvString)
	{
		variant->name = variant->value.val.string.val;
		variant->len = variant->value.val.string.len;
		return;
	}
	if (variant->value.type == jbvBool)
		variant->name = variant->value.val.boolean ? "true" : "false";
	else
		variant->name = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(variant->value.val.numeric)));
	variant->len = strlen(variant->name);
}

/* The table and the constraint that an error is about; NULL if they are not known. */
typedef struct ConstraintName
{
	Oid			relid;
	char	   *name;
	bool		inherited;
	int			nfound;			/* others like it */
} ConstraintName;

/* Does this transaction hold a lock on the relation with which it writes, or alters? */
static bool
relation_is_written(Oid relid)
{
	Relation	relation;
	bool		result;

	/* what we hold stays; what we do not hold nobody waits for */
	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		return false;
	relation = try_relation_open(relid, NoLock);
	result = relation != NULL && CheckRelationLockedByMe(relation, RowExclusiveLock, true);
	if (relation != NULL)
		relation_close(relation, NoLock);
	UnlockRelationOid(relid, AccessShareLock);
	return result;
}

/* Does the constraint call the function with the same constants? */
static bool
constraint_calls(HeapTuple tuple, const FuncExpr *call)
{
	bool		is_null;
	Datum		source = SysCacheGetAttr(CONSTROID, tuple, Anum_pg_constraint_conbin, &is_null);
	const FuncExpr *found;

	if (is_null)
		return false;
	found = stringToNode(TextDatumGetCString(source));
	return IsA(found, FuncExpr) && found->funcid == call->funcid &&
		list_length(found->args) == list_length(call->args) &&
		equal(lsecond(found->args), lsecond(call->args)) && equal(lthird(found->args), lthird(call->args));
}

/* Take the constraint if it may be the one; one that is not inherited comes first. */
static void
consider_constraint(Oid constraint, const FuncExpr *call, ConstraintName *result)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;
	bool		inherited;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	inherited = form->coninhcount > 0;
	if (OidIsValid(form->conrelid) && !(result->nfound > 0 && inherited && !result->inherited) &&
		constraint_calls(tuple, call) && relation_is_written(form->conrelid))
	{
		result->nfound = result->nfound > 0 && result->inherited == inherited ? result->nfound + 1 : 1;
		result->inherited = inherited;
		result->relid = form->conrelid;
		result->name = pstrdup(NameStr(form->conname));
	}
	ReleaseSysCache(tuple);
}

/* Find the constraint that this is a call from. */
static void
find_constraint(FunctionCallInfo fcinfo, ConstraintName *result)
{
	const FuncExpr *call = (const FuncExpr *) fcinfo->flinfo->fn_expr;
	Relation	depend;
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	memset(result, 0, sizeof(ConstraintName));
	if (call == NULL || !IsA(call, FuncExpr))
		return;
	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(ProcedureRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(call->funcid));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->classid == ConstraintRelationId)
			consider_constraint(form->objid, call, result);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	if (result->nfound != 1)
		result->relid = InvalidOid;
}

/* Add the names to an error report, as core does; always 0. */
static int
errconstraint_name(const ConstraintName *constraint)
{
	if (OidIsValid(constraint->relid))
	{
		err_generic_string(PG_DIAG_SCHEMA_NAME, get_namespace_name(get_rel_namespace(constraint->relid)));
		err_generic_string(PG_DIAG_TABLE_NAME, get_rel_name(constraint->relid));
		err_generic_string(PG_DIAG_CONSTRAINT_NAME, constraint->name);
	}
	return 0;
}

/* ' in relation "content"', if it is known */
static const char *
in_relation(const ConstraintName *constraint)
{
	return OidIsValid(constraint->relid) ? psprintf(" in relation \"%s\"", get_rel_name(constraint->relid)) : "";
}

/* For messages: the names of the variants that there are. */
static char *
list_variants(const VariantSet *set)
{
	const uint32 most = 20;
	uint32		n = value_count(&set->variants);
	StringInfoData buf;

	initStringInfo(&buf);
	for (uint32 i = 0; i < n && i < most; i++)
	{
		JsonbValue	name;

		container_key(set->variants.val.binary.data, i, &name);
		appendStringInfo(&buf, "%s%s", i > 0 ? ", " : "", value_to_cstring(&name));
	}
	if (n > most)
		appendStringInfo(&buf, " and %u others", n - most);
	return buf.data;
}

/* 23514: the document is of no variant that there is. */
static void
raise_unknown(FunctionCallInfo fcinfo, const VariantSet *set, const JsonbValue *document, const VariantOf *variant)
{
	char	   *field = text_for_message(set->discriminator, set->discriminator_len);
	ConstraintName constraint;

	find_constraint(fcinfo, &constraint);
	if (!variant->has_name)
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("document%s has no discriminator", in_relation(&constraint)),
				 !variant->is_document ? errdetail("The document must be an object, and is of type %s.", value_type_name(document)) :
				 !variant->has_value ? errdetail("Field \"%s\" is missing (discriminator).", field) :
				 errdetail("Field \"%s\" must be a string, a number or a boolean, and is of type %s (discriminator).",
						   field, value_type_name(&variant->value)),
				 errconstraint_name(&constraint)));
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("document%s is of the unknown variant \"%s\"", in_relation(&constraint),
					text_for_message(variant->name, variant->len)),
			 value_count(&set->variants) == 0 ?
			 errdetail("No variants are registered, and field \"%s\" is %s (discriminator).", field, value_to_cstring(&variant->value)) :
			 errdetail("Field \"%s\" must be one of %s, and is %s (discriminator).", field,
					   list_variants(set), value_to_cstring(&variant->value)),
			 errhint("Register the variant with add_variant()."),
			 errconstraint_name(&constraint)));
}

/* 23514: the document does not meet the schema of its variant. */
static void
raise_violations(FunctionCallInfo fcinfo, const Schema *schema, const JsonbValue *document, const VariantOf *variant)
{
	List	   *violations = schema_violations(schema, document);
	ConstraintName constraint;

	find_constraint(fcinfo, &constraint);
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("document%s violates the schema of variant \"%s\"", in_relation(&constraint),
					text_for_message(variant->name, variant->len)),
			 errdetail("%s\nThe document is %s.", violations_to_cstring(violations), value_to_cstring(document)),
			 errconstraint_name(&constraint)));
}

PG_FUNCTION_INFO_V1(pattern_variant_check);

/* variant_check(doc jsonb, discriminator text, variants jsonb) → boolean: true, or an error */
Datum
pattern_variant_check(PG_FUNCTION_ARGS)
{
	static const int definition[] = {1, 2};
	Jsonb	   *doc = PG_GETARG_JSONB_P(0);
	VariantSet *set = operand_compiled(fcinfo, definition, lengthof(definition), compile_variants);
	JsonbValue	document;
	VariantOf	variant;
	uint32		position = 0;
	const Schema *schema;

	value_from_jsonb(doc, &document);
	read_variant(set, &document, &variant);
	if (!variant.has_name ||
		!container_find(set->variants.val.binary.data, variant.name, variant.len, &position))
		raise_unknown(fcinfo, set, &document, &variant);
	schema = variant_schema(set, position);
	if (!schema_valid(schema, &document))
		raise_violations(fcinfo, schema, &document, &variant);
	PG_FREE_IF_COPY(doc, 0);
	PG_RETURN_BOOL(true);
}
