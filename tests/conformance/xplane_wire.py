# SPDX-License-Identifier: GPL-2.0-or-later
"""The messages of an .xplane.pb, and those of a profile of pprof, as Python objects, without protobuf: read(MESSAGE, bytes), write(MESSAGE, object).

The table holds the documented field numbers (openxla: xplane.proto; of HloProto what the lint looks at). It is not made from
exporters/xplane/xplane.proto: a wrong number there has to be seen. A message is an object with one attribute a field; fields that are
not there are 0, "", [] or None (parts of a oneof, messages). What does not hold as proto3 raises WireError.
"""
import struct
import types

# message -> field number -> (name, type). A type in [] is repeated; "{X}" is a map from int64 to X; "?" stands for a oneof or a
# field whose absence tells something: None when it is not there.
MESSAGES = {
    "XSpace": {1: ("planes", ["XPlane"]), 2: ("errors", ["string"]), 3: ("warnings", ["string"]), 4: ("hostnames", ["string"])},
    "XPlane": {1: ("id", "int64"), 2: ("name", "string"), 3: ("lines", ["XLine"]), 4: ("event_metadata", "{XEventMetadata}"),
               5: ("stat_metadata", "{XStatMetadata}"), 6: ("stats", ["XStat"])},
    "XLine": {1: ("id", "int64"), 2: ("name", "string"), 3: ("timestamp_ns", "int64"), 4: ("events", ["XEvent"]),
              9: ("duration_ps", "int64"), 10: ("display_id", "int64"), 11: ("display_name", "string")},
    "XEvent": {1: ("metadata_id", "int64"), 2: ("offset_ps", "int64"), 3: ("duration_ps", "int64"), 4: ("stats", ["XStat"]),
               5: ("num_occurrences", "int64")},
    "XStat": {1: ("metadata_id", "int64"), 2: ("double", "double?"), 3: ("uint64", "uint64?"), 4: ("int64", "int64?"),
              5: ("str", "string?"), 6: ("bytes", "bytes?"), 7: ("ref", "uint64?"), 8: ("compressed_str", "bytes?")},
    "XEventMetadata": {1: ("id", "int64"), 2: ("name", "string"), 3: ("metadata", "bytes"), 4: ("display_name", "string"),
                       5: ("stats", ["XStat"]), 6: ("child_id", ["int64"])},
    "XStatMetadata": {1: ("id", "int64"), 2: ("name", "string"), 3: ("description", "string")},
    "HloProto": {1: ("module", "HloModule?"), 3: ("buffer_assignment", "BufferAssignment?")},
    "HloModule": {1: ("name", "string"), 2: ("entry_computation_name", "string"), 3: ("computations", ["HloComputation"]),
                  4: ("host_program_shape", "ProgramShape?"), 5: ("id", "int64"), 6: ("entry_computation_id", "int64")},
    "ProgramShape": {1: ("parameters", ["Shape"]), 2: ("result", "Shape?"), 3: ("parameter_names", ["string"])},
    "Shape": {2: ("element_type", "int64"), 3: ("dimensions", ["int64"]), 4: ("tuple_shapes", ["Shape"]),
              5: ("layout", "Layout?")},
    "Layout": {1: ("minor_to_major", ["int64"])},
    "HloComputation": {1: ("name", "string"), 2: ("instructions", ["HloInstruction"]), 4: ("program_shape", "ProgramShape?"),
                       5: ("id", "int64"), 6: ("root_id", "int64")},
    "HloInstruction": {1: ("name", "string"), 2: ("opcode", "string"), 3: ("shape", "Shape?"), 7: ("metadata", "OpMetadata?"),
                       11: ("fusion_kind", "string"), 14: ("dimensions", ["int64"]), 15: ("window", "bytes?"),
                       16: ("convolution_dimension_numbers", "bytes?"), 28: ("custom_call_target", "string"),
                       29: ("outfeed_shape", "Shape?"), 30: ("dot_dimension_numbers", "DotDimensions?"), 35: ("id", "int64"),
                       36: ("operand_ids", ["int64"]), 38: ("called_computation_ids", ["int64"])},
    "DotDimensions": {1: ("lhs_contracting", ["int64"]), 2: ("rhs_contracting", ["int64"]), 3: ("lhs_batch", ["int64"]),
                      4: ("rhs_batch", ["int64"])},
    "OpMetadata": {1: ("op_type", "string"), 2: ("op_name", "string"), 12: ("deduplicated_name", "string")},
    "BufferAssignment": {1: ("logical_buffers", ["LogicalBuffer"]), 3: ("buffer_allocations", ["BufferAllocation"]),
                         4: ("heap_traces", ["HeapTrace"])},
    "LogicalBuffer": {1: ("id", "int64"), 2: ("size", "int64"), 3: ("defined_at", "BufferPlace?")},
    "BufferPlace": {2: ("instruction_name", "string"), 4: ("instruction_id", "int64")},
    "BufferAllocation": {1: ("index", "int64"), 2: ("size", "int64"), 9: ("assigned", ["Assigned"])},
    "Assigned": {1: ("buffer_id", "int64"), 2: ("offset", "int64"), 3: ("size", "int64")},
    "HeapTrace": {1: ("events", ["HeapEvent"]), 2: ("whole_module", "int64")},
    "HeapEvent": {1: ("kind", "int64"), 2: ("buffer_id", "int64"), 3: ("computation_name", "string"), 4: ("instruction_name", "string")},
    # A profile of pprof, by its documented numbers.
    "PprofProfile": {1: ("sample_types", ["PprofType"]), 2: ("samples", ["PprofSample"]), 3: ("mappings", ["PprofMapping"]),
                     4: ("locations", ["PprofLocation"]), 5: ("functions", ["PprofFunction"]), 6: ("strings", ["string"]),
                     9: ("time_nanos", "int64"), 10: ("duration_nanos", "int64"), 12: ("period", "int64"), 13: ("comments", ["int64"]),
                     14: ("default_sample_type", "int64")},
    "PprofType": {1: ("type", "int64"), 2: ("unit", "int64")},
    "PprofSample": {1: ("location_ids", ["uint64"]), 2: ("values", ["int64"]), 3: ("labels", ["PprofLabel"])},
    "PprofLabel": {1: ("key", "int64"), 2: ("str", "int64"), 3: ("num", "int64")},
    "PprofMapping": {1: ("id", "uint64"), 2: ("memory_start", "uint64"), 3: ("memory_limit", "uint64"), 4: ("file_offset", "uint64"),
                     5: ("filename", "int64"), 6: ("build_id", "int64")},
    "PprofLocation": {1: ("id", "uint64"), 2: ("mapping_id", "uint64"), 3: ("address", "uint64"), 4: ("lines", ["PprofLine"])},
    "PprofLine": {1: ("function_id", "uint64"), 2: ("line", "int64")},
    "PprofFunction": {1: ("id", "uint64"), 2: ("name", "int64"), 3: ("system_name", "int64"), 4: ("filename", "int64")},
}
# Messages of which we know every field: any other is an error. Of the rest further fields are passed over.
COMPLETE = {name for name in MESSAGES if name.startswith("X")}

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
SCALARS = {"int64": VARINT, "uint64": VARINT, "double": FIXED64, "fixed64": FIXED64, "string": BYTES, "bytes": BYTES}
NOTHING = {"int64": 0, "uint64": 0, "double": 0.0, "fixed64": 0, "string": "", "bytes": b""}


