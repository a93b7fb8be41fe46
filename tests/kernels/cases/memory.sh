# SPDX-License-Identifier: GPL-2.0-or-later
# memory CASE... [-- OPTION...]: GPU memory that the program allocates and frees, by CUDA's functions, which it has in itself.
# The case "jumps" has functions that leave by a jump: their results are seen where there are uprobe sessions.
cases=
while [ $# != 0 ] && [ "$1" != -- ]; do
	cases="$cases $1"
	shift
done
[ $# = 0 ] || shift
start_program memory $cases
start_recording -F 'memory:cu*' -o out.ndjson "$@"
run_truth
stop_recording
end_truth

# recorded_memory OPERATION KIND: "COUNT BYTES"
recorded_memory() {
	awk -v operation="\"operation\":\"$1\"" -v kind="\"memory\":\"$2\"" '
		index($0, "{\"kind\":\"gpu_memory\"") == 1 && index($0, operation) && index($0, kind) {
			count++
			if (match($0, /"bytes":[0-9]+/))
				bytes += substr($0, RSTART + 8, RLENGTH - 8)
		}
		END { print count + 0, bytes + 0 }' out.ndjson
}

unseen() {
	awk -F, '$1 == "allocation_unseen" { print $3 }' ledger.csv
}

if [ "$MODE" = single ] && [ $# = 0 ]; then
	says 'is not counted' gpuprobe.err
	[ "$(grep -c '^{"kind":"gpu_memory"' out.ndjson)" = 0 ] || fail "memory without results"
	[ "$(unseen)" -gt 0 ] || fail "nothing is in the ledger"
	exit 0
fi
if [ "$MODE" = stepped ] && [ "$cases" = " jumps" ]; then
	equal "$(unseen)" 2 "results not seen"
	exit 0
fi
for operation in allocate release; do
	for kind in device pinned managed; do
		wanted="$(count_of $operation.$kind.count) $(count_of $operation.$kind.bytes)"
		[ "$wanted" != " " ] || wanted="0 0"
		equal "$(recorded_memory $operation $kind)" "$wanted" "$operation $kind"
	done
done
equal "$(unseen)" "" "results not seen"
[ "$cases" = " jumps" ] || [ "$(count_of allocate.device.count)" -gt 2 ] || fail "the program allocated nothing"
