#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A process as one of PyTorch is: NVIDIA's libraries of pip's wheels are mapped, and CUDA (the simulated one) is used.

	real_libraries.py FOLDER [options of sim_train.py]

FOLDER: site-packages/nvidia, below which the wheels of cuBLAS, cuDNN and NCCL lie. Their functions are not called.
"""
import ctypes
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sim"))
import sim_train  # noqa: E402

PACKAGES = ("cublas", "cudnn", "nccl", "cu13")


def libraries(folder):
	return sorted(library for package in PACKAGES for library in (Path(folder) / package / "lib").glob("lib*.so*")
		      if library.name.startswith(("libcublas", "libcudnn", "libnccl")))


def main():
	folder = sys.argv.pop(1)
	# Some need others: the second time round those are mapped.
	for _ in range(2):
		for library in libraries(folder):
			try:
				ctypes.CDLL(str(library), mode=os.RTLD_GLOBAL | os.RTLD_LAZY)
			except OSError:
				pass
	sim_train.main()


if __name__ == "__main__":
	main()
