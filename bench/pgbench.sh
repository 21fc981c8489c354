# Sourced by the benchmarks that measure whole transactions: pgbench with each
# client and its backend on a processor of their own, and single statements.
#
#	script NAME < SCRIPT				a script of pgbench
#	tps CLIENTS NAME [OPTION...]		transactions a second; the script's variable client is the client's number
#	ms SQL								milliseconds of a statement
#	measure RUNS BASE SIDE... < COMMAND	runs COMMAND for each $side in turn, RUNS times; prints the
#										medians, and their ratios to that of the side BASE
#	high_water SQL						the most memory that a backend had, in kB
#	longest SQL NAME					the longest transaction of a client beside a statement
#
# SECONDS_EACH is how long a pgbench runs, 5 if not set.

export PGOPTIONS="${PGOPTIONS:-} -c synchronous_commit=off -c jit=off"
scripts=$(mktemp -d)
trap 'rm -rf "$scripts"' EXIT
# the processors that there are for us: 0-1,4 is 0 1 4
cpus=()
while IFS=- read -r first last; do
	cpus+=($(seq "$first" "${last:-$first}"))
done < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n')

script()
{
	cat > "$scripts/$1"
}

# Put the backends of an application, and the clients, each on a processor.
pin()
{
	local name=$1 cpu=$2 client=$3 backend

	for ((try = 0; try < 20; try++)); do
		backend=$(psql -qXAt -c "SELECT pid FROM pg_stat_activity WHERE application_name = '$name'")
		if [ -n "$backend" ]; then break; fi
		sleep 0.05
	done
	taskset -cp "$cpu" "$client" > /dev/null 2>&1 && taskset -cp "$cpu" "$backend" > /dev/null 2>&1 ||
		echo "  (a client is not pinned)" >&2
}

tps()
{
	local clients=$1 name=$2 i pids=()
	shift 2

	for ((i = 0; i < clients; i++)); do
		PGAPPNAME=bench_$i pgbench -n -M prepared -T "${SECONDS_EACH:-5}" -f "$scripts/$name" -D client="$i" "$@" > "$scripts/out.$i" 2> "$scripts/err.$i" &
		pids[i]=$!
		pin "bench_$i" "${cpus[i % ${#cpus[@]}]}" "${pids[i]}"
	done
	wait "${pids[@]}" || cat "$scripts"/err.* >&2
	awk '$1 == "tps" { sum += $3 } END { print sum }' "$scripts"/out.*
}

# The time until the transaction's end: what is deferred is part of it.
ms()
{
	printf '%s\n' '\set QUIET 1' 'SET client_min_messages = warning;' '\o /dev/null' '\timing on' "$1;" |
		psql -X -v ON_ERROR_STOP=1 | awk '$1 == "Time:" { time = $2 } END { print time }'
}

median()
{
	sort -g | awk '{ t[NR] = $1 } END { print (NR % 2) ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2 }'
}

measure()
{
	local runs=$1 base=$2 command side
	shift 2
	command=$(cat)

	rm -f "$scripts"/figures.*
	for ((run = 0; run < runs; run++)); do
		for side in "$@"; do
			eval "$command" >> "$scripts/figures.$side"
		done
	done
	for side in "$@"; do
		awk -v side="$side" -v figure="$(median < "$scripts/figures.$side")" -v base="$(median < "$scripts/figures.$base")" -v name="$base" \
			'BEGIN { printf "  %-28s %12.1f   %8.2f of %s\n", side, figure, figure / base, name }'
	done
}

high_water()
{
	local out

	out=$(psql -qXAt -c "$1" -c "SELECT pg_read_file('/proc/self/status')" 2> /dev/null | awk '$1 == "VmHWM:" { print $2 }')
	echo "${out:-?}"
}

longest()
{
	local statement=$1 name=$2 client time

	PGAPPNAME=bench_0 pgbench -n -M prepared -c 1 -T 15 -l --log-prefix="$scripts/log" -f "$scripts/$name" > /dev/null 2> "$scripts/err.0" &
	client=$!
	sleep 2
	time=$(ms "$statement")
	wait "$client" || cat "$scripts/err.0" >&2
	cat "$scripts"/log.* | awk -v time="$time" '$3 > max { max = $3 } END { printf "  %.1f of %d transactions in 15 s; the other took %.0f\n", max / 1000, NR, time }'
	rm -f "$scripts"/log.*
}
