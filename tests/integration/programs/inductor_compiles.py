# SPDX-License-Identifier: GPL-2.0-or-later
"""PyTorch's inductor compiles `model` below for an H100, on a machine that has no GPU, with a PyTorch for CPUs and Triton: tensors are fake ones, of CUDA it is told what it asks
for, and Triton loads nothing. Its files are as ever (TORCHINDUCTOR_CACHE_DIR). Of PyTorch 2.13 and Triton 3.9. Prints "ready" where all is in the cache."""
import types

import torch
import torch._inductor.config
from torch._dynamo.device_interface import CudaInterface
from torch._inductor import output_code
from torch._inductor.fx_passes import fuse_attention, misc_patterns, pad_mm
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._subclasses.fake_tensor import FakeTensorMode
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

H100 = types.SimpleNamespace(name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, total_memory=80 << 30, warp_size=32, regs_per_multiprocessor=65536,
			     max_threads_per_multi_processor=2048, max_threads_per_block=1024, shared_memory_per_block=49152, shared_memory_per_block_optin=232448,
			     L2_cache_size=50 << 20, gcnArchName="", uuid="")
ANSWERS = {"is_available": True, "is_initialized": True, "device_count": 1, "current_device": 0, "get_device_properties": H100, "get_device_capability": (9, 0),
	   "get_compute_capability": 90, "get_raw_stream": 0, "get_rng_state": torch.zeros(16, dtype=torch.uint8), "set_rng_state": None, "_exchange_device": 0,
	   "_maybe_exchange_device": 0, "synchronize": None}


class Driver:
	"""Of Triton."""

	def get_current_target(self):
		return GPUTarget("cuda", 90, 32)

	def get_current_device(self):
		return 0

	def get_active_torch_device(self):
		return torch.device("cuda", 0)


def answer(value):
	return lambda *arguments, **named: value


for name, value in ANSWERS.items():
	for holder, of_class in ((torch.cuda, False), (CudaInterface, True), (CudaInterface.Worker, True)):
		if hasattr(holder, name) or holder is torch.cuda:
			setattr(holder, name, staticmethod(answer(value)) if of_class else answer(value))
torch._C._cuda_getCurrentRawStream = answer(0)
driver.set_active(Driver())
triton_helpers.set_driver_to_gpu = answer(None)
# These try their patterns on real tensors.
fuse_attention._sfdp_init = pad_mm._pad_mm_init = misc_patterns._misc_patterns_init = answer(None)
# What is compiled would be loaded into the GPU here.
triton_heuristics.CachingAutotuner._make_launchers = answer(None)
# And here it would run.
output_code.CompiledFxGraph.__call__ = lambda graph, inputs: [torch.empty(256, device="cuda")]
torch._inductor.config.compile_threads = 1


def model(inputs, weights, bias):
	linear = torch.nn.functional.linear(inputs, weights, bias)
	return (torch.relu(linear) * 2 + inputs).sum(-1)


with FakeTensorMode():
	tensors = [torch.empty(shape, device="cuda") for shape in ((256, 128), (128, 128), (128,))]
	torch.compile(model, fullgraph=True)(*tensors)
print("ready", flush=True)
