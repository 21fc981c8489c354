/*
 * patterns/extended_reference_ddl.c
 *		Extended reference pattern: create_ and drop_extended_reference.
 *
 * A reference is one trigger on the referring table and, if it has live fields or
 * minds when its source goes, up to three on the source and an index on the
 * reference in the documents.  Nothing else is stored.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "extended_reference.h"

PG_FUNCTION_INFO_V1(pattern_create_extended_reference);
PG_FUNCTION_INFO_V1(pattern_drop_extended_reference);

static const char table_kinds[] = {RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, '\0'};

/* A name for triggers on both tables that neither has; they fire in its order. */
static char *
choose_trigger_name(Oid relid, Oid source)
{
	for (int n = 1;; n++)
	{
		char	   *name = psprintf("extended_reference_%02d", n);
		bool		is_taken = false;
		Oid			relations[] = {relid, source};

		for (int i = 0; i < lengthof(relations); i++)
		{
			Relation	relation = relation_open(relations[i], AccessShareLock);

			for (int j = 0; relation->trigdesc != NULL && j < relation->trigdesc->numtriggers; j++)
				is_taken |= strncmp(relation->trigdesc->triggers[j].tgname, name, strlen(name)) == 0;
			relation_close(relation, AccessShareLock);
		}
		if (!is_taken)
			return name;
	}
}

/* The columns that the trigger needs, as fields of a NULL of the source's type. */
static char *
needed_columns(const Reference *reference)
{
	char	   *source = relation_quoted_name(reference->source);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "pg_catalog.num_nulls((NULL::%s).%s", source,
					 quote_identifier(get_attname(reference->source, reference->source_key, false)));
	for (int i = 0; i < reference->nfields; i++)
		appendStringInfo(&buf, ", (NULL::%s).%s", source,
						 quote_identifier(get_attname(reference->source, reference->fields[i].column, false)));
	appendStringInfoString(&buf, ") OPERATOR(pg_catalog.>=) 0");
	return buf.data;
}

/* A field as an argument of the trigger: {mode,name,path…}. */
static char *
field_argument(const ReferenceField *field)
{
	DocPath    *all = palloc0(offsetof(DocPath, steps) + 2 * sizeof(PathStep));

	all->nsteps = 1;
	all->steps[0].name = field->live ? "live" : "snapshot";
	all->steps[0].len = strlen(all->steps[0].name);
	all = path_child(all, field->name, field->len);
	for (int i = 0; i < field->path->nsteps; i++)
		all = path_child(all, field->path->steps[i].name, field->path->steps[i].len);
	return path_to_literal(all);
}

static void
create_copy_trigger(const Reference *reference, const char *schema)
{
	const char *column = quote_identifier(get_attname(reference->relation, reference->column, false));
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE TRIGGER %s BEFORE INSERT OR UPDATE %s ON %s FOR EACH ROW "
					 "WHEN (%s AND %s AND (NEW.%s IS NULL OR true)) EXECUTE FUNCTION %s(%s, %s, %s",
					 quote_identifier(reference->trigger),
					 get_rel_relkind(reference->relation) == RELKIND_PARTITIONED_TABLE ? "" : psprintf("OF %s", column),
					 relation_quoted_name(reference->relation),
					 trigger_target_call(schema, list_make1_oid(reference->source)), needed_columns(reference), column,
					 quote_qualified_identifier(schema, "extended_reference_copy"),
					 quote_literal_cstr(reference->path_text), quote_literal_cstr(reference->key_text),
					 quote_literal_cstr(on_delete_names[reference->on_delete]));
	for (int i = 0; i < reference->nfields; i++)
		appendStringInfo(&buf, ", %s", quote_literal_cstr(field_argument(&reference->fields[i])));
	appendStringInfoChar(&buf, ')');
	spi_run(buf.data);
}

/*
 * That a column differs, in a WHEN clause.  Values that are equal may still look
 * otherwise, as 1.0 and 1.00 do, so that most types are compared as text.
 */
static char *
column_differs(Oid source, AttrNumber column)
{
	const char *name = quote_identifier(get_attname(source, column, false));
	const char *as = "::pg_catalog.text COLLATE pg_catalog.\"C\"";

	switch (getBaseType(get_atttype(source, column)))
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
		case JSONBOID:
			as = "";
	}
	return psprintf("OLD.%s%s IS DISTINCT FROM NEW.%s%s", name, as, name, as);
}

