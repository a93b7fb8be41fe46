#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges Chrome traces: check.py ENGINE_FOLDER FOLDER...

Each FOLDER holds two exports of one capture, trace.json and capture.ndjson. Three questions, each answered for every event:
 1. is the trace strict JSON, with exact times, and do its spans nest on every row?
 2. does it hold the same events as the ndjson, with the same names, times and args?
 3. does the real Perfetto trace processor read all of that, without an error or a dropped slice?
Prints "ok NAME" or "not ok NAME" and what is wrong, and exits 1; ENGINE_FOLDER "-" leaves out the third.
"""
import collections
import decimal
import functools
import json
import pathlib
import re
import subprocess
import sys

import expected as known
import launch_stacks

HERE = pathlib.Path(__file__).resolve().parent
FIRST_OWN_PID = 2000000000
FIRST_FURTHER_ARROW = 2**52  # Below: correlations.

# The categories of Kineto, for kinds that have another name there.
CATEGORIES = {"copy": "gpu_memcpy", "set": "gpu_memset", "sync": "cuda_sync", "gpu_event": "cuda_event", "range": "user_annotation",
              ("api", "driver"): "cuda_driver", "api": "cuda_runtime"}
# The args of the GPU side that must be exactly as in the ndjson; what is computed is judged by the goldens.
GPU_ARGS = ("device", "context", "stream", "correlation", "bytes", "grid", "block", "cbid", "registers per thread",
            "graph id", "graph node id")
GPU_FIELDS = {"callback": "cbid", "registers_per_thread": "registers per thread", "graph": "graph id",
              "graph_node": "graph node id"}
OFF_CPU_FIELDS = {"reason": "reason", "from_cpu": "CPU before", "to_cpu": "CPU after", "runnable_ns": "waited for a CPU (ns)", "woken_by": "woken by",
                  "waker": "what woke it", "waker_pid": "process that woke it", "waker_tid": "thread that woke it", "before": "since before the window", "ended": "end",
                  "waited": "waited for", "fd": "descriptor", "futex": "futex", "holder_tid": "thread that had the lock",
                  "instead": "what ran instead", "throttled": "throttled by its cgroup", "instead_pid": "process that ran instead", "instead_tid": "thread that ran instead"}
MAPPING_FIELDS = {"bytes": "bytes", "mapped_bytes": "address space (bytes)"}
# Of a counter each field is an event.
COUNTER_FIELDS = {
    "level": {"value": ""},
    "process_memory": {"resident_bytes": "resident (bytes)", "mapped_bytes": "address space (bytes)"},
    "gpu_environment": {
        "sm_clock_mhz": "SM clock (MHz)", "memory_clock_mhz": "memory clock (MHz)", "temperature_celsius": "temperature (degrees C)",
        "power_milliwatts": "power (mW)", "power_limit_milliwatts": "power limit (mW)", "fan_percent": "fan speed (%)",
        "busy_percent": "kernels ran (% of the time)", "memory_busy_percent": "memory busy (% of the time)",
        "memory_used_bytes": "memory in use (bytes)", "pcie_sent_kb_s": "PCIe sent (KB/s)", "pcie_received_kb_s": "PCIe received (KB/s)",
        "nvlink_sent_kib_s": "NVLink sent (KiB/s)", "nvlink_received_kib_s": "NVLink received (KiB/s)",
        "throttle_reasons": "throttle reasons (bits)"}}
RANGE_FIELDS = {"domain": "domain", "category_name": "category name", "category": "category", "payload": "payload",
                "payload_signed": "payload"}
RENAMED = {"range": RANGE_FIELDS, "off_cpu": OFF_CPU_FIELDS, "mapping": MAPPING_FIELDS}
# These have all their fields as they are.
HEAP_KINDS = ("heap", "heap_stack", "allocation", "release")
HEADER_FIELDS = ("kind", "source", "ts", "dur", "pid", "tid", "name", "stack", "stack_end", "stack_guessed", "stack_guessed_first", "stack_guessed_rest")
# Sums that have no place on a time line.
LEFT_OUT = ("growth", "thread_time", "short_wait", "launch_stack")
KERNEL = 0xff << 56
PYTHON = 1 << 63  # and below KERNEL: a frame of Python
CUTS = {"no_file": "[cut: no file]", "no_table": "[cut: no table]", "not_ready": "[cut: table not ready]", "unsupported": "[cut: unsupported]",
        "unreadable": "[cut: unreadable]", "broken": "[cut: broken]", "deep": "[cut: too deep]", "in_probe": "[cut: in a probe]"}
GPU_KINDS = ("api", "kernel", "copy", "set", "sync", "graph_launch", "gpu_event")
NAMED_BY_FIELDS = ("copy", "set", "sync", "graph_launch", "overhead", "migration", "gpu_memory", "gpu_pool", "gpu_event")

# Found out anew by every reader of the events, so no lines of the ndjson.
DERIVED_LOSSES = ("launch_forgotten", "launch_missing", "launched_before", "launch_after_kernel", "size_unknown", "range_unnamed", "launch_stack_uncertain", "names_cut")
NOTHING_MISSING = ("still_open", "outside_window", "size_unknown", "range_unnamed", "profiler_call", "samples_missed", "python_unreadable", "python_refused", "stack_cut", "launch_stacks_sampled", "launch_stacks_ended", "kernel_sources_cut", "cupti_defect", "steps_shortened", "launched_before")
WAITING = re.compile(r".* \((\d+)\): \d+ threads? that only waited")

QUERIES = {
    "stats": "select name, severity, value from stats where value > 0 and (severity != 'info' or "
             "name in ('flow_end_without_start', 'flow_step_without_start', "
             "'track_event_tokenizer_errors', 'tokenizer_skipped_packets'))",
    "slices": "select s.id, s.ts, s.dur, s.name, s.category, s.arg_set_id, t.tid, p.pid from slice s "
              "left join thread_track tt on s.track_id = tt.id left join thread t using (utid) "
              "left join process p using (upid)",
    "args": "select arg_set_id, key, value_type, int_value, string_value, real_value from args "
            "where key glob 'args.*'",
    "threads": "select tid, pid, t.name from thread t join process p using (upid) where p.pid != 0",
    "processes": "select pid, name from process where pid != 0",
    "counters": "select c.ts, c.value, t.name, p.pid from counter c join process_counter_track t on "
                "c.track_id = t.id join process p using (upid)",
    "flows": "select o.ts as out_ts, o.name as out_name, i.ts as in_ts, i.name as in_name from flow f "
             "join slice o on f.slice_out = o.id join slice i on f.slice_in = i.id",
}


def no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError(f"a key twice in one object: {keys}")
    return dict(pairs)


def refuse(word):
    raise ValueError(f"{word} is not JSON")


def parse(text):
    """Strictly; fractions as decimals, so that no digit is lost."""
    return json.loads(text, object_pairs_hook=no_duplicates, parse_constant=refuse,
                      parse_float=decimal.Decimal)


def nanoseconds(microseconds):
    value = decimal.Decimal(microseconds) * 1000
    if value != int(value):
        raise ValueError(f"{microseconds} us is no whole number of ns")
    return int(value)


def shapes():
    """tag -> (shape, row) out of the data model."""
    table = "".join((HERE.parent.parent / "bpf" / name).read_text() for name in ("record_facts.def", "record.def"))
    return {tag: (shape, row) for tag, shape, row in
            re.findall(r"^KIND\(\d+, (\w+), (\w+), (\w+),", table, re.M)}


def flatten(prefix, value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from flatten(f"{prefix}.{key}", item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from flatten(f"{prefix}[{index}]", item)
    else:
        yield prefix, value


def as_written(value):
    """The engine reads decimals to the last bit but one: what is written has 9 digits."""
    return float(value) if value == int(value) else float(f"{value:.9g}")


@functools.lru_cache(None)
def demangled(name):
    return subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()


def key_values(text):
    """The arguments of an annotation: step=3 phase=warm up."""
    parts = re.split(r"(?:^| )([A-Za-z0-9_.-]+)=", text) if isinstance(text, str) else [""]
    number = re.compile(r"-?(0|[1-9]\d{0,17})$")
    return {key: int(value) if number.match(value) else value for key, value in zip(parts[1::2], parts[2::2])}


def bucket_from(place):
    """Where a bucket of a distribution begins: at 0, 2, 4, 8 ns..."""
    ns = 2 ** place if place else 0
    for unit, size in ("ns", 1), ("us", 10 ** 3), ("ms", 10 ** 6), ("s", 10 ** 9):
        if ns < 1000 * size or unit == "s":
            return f"from {ns / size:.3g} {unit}"


def counted_args(line):
    """Of a function that is only counted."""
    args = {"calls": line["calls"], "calls seen to end": line["timed_calls"]}
    if line["timed_calls"]:
        args.update({"total (ns)": line["time_ns"], "minimum (ns)": line["minimum_ns"], "maximum (ns)": line["maximum_ns"],
                     "average (ns)": line["time_ns"] / line["timed_calls"],
                     "distribution": ", ".join(f"{bucket_from(place)}: {count}" for place, count in enumerate(line["buckets"]) if count)})
    return args


def file_of_module(frame):
    """Behind the path stands a number, where it is of several modules."""
    return re.sub(r" ?#\d+$", "", frame.get("module", "")).split("/")[-1]


class Judge:
    def __init__(self, folder):
        self.name = folder.name
        self.complaints = []
        self.trace = parse((folder / "trace.json").read_text("utf-8", "strict"))
        self.events = self.trace["traceEvents"]
        self.lines = [parse(line) for line in (folder / "capture.ndjson").read_text("utf-8").split("\n")
                      if line]
        self.shapes = shapes()
        self.base = self.trace["metadata"]["clock"]["subtractedNanoseconds"]
        self.window_end = self.trace["metadata"]["window"]["endNanoseconds"] + self.base

    def complain(self, text):
        self.complaints.append(text)

    def same(self, what, actual, expected):
        """Two multisets."""
        actual, expected = collections.Counter(actual), collections.Counter(expected)
        for item, count in (expected - actual).items():
            self.complain(f"{what}: missing {count} x {item}")
        for item, count in (actual - expected).items():
            self.complain(f"{what}: unexpected {count} x {item}")

    # ---- 1: the file itself

    def judge_file(self):
        seen = set()
        for event in self.events:
            row = event["pid"], event.get("tid")
            if event["ph"] == "M":
                # Of a row that begins later its name stands before it.
                if row in seen or (seen and row[1] is None):
                    self.complain(f"the name of {row} stands after an event")
            else:
                seen.add(row)
                nanoseconds(event["ts"])
            for key in ("pid", "tid"):
                if key in event and not 0 < event[key] < 2**32:
                    self.complain(f"{key} {event[key]} in {event}")
        rows = collections.defaultdict(list)
        last = 0
        for event in self.events:
            # Wakes, and what they make ready, stand behind the wait that they ended.
            if event["ph"] == "X" and event["cat"] != "wake":
                start, dur = nanoseconds(event["ts"]), nanoseconds(event["dur"])
                if start < last and event["cat"] != "gpuprobe":
                    self.complain(f"not in time order: {event}")
                last = start if event["cat"] != "gpuprobe" else last
                self.judge_nesting(rows[event["pid"], event["tid"]], start, start + dur, event)

    def judge_nesting(self, stack, start, end, event):
        while stack and stack[-1] <= start:
            stack.pop()
        if stack and end > stack[-1]:
            self.complain(f"overlaps what is open on its row: {event}")
        stack.append(end)

    def judge_arrows(self):
        """As Kineto's readers find the work of a call: by the arrow whose id is the call's correlation, which ends at work that has it, too.
        Each has one start and one end, since catapult keeps one for each start."""
        slices = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] == "X" and event["cat"] != "overhead":
                slices[event["pid"], event["tid"], event["ts"]].append(event.get("args", {}).get("correlation"))
        ids = {phase: collections.Counter(event["id"] for event in self.events if event["ph"] == phase and event["cat"] == "ac2g")
               for phase in "sf"}
        self.same("ends of arrows", ids["f"], ids["s"])
        for event in self.events:
            if event["ph"] in "sf" and event["cat"] == "ac2g":
                found = slices[event["pid"], event["tid"], event["ts"]]
                if ids["s"][event["id"]] != 1 or (event["id"] < FIRST_FURTHER_ARROW and event["id"] not in found):
                    self.complain(f"of an arrow: {event}, where the correlations are {found}")
        of = {side: {event["args"]["correlation"] for event in self.events if event["ph"] == "X" and event["cat"] in categories and
                     "correlation" in event.get("args", {})}
              for side, categories in {"call": ("cuda_runtime", "cuda_driver"), "work": ("kernel", "gpu_memcpy", "gpu_memset")}.items()}
        # What a capture has in the wrong order has no arrow.
        arrows = {event["id"] for event in self.events if event["ph"] == "s"}
        missing = [number for number in of["call"] & of["work"] if number not in arrows]
        backward = self.sums_of("launch_after_kernel")
        if len(missing) > backward:
            self.complain(f"{len(missing)} correlations number no arrow, {backward} expected: {missing[:3]}")

    def sums_of(self, reason):
        return sum(loss["count"] for loss in self.trace["metadata"]["losses"] if loss["reason"] == reason)

    # ---- 2: against the ndjson

    @functools.cached_property
    def numbers(self):
        """(kind, source, id) -> the number of a device, context or stream; without one, its place among the facts."""
        numbers, places = {}, collections.Counter()
        for fact in self.lines:
            if fact["kind"] in ("device", "context", "stream"):
                places[fact["kind"]] += 1
                numbers.setdefault((fact["kind"], fact.get("source"), fact["id"]), fact.get("number", places[fact["kind"]]))
        return numbers

    def number_of(self, kind, line):
        return self.numbers[kind, line.get("source"), line[kind]]

    def is_inner_call(self, line):
        """Inside another call of the thread with the same correlation id?"""
        key = line.get("source"), line.get("tid"), line["correlation"]
        return line["kind"] == "api" and any(
            outer is not line and outer["ts"] <= line["ts"] < outer["ts"] + outer["dur"] and outer["dur"] >= line["dur"]
            for outer in self.calls[key])

    def gpu_args(self, line):
        args = {}
        for key in ("bytes", "grid", "block", *GPU_FIELDS):
            if key in line:
                args[GPU_FIELDS.get(key, key)] = line[key]
        for kind in ("device", "context", "stream"):
            if kind in line:
                args[kind] = self.number_of(kind, line)
        if "correlation" in line and not self.is_inner_call(line):
            place = self.sources.setdefault(line.get("source"), len(self.sources))
            args["correlation"] = place << 32 | line["correlation"]
        return {key: value for key, value in args.items() if key in GPU_ARGS}

    def probe_args(self, line):
        probe = self.probes.get(line.get("probe"), {})
        return {key: probe[key] for key in ("address", "binary") if key in probe}

    def annotation_of(self, line):
        """What a hit of a USDT probe is to gpuprobe.h: range, mark, counter; None: anybody's probe."""
        return self.usdt.get(line.get("usdt"), {}).get("annotation")

    def usdt_args(self, line):
        given = line.get("args", {})
        if self.annotation_of(line) == "counter":
            return {"value": given["arg1"]}
        args = {"binary": self.usdt[line["usdt"]]["binary"]}
        if line.get("ended", "ended") != "ended":
            args["ended"] = line["ended"]
        return {**args, **(key_values(given.get("arg1")) if self.annotation_of(line) else given)}

    def functions_of(self, line):
        """The stack as functions, by the frame facts: none for addresses outside of mapped code, where a broken chain leads. One that was walked
        by tables is whole as far as it says."""
        end = line.get("stack_end")
        shown, whole, gap, known = [], 0, False, False
        begins, missing = None, False
        guesses = line.get("stack_guessed_first", 0) | line.get("stack_guessed_rest", 0) << 64
        for place, address in enumerate(line["stack"]):
            number = int(address, 16)
            before = place > 0 and not PYTHON <= number < KERNEL
            levels = self.frames.get((0 if number >= KERNEL else line["pid"], hex(number - before)), [])
            known |= bool(levels)
            gap |= not levels and place > 0 and not end
            shown += [("[missing]", {})] if missing and not end else []
            missing = bool(levels) and "caller_missing" in levels[-1]
            mark = "?" if guesses >> place & 1 else ""
            shown += [(self.function_of(frame, mark), frame) for frame in levels] or [(address + mark, {})]
            whole = whole if gap else len(shown)
            begins = levels[-1].get("begins") if levels else None
            if begins:
                return self.without_interpreter(shown)
        if not known or end in ("complete", "ended"):
            return self.without_interpreter(shown)
        return self.without_interpreter(shown[:whole]) + [CUTS[end] if end else "[cut]"]

    @staticmethod
    def without_interpreter(shown):
        """Where there are frames of Python, functions of CPython itself are left out, but those with a name below the innermost of them."""
        def is_of_interpreter(frame):
            name, module = frame.get("name", ""), file_of_module(frame)
            return frame.get("origin") != "python" and name != "main" and \
                (name.startswith(("Py", "_Py")) or module.startswith(("python3", "libpython3")))
        innermost = next((place for place, (_, frame) in enumerate(shown) if frame.get("origin") == "python"), None)
        return [text for place, (text, frame) in enumerate(shown)
                if innermost is None or not is_of_interpreter(frame) or place < innermost and "name" in frame]

    def function_of(self, frame, mark=""):
        module = file_of_module(frame)
        inlined = "inlined" in frame
        if "name" not in frame:
            name = module + "+" + frame["file_address"] if "file_address" in frame else module
        else:
            name = frame["name"]
        name += mark
        if "file" in frame:
            return f"{name} ({frame['file'].split('/')[-1]}:{frame.get('line', 0)}{', inlined' if inlined else ''})"
        if inlined:
            return name + " (inlined)"
        return f"{name} ({module})" if "name" in frame and module else name

    def sample_name(self, line):
        """Of the function that ran; one of Python is called by where it begins, too."""
        address = line["stack"][0]
        frame = next(iter(self.frames.get((line["pid"], address), [])), {})
        if PYTHON <= int(address, 16) < KERNEL and "file" in frame:
            return f"{frame['name']} {frame['file'].split('/')[-1]}:{frame['function_line']}"
        return re.sub(r" \([^()]*\)$", "", self.functions_of(line)[0])

    def expected_args(self, line):
        kind = line["kind"]
        args = self.probe_args(line) if kind in ("call", "entry") else {}
        if kind == "call" and line.get("ended", "returned") != "returned":
            args["ended"] = line["ended"]
        if kind in GPU_KINDS:
            args = self.gpu_args(line)
        if kind in RENAMED:
            args = {name: line[key] for key, name in RENAMED[kind].items() if key in line}
        if kind == "range" and line.get("ended", "ended") != "ended":
            args["ended"] = line["ended"]
        if kind in HEAP_KINDS or kind in ("matmul", "sample"):
            args = {key: value for key, value in line.items() if key not in HEADER_FIELDS}
        for key in {"entry": ["reason"], "total": ["calls", "time_ns"]}.get(kind, []):
            if key in line:
                args[key] = line[key]
        if kind.startswith("usdt_"):
            args = self.usdt_args(line)
        if kind == "function_total":
            args = {**self.probe_args(line), **counted_args(line)}
        if self.shapes[kind][0] == "SPAN" and ("dur" not in line or line.get("ended") == "unseen" and kind == "off_cpu"):
            args["open"] = True
        if "stack" in line:
            args["stack"] = self.functions_of(line)
        return args

    def counter_values(self, line):
        """name of a track -> value"""
        if line["kind"] == "probing":
            return {"gpuprobe overhead (% of CPU time)": as_written(100 * line["cost_ns"] / line["cpu_ns"])} if line["cpu_ns"] else {}
        name = {"process_memory": "Process memory", "gpu_environment": "GPU"}.get(line["kind"], line.get("name"))
        return {f"{name} {what}".strip(): line[field] for field, what in COUNTER_FIELDS[line["kind"]].items() if field in line}

    def expected_events(self, line):
        shape, row = self.shapes[line["kind"]]
        if shape != "COUNTER":
            yield self.expected_event(line, shape, row)
            return
        for name, value in self.counter_values(line).items():
            yield ("C", line["kind"], name, line["ts"] - self.base, None, "gpu" if row == "DEVICE" else line.get("pid", 0),
                   json.dumps({"value": value}))

    def expected_event(self, line, shape, row):
        dur = None
        if shape == "SPAN":
            dur = line.get("dur", max(self.window_end - line["ts"], 0))
            # What the record tells is how long the call took, and no stream.
            dur = 0 if line.get("type") == "stream_wait_event" else dur
        phase = {"SPAN": "X", "POINT": "i", "TOTAL": "i"}[shape]
        category = CATEGORIES.get((line["kind"], line.get("domain")), CATEGORIES.get(line["kind"], line["kind"]))
        if self.annotation_of(line) in ("range", "mark"):
            category = "user_annotation"
        if self.annotation_of(line) == "counter":
            phase = "C"
        args = None if line["kind"] in NAMED_BY_FIELDS and line["kind"] not in GPU_KINDS else self.expected_args(line)
        return (phase, category, self.name_of(line), line["ts"] - self.base, dur,
                line.get("pid", 0) if row not in ("STREAM", "SYNC", "DEVICE") else "gpu", json.dumps(args, sort_keys=True))

    def name_of(self, line):
        if line["kind"] in NAMED_BY_FIELDS:
            return None
        if line["kind"] == "kernel" and line.get("name", "").startswith("_Z"):
            return demangled(line["name"])
        if self.annotation_of(line):
            return line["args"]["arg0"]
        if line["kind"] == "api":
            return re.sub(r"_v\d{4,}$", "", line["name"])
        if line["kind"] in ("heap", "heap_stack"):
            return line["kind"]
        if line["kind"] == "sample":
            return self.sample_name(line) if "stack" in line else "sample"
        if line["kind"] == "range" and not line.get("name"):
            return "(unnamed range)"
        return line.get("name") or self.probes.get(line.get("probe"), {}).get("name")

    def judge_events(self):
        self.probes = {}
        self.usdt = {line["id"]: line for line in self.lines if line["kind"] == "usdt"}
        self.frames = collections.defaultdict(list)
        for line in sorted((line for line in self.lines if line["kind"] == "frame"), key=lambda frame: frame["level"]):
            self.frames[line.get("pid", 0), line["address"]].append(line)
        counts = collections.Counter()
        for line in self.lines:
            if line["kind"] == "probe":
                self.probes[line.get("id", line.get("name"))] = line
        self.sources, self.calls = {}, collections.defaultdict(list)
        for line in self.lines:
            if line["kind"] == "api" and "correlation" in line:
                self.sources.setdefault(line.get("source"), len(self.sources))
                self.calls[line.get("source"), line.get("tid"), line["correlation"]].append(line)
        kinds = {CATEGORIES.get((kind, domain), CATEGORIES.get(kind, kind)): kind
                 for kind in self.shapes for domain in (None, "driver")}
        kinds["user_annotation"] = "usdt_span"
        expected = [event for line in self.lines if self.shapes[line["kind"]][0] != "FACT" and line["kind"] not in LEFT_OUT
                    for event in self.expected_events(line)]
        actual = []
        # They are no fields of the events that show them.
        has_launch_stacks = any(line["kind"] == "launch_stack" for line in self.lines)
        nobody = {event["pid"] for event in self.events if event["name"] == "process_name" and
                  event["ph"] == "M" and event["args"]["name"] == "(no process)"}
        waiting = {event["pid"]: int(WAITING.fullmatch(event["args"]["name"]).group(1)) for event in self.events
                   if event["name"] == "process_name" and event["ph"] == "M" and WAITING.fullmatch(event["args"]["name"])}
        for event in self.events:
            if event["ph"] in "Msf" or event["cat"] in ("gpuprobe", "computed", "wake") or "made by" in event.get("args", {}):
                continue
            counts[event["ph"]] += 1
            pid = event["pid"]
            kind = kinds[event["cat"]]
            if self.shapes[kind][1] in ("STREAM", "SYNC", "DEVICE"):
                pid = "gpu" if pid >= FIRST_OWN_PID else pid
            elif pid in nobody:
                pid = 0
            elif pid in waiting:
                pid = waiting[pid]
                if event["cat"] != "off_cpu":
                    self.complain(f"on a row of threads that only waited: {event}")
            args = event.get("args", {})
            if kind in GPU_KINDS:
                args = {key: value for key, value in args.items() if key in GPU_ARGS or key == "open" or key == "stack" and not has_launch_stacks}
            elif kind in NAMED_BY_FIELDS:
                args = None
            actual.append((event["ph"], event["cat"], event["name"] if kind not in NAMED_BY_FIELDS else None,
                           nanoseconds(event["ts"]), nanoseconds(event["dur"]) if "dur" in event else None, pid,
                           json.dumps(args, sort_keys=True, default=float)))
        self.same("trace against ndjson", actual, expected)
        if has_launch_stacks:
            self.complaints += launch_stacks.complaints_of(self.events, self.lines, self.base, nanoseconds, self.functions_of)
        self.judge_ledger()
        return counts

    def judge_ledger(self):
        last, sums = {}, collections.Counter()
        for line in self.lines:
            if line["kind"] == "loss":
                last[line["source"], line["reason"], line.get("place", "")] = line.get("count", 0)
        for (_, reason, place), count in last.items():
            sums[reason, place] += count
        # Readers add of how many they are.
        losses = [(loss["reason"], re.sub(r", (less than )?[\d.]+ % of stacks$", "", loss["place"]), loss["count"])
                  for loss in self.trace["metadata"]["losses"]]
        self.same("ledger", [loss for loss in losses if loss[0] not in DERIVED_LOSSES],
                  [(*key, count) for key, count in sums.items() if count])
        waits = sum(line["kind"] == "off_cpu" for line in self.lines) + sum(line.get("waits", 0) for line in self.lines if line["kind"] == "short_wait")
        complete = all(reason in NOTHING_MISSING or reason == "wait_end_unseen" and count * 1000 <= waits + count for reason, _, count in losses)
        if self.trace["metadata"]["capture_complete"] != complete:
            self.complain(f"capture_complete is {not complete}, the ledger says {complete}")

    # ---- 3: the trace processor

    def judge_engine(self, answer):
        if "error" in answer:
            self.complain(f"trace processor: {answer['error']}")
            return
        self.answer = answer
        for stat in answer["stats"]:
            self.complain(f"trace processor: {stat['severity']} {stat['name']} = {stat['value']}")
        self.judge_slices()
        self.judge_rows()
        self.judge_flows()

    def engine_args(self):
        kinds = {"int": "int_value", "uint": "int_value", "bool": "int_value", "real": "real_value"}
        found = collections.defaultdict(dict)
        for arg in self.answer["args"]:
            value = arg[kinds.get(arg["value_type"], "string_value")]
            found[arg["arg_set_id"]][arg["key"]] = {"bool": bool, "real": as_written}.get(arg["value_type"], lambda it: it)(value)
        return found

    def judge_slices(self):
        args = self.engine_args()
        actual, expected = [], []
        for row in self.answer["slices"]:
            actual.append((row["ts"], row["dur"], row["name"], row["category"], row["pid"], row["tid"],
                           json.dumps(args.get(row["arg_set_id"], {}), sort_keys=True)))
        for event in self.events:
            if event["ph"] not in "Xi":
                continue
            on_thread = event.get("s", "t") == "t"
            expected.append((nanoseconds(event["ts"]), nanoseconds(event.get("dur", 0)), event["name"],
                             event["cat"], event["pid"] if on_thread else None,
                             event["tid"] if on_thread else None,
                             # The engine has no null.
                             json.dumps({key: value for key, value in flatten("args", event.get("args", {})) if value is not None},
                                        sort_keys=True, default=as_written)))
        self.same("trace processor: slices", actual, expected)
        self.same("trace processor: counters",
                  [(row["ts"], as_written(row["value"]), row["name"], row["pid"]) for row in self.answer["counters"]],
                  [(nanoseconds(event["ts"]), as_written(value), f"{event['name']} {key}", event["pid"])
                   for event in self.events if event["ph"] == "C"
                   for key, value in event["args"].items()])

    def judge_rows(self):
        names = {(event["name"], event["pid"], event.get("tid")): event["args"]["name"]
                 for event in self.events if event["ph"] == "M" and "name" in event["args"]}
        pids = {event["pid"] for event in self.events}
        tids = {(event["pid"], event["tid"]) for event in self.events if "tid" in event}
        tids |= {(pid, pid) for pid in pids}  # each process has a main thread
        self.same("trace processor: processes",
                  [(row["pid"], row["name"]) for row in self.answer["processes"]],
                  [(pid, names.get(("process_name", pid, None))) for pid in pids])
        self.same("trace processor: threads",
                  [(row["pid"], row["tid"], row["name"]) for row in self.answer["threads"]],
                  [(pid, tid, names.get(("thread_name", pid, tid))) for pid, tid in tids])

    def wakes(self, starts):
        """The arrows from who woke a thread, out of a slice of a nanosecond, into the wait: one for each wait that a thread with a row ended."""
        waits, rows, flows = collections.defaultdict(list), set(), []
        for event in self.events:
            if event["ph"] == "X" and event["cat"] == "off_cpu":
                start = nanoseconds(event["ts"])
                waits[event["pid"], event["tid"]].append((start, start + nanoseconds(event["dur"]), event["name"]))
            if event["ph"] == "M" and event["name"] == "thread_name":
                rows.add(event["tid"])
        for event in self.events:
            if event["ph"] == "f" and event["cat"] == "wake":
                at = nanoseconds(event["ts"])
                inside = [wait for wait in waits[event["pid"], event["tid"]] if wait[0] <= at < wait[1]]
                if len(inside) != 1 or nanoseconds(starts["wake", event["id"]]["ts"]) != at:
                    self.complain(f"an arrow that does not end in a wait: {event}")
                else:
                    flows.append((at, "wakes", at, "ready"))
        expected = sum(line["kind"] == "off_cpu" and line.get("woken_by") == "thread" and line.get("waker_tid") in rows and line.get("dur", 0) > 1
                       and line.get("ended") != "unseen" for line in self.lines)
        if len(flows) != expected:
            self.complain(f"{len(flows)} arrows to waits, expected {expected}")
        return flows

    def judge_flows(self):
        """One start at the launch, an end at each of its effects: the slices begin at that moment."""
        launches = {(event["cat"], event["id"]): event for event in self.events if event["ph"] == "s"}
        if len(launches) != sum(event["ph"] == "s" for event in self.events):
            self.complain("an id of a flow twice")
        slices = {(event["pid"], event["tid"], event["ts"]): event["name"] for event in self.events
                  if event["ph"] == "X" and event["cat"] != "wake"}
        expected = self.wakes(launches)
        for event in self.events:
            if event["ph"] == "f" and event["cat"] != "wake":
                launch = launches[event["cat"], event["id"]]
                if event.get("bp") != "e" or event["cat"] != "ac2g":
                    self.complain(f"not as Kineto writes it: {event}")
                expected.append((nanoseconds(launch["ts"]), slices[launch["pid"], launch["tid"], launch["ts"]],
                                 nanoseconds(event["ts"]), slices[event["pid"], event["tid"], event["ts"]]))
        self.same("trace processor: flows",
                  [(row["out_ts"], row["out_name"], row["in_ts"], row["in_name"])
                   for row in self.answer["flows"]], expected)


