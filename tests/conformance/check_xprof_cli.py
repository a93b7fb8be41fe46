#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads profiles with the tools of XProf's command line: check_xprof_cli.py FOLDER...

Each FOLDER holds logdir and capture.ndjson of one capture with work of a GPU. get_kernel_stats, get_device_time_attribution and
diff_sessions take all lines of a GPU for kernels, but for those whose names say that they are something else: they must come to the work that
the ndjson has, and to nothing more.
Prints "ok xprof_cli NAME" or "not ok xprof_cli NAME" and what is wrong, and exits 1.
"""
import json
import logging
import os
import pathlib
import sys
import tempfile
import traceback

from xprof.cli import xprof_cli

logging.disable(logging.CRITICAL)
TOOLS = xprof_cli.cli_main()
ROUNDED_US = 0.001


def work_of(folder, path):
    """Of the process that a file is of; of all where there is one file."""
    files = list(path.parent.glob("*.xplane.pb"))
    lines = map(json.loads, (folder / "capture.ndjson").read_text("utf-8").splitlines())
    work = [line for line in lines if line["kind"] in ("kernel", "copy", "set", "graph_launch") and "dur" in line]
    if len(files) == 1:
        return work
    return [line for line in work if str(line.get("pid")) == path.name.removesuffix(".xplane.pb").rpartition("_")[2]]


def union_ns(work):
    """How long at least one ran."""
    total = end = 0
    for line in sorted(work, key=lambda line: line["ts"]):
        total += max(line["ts"] + line["dur"] - max(line["ts"], end), 0)
        end = max(end, line["ts"] + line["dur"])
    return total


def judge(folder, path):
    """What is wrong, as sentences."""
    work = work_of(folder, path)
    if not work:
        return
    stats = json.loads(TOOLS["get_kernel_stats"](session_id=str(path), limit=0, include_summary=True))
    # Events that are recorded on a stream take no time.
    count = sum(record["execution_count"] for record in stats["kernel_records"] if record["total_duration_us"])
    if count != len(work):
        yield f"get_kernel_stats: {count} operations, expected {len(work)}; the first: {str(stats['kernel_records'][:1])[:300]}"
    sum_us = sum(record["total_duration_us"] for record in stats["kernel_records"])
    expected_us = sum(line["dur"] for line in work) / 1000
    if abs(sum_us - expected_us) > ROUNDED_US * len(stats["kernel_records"]):
        yield f"get_kernel_stats: {sum_us} us, expected {expected_us}"
    attribution = json.loads(TOOLS["get_device_time_attribution"](session_id=str(path)))
    if attribution["total_device_duration_ns"] != union_ns(work):
        yield f"get_device_time_attribution: {attribution['total_device_duration_ns']} ns, expected {union_ns(work)}"
    difference = TOOLS["diff_sessions"](baseline_session_id=str(path), optimized_session_id=str(path))
    if '"step"' in difference:
        yield f"diff_sessions has steps as kernels: {difference[:300]}"


def judge_copy(folder, path):
    """It writes files of its own beside what it reads."""
    with tempfile.TemporaryDirectory() as work:
        run = pathlib.Path(work, path.parent.name)
        run.mkdir()
        for file in path.parent.glob("*.xplane.pb"):
            (run / file.name).symlink_to(file.absolute())
        return list(judge(folder, run / path.name))


def main():
    failed = False
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # its log
    for folder in map(pathlib.Path, sys.argv[1:]):
        try:
            complaints = [text for path in sorted(folder.glob("logdir/plugins/profile/*/*.xplane.pb")) for text in judge_copy(folder, path)]
        except Exception:  # pylint: disable=broad-except
            complaints = [f"XProf's command line, or its judge, broke: {traceback.format_exc(limit=-3)}".replace("\n", "\n# ")]
        print(f"{'not ok' if complaints else 'ok'} xprof_cli {folder.name}", flush=True)
        for complaint in complaints:
            print(f"# {complaint}")
        failed |= bool(complaints)
    return 1 if failed else 0


sys.exit(main())
