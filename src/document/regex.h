/*
 * regex.h
 *		What the files of the regular expressions tell each other.
 */
#ifndef PATTERN_REGEX_H
#define PATTERN_REGEX_H

#include "pattern.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

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

/* A character of the pattern. */
typedef struct RegexChar
{
	uint32		code;			/* Unicode's; 0 if the encoding does not tell */
	int			len;
	char		bytes[MAX_MULTIBYTE_CHAR_LEN + 1];
} RegexChar;

typedef struct RegexTranslator
{
	const char *start;			/* the pattern */
	const char *in;				/* what is not read yet */
	const char *end;
	bool		utf8;
	int			flags;			/* in force here */
	RegexTranslation *result;

	/* groups */
	int			depth;
	int			lookarounds;	/* around this place */
	int			ngroups;
	int			nnames;
	char	  **names;			/* of groups */
	int		   *numbers;		/* of these groups */

	/* what a back-reference must know */
	bool		has_reference;
	bool		has_hidden_group;	/* in a lookaround: the engine does not number it */
	bool		minds_case;
	bool		ignores_case;

	/* the literal; see RegexTranslation */
	bool		in_literal;		/* it may still grow */
	int			last_len;		/* of its last character, which a quantifier takes away */
} RegexTranslator;

/*
 * regex_translate.c
 */
extern void regex_translate(const char *pattern, int len, int flags, RegexTranslation *result);
pg_noreturn extern void regex_syntax_error(const RegexTranslator *t, const char *what);
pg_noreturn extern void regex_unsupported(const RegexTranslator *t, const char *construct,
							  int len);
extern bool regex_accept(RegexTranslator *t, const char *s);
extern void regex_put(RegexTranslator *t, const char *s);
extern void regex_end_literal(RegexTranslator *t);

/*
 * regex_characters.c
 */
extern void regex_read_char(RegexTranslator *t, RegexChar *c);
extern void regex_char_from_code(RegexTranslator *t, uint32 code, const char *construct,
								 RegexChar *c);
extern void regex_translate_literal(RegexTranslator *t, const RegexChar *c);
extern uint32 regex_read_number(RegexTranslator *t, int base, int max);
extern bool regex_read_escaped_char(RegexTranslator *t, RegexChar *c);
extern void regex_translate_bracket(RegexTranslator *t);

/*
 * regex_case.c
 */
extern void regex_other_case(uint32 first, uint32 last,
							 void (*emit) (void *arg, uint32 first, uint32 last), void *arg);

/*
 * regex_simple.c
 */
typedef struct RegexSimple RegexSimple;

extern RegexSimple *regex_simple_compile(const char *pattern, int len);
extern bool regex_simple_match(const RegexSimple *simple, const char *s, int len);

#endif							/* PATTERN_REGEX_H */
