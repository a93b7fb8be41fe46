# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of xplane_lint.py: each takes a Space and yields what is wrong. The docstring says what XProf does otherwise.

Numbers and names are those of xprof 2.24.2.
"""
import re

import xplane_hlo

HOST = "/host:CPU"
METADATA = "/host:metadata"
ENVIRONMENT = "Task Environment"
COUNTERS = "_counters_"
COUNTERS_ID = 2 ** 63 - 1
LINE_ID_LIMIT = 2 ** 32
DERIVED_IDS = range(0xdeadbeef, 0xdeadbeef + 4096)
TIME_LIMIT_PS = 2 ** 63
GPU_IDS = range(0, 500)
CUSTOM_IDS = (*range(0, 200), *range(210, 481))
IPL_CATEGORIES = {"Enqueue", "Read", "Preprocessing", "Unknown"}
IPL_STAGE_IDS_FROM = 10 ** 9
LOOP_NAMES = {"WhileOp-EvalCond", "WhileOp-StartBody", "ForOp", "ParallelForOp", "ForeverOp"}
MEMORY_NAMES = {"MemoryAllocation", "MemoryDeallocation"}
MEMORY_STATS = ("bytes_allocated", "allocation_bytes", "addr")
VALUES = ("double", "uint64", "int64", "str", "bytes", "ref", "compressed_str")
KERNEL_DETAILS = ("regs", "static_shared", "dynamic_shared", "grid", "block")

STRING = {"str", "ref"}
INTEGER = {"int64", "uint64"}
# Pattern of a stat's name -> what its value may be; the first that matches counts.
STAT_TYPES = [(re.compile(pattern), kinds) for pattern, kinds in [
    (r"correlation_id|cuda_graph_id|cuda_graph_exec_id|cuda_graph_node_id|flow|profile_start_time|profile_stop_time", {"uint64"}),
    (r"group_id|step_num|iter_num|_r|_pt|_ct|_pid|process_id|scope_range_id|_ipl_stage_id|index_on_host|device_ordinal", {"int64"}),
    (r"bytes_(reserved|allocated|available)|requested_bytes|allocation_bytes|peak_bytes_in_use|addr|data_type", {"int64"}),
    (r"is_eager|_a", {"int64"}),
    (r"fragmentation|peak_teraflops_per_second|peak_sram_\w+_bw_gigabytes_per_second|vdd_energy_j", {"double"}),
    (r"\w+_utilization_percent", {"double"}),
    (r"clock_rate|core_count|memory_bandwidth|memory_size|compute_cap_major|compute_cap_minor", INTEGER),
    (r"device_id|program_id|flops|bytes_accessed|counter_value|_p|_c|global_chip_id", INTEGER),
    (r"Hlo Proto", {"bytes"}),
    (r"kernel_details|mem\w+_details|tf_op|hlo_op|hlo_module|context_id|nvtx_range|step_name|equation", STRING),
    (r"allocator_name|region_type|shape|device_vendor|gpu_device_name|_ipl_stage_cat|_ipl_stage_name", STRING),
    (r"performance_counter_description|performance_counter_sets", STRING),
]]

TF_OP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/>-]*:([A-Z][A-Za-z0-9_]*|[a-z][a-z0-9_]*)")
# What XProf takes for an operation where it is an event's name.
OP_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*:([A-Z_][A-Za-z0-9_]*|[a-z_][a-z0-9_]*(\[.*\])?)")
SANITISED = re.compile(r"[A-Za-z0-9_.-]+")
MEMCPY = re.compile(r"Memcpy(HtoD|DtoH|DtoD|HtoH|Other)\b[^:]*")
MEMCPY_DETAILS = re.compile(r"num_bytes:\d+\n")
IDLE_NAME = "why it was idle"
IDLE = re.compile(rf"GPU \d+: {IDLE_NAME}")
# What makes an event work, a step or input to XProf.
COUNTED_STATS = {"correlation_id", "group_id", "_r", "_p", "_c", "tf_op", "hlo_op", "kernel_details", "memcpy_details", "_ipl_stage_id"}
RUN_FOLDER = re.compile(r"\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d.*")


class Plane:
    """An XPlane with what its ids stand for."""

    def __init__(self, message):
        self.message = message
        self.name = message.name
        self.lines = message.lines
        self.is_gpu = self.name.startswith("/device:GPU:")
        self.is_host = self.name.startswith(HOST)
        self.strings = {key: one.name for key, one in message.stat_metadata.items()}
        self.event_names = {key: one.name for key, one in message.event_metadata.items()}
        self.constant = {key: self.named(one.stats) for key, one in message.event_metadata.items()}

    def value_of(self, stat):
        """(one of VALUES, value), strings of the string table as themselves; None without a value."""
        for kind in VALUES:
            value = getattr(stat, kind)
            if value is not None:
                return kind, self.strings.get(value, "") if kind == "ref" else value
        return None

    def named(self, stats):
        """name -> (kind, value)"""
        return {self.strings.get(stat.metadata_id, ""): self.value_of(stat) or ("none", None) for stat in stats}

    def events(self):
        """(line, event) with name and stats (those of its metadata too) in it."""
        for line in self.lines:
            for event in line.events:
                yield line, event

    def stats_of(self, event):
        constant = self.constant.get(event.metadata_id)
        own = self.named(event.stats)
        return {**constant, **own} if constant else own

    def name_of(self, event):
        return self.event_names.get(event.metadata_id, "")

    def stat_lists(self):
        """(where, stats) of everything that has some."""
        yield f"plane {self.name}", self.message.stats
        for key, one in self.message.event_metadata.items():
            yield f"{self.name}: metadata {key} ({one.name[:40]})", one.stats
        for line, event in self.events():
            yield f"{self.name}: {line.name}: {self.name_of(event)[:40]} at {event.offset_ps}", event.stats


class Space:
    def __init__(self, message, path=None):
        self.message = message
        self.path = path
        self.planes = [Plane(one) for one in message.planes]

    def plane(self, name):
        return next((plane for plane in self.planes if plane.name == name), None)


RULES = []


def rule(function):
    RULES.append(function)
    return function


def where(plane, line, event=None):
    return f"{plane.name}: {line.name}" + (f": {plane.name_of(event)[:60]!r} at {event.offset_ps} ps" if event else "")


# ---- the file and its planes ----------------------------------------------------------------------------------------

@rule
def hostname(space):
    """Hosts are counted and files are told apart by it."""
    names = space.message.hostnames
    if len(names) != 1:
        yield f"{len(names)} hostnames, not one"
    for name in names:
        if not name or set(name) & set(":/\0"):
            yield f"hostname {name!r} can't be a file's name"
    if space.path and space.path.parent.parent.name == "profile":
        # HOST_PID: of several processes of a host.
        if names and not re.fullmatch(re.escape(names[0]) + r"(_\d+)?\.xplane\.pb", space.path.name):
            yield f"the file is called {space.path.name}, its host {names[0]!r}"
        if not RUN_FOLDER.fullmatch(space.path.parent.name):
            yield f"the folder of the run is called {space.path.parent.name}, not YYYY_MM_DD_HH_MM_SS"


@rule
def planes(space):
    """Planes of another name are shown by no tool; one of a TPU hides all GPUs; two of a name are two processes of the trace."""
    seen = set()
    for plane in space.planes:
        if plane.name in seen:
            yield f"two planes {plane.name}"
        seen.add(plane.name)
        if plane.name.startswith("/device:TPU:"):
            yield f"{plane.name}: every converter then ignores GPUs"
        elif plane.is_gpu and not re.fullmatch(r"/device:GPU:\d+", plane.name):
            yield f"{plane.name} counts as one more GPU"
        elif not (plane.is_gpu or plane.is_host or plane.name.startswith("/device:CUSTOM:") or
                plane.name in (METADATA, ENVIRONMENT, "/host:__ScopeRangeCallStack__")):
            yield f"{plane.name!r} is shown by no tool"


@rule
def plane_ids(space):
    """They make the process ids of the trace viewer."""
    seen = {}
    for plane in space.planes:
        key = ("gpu" if plane.is_gpu else "custom", plane.message.id)
        if not plane.is_gpu and not plane.name.startswith("/device:CUSTOM:"):
            continue
        if key in seen:
            yield f"{plane.name} and {seen[key]} have the id {plane.message.id}"
        seen[key] = plane.name
        if plane.message.id not in (GPU_IDS if plane.is_gpu else CUSTOM_IDS):
            yield f"{plane.name}: id {plane.message.id} makes the process id of another plane"


@rule
def environment(space):
    """Absolute times stand there alone: all others are relative to the start of the profile."""
    plane = space.plane(ENVIRONMENT)
    stats = plane.named(plane.message.stats) if plane else {}
    times = [stats.get(name, (None, None))[1] for name in ("profile_start_time", "profile_stop_time")]
    if not plane or (None in times and times != [None, None]):
        yield f"no plane {ENVIRONMENT!r} with profile_start_time and profile_stop_time"
    elif None not in times and times[0] > times[1]:
        yield f"the profile stops at {times[1]}, before its start at {times[0]}"


# ---- ids and metadata -----------------------------------------------------------------------------------------------

@rule
def metadata_ids(space):
    """Types are found by name through these ids; 0 is what is not there."""
    for plane in space.planes:
        for what, table in (("event", plane.message.event_metadata), ("stat", plane.message.stat_metadata)):
            for key, one in table.items():
                if key < 1 or key != one.id:
                    yield f"{plane.name}: {what} metadata {key} has the id {one.id}"
                if not one.name:
                    yield f"{plane.name}: {what} metadata {key} has no name"
        names = list(plane.strings.values())
        for name in {name for name in names if names.count(name) > 1} if len(set(names)) != len(names) else ():
            yield f"{plane.name}: two stat metadata {name[:60]!r}"


@rule
def references(space):
    for plane in space.planes:
        for line, event in plane.events():
            if event.metadata_id not in plane.event_names:
                yield f"{where(plane, line, event)}: no event metadata {event.metadata_id}"
        for place, stats in plane.stat_lists():
            ids = [stat.metadata_id for stat in stats]
            # This plane's ids are no names: child scope to parent.
            if plane.name == "/host:__ScopeRangeCallStack__":
                continue
            if len(set(ids)) != len(ids):
                yield f"{place}: a stat twice"
            for stat in stats:
                if stat.metadata_id not in plane.strings:
                    yield f"{place}: no stat metadata {stat.metadata_id}"
                if stat.ref is not None and stat.ref not in plane.strings:
                    yield f"{place}: no string {stat.ref}"


@rule
def stat_types(space):
    """A reader of int64 gets 0 from a uint64, and the other way round."""
    for plane in space.planes:
        expected = {key: next((kinds for pattern, kinds in STAT_TYPES if pattern.fullmatch(name)), None)
            for key, name in plane.strings.items()}
        for place, stats in plane.stat_lists():
            for stat in stats:
                given = [kind for kind in VALUES if getattr(stat, kind) is not None]
                name, kinds = plane.strings.get(stat.metadata_id, ""), expected.get(stat.metadata_id)
                if len(given) != 1:
                    yield f"{place}: {name} has {len(given)} values"
                elif kinds and given[0] not in kinds:
                    yield f"{place}: {name} is {given[0]}, not {' or '.join(sorted(kinds))}"
                elif given[0] == "compressed_str" or given[0] == "bytes" and not kinds:
                    yield f"{place}: {name} is {given[0]}: the trace viewer leaves it out"


@rule
def grouped(space):
    """XProf takes a file with it for one that is prepared: no arrows, no steps, no derived rows."""
    for plane in space.planes:
        if not plane.is_gpu and "group_id" in plane.strings.values():
            yield f"{plane.name} has stat metadata group_id"


@rule
def loop_names(space):
    """Events of these names switch the grouping of a whole file off."""
    for plane in space.planes:
        for name in LOOP_NAMES & set(plane.event_names.values()):
            yield f"{plane.name} has events called {name}"


# ---- lines and times ------------------------------------------------------------------------------------------------

@rule
def line_ids(space):
    """They are cut to 32 bits in the trace; ids of one plane that are equal are one row; some are XProf's own."""
    for plane in space.planes:
        seen = set()
        for line in plane.lines:
            if line.id in seen:
                yield f"{where(plane, line)}: id {line.id} twice"
            seen.add(line.id)
            if (line.name == COUNTERS) != (line.id == COUNTERS_ID):
                yield f"{where(plane, line)}: id {line.id}; {COUNTERS_ID} is the id of {COUNTERS}, and of it alone"
            elif line.name != COUNTERS and not 0 <= line.id < LINE_ID_LIMIT:
                yield f"{where(plane, line)}: id {line.id} has more than 32 bits"
            for number in {line.id, line.display_id} - {COUNTERS_ID}:
                if number in DERIVED_IDS:
                    yield f"{where(plane, line)}: id {number:#x} is one of XProf's own rows"
            if not 0 <= line.display_id < LINE_ID_LIMIT:
                yield f"{where(plane, line)}: display_id {line.display_id} has more than 32 bits"


