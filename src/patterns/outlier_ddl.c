/*
 * patterns/outlier_ddl.c
 *		Outlier pattern: create_outlier and drop_outlier.
 *
 * What an outlier is stands in one call in the WHEN clause of each of its triggers:
 * the array, the limit, the flag and the overflow table.  A write of one document
 * pays for reading it, hence no second call there.  The overflow table is an
 * ordinary table of the user's.  A foreign key ties it to the documents: deleting
 * one and changing its key are the foreign key's work.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "outlier.h"

PG_FUNCTION_INFO_V1(pattern_create_outlier);
PG_FUNCTION_INFO_V1(pattern_drop_outlier);

static const char relkinds[] = {RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, '\0'};

/* The last step of the path, for names of objects. */
static char *
last_step(const DocPath *path)
{
	const PathStep *step = &path->steps[path->nsteps - 1];

	return pnstrdup(step->name, step->len);
}

/* An array as a literal for SQL, with its type. */
static char *
path_literal(ArrayType *path)
{
	return psprintf("%s::pg_catalog.text[]",
					quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(path))));
}

/*
 * The triggers of the relation for the array at the path, by the names that SQL
 * takes; *outlier is what the last of them says.
 */
static List *
find_triggers(Oid relid, AttrNumber column, ArrayType *path, Outlier *outlier)
{
	Relation	relation = relation_open(relid, NoLock);
	List	   *names = NIL;

	for (int i = 0; relation->trigdesc != NULL && i < relation->trigdesc->numtriggers; i++)
	{
		const Trigger *trigger = &relation->trigdesc->triggers[i];
		Outlier		found;

		if (outlier_find(relation, trigger, &found) && found.column == column &&
			VARSIZE(found.path_array) == VARSIZE(path) && memcmp(found.path_array, path, VARSIZE(path)) == 0)
		{
			names = lappend(names, pstrdup(quote_identifier(trigger->tgname)));
			*outlier = found;
		}
	}
	relation_close(relation, NoLock);
	return names;
}

/* The overflow table; it goes to the schema of the documents, and to their owner. */
static void
create_overflow(const Outlier *outlier, const char *name)
{
	char	   *documents = relation_quoted_name(outlier->relid);
	char	   *key = pstrdup(quote_identifier(get_attname(outlier->relid, outlier->key, false)));
	int32		typmod;
	Oid			type,
				collation;

	get_atttypetypmodcoll(outlier->relid, outlier->key, &type, &typmod, &collation);
	spi_run(psprintf("CREATE TABLE %s (key %s%s NOT NULL REFERENCES %s (%s) ON DELETE CASCADE ON UPDATE CASCADE, "
					 "number bigint GENERATED ALWAYS AS IDENTITY, element pg_catalog.jsonb NOT NULL, PRIMARY KEY (key, number))",
					 name, format_type_extended(type, typmod, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY),
					 OidIsValid(collation) ? psprintf(" COLLATE %s", generate_collation_name(collation)) : "",
					 documents, key));
	spi_run(psprintf("COMMENT ON TABLE %s IS %s", name,
					 quote_literal_cstr(psprintf("elements beyond the first %d of %s in %s, in the order of their numbers",
												 outlier->max_size, path_to_cstring(outlier->path, outlier->path->nsteps), documents))));
	spi_run(psprintf("ALTER TABLE %s OWNER TO %s", name, quote_identifier(GetUserNameFromId(relation_owner(outlier->relid), false))));
}

/* A trigger; event names it, and is told in SQL by when and condition. */
static void
create_trigger(const Outlier *outlier, const char *schema, const char *event, const char *when, const char *condition, const char *before)
{
	const char *column = quote_identifier(get_attname(outlier->relid, outlier->column, false));

	spi_run(psprintf("CREATE TRIGGER %s %s ON %s FOR EACH ROW WHEN (%s%s(%s, NEW.%s, %s, %d, %s::pg_catalog.text, %s::pg_catalog.regclass)) EXECUTE FUNCTION %s()",
					 quote_identifier(trigger_choose_name(outlier->relid, last_step(outlier->path), "outlier", event)), when, relation_quoted_name(outlier->relid), condition,
					 quote_qualified_identifier(schema, "outlier_exceeds"), before, column,
					 path_literal(outlier->path_array), outlier->max_size, quote_literal_cstr(outlier->flag),
					 quote_literal_cstr(relation_quoted_name(outlier->overflow)),
					 quote_qualified_identifier(schema, "outlier_overflow")));
}

