/*
 * patterns/attribute_ddl.c
 *		Attribute pattern: create_attribute_index and drop_attribute_index.
 *
 * An attribute index is an ordinary index, and beside it an ordinary statistics
 * object on attribute_terms(column, path, key, value), on the table and on each
 * of its partitions.  Nothing else is stored: both are found again by what they
 * are, so that they may also be made, renamed and dropped by hand.  The index has
 * the name of the statistics as an option, which it chooses ranges by.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "parser/parse_func.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "attribute_index.h"

/* From 64 MB on it is worth a word that writers wait while an index is built. */
#define LARGE_RELATION_BLOCKS 8192

/*
 * In kilobytes.  GIN collects entries in a tree in memory before it writes them
 * in order, and splits the pages that it fills in order in two halves.  An
 * attribute index has an entry for each value: a tree that is larger than the
 * processor's cache takes longer than writing more often, and more rounds fill
 * the halves.
 */
#define BUILD_MEMORY 8192

/* An index as it is asked for, or as it is found. */
typedef struct AttributeIndex
{
	const char *schema;			/* the extension's */
	Oid			terms;			/* attribute_terms */
	Oid			classes[2];		/* jsonb_attribute_ops, jsonb_attribute_contains_ops */
	const char *column;
	char	   *path;			/* dotted; empty: the column itself */
	char	   *key;			/* NULL: any */
	char	   *value;			/* NULL: any */
	char	   *statistics;		/* schema and name; NULL: none yet */
} AttributeIndex;

PG_FUNCTION_INFO_V1(pattern_create_attribute_index);
PG_FUNCTION_INFO_V1(pattern_drop_attribute_index);

/* A path as the operator class takes it: with dots, and quotes where a name needs them. */
static char *
dotted_path(ArrayType *path)
{
	StringInfoData buf;
	Datum	   *steps;
	bool	   *nulls;
	int			n;

	deconstruct_array(path, TEXTOID, -1, false, TYPALIGN_INT, &steps, &nulls, &n);
	(void) path_from_texts(steps, nulls, n);	/* for its checks */
	initStringInfo(&buf);
	for (int i = 0; i < n; i++)
	{
		char	   *step = TextDatumGetCString(steps[i]);

		if (i > 0)
			appendStringInfoChar(&buf, '.');
		if (*step != '\0' && strpbrk(step, ".\"") == NULL)
		{
			appendStringInfoString(&buf, step);
			continue;
		}
		appendStringInfoChar(&buf, '"');
		for (; *step != '\0'; step++)
		{
			if (*step == '"')
				appendStringInfoChar(&buf, '"');
			appendStringInfoChar(&buf, *step);
		}
		appendStringInfoChar(&buf, '"');
	}
	return buf.data;
}

/* What the extension has in its schema, which is that of the function called. */
static void
look_up_extension(AttributeIndex *index, FunctionCallInfo fcinfo)
{
	static const Oid arguments[] = {JSONBOID, TEXTOID, TEXTOID, TEXTOID};
	char	   *schema = extension_schema(fcinfo);

	index->schema = schema;
	index->terms = LookupFuncName(list_make2(makeString(schema), makeString("attribute_terms")),
								  lengthof(arguments), arguments, false);
	index->classes[0] = get_opclass_oid(GIN_AM_OID, list_make2(makeString(schema), makeString("jsonb_attribute_ops")), false);
	index->classes[1] = get_opclass_oid(GIN_AM_OID, list_make2(makeString(schema), makeString("jsonb_attribute_contains_ops")), false);
}

/* Do two dotted paths lead to the same place, quoted or not? */
static bool
same_path(const char *a, const char *b)
{
	DocPath    *x,
			   *y;

	if (strcmp(a, b) == 0)
		return true;
	if (*a == '\0' || *b == '\0')
		return false;
	x = path_parse(a, strlen(a), true);
	y = path_parse(b, strlen(b), true);
	if (x->nsteps != y->nsteps)
		return false;
	for (int i = 0; i < x->nsteps; i++)
		if (key_compare(x->steps[i].name, x->steps[i].len, y->steps[i].name, y->steps[i].len) != 0)
			return false;
	return true;
}

/* Is it what is asked for? */
static bool
options_match(const AttributeIndex *index, const char *path, const char *key, const char *value)
{
	return same_path(index->path, path) &&
		(index->key == NULL || strcmp(index->key, key) == 0) &&
		(index->value == NULL || strcmp(index->value, value) == 0);
}

/*
 * Does an index of ours have the options that are asked for?  If so, *statistics
 * are those that it names.
 */
