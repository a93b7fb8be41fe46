# SPDX-License-Identifier: GPL-2.0-or-later
# A command that gpuprobe starts: from its first instruction to its end, its exit status handed on.
printf 'go\n' >input
/test/gpuprobe -F leaf -F outer -F main -o out.gpr -- /test/truth nested <input >truth.out 2>gpuprobe.err
RECORDER=$?
equal $RECORDER 0 "exit status"
sed -n '/^[a-z_]* [0-9]*$/p' truth.out >counts
says 'outer 2000' counts
true & RECORDER=$!
end_recording
check_counts leaf outer
equal "$(seen_calls main)" 1 "calls of main"
