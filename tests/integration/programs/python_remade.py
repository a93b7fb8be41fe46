# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes functions of Python, each with a name of the same length, and forgets each behind its one launch on the simulated CUDA (argv[1]: the folder
build/sim), so that the code of the next one comes to lie where that of the one before did. Each launches a kernel that is named as it is.
Says "ready"; a line on stdin begins argv[2] of them; then in how many places code lay, and in how many with its name. With argv[3], "loaded", their code is
compiled before and loaded: nothing else is made meanwhile, so that before 3.12 names and tables of lines come to lie where those before did, too."""
import ctypes
import gc
import marshal
import sys
import types

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


def space_of(function):
	return {"launch": driver.cuLaunchKernel, "function": function, "check": check}


def compiled(number):
	name, space = f"made_{number:05}", space_of(functions[number])
	source = f"def {name}():\n" + "\n" * (number % 2) + "\tcheck(launch(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))\n"
	# Code of <string> is no program's own where there is other.
	exec(compile(source, "made.py", "exec"), space)
	return space[name]


# What is kept must not take memory meanwhile.
places, names = (ctypes.c_uint64 * count)(), (ctypes.c_uint64 * count)()
loaded = [marshal.dumps(compiled(i).__code__) for i in range(count)] if "loaded" in sys.argv[3:] else []
# Those refer to each other, by their spaces.
gc.collect()
print("ready", flush=True)
sys.stdin.readline()
for i in range(count):
	made = types.FunctionType(marshal.loads(loaded[i]), space_of(functions[i])) if loaded else compiled(i)
	places[i], names[i] = id(made.__code__), id(made.__code__.co_name)
	made()
	del made
	if i % 256 == 0:
		check(driver.cuCtxSynchronize())
check(driver.cuCtxSynchronize())
print(len(set(places)), len(set(zip(places, names))), flush=True)
sys.stdin.readline()
