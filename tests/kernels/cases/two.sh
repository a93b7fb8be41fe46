# SPDX-License-Identifier: GPL-2.0-or-later
# two NAME [OPTION...]: two gpuprobes on the same functions at once, the second one with the options; both count all
# calls.
name=$1
shift
# A return that takes arguments off the stack too is not recognised behind a trampoline: counted, and its call unwound.
if [ "${2:-}" = trampoline ] && [ "$name" = instructions ]; then
	set -- "$@" -F '!ret_n*'
	EXCLUDED=ret_n
fi
start_program "$name"
mkdir first second
cd first || exit 1
start_recording -F "$name:*" -F "!$name:main"
FIRST=$RECORDER
cd ../second || exit 1
start_recording -F "$name:*" -F "!$name:main" "$@"
run_truth
cp counts ../first
stop_recording
check_counts
cd ../first || exit 1
EXCLUDED=
RECORDER=$FIRST
stop_recording
check_counts
check_results
end_truth
