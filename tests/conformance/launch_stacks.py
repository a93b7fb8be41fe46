# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of calls of CUDA and of what they launched in a trace, against the launch_stack records of the same capture."""
import collections
import re

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
SAME_NUMBER_NS = 100_000_000  # Farther apart an id was used again.


def plain(name):
    """Without what other releases add."""
    return re.sub(r"(_v\d+|_ptsz|_ptds)+$", "", name)


def inside(hit, call):
    return call["ts"] <= hit["ts"] < call["ts"] + call.get("dur", 1 << 63)


def allowed(call, hits, calls):
    """(The stack that it must have, or None; the stacks that it may have.) A hit of before is that of the next call of the driver by its name."""
    around = [hit for hit in hits if inside(hit, call)]
    before = [hit for hit in hits if hit["ts"] < call["ts"]][-1:]
    if before and any(before[0]["ts"] < other["ts"] < call["ts"] for other in calls):
        before = []
    if call.get("domain") != "driver" or not before or plain(before[0]["name"]) != plain(call["name"]):
        before = []
    of_stacks = [hit for hit in around if "stack" in hit]
    must = of_stacks[-1]["stack"] if of_stacks and (call.get("domain") != "driver" or len(around) == 1) else None
    return must, [hit["stack"] for hit in around + before if "stack" in hit]


def told(call, of_number):
    """The same of hits that tell the number of their call (--launch-stacks agent): the nearest, whatever clocks make of their order."""
    near = min(of_number, key=lambda hit: abs(hit["ts"] - call["ts"]), default=None)
    if not near or "stack" not in near or abs(near["ts"] - call["ts"]) > SAME_NUMBER_NS:
        return None, []
    return near["stack"], [near["stack"]]


def is_inner(call, of_number):
    """Inside of another call with the same id: what it launches goes back to that one, and so does the stack."""
    return any(outer is not call and inside(call, outer) and outer.get("dur", 1 << 63) >= call.get("dur", 1 << 63) for outer in of_number)


def judge_calls(lines, actual, functions_of):
    """actual: (tid, ts, name) -> the stack in the trace, None: none"""
    hits, calls, calls_of, numbered = (collections.defaultdict(list) for _ in range(4))
    for line in sorted(lines, key=lambda line: line.get("ts", 0)):
        if "call_correlation" in line:
            numbered[line["source"], line["tid"], line["call_correlation"]].append(line)
        elif line["kind"] == "launch_stack":
            hits[line["tid"]].append(line)
        elif line["kind"] == "api":
            calls[line["tid"]].append(line)
            calls_of[line.get("source"), line["tid"], line.get("correlation")].append(line)
    for tid, of_thread in calls.items():
        for call in of_thread:
            key = tid, call["ts"], re.sub(r"_v\d{4,}$", "", call["name"])
            number = call.get("source"), tid, call.get("correlation")
            of_number = numbered.get(number, [])
            must, may = told(call, of_number) if of_number else allowed(call, hits[tid], of_thread)
            found, pid = actual.get(key), call["pid"]
            if number[2] and is_inner(call, calls_of[number]):
                must, may = None, []
            if must is not None and found is None:
                yield f"no stack, though it was taken inside: {key}"
            if found is not None and found not in [functions_of({**hit, "pid": pid}) for hit in of_number or hits[tid] if hit.get("stack") in may]:
                yield f"a stack of no launch near it: {key}: {found}"


def complaints_of(events, lines, base, nanoseconds, functions_of):
    actual, launches, works = {}, {}, []
    for event in events:
        if event["ph"] != "X" or event["cat"] not in ("cuda_runtime", "cuda_driver", *WORK):
            continue
        args = event.get("args", {})
        stack, place = args.get("stack"), args.get("launched by", args.get("called by"))
        if place is not None and place not in (stack or []):
            yield f"by a function that is not in its stack: {event}"
        if event["cat"] in WORK:
            works.append((args.get("correlation"), stack, event))
            continue
        actual[event["tid"], nanoseconds(event["ts"]) + base, event["name"]] = stack
        if "correlation" in args:
            launches[args["correlation"]] = stack
    yield from judge_calls(lines, actual, functions_of)
    for correlation, stack, event in works:
        if stack != launches.get(correlation):
            yield f"a stack that its launch does not have: {event}: {stack}, {launches.get(correlation)}"
