/*
 * patterns/subset_table.c
 *		Subset pattern: create_subset, a subset that follows a table.
 *
 * A subset is a computed field like any other: this file writes the view, which
 * belongs to the user and says it all, and hands it to the computed engine.
 *
 * Which of two children with equal sort keys comes first must not depend on where
 * they are stored, or the subset would differ from the view that defines it: the
 * order goes on with the other fields, one after the other.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pattern.h"

/* A subset as it is asked for. */
typedef struct Subset
{
	const char *schema;			/* the extension's */
	/* where it is kept */
	Oid			parent;
	const char *column;
	ArrayType  *within;			/* the path without its last step ... */
	char	   *name;			/* ... which is the name of the field */
	const char *parent_key;		/* NULL: the primary key */
	const char *mode;
	/* what it is made of */
	Oid			child;
	const char *key;
	int			nfields;
	char	  **fields;
	char	   *order_by;
	SortOrder  *order;
	int32		max_size;
} Subset;

PG_FUNCTION_INFO_V1(pattern_create_subset);

/* The texts of an array argument, of which none may be NULL.  22023, 22004 */
static char **
text_array(FunctionCallInfo fcinfo, int position, const char *name, int *n)
{
	ArrayType  *array;
	Datum	   *texts;
	bool	   *nulls;
	char	  **result;

	argument_check_given(fcinfo, position, name);
	array = PG_GETARG_ARRAYTYPE_P(position);
	if (ARR_NDIM(array) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"%s\" must be a list of at least one name", name)));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, n);
	result = palloc(*n * sizeof(char *));
	for (int i = 0; i < *n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument \"%s\" must not contain a null", name)));
		result[i] = TextDatumGetCString(texts[i]);
	}
	return result;
}

/* The last step of the path names a column of the view. */
static void
check_field_name(const char *name)
{
	if (*name == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("argument \"path\" has a step with an empty name")));
	if (strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the name of a subset must be shorter than %d bytes", NAMEDATALEN),
				 errdetail("It is \"%s\".", text_for_message(name, strlen(name)))));
}

static void
read_path(FunctionCallInfo fcinfo, int position, Subset *subset)
{
	int			nsteps;
	char	  **steps = text_array(fcinfo, position, "path", &nsteps);
	Datum	   *within = palloc(nsteps * sizeof(Datum));

	for (int i = 0; i < nsteps - 1; i++)
		within[i] = CStringGetTextDatum(steps[i]);
	subset->within = construct_array(within, nsteps - 1, TEXTOID, -1, false, TYPALIGN_INT);
	subset->name = steps[nsteps - 1];
	check_field_name(subset->name);
}

/* 42703 for a field that the child does not have, 22023 for one that is named twice. */
static void
check_fields(const Subset *subset)
{
	for (int i = 0; i < subset->nfields; i++)
	{
		const char *field = subset->fields[i];

		if (get_attnum(subset->child, field) <= InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of relation \"%s\" does not exist",
							text_for_message(field, strlen(field)), get_rel_name(subset->child))));
		for (int j = 0; j < i; j++)
			if (strcmp(subset->fields[j], field) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("argument \"fields\" has \"%s\" twice", field)));
	}
}

static bool
step_is(const PathStep *step, const char *name)
{
	return key_compare(step->name, step->len, name, strlen(name)) == 0;
}

static bool
has_field(const Subset *subset, const PathStep *step)
{
	for (int i = 0; i < subset->nfields; i++)
		if (step_is(step, subset->fields[i]))
			return true;
	return false;
}

/* 22023 unless there is an order, by fields that the subset has. */
static void
check_order(const Subset *subset)
{
	if (subset->order->nkeys == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"order_by\" must name a field"),
				 errdetail("The rows of a table have no order of their own.")));
	for (int i = 0; i < subset->order->nkeys; i++)
	{
		const PathStep *step = &subset->order->keys[i].path->steps[0];

		if (!has_field(subset, step))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("the subset is ordered by \"%s\", which is not among its fields",
							text_for_message(step->name, step->len)),
					 errhint("Add it to the argument \"fields\".")));
	}
}

static void
check_key(const Subset *subset)
{
	if (get_attnum(subset->child, subset->key) <= InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist", subset->key,
						get_rel_name(subset->child))));
}

/* Read, lock and check what is asked for; the parent is locked by the engine, like the child. */
static void
read_arguments(FunctionCallInfo fcinfo, Subset *subset)
{
	static const char parents[] = {RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, '\0'};

	argument_check_given(fcinfo, 0, "parent");
	subset->schema = extension_schema(fcinfo);
	subset->parent = PG_GETARG_OID(0);
	subset->column = argument_name(fcinfo, 1, "column_name");
	read_path(fcinfo, 2, subset);
	argument_check_given(fcinfo, 3, "child");
	subset->child = PG_GETARG_OID(3);
	subset->key = argument_name(fcinfo, 4, "key");
	subset->fields = text_array(fcinfo, 5, "fields", &subset->nfields);
	subset->order_by = argument_text(fcinfo, 6, "order_by");
	subset->order = sort_order_parse(subset->order_by);
	argument_check_given(fcinfo, 7, "max_size");
	subset->max_size = PG_GETARG_INT32(7);
	argument_check_least("max_size", subset->max_size, 1);
	subset->parent_key = PG_ARGISNULL(8) ? NULL : argument_name(fcinfo, 8, "parent_key");
	subset->mode = PG_ARGISNULL(9) ? "immediate" : argument_text(fcinfo, 9, "mode");

	relation_lock_owned(subset->parent, ShareRowExclusiveLock, parents);
	(void) relation_column(subset->parent, subset->column, JSONBOID);
	relation_lock_owned(subset->child, ShareRowExclusiveLock, parents);
	check_key(subset);
	check_fields(subset);
	check_order(subset);
}

