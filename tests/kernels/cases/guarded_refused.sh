# --returns guarded where return addresses can't be left alone call by call: refused, with the reason.
start_truth nested
/test/gpuprobe -p "$TARGET" -F leaf --returns guarded -o out.gpr >gpuprobe.out 2>refusal && fail "it was not refused"
says 'has no uprobe sessions' refusal
run_truth
end_truth
