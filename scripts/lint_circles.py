# SPDX-License-Identifier: GPL-2.0-or-later
"""Circles of files: no file calls another that calls it back, by whatever way, so that each can be read, and tested, without those above it.

Asked of what was built, by the symbols that each object needs and has: what is called through a table of functions that somebody else
hands in is no circle, since that is how one is undone. What was not built, or was changed since, is not looked at, which is said.
"""
import shutil
import subprocess
from pathlib import Path

# Folder of objects -> the sources that are built there, without those of the last (which are files by themselves). Each is a program
# of its own, with names of its own.
PROGRAMS = {
    "build/obj": ({"userspace", "exporters"}, ()),
    "build/agent": ({"gpu"}, ("gpu", "annotate")),
}
# Two files that may call each other -> the reason: (frozenset of their paths): "words".
ALLOWED = {}
NEEDED = "Uwv"
# What is shown of a circle that many lead through.
MOST_SHOWN = 8


def headers_of(root, file):
    """The project's own headers that were there when it was built."""
    try:
        words = file.with_suffix(".d").read_text().replace("\\\n", " ").split()
    except OSError:
        return []
    return [root / word for word in words if word.endswith(".h") and not word.startswith("/") and (root / word).is_file()]


def objects_of(root, paths):
    """{source: (program, object)} of those that are as new as their source, and the sources of which there is none."""
    objects, without = {}, []
    for program, (folders, but) in PROGRAMS.items():
        for path in paths:
            if path.suffix != ".c" or path.parts[0] not in folders or path.parts[:-1] == but:
                continue
            file = root / program / path.with_suffix(".o")
            # A function may move by a header, too.
            if file.is_file() and file.stat().st_mtime >= max(stated.stat().st_mtime for stated in [root / path, *headers_of(root, file)]):
                objects[path] = (program, file)
            else:
                without.append(path)
    return objects, without


def symbols_of(objects):
    """({(program, symbol): source that has it}, {source: symbols that it needs}), global ones."""
    of_file = {str(file): path for path, (_, file) in objects.items()}
    lines = subprocess.run(["nm", "-A", "-g", "-P", *of_file], capture_output=True, text=True).stdout.splitlines() if of_file else []
    owners, needs = {}, {path: set() for path in objects}
    for line in lines:
        file, _, words = line.rpartition(": ")
        path, (symbol, kind) = of_file[file], words.split()[:2]
        if kind in NEEDED:
            needs[path].add(symbol)
        else:
            owners[objects[path][0], symbol] = path
    return owners, needs


def calls_of(objects):
    """{source: {source that it calls: a symbol by which it does}}"""
    owners, needs = symbols_of(objects)
    calls = {path: {} for path in objects}
    for path, symbols in needs.items():
        for symbol in sorted(symbols):
            owner = owners.get((objects[path][0], symbol))
            if owner and owner != path and frozenset((str(path), str(owner))) not in ALLOWED:
                calls[path].setdefault(owner, symbol)
    return calls


def reached(calls, start):
    """{source that start calls, by whatever way: the one before it on a shortest way}"""
    before, left = {}, [start]
    for path in left:
        for callee in sorted(calls[path]):
            if callee not in before:
                before[callee] = path
                left.append(callee)
    return before


def circles(calls):
    """Of each circle, or circles that touch each other, a shortest one through its first file, and all their files."""
    # What calls nobody, or only such, is in none: what is left of 500 files are a few.
    calls = {path: dict(callees) for path, callees in calls.items()}
    while True:
        idle = {path for path, callees in calls.items() if not callees}
        if not idle:
            break
        calls = {path: {callee: symbol for callee, symbol in callees.items() if callee not in idle}
                 for path, callees in calls.items() if path not in idle}
    before = {path: reached(calls, path) for path in calls}
    seen = set()
    for path in sorted(calls):
        if path in seen or path not in before[path]:
            continue
        members = {other for other in before[path] if path in before[other]}
        seen |= members
        way = [path]
        while len(way) == 1 or way[-1] != path:
            way.append(before[path][way[-1]])
        yield way[::-1], members


def check(root, paths, found, say=print):
    if not shutil.which("nm"):
        say("lint: circles of files not checked: there is no nm")
        return
    objects, without = objects_of(root, paths)
    if without:
        say(f"lint: circles of files not checked in {len(without)} of {len(without) + len(objects)} sources: not built, or changed since (make)")
    calls = calls_of(objects)
    for way, members in circles(calls):
        steps = "; ".join(f"{a} calls {calls[a][b]} of {b}" for a, b in list(zip(way, way[1:]))[:MOST_SHOWN])
        more = f", a part of a circle of {len(members)} files" if len(members) + 1 > len(way) else ""
        found(way[0], 1, f"calls in a circle{more}: {steps}")
