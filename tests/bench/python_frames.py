# SPDX-License-Identifier: GPL-2.0-or-later
"""Section python-frames of tests/bench/run: what frames of Python in a stack cost in the BPF programs, by the kernel's own account of
their run time. Of those that GPUPROBE_PYTHONS names (as tests/integration/test_python takes them), else of all that are here."""
import contextlib
import glob
import os
import pathlib
import subprocess
import sys

from stacks import SWITCH

DEPTHS = (5, 20, 50)
CALLS = 1000
TURNS = 100
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
		try:
			words = path.read_text().split()
		except FileNotFoundError:  # it was closed meanwhile
			continue
		told = dict(zip(words[::2], words[1::2]))
		if told.get("prog_type:") == str(KPROBE):
			ns += int(told.get("run_time_ns:", 0))
			runs += int(told.get("run_cnt:", 0))
	return ns, runs


@contextlib.contextmanager
def recording(bench, pid, name, *options):
	with subprocess.Popen([bench.GPUPROBE, "-p", str(pid), "-d", "600", "--no-blocking", "--cpu-hz", "0", "--alloc", "off", "--max-overhead", "0",
			       "-F", "libc.so.6:getppid", "--returns", "none", "--stacks", "functions", "-o", bench.BUILD / name, *options],
			      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
		while (line := process.stderr.readline()) and not line.startswith("recording "):
			pass
		if not line:
			sys.exit(f"gpuprobe did not begin to record, exit status {process.wait()}")
		yield process
		process.terminate()
		process.communicate()


def measure_interpreter(bench, interpreter):
	"""ns of a hit at each depth with frames of Python and without, the least of some short turns: both are recorded at once, so that the
	machine is the same for both."""
	target = subprocess.Popen([interpreter, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	target.stdout.readline()
	with recording(bench, target.pid, "python.gpr") as ours, recording(bench, target.pid, "no-python.gpr", "--no-python") as others:
		found = {depth: ([], []) for depth in DEPTHS}
		for _ in range(TURNS):
			for depth in DEPTHS:
				before = [run_time(process.pid) for process in (ours, others)]
				target.stdin.write(f"{depth - FRAMES_AROUND}\n")
				target.stdin.flush()
				target.stdout.readline()
				for turns, old, process in zip(found[depth], before, (ours, others)):
					new = run_time(process.pid)
					turns.append((new[0] - old[0]) / max(new[1] - old[1], 1))
	target.terminate()
	target.wait()
	least = [[min(turns) for turns in found[depth]] for depth in DEPTHS]
	return [f"{ours:.0f} - {others:.0f} = {ours - others:.0f}" for ours, others in least]


def interpreters():
	return os.environ.get("GPUPROBE_PYTHONS", "").split() or [
		path for minor in (9, 10, 11, 12, 13, 14, 15) for path in [*glob.glob(f"/usr/bin/python3.{minor}"), *glob.glob(f"/root/.pyenv/versions/3.{minor}.*/bin/python3.{minor}")]]


def measure(bench):
	before = SWITCH.read_text()
	SWITCH.write_text("1")
	try:
		rows = [[path, *measure_interpreter(bench, path)] for path in interpreters()]
	finally:
		SWITCH.write_text(before)
	bench.say("Frames of Python: ns of the program of a probe that takes a stack, by how many functions of Python are in it: with them - without them (--no-python)")
	bench.say()
	bench.table(["interpreter", *(f"{depth} frames" for depth in DEPTHS)], rows)
