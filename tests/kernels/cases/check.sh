# SPDX-License-Identifier: GPL-2.0-or-later
# gpuprobe check: what this kernel can do and what follows from it, and nothing is touched.
start_truth nested
/test/gpuprobe check -p "$TARGET" -F leaf -F outer >check.out 2>gpuprobe.err || fail "exit status $?"
says "Linux $(uname -r): " check.out
case $MODE in
single)
	says 'single probes (0.1 s each to detach); returns: entries only, --returns stepped on request' check.out
	says 'leaf  (single probes (no uprobe_multi) take entries only)' check.out
	;;
stepped)
	says 'uprobe_multi; returns: stepped exits' check.out
	grep -q ' 1 stepped exits .* leaf$' check.out || fail "no exits of leaf:" "$(cat check.out)"
	;;
emulated)
	says 'uprobe_multi; returns: emulated exits, return addresses (uprobe sessions), stepped exits' check.out
	grep -q ' 1 emulated exits .* leaf$' check.out || fail "no exits of leaf:" "$(cat check.out)"
	;;
esac
run_truth
end_truth
