# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile as text: planes, lines, events and stats by name, in the order of the file."""
import xplane_wire

KINDS = ("double", "uint64", "int64", "str", "ref", "bytes")


def stat_text(plane, stat):
    for kind in KINDS:
        value = getattr(stat, kind)
        if value is None:
            continue
        if kind == "ref":
            value = plane.stat_metadata[value].name
        return f"{plane.stat_metadata[stat.metadata_id].name} {kind} {value!r}"
    return f"{plane.stat_metadata[stat.metadata_id].name} without a value"


TYPES = {2: "s8", 4: "s32", 6: "u8", 10: "f16", 11: "f32", 12: "f64", 15: "c64", 16: "bf16", 17: "token", 18: "c128"}


def shape_text(shape):
    if shape.element_type == 13:
        return f"({', '.join(map(shape_text, shape.tuple_shapes))})"
    return f"{TYPES.get(shape.element_type, shape.element_type)}{shape.dimensions}"


def program_lines(key, name, data):
    """Instructions, and what memory is in use."""
    program = xplane_wire.read("HloProto", data)
    yield f"\tprogram {key} {name!r}: {program.module.name!r} {program.module.id}"
    names = {one.id: one.name for computation in program.module.computations for one in computation.instructions}
    for one in (one for computation in program.module.computations for one in computation.instructions):
        about = one.metadata and (f"of {one.metadata.op_name!r} {one.metadata.op_type!r}" +
                                  (f", as {one.metadata.deduplicated_name}" if one.metadata.deduplicated_name else ""))
        operands = ", ".join(names[operand] for operand in one.operand_ids)
        yield " ".join(filter(None, (f"\t\t{one.name} = {shape_text(one.shape)} {one.opcode}({operands})", one.custom_call_target, about)))
    for one in program.buffer_assignment.logical_buffers if program.buffer_assignment else ():
        yield f"\t\tbuffer {one.id}: {one.size} bytes of {one.defined_at.instruction_name}"
    for trace in program.buffer_assignment.heap_traces if program.buffer_assignment else ():
        yield " ".join(["\t\theap:", *(f"{'-' if event.kind else '+'}{event.buffer_id}" for event in trace.events)])


def plane_lines(plane):
    yield f"plane {plane.id} {plane.name!r}"
    for stat in plane.stats:
        yield f"\t{stat_text(plane, stat)}"
    for key, metadata in plane.event_metadata.items():
        for stat in metadata.stats:
            yield from program_lines(key, metadata.name, stat.bytes)
    for line in plane.lines:
        yield f"\tline {line.id} row {line.display_id} {line.name!r}"
        for event in line.events:
            yield f"\t\t{event.offset_ps}+{event.duration_ps} {plane.event_metadata[event.metadata_id].name!r}"
            for stat in event.stats:
                yield f"\t\t\t{stat_text(plane, stat)}"


def profile_lines(path):
    space = xplane_wire.read("XSpace", path.read_bytes())
    yield f"file {path.name} of {', '.join(space.hostnames)}"
    for what in ("errors", "warnings"):
        for text in getattr(space, what):
            yield f"{what[:-1]} {text!r}"
    for plane in space.planes:
        yield from plane_lines(plane)
