# SPDX-License-Identifier: GPL-2.0-or-later
"""Section screens of tests/bench/run: what gpuprobe says of programs that people know, without any option, as docs/screens.md has it."""
import contextlib
import os
import pathlib
import pwd
import re
import signal
import subprocess
import tempfile
import time

import stack_programs

SECONDS = "5"
COLUMNS = 120
PRIVATE = re.compile(r"/tmp/gpuprobe-(?:test|screen)-\w+")


def lib_and_services():
	lib, services, _ = stack_programs.integration()
	return lib, services


def of_service(name, *options):
	"""A service of the tests, with its load."""
	@contextlib.contextmanager
	def begin():
		with getattr(lib_and_services()[1], name)() as pid:
			time.sleep(1)
			yield ["-p", pid, *options]
	return begin


@contextlib.contextmanager
def nginx():
	services = lib_and_services()[1]
	one = services.NGINX
	services.NGINX = one.replace("master_process off; worker_processes 1", "worker_processes 4")
	try:
		with services.nginx() as pid:
			time.sleep(1)
			try:
				yield ["-p", pid, "--children"]
			finally:
				# Its workers would outlive it.
				os.kill(pid, signal.SIGTERM)
				lib_and_services()[0].wait_for(lambda: lib_and_services()[0].state(pid) == "Z", "nginx to end")
	finally:
		services.NGINX = one


@contextlib.contextmanager
def mariadb():
	lib, services = lib_and_services()
	server, load, user = lib.need("/usr/sbin/mariadbd"), lib.need("mariadb-slap"), pwd.getpwnam("mysql")
	with tempfile.TemporaryDirectory(prefix="gpuprobe-screen-") as folder:
		os.chown(folder, user.pw_uid, user.pw_gid)
		subprocess.run(["mariadb-install-db", "--user=mysql", f"--datadir={folder}/data", "--auth-root-authentication-method=normal"], check=True, **services.QUIET)
		with lib.running([server, "--no-defaults", "--user=mysql", f"--datadir={folder}/data", f"--socket={folder}/socket", "--skip-networking"], **services.QUIET) as process:
			lib.wait_for(lambda: os.path.exists(f"{folder}/socket"), "MariaDB")
			with lib.running([load, f"--socket={folder}/socket", "-uroot", "--auto-generate-sql", "--auto-generate-sql-load-type=mixed", "--concurrency=4",
					  "--number-of-queries=100000000"], **services.QUIET):
				time.sleep(2)
				yield ["-p", process.pid]


JAVA = """import java.util.*;
public class Spin {
	static long hashes(long n) {
		long sum = 0;
		Map<Long, String> map = new HashMap<>();
		for (long i = 0; i < n; i++) { map.put(i % 977, Long.toString(i)); sum += map.get(i % 977).hashCode(); }
		return sum;
	}
	public static void main(String[] arguments) throws Exception {
		System.out.println("ready");
		for (long x = 0;; x += hashes(100000)) Thread.sleep(1);
	}
}
"""


@contextlib.contextmanager
def java():
	lib, _ = lib_and_services()
	with tempfile.TemporaryDirectory(prefix="gpuprobe-screen-") as folder:
		pathlib.Path(folder, "Spin.java").write_text(JAVA)
		with lib.running([lib.need("java"), folder + "/Spin.java"], stdout=subprocess.PIPE, text=True) as process:
			process.stdout.readline()
			time.sleep(2)
			yield ["-p", process.pid]


MAKEFILE = "objects = $(addsuffix .o,$(shell seq 40))\nall: $(objects) ; @true\n%.o: ; gcc -O2 -x c -c -o $@ source.c\n"
SOURCE = "\n".join(f"int function{number}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += i * {number} ^ s >> 3; return s; }}" for number in range(400))


@contextlib.contextmanager
def make():
	with tempfile.TemporaryDirectory(prefix="gpuprobe-screen-") as folder:
		pathlib.Path(folder, "Makefile").write_text(MAKEFILE)
		pathlib.Path(folder, "source.c").write_text(SOURCE)
		yield ["--children", "--", "make", "-s", "-j2", "-C", folder]


SLEEPER = "import select, socket, threading\nlistening = socket.create_server(('127.0.0.1', 0))\nlock = threading.Lock()\nlock.acquire()\n" \
	  "for _ in range(3): threading.Thread(target=lock.acquire, daemon=True).start()\nprint('ready', flush=True)\nselect.select([listening], [], [])"


@contextlib.contextmanager
def sleeper():
	lib, _ = lib_and_services()
	with lib.running([lib.PYTHON, "-c", SLEEPER], stdout=subprocess.PIPE, text=True) as process:
		process.stdout.readline()
		time.sleep(0.5)
		yield ["-p", process.pid]


@contextlib.contextmanager
def sim_train():
	lib, services = lib_and_services()
	with lib.running([lib.need(str(pathlib.Path(__file__).parents[2] / "build" / "sim" / "sim-train")), "--seconds", "600"], **services.QUIET) as process:
		time.sleep(1)
		cupti = next((pathlib.Path(__file__).parents[2] / "build" / "sim" / "cupti-13.0").glob("libcupti.so.*"))
		yield ["-p", process.pid, "--cupti", cupti]


SCREENS = (("redis-server under redis-benchmark", of_service("redis")), ("nginx, 4 workers, pages that it compresses", nginx),
	   ("PostgreSQL under pgbench", of_service("postgres", "--children")), ("MariaDB under mariadb-slap", mariadb), ("node", of_service("node")), ("java", java),
	   ("`make -j2`", make), ("a Python program that waits for connections, and three threads for a lock", sleeper),
	   ("the tests' training loop on a simulated CUDA", sim_train))

HEAD = """# What gpuprobe says without being asked

`sudo gpuprobe -p PID -d 5` of programs that people know: made by `tests/bench/run screens`, which writes this file, on the machine of the tests (two
CPUs, shared). Nothing is cut or changed but the names of folders of the tests.
"""


def screen(bench, what, begin):
	lib, _ = lib_and_services()
	with contextlib.ExitStack() as stack:
		try:
			words = [str(word) for word in stack.enter_context(begin())]
		except lib.Skip as reason:
			bench.say(f"{what}: SKIP {reason}")
			return None
		folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gpuprobe-screen-"))
		at = words.index("--") if "--" in words else len(words)
		command = [*words[:at], "-d", SECONDS, *words[at:]]
		# As on a terminal of that width.
		result = subprocess.run([lib.GPUPROBE, *command], capture_output=True, text=True, cwd=folder, env={**os.environ, "COLUMNS": str(COLUMNS)})
	text = (result.stderr + result.stdout).rstrip()
	text, shown = (re.sub(r"[^\s(]*/build/sim", "/FOLDER/sim", PRIVATE.sub("/tmp/FOLDER", part)) for part in (text, " ".join(command)))
	bench.say(f"{what}: {len(text.splitlines())} lines, exit status {result.returncode}")
	return f"\n## {what[0].upper() + what[1:]}\n\n```\n$ sudo gpuprobe {shown}\n{text}\n```\n"


def measure(bench):
	texts = [screen(bench, what, begin) for what, begin in SCREENS]
	if None in texts:
		return
	path = pathlib.Path(__file__).parents[2] / "docs" / "screens.md"
	path.write_text(HEAD + "".join(texts))
	bench.say(f"wrote {path}")
