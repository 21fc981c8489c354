/*
 * compat.h
 *		What differs between the PostgreSQL versions that we build on (15 to 18).
 *
 * Every version test in the project stands here.
 */
#ifndef PATTERN_COMPAT_H
#define PATTERN_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#else
/* one function for all classes of objects since 16; here it is about relations */
#define object_ownercheck(classid, objectid, roleid) pg_class_ownercheck(objectid, roleid)
#endif

#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#define vacuum_delay_analyze() vacuum_delay_point()
#define primary_key_index(relation) RelationGetPrimaryKeyIndex(relation)
#define index_begin(heap, index, snapshot, nkeys) index_beginscan(heap, index, snapshot, nkeys, 0)
#else
#define vacuum_delay_analyze() vacuum_delay_point(true)
#define primary_key_index(relation) RelationGetPrimaryKeyIndex(relation, false)
#define index_begin(heap, index, snapshot, nkeys) index_beginscan(heap, index, snapshot, NULL, nkeys, 0)
#endif

#endif							/* PATTERN_COMPAT_H */
