/*
 * patterns/polymorphic_ddl.c
 *		Polymorphic pattern: create_polymorphic, add_variant, drop_variant,
 *		drop_polymorphic.
 *
 * The constraint is the whole definition, so that each change of it is one ALTER
 * TABLE that drops it and adds it again, under the same name and at first not
 * valid.  The rows that exist are looked at then: documents of variants that are
 * registered must satisfy their schemas, and each document must have a
 * discriminator.  Documents of variants that are not registered yet are the one
 * thing that may stay, for a full table must be able to come under the pattern
 * variant by variant; the constraint becomes valid with the last of them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "nodes/primnodes.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "polymorphic.h"

PG_FUNCTION_INFO_V1(pattern_create_polymorphic);
PG_FUNCTION_INFO_V1(pattern_add_variant);
PG_FUNCTION_INFO_V1(pattern_drop_variant);
PG_FUNCTION_INFO_V1(pattern_drop_polymorphic);

/* So many variants that are not registered stand in a message. */
#define MOST_UNREGISTERED	5

/* Is the constraint one of ours on the column?  Then its definition is taken. */
static bool
read_constraint(Polymorphic *polymorphic, const ConstrCheck *check)
{
	const FuncExpr *call = stringToNode(check->ccbin);
	HeapTuple	tuple;

	if (!IsA(call, FuncExpr) || call->funcid != polymorphic->function ||
		!node_is_column(linitial(call->args), polymorphic->number) ||
		!IsA(lsecond(call->args), Const) || !IsA(lthird(call->args), Const))
		return false;
	polymorphic->constraint = pstrdup(check->ccname);
	polymorphic->validated = check->ccvalid;
	polymorphic->discriminator = TextDatumGetCString(((const Const *) lsecond(call->args))->constvalue);
	polymorphic->variants = DatumGetJsonbPCopy(((const Const *) lthird(call->args))->constvalue);
	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(get_relation_constraint_oid(polymorphic->relid, check->ccname, false)));
	polymorphic->inherited = ((Form_pg_constraint) GETSTRUCT(tuple))->coninhcount > 0;
	ReleaseSysCache(tuple);
	return true;
}

/* Read the definition, if there is one, from the constraints of the relation. */
static void
read_definition(Polymorphic *polymorphic)
{
	Relation	relation = relation_open(polymorphic->relid, NoLock);
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;

	for (int i = 0; constraints != NULL && i < constraints->num_check; i++)
		if (read_constraint(polymorphic, &constraints->check[i]))
			break;
	relation_close(relation, NoLock);
}

/* Read the first two arguments, lock the relation, and find out what it has. */
static void
open_polymorphic(FunctionCallInfo fcinfo, Polymorphic *polymorphic)
{
	static const char relkinds[] = {RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, '\0'};
	static const Oid arguments[] = {JSONBOID, TEXTOID, JSONBOID};

	memset(polymorphic, 0, sizeof(Polymorphic));
	argument_check_given(fcinfo, 0, "relation");
	polymorphic->column = argument_name(fcinfo, 1, "column_name");
	polymorphic->relid = PG_GETARG_OID(0);
	polymorphic->extension = extension_schema(fcinfo);
	polymorphic->function = LookupFuncName(list_make2(makeString(pstrdup(polymorphic->extension)), makeString("variant_check")),
										   lengthof(arguments), arguments, false);
	relation_lock_owned(polymorphic->relid, AccessExclusiveLock, relkinds);
	polymorphic->number = relation_column(polymorphic->relid, polymorphic->column, JSONBOID);
	read_definition(polymorphic);
}

/* There must be a definition, and it must be the relation's own. */
static void
check_defined(const Polymorphic *polymorphic)
{
	if (polymorphic->constraint == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("column \"%s\" of relation \"%s\" is not polymorphic", polymorphic->column,
						get_rel_name(polymorphic->relid)),
				 errhint("Call create_polymorphic() first.")));
	if (polymorphic->inherited)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" has its variants from a parent", get_rel_name(polymorphic->relid)),
				 errhint("Name the partitioned or parent table instead.")));
}

