/*
 * write.h
 *		What the writers of BSON share.
 */
#ifndef PATTERN_WRITE_H
#define PATTERN_WRITE_H

#include "convert.h"
#include "libbson.h"

/* Where a value is to be written. */
typedef struct Place
{
	const struct Place *parent; /* of the document or array; NULL at the root */
	bson_t	   *bson;			/* the document or array */
	const char *key;			/* in UTF-8, not null-terminated */
	int			len;
	JsonbValue	name;			/* the key in the server's encoding */
} Place;

/*
 * bson_write.c: documents, arrays and plain values
 */
extern void document_to_bson(const Jsonb *document, bson_t *result);
extern void bson_write_fields(const Place *place, bson_t *bson, const JsonbValue *object);
extern void bson_write_check(bool written);
extern const char *bson_text(const JsonbValue *text, int *len);
extern char *place_path(const Place *place);

/*
 * bson_extended.c: Extended JSON's wrappers
 */
extern bool wrapper_write(const Place *place, const JsonbValue *object);
extern const char *wrapper_found(const JsonbValue *object);

#endif							/* PATTERN_WRITE_H */
