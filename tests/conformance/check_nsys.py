#!/usr/bin/env python3
"""Judges databases by NVIDIA's own `nsys stats`: check_nsys.py NSYS GPUPROBE CAPTURE...

Each report that gpuprobe prints of a capture has to be the one that nsys prints of the database exported from it, cell by cell;
each other report of nsys, and each rule of `nsys analyze`, has to read the database without a complaint. Prints "ok" and "not ok"
lines; exits 1 after a "not ok"."""
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# What gpuprobe prints, by the name that nsys 2022.4 has for it.
COMPARED = {
	"cuda_api_sum": "cudaapisum",
	"cuda_gpu_kern_sum": "gpukernsum",
	"cuda_gpu_kern_gb_sum": "gpukernsum",
	"cuda_gpu_mem_time_sum": "gpumemtimesum",
	"cuda_gpu_mem_size_sum": "gpumemsizesum",
	"cuda_gpu_sum": "gpusum",
	"cuda_api_gpu_sum": "apigpusum",
	"cuda_gpu_trace": "gputrace",
	"cuda_api_trace": "cudaapitrace",
	"cuda_kern_exec_sum": "kernexecsum",
	"nvtx_sum": "nvtxsum",
	"nvtx_pushpop_sum": "nvtxppsum",
	"nvtx_startend_sum": "nvtxsesum",
}
# What is read only, besides, until gpuprobe prints it too.
REPORTS = ["apigpusum", "cudaapisum", "cudaapitrace", "gpukernsum", "gpumemsizesum", "gpumemtimesum", "gpusum", "gputrace", "kernexecsum", "kernexectrace",
	"nvtxgpuproj", "nvtxkernsum", "nvtxppsum", "nvtxpptrace", "nvtxsesum", "nvtxsum", "openaccsum", "openmpevtsum", "osrtsum", "umcpupagefaults",
	"unifiedmemory", "unifiedmemorytotals"]
READ = [report for report in REPORTS if report not in COMPARED.values()]
RULES = ["cuda-async-memcpy", "cuda-sync-memcpy", "cuda-sync-memset", "cuda-sync-api", "gpu-starv", "gpu-low-util"]

# Decimals that nsys prints, by the unit of the column.
DECIMALS = {"(%)": 1, "(ns)": 1, "(MB)": 3, "(MBps)": 3}

failed = 0


def result(ok, name, why=""):
	global failed
	failed += not ok
	print(f"ok nsys {name}" if ok else f"not ok nsys {name}: {why}"[:600])


def run(*command, **options):
	return subprocess.run(command, capture_output=True, text=True, timeout=300, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, **options)


def nsys_rows(text):
	"""Its csv does not double quotes inside of cells: names are the last cell, and the only ones that hold any."""
	lines = [line for line in text.split("\n") if line]
	if not lines:
		return []
	header = next(csv.reader([lines[0]]))
	rows = []
	for line in lines[1:]:
		cells = line.split(",", len(header) - 1)
		if len(cells) > 1 and '"' in "".join(cells[:-1]):
			cells = next(csv.reader([line]))
		last = cells[-1]
		cells[-1] = last[1:-1] if len(last) > 1 and last[0] == last[-1] == '"' else last
		rows.append(dict(zip(header, cells)))
	return rows


def our_rows(text):
	return list(csv.DictReader(io.StringIO(text)))


def shortened(row):
	"""It cuts the version off a call's name only where that has four digits; ours is without."""
	return {column: re.sub(r"_v\d{5}$", "", cell) if column in ("Name", "API Name", "Operation") else cell for column, cell in row.items()}


def same(column, theirs, ours):
	if theirs == ours or (theirs == "None" and ours == ""):
		return True
	try:
		places = DECIMALS.get(column.rsplit(" ", 1)[-1], 0)
		# Half of the last place that they print, and what a double can't hold.
		return abs(float(theirs) - float(ours)) <= 0.5000001 * 10 ** -places + 1e-12 * abs(float(ours))
	except ValueError:
		return False


def without_grid(rows):
	"""gpukernsum has a row for each grid and block, cuda_gpu_kern_sum one for each name: comparable where a name has one."""
	names = [row.get("Name") for row in rows]
	return [row for row in rows if names.count(row.get("Name")) == 1], {name for name in names if names.count(name) > 1}


# Columns that nsys 2022.4 does not have yet.
NEWER = ("GreenCtx",)
# The database has to have a number there, and holds 0 for what is not known; ours says that it is not.
NEVER_NULL = ("GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ", "GridXYZ", "BlockXYZ", "Reg/Trd", "StcSMem (MB)", "DymSMem (MB)",
	      "Ctx", "Strm")
# The database numbers launches anew, since those of CUPTI come again, in another process or later, and has none for what was
# launched before the recording; ours are those of CUPTI.
RENUMBERED = ("CorrId", "CorrID")

# By what the rows of a report go, the largest first; of traces the smallest.
ORDER = {"cuda_gpu_mem_size_sum": "Total (MB)", "cuda_kern_exec_sum": "TAvg (ns)"}


NAMES = ("Name", "Range", "Operation", "Style", "API Name", "Kernel Name", "GridXYZ", "BlockXYZ", "PID", "TID", "DevId")