static bool
index_options_match(const AttributeIndex *index, Oid found, char **statistics)
{
	const char *path = "";
	const char *key = "k";
	const char *value = "v";
	char	   *named = NULL;
	ListCell   *cell;

	foreach(cell, untransformRelOptions(get_attoptions(found, 1)))
	{
		DefElem    *option = lfirst(cell);

		if (strcmp(option->defname, "path") == 0)
			path = defGetString(option);
		else if (strcmp(option->defname, "key") == 0)
			key = defGetString(option);
		else if (strcmp(option->defname, "value") == 0)
			value = defGetString(option);
		else if (strcmp(option->defname, "statistics") == 0)
			named = defGetString(option);
	}
	if (!options_match(index, path, key, value))
		return false;
	*statistics = named;
	return true;
}

/*
 * The indexes of the relation that are what is asked for, and the statistics that
 * the last of them names.  *other is the name of a GIN index on the column that
 * is not, or NULL.
 */
static List *
find_indexes(AttributeIndex *index, Oid relid, char **other)
{
	AttrNumber	number = relation_column(relid, index->column, JSONBOID);
	Relation	relation = relation_open(relid, NoLock);
	List	   *found = NIL;
	ListCell   *cell;

	*other = NULL;
	foreach(cell, RelationGetIndexList(relation))
	{
		Relation	candidate = index_open(lfirst_oid(cell), AccessShareLock);
		Form_pg_index form = candidate->rd_index;

		if (candidate->rd_rel->relam == GIN_AM_OID && form->indisvalid &&
			form->indkey.values[0] == number)
		{
			Oid			class = get_index_column_opclass(RelationGetRelid(candidate), 1);

			if ((class == index->classes[0] || class == index->classes[1]) &&
				form->indnatts == 1 && heap_attisnull(candidate->rd_indextuple, Anum_pg_index_indpred, NULL) &&
				index_options_match(index, RelationGetRelid(candidate), &index->statistics))
				found = lappend_oid(found, RelationGetRelid(candidate));
			else
				*other = pstrdup(RelationGetRelationName(candidate));
		}
		index_close(candidate, AccessShareLock);
	}
	relation_close(relation, NoLock);
	return found;
}

/* An argument of attribute_terms that is a constant; NULL if it is none. */
static char *
constant_text(const Node *argument)
{
	if (argument == NULL || !IsA(argument, Const) || ((const Const *) argument)->constisnull)
		return NULL;
	return TextDatumGetCString(((const Const *) argument)->constvalue);
}

/* Is the expression attribute_terms of what is asked for? */
static bool
terms_match(const AttributeIndex *index, AttrNumber number, const Node *expression)
{
	const FuncExpr *call = (const FuncExpr *) expression;
	const Node *column;
	char	   *path,
			   *key,
			   *value;

	if (!IsA(expression, FuncExpr) || call->funcid != index->terms)
		return false;
	column = linitial(call->args);
	if (IsA(column, RelabelType))
		column = (const Node *) ((const RelabelType *) column)->arg;
	path = constant_text(lsecond(call->args));
	key = constant_text(lthird(call->args));
	value = constant_text(lfourth(call->args));
	return IsA(column, Var) && ((const Var *) column)->varattno == number &&
		path != NULL && key != NULL && value != NULL && options_match(index, path, key, value);
}

/* The statistics of the relation that are what is asked for. */
static List *
find_statistics(const AttributeIndex *index, Oid relid)
{
	AttrNumber	number = relation_column(relid, index->column, JSONBOID);
	Relation	relation = relation_open(relid, NoLock);
	List	   *found = NIL;
	ListCell   *cell;

	foreach(cell, RelationGetStatExtList(relation))
	{
		HeapTuple	tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(lfirst_oid(cell)));
		bool		is_null;
		Datum		expressions;

		if (!HeapTupleIsValid(tuple))
			continue;
		expressions = SysCacheGetAttr(STATEXTOID, tuple, Anum_pg_statistic_ext_stxexprs, &is_null);
		if (!is_null)
		{
			List	   *list = stringToNode(TextDatumGetCString(expressions));

			if (list_length(list) == 1 && terms_match(index, number, linitial(list)))
				found = lappend_oid(found, lfirst_oid(cell));
		}
		ReleaseSysCache(tuple);
	}
	relation_close(relation, NoLock);
	return found;
}

