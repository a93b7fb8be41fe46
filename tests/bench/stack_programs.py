# SPDX-License-Identifier: GPL-2.0-or-later
"""Sections stack-tables, stack-truth and stack-ends of tests/bench/run: real programs under load (tests/integration/services.py). Their unwind tables against libdw's, their stacks while they stand
still against libdw's, how much of their waiting time is in complete stacks, and what those stacks take."""
import collections
import contextlib
import os
import pathlib
import re
import subprocess
import sys

SECONDS = 6
ROUNDS = 200
FACT_BYTES, ADDRESS_BYTES = 56, 8  # struct record_stack

# BENCH_PROGRAMS="redis torch": only these services.
# name, its service, whether its children are recorded too
PROGRAMS = (("redis-server", "redis", False), ("nginx", "nginx", False), ("PostgreSQL", "postgres", True), ("python3", "python", False),
	    ("memcached", "memcached", False), ("C++, exceptions, no frame pointers", "cpp", False), ("Rust, rustc's defaults", "rust", False),
	    ("node", "node", False), ("PyTorch on the CPU", "torch", False))

if os.environ.get("BENCH_PROGRAMS"):
	PROGRAMS = tuple(program for program in PROGRAMS if program[1] in os.environ["BENCH_PROGRAMS"].split())


def integration():
	"""(lib, services, stack_truth) of the integration tests: they make folders as they are imported."""
	folder = str(pathlib.Path(__file__).parent.parent / "integration")
	if folder not in sys.path:
		sys.path.append(folder)
	import lib
	import services
	import stack_truth
	return lib, services, stack_truth


@contextlib.contextmanager
def running(bench, what, service):
	"""Its pid; None where it cannot run here, which is said."""
	lib, services, _ = integration()
	with contextlib.ExitStack() as stack:
		try:
			pid = stack.enter_context(getattr(services, service)())
		except lib.Skip as reason:
			bench.say(f"{what}: SKIP {reason}")
			pid = None
		yield pid


# ---- unwind tables ----------------------------------------------------------------------------------------

COMPARED = re.compile(r"# (.*): (\d+) functions, (\d+) addresses in \d+ places, (\d+) differences; (\d+) rows")
CAUSE = re.compile(r"#   (\d+) addresses without a rule: (.*)")
ORACLE = "unit/test_unwind_oracle"


def mapped_as_code(pid):
	lines = [line.split(None, 5) for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()]
	return sorted({words[5] for words in lines if len(words) == 6 and "x" in words[1] and words[5].startswith("/") and os.path.exists(words[5])})


def judge(bench, what, paths):
	"""A row of the table of tables."""
	result = subprocess.run([bench.BUILD.parent / ORACLE, "rows_say_what_libdw_says"], env={**os.environ, "UNWIND_FILES": ":".join(paths)},
				capture_output=True, text=True)
	sums, causes, left, path = collections.Counter(), collections.Counter(), set(paths), None
	for line in result.stdout.splitlines():
		if (compared := COMPARED.match(line)):
			path = compared[1] if compared[1] in left else None
			left.discard(compared[1])
			if path:
				sums.update(dict(zip(("functions", "addresses", "differences", "rows"), map(int, compared.groups()[1:]))))
		elif path and (cause := CAUSE.match(line)):
			causes[cause[2]] += int(cause[1])
	if result.returncode:
		sys.exit(f"{result.stdout}{result.stderr}\ntests/bench/run: unwind tables of the files of {what} are not as libdw has them")
	without = sum(causes.values())
	return [what, len(paths) - len(left), f"{sums['functions']:,}", f"{sums['addresses']:,}", f"{sums['differences']:,}",
		f"{without:,} ({100 * without / max(1, sums['addresses']):.4f} %)", "; ".join(f"{count} {cause}" for cause, count in causes.items())]


def measure_tables(bench):
	rows = []
	for what, service, _ in PROGRAMS:
		if service in ("redis", "python", "torch"):
			with running(bench, what, service) as pid:
				if pid:
					rows.append(judge(bench, what, mapped_as_code(pid)))
	bench.say("Unwind tables of all files that a process maps as code, at every address of up to 1,000 functions of each, against libdw's")
	bench.say()
	bench.table(["process", "files", "functions", "addresses", "different", "no rule of ours", "why"], rows)


