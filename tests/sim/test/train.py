#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sim-train and sim_train.py: what they say of themselves is what the driver counted."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIM = Path(__file__).resolve().parents[3] / "build" / "sim"
PYTHON = Path(__file__).resolve().parents[1] / "sim_train.py"
SECONDS = 30


def lines_of(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=SECONDS, check=True)
    return [json.loads(line) for line in result.stdout.splitlines()]


def asked_is_truth():
    _, truth, asked = lines_of([SIM / "sim-train", "--steps", "60", "--threads", "3", "--devices", "2", "--rate", "0"])
    asked = asked["asked"]
    kernels = truth["kernels"].values()
    assert sum(kernel["count"] for kernel in kernels) == asked["kernels"], (truth, asked)
    assert sum(kernel["count"] - kernel["in_graphs"] for kernel in kernels) == asked["launches"]
    assert truth["graph_launches"] == asked["graph_launches"] == 180
    assert sum(copy["count"] for copy in truth["copies"].values()) == asked["copies"]
    assert sum(copy["bytes"] for copy in truth["copies"].values()) == asked["copy_bytes"]
    assert truth["sets"]["count"] == asked["sets"]
    assert truth["simulated"] and not truth["overflowed"]
    assert all(device["live_bytes"] for device in truth["device_memory"].values())


def window(command):
    """Between two pauses: nothing is counted while it stands still."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "control")
        process = subprocess.Popen([*command, "--control", path, "--seconds", str(SECONDS)], stdout=subprocess.PIPE,
                                   text=True)
        try:
            process.stdout.readline()
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
                lines = connection.makefile("rw")  # stays open beyond this block

                def say(line):
                    lines.write(line + "\n")
                    lines.flush()
                    return json.loads(lines.readline())
                assert say("pause") == {"paused": True, "drained": True}
                say("mark")
                truth = say("truth")
                assert truth["outermost_calls"] == 0 and not truth["kernels"], truth
                say("resume")
                while not say("truth")["syncs"].get("stream"):
                    time.sleep(0.01)
                say("pause")
                first, second = say("truth"), say("truth")
                del first["until_ns"], second["until_ns"]
                assert first == second
                assert first["copies"]["HtoD"]["count"] == first["syncs"]["stream"], first
                say("quit")
        finally:
            process.communicate(timeout=SECONDS)
        assert process.returncode == 0


def main():
    cases = {"asked_is_truth": asked_is_truth, "window": lambda: window([SIM / "sim-train"])}
    for cupti in ("loaded", "present", "absent"):
        cases[f"python_{cupti}"] = lambda cupti=cupti: window([sys.executable, PYTHON, "--cupti", cupti])
    failed = False
    for name, case in cases.items():
        try:
            case()
            print("ok", name, flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError) as error:
            if isinstance(error, subprocess.TimeoutExpired):
                print("# harm: sim-train hangs")
            print(f"# {name}: {error!r}\nnot ok {name}", flush=True)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