@rule
def rows(space):
    """Threads with one display_id are drawn over each other."""
    for plane in space.planes:
        shown = [line.display_id or line.id for line in plane.lines if line.name != COUNTERS] if plane.is_host else []
        if len(set(shown)) != len(shown):
            yield f"{plane.name}: several lines have one row"


@rule
def line_names(space):
    """Rows of operations are derived for lines with "Compute" in their name first, and for 16 lines at most."""
    for plane in space.planes:
        for line in plane.lines if plane.is_gpu else ():
            has_kernels = any("kernel_details" in plane.stats_of(event) for event in line.events)
            if has_kernels and "Compute" not in line.name:
                yield f"{where(plane, line)}: kernels on a line without Compute in its name"


@rule
def relative_times(space):
    """Nanoseconds * 1000 + picoseconds have to fit into 63 bits; some tools take the offset alone."""
    for plane in space.planes:
        for line in plane.lines:
            if line.timestamp_ns:
                yield f"{where(plane, line)}: timestamp_ns {line.timestamp_ns}, not 0"
            for event in line.events:
                if event.offset_ps < 0 or event.duration_ps < 0 or event.offset_ps + event.duration_ps >= TIME_LIMIT_PS:
                    yield f"{where(plane, line, event)}: lasts {event.duration_ps} ps"
                if event.num_occurrences:
                    yield f"{where(plane, line, event)}: num_occurrences"


