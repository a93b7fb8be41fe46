# SPDX-License-Identifier: GPL-2.0-or-later
"""What all integration tests share: building target programs, running gpuprobe around them, reading what it wrote.

A test file is an executable tests/integration/test_NAME with

	from lib import *

	@test
	def what_it_shows():
		...
		check_equal(actual, expected, "what")

	main()

It prints one line "ok NAME" / "not ok NAME" / "skip NAME: reason" a test and exits 1 when one failed.

Any two of them may run beside each other, on a machine that does much else: what a test makes lies in folders of its own and has
names of its own, and it waits for what has to come instead of sleeping. A window ends when the test has seen what it wants (LONG,
then stop()), not after a time in which a busy machine may not have got to it.
"""
import atexit
import collections
import contextlib
import fcntl
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# What is fetched or made once for all tests: while it is locked().
CACHE = ROOT / "build" / "integration"
GPUPROBE = ROOT / "build" / "gpuprobe"
PROGRAMS = ROOT / "tests" / "integration" / "programs"

# Of the distribution, whatever stands before it in PATH: python3.11 where that is its version.
PYTHON = os.path.realpath("/usr/bin/python3")
PYTHON_NAME = os.path.basename(PYTHON)
PYTHON_INCLUDE = f"/usr/include/{PYTHON_NAME}"

PATIENCE_S = 300  # how long is waited for what has to come: an idle machine has it at once
LONG = 600  # a window that the test ends (s)
# Signals that a process gets for what it did itself.
FAULTS = {signal.SIGSEGV, signal.SIGILL, signal.SIGBUS, signal.SIGABRT, signal.SIGTRAP, signal.SIGFPE, signal.SIGSYS}

tests = []


def own_folder():
	"""A folder for what this run builds. A program of another one would be another user of the same file, which changes how its
	functions are probed. Those of runs that were killed are swept up."""
	CACHE.mkdir(parents=True, exist_ok=True)
	for left in CACHE.glob("run-*"):
		if not os.path.exists("/proc/" + left.name.split("-")[1]):
			shutil.rmtree(left, ignore_errors=True)
	folder = pathlib.Path(tempfile.mkdtemp(prefix=f"run-{os.getpid()}-", dir=CACHE))
	folder.chmod(0o755)
	atexit.register(shutil.rmtree, folder, ignore_errors=True)
	# A test that is told to end leaves its targets no more than one that fails.
	signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
	return folder


BUILD = own_folder()


@contextlib.contextmanager
def locked(folder):
	"""Others that want the same wait."""
	lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
	try:
		fcntl.flock(lock, fcntl.LOCK_EX)
		yield
	finally:
		os.close(lock)


class Skip(Exception):
	"""The test cannot run here; the text says why."""


class Failure(Exception):
	"""What was expected and what was seen."""


class Harm(Failure):
	"""A target died or hangs, or gpuprobe crashed: tests/run takes it for no accident, and does not look at it again."""


def test(function):
	tests.append(function)
	return function


def check(condition, what):
	"""what: a text, or a function that makes it, for what is checked of each of many records."""
	if not condition:
		raise Failure(what() if callable(what) else what)


def check_equal(actual, expected, what):
	if actual != expected:
		raise Failure(f"{what() if callable(what) else what}: {actual!r}, expected {expected!r}")


def check_in(part, whole, what="output"):
	if part not in whole:
		raise Failure(f"{what} lacks {part!r}:\n{whole}")


def need(program):
	"""Path of a program that the test needs, else the test is skipped."""
	path = shutil.which(program)
	if not path:
		raise Skip(f"{program} is not installed")
	return path


def wait_for(condition, what, seconds=PATIENCE_S):
	"""What the condition gives when it is true at last."""
	deadline = time.monotonic() + seconds
	while not (result := condition()):
		if time.monotonic() > deadline:
			raise (Harm if seconds >= PATIENCE_S else Failure)(f"waited {seconds} s for {what}")
		time.sleep(0.02)
	return result


