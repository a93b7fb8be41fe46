# SPDX-License-Identifier: GPL-2.0-or-later
"""A training loop that is slow for one reason: PyTorch's (CPU) DataLoader, tensors and autograd, and kernels on the simulated CUDA (argv[1]: the folder
build/sim) in the place of those that PyTorch would launch. argv[2] is the reason. Says "ready" and goes on until its stdin ends."""
import ctypes
import gc
import os
import sys
import threading
import time

import torch

KERNELS = 6
KERNEL_NS = ctypes.c_uint64(400_000)
SAMPLES = 100_000
TO_HOST = 2
runtime = ctypes.CDLL(sys.argv[1] + "/libcudart.so.13")


class Dim3(ctypes.Structure):
	_fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


runtime.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
runtime.cudaMemcpyAsync.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
runtime.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
runtime.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def check(result):
	if result:
		sys.exit(f"torch_trains.py: error {result}")


class Images(torch.utils.data.Dataset):
	def __init__(self, decode):
		self.decode = decode

	def __len__(self):
		return SAMPLES

	def __getitem__(self, index):
		return self.decode(index)


def decode_slowly(index):
	pixels = 0
	end = time.thread_time() + 0.004
	while time.thread_time() < end:
		for value in range(100):
			pixels += value
	return torch.full((16,), float(index))


def decode_at_once(index):
	return torch.full((16,), float(index))


class Device:
	"""What stands for a model on a GPU."""

	def __init__(self):
		self.stub = ctypes.create_string_buffer(1)
		self.value = ctypes.create_string_buffer(4)
		self.memory = ctypes.c_void_p()
		self.arguments = (ctypes.c_void_p * 1)(ctypes.addressof(KERNEL_NS))
		check(runtime.cudaSetDevice(0))
		check(runtime.cudaMalloc(ctypes.byref(self.memory), 4096))
		getattr(runtime, "__cudaRegisterFunction")(None, ctypes.c_void_p(ctypes.addressof(self.stub)), None, b"sim_spin_gemm", -1, None, None, None, None, None)

	def forward(self):
		for _ in range(KERNELS):
			check(runtime.cudaLaunchKernel(ctypes.addressof(self.stub), Dim3(264, 1, 1), Dim3(256, 1, 1), self.arguments, 0, None))

	def item(self):
		check(runtime.cudaMemcpyAsync(self.value, self.memory, 4, TO_HOST, None))
		check(runtime.cudaStreamSynchronize(None))

	def wait(self):
		check(runtime.cudaStreamSynchronize(None))


def read_loss(device):
	device.item()


def collect_garbage():
	gc.collect()


def keep_objects():
	"""More than there may be before a collection begins by itself."""
	for _ in range(1000):
		kept.append([])


def decay_learning_rate(seconds):
	rate = 1.0
	end = time.thread_time() + seconds
	while time.thread_time() < end:
		rate *= 0.999


def batches():
	"""starved: of one worker, a process, that decodes; here: in the thread that trains."""
	slow = reason in ("starved", "here")
	workers = {"num_workers": 1, "prefetch_factor": 2} if reason == "starved" else {}
	return torch.utils.data.DataLoader(Images(decode_slowly if slow else decode_at_once), batch_size=4 if slow else 1, **workers)


def train():
	device = Device()
	weights = torch.ones(16, requires_grad=True)
	print("ready", flush=True)
	while not over:
		for step, batch in enumerate(loader):
			(weights * batch).sum().backward()
			device.forward()
			if reason == "item":
				read_loss(device)
				decay_learning_rate(0.0015)
			elif reason == "gc":
				collect_garbage()
			elif reason == "gc_by_itself":
				keep_objects()
			elif reason == "throttled":
				decay_learning_rate(0.003)
			if step % 8 == 7:
				device.wait()
			if over:
				break


torch.set_num_threads(1)
over, reason = False, sys.argv[2]
kept = [[] for _ in range(400_000)] if reason in ("gc", "gc_by_itself") else []
if reason == "gc_by_itself":
	gc.collect()
	gc.set_threshold(900, 0, 0)
loader = batches()
trainer = threading.Thread(target=train, name="trainer")
trainer.start()
os.read(0, 1)  # not by sys.stdin: its lock would be held where the worker is forked
over = True
trainer.join()