@rule
def inside_profile(space):
    """XLA leaves out what is not."""
    plane = space.plane(ENVIRONMENT)
    stats = plane.named(plane.message.stats) if plane else {}
    if "profile_start_time" not in stats or "profile_stop_time" not in stats:
        return
    length_ps = (stats["profile_stop_time"][1] - stats["profile_start_time"][1]) * 1000
    for plane in space.planes:
        for line, event in plane.events():
            # Kernels that take no time have a picosecond.
            if event.offset_ps + event.duration_ps > length_ps + 1:
                yield f"{where(plane, line, event)}: ends behind the end of the profile ({length_ps} ps)"


@rule
def nested(space):
    """XProf sorts nothing before it groups: what contains another has to come first, and may not cross it."""
    for plane in space.planes:
        asynchronous = {key for key, name in plane.strings.items() if name == "_a"}
        for line in plane.lines:
            last = (-1, 0)
            ends = []
            for event in line.events:
                begin, end = event.offset_ps, event.offset_ps + event.duration_ps
                if begin < last[0] or (event.duration_ps and (begin, -event.duration_ps) < last):
                    yield f"{where(plane, line, event)}: behind an event that comes after it"
                # What takes no time contains nothing, and may stand anywhere among what begins with it.
                if event.duration_ps:
                    last = (begin, -event.duration_ps)
                elif begin > last[0]:
                    last = (begin, -TIME_LIMIT_PS)
                if asynchronous and any(stat.metadata_id in asynchronous for stat in event.stats):
                    continue
                while ends and ends[-1] <= begin and (end > ends[-1]):
                    ends.pop()
                if ends and end > ends[-1]:
                    yield f"{where(plane, line, event)}: ends at {end}, behind what it begins in ({ends[-1]})"
                else:
                    ends.append(end)


