/*
 * patterns/polymorphic_view.c
 *		Polymorphic pattern: the views of variants.
 *
 * A view has the columns of the primary key and one for each property of the
 * variant's schema, of the type that the schema says.  A column of a number or
 * a boolean is NULL where the document has another type there, so that no row
 * of another variant, whichever condition is looked at first, makes a query
 * fail.  The view runs with the rights of who reads it: it shows no row that
 * the table would not.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "nodes/primnodes.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "document/match.h"
#include "document/validate.h"
#include "polymorphic.h"

/* A column of a view. */
typedef struct ViewColumn
{
	char	   *name;
	Oid			type;
	char	   *expression;
} ViewColumn;

/* Is the node this column, or what a domain makes of it? */
bool
node_is_column(const Node *node, AttrNumber number)
{
	if (IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	if (IsA(node, CoerceToDomain))
		node = (const Node *) ((const CoerceToDomain *) node)->arg;
	return IsA(node, Var) && ((const Var *) node)->varattno == number;
}

/* A text that is a constant; NULL if it is none. */
static char *
constant_text(const Node *node)
{
	const Const *constant = (const Const *) node;

	if (!IsA(node, Const) || constant->constisnull || constant->consttype != TEXTOID)
		return NULL;
	return TextDatumGetCString(constant->constvalue);
}

/* Is the node column ->> 'field'?  Then *field is set; palloc'd. */
bool
node_is_text_at(const Node *node, AttrNumber number, char **field)
{
	const OpExpr *op = (const OpExpr *) node;

	if (!IsA(node, OpExpr) || list_length(op->args) != 2 ||
		get_opcode(op->opno) != F_JSONB_OBJECT_FIELD_TEXT || !node_is_column(linitial(op->args), number))
		return false;
	*field = constant_text(lsecond(op->args));
	return *field != NULL;
}

/* Is the node a call of pattern_target? */
static bool
is_mark(const Node *node)
{
	return IsA(node, FuncExpr) && function_is(((const FuncExpr *) node)->funcid, "pattern_target");
}

/* The variant that a view of ours shows; NULL if it is another view. */
static char *
view_variant(const Polymorphic *polymorphic, Oid relid)
{
	Relation	view = try_relation_open(relid, AccessShareLock);
	Query	   *query;
	const BoolExpr *where;
	char	   *variant = NULL;
	char	   *field;

	if (view == NULL)
		return NULL;
	if (view->rd_rel->relkind == RELKIND_VIEW)
	{
		query = get_view_query(view);
		where = query->jointree != NULL ? (const BoolExpr *) query->jointree->quals : NULL;
		if (where != NULL && IsA(where, BoolExpr) && where->boolop == AND_EXPR &&
			list_length(where->args) == 2 && is_mark(linitial(where->args)) && IsA(lsecond(where->args), OpExpr))
		{
			const OpExpr *equals = lsecond(where->args);

			if (get_opcode(equals->opno) == F_TEXTEQ &&
				node_is_text_at(linitial(equals->args), polymorphic->number, &field) &&
				strcmp(field, polymorphic->discriminator) == 0)
				variant = constant_text(lsecond(equals->args));
		}
	}
	relation_close(view, NoLock);
	return variant;
}

/* The OIDs of our views of a variant, or of all variants for NULL. */
List *
variant_views(const Polymorphic *polymorphic, const char *variant)
{
	List	   *views = NIL;
	ListCell   *cell;

	foreach(cell, relation_views(polymorphic->relid))
	{
		char	   *found = view_variant(polymorphic, lfirst_oid(cell));

		if (found != NULL && (variant == NULL || strcmp(found, variant) == 0))
			views = lappend_oid(views, lfirst_oid(cell));
	}
	return views;
}

/* The types, as bits of validate.h, that values of a property may have. */
static uint32
property_types(const Schema *schema)
{
	uint32		types = 0;

	if (schema == NULL)
		return 0;
	if (schema->types != 0)
		return schema->types;
	for (uint32 i = 0; i < schema->nenum; i++)
		types |= 1 << value_rank(&schema->enum_values[i]);
	return types;
}

/* The type of a column with such values, null aside: jsonb unless they are all of one kind. */
static Oid
column_type(uint32 types)
{
	const uint32 whole = MATCH_TYPE_INT | MATCH_TYPE_LONG;

	types &= ~(MATCH_TYPE_NONE | 1 << 0);
	switch (types)
	{
		case 1 << 2:
			return TEXTOID;
		case 1 << 5:
			return BOOLOID;
		case MATCH_TYPE_INT:
			return INT4OID;
		case MATCH_TYPE_DOUBLE:
			return FLOAT8OID;
		case 0:
			return JSONBOID;
	}
	if ((types & ~whole) == 0)
		return INT8OID;
	return (types & ~(whole | MATCH_TYPE_DOUBLE | 1 << 1)) == 0 ? NUMERICOID : JSONBOID;
}

/* The numbers, as JSON, that the type of whole numbers holds; false for other types. */
static bool
type_range(Oid type, const char **least, const char **greatest)
{
	switch (type)
	{
		case INT4OID:
			*least = "-2147483648";
			*greatest = "2147483647";
			return true;
		case INT8OID:
			*least = "-9223372036854775808";
			*greatest = "9223372036854775807";
			return true;
		default:
			return false;
	}
}

/*
 * What the column of a property is made of.  What its type does not hold is NULL:
 * a document of another variant may have it, and one from before the schema.  No
 * value of another type lies between two numbers.
 */
static char *
column_expression(const Polymorphic *polymorphic, const char *name, Oid type)
{
	const char *column = quote_identifier(polymorphic->column);
	char	   *field = quote_literal_cstr(name);
	char	   *value = psprintf("(%s OPERATOR(pg_catalog.->) %s)", column, field);
	char	   *type_name = format_type_extended(type, -1, FORMAT_TYPE_FORCE_QUALIFY);
	const char *least,
			   *greatest;

	if (type == JSONBOID)
		return value;
	if (type == TEXTOID)
		return psprintf("(%s OPERATOR(pg_catalog.->>) %s)", column, field);
	/* a cast would fail for what is too large or too small */
	if (type == FLOAT8OID)
		return psprintf("pg_catalog.jsonb_path_query_first(%s, 'strict $ ? (@.type() == \"number\").double()', silent => true)::%s",
						value, type_name);
	/* not numeric's text: what is whole may be written 5.0 */
	if (!type_range(type, &least, &greatest))
		return psprintf("CASE pg_catalog.jsonb_typeof(%s) WHEN '%s' THEN %s::%s END",
						value, type == BOOLOID ? "boolean" : "number", value, type_name);
	return psprintf("CASE WHEN %s OPERATOR(pg_catalog.>=) '%s' AND %s OPERATOR(pg_catalog.<=) '%s' THEN %s::%s END",
					value, least, value, greatest, value, type_name);
}

/* 22023 for a property that cannot be the name of a column. */
static void
check_column_name(const char *name, int len)
{
	if (len == 0 || len >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("property \"%s\" cannot be a column of a view", text_for_message(name, len)),
				 errdetail("A name of a column has 1 to %d bytes.", NAMEDATALEN - 1),
				 errhint("Register the variant without a view.")));
}

