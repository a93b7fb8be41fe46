# SPDX-License-Identifier: GPL-2.0-or-later
# open_frames MODE: threads that are inside calls when the recording ends, with their return addresses overwritten;
# exceptions pass through these frames afterwards.
start_program open_frames waits 2 events 2 runs 1 deep 1 jumps 1 forks 1
start_recording -F 'open_frames:*' -F '!open_frames:main' -F '!open_frames:*thread_main*' -F '!open_frames:add*' \
	--returns "$1" -o out.ndjson
run_truth
equal "$(count_of inside)" 8 "threads inside calls"
stop_recording
says '"return addresses put back at the end"' out.ndjson
! grep -q return_left ledger.csv || fail "frames were left as they were"
run_truth
equal "$(count_of caught)" 8 "exceptions caught"
equal "$(count_of interrupted)" 0 "waits that were interrupted"
end_truth
