# SPDX-License-Identifier: GPL-2.0-or-later
"""Section libraries of tests/bench/run: in and out of a process that has mapped what PyTorch maps, on the simulated CUDA.

The libraries are NVIDIA's own, of the wheels that pip installs below build/bench/wheels (GPUPROBE_WHEELS names another folder
with a folder nvidia). They are in the page cache; gpuprobe and the target run before anything else (SCHED_FIFO), so that what
others do on the machine is left out, but for what the kernel does for all."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import stack_programs

PACKAGES = ("nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-nccl-cu12")
CACHE = pathlib.Path("/var/cache/gpuprobe/code")
ROUNDS = 5
TARGET_PRIORITY, OWN_PRIORITY = 5, 10
# Of the levels' functions only entries are probed, for which the code is not gone through: with these, named by the user, it is.
NAMED = ("libcublas.so*:cublasGemm*", "libcublasLt.so*:cublasLtMatmul", "libcudnn*:cudnnBackendExecute", "libnccl*:ncclAllReduce")
COMPARED = "libcublas.so*:cublas*"
COMPARED_IN_TORCH = "libtorch_cpu.so:*_add_*"
# Seconds.
BOUNDS = {"compare": 0.02, "attach": 0.5, "attach again": 0.2, "attach, a user's": 0.5, "named": 0.5, "named again": 0.2, "named, by the hash": 0.5,
	  "stop": 0.5, "whole": 1.5}


def wheels(bench):
	named = os.environ.get("GPUPROBE_WHEELS")
	folder = pathlib.Path(named) if named else bench.BUILD / "wheels"
	if not (folder / "nvidia/cublas").exists():
		bench.note(f"libraries: installing {', '.join(PACKAGES)} into {folder} (2.5 GB)")
		subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, *PACKAGES], check=True)
	return folder / "nvidia"


def first(priority):
	return lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


@contextlib.contextmanager
def target(bench, folder, *options):
	command = [sys.executable, bench.ROOT / "tests/bench/programs/real_libraries.py", folder, *options]
	with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=first(TARGET_PRIORITY)) as process:
		process.stdout.readline()
		try:
			yield process
		finally:
			process.kill()


def run(bench, pid, seconds, *options, stop=False):
	"""Seconds until the window was open, from its end to the end of the process, and as a whole; functions probed."""
	with tempfile.TemporaryDirectory(prefix="gpuprobe-bench-") as folder:
		begin = time.monotonic()
		process = subprocess.Popen([bench.GPUPROBE, "-p", str(pid), "-d", str(seconds), "-o", folder + "/x.gpr", *options],
					   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=first(OWN_PRIORITY))
		words = ""
		while not words.rpartition("\n")[0].rpartition("\n")[2].startswith("recording "):
			line = process.stderr.readline()
			words += line
			if not line:
				sys.exit(f"tests/bench/run: libraries: gpuprobe ended:\n{words}")
		opened = time.monotonic()
		if stop:
			time.sleep(0.5)
			asked = time.monotonic()
			process.send_signal(signal.SIGINT)
		words += process.stderr.read()
		if process.wait():
			sys.exit(f"tests/bench/run: libraries: gpuprobe failed:\n{words}")
		end = time.monotonic()
	return opened - begin, end - (asked if stop else opened + seconds), end - begin, int(re.search(r"(\d+) probed", words)[1])


def compared(bench, pid, names):
	"""Seconds that the comparison of code with its file took, before the probes of so many functions were put in."""
	with tempfile.TemporaryDirectory(prefix="gpuprobe-bench-") as folder:
		words = subprocess.run([bench.GPUPROBE, "-v", "-p", str(pid), "-d", "0.1", "-o", folder + "/x.gpr", "--returns", "none", "-F", names],
				       capture_output=True, text=True, preexec_fn=first(OWN_PRIORITY)).stderr
	begin, end = (float(re.search(r"([0-9.]+) s \(CPU [^)]*\): " + phase, words)[1]) for phase in ("probes are prepared", "code compared"))
	return end - begin, int(re.search(r"(\d+) probed", words)[1])


def forget():
	shutil.rmtree(CACHE, ignore_errors=True)


def attach_rows(bench, pid, times):
	for _ in range(ROUNDS):
		forget()
		times["attach"].append(run(bench, pid, 0.1)[0])
		times["attach again"].append(run(bench, pid, 0.1)[0])
		times["attach, no cache"].append(run(bench, pid, 0.1, "--no-code-cache")[0])
		times["whole"].append(run(bench, pid, 0.5)[2])


def named_rows(bench, pid, times):
	for _ in range(ROUNDS):
		forget()
		times["named"].append(run(bench, pid, 0.1, *named())[0])
		times["named again"].append(run(bench, pid, 0.1, *named())[0])
		times["named, no cache"].append(run(bench, pid, 0.1, "--no-code-cache", *named())[0])


def named():
	return [word for pattern in NAMED for word in ("-F", pattern)]


def hashed_rows(bench, pid, times):
	"""As the user's own: everybody but root is taken for somebody else."""
	forget()
	run(bench, pid, 0.1, *named())
	for _ in range(ROUNDS):
		times["attach, a user's"].append(run(bench, pid, 0.1)[0])
		times["named, by the hash"].append(run(bench, pid, 0.1, *named())[0])


