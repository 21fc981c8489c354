/*
 * document/regex.c
 *		Regular expressions as MongoDB has them, on PostgreSQL's own engine.
 *
 * MongoDB's are PCRE's, whose syntax differs from that of our engine in places
 * where both accept a pattern: \b is a word boundary there and a backspace
 * here.  regex_translate.c therefore reads PCRE's syntax and writes ours; what
 * the engine lacks is an error, never another meaning.  The collation is always
 * C, so that a pattern means the same in every database.
 *
 * A pattern that is only text, or text behind ^, needs no engine, nor does what
 * regex_simple.c knows.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "regex/regex.h"
#include "utils/memutils.h"

#include "regex.h"

struct Regex
{
	const char *source;			/* the pattern, for messages */
	int			source_len;
	bool		engine;			/* compiled is used */
	RegexSimple *simple;		/* this is instead, unless NULL */
	bool		anchored;		/* the literal is at the start */
	int			literal_len;
	char	   *literal;		/* every matching string has it */
	regex_t		compiled;
	MemoryContextCallback release;
};

static void
release_compiled(void *arg)
{
	pg_regfree(arg);
}

static void
raise_regex_error(const Regex *regex, int code, const char *what)
{
	char		message[100];

	/* the engine was perhaps only interrupted */
	CHECK_FOR_INTERRUPTS();
	pg_regerror(code, &regex->compiled, message, sizeof(message));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_REGULAR_EXPRESSION),
			 errmsg("%s: %s", what, message),
			 errdetail("The regular expression is \"%.*s\".", regex->source_len, regex->source)));
}

/* Let the engine compile the translated pattern; it is freed with the current context. */
static void
compile_pattern(Regex *regex, const RegexTranslation *translation)
{
	int			flags = REG_ADVANCED | REG_NOSUB;
	const char *pattern = translation->pattern.data;
	int			pattern_len = translation->pattern.len;
	pg_wchar   *wide = palloc((pattern_len + 1) * sizeof(pg_wchar));
	int			code;

	if (translation->ignore_case)
		flags |= REG_ICASE;
	if (translation->multiline)
		flags |= REG_NLANCH;
	pattern_len = pg_mb2wchar_with_len(pattern, wide, pattern_len);
	code = pg_regcomp(&regex->compiled, wide, pattern_len, flags, C_COLLATION_OID);
	pfree(wide);
	if (code != REG_OKAY)
		raise_regex_error(regex, code, "invalid regular expression");

	regex->engine = true;
	regex->release.func = release_compiled;
	regex->release.arg = &regex->compiled;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &regex->release);
}

/* The flags that the letters stand for; 22023 for others. */
static int
parse_options(const JsonbValue *options)
{
	int			flags = 0;

	for (int i = 0; i < options->val.string.len; i++)
	{
		switch (options->val.string.val[i])
		{
			case 'i':
				flags |= REGEX_IGNORE_CASE;
				break;
			case 'm':
				flags |= REGEX_MULTILINE;
				break;
			case 's':
				flags |= REGEX_DOT_ALL;
				break;
			case 'x':
				flags |= REGEX_EXTENDED;
				break;
			case 'u':			/* characters are Unicode's anyway */
				break;
			default:
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("invalid options of a regular expression: %s",
								value_to_cstring(options)),
						 errhint("Options are i, m, s, u and x.")));
		}
	}
	return flags;
}

/*
 * Compiles a pattern, a string, with options, a string or NULL.  The result
 * lives in the current memory context.  2201B for a wrong pattern, 22023 for
 * wrong options, 0A000 for what the engine lacks.
 */
Regex *
regex_compile(const JsonbValue *pattern, const JsonbValue *options)
{
	int			flags = options != NULL ? parse_options(options) : 0;
	Regex	   *regex = palloc0(sizeof(Regex));
	RegexTranslation translation;
	bool		bytewise = GetDatabaseEncoding() == PG_UTF8 || pg_database_encoding_max_length() == 1;

	regex->source = pattern->val.string.val;
	regex->source_len = pattern->val.string.len;
	regex_translate(regex->source, regex->source_len, flags, &translation);
	regex->anchored = translation.anchored;
	regex->literal = translation.literal.data;
	regex->literal_len = translation.literal.len;

	/* in other encodings a character's bytes may be found across two others */
	if (!translation.plain || (!translation.anchored && !bytewise))
	{
		if (flags == 0 && bytewise)
			regex->simple = regex_simple_compile(regex->source, regex->source_len);
		if (regex->simple == NULL)
			compile_pattern(regex, &translation);
	}
	pfree(translation.pattern.data);
	return regex;
}

/* Does a string have these bytes? */
static bool
has_bytes(const char *s, int len, const char *bytes, int nbytes)
{
	const char *last = s + len - nbytes;

	if (nbytes == 0)
		return true;
	for (; s <= last; s++)
	{
		s = memchr(s, bytes[0], last - s + 1);
		if (s == NULL)
			return false;
		if (memcmp(s, bytes, nbytes) == 0)
			return true;
	}
	return false;
}

static bool
engine_matches(const Regex *regex, const char *s, int len)
{
	pg_wchar	buffer[256];
	pg_wchar   *wide = buffer;
	int			code;

	if (len >= lengthof(buffer))
		wide = palloc_extended((Size) (len + 1) * sizeof(pg_wchar), MCXT_ALLOC_HUGE);
	len = pg_mb2wchar_with_len(s, wide, len);
	code = pg_regexec(unconstify(regex_t *, &regex->compiled), wide, len, 0, NULL, 0, NULL, 0);
	if (wide != buffer)
		pfree(wide);
	if (code != REG_OKAY && code != REG_NOMATCH)
		raise_regex_error(regex, code, "could not match regular expression");
	return code == REG_OKAY;
}

/* Does the regular expression match anywhere in the string? */
bool
regex_match(const Regex *regex, const char *s, int len)
{
	if (regex->anchored &&
		(len < regex->literal_len || memcmp(s, regex->literal, regex->literal_len) != 0))
		return false;
	if (regex->simple != NULL)
		return regex_simple_match(regex->simple, s, len);
	if (regex->engine)
		return engine_matches(regex, s, len);
	return regex->anchored || has_bytes(s, len, regex->literal, regex->literal_len);
}

/*
 * What every matching string starts with, perhaps nothing; true if each string
 * that starts so matches.
 */
bool
regex_prefix(const Regex *regex, const char **prefix, int *len)
{
	*prefix = regex->literal;
	*len = regex->anchored ? regex->literal_len : 0;
	return !regex->engine && regex->simple == NULL && (regex->anchored || regex->literal_len == 0);
}
