#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges exported logdirs by the real XProf: check_xprof.py GPUPROBE FOLDER...

Each FOLDER holds logdir/, capture.ndjson and trace.json, exports of one capture, with work of a GPU or without. Every tool of TOOLS below
reads the logdir, each in a process of its own, so that an abort or a hang is seen as what it is; what it shows is compared with
`gpuprobe stats` and with the ndjson. Run by a Python that has xprof; without arguments it prints the table of what is checked.
Prints "ok xprof NAME TOOL" or "not ok xprof NAME TOOL" and what is wrong, and exits 1.
"""
import functools
import json
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile

import expected as known
import xplane_rules
import xplane_wire
import xprof_tool
import xprof_truth


class NotFilled(Exception):
    """Nothing to compare; the text says why."""


def rows_of(table):
    """Of a data table: its rows as dicts."""
    names = [column["id"] for column in table.get("cols", [])]
    return [dict(zip(names, (cell["v"] for cell in row["c"]))) for row in table.get("rows", [])]


HOST, GPU = "/host:CPU", "/device:GPU:"
DERIVED = re.compile(r" - from #|^(Steps|Launch Stats|Step spans \(overlay\))$")


# ---- what each tool has to show -------------------------------------------------------------------------------------------------

def rows_of_trace(trace):
    """(process name, row name) by (pid, tid), and the events: those that last and those that take no time."""
    processes, threads, events = {}, {}, []
    for event in trace["traceEvents"]:
        if event.get("ph") == "M" and event["name"] == "process_name":
            processes[event["pid"]] = event["args"]["name"]
        elif event.get("ph") == "M" and event["name"] == "thread_name":
            threads[event["pid"], event["tid"]] = event["args"]["name"]
        elif event.get("ph") in ("X", "i"):
            events.append({"dur": 0, **event})
    return {key: (processes.get(key[0], ""), name) for key, name in threads.items()}, events


def own_rows(trace, prefix):
    """Events on rows of planes that begin so, without those that XProf derives, and without counters."""
    names, events = rows_of_trace(trace)
    for event in events:
        plane, row = names.get((event["pid"], event["tid"]), ("", ""))
        if prefix in plane and row != "_counters_" and not (plane.startswith(GPU) and DERIVED.search(row)):
            yield row, event


def name_of(event):
    """Its own: a display name moves it into an argument, a step's has the step's number behind it."""
    name = event["args"].get("long_name", event["name"])
    number = " " + event["args"].get("step_num", "")
    return name.removesuffix(number) if event["args"].get("step_name") == name else name


def differences(what, found, expected):
    for item, count in list((expected - found).items())[:5]:
        yield f"{what}: missing {count} x {item}"
    for item, count in list((found - expected).items())[:5]:
        yield f"{what}: unexpected {count} x {item}"


def merged(traces):
    """One trace of those of several files: their processes stay apart."""
    merged_events = []
    for number, trace in enumerate(traces):
        merged_events += [{"args": {}, **event, "pid": (number, event["pid"])} for event in trace["traceEvents"] if "pid" in event]
    return {"traceEvents": merged_events}


def idle_of(trace, truth):
    """Events of the host, and why GPUs were idle: row -> (process, name, begin, ns, arguments) of its slices."""
    host, idle = [], {}
    for row, event in own_rows(trace, HOST):
        if xplane_rules.IDLE.fullmatch(row):
            idle.setdefault((event["pid"], event["tid"]), []).append(
                (truth.process_of(event["pid"][0]), name_of(event), *truth.when(event["ts"], event["dur"]), json.dumps(event["args"], sort_keys=True)))
        else:
            host.append(event)
    return host, idle


def judge_idle(found, truth, count):
    """So many of the things that are known of each slice: those of the Chrome trace, each on the row of its GPU, in the file of its process."""
    found, expected = ([sorted(one[:count] for one in slices) for slices in rows.values()] for rows in (found, truth.idle))
    yield from differences("why GPUs were idle (process, name, begin, ns, arguments)", *(truth.Counter(sum(rows, [])) for rows in (found, expected)))
    if sorted(found) != sorted(expected):
        yield f"why GPUs were idle: {len(found)} rows, expected {len(expected)}, or other slices on them"


def judge_trace(traces, truth):
    """Each event with its time, each launch with its arrow, the bytes of copies; why GPUs were idle as in the Chrome trace."""
    trace = merged(traces)
    gpu = [event for _, event in own_rows(trace, GPU)]
    host, idle = idle_of(trace, truth)
    yield from judge_idle(idle, truth, 5)
    found = truth.Counter(truth.when(event["ts"], event["dur"]) for event in gpu)
    yield from differences("events of GPUs (begin, ns)", found, truth.times_of(truth.STREAM_KINDS))
    found = truth.Counter((name_of(event), *truth.when(event["ts"], event["dur"])) for event in host)
    expected = truth.named_times_of(truth.NAMED_HOST_KINDS)
    yield from differences("events of threads (name, begin, ns)", found & expected, expected)
    # Steps that no range is of have events of their own.
    found = truth.Counter(truth.when(event["ts"], event["dur"]) for event in host
                          if not (event["name"].startswith("step of ") and "step_num" in event["args"]))
    yield from differences("events of threads (begin, ns)", found, truth.times_of(truth.HOST_KINDS))
    out, into = ({int(event["args"]["flow"]) >> 2 for event in events if "flow" in event["args"]} for events in (host, gpu))
    joined = out & into
    arrows = sum("kernel_details" in event["args"] and int(event["args"].get("flow", 0)) >> 2 in joined for event in gpu)
    if arrows != truth.launched_kernels():
        yield f"{arrows} kernels have an arrow from their launch, expected {truth.launched_kernels()}"
    moved = truth.Counter()
    for event in gpu:
        details = event["args"].get("memcpy_details", "")
        if details and not details.startswith("kind"):
            moved[event["name"].split()[0]] += int(re.match(r"num_bytes:(\d+)", details)[1])
    yield from differences("bytes that were copied", +moved, +truth.copied_bytes())


def judge_streaming_trace(traces, truth):
    """As many events as the capture has, none thinned out; why GPUs were idle; arrows."""
    trace = merged(traces)
    _, events = rows_of_trace(trace)
    # It tells the arguments of an event when that is selected.
    yield from judge_idle(idle_of(trace, truth)[1], truth, 4)
    expected = sum(truth.times_of(truth.STREAM_KINDS + truth.HOST_KINDS).values()) + sum(map(len, truth.idle.values()))
    if len(events) < expected:
        yield f"{len(events)} events, expected at least {expected}"
    incoming = {event["bind_id"] for event in events if event.get("flow_in")}
    outgoing = {event["bind_id"] for event in events if event.get("flow_out")}
    if truth.launched_kernels() and not incoming & outgoing:
        yield "no arrow from a launch to its kernel"


def judge_kernel_stats(table, truth):
    """Each row: grid, block, registers, shared memory, count, total, minimum, maximum; each name as `stats -r kernels`."""
    rows = rows_of(table)
    # Operations and files have rows of their own.
    groups = {}
    for row in rows:
        key = (row["kernel_name"], row["grid_dim"], row["block_dim"], round(row["registers_per_thread"]), round(row["shmem_bytes"]))
        groups.setdefault(key, []).append([round(row["occurrences"]), *(
            round(row[name] * 1000) for name in ("total_duration_us", "min_duration_us", "max_duration_us"))])
    found = truth.Counter()
    for key, values in groups.items():
        counts, totals, least, most = zip(*values)
        found[(*key[1:], sum(counts), sum(totals), min(least), max(most))] += 1
    yield from differences("rows (grid, block, registers, shared memory, count, total, minimum, maximum)", found, truth.kernel_rows())
    by_name = {}
    for row in rows:
        name = by_name.setdefault(row["kernel_name"], {"Instances": 0, "Total Time (ns)": 0, "Min (ns)": 1 << 62, "Max (ns)": 0})
        name["Instances"] += round(row["occurrences"])
        name["Total Time (ns)"] += round(row["total_duration_us"] * 1000)
        name["Min (ns)"] = min(name["Min (ns)"], round(row["min_duration_us"] * 1000))
        name["Max (ns)"] = max(name["Max (ns)"], round(row["max_duration_us"] * 1000))
        if abs(row["avg_duration_us"] * row["occurrences"] - row["total_duration_us"]) > 1e-3 * row["occurrences"]:
            yield f"average of {row['kernel_name']}: {row['avg_duration_us']}"
    expected = {truth.shown(row["Name"]): {key: row[key] for key in ("Instances", "Total Time (ns)", "Min (ns)", "Max (ns)")}
                for row in truth.stats("kernels")}
    for name in sorted(set(by_name) | set(expected)):
        if by_name.get(name) != expected.get(name):
            yield f"{name}: {by_name.get(name)}, expected {expected.get(name)}"


def judge_overview(tables, truth):
    """Device type, number of GPUs and hosts, every loss and failure as a warning or an error, each step."""
    facts = {}
    for table in tables:
        facts.update(table.get("p") or {})
    fewest, most = truth.gpus()
    if not fewest <= int(facts["device_core_count"]) <= most:
        yield f"{facts['device_core_count']} GPUs, expected {fewest} to {most}"
    if fewest and truth.device_type() and truth.device_type() not in facts["device_type"]:
        yield f"device type {facts['device_type']}, expected one with {truth.device_type()}"
    if int(facts["host_count"]) != len(truth.hostnames()):
        yield f"{facts['host_count']} hosts, expected {len(truth.hostnames())}"
    messages = [(row["severity"], row["message"]) for table in tables for row in rows_of(table) if "severity" in row]
    for severity, reason, parts in truth.messages():
        if not any(severity == found and all(re.search(part, message) for part in parts) for found, message in messages):
            yield f"no {severity} of {reason}"
    for item, count in truth.Counter(messages).items():
        if count > len(truth.paths):
            yield f"{count} x {item}"
    if len(truth.paths) == 1 and fewest == 1 and len({row["TID"] for row in truth.stats("steps")}) == 1:
        percent = float(facts["device_compute_16bit_percent"].rstrip("%"))
        if abs(percent - truth.half_percent()) > 0.06:
            yield f"{percent} % of the computing time with 16 bits, expected {truth.half_percent()}"
    yield from judge_steps([row for table in tables for row in rows_of(table) if "stepTimeMs" in row], truth)


IDLE_PARTS = ("stepTimeMs", "otherTimeMs")


def judge_steps(rows, truth):
    """Each step of `stats -r steps` that had work: its length and for how long the GPU was busy in it. XProf may leave out the first
    and the last; it averages several GPUs, and cuts several processes to the shortest. Without a GPU steps are as long as on the
    host."""
    # Behind the end of a recording of the GPU steps have no work that is known: what XProf makes of the last one before it is its own.
    if truth.are_numbers_reused() or truth.of("recording_end"):
        return
    steps = truth.steps() if truth.gpu_files() else truth.host_steps()
    alone = len(truth.paths) == 1
    # "12", and "train 12" where there is no GPU.
    rows = {int(row["stepnum"].split()[-1]): row for row in rows}
    missing, more = set(sorted(steps)[1:-1]) - set(rows), set(rows) - set(steps)
    if alone and (missing or more):
        yield f"steps {sorted(rows)}, expected {sorted(steps)}"
        return
    for number, row in rows.items():
        length_ms = row["stepTimeMs"]
        busy_ms = sum(value for key, value in row.items() if key.endswith("TimeMs") and key not in IDLE_PARTS)
        yield from truth.near(f"step {number}: busy and all others (ms)", busy_ms + row["otherTimeMs"], length_ms)
        # Threads with steps of their own launch into one step what runs in another.
        if alone and truth.gpus()[0] <= 1 and len({row["TID"] for row in truth.stats("steps")}) == 1:
            yield from truth.near(f"step {number}: step time (ms)", length_ms, steps[number]["span_ns"] / 1e6)
            if truth.gpu_files():
                yield from truth.near(f"step {number}: busy (ms)", busy_ms, steps[number]["busy_ns"] / 1e6)


def judge_operations(tables, truth):
    """Where operations are named: all of the GPU's time that has a name is there, and no more."""
    found = sum(row["total_self_time"] for row in rows_of(tables[0]) if row["host_or_device"] == "Device" and row["operation"] != "IDLE")
    yield from truth.near("time of operations on GPUs (us)", found, truth.operation_time_ns() / 1000)


