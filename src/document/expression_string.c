/*
 * document/expression_string.c
 *		Operators on strings.
 *
 * CP counts code points, Bytes counts bytes of the database's encoding.  Case is
 * that of ASCII, as in MongoDB: the answer does not depend on a locale.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "expression.h"

/* A string of these bytes, which are not copied. */
static bool
string_result(const char *s, int len, JsonbValue *result)
{
	result->type = jbvString;
	result->val.string.val = unconstify(char *, s);
	result->val.string.len = len;
	return true;
}

static bool
buffer_result(StringInfo buf, JsonbValue *result)
{
	return string_result(buf->data, buf->len, result);
}

/* Argument i as a string; false if it is missing or null, when *result is null. */
static bool
evaluate_string(const Expression *expression, int i, EvaluationContext *context, JsonbValue *result)
{
	if (!evaluate_not_null(expression, i, context, result))
		return false;
	check_string(expression, result);
	return true;
}

/* A number as a string, the same for numbers that are equal. */
void
number_to_string(const JsonbValue *number, JsonbValue *result)
{
	JsonbValue	trimmed = *number;

	trimmed.val.numeric = number_trim(number->val.numeric);
	value_from_cstring(value_to_cstring(&trimmed), result);
}

/* Argument i as a string, which a number is too; "" if it is missing or null. */
static void
evaluate_as_string(const Expression *expression, int i, EvaluationContext *context, JsonbValue *result)
{
	if (!evaluate_not_null(expression, i, context, result))
		string_result("", 0, result);
	else if (result->type == jbvNumeric)
		number_to_string(result, result);
	check_string(expression, result);
}

static bool
evaluate_concat(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < expression->nargs; i++)
	{
		if (!evaluate_string(expression, i, context, result))
			return true;
		appendBinaryStringInfo(&buf, result->val.string.val, result->val.string.len);
	}
	return buffer_result(&buf, result);
}

/* $toLower $toUpper; arg is not NULL for $toUpper */
static bool
evaluate_case(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	StringInfoData buf;

	evaluate_as_string(expression, 0, context, result);
	initStringInfo(&buf);
	appendBinaryStringInfo(&buf, result->val.string.val, result->val.string.len);
	for (int i = 0; i < buf.len; i++)
		buf.data[i] = expression->operator->arg != NULL ? pg_ascii_toupper(buf.data[i]) :
			pg_ascii_tolower(buf.data[i]);
	return buffer_result(&buf, result);
}

static bool
evaluate_strcasecmp(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	a,
				b;
	int			cmp = 0;

	evaluate_as_string(expression, 0, context, &a);
	evaluate_as_string(expression, 1, context, &b);
	for (int i = 0; cmp == 0 && i < Min(a.val.string.len, b.val.string.len); i++)
		cmp = pg_ascii_toupper((unsigned char) a.val.string.val[i]) -
			pg_ascii_toupper((unsigned char) b.val.string.val[i]);
	if (cmp == 0)
		cmp = a.val.string.len - b.val.string.len;
	value_from_int64(cmp < 0 ? -1 : (cmp > 0), result);
	return true;
}

/* $strLenCP $strLenBytes; arg is not NULL for bytes */
static bool
evaluate_length(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	if (!evaluate(expression->args[0], context, result))
		result->type = jbvNull;
	check_string(expression, result);
	value_from_int64(expression->operator->arg != NULL ? result->val.string.len :
					 pg_mbstrlen_with_len(result->val.string.val, result->val.string.len), result);
	return true;
}

/* How many bytes the first n code points have. */
static int
bytes_of_characters(const char *s, int len, int64 n)
{
	int			bytes = 0;

	for (; n > 0 && bytes < len; n--)
		bytes += pg_mblen(s + bytes);
	return bytes;
}

/* Argument i as an integer that is not negative. */
static int32
evaluate_count(const Expression *expression, int i, EvaluationContext *context)
{
	JsonbValue	count;

	if (!evaluate(expression->args[i], context, &count))
		count.type = jbvNull;
	if (check_integer(expression, &count) < 0)
		argument_error(expression, &count, "an integer that is not negative");
	return check_integer(expression, &count);
}

/* [string, start, length] in code points */
static bool
evaluate_substr_cp(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	int32		start = evaluate_count(expression, 1, context);
	int32		n = evaluate_count(expression, 2, context);
	int			skip;

	evaluate_as_string(expression, 0, context, result);
	skip = bytes_of_characters(result->val.string.val, result->val.string.len, start);
	return string_result(result->val.string.val + skip,
						 bytes_of_characters(result->val.string.val + skip, result->val.string.len - skip, n), result);
}

/* Does a character begin at this byte, or the string end? */
static bool
is_boundary(const JsonbValue *s, int at)
{
	int			i = 0;

	while (i < Min(at, s->val.string.len))
		i += pg_mblen(s->val.string.val + i);
	return i == Min(at, s->val.string.len);
}

