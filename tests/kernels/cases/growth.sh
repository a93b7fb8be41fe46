# SPDX-License-Identifier: GPL-2.0-or-later
# How memory grows, against what the program did and what the kernel counted for it.
start_program grows
start_recording -o out.ndjson
run_truth
stop_recording
end_truth

# sum_of FIELD NAME: of the sums by stack.
sum_of() {
	grep '^{"kind":"growth"' out.ndjson | grep -F "\"name\":\"$2\"" | grep -o "\"$1\":[0-9]*" |
		awk -F: '{sum += $2} END {printf "%d", sum}'
}

# mapped_of WHICH: the address space in the first or last record that has it.
mapped_of() {
	grep '^{"kind":"process_memory"' out.ndjson | "$1" -n 1 | grep -o '"mapped_bytes":[0-9]*' | cut -d: -f2
}

equal "$(sum_of maps brk) $(sum_of mapped_bytes brk)" "1 $((25 * 4096))" "brk that grows"
equal "$(sum_of unmaps brk) $(sum_of unmapped_bytes brk)" "1 $((20 * 4096))" "brk that shrinks"
equal "$(sum_of maps mremap) $(sum_of mapped_bytes mremap)" "1 $((32 * 4096))" "mremap that grows"
equal "$(sum_of unmaps mremap) $(sum_of unmapped_bytes mremap)" "1 $((16 * 4096))" "mremap that shrinks"
equal "$(sum_of unmapped_bytes munmap)" "$(((32 + 19 * 16) * 4096))" "bytes of munmap"

mapped=0
for name in mmap brk mremap munmap "page fault"; do
	mapped=$((mapped + $(sum_of mapped_bytes "$name") - $(sum_of unmapped_bytes "$name")))
done
equal "$(($(mapped_of tail) - $(mapped_of head)))" "$mapped" "growth of the address space as /proc has it"

faults=0
for way in touch_pages touch_again touch_dropped touch_huge read_file; do
	faults=$((faults + $(count_of $way)))
done
seen=$(sum_of faults "page fault")
# Those of the threads, and of the program itself and its libraries.
[ "$seen" -ge $((faults + 150)) ] && [ "$seen" -le $((faults + 150 + 60)) ] ||
	fail "$seen page faults were seen, $faults and 150 of threads are known"
bytes=$(sum_of faulted_bytes "page fault")
least=$(((300 + 100 + 40 + 150) * 4096 + 8 * 1048576))
[ "$bytes" -ge $least ] && [ "$bytes" -le $((least + 60 * 4096)) ] ||
	fail "$bytes bytes came for page faults, $least are known"