def compare_row(bench, pid, row, names, times):
	times[row], counts = zip(*(compared(bench, pid, names) for _ in range(ROUNDS)))
	MEANING[row] = MEANING[row].format(counts[0], names)


def torch_row(bench, times):
	"""A real one, on the CPU; SKIP where its wheel can't be had."""
	with stack_programs.running(bench, "PyTorch", "torch") as pid:
		if pid:
			compare_row(bench, pid, "compare, torch", COMPARED_IN_TORCH, times)


def measure(bench):
	folder = wheels(bench)
	times = {name: [] for name in MEANING}
	with target(bench, folder, "--rate", "1000") as process:
		probed = run(bench, process.pid, 0.1)[3]  # now everything is in the page cache
		attach_rows(bench, process.pid, times)
		named_rows(bench, process.pid, times)
		compare_row(bench, process.pid, "compare", COMPARED, times)
		times["stop, busy"] = [run(bench, process.pid, 600, stop=True)[1] for _ in range(ROUNDS)]
	torch_row(bench, times)
	with target(bench, folder, "--paused") as process:
		times["stop, idle"] = [run(bench, process.pid, 600, stop=True)[1] for _ in range(ROUNDS)]
	own = [path for path in folder.glob("*/lib/lib*.so*") if path.name.startswith(("libcublas", "libcudnn", "libnccl"))]
	try:
		for path in own:
			os.chown(path, 65534, -1)
		with target(bench, folder, "--rate", "1000") as process:
			hashed_rows(bench, process.pid, times)
	finally:
		for path in own:
			os.chown(path, 0, -1)
		forget()
	show(bench, times, probed)


MEANING = {
	"attach": "until the window is open, no cache file",
	"attach, no cache": "the same, `--no-code-cache`",
	"attach again": "the second time",
	"attach, a user's": "the same, libraries that belong to a user",
	"named": "with functions named by `-F`, whose exits are found in the code: no cache file",
	"named, no cache": "the same, `--no-code-cache`",
	"named again": "the second time",
	"named, by the hash": "the same, libraries that belong to a user: by the hash of their code",
	"compare": "of it, comparing the code of {} functions with the file, `-F '{}'`",
	"compare, torch": "the same in a process of PyTorch that works (CPU), {} functions, `-F '{}'`",
	"stop, idle": "from Ctrl-C to the end of gpuprobe, the target waits",
	"stop, busy": "the same, the target launches 1,000 steps a second",
	"whole": "`-d 0.5` as a whole, with its capture and summary",
}


def show(bench, times, probed):
	bench.say("In and out of a Python process with cuBLAS, cuDNN and NCCL mapped (wheels, 228 MB of code) on the simulated CUDA, an agent and "
		  f"{probed} functions probed")
	bench.say()
	rows = []
	for name, seconds in times.items():
		if not seconds:
			continue
		bound = BOUNDS.get(name) or BOUNDS.get(name.partition(",")[0])
		got = statistics.median(seconds)
		rows.append([MEANING[name], f"{got:.3f} s" if got < 0.1 else f"{got:.2f} s", f"{bound:.2g} s", "met" if got <= bound else "**not met**"])
	bench.table(["", "median", "bound", ""], rows)
