# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace of Perfetto as lines of text, a packet each, by the published numbers of its fields (perfetto_wire.py). What is interned stands as
what it stands for; a number that nothing was interned for is an error, as it is for readers.
"""
import perfetto_wire

TYPES = {1: "begin", 2: "end", 3: "point", 4: "counter"}
CLEARED, NEEDED = 1, 2
TABLES = ("categories", "names", "annotation_names", "annotation_strings", "contexts", "specifications", "kernels", "kernel_args", "functions", "frames", "callstacks",
          "mapping_paths", "mappings")
CATEGORIES = {0: "", 2: " (compute)"}


class State:
    """What is interned, of the one sequence there is."""

    def __init__(self):
        self.tables = None

    def take(self, packet):
        if packet.sequence != 1:
            raise ValueError(f"a packet of sequence {packet.sequence}")
        if packet.flags & CLEARED:
            self.tables = {name: {} for name in TABLES}
        if packet.interned:
            for name in TABLES:
                for item in getattr(packet.interned, name):
                    if item.iid in self.tables[name] or not item.iid:
                        raise ValueError(f"{name} has {item.iid} twice")
                    self.tables[name][item.iid] = item

    def of(self, table, number):
        """What it stands for: its string."""
        return self.item(table, number).string

    def item(self, table, number):
        return self.tables[table][number]


def value_of(state, annotation):
    if annotation.entries:
        return "{" + ", ".join(named(state, entry) for entry in annotation.entries) + "}"
    if annotation.items:
        return "[" + ", ".join(value_of(state, item) for item in annotation.items) + "]"
    if annotation.interned is not None:
        return repr(state.of("annotation_strings", annotation.interned))
    if annotation.string is not None:
        return f"'{annotation.string}' (not interned)" if annotation.string.isprintable() else f"{annotation.string!r} (not interned)"
    if annotation.pointer is not None:
        return f"{annotation.pointer:#x}"
    if annotation.double is not None:
        return f"{annotation.double:.9g} (double)"
    if annotation.bool is not None:
        return str(bool(annotation.bool)).lower()
    values = [value for value in (annotation.uint, annotation.int) if value is not None]
    if len(values) > 1:
        raise ValueError(f"{len(values)} values in one annotation")
    return str(values[0]) if values else "{}"


def named(state, annotation):
    return f"{state.of('annotation_names', annotation.name)}={value_of(state, annotation)}"


def stack_words(state, number):
    """The outermost function first."""
    for place in state.item("callstacks", number).frames:
        frame = state.item("frames", place)
        path = "".join(state.of("mapping_paths", path) for path in state.item("mappings", frame.mapping).paths)
        yield state.of("functions", frame.function) + (f" ({path})" if path else "")


def track_line(track):
    words = [f"track {track.uuid}"]
    if track.parent:
        words.append(f"below {track.parent}")
    if track.process:
        words.append(f"process {track.process.pid} {track.process.name!r}")
    if track.thread:
        words.append(f"thread {track.thread.tid} of {track.thread.pid} {track.thread.name!r}")
    if track.name:
        words.append(repr(track.name))
    if track.counter:
        words.append(f"counter in {track.counter.unit!r}")
    return " ".join(words)


def event_line(state, packet):
    event = packet.event
    words = [f"{packet.timestamp} {TYPES[event.type]} on {event.track}"]
    if event.category:
        words.append(state.of("categories", event.category))
    if event.name:
        words.append(repr(state.of("names", event.name)))
    words += [str(value) for value in (event.counter, event.counter_double) if value is not None]
    words += [named(state, annotation) for annotation in event.annotations]
    if event.stack:
        words.append("stack " + " > ".join(stack_words(state, event.stack)))
    words += [f"=> {number:#x}" for number in (event.gpu.submitted if event.gpu else [])]
    words += [f"-> {flow}" for flow in event.flows] + [f"<- {flow}" for flow in event.flow_ends]
    return " ".join(words)


def size_of(size):
    return f"{size.x}x{size.y}x{size.z}"


def stage_line(state, packet):
    stage = packet.stage
    queue, kind = (state.item("specifications", number) for number in (stage.queue, stage.stage))
    words = [f"{packet.timestamp} {kind.string}{CATEGORIES[kind.category]} for {stage.duration} on GPU {stage.gpu} queue {queue.string!r} of "
             f"{queue.description} id {stage.id:#x} pid {state.item('contexts', stage.context).pid} {state.of('names', stage.name)!r}"]
    if stage.kernel:
        words.append(f"kernel {state.of('kernels', stage.kernel)!r}")
    if stage.launch.grid and stage.launch.block:
        words.append(f"grid {size_of(stage.launch.grid)} block {size_of(stage.launch.block)}")
    for arg in stage.launch.args:
        value = [item for item in (arg.int, arg.uint, arg.string, arg.double) if item is not None]
        if len(value) != 1:
            raise ValueError(f"{len(value)} values in one argument")
        words.append(f"{state.of('kernel_args', arg.name)}={value[0]!r}")
    return " ".join(words)


def gpu_line(number, gpu):
    more = " ".join(f"{item.key}={item.value}" for item in gpu.more)
    return f"GPU {number} {gpu.name!r} of {gpu.vendor} {gpu.architecture} uuid {gpu.uuid.hex() if gpu.uuid else None} at {gpu.pci} {more}"


def gpu_counter_line(packet):
    counter = packet.gpu_counter
    words = [f"{packet.timestamp} counter of GPU {counter.gpu}:"]
    words += [f"{spec.id} is {spec.name!r} unit {spec.units} group {spec.groups}," for spec in (counter.descriptor.specs if counter.descriptor else [])]
    words += [f"{value.id} was {value.int if value.double is None else value.double}" for value in counter.values]
    return " ".join(words)


def profile_lines(state, profile):
    for dump in profile.dumps:
        for sample in dump.samples:
            yield (f"profile {profile.index} of {dump.heap!r} of {dump.pid} at {dump.timestamp}: {sample.allocated} bytes in {sample.allocations}, "
                   f"freed {sample.freed} in {sample.frees} {' > '.join(stack_words(state, sample.stack))}")


def trace_lines(path):
    state = State()
    for packet in perfetto_wire.packets_of(path.read_bytes()):
        state.take(packet)
        if packet.flags & CLEARED:
            yield "state cleared"
        if packet.clocks:
            yield f"clocks {' '.join(f'{clock.id}={clock.timestamp}' for clock in packet.clocks.clocks)} primary {packet.clocks.primary}"
        if packet.track:
            yield track_line(packet.track)
        yield from (gpu_line(number, gpu) for number, gpu in enumerate(packet.gpus.gpus if packet.gpus else []))
        if packet.sample:
            yield (f"{packet.timestamp} sample on CPU {packet.sample.cpu} of {packet.sample.pid}/{packet.sample.tid} "
                   f"{' > '.join(stack_words(state, packet.sample.stack))}")
        if packet.profile:
            yield from profile_lines(state, packet.profile)
        if packet.gpu_counter:
            yield gpu_counter_line(packet)
        if packet.stage:
            yield stage_line(state, packet)
        if packet.event:
            yield event_line(state, packet)
