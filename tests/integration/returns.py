# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that do with their stacks what kills targets under plain return probes, run as they are and then in each mode
of --returns: they must live, compute the same, and their calls must all be seen."""
from lib import *

# trampoline is left out: it is the one that may kill.
MODES = ("auto", "stepped", "cheap", "none")
# Modes in which a function that an exception or a stack switch may pass has durations.
WITH_DURATIONS = ("auto", "stepped")


@functools.lru_cache(maxsize=None)
def counts_without_us(program, *words):
	with truth(*words, program=program) as target:
		counts = target.go()
		check_equal(target.finish(), 0, "exit status of the target without gpuprobe")
	check_equal(counts.get("failures", 0), 0, "wrong results without gpuprobe")
	return counts


def record_in_mode(mode, program, probes, *words):
	"""The program under gpuprobe: its counts, the records."""
	with truth(*words, program=program) as target, \
			recording("-p", target.pid, *probes, "--returns", mode, "--max-functions", 100000, "-d", LONG) as session:
		try:
			counts = target.go()
		except Failure as failure:
			raise Failure(f"--returns {mode}: {failure}") from None
		session.stop()
		check_equal(session.exit_status, 0, f"--returns {mode}: exit status of gpuprobe: " + session.stderr)
		check_equal(target.finish(), 0, f"--returns {mode}: exit status of the target")
		records = session.events()
	check("ring_full" not in losses(records), f"--returns {mode}: records were lost")
	return counts, records


def survives(program, probes, *words, modes=MODES, counted=(), spans=(), nests=False):
	"""In each mode: the same results as without us, each call of `counted` and `spans` seen (functions that the program
	itself counts), and in the modes with durations those of `spans` with one. nests: no
	fibers, whose calls overlap those of their thread. Records by mode."""
	expected = counts_without_us(program, *words)
	by_mode = {}
	for mode in modes:
		counts, records = record_in_mode(mode, program, probes, *words)
		check_equal(counts, expected, f"--returns {mode}: results")
		seen = collections.Counter(base_name(event) for event in calls_and_entries(records))
		for name in (*counted, *spans):
			check_equal(seen[name], expected[name], f"--returns {mode}: calls of {name}")
		if mode in WITH_DURATIONS:
			timed = collections.Counter(base_name(event) for event in events_of(records, "call"))
			for name in spans:
				check_equal(timed[name], expected[name], f"--returns {mode}: calls of {name} with durations")
		if mode == "none":
			check_equal(events_of(records, "call"), [], "--returns none: calls with durations")
		if nests:
			check_nesting(records)
		by_mode[mode] = records
	return by_mode


def base_name(event):
	"""Without the parameters that a demangled name has."""
	return event["name"].split("(")[0]


def calls_and_entries(records):
	return events_of(records, "call") + events_of(records, "entry")


def ends(records, name):
	"""How the calls of a function ended: how -> count."""
	return collections.Counter(event["ended"] for event in events_of(records, "call") if base_name(event) == name)
