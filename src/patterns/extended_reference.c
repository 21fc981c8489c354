/*
 * patterns/extended_reference.c
 *		Extended reference pattern: what a definition is, and where it is kept.
 *
 * A definition is a trigger on the referring table, and nothing else knows it.
 * Its WHEN clause names the source and, as fields of a NULL of the source's row
 * type, the columns that it needs:
 *
 *	WHEN (pattern_target('customers'::regclass)
 *		  AND num_nulls((NULL::customers).id, (NULL::customers).name) >= 0
 *		  AND (NEW.doc IS NULL OR true))
 *
 * so that renaming a column is followed, dropping one is refused, and both the
 * table and the columns come back from a dump under their names of that day.  The
 * expression folds to a constant.  It names the document's column, too, since the
 * trigger on a partitioned table is there for an UPDATE of any column: each may
 * move a row to another partition.  Paths, modes and
 * on_delete are the trigger's arguments: the path of the copy, the path of the
 * key, on_delete, and for each field {mode,name,path…}, in the order of the
 * columns.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "access/relation.h"

#include "extended_reference.h"

const char *const on_delete_names[] = {"keep", "remove", "restrict"};

/* The number of arguments before those of the fields. */
#define FIXED_ARGUMENTS 3

/* 22023 unless it is one of the three. */
OnDelete
on_delete_parse(const char *name)
{
	for (int i = 0; i < lengthof(on_delete_names); i++)
		if (strcmp(name, on_delete_names[i]) == 0)
			return (OnDelete) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized on_delete: \"%s\"", text_for_message(name, strlen(name))),
			 errhint("It is \"keep\", \"remove\" or \"restrict\".")));
}

/* A path as an argument has it; 22004 for a NULL step, 22023 for more than one dimension. */
DocPath *
path_from_array(ArrayType *array)
{
	Datum	   *steps;
	bool	   *nulls;
	int			n;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a path must be an array of one dimension")));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &steps, &nulls, &n);
	return path_from_texts(steps, nulls, n);
}

static ArrayType *
array_from_literal(const char *literal)
{
	return DatumGetArrayTypeP(OidFunctionCall3(F_ARRAY_IN, CStringGetDatum(literal),
											   ObjectIdGetDatum(TEXTOID), Int32GetDatum(-1)));
}

/* The steps as the literal of a text[]; palloc'd. */
char *
path_to_literal(const DocPath *path)
{
	Datum	   *steps = palloc(Max(path->nsteps, 1) * sizeof(Datum));

	for (int i = 0; i < path->nsteps; i++)
		steps[i] = PointerGetDatum(cstring_to_text_with_len(path->steps[i].name, path->steps[i].len));
	return OidOutputFunctionCall(F_ARRAY_OUT,
								 PointerGetDatum(construct_array(steps, path->nsteps, TEXTOID, -1, false, TYPALIGN_INT)));
}

/* The path with one more step; the name is not copied. */
DocPath *
path_child(const DocPath *path, const char *name, int len)
{
	int			n = path->nsteps;
	DocPath    *child = palloc(offsetof(DocPath, steps) + (n + 1) * sizeof(PathStep));

	child->nsteps = n + 1;
	memcpy(child->steps, path->steps, n * sizeof(PathStep));
	child->steps[n].name = name;
	child->steps[n].len = len;
	child->steps[n].index = path_step_index(name, len);
	return child;
}

/* Does one of two paths lead to the other, or to what it is in? */
bool
paths_overlap(const DocPath *a, const DocPath *b)
{
	int			n = Min(a->nsteps, b->nsteps);

	for (int i = 0; i < n; i++)
		if (key_compare(a->steps[i].name, a->steps[i].len, b->steps[i].name, b->steps[i].len) != 0)
			return false;
	return true;
}

bool
paths_equal(const DocPath *a, const DocPath *b)
{
	return a->nsteps == b->nsteps && paths_overlap(a, b);
}

/* The columns that a WHEN clause names. */
typedef struct NamedColumns
{
	List	   *source;			/* (NULL::source).column */
	AttrNumber	document;		/* NEW.doc; 0: none */
} NamedColumns;

/* Collects the columns; an expression_tree_walker. */
static bool
collect_columns(Node *node, void *context)
{
	NamedColumns *columns = context;

	if (node == NULL)
		return false;
	if (IsA(node, FieldSelect) && IsA(((FieldSelect *) node)->arg, Const))
		columns->source = lappend_int(columns->source, ((FieldSelect *) node)->fieldnum);
	if (IsA(node, Var))
		columns->document = ((Var *) node)->varattno;
	return expression_tree_walker(node, collect_columns, context);
}

