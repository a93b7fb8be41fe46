# SPDX-License-Identifier: GPL-2.0-or-later
"""Section why of tests/bench/run: what `stats -r gpu_why` and `explain` cost beside one run over the view, of a capture in which each gap of
the GPU has a wait with a stack and its waker, a sample and a launch. WHY_GAPS=20000 WHY_ROUNDS=1 tests/bench/run why: a short one."""
import json
import os
import pathlib
import shutil
import statistics
import tempfile

import gpu_export

GAPS = int(os.environ.get("WHY_GAPS", 100000))
ROUNDS = int(os.environ.get("WHY_ROUNDS", 5))
MORE = 10  # times as many gaps, for the memory
STEP_NS = 40000
THREADS = (4242, 4243)
STACKS = 200
COMMANDS = {"ledger": ("stats", "-r", "ledger"), "gpu_busy_sum": ("stats", "-r", "gpu_busy_sum"), "gpu_why": ("stats", "-r", "gpu_why"),
	    "explain": ("explain",)}


def stack_of(number):
	"""Of 12 frames, the last ones like other stacks' own."""
	return [f"{0x8000000000001000 + 16 * (number % STACKS):#x}"] + [f"{0x8000000000000100 + 16 * depth:#x}" for depth in range(11)]


def write_names(file):
	for number, address in enumerate(sorted({address for i in range(STACKS) for address in stack_of(i)})):
		file.write(json.dumps({"kind": "frame", "source": 1, "ts": gpu_export.START_NS, "pid": 4242, "name": f"function{number}", "address": address,
				       "file": f"/srv/code{number % 7}.py", "line": number, "function_line": number, "level": 0, "origin": "python"}) + "\n")


def write_step(file, number):
	"""The thread waits for another one, which is sampled; then it launches a kernel that is shorter than the step."""
	ts = gpu_export.START_NS + 1000 + number * STEP_NS
	common = {"source": 2, "pid": 4242, "stack": stack_of(number), "stack_end": "complete"}
	file.write(json.dumps({"kind": "off_cpu", "ts": ts, "dur": 20000, "tid": THREADS[0], "name": "futex", "runnable_ns": 3000, "waker_pid": 4242,
			       "waker_tid": THREADS[1], "reason": "sleeping", "woken_by": "thread", **common}) + "\n")
	file.write(json.dumps({"kind": "sample", "ts": ts + 9000, "tid": THREADS[1], "period_ns": 10000, "cpu": 0, **common}) + "\n")
	gpu_export.write_launch(file, ts + 25000, number)


def capture_of(bench, folder, gaps):
	text, path = folder / "why.ndjson", folder / f"why-{gaps}.gpr"
	with text.open("w") as file:
		gpu_export.write_facts(bench, file, gaps * STEP_NS)
		write_names(file)
		for number in range(gaps):
			write_step(file, number)
	bench.run_measured(bench.GPUPROBE, "export", text, "-o", path)
	text.unlink()
	return path


def measure_commands(bench, folder, gaps):
	capture = capture_of(bench, folder, gaps)
	runs = {name: [] for name in COMMANDS}
	for number in range(ROUNDS):
		for name, command in COMMANDS.items():
			runs[name].append(bench.run_measured(bench.GPUPROBE, *command, capture))
			bench.note(f"why: round {number + 1}, {gaps} gaps, {name}: {runs[name][-1]}")
	capture.unlink()
	return {name: [statistics.median(column) for column in zip(*rows)] for name, rows in runs.items()}


def measure(bench):
	bench.BUILD.mkdir(parents=True, exist_ok=True)
	folder = pathlib.Path(tempfile.mkdtemp(dir=bench.BUILD))
	try:
		few, many = (measure_commands(bench, folder, gaps) for gaps in (GAPS, GAPS * MORE))
	finally:
		shutil.rmtree(folder)
	bench.say(f"A capture of {GAPS:,} gaps, each with a wait, a sample, a launch and a kernel, and of {MORE} times as many; {ROUNDS} rounds in turns, medians")
	bench.say()
	bench.table(["command", "time", "CPU time", "peak memory", f"CPU time, {MORE} times the gaps", "peak memory"],
		    [[name, f"{few[name][0]:.2f} s", f"{few[name][1]:.2f} s", f"{few[name][2]:.0f} MB", f"{many[name][1]:.2f} s", f"{many[name][2]:.0f} MB"]
		     for name in COMMANDS])
	bench.say()
	bench.table(["ratio", "measured", "at most"],
		    [[f"CPU time, {name} / gpu_busy_sum (one run over the view)", f"{many[name][1] / many['gpu_busy_sum'][1]:.2f}", most]
		     for name, most in (("gpu_why", "2"), ("explain", "2"))] +
		    [[f"memory, gpu_why / gpu_busy_sum, {MORE} times the gaps", f"{many['gpu_why'][2] / many['gpu_busy_sum'][2]:.2f}", "1"]])
