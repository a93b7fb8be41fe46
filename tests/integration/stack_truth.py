# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of processes that stand still, as gpuprobe records them and as libdw walks them, frame by frame."""
import random

from lib import *

ROUNDS_APART_S = 0.02  # at most


class Walker:
	"""libdw, at a process that is stopped."""

	def __init__(self, process):
		self.process = process

	def stacks(self):
		"""{thread: ([address as gpuprobe has it], how it ends)}"""
		self.process.stdin.write("now\n")
		self.process.stdin.flush()
		stacks, addresses = {}, []
		for line in self.process.stdout:
			word, rest = line.rstrip("\n").split(" ", 1) if " " in line else (line.strip(), "")
			if word == "done":
				return stacks
			check(word != "failed", f"libdw: {rest}")
			if word == "thread":
				thread, addresses = int(rest), []
			elif word == "end":
				stacks[thread] = addresses, rest
			else:
				# Where a signal struck is no return address, but looked at like one.
				addresses.append(int(word, 16) + (rest == "1" and len(addresses) > 0))
		raise Failure(f"libdw's program ended, exit status {self.process.wait()}")


@contextlib.contextmanager
def walking(pid):
	if not (BUILD / "stack_by_libdw").exists():
		build("stack_by_libdw.c", "-ldw")
	with running([BUILD / "stack_by_libdw", pid], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
		yield Walker(process)


def stands_still(pid):
	try:
		return all(state(f"{pid}/task/{tid}") in "Tt" for tid in os.listdir(f"/proc/{pid}/task"))
	except FileNotFoundError:
		return False  # a thread ended meanwhile


def stop_and_walk(pid, walker, rounds):
	"""[(from, to, until it was let go on, {thread: (addresses, end)})] of each time it stood still."""
	chance, seen = random.Random(1), []
	for _ in range(rounds):
		time.sleep(chance.random() * ROUNDS_APART_S)
		start_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
		os.kill(pid, signal.SIGSTOP)
		try:
			wait_for(lambda: stands_still(pid), f"process {pid} to stop")
			end_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
			stacks = walker.stacks()
			seen.append((start_ns, end_ns, time.clock_gettime_ns(time.CLOCK_MONOTONIC), stacks))
		finally:
			os.kill(pid, signal.SIGCONT)
	return seen


class Comparison:
	"""Of all threads at all times; others: a text for each kind of difference, with the first one of it."""

	def __init__(self, records, seen):
		self.ledger = losses(records)
		self.equal = self.equal_complete = self.frames = self.guessed = self.unrecorded = self.longer = 0
		self.others = collections.Counter()
		self.examples = {}
		self.names = {(frame["pid"], int(frame["address"], 16)): frame for frame in events_of(records, "frame")}
		self.stops = collections.defaultdict(list)
		for event in events_of(records, "off_cpu"):
			if event["reason"] == "stopped" and "stack" in event:
				self.stops[event["tid"]].append(event)
		for start_ns, end_ns, go_on_ns, stacks in seen:
			for tid, (addresses, end) in stacks.items():
				# A thread is stopped by its state a moment before it leaves its CPU; where another one takes that from it first, some ms.
				found = [event for event in self.stops[tid] if start_ns <= event["ts"] <= end_ns][-1:] or \
					[event for event in self.stops[tid] if end_ns < event["ts"] < go_on_ns]
				if found:
					self.compare(found[0], addresses, end)
				else:
					self.unrecorded += 1

	@property
	def compared(self):
		return self.equal + self.longer + sum(self.others.values())

	def compare(self, event, theirs, end):
		ours = [int(address, 16) for address in event["stack"]]
		self.guessed += bool(event.get("stack_guessed"))
		self.frames += len(theirs)
		if ours == theirs:
			self.equal += 1
			self.equal_complete += event.get("stack_end") == "complete"
			return
		same = next((place for place, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]), min(len(ours), len(theirs)))
		if same == len(theirs) and end != "complete":
			self.longer += 1
			return
		kind = f"ours ends {event.get('stack_end')}, {event.get('stack_guessed', 0)} guessed; libdw's ends: {end}"
		self.others[kind] += 1
		self.examples.setdefault(kind, f"frame {same}: {self.around(event, ours, same)}, libdw: {self.around(event, theirs, same)}")

	def around(self, event, addresses, place):
		names = []
		for at in range(max(0, place - 1), min(len(addresses), place + 2)):
			frame = self.names.get((event["pid"], addresses[at] - (at > 0)), {})
			names.append(f"{addresses[at]:#x} {frame.get('name', '?')} ({os.path.basename(frame.get('module', '?'))})")
		return " < ".join(names) or "nothing"

	def __str__(self):
		return "\n".join([f"{self.compared} stacks of {self.frames} frames compared: {self.equal} equal, {self.longer} longer than libdw's, "
				  f"{sum(self.others.values())} other ones; {self.unrecorded} not recorded; ledger {dict(self.ledger)}",
				  *(f"{count} times: {kind}: {self.examples[kind]}" for kind, count in self.others.items())])


def compare(pid, rounds):
	"""Stops the process again and again while gpuprobe records it."""
	with walking(pid) as walker, recording("-p", pid, "-d", LONG, "--blocking-min-us", 0, "--no-python", blocking=True) as session:
		session.wait_for_count("off_cpu", 1)
		seen = stop_and_walk(pid, walker, rounds)
		session.stop()
		check_equal(session.exit_status, 0, "exit status of gpuprobe: " + session.stderr)
		return Comparison(session.events(), seen)
