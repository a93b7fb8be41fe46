#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads Chrome traces with HolisticTraceAnalysis (PyTorch's own reader): check_hta.py GPUPROBE FOLDER...

Each FOLDER holds trace.json and capture.ndjson of one capture with work of a GPU. Its kernels and copies must be there with the
times that `gpuprobe stats` says, joined to their launches as the capture joins them, and its analyses must come to what the
ndjson says by definitions of our own.
Prints "ok hta NAME" or "not ok hta NAME" and what is wrong, and exits 1.
"""
import collections
import contextlib
import io
import json
import logging
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings

import expected as known

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from hta.common.trace import Trace  # noqa: E402
from hta.configs.parser_config import ParserConfig  # noqa: E402
from hta.trace_analysis import TraceAnalysis  # noqa: E402

# It leaves out what Kineto writes of ranges on GPUs, but for those who ask.
CONFIG = ParserConfig.get_default_cfg()
CONFIG.set_drop_gpu_user_annotation(False)
ParserConfig.set_default_cfg(CONFIG)


def stats(gpuprobe, folder, report):
    command = [gpuprobe, "stats", str(folder / "capture.ndjson"), "-r", report, "-f", "json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


# Those that HTA knows; others, as XLA's cuLaunchKernelEx, are no launches to it, in traces of Kineto neither.
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync")
DIRECTIONS = {"host_to_device": "HtoD", "device_to_host": "DtoH", "device_to_device": "DtoD", "host_to_host": "HtoH",
              "peer_to_peer": "PtoP"}


class Truth:
    """Of one capture: what its analyses should come to."""

    def __init__(self, path, until):
        """until: HTA looks at what was launched up to then; None: at all."""
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        first = {}
        for line in lines:
            if line["kind"] == "api" and line.get("correlation"):
                key = line["pid"], line["correlation"]
                first[key] = min(first.get(key, line["ts"]), line["ts"])
        if until is not None:
            lines = [line for line in lines if line["kind"] not in ("kernel", "copy", "set") or
                     first.get((line.get("pid"), line.get("correlation")), until + 1) <= until]
        numbers = {line["id"]: line["number"] for line in lines if line["kind"] == "stream"}
        self.work = [dict(line, stream=numbers.get(line.get("stream"), -1), end=line["ts"] + line["dur"]) for line in lines
                     if line["kind"] in ("kernel", "copy", "set") and "dur" in line]
        ids = collections.Counter((line["pid"], line["correlation"]) for line in lines
                                  if line["kind"] == "api" and line.get("correlation") and line["domain"] == "runtime")
        self.unique = all(count == 1 for count in ids.values())
        # Of a runtime call and the driver call in it the outer one launches.
        self.calls = {}
        for line in sorted((line for line in lines if line["kind"] == "api" and line.get("correlation")), key=lambda l: -l["dur"]):
            name = line["name"].split("_v")[0]
            if name in LAUNCHES:
                self.calls.setdefault((line["pid"], line["correlation"]), line)

    def compute_ns(self):
        """How long at least one kernel ran."""
        total = end = 0
        for work in sorted((work for work in self.work if work["kind"] == "kernel"), key=lambda work: work["ts"]):
            total += max(work["end"] - max(work["ts"], end), 0)
            end = max(end, work["end"])
        return total

    def launched(self):
        for work in self.work:
            call = self.calls.get((work.get("pid"), work.get("correlation")))
            if call:
                yield call, work

    def queue_lengths(self):
        """stream -> (changes, longest)"""
        steps = collections.defaultdict(list)
        for call, work in self.launched():
            steps[work["stream"]] += [(call["ts"], 1), (work["ts"], -1)]
        return {stream: (len(found), longest(sorted(found))) for stream, found in steps.items()}

    def idle_ns(self):
        """stream -> time from the end of one to the start of the next"""
        idle = {}
        for stream in {work["stream"] for work in self.work} - {-1}:
            row = sorted((work for work in self.work if work["stream"] == stream), key=lambda work: work["ts"])
            idle[stream] = sum(after["ts"] - before["end"] for before, after in zip(row, row[1:]))
        return idle

    def launches(self):
        """(how many, ns in the calls, ns on the GPU)"""
        pairs = [(call, work) for call, work in self.launched() if call["domain"] == "runtime"]
        return len(pairs), sum(call["dur"] for call, work in pairs), sum(work["dur"] for call, work in pairs)

    def bandwidths(self):
        """kind of copy -> its highest bandwidth, where several at a time add up: at least, and at most. HTA takes the end of
        one copy and the start of another at the same moment in any order."""
        steps = collections.defaultdict(list)
        for work in self.work:
            if work["kind"] != "kernel" and work["stream"] >= 0 and work["dur"] and "bytes" in work:
                name = "Memset" if work["kind"] == "set" else "Memcpy " + DIRECTIONS.get(work.get("direction"), "")
                steps[name] += [(work["ts"], work["bytes"] / work["dur"]), (work["end"], -work["bytes"] / work["dur"])]
        return {name: (longest(sorted(found)), longest(sorted(found, key=lambda step: (step[0], -step[1]))))
                for name, found in steps.items()}


def longest(steps):
    level = highest = 0
    for moment, change in steps:
        level += change
        highest = max(highest, level)
    return highest


def near(found, expected):
    return set(found) == set(expected) and all(abs(found[key] - expected[key]) <= 1 + 1e-3 * abs(expected[key]) for key in expected)


def judge_analyses(analysis, truth):
    complaints = []

    def compare(what, found, expected):
        if not near(found, expected):
            complaints.append(f"{what}: {found}, expected {expected}")

    # None where nothing was launched by a call that it knows.
    lengths = analysis.get_queue_length_summary()
    lengths = [] if lengths is None else list(lengths["queue_length"].iterrows())
    compare("changes of the queue lengths", {stream: row["count"] for (_, stream), row in lengths},
            {stream: changes for stream, (changes, _) in truth.queue_lengths().items()})
    compare("longest queues", {stream: row["max"] for (_, stream), row in lengths},
            {stream: most for stream, (_, most) in truth.queue_lengths().items()})
    idle, _ = analysis.get_idle_time_breakdown(visualize=False)
    compare("idle times (us)", idle.groupby("stream")["idle_time"].sum().to_dict(),
            {stream: ns / 1000 for stream, ns in truth.idle_ns().items()})
    launches = analysis.get_cuda_kernel_launch_stats(visualize=False)[0]
    # HTA joins by correlation alone: a fixture uses one twice.
    if truth.unique:
        found = [len(launches), float(launches["cpu_duration"].sum()), float(launches["gpu_duration"].sum())]
        count, calls_ns, work_ns = truth.launches()
        wanted = [count, calls_ns / 1000, work_ns / 1000]
        if found[0] != wanted[0] or not near(dict(enumerate(found)), dict(enumerate(wanted))):
            complaints.append(f"launches (count, us in calls, us on the GPU): {found}, expected {wanted}")
    bandwidths = analysis.get_memory_bw_summary()
    if bandwidths is not None:
        found = {name: row["max"] for (_, name), row in bandwidths["memory_bw_gbps"].iterrows()}
        bounds = truth.bandwidths()
        within = {name: min(max(found.get(name, 0), low), high) for name, (low, high) in bounds.items()}
        compare("highest bandwidths (GB/s)", found, within)
    return complaints


def launched_until(folder):
    """None, where there are less than two steps. HTA leaves out what was launched behind the end of the last one; but it has moved all
    begins to 0 by then, and no end."""
    trace = json.loads((folder / "trace.json").read_text("utf-8"))
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    ends = {event["name"]: event["ts"] + event["dur"] for event in spans if event["name"].startswith("ProfilerStep#")}
    if len(ends) < 2:
        return None
    return trace["metadata"]["clock"]["subtractedNanoseconds"] + 1000 * (max(ends.values()) + min(event["ts"] for event in spans))


def judge_annotations(gpuprobe, folder, analysis, truth):
    """Of a real GPU: steps, ranges on the GPU, time of computing. Each of them has numbers."""
    rows = stats(gpuprobe, folder, "steps")
    main = [row for row in rows if (row["PID"], row["TID"]) == (rows[0]["PID"], rows[0]["TID"])]
    if sorted(analysis.get_profiler_steps()) != [row["Step"] for row in main]:
        yield f"steps: {analysis.get_profiler_steps()}, expected {len(main)}"
    expected = collections.Counter()
    for row in stats(gpuprobe, folder, "range_work"):
        expected[row["Range"].split("/")[-1].replace("(none)", "")] += row["Operations"]
    expected[""] -= sum(expected.values()) - len(truth.work)
    # Without ranges on streams there is no table.
    table = analysis.get_gpu_kernels_with_user_annotations(rank=0, shortern_names=False)
    breakdown = analysis.get_gpu_user_annotation_breakdown(visualize=False)
    if not set(expected) - {""}:
        if table is not None or breakdown is not None:
            yield f"work by ranges, of which there are none: {table} {breakdown}"
    else:
        found = collections.Counter(name for category, name in zip(table["s_cat"], table["s_user_annotation"]) if category != "cuda_sync")
        if +found != +expected:
            yield f"work by ranges: {found}, expected {expected}"
        if breakdown is None or not breakdown["sum (us)"].gt(0).all():
            yield f"ranges on the GPU: {breakdown}"
    compute_us = analysis.get_temporal_breakdown(visualize=False)["compute_time(us)"][0]
    if abs(compute_us - truth.compute_ns() / 1000) > 1:
        yield f"computing: {compute_us} us, expected {truth.compute_ns() / 1000}"


# As people call them.
ANALYSES = {"get_gpu_kernel_breakdown": {"visualize": False}, "get_temporal_breakdown": {"visualize": False}, "get_queue_length_summary": {},
            "get_idle_time_breakdown": {"visualize": False}, "get_memory_bw_summary": {}, "get_profiler_steps": {},
            "get_cuda_kernel_launch_stats": {"visualize": False}, "get_gpu_user_annotation_breakdown": {"visualize": False},
            "get_comm_comp_overlap": {"visualize": False}, "get_gpu_kernels_with_user_annotations": {"rank": 0}}


def judge_rounded(work):
    """As people run it, HTA rounds begins up and ends down to a us: what holds none ends before it begins. Of work of GPUs that breaks one
    analysis, in traces that have ranges there; no other may break."""
    spans = [event for event in json.loads(pathlib.Path(work, "trace.json").read_text("utf-8"))["traceEvents"] if event["ph"] == "X"]
    breaks = any(event["cat"] == "gpu_user_annotation" for event in spans) and any(
        {"stream", "correlation"} <= set(event.get("args", {})) and math.floor(event["ts"] + event["dur"]) < math.ceil(event["ts"]) for event in spans)
    del os.environ["HTA_DISABLE_NS_ROUNDING"]
    try:
        analysis = TraceAnalysis(trace_dir=work, include_last_profiler_step=True)
        for name, arguments in ANALYSES.items():
            wrong = ""
            try:
                getattr(analysis, name)(**arguments)
            except Exception as error:  # pylint: disable=broad-except
                wrong = f"{type(error).__name__}: {error}"
            expected = breaks and name == "get_gpu_kernels_with_user_annotations"
            if expected != bool(wrong):
                yield f"rounded, {name}: {wrong or 'it does not break any more: docs/outputs.md says that it does'}"
    finally:
        os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"


def judge(gpuprobe, folder):
    """What is wrong, as sentences."""
    work = tempfile.mkdtemp()
    shutil.copy(folder / "trace.json", work)
    analysis = TraceAnalysis(trace_dir=work, include_last_profiler_step=True)
    whole = Trace(trace_dir=work)
    whole.parse_traces(use_multiprocessing=False)
    # What is made by hand is over in less than a us.
    rounded = list(judge_rounded(work)) if folder.name.endswith(".gpr") or folder.name == "gpu_simulated.ndjson" else []
    shutil.rmtree(work)
    trace = whole.get_trace(0)
    names = dict(enumerate(whole.symbol_table.sym_table))
    complaints = rounded

    def times(rows):
        found = collections.Counter()
        for name, duration in zip(rows["name"], rows["dur"]):
            found[names[name]] += round(duration * 1000)
        return found

    kernels = trace[trace["cat"].map(names) == "kernel"]
    expected = {row["Name"]: row["Total Time (ns)"] for row in stats(gpuprobe, folder, "kernels")}
    if times(kernels) != expected:
        complaints.append(f"kernels: {times(kernels)}, expected {expected}")
    copies = trace[trace["cat"].map(names).isin(["gpu_memcpy", "gpu_memset"])]
    expected_ns = sum(row["Total Time (ns)"] for row in stats(gpuprobe, folder, "memtime") if "Unified" not in row["Operation"])
    if sum(times(copies).values()) != expected_ns:
        complaints.append(f"copies: {times(copies)}, expected {expected_ns} ns")
    lines = map(json.loads, (folder / "capture.ndjson").read_text("utf-8").splitlines())
    recorded = [line for line in lines if line["kind"] == "kernel"]
    for column in ("stream", "correlation"):
        missing = (kernels[column].astype(float) < 0).sum() if len(kernels) else 0
        expected = sum(column not in line for line in recorded)
        if missing != expected:
            complaints.append(f"{missing} kernels without {column}, expected {expected}")
    launched = sum(row["Count"] for row in stats(gpuprobe, folder, "launch"))
    calls = trace[trace["cat"].map(names).isin(["cuda_runtime", "cuda_driver"])]
    joined = kernels.merge(calls[calls["correlation"] >= 0], on="correlation")
    joined = joined[joined["ts_y"] <= joined["ts_x"]].drop_duplicates("index_x")
    if len(joined) != launched:
        complaints.append(f"{len(joined)} kernels have a launch, expected {launched}")
    for work in ("get_gpu_kernel_breakdown", "get_temporal_breakdown") if len(kernels) else ():
        getattr(analysis, work)(visualize=False)
    truth = Truth(folder / "capture.ndjson", launched_until(folder))
    if launched and truth.work:
        complaints += judge_analyses(analysis, truth)
    if folder.name.startswith("h100-"):
        complaints += judge_annotations(gpuprobe, folder, analysis, truth)
    return complaints


def judge_quietly(gpuprobe, folder):
    """HTA writes to stderr what it thinks of a trace; where it breaks that is what is wrong."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            return judge(gpuprobe, folder)
        except Exception:  # pylint: disable=broad-except
            return [f"HTA, or its judge, broke: {traceback.format_exc(limit=-3)}".replace("\n", "\n# ")]


def main():
    gpuprobe, *folders = sys.argv[1:]
    failed = False
    for folder in map(pathlib.Path, folders):
        complaints, excused = known.sift("hta", folder.name, judge_quietly(gpuprobe, folder))
        print(f"{'not ok' if complaints else 'ok'} hta {folder.name}", flush=True)
        for complaint in complaints + excused:
            print(f"# {complaint}")
        failed |= bool(complaints)
    return 1 if failed else 0


sys.exit(main())