/* Schema and name of statistics; NULL if they were just dropped. */
static char *
statistics_name(Oid oid)
{
	HeapTuple	tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(oid));
	Form_pg_statistic_ext form;
	char	   *result;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	form = (Form_pg_statistic_ext) GETSTRUCT(tuple);
	result = quote_qualified_identifier(get_namespace_name(form->stxnamespace), NameStr(form->stxname));
	ReleaseSysCache(tuple);
	return result;
}

static bool
statistics_exist(const char *name, Oid schema)
{
	return SearchSysCacheExists2(STATEXTNAMENSP, CStringGetDatum(name), ObjectIdGetDatum(schema));
}

/* Schema and name for the statistics of a relation: those that its index names, if no others have them. */
static char *
choose_statistics_name(const AttributeIndex *index, Oid relid)
{
	Oid			schema = get_rel_namespace(relid);
	List	   *named = index->statistics == NULL ? NIL : attribute_statistics_name(index->statistics);
	char	   *name;
	int			i = 0;

	if (named != NIL && get_namespace_oid(linitial(named), true) == schema &&
		!statistics_exist(lsecond(named), schema))
		return index->statistics;
	do
	{
		char	   *label = i == 0 ? pstrdup("attributes") : psprintf("attributes%d", i);

		name = makeObjectName(get_rel_name(relid), index->column, label);
		i++;
	} while (statistics_exist(name, schema));
	return quote_qualified_identifier(get_namespace_name(schema), name);
}

static bool
create_statistics(const AttributeIndex *index, Oid relid)
{
	if (find_statistics(index, relid) != NIL)
		return false;
	spi_run(psprintf("CREATE STATISTICS %s ON (%s(%s, %s, %s, %s)) FROM %s",
					 choose_statistics_name(index, relid),
					 quote_qualified_identifier(index->schema, "attribute_terms"),
					 quote_identifier(index->column), quote_literal_cstr(index->path),
					 quote_literal_cstr(index->key), quote_literal_cstr(index->value),
					 relation_quoted_name(relid)));
	return true;
}

/* Append an option of the class. */
static void
append_option(StringInfo buf, const char **separator, const char *name, const char *value)
{
	appendStringInfo(buf, "%s%s = %s", *separator, name, quote_literal_cstr(value));
	*separator = ", ";
}

/* The CREATE INDEX for a class; with a name, or the one that PostgreSQL chooses. */
static char *
create_index_statement(const AttributeIndex *index, Oid relid, const char *class,
					   const char *name, bool concurrently)
{
	StringInfoData buf;
	const char *separator = " (";

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE INDEX %s%s%sON %s USING gin (%s %s", concurrently ? "CONCURRENTLY " : "",
					 name == NULL ? "" : quote_identifier(name), name == NULL ? "" : " ",
					 relation_quoted_name(relid),
					 quote_identifier(index->column), quote_qualified_identifier(index->schema, class));
	if (*index->path != '\0')
		append_option(&buf, &separator, "path", index->path);
	if (strcmp(index->key, "k") != 0)
		append_option(&buf, &separator, "key", index->key);
	if (strcmp(index->value, "v") != 0)
		append_option(&buf, &separator, "value", index->value);
	append_option(&buf, &separator, "statistics", index->statistics);
	appendStringInfoString(&buf, "))");
	return buf.data;
}

/* Say so when the index had better be built while others write. */
static void
note_concurrently(const AttributeIndex *index, Oid relid, const char *class, const char *name)
{
	Relation	relation = relation_open(relid, NoLock);
	bool		is_large = RELKIND_HAS_STORAGE(relation->rd_rel->relkind) &&
		RelationGetNumberOfBlocks(relation) >= LARGE_RELATION_BLOCKS;

	relation_close(relation, NoLock);
	if (!is_large)
		return;
	ereport(NOTICE,
			(errmsg("writes to \"%s\" wait until the index is built", get_rel_name(relid)),
			 errhint("To build it while others write, cancel and run: %s; then call create_attribute_index again, which adds the statistics.",
					 create_index_statement(index, relid, class, name, true))));
}

