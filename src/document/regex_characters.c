/*
 * document/regex_characters.c
 *		The characters of a regular expression: alone, escaped, and in brackets.
 *
 * A character that is compared without regard to case is written as a bracket
 * of all its forms.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "regex.h"

void
regex_read_char(RegexTranslator *t, RegexChar *c)
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
void
regex_char_from_code(RegexTranslator *t, uint32 code, const char *construct, RegexChar *c)
{
	if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ||
		(code > 0x7F && !t->utf8))
		regex_unsupported(t, construct, t->in - construct);
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
put_char(RegexTranslator *t, const char *bytes, int len)
{
	if (len == 1 && strchr("\\^$.[](){}*+?|-", bytes[0]) != NULL)
		appendStringInfoChar(&t->result->pattern, '\\');
	appendBinaryStringInfo(&t->result->pattern, bytes, len);
}

/* Write a range of characters inside of brackets, from regex_other_case. */
static void
put_range(void *arg, uint32 first, uint32 last)
{
	RegexTranslator *t = arg;
	RegexChar	c;

	if (last > 0x7F && !t->utf8)
		return;
	regex_char_from_code(t, first, t->in, &c);
	put_char(t, c.bytes, c.len);
	if (first == last)
		return;
	regex_put(t, "-");
	regex_char_from_code(t, last, t->in, &c);
	put_char(t, c.bytes, c.len);
}

/* Note whether case matters, and say so. */
static bool
ignoring_case(RegexTranslator *t)
{
	if (t->flags & REGEX_IGNORE_CASE)
		t->ignores_case = true;
	else
		t->minds_case = true;
	return (t->flags & REGEX_IGNORE_CASE) != 0;
}

/* A character that stands for itself. */
void
regex_translate_literal(RegexTranslator *t, const RegexChar *c)
{
	StringInfo	out = &t->result->pattern;

	if (ignoring_case(t) && c->code != 0)
	{
		int			start = out->len;
		int			bracket;

		regex_put(t, "[");
		put_char(t, c->bytes, c->len);
		bracket = out->len;
		regex_other_case(c->code, c->code, put_range, t);
		if (out->len > bracket)
		{
			regex_put(t, "]");
			regex_end_literal(t);
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
uint32
regex_read_number(RegexTranslator *t, int base, int max)
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
bool
regex_read_escaped_char(RegexTranslator *t, RegexChar *c)
{
	const char *construct = t->in - 1;
	const char *simple = "nrtfae";
	const char *found;
	char		letter;

	if (t->in >= t->end)
		regex_syntax_error(t, "it ends with a backslash");
	letter = *t->in;
	if (!isalnum((unsigned char) letter) || IS_HIGHBIT_SET(letter))
	{
		regex_read_char(t, c);
		return true;
	}
	found = strchr(simple, letter);
	if (found == NULL && strchr("cx0", letter) == NULL)
		return false;
	t->in++;
	if (found != NULL)
		regex_char_from_code(t, "\n\r\t\f\a\033"[found - simple], construct, c);
	else if (letter == 'c' && t->in < t->end)
		regex_char_from_code(t, pg_toupper((unsigned char) *t->in++) ^ 0x40, construct, c);
	else if (letter == 'x' && regex_accept(t, "{"))
	{
		uint32		code = regex_read_number(t, 16, 6);

		if (!regex_accept(t, "}"))
			regex_syntax_error(t, "\\x{ without its closing brace");
		regex_char_from_code(t, code, construct, c);
	}
	else if (letter == 'x')
		regex_char_from_code(t, regex_read_number(t, 16, 2), construct, c);
	else if (letter == '0')
		regex_char_from_code(t, regex_read_number(t, 8, 2), construct, c);
	else
		regex_syntax_error(t, "\\c without its character");
	return true;
}

/* [:name:] inside of brackets, behind its bracket and colon. */
static void
translate_class(RegexTranslator *t)
{
	const char *construct = t->in - 2;
	bool		negated = regex_accept(t, "^");
	const char *name = t->in;
	int			len = 0;

	while (t->in < t->end && *t->in >= 'a' && *t->in <= 'z')
		t->in++, len++;
	if (!regex_accept(t, ":]"))
		regex_syntax_error(t, "[: without its closing :]");
	if (negated)
	{
		if (len == 5 && memcmp(name, "digit", 5) == 0)
			regex_put(t, "\\D");
		else if (len == 5 && memcmp(name, "space", 5) == 0)
			regex_put(t, "\\S");
		else if (len == 4 && memcmp(name, "word", 4) == 0)
			regex_put(t, "\\W");
		else
			regex_unsupported(t, construct, t->in - construct);
	}
	else if (ignoring_case(t) && len == 5 &&
			 (memcmp(name, "upper", 5) == 0 || memcmp(name, "lower", 5) == 0))
		regex_put(t, "[:alpha:]");
	else
		appendStringInfo(&t->result->pattern, "[:%.*s:]", len, name);
}

/*
 * An item of brackets that is not a character: a class or an escape for one.
 * False, and nothing read, if it is a character, which is in *c then.
 */
static bool
translate_bracket_class(RegexTranslator *t, RegexChar *c)
{
	if (regex_accept(t, "[:"))
	{
		translate_class(t);
		return true;
	}
	if (t->end - t->in >= 2 && t->in[0] == '[' && (t->in[1] == '.' || t->in[1] == '='))
		regex_unsupported(t, t->in, 2);
	if (!regex_accept(t, "\\"))
	{
		regex_read_char(t, c);
		return false;
	}
	if (regex_read_escaped_char(t, c))
		return false;
	if (strchr("dDwWsS", *t->in) != NULL)
	{
		appendStringInfo(&t->result->pattern, "\\%c", *t->in++);
		return true;
	}
	if (*t->in != 'b')
		regex_unsupported(t, t->in - 1, 2);
	t->in++;
	regex_char_from_code(t, '\b', t->in - 2, c);
	return false;
}

/* Behind an opening bracket. */
void
regex_translate_bracket(RegexTranslator *t)
{
	bool		first = true;
	RegexChar	c,
				last;

	regex_end_literal(t);
	regex_put(t, regex_accept(t, "^") ? "[^" : "[");
	for (;; first = false)
	{
		if (t->in >= t->end)
			regex_syntax_error(t, "[ without its closing bracket");
		if (!first && regex_accept(t, "]"))
			break;
		if (translate_bracket_class(t, &c))
			continue;
		last = c;
		put_char(t, c.bytes, c.len);
		if (t->end - t->in >= 2 && t->in[0] == '-' && t->in[1] != ']')
		{
			const char *hyphen = t->in++;

			regex_put(t, "-");
			if (translate_bracket_class(t, &last))
				regex_unsupported(t, hyphen, t->in - hyphen);
			put_char(t, last.bytes, last.len);
		}
		if (ignoring_case(t) && c.code != 0 && last.code != 0)
			regex_other_case(c.code, last.code, put_range, t);
	}
	regex_put(t, "]");
}