def bytes_of(row):
    """Of its rate in GiB/s and its time in us."""
    return row["measured_memory_bw"] * 2 ** 30 * row["total_self_time"] / 1e6


def judge_categories(rows, truth):
    """Each category: how often, for how long, how many bytes and operations."""
    found = {}
    for row in rows:
        one = found.setdefault(row["category"], [0, 0, 0, 0])
        one[0] += row["occurrences"]
        one[1] += row["total_self_time"]
        one[2] += bytes_of(row)
        one[3] += row["model_flop_rate"] * row["total_self_time"] * 1000
    expected = truth.categories()
    for category in sorted({**found, **expected}):
        one, other = found.get(category, [0] * 4), expected.get(category, [0] * 4)
        yield from truth.near(f"{category}: number", one[0], other[0])
        yield from truth.near(f"{category}: time (us)", one[1], other[1] / 1000)
        yield from truth.near(f"{category}: bytes", one[2], other[2])
        yield from truth.near(f"{category}: operations", one[3], other[3])


def judge_hlo(table, truth):
    """Each category: number, time, bytes, operations; each kernel by its full name: number, time."""
    rows = rows_of(table)
    yield from judge_categories(rows, truth)
    found = {}
    for row in rows:
        names = truth.instructions.get((int(row["program_id"]), row["hlo_op_name"]), set())
        if len(names) != 1:
            yield f"{row['hlo_op_name']} of program {row['program_id']} stands for {sorted(names)}"
        for name in names:
            one = found.setdefault(name, [0, 0])
            one[0] += row["occurrences"]
            one[1] += row["total_self_time"]
        # As far as it is written as it is.
        plain = {re.match(r"[ !#-&(-\[\]-~]*", name)[0][:500] for name in names}
        if row["category"] == "custom-call" and not any(f'custom_call_target="{name}' in row["hlo_op_expression"] for name in plain):
            yield f"{row['hlo_op_expression'][:100]} is not of {sorted(names)}"
    for row in truth.stats("kernels"):
        # Copies and sets have names of this form, of which a kernel may have one.
        if row["Name"].startswith("Mem"):
            continue
        one = found.get(truth.shown(row["Name"]), [0, 0])
        yield from truth.near(f"{row['Name'][:60]}: number", one[0], row["Instances"])
        yield from truth.near(f"{row['Name'][:60]}: time (us)", one[1], row["Total Time (ns)"] / 1000)


