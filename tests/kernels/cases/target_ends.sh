# SPDX-License-Identifier: GPL-2.0-or-later
# The target ends inside the window: gpuprobe ends by itself and writes all.
start_truth nested
start_recording -F leaf -F outer
run_truth
end_truth
end_recording
check_counts leaf outer
says '(the target ended)' gpuprobe.err
