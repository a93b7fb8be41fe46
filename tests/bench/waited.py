# SPDX-License-Identifier: GPL-2.0-or-later
"""Section waited of tests/bench/run: what it takes of a wait to find out what is waited for. The kernel's own times of the BPF programs
(kernel.bpf_stats_enabled), in one recording, kinds of waits in turn, that differ in nothing else. The programs run at every switch of the machine, those
of others too: so the turns are short and many, and the tenth of them that was disturbed least is compared."""
import contextlib
import pathlib
import statistics

STATS = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
WAITS, ROUNDS = 50, 300
NONE = "none"
KINDS = {NONE: "nothing", "pipe": "a pipe", "tcp": "a TCP socket", "unix": "a UNIX socket", "three": "a pipe and two UNIX sockets"}


def programs_of(pid):
	"""Where the kernel tells of its BPF programs."""
	paths = []
	for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
		with contextlib.suppress(FileNotFoundError):  # It may close others meanwhile.
			if "run_time_ns:" in path.read_text():
				paths.append(path)
	return paths


def run_ns(paths):
	"""Of all of them, so far."""
	return sum(int(line.split()[1]) for path in paths for line in path.read_text().splitlines() if line.startswith("run_time_ns:"))


def measure(bench):
	before = STATS.read_text()
	STATS.write_text("1\n")
	costs = {kind: [] for kind in KINDS}
	target = bench.Talker(bench.BUILD / "timed_waits")
	try:
		target.hear()
		recording = bench.Gpuprobe(target.pid, None, bench.BUILD / "waited.gpr", "--alloc", "off", "--cpu-hz", "0", "--blocking-min-us", "10", "--max-overhead", "0")
		paths = programs_of(recording.process.pid)
		for number in range(ROUNDS):
			# Not always the same one behind the same one.
			for kind in [*KINDS][number % len(KINDS):] + [*KINDS][:number % len(KINDS)]:
				started_ns = run_ns(paths)
				target.ask(f"{kind} {WAITS}")
				costs[kind].append((run_ns(paths) - started_ns) / WAITS)
		recording.stop()
	finally:
		STATS.write_text(before)
		target.end()
	lowest = {kind: statistics.quantiles(values, n=10)[0] for kind, values in costs.items()}
	bench.say(f"{WAITS} waits of 60 us in ppoll of each kind in turn, {ROUNDS} rounds in one recording; time of all BPF programs of the recording, others' switches too, a wait; "
		  "the lowest tenth and the median of the rounds")
	bench.say()
	bench.table(["ppoll of", "a wait, ns", "more than for nothing, ns", "of that of nothing", "median, ns", "more than for nothing, ns"],
		    [[what, f"{lowest[kind]:,.0f}", f"{lowest[kind] - lowest[NONE]:+,.0f}", f"{lowest[kind] / lowest[NONE]:.2f}", f"{bench.median(costs[kind]):,.0f}",
		      f"{bench.median(costs[kind]) - bench.median(costs[NONE]):+,.0f}"] for kind, what in KINDS.items()])
