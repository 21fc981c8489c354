/*
 * bson/bson.c
 *		BSON's ObjectIds, made and read by libbson.
 *
 * This floor alone includes libbson's header.  When libbson cannot get memory, or
 * does not like its input, it ends the process, and with it every session of the
 * server: only what neither allocates nor asserts on data is called, and what is
 * given to it has been checked before.
 */
#include "postgres.h"

#include <bson/bson.h>

#include "pattern.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#define OBJECTID_DIGITS 24

PG_FUNCTION_INFO_V1(pattern_bson_objectid);
PG_FUNCTION_INFO_V1(pattern_bson_objectid_time);

/*
 * A new ObjectId: the current second, five random bytes of the process, and a
 * counter that starts at a random place.  libbson's default context compares the
 * process's id at each call, so that a backend does not go on with what it
 * inherited from the postmaster, and parallel workers have bytes of their own.
 */
Datum
pattern_bson_objectid(PG_FUNCTION_ARGS)
{
	bson_oid_t	oid;
	char		digits[OBJECTID_DIGITS + 1];

	bson_oid_init(&oid, NULL);
	bson_oid_to_string(&oid, digits);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(digits, OBJECTID_DIGITS));
}

/* Reads an ObjectId's digits; 22P02 if they are none. */
static void
objectid_parse(const text *id, bson_oid_t *result)
{
	const char *digits = VARDATA_ANY(id);
	int			len = VARSIZE_ANY_EXHDR(id);

	if (len != OBJECTID_DIGITS || !bson_oid_is_valid(digits, len))
	{
		JsonbValue	value;

		value.type = jbvString;
		value.val.string.val = unconstify(char *, digits);
		value.val.string.len = len;
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid ObjectId: %s", value_to_cstring(&value)),
				 errdetail("An ObjectId has 24 hexadecimal digits.")));
	}
	/* reads that many digits, no terminator */
	bson_oid_init_from_string(result, digits);
}

/* The second in which an ObjectId was made; 22P02 if it is none. */
Datum
pattern_bson_objectid_time(PG_FUNCTION_ARGS)
{
	bson_oid_t	oid;

	objectid_parse(PG_GETARG_TEXT_PP(0), &oid);
	PG_RETURN_TIMESTAMPTZ(time_t_to_timestamptz((pg_time_t) bson_oid_get_time_t(&oid)));
}
