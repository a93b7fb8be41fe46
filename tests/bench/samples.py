# SPDX-License-Identifier: GPL-2.0-or-later
"""Section samples of tests/bench/run: what samples take from a thread that runs, by the kernel's own account of the program's run time and the
interrupts as they were priced when the recording began."""
import json
import subprocess

import stacks

SECONDS = 3
# Deep stacks of code without frame pointers: a loop in an interpreter.
TARGET = ["python3", "-c", "while True: sorted(range(1000), key=lambda x: -x)"]
RATES = (99, 999)


def program_of_samples():
	"""Run time and runs of the program that takes samples."""
	programs = json.loads(subprocess.run(["bpftool", "prog", "show", "--json"], capture_output=True, text=True, check=True).stdout)
	return next((program["run_time_ns"], program["run_cnt"]) for program in programs if program.get("name") == "cpu_sampled")


def measure_rate(bench, pid, rate):
	"""(ns a sample of the program, ns of an interrupt, samples, frames a sample)"""
	output = bench.BUILD / "samples.ndjson"
	with subprocess.Popen([bench.GPUPROBE, "-p", str(pid), "-d", str(SECONDS), "--no-blocking", "--alloc", "off", "--cpu-hz", str(rate), "-o", output],
			      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recording:
		while not recording.stderr.readline().startswith("recording "):
			pass
		bench.time.sleep(SECONDS - 0.5)
		run_ns, runs = program_of_samples()
		recording.communicate()
	tick_ns = depth = samples = 0
	with open(output, encoding="utf-8") as records:
		for line in records:
			record = json.loads(line)
			if record["kind"] == "sample":
				samples += 1
				depth += len(record.get("stack", []))
			elif record.get("name") == "interrupt for a sample (ns)":
				tick_ns = float(record["value"])
	return run_ns / runs, tick_ns, samples, depth / samples


def measure(bench):
	before = stacks.SWITCH.read_text()
	stacks.SWITCH.write_text("1")
	rows = []
	try:
		with subprocess.Popen(TARGET) as target:
			try:
				bench.time.sleep(0.5)
				for rate in RATES:
					runs = [measure_rate(bench, target.pid, rate) for _ in range(bench.ROUNDS)]
					run_ns, tick_ns, samples, depth = (bench.median([run[place] for run in runs]) for place in range(4))
					rows.append([rate, samples, f"{depth:.0f}", f"{run_ns:,.0f}", f"{tick_ns:,.0f}", f"{rate * (run_ns + tick_ns) / 1e7:.2f}"])
			finally:
				target.kill()
	finally:
		stacks.SWITCH.write_text(before)
	bench.say(f"Samples of a Python program that computes, {SECONDS} s, median of {bench.ROUNDS}")
	bench.say()
	bench.table(["a second", "samples", "frames", "the program, ns", "an interrupt, ns", "both, % of a CPU"], rows)