def leaves_of(node):
    children = node.get("children") or []
    if not children:
        yield node
    for child in children:
        yield from leaves_of(child)


def judge_sources(leaves, truth):
    """The lines that launched what ran: those of the report gpu_code."""
    infos = [leaf.get("xla", {}).get("sourceInfo", {}) for leaf in leaves]
    found = {f"{info['fileName']}:{info['lineNumber']}" for info in infos if info.get("fileName")}
    expected = {row["Line"] for row in truth.stats("gpu_code:line") if row["Line"] not in (None, "", "None")}
    if found != expected:
        yield f"source lines {sorted(found)}, expected {sorted(expected)}"


def judge_op_profile(profile, truth):
    """The time of all that ran, in picoseconds; its bytes and operations, and which lines launched it."""
    root = profile.get("byProgramExcludeIdle") or {}
    yield from truth.near("time of operations (us)", root.get("metrics", {}).get("rawTime", 0) / 1e6, truth.operation_time_ns() / 1000)
    leaves = [leaf.get("metrics", {}) for leaf in leaves_of(root)]
    # It lists so many of each category.
    if len(leaves) >= 100:
        return
    yield from judge_sources(leaves_of(root), truth)
    yield from truth.near("time of its leaves (us)", sum(one.get("rawTime", 0) for one in leaves) / 1e6, truth.operation_time_ns() / 1000)
    yield from truth.near("bytes of its leaves", sum(one.get("rawBytesAccessedArray", [0])[0] for one in leaves),
                          sum(one[2] for one in truth.categories().values()))
    yield from truth.near("operations of its leaves", sum(one.get("rawFlops", 0) for one in leaves),
                          sum(one[3] for one in truth.categories().values()))


