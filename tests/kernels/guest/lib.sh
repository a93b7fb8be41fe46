# SPDX-License-Identifier: GPL-2.0-or-later
# What the scripts of cases share; busybox's shell. Each runs in an empty folder of its own, with the name of the
# kernel in KERNEL and what it can do in MODE (single, stepped, emulated).

# A case that fails is run again where that shows nothing, as on an emulated machine now and then:
# - The ledger says that the kernel (Linux 7) left out programs of tracepoints: what is missing then is known.
# - The recording went to its own end: the guest stood still until then (PERIODIC_TIMERS of tests/kernels/run).
AGAIN=75
RECORDING_SECONDS=290
fail() {
	for line in "$@"; do
		echo "$line"
	done
	[ ! -s gpuprobe.err ] || sed 's/^/gpuprobe said: /' gpuprobe.err
	[ ! -s ledger.csv ] || sed 's/^/ledger: /' ledger.csv
	! grep -qE '^(task_event|growth)_missed,' ledger.csv 2>/dev/null || exit $AGAIN
	! grep -q "^recorded $RECORDING_SECONDS.0 s:" gpuprobe.err 2>/dev/null || exit $AGAIN
	exit 1
}

# start_program NAME [CASE...]: one that says when it is ready, and waits to begin; TARGET is its pid.
start_program() {
	program=$1
	shift
	mkfifo truth.in truth.out
	"/test/$program" "$@" <truth.in >truth.out &
	TARGET=$!
	exec 3>truth.in 4<truth.out
	read -r line <&4
	[ "$line" = ready ] || fail "the target said '$line'"
}

# start_truth CASE...: the program that counts its own calls.
start_truth() {
	start_program truth "$@"
}

# Lets it run; its counts are in the file counts, "FUNCTION CALLS" a line.
run_truth() {
	echo go >&3
	: >counts
	while read -r line <&4; do
		[ "$line" != done ] || return 0
		echo "$line" >>counts
	done
	wait "$TARGET"
	fail "the target died: exit status $?"
}

end_truth() {
	exec 3>&-
	wait "$TARGET"
	status=$?
	[ $status = 0 ] || fail "exit status of the target: $status"
	exec 4<&-
}

# start_recording OPTION...: until the window is open; RECORDER is its pid. (With -o out.ndjson for recorded.)
start_recording() {
	/test/gpuprobe -p "$TARGET" -d $RECORDING_SECONDS -o out.gpr "$@" >gpuprobe.out 2>gpuprobe.err 3>&- 4<&- &
	RECORDER=$!
	until grep -q '^recording ' gpuprobe.err; do
		kill -0 "$RECORDER" 2>/dev/null || fail "gpuprobe did not record"
		sleep 0.05
	done
}

# Ctrl-C, and its end.
stop_recording() {
	kill -INT "$RECORDER"
	end_recording
}

end_recording() {
	wait "$RECORDER"
	status=$?
	[ $status = 0 ] || fail "exit status of gpuprobe: $status"
	/test/gpuprobe stats out.gpr -r functions -f csv >functions.csv 2>>gpuprobe.err || fail "gpuprobe stats failed"
	/test/gpuprobe stats out.gpr -r ledger -f csv >ledger.csv 2>>gpuprobe.err || fail "gpuprobe stats -r ledger failed"
}

# What a program counts that is no function.
RESULTS='failures caught destroyed children'

# The target found nothing wrong; exceptions and what they left are all there.
check_results() {
	while read -r name count; do
		case $name in
		failures) equal "$count" 0 "wrong results in the target" ;;
		caught) equal "$count" 301 "exceptions caught" ;;
		destroyed) equal "$count" 900 "destructors run" ;;
		esac
	done <counts
}

# wanted NAME [FUNCTION...]: is it a function, and one of these where any are named?
wanted() {
	wanted=$1
	shift
	! echo " $RESULTS " | grep -qF " $wanted " && [ "$wanted" = "${wanted#"${EXCLUDED:-/}"}" ] && { [ $# = 0 ] || echo " $* " | grep -qF " $wanted "; }
}

# seen_calls FUNCTION: how many the capture holds, with durations and without.
seen_calls() {
	awk -F, -v name="$1" '$NF == name || index($NF, name "(") == 1 { count += $3 } END { print count + 0 }' functions.csv
}

# calls_with_durations: of all functions.
calls_with_durations() {
	awk -F, 'NR > 1 && $2 != "None" { count += $3 } END { print count + 0 }' functions.csv
}

# count_of FUNCTION: as the program counted.
count_of() {
	awk -v name="$1" '$1 == name { print $2 }' counts
}

# All calls that the program counted (or only those of FUNCTION...) have durations.
check_durations() {
	while read -r name count; do
		if wanted "$name" "$@"; then
			equal "$(awk -F, -v name="$name" '($NF == name || index($NF, name "(") == 1) && $2 != "None" { count += $3 } END { print count + 0 }' functions.csv)" \
				"$count" "calls of $name with durations"
		fi
	done <counts
}

# recorded KIND FUNCTION [TEXT]: records of out.ndjson, those with TEXT.
recorded() {
	grep "^{\"kind\":\"$1\"" out.ndjson | grep -F "\"name\":\"$2\"" | grep -cF "${3:-}"
}

equal() {
	[ "$1" = "$2" ] || fail "$3: $1, expected $2"
}

# All that the truth program counted (or only FUNCTION...) is in the capture, and nothing was lost on the way.
check_counts() {
	while read -r name count; do
		if wanted "$name" "$@"; then
			equal "$(seen_calls "$name")" "$count" "calls of $name"
		fi
	done <counts
	for reason in ring_full missed no_storage unmatched_return write_failed; do
		if grep -q "^$reason," ledger.csv; then
			fail "lost: $(grep "^$reason," ledger.csv)"
		fi
	done
}

# says TEXT FILE
says() {
	grep -qF -- "$1" "$2" || fail "it does not say '$1' but:" "$(cat "$2")"
}
