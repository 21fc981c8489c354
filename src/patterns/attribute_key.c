/*
 * patterns/attribute_key.c
 *		Bytes that sort as attributes' names and values do.
 *
 * A key is the name, one byte that tells the value's type, and the value.  Bytes
 * of a name that are as small as types are escaped.  memcmp, and then the
 * length, give the order of all values of a name: missing, null, numbers by
 * value, strings by code points, false, true.  Equal values have equal keys,
 * whatever the scale of a number.  An index has as many keys as there are
 * values, in tuples that are padded to eight bytes: here a byte matters.
 *
 *		number	sign and exponent in the type's byte, two digits a byte from
 *				the first one that is not zero, no zeros at the end
 *		string	its bytes, in UTF-8
 *
 * What is long is cut.  The hash of the whole stands at the end, where it
 * separates different values and leaves the order of the bytes before it alone.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/namespace.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "attribute_index.h"

/*
 * Sign and exponent of a number, 0.d1d2d3... * 10^exponent, are its first byte if
 * the exponent is a usual one.  If not, the byte tells whether the number is
 * large or small, and the exponent follows: in one byte if it has room in it,
 * else behind the smallest or the largest byte in three.
 */
#define EXPONENT_MIN		(-1)
#define EXPONENT_MAX		7
#define EXPONENT_BYTE		120
#define NUMBER_HUGE_BELOW	KEY_NUMBER	/* negative numbers, from the least on */
#define NUMBER_BELOW		0x03
#define NUMBER_TINY_BELOW	0x0C
#define NUMBER_ZERO			0x0D
#define NUMBER_TINY			0x0E
#define NUMBER_ABOVE		0x0F
#define NUMBER_HUGE			0x18

/* Numeric's base 10,000 digits that hold as many decimal ones as a key does. */
#define READ_DIGITS			((2 * KEY_NUMBER_LIMIT + 3 + 3) / 4)

static void
add_bytes(KeyBuffer *key, const void *bytes, int len)
{
	memcpy(key->bytes + key->len, bytes, len);
	key->len += len;
}

static void
add_hash(KeyBuffer *key, const void *bytes, int len)
{
	uint64		hash = hash_bytes_extended(bytes, len, 0);

	StaticAssertStmt(sizeof(hash) == KEY_HASH_LENGTH, "hash does not have its length");
	add_bytes(key, &hash, sizeof(hash));
}

/* Sign and exponent. */
static void
add_exponent(KeyBuffer *key, bool negative, int exponent)
{
	uint8		flip = negative ? 0xFF : 0;

	if (exponent >= EXPONENT_MIN && exponent <= EXPONENT_MAX)
	{
		key_add_byte(key, negative ? NUMBER_BELOW + EXPONENT_MAX - exponent
					 : NUMBER_ABOVE + exponent - EXPONENT_MIN);
		return;
	}
	if (negative)
		key_add_byte(key, exponent > 0 ? NUMBER_HUGE_BELOW : NUMBER_TINY_BELOW);
	else
		key_add_byte(key, exponent > 0 ? NUMBER_HUGE : NUMBER_TINY);
	if (exponent >= -EXPONENT_BYTE && exponent <= EXPONENT_BYTE)
		key_add_byte(key, (0x80 + exponent) ^ flip);
	else
	{
		uint32		wide = exponent + 0x800000;

		key_add_byte(key, (exponent > 0 ? 0xFF : 0x00) ^ flip);
		for (int shift = 16; shift >= 0; shift -= 8)
			key_add_byte(key, ((wide >> shift) & 0xFF) ^ flip);
	}
}

/* How many decimal digits a base 10,000 digit has in front of it that are zero. */
static inline int
leading_zeros(int digit)
{
	return digit >= 1000 ? 0 : digit >= 100 ? 1 : digit >= 10 ? 2 : 3;
}

static inline int
trailing_zeros(int digit)
{
	return digit % 10 != 0 ? 0 : digit % 100 != 0 ? 1 : digit % 1000 != 0 ? 2 : 3;
}