/* The triggers of an outlier, of which a partitioned table has one more. */
static void
create_triggers(const Outlier *outlier, const char *schema)
{
	const char *column = quote_identifier(get_attname(outlier->relid, outlier->column, false));
	char	   *old = psprintf("OLD.%s", column);

	create_trigger(outlier, schema, "insert", "AFTER INSERT", "", "NULL");
	create_trigger(outlier, schema, "update", psprintf("AFTER UPDATE OF %s", column), "", old);
	if (get_rel_relkind(outlier->relid) == RELKIND_PARTITIONED_TABLE)
	{
		const char *key = quote_identifier(get_attname(outlier->relid, outlier->key, false));

		create_trigger(outlier, schema, "move", "BEFORE UPDATE",
					   psprintf("NOT OLD.%s %s NEW.%s AND ", key, outlier->equal, key), old);
	}
}

/* Move what the documents that are there have too much, as the owner. */
static void
spill_documents(const Outlier *outlier, const char *schema)
{
	const char *column = quote_identifier(get_attname(outlier->relid, outlier->column, false));
	OwnerSwitch before;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	owner_enter(relation_owner(outlier->relid), &before);
	(void) outlier_run_latest(psprintf("UPDATE %s SET %s = %s WHERE %s(NULL, %s, %s, %d, %s, NULL)", relation_quoted_name(outlier->relid), column, column,
									   quote_qualified_identifier(schema, "outlier_exceeds"), column, path_literal(outlier->path_array),
									   outlier->max_size, quote_literal_cstr(outlier->flag)),
							  0, NULL, NULL, true, SPI_OK_UPDATE);
	owner_leave(&before);
	SPI_finish();
}

/* Does the path begin with the field? */
static bool
begins_with(const DocPath *path, const char *field)
{
	return path->steps[0].len == (int) strlen(field) && memcmp(path->steps[0].name, field, path->steps[0].len) == 0;
}

/* Are the paths the same, or does one lead into the other? */
static bool
paths_overlap(const DocPath *one, const DocPath *other)
{
	for (int i = 0; i < Min(one->nsteps, other->nsteps); i++)
		if (one->steps[i].len != other->steps[i].len ||
			memcmp(one->steps[i].name, other->steps[i].name, one->steps[i].len) != 0)
			return false;
	return true;
}

/* 22023 if the column has another outlier that this one would disturb: no two write the same field. */
static void
check_others(const Outlier *outlier)
{
	Relation	relation = relation_open(outlier->relid, NoLock);

	for (int i = 0; relation->trigdesc != NULL && i < relation->trigdesc->numtriggers; i++)
	{
		Outlier		other;

		if (!outlier_find(relation, &relation->trigdesc->triggers[i], &other) || other.column != outlier->column)
			continue;
		if (paths_overlap(outlier->path, other.path))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("array \"%s\" overlaps with the outlier of \"%s\" in relation \"%s\"",
							path_to_cstring(outlier->path, outlier->path->nsteps),
							path_to_cstring(other.path, other.path->nsteps), get_rel_name(outlier->relid))));
		if (strcmp(outlier->flag, other.flag) == 0 || begins_with(outlier->path, other.flag) || begins_with(other.path, outlier->flag))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid flag: \"%s\"", outlier->flag),
					 errdetail("The outlier of \"%s\" has the flag \"%s\".", path_to_cstring(other.path, other.path->nsteps), other.flag),
					 errhint("Give each outlier of a column a flag of its own, which is no field with an array.")));
	}
	relation_close(relation, NoLock);
}

