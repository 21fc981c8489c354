/*
 * patterns/computed_ddl.c
 *		Computed pattern: create_computed.
 *
 * A definition is kept by triggers.  On the base table, for each row, three that
 * never fire but look at rows (see computed_collect); for TRUNCATE one, on
 * each partition too, which also holds the mode, the view's digest and the path.
 * On the parent one, whose name lets it come after those of the user's.
 *
 * Tables are locked in the order in which writers lock them: base, then parent.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "computed.h"

/* A definition as it is asked for, or as it is to be made again. */
typedef struct Request
{
	const char *schema;			/* the extension's */
	Oid			view;
	Oid			parent;
	ViewDefinition definition;
	const char *column;
	const char *key_column;		/* of the parent */
	const char *mode;
	int			nsteps;
	char	  **steps;			/* of the path */
	Oid			queue;			/* invalid: none */
} Request;

PG_FUNCTION_INFO_V1(pattern_create_computed);

static const char tables[] = {RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, '\0'};

/*
 * The triggers
 */

/* A name that no trigger of the table has. */
static char *
choose_trigger_name(Oid relid, const char *prefix, Oid view, const char *label)
{
	Relation	relation = table_open(relid, NoLock);
	char	   *name = NULL;

	for (int i = 0;; i++)
	{
		char	   *suffix = i == 0 ? pstrdup(label) : psprintf("%s%d", label, i);
		bool		taken = false;

		name = makeObjectName(prefix, get_rel_name(view), suffix);
		for (int j = 0; relation->trigdesc != NULL && j < relation->trigdesc->numtriggers; j++)
			taken = taken || strcmp(relation->trigdesc->triggers[j].tgname, name) == 0;
		if (!taken)
			break;
	}
	table_close(relation, NoLock);
	return name;
}

/* The columns that the view uses, of OLD or NEW. */
static void
append_columns(StringInfo buf, const ViewDefinition *view, const char *row)
{
	ListCell   *cell;

	foreach(cell, view->columns)
		appendStringInfo(buf, ", %s.%s", row, quote_identifier(get_attname(view->base, lfirst_int(cell), false)));
}

