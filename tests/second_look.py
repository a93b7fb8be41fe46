# SPDX-License-Identifier: GPL-2.0-or-later
"""The second look of tests/run: cases that failed run again by themselves when all else is over, up to twice. One that passes then is
flaky and has passed; one that fails again has failed.

Nothing is looked at again where that could hide a fault: a target that died or hung, a sanitizer that spoke, tests that are the
same each time (unit, golden: tests/table.py, second_look), and more cases than MOST.
"""
import collections
import re
import shutil
import time

from outcome import failed_results, name_of, is_harm, results_of, words_of

MOST = 5  # more that failed are no accident
LOOKS = 2
LOOK_SECONDS = 120
ALL_SECONDS = 300
LOG_NAME_LETTERS = 150

# outcome, result: of the first time.
Failed = collections.namedtuple("Failed", "outcome result")


def failed_in(outcomes):
	return [Failed(outcome, result) for outcome in outcomes for result in failed_results(outcome)]


def chosen(failed):
	"""Those that are looked at again."""
	if len(failed) > MOST:
		return []
	return [one for one in failed if one.outcome.job.second_look and not is_harm(one.outcome)]


def log_name(text):
	return re.sub(r"[^\w.-]", "-", text.replace(":", "."))[:LOG_NAME_LETTERS]


def job_again(one, number, seconds):
	"""Its case by itself, or the whole of a test that knows no cases."""
	job = one.outcome.job
	cases = (one.result.name,) if job.second_look == "case" and one.result.name else job.cases
	label = f"flaky/{log_name(name_of(job, one.result))}.again-{number}"
	return job._replace(test=job.test._replace(limit_seconds=seconds), cases=cases, label=label)


def passed_in_looks(runner, one, deadline):
	"""The names of what passed in the first of the looks that there is time for in which nothing failed."""
	for number in range(1, LOOKS + 1):
		seconds = min(LOOK_SECONDS, int(deadline - time.monotonic()))
		if seconds <= 0:
			break
		again = runner.run(job_again(one, number, seconds))
		if not failed_results(again):
			return {result.name for result in results_of(again) if result.word == "ok"}
		if is_harm(again):
			break
	return set()


def passed_again(one, passed):
	"""Its very case did; a program that had died before it told of all of them: some did, and none failed."""
	return one.result.name in passed if one.result.name else bool(passed)


def look(runner, logs, outcomes):
	"""Those of the failed that are flaky. All that was printed is in logs/flaky."""
	flaky = []
	deadline = time.monotonic() + ALL_SECONDS
	passed = {}  # a test that runs again as a whole does so once for all of its cases
	for one in chosen(failed_in(outcomes)):
		job = one.outcome.job
		name = name_of(job, one.result)
		key = job.test.name if job.second_look == "whole" else name
		print(f"once more: {name}: {words_of(one.result)}", flush=True)
		try:
			(logs / "flaky").mkdir(exist_ok=True)
			shutil.copyfile(logs / f"{job.label}.log", logs / "flaky" / f"{log_name(name)}.first.log")
			if key not in passed:
				passed[key] = passed_in_looks(runner, one, deadline)
		except (OSError, ValueError) as error:
			print(f"can't look at {name} again: {error}", flush=True)
			passed.setdefault(key, set())
		if passed_again(one, passed[key]):
			flaky.append(one)
	return flaky
