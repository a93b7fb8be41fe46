# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes functions of Python, each with a name of the same length, and forgets each behind its one launch on the simulated CUDA (argv[1]: the folder
build/sim), so that the code of the next one comes to lie where that of the one before did. Each launches a kernel that is named as it is.
Says "ready"; a line on stdin begins argv[2] of them."""
import ctypes
import sys

driver = ctypes.CDLL(sys.argv[1] + "/libcuda.so.1")
driver.cuLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3
count = int(sys.argv[2])
context, module = ctypes.c_void_p(), ctypes.c_void_p()


def check(result):
	if result:
		sys.exit(f"python_remade.py: error {result}")


check(driver.cuInit(0))
check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(driver.cuCtxSetCurrent(context))
check(driver.cuModuleLoadData(ctypes.byref(module), b"a module"))
functions = []
for i in range(count):
	functions.append(ctypes.c_void_p())
	check(driver.cuModuleGetFunction(ctypes.byref(functions[-1]), module, f"made_{i:05}".encode()))
places = set()
print("ready", flush=True)
sys.stdin.readline()
for i in range(count):
	name = f"made_{i:05}"
	space = {"launch": driver.cuLaunchKernel, "function": functions[i], "check": check}
	source = f"def {name}():\n\tcheck(launch(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))\n"
	# Code of <string> is no program's own where there is other.
	exec(compile(source, "made.py", "exec"), space)
	places.add(id(space[name].__code__))
	space[name]()
	if i % 256 == 0:
		check(driver.cuCtxSynchronize())
check(driver.cuCtxSynchronize())
print(len(places), flush=True)
sys.stdin.readline()