/* A trigger that looks at rows. */
static void
create_row_trigger(const Request *request, const char *event, const char *function, bool has_old, bool has_new)
{
	StringInfoData buf;
	Oid			base = request->definition.base;
	char	   *name = choose_trigger_name(base, "computed", request->view, function + strlen("computed_"));

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE TRIGGER %s AFTER %s ON %s FOR EACH ROW WHEN (%s(%s.tableoid, %s::pg_catalog.regclass, %s::pg_catalog.regclass",
					 quote_identifier(name), event, relation_quoted_name(base),
					 quote_qualified_identifier(request->schema, function), has_new ? "NEW" : "OLD",
					 quote_literal_cstr(relation_quoted_name(request->view)),
					 quote_literal_cstr(relation_quoted_name(request->parent)));
	if (has_old && has_new)
		appendStringInfoString(&buf, ", OLD.tableoid");
	if (has_old)
		append_columns(&buf, &request->definition, "OLD");
	if (has_new)
		append_columns(&buf, &request->definition, "NEW");
	appendStringInfo(&buf, ")) EXECUTE FUNCTION %s()", quote_qualified_identifier(request->schema, "computed_row"));
	spi_run(buf.data);
}

/* The trigger of TRUNCATE, on the base table or on a partition. */
static void
create_truncate_trigger(const Request *request, Oid relid)
{
	StringInfoData buf;
	List	   *targets = list_make2_oid(request->view, request->parent);
	char	   *name = choose_trigger_name(relid, "computed", request->view, "flush");

	if (OidIsValid(request->queue))
		targets = lappend_oid(targets, request->queue);
	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE TRIGGER %s BEFORE TRUNCATE ON %s FOR EACH STATEMENT WHEN (%s) EXECUTE FUNCTION %s(%s, %s",
					 quote_identifier(name), relation_quoted_name(relid),
					 trigger_target_call(request->schema, targets),
					 quote_qualified_identifier(request->schema, "computed_flush"),
					 quote_literal_cstr(request->mode), quote_literal_cstr(request->definition.digest));
	for (int i = 0; i < request->nsteps; i++)
		appendStringInfo(&buf, ", %s", quote_literal_cstr(request->steps[i]));
	appendStringInfoChar(&buf, ')');
	spi_run(buf.data);
}

static void
create_base_triggers(const Request *request)
{
	ListCell   *cell;

	create_row_trigger(request, "INSERT", "computed_added", false, true);
	create_row_trigger(request, "DELETE", "computed_removed", true, false);
	create_row_trigger(request, "UPDATE", "computed_changed", true, true);
	foreach(cell, find_all_inheritors(request->definition.base, ShareRowExclusiveLock, NULL))
		create_truncate_trigger(request, lfirst_oid(cell));
}

static void
create_parent_trigger(const Request *request)
{
	char	   *name = choose_trigger_name(request->parent, "zz_computed", request->view, "parent");

	spi_run(psprintf("CREATE TRIGGER %s BEFORE INSERT OR UPDATE OF %s, %s ON %s FOR EACH ROW WHEN (%s) EXECUTE FUNCTION %s()",
					 quote_identifier(name), quote_identifier(request->column), quote_identifier(request->key_column),
					 relation_quoted_name(request->parent),
					 trigger_target_call(request->schema, list_make1_oid(request->view)),
					 quote_qualified_identifier(request->schema, "computed_parent")));
}

/*
 * Checks
 */

/* The views that are kept in documents of a table, in the order of its triggers' names. */
List *
parent_views(Oid parent)
{
	Relation	relation = table_open(parent, AccessShareLock);
	TriggerDesc *triggers = relation->trigdesc;
	List	   *result = NIL;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		Trigger    *trigger = &triggers->triggers[i];

		if (is_our_trigger(trigger, "pattern_computed_parent") && trigger->tgqual != NULL && !trigger->tgisclone)
			result = lappend_oid(result, linitial_oid(trigger_targets(trigger, 1)));
	}
	table_close(relation, AccessShareLock);
	return result;
}

/* Does one of the fields of a definition, at a path of nsteps steps, lie on a longer path? */
static bool
field_is_step(const ViewDefinition *view, const char *step, int len)
{
	for (int i = 0; i < view->nfields; i++)
		if (key_compare(view->fields[i].name, view->fields[i].len, step, len) == 0)
			return true;
	return false;
}

/* A name of a field that both would write; NULL if there is none. */
static const char *
common_field(const Request *request, const Definition *other)
{
	int			n = Min(request->nsteps, other->path->nsteps);

	for (int i = 0; i < n; i++)
		if (key_compare(request->steps[i], strlen(request->steps[i]),
						other->path->steps[i].name, other->path->steps[i].len) != 0)
			return NULL;
	if (request->nsteps > n)
		return field_is_step(&other->view, request->steps[n], strlen(request->steps[n])) ? request->steps[n] : NULL;
	for (int i = 0; i < request->definition.nfields; i++)
	{
		const FieldSpec *field = &request->definition.fields[i];
		bool		is_common = other->path->nsteps > n ?
			key_compare(field->name, field->len, other->path->steps[n].name, other->path->steps[n].len) == 0 :
			field_is_step(&other->view, field->name, field->len);

		if (is_common)
			return field->name;
	}
	return NULL;
}