def judge_roofline(tables, truth):
    """Peak figures of the device; each category as in HLO Op Stats."""
    facts = tables[0].get("p") or {}
    if truth.gpus()[0] and truth.bandwidth_bytes_s() and truth.device_type():
        yield from truth.near("peak bandwidth (GiB/s)", float(facts["peak_hbm_bw"]), truth.bandwidth_bytes_s() / 2 ** 30)
        if float(facts["peak_flop_rate"]) <= 0 and truth.has_core_rate():
            yield "no peak rate of operations"
        if truth.peak_gflops():
            yield from truth.near("peak rate of operations (GFLOP/s)", float(facts["peak_flop_rate"]), truth.peak_gflops())
    yield from judge_categories([row for row in rows_of(tables[0]) if row["step"] == "Total" and row["include_infeed_outfeed"] and
                                 row["category"] not in ("Program", "IDLE")], truth)


def judge_graph(text, truth, program):
    """Each instruction that events have is in it."""
    there = {line.split(" = ")[0].strip().removeprefix("ROOT ") for line in text.splitlines() if " = " in line}
    wanted = {name for number, name in truth.instructions if f"({number})" == program[1][-len(f"({number})"):]}
    for name in sorted(wanted - there)[:5]:
        yield f"no instruction {name}"


def judge_memory(profiles, truth):
    """Bytes in use over time and their peak, for each process and GPU."""
    if not truth.has_events("MemoryAllocation") and truth.device_memory():
        raise NotFilled("the exporter writes no allocations")
    found = {(number, name): one for number, profile in enumerate(profiles)
             for name, one in profile["memoryProfilePerAllocator"].items()}
    expected = list(truth.device_memory().values())
    peaks = truth.Counter(int(one["profileSummary"]["peakBytesUsageLifetime"]) for one in found.values())
    yield from differences("peaks of memory in use (bytes)", peaks, truth.Counter(max(use for _, use in uses) for uses in expected))
    seen = truth.Counter((truth.when(int(snapshot["timeOffsetPs"]) / 1e6, 0)[0], int(snapshot["aggregationStats"]["heapAllocatedBytes"]))
                         for one in found.values() for snapshot in one["sampledTimelineSnapshots"])
    # It keeps 1000 of each, those with most in use.
    uses = truth.Counter(use for uses in expected if len(uses) <= 1000 for use in uses)
    yield from differences("memory in use (ns, bytes)", seen & uses, uses)