/* Run CREATE INDEX with no more memory than is good for it. */
static void
build_index(const char *statement)
{
	int			nest_level = NewGUCNestLevel();

	if (maintenance_work_mem > BUILD_MEMORY)
		(void) set_config_option("maintenance_work_mem", psprintf("%d", BUILD_MEMORY),
								 PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	spi_run(statement);
	AtEOXact_GUC(true, nest_level);
}

static void
create_index(const AttributeIndex *index, Oid relid, const char *name, const char *other)
{
	const char *class = other == NULL ? "jsonb_attribute_contains_ops" : "jsonb_attribute_ops";

	note_concurrently(index, relid, class, name);
	ereport(NOTICE,
			(errmsg("operator class of the index on \"%s\" is %s", index->column, class),
			 other == NULL ? errdetail("It answers @> too, as the column has no other GIN index.") :
			 errdetail("It leaves @> to the index \"%s\".", other)));
	build_index(create_index_statement(index, relid, class, name, false));
}

/* Lock and check the relation of the first three arguments; the lock is one that no two sessions have. */
static Oid
read_arguments(FunctionCallInfo fcinfo, AttributeIndex *index, LOCKMODE lockmode)
{
	static const char relkinds[] = {RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, RELKIND_MATVIEW, '\0'};
	Oid			relid;

	argument_check_given(fcinfo, 0, "relation");
	argument_check_given(fcinfo, 2, "path");
	index->column = argument_name(fcinfo, 1, "column_name");
	index->path = dotted_path(PG_GETARG_ARRAYTYPE_P(2));
	look_up_extension(index, fcinfo);
	relid = PG_GETARG_OID(0);
	relation_lock_owned(relid, lockmode, relkinds);
	(void) relation_column(relid, index->column, JSONBOID);
	return relid;
}

/*
 * create_attribute_index(relation regclass, column_name name, path text[], key_name text,
 * value_name text, index_name name, if_not_exists boolean) → boolean
 */
Datum
pattern_create_attribute_index(PG_FUNCTION_ARGS)
{
	AttributeIndex index = {0};
	char	   *name = PG_ARGISNULL(5) ? NULL : argument_name(fcinfo, 5, "index_name");
	bool		if_not_exists = argument_flag(fcinfo, 6);
	bool		changed = false;
	Oid			relid;
	char	   *other;
	ListCell   *cell;

	index.key = argument_text(fcinfo, 3, "key_name");
	index.value = argument_text(fcinfo, 4, "value_name");
	relid = read_arguments(fcinfo, &index, ShareRowExclusiveLock);
	if (find_indexes(&index, relid, &other) == NIL)
	{
		List	   *statistics = find_statistics(&index, relid);

		if (statistics != NIL)
			index.statistics = statistics_name(linitial_oid(statistics));
		if (index.statistics == NULL)
			index.statistics = choose_statistics_name(&index, relid);
		create_index(&index, relid, name, other);
		changed = true;
	}
	/* the table itself is the first of its inheritors; those that are no partitions have no index either */
	foreach(cell, find_all_inheritors(relid, ShareRowExclusiveLock, NULL))
		if (lfirst_oid(cell) == relid || get_rel_relispartition(lfirst_oid(cell)))
			changed |= create_statistics(&index, lfirst_oid(cell));
	if (!changed)
		ereport(if_not_exists ? NOTICE : ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("attribute index on column \"%s\" of relation \"%s\" already exists%s",
						index.column, get_rel_name(relid), if_not_exists ? ", skipping" : "")));
	PG_RETURN_BOOL(changed);
}

/* Drop the statistics of what is asked for; were there any? */
static bool
drop_statistics(const AttributeIndex *index, Oid relid)
{
	List	   *found = find_statistics(index, relid);
	ListCell   *cell;

	foreach(cell, found)
	{
		char	   *name = statistics_name(lfirst_oid(cell));

		if (name != NULL)
			spi_run(psprintf("DROP STATISTICS %s", name));
	}
	return found != NIL;
}

/* drop_attribute_index(relation regclass, column_name name, path text[], if_exists boolean) → boolean */
Datum
pattern_drop_attribute_index(PG_FUNCTION_ARGS)
{
	AttributeIndex index = {0};
	bool		if_exists = argument_flag(fcinfo, 3);
	bool		changed = false;
	Oid			relid = read_arguments(fcinfo, &index, AccessExclusiveLock);
	char	   *other;
	ListCell   *cell;

	foreach(cell, find_indexes(&index, relid, &other))
	{
		spi_run(psprintf("DROP INDEX %s", relation_quoted_name(lfirst_oid(cell))));
		changed = true;
	}
	foreach(cell, find_all_inheritors(relid, AccessExclusiveLock, NULL))
		if (lfirst_oid(cell) == relid || get_rel_relispartition(lfirst_oid(cell)))
			changed |= drop_statistics(&index, lfirst_oid(cell));
	if (!changed)
		ereport(if_exists ? NOTICE : ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("attribute index on column \"%s\" of relation \"%s\" does not exist%s",
						index.column, get_rel_name(relid), if_exists ? ", skipping" : "")));
	PG_RETURN_BOOL(changed);
}
