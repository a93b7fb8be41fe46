# SPDX-License-Identifier: GPL-2.0-or-later
"""What a job of tests/run came to: its results by what it printed, and whether a target was harmed."""
import collections
import re

SKIP_STATUS = 77
LAST_LINES = 12
RESULT = re.compile(r"(ok|not ok|skip)(?: (.*)|$)")
TELLING = re.compile(r"not ok |# |stopped: |.*ERROR: (Address|Leak)Sanitizer|.*runtime error")
# Nothing that is looked at twice: "# harm:" is integration/lib.py's word for a target that died or hung, or a gpuprobe that crashed.
HARM = re.compile(r"# harm: |stopped: |.*(Address|Leak|Thread|UndefinedBehavior)Sanitizer|.*runtime error:"
		  r"|.*\b(Segmentation fault|Illegal instruction|Bus error|Aborted)\b")

# cases: None for the whole of the test. second_look: as in table.py, "" where its class has none. label: of its log.
Job = collections.namedtuple("Job", "test cases alone second_look usual_seconds label")
# times: (seconds, case) of a job that told of its cases. stopped: it took too long.
Outcome = collections.namedtuple("Outcome", "job status seconds lines times stopped")
# word: ok, not ok, skip. name: of the case, "" for the whole of a program that tells of none. lines: since the case before it.
Result = collections.namedtuple("Result", "word name text lines")


def results_of(outcome):
	"""One for each line "ok|not ok|skip NAME"; a program that dies, hangs, or fails without saying which test, is itself one failed test."""
	results, lines = [], []
	for line in outcome.lines:
		lines.append(line)
		match = RESULT.match(line)
		if match:
			text = match[2] or ""
			name, _, reason = text.partition(": ") if ": " in text else text.partition(" ")
			results.append(Result(match[1], name, reason, lines))
			lines = []
	failed = any(result.word == "not ok" for result in results)
	if outcome.stopped or outcome.status not in (0, 1, SKIP_STATUS) or (outcome.status == 1 and not failed):
		results.append(Result("not ok", "", "", lines))  # cases behind those that it told of may not have run
	elif outcome.status == SKIP_STATUS and not failed:
		return [Result("skip", "", (outcome.lines or ["it does not say why"])[-1], outcome.lines)]
	elif not results:
		results.append(Result("ok", "", "", lines))
	return results


def failed_results(outcome):
	return [result for result in results_of(outcome) if result.word == "not ok"]


def counts_of(outcome):
	"""ok, not ok, skip -> how many."""
	return collections.Counter(result.word for result in results_of(outcome))


def name_of(job, result=None):
	"""What it, or a result of it, is called in what tests/run prints."""
	case = result.name if result else ""
	case = case or (job.cases[0] if job.cases and len(job.cases) == 1 else "")
	return f"{job.test.name}:{case}" if case else job.test.name


def is_harm(outcome):
	"""A target died or hung, or a sanitizer spoke: no accident of a busy machine. Which case that was about can't be told: what a program
	and those that it starts print comes in no certain order."""
	return outcome.stopped or any(HARM.match(line) for line in outcome.lines)


def telling(lines):
	"""Those that tell why it failed, else the last ones."""
	return [line for line in lines if TELLING.match(line)] or lines[-LAST_LINES:]


def words_of(result):
	"""Why it failed, in one line."""
	told = [line[2:].strip() for line in result.lines if line.startswith("# ")] or [line for line in telling(result.lines) if line.strip()]
	return " | ".join(told)[:300] or "it does not say why"
