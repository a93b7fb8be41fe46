# SPDX-License-Identifier: GPL-2.0-or-later
"""Section launch-stacks of tests/bench/run: what a launch takes more where its stack is taken (--launch-stacks all, the trap included, and agent), in a
program of Python on the simulated CUDA: two of them are recorded at once, one with stacks of launches and one without, and launch in turns. Of the
interpreters that GPUPROBE_PYTHONS names (as tests/integration/test_python takes them), else of all that are here."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile

import python_frames
from gpu_launches import ALONE, simulated

DEPTHS = ((10, 5), (30, 20), (60, 50))  # native frames, of Python
LAUNCHES = 500
TURNS = 60
PROGRAM = f"""
import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
deep = ctypes.CDLL(sys.argv[1]).launch_deep
deep.restype, deep.argtypes = ctypes.c_double, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
for result in (driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), driver.cuCtxSetCurrent(context),
	       driver.cuModuleLoadData(ctypes.byref(module), b"a module"), driver.cuModuleGetFunction(ctypes.byref(function), module, b"kernel")):
	assert not result, result
space = dict(deep=deep, launch=ctypes.cast(driver.cuLaunchKernel, ctypes.c_void_p), function=function, driver=driver)
# Not one call: each has frames of its own.
exec("def f0(native):\\n took = deep(native, launch, function, {LAUNCHES})\\n driver.cuCtxSynchronize()\\n return took\\n"
     + "".join(f"def f{{i}}(native):\\n a=1; b=2; c=a+b; d={{i}}\\n return f{{i-1}}(native)\\n" for i in range(1, 60)), space)
print("ready", flush=True)
for line in sys.stdin:
	native, own = map(int, line.split())
	print(space[f"f{{own - 1}}"](native), flush=True)
"""


class Target:
	def __init__(self, interpreter, library):
		self.process = subprocess.Popen([interpreter, "-c", PROGRAM, library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		if self.process.stdout.readline() != "ready\n":
			sys.exit(f"tests/bench/run: {interpreter} does not start")

	def launch(self, native, own):
		"""ns a launch."""
		self.process.stdin.write(f"{native} {own}\n")
		self.process.stdin.flush()
		return float(self.process.stdout.readline())

	def end(self):
		self.process.stdin.close()
		self.process.wait()


@contextlib.contextmanager
def recording(bench, target, capture, stacks):
	cupti = bench.ROOT / "build/sim/cupti-13.0/libcupti.so.13"
	with subprocess.Popen([bench.GPUPROBE, "-p", str(target.process.pid), "-d", "600", *ALONE, "--max-overhead", "0", "--launch-stacks", stacks, "--cupti", cupti, "-o", capture],
			      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
		while (line := process.stderr.readline()) and not line.startswith("recording "):
			pass
		if not line:
			sys.exit(f"gpuprobe did not begin to record, exit status {process.wait()}")
		yield
		process.terminate()
		process.communicate()


def deepest(bench, capture):
	"""(frames, of these Python's) of the launches' stacks, of which most have as many, by how many of Python they have."""
	said = subprocess.run([bench.GPUPROBE, "export", "-q", capture, "-o", "/dev/stdout", "-f", "ndjson"], capture_output=True, text=True).stdout
	counts = {}
	for line in said.splitlines():
		if '"kind":"launch_stack"' in line:
			stack = json.loads(line).get("stack", [])
			own = sum(address.startswith("0x800") and len(address) == 18 for address in stack)
			counts.setdefault(own, {}).setdefault(len(stack), 0)
			counts[own][len(stack)] += 1
	return {own: max(lengths, key=lengths.get) for own, lengths in counts.items()}


def measure_interpreter(bench, interpreter, library, way):
	"""For each depth "bare + more (frames seen)"."""
	plain, taken = Target(interpreter, library), Target(interpreter, library)
	# Its own frames of C, below the first of Python and around the call of C, are found out by a first recording.
	with tempfile.TemporaryDirectory(dir=bench.BUILD) as folder:
		probe = os.path.join(folder, "probe.gpr")
		with recording(bench, taken, probe, way):
			taken.launch(1, 5)
		own, frames = max(deepest(bench, probe).items())
		around = frames - own - 1
		found = {depth: ([], []) for depth in DEPTHS}
		capture = os.path.join(folder, "taken.gpr")
		with recording(bench, plain, os.path.join(folder, "plain.gpr"), "off"), recording(bench, taken, capture, way):
			for turn in range(TURNS):
				for native, python in DEPTHS:
					for target, times in zip((plain, taken), found[native, python]):
						times.append(target.launch(max(native - around, 1), python))
		seen = deepest(bench, capture)
	for target in (plain, taken):
		target.end()
	row = []
	for (native, python), (without, with_stacks) in found.items():
		# The module's own frame is one of Python, too. Before 3.11 each function of Python has frames of C, so that the outermost are cut.
		frames = f"{seen[python + 1] - python - 1} + {python + 1}" if python + 1 in seen else "cut"
		row.append(f"{bench.median(without):.0f} + {bench.median([more - less for less, more in zip(without, with_stacks)]):.0f} ({frames})")
	return row


def measure(bench):
	sim = simulated(bench)
	if not sim:
		return
	library = bench.BUILD / "liblaunch_deep.so"
	subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, bench.ROOT / "tests/bench/launch_deep.c"], check=True)
	os.environ["LD_LIBRARY_PATH"] = str(sim)
	rows = [[path, way, *measure_interpreter(bench, path, library, way)] for path in python_frames.interpreters() for way in ("all", "agent")]
	del os.environ["LD_LIBRARY_PATH"]
	bench.say(f"Stacks of launches: ns of CPU time of a launch on the simulated CUDA + what it takes more with its stack, the trap included (frames of C + of Python that the stack has), medians of {TURNS} turns of {LAUNCHES} launches")
	bench.say()
	bench.table(["interpreter", "--launch-stacks", *(f"{native} + {python} frames" for native, python in DEPTHS)], rows)