def judge_input(tables, truth):
    """Each stage of the host's input: how often, how long, how long without the stages inside it, what it is."""
    if not any("stepTimeMs" in [column["id"] for column in table.get("cols", [])] for table in tables):
        yield "no table of steps"
    found = truth.Counter((row["opName"], round(row["count"]), round(row["timeInMs"] * 1e6), round(row["selfTimeInMs"] * 1e6), row["category"])
                          for table in tables for row in rows_of(table)
                          # Ranges of these names are stages to XProf as they are.
                          if "selfTimeInMs" in row and not row["opName"].startswith(("Iterator:", "Memcpy")))
    yield from differences("stages of input (name, count, ns, own ns, category)", found, truth.input_stages())


def judge_counters(table, truth):
    """It reads the file."""
    if "cols" not in table:
        yield "no table"


MIB = 2 ** 20


def judge_memory_viewer(shown, truth, program):
    """Of the programs that stand for memory: bytes in use after each allocation and release, their peak, and what was in use at it."""
    if not program[1].startswith("memory_"):
        return
    pid = int(program[1].rpartition("(")[2].rstrip(")")) % 10 ** 7
    curve = [round(size * MIB) for size in shown["heapSizes"]]
    expected = {key: [0, *(use for _, use in uses)] for key, uses in truth.device_memory(with_unseen=True).items() if key[0] == pid}
    if curve not in expected.values():
        yield f"{program[1]}: bytes in use {curve[:20]}, expected one of {[uses[:20] for uses in expected.values()]}"
        return
    yield from truth.near(f"{program[1]}: peak (bytes)", shown["peakHeapMib"] * MIB, max(curve))
    yield from truth.near(f"{program[1]}: in use at the peak (bytes)", sum(one["logicalBufferSizeMib"] for one in shown["maxHeap"]) * MIB, max(curve))
    operations = {name for operation in truth.memory_operations() for name in (operation.rpartition(":")[0], "")}
    for one in shown["maxHeap"]:
        # Small ones are one entry.
        if one.get("tfOpName", "") not in operations and not one["label"].startswith("small ("):
            yield f"{program[1]}: {one['label']} is of an operation that no allocation has"


