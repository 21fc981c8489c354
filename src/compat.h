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
/* and about functions */
#define object_aclcheck(classid, objectid, roleid, mode) pg_proc_aclcheck(objectid, roleid, mode)
#endif

#if PG_VERSION_NUM < 160000
#define exec_insert_index_tuples(info, slot, estate) \
	ExecInsertIndexTuples(info, slot, estate, false, false, NULL, NIL)
#else
#define exec_insert_index_tuples(info, slot, estate) \
	ExecInsertIndexTuples(info, slot, estate, false, false, NULL, NIL, false)
#endif

#if PG_VERSION_NUM < 180000
#define index_begin_scan(heap, index, snapshot, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, nkeys, norderbys)
#else
#define index_begin_scan(heap, index, snapshot, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, norderbys)
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

#if PG_VERSION_NUM < 160000
/* what the executor is told of the columns that change stands in the range table */
#define init_range_table(estate, rte, columns) \
	((rte)->updatedCols = (columns), ExecInitRangeTable(estate, list_make1(rte)))
/* an update tells whether all indexes need an entry; since 16 it may be that only some do */
typedef bool TU_UpdateIndexes;
#define TU_None false
#define insert_index_tuples(relinfo, slot, estate, update_indexes) \
	ExecInsertIndexTuples(relinfo, slot, estate, true, false, NULL, NIL)
#else
#if PG_VERSION_NUM >= 180000
#define init_executor_tables(estate, rte, permissions) \
	ExecInitRangeTable(estate, list_make1(rte), permissions, bms_make_singleton(1))
#else
#define init_executor_tables(estate, rte, permissions) \
	ExecInitRangeTable(estate, list_make1(rte), permissions)
#endif
#define init_range_table(estate, rte, columns) \
	do { \
		List	   *permissions = NIL; \
		addRTEPermissionInfo(&permissions, rte)->updatedCols = (columns); \
		init_executor_tables(estate, rte, permissions); \
	} while (0)
#define insert_index_tuples(relinfo, slot, estate, update_indexes) \
	ExecInsertIndexTuples(relinfo, slot, estate, true, false, NULL, NIL, (update_indexes) == TU_Summarizing)
#endif

#if PG_VERSION_NUM < 180000
#define begin_index_scan(heap, index, snapshot, nkeys) index_beginscan(heap, index, snapshot, nkeys, 0)
#define query_columns(query) ((List *) copyObject((query)->targetList))
#define query_group_directly(query) ((void) (query))
#else
#define begin_index_scan(heap, index, snapshot, nkeys) index_beginscan(heap, index, snapshot, NULL, nkeys, 0)
/* the columns as they stand in the query, not as references to what it groups by */
#define query_columns(query) \
	((List *) flatten_group_exprs(NULL, query, (Node *) copyObject((query)->targetList)))
#define query_group_directly(query) ((query)->hasGroupRTE = false)
#endif

#endif							/* PATTERN_COMPAT_H */
