# SPDX-License-Identifier: GPL-2.0-or-later
"""Section python-frames of tests/bench/run: what frames of Python in a stack cost in the BPF programs, by the kernel's own account of
their run time. Of those that GPUPROBE_PYTHONS names (as tests/integration/test_python takes them), else of all that are here."""
import glob
import os
import pathlib
import subprocess
import sys

from stacks import SWITCH

DEPTHS = (5, 20, 50)
CALLS = 20000
PROGRAM = f"""
import os, sys
space = {{"os": os}}
exec("def f0():\\n for _ in range({CALLS}): os.getppid()\\n" + "".join(f"def f{{i}}():\\n a=1; b=2; c=a+b; d={{i}}\\n return f{{i-1}}()\\n" for i in range(1, 60)), space)
print("ready", flush=True)
for line in sys.stdin:
	space["f" + line.strip()]()
	print("done", flush=True)
"""
FRAMES_AROUND = 2  # the module's own, and f0


KPROBE = 2  # BPF_PROG_TYPE_KPROBE: what uprobes run is such a program


def run_time(pid):
	"""Of the programs of functions of one recording, others may be on the machine: (ns, runs)."""
	ns = runs = 0
	for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
		words = path.read_text().split()
		told = dict(zip(words[::2], words[1::2]))
		if told.get("prog_type:") == str(KPROBE):
			ns += int(told.get("run_time_ns:", 0))
			runs += int(told.get("run_cnt:", 0))
	return ns, runs


def measure_interpreter(bench, interpreter, *options):
	"""ns of a hit at each depth, the least of some turns."""
	target = subprocess.Popen([interpreter, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	target.stdout.readline()
	with subprocess.Popen([bench.GPUPROBE, "-p", str(target.pid), "-d", "600", "--no-blocking", "--cpu-hz", "0", "--alloc", "off", "--max-overhead", "0",
			       "-F", "libc.so.6:getppid", "--returns", "none", "--stacks", "functions", "-o", bench.BUILD / "python.gpr", *options],
			      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as recording:
		while (line := recording.stderr.readline()) and not line.startswith("recording "):
			pass
		if not line:
			sys.exit(f"gpuprobe did not begin to record, exit status {recording.wait()}")
		found = {depth: [] for depth in DEPTHS}
		for _ in range(bench.ROUNDS):
			for depth in DEPTHS:
				before = run_time(recording.pid)
				target.stdin.write(f"{depth - FRAMES_AROUND}\n")
				target.stdin.flush()
				target.stdout.readline()
				after = run_time(recording.pid)
				found[depth].append((after[0] - before[0]) / max(after[1] - before[1], 1))
		recording.terminate()
		recording.communicate()
	target.terminate()
	target.wait()
	return [f"{min(found[depth]):.0f}" for depth in DEPTHS]


def measure(bench):
	interpreters = os.environ.get("GPUPROBE_PYTHONS", "").split() or [
		path for minor in (9, 10, 11, 12, 13, 14) for path in [*glob.glob(f"/usr/bin/python3.{minor}"), *glob.glob(f"/root/.pyenv/versions/3.{minor}.*/bin/python3.{minor}")]]
	before = SWITCH.read_text()
	SWITCH.write_text("1")
	try:
		rows = [[path, " ".join(options) or "with", *measure_interpreter(bench, path, *options)] for path in interpreters for options in ((), ("--no-python",))]
	finally:
		SWITCH.write_text(before)
	bench.say("Frames of Python: ns of the program of a probe that takes a stack, by how many functions of Python are in it")
	bench.say()
	bench.table(["interpreter", "frames of Python", *(f"{depth} frames" for depth in DEPTHS)], rows)