ALL, EACH, PROGRAMS = "all files of the run", "each file by itself", "each program of each file"
# tool, options, which files, judge.
TOOLS = [
    ("trace_viewer", {"trace_viewer_options": {}}, EACH, judge_trace),
    ("trace_viewer@", {"trace_viewer_options": {"resolution": 0, "format": "json"}}, EACH, judge_streaming_trace),
    ("kernel_stats", {}, ALL, judge_kernel_stats),
    ("overview_page", {}, ALL, judge_overview),
    ("framework_op_stats", {}, ALL, judge_operations),
    ("memory_profile", {}, EACH, judge_memory),
    ("input_pipeline_analyzer", {}, ALL, judge_input),
    ("op_profile", {"group_by": "program"}, ALL, judge_op_profile),
    ("op_profile", {"group_by": "category"}, ALL, None),
    ("op_profile", {"group_by": "provenance"}, ALL, None),
    ("hlo_stats", {}, ALL, judge_hlo),
    ("roofline_model", {}, ALL, judge_roofline),
    ("perf_counters", {}, ALL, judge_counters),
    ("graph_viewer", {"type": "short_txt", "node_name": "", "graph_width": 1, "format": "html"}, PROGRAMS, judge_graph),
    ("memory_viewer", {}, PROGRAMS, judge_memory_viewer),
]


def judge_programs(tool, options, judge, truth):
    """A tool that shows one program at a time."""
    programs = truth.programs()
    if not programs:
        raise NotFilled("no program, for there is no work of GPUs and no memory of theirs")
    for program in programs:
        named = {**options, "module_name": program[1]}
        answer, found = xprof_tool.run(tool, {"graph_viewer_options": named} if tool == "graph_viewer" else named, [program[0]])
        yield from found
        if answer is not None:
            yield from judge(answer, truth, program) if judge else ()


def judge_tool(tool, options, which, judge, truth):
    complaints, answers = [], []
    if which == PROGRAMS:
        return list(judge_programs(tool, options, judge, truth))
    for paths in [truth.paths] if which == ALL else [[path] for path in truth.paths]:
        options = {**options, "hosts": [path.name.removesuffix(".xplane.pb") for path in paths]} if "@" in tool else options
        answer, found = xprof_tool.run(tool, options, paths)
        complaints += found
        answers.append(answer)
    if None not in answers and judge and not complaints:
        answer = answers if which == EACH else answers[0]
        try:
            complaints += judge(answer, truth)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            complaints.append(f"its answer has another form than expected: {type(error).__name__}: {error}")
    return complaints


