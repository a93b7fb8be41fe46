# SPDX-License-Identifier: GPL-2.0-or-later
"""A training loop of PyTorch on a device (argv[1]: torch_device.cc, built) whose operations launch kernels on the simulated CUDA (argv[2]: the folder build/sim). Says
"ready"; a line on stdin begins argv[3] steps, and another one the end. With argv[4] operations have ranges as emit_nvtx() makes them."""
import ctypes
import sys
import types

import torch

NAME = "privateuseone"
# PyTorch 2 takes it for an accelerator only if it has a name and a module of Python.
if hasattr(torch.utils, "rename_privateuse1_backend"):
	NAME = "simulated"
	torch.utils.rename_privateuse1_backend(NAME)
	torch._register_device_module(NAME, types.SimpleNamespace(is_available=lambda: True, device_count=lambda: 1, current_device=lambda: 0, is_initialized=lambda: True,
								  _is_in_bad_fork=lambda: False, manual_seed_all=lambda seed: None, _lazy_init=lambda: None))

device, folder, steps = ctypes.CDLL(sys.argv[1]), sys.argv[2], int(sys.argv[3])
driver = ctypes.CDLL(folder + "/libcuda.so.1")
runtime = ctypes.CDLL(folder + "/libcudart.so.13")


def check(result):
	if result:
		sys.exit(f"torch_on_cuda.py: error {result}")


def address(function):
	return ctypes.cast(function, ctypes.c_void_p)


module, stream = ctypes.c_void_p(), ctypes.c_void_p()
check(runtime.cudaSetDevice(0))
check(runtime.cudaFree(None))
check(driver.cuModuleLoadData(ctypes.byref(module), b"a module"))
check(runtime.cudaStreamCreateWithFlags(ctypes.byref(stream), 1))
device.device_begin(address(driver.cuLaunchKernel), address(driver.cuModuleGetFunction), module, stream)

# What a GPU would do is done by the threads that launch it: a GPU needs no pool of threads that wait.
torch.set_num_threads(1)
torch.manual_seed(0)
layers = [(torch.randn(128, 128) / 12).to(NAME).requires_grad_() for _ in range(12)]
inputs = torch.randn(256, 128).to(NAME)


def forward(values):
	for weights in layers:
		values = torch.mm(values, weights)
		values = torch.relu(values)
	return values


def step():
	loss = forward(inputs).pow(2).mean()
	loss.backward()
	with torch.no_grad():
		for weights in layers:
			weights.sub_(weights.grad, alpha=1e-3)
			weights.grad = None


if len(sys.argv) > 4:
	device.device_emit_ranges()
step()
print("ready", flush=True)
sys.stdin.readline()
for _ in range(steps):
	step()
check(runtime.cudaStreamSynchronize(stream))
print("done", flush=True)
sys.stdin.readline()
