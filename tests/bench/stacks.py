# SPDX-License-Identifier: GPL-2.0-or-later
"""Section stacks of tests/bench/run: what a frame costs in the BPF programs, by the kernel's own account of their run time, beside bpf_get_stack()
in the same run. Of real programs: stack_programs.py."""
import json
import pathlib
import re
import subprocess
import sys

SWITCH = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
DEPTHS = (3, 33, 93)
CALLS = 200000


def run_times():
	"""(ns of all programs of allocators that are loaded, ns of the one that does bpf_get_stack(), its runs)"""
	programs = json.loads(subprocess.run(["bpftool", "prog", "show", "--json"], capture_output=True, text=True, check=True).stdout)
	other = next(program for program in programs if program.get("name") == "get_stack")
	return (sum(program.get("run_time_ns", 0) for program in programs if program.get("name", "").startswith("heap_")), other.get("run_time_ns", 0),
		other.get("run_cnt", 0))


def measure_depth(bench, name, frames):
	"""ns for a malloc() and its free(): (of all programs of ours, of bpf_get_stack() once)."""
	program = subprocess.Popen([bench.BUILD / name, str(frames), str(CALLS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	with subprocess.Popen([bench.GPUPROBE, "-p", str(program.pid), "-d", "600", "--alloc", "heap", "--no-blocking", "--cpu-hz", "0", "--max-overhead", "0",
			       "-o", bench.BUILD / "deep.gpr"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recording:
		while (line := recording.stderr.readline()) and not line.startswith("recording "):
			pass
		if not line:
			sys.exit(f"gpuprobe did not begin to record, exit status {recording.wait()}")
		program.stdin.write("go\n")
		program.stdin.flush()
		program.stdout.readline()
		ours_ns, other_ns, other_runs = run_times()
		recording.terminate()
		recording.communicate()
	program.communicate("end\n")
	if other_runs != CALLS:
		sys.exit(f"bpf_get_stack() was done {other_runs} times, {CALLS} were expected")
	return ours_ns / CALLS, other_ns / CALLS


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


# What is shown: of which program, which of the two times.
COLUMNS = (("by unwind tables, code without frame pointers", "deep", 0), ("by unwind tables, code with frame pointers", "deep_frame_pointers", 0),
	   ("`bpf_get_stack()` alone, by those frame pointers", "deep_frame_pointers", 1))


def measure_frames(bench):
	names = sorted({name for _, name, _ in COLUMNS})
	runs = {(name, frames): [] for name in names for frames in DEPTHS}
	for _ in range(bench.ROUNDS):
		for name, frames in runs:
			runs[name, frames].append(measure_depth(bench, name, frames))
	rows = []
	for frames in DEPTHS:
		row = [frames]
		for _, name, which in COLUMNS:
			few, times = (bench.median([times[which] for times in runs[name, depth]]) for depth in (DEPTHS[0], frames))
			row += [f"{times:,.0f}", "" if frames == DEPTHS[0] else f"{30 * (times - few) / (frames - DEPTHS[0]) / 1000:.2f}"]
		rows.append(row)
	bench.say("Stacks in the programs of `--alloc heap`, ns: a malloc() and its free() below so many frames; and what 30 frames more take, us")
	bench.say()
	bench.table(["frames", *(head for what, _, _ in COLUMNS for head in (what, "30 frames"))], rows)


def measure(bench):
	measure_torch(bench)
	bench.say()
	before = SWITCH.read_text()
	SWITCH.write_text("1")
	try:
		measure_frames(bench)
	finally:
		SWITCH.write_text(before)
