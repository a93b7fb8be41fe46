# SPDX-License-Identifier: GPL-2.0-or-later
"""Section perfetto of tests/bench/run: export of GPU work in Perfetto's own format beside our Chrome traces, and how long the real engine
(where make conformance has fetched it) takes to load both. PERFETTO_EVENTS=10000000 tests/bench/run perfetto: of as many events."""
import os
import pathlib
import shutil
import statistics
import tempfile

import gpu_export

EVENTS = int(os.environ.get("PERFETTO_EVENTS", 500000))
ROUNDS = int(os.environ.get("PERFETTO_ROUNDS", 5))
MORE = 10  # times as many events, for the memory
SUFFIXES = (".pftrace", ".json", ".pftrace.gz", ".json.gz")
LOADED_BYTES_MAX = 300e6  # of JSON: the engine has 32 bits of memory
QUERY = "count=select count(*) as count from slice"


def load(bench, path):
	conformance = bench.ROOT / "tests" / "conformance"
	return bench.run_measured("node", conformance / "query.mjs", bench.ROOT / "build" / "conformance" / "engine", QUERY, "--", path)


def measure_exports(bench, folder, events, suffixes, with_engine):
	"""suffix -> measured rounds, bytes, measured loads"""
	source = gpu_export.capture_of(bench, folder, events)
	runs, sizes, loads = ({suffix: [] for suffix in suffixes} for _ in range(3))
	for number in range(ROUNDS):
		for suffix in suffixes:
			output = folder / f"export{suffix}"
			runs[suffix].append(bench.run_measured(bench.GPUPROBE, "export", source, "-o", output))
			sizes[suffix] = output.stat().st_size
			if with_engine and not suffix.endswith(".gz") and sizes[suffix] < LOADED_BYTES_MAX:
				loads[suffix].append(load(bench, output))
			output.unlink()
			bench.note(f"perfetto: round {number + 1}, {suffix}: {runs[suffix][-1]}, loads {loads[suffix][-1:]}")
	return runs, sizes, loads


def median(measured, column=0):
	return statistics.median(row[column] for row in measured)


def start_of_engine(bench, folder):
	"""What a load takes of a trace without events: node compiles the engine then."""
	empty = folder / "empty.pftrace"
	bench.run_measured(bench.GPUPROBE, "export", bench.ROOT / "tests" / "golden" / "empty.ndjson", "-o", empty)
	return [load(bench, empty) for _ in range(ROUNDS)]


def measure(bench):
	bench.BUILD.mkdir(parents=True, exist_ok=True)
	memory = pathlib.Path("/dev/shm")
	in_memory = memory.is_dir() and shutil.disk_usage(memory).free > 4000 * EVENTS
	folder = pathlib.Path(tempfile.mkdtemp(dir=memory if in_memory else bench.BUILD))
	with_engine = (bench.ROOT / "build" / "conformance" / "engine" / "engine.mjs").exists() and bool(shutil.which("node"))
	try:
		runs, sizes, loads = measure_exports(bench, folder, EVENTS, SUFFIXES, with_engine)
		starts = start_of_engine(bench, folder) if with_engine else []
		more, _, _ = measure_exports(bench, folder, EVENTS * MORE, (".pftrace",), False)
	finally:
		shutil.rmtree(folder)
	bench.say(f"Export of {EVENTS:,} events, half of them kernels, half their launches, to {'memory' if in_memory else 'disk'}; {ROUNDS} rounds in turns")
	bench.say()
	bench.table(["to", "time, median", "shortest", "CPU time", "peak memory", "bytes an event", "the engine loads it in"],
		    [[suffix, f"{median(rows):.2f} s", f"{min(row[0] for row in rows):.2f} s", f"{median(rows, 1):.2f} s", f"{median(rows, 2):.0f} MB",
		      f"{sizes[suffix] / EVENTS:.1f}", f"{median(loads[suffix]):.2f} s" if loads[suffix] else "-"] for suffix, rows in runs.items()])
	bench.say()
	ratios = [[f"{what}, .pftrace{end} / .json{end}", median(runs[f".pftrace{end}"], column) / median(runs[f".json{end}"], column), most]
		  for end, most in (("", "0.5"), (".gz", "1")) for what, column in (("time", 0), ("CPU time", 1))]
	ratios.append([f"memory, {MORE} times the events / these", median(more[".pftrace"], 2) / median(runs[".pftrace"], 2), "1"])
	ratios.append([f"memory, {MORE} times the events / 32 MB", median(more[".pftrace"], 2) / 32, "1"])
	if all(loads[suffix] for suffix in (".pftrace", ".json")):
		for what, column in (("time", 0), ("CPU time", 1)):
			start, ours, json = (median(rows, column) for rows in (starts, loads[".pftrace"], loads[".json"]))
			ratios += [[f"the engine's load, {what}, .pftrace / .json", ours / json, "0.5"],
				   [f"the same without its start, {start:.1f} s", (ours - start) / (json - start), "0.5"]]
	bench.table(["ratio", "measured", "at most"], [[name, f"{value:.2f}", most] for name, value, most in ratios])
