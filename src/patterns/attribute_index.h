/*
 * attribute_index.h
 *		What the files of the attribute pattern's index tell each other.
 *
 * attribute_key.c			bytes that sort as names and values do
 * attribute_extract.c		a document's keys
 * attribute_condition.c	what is asked of a value as ranges of keys
 * attribute_node.c			and those as entries to be looked up
 * attribute_choice.c		which ranges are worth it
 * attribute_query.c		conditions out of @~ and @> operands
 * attribute_jsonpath.c		conditions out of @? and @@ operands
 * attribute_index.c		the operator classes
 * attribute_stats.c		statistics of the keys, for ANALYZE
 * attribute_rows.c			how many rows have an entry, by these
 * attribute_estimate.c		the planner's estimate made of that
 * attribute_ddl.c			create_attribute_index, drop_attribute_index
 */
#ifndef PATTERN_ATTRIBUTE_INDEX_H
#define PATTERN_ATTRIBUTE_INDEX_H

#include "nodes/pg_list.h"
#include "port/pg_bswap.h"
#include "utils/jsonpath.h"

#include "pattern.h"

/* Where the attributes are and what their fields are called. */
typedef struct AttributeOptions
{
	DocPath    *path;			/* of the array; no steps: the value itself */
	const char *key;			/* field that holds the name */
	int			key_len;
	const char *value;			/* field that holds the value */
	int			value_len;
} AttributeOptions;

/*
 * attribute_key.c
 *
 * The byte behind a name tells what follows.  All are less than the bytes of a
 * name, which they end; between KEY_NUMBER and KEY_NUMBER_END they are a
 * number's sign and exponent.  Where no byte follows, the name has a measure as
 * its value, or as a member of it.
 */
#define KEY_MISSING			0x00	/* no value */
#define KEY_NULL			0x01
#define KEY_NUMBER			0x02
#define KEY_NUMBER_END		0x19
#define KEY_STRING			0x19
#define KEY_FALSE			0x1A
#define KEY_TRUE			0x1B
#define KEY_OBJECT			0x1C	/* any, or an array in an array; here all scalars have ended */
#define KEY_ARRAY			0x1D	/* an empty one */
#define KEY_MEMBER			0x1E	/* of an array; its own byte follows */
#define KEY_ARRAY_END		0x1F
#define KEY_IRREGULAR		0x1F	/* the marker: look at the document; perhaps a value follows */
#define KEY_NAME			0x20	/* the first byte of a name, at least */

/* A key is cut behind this many bytes of name, and of value. */
#define KEY_NAME_LIMIT		128
#define KEY_STRING_LIMIT	128
#define KEY_NUMBER_LIMIT	32	/* two digits each */
#define KEY_HASH_LENGTH		8

#define KEY_NAME_MAX		(2 * KEY_NAME_LIMIT + KEY_HASH_LENGTH)
#define KEY_VALUE_MAX		(1 + KEY_STRING_LIMIT + KEY_HASH_LENGTH)
#define KEY_MAX				(KEY_NAME_MAX + 1 + KEY_VALUE_MAX)

/* A key, or a part of one, while it is put together. */
typedef struct KeyBuffer
{
	int			len;
	uint8		bytes[KEY_MAX];
} KeyBuffer;

/*
 * Measures are numbers, and strings that begin with a digit as dates do: what
 * is asked for by wide ranges.
 */
static inline bool
value_is_measure(const JsonbValue *value)
{
	return value->type == jbvNumeric ||
		(value->type == jbvString && value->val.string.len > 0 &&
		 value->val.string.val[0] >= '0' && value->val.string.val[0] <= '9');
}

/* How strings that are compared with a bound are ordered. */
typedef enum KeyOrder
{
	KEY_ORDER_BYTES,			/* as @~ does */
	KEY_ORDER_CODE_POINTS		/* as jsonpath does */
} KeyOrder;

extern bool key_add_name(KeyBuffer *key, const char *name, int len);
extern bool key_add_value(KeyBuffer *key, const JsonbValue *value, int *ordered);
extern int	key_name_length(const uint8 *key, int len);
extern double key_to_number(const uint8 *value, int len);
extern bool key_string_is_exact(void);
extern bool key_order_holds(KeyOrder order);
extern bytea *key_to_bytea(const uint8 *bytes, int len);

