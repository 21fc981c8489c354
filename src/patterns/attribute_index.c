/*
 * patterns/attribute_index.c
 *		jsonb_attribute_ops: one GIN index for every attribute.
 *
 * For each element {k, v, ...} of an array the index has one entry, name and
 * value together, in the order of the values, so that an equality is one entry
 * and a range is a run of them.  attribute_extract.c makes the entries of a
 * document, attribute_query.c and attribute_jsonpath.c those that a query looks
 * up, with a tree that says how they are joined.  Here the tree meets what was
 * found: entries settle regular documents, and only those that have a name's
 * marker, or that a query asks more of than an index knows, are looked at.
 *
 * @> is in a class of its own, jsonb_attribute_contains_ops.  For an operand
 * that is not a constant the planner asks no class what it would look up and
 * takes the index with the fewest pages, which is ours; at run time it may be
 * one that nothing can be looked up for.  Another GIN index on the column, which
 * answers every @>, must not lose to that.
 *
 * An operator class has no way to keep what it parsed but fn_extra; fn_expr
 * holds its options and is no call.
 */
#include "postgres.h"

#include "access/gin.h"
#include "access/reloptions.h"
#include "access/stratnum.h"

#include "attribute_index.h"

#define STRATEGY_MATCH			1
#define STRATEGY_CONTAINS		7	/* as in jsonb_ops */
#define STRATEGY_PATH_EXISTS	15
#define STRATEGY_PATH_PREDICATE	16

/* The options as reloptions stores them. */
typedef struct StoredOptions
{
	int32		vl_len_;
	int			path;			/* offsets of strings */
	int			key;
	int			value;
	int			statistics;
} StoredOptions;

/* What a support function keeps of its index. */
typedef struct IndexOptions
{
	AttributeOptions *attributes;
	const char *statistics;		/* schema and name; empty: none */
} IndexOptions;

PG_FUNCTION_INFO_V1(pattern_attribute_index_options);
PG_FUNCTION_INFO_V1(pattern_attribute_index_extract);
PG_FUNCTION_INFO_V1(pattern_attribute_index_query);
PG_FUNCTION_INFO_V1(pattern_attribute_index_consistent);
PG_FUNCTION_INFO_V1(pattern_attribute_index_partial);
PG_FUNCTION_INFO_V1(pattern_attribute_index_compare);
PG_FUNCTION_INFO_V1(pattern_attribute_key);

static void
check_path(const char *path)
{
	if (path != NULL && *path != '\0')
		path_parse(path, strlen(path), true);
}

static void
check_statistics(const char *statistics)
{
	if (statistics != NULL && *statistics != '\0' && attribute_statistics_name(statistics) == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid name of statistics: \"%s\"", statistics),
				 errdetail("It must be a schema and a name, as in \"public.products_attributes\".")));
}

/* The options that the operator classes take. */
Datum
pattern_attribute_index_options(PG_FUNCTION_ARGS)
{
	local_relopts *options = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(options, sizeof(StoredOptions));
	add_local_string_reloption(options, "path", "dotted path of the attributes' array",
							   "", check_path, NULL, offsetof(StoredOptions, path));
	add_local_string_reloption(options, "key", "field that holds an attribute's name",
							   "k", NULL, NULL, offsetof(StoredOptions, key));
	add_local_string_reloption(options, "value", "field that holds an attribute's value",
							   "v", NULL, NULL, offsetof(StoredOptions, value));
	add_local_string_reloption(options, "statistics", "statistics on the same attributes, with their schema",
							   "", check_statistics, NULL, offsetof(StoredOptions, statistics));
	PG_RETURN_VOID();
}

/* The parsed form of options that are given as text; palloc'd, with copies. */
AttributeOptions *
attribute_options(const char *path, const char *key, const char *value)
{
	AttributeOptions *options = palloc(sizeof(AttributeOptions));

	if (*path == '\0')
		options->path = path_from_texts(NULL, NULL, 0);
	else
		options->path = path_parse(path, strlen(path), true);
	options->key = pstrdup(key);
	options->key_len = strlen(key);
	options->value = pstrdup(value);
	options->value_len = strlen(value);
	return options;
}

