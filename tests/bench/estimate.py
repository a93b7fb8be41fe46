# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/bench/run estimate: what recording costs by gpuprobe's own estimate, and by the CPU time of the target."""
import shutil

ROUNDS = 7
COUNTS = {"calls": 300000, "heap": 150000, "waits": 40000}
NAMES = {"calls": "a loop that computes, a call of it", "heap": "the same with malloc and free, --alloc heap",
	 "waits": "the same in turns of two threads, waits"}
ONLY_CALLS = ("--no-blocking", "--cpu-hz", "0", "--alloc", "off")
ONLY_HEAP = ("--no-blocking", "--cpu-hz", "0", "--alloc", "heap")
OPTIONS = {"calls": ("-F", "work", *ONLY_CALLS), "heap": ONLY_HEAP, "waits": ("--alloc", "off")}


def estimated_ns(bench, capture):
	return sum(float(row["Cost (ns)"]) for row in bench.gpuprobe_table(capture, "overhead"))


def turns(bench, what, pid, options, measure, count):
	"""A row: CPU time of an operation without, what it cost more with gpuprobe, and what it cost by the estimate."""
	output, bare, recorded, estimates = bench.BUILD / "estimate.gpr", [], [], []
	measure()
	for number in range(ROUNDS):
		bare.append(measure())
		recording = bench.Gpuprobe(pid, None, output, *options)
		recorded.append(measure())
		recording.stop()
		estimates.append(estimated_ns(bench, output) / count)
		bench.note(f"estimate: {what}, round {number + 1}: {bare[-1]:,.0f} ns bare, {recorded[-1]:,.0f} recorded, "
			   f"{estimates[-1]:,.0f} by estimate")
	measured = bench.median([with_it - without for with_it, without in zip(recorded, bare)])
	estimate = bench.median(estimates)
	return [what, f"{bench.median(bare):,.0f}", f"{measured:,.0f}", f"{estimate:,.0f}", f"{estimate / measured:.2f}"]


def of_program(bench):
	program = bench.Talker(bench.BUILD / "compute")
	rows = [turns(bench, NAMES[command], program.pid, OPTIONS[command],
		      lambda: float(program.ask(f"{command} {count}")), count) for command, count in COUNTS.items()]
	program.end()
	return rows


def of_redis(bench):
	if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
		bench.note("estimate: without redis, which is not installed")
		return []
	server = bench.Redis("estimate")
	rows = [turns(bench, what, server.process.pid, options, lambda: server.cpu_us_per_request() * 1000, bench.REDIS_REQUESTS)
		for what, options in (("redis-server, a request, *Command", ("-F", "redis-server:*Command", *ONLY_CALLS)),
				      ("redis-server, a request, --alloc heap", ONLY_HEAP))]
	server.end()
	return rows


def measure(bench):
	rows = of_program(bench) + of_redis(bench)
	bench.say("What recording costs, CPU time of the target: measured (with and without gpuprobe, in turns), and as gpuprobe estimates it")
	bench.say()
	bench.table(["", "ns of CPU without", "more with gpuprobe", "by estimate", "estimate / measured"], rows)
