# SPDX-License-Identifier: GPL-2.0-or-later
# return_page [OPTION]...: stacks of a program that is mostly on its way to or from a probed function, in the kernel's page for probes.
mkfifo truth.out
/test/returns_often >truth.out &
TARGET=$!
exec 4<truth.out
read -r line <&4
[ "$line" = ready ] || fail "the target said '$line'"
start_recording -F returned_from --no-blocking --alloc off --cpu-hz 999 -o out.ndjson "$@"
sleep 4
page=$(grep -F '[uprobes]' /proc/$TARGET/maps | sed 's/^0*\([0-9a-f]*\)000-.*/\1/')
stop_recording
kill -KILL $TARGET
[ -n "$page" ] || fail "the kernel has mapped no page"

samples=$(grep -c '^{"kind":"sample"' out.ndjson)
in_page=$(grep '^{"kind":"sample"' out.ndjson | grep -c "\"0x0*$page...\"")
whole=$(grep '^{"kind":"sample"' out.ndjson | grep -v '"stack_guessed"' | grep -c '"stack_end":"complete"')
returning=$(grep '"name":"__do_sys_uretprobe"\|"name":"__x64_sys_uretprobe"' out.ndjson | grep -c '^{"kind":"frame"')
[ "$samples" -ge 100 ] || fail "$samples samples"
[ "$in_page" = 0 ] || fail "$in_page of $samples samples have a frame in the page"
[ "$whole" -ge $((samples * 9 / 10)) ] || fail "$whole of $samples samples are whole"
echo "# $samples samples, $whole whole, $returning addresses in the system call of the page"
