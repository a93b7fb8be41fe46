# SPDX-License-Identifier: GPL-2.0-or-later
# When and why threads are off their CPU, and who wakes them, against what the threads know of it.
start_program waits
start_recording -o out.ndjson
run_truth
stop_recording
end_truth

rounds=$(count_of rounds)
for name in read futex; do
	thread="\"tid\":$(count_of $name.tid),"
	seen=$(grep '^{"kind":"off_cpu"' out.ndjson | grep -F "$thread" | grep -F "\"name\":\"$name\"" |
		grep -F "\"waker_tid\":$TARGET," | grep -F '"reason":"sleeping","woken_by":"thread"' | grep -c '"dur"')
	equal "$seen" "$rounds" "waits in $name, woken by the main thread"
done
for name in clock_nanosleep poll epoll_wait; do
	waker=timer
	[ $name != epoll_wait ] || waker=interrupt # by a timer of the program's, which is none of the wait
	thread="\"tid\":$(count_of $name.tid),"
	woken=$(grep '^{"kind":"off_cpu"' out.ndjson | grep -F "$thread" | grep -F "\"name\":\"$name\"" |
		grep -o '"woken_by":"[a-z]*"' | sort -u)
	equal "$woken" "\"woken_by\":\"$waker\"" "what wakes $name"
done
equal "$(grep -F "\"tid\":$(count_of always.tid)," out.ndjson | grep -F '"name":"pause"' | grep -c '"before":"yes"')" 1 "the wait that lasts all the time"
