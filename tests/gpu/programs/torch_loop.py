# SPDX-License-Identifier: GPL-2.0-or-later
"""PyTorch, eager and with a CUDA graph, told what to do as launches.cu is: "run N"; "profile N" for the same under
torch.profiler, whose kernels (name -> [count, ns]) are in the answer; "kineto N", under torch.profiler with CUDA's activities
alone; "client WORDS", for the CUPTI client of client.c (its file is in GPU_CLIENT)."""
import ctypes
import json
import os
import sys
import time

import torch

SIZE = 256
x = torch.randn(SIZE, SIZE, device="cuda")
y = torch.randn(SIZE, SIZE, device="cuda")


def eager():
	z = torch.relu(x @ y)
	return torch.softmax(z + 1.0, dim=1).sum()


def make_graph():
	side = torch.cuda.Stream()
	side.wait_stream(torch.cuda.current_stream())
	with torch.cuda.stream(side):
		for _ in range(3):
			eager()
	torch.cuda.current_stream().wait_stream(side)
	graph = torch.cuda.CUDAGraph()
	with torch.cuda.graph(graph):
		eager()
	return graph


def run(graph, steps):
	start = time.monotonic()
	for _ in range(steps):
		eager()
		graph.replay()
	torch.cuda.synchronize()
	return time.monotonic() - start


def kineto(graph, steps):
	from torch.profiler import ProfilerActivity, profile as profiler
	with profiler(activities=[ProfilerActivity.CUDA]):
		return {"seconds": run(graph, steps)}


def client(words):
	records = ctypes.c_ulonglong()
	library = ctypes.CDLL(os.environ["GPU_CLIENT"])
	return {"result": library.client_mode(words.encode(), ctypes.byref(records)), "records": records.value}


def profile(graph, steps):
	from torch.profiler import ProfilerActivity, profile as profiler
	with profiler(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
		seconds = run(graph, steps)
	kernels = {}
	for event in profiled.events():
		if event.device_type == torch.autograd.DeviceType.CUDA and not event.name.startswith(("Memcpy", "Memset")):
			count, total = kernels.get(event.name, (0, 0))
			kernels[event.name] = (count + 1, total + int(event.time_range.elapsed_us() * 1000))
	return {"seconds": seconds, "profiled": kernels}


graph = make_graph()
torch.cuda.synchronize()
print("ready", flush=True)
commands = {
	"run": lambda steps: {"seconds": run(graph, int(steps))},
	"profile": lambda steps: profile(graph, int(steps)),
	"kineto": lambda steps: kineto(graph, int(steps)),
	"client": client,
}
for line in sys.stdin:
	word, argument = line.split()
	print(json.dumps(commands[word](argument)), flush=True)
