# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs that work: each is a context manager that gives the pid to record while a load goes on; `children`: with its children."""
import pwd
import socket

from lib import *
from python_environments import python_of_library

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def free_port():
	with socket.socket() as listening:
		listening.bind(("127.0.0.1", 0))
		return listening.getsockname()[1]


def wait_for_port(port, what):
	def answers():
		with socket.socket() as client:
			return not client.connect_ex(("127.0.0.1", port))
	wait_for(answers, what)


# Sends the same request again and again, and reads what comes, on some connections at once.
ASKS = """
import select, socket, sys
request = eval(sys.argv[2])
clients = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(4)]
for client in clients:
	client.sendall(request)
while True:
	for client in select.select(clients, [], [])[0]:
		if not client.recv(1 << 20):
			sys.exit("closed")
		client.sendall(request)
"""


def asking(port, request):
	return running([PYTHON, "-c", ASKS, port, repr(request)], **QUIET)


@contextlib.contextmanager
def redis():
	port = free_port()
	with running([need("redis-server"), "--port", port, "--save", ""], **QUIET) as server:
		wait_for_port(port, "redis")
		with running([need("redis-benchmark"), "-p", port, "-c", "4", "-l", "-q", "-t", "set,get,lpush,zadd"], **QUIET):
			yield server.pid


NGINX = """daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{}}
http {{ access_log {folder}/log; gzip on; gzip_types text/plain; root {folder}; default_type text/plain; keepalive_requests 1000000000;
	client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
	server {{ listen 127.0.0.1:{port}; }} }}
"""


@contextlib.contextmanager
def nginx():
	program = need("/usr/sbin/nginx")
	port = free_port()
	with tempfile.TemporaryDirectory(prefix="gpuprobe-test-") as folder:
		os.chmod(folder, 0o755)
		pathlib.Path(folder, "conf").write_text(NGINX.format(folder=folder, port=port))
		pathlib.Path(folder, "page").write_text("".join(f"{n} {n * n}\n" for n in range(20000)))
		with running([program, "-p", folder, "-c", folder + "/conf"], **QUIET) as server:
			wait_for_port(port, "nginx")
			with asking(port, b"GET /page HTTP/1.1\r\nHost: here\r\nAccept-Encoding: gzip\r\n\r\n"):
				yield server.pid


@contextlib.contextmanager
def postgres():
	folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
	if not folders or not (folders[-1] / "pgbench").exists():
		raise Skip("PostgreSQL is not installed")
	binaries, user = folders[-1], pwd.getpwnam("postgres")
	with tempfile.TemporaryDirectory(prefix="gpuprobe-test-") as folder:
		os.chown(folder, user.pw_uid, user.pw_gid)
		as_postgres = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": folder, **QUIET}
		subprocess.run([binaries / "initdb", "-D", folder + "/data", "-A", "trust", "--no-sync", "--no-locale"], check=True, **as_postgres)
		with running([binaries / "postgres", "-D", folder + "/data", "-k", folder, "-h", "", "-c", "fsync=off"], **as_postgres) as server:
			wait_for(lambda: not subprocess.run([binaries / "pg_isready", "-h", folder], **QUIET).returncode, "postgres")
			try:
				subprocess.run([binaries / "pgbench", "-i", "-q", "-h", folder, "postgres"], check=True, **as_postgres)
				with running([binaries / "pgbench", "-h", folder, "-c", "2", "-T", "100000", "postgres"], **as_postgres):
					yield server.pid
			finally:
				server.send_signal(signal.SIGINT)  # a fast shutdown
				server.wait(PATIENCE_S)


@contextlib.contextmanager
def python():
	work = "import time, json, zlib, re\nwhile True: re.sub('1+', 'x', zlib.decompress(zlib.compress(json.dumps(list(range(5000))).encode())).decode()); time.sleep(0.002)"
	with running([PYTHON, "-c", work]) as target:
		wait_for(lambda: "zlib" in pathlib.Path(f"/proc/{target.pid}/maps").read_text() or state(target.pid) == "S", "python")
		yield target.pid


@contextlib.contextmanager
def memcached():
	port = free_port()
	with running([need("memcached"), "-u", "nobody", "-l", "127.0.0.1", "-p", port], **QUIET) as server:
		wait_for_port(port, "memcached")
		with asking(port, b"set key 0 0 5\r\nvalue\r\nget key\r\nstats items\r\n"):
			yield server.pid


@contextlib.contextmanager
def printing_ready(command):
	with running(command, stdout=subprocess.PIPE, text=True) as target:
		check_equal(target.stdout.readline(), "ready\n", f"first line of {command}")
		yield target.pid


def cpp():
	return printing_ready([build("service.cc", "-O2", "-fomit-frame-pointer")])


def rust():
	program = BUILD / "service_of_rust"
	if not program.exists():
		result = subprocess.run([need("rustc"), "-o", program, PROGRAMS / "service.rs"], capture_output=True, text=True)
		check_equal(result.returncode, 0, result.stderr)
	return printing_ready([program])


def torch():
	return printing_ready([python_of_library("torch"), PROGRAMS / "service_torch.py"])


def node():
	return printing_ready([need("node"), PROGRAMS / "service.js"])