pg_noreturn static void
definition_broken(const Trigger *trigger)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("trigger \"%s\" is not as create_extended_reference made it", trigger->tgname),
			 errhint("Drop the trigger, and call create_extended_reference again.")));
}

/* Fill a field from its argument: {mode,name,path…}. */
static void
read_field(ReferenceField *field, const Trigger *trigger, const Reference *reference, const char *literal)
{
	DocPath    *all = path_from_array(array_from_literal(literal));
	PathStep   *name;

	if (all->nsteps < 2)
		definition_broken(trigger);
	field->live = all->steps[0].len == 4 && memcmp(all->steps[0].name, "live", 4) == 0;
	name = &all->steps[1];
	field->name = name->name;
	field->len = name->len;
	field->target = path_child(reference->path, name->name, name->len);
	field->path = palloc(offsetof(DocPath, steps) + all->nsteps * sizeof(PathStep));
	field->path->nsteps = all->nsteps - 2;
	memcpy(field->path->steps, &all->steps[2], (all->nsteps - 2) * sizeof(PathStep));
}

/*
 * The definition that a trigger holds; palloc'd.  relid is the relation that the
 * trigger is on.  55000 if somebody altered it.
 */
Reference *
reference_read(const Trigger *trigger, Oid relid)
{
	Reference  *reference = palloc0(sizeof(Reference));
	NamedColumns columns = {NIL, 0};

	if (trigger->tgnargs <= FIXED_ARGUMENTS)
		definition_broken(trigger);
	reference->relation = relid;
	reference->trigger = pstrdup(trigger->tgname);
	reference->path_text = pstrdup(trigger->tgargs[0]);
	reference->key_text = pstrdup(trigger->tgargs[1]);
	reference->path = path_from_array(array_from_literal(reference->path_text));
	reference->key = path_from_array(array_from_literal(reference->key_text));
	reference->on_delete = on_delete_parse(trigger->tgargs[2]);
	reference->source = linitial_oid(trigger_targets(trigger, 1));

	reference->nfields = trigger->tgnargs - FIXED_ARGUMENTS;
	reference->fields = palloc0(reference->nfields * sizeof(ReferenceField));
	(void) collect_columns(stringToNode(trigger->tgqual), &columns);
	if (list_length(columns.source) != reference->nfields + 1 || columns.document == 0)
		definition_broken(trigger);
	reference->column = columns.document;
	reference->source_key = linitial_int(columns.source);
	for (int i = 0; i < reference->nfields; i++)
	{
		read_field(&reference->fields[i], trigger, reference, trigger->tgargs[FIXED_ARGUMENTS + i]);
		reference->fields[i].column = list_nth_int(columns.source, i + 1);
		reference->has_live |= reference->fields[i].live;
	}
	return reference;
}

/* A trigger function of ours. */
Oid
reference_function(const char *schema, const char *name)
{
	return LookupFuncName(list_make2(makeString(pstrdup(schema)), makeString(pstrdup(name))), 0, NULL, false);
}

/* The definitions of a relation that refers, which the caller has locked. */
List *
references_of(Oid relid, const char *schema)
{
	Oid			function = reference_function(schema, "extended_reference_copy");
	Relation	relation = relation_open(relid, AccessShareLock);
	List	   *references = NIL;

	for (int i = 0; relation->trigdesc != NULL && i < relation->trigdesc->numtriggers; i++)
		if (relation->trigdesc->triggers[i].tgfoid == function)
			references = lappend(references, reference_read(&relation->trigdesc->triggers[i], relid));
	relation_close(relation, AccessShareLock);
	return references;
}

/* The definition of the copy at a path of a column; NULL if there is none. */
const Reference *
reference_find(Oid relid, AttrNumber column, const DocPath *path, const char *schema)
{
	ListCell   *cell;

	foreach(cell, references_of(relid, schema))
	{
		const Reference *reference = lfirst(cell);

		if (reference->column == column && paths_equal(reference->path, path))
			return reference;
	}
	return NULL;
}

/* For messages: the column and the path of the copy. */
char *
reference_describe(const Reference *reference)
{
	const char *column = get_attname(reference->relation, reference->column, false);

	if (reference->path->nsteps == 0)
		return pstrdup(column);
	return psprintf("%s.%s", column, path_to_cstring(reference->path, reference->path->nsteps));
}

/* 42704, or a notice: there is no such reference. */
void
reference_missing(const Reference *reference, int level)
{
	ereport(level,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("extended reference at \"%s\" of relation \"%s\" does not exist%s",
					reference_describe(reference), get_rel_name(reference->relation), level < ERROR ? ", skipping" : "")));
}