def ask_engine(engine, folders, queries=QUERIES, file="trace.json"):
    """One answer a folder."""
    command = ["node", str(HERE / "query.mjs"), engine]
    command += [f"{name}={sql}" for name, sql in queries.items()]
    command += ["--"] + [str(folder / file) for folder in folders]
    result = subprocess.run(command, capture_output=True, timeout=600)
    answers = [json.loads(line) for line in result.stdout.decode().split("\n") if line]
    if len(answers) < len(folders):
        died = {"error": "died: " + result.stderr.decode(errors="replace").strip()[-500:]}
        answers += [died] * (len(folders) - len(answers))
    return answers


def judge(folder, answer):
    """True when all is well."""
    try:
        judge = Judge(folder)
        judge.judge_file()
        judge.judge_arrows()
        counts = judge.judge_events()
        if answer:
            judge.judge_engine(answer)
    except (ValueError, KeyError, ArithmeticError) as error:
        print(f"not ok {folder.name}\n# {type(error).__name__}: {error}")
        return False
    complaints, excused = known.sift("trace", folder.name, judge.complaints)
    print(f"{'not ok' if complaints else 'ok'} {folder.name}")
    for complaint in complaints[:30] + excused:
        print(f"# {complaint}")
    print(f"# {counts['X']} spans, {counts['i']} points, {counts['C']} counter values")
    return not complaints


def main():
    engine, *folders = sys.argv[1:]
    folders = [pathlib.Path(folder) for folder in folders]
    answers = ask_engine(engine, folders) if engine != "-" else [None] * len(folders)
    results = [judge(folder, answer) for folder, answer in zip(folders, answers)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
