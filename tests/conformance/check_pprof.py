#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads profiles with `go tool pprof` and with speedscope: check_pprof.py GO SPEEDSCOPE.js FOLDER...; "-" for a reader that is not here.

Each FOLDER holds profile.pb.gz of one capture. pprof has to print each function's self time and total of each weight, every label and mapping as they
stand in the file, read here by the documented numbers of its fields; speedscope those of the weight that it shows. Prints "ok pprof NAME" or "not ok
pprof NAME" and what is wrong, and exits 1.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "golden")]

import pprof_text

ROW = re.compile(r"\s*(-?\d+)(\S*)\s+\S+%\s+\S+%\s+(-?\d+)\S*\s+\S+%\s+(.*)")
UNITS = {"nanoseconds": "ns", "bytes": "B", "count": "count"}


def names_of(profile, sample, of_speedscope):
    """Of the functions of a stack, innermost first; as speedscope has them: with their files, and without those that are inlined."""
    for place in sample.location_ids:
        lines = profile.top.locations[place - 1].lines
        for line in lines[-1:] if of_speedscope else lines:
            function = profile.top.functions[line.function_id - 1]
            file = f" {profile.strings[function.filename]}" if of_speedscope else ""
            yield profile.strings[function.name] + file


def sums_of(profile, weight, of_speedscope=False):
    """name -> [self, total], a function once a stack."""
    sums = collections.defaultdict(lambda: [0, 0])
    for sample in profile.top.samples:
        names = list(names_of(profile, sample, of_speedscope))
        value = sample.values[weight]
        if not names:
            raise ValueError("a sample of no function")
        sums[names[0]][0] += value
        for name in set(names):
            sums[name][1] += value
    return {name: both for name, both in sums.items() if any(both)}


def differences(what, found, expected):
    for name in sorted({*found, *expected}):
        if found.get(name) != expected.get(name):
            yield f"{what}: {name!r} has (self, total) {found.get(name)}, expected {expected.get(name)}"


def go_pprof(go, path, *options):
    result = subprocess.run([go, "tool", "pprof", "-symbolize=none", *options, str(path)], capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise ValueError(result.stderr.strip()[-300:])
    return result.stdout


def judge_top(go, path, profile):
    for weight, (name, unit) in enumerate(profile.types):
        expected = sums_of(profile, weight)
        text = go_pprof(go, path, "-top", f"-sample_index={name}", f"-unit={UNITS[unit]}", "-nodecount=1000000", "-nodefraction=0")
        found = collections.defaultdict(lambda: [0, 0])
        for line in text.splitlines():
            row = ROW.fullmatch(line)
            if row:
                both = found[re.sub(r" \((partial-)?inline\)$", "", row[4])]
                both[0], both[1] = both[0] + int(row[1]), both[1] + int(row[3])
        yield from differences(f"pprof -top of {name}", dict(found), expected)


def as_pprof_merges(mapping):
    start, limit, offset, file, build_id = mapping
    return -((int(start, 16) - int(limit, 16)) // 4096), offset, build_id or file


def judge_raw(go, path, profile):
    """Labels, and where mappings are and what they are of."""
    text = go_pprof(go, path, "-raw")
    labels = collections.Counter()
    keys = "|".join({re.escape(profile.strings[label.key]) for sample in profile.top.samples for label in sample.labels})
    for line in text.partition("Locations")[0].splitlines():
        for key, value in re.findall(rf"({keys}):\[(.*?)\](?= (?:{keys}):\[|\s*$)", line):
            labels[key, value] += 1
    expected = collections.Counter()
    for sample in profile.top.samples:
        for label in sample.labels:
            expected[profile.strings[label.key], profile.strings[label.str] if label.str else str(label.num)] += 1
    # pprof adds up samples of one stack and the same labels: each is there, as often at most.
    if set(labels) != set(expected) or any(labels[one] > expected[one] for one in labels):
        yield f"labels {sorted(set(labels) ^ set(expected))[:5]}"
    found = re.findall(r"^\d+: 0x([0-9a-f]+)/0x([0-9a-f]+)/0x([0-9a-f]+) (.*?) ?([0-9a-f]*) \[FN\]$", text.partition("Mappings\n")[2], re.MULTILINE)
    mappings = [(f"{one.memory_start:x}", f"{one.memory_limit:x}", f"{one.file_offset:x}", profile.strings[one.filename], profile.strings[one.build_id])
                for one in profile.top.mappings]
    # pprof makes one of those with the same file, offset and size: of several processes.
    if not set(found) <= set(mappings) or sorted(map(as_pprof_merges, found)) != sorted(set(map(as_pprof_merges, mappings))):
        yield f"mappings {sorted(found)}, expected {sorted(set(mappings))}"


def judge_speedscope(script, path, profile):
    result = subprocess.run(["node", HERE / "speedscope.mjs", script, path], capture_output=True, text=True, timeout=300)
    if result.returncode:
        yield f"speedscope: {result.stderr.strip()[-300:]}"
        return
    found = json.loads(result.stdout)
    shown = profile.strings[profile.top.default_sample_type]
    weight = [name for name, _ in profile.types].index(shown)
    if found["unit"] != profile.types[weight][1].replace("count", "none"):
        yield f"speedscope: its unit is {found['unit']}"
    expected = sums_of(profile, weight, of_speedscope=True)
    yield from differences("speedscope", {name: both for name, both in found["functions"].items() if any(both)}, expected)


def judge(go, script, path):
    profile = pprof_text.Profile(path)
    if not profile.top.samples:
        return
    if go != "-":
        yield from judge_top(go, path, profile)
        yield from judge_raw(go, path, profile)
    if script != "-":
        yield from judge_speedscope(script, path, profile)


def main():
    go, script, *folders = sys.argv[1:]
    failed = False
    for folder in map(pathlib.Path, folders):
        path = folder / "profile.pb.gz"
        try:
            complaints = list(judge(go, script, path))
        except ValueError as error:
            complaints = [str(error)]
        print(f"{'not ok' if complaints else 'ok'} pprof {folder.name}", flush=True)
        for complaint in complaints[:20]:
            print(f"# {complaint}")
        failed |= bool(complaints)
    return 1 if failed else 0


sys.exit(main())
