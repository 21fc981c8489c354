/*
 * fuzz_bson.h
 *		What is tried with BSON, by whoever makes the bytes.
 */
#ifndef PATTERN_FUZZ_BSON_H
#define PATTERN_FUZZ_BSON_H

#include "fuzz.h"

extern void fuzz_bson_bytes(Fuzz *fuzz, const void *data, Size len);
extern void fuzz_bson_document(Fuzz *fuzz, const Jsonb *document);

#endif							/* PATTERN_FUZZ_BSON_H */
