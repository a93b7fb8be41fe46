# SPDX-License-Identifier: GPL-2.0-or-later
# --attach multi where the kernel has none.
start_truth nested
/test/gpuprobe -p "$TARGET" -F leaf -d 1 --attach multi -o out.gpr 2>gpuprobe.err && fail "it recorded"
says '--attach multi: this kernel' gpuprobe.err
says 'has no uprobe_multi' gpuprobe.err
run_truth
end_truth