def number(cell):
	return float(cell) if cell not in ("", "None") else -1.0


def ordered(rows, column, left_open):
	"""Which of equals comes first goes by numbers of the database."""
	return sorted(rows, key=lambda row: (0 if left_open and "Range" in row else -number(row[column]), [row[name] for name in NAMES if name in row]))


def throughput_of_nsys(row):
	"""It divides 10^9 by the duration as integers before it multiplies, so that copies of more than a second have none."""
	duration = int(row["Duration (ns)"])
	return float(row["Throughput (MBps)"]) * duration / 1e9 * (10**9 // duration)


def as_nsys(theirs, ours):
	"""Rows of ours with what nsys has there, where that is known to be worse."""
	numbers = {}
	for their, our in zip(theirs, ours):
		for column in our:
			if column in NEVER_NULL and our[column] in ("", "None") and their[column] in ("0", "0.000", "   0    0    0"):
				our[column] = their[column]
			elif column in RENUMBERED and (their[column] == "None" or numbers.setdefault(their[column], our[column]) == our[column]):
				our[column] = their[column]
			elif column == "Throughput (MBps)" and our[column] not in ("", "None"):
				our[column] = f"{throughput_of_nsys(our):.6f}"


def open_ranges(gpuprobe, capture):
	"""Names of ranges that were open when the window closed: they have no duration of ours; nsys lets them end at the last time that it knows."""
	records = map(json.loads, run(gpuprobe, "export", capture, "-f", "ndjson", "-o", "-").stdout.rstrip("\n").split("\n"))
	return {record["args"]["arg0"] if record.get("usdt", "").startswith("gpuprobe:") else record["name"] for record in records
		if record["kind"] in ("range", "process_range", "usdt_span") and "dur" not in record}


def is_compared(column, ours, left_open):
	if column in NEWER:
		return False
	if left_open and "Range" in ours:
		is_open = ours["Range"] in left_open or ours["Range"].split(":", 1)[-1] in left_open
		return column in ("Range", "Style", "Instances") or (column != "Time (%)" and not is_open)
	# A deviation of no values is no 0.
	return column != "QStdDev (ns)" or ours["QAvg (ns)"]


def compare(label, report, theirs, ours, left_open):
	several = set()
	if report == "cuda_gpu_kern_sum":
		theirs, several = without_grid(theirs)
	column = "Start (ns)" if report.endswith("_trace") else ORDER.get(report, "Total Time (ns)")
	theirs = [shortened(row) for row in theirs]
	ours = [row for row in ours if row.get("Name") not in several]
	if len(theirs) != len(ours):
		return result(False, label, f"{len(theirs)} rows of nsys, {len(ours)} of gpuprobe: {theirs[:2]} {ours[:2]}")
	for rows, whose in ((theirs, "nsys"), (ours, "gpuprobe")):
		values = [number(row[column]) for row in rows]
		if values != sorted(values, reverse=not report.endswith("_trace")):
			return result(False, label, f"{whose} does not go by {column}")
	theirs, ours = ordered(theirs, column, left_open), ordered(ours, column, left_open)
	as_nsys(theirs, ours)
	for place, (their, our) in enumerate(zip(theirs, ours)):
		for column, cell in our.items():
			if is_compared(column, our, left_open) and not same(column, their.get(column, "no such column"), cell):
				return result(False, label, f"row {place}, {column}: nsys {their.get(column)!r}, gpuprobe {cell!r}")
	result(True, f"{label}: {len(ours)} rows")


def judge(nsys, gpuprobe, capture, folder):
	name = pathlib.Path(capture).stem
	database = f"{folder}/{name}.sqlite"
	done = run(gpuprobe, "export", capture, "-o", database)
	if done.returncode:
		return result(False, name, done.stderr)
	left_open = open_ranges(gpuprobe, capture)
	for ours, theirs in COMPARED.items():
		printed = run(nsys, "stats", "-q", "-f", "csv", "-r", theirs, database)
		stats = run(gpuprobe, "stats", capture, "-r", ours, "-f", "csv")
		if printed.stderr or stats.returncode:
			result(False, f"{name} {ours}", printed.stderr + stats.stderr)
			continue
		compare(f"{name} {ours}", ours, nsys_rows(printed.stdout), our_rows(stats.stdout), left_open)
	printed = run(nsys, "stats", "-q", "-f", "csv", "-r", ",".join(READ), database)
	result(not printed.stderr and "rror" not in printed.stdout, f"{name}: {len(READ)} other reports", printed.stderr + printed.stdout[:300])
	printed = run(nsys, "analyze", "-q", "-f", "csv", "-r", ",".join(RULES), database)
	result(not printed.stderr and "rror" not in printed.stdout, f"{name}: {len(RULES)} rules", printed.stderr + printed.stdout[:300])


def main():
	nsys, gpuprobe, *captures = sys.argv[1:]
	with tempfile.TemporaryDirectory(prefix="gpuprobe-nsys-") as folder:
		for capture in captures:
			judge(nsys, gpuprobe, capture, folder)
	sys.exit(failed > 0)


main()
