# SPDX-License-Identifier: GPL-2.0-or-later
"""Section samples-perf of tests/bench/run: what samples of a redis under load cost it, beside those of perf, and whether both find the same functions."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

REQUESTS = 30000
RATES = (99, 999)
SECONDS = 5
TOP = 5
POINTS = 3
# Five functions, without frame pointers.
PROGRAM = """
#include <stdint.h>
#define WORK(name, turns) __attribute__((noinline)) static void name(void) { for (volatile uint64_t i = 0; i < turns; i++); }
WORK(ten, 1000000) WORK(fifteen, 1500000) WORK(twenty, 2000000) WORK(twenty_five, 2500000) WORK(thirty, 3000000)
int main(void) { for (;;) { ten(); fifteen(); twenty(); twenty_five(); thirty(); } }
"""


def gpuprobe_command(bench, pid, rate, output, *options):
	return [bench.GPUPROBE, "-p", str(pid), "--no-blocking", "--alloc", "off", "--cpu-hz", str(rate), "-o", output, *options]


def perf_command(pid, rate, output, *options):
	"""pid None: of all CPUs."""
	return ["perf", "record", "-e", "cpu-clock", "-F", str(rate), *(["-p", str(pid)] if pid else ["-a"]), "-o", output, *options]


class Recorder:
	"""gpuprobe or perf, beside what is measured; what it took itself."""

	def __init__(self, bench, command):
		self.bench, self.command = bench, [str(word) for word in command]
		self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
		if self.command[0] == "perf":
			bench.time.sleep(1)
		else:
			while not self.process.stderr.readline().startswith("recording "):
				pass
		self.begun = bench.time.monotonic()
		self.begun_cpu = self.cpu_seconds()

	def cpu_seconds(self):
		return sum(int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")) / 1e9

	def end(self):
		"""Percent of a CPU that it took, start and end left out."""
		percent = 100 * (self.cpu_seconds() - self.begun_cpu) / (self.bench.time.monotonic() - self.begun)
		self.process.send_signal(signal.SIGINT)
		self.process.communicate()
		return percent


def us_per_request(server):
	before = server.cpu_ns()
	subprocess.run(["redis-benchmark", "-p", server.port, "-t", "set", "-n", str(REQUESTS), "-c", "20", "-q"], check=True,
		       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	return (server.cpu_ns() - before) / 1000 / REQUESTS


def measure_cost(bench):
	server = bench.Redis("samples")
	pid, folder = server.process.pid, bench.BUILD
	cases = {"nothing attached": None}
	for rate in RATES:
		cases[f"gpuprobe, {rate} a second, stacks by unwind tables"] = gpuprobe_command(bench, pid, rate, folder / "samples.gpr")
		cases[f"perf, {rate} a second, stacks by frame pointers (-g)"] = perf_command(pid, rate, folder / "perf.data", "-g")
		cases[f"perf, {rate} a second, 8 KB of stack (--call-graph dwarf)"] = perf_command(pid, rate, folder / "perf.data", "--call-graph", "dwarf")
	found = {name: [] for name in cases}
	try:
		us_per_request(server)
		for _ in range(bench.ROUNDS):
			for name, command in cases.items():
				recorder = Recorder(bench, command) if command else None
				spent_us = us_per_request(server)
				found[name].append((spent_us, recorder.end() if recorder else 0))
	finally:
		server.end()
	medians = {name: tuple(bench.median([one[place] for one in values]) for place in range(2)) for name, values in found.items()}
	bare = medians["nothing attached"][0]
	bench.say(f"redis-server under redis-benchmark -t set -c 20, {REQUESTS:,} requests a turn, median of {bench.ROUNDS} turns")
	bench.say()
	bench.table(["", "CPU time of the server a request, us", "of bare", "the recorder itself, % of a CPU"],
		    [[name, f"{spent_us:.2f}", f"{spent_us / bare:.1%}", f"{percent:.1f}"] for name, (spent_us, percent) in medians.items()])


def file_or_name(name, file):
	"""What has no name is in a file."""
	return name if name and "[unknown]" not in name and "+0x" not in name else f"in {os.path.basename(file)}"


def shares_of(counts):
	everything = sum(counts.values())
	return {name: 100 * count / everything for name, count in counts.items()}


def shares_by_gpuprobe(bench, capture):
	counts = collections.Counter()
	text = subprocess.run([bench.GPUPROBE, "stats", "-q", capture, "-r", "cpu", "-f", "json", "--rows", "0"], check=True, capture_output=True, text=True).stdout
	for row in json.loads(text):
		name = row["Name"]
		counts[file_or_name(name, name.partition("+0x")[0])] += row["Self (ns)"]
	return shares_of(counts)


def shares_by_perf(data, pid):
	counts = collections.Counter()
	text = subprocess.run(["perf", "script", "-i", data, "-F", "pid,ip,sym,dso"], check=True, capture_output=True, text=True).stdout
	for line in text.splitlines():
		match = re.fullmatch(r"\s*(\d+)\s+[0-9a-f]+ (.*) \((.*)\)", line)
		if match and int(match[1]) == pid:
			counts[file_or_name(match[2], match[3])] += 1
	return shares_of(counts)


def compare(bench, what, pid):
	"""All look at once, in the same seconds."""
	capture, of_thread, of_cpus = (bench.BUILD / name for name in ("top.gpr", "thread.data", "cpus.data"))
	recorders = [Recorder(bench, perf_command(pid, 999, of_thread)), Recorder(bench, perf_command(None, 999, of_cpus)),
		     Recorder(bench, gpuprobe_command(bench, pid, 999, capture))]
	bench.time.sleep(SECONDS)
	for recorder in reversed(recorders):
		recorder.end()
	ours, by_thread, by_cpus = shares_by_gpuprobe(bench, capture), shares_by_perf(of_thread, pid), shares_by_perf(of_cpus, pid)
	top = sorted(by_cpus, key=by_cpus.get, reverse=True)[:TOP]
	apart = [max(abs(ours.get(name, 0) - theirs.get(name, 0)) for name in top) for theirs in (by_thread, by_cpus)]
	bench.say(f"{what}: perf -p (clocks of threads), perf -a (clocks of CPUs, as gpuprobe's) and gpuprobe, 999 times a second at once for {SECONDS} s. Self time of the "
		  f"first {TOP} functions of perf -a; gpuprobe is {apart[0]:.1f} points from perf -p at most, {apart[1]:.1f} from perf -a (goal: {POINTS})")
	bench.say()
	bench.table(["function", "perf -p, %", "perf -a, %", "gpuprobe, %"],
		    [[f"`{name}`", *(f"{shares.get(name, 0):.1f}" for shares in (by_thread, by_cpus, ours))] for name in top])


def measure_top(bench):
	program = bench.BUILD / "five_functions"
	subprocess.run(["gcc", "-O1", "-fomit-frame-pointer", "-x", "c", "-", "-o", program], input=PROGRAM, text=True, check=True)
	with subprocess.Popen([program]) as target:
		try:
			compare(bench, "A program of five functions", target.pid)
		finally:
			target.kill()
	server = bench.Redis("top")
	load = subprocess.Popen(["redis-benchmark", "-p", server.port, "-t", "set", "-n", "100000000", "-c", "20", "-q"],
				stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	try:
		bench.time.sleep(1)
		compare(bench, "redis-server under redis-benchmark -t set -c 20", server.process.pid)
	finally:
		load.kill()
		load.wait()
		server.end()


def measure(bench):
	if not shutil.which("perf") or not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
		return bench.note("samples-perf: skipped, perf or redis is not installed")
	measure_top(bench)
	measure_cost(bench)