/* Append the number; false if it was cut, and then *ordered is where its hash starts. */
static bool
add_number(KeyBuffer *key, Numeric n, int *ordered)
{
	NumberDigits number;
	uint8		decimals[4 * READ_DIGITS + 1];
	int			zeros;
	int			count;
	int			used;

	number_read(n, &number);
	if (number.ndigits == 0)
	{
		key_add_byte(key, NUMBER_ZERO);
		return true;
	}
	zeros = leading_zeros(number_digit(&number, 0));
	count = 4 * number.ndigits - zeros - trailing_zeros(number_digit(&number, number.ndigits - 1));
	used = Min(count, 2 * KEY_NUMBER_LIMIT);
	add_exponent(key, number.negative, 4 * (number.weight + 1) - zeros);

	for (int i = 0; 4 * i < zeros + used; i++)
	{
		int			digit = number_digit(&number, i);

		decimals[4 * i] = digit / 1000;
		decimals[4 * i + 1] = digit / 100 % 10;
		decimals[4 * i + 2] = digit / 10 % 10;
		decimals[4 * i + 3] = digit % 10;
	}
	decimals[zeros + used] = 0; /* the last pair's second half */
	for (int i = zeros; i < zeros + used; i += 2)
	{
		uint8		pair = 10 * decimals[i] + decimals[i + 1] + 1;

		key_add_byte(key, number.negative ? 0xFF - pair : pair);
	}
	if (count == used)
	{
		/* a negative number with more digits is smaller */
		if (number.negative)
			key_add_byte(key, 0xFF);
		return true;
	}
	*ordered = key->len;
	if (number.negative)
		key_add_byte(key, 0);
	add_hash(key, number.digits, number.ndigits * sizeof(int16));
	return false;
}

/* Are the database's strings in the order of their code points as they are? */
static bool
bytes_are_code_points(void)
{
	int			encoding = GetDatabaseEncoding();

	return encoding == PG_UTF8 || encoding == PG_SQL_ASCII || encoding == PG_LATIN1;
}

/* Does a string's key say all about it: its order and, if it is short, its bytes? */
bool
key_string_is_exact(void)
{
	return bytes_are_code_points();
}

/* Are strings in this order in the order of their keys? */
bool
key_order_holds(KeyOrder order)
{
	return order == KEY_ORDER_CODE_POINTS || bytes_are_code_points();
}

/* The string in UTF-8; NULL if it has no such form. */
static char *
string_to_utf8(const char *s, int len, int *result_len)
{
	int			encoding = GetDatabaseEncoding();
	Oid			conversion = FindDefaultConversionProc(encoding, PG_UTF8);
	Size		size = (Size) len * MAX_CONVERSION_GROWTH + 1;
	char	   *result;

	if (!OidIsValid(conversion) || size > MaxAllocSize)
		return NULL;
	result = palloc(size);
	if (pg_do_encoding_conversion_buf(conversion, encoding, PG_UTF8,
									  (unsigned char *) unconstify(char *, s), len,
									  (unsigned char *) result, size, true) < len)
		return NULL;
	*result_len = strlen(result);
	return result;
}

/* Append a string, cut at a limit; true if it was not cut. */
static bool
add_cut(KeyBuffer *key, const char *s, int len, int limit)
{
	add_bytes(key, s, Min(len, limit));
	if (len <= limit)
		return true;
	add_hash(key, s, len);
	return false;
}

static bool
add_string(KeyBuffer *key, const char *s, int len, int *ordered)
{
	if (!bytes_are_code_points())
	{
		s = string_to_utf8(s, len, &len);
		if (s == NULL)
			return false;
	}
	key_add_byte(key, KEY_STRING);
	*ordered = key->len + KEY_STRING_LIMIT;
	add_cut(key, s, len, KEY_STRING_LIMIT);
	*ordered = Min(*ordered, key->len);
	return true;
}

/* Bytes that are no part of a name as they are: types, and this one itself. */
#define ESCAPE 0x7F

/*
 * Begin a key with a name.  False if it was cut: then other names may have the
 * same key.
 */