/* [string, start, length] in bytes; a negative length is all the rest */
static bool
evaluate_substr_bytes(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	int32		start = evaluate_count(expression, 1, context);
	JsonbValue	length;
	int64		end;

	if (!evaluate(expression->args[2], context, &length))
		length.type = jbvNull;
	end = check_integer(expression, &length);
	evaluate_as_string(expression, 0, context, result);
	end = end < 0 ? result->val.string.len : Min(start + end, result->val.string.len);
	if (start >= end)
		return string_result("", 0, result);
	if (!is_boundary(result, start) || !is_boundary(result, (int) end))
		argument_error(expression, result, "cut between two characters");
	return string_result(result->val.string.val + start, (int) end - start, result);
}

/* Where a part begins in a string from a byte on; -1 if it is not there. */
static int
find_part(const JsonbValue *s, const JsonbValue *part, int from)
{
	for (; from + part->val.string.len <= s->val.string.len; from += from < s->val.string.len ? pg_mblen(s->val.string.val + from) : 1)
		if (memcmp(s->val.string.val + from, part->val.string.val, part->val.string.len) == 0)
			return from;
	return -1;
}

static bool
evaluate_split(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	ValueList	list = {0};
	JsonbValue	s,
				separator,
				part;
	int			from = 0;
	int			at;

	if (!evaluate_pair(expression, context, &s, &separator))
	{
		result->type = jbvNull;
		return true;
	}
	check_string(expression, &s);
	check_string(expression, &separator);
	if (separator.val.string.len == 0)
		argument_error(expression, &separator, "a string that is not empty");
	while ((at = find_part(&s, &separator, from)) >= 0)
	{
		CHECK_FOR_INTERRUPTS();
		string_result(s.val.string.val + from, at - from, &part);
		values_append(&list, &part);
		from = at + separator.val.string.len;
	}
	string_result(s.val.string.val + from, s.val.string.len - from, &part);
	values_append(&list, &part);
	return array_result(&list, result);
}

/* [string, part, from, to]: where the part begins, or -1; arg is not NULL for bytes */
static bool
evaluate_index_of(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	bool		bytes = expression->operator->arg != NULL;
	JsonbValue	part;
	int			from = 0;
	int			at;

	if (!evaluate_string(expression, 0, context, result))
		return true;
	if (!evaluate(expression->args[1], context, &part))
		part.type = jbvNull;
	check_string(expression, &part);
	if (expression->nargs > 3)
	{
		int32		to = evaluate_count(expression, 3, context);

		result->val.string.len = bytes ? Min(to, result->val.string.len) :
			bytes_of_characters(result->val.string.val, result->val.string.len, to);
	}
	if (expression->nargs > 2)
	{
		from = evaluate_count(expression, 2, context);
		if (!bytes && from <= result->val.string.len)
		{
			int			skip = bytes_of_characters(result->val.string.val, result->val.string.len, from);

			from = from > pg_mbstrlen_with_len(result->val.string.val, skip) ? result->val.string.len + 1 : skip;
		}
	}
	at = find_part(result, &part, from);
	value_from_int64(at < 0 || bytes ? at : pg_mbstrlen_with_len(result->val.string.val, at), result);
	return true;
}

/* $replaceOne $replaceAll; arg is not NULL for all */
static bool
evaluate_replace(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	JsonbValue	find,
				replacement;
	StringInfoData buf;
	int			from = 0;
	int			at;
	bool		is_null = !evaluate_string(expression, 0, context, result);

	is_null |= !evaluate_string(expression, 1, context, &find);
	is_null |= !evaluate_string(expression, 2, context, &replacement);
	if (is_null)
	{
		result->type = jbvNull;
		return true;
	}
	initStringInfo(&buf);
	while ((at = find_part(result, &find, from)) >= 0)
	{
		int			next = at + find.val.string.len;

		CHECK_FOR_INTERRUPTS();
		appendBinaryStringInfo(&buf, result->val.string.val + from, at - from);
		appendBinaryStringInfo(&buf, replacement.val.string.val, replacement.val.string.len);
		/* nothing stands before each character, and at the end */
		if (find.val.string.len == 0 && at < result->val.string.len)
		{
			next = at + pg_mblen(result->val.string.val + at);
			appendBinaryStringInfo(&buf, result->val.string.val + at, next - at);
		}
		from = next;
		if (expression->operator->arg == NULL || at >= result->val.string.len)
			break;
	}
	appendBinaryStringInfo(&buf, result->val.string.val + from, result->val.string.len - from);
	return buffer_result(&buf, result);
}

static Expression *
compile_replace(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"input", "find", "replacement"};

	return expression_named_arguments(operator, operand, names, 3, 3, scope);
}

