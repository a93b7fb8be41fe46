#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the objects of a real cuBLASLt have in memory what gpuprobe reads of them: docs/formats/cublaslt.md.

	cublaslt_objects.py libcublasLt.so.13

Makes objects with that library, each twice with one thing changed, and prints which bytes differ. Needs no GPU. Exits 1 where that is
not what the page says: then gpuprobe reads nothing of such a library, or something wrong.
"""
import ctypes
import sys

KNOWN = {
	"layout": {"type": 0, "rows": 8, "columns": 16, "batch": 32, "batch_mode": 36},
	"operation": {"compute_type": 8, "transform_a": 20, "transform_b": 24},
}
# What the headers of any version say is no smaller, and what programs have on their stacks.
LAYOUT_BYTES, OPERATION_BYTES, ROOM_BYTES = 256, 512, 1024
BIG = 0x1122334455667788
F32, BF16, COMPUTE_32F, COMPUTE_32F_TF32 = 0, 14, 68, 77


def integer(value, bits=32):
	return {32: ctypes.c_int32, 64: ctypes.c_int64}[bits](value)


class Library:
	def __init__(self, path):
		self.functions = ctypes.CDLL(path)
		self.functions.cublasLtGetVersion.restype = ctypes.c_size_t

	def call(self, name, *arguments):
		status = getattr(self.functions, name)(*arguments)
		if status:
			sys.exit(f"cublaslt_objects: {name} failed with status {status}")

	def layout(self, data_type=F32, rows=3, columns=5, attribute=None):
		room = (ctypes.c_ubyte * ROOM_BYTES)()
		self.call("cublasLtMatrixLayoutInit_internal", room, ctypes.c_size_t(LAYOUT_BYTES), integer(data_type), integer(rows, 64),
			  integer(columns, 64), integer(7, 64))
		self.set("cublasLtMatrixLayoutSetAttribute", room, attribute)
		return bytes(room)

	def operation(self, compute_type=COMPUTE_32F, attribute=None):
		room = (ctypes.c_ubyte * ROOM_BYTES)()
		self.call("cublasLtMatmulDescInit_internal", room, ctypes.c_size_t(OPERATION_BYTES), integer(compute_type), integer(F32))
		self.set("cublasLtMatmulDescSetAttribute", room, attribute)
		return bytes(room)

	def set(self, function, room, attribute):
		if attribute:
			number, value = attribute
			self.call(function, room, integer(number), ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))


def first_difference(first, second):
	return next((i for i, pair in enumerate(zip(first, second)) if pair[0] != pair[1]), None)


def found(library):
	layout, operation = library.layout(), library.operation()
	layouts = {
		"type": library.layout(data_type=BF16),
		"rows": library.layout(rows=BIG),
		"columns": library.layout(columns=BIG),
		"batch": library.layout(attribute=(5, integer(0x1234567))),
		"batch_mode": library.layout(attribute=(8, integer(1))),
	}
	operations = {
		"compute_type": library.operation(compute_type=COMPUTE_32F_TF32),
		"transform_a": library.operation(attribute=(3, integer(1))),
		"transform_b": library.operation(attribute=(4, integer(1))),
	}
	return {
		"layout": {name: first_difference(layout, other) for name, other in layouts.items()},
		"operation": {name: first_difference(operation, other) for name, other in operations.items()},
	}


def main():
	if len(sys.argv) != 2:
		sys.exit(__doc__)
	library = Library(sys.argv[1])
	seen = found(library)
	print(f"cuBLASLt {library.functions.cublasLtGetVersion()}: {seen}")
	if seen != KNOWN:
		sys.exit(f"cublaslt_objects: expected {KNOWN}")


main()
