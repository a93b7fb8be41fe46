# SPDX-License-Identifier: GPL-2.0-or-later
# ends [OPTION...]: how calls ended: by longjmp, by a tail call, by return.
start_truth longjmp tail
start_recording -F '*' -o out.ndjson "$@"
run_truth
stop_recording
end_truth
check_counts
check_durations
equal "$(recorded call jumper '"ended":"unwound"')" "$(count_of jumper)" "unwound calls of jumper"
equal "$(recorded call jump_base '"ended":"returned"')" "$(count_of jump_base)" "returned calls of jump_base"
equal "$(recorded call same_slot_a '"ended":"unwound"')" 100 "unwound calls of same_slot_a"
# Where its exits are probed, a function is seen to jump; else it returns with what it jumped to.
ended=replaced
[ "${2:-}" != trampoline ] || ended=returned
equal "$(recorded call tail_caller "\"ended\":\"$ended\"")" 100 "$ended calls of tail_caller"
equal "$(recorded call tail_callee '"ended":"returned"')" 100 "returned calls of tail_callee"
equal "$(recorded call self_tail '"ended":"replaced"')" 1000 "replaced calls of self_tail"
equal "$(recorded call self_tail '"ended":"returned"')" 100 "returned calls of self_tail"
