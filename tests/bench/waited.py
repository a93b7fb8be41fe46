# SPDX-License-Identifier: GPL-2.0-or-later
"""Section waited of tests/bench/run: what it takes of a wait to find out what is waited for. The kernel's own times of the BPF programs
(kernel.bpf_stats_enabled), in one recording, kinds of waits in turn, that differ in nothing else."""
import contextlib
import pathlib

STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
WAITS, ROUNDS = 1000, 5
KINDS = {"sleep": "nothing: clock_nanosleep", "pipe": "a pipe: ppoll", "tcp": "a TCP socket: ppoll", "unix": "a UNIX socket: ppoll", "three": "a pipe and two UNIX sockets: ppoll"}


def run_ns(pid):
	"""Of all its BPF programs, so far."""
	sum_ns = 0
	for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
		with contextlib.suppress(OSError):
			sum_ns += sum(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith("run_time_ns:"))
	return sum_ns


def measure(bench):
	before = STATS.read_text()
	STATS.write_text("1\n")
	costs = {kind: [] for kind in KINDS}
	target = bench.Talker(bench.BUILD / "timed_waits")
	try:
		target.hear()
		recording = bench.Gpuprobe(target.pid, None, bench.BUILD / "waited.gpr", "--alloc", "off", "--cpu-hz", "0", "--blocking-min-us", "10", "--max-overhead", "0")
		for number in range(ROUNDS):
			for kind, values in costs.items():
				started_ns = run_ns(recording.process.pid)
				target.ask(f"{kind} {WAITS}")
				values.append((run_ns(recording.process.pid) - started_ns) / WAITS)
			bench.note(f"waited: round {number + 1}: " + ", ".join(f"{kind} {values[-1]:.0f} ns" for kind, values in costs.items()))
		recording.stop()
	finally:
		STATS.write_text(before)
		target.end()
	of_none = bench.median(costs["sleep"])
	bench.say(f"{WAITS:,} waits of 60 us of each kind in turn, {ROUNDS} times in one recording; time of all BPF programs of the recording, others' switches too, a wait")
	bench.say()
	bench.table(["waited for", "a wait, ns", "more than for nothing, ns", "of that of nothing"],
		    [[KINDS[kind], f"{bench.median(values):,.0f}", f"{bench.median(values) - of_none:+,.0f}", f"{bench.median(values) / of_none:.2f}"] for kind, values in costs.items()])
