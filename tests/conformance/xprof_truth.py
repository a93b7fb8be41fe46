# SPDX-License-Identifier: GPL-2.0-or-later
"""What XProf should show of a capture: from its ndjson and from `gpuprobe stats`, by definitions of our own."""
import bisect
import collections
import decimal
import functools
import json
import math
import pathlib
import re
import subprocess

import xplane_wire

DIRECTIONS = {"host_to_device": "MemcpyHtoD", "device_to_host": "MemcpyDtoH", "device_to_device": "MemcpyDtoD",
              "host_to_host": "MemcpyHtoH", "peer_to_peer": "MemcpyDtoD", "host_to_array": "MemcpyHtoD",
              "array_to_host": "MemcpyDtoH", "array_to_array": "MemcpyDtoD", "array_to_device": "MemcpyDtoD",
              "device_to_array": "MemcpyDtoD"}
# Entries of the ledger without which whole parts of a recording are missing.
FAILURES = {"block_damaged", "recording_cut", "write_failed", "agent_cut", "counters_damaged", "gpu_times_missing"}
# In names of kernels of the captures here. cuBLAS' nvjet: what goes in, is summed in, comes out.
PRODUCT = re.compile(r"gemm|gemv|^nvjet_|matmul|mul_mat_", re.IGNORECASE)  # of userspace/view/matrix_kernels.def
HALF = re.compile(r"bf16|[Bb][Ff]loat16|\bHalf|_f16|fp16|half|nvjet_(sm\d+_)?[ht]s")
STAGES = {"Read": "Demanded file read", "Preprocessing": "Preprocessing", "Enqueue": "Enqueue", "Unknown": "Unknown"}
# TFLOP/s of 16-bit tensor cores, dense, as the data sheets have them.
PEAKS = {"NVIDIA H200": 989.5, "Simulated H100 80GB HBM3": 989.4}
# By which category XProf shows them, and how often a byte counts: it is read from and written to the GPU's own memory.
COPY_CATEGORIES = {"host_to_device": ("infeed", 1), "host_to_array": ("infeed", 1), "device_to_host": ("outfeed", 1), "array_to_host": ("outfeed", 1),
                   "device_to_device": ("data formatting", 2), "array_to_array": ("data formatting", 2), "array_to_device": ("data formatting", 2),
                   "device_to_array": ("data formatting", 2), "peer_to_peer": ("outfeed", 1)}
# Of numbers of which XProf counts the operations itself.
TYPE_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f8_e4m3": 1, "f8_e5m2": 1, "i8": 1, "u8": 1, "i32": 4}
# More is no memory of a GPU.
BYTES_MAX = 2 ** 50
MEMORY_NAMES = {"device": "device", "array": "device", "device_static": "device", "managed": "managed", "managed_static": "managed",
                "pinned": "pinned"}
# Of TensorFlow's, to XProf: the exporter changes them.
TAKEN_NAMES = {
    "ForOp", "ForeverOp", "ParallelForOp", "WhileOp-EvalCond", "WhileOp-StartBody", "MemoryAllocation", "MemoryDeallocation",
    "BatchingSessionRun", "ProcessBatch", "TraceContext", "MapAndBatchConsume", "MapAndBatchProduce", "ParallelInterleaveConsume",
    "ParallelInterleaveInitializeInput", "ParallelInterleaveProduce", "ParallelMapConsume", "ParallelMapProduce",
    "ParseExampleConsume", "ParseExampleProduce", "PrefetchConsume", "PrefetchProduce"}
GENERATIONS = {7: "Nvidia GPU", 8: "Nvidia GPU", 9: "Nvidia GPU (Hopper)", 10: "Nvidia GPU (Blackwell)", 12: "Nvidia GPU"}


def covered(spans):
    """How long at least one of the spans lasts; they come by their begin."""
    total, until = 0, 0
    for begin, end in spans:
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


@functools.lru_cache(None)
def kinds_of(row, *shapes):
    """Kinds of record of these shapes that are drawn on these rows (patterns), by the data model's own table."""
    table = (pathlib.Path(__file__).parent / "../../bpf/record.def").read_text() # facts, which are drawn on no row, are in another one
    return tuple(tag for tag, shape, place in re.findall(r"^KIND\(\d+, (\w+), (\w+), (\w+),", table, re.MULTILINE)
                 if shape in shapes and re.fullmatch(row, place))


