# SPDX-License-Identifier: GPL-2.0-or-later
"""Launches kernels on the simulated CUDA (argv[1]: the folder build/sim) from several places, by the runtime, the driver and graphs, and notes its own stack at
each launch. Says "ready"; a line on stdin begins ROUNDS (argv[3]) in THREADS (argv[4]); then all notes are in the file argv[2], as JSON: {kernel:
[[name, line], ...innermost first]}; each launch has a kernel of its own, called launch_N. With argv[5], "late": says "begun" first, and has
nothing of CUDA until a line comes."""
import ctypes
import json
import os
import sys
import threading
import time

folder, notes_path, rounds, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
busy_s = int(os.environ.get("BUSY_MS", 0)) / 1000
if "late" in sys.argv[5:]:
	print("begun", flush=True)
	sys.stdin.readline()
driver = ctypes.CDLL(folder + "/libcuda.so.1")
runtime = ctypes.CDLL(folder + "/libcudart.so.13")
notes = {}
lock = threading.Lock()
BYTES = 64


class Dim3(ctypes.Structure):
	_fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


runtime.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
runtime.cudaMemsetAsync.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p]
runtime.cudaGraphLaunch.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
driver.cuLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3

CALLERS = ("shallow", "deep", "direct", "graph")
COUNT = rounds * threads * len(CALLERS)
stubs = ctypes.create_string_buffer(COUNT + 1)
names = [f"launch_{i}".encode() for i in range(COUNT)]


def check(result):
	if result:
		sys.exit(f"python_launches.py: error {result}")


def taken(frame):
	found = []
	while frame:
		code = frame.f_code
		# Before 3.11 only the name is known.
		found.append((getattr(code, "co_qualname", code.co_name), frame.f_lineno))
		frame = frame.f_back
	return found


def note(number):
	frame = sys._getframe(1)
	with lock:
		notes[f"launch_{number}"] = taken(frame)


def launch(number, stream):
	note(number); check(runtime.cudaLaunchKernel(ctypes.addressof(stubs) + number, Dim3(1, 1, 1), Dim3(1, 1, 1), None, 0, stream))


def shallow(number, stream):
	launch(number, stream)


def deep(number, stream, depth=20):
	if depth:
		deep(number, stream, depth - 1)
	else:
		launch(number, stream)


def direct(number, stream):
	function = functions[number]
	note(number); check(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, None, None))


def graph(number, stream):
	# Of what is captured nothing runs yet.
	check(runtime.cudaStreamBeginCapture(stream, 0))
	check(runtime.cudaLaunchKernel(ctypes.addressof(stubs) + number, Dim3(1, 1, 1), Dim3(1, 1, 1), None, 0, stream))
	captured, executable = ctypes.c_void_p(), ctypes.c_void_p()
	check(runtime.cudaStreamEndCapture(stream, ctypes.byref(captured)))
	check(runtime.cudaGraphInstantiate(ctypes.byref(executable), captured, ctypes.c_ulonglong(0)))
	note(number); check(runtime.cudaGraphLaunch(executable, stream))


def work(thread):
	check(runtime.cudaSetDevice(0))
	stream = ctypes.c_void_p()
	check(runtime.cudaStreamCreateWithFlags(ctypes.byref(stream), 1))
	for i in range(rounds):
		end = time.thread_time() + busy_s
		while time.thread_time() < end:
			pass
		for place, caller in enumerate(CALLERS):
			globals()[caller]((thread * rounds + i) * len(CALLERS) + place, stream)
	check(runtime.cudaStreamSynchronize(stream))


check(runtime.cudaSetDevice(0))
check(runtime.cudaFree(None))
for i, name in enumerate(names):
	getattr(runtime, "__cudaRegisterFunction")(None, ctypes.c_void_p(ctypes.addressof(stubs) + i), None, name, -1, None, None, None, None, None)
functions = {}
module = ctypes.c_void_p()
check(driver.cuModuleLoadData(ctypes.byref(module), b"a module"))
for i in range(2, COUNT, len(CALLERS)):
	functions[i] = ctypes.c_void_p()
	check(driver.cuModuleGetFunction(ctypes.byref(functions[i]), module, names[i]))
print("ready", flush=True)
sys.stdin.readline()
workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
for worker in workers:
	worker.start()
for worker in workers:
	worker.join()
with open(notes_path, "w", encoding="utf-8") as file:
	json.dump(notes, file)
print("done", flush=True)
sys.stdin.readline()
