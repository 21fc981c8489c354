/*
 * jsonb/write.c
 *		Writes jsonb's binary format, and edits it instead of rebuilding it.
 *
 * Core's functions take a document apart into a tree and build it again, which
 * visits every value of it.  Here an edit is a splice: what stands before it is
 * copied as bytes, the new children are written, what follows is copied as
 * bytes, and lengths and offsets are mended up the path.  Subtrees that are not
 * touched are never looked into, and all levels are written into one buffer, so
 * that each byte is copied once.
 *
 * The result is the same, byte for byte, as what core would write.  What makes
 * that less than trivial is the padding: numbers and containers start at a
 * multiple of four, and the padding before one belongs to its length.  When an
 * edit shifts what follows by something else than a multiple of four, the first
 * number or container behind it gets another padding; behind that one everything
 * is shifted by a multiple of four again.  So a run of old children is at most
 * three pieces: what has no padding, the one that is padded anew, and the rest.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "pattern.h"

/* A container while it is written. */
typedef struct Frame
{
	StringInfo	buf;
	int			entries;		/* where its entries stand in buf */
	uint32		next;			/* the entry that is written next */
	int			data;			/* where its children's bytes start in buf */
	uint32		end;			/* where the last child ended, from data on */
} Frame;

static void write_value(Frame *frame, const JsonbValue *value);
static void write_splice(StringInfo buf, JsonbSplice *splice);

/* Room for n bytes at the end of the buffer; their offset. */
static inline int
reserve(StringInfo buf, int n)
{
	int			offset = buf->len;

	/* as a rule there is room: see splice_bound */
	if (unlikely(n >= buf->maxlen - buf->len))
		enlargeStringInfo(buf, n);
	buf->len += n;
	return offset;
}

static inline void
append(StringInfo buf, const void *data, int n)
{
	int			offset = reserve(buf, n);

	memcpy(buf->data + offset, data, n);
}

/* Zeros up to the next multiple of four. */
static void
pad(StringInfo buf)
{
	int			n = INTALIGN(buf->len) - buf->len;
	int			offset = reserve(buf, n);

	memset(buf->data + offset, 0, n);
}

/* Start a container of count children (elements or pairs); flags are its type's. */
static void
frame_open(Frame *frame, StringInfo buf, uint32 flags, uint64 count)
{
	uint32		header;

	jsonb_check_count(count, (flags & JB_FOBJECT) != 0);
	header = (uint32) count | flags;
	pad(buf);
	append(buf, &header, sizeof(header));
	frame->buf = buf;
	frame->entries = reserve(buf, sizeof(JEntry) * count * ((flags & JB_FOBJECT) ? 2 : 1));
	frame->data = buf->len;
	frame->next = 0;
	frame->end = 0;
}

static void
check_length(uint32 length)
{
	if (length > JENTRY_OFFLENMASK)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("total size of one jsonb array or object exceeds the maximum of %u bytes",
						JENTRY_OFFLENMASK)));
}

/* Write the next entry, of a child that ends at end. */
static inline void
frame_set_entry(Frame *frame, JEntry type, uint32 end)
{
	JEntry	   *entry = (JEntry *) (frame->buf->data + frame->entries) + frame->next;

	if (frame->next % JB_OFFSET_STRIDE == 0)
		*entry = type | JENTRY_HAS_OFF | end;
	else
		*entry = type | (end - frame->end);
	frame->end = end;
	frame->next++;
}

/* The bytes appended since the last entry are a child of this type. */
static inline void
frame_close_child(Frame *frame, JEntry type)
{
	uint32		end = frame->buf->len - frame->data;

	check_length(end);
	frame_set_entry(frame, type, end);
}

/* Append an array or an object given as a tree. */
static void
write_tree(StringInfo buf, const JsonbValue *value)
{
	Frame		frame;

	check_stack_depth();
	if (value->type == jbvArray)
	{
		frame_open(&frame, buf, JB_FARRAY, value->val.array.nElems);
		for (int i = 0; i < value->val.array.nElems; i++)
			write_value(&frame, &value->val.array.elems[i]);
	}
	else
	{
		frame_open(&frame, buf, JB_FOBJECT, value->val.object.nPairs);
		for (int i = 0; i < value->val.object.nPairs; i++)
			write_value(&frame, &value->val.object.pairs[i].key);
		for (int i = 0; i < value->val.object.nPairs; i++)
			write_value(&frame, &value->val.object.pairs[i].value);
	}
}