static void
create_source_trigger(const Reference *reference, const char *schema, const char *suffix, const char *events,
					  const char *row, const char *condition)
{
	spi_run(psprintf("CREATE TRIGGER %s AFTER %s ON %s FOR EACH %s WHEN (%s%s) EXECUTE FUNCTION %s(%s, %s)",
					 quote_identifier(psprintf("%s_%s", reference->trigger, suffix)), events,
					 relation_quoted_name(reference->source), row,
					 trigger_target_call(schema, list_make1_oid(reference->relation)), condition,
					 quote_qualified_identifier(schema, "extended_reference_follow"),
					 quote_literal_cstr(reference->path_text), quote_literal_cstr(reference->key_text)));
}

/* What must be noticed of the source. */
static void
create_source_triggers(const Reference *reference, const char *schema)
{
	bool		minds_deletes = reference->on_delete != ON_DELETE_KEEP;
	bool		minds_inserts = reference->has_live && reference->on_delete != ON_DELETE_RESTRICT;
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, " AND (%s", column_differs(reference->source, reference->source_key));
	for (int i = 0; i < reference->nfields; i++)
		if (reference->fields[i].live)
			appendStringInfo(&buf, " OR %s", column_differs(reference->source, reference->fields[i].column));
	appendStringInfoChar(&buf, ')');
	create_source_trigger(reference, schema, "update", "UPDATE", "ROW", buf.data);
	if (minds_inserts)
		create_source_trigger(reference, schema, "insert", "INSERT", "ROW", "");
	if (minds_deletes)
	{
		create_source_trigger(reference, schema, "delete", "DELETE", "ROW", "");
		create_source_trigger(reference, schema, "truncate", "TRUNCATE", "STATEMENT", "");
	}
}

/* Is this index on the reference in the documents, and nothing else? */
static bool
is_key_index(const Reference *reference, Relation index)
{
	List	   *expressions = RelationGetIndexExpressions(index);
	const OpExpr *expression = expressions == NIL ? NULL : linitial(expressions);
	const Var  *column;
	const Const *path;

	if (index->rd_rel->relam != BTREE_AM_OID || !index->rd_index->indisvalid || index->rd_index->indkey.values[0] != 0 ||
		RelationGetIndexPredicate(index) != NIL ||
		!IsA(expression, OpExpr) || expression->opfuncid != F_JSONB_EXTRACT_PATH_TEXT)
		return false;
	column = linitial(expression->args);
	path = lsecond(expression->args);
	if (IsA(column, RelabelType))
		column = (const Var *) ((const RelabelType *) column)->arg;
	return IsA(column, Var) && column->varattno == reference->column && IsA(path, Const) && !path->constisnull &&
		paths_equal(path_from_array(DatumGetArrayTypeP(path->constvalue)), reference->key);
}

/* The first such index that is called as this begins, or, with "", any; InvalidOid if there is none. */
static Oid
find_key_index(const Reference *reference, const char *beginning)
{
	Relation	relation = relation_open(reference->relation, AccessShareLock);
	Oid			found = InvalidOid;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(relation))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (!OidIsValid(found) && is_key_index(reference, index) &&
			strncmp(RelationGetRelationName(index), beginning, strlen(beginning)) == 0)
			found = lfirst_oid(cell);
		index_close(index, AccessShareLock);
	}
	relation_close(relation, AccessShareLock);
	return found;
}

/* What the names of our indexes begin with. */
static char *
index_name(const Reference *reference)
{
	return makeObjectName(get_rel_name(reference->relation), get_attname(reference->relation, reference->column, false), "reference");
}

static void
create_key_index(const Reference *reference)
{
	char	   *name = index_name(reference);
	Oid			schema = get_rel_namespace(reference->relation);

	if (OidIsValid(find_key_index(reference, "")))
		return;
	for (int n = 1; OidIsValid(get_relname_relid(name, schema)); n++)
		name = makeObjectName(get_rel_name(reference->relation), get_attname(reference->relation, reference->column, false),
							  psprintf("reference%d", n));
	spi_run(psprintf("CREATE INDEX %s ON %s (%s)", quote_identifier(name),
					 relation_quoted_name(reference->relation), reference_key_sql(reference, "")));
}

