# SPDX-License-Identifier: GPL-2.0-or-later
# patches before|window: a program that writes a jump over the entry of a function, before it is recorded, or while it is (a thread waits
# then until the probes are out, where the kernel lets it). What it wrote holds.
right() {
	run_truth
	equal "$(count_of wrong)" 0 "wrong results $1"
}

# rows_of REASON: of the ledger.
rows_of() {
	grep -c "^$1," ledger.csv
}

if [ "$1" = before ]; then
	start_program patches_in_window later
	right "before anything is changed"
	right "when f0 is changed"
	start_recording -F plain -F 'f?' -o out.ndjson
	right "in the window, when its mapping is split and merged"
	stop_recording
	equal "$(rows_of code_changed)" 1 "rows code_changed in the ledger"
else
	start_program patches_in_window page
	start_recording -F plain -F 'f?' -o out.ndjson
	for changed in 0 1 2 3; do
		right "in the window, when $changed functions are changed"
	done
	stop_recording
	equal "$(rows_of code_written)" 3 "rows code_written in the ledger"
fi
right "after the recording"
end_truth
