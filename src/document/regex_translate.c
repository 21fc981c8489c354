/*
 * document/regex_translate.c
 *		From PCRE's syntax of regular expressions to that of our engine.
 *
 * Only whether a string matches counts, not where, which makes most of the two
 * languages the same.  What differs is written out: flags that are turned on
 * inside of a pattern, since the engine has them for the whole of it; case, of
 * which the C collation knows only ASCII's, as brackets; . and $, which mind
 * newlines; named groups as numbered ones; and escapes.  What has no equivalent
 * (\p{L}, atomic groups, conditions, recursion) is 0A000.
 *
 * One function reads one construct; the pattern is read once.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "regex.h"

static void translate_alternatives(RegexTranslator *t);

void
regex_syntax_error(const RegexTranslator *t, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_REGULAR_EXPRESSION),
			 errmsg("invalid regular expression: %s", what),
			 errdetail("The regular expression is \"%.*s\".", (int) (t->end - t->start), t->start)));
}

/* A construct that starts here and has len bytes. */
void
regex_unsupported(const RegexTranslator *t, const char *construct, int len)
{
	len = Min(len, t->end - construct);
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("\"%.*s\" in a regular expression is not supported",
					pg_mbcliplen(construct, t->end - construct, len), construct),
			 errdetail("The regular expression is \"%.*s\".", (int) (t->end - t->start), t->start)));
}

/* Does the rest of the pattern start so?  Then go past it. */
bool
regex_accept(RegexTranslator *t, const char *s)
{
	int			len = strlen(s);

	if (t->end - t->in < len || memcmp(t->in, s, len) != 0)
		return false;
	t->in += len;
	return true;
}

void
regex_put(RegexTranslator *t, const char *s)
{
	appendStringInfoString(&t->result->pattern, s);
}

/* The match is more than the literal, which ends here. */
void
regex_end_literal(RegexTranslator *t)
{
	t->in_literal = false;
	t->last_len = 0;
	t->result->plain = false;
}

/* \Q...\E, behind the Q */
static void
translate_quoted(RegexTranslator *t)
{
	RegexChar	c;

	while (t->in < t->end && !regex_accept(t, "\\E"))
	{
		regex_read_char(t, &c);
		regex_translate_literal(t, &c);
	}
}

static void
translate_reference(RegexTranslator *t, int number)
{
	t->has_reference = true;
	if (t->flags & REGEX_IGNORE_CASE)
		t->ignores_case = true;
	else
		t->minds_case = true;
	regex_end_literal(t);
	appendStringInfo(&t->result->pattern, "(?:\\%d)", number);
}

/* The name of a group up to the character that ends it; palloc'd. */
static char *
read_name(RegexTranslator *t, char close)
{
	const char *end = memchr(t->in, close, t->end - t->in);
	char	   *name;

	if (end == NULL || end == t->in)
		regex_syntax_error(t, "invalid name of a group");
	name = pnstrdup(t->in, end - t->in);
	t->in = end + 1;
	return name;
}

static void
translate_named_reference(RegexTranslator *t, char close)
{
	char	   *name = read_name(t, close);

	for (int i = 0; i < t->nnames; i++)
	{
		if (strcmp(t->names[i], name) == 0)
		{
			translate_reference(t, t->numbers[i]);
			return;
		}
	}
	regex_syntax_error(t, "back-reference to a group that does not exist");
}

/* \1: a back-reference; from \10 on a character if there are not so many groups. */
static void
translate_number(RegexTranslator *t)
{
	const char *digits = t->in;
	uint32		number = regex_read_number(t, 10, 3);
	RegexChar	c;

	if (number < 10 || number <= t->ngroups)
	{
		translate_reference(t, number);
		return;
	}
	t->in = digits;
	if (*digits > '7')
		regex_syntax_error(t, "back-reference to a group that does not exist");
	regex_char_from_code(t, regex_read_number(t, 8, 3), digits - 1, &c);
	regex_translate_literal(t, &c);
}

