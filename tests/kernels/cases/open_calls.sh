# SPDX-License-Identifier: GPL-2.0-or-later
# A call that is open when the window closes, read by the task iterator.
start_truth sleep
start_recording -F '*' -o out.ndjson
run_truth
# It says so before it calls sleeper, which then waits for input.
until grep -q '^State:.S' "/proc/$TARGET/status"; do
	sleep 0.05
done
stop_recording
end_truth
equal "$(recorded call sleeper '"ended":"open"')" 1 "open calls of sleeper"
says 'still_open,' ledger.csv
