#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads Chrome traces with PyTorch's plugin for TensorBoard: check_torch_tb.py GPUPROBE FOLDER...

Each FOLDER holds trace.json and capture.ndjson of one capture with work of a GPU. The plugin must come to the steps and kernels that
`gpuprobe stats` says.
Prints "ok torch_tb NAME" or "not ok torch_tb NAME" and what is wrong, and exits 1.
"""
import collections
import json
import logging
import pathlib
import subprocess
import sys
import traceback
import warnings

from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")


def stats(gpuprobe, folder, report):
    command = [gpuprobe, "stats", str(folder / "capture.ndjson"), "-r", report, "-f", "json"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def judge(gpuprobe, folder):
    """What is wrong, as sentences."""
    data = RunProfileData.from_json("worker", "span", json.loads((folder / "trace.json").read_text("utf-8")))
    data.process()
    rows = stats(gpuprobe, folder, "steps")
    steps = [str(row["Step"]) for row in rows if (row["PID"], row["TID"]) == (rows[0]["PID"], rows[0]["TID"])]
    # Without steps all is one.
    if data.steps_names != (steps or ["0"]):
        yield f"{len(data.steps_names)} steps {data.steps_names[:6]}, expected {len(steps)}"
    shown = RunGenerator("worker", "span", data).generate_run_profile()
    found = collections.Counter()
    if shown.kernel_table:
        columns = [column["name"] for column in shown.kernel_table["data"]["columns"]]
        for row in shown.kernel_table["data"]["rows"]:
            row = dict(zip(columns, row))
            found[row["Name"], row["Calls"]] += row["Total Duration (us)"]
    expected = {(row["Name"], row["Instances"]): row["Total Time (ns)"] / 1000 for row in stats(gpuprobe, folder, "kernels")}
    # It shows whole us.
    if set(found) != set(expected) or any(abs(found[key] - expected[key]) > 1 for key in expected):
        yield f"kernels: {found}, expected {expected}"


def judge_surely(gpuprobe, folder):
    try:
        return list(judge(gpuprobe, folder))
    except Exception:  # pylint: disable=broad-except
        return [f"the plugin, or its judge, broke: {traceback.format_exc(limit=-3)}".replace("\n", "\n# ")]


def main():
    gpuprobe, *folders = sys.argv[1:]
    failed = False
    for folder in map(pathlib.Path, folders):
        complaints = judge_surely(gpuprobe, folder)
        print(f"{'not ok' if complaints else 'ok'} torch_tb {folder.name}", flush=True)
        for complaint in complaints:
            print(f"# {complaint[:1000]}")
        failed |= bool(complaints)
    return 1 if failed else 0


# It starts processes that import this file.
if __name__ == "__main__":
    sys.exit(main())
