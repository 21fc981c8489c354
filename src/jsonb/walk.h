/*
 * walk.h
 *		Reading children one after the other, inline.
 *
 * For loops that see every field of every document, where a call for each costs as
 * much as what is done with it; others use walk_next.
 */
#ifndef PATTERN_WALK_H
#define PATTERN_WALK_H

#include "pattern.h"

/* The bytes of the children follow the entries. */
static inline char *
container_data(const JsonbContainer *container)
{
	uint32		nentries = JsonContainerSize(container);

	if (JsonContainerIsObject(container))
		nentries *= 2;
	return (char *) &container->children[nentries];
}

/* Where entry i starts: core's getJsonbOffset, which is not inlined from here. */
static inline uint32
entry_offset(const JsonbContainer *container, uint32 i)
{
	uint32		offset = 0;

	while (i-- > 0)
	{
		JEntry		entry = container->children[i];

		offset += JBE_OFFLENFLD(entry);
		if (JBE_HAS_OFF(entry))
			break;
	}
	return offset;
}

/* The length of entry i, which starts at offset. */
static inline uint32
entry_length(const JsonbContainer *container, uint32 i, uint32 offset)
{
	JEntry		entry = container->children[i];

	return JBE_HAS_OFF(entry) ? JBE_OFFLENFLD(entry) - offset : JBE_OFFLENFLD(entry);
}

/* Fill *result from an entry whose bytes (padding included) are data[offset, offset + len). */
static inline void
fill_value(JEntry entry, char *data, uint32 offset, uint32 len, JsonbValue *result)
{
	switch (entry & JENTRY_TYPEMASK)
	{
		case JENTRY_ISSTRING:
			result->type = jbvString;
			result->val.string.val = data + offset;
			result->val.string.len = len;
			break;
		case JENTRY_ISNUMERIC:
			result->type = jbvNumeric;
			result->val.numeric = (Numeric) (data + INTALIGN(offset));
			break;
		case JENTRY_ISBOOL_TRUE:
		case JENTRY_ISBOOL_FALSE:
			result->type = jbvBool;
			result->val.boolean = JBE_ISBOOL_TRUE(entry);
			break;
		case JENTRY_ISNULL:
			result->type = jbvNull;
			break;
		default:
			Assert(JBE_ISCONTAINER(entry));
			result->type = jbvBinary;
			/* the padding before a container belongs to its length */
			result->val.binary.data = (JsonbContainer *) (data + INTALIGN(offset));
			result->val.binary.len = len - (INTALIGN(offset) - offset);
			break;
	}
}

/* Begin to read a container's children in order. */
static inline void
walk_start(JsonbWalk *walk, const JsonbContainer *container)
{
	walk->container = container;
	walk->count = JsonContainerSize(container);
	walk->next = 0;
	walk->key_offset = 0;
	walk->value_offset = 0;
	if (JsonContainerIsObject(container))
		walk->value_offset = entry_offset(container, walk->count);
}

/*
 * The name of an object's next pair, not null-terminated; false after the last.
 * walk_field_value then must be called, once.
 */
static inline bool
walk_field(JsonbWalk *walk, const char **name, int *len)
{
	if (walk->next >= walk->count)
		return false;
	*name = container_data(walk->container) + walk->key_offset;
	*len = entry_length(walk->container, walk->next, walk->key_offset);
	walk->key_offset += *len;
	return true;
}

/* Its value, which is skipped if value is NULL. */
static inline void
walk_field_value(JsonbWalk *walk, JsonbValue *value)
{
	uint32		i = walk->count + walk->next++;
	uint32		len = entry_length(walk->container, i, walk->value_offset);

	if (value != NULL)
		fill_value(walk->container->children[i], container_data(walk->container), walk->value_offset, len, value);
	walk->value_offset += len;
}

#endif							/* PATTERN_WALK_H */
