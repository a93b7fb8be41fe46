# SPDX-License-Identifier: GPL-2.0-or-later
# launches OPTION...: stacks of all launches of a process that the agent is in, on the simulated CUDA.
[ -f /test/libcuda.so.1 ] && [ -f /test/libcupti.so.13 ] || exit 77
start_program launches /test/libcuda.so.1
start_recording --cupti /test/libcupti.so.13 --launch-stacks all -o out.ndjson "$@"
says 'records its GPU work' gpuprobe.err
run_truth
stop_recording
end_truth
grep '^{"kind":"launch_stack"' out.ndjson | sed 's/.*"stack":\(\[[^]]*\]\).*/\1/' | sort | uniq -c | sort -rn | awk '{ print $1 }' | tr '\n' ' ' >stacks
equal "$(cat stacks)" "$(count_of launches_often) $(count_of launches_seldom) " "launches by each stack"
equal "$(grep '^{"kind":"launch_stack"' out.ndjson | grep -c '"stack_end":"complete"')" 100 "whole stacks"
