# SPDX-License-Identifier: GPL-2.0-or-later
"""What a loop that does nothing but launch pays for a recording, without CUPTI (--no-inject) and with it, on the simulated CUDA: steps
and CPU time of the thread that launches, bare and recorded in turns. The recording is as long as the loop runs, so that what it takes until
hot functions are left out is in the figures: the median of a step, and what single steps took beyond that."""
import csv
import io
import itertools
import os
import re
import signal
import subprocess
import tempfile

SECONDS = 5
LAUNCHES = 128  # of a step
WAYS = (("driver", 3000), ("runtime", 3000), ("runtime", 42000))  # and the rounds of work before each launch
# What a level records besides has prices of its own: the loop and the simulated GPU wait for each other's lock.
ALONE = ("--no-blocking", "--cpu-hz", "0", "--alloc", "off")
KINDS = (("calls of CUDA alone", ALONE), ("all that the levels record", ()))
AGENT_WAYS = ("driver", "runtime")
AGENT_KINDS = (("GPU work (`device_tracer_level` 1)", "--host-tracer-level=0"), ("and API calls (`host_tracer_level` 2)", "--host-tracer-level=2"))


def run(talker, way, rounds):
	"""(median of the CPU time of a step in ns, what single steps took beyond it as a share of all CPU time, steps)"""
	steps, median_ns, excess_ns, all_ns = map(int, talker.ask(f"{way} {SECONDS} {rounds}").split())
	return median_ns, excess_ns / all_ns, steps


def recorded(bench, talker, way, rounds, output, arguments):
	command = [str(bench.GPUPROBE), "-p", str(talker.pid), "-d", "600", "-o", output, *arguments]
	process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
	words = ""
	while "\nrecording " not in "\n" + words:
		line = process.stderr.readline()
		if not line:
			raise SystemExit(f"tests/bench/run: no recording:\n{words}")
		words += line
	rates = run(talker, way, rounds)
	process.send_signal(signal.SIGINT)
	words += process.communicate()[1]
	return rates, words


def launches_in(bench, capture):
	"""How many calls of cuLaunchKernel it has."""
	said = subprocess.run([str(bench.GPUPROBE), "stats", capture, "-r", "functions", "-f", "csv", "--rows", "0"], capture_output=True, text=True).stdout
	rows = list(csv.DictReader(io.StringIO(said)))
	return sum(int(row["Num Calls"]) for row in rows if row["Name"] == "cuLaunchKernel")


def simulated(bench):
	"""The folder of the simulated CUDA; None: there is none."""
	sim = bench.ROOT / "build" / "sim"
	if (sim / "libcuda.so.1").exists():
		return sim
	bench.note("gpu-fallback, gpu-agent: no build/sim (make sim says why)")
	return None


def launcher(bench):
	talker = bench.Talker(bench.ROOT / "build" / "bench" / "gpu_launches")
	if talker.hear() != "ready":
		raise SystemExit("tests/bench/run: gpu_launches does not start")
	return talker


def measure_agent(bench):
	"""What a launch takes more where CUPTI records it: CUPTI's record and the agent's."""
	sim = simulated(bench)
	if not sim:
		return
	os.environ["LD_LIBRARY_PATH"] = str(sim)
	rounds = WAYS[0][1]
	rows = []
	for way, (kind, level) in itertools.product(AGENT_WAYS, AGENT_KINDS):
		bare, more = [], []
		talker = launcher(bench)
		with tempfile.TemporaryDirectory() as folder:
			arguments = (*ALONE, level, "--cupti", str(sim / "cupti-13.0" / "libcupti.so.13"))
			for _ in range(bench.ROUNDS):
				alone = run(talker, way, rounds)[0]
				loaded = recorded(bench, talker, way, rounds, os.path.join(folder, "x.gpr"), arguments)[0][0]
				bare.append(alone / LAUNCHES)
				more.append((loaded - alone) / LAUNCHES)
				bench.note(f"gpu-agent: {way}, {kind}: {bare[-1]:.0f} ns + {more[-1]:.0f} ns")
		talker.end()
		rows.append([way, kind, f"{bench.median(bare):.0f} ns", f"{bench.median(more):.0f} ns"])
	del os.environ["LD_LIBRARY_PATH"]
	bench.say(f"A loop of launches on the simulated CUDA, recorded by its CUPTI and the agent for {SECONDS} s, CPU time of the thread that launches, medians of {bench.ROUNDS} in turns")
	bench.say()
	bench.table(["by", "what is recorded", "a launch, bare", "a launch takes more"], rows)


def measure(bench):
	sim = simulated(bench)
	if not sim:
		return
	os.environ["LD_LIBRARY_PATH"] = str(sim)
	rows = []
	for (way, rounds), (kind, arguments) in itertools.product(WAYS, KINDS):
		talker = launcher(bench)
		bare, steady, moments, said, shares = [], [], [], [], []
		with tempfile.TemporaryDirectory() as folder:
			for _ in range(bench.ROUNDS):
				alone = run(talker, way, rounds)
				loaded, words = recorded(bench, talker, way, rounds, os.path.join(folder, "x.gpr"), ("--no-inject", *arguments))
				shares.append(launches_in(bench, os.path.join(folder, "x.gpr")) / (loaded[2] * LAUNCHES))
				bare.append(alone[0])
				steady.append(loaded[0] / alone[0] - 1)
				moments.append(loaded[1] - alone[1])
				said += re.findall(r"about ([0-9.]+) % of the target's CPU time", words)
				bench.note(f"gpu-fallback: {way}, {kind}: {steady[-1]:.3f} + {moments[-1]:.3f}, steps {alone[2]} {loaded[2]}, said {said[-1:]}, of launches {shares[-1]:.3f}")
		talker.end()
		rows.append([way, kind, f"{bench.median(bare) / 1e3 / LAUNCHES:.2f} us", f"{100 * bench.median(steady):.1f} %",
			     f"{100 * bench.median(moments):.1f} %", f"{100 * bench.median(shares):.0f} %", f"{bench.median([float(percent) for percent in said]):.1f} %"])
	del os.environ["LD_LIBRARY_PATH"]
	bench.say(f"A loop of launches on the simulated CUDA, recorded without CUPTI for {SECONDS} s, medians of {bench.ROUNDS} in turns")
	bench.say()
	bench.table(["by", "what is recorded", "a launch, bare", "a step takes more", "single steps in all", "launches recorded", "by its own estimate"], rows)
