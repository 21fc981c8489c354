/*
 * versioning.h
 *		What the files of schema versions tell each other.
 *
 * The definition is the WHEN clause of a trigger on the table:
 *
 *		CREATE TRIGGER ... BEFORE INSERT OR UPDATE OF doc ON content FOR EACH ROW
 *		WHEN (version_differs(NEW.doc, 'schema_version', 3, 'upgrade(jsonb)'::regprocedure))
 *		EXECUTE FUNCTION upgrade_document()
 *
 * There PostgreSQL knows the function and the column: both may be renamed, and
 * are not dropped without the trigger.  Documents of the current version, which
 * most are, cost the call of version_differs and never reach the trigger.
 */
#ifndef PATTERN_VERSIONING_H
#define PATTERN_VERSIONING_H

#include "pattern.h"

/* How documents come to the current version. */
typedef struct Versioning
{
	char	   *field;			/* that holds a document's version */
	int32		current;
	Oid			upgrade;		/* function from a document to one of a later version */
} Versioning;

extern bool versioning_from_trigger(const Trigger *trigger, Versioning *result);
extern void versioning_check_function(Oid function);

#endif							/* PATTERN_VERSIONING_H */