/* What $trim takes away unless it is told: white space, and NUL, which jsonb cannot have. */
static bool
is_space(pg_wchar c)
{
	return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0xA0 || c == 0x1680 ||
		(c >= 0x2000 && c <= 0x200A);
}

/* Is the character at s one to be trimmed?  chars is NULL for white space. */
static bool
is_trimmed(const char *s, const JsonbValue *chars)
{
	int			len = pg_mblen(s);

	if (chars == NULL)
		return is_space(GetDatabaseEncoding() == PG_UTF8 ? utf8_to_unicode((const unsigned char *) s) :
						(unsigned char) *s);
	for (int i = 0; i < chars->val.string.len; i += pg_mblen(chars->val.string.val + i))
		if (pg_mblen(chars->val.string.val + i) == len && memcmp(chars->val.string.val + i, s, len) == 0)
			return true;
	return false;
}

/* $trim $ltrim $rtrim; arg is their name without the dollar sign */
static bool
evaluate_trim(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	const char *which = expression->operator->arg;
	JsonbValue	chars;
	JsonbValue *given = NULL;
	int			start = 0;
	int			end = 0;		/* behind the last character that stays */

	if (!evaluate_string(expression, 0, context, result))
		return true;
	if (expression->args[1] != NULL)
	{
		if (!evaluate_string(expression, 1, context, &chars))
		{
			result->type = jbvNull;
			return true;
		}
		given = &chars;
	}
	while (*which != 'r' && start < result->val.string.len && is_trimmed(result->val.string.val + start, given))
		start += pg_mblen(result->val.string.val + start);
	for (int i = start; i < result->val.string.len;)
	{
		bool		trimmed = *which != 'l' && is_trimmed(result->val.string.val + i, given);

		i += pg_mblen(result->val.string.val + i);
		if (!trimmed)
			end = i;
	}
	return string_result(result->val.string.val + start, Max(end - start, 0), result);
}

static Expression *
compile_trim(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"input", "chars"};

	return expression_named_arguments(operator, operand, names, 1, 2, scope);
}

static bool
evaluate_regex_match(const Expression *expression, EvaluationContext *context, JsonbValue *result)
{
	bool		found = evaluate_string(expression, 0, context, result);

	value_from_bool(found && regex_match(expression->compiled, result->val.string.val, result->val.string.len), result);
	return true;
}

/* {"input": ..., "regex": string, "options": string}; the regular expression does not depend on the document */
static Expression *
compile_regex_match(const ExpressionOperator *operator, const JsonbValue *operand, const ExpressionScope *scope)
{
	static const char *const names[] = {"input", "regex", "options"};
	Expression *expression = expression_new(operator);
	JsonbValue	parts[3];

	expression_fields(operator, operand, names, 2, 3, parts);
	if (parts[1].type != jbvString || (parts[1].val.string.len > 0 && parts[1].val.string.val[0] == '$'))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the \"regex\" of %s must be a constant string: %s", operator->name, value_to_cstring(&parts[1]))));
	expression->compiled = regex_compile(&parts[1], parts[2].type == jbvObject ? NULL : &parts[2]);
	expression->nargs = 1;
	expression->args = palloc(sizeof(Expression *));
	expression->args[0] = expression_compile_within(&parts[0], scope);
	return expression;
}

const ExpressionOperator expression_string_operators[] =
{
	{"$concat", evaluate_concat, 0, -1, NULL, NULL},
	{"$indexOfBytes", evaluate_index_of, 2, 4, NULL, ""},
	{"$indexOfCP", evaluate_index_of, 2, 4, NULL, NULL},
	{"$ltrim", evaluate_trim, 0, -1, compile_trim, "ltrim"},
	{"$regexMatch", evaluate_regex_match, 0, -1, compile_regex_match, NULL},
	{"$replaceAll", evaluate_replace, 0, -1, compile_replace, ""},
	{"$replaceOne", evaluate_replace, 0, -1, compile_replace, NULL},
	{"$rtrim", evaluate_trim, 0, -1, compile_trim, "rtrim"},
	{"$split", evaluate_split, 2, 2, NULL, NULL},
	{"$strLenBytes", evaluate_length, 1, 1, NULL, ""},
	{"$strLenCP", evaluate_length, 1, 1, NULL, NULL},
	{"$strcasecmp", evaluate_strcasecmp, 2, 2, NULL, NULL},
	{"$substr", evaluate_substr_bytes, 3, 3, NULL, NULL},
	{"$substrBytes", evaluate_substr_bytes, 3, 3, NULL, NULL},
	{"$substrCP", evaluate_substr_cp, 3, 3, NULL, NULL},
	{"$toLower", evaluate_case, 1, 1, NULL, NULL},
	{"$toUpper", evaluate_case, 1, 1, NULL, ""},
	{"$trim", evaluate_trim, 0, -1, compile_trim, "trim"},
	{NULL, NULL, 0, 0, NULL, NULL}
};
