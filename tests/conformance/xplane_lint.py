#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges XPlane files by the rules on which XProf silently depends: xplane_lint.py FILE.xplane.pb...

Breaking one makes no error in XProf, but an empty page, a wrong number or a converter that aborts. Needs nothing but Python.
Each rule stands in xplane_rules.py as a function with the reason beside it. Prints "ok lint FILE", or "not ok lint FILE" with
a line a complaint, "# RULE: what is wrong", and exits 1.
"""
import collections
import os
import pathlib
import sys

import xplane_rules
import xplane_wire

COMPLAINTS_PER_RULE = 5
SIZE_LIMIT_BYTES = 2 ** 31


def complaints_of(data, path=None):
    """(rule, what is wrong) of the bytes of a file; path: where it lies, None when it does not matter."""
    try:
        space = xplane_rules.Space(xplane_wire.read("XSpace", data), path)
    except xplane_wire.WireError as error:
        yield "wire", str(error)
        return
    for rule in xplane_rules.RULES:
        for text in rule(space):
            yield rule.__name__, text


def lint(path):
    """Lines of text; empty: nothing is wrong."""
    if path.stat().st_size >= SIZE_LIMIT_BYTES:
        return [f"size: {path.stat().st_size} bytes: protobuf reads less than 2 GiB"]
    found = collections.defaultdict(list)
    for rule, text in complaints_of(path.read_bytes(), path):
        found[rule].append(text)
    lines = []
    for rule, texts in found.items():
        lines += [f"{rule}: {text}" for text in texts[:COMPLAINTS_PER_RULE]]
        if len(texts) > COMPLAINTS_PER_RULE:
            lines.append(f"{rule}: and {len(texts) - COMPLAINTS_PER_RULE} more")
    return lines


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: xplane_lint.py FILE.xplane.pb...")
    failed = False
    for path in map(pathlib.Path, sys.argv[1:]):
        try:
            lines = lint(path)
        except OSError as error:
            lines = [f"read: {error.strerror}"]
        print(f"{'not ok' if lines else 'ok'} lint {os.path.basename(path)}")
        for line in lines:
            print(f"# {line}")
        failed |= bool(lines)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
