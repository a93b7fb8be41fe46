# SPDX-License-Identifier: GPL-2.0-or-later
"""What judges find in the captures of tests/captures that is gpuprobe's own fault, and known: no judge is loosened for it.

A complaint that a row stands for is no failure. A row that stands for none is one: what it waited for is there, so that it has to go.
"""
import re

# judge, capture, how often, the complaint (a pattern for the whole of it), what it waits for.
DIFFERENCES = []


def sift(judge, capture, complaints):
    """(complaints that nobody expected, what was expected as sentences)"""
    left, excused = list(complaints), []
    for judges, captures, count, pattern, reason in DIFFERENCES:
        if (judges, captures) != (judge, capture):
            continue
        fitting = [text for text in left if re.fullmatch(pattern, text, re.DOTALL)]
        left = [text for text in left if text not in fitting]
        if len(fitting) == count:
            excused.append(f"expected: {count} x {fitting[0]}: {reason}")
        else:
            left += [f"a row of expected.py stands for {count}, there are {len(fitting)}: {pattern} ({reason})", *fitting]
    return left, excused