/* The same for those of an index, or a class without any: bytea, or NULL. */
static IndexOptions *
stored_options(bytea *bytes)
{
	IndexOptions *options = palloc(sizeof(IndexOptions));
	StoredOptions *stored = (StoredOptions *) bytes;

	if (stored == NULL)
	{
		options->attributes = attribute_options("", "k", "v");
		options->statistics = "";
		return options;
	}
	options->attributes = attribute_options(GET_STRING_RELOPTION(stored, path),
											GET_STRING_RELOPTION(stored, key),
											GET_STRING_RELOPTION(stored, value));
	options->statistics = pstrdup(GET_STRING_RELOPTION(stored, statistics));
	return options;
}

/* The options of the index that a support function is called for. */
static const IndexOptions *
index_options(FunctionCallInfo fcinfo)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;

	if (flinfo->fn_extra == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(flinfo->fn_mcxt);

		flinfo->fn_extra = stored_options(PG_HAS_OPCLASS_OPTIONS() ?
										  PG_GET_OPCLASS_OPTIONS() : NULL);
		MemoryContextSwitchTo(caller);
	}
	return flinfo->fn_extra;
}

/* extractValue: a document's keys */
Datum
pattern_attribute_index_extract(PG_FUNCTION_ARGS)
{
	Jsonb	   *doc = PG_GETARG_JSONB_P(0);
	int32	   *nkeys = (int32 *) PG_GETARG_POINTER(1);

	PG_RETURN_POINTER(attribute_document_keys(index_options(fcinfo)->attributes, doc, nkeys));
}

static AttributeQuery *
make_query(Datum operand, StrategyNumber strategy, const AttributeOptions *options)
{
	AttributeQuery *query = palloc0(sizeof(AttributeQuery));
	JsonbValue	value;

	switch (strategy)
	{
		case STRATEGY_MATCH:
			value_from_jsonb(DatumGetJsonbP(operand), &value);
			attribute_query_match(query, options, match_compile(&value, MATCH_ANY));
			break;
		case STRATEGY_CONTAINS:
			attribute_query_contains(query, options, DatumGetJsonbP(operand));
			break;
		case STRATEGY_PATH_EXISTS:
		case STRATEGY_PATH_PREDICATE:
			attribute_query_jsonpath(query, options, DatumGetJsonPathP(operand),
									 strategy == STRATEGY_PATH_PREDICATE);
			break;
		default:
			elog(ERROR, "unrecognized strategy number: %d", strategy);
	}
	return query;
}

/* Leave out the ranges that are not worth it. */
static void
choose_ranges(AttributeQuery *query, const IndexOptions *options)
{
	AttributeStatistics statistics;

	if (query->root != NULL && attribute_choice_is_open(query->root) &&
		*options->statistics != '\0' &&
		attribute_statistics_open_named(&statistics, options->statistics))
		attribute_choose_ranges(&statistics, query->root);
}

/* extractQuery: the keys that a query looks up */
Datum
pattern_attribute_index_query(PG_FUNCTION_ARGS)
{
	Datum		operand = PG_GETARG_DATUM(0);
	int32	   *nkeys = (int32 *) PG_GETARG_POINTER(1);
	StrategyNumber strategy = PG_GETARG_UINT16(2);
	bool	  **is_range = (bool **) PG_GETARG_POINTER(3);
	Pointer   **extra_data = (Pointer **) PG_GETARG_POINTER(4);
	int32	   *search_mode = (int32 *) PG_GETARG_POINTER(6);
	const IndexOptions *options = index_options(fcinfo);
	AttributeQuery *query = make_query(operand, strategy, options->attributes);
	Datum	   *keys;

	*nkeys = 0;
	if (query->root == NULL)
		*search_mode = GIN_SEARCH_MODE_ALL;
	if (query->root == NULL || query->root->type == ATTRIBUTE_NEVER)
		PG_RETURN_POINTER(NULL);

	choose_ranges(query, options);
	attribute_query_number(query);
	*nkeys = query->nentries;
	keys = palloc(query->nentries * sizeof(Datum));
	*is_range = palloc(query->nentries * sizeof(bool));
	*extra_data = palloc0(query->nentries * sizeof(Pointer));
	for (uint32 i = 0; i < query->nentries; i++)
	{
		AttributeEntry *entry = query->entries[i];

		keys[i] = PointerGetDatum(key_to_bytea(entry->low.bytes, entry->low.len));
		(*is_range)[i] = entry->is_range;
		/* the first leads consistent to the tree; GIN shares keys that have none */
		if (i == 0 || entry->is_range)
			(*extra_data)[i] = (Pointer) entry;
	}
	PG_RETURN_POINTER(keys);
}

