/*
 * fuzz.h
 *		What the fuzzers of the jsonb floor share.
 *
 * Every fuzzer works on two sides at once: the floor, which is tried, and a
 * plain tree, which is edited in the most obvious way and made into
 * jsonb by core.  Core is the oracle, so the two must agree byte for byte.
 */
#ifndef PATTERN_FUZZ_H
#define PATTERN_FUZZ_H

#include "postgres.h"

#include "common/pg_prng.h"
#include "lib/stringinfo.h"

#include "pattern.h"

/* One iteration of a fuzzer. */
typedef struct Fuzz
{
	int64		seed;
	pg_prng_state prng;
	int			budget;			/* nodes that may still be made */
	bool		unicode;		/* may strings hold more than ASCII? */
	int64		checks;			/* comparisons made */
	const Jsonb *document;		/* shown when something fails; may be NULL */
	StringInfoData log;			/* what is done to it */
} Fuzz;

/* A value of a document, as a tree. */
typedef struct Tree
{
	enum jbvType type;			/* never jbvBinary */
	bool		boolean;
	bool		closed;			/* path fuzzer: put here, nothing more may
								 * happen to it */
	bool		entered;		/* path fuzzer: edited within, it may not be
								 * replaced */
	int			low;			/* path fuzzer: where an array's next edit may
								 * be */
	Numeric		number;
	char	   *string;
	int			len;
	int			n;				/* children of an array or an object */
	int			max;
	struct Tree **keys;			/* object: strings */
	struct Tree **children;
} Tree;

static inline uint32
below(Fuzz *fuzz, uint32 n)
{
	return n < 2 ? 0 : (uint32) pg_prng_uint64_range(&fuzz->prng, 0, n - 1);
}

static inline bool
one_in(Fuzz *fuzz, uint32 n)
{
	return below(fuzz, n) == 0;
}

extern void fuzz_check(Fuzz *fuzz, bool holds, const char *what);
extern void fuzz_check_bytes(Fuzz *fuzz, const Jsonb *got, const Jsonb *expected, const char *what);

extern Tree *tree_new(enum jbvType type);
extern Tree *tree_string(const char *s, int len);
extern void tree_append(Tree *container, Tree *key, Tree *child);
extern Tree *tree_random(Fuzz *fuzz, int depth);
extern Tree *tree_random_container(Fuzz *fuzz);
extern Tree *tree_random_scalar(Fuzz *fuzz);
extern Tree *tree_random_key(Fuzz *fuzz);
extern bool tree_key_equal(const Tree *a, const Tree *b);
extern int	tree_find(const Tree *object, const Tree *key);
extern Tree *tree_mutate(Fuzz *fuzz, const Tree *tree);
extern Jsonb *tree_to_jsonb(const Tree *tree);
extern Tree *tree_from_jsonb(Jsonb *jb);
extern void tree_scalar_value(const Tree *tree, JsonbValue *value);
extern void tree_to_value(Fuzz *fuzz, const Tree *tree, JsonbValue *value);

#endif							/* PATTERN_FUZZ_H */