/* The condition of the constraint, in SQL. */
static char *
constraint_condition(const Polymorphic *polymorphic)
{
	return psprintf("%s(%s, %s::pg_catalog.text, %s::pg_catalog.jsonb)",
					quote_qualified_identifier(polymorphic->extension, "variant_check"),
					quote_identifier(polymorphic->column), quote_literal_cstr(polymorphic->discriminator),
					quote_literal_cstr(JsonbToCString(NULL, &polymorphic->variants->root, VARSIZE(polymorphic->variants))));
}

/* Write the definition to the constraint, which is not valid then. */
static void
write_constraint(Polymorphic *polymorphic)
{
	char	   *drop = "";

	if (polymorphic->constraint != NULL)
		drop = psprintf("DROP CONSTRAINT %s, ", quote_identifier(polymorphic->constraint));
	else
		polymorphic->constraint = ChooseConstraintName(get_rel_name(polymorphic->relid), polymorphic->column, "variant",
													   get_rel_namespace(polymorphic->relid), NIL);
	spi_run(psprintf("ALTER TABLE %s %sADD CONSTRAINT %s CHECK (%s) NOT VALID",
					 relation_quoted_name(polymorphic->relid), drop,
					 quote_identifier(polymorphic->constraint), constraint_condition(polymorphic)));
	polymorphic->validated = false;
}

/* A document's discriminator as text, in SQL. */
static char *
discriminator_expression(const Polymorphic *polymorphic)
{
	return psprintf("(%s OPERATOR(pg_catalog.->>) %s)", quote_identifier(polymorphic->column),
					quote_literal_cstr(polymorphic->discriminator));
}

/* Is a document's discriminator such that it names a variant that is not registered?  In SQL. */
static char *
is_unregistered(const Polymorphic *polymorphic)
{
	return psprintf("(pg_catalog.jsonb_typeof(%s) OPERATOR(pg_catalog.=) 'object' "
					"AND pg_catalog.jsonb_typeof(%s OPERATOR(pg_catalog.->) %s) OPERATOR(pg_catalog.=) ANY ('{string,number,boolean}'::pg_catalog.text[]) "
					"AND NOT (%s::pg_catalog.jsonb OPERATOR(pg_catalog.?) %s))",
					quote_identifier(polymorphic->column),
					quote_identifier(polymorphic->column), quote_literal_cstr(polymorphic->discriminator),
					quote_literal_cstr(JsonbToCString(NULL, &polymorphic->variants->root, VARSIZE(polymorphic->variants))),
					discriminator_expression(polymorphic));
}

/* For messages: names of variants, of which there may be more. */
static char *
list_names(const List *names)
{
	StringInfoData buf;
	const ListCell *cell;

	initStringInfo(&buf);
	foreach(cell, names)
	{
		const char *name = lfirst(cell);

		if (foreach_current_index(cell) == MOST_UNREGISTERED)
		{
			appendStringInfoString(&buf, " and others");
			break;
		}
		appendStringInfo(&buf, "%s\"%s\"", cell == list_head(names) ? "" : ", ", text_for_message(name, strlen(name)));
	}
	return buf.data;
}

