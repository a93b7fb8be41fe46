# SPDX-License-Identifier: GPL-2.0-or-later
# program NAME [OPTION...]: the calls of all its functions; it ends well and finds no wrong result in itself.
name=$1
shift
# A return that takes arguments off the stack too is not recognised behind a trampoline: counted, and its call unwound.
if [ "${2:-}" = trampoline ] && [ "$name" = instructions ]; then
	set -- "$@" -F '!ret_n*'
	EXCLUDED=ret_n
fi
start_program "$name"
if [ "$name $MODE" = 'instructions emulated' ]; then
	/test/gpuprobe check -p "$TARGET" -F 'endbr_*' -F keeps "$@" >check.out 2>gpuprobe.err || fail "exit status $?"
	says ' probed (6 cheap, 0 stepped)' check.out
fi
start_recording -F "$name:*" -F "!$name:main" -o out.ndjson "$@"
run_truth
stop_recording
end_truth
check_counts
check_results
case "$name $*" in
'throws ' | 'throws --returns stepped')
	check_durations
	equal "$(recorded call 'thrower(int)' '"ended":"unwound"')" 300 "unwound calls of thrower"
	equal "$(recorded call 'thrower(int)' '"ended":"returned"')" 600 "returned calls of thrower"
	;;
'stacks ' | 'stacks --returns stepped')
	check_durations
	for function in fiber_step resume interrupted leaf on_signal; do
		equal "$(recorded call $function '"ended":"returned"')" "$(count_of $function)" "returned calls of $function"
	done
	;;
'instructions ' | 'instructions --returns stepped')
	for function in $(sed -n 's/^\(jump_r[^ ]*\|jump_memory\|endbr_jump\) .*/\1/p' counts); do
		equal "$(recorded call "$function" '"ended":"replaced"')" 100 "replaced calls of $function"
	done
	for function in plain_ret rep_ret endbr_ret endbr_sub endbr_push ret_n ret_n_deep; do
		equal "$(recorded call $function '"ended":"returned"')" 100 "returned calls of $function"
	done
	;;
esac
