# gpuprobe check: what this kernel can do and what follows from it, and nothing is touched.
start_truth nested
/test/gpuprobe check -p "$TARGET" -F leaf -F outer >check.out 2>gpuprobe.err || fail "exit status $?"
says "Linux $(uname -r): " check.out
case $MODE in
single)
	says 'single probes (0.1 s each to detach), entries only' check.out
	says 'leaf  (single probes (no uprobe_multi) take entries only)' check.out
	;;
multi)
	says 'uprobe_multi without sessions (Linux 6.13), entries only' check.out
	says 'leaf  (this kernel has no uprobe sessions' check.out
	;;
session)
	says 'uprobe_multi and uprobe sessions' check.out
	grep -q ' durations  leaf$' check.out || fail "no durations of leaf:" "$(cat check.out)"
	;;
esac
run_truth
end_truth
