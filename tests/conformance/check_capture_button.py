#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""XProf's own "Capture profile" against gpuprobe serve: a running xprof server is asked as its page asks it, and its own reader
reads what it has written. Run by a Python that has xprof, as root, with build/sim. Prints "ok|not ok NAME" a test."""
import gzip
import json
import pathlib
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))
from gpu import *
from profiler import Server


def free_port():
	with socket.socket() as probe:
		probe.bind(("127.0.0.1", 0))
		return probe.getsockname()[1]


def get(url, timeout=120):
	"""(HTTP status, body); status None: nobody answers."""
	try:
		with urllib.request.urlopen(url, timeout=timeout) as answer:
			status, body = answer.status, answer.read()
	except urllib.error.HTTPError as error:
		status, body = error.code, error.read()
	except OSError:
		return None, b""
	return status, gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body


@contextlib.contextmanager
def everything():
	"""A target, gpuprobe serve, an xprof server: (server, what captures)."""
	with training("--rate", "100") as train, tempfile.TemporaryDirectory(prefix="gpuprobe-xprof-") as folder, \
	     open(f"{folder}/xprof.log", "w") as log:
		logdir = pathlib.Path(folder) / "logdir"
		logdir.mkdir()
		port = free_port()
		page = f"http://127.0.0.1:{port}/data/plugin/profile"
		with running([GPUPROBE, "serve", "-p", train.pid, "--port", 0, "--cupti", cupti()], stderr=subprocess.PIPE, text=True) as process, \
		     running([sys.executable, "-m", "xprof.server", "--logdir", logdir, "--port", port, "--grpc_port", free_port()],
			     stdout=log, stderr=log):
			server = Server(process)
			wait_for(lambda: get(f"{page}/version", 2)[0] == 200, f"xprof to serve: {pathlib.Path(log.name).read_text()[-500:]}", 120)

			def capture(**arguments):
				"""(HTTP status, JSON, the files that came)"""
				before = set(logdir.rglob("*.xplane.pb"))
				words = urllib.parse.urlencode({"service_addr": f"localhost:{server.port}", "is_tpu_name": "false", "duration": 500,
								"num_retry": 0, "worker_list": "", **arguments})
				status, answer = get(f"{page}/capture_profile?{words}")
				return status, json.loads(answer), sorted(set(logdir.rglob("*.xplane.pb")) - before)

			yield server, capture
			check_equal(server.stop(), 0, f"exit status of serve: {server.said}")
		train.finish()


def kernels_of(path):
	from xprof.convert import raw_to_tool_data
	data, _ = raw_to_tool_data.xspace_to_tool_data([str(path)], "kernel_stats", {"use_saved_result": False})
	return [row["c"] for row in json.loads(data)["rows"]]


def check_captured(answer):
	status, words, files = answer
	check_equal((status, "result" in words), (200, True), f"answer of xprof: {words}")
	check_equal(len(files), 1, f"files {files}")
	return files[0]


@test
def button_captures():
	with everything() as (server, capture):
		path = check_captured(capture())
		check_equal(path.name, f"localhost_{server.port}.xplane.pb", "name of the file")
		check("plugins/profile" in str(path), f"place of the file: {path}")
		check(len(kernels_of(path)) >= 3, "kernels in kernel_stats")


@test
def button_levels_and_delay_are_honoured():
	with everything() as (server, capture):
		path = check_captured(capture(device_tracer_level=0))
		check_equal(kernels_of(path), [], "kernels with device_tracer_level 0")
		began = time.monotonic()
		path = check_captured(capture(delay=1500, host_tracer_level=1))
		check(time.monotonic() - began >= 2, "the delay")
		check(len(kernels_of(path)) >= 3, "kernels with host_tracer_level 1")


@test
def button_whose_capture_is_refused_is_an_error():
	with everything() as (server, capture):
		status, words, files = capture(python_tracer_level=1)
		check_equal((status, files), (500, []), f"answer {words}")
		server.wait_for("python_tracer_level 1")
		check_captured(capture())


@test
def button_of_two_processes_in_one_session():
	with everything() as (server, capture), training("--rate", "100") as other:
		with running([GPUPROBE, "serve", "-p", other.pid, "--port", 0, "--cupti", cupti()], stderr=subprocess.PIPE, text=True) as process:
			second = Server(process)
			status, words, files = capture(service_addr=f"localhost:{server.port},localhost:{second.port}")
			check_equal(status, 200, f"answer of xprof: {words}")
			check_equal([path.name for path in files],
				    sorted(f"localhost_{port}.xplane.pb" for port in (server.port, second.port)), "files")
			check_equal(second.stop(), 0, f"exit status of serve: {second.said}")


@test
def monitor_of_the_real_client():
	from xprof.convert import _pywrap_profiler_plugin as client
	with training("--rate", "100") as train, running([GPUPROBE, "serve", "-p", train.pid, "--port", 0], stderr=subprocess.PIPE,
							 text=True) as process:
		said = client.monitor(f"localhost:{Server(process).port}", 100, 1, False)
		check_equal(said, f"gpuprobe serves sim-train ({train.pid}): no session\n", "what it says")


@test
def button_of_a_server_for_two_processes():
	with everything() as (server, capture), training("--rate", "100") as one, training("--rate", "100") as two:
		with running([GPUPROBE, "serve", "-p", f"{one.pid},{two.pid}", "--port", 0, "--cupti", cupti()], stderr=subprocess.PIPE,
			     text=True) as process:
			second = Server(process)
			status, words, files = capture(service_addr=f"localhost:{second.port}")
			check_equal(status, 200, f"answer of xprof: {words}")
			check_equal([path.name for path in files],
				    sorted(f"localhost_{second.port}.{train.pid}.xplane.pb" for train in (one, two)), "files")
			for path in files:
				check(len(kernels_of(path)) >= 3, f"kernels of {path.name}")
			check_equal(second.stop(), 0, f"exit status of serve: {second.said}")


main()
