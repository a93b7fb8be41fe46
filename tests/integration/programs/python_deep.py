# SPDX-License-Identifier: GPL-2.0-or-later
"""Sleeps, works and launches kernels on the simulated CUDA (argv[1]: the folder build/sim) until it is killed, in turn at the end of chains of calls of Python. Each of
argv[2:] is one: A+B are A calls, of the innermost of which a function of C calls the outermost of B more (A+0: nothing in between), behind which stand
leaf_sleep_A_B, leaf_work_A_B and leaf_launch_A_B. Says "ready" before it begins."""
import ctypes
import sys
import time

driver = ctypes.CDLL(sys.argv[1] + "/libcuda.so.1")
runtime = ctypes.CDLL(sys.argv[1] + "/libcudart.so.13")
driver.cuLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3
sys.setrecursionlimit(10000)

LEAVES = """
def leaf_sleep_{0}():
	time.sleep(0.002)


def leaf_work_{0}():
	end = time.thread_time() + 0.004
	while time.thread_time() < end:
		pass


def leaf_launch_{0}():
	check(driver.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, None))


def leaves_{0}():
	leaf_sleep_{0}()
	leaf_work_{0}()
	leaf_launch_{0}()
"""


def check(result):
	if result:
		sys.exit(f"python_deep.py: error {result}")


def inner(depth, function):
	return inner(depth - 1, function) if depth > 1 else function()


def outer(depth, inside, function):
	if depth > 1:
		return outer(depth - 1, inside, function)
	return list(map(inner, [inside], [function])) if inside else function()


module, stream, kernel = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
check(runtime.cudaSetDevice(0))
check(runtime.cudaFree(None))
check(driver.cuModuleLoadData(ctypes.byref(module), b"a module"))
check(driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"sim_spin"))
check(runtime.cudaStreamCreateWithFlags(ctypes.byref(stream), 1))
spins_ns = ctypes.c_uint64(10000)
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(spins_ns))
shapes = [shape.split("+") for shape in sys.argv[2:]]
for shape in shapes:
	exec(compile(LEAVES.format("_".join(shape)), "leaves.py", "exec"))
print("ready", flush=True)
while True:
	for outside, inside in shapes:
		outer(int(outside), int(inside), globals()[f"leaves_{outside}_{inside}"])