/* The column that is the source's primary key; 42704 if there is none, or it has several. */
static AttrNumber
primary_key_column(Oid source)
{
	Relation	relation = relation_open(source, AccessShareLock);
	Bitmapset  *columns = RelationGetIndexAttrBitmap(relation, INDEX_ATTR_BITMAP_PRIMARY_KEY);
	int			only;
	bool		is_one = bms_get_singleton_member(columns, &only);

	relation_close(relation, AccessShareLock);
	if (!is_one)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relation \"%s\" has no primary key of one column", get_rel_name(source)),
				 errhint("Give the column that documents refer to as source_key.")));
	return only + FirstLowInvalidHeapAttributeNumber;
}

/* 42703, or 42704 unless the column is unique. */
static AttrNumber
source_key_column(Oid source, const char *name)
{
	AttrNumber	column = name == NULL ? primary_key_column(source) : get_attnum(source, name);
	Relation	relation;
	Oid			index;

	if (column <= 0)
		(void) relation_column(source, name, InvalidOid);	/* for its error */
	relation = relation_open(source, AccessShareLock);
	index = source_unique_index(relation, column);
	relation_close(relation, AccessShareLock);
	if (!OidIsValid(index))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("column \"%s\" of relation \"%s\" has no unique index",
						get_attname(source, column, false), get_rel_name(source)),
				 errhint("Create a unique index on the column alone.")));
	return column;
}

/* The path in an argument; 22023 if it has no steps but must have some. */
static DocPath *
path_argument(FunctionCallInfo fcinfo, int position, const char *name, bool may_be_empty)
{
	DocPath    *path;

	argument_check_given(fcinfo, position, name);
	path = path_from_array(PG_GETARG_ARRAYTYPE_P(position));
	if (path->nsteps == 0 && !may_be_empty)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must not be empty", name)));
	return path;
}

/*
 * What three arguments say: the relation, locked, its column, and the path of a
 * copy.
 */
void
reference_arguments(FunctionCallInfo fcinfo, Reference *reference, LOCKMODE lockmode)
{
	char	   *column;

	argument_check_given(fcinfo, 0, "relation");
	reference->relation = PG_GETARG_OID(0);
	column = argument_name(fcinfo, 1, "column_name");
	reference->path = path_argument(fcinfo, 2, "path", true);
	relation_lock_owned(reference->relation, lockmode, table_kinds);
	reference->column = relation_column(reference->relation, column, JSONBOID);
}

/* 42P16 if the source's rows may be gone, at the end of a session or after a crash, and documents not. */
static void
check_persistence(const Reference *reference)
{
	char		referring = get_rel_persistence(reference->relation);
	char		source = get_rel_persistence(reference->source);

	if (source != RELPERSISTENCE_PERMANENT && source != referring &&
		!(source == RELPERSISTENCE_UNLOGGED && referring == RELPERSISTENCE_TEMP))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("relation \"%s\" cannot refer to %s relation \"%s\"", get_rel_name(reference->relation),
						source == RELPERSISTENCE_TEMP ? "temporary" : "unlogged", get_rel_name(reference->source)),
				 errdetail("It may keep its documents for longer.")));
}

/* 42P16 for a permanent source of which a temporary relation's triggers would be. */
static void
check_follower(const Reference *reference)
{
	if ((reference->has_live || reference->on_delete != ON_DELETE_KEEP) &&
		get_rel_persistence(reference->relation) == RELPERSISTENCE_TEMP &&
		get_rel_persistence(reference->source) != RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("documents of temporary relation \"%s\" cannot follow relation \"%s\"",
						get_rel_name(reference->relation), get_rel_name(reference->source)),
				 errdetail("Other sessions, which change it, do not see them."),
				 errhint("Make all fields \"snapshot\", and on_delete \"keep\".")));
}