/* \k<name>, \k'name' or \k{name}, behind the k */
static void
translate_name(RegexTranslator *t)
{
	if (regex_accept(t, "<"))
		translate_named_reference(t, '>');
	else if (regex_accept(t, "'"))
		translate_named_reference(t, '\'');
	else if (regex_accept(t, "{"))
		translate_named_reference(t, '}');
	else
		regex_syntax_error(t, "\\k without the name of a group");
}

/* An escape for a class of characters or for a place, behind its letter. */
static void
translate_class_or_place(RegexTranslator *t, char letter)
{
	const char *construct = t->in - 2;

	regex_end_literal(t);
	switch (letter)
	{
		case 'd':
		case 'D':
		case 'w':
		case 'W':
		case 's':
		case 'S':
		case 'A':
			appendStringInfo(&t->result->pattern, "\\%c", letter);
			break;
		case 'b':
			regex_put(t, "\\y");
			break;
		case 'B':
			regex_put(t, "\\Y");
			break;
		case 'Z':
			regex_put(t, "(?=\n?\\Z)");
			break;
		case 'z':
			regex_put(t, "\\Z");
			break;
		case 'N':
			regex_put(t, "[^\n]");
			break;
		case 'K':
			/* moves the start of the match, not whether there is one */
			if (t->lookarounds == 0)
				break;
			/* FALLTHROUGH */
		default:
			if (strchr("CgGhHKopPRuUvVXlL", letter) != NULL)
				regex_unsupported(t, construct, 2);
			regex_syntax_error(t, "unrecognized escape");
	}
}

/* Behind a backslash, outside of brackets. */
static void
translate_escape(RegexTranslator *t)
{
	RegexChar	c;
	char		letter;

	if (regex_read_escaped_char(t, &c))
		regex_translate_literal(t, &c);
	else if (*t->in >= '1' && *t->in <= '9')
		translate_number(t);
	else
	{
		letter = *t->in++;
		if (letter == 'Q')
			translate_quoted(t);
		else if (letter == 'k')
			translate_name(t);
		else if (letter != 'E')
			translate_class_or_place(t, letter);
	}
}

/* The bytes of a {n}, {n,} or {n,m} that starts here, or 0. */
static int
bound_length(const RegexTranslator *t)
{
	const char *s = t->in;
	const char *digits;

	if (s >= t->end || *s++ != '{')
		return 0;
	for (digits = s; s < t->end && isdigit((unsigned char) *s);)
		s++;
	if (s < t->end && *s == ',')
	{
		/* some versions of PCRE take {,n} for a bound and some for text */
		if (s == digits && s + 1 < t->end && isdigit((unsigned char) s[1]))
			regex_unsupported(t, t->in, 3);
		s++;
	}
	else if (s == digits)
		return 0;
	while (s < t->end && isdigit((unsigned char) *s))
		s++;
	return s < t->end && *s == '}' && *digits != ',' ? s + 1 - t->in : 0;
}

/* (?flags) or (?flags:...), behind the question mark. */
static void
translate_flags(RegexTranslator *t)
{
	static const char letters[] = "imsx";	/* in the order of REGEX_ flags */
	const char *construct = t->in - 2;
	int			saved = t->flags;
	bool		on = true;

	for (; t->in < t->end && *t->in != ')' && *t->in != ':'; t->in++)
	{
		const char *letter = strchr(letters, *t->in);

		if (*t->in == '-' && on)
			on = false;
		else if (letter == NULL || *letter == '\0')
			regex_unsupported(t, construct, 4);
		else if (on)
			t->flags |= 1 << (letter - letters);
		else
			t->flags &= ~(1 << (letter - letters));
	}
	if (regex_accept(t, ")"))
	{
		/* they hold until the end of the group around, and cannot be repeated */
		if (t->in < t->end && (strchr("*+?", *t->in) != NULL || bound_length(t) > 0))
			regex_syntax_error(t, "nothing to repeat");
		return;
	}
	regex_end_literal(t);
	if (!regex_accept(t, ":"))
		regex_syntax_error(t, "( without its closing parenthesis");
	regex_put(t, "(?:");
	translate_alternatives(t);
	t->flags = saved;
}

