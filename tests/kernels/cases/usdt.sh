# SPDX-License-Identifier: GPL-2.0-or-later
# usdt OPTION...: hits of USDT probes and their arguments against what the program prints; spans; a semaphore.
start_program usdt 30
start_recording -o out.ndjson --no-blocking --cpu-hz 0 --alloc off -U 'truth:*:s1,3,4' "$@"
run_truth
stop_recording
end_truth

# arguments KIND NAME: of each record a line, the values as the program prints them.
arguments() {
	grep "^{\"kind\":\"$1\"" out.ndjson | grep -F "\"name\":\"$2\"" | sed 's/.*"args":{//; s/}}$//; s/"[a-z.]*arg[0-9]*"://g; s/,/ /g'
}

arguments usdt_point truth:sizes | cut -d' ' -f1-7 >seen
grep '^sizes ' counts | cut -d' ' -f2-8 >expected
cmp -s seen expected || fail "sizes:" "$(diff seen expected | head -n 5)"
arguments usdt_point truth:memory >seen
grep '^memory ' counts | cut -d' ' -f2- >expected
cmp -s seen expected || fail "memory:" "$(diff seen expected | head -n 5)"
equal "$(arguments usdt_point truth:text | grep -cF 'round \"')" 30 "texts"
equal "$(recorded usdt_point truth:many)" 30 "probes with twelve arguments"
equal "$(recorded usdt_point truth:more)" 30 "probes at two places"
equal "$(recorded usdt_point truth:guarded)" 30 "probes behind a semaphore"
equal "$(recorded usdt_span truth:outer '"ended":"ended"')" 60 "spans"
equal "$(recorded usdt_span truth:inner '"ended":"ended"')" 180 "spans inside them"
equal "$(recorded usdt_span truth:lost)" 30 "spans of which every second one does not end"
equal "$(recorded usdt_span truth:lost '"ended":"ended"')" 15 "those that end"
for reason in ring_full missed no_storage usdt_end_unmatched usdt_too_deep usdt_args_cut write_failed; do
	if grep -q "^$reason," ledger.csv; then
		fail "lost: $(grep "^$reason," ledger.csv)"
	fi
done
