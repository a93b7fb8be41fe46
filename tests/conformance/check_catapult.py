#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads Chrome traces with catapult, the reader of chrome://tracing: check_catapult.py TRACE_VIEWER.html FOLDER...

Each FOLDER holds trace.json of one capture. All of its arrows must be there, without a warning.
Prints "ok catapult NAME" or "not ok catapult NAME" and what is wrong, and exits 1.
"""
import json
import pathlib
import subprocess
import sys

# Spans that lie a few ns from one another are in one another to it: so an arrow is lost. No program makes such.
CLOSE = ("gpu.ndjson", "off_cpu_stacks.ndjson")
HERE = pathlib.Path(__file__).resolve().parent


def judge(folder, found):
    """What is wrong, as sentences."""
    events = json.loads((folder / "trace.json").read_text("utf-8"))["traceEvents"]
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
