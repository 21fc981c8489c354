/*
 * patterns/attribute_condition.c
 *		What a value must be, and what an element must have, as ranges of keys.
 *
 * The query languages have one thing in common that an index can answer: an
 * element of the array has a name and its value passes tests.  A test is a set
 * of ranges of what follows the name in a key, each from a key up to another
 * that is not in it, so that all operators are one thing, a conjunction is the
 * common part of sets, and a single key is a range up to itself with one more
 * zero byte.
 *
 * An array passes a test if one of its members does, and several tests if each
 * finds some member; the languages agree on that.  So a test has ranges for
 * arrays' members apart.
 *
 * Elements are kept as alternatives, a list of which each asks for a name and
 * tests; AND and OR distribute.  attribute_node.c makes entries of them.
 */
#include "postgres.h"

#include "attribute_index.h"

/* More alternatives than this are not told apart. */
#define MAX_ELEMENTS 64

static KeyBytes
bytes_copy(const uint8 *bytes, int len, bool successor)
{
	uint8	   *copy = palloc(len + 1);
	KeyBytes	result;

	memcpy(copy, bytes, len);
	copy[len] = 0;
	result.bytes = copy;
	result.len = len + (successor ? 1 : 0);
	return result;
}

static KeyBytes
bytes_of(uint8 byte)
{
	return bytes_copy(&byte, 1, false);
}

/* The first bytes behind all that start with these; they are not all 0xFF. */
static KeyBytes
bytes_behind(const uint8 *bytes, int len)
{
	uint8	   *copy = palloc(len);
	KeyBytes	result;

	memcpy(copy, bytes, len);
	while (copy[len - 1] == 0xFF)
		len--;
	copy[len - 1]++;
	result.bytes = copy;
	result.len = len;
	return result;
}

static inline int
compare_bytes(const KeyBytes *a, const KeyBytes *b)
{
	return key_bytes_compare(a->bytes, a->len, b->bytes, b->len);
}

/* Add a range to a set, which is no longer in order then; an empty one is left out. */
static void
ranges_append(KeyRanges *ranges, KeyBytes low, KeyBytes high)
{
	if (compare_bytes(&low, &high) >= 0)
		return;
	ranges->ranges = array_reserve(ranges->ranges, ranges->n, &ranges->max, sizeof(KeyRange));
	ranges->ranges[ranges->n].low = low;
	ranges->ranges[ranges->n].high = high;
	ranges->n++;
}

static int
compare_ranges(const void *a, const void *b)
{
	return compare_bytes(&((const KeyRange *) a)->low, &((const KeyRange *) b)->low);
}

/* Bring a set in order again and join ranges that touch. */
static void
ranges_normalize(KeyRanges *ranges)
{
	uint32		n = 0;

	if (ranges->n > 1)
		qsort(ranges->ranges, ranges->n, sizeof(KeyRange), compare_ranges);
	for (uint32 i = 0; i < ranges->n; i++)
	{
		KeyRange   *last = n > 0 ? &ranges->ranges[n - 1] : NULL;
		const KeyRange *range = &ranges->ranges[i];

		if (last == NULL || compare_bytes(&last->high, &range->low) < 0)
			ranges->ranges[n++] = *range;
		else if (compare_bytes(&last->high, &range->high) < 0)
			last->high = range->high;
	}
	ranges->n = n;
}

/* Add what is in another set. */
void
key_ranges_add(KeyRanges *ranges, const KeyRanges *other)
{
	for (uint32 i = 0; i < other->n; i++)
		ranges_append(ranges, other->ranges[i].low, other->ranges[i].high);
	ranges_normalize(ranges);
}

/* Add everything whose first byte is at least low and less than high. */
void
key_ranges_add_types(KeyRanges *ranges, uint8 low, uint8 high)
{
	ranges_append(ranges, bytes_of(low), bytes_of(high));
	ranges_normalize(ranges);
}

