# counts CASE: the calls of all functions while the truth program runs CASE; what is recorded follows from the kernel.
start_truth "$@"
start_recording -F '*'
run_truth
stop_recording
end_truth
check_counts
case $MODE in
single)
	says 'single probes (no uprobe_multi) take entries only' gpuprobe.err
	says '0.1 s to take out' gpuprobe.err
	;;
multi)
	says 'this kernel has no uprobe sessions' gpuprobe.err
	;;
esac
durations=$(calls_with_durations)
if [ "$MODE" = session ]; then
	[ "$durations" -gt 0 ] || fail "no call has a duration"
else
	equal "$durations" 0 "calls with durations"
fi
