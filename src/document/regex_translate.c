/*
 * document/regex_translate.c
 *		From PCRE's syntax of regular expressions to that of our engine.
 *
 * Only whether a string matches counts, not where, which makes most of the two
 * languages the same.  What differs is written out: flags that are turned on
 * inside of a pattern, since the engine has them for the whole of it; case, of
 * which the C collation knows only ASCII's, as brackets; . and $, which mind
 * newlines; named groups as numbered ones; and escapes.  What has no equivalent
 * (\p{L}, \K, atomic groups, conditions, recursion) is 0A000.
 *
 * One function reads one construct; the pattern is read once.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "regex.h"

/* A character of the pattern. */
typedef struct PatternChar
{
	uint32		code;			/* Unicode's; 0 if the encoding does not tell */
	int			len;
	char		bytes[MAX_MULTIBYTE_CHAR_LEN + 1];
} PatternChar;

typedef struct Translator
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
} Translator;

static void translate_alternatives(Translator *t);

static void
syntax_error(const Translator *t, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_REGULAR_EXPRESSION),
			 errmsg("invalid regular expression: %s", what),
			 errdetail("The regular expression is \"%.*s\".", (int) (t->end - t->start), t->start)));
}

/* A construct that starts here and has len bytes. */
static void
unsupported(const Translator *t, const char *construct, int len)
{
	len = Min(len, t->end - construct);
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("\"%.*s\" in a regular expression is not supported",
					pg_mbcliplen(construct, t->end - construct, len), construct),
			 errdetail("The regular expression is \"%.*s\".", (int) (t->end - t->start), t->start)));
}

/* Does the rest of the pattern start so?  Then go past it. */
static bool
accept(Translator *t, const char *s)
{
	int			len = strlen(s);

	if (t->end - t->in < len || memcmp(t->in, s, len) != 0)
		return false;
	t->in += len;
	return true;
}

static inline void
put(Translator *t, const char *s)
{
	appendStringInfoString(&t->result->pattern, s);
}

/* The match is more than the literal, which ends here. */
static void
end_literal(Translator *t)
{
	t->in_literal = false;
	t->last_len = 0;
	t->result->plain = false;
}

static void
read_char(Translator *t, PatternChar *c)
{
	c->len = Min(pg_mblen(t->in), t->end - t->in);
	memcpy(c->bytes, t->in, c->len);
	c->bytes[c->len] = '\0';
	if (t->utf8)
		c->code = utf8_to_unicode((const unsigned char *) t->in);
	else
		c->code = c->len == 1 && !IS_HIGHBIT_SET(*t->in) ? *t->in : 0;
	t->in += c->len;
}

/* The character of a code that is written as a number; the construct is for messages. */
static void
char_from_code(Translator *t, uint32 code, const char *construct, PatternChar *c)
{
	if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ||
		(code > 0x7F && !t->utf8))
		unsupported(t, construct, t->in - construct);
	c->code = code;
	if (code <= 0x7F)
	{
		c->bytes[0] = code;
		c->len = 1;
	}
	else
	{
		unicode_to_utf8(code, (unsigned char *) c->bytes);
		c->len = pg_utf_mblen((const unsigned char *) c->bytes);
	}
	c->bytes[c->len] = '\0';
}

/* Write a character, outside or inside of brackets, so that it stands for itself. */
static void
put_char(Translator *t, const char *bytes, int len)
{
	if (len == 1 && strchr("\\^$.[](){}*+?|-", bytes[0]) != NULL)
		appendStringInfoChar(&t->result->pattern, '\\');
	appendBinaryStringInfo(&t->result->pattern, bytes, len);
}

/* Write a range of characters inside of brackets, from regex_other_case. */
static void
put_range(void *arg, uint32 first, uint32 last)
{
	Translator *t = arg;
	PatternChar c;

	if (last > 0x7F && !t->utf8)
		return;
	char_from_code(t, first, t->in, &c);
	put_char(t, c.bytes, c.len);
	if (first == last)
		return;
	put(t, "-");
	char_from_code(t, last, t->in, &c);
	put_char(t, c.bytes, c.len);
}

/* Note whether case matters, and say so. */
static bool
ignoring_case(Translator *t)
{
	if (t->flags & REGEX_IGNORE_CASE)
		t->ignores_case = true;
	else
		t->minds_case = true;
	return (t->flags & REGEX_IGNORE_CASE) != 0;
}

