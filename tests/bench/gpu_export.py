# SPDX-License-Identifier: GPL-2.0-or-later
"""Section gpu-export of tests/bench/run: export of a capture with 5 million events of GPU work."""
import pathlib
import shutil
import statistics
import tempfile

EVENTS = 5000000
START_NS, STEP_NS = 1000000000000, 5000
FACTS_LINES = 8  # of the fixture: threads, window, GPU, streams
LAUNCH = ('{"kind":"api","source":3,"ts":%d,"dur":2000,"pid":4242,"tid":4242,"name":"cudaLaunchKernel_v7000","correlation":%d,'
	  '"callback":211,"result":0,"domain":"runtime"}\n')
KERNEL = ('{"kind":"kernel","source":3,"ts":%d,"dur":2500,"pid":4242,"name":"%s","correlation":%d,"device":"NVIDIA H200","context":"#1",'
	  '"stream":"#1","grid":[%d,1,1],"block":[256,1,1],"registers_per_thread":32,"static_shared_memory_bytes":0,'
	  '"dynamic_shared_memory_bytes":0}\n')
ROUNDS = 5


def write_facts(bench, file, window_ns):
	facts = (bench.ROOT / "tests/golden/gpu_graph.ndjson").read_text().split("\n")[:FACTS_LINES]
	file.writelines(line.replace('"dur":100000', f'"dur":{window_ns}') + "\n" for line in facts)


def write_launch(file, ts, number):
	"""A launch with its kernel: of 97 kernels with 50 sizes."""
	name = f"_Z{6 + len(str(number % 97))}kernel{number % 97}Pf"
	file.write(LAUNCH % (ts, number + 1))
	file.write(KERNEL % (ts + 2000, name, number + 1, 132 + number % 50))


def write_text(bench, file, events):
	write_facts(bench, file, events * STEP_NS)
	for i in range(events // 2):
		write_launch(file, START_NS + 1000 + i * STEP_NS, i)


def capture_of(bench, folder, events=EVENTS):
	"""Kept from run to run."""
	path = bench.BUILD / f"gpu-{events}.gpr"
	if not path.exists():
		text = folder / "gpu.ndjson"
		with text.open("w") as file:
			write_text(bench, file, events)
		bench.run_measured(bench.GPUPROBE, "export", text, "-o", path)
		text.unlink()
	return path


def measure(bench):
	bench.BUILD.mkdir(parents=True, exist_ok=True)
	memory = pathlib.Path("/dev/shm")
	in_memory = memory.is_dir() and shutil.disk_usage(memory).free > 8e9
	folder = pathlib.Path(tempfile.mkdtemp(dir=memory if in_memory else bench.BUILD))
	rows = []
	try:
		source = capture_of(bench, folder)
		outputs = {suffix: folder / f"export{suffix}" for suffix in (".xplane.pb", ".json")}
		runs = {suffix: [] for suffix in outputs}
		sizes = {}
		for number in range(ROUNDS):
			for suffix, output in outputs.items():
				runs[suffix].append(bench.run_measured(bench.GPUPROBE, "export", source, "-o", output))
				sizes[suffix] = output.stat().st_size
				output.unlink()
				bench.note(f"gpu-export: round {number + 1}, {suffix}: {runs[suffix][-1]}")
		for suffix, columns in runs.items():
			seconds, cpu, memory_mb = (statistics.median(column) for column in zip(*columns))
			rows.append([suffix, f"{seconds:.1f} s", f"{min(column[0] for column in columns):.1f} s", f"{cpu:.1f} s", f"{memory_mb:.0f} MB",
				     f"{sizes[suffix] / EVENTS:.0f}"])
	finally:
		shutil.rmtree(folder)
	bench.say(f"Export of a capture of {EVENTS:,} events, half of them kernels, half their launches, to "
		  f"{'memory' if in_memory else 'disk'}; {ROUNDS} rounds in turns")
	bench.say()
	bench.table(["to", "time, median", "shortest", "CPU time", "peak memory", "bytes an event"], rows)
