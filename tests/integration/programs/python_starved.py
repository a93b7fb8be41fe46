# SPDX-License-Identifier: GPL-2.0-or-later
"""Starves the simulated CUDA (argv[1]: the folder build/sim): before each launch of a kernel it decodes on its CPU, then waits for a batch that a thread
of its own has slept for. Says "ready" and goes on until its stdin ends."""
import ctypes
import hashlib
import queue
import sys
import threading
import time

runtime = ctypes.CDLL(sys.argv[1] + "/libcudart.so.13")
DATA = b"x" * 4096


class Dim3(ctypes.Structure):
	_fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


runtime.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def check(result):
	if result:
		sys.exit(f"python_starved.py: error {result}")


def decode_batch():
	end = time.thread_time() + 0.004
	while time.thread_time() < end:
		hashlib.sha256(DATA)


def fetch():
	while not over:
		wanted.get()
		time.sleep(0.008)
		fetched.put(None)


def next_batch():
	wanted.put(None)
	fetched.get()


def train():
	stub = ctypes.create_string_buffer(1)
	check(runtime.cudaSetDevice(0))
	check(runtime.cudaFree(None))
	getattr(runtime, "__cudaRegisterFunction")(None, ctypes.c_void_p(ctypes.addressof(stub)), None, b"step", -1, None, None, None, None, None)
	print("ready", flush=True)
	while not over:
		decode_batch()
		next_batch()
		check(runtime.cudaLaunchKernel(ctypes.addressof(stub), Dim3(1, 1, 1), Dim3(1, 1, 1), None, 0, None))


over, wanted, fetched = False, queue.SimpleQueue(), queue.SimpleQueue()
threads = [threading.Thread(target=fetch, daemon=True), threading.Thread(target=train, daemon=True)]
for thread in threads:
	thread.start()
sys.stdin.read()
over = True
threads[1].join()
