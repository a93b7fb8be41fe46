# SPDX-License-Identifier: GPL-2.0-or-later
"""Section nsys of tests/bench/run: databases of Nsight Systems: how fast they are written, and reports beside those of nsys itself."""
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import gpu_export

EVENTS = (1000000, 5000000)  # of which half are kernels
LIMIT_SECONDS = 30  # for the largest
WRITE_ROUNDS = 3
KERNELS = 1000000
REPORT_ROUNDS = 3
TIMEOUT_SECONDS = 120  # of a report of nsys, which takes minutes for some
RANGE_KERNELS = 500

# gpuprobe's name, nsys' own; None: it has none such.
REPORTS = [
	("cuda_api_sum", "cudaapisum"),
	("cuda_gpu_kern_sum", "gpukernsum"),
	("cuda_gpu_kern_gb_sum", "gpukernsum"),
	("cuda_gpu_mem_time_sum", "gpumemtimesum"),
	("cuda_gpu_mem_size_sum", "gpumemsizesum"),
	("cuda_gpu_sum", "gpusum"),
	("cuda_api_gpu_sum", "apigpusum"),
	("cuda_gpu_trace", "gputrace"),
	("cuda_api_trace", "cudaapitrace"),
	("cuda_kern_exec_sum", "kernexecsum"),
	("cuda_kern_exec_trace", "kernexectrace"),
	("nvtx_sum", "nvtxsum"),
	("nvtx_pushpop_sum", "nvtxppsum"),
	("nvtx_startend_sum", "nvtxsesum"),
	("nvtx_pushpop_trace", "nvtxpptrace"),
	("nvtx_kern_sum", "nvtxkernsum"),
	("nvtx_gpu_proj_trace", "nvtxgpuproj"),
	("nvtx_gpu_proj_sum", None),
	("osrt_sum", "osrtsum"),
	("um_sum", "unifiedmemory"),
	("um_total_sum", "unifiedmemorytotals"),
	("um_cpu_page_faults_sum", "umcpupagefaults"),
]

RANGE = '{"kind":"range","source":3,"ts":%d,"dur":%d,"pid":4242,"tid":4242,"name":"step %d","ended":"ended"}\n'
MARKED = '{"kind":"process_range","source":3,"ts":%d,"dur":%d,"pid":4242,"tid":4242,"name":"epoch %d","ended":"ended"}\n'
COPY = ('{"kind":"copy","source":3,"ts":%d,"dur":900,"pid":4242,"correlation":%d,"device":"NVIDIA H200","context":"#1","stream":"#1","bytes":4096,'
	'"direction":"host_to_device","from":"pinned","to":"device","async":"yes"}\n')
FAULTS = ('{"kind":"migration","source":3,"ts":%d,"dur":900,"pid":4242,"value":65536,"address":"0x%x","destination_device":"NVIDIA H200",'
	  '"type":"host_to_device","migration_cause":"coherence"}\n'
	  '{"kind":"migration","source":3,"ts":%d,"dur":900,"pid":4242,"value":16,"address":"0x%x","source_device":"NVIDIA H200","type":"gpu_fault",'
	  '"access":"write"}\n'
	  '{"kind":"migration","source":3,"ts":%d,"dur":0,"pid":4242,"stack":["0x401234"],"value":1,"address":"0x%x","type":"cpu_faults"}\n')
PROBE = '{"kind":"probe","source":2,"name":"read","id":"read","binary":"/usr/lib/libc.so.6","returns":"session","address":"0x10"}\n'
CALL = '{"kind":"call","source":2,"ts":%d,"dur":300,"pid":4242,"tid":4242,"name":"read","probe":"read","ended":"returned"}\n'


def write_training(bench, file):
	"""KERNELS kernels in ranges of RANGE_KERNELS, of which each begins with a copy, a page fault of each side and a system call."""
	gpu_export.write_facts(bench, file, KERNELS * gpu_export.STEP_NS + 10000)
	file.write(PROBE)
	for i in range(KERNELS):
		ts = gpu_export.START_NS + 1000 + i * gpu_export.STEP_NS
		if i % RANGE_KERNELS == 0:
			number, address = i // RANGE_KERNELS, 0x7d0000000000 + i % 65536 * 4096
			file.write(RANGE % (ts - 900, RANGE_KERNELS * gpu_export.STEP_NS - 1000, number % 100))
			file.write(CALL % (ts - 800))
			file.write(COPY % (ts - 400, KERNELS + number + 1))
			file.write(FAULTS % (ts - 300, address, ts - 290, address, ts - 280, address))
		if i % (100 * RANGE_KERNELS) == 0:
			file.write(MARKED % (ts - 950, 100 * RANGE_KERNELS * gpu_export.STEP_NS - 1000, i))
		gpu_export.write_launch(file, ts, i)


def capture_of_training(bench, folder):
	"""Kept from run to run."""
	path = bench.BUILD / f"nsys-{KERNELS}.gpr"
	if not path.exists():
		text = folder / "training.ndjson"
		with text.open("w") as file:
			write_training(bench, file)
		bench.run_measured(bench.GPUPROBE, "export", text, "-o", path)
		text.unlink()
	return path


