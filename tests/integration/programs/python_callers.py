# SPDX-License-Identifier: GPL-2.0-or-later
"""Launches kernels of a known time on the simulated CUDA (argv[1]: the folder build/sim): one function does, called by two, one of which asks for three times as much as
the other, by way of a package in site-packages (argv[2]: the folder that it is in). Says "ready"; a line on stdin begins argv[3] rounds, and another one the end."""
import ctypes
import sys

folder, rounds = sys.argv[1], int(sys.argv[3])
sys.path.insert(0, sys.argv[2])
import calls_back

driver = ctypes.CDLL(folder + "/libcuda.so.1")
runtime = ctypes.CDLL(folder + "/libcudart.so.13")
driver.cuLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3


def check(result):
	if result:
		sys.exit(f"python_callers.py: error {result}")


def leaf(time_ns):
	time = ctypes.c_uint64(time_ns)
	arguments = (ctypes.c_void_p * 1)(ctypes.addressof(time))
	check(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, None))


def much():
	calls_back.call(leaf, 30000)


def little():
	leaf(10000)


module, stream, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(runtime.cudaSetDevice(0))
check(runtime.cudaFree(None))
check(driver.cuModuleLoadData(ctypes.byref(module), b"a module"))
check(driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"sim_spin"))
check(runtime.cudaStreamCreateWithFlags(ctypes.byref(stream), 1))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(rounds):
	much()
	little()
check(runtime.cudaStreamSynchronize(stream))
print("done", flush=True)
sys.stdin.readline()
