# SPDX-License-Identifier: GPL-2.0-or-later
# overhead CASE...: calls that are only counted inside the kernel, all of them, and what that cost by estimate.
start_truth "$@"
start_recording --no-blocking --cpu-hz 0 --alloc off -F '*' --count -o out.ndjson
run_truth
stop_recording
end_truth

while read -r name calls; do
	equal "$(recorded function_total "$name" "\"calls\":$calls,")" 1 "counts of $name that say $calls calls"
done <counts
equal "$(grep -c '^{"kind":"call"' out.ndjson)" 0 "calls recorded one by one"
equal "$(grep -c '^{"kind":"entry"' out.ndjson)" 0 "entries recorded one by one"

/test/gpuprobe stats out.gpr -r overhead -f csv --rows 0 >overhead.csv 2>>gpuprobe.err || fail "stats -r overhead failed"
while read -r name calls; do
	row=$(grep -E ",\"?$name\"?\$" overhead.csv) || fail "no price of $name" "$(cat overhead.csv)"
	equal "$(echo "$row" | cut -d, -f3)" "$calls" "hits of $name that have a price"
	[ "$(echo "$row" | cut -d, -f2)" -gt 0 ] || fail "the price of $name is nothing"
done <counts