# ---- stacks of programs that stand still ------------------------------------------------------------------

def backend_of(lib, pid):
	"""PostgreSQL's process that answers a client."""
	return lib.wait_for(lambda: [child for child in lib.children_of(pid) if b"[local]" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()], "a client")[0]


def measure_truth(bench):
	lib, _, stack_truth = integration()
	rows = []
	for what, service, children in PROGRAMS:
		with running(bench, what, service) as pid:
			if not pid:
				continue
			found = stack_truth.compare(backend_of(lib, pid) if children else pid, ROUNDS)
		bench.note(f"{what}: {found}")
		rows.append([what, f"{found.compared:,}", f"{found.frames:,}", f"{found.equal:,}", f"{found.longer:,}", f"{sum(found.others.values()):,}",
			     f"{found.unrecorded:,}", f"{found.guessed:,}"])
	bench.say(f"Stacks of programs that are stopped {ROUNDS} times, of each of their threads, against libdw's, frame by frame")
	bench.say()
	bench.table(["program", "stacks", "frames", "equal", "go on where libdw has no table", "different", "not recorded", "with a guessed caller"], rows)


# ---- how stacks of waits end ------------------------------------------------------------------------------

def record_waits(lib, pid, children):
	"""Two others compete with it for the CPU, so that it is stopped anywhere in its code."""
	with contextlib.ExitStack() as stack:
		for _ in range(2):
			stack.enter_context(lib.running([lib.PYTHON, "-c", "while True: pass"]))
		session = stack.enter_context(lib.recording("-p", pid, "-d", SECONDS, "--blocking-min-us", 0, *(["--children"] if children else []), blocking=True))
		session.wait()
		lib.check_equal(session.exit_status, 0, "exit status of gpuprobe: " + session.stderr)
		return session.events()


def times_of(records):
	"""{(is open at the end, how its stack ends): ns}, the part of each wait that lies in the window; guessed ns."""
	waits = [event for event in records if event["kind"] == "off_cpu"]
	end = max(event["ts"] + (event.get("dur") or 0) for event in waits)
	start = end - SECONDS * 1_000_000_000
	times, guessed = collections.Counter(), 0
	for event in waits:
		is_open = event.get("dur") is None
		inside = max(0, (end if is_open else event["ts"] + event["dur"]) - max(start, event["ts"]))
		times[is_open, event.get("stack_end", "no stack") if "stack" in event else "no stack"] += inside
		guessed += inside if event.get("stack_guessed") else 0
	return times, guessed


def percent(part, whole):
	return f"{100 * part / whole:.2f} %" if whole else "-"


def complete_row(lib, what, records):
	times, guessed = times_of(records)
	closed, all_of_it = (sum(ns for (is_open, _), ns in times.items() if take_open or not is_open) for take_open in (False, True))
	cut = collections.Counter()
	for (_, end), ns in times.items():
		if end != "complete":
			cut[end] += ns
	stacks = {(tuple(event["stack"]), event.get("stack_end"), event.get("stack_guessed")) for event in records if "stack" in event}
	full = lib.losses(records)["stacks_full"]
	if full:
		sys.exit(f"tests/bench/run: {what}: {full} times no room for a stack")
	return [what, f"{all_of_it / 1e9:.1f}", percent(times[False, "complete"], closed), percent(times[False, "complete"] + times[True, "complete"], all_of_it),
		percent(guessed, all_of_it), "; ".join(f"{end} {percent(ns, all_of_it)}" for end, ns in cut.most_common() if ns * 10000 > all_of_it),
		f"{len(stacks):,}", f"{sum(FACT_BYTES + ADDRESS_BYTES * len(stack) for stack, _, _ in stacks):,}", full]


def measure_ends(bench):
	lib, _, _ = integration()
	rows = []
	for what, service, children in PROGRAMS:
		with running(bench, what, service) as pid:
			if pid:
				rows.append(complete_row(lib, what, record_waits(lib, pid, children)))
	bench.say(f"How stacks of waits end, {SECONDS} s under load, two others compete for the CPU; shares of time")
	bench.say()
	bench.table(["program", "waited, s", "complete, of waits that ended", "complete, with those open at the end", "with a guessed caller", "not complete",
		     "stacks", "bytes of them", "`stacks_full`"], rows)