/* Append one child, a tree included. */
static void
write_value(Frame *frame, const JsonbValue *value)
{
	StringInfo	buf = frame->buf;

	CHECK_FOR_INTERRUPTS();
	switch (value->type)
	{
		case jbvNull:
			frame_close_child(frame, JENTRY_ISNULL);
			break;
		case jbvBool:
			frame_close_child(frame, value->val.boolean ? JENTRY_ISBOOL_TRUE : JENTRY_ISBOOL_FALSE);
			break;
		case jbvString:
			append(buf, value->val.string.val, value->val.string.len);
			frame_close_child(frame, JENTRY_ISSTRING);
			break;
		case jbvNumeric:
			pad(buf);
			append(buf, value->val.numeric, VARSIZE_ANY(value->val.numeric));
			frame_close_child(frame, JENTRY_ISNUMERIC);
			break;
		case jbvBinary:
			pad(buf);
			append(buf, value->val.binary.data, value->val.binary.len);
			frame_close_child(frame, JENTRY_ISCONTAINER);
			break;
		case jbvArray:
		case jbvObject:
			write_tree(buf, value);
			frame_close_child(frame, JENTRY_ISCONTAINER);
			break;
		default:
			elog(ERROR, "unexpected jsonb value type %d", (int) value->type);
	}
}

/*
 * Append the children of the old entries [first, last), whose bytes start at
 * offset in its data.  Returns where they end.
 */
static uint32
copy_children(Frame *frame, const JsonbContainer *old, const char *data,
			  uint32 first, uint32 last, uint32 offset)
{
	StringInfo	buf = frame->buf;
	uint32		start = buf->len - frame->data;
	uint32		end = offset;
	uint32		padded = last;	/* the entry that is padded anew */
	uint32		old_padding = 0;
	uint32		new_padding = 0;
	uint32		rest;
	uint32		i;

	if (first == last)
		return offset;

	/* up to the first child with padding, if padding changes at all */
	i = first;
	if ((start - offset) % 4 != 0)
	{
		for (; i < last; i++)
		{
			JEntry		entry = old->children[i];

			if (JBE_ISNUMERIC(entry) || JBE_ISCONTAINER(entry))
			{
				uint32		moved = start + (end - offset);

				padded = i;
				old_padding = INTALIGN(end) - end;
				new_padding = INTALIGN(moved) - moved;
				append(buf, data + offset, end - offset);
				pad(buf);
				break;
			}
			end = JBE_HAS_OFF(entry) ? JBE_OFFLENFLD(entry) : end + JBE_OFFLENFLD(entry);
		}
	}

	/* the rest */
	rest = padded < last ? end + old_padding : offset;
	end = getJsonbOffset(old, last - 1) + getJsonbLength(old, last - 1);
	append(buf, data + rest, end - rest);
	check_length(buf->len - frame->data);

	if (start == offset && frame->next == first)
	{
		/* nothing moves: neither offsets nor strides change */
		memcpy(buf->data + frame->entries + first * sizeof(JEntry), &old->children[first],
			   (last - first) * sizeof(JEntry));
		frame->next += last - first;
		frame->end = end;
	}
	else
	{
		uint32		old_end = offset;
		uint32		new_end = start;

		for (i = first; i < last; i++)
		{
			JEntry		entry = old->children[i];
			uint32		len = JBE_HAS_OFF(entry) ? JBE_OFFLENFLD(entry) - old_end : JBE_OFFLENFLD(entry);

			old_end += len;
			new_end += len;
			if (i == padded)
				new_end += new_padding - old_padding;
			frame_set_entry(frame, entry & JENTRY_TYPEMASK, new_end);
		}
	}
	return end;
}

/* Append the new keys or, with values, the new values of a container. */
static void
write_children(Frame *frame, const JsonbSplice *splice, uint32 first, uint32 count, bool keys)
{
	const JsonbContainer *old = splice->container;
	const char *data = (const char *) &old->children[JsonContainerSize(old) *
													 (JsonContainerIsObject(old) ? 2 : 1)];
	uint32		next = 0;		/* the old child to be copied next */
	uint32		offset = first > 0 ? getJsonbOffset(old, first) : 0;

	for (uint32 i = 0; i < splice->nedits; i++)
	{
		const JsonbEdit *edit = &splice->edits[i];

		/* a key stays when its value is replaced or edited */
		if (keys && (edit->within != NULL || (edit->nremoved == 1 && edit->ninserted == 1)))
			continue;
		copy_children(frame, old, data, first + next, first + edit->at, offset);
		next = edit->at + edit->nremoved;
		if (edit->within != NULL)
		{
			write_splice(frame->buf, edit->within);
			frame_close_child(frame, JENTRY_ISCONTAINER);
			next++;
		}
		else if (keys && edit->ninserted > 0)
			write_value(frame, &edit->key);
		else if (edit->values == NULL && edit->ninserted > 0)
			write_value(frame, &edit->value);
		else
			for (uint32 j = 0; j < edit->ninserted; j++)
				write_value(frame, &edit->values[j]);
		if (next < count)
			offset = getJsonbOffset(old, first + next);
	}
	if (next < count)
		copy_children(frame, old, data, first + next, first + count, offset);
}