/* The rest of a group, behind what opened it, which is written as given. */
static void
translate_group(RegexTranslator *t, const char *open, bool lookaround)
{
	int			saved = t->flags;

	regex_end_literal(t);
	regex_put(t, open);
	t->lookarounds += lookaround;
	translate_alternatives(t);
	t->lookarounds -= lookaround;
	t->flags = saved;
}

/* A group that is numbered, and perhaps named. */
static void
translate_capture(RegexTranslator *t, char *name)
{
	t->ngroups++;
	if (t->lookarounds > 0)
		t->has_hidden_group = true;
	if (name != NULL)
	{
		t->nnames++;
		t->names = t->names == NULL ? palloc(sizeof(char *)) :
			repalloc(t->names, t->nnames * sizeof(char *));
		t->numbers = t->numbers == NULL ? palloc(sizeof(int)) :
			repalloc(t->numbers, t->nnames * sizeof(int));
		t->names[t->nnames - 1] = name;
		t->numbers[t->nnames - 1] = t->ngroups;
	}
	translate_group(t, "(", false);
}

/* Behind an opening parenthesis. */
static void
translate_parenthesis(RegexTranslator *t)
{
	const char *construct = t->in - 1;

	if (regex_accept(t, "*"))
	{
		/* at the start it may say that the text is UTF-8, as it is */
		if (construct == t->start && (regex_accept(t, "UTF)") || regex_accept(t, "UTF8)")))
			return;
		regex_unsupported(t, construct, 6);
	}
	if (!regex_accept(t, "?"))
		translate_capture(t, NULL);
	else if (regex_accept(t, "#"))
	{
		const char *close = memchr(t->in, ')', t->end - t->in);

		if (close == NULL)
			regex_syntax_error(t, "(?# without its closing parenthesis");
		t->in = close + 1;
	}
	else if (regex_accept(t, ":"))
		translate_group(t, "(?:", false);
	else if (regex_accept(t, "="))
		translate_group(t, "(?=", true);
	else if (regex_accept(t, "!"))
		translate_group(t, "(?!", true);
	else if (regex_accept(t, "<="))
		translate_group(t, "(?<=", true);
	else if (regex_accept(t, "<!"))
		translate_group(t, "(?<!", true);
	else if (regex_accept(t, "P=") || regex_accept(t, "P>"))
	{
		if (t->in[-1] == '>')
			regex_unsupported(t, construct, 4);
		translate_named_reference(t, ')');
	}
	else if (regex_accept(t, "P<") || regex_accept(t, "<"))
		translate_capture(t, read_name(t, '>'));
	else if (regex_accept(t, "'"))
		translate_capture(t, read_name(t, '\''));
	else if (t->in < t->end && strchr("imsx-", *t->in) != NULL)
		translate_flags(t);
	else
		regex_unsupported(t, construct, 3);
}

/* A quantifier of len bytes, with what may follow it. */
static void
translate_quantifier(RegexTranslator *t, int len)
{
	const char *construct = t->in;

	if (t->result->pattern.len == 0)
		regex_syntax_error(t, "nothing to repeat");
	t->result->literal.len -= t->last_len;
	regex_end_literal(t);
	appendBinaryStringInfo(&t->result->pattern, t->in, len);
	t->in += len;
	if (regex_accept(t, "?"))
		regex_put(t, "?");
	else if (regex_accept(t, "+"))
		regex_unsupported(t, construct, len + 1);
}

static void
translate_dollar(RegexTranslator *t)
{
	regex_end_literal(t);
	if (t->flags & REGEX_MULTILINE)
	{
		t->result->multiline = true;
		regex_put(t, "$");
	}
	else if (t->in == t->end && t->depth == 0)
		regex_put(t, "\n?\\Z");		/* without the cost of a lookaround */
	else
		regex_put(t, "(?=\n?\\Z)");
}

