# SPDX-License-Identifier: GPL-2.0-or-later
"""Launches kernels that Triton is said to have compiled on the simulated CUDA (argv[1]: the folder build/sim): those named behind argv[2]. With argv[2] "real",
Triton compiles `doubled` below first, for sm_90, and keeps it where TRITON_CACHE_DIR says. Says "ready"; a line on stdin begins."""
import ctypes
import sys

folder, mode, names = sys.argv[1], sys.argv[2], sys.argv[3:]

if mode == "real":
	import triton
	import triton.language as tl
	from triton.backends.compiler import GPUTarget
	from triton.compiler import ASTSource

	@triton.jit
	def increased(x):
		return x + 1

	@triton.jit
	def doubled(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
		offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
		x = tl.load(x_ptr + offsets, mask=offsets < n)
		tl.store(y_ptr + offsets, increased(x) * 2, mask=offsets < n)

	for block in (64, 128):
		source = ASTSource(doubled, {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": block})
		compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
		assert compiled.metadata.name == "doubled", compiled.metadata

driver = ctypes.CDLL(folder + "/libcuda.so.1")
runtime = ctypes.CDLL(folder + "/libcudart.so.13")
driver.cuLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 7 + [ctypes.c_void_p] * 3


def check(result):
	if result:
		sys.exit(f"triton_kernels.py: error {result}")


check(runtime.cudaSetDevice(0))
check(runtime.cudaFree(None))
module = ctypes.c_void_p()
check(driver.cuModuleLoadData(ctypes.byref(module), b"a module"))
functions = []
for name in names:
	functions.append(ctypes.c_void_p())
	check(driver.cuModuleGetFunction(ctypes.byref(functions[-1]), module, name.encode()))
print("ready", flush=True)
sys.stdin.readline()
for function in functions:
	for _ in range(10):
		check(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None))
check(runtime.cudaDeviceSynchronize())
print("done", flush=True)
sys.stdin.readline()