/* Look at the rows that exist; 23514 for one that violates the definition. */
static void
validate_rows(Polymorphic *polymorphic)
{
	char	   *relation = relation_quoted_name(polymorphic->relid);
	List	   *unregistered = spi_texts(psprintf("SELECT DISTINCT %s FROM %s WHERE %s ORDER BY 1 LIMIT %d",
												  discriminator_expression(polymorphic), relation,
												  is_unregistered(polymorphic), MOST_UNREGISTERED + 1));

	if (unregistered == NIL)
	{
		spi_run(psprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", relation, quote_identifier(polymorphic->constraint)));
		polymorphic->validated = true;
		return;
	}
	/* CASE, for the conditions of an AND may be evaluated in any order */
	(void) spi_texts(psprintf("SELECT pg_catalog.count(CASE WHEN %s THEN true ELSE %s END) FROM %s",
							  is_unregistered(polymorphic), constraint_condition(polymorphic), relation));
	ereport(NOTICE,
			(errmsg("relation \"%s\" has documents of variants that are not registered: %s",
					get_rel_name(polymorphic->relid), list_names(unregistered)),
			 errdetail("They stay as they are, and the constraint \"%s\" is not valid until all variants are registered.", polymorphic->constraint),
			 errhint("Register them with add_variant().")));
}

/* The definition has changed: write it, and look at the rows that exist if that is wanted. */
static void
change_definition(Polymorphic *polymorphic, bool validate)
{
	OwnerSwitch before;

	owner_enter(relation_owner(polymorphic->relid), &before);
	write_constraint(polymorphic);
	if (validate)
		validate_rows(polymorphic);
	owner_leave(&before);
}

/* A text that stays the same as a JSON object's key, and is not empty. */
static char *
name_argument(FunctionCallInfo fcinfo, int position, const char *name)
{
	char	   *value = argument_text(fcinfo, position, name);

	if (*value == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be empty", name)));
	return value;
}

/* Options that are on unless they are given as false. */
static bool
wanted(FunctionCallInfo fcinfo, int position)
{
	return PG_ARGISNULL(position) || PG_GETARG_BOOL(position);
}

/*
 * create_polymorphic(relation regclass, column_name name, discriminator text,
 * validate boolean, if_not_exists boolean) → boolean
 */
Datum
pattern_create_polymorphic(PG_FUNCTION_ARGS)
{
	char	   *discriminator = name_argument(fcinfo, 2, "discriminator");
	Polymorphic polymorphic;
	PairList	none = {0};
	JsonbValue	variants;

	open_polymorphic(fcinfo, &polymorphic);
	if (polymorphic.constraint != NULL)
	{
		ereport(argument_flag(fcinfo, 4) ? NOTICE : ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("column \"%s\" of relation \"%s\" is polymorphic already%s", polymorphic.column,
						get_rel_name(polymorphic.relid), argument_flag(fcinfo, 4) ? ", skipping" : "")));
		PG_RETURN_BOOL(false);
	}
	polymorphic.discriminator = discriminator;
	pairs_finish(&none, &variants);
	polymorphic.variants = value_to_jsonb(&variants);
	change_definition(&polymorphic, wanted(fcinfo, 3));
	PG_RETURN_BOOL(true);
}

/* 42710 if the variant is registered and is not to be replaced. */
static void
check_variant_is_new(const Polymorphic *polymorphic, const char *variant)
{
	JsonbValue	variants,
				schema;

	value_from_jsonb(polymorphic->variants, &variants);
	if (value_get_cstring(&variants, variant, &schema))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("variant \"%s\" of relation \"%s\" already exists", text_for_message(variant, strlen(variant)),
						get_rel_name(polymorphic->relid)),
				 errhint("Say replace => true to give it another schema.")));
}

/* Put a schema for a variant into the definition, or take it out for NULL. */
static void
set_variant(Polymorphic *polymorphic, const char *variant, const JsonbValue *schema)
{
	JsonbValue	variants;
	JsonbSplice *splice;

	value_from_jsonb(polymorphic->variants, &variants);
	splice = splice_begin(&variants);
	if (schema != NULL)
		splice_put(splice, variant, strlen(variant), schema);
	else
		splice_drop(splice, variant, strlen(variant));
	polymorphic->variants = splice_apply(splice);
}

/* Make the view that is wanted, or make that again which the variant has. */
static void
change_view(const Polymorphic *polymorphic, const char *variant, const JsonbValue *schema, const char *name)
{
	List	   *old = variant_views(polymorphic, variant);
	OwnerSwitch before;

	if (name == NULL && old == NIL)
		return;
	owner_enter(relation_owner(polymorphic->relid), &before);
	variant_view_create(polymorphic, variant, schema, name, old == NIL ? InvalidOid : linitial_oid(old));
	owner_leave(&before);
}

/*
 * add_variant(relation regclass, column_name name, variant text, schema jsonb,
 * view_name name, validate boolean, replace boolean) → boolean
 */
