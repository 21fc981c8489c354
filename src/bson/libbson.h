/*
 * libbson.h
 *		libbson, and what differs between its versions (1.23 to 2.x).
 */
#ifndef PATTERN_LIBBSON_H
#define PATTERN_LIBBSON_H

#include <bson/bson.h>

#if BSON_CHECK_VERSION(2, 0, 0)
#define bson_append_array_begin bson_append_array_unsafe_begin
#endif

#endif							/* PATTERN_LIBBSON_H */
