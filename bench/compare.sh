# Sourced by the benchmarks: runs statements of two sides in turn, in one
# session, and prints the medians a call and their ratio.
#
#	setup < SQL						to be run once, before the statements
#	compare TITLE A CALLS SQL B CALLS SQL	CALLS is how many calls the statement makes
#
# RUNS is the number of runs, 5 if not set.

declare -a prelude=()

setup()
{
	prelude=("$(cat)")
}

# microseconds a call: the median of the times of one side
median()
{
	sort -g | awk '{ t[NR] = $1 } END { print (NR % 2) ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2 }'
}

compare()
{
	local title=$1 a=$2 a_calls=$3 a_sql=$4 b=$5 b_calls=$6 b_sql=$7
	local times

	times=$({
		printf '%s\n' '\set QUIET 1' '\pset format unaligned' '\pset tuples_only on' \
			'SET jit = off;' 'SET max_parallel_workers_per_gather = 0;' "${prelude[@]}" "$a_sql;" "$b_sql;" '\timing on'
		for ((i = 0; i < ${RUNS:-5}; i++)); do
			printf '%s;\n' "$a_sql" "$b_sql"
		done
	} | psql -X -v ON_ERROR_STOP=1 | awk '$1 == "Time:" { print $2 }')
	awk -v title="$title" -v a="$a" -v b="$b" \
		-v x="$(awk -v n="$a_calls" 'NR % 2 == 1 { print 1000 * $1 / n }' <<< "$times" | median)" \
		-v y="$(awk -v n="$b_calls" 'NR % 2 == 0 { print 1000 * $1 / n }' <<< "$times" | median)" \
		'BEGIN { printf "%-45s %-12s %10.2f us   %-32s %10.2f us   %6.1f times\n", title, a, x, b, y, y / x }'
}
