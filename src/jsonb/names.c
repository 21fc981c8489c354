/*
 * jsonb/names.c
 *		A hash table whose entries are found by a name.
 *
 * A name is any string of bytes: the field names and values of a document stand
 * in it without a terminator, so that core's string keys would mean a copy for
 * each look-up.  An entry is a struct of the caller's that begins with a
 * NameEntry.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/hsearch.h"

#include "pattern.h"

static uint32
name_hash(const void *key, Size keysize)
{
	const NameEntry *name = key;

	return hash_bytes((const unsigned char *) name->name, name->len);
}

static int
name_match(const void *a, const void *b, Size keysize)
{
	const NameEntry *x = a;
	const NameEntry *y = b;

	return x->len == y->len ? memcmp(x->name, y->name, x->len) : 1;
}

/* An empty table of entries of this size, in the current memory context. */
HTAB *
names_create(Size entrysize)
{
	HASHCTL		control = {0};

	control.keysize = sizeof(NameEntry);
	control.entrysize = entrysize;
	control.hash = name_hash;
	control.match = name_match;
	control.hcxt = CurrentMemoryContext;
	return hash_create("pattern names", 32, &control,
					   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

/*
 * The entry of a name, made if it is not there.  A new entry holds nothing but
 * the name, which is not copied: unless it lives as long as the table, the
 * caller points entry->name at a copy.
 */
void *
names_enter(HTAB *names, const char *name, int len, bool *found)
{
	NameEntry	key = {name, len};

	return hash_search(names, &key, HASH_ENTER, found);
}