/* A character that stands for itself. */
static void
translate_literal(Translator *t, const PatternChar *c)
{
	StringInfo	out = &t->result->pattern;

	if (ignoring_case(t) && c->code != 0)
	{
		int			start = out->len;
		int			bracket;

		put(t, "[");
		put_char(t, c->bytes, c->len);
		bracket = out->len;
		regex_other_case(c->code, c->code, put_range, t);
		if (out->len > bracket)
		{
			put(t, "]");
			end_literal(t);
			return;
		}
		out->len = start;		/* it has one case only */
		out->data[start] = '\0';
	}
	put_char(t, c->bytes, c->len);
	if (t->in_literal)
	{
		appendBinaryStringInfo(&t->result->literal, c->bytes, c->len);
		t->last_len = c->len;
	}
}

/* The value of up to max digits of the base; the digits are gone past. */
static uint32
read_number(Translator *t, int base, int max)
{
	uint32		n = 0;

	for (int i = 0; i < max && t->in < t->end; i++, t->in++)
	{
		const char *digits = "0123456789abcdef";
		const char *digit = strchr(digits, pg_tolower((unsigned char) *t->in));

		if (*t->in == '\0' || digit == NULL || digit - digits >= base)
			break;
		n = n * base + (digit - digits);
	}
	return n;
}

/*
 * An escape for one character, behind its backslash.  False, and nothing read,
 * if it is another one.
 */
static bool
read_escaped_char(Translator *t, PatternChar *c)
{
	const char *construct = t->in - 1;
	const char *simple = "nrtfae";
	const char *found;
	char		letter;

	if (t->in >= t->end)
		syntax_error(t, "it ends with a backslash");
	letter = *t->in;
	if (!isalnum((unsigned char) letter) || IS_HIGHBIT_SET(letter))
	{
		read_char(t, c);
		return true;
	}
	found = strchr(simple, letter);
	if (found == NULL && strchr("cx0", letter) == NULL)
		return false;
	t->in++;
	if (found != NULL)
		char_from_code(t, "\n\r\t\f\a\033"[found - simple], construct, c);
	else if (letter == 'c' && t->in < t->end)
		char_from_code(t, pg_toupper((unsigned char) *t->in++) ^ 0x40, construct, c);
	else if (letter == 'x' && accept(t, "{"))
	{
		uint32		code = read_number(t, 16, 6);

		if (!accept(t, "}"))
			syntax_error(t, "\\x{ without its closing brace");
		char_from_code(t, code, construct, c);
	}
	else if (letter == 'x')
		char_from_code(t, read_number(t, 16, 2), construct, c);
	else if (letter == '0')
		char_from_code(t, read_number(t, 8, 2), construct, c);
	else
		syntax_error(t, "\\c without its character");
	return true;
}

/* \Q...\E, behind the Q */
static void
translate_quoted(Translator *t)
{
	PatternChar c;

	while (t->in < t->end && !accept(t, "\\E"))
	{
		read_char(t, &c);
		translate_literal(t, &c);
	}
}

static void
translate_reference(Translator *t, int number)
{
	if (number < 1 || number > 99)
		syntax_error(t, "invalid back-reference");
	t->has_reference = true;
	end_literal(t);
	appendStringInfo(&t->result->pattern, "(?:\\%d)", number);
}

/* The name of a group up to the character that ends it; palloc'd. */
static char *
read_name(Translator *t, char close)
{
	const char *end = memchr(t->in, close, t->end - t->in);
	char	   *name;

	if (end == NULL || end == t->in)
		syntax_error(t, "invalid name of a group");
	name = pnstrdup(t->in, end - t->in);
	t->in = end + 1;
	return name;
}

static void
translate_named_reference(Translator *t, char close)
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
	syntax_error(t, "back-reference to a group that does not exist");
}

/* Behind a backslash, outside of brackets. */
static void
translate_escape(Translator *t)
{
	const char *construct = t->in - 1;
	PatternChar c;
	char		letter;

	if (read_escaped_char(t, &c))
	{
		translate_literal(t, &c);
		return;
	}
	letter = *t->in;
	if (letter >= '1' && letter <= '9')
	{
		translate_reference(t, read_number(t, 10, 3));
		return;
	}
	t->in++;
	switch (letter)
	{
		case 'Q':
			translate_quoted(t);
			return;
		case 'E':
			return;
		case 'k':
			if (accept(t, "<"))
				translate_named_reference(t, '>');
			else if (accept(t, "'"))
				translate_named_reference(t, '\'');
			else if (accept(t, "{"))
				translate_named_reference(t, '}');
			else
				syntax_error(t, "\\k without the name of a group");
			return;
		default:
			break;
	}
	end_literal(t);
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
			put(t, "\\y");
			break;
		case 'B':
			put(t, "\\Y");
			break;
		case 'Z':
			put(t, "(?=\n?\\Z)");
			break;
		case 'z':
			put(t, "\\Z");
			break;
		case 'N':
			put(t, "[^\n]");
			break;
		default:
			if (strchr("CgGhHKopPRuUvVXlL", letter) != NULL)
				unsupported(t, construct, 2);
			syntax_error(t, "unrecognized escape");
	}
}

