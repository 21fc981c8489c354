/*
 * jsonb/path.c
 *		Where in a document: dotted paths and jsonb_set's text arrays.
 *
 * A step is a key, and in an array also an index when it consists of digits:
 * which of them it means is known only when the path meets a document.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "pattern.h"

/* The number that a step of digits only stands for, else -1. */
int32
path_step_index(const char *name, int len)
{
	int64		index = 0;

	if (len < 1 || len > 10)
		return -1;
	for (int i = 0; i < len; i++)
	{
		if (name[i] < '0' || name[i] > '9')
			return -1;
		index = index * 10 + (name[i] - '0');
	}
	return index > PG_INT32_MAX ? -1 : (int32) index;
}

static DocPath *
path_alloc(int nsteps)
{
	return palloc0(offsetof(DocPath, steps) + nsteps * sizeof(PathStep));
}

static void
path_add_step(DocPath *path, const char *name, int len)
{
	PathStep   *step = &path->steps[path->nsteps++];

	step->name = name;
	step->len = len;
	step->index = path_step_index(name, len);
}

static void
path_syntax_error(const char *path, int len, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid path \"%s\"", text_for_message(path, len)),
			 errdetail("The path has %s.", what),
			 errhint("A path is a list of field names with dots between them, such as \"a.b\".")));
}

/*
 * Parses a dotted path.  With quoted, a step may stand in double quotes ("" for
 * one inside), so that it can hold dots; without, a quote is a character like
 * others, as in MongoDB.  22P02 for a path or a step that is empty.
 *
 * The result is palloc'd and has a copy of the text.
 */
DocPath *
path_parse(const char *path, int len, bool quoted)
{
	char	   *in = pnstrdup(path, len);
	char	   *end = in + strlen(in);
	char	   *out;
	int			nsteps = 1;
	DocPath    *result;

	for (char *c = in; c < end; c++)
		nsteps += (*c == '.');
	result = path_alloc(nsteps);
	for (;;)
	{
		char	   *start = in;

		if (quoted && *in == '"')
		{
			/* unquote in place: the result is never longer */
			start = out = ++in;
			for (; in < end && !(in[0] == '"' && in[1] != '"'); in++)
			{
				if (in[0] == '"')
					in++;
				*out++ = *in;
			}
			if (in == end)
				path_syntax_error(path, len, "a quoted name without its closing quote");
			in++;
		}
		else
		{
			while (in < end && *in != '.')
				in++;
			out = in;
		}
		if (out == start)
			path_syntax_error(path, len, "an empty field name");
		path_add_step(result, start, out - start);
		if (in == end)
			return result;
		if (*in != '.')
			path_syntax_error(path, len, "text behind a quoted name");
		in++;
	}
}

/*
 * The path that an array of text stands for, in jsonb_set's order: outermost
 * first.  22004 for a NULL step.  The names are not copied when the texts are
 * not toasted.
 */
DocPath *
path_from_texts(const Datum *texts, const bool *nulls, int n)
{
	DocPath    *result = path_alloc(n);

	for (int i = 0; i < n; i++)
	{
		text	   *step;

		if (nulls != NULL && nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("path element at position %d is null", i + 1)));
		step = DatumGetTextPP(texts[i]);
		path_add_step(result, VARDATA_ANY(step), VARSIZE_ANY_EXHDR(step));
	}
	return result;
}

/* For messages: the first nsteps steps with dots between them, cut to a readable length; palloc'd. */
char *
path_to_cstring(const DocPath *path, int nsteps)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < nsteps; i++)
		appendStringInfo(&buf, "%s%.*s", i > 0 ? "." : "", path->steps[i].len, path->steps[i].name);
	return text_for_message(buf.data, buf.len);
}

/*
 * The value at a path: keys in objects, indexes in arrays, nothing implicit.
 * False if it is missing.  A path of no steps is the root.
 */
bool
path_get(const DocPath *path, const JsonbValue *root, JsonbValue *result)
{
	*result = *root;
	for (int i = 0; i < path->nsteps; i++)
	{
		const PathStep *step = &path->steps[i];
		JsonbValue	inner;

		if (value_is_object(result))
		{
			if (!value_get(result, step->name, step->len, &inner))
				return false;
		}
		else if (value_is_array(result) && step->index >= 0 &&
				 (uint32) step->index < value_count(result))
			container_value(result->val.binary.data, step->index, &inner);
		else
			return false;
		*result = inner;
	}
	return true;
}
