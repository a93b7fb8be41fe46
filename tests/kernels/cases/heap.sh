# SPDX-License-Identifier: GPL-2.0-or-later
# heap CASE... [-- OPTION...]: what a program allocates and frees, in all and by the function that did it, against what it counted.
cases=
while [ $# != 0 ] && [ "$1" != -- ]; do
	cases="$cases $1"
	shift
done
[ $# = 0 ] || shift
# shellcheck disable=SC2086 # cases are words
start_program allocations $cases
if [ "$MODE" = single ]; then
	/test/gpuprobe -p "$TARGET" -d 1 --alloc heap -o out.gpr >gpuprobe.out 2>gpuprobe.err && fail "it recorded"
	says "allocations of host memory can't be recorded: that takes uprobe_multi" gpuprobe.err
	run_truth
	end_truth
	exit 0
fi
start_recording --no-blocking --cpu-hz 0 --alloc heap -o out.ndjson "$@"
run_truth
stop_recording
end_truth

# field_of FIELD: of the one record of all that the process did.
field_of() {
	grep '^{"kind":"heap",' out.ndjson | grep -o "\"$1\":[0-9]*" | cut -d: -f2
}

# A sample of the memory that is in use may fall before the window.
lost=$(sed '1d; /^outside_window,/d' ledger.csv)
[ -z "$lost" ] || fail "lost: $lost"
for field in calls bytes failed_calls freed_calls freed_bytes foreign_frees live_calls live_bytes peak_bytes; do
	equal "$(field_of $field)" "$(count_of all.$field)" "$field in all"
done

/test/gpuprobe stats out.gpr -r allocations -f csv --rows 0 >allocations.csv 2>>gpuprobe.err || fail "stats -r allocations failed"
# The first word of a stack is the function that called.
awk -F, 'NR == FNR { split($0, word, " "); if (word[1] ~ /\./ && word[1] !~ /^all\./) made[word[1]] = word[2]; next }
	FNR > 1 { name = $10; gsub(/"/, "", name); sub(/[ (].*/, "", name)
		seen[name ".bytes"] += $1; seen[name ".calls"] += $2; seen[name ".live_bytes"] += $3
		seen[name ".live_calls"] += $4; seen[name ".failed_calls"] += $8 }
	END { for (what in made) if (seen[what] + 0 != made[what]) { print what ": " seen[what] + 0 ", not " made[what]; wrong = 1 }
		for (what in seen) if (!(what in made)) { print what ": " seen[what] ", by nobody"; wrong = 1 }
		exit wrong }' counts allocations.csv >wrong || fail "$(head -n 20 wrong)"