def main(needs_root=True):
	"""Runs the tests that the command line names, or all; --list names them."""
	only = sys.argv[1:]
	names = [function.__name__ for function in tests]
	if only == ["--list"]:
		print("\n".join(names))
		sys.exit(0)
	if set(only) - set(names):
		print(f"no test {min(set(only) - set(names))} in {sys.argv[0]}: --list names them", file=sys.stderr)
		sys.exit(2)
	failed = 0
	for function in tests:
		name = function.__name__
		if only and name not in only:
			continue
		crashes.clear()
		try:
			if needs_root and os.geteuid() != 0:
				raise Skip("needs root (BPF and other users' processes)")
			function()
			print(f"ok {name}", flush=True)
		except Skip as skip:
			print(f"skip {name}: {skip}", flush=True)
		except Exception as error:
			failed = 1
			lines = str(error) if isinstance(error, Failure) else traceback.format_exc()
			for line in lines.splitlines():
				print(f"# {line}")
			if isinstance(error, (Harm, subprocess.TimeoutExpired, TimeoutError, ConnectionError)):
				print(f"# harm: {type(error).__name__}")
			for crash in crashes:
				print(f"# harm: {crash}")
			print(f"not ok {name}", flush=True)
	sys.exit(failed)


# ---- target programs ------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def build(source, *flags, name=None, compiler=None):
	"""Compiles tests/integration/programs/SOURCE; the path of the program. Files of different flags need different names."""
	path = PROGRAMS / source
	compiler = compiler or ("g++" if source.endswith((".cc", ".cpp")) else "gcc")
	output = BUILD / (name or path.stem)
	check(not output.exists(), f"{output.name} is there already, of other flags than {flags}")
	command = [compiler, "-O1", "-g", "-D_GNU_SOURCE", "-o", str(output), str(path), *flags, "-lpthread"]
	result = subprocess.run(command, capture_output=True, text=True)
	if result.returncode:
		raise Failure(f"can't build {source}: {result.stderr[:500]}")
	return output


def own_build_id():
	"""A build id that no other run has, since debug files lie where all of the machine look for them."""
	return os.urandom(16).hex()


