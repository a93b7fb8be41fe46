#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads Chrome traces with TraceLens: check_tracelens.py TRACELENS_FOLDER FOLDER...

Each FOLDER holds trace.json and capture.ndjson of one capture with work of a GPU. How long the GPU computes and copies must be what
the ndjson says of the work whose call was recorded: TraceLens finds it by arrows.
Prints "ok tracelens NAME" or "not ok tracelens NAME" and what is wrong, and exits 1.
"""
import contextlib
import io
import json
import pathlib
import sys
import traceback
import warnings

sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")

from TraceLens import TreePerfAnalyzer  # noqa: E402


def union_ns(work):
    """How long at least one ran."""
    total = end = 0
    for line in sorted(work, key=lambda line: line["ts"]):
        total += max(line["ts"] + line["dur"] - max(line["ts"], end), 0)
        end = max(end, line["ts"] + line["dur"])
    return total


def expected(path):
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    calls = {}
    for line in lines:
        if line["kind"] == "api" and line.get("correlation"):
            key = line.get("source"), line["correlation"]
            calls[key] = min(calls.get(key, line["ts"]), line["ts"])
    work = [line for line in lines if line["kind"] in ("kernel", "copy", "set") and "dur" in line and
            calls.get((line.get("source"), line.get("correlation")), line["ts"] + 1) <= line["ts"]]
    computing = [line for line in work if line["kind"] != "copy" and "nccl" not in line.get("name", "")]
    # It looks at correlations where a kernel was launched.
    if not any(line["kind"] == "kernel" for line in work):
        return {}
    return {"busy_time": union_ns(work), "computation_time": union_ns(computing)}


def judge(folder):
    """What is wrong, as sentences."""
    wanted = expected(folder / "capture.ndjson")
    if not wanted:
        return
    analyzer = TreePerfAnalyzer.from_file(str(folder / "trace.json"), add_python_func=False)
    table = analyzer.get_df_gpu_timeline()
    found = {row["type"]: row["time ms"] for _, row in table.iterrows()}
    for name, ns in wanted.items():
        if abs(found[name] - ns / 1e6) > 0.001:
            yield f"{name}: {found[name]} ms, expected {ns / 1e6}"


def judge_quietly(folder):
    """It prints what it does."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return list(judge(folder))
        except Exception:  # pylint: disable=broad-except
            return [f"TraceLens, or its judge, broke: {traceback.format_exc(limit=-3)}".replace("\n", "\n# ")]


def main():
    failed = False
    for folder in map(pathlib.Path, sys.argv[2:]):
        complaints = judge_quietly(folder)
        print(f"{'not ok' if complaints else 'ok'} tracelens {folder.name}", flush=True)
        for complaint in complaints:
            print(f"# {complaint}")
        failed |= bool(complaints)
    return 1 if failed else 0


sys.exit(main())