/* The flag, which must not be the field that holds the array. */
static char *
flag_argument(FunctionCallInfo fcinfo, int position, const DocPath *path)
{
	char	   *flag = argument_text(fcinfo, position, "flag");

	if (*flag == '\0' || begins_with(path, flag))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid flag: \"%s\"", flag),
				 errdetail("The flag is a field of the document other than the one with the array.")));
	return flag;
}

/* The relation, which is locked, the column and the path: arguments 0 to 2. */
static void
read_arguments(FunctionCallInfo fcinfo, LOCKMODE lockmode, Outlier *outlier)
{
	Relation	relation;

	argument_check_given(fcinfo, 0, "relation");
	outlier->relid = PG_GETARG_OID(0);
	relation_lock_owned(outlier->relid, lockmode, relkinds);
	outlier->column = relation_column(outlier->relid, argument_name(fcinfo, 1, "column_name"), JSONBOID);
	argument_check_given(fcinfo, 2, "path");
	outlier->path_array = PG_GETARG_ARRAYTYPE_P(2);
	outlier->path = outlier_path(outlier->path_array);
	relation = relation_open(outlier->relid, NoLock);
	outlier_key(relation, outlier);
	relation_close(relation, NoLock);
}

/*
 * create_outlier(relation regclass, column_name name, path text[], max_size integer,
 * overflow name, flag text) → boolean
 */
Datum
pattern_create_outlier(PG_FUNCTION_ARGS)
{
	char	   *schema = extension_schema(fcinfo);
	Outlier		outlier = {0};
	Outlier		found;
	char	   *name,
			   *overflow;

	argument_check_given(fcinfo, 3, "max_size");
	argument_check_least("max_size", PG_GETARG_INT32(3), 0);
	read_arguments(fcinfo, ShareRowExclusiveLock, &outlier);
	outlier.max_size = PG_GETARG_INT32(3);
	outlier.flag = flag_argument(fcinfo, 5, outlier.path);
	if (find_triggers(outlier.relid, outlier.column, outlier.path_array, &found) != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("outlier of \"%s\" in relation \"%s\" already exists",
						path_to_cstring(outlier.path, outlier.path->nsteps), get_rel_name(outlier.relid))));
	check_others(&outlier);
	overflow = PG_ARGISNULL(4) ? makeObjectName(get_rel_name(outlier.relid), last_step(outlier.path), NULL) :
		argument_name(fcinfo, 4, "overflow");
	name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(outlier.relid)), overflow);
	create_overflow(&outlier, name);
	outlier.overflow = get_relname_relid(overflow, get_rel_namespace(outlier.relid));
	create_triggers(&outlier, schema);
	spill_documents(&outlier, schema);
	PG_RETURN_BOOL(true);
}

/*
 * drop_outlier(relation regclass, column_name name, path text[], if_exists boolean) → boolean
 */
Datum
pattern_drop_outlier(PG_FUNCTION_ARGS)
{
	bool		if_exists = argument_flag(fcinfo, 3);
	Outlier		wanted = {0};
	Outlier		found;
	List	   *names;
	ListCell   *cell;

	/* what DROP TRIGGER takes: no push is under way then */
	read_arguments(fcinfo, AccessExclusiveLock, &wanted);
	names = find_triggers(wanted.relid, wanted.column, wanted.path_array, &found);
	if (names == NIL)
	{
		ereport(if_exists ? NOTICE : ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("outlier of \"%s\" in relation \"%s\" does not exist%s",
						path_to_cstring(wanted.path, wanted.path->nsteps), get_rel_name(wanted.relid),
						if_exists ? ", skipping" : "")));
		PG_RETURN_BOOL(false);
	}
	foreach(cell, names)
		spi_run(psprintf("DROP TRIGGER %s ON %s", (char *) lfirst(cell), relation_quoted_name(found.relid)));
	outlier_restore(&found);
	spi_run(psprintf("DROP TABLE %s", relation_quoted_name(found.overflow)));
	PG_RETURN_BOOL(true);
}