/* Add the key that is this byte alone. */
void
key_ranges_add_key(KeyRanges *ranges, uint8 type)
{
	ranges_append(ranges, bytes_copy(&type, 1, false), bytes_copy(&type, 1, true));
	ranges_normalize(ranges);
}

/* The bytes behind another one. */
static KeyBytes
bytes_after(uint8 byte, const KeyBytes *bytes)
{
	uint8	   *copy = palloc(1 + bytes->len);
	KeyBytes	result;

	copy[0] = byte;
	memcpy(copy + 1, bytes->bytes, bytes->len);
	result.bytes = copy;
	result.len = 1 + bytes->len;
	return result;
}

/* Add what is in another set, each behind a byte. */
void
key_ranges_add_behind(KeyRanges *ranges, uint8 byte, const KeyRanges *other)
{
	for (uint32 i = 0; i < other->n; i++)
		ranges_append(ranges, bytes_after(byte, &other->ranges[i].low),
					  bytes_after(byte, &other->ranges[i].high));
	ranges_normalize(ranges);
}

/* Leave only what is in the other set, too. */
void
key_ranges_intersect(KeyRanges *ranges, const KeyRanges *other)
{
	KeyRanges	result = {0};
	uint32		i = 0;
	uint32		j = 0;

	while (i < ranges->n && j < other->n)
	{
		const KeyRange *a = &ranges->ranges[i];
		const KeyRange *b = &other->ranges[j];

		ranges_append(&result,
					  compare_bytes(&a->low, &b->low) > 0 ? a->low : b->low,
					  compare_bytes(&a->high, &b->high) < 0 ? a->high : b->high);
		if (compare_bytes(&a->high, &b->high) < 0)
			i++;
		else
			j++;
	}
	*ranges = result;
}

/* Take out numbers and strings that begin with a digit. */
void
key_ranges_leave_measures(KeyRanges *ranges)
{
	static const uint8 digits[] = {KEY_STRING, '0'};
	static const uint8 behind[] = {KEY_STRING, '9' + 1};
	KeyRanges	others = {0};

	ranges_append(&others, bytes_of(KEY_MISSING), bytes_of(KEY_NUMBER));
	ranges_append(&others, bytes_of(KEY_STRING), bytes_copy(digits, sizeof(digits), false));
	ranges_append(&others, bytes_copy(behind, sizeof(behind), false), bytes_of(KEY_ARRAY));
	key_ranges_intersect(ranges, &others);
}

static AttributeTest *
make_test(void)
{
	AttributeTest *test = palloc0(sizeof(AttributeTest));

	test->scalars_exact = true;
	test->objects_exact = true;
	test->arrays_exact = true;
	return test;
}

/* An array passes if a member passes. */
static AttributeTest *
make_ranges_test(KeyBytes low, KeyBytes high, bool exact)
{
	AttributeTest *test = make_test();

	ranges_append(&test->scalars, low, high);
	test->members = list_make1(&test->scalars);
	test->scalars_exact = exact;
	test->arrays_exact = exact;
	return test;
}

/* Where the keys of the scalar's type begin and end. */
static void
type_range(const JsonbValue *value, KeyBytes *low, KeyBytes *high)
{
	switch (value->type)
	{
		case jbvNull:
			*low = bytes_of(KEY_NULL);
			*high = bytes_of(KEY_NULL + 1);
			break;
		case jbvNumeric:
			*low = bytes_of(KEY_NUMBER);
			*high = bytes_of(KEY_NUMBER_END);
			break;
		case jbvString:
			*low = bytes_of(KEY_STRING);
			*high = bytes_of(KEY_STRING + 1);
			break;
		default:
			*low = bytes_of(KEY_FALSE);
			*high = bytes_of(KEY_TRUE + 1);
			break;
	}
}

/*
 * The value compares so with a scalar of its own type.  If the scalar's key was
 * cut, or strings are in another order than their keys, the range holds more.
 */
