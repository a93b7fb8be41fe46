# SPDX-License-Identifier: GPL-2.0-or-later
# Frames of Python: of a probe, of samples, of a thread that slept before.
[ -x /test/python3 ] || exit 77
cat >deep.py <<'END'
import os, _thread, time
def sleeps_before():
	time.sleep(1000)
space = {"os": os}
exec("def f0():\n for _ in range(100): os.getppid()\n" + "".join(f"def f{i}():\n a = {i}\n return f{i - 1}()\n" for i in range(1, 20)), space)
def busy(seconds):
	end = time.thread_time() + seconds
	while time.thread_time() < end: pass
_thread.start_new_thread(sleeps_before, ())
time.sleep(0.5)
print("ready", flush=True)
input()
space["f19"]()
busy(0.5)
print("done", flush=True)
END
cp deep.py /tmp/deep.py
start_program python3 -S -E -s -X frozen_modules=on /tmp/deep.py
start_recording -o out.ndjson -F libc.so.6:getppid --returns none --stacks functions
run_truth
stop_recording

# names: the frames of Python of a record, innermost first.
grep '"kind":"frame"' out.ndjson | grep '"origin":"python"' | sed 's/.*"name":"\([^"]*\)".*"address":"\([^"]*\)".*/\2 \1/' >frames
names() {
	grep -o '"0x800[0-9a-f]*"' | tr -d '"' | while read -r address; do
		awk -v address="$address" '$1 == address { print $2; exit }' frames
	done | tr '\n' ' '
}
expected="$(for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do echo "f$i"; done | tr '\n' ' ')<module> "
grep '^{"kind":"entry"' out.ndjson >hits
equal "$(grep -c . hits)" 100 "hits"
equal "$(grep -c '"stack_end":"complete"' hits)" 100 "whole stacks"
equal "$(head -n 1 hits | names)" "$expected" "frames of the first hit"
equal "$(tail -n 1 hits | names)" "$expected" "frames of the last hit"
equal "$(sed 's/.*"stack"://' hits | sort -u | grep -c .)" 1 "stacks"
grep '^{"kind":"sample"' out.ndjson | while read -r sample; do echo "$sample" | names; echo; done >samples
[ "$(grep -c '^busy <module>' samples)" -ge 10 ] || fail "samples: $(sort samples | uniq -c | head -n 5)"
grep '^{"kind":"off_cpu"' out.ndjson | while read -r wait; do echo "$wait" | names; echo; done >waits
grep -q '^sleeps_before $' waits || fail "who slept before: $(sort waits | uniq -c | head -n 5)"
for reason in python_refused python_unreadable walks_refused; do
	! grep -q "^$reason," ledger.csv || fail "$(grep "^$reason," ledger.csv)"
done
