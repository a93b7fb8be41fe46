# SPDX-License-Identifier: GPL-2.0-or-later
"""Serves requests with the simulated CUDA: a line comes, some kernels run, a line goes back.

	gpu_server.py SIM HOW ADDRESS	SIM: the folder build/sim. HOW: recv (one thread, which serves one connection after the other), asyncio (an event loop, and a
					thread that launches), ticks (the same, with a task that looks at something again and again), batches (the same, without it: a request
					waits BATCH_S for others). ADDRESS: path of a UNIX socket, or 127.0.0.1, with a port that is printed. Until SIGTERM.
"""
import asyncio
import concurrent.futures
import ctypes
import socket
import sys

KERNELS = 4
KERNEL_NS = 300_000
TICK_S = 0.01
BATCH_S = 0.12

runtime = ctypes.CDLL(sys.argv[1] + "/libcudart.so.13")


class Dim3(ctypes.Structure):
	_fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


runtime.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
stub = ctypes.create_string_buffer(1)
spin_ns = ctypes.c_uint64(KERNEL_NS)
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(spin_ns))


def check(result):
	if result:
		sys.exit(f"gpu_server.py: error {result}")


def infer():
	for _ in range(KERNELS):
		check(runtime.cudaLaunchKernel(ctypes.addressof(stub), Dim3(264, 1, 1), Dim3(256, 1, 1), arguments, 0, None))
	check(runtime.cudaDeviceSynchronize())


def serve(listening):
	while True:
		connection, _ = listening.accept()
		while connection.recv(16):
			infer()
			connection.send(b"done\n")
		connection.close()


async def tick():
	while True:
		await asyncio.sleep(TICK_S)


async def wait_for_others():
	await asyncio.sleep(BATCH_S)


async def serve_by_a_loop(listening):
	pool = concurrent.futures.ThreadPoolExecutor(1)
	ticking = asyncio.create_task(tick()) if how == "ticks" else None

	async def answer(reader, writer):
		while await reader.readline():
			if how == "batches":
				await wait_for_others()
			await asyncio.get_running_loop().run_in_executor(pool, infer)
			writer.write(b"done\n")
		writer.close()

	start = asyncio.start_unix_server if listening.family == socket.AF_UNIX else asyncio.start_server
	await (await start(answer, sock=listening)).serve_forever()


how, address = sys.argv[2:4]
check(runtime.cudaSetDevice(0))
check(runtime.cudaFree(None))
getattr(runtime, "__cudaRegisterFunction")(None, ctypes.c_void_p(ctypes.addressof(stub)), None, b"sim_spin_gemm", -1, None, None, None, None, None)
listening = socket.socket(socket.AF_UNIX if "/" in address else socket.AF_INET)
listening.bind(address if "/" in address else (address, 0))
listening.listen()
print(address if "/" in address else listening.getsockname()[1], flush=True)
if how == "recv":
	serve(listening)
else:
	asyncio.run(serve_by_a_loop(listening))