static ViewColumn *
find_column(List *columns, const char *name)
{
	ListCell   *cell;

	foreach(cell, columns)
		if (strcmp(((ViewColumn *) lfirst(cell))->name, name) == 0)
			return lfirst(cell);
	return NULL;
}

static List *
add_column(List *columns, char *name, Oid type, char *expression)
{
	ViewColumn *column = palloc(sizeof(ViewColumn));

	column->name = name;
	column->type = type;
	column->expression = expression;
	return lappend(columns, column);
}

/* A column for each property of the schema. */
static List *
property_columns(const Polymorphic *polymorphic, const JsonbValue *source)
{
	const Schema *schema = schema_compile(source);
	List	   *columns = NIL;

	for (uint32 i = 0; i < schema->nfields; i++)
	{
		const SchemaField *field = &schema->fields[i];
		Oid			type = column_type(property_types(field->schema));
		char	   *name = pnstrdup(field->name, field->len);

		check_column_name(field->name, field->len);
		columns = add_column(columns, name, type, column_expression(polymorphic, name, type));
	}
	return columns;
}

/* The columns of the primary key, but for those that a property has the name of. */
static List *
key_columns(Oid relid, List *properties)
{
	Relation	relation = relation_open(relid, NoLock);
	List	   *columns = NIL;
	Oid			index;

	(void) RelationGetIndexList(relation);	/* for rd_pkindex */
	index = relation->rd_pkindex;
	if (OidIsValid(index))
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
		Form_pg_index form = (Form_pg_index) GETSTRUCT(tuple);

		for (int i = 0; i < form->indnkeyatts; i++)
		{
			Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), form->indkey.values[i] - 1);
			char	   *name = pstrdup(NameStr(attribute->attname));

			if (find_column(properties, name) == NULL)
				columns = add_column(columns, name, attribute->atttypid, pstrdup(quote_identifier(name)));
		}
		ReleaseSysCache(tuple);
	}
	relation_close(relation, NoLock);
	return columns;
}

