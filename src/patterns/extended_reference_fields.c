/*
 * patterns/extended_reference_fields.c
 *		Extended reference pattern: fields as a user writes them, and cycles.
 *
 * A field is `path [AS name] [:mode]`, where the path is dotted, a name may stand
 * in double quotes, and the name in the copy is the path's last one unless
 * another is given.  The path begins with a column of the source; if no column
 * is called so, it is a path in the source's only jsonb column, which is how a
 * table of documents is meant.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "extended_reference.h"

pg_noreturn static void
field_syntax_error(const char *field, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid field \"%s\"", text_for_message(field, strlen(field))),
			 errdetail("It has %s.", what),
			 errhint("A field is a path, and may be followed by AS and a name, and by \":live\" or \":snapshot\".")));
}

/* true for "live", false for "snapshot", else 22023. */
static bool
mode_is_live(const char *mode)
{
	if (strcmp(mode, "live") == 0)
		return true;
	if (strcmp(mode, "snapshot") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized mode: \"%s\"", text_for_message(mode, strlen(mode))),
				 errhint("It is \"snapshot\" or \"live\".")));
	return false;
}

/* The text without spaces around it, which are cut off in place. */
static char *
trim(char *text)
{
	int			len;

	while (*text == ' ')
		text++;
	len = strlen(text);
	while (len > 0 && text[len - 1] == ' ')
		text[--len] = '\0';
	return text;
}

/*
 * Cut a field into its path, its name (NULL: none) and its mode (NULL: none), in
 * place; what stands in quotes is not looked at.
 */
static char *
split_field(char *field, char **name, char **mode)
{
	bool		quoted = false;

	*name = *mode = NULL;
	for (char *c = field; *c != '\0'; c++)
	{
		if (*c == '"')
			quoted = !quoted;
		else if (quoted)
			continue;
		else if (*c == ':')
		{
			*c = '\0';
			*mode = trim(c + 1);
			break;
		}
		else if (*name == NULL && pg_strncasecmp(c, " as ", 4) == 0)
		{
			*c = '\0';
			*name = c + 4;
			c += 3;
		}
	}
	if (*name != NULL)
		*name = trim(*name);
	return trim(field);
}

/* The source's only jsonb column, 0 if it has none or several. */
static AttrNumber
document_column(Oid relid)
{
	Relation	relation = relation_open(relid, AccessShareLock);
	TupleDesc	desc = RelationGetDescr(relation);
	AttrNumber	found = 0;
	int			n = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped || getBaseType(TupleDescAttr(desc, i)->atttypid) != JSONBOID)
			continue;
		found = i + 1;
		n++;
	}
	relation_close(relation, AccessShareLock);
	return n == 1 ? found : 0;
}

static DocPath *
path_behind(const DocPath *path, int from)
{
	DocPath    *result = palloc(offsetof(DocPath, steps) + path->nsteps * sizeof(PathStep));

	result->nsteps = path->nsteps - from;
	memcpy(result->steps, &path->steps[from], result->nsteps * sizeof(PathStep));
	return result;
}

/* Find where in the source a field is. */
static void
resolve_field(ReferenceField *field, Oid source, const DocPath *path)
{
	char	   *first = pnstrdup(path->steps[0].name, path->steps[0].len);

	field->column = get_attnum(source, first);
	if (field->column > 0)
	{
		Oid			type = getBaseType(get_atttype(source, field->column));

		field->path = path_behind(path, 1);
		if (field->path->nsteps > 0 && type != JSONBOID)
			(void) relation_column(source, first, JSONBOID);	/* for its error */
		return;
	}
	field->column = document_column(source);
	if (field->column == 0)
		(void) relation_column(source, first, JSONBOID);
	field->path = path_behind(path, 0);
}

static void
parse_field(ReferenceField *field, const Reference *reference, char *text, bool live)
{
	char	   *whole = pstrdup(text);
	char	   *name,
			   *mode;
	char	   *source = split_field(text, &name, &mode);
	DocPath    *path;
	const PathStep *last;

	if (*source == '\0')
		field_syntax_error(whole, "no path");
	path = path_parse(source, strlen(source), true);
	resolve_field(field, reference->source, path);
	if (name != NULL)
	{
		path = path_parse(name, strlen(name), true);
		if (path->nsteps != 1)
			field_syntax_error(whole, "a name of several parts");
	}
	last = &path->steps[path->nsteps - 1];
	field->name = last->name;
	field->len = last->len;
	field->live = mode == NULL ? live : mode_is_live(mode);
	field->target = path_child(reference->path, field->name, field->len);
}

/* 22023 if fields of the copy would overwrite each other, or what holds the reference. */
static void
check_targets(const Reference *reference)
{
	for (int i = 0; i < reference->nfields; i++)
	{
		const DocPath *target = reference->fields[i].target;

		if (paths_overlap(target, reference->key) && !paths_equal(target, reference->key))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("field \"%s\" would overwrite the reference at \"%s\"",
							path_to_cstring(target, target->nsteps),
							path_to_cstring(reference->key, reference->key->nsteps))));
		for (int j = 0; j < i; j++)
			if (paths_equal(target, reference->fields[j].target))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("field \"%s\" is given twice", path_to_cstring(target, target->nsteps)),
						 errhint("Give one of them another name: \"path AS name\".")));
	}
}

/*
 * Fill in the fields of a reference whose other parts are known.  mode is that of
 * fields without their own.  22004, 22023, 42703 or 42804 for what is wrong.
 */
void
reference_parse_fields(Reference *reference, ArrayType *fields, const char *mode)
{
	bool		live = mode_is_live(mode);
	Datum	   *texts;
	bool	   *nulls;
	int			n;

	deconstruct_array(fields, TEXTOID, -1, false, TYPALIGN_INT, &texts, &nulls, &n);
	if (n == 0 || ARR_NDIM(fields) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"fields\" must be a list of fields")));
	if (n > FUNC_MAX_ARGS - 1)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cannot copy more than %d fields", FUNC_MAX_ARGS - 1),
				 errdetail("There are %d of them.", n),
				 errhint("Copy an object that holds several.")));
	reference->nfields = n;
	reference->fields = palloc0(n * sizeof(ReferenceField));
	for (int i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("field at position %d is null", i + 1)));
		parse_field(&reference->fields[i], reference, TextDatumGetCString(texts[i]), live);
		reference->has_live |= reference->fields[i].live;
	}
	check_targets(reference);
}

/*
 * Does what stands at a path of a relation's column depend, over live copies, on
 * the copy that a field of the reference would be?
 */
static bool
depends_on(Oid relid, AttrNumber column, const DocPath *path, const Reference *reference,
		   const ReferenceField *target, const char *schema)
{
	ListCell   *cell;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (relid == reference->relation && column == reference->column && paths_overlap(path, target->target))
		return true;
	foreach(cell, references_of(relid, schema))
	{
		const Reference *other = lfirst(cell);

		if (other->column != column)
			continue;
		for (int i = 0; i < other->nfields; i++)
			if (other->fields[i].live && paths_overlap(path, other->fields[i].target) &&
				depends_on(other->source, other->fields[i].column, other->fields[i].path, reference, target, schema))
				return true;
	}
	return false;
}

/* Would a live field of the reference, over other live copies, follow itself? */
const ReferenceField *
reference_cyclic_field(const Reference *reference, const char *schema)
{
	for (int i = 0; i < reference->nfields; i++)
	{
		const ReferenceField *field = &reference->fields[i];

		if (field->live && depends_on(reference->source, field->column, field->path, reference, field, schema))
			return field;
	}
	return NULL;
}