/* [:name:] inside of brackets, behind its bracket and colon. */
static void
translate_class(Translator *t)
{
	const char *construct = t->in - 2;
	bool		negated = accept(t, "^");
	const char *name = t->in;
	int			len = 0;

	while (t->in < t->end && *t->in >= 'a' && *t->in <= 'z')
		t->in++, len++;
	if (!accept(t, ":]"))
		syntax_error(t, "[: without its closing :]");
	if (negated)
	{
		if (len == 5 && memcmp(name, "digit", 5) == 0)
			put(t, "\\D");
		else if (len == 5 && memcmp(name, "space", 5) == 0)
			put(t, "\\S");
		else if (len == 4 && memcmp(name, "word", 4) == 0)
			put(t, "\\W");
		else
			unsupported(t, construct, t->in - construct);
	}
	else if (ignoring_case(t) && len == 5 &&
			 (memcmp(name, "upper", 5) == 0 || memcmp(name, "lower", 5) == 0))
		put(t, "[:alpha:]");
	else
		appendStringInfo(&t->result->pattern, "[:%.*s:]", len, name);
}

/*
 * An item of brackets that is not a character: a class or an escape for one.
 * False, and nothing read, if it is a character, which is in *c then.
 */
static bool
translate_bracket_class(Translator *t, PatternChar *c)
{
	if (accept(t, "[:"))
	{
		translate_class(t);
		return true;
	}
	if (t->end - t->in >= 2 && t->in[0] == '[' && (t->in[1] == '.' || t->in[1] == '='))
		unsupported(t, t->in, 2);
	if (!accept(t, "\\"))
	{
		read_char(t, c);
		return false;
	}
	if (read_escaped_char(t, c))
		return false;
	if (strchr("dDwWsS", *t->in) != NULL)
	{
		appendStringInfo(&t->result->pattern, "\\%c", *t->in++);
		return true;
	}
	if (*t->in != 'b')
		unsupported(t, t->in - 1, 2);
	t->in++;
	char_from_code(t, '\b', t->in - 2, c);
	return false;
}

/* Behind an opening bracket. */
static void
translate_bracket(Translator *t)
{
	bool		first = true;
	PatternChar c,
				last;

	end_literal(t);
	put(t, accept(t, "^") ? "[^" : "[");
	for (;; first = false)
	{
		if (t->in >= t->end)
			syntax_error(t, "[ without its closing bracket");
		if (!first && accept(t, "]"))
			break;
		if (translate_bracket_class(t, &c))
			continue;
		last = c;
		put_char(t, c.bytes, c.len);
		if (t->end - t->in >= 2 && t->in[0] == '-' && t->in[1] != ']')
		{
			const char *hyphen = t->in++;

			put(t, "-");
			if (translate_bracket_class(t, &last))
				unsupported(t, hyphen, t->in - hyphen);
			put_char(t, last.bytes, last.len);
		}
		if (ignoring_case(t) && c.code != 0 && last.code != 0)
			regex_other_case(c.code, last.code, put_range, t);
	}
	put(t, "]");
}

/* (?flags) or (?flags:...), behind the question mark. */
static void
translate_flags(Translator *t)
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
			unsupported(t, construct, 4);
		else if (on)
			t->flags |= 1 << (letter - letters);
		else
			t->flags &= ~(1 << (letter - letters));
	}
	if (accept(t, ")"))
		return;					/* until the end of the group around */
	end_literal(t);
	if (!accept(t, ":"))
		syntax_error(t, "( without its closing parenthesis");
	put(t, "(?:");
	translate_alternatives(t);
	t->flags = saved;
}

/* The rest of a group, behind what opened it, which is written as given. */
static void
translate_group(Translator *t, const char *open, bool lookaround)
{
	int			saved = t->flags;

	end_literal(t);
	put(t, open);
	t->lookarounds += lookaround;
	translate_alternatives(t);
	t->lookarounds -= lookaround;
	t->flags = saved;
}

