# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of injection share: the agent's place is taken by a small library, gpuprobe's by a driver that is
linked with its code."""
import re

from lib import *

LIBRARIES = ["-lbpf", "-ldw", "-lelf", "-lcapstone", "-ljansson", "-liberty", "-lz", "-llzma", "-lbz2", "-lpthread",
	     "-ldl", "-lm"]


def driver():
	return build("inject_driver.c", "-std=gnu11", f"-I{ROOT}/userspace", f"-I{ROOT}",
		     str(ROOT / "build" / "libgpuprobe.a"), *LIBRARIES)


def agent(*flags):
	name = "inject_agent" + "".join(flags).replace("-D", "_").lower() + ".so"
	return build("inject_agent.c", "-shared", "-fPIC", f"-I{ROOT}", *flags, name=name)


def drive(*arguments, status=0):
	"""Runs the driver; what it printed. status: what it has to exit with, one or several."""
	result = subprocess.run([str(driver()), *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S)
	check(result.returncode in (status if isinstance(status, tuple) else (status,)),
	      f"exit status {result.returncode} of {arguments}: {result.stdout}{result.stderr}")
	return result.stdout


def maps(pid):
	"""Mappings, without the heap and the stack, which grow. Anonymous neighbours are one: the libc's arenas move the
	border between what they use and what they do not."""
	lines = []
	for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
		bounds, rest = line.split(" ", 1)
		start, end = bounds.split("-")
		if "[stack]" in rest or "[heap]" in rest:
			continue
		if len(rest.split()) > 4:
			lines.append(line)
		elif lines and lines[-1].endswith(f"-{start} anonymous"):
			lines[-1] = f"{lines[-1].split('-')[0]}-{end} anonymous"
		else:
			lines.append(f"{bounds} anonymous")
	return lines


def descriptors(pid):
	found = []
	for name in os.listdir(f"/proc/{pid}/fd"):
		try:
			found.append((name, os.readlink(f"/proc/{pid}/fd/{name}")))
		except FileNotFoundError:
			continue  # it was closed since it was listed
	return sorted(found)


def threads(pid):
	"""Threads with their names and signal masks."""
	found = {}
	for tid in os.listdir(f"/proc/{pid}/task"):
		try:
			status = pathlib.Path(f"/proc/{pid}/task/{tid}/status").read_text()
		except (FileNotFoundError, ProcessLookupError):
			continue  # it has ended since it was listed
		found[tid] = [line for line in status.splitlines() if line.startswith(("Name:", "SigBlk:", "ShdPnd:"))]
	return found


def states(pid):
	"""Where each thread is, for who looks at a target that hangs."""
	found = []
	for task in sorted(pathlib.Path(f"/proc/{pid}/task").iterdir())[:20]:
		with contextlib.suppress(OSError):
			status = [line for line in (task / "status").read_text().splitlines()
				  if line.startswith(("State:", "TracerPid:", "SigPnd:", "ShdPnd:", "SigBlk:"))]
			found.append(" ".join([task.name, *status, (task / "syscall").read_text(), (task / "stack").read_text()]))
	return "\n".join(found)


def footprint(pid):
	return {"maps": maps(pid), "descriptors": descriptors(pid), "threads": threads(pid)}


def settled(pid, expected, what):
	"""The footprint becomes what it was; a thread takes a moment to end."""
	with contextlib.suppress(Failure):
		wait_for(lambda: footprint(pid) == expected, what)
	now = footprint(pid)
	for key in now:
		new = [item for item in now[key] if item not in expected[key]]
		gone = [item for item in expected[key] if item not in now[key]]
		check(now[key] == expected[key], f"{what}: {key}: new {new}, gone {gone}, {now[key] if key == 'threads' else ''}")


def nothing_of_ours(pid):
	def left():
		return [line for line in maps(pid) if "gpuprobe" in line] + \
		       [name for _, name in descriptors(pid) if "gpuprobe" in name] + \
		       [lines for lines in threads(pid).values() if "gpuprobe" in str(lines)]
	with contextlib.suppress(Failure):
		wait_for(lambda: not left(), "the target to have nothing of ours")
	check_equal(left(), [], "left in the target")


@contextlib.contextmanager
def ordinary(allocating=2):
	"""The multi-threaded target, which must end well."""
	with running([build("inject_target.c"), allocating], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
		     text=True) as process:
		check_equal(process.stdout.readline(), "ready\n", "first line of the target")
		yield process
		process.stdin.close()
		check_equal(process.wait(PATIENCE_S), 0, f"exit status of the target ({process.stdout.read()})")
