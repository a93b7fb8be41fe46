#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Hostile captures through the exporter, our lint and every tool of XProf: fuzz_xplane.py GPUPROBE COUNT [FIRST_SEED [FOLDER]]

The captures are those of hostile_capture.py, a seed each. What of them breaks something stays in FOLDER (build/conformance/fuzz),
named by its seed. Run by a Python that has xprof. Prints "ok fuzz SEED..SEED", or a "not ok" for each that is and why; exits 1.
"""
import functools
import multiprocessing
import os
import pathlib
import shutil
import subprocess
import sys

import check_xprof
import hostile_capture
import xplane_lint

# Read, but not compared: what it expects of allocations and releases is for those that belong together.
check_xprof.TOOLS = [(*tool[:3], None) if tool[0] == "memory_viewer" else tool for tool in check_xprof.TOOLS]
SECONDS_MAX = 60
REFUSED = "Times of the capture may be damaged"
FOLDER = pathlib.Path(__file__).parent / "../../build/conformance/fuzz"


def export(gpuprobe, folder, text):
    """What is wrong; nothing: it is there; None: it was refused, as it has to be."""
    capture = folder / "hostile.ndjson"
    capture.write_text(text, "utf-8")
    command = [gpuprobe, "export", str(capture), "-o", str(folder / "capture.ndjson"), "-o", str(folder / "trace.json"), "-o", f"{folder}/logdir/"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return [f"no export within {SECONDS_MAX} s"]
    # A refusal that says why is none of its faults.
    if result.returncode == 1 and REFUSED in result.stderr:
        return None
    return [f"export ended with {result.returncode}: {result.stderr.strip()[-300:]}"] if result.returncode else []


def judge(gpuprobe, parent, seed):
    """Lines of text; none: all is well."""
    folder = parent / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    complaints = export(gpuprobe, folder, hostile_capture.make(seed))
    if complaints == []:
        for path in sorted(folder.glob("logdir/plugins/profile/*/*.xplane.pb")):
            complaints += [f"lint {path.name}: {line}" for line in xplane_lint.lint(path)]
        lines, good = check_xprof.judge_folder(gpuprobe, folder)
        complaints += [] if good else [line for line in lines if not line.startswith(("ok", "skip"))]
    if not complaints:
        shutil.rmtree(folder)
    return complaints or []


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    count, first = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1
    parent = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else FOLDER
    seeds, failed = range(first, first + count), 0
    with multiprocessing.get_context("fork").Pool(os.cpu_count() or 1) as pool:
        for seed, lines in zip(seeds, pool.imap(functools.partial(judge, sys.argv[1], parent.resolve()), seeds)):
            if lines:
                failed += 1
                print(f"not ok fuzz {seed}")
                print("\n".join(line if line.startswith("#") else f"# {line}" for line in lines), flush=True)
    if not failed:
        print(f"ok fuzz {seeds[0]}..{seeds[-1]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