Datum
pattern_add_variant(PG_FUNCTION_ARGS)
{
	char	   *variant = argument_text(fcinfo, 2, "variant");
	char	   *view_name = PG_ARGISNULL(4) ? NULL : argument_name(fcinfo, 4, "view_name");
	Polymorphic polymorphic;
	JsonbValue	schema;

	argument_check_given(fcinfo, 3, "schema");
	value_from_jsonb(PG_GETARG_JSONB_P(3), &schema);
	(void) schema_compile(&schema); /* for its checks */
	open_polymorphic(fcinfo, &polymorphic);
	check_defined(&polymorphic);
	if (!argument_flag(fcinfo, 6))
		check_variant_is_new(&polymorphic, variant);
	set_variant(&polymorphic, variant, &schema);
	change_definition(&polymorphic, wanted(fcinfo, 5));
	change_view(&polymorphic, variant, &schema, view_name);
	PG_RETURN_BOOL(true);
}

/* 23514 if there are documents of the variant. */
static void
check_variant_is_unused(const Polymorphic *polymorphic, const char *variant)
{
	List	   *count = spi_texts(psprintf("SELECT pg_catalog.count(*) FROM %s WHERE pg_catalog.jsonb_typeof(%s) OPERATOR(pg_catalog.=) 'object' AND %s OPERATOR(pg_catalog.=) %s",
										   relation_quoted_name(polymorphic->relid), quote_identifier(polymorphic->column),
										   discriminator_expression(polymorphic), quote_literal_cstr(variant)));

	if (strcmp(linitial(count), "0") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("cannot drop variant \"%s\" of relation \"%s\" while it has documents",
						text_for_message(variant, strlen(variant)), get_rel_name(polymorphic->relid)),
				 errdetail("The documents of the variant are %s.", (char *) linitial(count)),
				 errhint("Delete them, or change them to another variant, first.")));
}

/* drop_variant(relation regclass, column_name name, variant text, if_exists boolean) → boolean */
Datum
pattern_drop_variant(PG_FUNCTION_ARGS)
{
	char	   *variant = argument_text(fcinfo, 2, "variant");
	bool		if_exists = argument_flag(fcinfo, 3);
	Polymorphic polymorphic;
	JsonbValue	variants,
				schema;
	OwnerSwitch before;
	bool		was_valid;

	open_polymorphic(fcinfo, &polymorphic);
	check_defined(&polymorphic);
	value_from_jsonb(polymorphic.variants, &variants);
	if (!value_get_cstring(&variants, variant, &schema))
	{
		ereport(if_exists ? NOTICE : ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("variant \"%s\" of relation \"%s\" does not exist%s", text_for_message(variant, strlen(variant)),
						get_rel_name(polymorphic.relid), if_exists ? ", skipping" : "")));
		PG_RETURN_BOOL(false);
	}
	was_valid = polymorphic.validated;
	set_variant(&polymorphic, variant, NULL);
	owner_enter(relation_owner(polymorphic.relid), &before);
	check_variant_is_unused(&polymorphic, variant);
	variant_views_drop(variant_views(&polymorphic, variant));
	owner_leave(&before);
	change_definition(&polymorphic, was_valid);
	PG_RETURN_BOOL(true);
}

/* drop_polymorphic(relation regclass, column_name name, if_exists boolean) → boolean */
Datum
pattern_drop_polymorphic(PG_FUNCTION_ARGS)
{
	bool		if_exists = argument_flag(fcinfo, 2);
	Polymorphic polymorphic;
	OwnerSwitch before;

	open_polymorphic(fcinfo, &polymorphic);
	if (polymorphic.constraint == NULL && if_exists)
	{
		ereport(NOTICE,
				(errmsg("column \"%s\" of relation \"%s\" is not polymorphic, skipping", polymorphic.column,
						get_rel_name(polymorphic.relid))));
		PG_RETURN_BOOL(false);
	}
	check_defined(&polymorphic);
	owner_enter(relation_owner(polymorphic.relid), &before);
	variant_views_drop(variant_views(&polymorphic, NULL));
	spi_run(psprintf("ALTER TABLE %s DROP CONSTRAINT %s", relation_quoted_name(polymorphic.relid),
					 quote_identifier(polymorphic.constraint)));
	owner_leave(&before);
	PG_RETURN_BOOL(true);
}
