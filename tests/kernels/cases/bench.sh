# SPDX-License-Identifier: GPL-2.0-or-later
# What a call costs, in nanoseconds of CPU time, or instructions where the clock counts those: the program measures
# itself, bare, under empty BPF programs, under gpuprobe. Lines "# bench|FUNCTION|HOW|NS" for the host, the least of all
# times, since what disturbs only adds.
ROUNDS=1
TIMES=3
CALLS=300

ask() {
	echo "$*" >&3
	read -r answer <&4
}

# measure HOW FUNCTION: lines of the file times.
measure() {
	for _ in $(seq $TIMES); do
		ask measure "$2" "$CALLS"
		echo "$2|$1|$answer" >>times
	done
}

# bare, pair FUNCTION: by the program itself.
own() {
	ask "$1" "$2"
	[ "$answer" = ok ] || fail "$1 $2: $answer"
	measure "$1" "$2"
	ask off
}

# recorded NAME FUNCTION OPTION...
recorded() {
	how=$1
	measured=$2
	shift 2
	start_recording -F "pair:$measured" "$@"
	measure "$how" "$measured"
	kill -INT "$RECORDER"
	wait "$RECORDER" || fail "gpuprobe failed"
}

mkfifo truth.in truth.out
/test/pair <truth.in >truth.out &
TARGET=$!
exec 3>truth.in 4<truth.out
round=0
while [ $round -lt $ROUNDS ]; do
	measure nothing paired
	own pair paired
	own pair paired_skip
	own session paired
	for function in paired paired_skip paired_lea paired_mov paired_xor paired_cmp paired_frame paired_load; do
		recorded single $function --attach single --returns none
		recorded entry $function --returns none
	done
	for function in paired paired_lea; do
		recorded emulated $function --returns emulated
		recorded stepped $function --returns stepped
		recorded trampoline $function --returns trampoline
	done
	round=$((round + 1))
done
exec 3>&-
wait "$TARGET"
awk -F '|' '{ key = $1 "|" $2; if (!(key in least) || $3 + 0 < least[key]) least[key] = $3 + 0 }
	END { for (key in least) print "# bench|" key "|" least[key] }' times >/dev/ttyS1
echo "# release|$(uname -r)" >/dev/ttyS1