@rule
def counters(space):
    """A counter is drawn from the numbers of its events."""
    for plane in space.planes:
        for line, event in plane.events():
            if line.name != COUNTERS:
                continue
            values = [kind for kind, _ in plane.stats_of(event).values()]
            if event.duration_ps:
                yield f"{where(plane, line, event)}: a counter that lasts"
            if not values or set(values) - {"double", "int64", "uint64"}:
                yield f"{where(plane, line, event)}: values {values}, not numbers"


# ---- what the tools read --------------------------------------------------------------------------------------------

@rule
def launches(space):
    """Launches are looked for in the plane /host:CPU alone, kernels in those of GPUs."""
    for plane in space.planes:
        if plane.name != HOST and not plane.is_gpu and "correlation_id" in plane.strings.values():
            yield f"{plane.name} has correlation_id: its kernels get no group"


@rule
def steps(space):
    """Ranges are nested line by line: a step contains the launches of its own line, and the outermost step counts. Where work of
    GPUs has its group_id already, that counts instead."""
    grouped_already = any("group_id" in plane.stats_of(event) for plane in space.planes if plane.is_gpu and "group_id" in plane.strings.values()
                          for line, event in plane.events() if line.name != "Step spans (overlay)")
    for plane in space.planes:
        launching = {line.id for line, event in plane.events() if "correlation_id" in plane.stats_of(event)}
        for line in plane.lines:
            until = -1
            for event in line.events:
                stats = plane.stats_of(event)
                if "_r" not in stats:
                    continue
                if plane.name != HOST:
                    yield f"{where(plane, line, event)}: _r outside {HOST}"
                if event.offset_ps < until:
                    yield f"{where(plane, line, event)}: a step in a step"
                until = max(until, event.offset_ps + event.duration_ps)
                if launching and not grouped_already and line.id not in launching and not {"_p", "_pt"} <= set(stats):
                    yield f"{where(plane, line, event)}: a step on a line without launches"


