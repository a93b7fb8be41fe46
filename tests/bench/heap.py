# SPDX-License-Identifier: GPL-2.0-or-later
"""Section heap of tests/bench/run: redis-server bare, under gpuprobe --alloc heap, and under bpftrace that counts the same."""
import os
import pathlib
import re
import shutil

PROGRAM = """
uprobe:{0}:malloc {{ @size[tid] = arg0; @old[tid] = 0; @calls[ustack] = count(); @bytes[ustack] = sum(arg0); }}
uprobe:{0}:calloc {{ @size[tid] = arg0 * arg1; @old[tid] = 0; @calls[ustack] = count(); @bytes[ustack] = sum(arg0 * arg1); }}
uprobe:{0}:realloc {{ @size[tid] = arg1; @old[tid] = arg0; @calls[ustack] = count(); @bytes[ustack] = sum(arg1); }}
uretprobe:{0}:malloc, uretprobe:{0}:calloc, uretprobe:{0}:realloc /@size[tid] && retval/ {{
	if (@old[tid]) {{ @live -= @block[@old[tid]]; delete(@block[@old[tid]]); }}
	@block[retval] = @size[tid]; @live += @size[tid]; delete(@size[tid]); delete(@old[tid]);
}}
uprobe:{0}:free /@block[arg0]/ {{ @live -= @block[arg0]; delete(@block[arg0]); }}
"""
WHAT = {
	"bare": "nothing attached",
	"gpuprobe": "gpuprobe --alloc heap: calls, bytes, live ones and peak by stack",
	"bpftrace": "bpftrace: calls and bytes by stack, live bytes",
}


def library_of(server):
	"""The copy of its allocator that only this server maps, as tracers find it."""
	for line in open(f"/proc/{server.process.pid}/maps"):
		if "libjemalloc" in line:
			return line.split()[-1]
	return None


def start_server(bench, name):
	"""redis-server with an allocator of its own, so that probes in it are nobody else's."""
	folder = bench.BUILD / "redis" / name
	folder.mkdir(parents=True, exist_ok=True)
	for path in pathlib.Path("/usr/lib").glob("*/libjemalloc.so.2"):
		shutil.copyfile(os.path.realpath(path), folder / path.name)
	os.environ["LD_LIBRARY_PATH"] = str(folder)
	try:
		return bench.Redis(name)
	finally:
		del os.environ["LD_LIBRARY_PATH"]


def measure_server(bench, server):
	"""(requests a second, us of CPU time a request)"""
	before = server.cpu_ns()
	rate = server.requests_per_second()
	return rate, (server.cpu_ns() - before) / 1000 / bench.REDIS_REQUESTS


def start_tracer(bench, server):
	if not shutil.which("bpftrace"):
		return None
	os.environ["BPFTRACE_MAP_KEYS_MAX"] = str(1 << 20)
	return bench.start_bpftrace(server, PROGRAM.replace("{0}", library_of(server).replace("{", "{{")))


def measure(bench):
	if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
		return bench.note("heap: skipped, redis is not installed")
	servers = {name: start_server(bench, "heap-" + name) for name in ("gpuprobe", "bpftrace")}
	if not library_of(servers["gpuprobe"]):
		return bench.note("heap: skipped, redis-server does not use libjemalloc.so.2")
	tracer = start_tracer(bench, servers["bpftrace"])
	if not tracer:
		bench.note("heap: without bpftrace, which is not installed or cannot attach")
	variants = ["bare", "gpuprobe"] + (["bpftrace"] if tracer else [])
	rates, costs, lost = {name: [] for name in variants}, {name: [] for name in variants}, set()
	for number in range(bench.ROUNDS):
		for name in variants:
			server = servers.get(name) or servers["gpuprobe"]
			recording = bench.Gpuprobe(server.process.pid, None, bench.BUILD / "heap.gpr", "--no-blocking", "--cpu-hz", "0", "--alloc", "heap") \
				if name == "gpuprobe" else None
			rate, cost = measure_server(bench, server)
			rates[name].append(rate)
			costs[name].append(cost)
			if recording:
				recording.stop()
				lost |= set(re.findall(r"(?:[\d,]+|nothing) lost", recording.words))
			bench.note(f"heap: round {number + 1}, {name}: {rate:,.0f} requests/s, {cost:.1f} us a request")
	if tracer:
		tracer.terminate()
		bench.leaving.append(tracer)
	for server in servers.values():
		server.end()
	show(bench, rates, costs, lost)


def show(bench, rates, costs, lost):
	rows = bench.gpuprobe_table(bench.BUILD / "heap.gpr", "allocations")
	calls = sum(int(row["Calls"]) for row in rows)
	bench.say(f"redis-server on jemalloc under redis-benchmark -t set: {calls / bench.REDIS_REQUESTS:.1f} allocations a request from "
		  f"{len(rows)} stacks; gpuprobe: {', '.join(sorted(lost))}")
	bench.say()
	bare_rate, bare_cost = bench.median(rates["bare"]), bench.median(costs["bare"])
	bench.table(["", "requests/s", "of bare", "us of CPU a request", "more than bare, us"],
		    [[WHAT[name], f"{bench.median(rates[name]):,.0f}", f"{bench.median(rates[name]) / bare_rate:.0%}", f"{bench.median(costs[name]):.1f}",
		      f"{bench.median(costs[name]) - bare_cost:.1f}"] for name in rates])