class WireError(Exception):
    """What is wrong with the bytes."""


def read_varint(data, at, end):
    value = shift = 0
    while True:
        if at >= end or shift > 63:
            raise WireError("varint cut off or too long")
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value & 0xffffffffffffffff, at
        shift += 7


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def fields_of(data, at, end):
    """(number, wire type, value): an integer, or (first, last) byte of what has a length."""
    while at < end:
        tag, at = read_varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, at = read_varint(data, at, end)
        elif wire == BYTES:
            length, at = read_varint(data, at, end)
            value, at = (at, at + length), at + length
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
            value, at = (at, at + length), at + length
        else:
            raise WireError(f"field {number} has wire type {wire}")
        if at > end:
            raise WireError(f"field {number} is cut off")
        yield number, wire, value


def read_scalar(kind, data, value):
    if kind == "int64":
        return signed(value)
    if kind == "uint64":
        return value
    raw = bytes(data[value[0]:value[1]])
    if kind == "double":
        return struct.unpack("<d", raw)[0]
    if kind == "fixed64":
        return int.from_bytes(raw, "little")
    if kind == "bytes":
        return raw
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise WireError(f"a string that is no UTF-8: {raw[:60]!r}") from None


def read_entry(kind, data, first, last):
    """Of a map: (key, value)."""
    key, found = 0, None
    for number, wire, value in fields_of(data, first, last):
        if number == 1 and wire == VARINT:
            key = signed(value)
        elif number == 2 and wire == BYTES:
            found = read_message(kind, data, *value)
    return key, found if found is not None else empty(kind)