def numbers_of(line):
    """With those that the text form has as hex, because they are beyond 2^63, as numbers."""
    is_hex = re.compile(r"0x[0-9a-f]+")
    return {key: int(value, 16) if isinstance(value, str) and key not in ("name", "address") and is_hex.fullmatch(value) else value
            for key, value in line.items()}


class Truth:
    Counter = collections.Counter
    STREAM_SPANS = ("kernel", "copy", "set", "graph_launch")
    STREAM_KINDS = kinds_of("STREAM", "SPAN", "POINT")
    NAMED_HOST_KINDS = ("api", "range", "call")
    # Samples and how long threads ran are no operations: exporters/xplane/xplane.c leaves them out.
    HOST_KINDS = tuple(kind for kind in kinds_of("THREAD|PROCESS|SYNC", "SPAN", "POINT", "TOTAL")
                       if kind not in ("sample", "thread_time", "short_wait", "launch_stack"))
    GPU_KINDS = (*kinds_of("STREAM|DEVICE", "SPAN", "POINT", "COUNTER"), "gpu_memory")
    SPANS = kinds_of(".*", "SPAN")
    COUNTERS = kinds_of(".*", "COUNTER")

    def __init__(self, gpuprobe, folder):
        self.gpuprobe, self.folder = gpuprobe, folder
        self.paths = sorted(folder.glob("logdir/plugins/profile/*/*.xplane.pb"))
        self.lines = [numbers_of(json.loads(line)) for line in (folder / "capture.ndjson").read_text("utf-8").split("\n") if line]
        self.spaces = [xplane_wire.read("XSpace", path.read_bytes()) for path in self.paths]
        self.probes = {line["id"]: line for line in self.lines if line["kind"] == "probe" and "id" in line}
        self.usdts = {line["id"]: line for line in self.lines if line["kind"] == "usdt" and "id" in line}
        times = [line["ts"] + line.get("dur", 0) for line in self.of(*self.HOST_KINDS, *self.STREAM_KINDS, *self.COUNTERS)]
        self.window_end = next((line["ts"] + line["dur"] for line in self.lines if line["kind"] == "window" and "dur" in line),
                               max(times, default=0))

    @functools.lru_cache(None)
    def stats(self, report):
        command = [self.gpuprobe, "stats", str(self.folder / "capture.ndjson"), "-r", report, "-f", "json"]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    def of(self, *kinds):
        return [line for line in self.lines if line["kind"] in kinds and not self.is_counter(line)]

    def is_counter(self, line):
        """Of gpuprobe.h: a point by its kind."""
        return line["kind"] == "usdt_point" and self.usdts.get(line.get("usdt"), {}).get("annotation") == "counter"

    # ---- times

    @functools.cached_property
    def start_ns(self):
        """The moment in the capture's time that is 0 in the file: by the clocks of both, else the first there is."""
        clock = next(iter(self.of("clock")), None)
        if not clock:
            return min(line["ts"] for line in self.of("window", *self.HOST_KINDS, *self.STREAM_KINDS, *self.COUNTERS))
        for plane in self.spaces[0].planes:
            for stat in plane.stats:
                if plane.stat_metadata[stat.metadata_id].name == "profile_start_time":
                    return stat.uint64 - clock["realtime_ns"] + clock["ts"]
        return 0

    def when(self, ts_us, dur_us):
        """(begin, duration) in nanoseconds of the capture."""
        return self.start_ns + round(ts_us * 1000), round(dur_us * 1000)

    def end_of(self, line):
        """Sums over a time stand where it begins."""
        if line["kind"] not in self.SPANS:
            return line["ts"]
        return line["ts"] + line["dur"] if "dur" in line else max(self.window_end, line["ts"])

    def times_of(self, kinds):
        return collections.Counter((line["ts"], self.end_of(line) - line["ts"]) for line in self.of(*kinds))

    def named_times_of(self, kinds):
        return collections.Counter((self.name_of(line), line["ts"], self.end_of(line) - line["ts"]) for line in self.of(*kinds))

    def name_of(self, line):
        name = line.get("name") or self.probes.get(line.get("probe"), {}).get("name") or ("(unnamed range)" if line["kind"] == "range" else line["kind"])
        name = re.sub(r"_v\d{4,}$", "", name) if line["kind"] == "api" else name
        return self.shown(name, line["kind"] in ("call", "entry"))

    @staticmethod
    def shown(name, is_function=False):
        if is_function and name.startswith("Iterator::"):
            return f"::{name}"
        return f"{name}()" if name in TAKEN_NAMES else name

    # ---- why GPUs were idle

    def process_of(self, number):
        """The process that a file is of; None of the only one."""
        return int(self.paths[number].name.removesuffix(".xplane.pb").rpartition("_")[2]) if len(self.paths) > 1 else None

    @functools.cached_property
    def idle(self):
        """As the Chrome trace beside it has them: row -> (process, name, begin, ns, arguments) of its slices."""
        trace = json.loads((self.folder / "trace.json").read_text("utf-8"), parse_float=decimal.Decimal)
        base = trace["metadata"]["clock"]["subtractedNanoseconds"]
        names = {event["pid"]: event.get("args", {}).get("name", "") for event in trace["traceEvents"]
                 if (event["ph"], event.get("name")) == ("M", "process_name")}
        rows = collections.defaultdict(list)
        for event in trace["traceEvents"]:
            if event.get("cat") == "idle":
                # "GPU 0: NVIDIA H200 (train 100)"; of a GPU that is no process's, it is in the first file.
                named = re.search(r"(\d+)\)$", names.get(event["pid"], ""))
                process = int(named[1]) if named and len(self.paths) > 1 else self.process_of(0)
                rows[event["pid"], event["tid"]].append((process, event["name"], base + int(event["ts"] * 1000), int(event["dur"] * 1000),
                                                         json.dumps(event["args"], sort_keys=True)))
        return rows

    # ---- work of GPUs

    def launched_kernels(self):
        return sum(row["Count"] for row in self.stats("launch"))

    def copied_bytes(self):
        moved = collections.Counter()
        for line in self.of("copy"):
            moved[DIRECTIONS.get(line.get("direction"), "MemcpyOther")] += line.get("bytes", 0)
        return moved

    def kernel_rows(self):
        """As kernel_stats has them: (grid, block, registers, shared memory, count, total, minimum, maximum)."""
        groups = collections.defaultdict(list)
        for line in self.of("kernel"):
            key = (line.get("name"), ",".join(map(str, line.get("grid", (1, 1, 1)))), ",".join(map(str, line.get("block", (1, 1, 1)))),
                   line.get("registers_per_thread", 0),
                   (line.get("static_shared_memory_bytes", 0) + line.get("dynamic_shared_memory_bytes", 0)) % 2 ** 32)
            groups[key].append(self.end_of(line) - line["ts"])
        return collections.Counter((*key[1:], len(times), sum(times), min(times), max(times)) for key, times in groups.items())

    def operation_time_ns(self):
        """Of all that runs on GPUs."""
        return sum(self.end_of(line) - line["ts"] for line in self.of(*self.STREAM_SPANS))

    @functools.cached_property
    def products(self):
        """(source, correlation) of a kernel -> (operations, category, bytes) of the library's call for which it is counted: the first that ran
        of those launched in it; of calls in each other the outermost."""
        calls = {(line.get("pid"), line.get("tid"), line["ts"]): self.end_of(line) for line in self.of("call")}
        # Where only the entry was seen: up to the thread's next call, and by the name of the kernel.
        begins, entries = collections.defaultdict(list), set()
        for line in self.of("call", "entry"):
            begins[line.get("pid"), line.get("tid")].append(line["ts"])
        for line in self.of("entry"):
            key = (line.get("pid"), line.get("tid"))
            entries.add((*key, line["ts"]))
            calls.setdefault((*key, line["ts"]), min((ts for ts in begins[key] if ts > line["ts"]), default=math.inf))
        apis, kernels = collections.defaultdict(list), collections.defaultdict(list)
        for line in self.of("api"):
            apis[line.get("pid"), line.get("tid")].append((line["ts"], line["source"], line.get("correlation")))
        for line in self.of("kernel"):
            kernels[line["source"], line.get("correlation")].append((line["ts"], bool(PRODUCT.search(line.get("name", "")))))
        for of_thread in apis.values():
            of_thread.sort(key=lambda api: api[0])
        until, found = {}, {}
        for line in self.of("matmul"):
            key = (line.get("pid"), line.get("tid"))
            sizes = [line.get(name, 0) for name in ("m", "n", "k", "batch")]
            if (*key, line["ts"]) not in calls or line["ts"] < until.get(key, 0) or not all(sizes) or math.prod(sizes) > 1 << 60:
                continue
            until[key] = calls[(*key, line["ts"])]
            first, last = (bisect.bisect_left(apis[key], moment, key=lambda api: api[0]) for moment in (line["ts"], until[key]))
            launched = {(source, correlation) for _, source, correlation in apis[key][first:last] if correlation}
            is_entry = (*key, line["ts"]) in entries
            work = [(ts, *launch) for launch in launched for ts, product in kernels[launch] if product or not is_entry]
            if work:
                ts, source, correlation = min(work, key=lambda one: one[0])
                found[source, correlation, ts] = self.product_of(line, *sizes)
        return found

    @staticmethod
    def product_of(line, m, n, k, batch):
        types = [line.get(name, "") for name in ("type_a", "type_b", "type_c")]
        if any(one not in TYPE_BYTES for one in types):
            return 2 * m * n * k * batch * (4 if types[0].startswith("complex") else 1), "custom-call", 0
        a, b, c = (TYPE_BYTES[one] for one in types)
        return 2 * m * n * k * batch, "dot", batch * (m * k * a + k * n * b + m * n * c)

    def cost_of(self, line):
        """(category of XProf, bytes of the GPU's own memory, operations)"""
        size, direction = line.get("bytes", 0), line.get("direction")
        size = size if size <= BYTES_MAX else 0
        if line["kind"] == "copy" and size and direction in COPY_CATEGORIES:
            category, times = COPY_CATEGORIES[direction]
            if direction == "peer_to_peer" and line.get("destination_device", 0) == line.get("device", 1):
                category = "infeed"
            return category, times * size, 0
        if line["kind"] == "set" and size:
            # The value is a byte, too.
            return "broadcast", size + 1, 0
        operations, category, moved = self.products.get((line["source"], line.get("correlation"), line["ts"]), (0, "custom-call", 0))
        return category, moved, operations

    def categories(self):
        """category of XProf -> [number, ns, bytes of the GPU's own memory, operations]"""
        found = collections.defaultdict(lambda: [0, 0, 0, 0])
        for line in self.of(*self.STREAM_SPANS):
            category, moved, operations = self.cost_of(line)
            for place, value in enumerate((1, self.end_of(line) - line["ts"], moved, operations)):
                found[category][place] += value
        return dict(found)

    def programs(self):
        """(file, name) of each program of XLA in the files."""
        return [(path, one.name) for path, space in zip(self.paths, self.spaces) for plane in space.planes if plane.name == "/host:metadata"
                for one in plane.event_metadata.values()]

    @functools.cached_property
    def instructions(self):
        """(program, name of an instruction) -> names of the events of GPUs that have it"""
        found = collections.defaultdict(set)
        for plane in self.gpu_files():
            ids = {one.name: key for key, one in plane.stat_metadata.items()}
            for line in plane.lines:
                for event in line.events:
                    stats = {stat.metadata_id: stat for stat in event.stats}
                    if ids.get("hlo_op") in stats:
                        name = plane.stat_metadata[stats[ids["hlo_op"]].ref].name
                        found[stats[ids["program_id"]].int64, name].add(plane.event_metadata[event.metadata_id].name)
        return dict(found)

    def launches(self):
        """(source, correlation) -> the outermost calls with it, in their order: numbers come again."""
        calls = collections.defaultdict(list)
        for line in sorted(self.of("api"), key=lambda line: (line["ts"], -self.end_of(line))):
            if line.get("correlation"):
                same = calls[line["source"], line["correlation"]]
                if not (same and same[-1].get("tid") == line.get("tid") and self.end_of(line) <= self.end_of(same[-1])):
                    same.append(line)
        return calls

    def are_numbers_reused(self):
        """Then it depends on more than the numbers what launched what."""
        return any(len(calls) > 1 for calls in self.launches().values())

    def launch_time(self, launches, work):
        """When the call was made that launched it; -1: it was not seen."""
        return max((line["ts"] for line in launches.get((work["source"], work.get("correlation")), ())
                    if line["ts"] <= work["ts"] and line.get("pid") == work.get("pid")), default=-1)

    def steps(self):
        """Of the main thread: number -> {busy_ns, span_ns} of each step in which something was launched, by whichever thread. A step
        lasts on the GPU from the main thread's first work in it to that in the next one."""
        rows = self.stats("steps")
        if not rows:
            return {}
        launches, steps = self.launches(), {}
        for row in (row for row in rows if (row["PID"], row["TID"]) == (rows[0]["PID"], rows[0]["TID"])):
            begin = self.start_ns + row["Start (ns)"]
            work = sorted((line["ts"], self.end_of(line)) for line in self.of(*self.STREAM_SPANS)
                          if begin <= self.launch_time(launches, line) < begin + row["Duration (ns)"])
            if work and row["GPU Start (ns)"] is not None:
                steps[row["Step"]] = {"first": self.start_ns + row["GPU Start (ns)"], "last": max(end for _, end in work),
                                      "busy_ns": covered(work)}
        ordered = [steps[number] for number in sorted(steps)]
        for step, after in zip(ordered, ordered[1:] + [None]):
            step["span_ns"] = (after["first"] if after else step["last"]) - step["first"]
        return steps

    def host_steps(self):
        """Where there is no GPU: number -> {span_ns}, as long as the step is on its thread."""
        return {row["Step"]: {"span_ns": row["Duration (ns)"]} for row in self.stats("steps")}

    def input_stages(self):
        """(name, count, ns, ns without the stages inside, category) of the events that the file marks as stages of the host's input."""
        sums = collections.defaultdict(lambda: [0, 0, 0])
        for plane in (plane for space in self.spaces for plane in space.planes if plane.name == "/host:CPU"):
            for line in plane.lines:
                around = []
                for event in line.events:
                    category = next((self.string_of(plane, stat) for stat in event.stats
                                     if plane.stat_metadata[stat.metadata_id].name == "_ipl_stage_cat"), None)
                    if not category:
                        continue
                    around = [one for one in around if one[1] > event.offset_ps]
                    ns = event.duration_ps // 1000
                    key = (plane.event_metadata[event.metadata_id].name, STAGES[category])
                    sums[key] = [sums[key][0] + 1, sums[key][1] + ns, sums[key][2] + ns]
                    if around:
                        sums[around[-1][0]][2] -= ns
                    around.append((key, event.offset_ps + event.duration_ps))
        return collections.Counter((name, *numbers, category) for (name, category), numbers in sums.items())

    @staticmethod
    def string_of(plane, stat):
        return stat.str if stat.str is not None else plane.stat_metadata[stat.ref].name

    def half_percent(self):
        """Of the time in which steps compute, how much with 16 bits; what does both at a time is 16 bits."""
        launches, half, all_time = self.launches(), 0, 0
        rows = self.stats("steps")
        for row in rows:
            begin = self.start_ns + row["Start (ns)"]
            work = [(line["ts"], self.end_of(line), bool(HALF.search(line.get("name", "")))) for line in self.of("kernel", "set", "graph_launch")
                    if begin <= self.launch_time(launches, line) < begin + row["Duration (ns)"]
                    and "nccl" not in line.get("name", "")]
            half += covered(sorted((begin, end) for begin, end, is_half in work if is_half))
            all_time += covered(sorted((begin, end) for begin, end, _ in work))
        return 100 * half / all_time if all_time else 0

    # ---- devices, hosts

    def gpu_files(self):
        return [plane for space in self.spaces for plane in space.planes if plane.name.startswith("/device:GPU:")]

    def gpus(self):
        """How many there should be, at least (those that worked) and at most (all known); a file a process, each with its own."""
        numbers = {line["id"]: line.get("number") for line in self.of("device")}
        used = {(line.get("pid"), line["device"]) for line in self.of(*self.STREAM_SPANS) if "device" in line}
        known = {(line.get("pid"), line["id"]) for line in self.of("device")}
        nameless = {(line.get("pid"), None) for line in self.of(*self.GPU_KINDS) if "device" not in line}
        others = {(line.get("pid"), line["device"]) for line in self.of(*self.GPU_KINDS) if "device" in line}
        return len({(pid, numbers.get(device, device)) for pid, device in used}), len(known | others | nameless)

    def messages(self):
        """(severity, reason, patterns that the text has): of the ledger, and of what failed."""
        for row in self.stats("ledger"):
            yield "ERROR" if row["Reason"] in FAILURES else "WARNING", row["Reason"], [rf"\b{row['Count']}\b", re.escape(row["Where"])]
        for line in self.of("attribute"):
            if line.get("group") in ("failure", "remark"):
                yield "ERROR" if line["group"] == "failure" else "WARNING", line["name"], [re.escape(line["value"])]

    def hostnames(self):
        return {name for space in self.spaces for name in space.hostnames}

    def device_type(self):
        devices = self.of("device")
        return GENERATIONS.get(devices[0].get("compute_major")) if devices else None

    def has_core_rate(self):
        return any(line.get("multiprocessors") and line.get("core_clock_khz") and line.get("compute_major") for line in self.of("device"))

    def bandwidth_bytes_s(self):
        """0: not known, not believable, or not the same of all."""
        known = {line.get("memory_bandwidth_kb_s", 0) * 1000 for line in self.of("device")}
        return known.pop() if len(known) == 1 and max(known) < 2 ** 53 else 0

    def peak_gflops(self):
        devices = self.of("device")
        return PEAKS.get(devices[0].get("name"), 0) * 1000 if devices else 0

    def has_events(self, name):
        """In any file."""
        return any(one.name == name for space in self.spaces for plane in space.planes for one in plane.event_metadata.values())

    def device_memory(self, with_unseen=False):
        """(pid, number of the GPU, name) -> [(ns, bytes in use)] after each allocation and each release of what was seen allocated.
        What is where something is already takes its place, since that was released unseen;
        with_unseen: of that release too."""
        uses, live = collections.defaultdict(list), {}
        numbers = {line["id"]: line.get("number", line["id"]) for line in self.of("device")}
        for line in sorted(self.of("gpu_memory"), key=lambda line: line["ts"]):
            device, place = line.get("device"), (line["source"], line.get("address"))
            key = (line.get("pid", 0), numbers.get(device, device), MEMORY_NAMES.get(line.get("memory")))
            if "address" not in line or not key[2]:
                continue
            there = live.pop(place, None)
            if there and with_unseen and line.get("operation") == "allocate":
                uses[there[0]].append((line["ts"], sum(bytes for owner, bytes in live.values() if owner == there[0])))
            if line.get("operation") == "allocate" and line.get("bytes", BYTES_MAX + 1) <= BYTES_MAX:
                live[place] = (key, line["bytes"])
            elif line.get("operation") == "allocate" or not there:
                continue
            else:
                key = there[0]
            uses[key].append((line["ts"], sum(bytes for owner, bytes in live.values() if owner == key)))
        return uses

    def memory_operations(self):
        """The operations of allocations, as the Memory Profile has them."""
        found = set()
        for space in self.spaces:
            for plane in space.planes:
                names = {key: one.name for key, one in plane.event_metadata.items()}
                for line in plane.lines:
                    for event in line.events:
                        if names.get(event.metadata_id) == "MemoryAllocation":
                            found |= {plane.stat_metadata[stat.ref].name for stat in event.stats
                                      if plane.stat_metadata[stat.metadata_id].name == "tf_op"}
        return found

    @staticmethod
    def near(what, found, expected):
        if abs(found - expected) > 0.002 + 1e-4 * abs(expected):
            yield f"{what}: {found}, expected {expected}"
