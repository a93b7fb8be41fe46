#!/usr/bin/env python3
"""Reads Chrome traces with HolisticTraceAnalysis (PyTorch's own reader): check_hta.py GPUPROBE FOLDER...

Each FOLDER holds trace.json and capture.ndjson of one capture with work of a GPU. Its kernels and copies must be there with the
times that `gpuprobe stats` says, joined to their launches as the capture joins them, and its analyses must run.
Prints "ok hta NAME" or "not ok hta NAME" and what is wrong, and exits 1.
"""
import collections
import io
import json
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from hta.trace_analysis import TraceAnalysis  # noqa: E402


def stats(gpuprobe, folder, report):
    command = [gpuprobe, "stats", str(folder / "capture.ndjson"), "-r", report, "-f", "json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def judge(gpuprobe, folder):
    """What is wrong, as sentences."""
    work = tempfile.mkdtemp()
    shutil.copy(folder / "trace.json", work)
    analysis = TraceAnalysis(trace_dir=work)
    shutil.rmtree(work)
    trace = analysis.t.get_trace(0)
    names = dict(enumerate(analysis.t.symbol_table.sym_table))
    complaints = []

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
    expected_ns = sum(row["Total Time (ns)"] for row in stats(gpuprobe, folder, "memtime"))
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
    return complaints


def main():
    gpuprobe, *folders = sys.argv[1:]
    failed = False
    for folder in map(pathlib.Path, folders):
        sys.stderr = io.StringIO()
        complaints = judge(gpuprobe, folder)
        sys.stderr = sys.__stderr__
        print(f"{'not ok' if complaints else 'ok'} hta {folder.name}")
        for complaint in complaints:
            print(f"# {complaint}")
        failed |= bool(complaints)
    return 1 if failed else 0


sys.exit(main())