# ---- writing --------------------------------------------------------------------------------------------

def measure_writing(bench, folder):
	rows = []
	for events in EVENTS:
		source, output = gpu_export.capture_of(bench, folder, events), folder / "export.sqlite"
		runs = []
		for number in range(WRITE_ROUNDS):
			runs.append(bench.run_measured(bench.GPUPROBE, "export", source, "-o", output))
			size = output.stat().st_size
			output.unlink()
			bench.note(f"nsys: {events} events, round {number + 1}: {runs[-1]}")
		seconds, cpu, memory_mb = (statistics.median(column) for column in zip(*runs))
		rows.append([f"{events:,}", f"{seconds:.1f} s", f"{cpu:.1f} s", f"{events / seconds / 1e6:.2f} M/s", f"{memory_mb:.0f} MB",
			     f"{size / events:.0f}"])
	bench.say(f"Export of captures to databases of Nsight Systems, half of the events kernels, half their launches; {WRITE_ROUNDS} rounds")
	bench.say()
	bench.table(["events", "time, median", "CPU time", "rows", "peak memory", "bytes a row"], rows)
	bench.say(f"5 M rows in {LIMIT_SECONDS} s: {'kept' if seconds < LIMIT_SECONDS else 'MISSED'}")
	bench.say()


# ---- reports --------------------------------------------------------------------------------------------

def nsys_of(bench):
	found = subprocess.run([bench.ROOT / "tests/conformance/fetch_nsys"], capture_output=True, text=True)
	return found.stdout.strip() if found.returncode == 0 else None


def run_bounded(*command):
	"""Seconds, None: longer than TIMEOUT_SECONDS; and what it printed."""
	started = time.monotonic()
	try:
		done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=TIMEOUT_SECONDS,
				      env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
	except subprocess.TimeoutExpired:
		return None, ""
	return time.monotonic() - started, done.stdout if done.returncode == 0 else ""


def is_known(bench, report):
	done = subprocess.run([bench.GPUPROBE, "stats", bench.ROOT / "tests/golden/gpu_graph.ndjson", "-r", report], capture_output=True)
	return done.returncode == 0


def timed(rounds, *command):
	"""Median of what it takes; one round says enough of what takes long."""
	times = []
	for _ in range(rounds):
		seconds, words = run_bounded(*command)
		if seconds is None:
			return None, ""
		times.append(seconds)
		if seconds > TIMEOUT_SECONDS / 6:
			break
	return statistics.median(times), words


def measure_report(bench, nsys, capture, database, report, theirs):
	ours, words = timed(REPORT_ROUNDS, bench.GPUPROBE, "stats", capture, "-r", report, "-f", "csv")
	line = [report, "not printed" if ours is None or not words.strip() else f"{ours:.2f} s"]
	if not theirs or not nsys:
		return line + ["-", "-"]
	seconds, words = timed(REPORT_ROUNDS, nsys, "stats", "-q", "-f", "csv", "-r", theirs, database)
	bench.note(f"nsys: {report}: {ours} {seconds}")
	if seconds is None:
		return line + [f"> {TIMEOUT_SECONDS} s", f"1 : > {TIMEOUT_SECONDS / ours:.0f}"]
	return line + [f"{seconds:.2f} s" if words.strip() else "not printed", f"1 : {seconds / ours:.1f}"]


def measure_reports(bench, folder):
	capture, database = capture_of_training(bench, folder), folder / "training.sqlite"
	nsys, known = nsys_of(bench), {report for report, _ in REPORTS if is_known(bench, report)}
	bench.run_measured(bench.GPUPROBE, "export", capture, "-o", database)
	rows = [measure_report(bench, nsys, capture, database, *names) for names in REPORTS if names[0] in known]
	bench.say(f"Reports on a capture of {KERNELS:,} kernels in {KERNELS // RANGE_KERNELS:,} ranges: gpuprobe from the .gpr, nsys 2022.4 from the "
		  f"database exported from it ({database.stat().st_size / 1e6:.0f} MB); medians of {REPORT_ROUNDS}, of what takes long one")
	bench.say()
	bench.table(["report", "gpuprobe stats", "nsys stats", "gpuprobe : nsys"], rows)
	for report, _ in REPORTS:
		if report not in known:
			bench.say(f"{report}: skipped, gpuprobe has no such report yet")
	if not nsys:
		bench.say("nsys can't be had: tests/conformance/fetch_nsys")


def measure(bench):
	bench.BUILD.mkdir(parents=True, exist_ok=True)
	memory = pathlib.Path("/dev/shm")
	in_memory = memory.is_dir() and shutil.disk_usage(memory).free > 8e9
	folder = pathlib.Path(tempfile.mkdtemp(dir=memory if in_memory else bench.BUILD))
	try:
		measure_writing(bench, folder)
		measure_reports(bench, folder)
	finally:
		shutil.rmtree(folder)