@contextlib.contextmanager
def debug_file(program, build_id):
	"""What is in a program beside its code lies where debuggers look for it, under its build id."""
	path = pathlib.Path(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
	with locked("/usr/lib"):
		made = [folder for folder in path.parents if not folder.exists()]
		path.parent.mkdir(parents=True, exist_ok=True)
		subprocess.run(["objcopy", "--only-keep-debug", program, path], check=True)
	try:
		yield
	finally:
		with locked("/usr/lib"):
			path.unlink()
			for folder in made:
				with contextlib.suppress(OSError):  # another run has something in it
					folder.rmdir()


@contextlib.contextmanager
def reachable(program):
	"""A copy of it that every user may run, whoever may enter the build folder."""
	with tempfile.TemporaryDirectory(prefix="gpuprobe-test-") as folder:
		os.chmod(folder, 0o755)
		yield shutil.copy(program, folder)


def need_python():
	if not os.path.exists(PYTHON_INCLUDE + "/Python.h"):
		raise Skip(f"there is no {PYTHON} with its headers (python3-dev)")


def libpython():
	"""A program that is Python by its library."""
	need_python()
	return build("embedded_python.c", f"-l{PYTHON_NAME}")


class Process(subprocess.Popen):
	"""Knows which signals the test sent it."""

	def __init__(self, *arguments, **options):
		self.sent = set()
		super().__init__(*arguments, **options)

	def send_signal(self, number):
		self.sent.add(number)
		super().send_signal(number)


crashes = []  # of the test that runs


def signal_name(number):
	return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def note_crash(command, status, sent=()):
	"""A process that a signal ended which the test did not send; gpuprobe has the exit status of a command that one ended."""
	if status < 0 and -status not in sent:
		crashes.append(f"{os.path.basename(str(command[0]))} was ended by {signal_name(-status)}")
	elif "--" in command and status - 128 in FAULTS:
		crashes.append(f"the command of gpuprobe was ended by {signal_name(status - 128)}")


@contextlib.contextmanager
def running(command, **options):
	"""A process that is ended, by its pid, when the block is left."""
	process = Process([str(part) for part in command], **options)
	try:
		yield process
	finally:
		if process.poll() is None:
			process.kill()
		process.wait()
		note_crash(command, process.returncode, process.sent)


# ---- a cgroup of a target's own -----------------------------------------------------------------------

def is_removed(folder):
	with contextlib.suppress(OSError):
		folder.rmdir()
	return not folder.exists()


@contextlib.contextmanager
def limited_cgroup(kind, parents):
	"""In the first folder where one can be made and limited; parents: (folder, name of the limit, text). Processes in it have ended when the block is left."""
	for parent, limit, text in parents:
		folder = parent / f"gpuprobe-test-{os.getpid()}"
		try:
			folder.mkdir()
		except OSError:
			continue
		try:
			(folder / limit).write_text(text)
		except OSError:
			folder.rmdir()
			continue
		try:
			yield folder
		finally:
			# Processes leave it a moment after they have ended.
			wait_for(lambda: is_removed(folder), f"{folder} to be empty")
		return
	raise Skip(f"no cgroup of {kind} can be made here")


def memory_cgroup(limit_bytes):
	def parents():
		for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
			_, controllers, path = line.split(":", 2)
			if "memory" in controllers.split(","):
				yield pathlib.Path("/sys/fs/cgroup/memory" + path), "memory.limit_in_bytes", str(limit_bytes)
		yield pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", str(limit_bytes)
		yield pathlib.Path("/sys/fs/cgroup"), "memory.max", str(limit_bytes)
	return limited_cgroup("memory", parents())


@contextlib.contextmanager
def cpu_given(root):
	"""The cgroups in this one (version 2) have the controller. Where it was taken from none of them before, the last that leaves takes it back: what
	the first has found is in a file, and all that use it share the lock of the file."""
	control = root / "cgroup.subtree_control"
	with contextlib.ExitStack() as stack:
		with locked("/run"):
			found = stack.enter_context(open(f"/run/gpuprobe-test-{root.name}", "a+"))
			fcntl.flock(found, fcntl.LOCK_SH)
			if "cpu" not in control.read_text().split():
				with contextlib.suppress(OSError):
					control.write_text("+cpu")
					found.write("given\n")
					found.flush()
		try:
			yield
		finally:
			with locked("/run"), contextlib.suppress(OSError):
				fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
				found.seek(0)
				if found.read():
					control.write_text("-cpu")
				os.unlink(found.name)


@contextlib.contextmanager
def cpu_cgroup(percent):
	"""It has so much of a CPU; of the version that has the controller, which is one of both."""
	roots = [root for root in map(pathlib.Path, ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"))
		 if (root / "cgroup.controllers").exists() and "cpu" in (root / "cgroup.controllers").read_text().split()]
	with contextlib.ExitStack() as given:
		for root in roots:
			given.enter_context(cpu_given(root))
		with limited_cgroup("CPUs", [(root, "cpu.max", f"{percent * 1000} 100000") for root in roots] +
				    [(pathlib.Path(root), "cpu.cfs_quota_us", str(percent * 1000)) for root in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct")]) as folder:
			yield folder


@contextlib.contextmanager
def freezer(version, pid):
	"""The process is in a cgroup of this version that can be frozen: the file, and what is to be written to it for that, and to thaw it."""
	if version == 1:
		found = [(pathlib.Path("/sys/fs/cgroup/freezer"), "freezer.state", "THAWED")]
	else:
		found = [(root, "cgroup.freeze", "0") for root in map(pathlib.Path, ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"))
			 if (root / "cgroup.controllers").exists()]
	with limited_cgroup("a freezer", found) as folder:
		_, name, thaw = next(row for row in found if row[0] == folder.parent)
		(folder / "cgroup.procs").write_text(str(pid))
		try:
			yield folder / name, "FROZEN" if version == 1 else "1", thaw
		finally:
			(folder / name).write_text(thaw)
			with contextlib.suppress(OSError): # it has ended
				(folder.parent / "cgroup.procs").write_text(str(pid))


class Truth:
	"""A running `truth` program (programs/truth.c) that waits to begin."""

	def __init__(self, process):
		self.process = process
		self.pid = process.pid
		check_equal(process.stdout.readline(), "ready\n", "first line of the truth program")

	def go(self):
		"""Lets it run its cases; calls by function name."""
		self.process.stdin.write("go\n")
		self.process.stdin.flush()
		return self.read_counts()

	def read_counts(self):
		counts = {}
		for line in self.process.stdout:
			if line == "done\n":
				return counts
			name, count = line.split()
			counts[name] = int(count)
		raise Harm(f"the target died (exit status {self.process.wait()})")

	def finish(self):
		"""Ends it; its exit status."""
		self.process.stdin.close()
		return self.process.wait(PATIENCE_S)

	def wait_until_reading(self):
		"""What it did behind its last line is over: its first thread waits for the next one."""
		wait_for(lambda: system_call(self.pid) == "0", "the target to read")


def system_call(pid):
	"""The number of the system call that a thread waits in, as /proc has it."""
	return pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0]


def state(pid):
	"""R, S, T, Z..., as /proc has it."""
	return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def children_of(pid):
	"""Of its first thread."""
	return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextlib.contextmanager
def truth(*cases, program=None, prefix=()):
	program = program or build("truth.c")
	with running([*prefix, program, *cases], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
		yield Truth(process)


def address_of(pid, program, name):
	"""Where a running program has its function `name`."""
	symbols = {}
	for line in subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.splitlines():
		words = line.split()
		if len(words) == 3:
			symbols[words[2]] = int(words[0], 16)
	base = min(int(line.split("-")[0], 16) for line in open(f"/proc/{pid}/maps") if str(program) in line)
	return base + symbols[name]


def read_memory(pid, address, size):
	with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
		memory.seek(address)
		return memory.read(size)


# ---- gpuprobe ---------------------------------------------------------------------------------------------

def gpuprobe(*arguments, timeout=PATIENCE_S, **options):
	"""Runs it to its end; the result with stdout and stderr as text."""
	result = subprocess.run([str(GPUPROBE), *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **options)
	note_crash(result.args, result.returncode)
	return result


def rows_of(capture, report):
	"""The rows of a report, by the names of their columns."""
	result = gpuprobe("stats", "-q", capture, "-r", report, "-f", "json", "--rows", "0")
	check_equal(result.returncode, 0, f"exit status of stats -r {report}: " + result.stderr)
	return json.loads(result.stdout)


class Recording:
	"""A running `gpuprobe` that records; begun when its window is open."""

	def __init__(self, process, folder, outputs, capture):
		self.process = process
		self.folder = folder
		self.outputs = outputs
		self.capture = capture
		self.stderr = ""
		while "recording " not in self.stderr:
			line = process.stderr.readline()
			if not line:
				raise Failure(f"gpuprobe ended (exit status {process.wait()}): {self.stderr}")
			self.stderr += line

	def stop(self):
		"""Ctrl-C; waits for the end."""
		self.process.send_signal(signal.SIGINT)
		return self.wait()

	def wait(self, timeout=PATIENCE_S):
		self.stdout, rest = self.process.communicate(timeout=timeout)
		self.stderr += rest
		return self

	@property
	def exit_status(self):
		return self.process.returncode

	def events(self):
		"""All records of the .ndjson output."""
		path = self.outputs["ndjson"]
		check(os.path.exists(path), lambda: f"gpuprobe wrote no {path} (exit status {self.exit_status}): {self.stderr}")
		return read_ndjson(path)

	def events_so_far(self):
		"""The records that are on the disk while it goes on."""
		return read_capture(self.capture)

	def rows_so_far(self, report):
		"""A report on that: of many records it is quicker."""
		return rows_of(self.capture, report)

	def wait_for_loss(self, reason, place=""):
		wait_for(lambda: any(row["Reason"] == reason and row["Where"].startswith(place) for row in self.rows_so_far("ledger")),
			 f"{reason} {place} in the ledger")

	def wait_for_events(self, what, condition):
		"""Goes on until the records that there are by then fulfil the condition; those records."""
		def seen():
			check_equal(self.process.poll(), None, "exit status of gpuprobe before it was stopped")
			records = self.events_so_far()
			return condition(records) and records
		try:
			return wait_for(seen, what)
		except Failure as failure:
			raise type(failure)(f"{failure}; {self.what_there_is()}") from None

	def what_there_is(self):
		"""Of a recording in which what was waited for did not come: it is ended, and what it has and said is told."""
		counts = dict(collections.Counter(record["kind"] for record in self.events_so_far()))
		self.stop()
		return f"there are {counts}, and gpuprobe said: {self.stderr}"

	def wait_for_count(self, kind, least):
		return self.wait_for_events(f"{least} records of kind {kind}", lambda records: len(events_of(records, kind)) >= least)


@contextlib.contextmanager
def recording(*arguments, outputs=("ndjson",), blocking=False, growth=False, samples=False, **options):
	"""gpuprobe with -o out.SUFFIX for each of outputs, in a folder of its own. Without what its threads wait for, where
	they run and how its memory grows, of which no two runs have the same, unless it is asked for. Without -d the window is one that the test ends."""
	if "-d" not in arguments and "--" not in arguments:
		arguments = ("-d", LONG, *arguments)
	if not blocking:
		arguments = ("--no-blocking", *arguments)
	if not growth:
		arguments = ("--alloc", "off", *arguments)
	if not samples:
		arguments = ("--cpu-hz", "0", *arguments)
	with tempfile.TemporaryDirectory(prefix="gpuprobe-test-") as folder:
		paths = {suffix: os.path.join(folder, "out." + suffix) for suffix in outputs}
		command = [str(GPUPROBE), *map(str, arguments)]
		for path in paths.values():
			command += ["-o", path]
		if "--" in command:  # outputs go before the command
			at = command.index("--")
			tail = command[at:]
			outputs_part = command[len(command) - 2 * len(paths):]
			command = command[:at] + outputs_part + tail[:len(tail) - 2 * len(paths)]
		# Until it is over all goes into a capture: the one that is asked for, or one beside the first output.
		named = [command[at + 1] for at, word in enumerate(command) if word == "-o"]
		capture = next((path for path in named if path.endswith(".gpr")), f"{named[0]}.gpr")
		with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
			yield Recording(process, folder, paths, capture)


def read_capture(path):
	"""The records of a capture, which may still grow."""
	with tempfile.TemporaryDirectory(prefix="gpuprobe-test-") as folder:
		result = gpuprobe("export", "-q", path, "-o", folder + "/out.ndjson")
		check_equal(result.returncode, 0, f"exit status of an export of {path}: {result.stderr}")
		return read_ndjson(folder + "/out.ndjson")


def each_of_ndjson(path):
	"""One record after the other, for what is larger than memory."""
	with open(path, encoding="utf-8") as file:
		for line in file:
			if line.strip():
				yield json.loads(line)


def read_ndjson(path):
	return list(each_of_ndjson(path))


def events_of(records, kind):
	return [record for record in records if record["kind"] == kind]


def calls_by_name(records):
	"""Calls seen by function, spans and entries together."""
	counts = collections.Counter()
	for record in records:
		if record["kind"] in ("call", "entry"):
			counts[record["name"]] += 1
	return dict(counts)


def losses(records):
	"""The ledger: reason -> count; without what a version of CUPTI is known to do wrong, which is so of most, whatever is recorded."""
	places = {}
	for record in records:
		if record["kind"] == "loss" and record["reason"] != "cupti_defect":
			places[record["reason"], record.get("place")] = record["count"]
	ledger = collections.Counter()
	for (reason, _), count in places.items():
		ledger[reason] += count
	return ledger


def check_nesting(records):
	"""Spans of each thread nest: none overlaps another partly."""
	by_thread = collections.defaultdict(list)
	for record in events_of(records, "call"):
		if "dur" in record:
			by_thread[record["tid"]].append((record["ts"], -record["dur"], record["name"]))
	for tid, spans in by_thread.items():
		open_ends = []
		for ts, negative_dur, name in sorted(spans):
			end = ts - negative_dur
			while open_ends and open_ends[-1][0] <= ts:
				open_ends.pop()
			if open_ends and open_ends[-1][0] < end:
				raise Failure(f"thread {tid}: {name} [{ts}, {end}] overlaps {open_ends[-1]}")
			open_ends.append((end, name))
