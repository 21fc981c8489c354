/*
 * patterns/attribute_facets.c
 *		Attribute pattern: attribute_facets, which counts rows by name and value.
 *
 * A count is the number of rows that attribute_query's query for this name and
 * value would find: a value that a row has twice counts once, and the members of
 * an array count each.  Values become keys of the result, so that they are told
 * apart by their text, numbers by value; null, objects and arrays in arrays are
 * not counted, and elements that are no attributes are passed over.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "pattern.h"

/* A value of a name and in how many rows it is, in attribute_facets. */
typedef struct Facet
{
	NameEntry	key;			/* name, zero byte, value; must be first */
	int			name_len;
	int64		count;
	int64		row;			/* the last row that was counted */
} Facet;

/* The values of a name, while facets are written. */
typedef struct FacetName
{
	NameEntry	name;			/* must be first */
	PairList	values;
} FacetName;

/* State of attribute_facets. */
typedef struct Facets
{
	MemoryContext context;
	HTAB	   *table;			/* of Facet */
	int64		row;			/* rows seen */
	StringInfoData key;			/* scratch */
} Facets;

PG_FUNCTION_INFO_V1(pattern_attribute_facets_add);
PG_FUNCTION_INFO_V1(pattern_attribute_facets_combine);
PG_FUNCTION_INFO_V1(pattern_attribute_facets_serialize);
PG_FUNCTION_INFO_V1(pattern_attribute_facets_deserialize);
PG_FUNCTION_INFO_V1(pattern_attribute_facets_final);

/* An empty state in the current memory context. */
static Facets *
facets_create(void)
{
	Facets	   *facets = palloc0(sizeof(Facets));

	facets->context = CurrentMemoryContext;
	facets->table = names_create(sizeof(Facet));
	initStringInfo(&facets->key);
	return facets;
}

/* The entry of a key, which is copied if it is new. */
static Facet *
facets_enter(Facets *facets, const char *key, int len, int name_len)
{
	bool		found;
	Facet	   *facet = names_enter(facets->table, key, len, &found);

	if (!found)
	{
		char	   *copy = MemoryContextAlloc(facets->context, len);

		memcpy(copy, key, len);
		facet->key.name = copy;
		facet->name_len = name_len;
		facet->count = 0;
		facet->row = 0;
	}
	return facet;
}

/* Count a scalar, once a row; null, objects and arrays are not counted. */
static void
facets_count(Facets *facets, const JsonbValue *name, const JsonbValue *value)
{
	StringInfo	key = &facets->key;
	Facet	   *facet;

	resetStringInfo(key);
	appendBinaryStringInfo(key, name->val.string.val, name->val.string.len);
	appendStringInfoChar(key, '\0');
	if (value->type == jbvString)
		appendBinaryStringInfo(key, value->val.string.val, value->val.string.len);
	else if (value->type == jbvNumeric)
		appendStringInfoString(key, numeric_normalize(value->val.numeric));
	else if (value->type == jbvBool)
		appendStringInfoString(key, value->val.boolean ? "true" : "false");
	else
		return;
	facet = facets_enter(facets, key->data, key->len, name->val.string.len);
	if (facet->row != facets->row)
		facet->count++;
	facet->row = facets->row;
}