AttributeTest *
attribute_test_compare(TestOperator operator, const JsonbValue *operand, KeyOrder order)
{
	KeyBuffer	key;
	int			ordered;
	bool		cut;
	KeyBytes	low;
	KeyBytes	high;

	key.len = 0;
	type_range(operand, &low, &high);
	if (!key_add_value(&key, operand, &ordered))
		return make_ranges_test(low, high, false);
	if (operand->type == jbvString && operator != TEST_OPERATOR_EQ && !key_order_holds(order))
		return make_ranges_test(low, high, false);

	cut = ordered < key.len;
	switch (operator)
	{
		case TEST_OPERATOR_EQ:
			low = bytes_copy(key.bytes, key.len, false);
			high = bytes_copy(key.bytes, key.len, true);
			break;
		case TEST_OPERATOR_GT:
			low = bytes_copy(key.bytes, ordered, !cut);
			break;
		case TEST_OPERATOR_GTE:
			low = bytes_copy(key.bytes, ordered, false);
			break;
		case TEST_OPERATOR_LT:
			high = cut ? bytes_behind(key.bytes, ordered) : bytes_copy(key.bytes, key.len, false);
			break;
		case TEST_OPERATOR_LTE:
			high = cut ? bytes_behind(key.bytes, ordered) : bytes_copy(key.bytes, key.len, true);
			break;
	}
	return make_ranges_test(low, high,
							!cut && (operand->type != jbvString || key_string_is_exact()));
}

/* The value is a string that starts with these bytes; exact: nothing else is asked. */
AttributeTest *
attribute_test_prefix(const char *prefix, int len, bool exact)
{
	JsonbValue	operand;
	KeyBuffer	key;
	int			ordered;
	KeyBytes	low;
	KeyBytes	high;

	operand.type = jbvString;
	operand.val.string.val = unconstify(char *, prefix);
	operand.val.string.len = len;
	key.len = 0;
	type_range(&operand, &low, &high);
	if (!key_add_value(&key, &operand, &ordered))
		return make_ranges_test(low, high, false);
	return make_ranges_test(bytes_copy(key.bytes, ordered, false),
							bytes_behind(key.bytes, ordered),
							exact && ordered == key.len && key_string_is_exact());
}

/* The value is there, whatever it is. */
AttributeTest *
attribute_test_exists(void)
{
	AttributeTest *test = make_test();

	key_ranges_add_types(&test->scalars, KEY_NULL, KEY_OBJECT);
	test->objects = true;
	test->any_array = true;
	return test;
}

/* The value is not there. */
AttributeTest *
attribute_test_missing(void)
{
	AttributeTest *test = make_test();

	key_ranges_add_key(&test->scalars, KEY_MISSING);
	return test;
}

/* Let a missing value pass, too. */
void
attribute_test_add_missing(AttributeTest *test)
{
	KeyRanges	scalars = {0};

	/* members, which are never missing, may share the ranges */
	key_ranges_add(&scalars, &test->scalars);
	key_ranges_add_key(&scalars, KEY_MISSING);
	test->scalars = scalars;
}

/* Members of arrays that are no scalars. */
static KeyRanges *
make_container_ranges(void)
{
	KeyRanges  *ranges = palloc0(sizeof(KeyRanges));

	key_ranges_add_key(ranges, KEY_OBJECT);
	return ranges;
}

/* The value is an object, or an array that has one; not any does. */
AttributeTest *
attribute_test_object(void)
{
	AttributeTest *test = make_test();

	test->objects = true;
	test->members = list_make1(make_container_ranges());
	test->objects_exact = test->arrays_exact = false;
	return test;
}

/* The value is none of those that have a key. */
AttributeTest *
attribute_test_none(void)
{
	return make_test();
}