/* 42710 if the view is kept already, or another one has its fields. */
static void
check_new(const Request *request)
{
	AttrNumber	column = get_attnum(request->parent, request->column);
	ListCell   *cell;

	foreach(cell, parent_views(request->parent))
	{
		const Definition *other;
		const char *field;

		if (lfirst_oid(cell) == request->view)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("view \"%s\" is already kept in documents of relation \"%s\"",
							get_rel_name(request->view), get_rel_name(request->parent))));
		other = definition_get(lfirst_oid(cell), request->parent);
		if (other->doc_column != column)
			continue;
		field = common_field(request, other);
		if (field != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("field \"%s\" of column \"%s\" of relation \"%s\" is already kept by view \"%s\"",
							field, request->column, get_rel_name(request->parent), get_rel_name(lfirst_oid(cell))),
					 errhint("Give the column of the view another name, or choose another path.")));
	}
}

static const char *
check_mode(const char *mode)
{
	if (strcmp(mode, "immediate") != 0 && strcmp(mode, "deferred") != 0 && strcmp(mode, "queued") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized mode: \"%s\"", text_for_message(mode, strlen(mode))),
				 errhint("The modes are \"immediate\", \"deferred\" and \"queued\".")));
	return mode;
}

static void
read_path(Request *request, ArrayType *path)
{
	Datum	   *steps;
	bool	   *nulls;

	if (ARR_NDIM(path) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("wrong number of array subscripts")));
	deconstruct_array(path, TEXTOID, -1, false, TYPALIGN_INT, &steps, &nulls, &request->nsteps);
	(void) path_from_texts(steps, nulls, request->nsteps);	/* for its checks */
	request->steps = palloc(Max(request->nsteps, 1) * sizeof(char *));
	for (int i = 0; i < request->nsteps; i++)
		request->steps[i] = TextDatumGetCString(steps[i]);
}

/* The column that is the primary key. */
static const char *
primary_key(Oid parent)
{
	Relation	relation = table_open(parent, NoLock);
	Oid			index = (RelationGetIndexList(relation), relation->rd_pkindex);
	HeapTuple	tuple = OidIsValid(index) ? SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index)) : NULL;
	AttrNumber	column = InvalidAttrNumber;

	table_close(relation, NoLock);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);

		if (form->indnkeyatts == 1)
			column = form->indkey.values[0];
		ReleaseSysCache(tuple);
	}
	if (column == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("relation \"%s\" has no primary key of one column", get_rel_name(parent)),
				 errhint("Name a column with a unique index in the argument \"parent_key\".")));
	return get_attname(parent, column, false);
}

/* 42703 or 42704 unless a parent can be found by the column. */
static void
check_key_column(const Request *request)
{
	AttrNumber	number = get_attnum(request->parent, request->key_column);
	Relation	relation;
	Oid			index;

	if (number <= InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", request->key_column,
						get_rel_name(request->parent))));
	relation = table_open(request->parent, NoLock);
	index = parent_key_index(relation, number);
	table_close(relation, NoLock);
	if (!OidIsValid(index))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("column \"%s\" of relation \"%s\" has no unique index of its own", request->key_column,
						get_rel_name(request->parent)),
				 errhint("Run: CREATE UNIQUE INDEX ON %s (%s).", relation_quoted_name(request->parent),
						 quote_identifier(request->key_column))));
}

/* The table that keeps the keys that wait; beside the parent and its owner's. */
static Oid
create_queue(const Request *request)
{
	Oid			namespace = get_rel_namespace(request->parent);
	char	   *name = ChooseRelationName(get_rel_name(request->parent), get_rel_name(request->view), "queue",
										  namespace, false);
	char	   *table = quote_qualified_identifier(get_namespace_name(namespace), name);
	Oid			owner = relation_owner(request->parent);
	Oid			type = definition_key_type(request->definition.key_type,
										   get_atttype(request->parent, get_attnum(request->parent, request->key_column)));

	spi_run(psprintf("CREATE TABLE %s (key %s)", table, type_name(OidIsValid(type) ? type : request->definition.key_type)));
	/* rows are deleted from it, which a publication of all tables would refuse */
	spi_run(psprintf("ALTER TABLE %s REPLICA IDENTITY FULL", table));
	if (owner != GetUserId())
		spi_run(psprintf("ALTER TABLE %s OWNER TO %s", table, quote_identifier(GetUserNameFromId(owner, false))));
	return get_relname_relid(name, namespace);
}

