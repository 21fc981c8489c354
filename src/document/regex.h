/*
 * regex.h
 *		What the files of the regular expressions tell each other.
 */
#ifndef PATTERN_REGEX_H
#define PATTERN_REGEX_H

#include "pattern.h"

#include "lib/stringinfo.h"

/* Options, and the flags that a pattern turns on and off. */
#define REGEX_IGNORE_CASE	(1 << 0)	/* i */
#define REGEX_MULTILINE		(1 << 1)	/* m: ^ and $ at each line */
#define REGEX_DOT_ALL		(1 << 2)	/* s: . matches a newline too */
#define REGEX_EXTENDED		(1 << 3)	/* x: white space and comments */

/* A pattern in the language of PostgreSQL's engine. */
typedef struct RegexTranslation
{
	StringInfoData pattern;
	bool		ignore_case;	/* flags for the engine */
	bool		multiline;

	/*
	 * What a matching string has literally: its start if anchored, else
	 * anywhere.  Nothing else is asked for if plain.
	 */
	StringInfoData literal;
	bool		anchored;
	bool		plain;
} RegexTranslation;

/*
 * regex_translate.c
 */
extern void regex_translate(const char *pattern, int len, int flags, RegexTranslation *result);

/*
 * regex_case.c
 */
extern void regex_other_case(uint32 first, uint32 last,
							 void (*emit) (void *arg, uint32 first, uint32 last), void *arg);

#endif							/* PATTERN_REGEX_H */
