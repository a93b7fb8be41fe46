# SPDX-License-Identifier: GPL-2.0-or-later
# single [OPTION...]: --attach single, also where the kernel has uprobe_multi.
start_truth nested
start_recording -F leaf -F outer --attach single "$@"
run_truth
stop_recording
end_truth
check_counts leaf outer
says '0.1 s to take out' gpuprobe.err
if [ $# = 0 ]; then
	equal "$(calls_with_durations)" 0 "calls with durations"
else
	check_durations leaf outer
fi