bool
key_add_name(KeyBuffer *key, const char *name, int len)
{
	int			used = Min(len, KEY_NAME_LIMIT);
	uint64		hash;

	for (int i = 0; i < used; i++)
	{
		uint8		byte = name[i];

		if (byte < KEY_NAME || byte == ESCAPE)
		{
			key_add_byte(key, ESCAPE);
			byte |= 0x40;
		}
		key_add_byte(key, byte);
	}
	if (used == len)
		return true;
	hash = hash_bytes_extended((const unsigned char *) name, len, 0);
	for (int i = 0; i < KEY_HASH_LENGTH; i++, hash >>= 8)
		key_add_byte(key, (hash & 0xFF) | 0x80);
	return false;
}

/*
 * Append a scalar.  Up to the length *ordered the key's bytes are in order; if
 * it ends behind that, other values may have the same key.  False if the value
 * has no key: a string that cannot be converted to UTF-8.
 */
bool
key_add_value(KeyBuffer *key, const JsonbValue *value, int *ordered)
{
	*ordered = 0;
	switch (value->type)
	{
		case jbvNull:
			key_add_byte(key, KEY_NULL);
			break;
		case jbvBool:
			key_add_byte(key, value->val.boolean ? KEY_TRUE : KEY_FALSE);
			break;
		case jbvNumeric:
			if (!add_number(key, value->val.numeric, ordered))
				return true;
			break;
		case jbvString:
			return add_string(key, value->val.string.val, value->val.string.len, ordered);
		default:
			elog(ERROR, "unexpected type of attribute value: %d", (int) value->type);
	}
	*ordered = key->len;
	return true;
}

/* How many bytes of a key are its name. */
int
key_name_length(const uint8 *key, int len)
{
	int			i = 0;

	while (i < len && key[i] >= KEY_NAME)
		i++;
	return i;
}

/* The exponent that follows a number's first byte, which is a small or a large number's. */
static int
wide_exponent(const uint8 *bytes, int len, uint8 flip, int *used)
{
	uint8		byte = len > 0 ? bytes[0] ^ flip : 0x80;
	uint32		wide = 0;

	*used = Min(len, 1);
	if (byte != 0x00 && byte != 0xFF)
		return byte - 0x80;
	for (; *used < 4 && *used < len; (*used)++)
		wide = wide << 8 | (bytes[*used] ^ flip);
	return (int) wide - 0x800000;
}

/* About the number that a key, perhaps cut, stands for behind its name; for interpolation. */
double
key_to_number(const uint8 *value, int len)
{
	uint8		type = value[0];
	bool		negative = type < NUMBER_ZERO;
	uint8		flip = negative ? 0xFF : 0;
	int			used = 0;
	int			exponent;
	double		result = 0;
	double		scale = 1;

	if (type == NUMBER_ZERO)
		return 0;
	if (type == NUMBER_HUGE_BELOW || type == NUMBER_TINY_BELOW ||
		type == NUMBER_TINY || type == NUMBER_HUGE)
		exponent = wide_exponent(value + 1, len - 1, flip, &used);
	else
		exponent = negative ? NUMBER_BELOW + EXPONENT_MAX - type : type - NUMBER_ABOVE + EXPONENT_MIN;
	for (int i = 1 + used; i < len && i < 10 + used; i++)
	{
		uint8		pair = value[i] ^ flip;

		if (pair == 0 || pair > 100)
			break;
		scale /= 100;
		result += (pair - 1) * scale;
	}
	result *= pow(10, Min(Max(exponent, -300), 300));
	return negative ? -result : result;
}

/* Bytes as an index stores them, with a short header if they are; palloc'd. */
bytea *
key_to_bytea(const uint8 *bytes, int len)
{
	bytea	   *result;

	if (len + VARHDRSZ_SHORT <= VARATT_SHORT_MAX)
	{
		result = palloc(VARHDRSZ_SHORT + len);
		SET_VARSIZE_SHORT(result, VARHDRSZ_SHORT + len);
	}
	else
	{
		result = palloc(VARHDRSZ + len);
		SET_VARSIZE(result, VARHDRSZ + len);
	}
	memcpy(VARDATA_ANY(result), bytes, len);
	return result;
}
