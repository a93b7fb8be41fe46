# SPDX-License-Identifier: GPL-2.0-or-later
# counts CASE...: the calls of all functions while the truth program runs the cases; what is recorded follows from
# the kernel.
start_truth "$@"
start_recording -F '*'
run_truth
stop_recording
end_truth
check_counts
if [ "$MODE" = single ]; then
	says 'single probes (no uprobe_multi) take entries only' gpuprobe.err
	says '0.1 s to take out' gpuprobe.err
	equal "$(calls_with_durations)" 0 "calls with durations"
else
	check_durations
fi
