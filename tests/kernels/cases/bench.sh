# What a call costs, in nanoseconds of CPU time: the program measures itself, bare, under empty BPF programs, under
# gpuprobe. Each line goes out at once, "# bench|FUNCTION|HOW|NS"; what is compared is measured in turns.
ROUNDS=5
CALLS=1000

ask() {
	echo "$*" >&3
	read -r answer <&4
}

# measure HOW FUNCTION: one line of the file times.
measure() {
	ask measure "$2" "$CALLS"
	echo "$2|$1|$answer" >>times
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
sort -t '|' -k 1,2 -k 3,3n times | awk -F '|' -v rounds=$ROUNDS '{ n[$1 "|" $2]++; if (n[$1 "|" $2] == int((rounds + 1) / 2)) print "# bench|" $0 }' >/dev/ttyS1