/*
 * Put the columns in the order that an old view has them in, so that it can be
 * replaced and keeps its grants; false if it has one that there is no more.
 */
static bool
order_as_view(Oid view, List **columns)
{
	Relation	relation = relation_open(view, AccessShareLock);
	TupleDesc	descriptor = RelationGetDescr(relation);
	List	   *ordered = NIL;
	bool		complete = true;

	for (int i = 0; i < descriptor->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
		ViewColumn *column = find_column(*columns, NameStr(attribute->attname));

		if (column == NULL || column->type != attribute->atttypid)
			complete = false;
		else
			ordered = lappend(ordered, column);
	}
	relation_close(relation, NoLock);
	if (complete)
		*columns = list_concat_unique_ptr(ordered, *columns);
	return complete;
}

/*
 * Create a view of a variant, in the table's schema if a name is given.  old is
 * the view that shows it so far, or InvalidOid; it is replaced if only columns are
 * added and the name, which it keeps for NULL, stays, else dropped.
 */
void
variant_view_create(const Polymorphic *polymorphic, const char *variant, const JsonbValue *schema,
					const char *name, Oid old)
{
	char	   *qualified = name == NULL ? relation_quoted_name(old) :
		quote_qualified_identifier(get_namespace_name(get_rel_namespace(polymorphic->relid)), name);
	List	   *properties = property_columns(polymorphic, schema);
	List	   *columns = list_concat(key_columns(polymorphic->relid, properties), properties);
	bool		replace = false;
	StringInfoData sql;
	ListCell   *cell;

	if (OidIsValid(old))
	{
		replace = strcmp(relation_quoted_name(old), qualified) == 0 && order_as_view(old, &columns);
		if (!replace)
			variant_views_drop(list_make1_oid(old));
	}
	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE %sVIEW %s WITH (security_invoker = true) AS SELECT ", replace ? "OR REPLACE " : "", qualified);
	foreach(cell, columns)
	{
		const ViewColumn *column = lfirst(cell);

		appendStringInfo(&sql, "%s%s AS %s", cell == list_head(columns) ? "" : ", ",
						 column->expression, quote_identifier(column->name));
	}
	appendStringInfo(&sql, " FROM %s WHERE %s AND (%s OPERATOR(pg_catalog.->>) %s) OPERATOR(pg_catalog.=) %s",
					 relation_quoted_name(polymorphic->relid),
					 trigger_target_call(polymorphic->extension, list_make1_oid(polymorphic->relid)),
					 quote_identifier(polymorphic->column), quote_literal_cstr(polymorphic->discriminator),
					 quote_literal_cstr(variant));
	spi_run(sql.data);
}

/* Drop views, a list of OIDs. */
void
variant_views_drop(List *views)
{
	ListCell   *cell;

	foreach(cell, views)
		spi_run(psprintf("DROP VIEW %s", relation_quoted_name(lfirst_oid(cell))));
}
