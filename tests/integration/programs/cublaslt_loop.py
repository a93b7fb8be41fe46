# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls cublasLtMatmul of a real library (the first argument), again and again until SIGTERM, with sizes that test_matmul knows. Without a GPU
each call fails, behind its entry, where gpuprobe reads what the objects hold. Prints how often it called."""
import ctypes
import json
import signal
import sys
import time

BF16, F32, COMPUTE_32F, BATCH_COUNT, TRANSFORM_A = 14, 0, 68, 5, 3
ending = False


def end(*_):
	global ending
	ending = True


def check(status):
	if status:
		sys.exit(f"cublaslt_loop: status {status}")


def layout(library, rows, columns, count):
	made, batch = ctypes.c_void_p(), ctypes.c_int32(count)
	check(library.cublasLtMatrixLayoutCreate(ctypes.byref(made), BF16, ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows)))
	check(library.cublasLtMatrixLayoutSetAttribute(made, BATCH_COUNT, ctypes.byref(batch), ctypes.c_size_t(4)))
	return made


def main():
	library = ctypes.CDLL(sys.argv[1])
	operation, transposed, nothing = ctypes.c_void_p(), ctypes.c_int32(1), ctypes.c_void_p()
	check(library.cublasLtMatmulDescCreate(ctypes.byref(operation), COMPUTE_32F, F32))
	check(library.cublasLtMatmulDescSetAttribute(operation, TRANSFORM_A, ctypes.byref(transposed), ctypes.c_size_t(4)))
	a, b, d = (layout(library, *sizes, 3) for sizes in ((512, 1536), (512, 4096), (1536, 4096)))
	signal.signal(signal.SIGTERM, end)
	calls = 0
	while not ending:
		library.cublasLtMatmul(nothing, operation, nothing, nothing, a, nothing, b, nothing, nothing, d, nothing, d, nothing, nothing,
				       ctypes.c_size_t(0), nothing)
		calls += 1
		time.sleep(0.005)
	print(json.dumps({"calls": calls}))


main()
