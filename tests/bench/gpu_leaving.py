# SPDX-License-Identifier: GPL-2.0-or-later
"""How long the end of a GPU recording takes, on the simulated CUDA, whose calls take as long as the real library's do."""
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

CUPTI = "13.0"


class Train:
	"""A sim-train, at work or paused."""

	def __init__(self, sim, folder, idle):
		self.path = pathlib.Path(folder) / "control"
		self.process = subprocess.Popen([sim / "sim-train", "--control", self.path], stdout=subprocess.DEVNULL)
		time.sleep(1)
		if idle:
			with socket.socket(socket.AF_UNIX) as control:
				control.connect(str(self.path))
				control.sendall(b"pause\n")
				control.recv(4096)

	def has_agent(self):
		comms = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/comm")
		return any(comm.read_text().startswith("gpuprobe") for comm in comms)

	def end(self):
		self.process.kill()
		self.process.wait()


def leave_once(bench, train, cupti, output):
	"""From Ctrl-C until the agent's thread is gone, and until gpuprobe has written all."""
	process = subprocess.Popen([bench.GPUPROBE, "-q", "-p", str(train.process.pid), "--cupti", cupti, "-d", "60", "-o", output],
				   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
	while not train.has_agent():
		time.sleep(0.01)
	time.sleep(1)
	begin = time.monotonic()
	process.send_signal(signal.SIGINT)
	while train.has_agent():
		time.sleep(0.001)
	left_s = time.monotonic() - begin
	process.wait()
	return left_s, time.monotonic() - begin


def measure(bench):
	sim = bench.ROOT / "build" / "sim"
	cupti = next((sim / f"cupti-{CUPTI}").glob("libcupti.so.*"), None)
	if not cupti:
		bench.note("gpu-leaving: no build/sim (make sim says why)")
		return
	rows = []
	for what in ("busy", "idle"):
		with tempfile.TemporaryDirectory() as folder:
			train = Train(sim, folder, what == "idle")
			runs = [leave_once(bench, train, cupti, os.path.join(folder, "x.gpr")) for _ in range(bench.ROUNDS)]
			train.end()
		rows.append([what, *(f"{bench.median(column):.2f} s" for column in zip(*runs)), f"{max(run[0] for run in runs):.2f} s"])
		bench.note(f"gpu-leaving: {rows[-1]}")
	bench.say(f"From Ctrl-C on, simulated CUPTI {CUPTI}, which is taken down each time")
	bench.say()
	bench.table(["target", "until the agent is gone", "until all is written", "longest until the agent is gone"], rows)
