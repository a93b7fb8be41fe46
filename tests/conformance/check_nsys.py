#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges databases and tables by NVIDIA's own `nsys stats`: check_nsys.py NSYS GPUPROBE CAPTURE...

Of each capture every report that nsys 2022.4 prints of the database exported from it is compared with what gpuprobe prints of the
capture: cell by cell, as csv and as columns. What differs on purpose is in DIFFERENCES, with its reason. A CAPTURE that is a database (.sqlite) is
read by both. Each rule of `nsys analyze` has to read the database without a complaint. Prints "ok" and "not ok" lines; exits 1 after a "not ok"."""
import contextlib
import csv
import io
import json
import multiprocessing
import pathlib
import re
import subprocess
import sys
import tempfile

# What gpuprobe prints, by the name that nsys 2022.4 has for it.
COMPARED = {
	"cuda_api_sum": "cudaapisum",
	"cuda_api_trace": "cudaapitrace",
	"cuda_gpu_kern_sum": "gpukernsum",
	"cuda_gpu_kern_gb_sum": "gpukernsum",
	"cuda_gpu_kern_gb_sum:base": "gpukernsum:base",
	"cuda_gpu_kern_gb_sum:mangled": "gpukernsum:mangled",
	"cuda_gpu_mem_time_sum": "gpumemtimesum",
	"cuda_gpu_mem_size_sum": "gpumemsizesum",
	"cuda_gpu_sum": "gpusum",
	"cuda_gpu_sum:base": "gpusum:base",
	"cuda_gpu_sum:mangled": "gpusum:mangled",
	"cuda_api_gpu_sum": "apigpusum",
	"cuda_api_gpu_sum:base": "apigpusum:base",
	"cuda_api_gpu_sum:mangled": "apigpusum:mangled",
	"cuda_gpu_trace": "gputrace",
	"cuda_kern_exec_sum": "kernexecsum",
	"cuda_kern_exec_sum:base": "kernexecsum:base",
	"cuda_kern_exec_sum:mangled": "kernexecsum:mangled",
	"cuda_kern_exec_trace": "kernexectrace",
	"cuda_kern_exec_trace:base": "kernexectrace:base",
	"cuda_kern_exec_trace:mangled": "kernexectrace:mangled",
	"nvtx_sum": "nvtxsum",
	"nvtx_pushpop_sum": "nvtxppsum",
	"nvtx_startend_sum": "nvtxsesum",
	"nvtx_pushpop_trace": "nvtxpptrace",
	"nvtx_kern_sum": "nvtxkernsum",
	"nvtx_kern_sum:base": "nvtxkernsum:base",
	"nvtx_kern_sum:mangled": "nvtxkernsum:mangled",
	"nvtx_gpu_proj_trace": "nvtxgpuproj",
	"osrt_sum": "osrtsum",
	"um_sum": "unifiedmemory",
	"um_total_sum": "unifiedmemorytotals",
	"um_cpu_page_faults_sum": "umcpupagefaults",
	"openacc_sum": "openaccsum",
	"openmp_sum": "openmpevtsum",
}
# The same of `nsys analyze`. gpu_gaps has all gaps, its rule those of more than half a second.
RULES = {
	"cuda_memcpy_async": "cuda-async-memcpy",
	"cuda_memcpy_sync": "cuda-sync-memcpy",
	"cuda_memset_sync": "cuda-sync-memset",
	"cuda_api_sync": "cuda-sync-api",
	"gpu_time_util": "gpu-low-util",
	"gpu_gaps": "gpu-starv",
}
LONG_GAP_NS = 500_000_000
ALL_ROWS = ":rows=1000000"
ENDINGS = {"csv": "csv", "column": "txt"}
TIME_UNITS = ("us", "ms", "sec")

failed = 0


def result(ok, name, why=""):
	global failed
	failed += not ok
	print(f"ok nsys {name}" if ok else f"not ok nsys {name}: {why}"[:900])


def run(*command, **options):
	return subprocess.run(command, capture_output=True, text=True, timeout=300, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, **options)


# ---- reading both ----

def unquoted(cell):
	return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def nsys_csv(text):
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
		else:
			cells[-1] = unquoted(cells[-1])
		rows.append(dict(zip(header, cells)))
	return rows


def our_csv(text):
	return list(csv.DictReader(io.StringIO(text)))


def columns(text):
	"""A table between whose heading and rows there is a line of dashes, which says where columns are."""
	lines = text.split("\n")
	places = [place for place, line in enumerate(lines) if re.fullmatch(r" -+(  -+)* *", line)]
	if not places:
		return []
	place, = places
	spans = [match.span() for match in re.finditer("-+", lines[place])]
	header = [lines[place - 1][start:end].strip() for start, end in spans]
	widths = [end - start for start, end in spans]
	rows = []
	for line in lines[place + 1:]:
		if not line or line.startswith((" *", " +")):
			break
		rows.append(dict(zip(header, cells_of(line, widths))))
	return rows


def cells_of(line, widths):
	"""Two blanks stand between cells. Rows of traces are printed as they come: what is wider than its column, for no row before was as wide, moves
	all behind it to the right."""
	cells, place = [], 1
	for width in widths[:-1]:
		end = place + width
		if line[end:end + 2].strip():
			end = line.find("  ", end)
			end = len(line) if end < 0 else end
		cells.append(line[place:end].strip())
		place = end + 2
	marks = re.search(r"( \*)?( \+)?$", line[place + widths[-1]:])[0] if len(line) > place + widths[-1] else ""
	return [*cells, line[place:len(line) - len(marks)].strip()]


READERS = {"csv": (nsys_csv, our_csv), "column": (columns, columns)}

# ---- what differs on purpose ----


def works_at_once(records):
	"""Does a GPU of a process do two things at a time, is there more than one GPU of a process, or does work begin with the capture?"""
	work = sorted((record for record in records if record["kind"] in ("kernel", "copy", "set", "migration", "overhead") and "dur" in record),
		      key=lambda record: record["ts"])
	until, devices = {}, {}
	for record in work:
		if record["kind"] != "overhead":
			devices.setdefault(record["pid"], set()).add(record.get("device", record.get("destination_device", record.get("source_device"))))
		if record["ts"] < until.get(record["pid"], 0):
			return True
		until[record["pid"]] = max(until.get(record["pid"], 0), record["ts"] + record["dur"])
	first = min((record["ts"] for record in records if "ts" in record and record["kind"] in ("window", "kernel", "copy", "set", "migration")), default=0)
	return sum(map(len, devices.values())) > 1 or any(record["ts"] == first for record in work)


class Seen:
	"""Of a capture: what makes cells differ."""

	def __init__(self, gpuprobe, capture):
		records = [json.loads(line) for line in run(gpuprobe, "export", capture, "-f", "ndjson", "-o", "-").stdout.rstrip("\n").split("\n") if line]
		# nsys adds up what runs at the same time (two streams at 30 % are 60 %), loses time of all GPUs but one, and work that begins at 0.
		self.busy_is_summed = works_at_once(records)
		# Names of ranges and calls that were open when the window closed.
		self.left_open = {record["args"]["arg0"] if record.get("usdt", "").startswith("gpuprobe:") else record.get("name", record.get("probe")) for record in records
			if record["kind"] in ("range", "process_range", "usdt_span", "call") and "dur" not in record}


def of_open_ranges(seen, column, ours):
	name = ours.get("Range") or ours.get("NVTX Range") or ours.get("Name") or ""
	if not seen.left_open or column in ("Range", "Name", "NVTX Range", "Style"):
		return False
	return column == "Time (%)" or name in seen.left_open or name.split(":", 1)[-1] in seen.left_open


def is_throughput_of_nsys(ours, theirs):
	if ours["Throughput (MBps)"] == "None":
		return theirs["Throughput (MBps)"] == ("" if ours["Bytes (MB)"] == "None" else "None")
	duration = int(ours["Duration (ns)"])
	# Both are rounded to three places.
	return abs(float(ours["Throughput (MBps)"]) * duration / 1e9 * (10**9 // duration) - float(theirs["Throughput (MBps)"])) < 0.0015


def unversioned(cell):
	return re.sub(r"_v\d+$", "", cell)


# (reports, columns, reason, when): such cells are not compared. `when` takes what was seen of the capture, the column, our row and theirs.
DIFFERENCES = [
	("", "GreenCtx", "a column of newer versions", lambda *_: True),
	("", "Launched by", "a column of ours, where stacks of launches were recorded", lambda *_: True),
	("", "Source", "a column of ours, where kernels of Triton were recorded", lambda *_: True),
	("", "Name|API Name|API Function|Operation", "nsys cuts the version off a call's name only where that has four digits",
	 lambda seen, column, ours, theirs: ours[column] == unversioned(theirs[column])),
	("cuda_gpu_trace|cuda_api_trace", "CorrId|CorrID", "a database holds several processes: correlation ids are made different by their upper halves",
	 lambda seen, column, ours, theirs: number(theirs[column]) > 0 and int(theirs[column]) & 0xffffffff == number(ours[column])),
	("gpu_time_util", "Context ID", "of a GPU whose last work was a move of unified memory, which has no context",
	 lambda seen, column, ours, theirs: ours[column] == "None"),
	("cuda_memcpy_sync|cuda_memcpy_async|cuda_memset_sync", "Context ID|Stream ID", "what is not known is None in ours; the database has to hold a number",
	 lambda seen, column, ours, theirs: ours[column] == "None" and theirs[column] == "0"),
	("cuda_api_trace", "Result", "what is not known is None in ours; the database has to hold a number",
	 lambda seen, column, ours, theirs: ours[column] == "None" and theirs[column] == "0"),
	("cuda_gpu_trace", "Device", "a GPU whose number is not known is in no table of GPUs",
	 lambda seen, column, ours, theirs: theirs[column].strip().startswith("(") and ours[column].endswith(theirs[column].strip())),
	("cuda_gpu_trace", "Grd[XYZ]|Blk[XYZ]|Reg/Trd|StcSMem \\(MB\\)|DymSMem \\(MB\\)|Ctx|Strm", "what is not known is None in ours; the database has to hold a number",
	 lambda seen, column, ours, theirs: ours[column] == "None" and float(theirs[column]) == 0),
	("cuda_gpu_trace", "SrcMemKd|DstMemKd|Ctx|Strm", "unified memory is managed at both ends, and CUPTI knows no context and stream of its moves",
	 lambda seen, column, ours, theirs: "Unified Memory" in ours["Name"]),
	("cuda_gpu_kern_gb_sum|cuda_kern_exec_trace", "GridXYZ|BlockXYZ", "the same",
	 lambda seen, column, ours, theirs: ours[column] == "None" and theirs[column].split() == ["0"] * 3),
	("cuda_gpu_trace", "Throughput \\(MBps\\)", "nsys divides 10^9 by the duration as integers first: copies of more than a second have none",
	 lambda seen, column, ours, theirs: is_throughput_of_nsys(ours, theirs)),
	("", ".*", "nsys cuts what is wider than all of the first 100 rows",
	 lambda seen, column, ours, theirs: theirs[column].endswith("…") and ours[column].startswith(theirs[column][:-1])),
	("um_sum", "Migration Throughput \\(MBps\\)", "nsys divides 10^9 by the duration as integers first",
	 lambda seen, column, ours, theirs: number(ours[column]) > 0 and abs(number(theirs[column]) / number(ours[column]) - 1) < 1e-3),
	("osrt_sum", ".*", "a call that was open has no duration of ours: the database has to hold an end",
	 lambda seen, column, ours, theirs: of_open_ranges(seen, column, ours)),
	("nvtx_pushpop_trace|nvtx_gpu_proj_trace", "End \\(ns\\)|(Orig )?Duration \\(ns\\)|DurChild \\(ns\\)|DurNonChild \\(ns\\)", "the end of a range that was open is not known",
	 lambda seen, column, ours, theirs: of_open_ranges(seen, column, ours)),
	("nvtx_sum|nvtx_pushpop_sum|nvtx_startend_sum", ".*", "a range that was open has no duration of ours: nsys takes the last time that it knows for its end",
	 lambda seen, column, ours, theirs: of_open_ranges(seen, column, ours)),
]


OURS_ONLY = ("GreenCtx", "Launched by", "Source")
# nsys prints them only of databases with copies, faults of CPUs and faults of GPUs; ours have what there is.
NEEDS_ALL = ("um_sum", "um_total_sum")

# (capture, report, reason)
NOT_COMPARED = [
	("gpu_graph(.sqlite)?", "cuda_kern_exec_sum|cuda_kern_exec_trace|nvtx_kern_sum|nvtx_gpu_proj_trace",
	 "made by hand with correlation ids that come again, as after 4 billion calls: nsys joins by them alone"),
	("hostile_gpu(.sqlite)?", ".*", "names of two lines and names like 1e5, which nsys prints as two rows and as 1e+05; pairs of ranges with one start and end, which it leaves out"),
	("(gpu_shed|gpu_taken)(.sqlite)?", "cuda_api_gpu_sum.*", "the recording of the GPU ended inside the window: calls and kernels are summed up to there, by nsys to the end"),
	("(usdt|steps_ranges)(.sqlite)?", "nvtx_pushpop_trace|nvtx_gpu_proj_trace", "a range that was open lies in another one only if it ends at the last time of a range, as nsys has it"),
]


def is_compared(capture, report):
	return not any(re.fullmatch(captures, capture) and re.fullmatch(reports, report) for captures, reports, _ in NOT_COMPARED)


def differs_on_purpose(report, column, seen, ours, theirs):
	return any(re.fullmatch(reports or ".*", report) and re.fullmatch(cells, column) and when(seen, column, ours, theirs)
		for reports, cells, _, when in DIFFERENCES)


# ---- comparing ----

# By what rows go, and whether the largest is first; rows that are equal in it go by numbers of the database in nsys.
ORDER = {"cuda_gpu_mem_size_sum": ("Total (MB)", True), "cuda_kern_exec_sum": ("TAvg (ns)", True), "nvtx_kern_sum": ("NVTX Range", None),
	"cuda_api_trace": ("Start (ns)", False), "cuda_gpu_trace": ("Start (ns)", False), "cuda_kern_exec_trace": ("API Start (ns)", False),
	"nvtx_pushpop_trace": ("Start (ns)", False), "nvtx_gpu_proj_trace": ("Projected Start (ns)", None), "um_sum": ("Virtual Address", None),
	"gpu_time_util": ("In-Use (%)", False), "gpu_gaps": ("Duration (ns)", True), "cuda_memcpy_async": ("Duration (ns)", True),
	"cuda_memcpy_sync": ("Duration (ns)", True), "cuda_memset_sync": ("Duration (ns)", True), "cuda_api_sync": ("Duration (ns)", True),
	"um_total_sum": ("Total CPU Page Faults", None), "um_cpu_page_faults_sum": ("CPU Page Faults", True)}
NAMES = ("Name", "Range", "NVTX Range", "Operation", "Category", "Style", "API Name", "API Function", "Kernel Name", "GridXYZ", "BlockXYZ", "PID", "TID", "Pid",
	"Tid", "DevId", "CorrId", "CorrID", "Start (ns)", "RangeId", "CPU Instruction Address")


def number(cell):
	try:
		return float(cell)
	except ValueError:
		return -1.0


def key(row, column, left_open):
	by = 0 if left_open and ("Range" in row or "Num Calls" in row) or column not in row else -number(row[column])
	return (by, [unversioned(row[name]) for name in NAMES if name in row])


def without_grid(rows):
	"""gpukernsum has a row for each grid and block, cuda_gpu_kern_sum one for each name: comparable where a name has one."""
	names = [row.get("Name") for row in rows]
	return [row for row in rows if names.count(row.get("Name")) == 1], {name for name in names if names.count(name) > 1}


def check_order(label, rows, column, falling, whose):
	values = [number(row[column]) for row in rows]
	if falling is not None and values != sorted(values, reverse=falling):
		result(False, label, f"{whose} does not go by {column}")
		return False
	return True


def with_ids_of(theirs, ours):
	"""Numbers of ranges are those of rows of the database, which may have been made in another order than by time."""
	numbers = {their["RangeId"]: our["RangeId"] for their, our in zip(theirs, ours)}
	if len(set(numbers.values())) < len(theirs):
		return
	for row in theirs:
		row["RangeId"] = numbers[row["RangeId"]]
		row["ParentId"] = numbers.get(row["ParentId"], row["ParentId"])
		row["RangeStack"] = ":".join(numbers.get(number, number) for number in row["RangeStack"].split(":"))


def compare(label, report, theirs, ours, seen):
	column, falling = ORDER.get(report, ("Total Time (ns)", True))
	several = set()
	if report == "cuda_gpu_kern_sum":
		theirs, several = without_grid(theirs)
	ours = [row for row in ours if row.get("Name") not in several]
	if ours and not theirs and report in NEEDS_ALL:
		return result(True, f"{label}: of some of its tables only")
	if len(theirs) != len(ours):
		return result(False, label, f"{len(theirs)} rows of nsys, {len(ours)} of gpuprobe: {theirs[:2]} {ours[:2]}")
	if ours and not (check_order(label, theirs, column, falling, "nsys") and check_order(label, ours, column, falling, "gpuprobe")):
		return None
	if ours and [name for name in ours[0] if name not in OURS_ONLY] != list(theirs[0]) and report != "cuda_gpu_kern_sum":
		return result(False, label, f"columns: nsys {list(theirs[0])}, gpuprobe {list(ours[0])}")
	theirs, ours = (sorted(rows, key=lambda row: key(row, column, seen.left_open)) for rows in (theirs, ours))
	if ours and "RangeId" in ours[0]:
		with_ids_of(theirs, ours)
	for place, (their, our) in enumerate(zip(theirs, ours)):
		for name, cell in our.items():
			if their.get(name) != cell and not differs_on_purpose(report, name, seen, our, their):
				return result(False, label, f"row {place}, {name}: nsys {their.get(name)!r}, gpuprobe {cell!r} in {our}")
	return result(True, f"{label}: {len(ours)} rows")


def print_all(nsys, database, form, folder):
	"""What nsys prints of each report, "" where it has nothing: one call for all of them, a file each."""
	base = pathlib.Path(folder) / f"nsys-{form}"
	reports = sorted(set(COMPARED.values()))
	for old in base.parent.glob(base.name + "_*"):
		old.unlink()
	printed = run(nsys, "stats", "-q", "-f", form, "-r", ",".join(reports), "-o", str(base), database)
	texts = {}
	for report in reports:
		path = pathlib.Path(f"{base}_{report.replace(':', '_')}.{ENDINGS[form]}")
		texts[report] = path.read_text("utf-8") if path.exists() else ""
	return texts, printed.stdout + printed.stderr


def judge_reports(nsys, gpuprobe, name, capture, database, folder, seen):
	for form, (their_reader, our_reader) in READERS.items():
		texts, complaints = print_all(nsys, database, form, folder)
		result("rror" not in complaints, f"{name} is read ({form})", complaints)
		for ours, theirs in COMPARED.items():
			label = f"{name} {ours} {form}"
			stats = run(gpuprobe, "stats", "-q", capture, "-r", ours, "-f", form, "--rows", "0")
			if stats.returncode:
				result(False, label, stats.stderr)
			elif is_compared(name, ours.split(":")[0]):
				compare(label, ours.split(":")[0], their_reader(texts[theirs]), our_reader(stats.stdout), seen)


def judge_rule(nsys, gpuprobe, name, capture, database, ours, seen):
	label = f"{name} {ours}, a rule"
	limit = ALL_ROWS if ours.startswith("cuda_") else ""
	printed = run(nsys, "analyze", "-q", "-f", "csv", "-r", RULES[ours] + limit, database)
	stats = run(gpuprobe, "stats", "-q", capture, "-r", ours + limit, "-f", "csv", "--rows", "0")
	if printed.stderr or stats.returncode or "rror" in printed.stdout[:200]:
		return result(False, label, printed.stderr + printed.stdout[:200] + stats.stderr)
	if ours == "gpu_time_util" and seen.busy_is_summed:
		return None
	theirs, rows = nsys_csv(printed.stdout), our_csv(stats.stdout)
	if ours == "gpu_gaps":
		rows = [row for row in rows if int(row["Duration (ns)"]) > LONG_GAP_NS]
	return compare(label, ours, theirs, rows, seen)


def judge_units(nsys, gpuprobe, name, capture, database):
	"""Times in other units: one report is enough, since that is printing."""
	for unit in TIME_UNITS:
		printed = run(nsys, "stats", "-q", "-f", "csv", f"--timeunit={unit}", "-r", "cudaapisum", database)
		stats = run(gpuprobe, "stats", "-q", capture, "-r", "cuda_api_sum", "-f", "csv", "--timeunit", unit)
		theirs, ours = nsys_csv(printed.stdout), our_csv(stats.stdout)
		cells = [[[unversioned(cell) for cell in row.values()] for row in rows] for rows in (theirs, ours)]
		result(sorted(cells[0]) == sorted(cells[1]) and (not ours or list(theirs[0]) == list(ours[0])), f"{name} cuda_api_sum in {unit}", f"{theirs[:2]} {ours[:2]}")


def judge(nsys, gpuprobe, capture, folder):
	name = pathlib.Path(capture).stem
	database = capture
	if not capture.endswith(".sqlite"):
		database = f"{folder}/{name}.sqlite"
		done = run(gpuprobe, "export", capture, "-o", database)
		if done.returncode:
			return result(False, name, done.stderr)
	seen = Seen(gpuprobe, capture)
	judge_reports(nsys, gpuprobe, name, capture, database, folder, seen)
	if database != capture:
		judge_reports(nsys, gpuprobe, f"{name}.sqlite", database, database, folder, seen)
	judge_units(nsys, gpuprobe, name, capture, database)
	for ours in RULES:
		judge_rule(nsys, gpuprobe, name, capture, database, ours, seen)
	return None


def judge_alone(arguments):
	"""In a process of its own: what it printed, and how much failed."""
	said = io.StringIO()
	with contextlib.redirect_stdout(said), tempfile.TemporaryDirectory(prefix="gpuprobe-nsys-") as folder:
		before = failed
		judge(*arguments, folder)
	return said.getvalue(), failed - before


def main():
	nsys, gpuprobe, *captures = sys.argv[1:]
	failures = 0
	with multiprocessing.Pool() as pool:
		for said, count in pool.imap(judge_alone, [(nsys, gpuprobe, capture) for capture in captures]):
			print(said, end="", flush=True)
			failures += count
	sys.exit(failures > 0)


if __name__ == "__main__":
	main()
