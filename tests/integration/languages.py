# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs in other languages than C and C++, and what they take: Python with C++ exceptions through its frames, greenlet,
gevent; Rust; Go. Each speaks the protocol of truth() (lib.py)."""
from python_environments import python_of
from returns import *

INTERPRETER = ("PyObject_Vectorcall", "_PyEval_EvalFrameDefault")

PROTOCOL = """
import sys
def begin():
	print("ready", flush=True)
	sys.stdin.readline()
def end(**counts):
	for name, count in counts.items():
		print(name, count)
	print("done", flush=True)
	sys.stdin.read()
"""

EXCEPTIONS = PROTOCOL + """
import python_throws
def inner(value):
	return sum(python_throws.translated(value) is None for i in range(1))
def through(value):
	return [python_throws.raw(value)]
begin()
errors = 0
for i in range(200):
	try:
		inner(i)
	except IndexError:
		errors += 1
returned = sum(python_throws.call_back(inner, i) for i in range(200))
raw = sum(python_throws.catch_raw(through, i) for i in range(200))
end(module_inner=600, errors=errors, returned=returned, raw=raw, failures=int((errors, returned, raw) != (100, 100, 100)))
"""

GREENLETS = PROTOCOL + """
import greenlet
def run(depth, results, main):
	if depth:
		return run(depth - 1, results, main) + 1
	for i in range(20):
		results.append(main.switch(i))
	return 0
begin()
finished = switches = caught = 0
for round in range(3):
	results, main = [], greenlet.getcurrent()
	workers = [greenlet.greenlet(run) for i in range(5)]
	for number, worker in enumerate(workers):
		worker.switch(number * 3, results, main)
	for i in range(20):
		for number, worker in enumerate(workers):
			value = worker.switch(i)
			switches += 1
			if worker.dead:
				finished += value == number * 3
	def throws():
		main.switch()
		raise ValueError
	worker = greenlet.greenlet(throws)
	worker.switch()
	try:
		worker.switch()
	except ValueError:
		caught += 1
end(finished=finished, switches=switches, caught=caught, failures=int((finished, caught) != (15, 3)))
"""

GEVENT = PROTOCOL + """
import gevent, gevent.queue, gevent.pool
def work(number, queue):
	for i in range(10):
		gevent.sleep(0)
		queue.put(number * i)
	if number % 3 == 0:
		raise ValueError(number)
	return number
gevent.get_hub().print_exception = lambda *a: None
begin()
queue = gevent.queue.Queue()
jobs = [gevent.spawn(work, number, queue) for number in range(30)]
gevent.joinall(jobs)
good = sum(job.value for job in jobs if job.successful())
total = sum(queue.get() for i in range(300))
mapped = sum(gevent.pool.Pool(4).imap_unordered(lambda x: x * x, range(50)))
end(good=good, total=total, mapped=mapped, failures=int(total != 45 * sum(range(30))))
"""


def interpreter_file(python):
	"""Path of the file that holds the interpreter: itself, or libpython."""
	code = "print([l.split()[-1] for l in open('/proc/self/maps') if 'libpython3' in l][:1])"
	path = eval(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout)
	return path[0] if path else os.path.realpath(python)


def interpreter_probes(python):
	binary = os.path.basename(interpreter_file(python))
	return [word for name in INTERPRETER for word in ("-F", f"{binary}:{name}")]


def program_of(name, python, code, path=""):
	"""A script that runs as a program, so that truth() can start it."""
	script = BUILD / (name + ".py")
	script.write_text(f"#!{python} -S\n" + ("import sys; sys.path.insert(0, %r)\n" % path if path else "") + code)
	script.chmod(0o755)
	return script


def site_packages(python):
	code = "import sysconfig; print(sysconfig.get_path('platlib'))"
	return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def compile_with(compiler, source, output, *command):
	result = subprocess.run([compiler, *command, "-o", str(BUILD / output), str(PROGRAMS / source)], capture_output=True, text=True,
				env={**os.environ, "GOCACHE": str(CACHE / "go-cache"), "GO111MODULE": "off", "GOTOOLCHAIN": "local"})
	check_equal(result.returncode, 0, f"{os.path.basename(compiler)} of {source}: {result.stderr.strip()[:500]}")
	return BUILD / output
