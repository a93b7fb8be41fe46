#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges traces in Perfetto's own format by the real trace processor: check_perfetto.py ENGINE_FOLDER FOLDER...

Each FOLDER holds trace.pftrace and trace.json of one capture; check.py compares the latter with the ndjson, event by event. The engine has to read
the same events out of the former: each span and point with its name, times, category, thread and args, work of GPUs as slices of GPUs with what is
known of it, each value of a counter, each flow, all names with their real ids, the ledger; sums over kernels as `gpuprobe stats` has them; without an error and with no loss of data. Cut anywhere, a trace has to be read up to there.
"""
import collections
import csv
import io
import json
import math
import pathlib
import re
import subprocess
import sys

import check

GPUPROBE = check.HERE.parent.parent / "build" / "gpuprobe"
OWN = ("gpuprobe", "wake")  # Categories of what is not of the capture.
QUERIES = {
    "stats": check.QUERIES["stats"],
    "slices": "select s.id, s.ts, s.dur, s.name, s.category, s.arg_set_id, t.tid, p.pid, tr.name as track from slice s "
              "join track tr on s.track_id = tr.id left join thread_track tt on s.track_id = tt.id left join thread t using (utid) "
              "left join process p using (upid) where tr.type != 'gpu_render_stage'",
    "gpu": "select s.ts, s.dur, s.name, s.arg_set_id, s.render_stage_category as category, p.pid from gpu_slice s left join process p using (upid)",
    "kernels": "select name, sum(dur) as total, count(*) as count from gpu_slice where render_stage_category = 2 group by name",
    "samples": "select ts, p.pid, t.tid, cpu, callsite_id from perf_sample s join thread t using (utid) join process p using (upid)",
    "callsites": "select c.id, c.parent_id, f.name, m.name as file from stack_profile_callsite c join stack_profile_frame f on c.frame_id = f.id "
                 "join stack_profile_mapping m on f.mapping = m.id",
    "stacks": "select s.ts, s.name, c.callsite_id from __intrinsic_track_event_callstacks c join slice s on c.slice_id = s.id",
    "heap": "select h.ts, h.heap_name, p.pid, h.callsite_id, h.count, h.size from heap_profile_allocation h join process p using (upid)",
    "states": "select s.ts, s.dur, t.tid, s.state, s.cpu, w.tid as waker from thread_state s join thread t using (utid) left join thread w on s.waker_utid = w.utid "
              "where s.state is not null",
    "running": "select s.ts, t.tid, s.cpu from sched s join thread t using (utid)",
    "args": "select arg_set_id, key, value_type, int_value, string_value, real_value from args where key glob 'debug.*'",
    "gpu_args": "select arg_set_id, key, value_type, int_value, string_value, real_value from args where arg_set_id in (select arg_set_id from gpu_slice)",
    "threads": "select tid, pid, t.name from thread t join process p using (upid) where p.pid != 0",
    "processes": "select pid, name from process where pid != 0",
    "counters": "select c.ts, c.value, t.name from counter c join counter_track t on c.track_id = t.id where t.type not in ('perf_cpu_counter', 'gpu_counter')",
    "gpu_counters": "select c.ts, c.value, t.id, t.name, t.unit, g.group_id from counter c join gpu_counter_track t on c.track_id = t.id "
                    "left join gpu_counter_group g on g.track_id = t.id order by c.id",
    "flows": check.QUERIES["flows"],
}
# What Perfetto's workflows for GPUs ask (ai/skills/perfetto/workflows/gpu of its repository; 55.3 ships none of them), by the modules of its standard
# library that they include: how long each GPU was busy, its gaps, each kernel with its launch and what limits how many of its blocks fit.
MODULES = "INCLUDE PERFETTO MODULE intervals.overlap; INCLUDE PERFETTO MODULE std.gpu.context; "
WORK = "(select s.ts, s.dur, extract_arg(t.dimension_arg_set_id, 'ugpu') as ugpu from gpu_slice s join gpu_track t on s.track_id = t.id where s.dur > 0)"
KERNEL_ARGS = ("workgroup_size", "grid_size", "thread_count", "waves_per_multiprocessor", "registers_per_thread", "occupancy_limit_blocks",
               "occupancy_limit_registers", "occupancy_limit_shared_mem", "occupancy_limit_warps", "sm__maximum_warps_per_active_cycle_pct")
QUERIES |= {
    "gpus": "select ugpu, vendor, name from gpu",
    "contexts": MODULES + "select distinct c.pid, c.api from gpu_context c where context_id in (select context_id from gpu_slice)",
    "busy": f"{MODULES}select ugpu, sum(dur) as busy from interval_merge_overlapping_partitioned!({WORK}, (ugpu)) group by ugpu",
    "gaps": f"{MODULES}select max(gap) as longest, sum(gap) as total from (select lead(ts) over (order by ts) - ts - dur as gap "
            "from interval_merge_overlapping!((select ts, dur from gpu_slice where dur > 0), 0)) where gap > 0",
    "launches": "select coalesce(extract_arg(s.arg_set_id, 'kernel_demangled_name'), s.name) as kernel, dur, "
                + ", ".join(f"extract_arg(s.arg_set_id, '{name}') as {name}" for name in KERNEL_ARGS)
                + " from gpu_slice s where render_stage_category = 2 and dur > 0",
}
# Of a trace that is cut: what it may say is that a span has no end.
CUT_QUERIES = {"stats": QUERIES["stats"], "count": "select count(*) as count from slice"}
CUTS = 5
SAMPLE = "sample"
# What ends the name of a GPU's counter -> its unit and its group: the first that fits.
GPU_COUNTERS = (("GPU busy (%)", "%", 6), ("Kernels running", None, 6), ("(bytes)", "B", 5), ("Frees of memory", None, 5), ("(MHz)", "MHz", 1),
                ("(mW)", "mW", 1), ("(degrees C)", "C", 1), ("(%)", "%", 1))
HEAP_STACK = "heap_stack"  # A profile of a heap, and no point.
# What is known of an allocating stack -> its column of `gpuprobe stats -r allocations`.
HEAP_SUMS = {"bytes": "Bytes", "calls": "Calls", "live_bytes": "Live (bytes)", "live_calls": "Live Calls"}
GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset", "graph_launch")
# What slices of GPUs have under other names than Chrome traces.
GPU_ARGS = {"device": "device", "context": "context", "stream": "stream", "correlation": "correlation", "registers_per_thread": "registers per thread",
            "bytes": "bytes", "graph": "graph id", "graph_node": "graph node id", "within": "within", "launch_delay_ns": "launch delay (ns)",
            "queue_ns": "queue time (ns)", "matmul_flops": "floating-point operations", "occupancy_limited_by": "occupancy limited by",
            "sm__maximum_warps_per_active_cycle_pct": "theoretical occupancy %", "blocks_per_multiprocessor": "blocks per SM",
            **{f"launch.{ours}_size.{axis}": f"{theirs}[{place}]" for ours, theirs in (("grid", "grid"), ("workgroup", "block"))
               for place, axis in enumerate("xyz")}}


def value_of(arg):
    kinds = {"int": "int_value", "uint": "int_value", "bool": "int_value", "real": "real_value", "pointer": "int_value"}
    value = arg[kinds.get(arg["value_type"], "string_value")]
    if arg["value_type"] == "pointer" or (arg["value_type"] == "uint" and value < 0):
        return f"{value % 2**64:#x}"  # What has more than 63 bits is a text in JSON.
    return {"bool": bool, "real": check.as_written}.get(arg["value_type"], lambda it: it)(value)


def bare_name(name):
    """Of a function, without where it is: the traces say that differently."""
    return re.sub(r" \S+:\d+$", "", name.split(" (")[0])


def stats_of(folder, report):
    """Rows of `gpuprobe stats`."""
    text = subprocess.run([str(GPUPROBE), "stats", str(folder / "capture.ndjson"), "-r", report, "-f", "csv"], capture_output=True, text=True,
                          check=True).stdout
    return list(csv.DictReader(io.StringIO(text)))


class Judge(check.Judge):
    def __init__(self, folder, answer):
        super().__init__(folder)
        if "error" in answer:
            raise ValueError(answer["error"])
        self.answer = answer
        names = {event["pid"]: event["args"]["name"] for event in self.events if event["ph"] == "M" and event["name"] == "process_name"}
        waiting = {pid: check.WAITING.match(name) for pid, name in names.items()}
        # Where a Chrome trace has a group of its own, for threads that only waited.
        ids = {key: {line[key] for line in self.lines if key in line} for key in ("pid", "tid")}
        self.pids, self.tids = ids["pid"], ids["tid"] | ids["pid"]
        self.real_pids = {pid: int(match[1]) for pid, match in waiting.items() if match and pid not in self.pids}

    def args(self):
        found = collections.defaultdict(dict)
        for arg in self.answer["args"]:
            found[arg["arg_set_id"]][arg["key"].removeprefix("debug.")] = value_of(arg)
        return found

    def thread_of(self, event):
        """(pid, tid), or None where it is on no track of a thread."""
        pid = self.real_pids.get(event["pid"], event["pid"])
        if event.get("s") == "p" or pid not in self.pids or event["tid"] not in self.tids:
            return None
        return pid, event["tid"]

    def judge_slices(self):
        args = self.args()
        actual = [(row["ts"], row["dur"], row["name"], row["category"],
                   (row["pid"], row["tid"]) if row["tid"] and "(overlap" not in (row["track"] or "") else None,
                   json.dumps(args.get(row["arg_set_id"], {}), sort_keys=True))
                  for row in self.answer["slices"] if row["category"] not in OWN]
        expected = [(check.nanoseconds(event["ts"]) + self.base, check.nanoseconds(event.get("dur", 0)), event["name"], event["cat"],
                     self.thread_of(event),
                     json.dumps(self.args_of(event), sort_keys=True, default=check.as_written))
                    for event in self.events if event["ph"] in "Xi" and event["cat"] not in (*OWN, *GPU_WORK, SAMPLE, HEAP_STACK)]
        self.same("slices", actual, expected)

    def judge_gpu(self):
        """Work of GPUs is drawn once: as slices of GPUs."""
        args = collections.defaultdict(dict)
        for arg in self.answer["gpu_args"]:
            if arg["key"] in GPU_ARGS:
                args[arg["arg_set_id"]][GPU_ARGS[arg["key"]]] = value_of(arg)
        actual = [(row["ts"], row["dur"], row["name"], row["category"], row["pid"], json.dumps(args[row["arg_set_id"]], sort_keys=True))
                  for row in self.answer["gpu"]]
        processes = collections.defaultdict(list)
        for line in self.lines:
            if line["kind"] in ("kernel", "copy", "set", "graph_launch"):
                processes[line["ts"], line["kind"], line.get("correlation", 0)].append(line.get("pid"))
        expected = []
        for event in self.events:
            if event["ph"] != "X" or event["cat"] not in GPU_WORK:
                continue
            kind = {"gpu_memcpy": "copy", "gpu_memset": "set"}.get(event["cat"], event["cat"])
            start = check.nanoseconds(event["ts"]) + self.base
            pid = processes[start, kind, event["args"].get("correlation", 0) & 0xffffffff].pop(0)
            flat = {key: value for key, value in self.args_of(event).items() if key in GPU_ARGS.values()}
            expected.append((start, check.nanoseconds(event["dur"]), event["name"], 2 if kind == "kernel" else 0, pid,
                             json.dumps(flat, sort_keys=True, default=check.as_written)))
        self.same("slices of GPUs", actual, expected)

    def chains(self):
        """callsite -> its functions, the innermost first"""
        sites = {row["id"]: row for row in self.answer["callsites"]}
        for number in sites:
            chain, at = [], number
            while at is not None:
                chain.append(sites[at]["name"])
                at = sites[at]["parent_id"]
            yield number, chain

    def same_stack(self, what, chain, stack):
        """A Chrome trace has the file or the source line behind each function."""
        stack = stack or ["[no stack]"]
        # Of Python a function is named with the line where it begins.
        names = [re.sub(r" (\S+):\d+$", r" (\1:", name) if re.search(r" (\S+\.py|<\S+>\S*):\d+$", name) else name for name in chain]
        if len(chain) != len(stack) or not all(text in (name, whole) or text.startswith((f"{whole} (", name if name != whole else f"{name} ("))
                                               for name, whole, text in zip(names, chain, stack)):
            self.complain(f"{what} has the stack {chain}, not {stack}")

    def judge_stacks(self):
        chains = dict(self.chains())
        events = [event for event in self.events if event.get("cat") == SAMPLE and event["ph"] == "i"]
        key = lambda pid, tid, ts: (ts, pid, tid)
        stacks = collections.defaultdict(list)
        for event in events:
            stacks[key(event["pid"], event["tid"], check.nanoseconds(event["ts"]) + self.base)].append(event["args"])
        for row in self.answer["samples"]:
            found = stacks[key(row["pid"], row["tid"], row["ts"])]
            if not found:
                self.complain(f"a sample that the capture has not: {row}")
                continue
            args = found.pop(0)
            if args.get("cpu", row["cpu"]) != row["cpu"]:
                self.complain(f"{row} was on CPU {args['cpu']}")
            self.same_stack(f"the sample at {row['ts']}", chains[row["callsite_id"]], args.get("stack"))
        if len(self.answer["samples"]) != len(events):
            self.complain(f"{len(self.answer['samples'])} samples of {len(events)}")
        self.judge_stacks_of_spans(chains)

    def judge_stacks_of_spans(self, chains):
        """Of each event with a stack that is no work of a GPU."""
        stacks, count = collections.defaultdict(list), 0
        for event in self.events:
            if event["ph"] in "Xi" and event["cat"] not in (*OWN, *GPU_WORK, SAMPLE, HEAP_STACK) and "stack" in event.get("args", {}) and \
                    "launched by" not in event["args"]:
                stacks[check.nanoseconds(event["ts"]) + self.base, event["name"]].append(event["args"]["stack"])
                count += 1
        for row in self.answer["stacks"]:
            found = stacks[row["ts"], row["name"]]
            if found:
                self.same_stack(f"{row['name']} at {row['ts']}", chains[row["callsite_id"]], found.pop(0))
            else:
                self.complain(f"a stack that the capture has not: {row}")
        if len(self.answer["stacks"]) != count:
            self.complain(f"{len(self.answer['stacks'])} stacks of spans and points, {count} expected")

    def judge_heap(self, folder):
        """Sums by stack as a Chrome trace has them, and all in all as `gpuprobe stats`."""
        chains = dict(self.chains())
        actual, expected = (collections.defaultdict(lambda: [0] * len(HEAP_SUMS)) for _ in range(2))
        for row in self.answer["heap"]:
            found = actual[row["ts"], row["heap_name"], row["pid"], tuple(map(bare_name, chains[row["callsite_id"]]))]
            for place, value in enumerate((row["size"], row["count"])):
                found[place] += max(value, 0)  # What was freed is a row of its own.
                found[place + 2] += value
        for event in self.events:
            if event.get("cat") == HEAP_STACK and event["args"]["calls"]:
                found = expected[self.window_end, "heap", self.real_pids.get(event["pid"], event["pid"]),
                                 tuple(map(bare_name, event["args"].get("stack") or ["[no stack]"]))]
                for place, name in enumerate(HEAP_SUMS):
                    found[place] += event["args"][name]
        self.same("sums of heaps by stack", ((*key, *sums) for key, sums in actual.items()), ((*key, *sums) for key, sums in expected.items()))
        rows = stats_of(folder, "allocations") if actual else []
        self.same("sums of heaps", [tuple(map(sum, zip(*actual.values())))],
                  [tuple(sum(int(row[name]) for row in rows) for name in HEAP_SUMS.values())] if rows else [()])

    def states_of(self, wait):
        """(ts, dur, state, CPU, waker) of each state that a wait and its end are; None: until the next one."""
        begin, end = wait["ts"], wait["ts"] + wait.get("dur", 0)
        state = {"uninterruptible": "D", "preempted": "R", "stopped": "T"}.get(wait["reason"], "S")
        if "to_cpu" not in wait or "ended" in wait or "dur" not in wait:
            yield begin, None, state, None, None
            return
        ready = end
        if "runnable_ns" in wait and wait["reason"] != "preempted" and wait["dur"] >= 2:
            ready = end - min(max(wait["runnable_ns"], 1), wait["dur"] - 1)
        yield begin, ready - begin, state, None, None
        if ready < end:
            yield ready, end - ready, "R", None, wait.get("waker_tid") if wait.get("woken_by") == "thread" else None
        yield end, None, "Running", wait["to_cpu"], None

    def judge_states(self):
        expected, running = [], []
        for line in self.lines:
            if line["kind"] == "off_cpu" and line.get("tid") and "from_cpu" in line:
                for ts, dur, *state in self.states_of(line):
                    expected.append((ts, line["tid"], dur, *state))
                    if state[0] == "Running":
                        running.append((ts, line["tid"], state[1]))
        # Of a state that lasts until the next one begins how long is no question of its own.
        lasting = {(ts, tid) for ts, tid, dur, *_ in expected if dur is None}
        self.same("states of threads", [(row["ts"], row["tid"], None if (row["ts"], row["tid"]) in lasting else row["dur"], row["state"], row["cpu"], row["waker"])
                                        for row in self.answer["states"]], expected)
        self.same("threads on CPUs", [(row["ts"], row["tid"], row["cpu"]) for row in self.answer["running"]], running)

    def judge_sums(self, folder):
        if not self.answer["kernels"]:
            return
        expected = [(row["Name"], int(row["Total Time (ns)"]), int(row["Instances"])) for row in stats_of(folder, "cuda_gpu_kern_sum")]
        self.same("sums of kernels", [(row["name"], row["total"], row["count"]) for row in self.answer["kernels"]], expected)

    def judge_workflows(self, folder):
        """What Perfetto's workflows ask gives rows, and the sums of `gpuprobe stats`."""
        if not self.answer["busy"]:
            return
        self.same("processes with contexts", [(row["pid"], row["api"]) for row in self.answer["contexts"]],
                  {(row["pid"], "CUDA") for row in self.answer["gpu"]})
        devices = stats_of(folder, "gpu_busy_sum")
        busy = [int(row["Busy (ns)"]) for row in devices if int(row["Busy (ns)"])]
        # The report knows from where on a GPU was not recorded, and GPUs of which nothing is known.
        window = self.window_end - self.trace["metadata"]["window"]["startNanoseconds"] - self.base
        if len(devices) == len(self.answer["gpus"]) and all(int(row["Recorded (ns)"]) == window for row in devices):
            self.same("time in which GPUs were busy", [row["busy"] for row in self.answer["busy"]], busy)
            self.judge_gaps(busy)
        self.judge_launches(folder)

    def judge_gaps(self, busy):
        """Of one GPU: all between its first work and its last that is not busy."""
        if len(busy) == 1:
            work = [row for row in self.answer["gpu"] if row["dur"]]
            span = max(row["ts"] + row["dur"] for row in work) - min(row["ts"] for row in work)
            self.same("time between work", [self.answer["gaps"][0]["total"] or 0], [span - busy[0]])

    def judge_launches(self, folder):
        rows = self.answer["launches"]
        expected = collections.Counter()
        for row in stats_of(folder, "cuda_gpu_kern_gb_sum"):
            numbers = [re.findall(r"\d+", row[name]) for name in ("GridXYZ", "BlockXYZ")]
            sizes = [math.prod(map(int, found)) if found else None for found in numbers]
            expected[row["Name"], *sizes] += int(row["Total Time (ns)"])
        actual = collections.Counter()
        for row in rows:
            actual[row["kernel"], row["grid_size"], row["workgroup_size"]] += row["dur"]
        self.same("kernels by launch", actual.items(), ((key, value) for key, value in expected.items() if value))
        for row in rows:
            limits = [row[name] for name in KERNEL_ARGS if name.startswith("occupancy_limit_") and row[name] is not None]
            if row["grid_size"] and row["workgroup_size"] and row["thread_count"] != row["grid_size"] * row["workgroup_size"]:
                self.complain(f"{row} has not the threads of its blocks")
            if row["waves_per_multiprocessor"] is None:
                if row["sm__maximum_warps_per_active_cycle_pct"] is not None and row["grid_size"]:
                    self.complain(f"{row} has no waves")
            elif not math.isclose(row["waves_per_multiprocessor"] * min(limits) * self.multiprocessors(), row["grid_size"], rel_tol=1e-9):
                self.complain(f"{row}: waves of blocks are not those of its limits")

    def multiprocessors(self):
        return next(line["multiprocessors"] for line in self.lines if line["kind"] == "device" and line.get("multiprocessors"))

    @staticmethod
    def args_of(event):
        """Flat, as the engine has them: without null, with other names where a name has a dot. Stacks are no args."""
        args = {key.replace(".", "_"): value for key, value in event.get("args", {}).items() if key not in ("stack", "launched by", "called by")}
        return {key.removeprefix("."): value for key, value in check.flatten("", args) if value is not None}

    def judge_counters(self):
        tracks = collections.defaultdict(list)
        for row in self.answer["gpu_counters"]:
            tracks[row["id"]].append(row)
        for rows in tracks.values():
            # Up to here the last value holds; what the engine has from here on is none.
            if rows[-1]["ts"] < self.window_end or rows[-1]["value"]:
                self.complain(f"{rows[-1]['name']} has no end")
            unit, group = next(((unit, group) for text, unit, group in GPU_COUNTERS if text in rows[0]["name"]), (None, 0))
            if (rows[0]["unit"], rows[0]["group_id"]) != (unit, group):
                self.complain(f"{rows[0]['name']} is in {rows[0]['unit']}, group {rows[0]['group_id']}")
        values = [{**row, "name": re.sub(r" \((?:[^()]* )?\d+\)(?: #\d+)?$", "", row["name"])} for rows in tracks.values() for row in rows[:-1]]
        self.same("counters", [(row["ts"], check.as_written(row["value"]), row["name"]) for row in (*self.answer["counters"], *values)],
                  [(check.nanoseconds(event["ts"]) + self.base, check.as_written(value), event["name"])
                   for event in self.events if event["ph"] == "C" for value in event["args"].values()])

    def judge_flows(self):
        starts = {(event["cat"], event["id"]): event for event in self.events if event["ph"] == "s"}
        slices = {(event["pid"], event["tid"], event["ts"]): event["name"] for event in self.events
                  if event["ph"] == "X" and event["cat"] != "wake"}
        expected = []
        for event in self.events:
            if event["ph"] != "f":
                continue
            start = starts[event["cat"], event["id"]]
            names = ("wakes", "ready") if event["cat"] == "wake" else [slices[it["pid"], it["tid"], it["ts"]] for it in (start, event)]
            expected.append((check.nanoseconds(start["ts"]) + self.base, names[0], check.nanoseconds(event["ts"]) + self.base, names[1]))
        self.same("flows", [(row["out_ts"], row["out_name"], row["in_ts"], row["in_name"]) for row in self.answer["flows"]], expected)

    def judge_names(self):
        expected = collections.defaultdict(dict)
        for event in self.events:
            if event["ph"] != "M" or event["name"] not in ("process_name", "thread_name"):
                continue
            pid = self.real_pids.get(event["pid"], event["pid"])
            if pid in self.pids and event.get("tid", pid) in self.tids and not (event["name"] == "process_name" and event["pid"] != pid):
                expected[event["name"]][pid, event.get("tid")] = event["args"]["name"]
        actual = {(row["pid"], row["tid"]): row["name"] for row in self.answer["threads"]}
        for key, name in expected["thread_name"].items():
            if actual.get(key) != name:
                self.complain(f"thread {key} is called {actual.get(key)}, not {name}")
        actual = {row["pid"]: row["name"] for row in self.answer["processes"]}
        for (pid, _), name in expected["process_name"].items():
            if actual.get(pid) != name:
                self.complain(f"process {pid} is called {actual.get(pid)}, not {name}")

    def judge_recording(self):
        """The ledger and the attributes, and the bar where something is missing."""
        own = [row for row in self.answer["slices"] if row["category"] == "gpuprobe"]
        args = self.args()
        told = {key: value for row in own if row["name"] == "recording" for key, value in args[row["arg_set_id"]].items()}
        metadata = self.trace["metadata"]
        losses = [{**loss, **({"ts": check.nanoseconds(loss["ts"]) + self.base} if "ts" in loss else {})} for loss in metadata["losses"]]
        groups = {key: value for key, value in metadata.items()
                  if key not in ("clock", "window", "overhead", "capture_complete", "recording_cut", "losses")}
        expected = dict(check.flatten("", {**groups, "losses": losses, "complete": metadata["capture_complete"],
                                           "window": {"start": metadata["window"]["startNanoseconds"] + self.base, "end": self.window_end}}))
        expected = {key.removeprefix("."): value for key, value in expected.items()}
        self.same("what is known of the recording", told.items(), expected.items())
        bars = [(row["name"], row["ts"], row["dur"]) for row in own if row["name"] != "recording"]
        self.same("what is missing", bars, [(event["name"], check.nanoseconds(event["ts"]) + self.base, check.nanoseconds(event["dur"]))
                                            for event in self.events if event["ph"] == "X" and event["cat"] == "gpuprobe"])

    def judge(self):
        for stat in self.answer["stats"]:
            self.complain(f"trace processor: {stat['severity']} {stat['name']} = {stat['value']}")
        self.judge_slices()
        self.judge_gpu()
        self.judge_stacks()
        self.judge_states()
        self.judge_counters()
        self.judge_flows()
        self.judge_names()
        self.judge_recording()