@rule
def step_spans(space):
    """What has a correlation is counted as work of the GPU."""
    for plane in space.planes:
        for line, event in plane.events() if "group_id" in plane.strings.values() else ():
            stats = plane.stats_of(event)
            if "group_id" in stats and "correlation_id" in stats and line.name == "Step spans (overlay)":
                yield f"{where(plane, line, event)}: group_id and correlation_id"


def parse_details(text):
    return dict(part.split(":") for part in re.split(r"[ \n]", text) if part.count(":") == 1)


@rule
def kernels(space):
    """A kernel is what has details and lasts; what is not in them, because it was not known, is 0 in the table."""
    for plane in space.planes:
        for line, event in plane.events():
            kind_and_text = plane.stats_of(event).get("kernel_details")
            if kind_and_text is None:
                continue
            if not plane.is_gpu:
                yield f"{where(plane, line, event)}: a kernel outside of a GPU"
            if not event.duration_ps:
                yield f"{where(plane, line, event)}: a kernel that takes no time is left out"
            details = parse_details(str(kind_and_text[1]))
            for key in KERNEL_DETAILS:
                pattern = r"\d+,\d+,\d+" if key in ("grid", "block") else r"\d+"
                if key in details and not re.fullmatch(pattern, details[key]):
                    yield f"{where(plane, line, event)}: {key} in {str(kind_and_text[1])[:100]!r}"
            if not details.keys() & set(KERNEL_DETAILS) and kind_and_text[1] != "unknown":
                yield f"{where(plane, line, event)}: kernel_details {str(kind_and_text[1])[:100]!r}"


@rule
def copies(space):
    """The direction is read out of the name, the bytes out of the first pair of the details."""
    for plane in space.planes:
        for line, event in plane.events() if plane.is_gpu else ():
            details = plane.stats_of(event).get("memcpy_details")
            name = plane.name_of(event)
            if details is None and not (name.lower().startswith("memcpy") and line.name != COUNTERS and event.duration_ps and
                    "kernel_details" not in plane.stats_of(event)):
                continue
            if not MEMCPY.fullmatch(name):
                yield f"{where(plane, line, event)}: not MemcpyHtoD, DtoH, DtoD or HtoH"
            if details is None or not MEMCPY_DETAILS.match(str(details[1])):
                yield f"{where(plane, line, event)}: memcpy_details don't begin with num_bytes:N and a new line"


@rule
def correlations(space):
    """0 is none."""
    for plane in space.planes:
        for line, event in plane.events():
            if plane.stats_of(event).get("correlation_id", (None, 1))[1] == 0:
                yield f"{where(plane, line, event)}: correlation_id 0"


@rule
def asynchronous_events(space):
    """Without a flow they are ordinary events, with flow 0 they have no phase."""
    for plane in space.planes:
        for line, event in plane.events() if "_a" in plane.strings.values() else ():
            stats = plane.stats_of(event)
            if "_a" in stats and (stats.get("flow", (None, 0))[1] or 0) & 3 != 3:
                yield f"{where(plane, line, event)}: _a without flow (id << 2 | 3)"