def empty(name):
    message = types.SimpleNamespace()
    for field, kind in MESSAGES[name].values():
        setattr(message, field, [] if isinstance(kind, list) else {} if kind[0] == "{" else None if kind[-1] == "?" else
                NOTHING[kind])
    return message


def read_field(message, name, entry, data, wire, value):
    field, kind = entry
    repeated = isinstance(kind, list)
    kind = kind[0] if repeated else kind
    if kind[0] == "{":
        if wire != BYTES:
            raise WireError(f"{name}.{field} has wire type {wire}")
        key, found = read_entry(kind[1:-1], data, *value)
        if key in getattr(message, field):
            raise WireError(f"{name}.{field} has {key} twice")
        getattr(message, field)[key] = found
        return
    kind = kind.rstrip("?")
    if repeated and SCALARS.get(kind) == VARINT and wire == BYTES:
        at, last = value
        while at < last:
            found, at = read_varint(data, at, last)
            getattr(message, field).append(signed(found))
        return
    if wire != SCALARS.get(kind, BYTES):
        raise WireError(f"{name}.{field} has wire type {wire}")
    found = read_scalar(kind, data, value) if kind in SCALARS else read_message(kind, data, *value)
    if repeated:
        getattr(message, field).append(found)
    else:
        setattr(message, field, found)


def read_message(name, data, first, last):
    table, message = MESSAGES[name], empty(name)
    for number, wire, value in fields_of(data, first, last):
        if number in table:
            read_field(message, name, table[number], data, wire, value)
        elif name in COMPLETE:
            raise WireError(f"{name} has no field {number}")
    return message


def read(name, data):
    return read_message(name, data, 0, len(data))


def write_varint(value):
    value &= 0xffffffffffffffff
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_value(kind, number, value):
    if SCALARS.get(kind) == VARINT:
        return write_varint(number << 3 | VARINT) + write_varint(value)
    if kind == "double":
        return write_varint(number << 3 | FIXED64) + struct.pack("<d", value)
    if kind == "string":
        # Bytes stand for what a test wants to be no UTF-8.
        data = value if isinstance(value, bytes) else value.encode("utf-8")
    else:
        data = value if kind == "bytes" else write(kind, value)
    return write_varint(number << 3 | BYTES) + write_varint(len(data)) + data


def write(name, message):
    """The bytes of a message: an object, or a dict with some of its fields."""
    values = message if isinstance(message, dict) else vars(message)
    out = []
    for number, (field, kind) in MESSAGES[name].items():
        value = values.get(field)
        if value is None:
            continue
        if isinstance(kind, list):
            out += [write_value(kind[0], number, one) for one in value]
        elif kind[0] == "{":
            for key, one in value.items():
                entry = write_value("int64", 1, key) + write_value(kind[1:-1], 2, one)
                out.append(write_varint(number << 3 | BYTES) + write_varint(len(entry)) + entry)
        elif kind[-1] == "?" or value != NOTHING[kind]:
            out.append(write_value(kind.rstrip("?"), number, value))
    return b"".join(out)
