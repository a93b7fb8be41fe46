# SPDX-License-Identifier: GPL-2.0-or-later
# displaced alone|two|hijacked [OPTION...]: functions that begin with every instruction that a program does itself
# leave in all registers what their twins without a probe leave. Two: with two gpuprobes, the second one with the
# options. Hijacked: with return probes of another tool on some of them, which must see all their returns.
how=$1
shift

# All calls, compared at one go.
check_all_counts() {
	awk -F, 'NR == FNR { split($0, word, " "); if (word[1] != "failures") made[word[1]] = word[2]; next }
		$NF in made { seen[$NF] += $3 }
		END { for (name in made) if (seen[name] != made[name]) { print name ": " seen[name] + 0 " calls, not " made[name]; wrong = 1 }
			exit wrong }' counts functions.csv >wrong || fail "$(head -n 20 wrong)"
	for reason in ring_full missed no_storage unmatched_return write_failed; do
		! grep -q "^$reason," ledger.csv || fail "lost: $(grep "^$reason," ledger.csv)"
	done
}

# Where programs can do it, nothing is single-stepped.
check_costs() {
	[ "$MODE" = emulated ] || return 0
	awk 'NR == FNR { made[$1]; next } $NF in made && $2 == "stepped"' counts check.out >stepped
	case "$*" in
	*trampoline*) sed -i '/frame/d' stepped ;; # sp is not to be moved there
	esac
	[ ! -s stepped ] || fail "stepped:" "$(cat stepped)"
}

hijack() {
	tracing=/sys/kernel/tracing
	mount -t tracefs tracefs $tracing 2>/dev/null
	[ -w $tracing/uprobe_events ] || fail "no uprobe_events"
	for function in $HIJACKED; do
		address=$(awk -v name="$function" '$NF == name { print $1 }' check.out)
		address=${address%+*} # without where gpuprobe goes behind it
		echo "r:$function /test/displaced:$address" >>$tracing/uprobe_events || fail "no return probe on $function"
	done
	echo 1 >$tracing/events/uprobes/enable
}

check_hijacked() {
	cat $tracing/uprobe_profile >profile
	echo 0 >$tracing/events/uprobes/enable
	: >$tracing/uprobe_events
	for function in $HIJACKED; do
		equal "$(awk -v name="$function" '$2 == name { print $3 }' profile)" "$(count_of "$function")" "returns of $function that the other tool saw"
	done
}

record() {
	start_recording -F 'displaced:*' -F '!displaced:main' -F '!displaced:call*' "$@"
}

HIJACKED='mov_rax add_r10 cmp_rdi lea_stack_rbx frame_rax frame_r12 frame_stores frame_calls endbr long_nop'
start_program displaced 2>target.err
/test/gpuprobe check -p "$TARGET" -F 'displaced:*' "$@" >check.out 2>gpuprobe.err || fail "exit status $?"
[ "$how" != hijacked ] || hijack
mkdir second
if [ "$how" = two ]; then
	record
	FIRST=$RECORDER
	cd second || exit 1
fi
record "$@"
run_truth
[ "$how" != hijacked ] || check_hijacked
stop_recording
check_all_counts
if [ "$how" = two ]; then
	cp counts ..
	cd .. || exit 1
	RECORDER=$FIRST
	stop_recording
	check_all_counts
fi
check_costs "$@"
equal "$(count_of failures)" 0 "wrong results in the target: $(head -n 5 target.err)"
end_truth
