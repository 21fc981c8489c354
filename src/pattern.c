/*
 * pattern.c
 *		The module's entry.
 *
 * There is nothing to set up in the server: no hook, no setting, no background
 * worker.  All state lives in the catalog objects of the users.
 */
#include "postgres.h"

#include "pattern.h"

#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(
					.name = "pattern",
					.version = "1.0"
);
#else
PG_MODULE_MAGIC;
#endif

extern void _PG_init(void);

void
_PG_init(void)
{
	bson_floor_init();
}