static void
translate_caret(RegexTranslator *t)
{
	if (t->flags & REGEX_MULTILINE)
	{
		regex_end_literal(t);
		t->result->multiline = true;
		regex_put(t, "^");
		return;
	}
	if (t->result->pattern.len == 0)
		t->result->anchored = true;
	else
		regex_end_literal(t);
	regex_put(t, "\\A");
}

/* One construct. */
static void
translate_one(RegexTranslator *t)
{
	RegexChar	c;
	int			len;

	regex_read_char(t, &c);
	switch (c.bytes[0])
	{
		case '\\':
			translate_escape(t);
			return;
		case '[':
			regex_translate_bracket(t);
			return;
		case '(':
			t->depth++;
			translate_parenthesis(t);
			t->depth--;
			return;
		case '^':
			translate_caret(t);
			return;
		case '$':
			translate_dollar(t);
			return;
		case '.':
			regex_end_literal(t);
			regex_put(t, t->flags & REGEX_DOT_ALL ? "." : "[^\n]");
			return;
		case '*':
		case '+':
		case '?':
			t->in--;
			translate_quantifier(t, 1);
			return;
		case '{':
			t->in--;
			len = bound_length(t);
			if (len > 0)
			{
				translate_quantifier(t, len);
				return;
			}
			t->in++;
			break;
		case ' ':
		case '\t':
		case '\n':
		case '\v':
		case '\f':
		case '\r':
			if (t->flags & REGEX_EXTENDED)
				return;
			break;
		case '#':
			if (t->flags & REGEX_EXTENDED)
			{
				while (t->in < t->end && *t->in++ != '\n')
					;
				return;
			}
			break;
		default:
			break;
	}
	regex_translate_literal(t, &c);
}

/* A group, up to and with its closing parenthesis, or the whole pattern. */
static void
translate_alternatives(RegexTranslator *t)
{
	check_stack_depth();
	while (t->in < t->end)
	{
		CHECK_FOR_INTERRUPTS();
		if (regex_accept(t, "|"))
		{
			if (t->depth == 0)
			{
				/* no string needs to have it */
				t->result->anchored = false;
				resetStringInfo(&t->result->literal);
			}
			regex_end_literal(t);
			regex_put(t, "|");
		}
		else if (t->depth > 0 && regex_accept(t, ")"))
		{
			regex_put(t, ")");
			return;
		}
		else if (*t->in == ')')
			regex_syntax_error(t, ") without its opening parenthesis");
		else
			translate_one(t);
	}
	if (t->depth > 0)
		regex_syntax_error(t, "( without its closing parenthesis");
}

/* What back-references refer to must be what the engine numbers and compares alike. */
static void
check_references(RegexTranslator *t)
{
	if (!t->has_reference)
		return;
	if (t->has_hidden_group || (t->ignores_case && t->minds_case))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 t->has_hidden_group ?
				 errmsg("a regular expression with a back-reference and a group in a lookaround is not supported") :
				 errmsg("a regular expression with a back-reference that ignores case in a part is not supported"),
				 errdetail("The regular expression is \"%.*s\".",
						   (int) (t->end - t->start), t->start)));
	t->result->ignore_case = t->ignores_case;
}

/* Translates a pattern; what is in *result is palloc'd. */
void
regex_translate(const char *pattern, int len, int flags, RegexTranslation *result)
{
	RegexTranslator	t = {.start = pattern, .in = pattern, .end = pattern + len, .flags = flags};

	memset(result, 0, sizeof(RegexTranslation));
	initStringInfo(&result->pattern);
	initStringInfo(&result->literal);
	result->plain = true;
	t.result = result;
	t.in_literal = true;
	t.utf8 = GetDatabaseEncoding() == PG_UTF8;
	translate_alternatives(&t);
	check_references(&t);
	if (!result->plain && !result->anchored)
		resetStringInfo(&result->literal);
}
