# SPDX-License-Identifier: GPL-2.0-or-later
"""`tests/run --repeat N PATTERN`: how often cases fail, and with what words; and --stress, which keeps the processors busy beside them."""
import collections
import concurrent.futures
import contextlib
import os
import subprocess
import sys

from outcome import counts_of, failed_results, name_of, words_of

BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n\tfor i in range(10 ** 6):\n\t\tpass"


@contextlib.contextmanager
def busy_processors(wanted):
	"""Something that never sleeps for each of them, until the block is left or this process has ended."""
	loops = [subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True) for _ in range(os.cpu_count() if wanted else 0)]
	try:
		yield
	finally:
		for loop in loops:
			loop.kill()
			loop.wait()


def run_copies(runner, copies, workers):
	"""Their outcomes. Where it is interrupted those that run are ended first: the pool waits for them."""
	with concurrent.futures.ThreadPoolExecutor(workers) as pool:
		try:
			return list(pool.map(runner.run, copies))
		except BaseException:
			pool.shutdown(wait=False, cancel_futures=True)
			runner.stop()
			raise


def repeat(runner, logs, jobs, times, workers):
	"""Runs each so often, one after the other where it must be alone; True when one failed. Logs of failures: logs/repeat."""
	(logs / "repeat").mkdir()
	bad = 0
	counts = collections.Counter()
	try:
		for job in jobs:
			copies = [job._replace(label=f"repeat/{job.label}.{number}") for number in range(1, times + 1)]
			outcomes = run_copies(runner, copies, 1 if job.alone else workers)
			bad += tell(logs, job, outcomes)
			for outcome in outcomes:
				counts += counts_of(outcome)
	finally:
		print(f"{counts['ok']} passed, {counts['not ok']} failed, {counts['skip']} skipped", flush=True)
	return bad > 0


def tell(logs, job, outcomes):
	"""A line for a case, or for each case of it that failed; how many of the runs failed."""
	failures, words = collections.Counter(), collections.defaultdict(collections.Counter)
	bad = 0
	for outcome in outcomes:
		failed = failed_results(outcome)
		bad += bool(failed)
		failures.update({name_of(job, result) for result in failed})
		for result in failed:
			words[name_of(job, result)][words_of(result)] += 1
		if not failed:
			(logs / f"{outcome.job.label}.log").unlink()
	seconds = sorted(outcome.seconds for outcome in outcomes)[len(outcomes) // 2]
	if not failures:
		word = "ok" if any(counts_of(outcome)["ok"] for outcome in outcomes) else "SKIP"
		print(f"{word:4} {name_of(job):60} failed 0 of {len(outcomes)}   {seconds:.1f} s", flush=True)
	for name, count in failures.items():
		print(f"FAIL {name:60} failed {count} of {len(outcomes)}   {seconds:.1f} s")
		for text, number in words[name].most_common():
			print(f"     | {number} x {text}", flush=True)
	return bad
