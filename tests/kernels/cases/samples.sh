# SPDX-License-Identifier: GPL-2.0-or-later
# Where threads run and how long, against the CPU time that they know of.
start_program spends 50
start_recording -o out.ndjson
run_truth
stop_recording
end_truth

for thread in functions.0 kernel.1; do
	tid="\"tid\":$(count_of $thread.tid),"
	ran=$(grep '^{"kind":"thread_time"' out.ndjson | grep -F "$tid" | grep -o '"run_ns":[0-9]*' | cut -d: -f2)
	known=$(count_of $thread.cpu_ns)
	# To a tick of 10 ms; its last look at its clock comes before the work of its end, which an emulated processor does slowly.
	[ "$ran" -ge $((known - 10000000)) ] && [ "$ran" -le $((known + 200000000)) ] || fail "$thread ran $ran ns, it says $known"
	samples=$(grep '^{"kind":"sample"' out.ndjson | grep -F "$tid" | grep -c '"stack_end":"complete"')
	[ "$samples" -ge 10 ] || fail "$thread: $samples whole samples of 50"
done
kernel="\"tid\":$(count_of kernel.1.tid),"
[ "$(grep '^{"kind":"sample"' out.ndjson | grep -F "$kernel" | grep -c '"in_kernel":"yes"')" -ge 5 ] || fail "few samples in the kernel"
