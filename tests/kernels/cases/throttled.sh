# SPDX-License-Identifier: GPL-2.0-or-later
# throttled 1|2: a cgroup of this version has a fifth of a CPU; how often and for how long it keeps its process from running, against what it says itself.
mkdir -p /sys/fs/cgroup
case $1 in
1)
	mount -t tmpfs tmpfs /sys/fs/cgroup && mkdir /sys/fs/cgroup/cpu
	mount -t cgroup -o cpu cgroup /sys/fs/cgroup/cpu || { echo "no controller of CPUs of version 1" && exit 77; }
	group=/sys/fs/cgroup/cpu/fifth
	mkdir $group && echo 20000 >$group/cpu.cfs_quota_us || fail "no limit"
	;;
2)
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	grep -qw cpu /sys/fs/cgroup/cgroup.controllers || { echo "no controller of CPUs of version 2" && exit 77; }
	echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
	group=/sys/fs/cgroup/fifth
	mkdir $group && echo "20000 100000" >$group/cpu.max || fail "no limit"
	;;
esac
sh -c 'while :; do :; done' &
TARGET=$!
echo $TARGET >$group/cgroup.procs
start_recording -o out.ndjson --blocking-min-us 0
sleep 3
stop_recording
kill $TARGET
wait $TARGET 2>/dev/null
until rmdir $group 2>/dev/null; do sleep 0.1; done
[ "$1" = 1 ] || echo -cpu >/sys/fs/cgroup/cgroup.subtree_control
[ "$1" = 2 ] || umount /sys/fs/cgroup/cpu
umount /sys/fs/cgroup

# "times ns" of the group; the report's waits of the reason, and their time.
said=$(grep '^{"kind":"attribute"' out.ndjson | grep -F '"group":"throttled"' | grep -o '"value":"[0-9 ]*"' | tr -d '":a-z')
[ -n "$said" ] || fail "the cgroup's own count is not recorded"
/test/gpuprobe stats out.gpr -r ready -f csv >ready.csv 2>>gpuprobe.err || fail "gpuprobe stats -r ready failed"
grep -F 'throttled by its cgroup' ready.csv >throttled.csv || fail "no row of what is throttled" "$(cat ready.csv)"
times=${said%% *}
ns=${said#* }
# "waits ns" of those of the process. Where the emulated machine stood still the kernel counts the shares that it missed, too: it may have counted more.
seen=$(grep -F '"kind":"off_cpu"' out.ndjson | grep -F '"throttled":"yes"' | grep -o '"dur":[0-9]*' |
	awk -F: '{ waits++; sum += $2 } END { printf "%d %.0f", waits, sum }')
[ "${seen%% *}" -gt 0 ] && [ "${seen%% *}" -le $((times + 2)) ] || fail "throttled $seen (times, ns), the cgroup says $said"
# When its cgroup may run again others may have the CPU; at both ends of the window the process may be waiting.
[ $((${seen#* } / 7)) -gt $((ns / 10)) ] || fail "throttled $seen (times, ns), the cgroup says $said"