/* Eight bytes as a number in their order. */
static inline uint64
key_word(const uint8 *bytes)
{
	uint64		word;

	memcpy(&word, bytes, sizeof(uint64));
	return pg_ntoh64(word);
}

/*
 * The order of keys: bytes, then length.  Building an index is mostly this: keys
 * are short, and a call of memcmp takes longer than comparing two words.
 */
static inline int
key_bytes_compare(const uint8 *a, int alen, const uint8 *b, int blen)
{
	const int	size = sizeof(uint64);
	int			len = Min(alen, blen);
	uint64		x,
				y;

	if (unlikely(len < size))
	{
		for (int i = 0; i < len; i++)
			if (a[i] != b[i])
				return a[i] < b[i] ? -1 : 1;
		return alen - blen;
	}
	for (int i = 0; i + size <= len; i += size)
	{
		x = key_word(a + i);
		y = key_word(b + i);
		if (x != y)
			return x < y ? -1 : 1;
	}
	/* the last word begins in the one before, or is it */
	x = key_word(a + len - size);
	y = key_word(b + len - size);
	if (x != y)
		return x < y ? -1 : 1;
	return alen - blen;
}

static inline void
key_add_byte(KeyBuffer *key, uint8 byte)
{
	key->bytes[key->len++] = byte;
}

/*
 * attribute_extract.c
 */
extern Datum *attribute_document_keys(const AttributeOptions *options, const Jsonb *doc, int *n);

/*
 * attribute_condition.c
 */

/* Some bytes of a key. */
typedef struct KeyBytes
{
	int			len;
	const uint8 *bytes;
} KeyBytes;

/* Keys from low up to high, which is not one of them. */
typedef struct KeyRange
{
	KeyBytes	low;
	KeyBytes	high;
} KeyRange;

/* Ranges that lie apart, in order. */
typedef struct KeyRanges
{
	uint32		n;
	uint32		max;
	KeyRange   *ranges;
} KeyRanges;

/* What a value must be; the ranges are behind a name. */
typedef struct AttributeTest
{
	KeyRanges	scalars;		/* a scalar, or a missing value, is in one of these */
	bool		scalars_exact;	/* and that is enough */
	bool		objects;		/* an object may pass */
	bool		objects_exact;	/* and any does */
	bool		any_array;		/* an array passes, whatever is in it */
	List	   *members;		/* else: it has a member in one of each of these KeyRanges; NIL: none passes */
	bool		arrays_exact;
} AttributeTest;

typedef enum TestOperator
{
	TEST_OPERATOR_EQ,
	TEST_OPERATOR_GT,
	TEST_OPERATOR_GTE,
	TEST_OPERATOR_LT,
	TEST_OPERATOR_LTE
} TestOperator;

/* One element of the array that satisfies all of this. */
typedef struct AttributeElement
{
	List	   *names;			/* of JsonbValue: it has one of them; NIL: not known */
	List	   *tests;			/* of AttributeTest: its value passes all of them */
	bool		exact;			/* nothing else is asked */
} AttributeElement;

extern void key_ranges_add_types(KeyRanges *ranges, uint8 low, uint8 high);
extern void key_ranges_add_key(KeyRanges *ranges, uint8 type);
extern void key_ranges_add(KeyRanges *ranges, const KeyRanges *other);
extern void key_ranges_add_behind(KeyRanges *ranges, uint8 byte, const KeyRanges *other);
extern void key_ranges_leave_measures(KeyRanges *ranges);
extern void key_ranges_intersect(KeyRanges *ranges, const KeyRanges *other);

extern AttributeTest *attribute_test_compare(TestOperator operator, const JsonbValue *operand,
											 KeyOrder order);
extern AttributeTest *attribute_test_prefix(const char *prefix, int len, bool exact);
extern AttributeTest *attribute_test_exists(void);
extern AttributeTest *attribute_test_missing(void);
extern AttributeTest *attribute_test_contains_array(const JsonbValue *array);
extern AttributeTest *attribute_test_object(void);
extern AttributeTest *attribute_test_none(void);
extern void attribute_test_add_missing(AttributeTest *test);
extern AttributeTest *attribute_test_or(AttributeTest *a, const AttributeTest *b);

