#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A training-like load of a Python process on the simulated CUDA, by ctypes.

The libraries are where pip's wheels put them: site-packages/nvidia/cu13/lib, mapped RTLD_LOCAL by their paths.
--cupti loaded: the process has mapped libcupti, as PyTorch does; present: it lies there, but is not mapped;
absent: there is none. Control and truth are those of sim-train (tests/sim/train.c).
"""
import argparse
import ctypes
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from pathlib import Path

SIM = Path(__file__).resolve().parents[2] / "build" / "sim"
KERNELS = (
    b"_ZN7cutlass7Kernel2I63cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align8EEvNT_6ParamsE",
    b"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
    b"_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128EEEEv16Flash_fwd_params",
    b"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLP11ncclDevCommmP8ncclWork",
)
BATCH_BYTES = 1 << 20
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
NON_BLOCKING = 1
TRUTH_BYTES = 1 << 20


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Cuda:
    """The runtime, and the driver's words about what happened."""

    def __init__(self, cupti):
        packages = SIM / ("site-packages-without-cupti" if cupti == "absent" else "site-packages") / "nvidia/cu13/lib"
        self.driver = ctypes.CDLL(str(SIM / "libcuda.so.1"), mode=os.RTLD_LOCAL | os.RTLD_NOW)
        self.runtime = ctypes.CDLL(str(packages / "libcudart.so.13"), mode=os.RTLD_LOCAL | os.RTLD_NOW)
        self.cupti = ctypes.CDLL(str(packages / "libcupti.so.13"), mode=os.RTLD_LOCAL) if cupti == "loaded" else None
        self.driver.simTruth.restype = ctypes.c_size_t
        self.driver.simTruth.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.runtime.cudaMemcpyAsync.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                                                 ctypes.c_void_p]
        self.runtime.cudaMemsetAsync.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p]
        self.runtime.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t,
                                                  ctypes.c_void_p]
        self.runtime.cudaStreamCreateWithFlags.argtypes = [ctypes.c_void_p, ctypes.c_uint]
        self.runtime.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
        self.runtime.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.runtime.cudaMallocHost.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        # Addresses that stand for the host stubs of kernels.
        self.stubs = ctypes.create_string_buffer(len(KERNELS))
        for index, name in enumerate(KERNELS):
            getattr(self.runtime, "__cudaRegisterFunction")(
                None, ctypes.c_void_p(self.stub(index)), None, name, -1, None, None, None, None, None)

    def stub(self, index):
        return ctypes.addressof(self.stubs) + index

    def call(self, name, *arguments):
        result = getattr(self.runtime, name)(*arguments)
        if result:
            sys.exit(f"sim_train.py: {name}: error {result}")

    def truth(self):
        text = ctypes.create_string_buffer(TRUTH_BYTES)
        self.driver.simTruth(text, TRUTH_BYTES)
        return text.value.decode()


class Trainer(threading.Thread):
    def __init__(self, cuda, options, gate, index):
        super().__init__(name=f"train-{index}")
        self.cuda, self.options, self.gate = cuda, options, gate

    def run(self):
        pointers = [ctypes.c_void_p() for _ in range(3)]
        self.stream, self.device, self.host = pointers
        self.cuda.call("cudaSetDevice", 0)
        self.cuda.call("cudaStreamCreateWithFlags", ctypes.byref(self.stream), NON_BLOCKING)
        self.cuda.call("cudaMalloc", ctypes.byref(self.device), BATCH_BYTES)
        self.cuda.call("cudaMallocHost", ctypes.byref(self.host), BATCH_BYTES)
        step = 0
        while self.gate.next_step() and (not self.options.steps or step < self.options.steps):
            self.train_step()
            step += 1
            if self.options.rate:
                time.sleep(1 / self.options.rate)
        self.gate.leave()

    def train_step(self):
        self.cuda.call("cudaMemcpyAsync", self.device, self.host, BATCH_BYTES, HOST_TO_DEVICE, self.stream)
        self.forward()
        self.cuda.call("cudaMemsetAsync", self.device, 0, BATCH_BYTES, self.stream)
        self.cuda.call("cudaMemcpyAsync", self.host, self.device, 4, DEVICE_TO_HOST, self.stream)
        self.cuda.call("cudaStreamSynchronize", self.stream)

    def forward(self):
        for index in range(len(KERNELS)):
            self.cuda.call("cudaLaunchKernel", self.cuda.stub(index), Dim3(128, 1, 1), Dim3(256, 1, 1), None, 0,
                           self.stream)


class Gate:
    """Where threads stand still between steps."""

    def __init__(self, threads, is_paused):
        self.condition = threading.Condition()
        self.running, self.parked, self.is_paused, self.is_ending = threads, 0, is_paused, False

    def next_step(self):
        with self.condition:
            while self.is_paused and not self.is_ending:
                self.parked += 1
                self.condition.notify_all()
                self.condition.wait()
                self.parked -= 1
            return not self.is_ending

    def leave(self):
        with self.condition:
            self.running -= 1
            self.condition.notify_all()

    def pause(self):
        with self.condition:
            self.is_paused = True
            self.condition.wait_for(lambda: self.parked >= self.running)

    def resume(self):
        with self.condition:
            self.is_paused = False
            self.condition.notify_all()

    def end(self):
        with self.condition:
            self.is_ending = True
            self.condition.notify_all()


def answer(cuda, gate, line):
    if line == "pause":
        gate.pause()
        return json.dumps({"paused": True, "drained": bool(cuda.driver.simDrain(10000))})
    if line == "resume":
        gate.resume()
        return '{"paused":false}'
    if line == "mark":
        cuda.driver.simTruthMark()
        return '{"marked":true}'
    if line == "truth":
        return cuda.truth()
    if line == "quit":
        gate.end()
        return '{"ending":true}'
    return '{"error":"pause, resume, mark, truth or quit"}'


def serve(cuda, gate, connection):
    with connection, connection.makefile("rw") as lines:
        for line in lines:
            lines.write(answer(cuda, gate, line.strip()) + "\n")
            lines.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cupti", choices=("loaded", "present", "absent"), default="loaded")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--control")
    parser.add_argument("--paused", action="store_true")
    options = parser.parse_args()

    cuda = Cuda(options.cupti)
    gate = Gate(options.threads, options.paused)
    signal.signal(signal.SIGTERM, lambda *_: gate.end())
    listener = None
    if options.control:
        Path(options.control).unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(options.control)
        listener.listen()
    for index in range(options.threads):
        Trainer(cuda, options, gate, index).start()
    print(json.dumps({"simulated": True, "pid": os.getpid(), "threads": options.threads}), flush=True)
    end = time.monotonic() + options.seconds if options.seconds else float("inf")
    while gate.running and not gate.is_ending and time.monotonic() < end:
        ready, _, _ = select.select([listener] if listener else [], [], [], 0.1)
        if ready:
            threading.Thread(target=serve, args=(cuda, gate, listener.accept()[0]), daemon=True).start()
    gate.end()
    for thread in threading.enumerate():
        if isinstance(thread, Trainer):
            thread.join()
    print(cuda.truth(), flush=True)


if __name__ == "__main__":
    main()
