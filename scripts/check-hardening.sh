#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fails when gpuprobe was built without what makes a flaw in it harder to use: one line a thing that is missing.
#	scripts/check-hardening.sh PROGRAM [ARCHIVE]	ARCHIVE: our own objects, build/libgpuprobe.a. The program alone does not
#							tell of these two: what is linked statically has them on its own.
set -eu -o pipefail
export LC_ALL=C
program=$1 archive=${2:-}
failed=0

missing() {
	echo "$program: $*" >&2
	failed=1
}

headers=$(readelf -hlW "$program")
dynamic=$(readelf -dW "$program")
symbols=$(readelf --dyn-syms -W "$program" | awk '{ sub(/@.*/, "", $8); print $8 }')

grep -q 'Type: *DYN' <<<"$headers" && grep -q 'FLAGS_1.*PIE' <<<"$dynamic" || missing "no position-independent executable (-pie)"
grep -q ' GNU_RELRO ' <<<"$headers" || missing "no RELRO (-z relro)"
grep -qE '\(FLAGS_1\).* NOW' <<<"$dynamic" || missing "symbols are bound late (-z now)"
grep -qE ' GNU_STACK .* RW +0x' <<<"$headers" || missing "its stack can be executed (-z noexecstack)"
! grep -qE ' LOAD .* RWE +0x' <<<"$headers" || missing "a segment can be written and executed"
! grep -qE '\((RPATH|RUNPATH|TEXTREL)\)' <<<"$dynamic" || missing "has RPATH, RUNPATH or TEXTREL"
grep -qx '__stack_chk_fail' <<<"$symbols" || missing "no stack protector (-fstack-protector-strong)"
grep -qE '^__[a-z]+_chk$' <<<"$symbols" || missing "nothing is fortified (-D_FORTIFY_SOURCE=2)"

if [ -n "$archive" ]; then
	calls=$(nm -u "$archive" 2>/dev/null | awk '/ U / { print $2 }' | sort | uniq -c)
	grep -q ' __stack_chk_fail$' <<<"$calls" || missing "our own objects have no stack protector"
	# A fortified source has none of these calls left (but snprintf, where the compiler proves that there is room).
	while read -r count name; do
		missing "our own objects call $name $count times, not its fortified twin"
	done < <(grep -E ' (printf|fprintf|vfprintf|asprintf|vasprintf)$' <<<"$calls")
fi
[ $failed = 0 ]