/* Count a row's attributes. */
static void
facets_add(Facets *facets, const JsonbValue *attributes)
{
	JsonbWalk	walk,
				members;
	JsonbValue	element,
				name,
				value,
				member;

	facets->row++;
	walk_begin(&walk, attributes->val.binary.data);
	while (walk_next(&walk, NULL, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (!attribute_read(&element, &name, &value))
			continue;
		if (!value_is_array(&value))
			facets_count(facets, &name, &value);
		else
		{
			walk_begin(&members, value.val.binary.data);
			while (walk_next(&members, NULL, &member))
				facets_count(facets, &name, &member);
		}
	}
}

/* attribute_facets' state after a row; attributes that are no array are passed over */
Datum
pattern_attribute_facets_add(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	Facets	   *facets = PG_ARGISNULL(0) ? NULL : (Facets *) PG_GETARG_POINTER(0);
	JsonbValue	attributes;

	if (facets == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(context);

		facets = facets_create();
		MemoryContextSwitchTo(caller);
	}
	if (!PG_ARGISNULL(1))
	{
		value_from_jsonb(PG_GETARG_JSONB_P(1), &attributes);
		if (value_is_array(&attributes))
			facets_add(facets, &attributes);
	}
	PG_RETURN_POINTER(facets);
}

/* the states of two parts as one */
Datum
pattern_attribute_facets_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	Facets	   *facets = PG_ARGISNULL(0) ? NULL : (Facets *) PG_GETARG_POINTER(0);
	Facets	   *others = PG_ARGISNULL(1) ? NULL : (Facets *) PG_GETARG_POINTER(1);
	HASH_SEQ_STATUS seq;
	Facet	   *other;

	if (facets == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(context);

		facets = facets_create();
		MemoryContextSwitchTo(caller);
	}
	if (others != NULL)
	{
		hash_seq_init(&seq, others->table);
		while ((other = hash_seq_search(&seq)) != NULL)
			facets_enter(facets, other->key.name, other->key.len, other->name_len)->count += other->count;
	}
	PG_RETURN_POINTER(facets);
}

/* a state as bytes */
Datum
pattern_attribute_facets_serialize(PG_FUNCTION_ARGS)
{
	Facets	   *facets = (Facets *) PG_GETARG_POINTER(0);
	HASH_SEQ_STATUS seq;
	Facet	   *facet;
	StringInfoData buf;

	(void) aggregate_context(fcinfo);
	pq_begintypsend(&buf);
	pq_sendint64(&buf, hash_get_num_entries(facets->table));
	hash_seq_init(&seq, facets->table);
	while ((facet = hash_seq_search(&seq)) != NULL)
	{
		pq_sendint32(&buf, facet->key.len);
		pq_sendint32(&buf, facet->name_len);
		pq_sendint64(&buf, facet->count);
		pq_sendbytes(&buf, facet->key.name, facet->key.len);
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}

/* and back */
Datum
pattern_attribute_facets_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	Facets	   *facets;
	StringInfoData buf;
	int64		n;

	(void) aggregate_context(fcinfo);
	aggregate_bytes(bytes, &buf);
	facets = facets_create();
	n = pq_getmsgint64(&buf);
	for (int64 i = 0; i < n; i++)
	{
		int			len = pq_getmsgint(&buf, 4);
		int			name_len = pq_getmsgint(&buf, 4);
		int64		count = pq_getmsgint64(&buf);

		facets_enter(facets, pq_getmsgbytes(&buf, len), len, name_len)->count = count;
	}
	pq_getmsgend(&buf);
	PG_RETURN_POINTER(facets);
}

static Jsonb *
facets_write(const Facets *facets)
{
	HTAB	   *names = names_create(sizeof(FacetName));
	HASH_SEQ_STATUS seq;
	Facet	   *facet;
	FacetName  *name;
	PairList	result = {0};
	JsonbValue	value;
	bool		found;

	hash_seq_init(&seq, facets->table);
	while ((facet = hash_seq_search(&seq)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		name = names_enter(names, facet->key.name, facet->name_len, &found);
		if (!found)
			name->values = (PairList) {0};
		value_from_int64(facet->count, &value);
		pairs_append(&name->values, facet->key.name + facet->name_len + 1,
					 facet->key.len - facet->name_len - 1, &value);
	}
	hash_seq_init(&seq, names);
	while ((name = hash_seq_search(&seq)) != NULL)
	{
		pairs_finish(&name->values, &value);
		pairs_append(&result, name->name.name, name->name.len, &value);
	}
	pairs_finish(&result, &value);
	return value_to_jsonb(&value);
}

/* attribute_facets' result; {} over no rows */
Datum
pattern_attribute_facets_final(PG_FUNCTION_ARGS)
{
	JsonbValue	none;

	(void) aggregate_context(fcinfo);
	if (!PG_ARGISNULL(0))
		PG_RETURN_JSONB_P(facets_write((Facets *) PG_GETARG_POINTER(0)));
	pairs_finish(&(PairList) {0}, &none);
	PG_RETURN_JSONB_P(value_to_jsonb(&none));
}