/* A group that is numbered, and perhaps named. */
static void
translate_capture(Translator *t, char *name)
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
translate_parenthesis(Translator *t)
{
	const char *construct = t->in - 1;

	if (accept(t, "*"))
	{
		/* at the start it may say that the text is UTF-8, as it is */
		if (construct == t->start && (accept(t, "UTF)") || accept(t, "UTF8)")))
			return;
		unsupported(t, construct, 6);
	}
	if (!accept(t, "?"))
		translate_capture(t, NULL);
	else if (accept(t, "#"))
	{
		const char *close = memchr(t->in, ')', t->end - t->in);

		if (close == NULL)
			syntax_error(t, "(?# without its closing parenthesis");
		t->in = close + 1;
	}
	else if (accept(t, ":"))
		translate_group(t, "(?:", false);
	else if (accept(t, "="))
		translate_group(t, "(?=", true);
	else if (accept(t, "!"))
		translate_group(t, "(?!", true);
	else if (accept(t, "<="))
		translate_group(t, "(?<=", true);
	else if (accept(t, "<!"))
		translate_group(t, "(?<!", true);
	else if (accept(t, "P=") || accept(t, "P>"))
	{
		if (t->in[-1] == '>')
			unsupported(t, construct, 4);
		translate_named_reference(t, ')');
	}
	else if (accept(t, "P<") || accept(t, "<"))
		translate_capture(t, read_name(t, '>'));
	else if (accept(t, "'"))
		translate_capture(t, read_name(t, '\''));
	else if (t->in < t->end && strchr("imsx-", *t->in) != NULL)
		translate_flags(t);
	else
		unsupported(t, construct, 3);
}

/* The bytes of a {n}, {n,} or {n,m} that starts here, or 0. */
static int
bound_length(const Translator *t)
{
	const char *s = t->in + 1;

	if (s >= t->end || !isdigit((unsigned char) *s))
		return 0;
	while (s < t->end && isdigit((unsigned char) *s))
		s++;
	if (s < t->end && *s == ',')
		s++;
	while (s < t->end && isdigit((unsigned char) *s))
		s++;
	return s < t->end && *s == '}' ? s + 1 - t->in : 0;
}

/* A quantifier of len bytes, with what may follow it. */
static void
translate_quantifier(Translator *t, int len)
{
	const char *construct = t->in;

	if (t->result->pattern.len == 0)
		syntax_error(t, "nothing to repeat");
	t->result->literal.len -= t->last_len;
	end_literal(t);
	appendBinaryStringInfo(&t->result->pattern, t->in, len);
	t->in += len;
	if (accept(t, "?"))
		put(t, "?");
	else if (accept(t, "+"))
		unsupported(t, construct, len + 1);
}

static void
translate_dollar(Translator *t)
{
	end_literal(t);
	if (t->flags & REGEX_MULTILINE)
	{
		t->result->multiline = true;
		put(t, "$");
	}
	else if (t->in == t->end && t->depth == 0)
		put(t, "\n?\\Z");		/* without the cost of a lookaround */
	else
		put(t, "(?=\n?\\Z)");
}

static void
translate_caret(Translator *t)
{
	if (t->flags & REGEX_MULTILINE)
	{
		end_literal(t);
		t->result->multiline = true;
		put(t, "^");
		return;
	}
	if (t->result->pattern.len == 0)
		t->result->anchored = true;
	else
		end_literal(t);
	put(t, "\\A");
}

/* One construct. */
static void
translate_one(Translator *t)
{
	PatternChar c;
	int			len;

	read_char(t, &c);
	switch (c.bytes[0])
	{
		case '\\':
			translate_escape(t);
			return;
		case '[':
			translate_bracket(t);
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
			end_literal(t);
			put(t, t->flags & REGEX_DOT_ALL ? "." : "[^\n]");
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
	translate_literal(t, &c);
}

/* A group, up to and with its closing parenthesis, or the whole pattern. */
static void
translate_alternatives(Translator *t)
{
	check_stack_depth();
	while (t->in < t->end)
	{
		CHECK_FOR_INTERRUPTS();
		if (accept(t, "|"))
		{
			if (t->depth == 0)
			{
				/* no string needs to have it */
				t->result->anchored = false;
				resetStringInfo(&t->result->literal);
			}
			end_literal(t);
			put(t, "|");
		}
		else if (t->depth > 0 && accept(t, ")"))
		{
			put(t, ")");
			return;
		}
		else if (*t->in == ')')
			syntax_error(t, ") without its opening parenthesis");
		else
			translate_one(t);
	}
	if (t->depth > 0)
		syntax_error(t, "( without its closing parenthesis");
}

/* What back-references refer to must be what the engine numbers and compares alike. */
static void
check_references(Translator *t)
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
	Translator	t = {.start = pattern, .in = pattern, .end = pattern + len, .flags = flags};

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
