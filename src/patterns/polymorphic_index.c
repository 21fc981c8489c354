/*
 * patterns/polymorphic_index.c
 *		Polymorphic pattern: create_discriminator_index.
 *
 * The texts' createIndex({type: 1, published_at: -1}) is an ordinary btree index
 * on two expressions, which it would take no function to write; what the function
 * adds is that the expressions are those that queries and the views of variants
 * are written with.  It is found again by its expressions, whoever made it;
 * a comment on it says that the function did, for pattern_list.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "polymorphic.h"

PG_FUNCTION_INFO_V1(pattern_create_discriminator_index);

/* The index that is asked for. */
typedef struct DiscriminatorIndex
{
	Oid			relid;
	AttrNumber	number;			/* of the column */
	char	   *column;
	char	   *discriminator;
	ArrayType  *path;
	int			nsteps;			/* of the path; 0: on the discriminator alone */
	Datum	   *steps;
	bool		descending;
} DiscriminatorIndex;

/* Is the node the text at the path? */
static bool
is_text_at_path(const Node *node, const DiscriminatorIndex *index)
{
	const OpExpr *op = (const OpExpr *) node;
	const Const *path;
	char	   *field;

	if (index->nsteps == 1)
		return node_is_text_at(node, index->number, &field) &&
			strcmp(field, TextDatumGetCString(index->steps[0])) == 0;
	if (!IsA(node, OpExpr) || get_opcode(op->opno) != F_JSONB_EXTRACT_PATH_TEXT ||
		!node_is_column(linitial(op->args), index->number))
		return false;
	path = lsecond(op->args);
	return IsA(path, Const) && !path->constisnull && path->consttype == TEXTARRAYOID &&
		DatumGetBool(OidFunctionCall2Coll(F_ARRAY_EQ, C_COLLATION_OID, path->constvalue, PointerGetDatum(index->path)));
}

/* Is this index what is asked for? */
static bool
is_such_index(const Relation found, const DiscriminatorIndex *index)
{
	Form_pg_index form = found->rd_index;
	int			nkeys = index->nsteps > 0 ? 2 : 1;
	List	   *expressions;
	char	   *field;

	if (found->rd_rel->relam != BTREE_AM_OID || !form->indisvalid || form->indnatts != nkeys ||
		RelationGetIndexPredicate(found) != NIL)
		return false;
	expressions = RelationGetIndexExpressions(found);
	if (list_length(expressions) != nkeys ||
		!node_is_text_at(linitial(expressions), index->number, &field) ||
		strcmp(field, index->discriminator) != 0)
		return false;
	return nkeys == 1 ||
		(is_text_at_path(lsecond(expressions), index) &&
		 ((found->rd_indoption[1] & INDOPTION_DESC) != 0) == index->descending);
}

/* The index that is what is asked for; InvalidOid if there is none. */
static Oid
find_index(const DiscriminatorIndex *index)
{
	Relation	relation = relation_open(index->relid, NoLock);
	Oid			result = InvalidOid;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(relation))
	{
		Relation	found = index_open(lfirst_oid(cell), AccessShareLock);

		if (!OidIsValid(result) && is_such_index(found, index))
			result = lfirst_oid(cell);
		index_close(found, NoLock);
	}
	relation_close(relation, NoLock);
	return result;
}

/* The statement that makes it. */
static char *
create_statement(const DiscriminatorIndex *index, const char *name)
{
	const char *column = quote_identifier(index->column);
	StringInfoData buf;

	initStringInfo(&buf);
	appendStringInfo(&buf, "CREATE INDEX %s ON %s ((%s OPERATOR(pg_catalog.->>) %s)",
					 name == NULL ? "" : quote_identifier(name), relation_quoted_name(index->relid),
					 column, quote_literal_cstr(index->discriminator));
	if (index->nsteps == 1)
		appendStringInfo(&buf, ", (%s OPERATOR(pg_catalog.->>) %s)", column,
						 quote_literal_cstr(TextDatumGetCString(index->steps[0])));
	else if (index->nsteps > 1)
		appendStringInfo(&buf, ", (%s OPERATOR(pg_catalog.#>>) %s::pg_catalog.text[])", column,
						 quote_literal_cstr(OidOutputFunctionCall(F_ARRAY_OUT, PointerGetDatum(index->path))));
	appendStringInfoString(&buf, index->nsteps > 0 && index->descending ? " DESC)" : ")");
	return buf.data;
}

/* The path in an argument: texts, none of them NULL. */
static void
read_path(FunctionCallInfo fcinfo, int position, DiscriminatorIndex *index)
{
	bool	   *nulls;

	argument_check_given(fcinfo, position, "path");
	index->path = PG_GETARG_ARRAYTYPE_P(position);
	deconstruct_array(index->path, TEXTOID, -1, false, TYPALIGN_INT, &index->steps, &nulls, &index->nsteps);
	(void) path_from_texts(index->steps, nulls, index->nsteps); /* for its checks */
	/* of one dimension, whatever it was */
	index->path = construct_array(index->steps, index->nsteps, TEXTOID, -1, false, TYPALIGN_INT);
}

/*
 * create_discriminator_index(relation regclass, column_name name, discriminator text,
 * path text[], descending boolean, index_name name, if_not_exists boolean) → boolean
 */
Datum
pattern_create_discriminator_index(PG_FUNCTION_ARGS)
{
	static const char relkinds[] = {RELKIND_RELATION, RELKIND_PARTITIONED_TABLE, RELKIND_MATVIEW, '\0'};
	bool		if_not_exists = argument_flag(fcinfo, 6);
	DiscriminatorIndex index = {0};

	argument_check_given(fcinfo, 0, "relation");
	index.relid = PG_GETARG_OID(0);
	index.column = argument_name(fcinfo, 1, "column_name");
	index.discriminator = argument_text(fcinfo, 2, "discriminator");
	read_path(fcinfo, 3, &index);
	index.descending = PG_ARGISNULL(4) || PG_GETARG_BOOL(4);
	relation_lock_owned(index.relid, ShareRowExclusiveLock, relkinds);
	index.number = relation_column(index.relid, index.column, JSONBOID);
	if (OidIsValid(find_index(&index)))
	{
		ereport(if_not_exists ? NOTICE : ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("discriminator index on column \"%s\" of relation \"%s\" already exists%s",
						index.column, get_rel_name(index.relid), if_not_exists ? ", skipping" : "")));
		PG_RETURN_BOOL(false);
	}
	spi_run(create_statement(&index, PG_ARGISNULL(5) ? NULL : argument_name(fcinfo, 5, "index_name")));
	spi_run(psprintf("COMMENT ON INDEX %s IS 'made by create_discriminator_index'", relation_quoted_name(find_index(&index))));
	PG_RETURN_BOOL(true);
}
