/*
 * polymorphic.h
 *		What the files of the polymorphic pattern tell each other.
 *
 * The definition is one CHECK constraint on the table:
 *
 *		CHECK (variant_check(doc, 'type', '{"ARTICLE": {...}, "VIDEO": {...}}'))
 *
 * It holds the name of the discriminator and the schema of each variant, and is
 * found again by the function that it calls.  It follows renames, is inherited
 * by partitions, and comes back from a dump.  A view of a variant is an ordinary
 * view that pattern_target marks as made by this extension:
 *
 *		SELECT id, doc ->> 'title' AS title, ... FROM content
 *		WHERE pattern_target('content'::regclass) AND (doc ->> 'type') = 'VIDEO'
 */
#ifndef PATTERN_POLYMORPHIC_H
#define PATTERN_POLYMORPHIC_H

#include "pattern.h"

/* A column of documents that have variants. */
typedef struct Polymorphic
{
	const char *extension;		/* the extension's schema */
	Oid			function;		/* variant_check */
	Oid			relid;
	AttrNumber	number;			/* of the column */
	char	   *column;
	char	   *constraint;		/* NULL: there is none yet */
	bool		validated;		/* all rows are known to satisfy it */
	bool		inherited;		/* from a parent of the table */
	char	   *discriminator;
	Jsonb	   *variants;		/* {"name": schema, ...} */
} Polymorphic;

/*
 * polymorphic_view.c
 */
extern bool node_is_column(const Node *node, AttrNumber number);
extern bool node_is_text_at(const Node *node, AttrNumber number, char **field);
extern List *variant_views(const Polymorphic *polymorphic, const char *variant);
extern void variant_view_create(const Polymorphic *polymorphic, const char *variant,
								const JsonbValue *schema, const char *name, Oid old);
extern void variant_views_drop(List *views);

#endif							/* PATTERN_POLYMORPHIC_H */
