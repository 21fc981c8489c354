# The two halves of a demonstration that checks itself:
#
#   awk -v part=feed -f narrate.awk FILE | psql 2>&1 | awk -v part=tell -f narrate.awk FILE
#
# FILE is SQL in blocks with empty lines between them.  A block is told as it
# stands, run, and followed by what the server answered.  README.md's examples
# have the same form.
#
#   --# Title           --## Subtitle
#   -- Prose.
#   UPDATE movies SET doc = ...;
#   --> the answer      plain values, a document laid out over lines
#   --| the answer      a table with its headings
#   --?                 a table that is shown and not compared
#
# Answers are compared without their white space.  A block without --> or --|
# must answer nothing; an error is an answer.
#
# The variable colour is 1 on a terminal.  The half that tells exits 1 if an
# answer was not the expected one, and adds "right wrong" to the file tally.

BEGIN {
	mark = "(end of the answer)"
	width = 96
	if (colour)
	{
		bold = "\033[1m"; blue = "\033[34m"; green = "\033[32m"; red = "\033[31m"; plain = "\033[0m"
	}
}

/^$/ { end_block(); next }
/^--##? / { end_block(); if (part == "tell") tell_title($0); next }
/^--[>|?]/ {
	kind = substr($0, 3, 1)
	expected = expected substr($0, 5) "\n"
	next
}
/^--( |$)/ && sql == "" { prose = prose substr($0, 4) "\n"; next }
{ sql = sql $0 "\n" }

END {
	end_block()
	if (part == "tell")
	{
		if (tally != "")
			print right + 0, wrong + 0 >> tally
		exit wrong > 0
	}
}

function end_block()
{
	if (part == "feed" && sql != "")
		feed_block()
	else if (part == "tell" && prose sql != "")
		tell_block()
	prose = sql = kind = expected = ""
}

function feed_block()
{
	printf "\\pset format %s\n", kind ~ /[|?]/ ? "aligned" : "unaligned"
	printf "\\pset tuples_only %s\n", kind ~ /[|?]/ ? "off" : "on"
	printf "%s\\echo '%s'\n", sql, mark
	fflush()
}

function tell_title(line,    title)
{
	title = line
	sub(/^--##? /, "", title)
	if (line ~ /^--# /)
	{
		printf "\n%s%s\n%s%s\n\n", bold, title, repeat("=", length(title)), plain
	}
	else
		printf "%s%s%s\n\n", bold, title, plain
}

function tell_block(    answer, n, lines, i)
{
	if (prose != "")
		print prose
	if (sql == "")
		return
	printf "%s%s%s\n", blue, indented(sql, "    ", "    "), plain

	answer = answer_of_server()
	if (answer != "")
	{
		n = split(answer, lines, "\n")
		for (i = 1; i < n; i++)
			printf "%s%s%s", green, indented(kind ~ /[|?]/ ? lines[i] : laid_out(lines[i]), i == 1 ? "    => " : "       ", "       "), plain
		printf "\n"
	}
	if (kind == "?")
		;
	else if (bare(answer) == bare(expected))
		right++
	else
	{
		wrong++
		printf "%sThe answer should have been:\n\n%s%s\n", red, expected == "" ? "    (nothing)\n" : indented(expected, "    ", "    "), plain
	}
	fflush()
}

# What psql says up to the mark
function answer_of_server(    line, answer)
{
	while ((getline line < "-") > 0)
	{
		if (line == mark)
			return answer
		if (line != "")
			answer = answer line "\n"
	}
	return answer "(the connection ended)\n"
}

function bare(text)
{
	gsub(/[ \t\n]/, "", text)
	return text
}

function repeat(text, n,    result)
{
	while (n-- > 0)
		result = result text
	return result
}

# Lines with something in front: of the first line and of the others
function indented(text, first, others)
{
	sub(/\n$/, "", text)
	gsub(/\n/, "\n" others, text)
	return first text "\n"
}

# A value of JSON that is too long for a line, over several
function laid_out(value)
{
	if (value !~ /^[{\[]/)
		return value
	column = 0
	layout = ""
	lay(value)
	return layout
}

# Add a value at the current column: as it is if it fits, else its members one
# after the other under the opening bracket, a list's objects a line each and nothing after
# what took several lines.
function lay(value,    start, next_one, member, key, opening, first, laid)
{
	if (length(value) < width - column || value !~ /^[{\[]/)
	{
		write(value)
		return
	}
	opening = substr(value, 1, 1)
	write(opening)
	start = column
	value = substr(value, 2)
	first = 1
	while ((next_one = member_length(value)) > 0)
	{
		member = substr(value, 1, next_one)
		value = substr(value, next_one + 1)
		sub(/^, /, "", member)
		if (!first && (laid || (opening == "[" && member ~ /^[{\[]/) || column + length(member) + 3 > width))
		{
			write(",")
			layout = layout "\n" repeat(" ", start)
			column = start
		}
		else if (!first)
			write(", ")
		key = ""
		if (opening == "{" && match(member, /^"([^"\\]|\\.)*": /))
			key = substr(member, 1, RLENGTH)
		write(key)
		laid = length(member) - length(key) >= width - column
		lay(substr(member, length(key) + 1))
		first = 0
	}
	write(value)
}

function write(text)
{
	layout = layout text
	column += length(text)
}

# The length of the first member, with the comma in front of it, 0 at the end
function member_length(text,    i, c, depth, quoted)
{
	for (i = 1; i <= length(text); i++)
	{
		c = substr(text, i, 1)
		if (quoted)
		{
			if (c == "\\")
				i++
			else if (c == "\"")
				quoted = 0
		}
		else if (c == "\"")
			quoted = 1
		else if (c == "{" || c == "[")
			depth++
		else if ((c == "}" || c == "]") && depth-- == 0)
			return i - 1
		else if (c == "," && depth == 0 && i > 1)
			return i - 1
	}
	return length(text)
}
