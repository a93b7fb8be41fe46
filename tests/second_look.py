# SPDX-License-Identifier: GPL-2.0-or-later
"""The second look of tests/run: cases that failed run again by themselves when all else is over, up to twice. One that passes then is
flaky and has passed; one that fails again has failed.

Nothing is looked at again where that could hide a fault: a target that died or hung, a sanitizer that spoke, tests that are the
same each time (unit, golden: tests/table.py, second_look), and more cases than MOST.
"""
import collections
import shutil
import time

from outcome import failed_results, name_of, is_harm, results_of, words_of

MOST = 5  # more that failed are no accident
LOOKS = 2
LOOK_SECONDS = 120
ALL_SECONDS = 300

# outcome, result: of the first time.
Failed = collections.namedtuple("Failed", "outcome result")


def failed_in(outcomes):
	return [Failed(outcome, result) for outcome in outcomes for result in failed_results(outcome)]


def chosen(failed):
	"""Those that are looked at again."""
	if len(failed) > MOST:
		return []
	return [one for one in failed if one.outcome.job.second_look and not is_harm(one.outcome, one.result)]


def job_again(one, number, seconds):
	"""Its case by itself, or the whole of a test that knows no cases."""
	job = one.outcome.job
	cases = (one.result.name,) if job.second_look == "case" and one.result.name else job.cases
	name = name_of(job, one.result).replace("/", "-").replace(":", ".")
	return job._replace(test=job.test._replace(limit_seconds=seconds), cases=cases, label=f"flaky/{name}.again-{number}")


def passes_again(runner, one, deadline):
	"""Does it pass in one of the looks that there is time for?"""
	for number in range(1, LOOKS + 1):
		seconds = min(LOOK_SECONDS, int(deadline - time.monotonic()))
		if seconds <= 0:
			return False
		again = runner.run(job_again(one, number, seconds))
		failed = failed_results(again)
		if not failed and any(result.word == "ok" for result in results_of(again)):
			return True
		if any(is_harm(again, result) for result in failed):
			return False
	return False


def look(runner, logs, outcomes):
	"""Those of the failed that are flaky. All that was printed is in logs/flaky."""
	flaky = []
	deadline = time.monotonic() + ALL_SECONDS
	passes = {}  # a test that runs again as a whole does so once for all of its cases
	for one in chosen(failed_in(outcomes)):
		job = one.outcome.job
		(logs / "flaky").mkdir(exist_ok=True)
		name = name_of(job, one.result).replace("/", "-").replace(":", ".")
		shutil.copyfile(logs / f"{job.label}.log", logs / "flaky" / f"{name}.first.log")
		print(f"once more: {name_of(job, one.result)}: {words_of(one.result)}", flush=True)
		key = job.test.name if job.second_look == "whole" else name
		if key not in passes:
			passes[key] = passes_again(runner, one, deadline)
		if passes[key]:
			flaky.append(one)
	return flaky
