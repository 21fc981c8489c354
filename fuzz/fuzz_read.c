/*
 * fuzz_read.c
 *		jsonb/read.c against core's readers, jsonb/names.c against a list.
 *
 * Both point into the document, so "the same value" means the same pointers.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "fuzz.h"

extern void fuzz_read_once(Fuzz *fuzz);
extern void fuzz_names_once(Fuzz *fuzz);

/* Two values that point into one document. */
static bool
same_place(const JsonbValue *a, const JsonbValue *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type)
	{
		case jbvNull:
			return true;
		case jbvBool:
			return a->val.boolean == b->val.boolean;
		case jbvNumeric:
			return a->val.numeric == b->val.numeric;
		case jbvString:
			return a->val.string.len == b->val.string.len && a->val.string.val == b->val.string.val;
		default:
			return a->type == jbvBinary && a->val.binary.len == b->val.binary.len &&
				a->val.binary.data == b->val.binary.data;
	}
}

/* Present and absent keys, and where an absent one would be inserted. */
static void
check_find(Fuzz *fuzz, JsonbContainer *container, const Tree *key)
{
	JsonbValue	object,
				ours,
				core,
				neighbour;
	uint32		count = JsonContainerSize(container);
	uint32		at = PG_UINT32_MAX;
	bool		found = container_find(container, key->string, key->len, &at);

	value_from_container(container, 0, &object);
	fuzz_check(fuzz, found == (getKeyJsonValueFromContainer(container, key->string, key->len, &core) != NULL),
			   "container_find: another answer than core's");
	fuzz_check(fuzz, found == value_get(&object, key->string, key->len, &ours),
			   "value_get: another answer than container_find's");
	if (found)
	{
		fuzz_check(fuzz, same_place(&ours, &core), "value_get: another value than core's");
		container_key(container, at, &neighbour);
		fuzz_check(fuzz, neighbour.val.string.len == key->len &&
				   memcmp(neighbour.val.string.val, key->string, key->len) == 0,
				   "container_find: another key's position");
		return;
	}
	fuzz_check(fuzz, at <= count, "container_find: a position outside of the object");
	if (at > 0)
	{
		container_key(container, at - 1, &neighbour);
		fuzz_check(fuzz, neighbour.val.string.len < key->len ||
				   (neighbour.val.string.len == key->len &&
					memcmp(neighbour.val.string.val, key->string, key->len) < 0),
				   "container_find: the key before the position is not less");
	}
	if (at < count)
	{
		container_key(container, at, &neighbour);
		fuzz_check(fuzz, neighbour.val.string.len > key->len ||
				   (neighbour.val.string.len == key->len &&
					memcmp(neighbour.val.string.val, key->string, key->len) > 0),
				   "container_find: the key at the position is not greater");
	}
}

/* Everything in a container, three ways. */
static void
check_container(Fuzz *fuzz, JsonbContainer *container)
{
	JsonbIterator *it = JsonbIteratorInit(container);
	JsonbWalk	walk;
	JsonbIteratorToken token;
	JsonbValue	core,
				key,
				value,
				core_key;
	bool		is_object;
	uint32		i = 0;

	token = JsonbIteratorNext(&it, &core, false);
	is_object = token == WJB_BEGIN_OBJECT;
	walk_begin(&walk, container);
	fuzz_check(fuzz, JsonContainerSize(container) ==
			   (is_object ? core.val.object.nPairs : core.val.array.nElems),
			   "the number of children is not core's");
	for (;;)
	{
		token = JsonbIteratorNext(&it, &core, true);
		if (token == WJB_KEY)
		{
			core_key = core;
			token = JsonbIteratorNext(&it, &core, true);
		}
		if (token != WJB_VALUE && token != WJB_ELEM)
			break;

		fuzz_check(fuzz, walk_next(&walk, one_in(fuzz, 10) ? NULL : &key, &value) &&
				   same_place(&value, &core),
				   "walk_next: another value than core's");
		container_value(container, i, &value);
		fuzz_check(fuzz, same_place(&value, &core), "container_value: another value than core's");
		if (is_object)
		{
			container_key(container, i, &value);
			fuzz_check(fuzz, same_place(&value, &core_key), "container_key: another key than core's");
			if (one_in(fuzz, 4))
			{
				walk_begin(&walk, container);
				for (uint32 j = 0; j <= i; j++)
					walk_next(&walk, &key, &value);
				fuzz_check(fuzz, same_place(&key, &core_key), "walk_next: another key than core's");
			}
		}
		else
			fuzz_check(fuzz, same_place(&value, getIthJsonbValueFromContainer(container, i)),
					   "container_value: another element than core's");
		if (core.type == jbvBinary)
			check_container(fuzz, core.val.binary.data);
		i++;
	}
	fuzz_check(fuzz, !walk_next(&walk, &key, &value) && i == JsonContainerSize(container),
			   "walk_next: not as many children as core's");
	for (int j = 0; is_object && j < 8; j++)
	{
		Tree	   *random = tree_random_key(fuzz);

		check_find(fuzz, container, random);
		if (i > 0)
		{
			container_key(container, below(fuzz, i), &key);
			check_find(fuzz, container, tree_string(key.val.string.val, key.val.string.len));
		}
	}
}

/* What writes and prints a value. */
static void
check_value(Fuzz *fuzz, Jsonb *jb)
{
	JsonbValue	value;
	char	   *text = JsonbToCString(NULL, &jb->root, VARSIZE(jb));
	char	   *ours;

	value_from_jsonb(jb, &value);
	fuzz_check(fuzz, JB_ROOT_IS_SCALAR(jb) == (value.type != jbvBinary),
			   "value_from_jsonb: a container for a scalar, or the reverse");
	fuzz_check_bytes(fuzz, value_to_jsonb(&value), jb, "value_to_jsonb");
	fuzz_check(fuzz, strcmp(value_type_name(&value), JsonbTypeName(&value)) == 0 ||
			   value.type == jbvBinary, "value_type_name: another name than core's");
	ours = value_to_cstring(&value);
	if (strlen(text) <= 120)
		fuzz_check(fuzz, strcmp(ours, text) == 0, "value_to_cstring: another text than core's");
	else
		fuzz_check(fuzz, strlen(ours) <= 123, "value_to_cstring: too long");
}

void
fuzz_read_once(Fuzz *fuzz)
{
	Jsonb	   *jb = tree_to_jsonb(tree_random(fuzz, 0));

	fuzz->document = jb;
	check_container(fuzz, &jb->root);
	check_value(fuzz, jb);
}

typedef struct NamedPlace
{
	NameEntry	name;
	int			place;
}			NamedPlace;

/* The hash table of names, against looking at every name. */
void
fuzz_names_once(Fuzz *fuzz)
{
	HTAB	   *names = names_create(sizeof(NamedPlace));
	Tree	   *list = tree_new(jbvObject);

	for (int i = below(fuzz, 100); i > 0; i--)
	{
		Tree	   *key = tree_random_key(fuzz);
		int			at = tree_find(list, key);
		bool		found;
		NamedPlace *entry = names_enter(names, key->string, key->len, &found);

		fuzz_check(fuzz, found == (at >= 0), "names_enter: new and old are confused");
		fuzz_check(fuzz, !found || entry->place == at, "names_enter: another name's entry");
		fuzz_check(fuzz, entry->name.len == key->len &&
				   memcmp(entry->name.name, key->string, key->len) == 0, "names_enter: another name");
		if (!found)
		{
			entry->place = list->n;
			tree_append(list, key, key);
		}
	}
	hash_destroy(names);
}