extern List *attribute_elements_named(List *names);
extern List *attribute_elements_tested(AttributeTest *test);
extern List *attribute_elements_unknown(void);
extern List *attribute_elements_and(List *a, List *b);
extern List *attribute_elements_or(List *a, List *b);

/*
 * attribute_node.c
 */
typedef enum AttributeNodeType
{
	ATTRIBUTE_NEVER,
	ATTRIBUTE_ENTRY,
	ATTRIBUTE_AND,
	ATTRIBUTE_OR,
	ATTRIBUTE_PERHAPS			/* of one node: where it holds, look at the document */
} AttributeNodeType;

/* Some keys that are looked up; in the index, extra_data. */
typedef struct AttributeEntry
{
	const struct AttributeQuery *query;
	int			number;			/* of those that are looked up; -1: it is not */
	KeyBytes	low;			/* with the name */
	KeyBytes	high;
	bool		is_range;		/* else low alone */
} AttributeEntry;

/* What must hold for the entries that a document has. */
typedef struct AttributeNode
{
	AttributeNodeType type;
	AttributeEntry *entry;
	List	   *nodes;
	struct AttributeNode *coarse;	/* holds if the node does, and needs no range; or NULL */
} AttributeNode;

/* A whole condition. */
typedef struct AttributeQuery
{
	uint32		nentries;
	uint32		maxentries;
	AttributeEntry **entries;	/* once numbered, those that are looked up */
	AttributeNode *root;		/* NULL: nothing is known, every document may match */
} AttributeQuery;

extern AttributeNode *attribute_node_elements(AttributeQuery *query, List *elements);
extern AttributeNode *attribute_node_and(AttributeNode *a, AttributeNode *b);
extern AttributeNode *attribute_node_or(AttributeNode *a, AttributeNode *b);
extern AttributeNode *attribute_node_never(void);
extern AttributeNode *attribute_node_perhaps(AttributeNode *node);
extern void attribute_query_number(AttributeQuery *query);

/*
 * attribute_rows.c
 */

/* What ANALYZE stored, opened for reading. */
typedef struct AttributeStatistics
{
	StringInfoData buf;
	double		nrows;			/* of the sample, as all rows that are stored */
	double		scale;			/* rows of the table for one of the sample */
	int			nrest;			/* names that were left out, and their rows */
	double		rest_rows;
	int			nnames;
	int			offsets;		/* where the names' places are */
	int			names;			/* where the names are */
} AttributeStatistics;

extern bool attribute_statistics_open(AttributeStatistics *statistics, Oid oid, bool inherit,
									  int expression, double table_rows);
extern bool attribute_statistics_open_named(AttributeStatistics *statistics, const char *name);
extern List *attribute_statistics_name(const char *name);
extern double attribute_entry_selectivity(AttributeStatistics *statistics, const AttributeEntry *entry);
extern double attribute_node_selectivity(AttributeStatistics *statistics, const AttributeNode *node);

/*
 * attribute_choice.c
 */
extern bool attribute_choice_is_open(const AttributeNode *node);
extern void attribute_choose_ranges(AttributeStatistics *statistics, AttributeNode *node);

/*
 * attribute_query.c, attribute_jsonpath.c
 */
extern void attribute_query_match(AttributeQuery *query, const AttributeOptions *options,
								  const MatchQuery *match);
extern void attribute_query_contains(AttributeQuery *query, const AttributeOptions *options,
									 const Jsonb *contained);
extern void attribute_query_jsonpath(AttributeQuery *query, const AttributeOptions *options,
									 JsonPath *path, bool as_predicate);

/*
 * attribute_index.c
 */
extern AttributeOptions *attribute_options(const char *path, const char *key, const char *value);

/*
 * attribute_stats.c
 */

/* Of the slot in pg_statistic; in the range for private use. */
#define ATTRIBUTE_STATISTIC_KIND	24217

/* Values are kept up to this many bytes. */
#define ATTRIBUTE_STATISTIC_BYTES	24

extern Datum pattern_attribute_terms(PG_FUNCTION_ARGS);

#endif							/* PATTERN_ATTRIBUTE_INDEX_H */
