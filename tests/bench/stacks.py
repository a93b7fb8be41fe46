# SPDX-License-Identifier: GPL-2.0-or-later
"""Section stacks of tests/bench/run: what a frame costs in the BPF programs, by the kernel's own account of their run time."""
import json
import pathlib
import re
import subprocess
import sys

SWITCH = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
DEPTHS = (3, 33, 93)
CALLS = 200000


def run_time_ns():
	"""Of all programs of allocators that are loaded."""
	programs = json.loads(subprocess.run(["bpftool", "prog", "show", "--json"], capture_output=True, text=True, check=True).stdout)
	return sum(program.get("run_time_ns", 0) for program in programs if program.get("name", "").startswith("heap_"))


def measure_depth(bench, frames):
	"""ns of all programs for a malloc() and its free()."""
	program = subprocess.Popen([bench.BUILD / "deep", str(frames), str(CALLS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	with subprocess.Popen([bench.GPUPROBE, "-p", str(program.pid), "-d", "600", "--alloc", "heap", "--no-blocking", "--cpu-hz", "0", "--max-overhead", "0",
			       "-o", bench.BUILD / "deep.gpr"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recording:
		while (line := recording.stderr.readline()) and not line.startswith("recording "):
			pass
		if not line:
			sys.exit(f"gpuprobe did not begin to record, exit status {recording.wait()}")
		program.stdin.write("go\n")
		program.stdin.flush()
		program.stdout.readline()
		spent_ns = run_time_ns()
		recording.terminate()
		recording.communicate()
	program.communicate("end\n")
	return spent_ns / CALLS


TORCH = pathlib.Path("/var/tmp/gpuprobe-tests-torch/bin/python")  # tests/integration/services.py makes it
SERVICE = pathlib.Path(__file__).parent.parent / "integration" / "programs" / "service_torch.py"
PHASE = re.compile(r"gpuprobe: +([0-9.]+) s \(CPU ([0-9.]+) s\): unwind tables read")


def seconds_to_tables(bench, pid, *options):
	"""From gpuprobe's start on: (as a clock has it, of its CPU time)."""
	result = subprocess.run([bench.GPUPROBE, "-v", "-p", str(pid), "-d", "0.1", "-o", bench.BUILD / "torch.gpr", *options], capture_output=True, text=True)
	return tuple(map(float, PHASE.search(result.stderr).groups()))


def measure_torch(bench):
	if not TORCH.exists():
		bench.say("PyTorch: not installed (tests/integration/test_walks_programs pytorch installs it)")
		return
	with subprocess.Popen([TORCH, SERVICE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as target:
		target.stdout.readline()
		seconds_to_tables(bench, target.pid)  # from here on the tables of the large files are kept
		turns = [(seconds_to_tables(bench, target.pid, "--no-code-cache"), seconds_to_tables(bench, target.pid)) for _ in range(bench.ROUNDS)]
		listed = subprocess.run([bench.GPUPROBE, "check", "-p", str(target.pid)], capture_output=True, text=True, check=True).stdout
		target.kill()
	files = re.findall(r" ([0-9]+) +([0-9.]+) +[0-9.]+ %  ", listed)
	bench.say("The unwind tables of a process with PyTorch on the CPU")
	bench.say()
	bench.table(["files", "rows", "MB", "tables", "ready after, s", "CPU time of gpuprobe until then, s"],
		    [[len(files), f"{sum(int(rows) for rows, _ in files):,}", f"{sum(float(size_kb) for _, size_kb in files) / 1000:.1f}", tables,
		      f"{bench.median([wall for wall, _ in times]):.2f}", f"{bench.median([cpu for _, cpu in times]):.2f}"]
		     for tables, times in zip(("all read, `--no-code-cache`", "those of large files kept"), zip(*turns))])


def measure(bench):
	measure_torch(bench)
	bench.say()
	before = SWITCH.read_text()
	SWITCH.write_text("1")
	try:
		runs = {frames: [] for frames in DEPTHS}
		for _ in range(bench.ROUNDS):
			for frames in DEPTHS:
				runs[frames].append(measure_depth(bench, frames))
	finally:
		SWITCH.write_text(before)
	few = bench.median(runs[DEPTHS[0]])
	bench.say("Stacks by unwind tables, in the programs of `--alloc heap`: a malloc() and its free() below so many frames without frame pointers")
	bench.say()
	bench.table(["frames", "the programs, ns", "more than with 3, ns a frame"],
		    [[frames, f"{bench.median(times):,.0f}", "" if frames == DEPTHS[0] else f"{(bench.median(times) - few) / (frames - DEPTHS[0]):.0f}"]
		     for frames, times in runs.items()])