def is_idle_host(row):
    """A host has it that has any events, ours among them, and never a figure in it."""
    return row.get("type") == "IDLE" and row.get("host_or_device") == "Host" and not row["total_time"]


def without_chance(answer):
    """What is the same each time: the order of messages of several files is not, nor which of memory's events with one time XProf keeps."""
    if isinstance(answer, dict) and "memoryProfilePerAllocator" in answer:
        return {name: (profile["profileSummary"], len(profile["sampledTimelineSnapshots"])) for name, profile in answer["memoryProfilePerAllocator"].items()}
    if not isinstance(answer, list):
        return answer
    return [[table.get("p"), sorted(json.dumps(row, sort_keys=True) for row in rows_of(table) if not is_idle_host(row))] for table in answer]


def figures_of(paths):
    """What each tool shows that is no trace."""
    figures = {}
    for tool, options, which, _ in TOOLS:
        if which != PROGRAMS and not tool.startswith("trace_viewer"):
            figures[f"{tool} {options.get('group_by', '')}".rstrip()] = [
                without_chance(xprof_tool.run(tool, options, some)[0]) for some in ([paths] if which == ALL else [[path] for path in paths])]
    return figures


def judge_figures(truth):
    """Why GPUs were idle changes nothing of what the other tools show."""
    if not truth.idle:
        raise NotFilled("no GPU was idle")
    with tempfile.TemporaryDirectory() as folder:
        without = []
        for path, space in zip(truth.paths, truth.spaces):
            for plane in space.planes:
                plane.lines = [line for line in plane.lines if not xplane_rules.IDLE.fullmatch(line.name)]
            without.append(pathlib.Path(folder, path.parent.name, path.name))
            without[-1].parent.mkdir(exist_ok=True)
            without[-1].write_bytes(xplane_wire.write("XSpace", space))
        found, expected = figures_of(truth.paths), figures_of(without)
    for tool, answers in expected.items():
        if None in answers or found[tool] != answers:
            yield f"{tool}: other figures than without why GPUs were idle"


def judge_folder(gpuprobe, folder):
    """Lines of text, whether all is well."""
    truth = xprof_truth.Truth(gpuprobe, folder)
    if not truth.paths:
        return [f"not ok xprof {folder.name}: no logdir/plugins/profile/*/*.xplane.pb"], False
    lines, good = [], True
    # The last one changes what it compares.
    for tool, options, which, judge in [*TOOLS, ("figures without idle", {}, ALL, judge_figures)]:
        what = f"xprof {folder.name} {tool} {options.get('group_by', '')}".rstrip()
        try:
            complaints = list(judge_figures(truth)) if judge == judge_figures else judge_tool(tool, options, which, judge, truth)
        except NotFilled as reason:
            lines.append(f"skip {what}: {reason}")
            continue
        complaints, excused = known.sift(f"xprof {tool}", folder.name, complaints)
        lines += [f"{'not ok' if complaints else 'ok'} {what}", *(f"# {complaint}" for complaint in complaints + excused)]
        good &= not complaints
    return lines, good


def main():
    if len(sys.argv) < 3:
        for tool, options, _, judge in TOOLS:
            print(f"{tool:24} {options.get('group_by', ''):12} {judge.__doc__ if judge else 'It reads the file.'}")
        return 0
    folders = list(map(pathlib.Path, sys.argv[2:]))
    all_good = True
    with multiprocessing.get_context("fork").Pool(min(len(folders), os.cpu_count() or 1)) as pool:
        for lines, good in pool.imap(functools.partial(judge_folder, sys.argv[1]), folders):
            print("\n".join(lines), flush=True)
            all_good &= good
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
