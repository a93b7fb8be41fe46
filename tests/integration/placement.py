# SPDX-License-Identifier: GPL-2.0-or-later
"""Every function of large programs and libraries probed, each at the instruction where it costs least: a probe on a
wrong byte would end or change what they compute. Each works without probes, with them, and after them."""
import re

from lib import *

# What is probed of a process, as far as it maps it: the beginnings of names.
LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libcrypto.so.3", "libssl.so.3", "libpython3")


def mapped(pid):
	paths = {line.split(None, 5)[5].strip() for line in open(f"/proc/{pid}/maps", encoding="utf-8") if "/" in line}
	return {os.path.basename(path) for path in paths}


@contextlib.contextmanager
def everything_probed(pid, at_least, *programs, pids=()):
	binaries = [*programs, *(name for name in sorted(mapped(pid)) if name.startswith(LIBRARIES))]
	words = [word for binary in binaries for word in ("-F", f"{binary}:*")]
	with recording("-p", ",".join(map(str, (pid, *pids))), *words, "--returns", "none", "--max-functions", 100000, "-d", LONG,
		       outputs=("gpr",)) as session:
		yield session
		session.stop()
		check_equal(session.exit_status, 0, "exit status of gpuprobe: " + session.stderr)
	probed = re.search(r"(\d+) probed \((\d+) cheap, (\d+) stepped\)", session.stderr)
	check(probed and int(probed[1]) >= at_least, f"probed: {session.stderr}")
	recorded = re.search(r"recorded [\d.]+ s: ([\d,]+) (?:calls|events)", session.stderr)
	check(recorded and int(recorded[1].replace(",", "")) > 10000, f"calls: {session.stderr}")
	print(f"# {probed[0]}; {recorded[0]}", flush=True)


class Worker:
	"""A process that works once for each line, and answers by a line."""

	def __init__(self, process):
		self.process = process
		check_equal(process.stdout.readline(), "ready\n", "first line")

	def work(self):
		self.process.stdin.write("work\n")
		self.process.stdin.flush()
		result = self.process.stdout.readline()
		if not result:
			raise Harm(f"the target died (exit status {self.process.poll()})")
		return result

	def finish(self):
		self.process.stdin.close()
		return self.process.wait(PATIENCE_S)


def work_under_probes(command, at_least, *programs):
	with running(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
		worker = Worker(process)
		expected = worker.work()
		check_equal(worker.work(), expected, "twice the same without probes")
		with everything_probed(process.pid, at_least, *programs):
			check_equal(worker.work(), expected, "with probes")
		check_equal(worker.work(), expected, "after the recording")
		check_equal(worker.finish(), 0, "exit status")


PYTHON_PROGRAM = r"""
import bisect, collections, datetime, decimal, difflib, fractions, functools, hashlib, heapq, io, itertools, json, math, pickle
import random, re, statistics, string, struct, sys, textwrap, threading, zlib

def numbers():
	yield math.factorial(120), pow(3, 10**5, 10**40), int("9" * 200) // 7 ** 30, math.gcd(2 ** 90, 6 ** 40)
	yield [round(math.sin(i) * math.exp(i / 50), 9) for i in range(60)], statistics.stdev(range(50)), 0.1 + 0.2
	yield str(decimal.Decimal(2).sqrt()), str(fractions.Fraction(355, 113) ** 7), complex(1, 2) ** 5, hex(2 ** 70), float.hex(0.1)

def texts():
	text = " ".join("".join(random.choices(string.ascii_letters, k=5)) for i in range(100))
	yield re.findall(r"\b[a-m]\w*?([x-z])", text), textwrap.fill(text, 60), text.translate(str.maketrans("abc", "xyz")), text.title()
	yield json.loads(json.dumps({"a": [1, 2.5, None, "\u00e9\u4e2d"], "b": {str(i): i for i in range(50)}}))
	yield list(difflib.unified_diff(text.split()[:80], text.split()[20:100])), "{:>10.3f}|{!r:^20}".format(3.14159, "x"), f"{text[:9]:*^30}"

def containers():
	values = [random.randrange(1000) for i in range(300)]
	heapq.heapify(values)
	counts = collections.Counter(values)
	yield [heapq.heappop(values) for i in range(100)], sorted(counts.most_common(20)), list(itertools.islice(itertools.permutations(range(5)), 60))
	yield sorted({i % 37 for i in values}), {k: v for k, v in sorted(counts.items())}, functools.reduce(lambda a, b: a * 31 + b & 0xffffffff, values)
	yield pickle.loads(pickle.dumps(values)) == values, struct.pack("<IdH", 1, 2.5, 3), bytes(reversed(bytearray(range(100)))), zlib.crc32(zlib.compress(bytes(values[i] % 256 for i in range(100))))

def errors():
	caught = 0
	for i in range(60):
		try:
			[lambda: 1 // 0, lambda: [][1], lambda: {}[i], lambda: int("x"), lambda: None.x][i % 5]()
		except (ZeroDivisionError, LookupError, ValueError, AttributeError) as error:
			caught += len(str(error)) + len(type(error).__name__)
	yield caught

class Shape:
	def __init__(self, side): self.side = side
	def __lt__(self, other): return self.side < other.side
	@property
	def area(self): return self.side ** 2

def objects():
	shapes = sorted(Shape(random.random()) for i in range(80))
	yield sum(shape.area for shape in shapes), bisect.bisect([shape.side for shape in shapes], 0.5), str(datetime.date(2024, 2, 29) + datetime.timedelta(days=366))
	results = []
	threads = [threading.Thread(target=lambda n=n: results.append(sum(range(n * 1000)))) for n in range(4)]
	[thread.start() for thread in threads], [thread.join() for thread in threads]
	yield sorted(results)

def digests():
	for name in ("sha1", "sha256", "sha512", "sha3_256", "blake2b", "md5"):
		digest = hashlib.new(name)
		for i in range(20):
			digest.update(bytes(range(256)) * i)
		yield digest.hexdigest()
	yield hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 50).hex(), hashlib.scrypt(b"p", salt=b"s", n=16, r=4, p=1).hex()

print("ready", flush=True)
for line in sys.stdin:
	random.seed(5)
	out = io.StringIO()
	for part in (numbers, texts, containers, errors, objects, digests):
		for value in part():
			print(value, file=out)
	print(hashlib.sha256(out.getvalue().encode()).hexdigest(), flush=True)
"""