/* 428C9 or 0A000 for a generated column where a trigger cannot write, or read, it. */
static void
check_generated(const Reference *reference)
{
	const char	is_virtual = 'v';

	if (get_attgenerated(reference->relation, reference->column) != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_GENERATED_ALWAYS),
				 errmsg("column \"%s\" of relation \"%s\" is a generated column",
						get_attname(reference->relation, reference->column, false), get_rel_name(reference->relation)),
				 errdetail("A trigger cannot give it a value.")));
	for (int i = 0; i < reference->nfields; i++)
		if (get_attgenerated(reference->source, reference->fields[i].column) == is_virtual)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("column \"%s\" of relation \"%s\" is a virtual generated column",
							get_attname(reference->source, reference->fields[i].column, false), get_rel_name(reference->source)),
					 errdetail("Its values are not stored."),
					 errhint("Make it STORED.")));
}

/*
 * 22023 if a field of the copy would overwrite what another reference of the column
 * copies, or what it refers by: their triggers fire in the order of their making.
 */
static void
check_neighbours(const Reference *reference, const char *schema)
{
	ListCell   *cell;

	foreach(cell, references_of(reference->relation, schema))
	{
		const Reference *other = lfirst(cell);

		if (other->column != reference->column)
			continue;
		for (int i = 0; i < reference->nfields; i++)
		{
			const DocPath *target = reference->fields[i].target;

			if (paths_overlap(target, other->key))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("field \"%s\" would overwrite the reference at \"%s\"",
								path_to_cstring(target, target->nsteps), path_to_cstring(other->key, other->key->nsteps)),
						 errdetail("The extended reference at \"%s\" reads it before.", reference_describe(other)),
						 errhint("Create that extended reference after this one.")));
			for (int j = 0; j < other->nfields; j++)
				if (paths_overlap(target, other->fields[j].target))
					ereport(ERROR,
							(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							 errmsg("field \"%s\" would overwrite a copy", path_to_cstring(target, target->nsteps)),
							 errdetail("The extended reference at \"%s\" copies to \"%s\".", reference_describe(other),
									   path_to_cstring(other->fields[j].target, other->fields[j].target->nsteps))));
		}
	}
}

static void
check_not_cyclic(const Reference *reference, const char *schema)
{
	const ReferenceField *field = reference_cyclic_field(reference, schema);

	if (field == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("live field \"%s\" of relation \"%s\" would follow itself",
					path_to_cstring(field->target, field->target->nsteps), get_rel_name(reference->relation)),
			 errdetail("What it is copied from is a live copy of it, or holds one."),
			 errhint("Make one of the fields \"snapshot\", or copy it to another path.")));
}

/* Read the arguments of create_extended_reference, and check them. */
static void
read_definition(FunctionCallInfo fcinfo, Reference *reference)
{
	char	   *mode;

	reference_arguments(fcinfo, reference, ShareRowExclusiveLock);
	argument_check_given(fcinfo, 3, "source");
	reference->source = PG_GETARG_OID(3);
	reference->key = path_argument(fcinfo, 4, "key", false);
	argument_check_given(fcinfo, 5, "fields");
	mode = PG_ARGISNULL(6) ? "snapshot" : text_to_cstring(PG_GETARG_TEXT_PP(6));
	relation_lock_owned(reference->source, ShareRowExclusiveLock, table_kinds);
	reference->source_key = source_key_column(reference->source, PG_ARGISNULL(7) ? NULL : argument_name(fcinfo, 7, "source_key"));
	reference_parse_fields(reference, PG_GETARG_ARRAYTYPE_P(5), mode);
	reference->on_delete = !PG_ARGISNULL(8) ? on_delete_parse(text_to_cstring(PG_GETARG_TEXT_PP(8))) :
		reference->has_live ? ON_DELETE_RESTRICT : ON_DELETE_KEEP;
	reference->path_text = path_to_literal(reference->path);
	reference->key_text = path_to_literal(reference->key);
	check_persistence(reference);
	check_follower(reference);
	check_generated(reference);
	relation_check_trusted(reference->relation, reference->source);
	relation_check_trusted(reference->source, reference->relation);
}

/*
 * create_extended_reference(relation regclass, column_name name, path text[], source regclass, key text[],
 * fields text[], mode text, source_key name, on_delete text, if_not_exists boolean) → boolean
 */
