/*
 * server/relation.c
 *		Relations that users name: locked and checked.
 *
 * A table function locks each relation once, in the strength that it needs in
 * the end, before it looks at anything; a role that does not own a relation
 * never gets as far as locking it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_language.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "pattern.h"

/* 42P01: there is no relation of this OID. */
void
relation_missing(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("relation with OID %u does not exist", relid)));
}

/* The owner of a relation; 42P01 if there is none. */
Oid
relation_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		relation_missing(relid);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/* 42501 unless the user owns the relation, 42P01 if there is none. */
static void
check_owner(Oid relid)
{
	char		relkind = get_rel_relkind(relid);

	if (relkind == '\0')
		relation_missing(relid);
	if (!object_ownercheck(RelationRelationId, relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(relkind), get_rel_name(relid));
}

/*
 * Locks a relation of the user's, of one of the kinds in relkinds (RELKIND_
 * letters), until the transaction ends.  It is not left open: SQL that alters it
 * refuses to run while the session has it in use.  42501, 42P01, or 42809 for
 * another kind.
 */
void
relation_lock_owned(Oid relid, LOCKMODE lockmode, const char *relkinds)
{
	Relation	relation;

	check_owner(relid);
	relation = try_relation_open(relid, lockmode);
	if (relation == NULL)
		relation_missing(relid);
	if (strchr(relkinds, relation->rd_rel->relkind) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" is of the wrong kind", RelationGetRelationName(relation)),
				 errdetail_relkind_not_supported(relation->rd_rel->relkind)));
	relation_close(relation, NoLock);
}

/*
 * The number of a relation's column, which must be of a type or of a domain over
 * it.  42703 if there is no such column, 42804 if it is of another type.
 */
AttrNumber
relation_column(Oid relid, const char *name, Oid type)
{
	AttrNumber	number = get_attnum(relid, name);
	Oid			found;

	if (number <= InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", name,
						get_rel_name(relid))));
	found = get_atttype(relid, number);
	if (getBaseType(found) != type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of relation \"%s\" is of type %s", name,
						get_rel_name(relid), format_type_be(found)),
				 errdetail("The type must be %s.", format_type_be(type))));
	return number;
}

/* A relation's name for SQL, with its schema; palloc'd. */
char *
relation_quoted_name(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

/* An operator for SQL, with its schema: OPERATOR(pg_catalog.=); palloc'd. */
char *
operator_quoted_name(Oid operator)
{
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	Form_pg_operator form;
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", operator);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	name = psprintf("OPERATOR(%s.%s)", quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname));
	ReleaseSysCache(tuple);
	return name;
}

/*
 * Is it the function of the extension that stands behind this C symbol?  A name
 * alone is nobody's, but C functions are made by superusers only.
 */
bool
function_is(Oid function, const char *symbol)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		is_null;
	bool		found;

	if (!HeapTupleIsValid(tuple))
		return false;
	found = ((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId &&
		strcmp(TextDatumGetCString(SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &is_null)), symbol) == 0;
	ReleaseSysCache(tuple);
	return found;
}

/* The schema of the extension, which is that of the function called; palloc'd. */
char *
extension_schema(FunctionCallInfo fcinfo)
{
	return get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid));
}

/* The views, and materialized views, that read a relation; a list of OIDs. */
List *
relation_views(Oid relid)
{
	List	   *views = NIL;
	ListCell   *cell;

	foreach(cell, spi_texts(psprintf("SELECT DISTINCT r.ev_class FROM pg_catalog.pg_depend d "
									 "JOIN pg_catalog.pg_rewrite r ON r.oid OPERATOR(pg_catalog.=) d.objid "
									 "WHERE d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass "
									 "AND d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass "
									 "AND d.refobjid OPERATOR(pg_catalog.=) %u ORDER BY 1", relid)))
		views = lappend_oid(views, (Oid) strtoul(lfirst(cell), NULL, 10));
	return views;
}

/* The schema of the extension, where no function of ours was called by SQL; palloc'd. */
char *
extension_own_schema(void)
{
	Relation	relation = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			schema = InvalidOid;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ, CStringGetDatum("pattern"));
	scan = systable_beginscan(relation, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		schema = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return get_namespace_name(schema);
}