/* The value is an array that has all members of this one, or it has this one. */
AttributeTest *
attribute_test_contains_array(const JsonbValue *array)
{
	AttributeTest *test = make_test();
	JsonbWalk	walk;
	JsonbValue	member;

	test->arrays_exact = false;
	test->any_array = value_count(array) == 0;
	walk_begin(&walk, array->val.binary.data);
	while (walk_next(&walk, NULL, &member))
	{
		KeyRanges  *ranges = make_container_ranges();

		if (member.type != jbvBinary)
		{
			AttributeTest *equal = attribute_test_compare(TEST_OPERATOR_EQ, &member, KEY_ORDER_BYTES);

			key_ranges_add(ranges, &equal->scalars);
		}
		test->members = lappend(test->members, ranges);
	}
	return test;
}

/* The value passes one of two tests; the first is changed. */
AttributeTest *
attribute_test_or(AttributeTest *a, const AttributeTest *b)
{
	KeyRanges	scalars = {0};

	key_ranges_add(&scalars, &a->scalars);
	key_ranges_add(&scalars, &b->scalars);
	a->scalars = scalars;
	a->scalars_exact = a->scalars_exact && b->scalars_exact;
	if (b->objects)
		a->objects_exact = b->objects_exact || (a->objects && a->objects_exact);
	a->objects = a->objects || b->objects;
	a->arrays_exact = a->arrays_exact && b->arrays_exact;
	a->any_array = a->any_array || b->any_array;
	if (a->any_array || b->members == NIL)
		return a;
	if (a->members == NIL)
		a->members = b->members;
	else if (list_length(a->members) == 1 && list_length(b->members) == 1)
	{
		KeyRanges  *members = palloc0(sizeof(KeyRanges));

		key_ranges_add(members, linitial(a->members));
		key_ranges_add(members, linitial(b->members));
		a->members = list_make1(members);
	}
	else
	{
		a->any_array = true;
		a->arrays_exact = false;
	}
	return a;
}

static List *
make_elements(List *names, List *tests, bool exact)
{
	AttributeElement *element = palloc(sizeof(AttributeElement));

	element->names = names;
	element->tests = tests;
	element->exact = exact;
	return list_make1(element);
}

/* An element with one of these names, which are JsonbValues. */
List *
attribute_elements_named(List *names)
{
	return make_elements(names, NIL, true);
}

/* An element whose value passes a test. */
List *
attribute_elements_tested(AttributeTest *test)
{
	return make_elements(NIL, list_make1(test), true);
}

/* An element of which nothing is known. */
List *
attribute_elements_unknown(void)
{
	return make_elements(NIL, NIL, false);
}

static bool
elements_are_named(const List *elements)
{
	ListCell   *lc;

	foreach(lc, elements)
		if (((AttributeElement *) lfirst(lc))->names == NIL)
			return false;
	return true;
}

/* An element that is one of both, each of which is a list of alternatives. */
List *
attribute_elements_and(List *a, List *b)
{
	List	   *result = NIL;
	ListCell   *la,
			   *lb;

	if (list_length(a) * list_length(b) > MAX_ELEMENTS)
	{
		result = elements_are_named(a) ? a : b;
		foreach(la, result)
			((AttributeElement *) lfirst(la))->exact = false;
		return result;
	}
	foreach(la, a)
	{
		AttributeElement *x = lfirst(la);

		foreach(lb, b)
		{
			AttributeElement *y = lfirst(lb);
			bool		exact = x->exact && y->exact;

			/* an element with several names is irregular: look for one of them */
			if (x->names != NIL && y->names != NIL)
				exact = false;
			result = list_concat(result,
								 make_elements(x->names != NIL ? x->names : y->names,
											   list_concat_copy(x->tests, y->tests), exact));
		}
	}
	return result;
}

/* An element that is one of either. */
List *
attribute_elements_or(List *a, List *b)
{
	if (list_length(a) + list_length(b) > MAX_ELEMENTS)
		return attribute_elements_unknown();
	return list_concat_copy(a, b);
}
