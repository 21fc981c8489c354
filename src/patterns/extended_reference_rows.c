/*
 * patterns/extended_reference_rows.c
 *		Extended reference pattern: the source rows that a statement has read.
 *
 * A hash table by the text of the key.  With many source rows it is memory that
 * takes the time, several times as long as the rest of a look-up: so a slot of
 * the table holds the hash and no key, and a row begins with its key and, once it
 * was copied, with the bytes of the copy.
 *
 * Most documents come with the same container for the copy, which holds the key
 * alone, or with none.  A row therefore tells what the first copy of it made of
 * the container, and the next document with the same bytes there gets those.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "extended_reference.h"

/* A slot of the hash table. */
typedef struct RowSlot
{
	SourceRow  *row;			/* NULL: free */
	uint32		hash;			/* of its key */
} RowSlot;

struct SourceRows
{
	MemoryContext context;

	/* the hash table */
	RowSlot    *slots;
	uint32		nslots;			/* a power of two */
	uint32		nrows;

	/* memory for rows, given out from its beginning */
	char	   *free;
	Size		nfree;
	Size		next_size;
};

/* Make the hash table anew, of so many slots, without rows. */
static void
make_slots(SourceRows *rows, uint32 nslots)
{
	rows->slots = MemoryContextAllocExtended(rows->context, nslots * sizeof(RowSlot),
											   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	rows->nslots = nslots;
	rows->nrows = 0;
}

/* Forget all rows, which are freed. */
void
source_rows_forget(SourceRows *rows)
{
	MemoryContextReset(rows->context);
	make_slots(rows, 64);
	rows->nfree = 0;
	rows->next_size = 2048;
}

/* No rows yet, in the current memory context. */
SourceRows *
source_rows_create(void)
{
	SourceRows *rows = palloc0(sizeof(SourceRows));

	rows->context = AllocSetContextCreate(CurrentMemoryContext, "pattern source rows", ALLOCSET_DEFAULT_SIZES);
	source_rows_forget(rows);
	return rows;
}

/* Is there room for more, in the memory that a hash table may take? */
bool
source_rows_have_room(const SourceRows *rows)
{
	return MemoryContextMemAllocated(rows->context, true) <= get_hash_memory_limit();
}

static inline uint32
key_hash(const char *key, int len)
{
	return hash_bytes((const unsigned char *) key, len);
}

/* Where the row of a key is, or would be. */
static RowSlot *
find_slot(const SourceRows *rows, const char *key, uint32 len, uint32 hash)
{
	uint32		i = hash & (rows->nslots - 1);

	for (;; i = (i + 1) & (rows->nslots - 1))
	{
		RowSlot    *slot = &rows->slots[i];

		if (slot->row == NULL)
			return slot;
		if (slot->hash != hash)
			continue;
		/* the copy behind the key */
		__builtin_prefetch((char *) slot->row + 64);
		__builtin_prefetch((char *) slot->row + 128);
		if (slot->row->key_len == len && memcmp(slot->row->data, key, len) == 0)
			return slot;
	}
}

static void
enter_row(SourceRows *rows, SourceRow *row, uint32 hash)
{
	RowSlot    *slot = find_slot(rows, row->data, row->key_len, hash);

	if (slot->row == NULL)
		rows->nrows++;
	slot->row = row;
	slot->hash = hash;
}

/* The row of a key; NULL if it was not read yet. */
const SourceRow *
source_rows_find(const SourceRows *rows, const char *key, int len)
{
	return find_slot(rows, key, len, key_hash(key, len))->row;
}

/* Have room for one row more. */
static void
grow_slots(SourceRows *rows)
{
	RowSlot    *old = rows->slots;
	uint32		n = rows->nslots;

	if (rows->nrows < n / 4 * 3)
		return;
	make_slots(rows, n * 2);
	for (uint32 i = 0; i < n; i++)
		if (old[i].row != NULL)
			enter_row(rows, old[i].row, old[i].hash);
	pfree(old);
}

/* Memory that is freed with all rows: side by side, and without what palloc adds. */
static void *
row_alloc(SourceRows *rows, Size size)
{
	const Size	max_size = 256 * 1024;
	void	   *result;

	size = MAXALIGN(size);
	if (size > rows->nfree)
	{
		if (size > rows->next_size / 4)
			return MemoryContextAlloc(rows->context, size);
		rows->free = MemoryContextAlloc(rows->context, rows->next_size);
		rows->nfree = rows->next_size;
		rows->next_size = Min(rows->next_size * 2, max_size);
	}
	result = rows->free;
	rows->free += size;
	rows->nfree -= size;
	return result;
}

/*
 * Keep a row that has a key, with room for so many bytes more, which *rest tells.  It
 * takes the place of one of this key.
 */
static SourceRow *
add_row(SourceRows *rows, const char *key, int len, Size size, char **rest)
{
	Size		before = MAXALIGN(offsetof(SourceRow, data) + len + 1);
	SourceRow  *row = row_alloc(rows, before + size);

	memset(row, 0, offsetof(SourceRow, data));
	row->key_len = len;
	memcpy(row->data, key, len);
	row->data[len] = '\0';
	*rest = (char *) row + before;
	grow_slots(rows);
	enter_row(rows, row, key_hash(key, len));
	return row;
}

/* The bytes that a value points to, and how many; 0 for none. */
static Size
value_bytes(JsonbValue *value, char ***bytes)
{
	switch (value->type)
	{
		case jbvString:
			*bytes = &value->val.string.val;
			return value->val.string.len;
		case jbvNumeric:
			*bytes = (char **) &value->val.numeric;
			return VARSIZE_ANY(value->val.numeric);
		case jbvBinary:
			*bytes = (char **) &value->val.binary.data;
			return value->val.binary.len;
		default:
			return 0;
	}
}

/* Keep the row of a key, with its values, of which NULL says that there is no such row. */
const SourceRow *
source_rows_add(SourceRows *rows, const char *key, int len, const JsonbValue *values, int nvalues)
{
	Size		size = nvalues * sizeof(JsonbValue);
	JsonbValue *kept;
	SourceRow  *row;
	char	  **bytes;
	char	   *next;

	for (int i = 0; i < nvalues; i++)
		size += MAXALIGN(value_bytes(unconstify(JsonbValue *, &values[i]), &bytes));
	row = add_row(rows, key, len, size, &next);
	row->found = values != NULL;
	if (values == NULL)
		return row;
	row->values = kept = memcpy(next, values, nvalues * sizeof(JsonbValue));
	next = (char *) (kept + nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		Size		n = value_bytes(&kept[i], &bytes);

		if (n == 0)
			continue;
		*bytes = memcpy(next, *bytes, n);
		next += MAXALIGN(n);
	}
	return row;
}

/* What the copy makes of a container, NULL for none, if the row tells that. */
bool
source_known_copy(const SourceRow *row, const JsonbValue *before, JsonbValue *after)
{
	uint32		len = before == NULL ? 0 : before->val.binary.len;

	if (!row->copy_is_known || row->before_len != len ||
		(before != NULL && memcmp(row->data + INTALIGN(row->key_len + 1), before->val.binary.data, len) != 0))
		return false;
	value_from_container((const JsonbContainer *) (row->data + row->after_at), row->after_len, after);
	return true;
}

/* Have a row tell what its copy makes of a container.  It must not be used any more. */
void
source_rows_remember_copy(SourceRows *rows, const SourceRow *row, const JsonbValue *before, const JsonbValue *after)
{
	const uint32 max_size = 1024;
	uint32		before_at = INTALIGN(row->key_len + 1);
	uint32		before_len = before == NULL ? 0 : before->val.binary.len;
	uint32		after_at = before_at + INTALIGN(before_len);
	SourceRow  *known;
	char	   *rest;

	if (row->copy_is_known || before_len + after->val.binary.len > max_size)
		return;
	known = add_row(rows, row->data, row->key_len, after_at + after->val.binary.len, &rest);
	known->values = row->values;
	known->found = true;
	known->copy_is_known = true;
	known->before_len = before_len;
	known->after_at = after_at;
	known->after_len = after->val.binary.len;
	if (before != NULL)
		memcpy(known->data + before_at, before->val.binary.data, before_len);
	memcpy(known->data + after_at, after->val.binary.data, after->val.binary.len);
}