/* Does the tree hold for a document with these entries? */
static GinTernaryValue
evaluate(const AttributeNode *node, const bool *check)
{
	GinTernaryValue result;
	GinTernaryValue next;
	ListCell   *lc;

	switch (node->type)
	{
		case ATTRIBUTE_ENTRY:
			return check[node->entry->number] ? GIN_TRUE : GIN_FALSE;
		case ATTRIBUTE_PERHAPS:
			return evaluate(linitial(node->nodes), check) == GIN_FALSE ? GIN_FALSE : GIN_MAYBE;
		case ATTRIBUTE_AND:
			result = GIN_TRUE;
			foreach(lc, node->nodes)
			{
				next = evaluate(lfirst(lc), check);
				if (next == GIN_FALSE)
					return GIN_FALSE;
				if (next == GIN_MAYBE)
					result = GIN_MAYBE;
			}
			return result;
		case ATTRIBUTE_OR:
			result = GIN_FALSE;
			foreach(lc, node->nodes)
			{
				next = evaluate(lfirst(lc), check);
				if (next == GIN_TRUE)
					return GIN_TRUE;
				if (next == GIN_MAYBE)
					result = GIN_MAYBE;
			}
			return result;
		default:
			return GIN_FALSE;
	}
}

/*
 * consistent
 *
 * There is no triConsistent: what GIN keeps of its MAYBE, that the document has
 * to be looked at, is not taken back by a later TRUE, so that one irregular
 * document would have all that follow it in the index looked at, too.
 */
Datum
pattern_attribute_index_consistent(PG_FUNCTION_ARGS)
{
	bool	   *check = (bool *) PG_GETARG_POINTER(0);
	int32		nkeys = PG_GETARG_INT32(3);
	Pointer    *extra_data = (Pointer *) PG_GETARG_POINTER(4);
	bool	   *recheck = (bool *) PG_GETARG_POINTER(5);
	GinTernaryValue result = GIN_MAYBE;

	if (nkeys > 0)
		result = evaluate(((AttributeEntry *) extra_data[0])->query->root, check);
	*recheck = (result == GIN_MAYBE);
	PG_RETURN_BOOL(result != GIN_FALSE);
}

/* comparePartial: a range goes on up to its end */
Datum
pattern_attribute_index_partial(PG_FUNCTION_ARGS)
{
	bytea	   *key = (bytea *) PG_GETARG_POINTER(1);
	const AttributeEntry *entry = (const AttributeEntry *) PG_GETARG_POINTER(3);

	PG_RETURN_INT32(key_bytes_compare((uint8 *) VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key),
									  entry->high.bytes, entry->high.len) < 0 ? 0 : 1);
}

/* Is it one whose bytes follow a single one of length?  A pointer to a TOAST table looks alike. */
static inline bool
is_short(const bytea *bytes)
{
	return VARATT_IS_SHORT(bytes) && !VARATT_IS_EXTERNAL(bytes);
}

/*
 * compare; building an index is mostly this, and waiting for memory.  Nearly all
 * keys have a short header.  None is toasted in an index, but anybody may call.
 */
Datum
pattern_attribute_index_compare(PG_FUNCTION_ARGS)
{
	bytea	   *a = (bytea *) PG_GETARG_POINTER(0);
	bytea	   *b = (bytea *) PG_GETARG_POINTER(1);

	if (likely(is_short(a) && is_short(b)))
		PG_RETURN_INT32(key_bytes_compare((uint8 *) VARDATA_SHORT(a), VARSIZE_SHORT(a) - VARHDRSZ_SHORT,
										  (uint8 *) VARDATA_SHORT(b), VARSIZE_SHORT(b) - VARHDRSZ_SHORT));
	a = pg_detoast_datum_packed(a);
	b = pg_detoast_datum_packed(b);
	PG_RETURN_INT32(key_bytes_compare((uint8 *) VARDATA_ANY(a), VARSIZE_ANY_EXHDR(a),
									  (uint8 *) VARDATA_ANY(b), VARSIZE_ANY_EXHDR(b)));
}

/* attribute_key(name text, value jsonb) → bytea */
Datum
pattern_attribute_key(PG_FUNCTION_ARGS)
{
	text	   *name = PG_GETARG_TEXT_PP(0);
	Jsonb	   *jb = PG_GETARG_JSONB_P(1);
	JsonbValue	value;
	KeyBuffer	key;
	int			ordered;

	value_from_jsonb(jb, &value);
	key.len = 0;
	key_add_name(&key, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	if (value.type == jbvBinary || !key_add_value(&key, &value, &ordered))
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(key_to_bytea(key.bytes, key.len));
}
