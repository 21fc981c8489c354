/*
 * bson/bson_metadata.c
 *		mongodump's .metadata.json: its indexes as CREATE INDEX statements.
 *
 * A field is indexed as jsonb, (doc->'field'), so that numbers are ordered as
 * numbers and equal whatever their spelling.  What PostgreSQL has in another form
 * becomes that form; what it lacks is said in a comment, which stands before the
 * statement that it is about, or alone.  A comment is one line, whatever the
 * names hold, so that the rows may be executed as they are.
 *
 * jsonb has lost the order of an index's fields, which matters if there are
 * several.  MongoDB gives an index a name made of its fields in their order; it is
 * found by that, or else the comment says that it is not known.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "write.h"

/* MongoDB allows as many fields in an index. */
#define MAX_KEYS 32

typedef struct IndexKey
{
	JsonbValue	path;			/* dotted */
	JsonbValue	direction;		/* as it stands in a default name: 1, -1, or a word */
	bool		used;			/* while the order is looked for */
} IndexKey;

/* An index while its statement is written. */
typedef struct IndexSpec
{
	const JsonbValue *spec;
	char	   *name;			/* MongoDB's */
	IndexKey	keys[MAX_KEYS];
	int			nkeys;
	bool		ordered;		/* are the keys in the index's order? */
} IndexSpec;

/* The table, and the lines that are made. */
typedef struct Ddl
{
	const char *schema;			/* the extension's, quoted */
	char	   *relation;		/* quoted, with its schema */
	char	   *relation_name;
	const char *column;			/* quoted */
	List	   *lines;			/* of C strings */
	int			next;			/* the line to be returned next */
} Ddl;

PG_FUNCTION_INFO_V1(pattern_bson_metadata_ddl);

static void
add_line(Ddl *ddl, const char *line)
{
	ddl->lines = lappend(ddl->lines, unconstify(char *, line));
}

/* A comment about an index, in one line. */
static void
comment(Ddl *ddl, const IndexSpec *index, const char *what)
{
	char	   *line = psprintf("-- %s: %s", index->name, what);

	for (char *s = line; *s != '\0'; s++)
		if ((unsigned char) *s < ' ')
			*s = ' ';
	add_line(ddl, line);
}