def judge_cuts(engine, folder):
    """The file cut in its middle: what stands before is read. Complaints."""
    data = (folder / "trace.pftrace").read_bytes()
    cut = folder / "cuts"
    folders = [cut / str(part) for part in range(1, CUTS)]
    for part, place in enumerate(folders, 1):
        place.mkdir(parents=True, exist_ok=True)
        (place / "trace.pftrace").write_bytes(data[:len(data) * part // CUTS])
    last = 0
    for part, answer in enumerate(check.ask_engine(engine, folders, CUT_QUERIES, "trace.pftrace"), 1):
        if "error" in answer:
            yield f"cut to {part}/{CUTS}: {answer['error']}"
            continue
        count = answer["count"][0]["count"]
        if count < last or (part == CUTS - 1 and not count):
            yield f"cut to {part}/{CUTS}: {count} slices, {last} of less of it"
        last = count
        yield from (f"cut to {part}/{CUTS}: {stat['name']}" for stat in answer["stats"])


def judge(folder, answer, complaints=()):
    try:
        judge = Judge(folder, answer)
        judge.judge()
        judge.judge_sums(folder)
        judge.judge_heap(folder)
        judge.judge_workflows(folder)
    except (ValueError, KeyError, ArithmeticError) as error:
        print(f"not ok perfetto {folder.name}\n# {type(error).__name__}: {error}")
        return False
    complaints = [*judge.complaints, *complaints]
    print(f"{'not ok' if complaints else 'ok'} perfetto {folder.name}")
    for complaint in complaints[:30]:
        print(f"# {complaint}")
    print(f"# {len(judge.answer['slices'])} slices, {len(judge.answer['gpu'])} of GPUs, {len(judge.answer['counters'])} and {len(judge.answer['gpu_counters'])} counter values, {len(judge.answer['flows'])} flows, "
          f"{len(judge.answer['heap'])} sums of heaps")
    return not complaints


def main():
    engine, *folders = sys.argv[1:]
    folders = [pathlib.Path(folder) for folder in folders]
    answers = check.ask_engine(engine, folders, QUERIES, "trace.pftrace")
    largest = max(folders, key=lambda folder: (folder / "trace.pftrace").stat().st_size)
    results = [judge(folder, answer, judge_cuts(engine, folder) if folder == largest else ()) for folder, answer in zip(folders, answers)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