/* Append the edited container. */
static void
write_splice(StringInfo buf, JsonbSplice *splice)
{
	const JsonbContainer *old = splice->container;
	uint32		count = JsonContainerSize(old);
	uint64		new_count = count;
	Frame		frame;

	check_stack_depth();
	splice_sort(splice);
	for (uint32 i = 0; i < splice->nedits; i++)
		new_count += (uint64) splice->edits[i].ninserted - splice->edits[i].nremoved;

	frame_open(&frame, buf, old->header & ~JB_CMASK, new_count);
	if (JsonContainerIsObject(old))
	{
		write_children(&frame, splice, 0, count, true);
		write_children(&frame, splice, count, count, false);
	}
	else
		write_children(&frame, splice, 0, count, false);
}

/* At most this many bytes are written for a value; more is found out in time. */
static Size
value_bound(const JsonbValue *value)
{
	Size		bound = 2 * sizeof(JEntry);

	check_stack_depth();
	switch (value->type)
	{
		case jbvString:
			return bound + value->val.string.len;
		case jbvNumeric:
			return bound + VARSIZE_ANY(value->val.numeric);
		case jbvBinary:
			return bound + value->val.binary.len;
		case jbvArray:
			for (int i = 0; i < value->val.array.nElems; i++)
				bound += value_bound(&value->val.array.elems[i]);
			return bound;
		case jbvObject:
			for (int i = 0; i < value->val.object.nPairs; i++)
				bound += value_bound(&value->val.object.pairs[i].key) +
					value_bound(&value->val.object.pairs[i].value);
			return bound;
		default:
			return bound;
	}
}

/* At most this many bytes are added by the edits. */
static Size
splice_bound(const JsonbSplice *splice)
{
	Size		bound = 0;

	check_stack_depth();
	for (uint32 i = 0; i < splice->nedits; i++)
	{
		const JsonbEdit *edit = &splice->edits[i];

		bound += 4 * sizeof(JEntry);
		if (edit->within != NULL)
			bound += splice_bound(edit->within);
		else if (edit->values == NULL && edit->ninserted > 0)
			bound += value_bound(&edit->value);
		else
			for (uint32 j = 0; j < edit->ninserted; j++)
				bound += value_bound(&edit->values[j]);
		if (edit->nremoved == 0 && JsonContainerIsObject(splice->container) && edit->within == NULL)
			bound += value_bound(&edit->key);
	}
	return bound;
}

/* An empty buffer for a document of about this size, with its varlena header. */
static void
document_begin(StringInfo buf, Size bound)
{
	bound = Min(bound + VARHDRSZ + 64, MaxAllocSize - 1);
	buf->data = palloc(bound);
	buf->maxlen = bound;
	buf->cursor = 0;
	buf->len = VARHDRSZ;
}

static Jsonb *
document_end(StringInfo buf)
{
	Jsonb	   *result = (Jsonb *) buf->data;

	SET_VARSIZE(result, buf->len);
#ifdef USE_ASSERT_CHECKING
	{
		/* core, given the same values, writes the same bytes */
		JsonbIterator *it = JsonbIteratorInit(&result->root);
		JsonbParseState *state = NULL;
		JsonbValue *tree = NULL;
		JsonbValue	v;
		JsonbIteratorToken token;
		Jsonb	   *again;

		while ((token = JsonbIteratorNext(&it, &v, false)) != WJB_DONE)
			tree = pushJsonbValue(&state, token,
								  token < WJB_BEGIN_ARRAY ||
								  (token == WJB_BEGIN_ARRAY && v.val.array.rawScalar) ? &v : NULL);
		again = JsonbValueToJsonb(tree);
		Assert(VARSIZE(again) == VARSIZE(result) &&
			   memcmp(again, result, VARSIZE(result)) == 0);
		pfree(again);
	}
#endif
	return result;
}

/* The edited document; palloc'd.  54000 if it becomes too large. */
Jsonb *
splice_apply(JsonbSplice *splice)
{
	StringInfoData buf;

	document_begin(&buf, splice->container_len + splice_bound(splice));
	write_splice(&buf, splice);
	return document_end(&buf);
}

/* A document of any value, scalars and trees included; palloc'd. */
Jsonb *
value_to_jsonb(const JsonbValue *value)
{
	StringInfoData buf;

	document_begin(&buf, value_bound(value));
	if (value->type == jbvBinary)
		append(&buf, value->val.binary.data, value->val.binary.len);
	else if (value->type == jbvArray || value->type == jbvObject)
		write_tree(&buf, value);
	else
	{
		Frame		frame;

		frame_open(&frame, &buf, JB_FARRAY | JB_FSCALAR, 1);
		write_value(&frame, value);
	}
	return document_end(&buf);
}

/* Turn a tree into a value that can be read; others are left as they are. */
void
value_pack(JsonbValue *value)
{
	if (value->type == jbvArray || value->type == jbvObject)
	{
		Jsonb	   *jb = value_to_jsonb(value);

		value_from_container(&jb->root, VARSIZE(jb) - VARHDRSZ, value);
	}
}