@rule
def operations(space):
    """What is no NAME:Type becomes an operation of type Unknown with the whole text as name."""
    for plane in space.planes:
        for line, event in plane.events() if "tf_op" in plane.strings.values() else ():
            text = plane.stats_of(event).get("tf_op", (None, None))[1]
            if text is None:
                continue
            if not TF_OP.fullmatch(str(text)):
                yield f"{where(plane, line, event)}: tf_op {str(text)[:100]!r}"
            if plane.is_host and OP_NAME.fullmatch(plane.name_of(event)):
                yield f"{where(plane, line, event)}: is counted by its tf_op and by its name"


@rule
def instructions(space):
    """A kernel whose instruction is not found vanishes from every table."""
    metadata = space.plane(METADATA)
    modules = {}
    for key, stats in metadata.constant.items() if metadata else ():
        if stats.get("Hlo Proto", ("", None))[0] != "bytes":
            continue
        names, complaints = xplane_hlo.check(stats["Hlo Proto"][1])
        modules[key] = names
        for text in complaints:
            yield f"program {key}: {text}"
    for plane in space.planes:
        for line, event in plane.events() if "hlo_op" in plane.strings.values() else ():
            stats = plane.stats_of(event)
            name, program = (stats.get(key, (None, None))[1] for key in ("hlo_op", "program_id"))
            if name is None:
                continue
            if not SANITISED.fullmatch(str(name)):
                yield f"{where(plane, line, event)}: hlo_op {str(name)[:100]!r}"
            elif program not in modules:
                yield f"{where(plane, line, event)}: no program {program}"
            elif name not in modules[program]:
                yield f"{where(plane, line, event)}: program {program} has no instruction {name}"


@rule
def memory(space):
    """Numbers are read as int64, off /host:CPU alone; allocations of other steps than the peak's are lumped together."""
    for plane in space.planes:
        if not MEMORY_NAMES & set(plane.event_names.values()):
            continue
        if plane.name != HOST:
            yield f"{plane.name} has memory events: none is read there"
        for line in plane.lines:
            events = [(event, plane.stats_of(event)) for event in line.events]
            steps_here = any("_r" in stats for _, stats in events)
            for event, stats in events:
                if plane.name_of(event) not in MEMORY_NAMES:
                    continue
                missing = [key for key in MEMORY_STATS if key not in stats]
                if missing or not {"allocator_name", "device_ordinal", "index_on_host"} & set(stats):
                    yield f"{where(plane, line, event)}: lacks {' '.join(missing) or 'allocator_name'}"
                if steps_here:
                    yield f"{where(plane, line, event)}: on a line with steps"


@rule
def idle(space):
    """On a line of a GPU's plane they count as its work, and all its figures change; of the host's they may be nothing that tools count."""
    for plane in space.planes:
        for line in plane.lines:
            if not line.name.endswith(IDLE_NAME):
                continue
            if plane.name != HOST or not IDLE.fullmatch(line.name):
                yield f"{where(plane, line)}: outside of {HOST}, or of no GPU"
            until = 0
            for event in line.events:
                counted = COUNTED_STATS & set(plane.stats_of(event))
                if counted or OP_NAME.fullmatch(plane.name_of(event)):
                    yield f"{where(plane, line, event)}: counts as something else: {' '.join(sorted(counted)) or 'its name'}"
                if event.offset_ps < until or not event.duration_ps:
                    yield f"{where(plane, line, event)}: begins before {until} ps, or takes no time"
                until = event.offset_ps + event.duration_ps


@rule
def input_stages(space):
    """Other categories vanish; an id that some metadata has mixes two events up."""
    for plane in space.planes:
        for line, event in plane.events() if "_ipl_stage_id" in plane.strings.values() else ():
            stats = plane.stats_of(event)
            number, category = (stats.get(key, (None, None))[1] for key in ("_ipl_stage_id", "_ipl_stage_cat"))
            if number is None:
                continue
            if number < IPL_STAGE_IDS_FROM:
                yield f"{where(plane, line, event)}: stage id {number} is below {IPL_STAGE_IDS_FROM}"
            if category not in IPL_CATEGORIES:
                yield f"{where(plane, line, event)}: category {category!r}"


@rule
def devices(space):
    """No vendor of this spelling: no model, no peak figures."""
    for plane in space.planes:
        vendor = plane.named(plane.message.stats).get("device_vendor", (None, None))[1] if plane.is_gpu else None
        if plane.is_gpu and vendor not in (None, "Nvidia"):
            yield f"{plane.name}: device_vendor {vendor!r}, not 'Nvidia'"
