#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads Chrome traces with catapult, the reader of chrome://tracing: check_catapult.py TRACE_VIEWER.html FOLDER...

Each FOLDER holds trace.json of one capture. All of its arrows and counters must be there, without a warning.
Prints "ok catapult NAME" or "not ok catapult NAME" and what is wrong, and exits 1.
"""
import collections
import json
import pathlib
import subprocess
import sys

# It takes spans for nested whose times are so when they are rounded to a us, and then an arrow may find none. In what was made by hand.
CLOSE = ("gpu.ndjson", "gpu_waits.ndjson", "off_cpu_stacks.ndjson", "steps_graph.ndjson")
HERE = pathlib.Path(__file__).resolve().parent


def judge(folder, found):
    """What is wrong, as sentences."""
    events = json.loads((folder / "trace.json").read_text("utf-8"))["traceEvents"]
    values = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            for key, value in event["args"].items():
                values[event["pid"], event["name"], key].append(float(value))
    seen = {(one["pid"], one["name"], one["series"]): [float(value) for _, value in one["values"]] for one in found["counters"]}
    for key in sorted({*values, *seen}):
        if seen.get(key) != values.get(key):
            yield f"counter {key}: {str(seen.get(key))[:100]}, expected {str(values.get(key))[:100]}"
    arrows = sum(event["ph"] == "f" for event in events)
    if found["arrows"] != arrows and folder.name not in CLOSE:
        yield f"{found['arrows']} arrows, expected {arrows}"
        yield from found["warnings"][:10]


def main():
    page, *folders = sys.argv[1:]
    failed = False
    for folder in map(pathlib.Path, folders):
        result = subprocess.run(["node", HERE / "catapult.mjs", page, folder / "trace.json"], capture_output=True, text=True, timeout=300)
        complaints = list(judge(folder, json.loads(result.stdout))) if result.returncode == 0 else [result.stderr.strip()[-300:]]
        print(f"{'not ok' if complaints else 'ok'} catapult {folder.name}", flush=True)
        for complaint in complaints:
            print(f"# {complaint}")
        failed |= bool(complaints)
    return 1 if failed else 0


sys.exit(main())
