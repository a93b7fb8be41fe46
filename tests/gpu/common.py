# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/gpu/run and tests/gpu/lab share: building what they need, programs that do as they are told, gpuprobe that comes late."""
import collections
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "gpu"
PROGRAMS = ROOT / "tests" / "gpu" / "programs"
GPUPROBE = ROOT / "build" / "gpuprobe"
SIM = ROOT / "build" / "sim"
STEPS = 200
OVERHEAD_STEPS = 5000
TIMEOUT = 180
SKIP_STATUS = 77  # of tests/run

rows = []


class Skip(Exception):
	pass


class Failure(Exception):
	pass


def died(text):
	"""A Failure that tests/run does not look at again."""
	print(f"# harm: {text}", flush=True)
	return Failure(text)


def row(name, function):
	try:
		rows.append((name, "ok", function() or ""))
	except Skip as reason:
		rows.append((name, "SKIP", str(reason)))
	except (Failure, subprocess.SubprocessError, OSError, ValueError) as reason:
		rows.append((name, "FAIL", str(reason)))
	print("%-28s %-5s %s" % rows[-1], flush=True)


# ---- what is here ---------------------------------------------------------------------------------------------------


def toolkit():
	nvcc = shutil.which("nvcc") or str(pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "nvcc")
	if not os.access(nvcc, os.X_OK):
		raise Skip("no nvcc (CUDA toolkit)")
	return pathlib.Path(nvcc).resolve().parent.parent


def need_module(module):
	check = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, text=True, timeout=TIMEOUT)
	if check.returncode:
		raise Skip(f"no {module} in {sys.executable}")


def build_launches():
	program = BUILD / "launches"
	built = subprocess.run([str(toolkit() / "bin" / "nvcc"), "-O2", "-o", str(program), str(PROGRAMS / "launches.cu")],
			       capture_output=True, text=True, timeout=TIMEOUT)
	if built.returncode:
		raise Failure("nvcc: " + built.stderr[-300:])
	return [str(program)]


def build_truth(include, library):
	output = BUILD / "truth.so"
	built = subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-isystem", str(include), "-o", str(output),
				str(PROGRAMS / "truth.c"), str(library), f"-Wl,-rpath,{library.parent}"],
			       capture_output=True, text=True, timeout=TIMEOUT)
	if built.returncode:
		raise Failure("cc truth.c: " + built.stderr[-300:])
	return output


def build_real_truth():
	for folder in (toolkit() / "extras" / "CUPTI", toolkit()):
		for library in sorted((folder / "lib64").glob("libcupti.so")):
			if (folder / "include" / "cupti.h").exists():
				return build_truth(folder / "include", library)
	raise Skip(f"no libcupti.so with its headers in {toolkit()}")


def driver_name():
	said = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True)
	return re.sub(r"[^A-Za-z0-9.]+", "-", said.stdout.splitlines()[0].strip()) if said.stdout else "gpu"


# ---- a program that does as it is told ------------------------------------------------------------------------------


@contextlib.contextmanager
def program(command, **environment):
	with subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
			      env={**os.environ, **environment}) as process:
		try:
			line = process.stdout.readline()
			while line and line.strip() != "ready":
				line = process.stdout.readline()
			if not line:
				raise Skip(f"{command[-1]} does not start CUDA")
			yield process
		finally:
			process.stdin.close()
			try:
				process.wait(TIMEOUT)
			except subprocess.TimeoutExpired:
				print("# harm: the target does not end", flush=True)
				process.kill()


def tell(process, line):
	process.stdin.write(line + "\n")
	process.stdin.flush()
	answer = process.stdout.readline()
	if not answer:
		raise died(f"the program ended at '{line}'")
	return json.loads(answer)


class Late:
	"""gpuprobe on a running process, from its open window on."""

	def __init__(self, pid, *arguments, gpu=True):
		self.folder = tempfile.mkdtemp(prefix="gpuprobe-gpu-")
		self.output = f"{self.folder}/out.ndjson"
		self.stop_seconds = None  # from being told to end to its end
		begun = time.monotonic()
		self.process = subprocess.Popen([str(GPUPROBE), "-p", str(pid), "-d", "600", "-o", self.output, *arguments],
						stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
		self.said = ""
		while "recording " not in self.said:
			line = self.process.stderr.readline()
			if not line:
				self.process.wait()
				raise Failure("gpuprobe: " + self.said.strip()[-300:])
			self.said += line
		self.attach_seconds = time.monotonic() - begun
		if gpu and "GPU times are missing" in self.said:
			self.stop()
			raise Failure(self.said.strip()[-300:])

	def stop(self):
		begun = time.monotonic()
		self.process.send_signal(signal.SIGINT)
		self.said += self.process.communicate(timeout=TIMEOUT)[1]
		self.stop_seconds = time.monotonic() - begun
		self.records = read_records(self.output)
		shutil.rmtree(self.folder, ignore_errors=True)
		return self.records


def read_records(path):
	if not os.path.exists(path):
		raise Failure("gpuprobe wrote nothing")
	with open(path, encoding="utf-8") as file:
		return [json.loads(line) for line in file]


def kernels_of(records):
	"""name -> (count, sum of ns)"""
	sums = collections.defaultdict(lambda: (0, 0))
	for record in records:
		if record["kind"] == "kernel":
			count, total = sums[record["name"]]
			sums[record["name"]] = (count + 1, total + record["dur"])
	return dict(sums)


def losses_of(records):
	return {record["reason"]: record["count"] for record in records
		if record["kind"] == "loss" and record["reason"] not in ("outside_window", "cupti_defect")}


def read_truth(path):
	kernels = {}
	for line in pathlib.Path(path).read_text().splitlines():
		count, total, name = line.split(" ", 2)
		if int(count):
			kernels[name] = (int(count), int(total))
	return kernels


def check_left(said):
	plain = re.search(r"gpuprobe has left.*", said)
	if plain:
		return plain[0]
	found = re.search(r"after detach: (.*)", said)
	if not found:
		raise Failure("gpuprobe said nothing of what it left")
	left = re.search(r"ours left: (\w+)(?: threads, (\d+) descriptors)?", found[1])
	if not left or (left[1] not in ("none", "0")) or left[2] not in (None, "0"):
		raise Failure(found[1])
	return found[1]
