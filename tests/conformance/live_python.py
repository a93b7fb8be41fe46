# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests/conformance/record_python records: a little training on the simulated CUDA (argv[1]: build/sim), with something of all that gpuprobe sees of a
Python program. A process of its own loads batches and sends them by a pipe; two threads launch on streams of their own, by nested functions,
replay a graph, copy, set, allocate and wait, and one thread holds a lock that the others want. Says "ready", does ROUNDS (argv[2]) when a line
comes and says "done", as often as asked, and ends with stdin."""
import ctypes
import os
import queue
import sys
import threading
import time

try:
    import gpuprobe  # PYTHONPATH: build/annotate
except ImportError:
    gpuprobe = None

BATCH_BYTES = 1 << 18
NON_BLOCKING = 1
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3
THREADS = 2
BUSY_S, HELD_S = 0.004, 0.002
# The time that sim_spin takes is its argument; the others', and what they need of a GPU, are the simulation's.
KERNELS = {"matmul": b"_ZN7cutlass7Kernel2I63cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_32x4_nn_align8EEvNT_6ParamsE",
           "add": b"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
           "spin": b"sim_spin", "reduce": b"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLP11ncclDevCommmP8ncclWork"}
SPIN_NS = 300_000


def load_batches(requests, batches):
    """The other process: it never has CUDA."""
    while os.read(requests, 1):
        end = time.thread_time() + BUSY_S
        while time.thread_time() < end:
            sum(range(500))
        batch = bytearray(BATCH_BYTES)
        os.write(batches, batch[:4096])


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Cuda:
    def __init__(self, folder):
        ctypes.CDLL(folder + "/libcuda.so.1")
        self.runtime = ctypes.CDLL(folder + "/libcudart.so.13")
        pointer = ctypes.c_void_p
        for name, types in {"cudaLaunchKernel": (pointer, Dim3, Dim3, pointer, ctypes.c_size_t, pointer),
                            "cudaMemcpyAsync": (pointer, pointer, ctypes.c_size_t, ctypes.c_int, pointer), "cudaStreamEndCapture": (pointer, pointer),
                            "cudaMemcpy": (pointer, pointer, ctypes.c_size_t, ctypes.c_int), "cudaStreamBeginCapture": (pointer, ctypes.c_int),
                            "cudaMemsetAsync": (pointer, ctypes.c_int, ctypes.c_size_t, pointer), "cudaGraphLaunch": (pointer, pointer),
                            "cudaStreamWaitEvent": (pointer, pointer, ctypes.c_uint), "cudaEventRecord": (pointer, pointer),
                            "cudaMalloc": (pointer, ctypes.c_size_t), "cudaMallocHost": (pointer, ctypes.c_size_t),
                            "cudaGraphInstantiate": (pointer, pointer, ctypes.c_ulonglong)}.items():
            getattr(self.runtime, name).argtypes = types
        self.stubs = ctypes.create_string_buffer(len(KERNELS))
        self.stub = {name: ctypes.addressof(self.stubs) + place for place, name in enumerate(KERNELS)}
        for name, symbol in KERNELS.items():
            getattr(self.runtime, "__cudaRegisterFunction")(None, pointer(self.stub[name]), None, symbol, -1, None, None, None, None, None)

    def call(self, name, *arguments):
        result = getattr(self.runtime, name)(*arguments)
        if result:
            sys.exit(f"live_python.py: {name}: error {result}")

    def made(self, name, *arguments):
        """What a function gives back by its first argument."""
        found = ctypes.c_void_p()
        self.call(name, ctypes.byref(found), *arguments)
        return found

    def launch(self, name, stream, blocks=264, threads=256, shared=0):
        spin_ns = ctypes.c_uint64(SPIN_NS)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(spin_ns))
        self.call("cudaLaunchKernel", self.stub[name], Dim3(blocks, 1, 1), Dim3(threads, 1, 1), arguments, shared, stream)


class Layer:
    def __init__(self, cuda, depth):
        self.cuda, self.inner = cuda, Layer(cuda, depth - 1) if depth else None

    def forward(self, stream):
        if self.inner:
            self.inner.forward(stream)
        self.cuda.launch("matmul", stream, blocks=108, shared=49152)
        self.activate(stream)

    def activate(self, stream):
        (lambda: self.cuda.launch("add", stream))()


class Trainer(threading.Thread):
    def __init__(self, cuda, index, ready, done, lock, pipes):
        super().__init__(name=f"train-{index}", daemon=True)
        self.cuda, self.asked, self.done, self.lock, self.pipes = cuda, queue.Queue(), done, lock, pipes
        self.ready = ready  # when all have prepared themselves

    def prepare(self):
        make = self.cuda.made
        self.cuda.call("cudaSetDevice", 0)
        self.stream, self.side = (make("cudaStreamCreateWithFlags", NON_BLOCKING) for _ in range(2))
        self.event = make("cudaEventCreate")
        self.device, self.host = make("cudaMalloc", BATCH_BYTES), make("cudaMallocHost", BATCH_BYTES)
        self.layers = Layer(self.cuda, 3)
        self.cuda.call("cudaStreamBeginCapture", self.stream, 0)
        for name in ("add", "matmul", "reduce"):
            self.cuda.launch(name, self.stream)
        captured = ctypes.c_void_p()
        self.cuda.call("cudaStreamEndCapture", self.stream, ctypes.byref(captured))
        self.graph = make("cudaGraphInstantiate", captured, 0)

    def run(self):
        try:
            self.prepare()
            self.ready.wait()
            self.work()
        except BaseException as error:  # what ends a thread ends no process
            print(f"live_python.py: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)

    def work(self):
        while True:
            rounds = self.asked.get()
            for number in range(rounds):
                if gpuprobe:
                    with gpuprobe.range("step", step=number, phase="train"):
                        self.step(number)
                    gpuprobe.counter("rounds left", rounds - number)
                else:
                    self.step(number)
            self.done.put(None)

    def load(self):
        """One after the other asks the process that loads, so that they wait for the lock, too."""
        with self.lock:
            os.write(self.pipes[1], b"?")
            batch = os.read(self.pipes[0], 4096)
            if not batch:
                raise EOFError("the process that loads has ended")
            time.sleep(HELD_S)
        self.cuda.call("cudaMemcpyAsync", self.device, self.host, BATCH_BYTES, HOST_TO_DEVICE, self.stream)
        return batch

    def step(self, number):
        call = self.cuda.call
        batch = self.load()
        self.layers.forward(self.stream)
        call("cudaEventRecord", self.event, self.stream)
        call("cudaStreamWaitEvent", self.side, self.event, 0)
        self.cuda.launch("spin", self.side)
        call("cudaGraphLaunch", self.graph, self.stream)
        scratch = self.cuda.made("cudaMalloc", BATCH_BYTES)
        call("cudaMemsetAsync", scratch, 0, BATCH_BYTES, self.stream)
        call("cudaMemcpyAsync", self.device, scratch, BATCH_BYTES, DEVICE_TO_DEVICE, self.side)
        kept = [bytes(40000 + number), batch * 20]
        call("cudaStreamSynchronize", self.side)
        call("cudaMemcpy", self.host, self.device, 1024, DEVICE_TO_HOST)
        call("cudaFree", scratch)
        if gpuprobe:
            gpuprobe.mark("step is over", bytes=sum(map(len, kept)))


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2])
    requests, batches = os.pipe(), os.pipe()
    loader = os.fork()
    if not loader:
        os.close(requests[1])
        load_batches(requests[0], batches[1])
        os._exit(0)
    os.close(requests[0])
    os.close(batches[1])
    cuda, ready, done, lock = Cuda(folder), threading.Barrier(THREADS), queue.Queue(), threading.Lock()
    trainers = [Trainer(cuda, index, ready, done, lock, (batches[0], requests[1])) for index in range(THREADS)]
    for trainer in trainers:
        trainer.start()

    def work(count):
        for trainer in trainers:
            trainer.asked.put(count)
        for _ in range(THREADS):
            done.get()

    work(1)  # so that all is loaded that will be
    print("ready", flush=True)
    for _ in iter(sys.stdin.readline, ""):
        work(rounds)
        print("done", flush=True)
    os.close(requests[1])
    _, status = os.waitpid(loader, 0)
    sys.exit(os.waitstatus_to_exitcode(status) and f"live_python.py: the process that loads ended with {status}")


main()