static char *
string_of(const JsonbValue *value)
{
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/* A number as such or in one of Extended JSON's wrappers; NULL if it is none. */
static Numeric
number_of(const JsonbValue *value)
{
	static const char *const wrappers[] = {"$numberInt", "$numberLong", "$numberDouble"};
	JsonbValue	text;

	if (value->type == jbvNumeric)
		return value->val.numeric;
	for (int i = 0; i < lengthof(wrappers); i++)
	{
		char	   *digits;
		char	   *end;
		double		d;

		if (!value_get_cstring(value, wrappers[i], &text) || text.type != jbvString)
			continue;
		digits = string_of(&text);
		d = strtod(digits, &end);
		if (*digits != '\0' && *end == '\0' && isfinite(d))
			return number_from_double(d, 0);
	}
	return NULL;
}

/* Is an option of the index given and true? */
static bool
has_option(const IndexSpec *index, const char *name)
{
	JsonbValue	value;

	return value_get_cstring(index->spec, name, &value) && value_is_true(&value);
}

/* The fields of an index, in the order of jsonb. */
static void
read_keys(IndexSpec *index, const JsonbValue *key, const char *place)
{
	JsonbWalk	walk;
	JsonbValue	path;
	JsonbValue	direction;

	if (value_count(key) == 0 || value_count(key) > MAX_KEYS)
		field_mismatch(place, psprintf("an object of 1 to %d fields", MAX_KEYS), key);
	walk_begin(&walk, key->val.binary.data);
	while (walk_next(&walk, &path, &direction))
	{
		IndexKey   *k = &index->keys[index->nkeys++];
		Numeric		number = number_of(&direction);

		k->path = path;
		if (number != NULL)
			value_from_cstring(number_compare(number, number_from_int64(0)) < 0 ? "-1" : "1", &direction);
		if (direction.type != jbvString)
			field_mismatch(place, "an object of numbers and strings", key);
		k->direction = direction;
	}
}

/* What follows in a name; NULL if it does not go on with these bytes. */
static const char *
skip_text(const char *name, const JsonbValue *text)
{
	if (name == NULL || strncmp(name, text->val.string.val, text->val.string.len) != 0)
		return NULL;
	return name + text->val.string.len;
}

static const char *
skip_char(const char *name, char c)
{
	return name != NULL && *name == c ? name + 1 : NULL;
}

/* Find the keys from place n on in the rest of a default name: a_1_b_-1 */
static bool
order_by_name(IndexSpec *index, const char *name, IndexKey *ordered, int n)
{
	CHECK_FOR_INTERRUPTS();
	if (n == index->nkeys)
		return *name == '\0';
	for (int i = 0; i < index->nkeys; i++)
	{
		IndexKey   *k = &index->keys[i];
		const char *rest = n == 0 ? name : skip_char(name, '_');

		rest = skip_text(rest, &k->path);
		rest = skip_char(rest, '_');
		rest = skip_text(rest, &k->direction);
		if (k->used || rest == NULL)
			continue;
		k->used = true;
		ordered[n] = *k;
		if (order_by_name(index, rest, ordered, n + 1))
			return true;
		k->used = false;
	}
	return false;
}

/* An index of the metadata; 22023 if it is none. */
static void
read_index(const JsonbValue *spec, uint32 number, IndexSpec *index)
{
	char	   *place = psprintf("indexes.%u.key", number);
	IndexKey	ordered[MAX_KEYS];
	JsonbValue	value;

	memset(index, 0, sizeof(*index));
	index->spec = spec;
	if (!value_is_object(spec))
		field_mismatch(psprintf("indexes.%u", number), "an object", spec);
	index->name = value_get_cstring(spec, "name", &value) && value.type == jbvString ?
		string_of(&value) : psprintf("index %u", number + 1);
	if (!value_get_cstring(spec, "key", &value))
		value.type = jbvNull;
	if (!value_is_object(&value))
		field_mismatch(place, "an object", &value);
	read_keys(index, &value, place);
	index->ordered = index->nkeys == 1;
	if (!index->ordered && order_by_name(index, index->name, ordered, 0))
	{
		memcpy(index->keys, ordered, sizeof(ordered));
		index->ordered = true;
	}
}

/* The operator and operand by which a path is reached: ->'a', #>>'{a,b}' */
static char *
path_access(const char *path, int len, bool as_text)
{
	StringInfoData array;
	bool		dotted = memchr(path, '.', len) != NULL;
	const char *arrow = dotted ? "#>" : "->";

	initStringInfo(&array);
	if (!dotted)
		appendBinaryStringInfo(&array, path, len);
	else
	{
		appendStringInfoString(&array, "{\"");
		for (int i = 0; i < len; i++)
		{
			if (path[i] == '.')
				appendStringInfoString(&array, "\",\"");
			else
			{
				if (path[i] == '"' || path[i] == '\\')
					appendStringInfoChar(&array, '\\');
				appendStringInfoChar(&array, path[i]);
			}
		}
		appendStringInfoString(&array, "\"}");
	}
	return psprintf("%s%s%s", arrow, as_text ? ">" : "", quote_literal_cstr(array.data));
}

/* A field of the document as jsonb. */
static char *
field(const Ddl *ddl, const JsonbValue *path)
{
	return psprintf("%s%s", ddl->column, path_access(path->val.string.val, path->val.string.len, false));
}

/* The condition of a partial or sparse index, with WHERE; "" if it has none. */
static char *
index_condition(const Ddl *ddl, const IndexSpec *index)
{
	const BsonOptions options = {MODE_RELAXED, false, NUL_ERROR};
	const BsonOrigin origin = {0};
	StringInfoData buf;
	JsonbValue	filter;

	if (value_get_cstring(index->spec, "partialFilterExpression", &filter) && value_is_object(&filter))
	{
		/* numbers come in wrappers here, and plainly in documents */
		bson_t		bson;
		Jsonb	   *relaxed;

		document_to_bson(value_to_jsonb(&filter), &bson);
		relaxed = document_from_bson(bson_get_data(&bson), bson.len, &options, &origin,
									 CurrentMemoryContext);
		return psprintf(" WHERE %s OPERATOR(%s.@~) %s", ddl->column, ddl->schema,
						quote_literal_cstr(JsonbToCString(NULL, &relaxed->root, VARSIZE(relaxed))));
	}
	if (!has_option(index, "sparse"))
		return "";
	initStringInfo(&buf);
	for (int i = 0; i < index->nkeys; i++)
		appendStringInfo(&buf, "%s(%s) IS NOT NULL", i == 0 ? " WHERE " : " OR ",
						 field(ddl, &index->keys[i].path));
	return buf.data;
}

/* CREATE INDEX with all that stands before and behind the columns. */
static void
create_index(Ddl *ddl, const IndexSpec *index, const char *method, const char *columns)
{
	char	   *name = psprintf("%s_%s", ddl->relation_name, index->name);
	bool		unique = has_option(index, "unique") || strcmp(index->name, "_id_") == 0;
	bool		missing = unique && !has_option(index, "sparse") && strcmp(index->name, "_id_") != 0;

	/* a name that is too long is PostgreSQL's to choose */
	name = strlen(name) < NAMEDATALEN ? psprintf(" %s", pstrdup(quote_identifier(name))) : "";
	add_line(ddl, psprintf("CREATE %sINDEX%s ON %s%s (%s)%s%s", unique ? "UNIQUE " : "", name,
						   ddl->relation, method, columns, missing ? " NULLS NOT DISTINCT" : "",
						   index_condition(ddl, index)));
}

/* The place of a key of this direction; -1 if there is none. */
static int
find_direction(const IndexSpec *index, const char *direction)
{
	for (int i = 0; i < index->nkeys; i++)
		if (value_is_string(&index->keys[i].direction, direction))
			return i;
	return -1;
}

/* The last step of a path; *parent is what comes before its point. */
static JsonbValue
last_step(const JsonbValue *path, JsonbValue *parent)
{
	JsonbValue	step = *path;

	*parent = *path;
	do
		parent->val.string.len--;
	while (parent->val.string.len > 0 && path->val.string.val[parent->val.string.len] != '.');
	if (parent->val.string.len > 0)
	{
		step.val.string.val += parent->val.string.len + 1;
		step.val.string.len -= parent->val.string.len + 1;
	}
	return step;
}

/* Are the fields k and v of the same list? */
static bool
is_attribute_index(const IndexSpec *index, JsonbValue *list)
{
	JsonbValue	other;
	JsonbValue	a = last_step(&index->keys[0].path, list);
	JsonbValue	b = last_step(&index->keys[Min(index->nkeys, 2) - 1].path, &other);

	if (index->nkeys != 2 || has_option(index, "unique"))
		return false;
	return list->val.string.len > 0 && value_equal(list, &other) &&
		((value_is_string(&a, "k") && value_is_string(&b, "v")) ||
		 (value_is_string(&a, "v") && value_is_string(&b, "k")));
}

static void
ordinary_index(Ddl *ddl, const IndexSpec *index)
{
	StringInfoData columns;
	JsonbValue	list;

	initStringInfo(&columns);
	if (is_attribute_index(index, &list))
	{
		create_index(ddl, index, " USING gin",
					 psprintf("%s %s.jsonb_attribute_ops (path = %s)", ddl->column, ddl->schema,
							  quote_literal_cstr(string_of(&list))));
		return;
	}
	if (!index->ordered)
		comment(ddl, index, "the order of its fields is not known, as jsonb sorts them; compare it with the index");
	if (index->nkeys > 1 && find_direction(index, "hashed") >= 0)
		comment(ddl, index, "PostgreSQL hashes one field only; this index is ordered");
	for (int i = 0; i < index->nkeys; i++)
		appendStringInfo(&columns, "%s(%s)%s", i == 0 ? "" : ", ", field(ddl, &index->keys[i].path),
						 value_is_string(&index->keys[i].direction, "-1") ? " DESC" : "");
	create_index(ddl, index, index->nkeys == 1 && find_direction(index, "hashed") == 0 ? " USING hash" : "",
				 columns.data);
}

/* The configuration of PostgreSQL's text search for a language of MongoDB's. */
static const char *
text_language(Ddl *ddl, const IndexSpec *index)
{
	static const char *const languages[] = {"danish", "dutch", "english", "finnish", "french", "german",
		"hungarian", "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "turkish"};
	JsonbValue	language;

	if (!value_get_cstring(index->spec, "default_language", &language) || language.type != jbvString)
		return "english";
	for (int i = 0; i < lengthof(languages); i++)
		if (value_is_string(&language, languages[i]))
			return languages[i];
	if (!value_is_string(&language, "none"))
		comment(ddl, index, psprintf("the language %s is indexed without knowing its words", string_of(&language)));
	return "simple";
}

/* PostgreSQL's label: A for the greatest weight, down to D; how many greater ones there are. */
static char
weight_label(const JsonbValue *weights, Numeric weight)
{
	JsonbWalk	walk;
	JsonbValue	other;
	Numeric		last = weight;
	int			rank = -1;

	for (; last != NULL && rank < 3; rank++)
	{
		Numeric		next = NULL;

		walk_begin(&walk, weights->val.binary.data);
		while (walk_next(&walk, NULL, &other))
		{
			Numeric		n = number_of(&other);

			if (n != NULL && number_compare(n, last) > 0 && (next == NULL || number_compare(n, next) < 0))
				next = n;
		}
		last = next;
	}
	return 'A' + rank;
}

static void
text_index(Ddl *ddl, const IndexSpec *index)
{
	const char *language = text_language(ddl, index);
	StringInfoData columns;
	JsonbWalk	walk;
	JsonbValue	weights;
	JsonbValue	path;
	JsonbValue	weight;

	if (!value_get_cstring(index->spec, "weights", &weights) || !value_is_object(&weights))
	{
		comment(ddl, index, "text index without weights, which say what it indexes");
		return;
	}
	if (index->nkeys > 2 || !value_is_string(&index->keys[0].path, "_fts"))
		comment(ddl, index, "the fields beside the text are left out");
	initStringInfo(&columns);
	walk_begin(&walk, weights.val.binary.data);
	while (walk_next(&walk, &path, &weight))
	{
		Numeric		number = number_of(&weight);
		bool		all = value_is_string(&path, "$**");

		if (number == NULL)
			number = number_from_int64(1);
		appendStringInfo(&columns, "%ssetweight(coalesce(to_tsvector('pg_catalog.%s', %s), ''), '%c')",
						 columns.len == 0 ? "" : " || ", language, all ? ddl->column : field(ddl, &path),
						 weight_label(&weights, number));
	}
	create_index(ddl, index, " USING gin", psprintf("(%s)", columns.data));
}

/* {"$**": 1} or {"a.$**": 1}, the only field of an index. */
static void
wildcard_index(Ddl *ddl, const IndexSpec *index, int prefix)
{
	JsonbValue	path = index->keys[0].path;

	if (has_option(index, "wildcardProjection"))
		comment(ddl, index, "its wildcardProjection is left out: all fields are indexed");
	path.val.string.len = prefix;
	create_index(ddl, index, " USING gin", prefix == 0 ? ddl->column : psprintf("(%s)", field(ddl, &path)));
}

/* Points as pairs, on a plane. */
static void
plane_index(Ddl *ddl, const IndexSpec *index, const JsonbValue *path)
{
	char	   *coordinates[2];

	if (index->nkeys > 1)
		comment(ddl, index, "the fields beside the points are left out");
	for (int i = 0; i < 2; i++)
	{
		char	   *coordinate = psprintf("%s.%d", string_of(path), i);

		coordinates[i] = psprintf("%s%s", ddl->column, path_access(coordinate, strlen(coordinate), true));
	}
	create_index(ddl, index, " USING gist",
				 psprintf("point((%s)::float8, (%s)::float8)", coordinates[0], coordinates[1]));
}

/* How many bytes of a path come before $**; -1 if it does not end so. */
static int
wildcard_prefix(const JsonbValue *path)
{
	const char *s = path->val.string.val;
	int			len = path->val.string.len;

	if (len < 3 || memcmp(s + len - 3, "$**", 3) != 0)
		return -1;
	return len == 3 ? 0 : len - 4;
}

/* Options that make no other index. */
static void
comment_options(Ddl *ddl, const IndexSpec *index)
{
	JsonbValue	value;
	Numeric		seconds;

	if (value_get_cstring(index->spec, "expireAfterSeconds", &value) && (seconds = number_of(&value)) != NULL)
	{
		char	   *path = string_of(&index->keys[0].path);
		char	   *date = psprintf("%s.$date", path);

		comment(ddl, index, psprintf("to be run from time to time: DELETE FROM %s WHERE coalesce(%s%s, %s%s)::timestamptz < now() - interval '%s seconds'",
									 ddl->relation, ddl->column, path_access(date, strlen(date), true),
									 ddl->column, path_access(path, strlen(path), true),
									 number_to_cstring(seconds)));
	}
	if (value_get_cstring(index->spec, "collation", &value))
		comment(ddl, index, "its collation is left out: jsonb compares strings by that of the database");
	if (has_option(index, "hidden"))
		comment(ddl, index, "it is hidden in MongoDB");
}

/* The lines of an index. */
static void
index_ddl(Ddl *ddl, const IndexSpec *index)
{
	int			text = find_direction(index, "text");
	int			plane = find_direction(index, "2d");
	int			sphere = find_direction(index, "2dsphere");

	comment_options(ddl, index);
	for (int i = 0; i < index->nkeys; i++)
	{
		const IndexKey *k = &index->keys[i];
		int			prefix = wildcard_prefix(&k->path);

		if (prefix >= 0 && index->nkeys == 1)
		{
			wildcard_index(ddl, index, prefix);
			return;
		}
		if (prefix >= 0 ||
			(!value_is_string(&k->direction, "1") && !value_is_string(&k->direction, "-1") &&
			 !value_is_string(&k->direction, "hashed") && text < 0 && plane < 0 && sphere < 0))
		{
			comment(ddl, index, psprintf("PostgreSQL has no index of the kind %s",
										 prefix >= 0 ? "of several fields with a wildcard" : string_of(&k->direction)));
			return;
		}
	}
	if (text >= 0)
		text_index(ddl, index);
	else if (plane >= 0)
		plane_index(ddl, index, &index->keys[plane].path);
	else if (sphere >= 0)
		comment(ddl, index, psprintf("needs PostGIS: CREATE INDEX ON %s USING gist ((ST_GeomFromGeoJSON(%s)::geography))",
									 ddl->relation, field(ddl, &index->keys[sphere].path)));
	else
		ordinary_index(ddl, index);
}

/* All lines, in the order of the metadata. */
static void
metadata_ddl(Ddl *ddl, const JsonbValue *metadata)
{
	JsonbValue	indexes;
	JsonbValue	spec;
	JsonbWalk	walk;

	if (!value_is_object(metadata))
		argument_mismatch("metadata", "an object", metadata);
	if (!value_get_cstring(metadata, "indexes", &indexes))
		return;
	if (!value_is_array(&indexes))
		field_mismatch("indexes", "an array", &indexes);
	walk_begin(&walk, indexes.val.binary.data);
	for (uint32 i = 0; walk_next(&walk, NULL, &spec); i++)
	{
		IndexSpec	index;

		CHECK_FOR_INTERRUPTS();
		read_index(&spec, i, &index);
		index_ddl(ddl, &index);
	}
}

/* The statements for a table's column, and comments on what they leave out. */
Datum
pattern_bson_metadata_ddl(PG_FUNCTION_ARGS)
{
	FuncCallContext *funcctx;
	Ddl		   *ddl;

	if (SRF_IS_FIRSTCALL())
	{
		MemoryContext caller;
		Oid			relid = PG_GETARG_OID(1);
		const char *column = NameStr(*PG_GETARG_NAME(2));
		JsonbValue	metadata;

		funcctx = SRF_FIRSTCALL_INIT();
		caller = MemoryContextSwitchTo(funcctx->multi_call_memory_ctx);
		if (get_rel_relkind(relid) == '\0')
			relation_missing(relid);
		relation_column(relid, column, JSONBOID);
		ddl = palloc0(sizeof(Ddl));
		ddl->schema = pstrdup(quote_identifier(extension_schema(fcinfo)));
		ddl->relation = relation_quoted_name(relid);
		ddl->relation_name = get_rel_name(relid);
		ddl->column = pstrdup(quote_identifier(column));
		value_from_jsonb(PG_GETARG_JSONB_P(0), &metadata);
		metadata_ddl(ddl, &metadata);
		funcctx->user_fctx = ddl;
		MemoryContextSwitchTo(caller);
	}
	funcctx = SRF_PERCALL_SETUP();
	ddl = funcctx->user_fctx;
	if (ddl->next == list_length(ddl->lines))
		SRF_RETURN_DONE(funcctx);
	SRF_RETURN_NEXT(funcctx, CStringGetTextDatum(list_nth(ddl->lines, ddl->next++)));
}