Datum
pattern_create_extended_reference(PG_FUNCTION_ARGS)
{
	Reference	reference = {0};
	char	   *schema = extension_schema(fcinfo);
	bool		if_not_exists = argument_flag(fcinfo, 9);

	read_definition(fcinfo, &reference);
	if (reference_find(reference.relation, reference.column, reference.path, schema) != NULL)
	{
		ereport(if_not_exists ? NOTICE : ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("extended reference at \"%s\" of relation \"%s\" already exists%s",
						reference_describe(&reference), get_rel_name(reference.relation), if_not_exists ? ", skipping" : "")));
		PG_RETURN_BOOL(false);
	}
	check_neighbours(&reference, schema);
	check_not_cyclic(&reference, schema);
	reference.trigger = choose_trigger_name(reference.relation, reference.source);
	if (reference.has_live || reference.on_delete != ON_DELETE_KEEP)
	{
		create_key_index(&reference);
		create_source_triggers(&reference, schema);
	}
	create_copy_trigger(&reference, schema);
	PG_RETURN_BOOL(true);
}

/* Does a reference of another column have the same source, path and key? */
static bool
has_twin(const Reference *reference, const char *schema)
{
	ListCell   *cell;

	foreach(cell, references_of(reference->relation, schema))
	{
		const Reference *other = lfirst(cell);

		if (other->column != reference->column && other->source == reference->source &&
			paths_equal(other->path, reference->path) && paths_equal(other->key, reference->key))
			return true;
	}
	return false;
}

/* Drop the source's triggers for a reference; its name tells it from a twin. */
static void
drop_source_triggers(const Reference *reference, const char *schema)
{
	bool		by_name = has_twin(reference, schema);
	Oid			function = reference_function(schema, "extended_reference_follow");
	Relation	source = relation_open(reference->source, AccessShareLock);
	List	   *names = NIL;
	ListCell   *cell;

	for (int i = 0; source->trigdesc != NULL && i < source->trigdesc->numtriggers; i++)
	{
		Trigger    *trigger = &source->trigdesc->triggers[i];

		if (trigger->tgfoid == function && trigger->tgnargs == 2 &&
			strcmp(trigger->tgargs[0], reference->path_text) == 0 && strcmp(trigger->tgargs[1], reference->key_text) == 0 &&
			linitial_oid(trigger_targets(trigger, 1)) == reference->relation &&
			(!by_name || strncmp(trigger->tgname, reference->trigger, strlen(reference->trigger)) == 0))
			names = lappend(names, pstrdup(trigger->tgname));
	}
	relation_close(source, AccessShareLock);
	foreach(cell, names)
		spi_run(psprintf("DROP TRIGGER %s ON %s", quote_identifier(lfirst(cell)), relation_quoted_name(reference->source)));
}

/* Drop the index that was made for a reference, unless another one needs it. */
static void
drop_key_index(const Reference *reference, const char *schema)
{
	Oid			index = find_key_index(reference, index_name(reference));
	ListCell   *cell;

	if (!OidIsValid(index))
		return;
	foreach(cell, references_of(reference->relation, schema))
	{
		const Reference *other = lfirst(cell);

		if (other->column == reference->column && paths_equal(other->key, reference->key) &&
			(other->has_live || other->on_delete != ON_DELETE_KEEP))
			return;
	}
	spi_run(psprintf("DROP INDEX %s", relation_quoted_name(index)));
}

/* drop_extended_reference(relation regclass, column_name name, path text[], if_exists boolean) → boolean */
Datum
pattern_drop_extended_reference(PG_FUNCTION_ARGS)
{
	Reference	asked = {0};
	char	   *schema = extension_schema(fcinfo);
	bool		if_exists = argument_flag(fcinfo, 3);
	const Reference *reference;

	reference_arguments(fcinfo, &asked, AccessExclusiveLock);
	reference = reference_find(asked.relation, asked.column, asked.path, schema);
	if (reference == NULL)
	{
		reference_missing(&asked, if_exists ? NOTICE : ERROR);
		PG_RETURN_BOOL(false);
	}
	relation_lock_owned(reference->source, AccessExclusiveLock, table_kinds);
	drop_source_triggers(reference, schema);
	spi_run(psprintf("DROP TRIGGER %s ON %s", quote_identifier(reference->trigger), relation_quoted_name(reference->relation)));
	drop_key_index(reference, schema);
	PG_RETURN_BOOL(true);
}