/* Is the order by this field itself, at some place? */
static bool
ordered_by(const Subset *subset, const char *field)
{
	for (int i = 0; i < subset->order->nkeys; i++)
	{
		const DocPath *path = subset->order->keys[i].path;

		if (path->nsteps == 1 && step_is(&path->steps[0], field))
			return true;
	}
	return false;
}

/* The order, going on with the fields that it does not name; palloc'd. */
static char *
total_order(const Subset *subset)
{
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfoString(&buf, subset->order_by);
	for (int i = 0; i < subset->nfields; i++)
	{
		if (ordered_by(subset, subset->fields[i]))
			continue;
		appendStringInfoString(&buf, ", \"");
		for (const char *c = subset->fields[i]; *c != '\0'; c++)
		{
			if (*c == '"')
				appendStringInfoChar(&buf, '"');
			appendStringInfoChar(&buf, *c);
		}
		appendStringInfoChar(&buf, '"');
	}
	return buf.data;
}

/* What the key is called in the view; it must not be the field's name. */
static const char *
key_name(const Subset *subset)
{
	if (strcmp(subset->key, subset->name) != 0)
		return subset->key;
	return strcmp(subset->key, "key") != 0 ? "key" : "parent_key";
}

/* The CREATE VIEW; view is its quoted name. */
static char *
view_definition(const Subset *subset, const char *view)
{
	StringInfoData buf;
	const char *key = quote_identifier(subset->key);

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE VIEW %s AS SELECT child.%s AS %s, ", view, key,
					 quote_identifier(key_name(subset)));
	appendStringInfo(&buf, "%s(pg_catalog.jsonb_build_object(",
					 quote_qualified_identifier(subset->schema, "subset_agg"));
	for (int i = 0; i < subset->nfields; i++)
		appendStringInfo(&buf, "%s%s, child.%s", i == 0 ? "" : ", ",
						 quote_literal_cstr(subset->fields[i]), quote_identifier(subset->fields[i]));
	appendStringInfo(&buf, "), %d, %s) AS %s FROM %s AS child GROUP BY child.%s", subset->max_size,
					 quote_literal_cstr(total_order(subset)), quote_identifier(subset->name),
					 relation_quoted_name(subset->child), key);
	return buf.data;
}

/*
 * Create the view, beside the parent and owned by whom the child belongs to, so
 * that an administrator can do this for him.
 */
static Oid
create_view(const Subset *subset)
{
	Oid			namespace = get_rel_namespace(subset->parent);
	char	   *name = ChooseRelationName(get_rel_name(subset->parent), subset->name, "subset",
										  namespace, false);
	char	   *view = quote_qualified_identifier(get_namespace_name(namespace), name);
	Oid			owner = relation_owner(subset->child);

	spi_run(view_definition(subset, view));
	if (owner != GetUserId())
		spi_run(psprintf("ALTER VIEW %s OWNER TO %s", view,
						 quote_identifier(GetUserNameFromId(owner, false))));
	return get_relname_relid(name, namespace);
}

/* The column that the order begins with; invalid if it is by something inside of one. */
static AttrNumber
first_order_column(const Subset *subset)
{
	const DocPath *path = subset->order->keys[0].path;

	if (path->nsteps > 1)
		return InvalidAttrNumber;
	return get_attnum(subset->child, pnstrdup(path->steps[0].name, path->steps[0].len));
}

/* The index to have for the order by a column, as SQL. */
static char *
index_definition(const Subset *subset, AttrNumber column)
{
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(subset->child, column, &type, &typmod, &collation);
	return psprintf("CREATE INDEX ON %s (%s, %s%s%s)", relation_quoted_name(subset->child),
					quote_identifier(subset->key), quote_identifier(get_attname(subset->child, column, false)),
					OidIsValid(collation) && !computed_is_c_collation(collation) ? " COLLATE \"C\"" : "",
					subset->order->keys[0].descending ? " DESC" : "");
}

/* Say so when the loss of a child makes the engine read all others of its parent. */
static void
note_missing_index(const Subset *subset)
{
	AttrNumber	key = get_attnum(subset->child, subset->key);
	AttrNumber	column = first_order_column(subset);
	bool		sorts = column > 0 && computed_sorts_alike(get_atttype(subset->child, column));
	Oid			collation;

	if (sorts && computed_order_index(subset->child, key, column, &collation))
		return;
	ereport(NOTICE,
			(errmsg("relation \"%s\" has no index on \"%s\" and the order of the subset",
					get_rel_name(subset->child), subset->key),
			 errdetail("When a child leaves the subset, all children of its parent are read to find the next one."),
			 sorts ? errhint("To have one, run: %s.", index_definition(subset, column)) :
			 errhint("To be looked up in an index, an order must begin with a column of numbers, texts, dates or times.")));
}

/*
 * create_subset(parent regclass, column_name name, path text[], child regclass, key name,
 * fields text[], order_by text, max_size integer, parent_key name, mode text) → boolean
 */
Datum
pattern_create_subset(PG_FUNCTION_ARGS)
{
	Subset		subset = {0};
	Oid			view;
	bool		created;

	read_arguments(fcinfo, &subset);
	note_missing_index(&subset);
	view = create_view(&subset);
	created = computed_create(subset.parent, subset.column, view, key_name(&subset), subset.within,
							  subset.parent_key, subset.mode, true);
	ereport(NOTICE,
			(errmsg("subset \"%s\" of relation \"%s\" is defined by the view \"%s\"", subset.name,
					get_rel_name(subset.parent), get_rel_name(view))));
	PG_RETURN_BOOL(created);
}
