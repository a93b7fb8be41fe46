#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A training-like loop of a Python process on the simulated CUDA, by ctypes, that is slow for one reason of Python's own; for tests/bench/explain.

	python_fault.py --fault gc|gil [--seed N]	until SIGTERM

gc: each step collects garbage among objects that are kept. gil: another thread runs Python without end. Periods and sizes are drawn by the seed.
The last line of its output says when the thread that launches collected (CLOCK_MONOTONIC).
"""
import argparse
import ctypes
import gc
import json
import os
import random
import signal
import sys
import threading
import time

from sim_train import NON_BLOCKING, Cuda, Dim3

PR_SET_PDEATHSIG = 1
DISABLE_TIMING = 2


class Loop:
    """One step ahead of the GPU, as long as nothing is wrong."""

    def __init__(self, cuda, draw):
        self.cuda = cuda
        self.kernels = int(draw(4, 13))
        self.kernel_ns = ctypes.c_uint64(int(draw(500e3, 1200e3)))
        self.gpu_ns = self.kernels * self.kernel_ns.value
        self.arguments = (ctypes.c_void_p * 1)(ctypes.addressof(self.kernel_ns))
        self.stub = ctypes.create_string_buffer(1)
        self.stream = ctypes.c_void_p()
        self.done = [ctypes.c_void_p(), ctypes.c_void_p()]
        self.spans = []
        self.step = 0
        getattr(cuda.runtime, "__cudaRegisterFunction")(None, ctypes.c_void_p(ctypes.addressof(self.stub)), None, b"sim_spin_gemm", -1,
                                                        None, None, None, None, None)
        cuda.runtime.cudaEventRecord.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        cuda.runtime.cudaEventSynchronize.argtypes = [ctypes.c_void_p]
        cuda.call("cudaSetDevice", 0)
        cuda.call("cudaStreamCreateWithFlags", ctypes.byref(self.stream), NON_BLOCKING)
        for event in self.done:
            cuda.call("cudaEventCreateWithFlags", ctypes.byref(event), DISABLE_TIMING)

    def run_step(self, wrong):
        if wrong:
            since = time.monotonic_ns()
            wrong()
            self.spans.append((since, time.monotonic_ns()))
        for _ in range(self.kernels):
            self.cuda.call("cudaLaunchKernel", ctypes.addressof(self.stub), Dim3(264, 1, 1), Dim3(256, 1, 1), self.arguments, 0, self.stream)
        self.cuda.call("cudaEventRecord", self.done[self.step % 2], self.stream)
        self.step += 1
        if self.step > 1:
            self.cuda.call("cudaEventSynchronize", self.done[self.step % 2])


def collection_ns():
    since = time.thread_time_ns()
    gc.collect()
    return time.thread_time_ns() - since


def keep_objects(wanted_ns):
    """As many as it takes a collection that long to look at."""
    kept, per_object_ns = [], 0
    gc.disable()
    gc.collect()  # the first one has more to do
    while True:
        took_ns = min(collection_ns(), collection_ns())  # one alone may be late for another reason
        if took_ns >= wanted_ns:
            return kept
        per_object_ns = max(took_ns / max(len(kept), 1), 10)
        kept += [[] for _ in range(max(int((wanted_ns - took_ns) / per_object_ns / 2), 5000))]


def count_words(ending):
    """Never lets go of the lock of the interpreter by itself."""
    words = 0
    while not ending.is_set():
        for _ in range(1000):
            words += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fault", choices=("gc", "gil"), required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed).uniform
    ending = threading.Event()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    loop = Loop(Cuda("present"), draw)
    wrong = None
    kept = None
    if options.fault == "gc":
        kept = keep_objects(loop.gpu_ns * draw(1.4, 2.2))
        wrong = gc.collect
    else:
        sys.setswitchinterval(0.03)  # as who computes in C without letting go of it
        for _ in range(random.Random(options.seed).choice((1, 2))):
            threading.Thread(target=count_words, args=(ending,), name="statistics", daemon=True).start()
    print(json.dumps({"simulated": True, "pid": os.getpid(), "fault": options.fault, "seed": options.seed, "kernels": loop.kernels,
                      "gpu_ns": loop.gpu_ns, "objects": len(kept or ())}), flush=True)

    def train():
        while not ending.is_set():
            loop.run_step(wrong)

    trainer = threading.Thread(target=train, name="train-0")
    trainer.start()
    ending.wait()
    trainer.join()
    loop.cuda.call("cudaDeviceSynchronize")
    print(json.dumps({"simulated": True, "spans": loop.spans}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
