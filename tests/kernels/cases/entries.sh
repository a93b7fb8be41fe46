# SPDX-License-Identifier: GPL-2.0-or-later
# --returns none, where returns could be taken or not.
start_truth nested longjmp
start_recording -F '*' --returns none
run_truth
stop_recording
end_truth
check_counts
equal "$(calls_with_durations)" 0 "calls with durations"