/*
 * Keeps a view in documents; see create_computed.  Returns true.
 */
bool
computed_create(Oid relation, const char *column, Oid source, const char *key, ArrayType *path,
				const char *parent_key, const char *mode, bool populate)
{
	static const char views[] = {RELKIND_VIEW, '\0'};
	Request		request = {0};
	Definition *definition;

	request.schema = extension_own_schema();
	request.parent = relation;
	request.view = source;
	request.column = column;
	request.mode = check_mode(mode);
	read_path(&request, path);
	relation_lock_owned(source, AccessShareLock, views);
	view_read(source, key, &request.definition);
	relation_lock_owned(request.definition.base, ShareRowExclusiveLock, tables);
	relation_lock_owned(relation, ShareRowExclusiveLock, tables);
	(void) relation_column(relation, column, JSONBOID);
	request.key_column = parent_key != NULL ? parent_key : primary_key(relation);
	check_key_column(&request);
	check_new(&request);
	if (strcmp(request.mode, "queued") == 0)
		request.queue = create_queue(&request);
	create_base_triggers(&request);
	create_parent_trigger(&request);
	CommandCounterIncrement();
	definition = definition_get(source, relation);
	if (populate)
		(void) definition_refresh(definition, NULL, true);
	else
	{
		GroupResult none;

		/* an error of what is over no rows shows here, not when the last row goes */
		group_recompute(definition, (Datum) 0, true, &none);
	}
	return true;
}

/* create_computed(relation regclass, column_name name, source regclass, key name, path text[], parent_key name, mode text, populate boolean) → boolean */
Datum
pattern_create_computed(PG_FUNCTION_ARGS)
{
	argument_check_given(fcinfo, 0, "relation");
	argument_check_given(fcinfo, 2, "source");
	argument_check_given(fcinfo, 4, "path");
	PG_RETURN_BOOL(computed_create(PG_GETARG_OID(0), argument_name(fcinfo, 1, "column_name"), PG_GETARG_OID(2),
								   argument_name(fcinfo, 3, "key"), PG_GETARG_ARRAYTYPE_P(4),
								   PG_ARGISNULL(5) ? NULL : argument_name(fcinfo, 5, "parent_key"),
								   PG_ARGISNULL(6) ? "immediate" : argument_text(fcinfo, 6, "mode"),
								   PG_ARGISNULL(7) || PG_GETARG_BOOL(7)));
}

/* Make the triggers for what the view says now, if that is another; were they made? */
bool
computed_restamp(Oid parent, Oid view)
{
	Request		request = {0};
	Relation	base;
	Trigger    *trigger;

	request.schema = extension_own_schema();
	request.view = view;
	request.parent = parent;
	view_read(view, NULL, &request.definition);
	base = table_open(request.definition.base, AccessShareLock);
	trigger = definition_trigger(base, view, parent);
	if (trigger == NULL || strcmp(trigger->tgargs[1], request.definition.digest) == 0)
	{
		table_close(base, AccessShareLock);
		return false;
	}
	request.mode = pstrdup(trigger->tgargs[0]);
	request.nsteps = trigger->tgnargs - 2;
	request.steps = palloc(Max(request.nsteps, 1) * sizeof(char *));
	for (int i = 0; i < request.nsteps; i++)
		request.steps[i] = pstrdup(trigger->tgargs[i + 2]);
	if (flush_targets(trigger) == 3)
		request.queue = lthird_oid(trigger_targets(trigger, 3));
	table_close(base, AccessShareLock);
	relation_lock_owned(request.definition.base, ShareRowExclusiveLock, tables);
	computed_drop_triggers(request.definition.base, view, parent);
	create_base_triggers(&request);
	CommandCounterIncrement();
	return true;
}
