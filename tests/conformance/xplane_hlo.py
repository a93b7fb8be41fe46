# SPDX-License-Identifier: GPL-2.0-or-later
"""What XProf asks of a program (HloProto): a module that it refuses is only a line in its log, some abort it.

Each rule was seen at work in xprof 2.24.2, by modules that break it.
"""
import collections
import math
import re

import xplane_wire

NAME = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_.-]*")
TYPE_NAME = re.compile(r"b?f\d+(e\d+m\d+[a-z0-9]*)?|[suc]\d+|pred|token|opaque|buffer")
FUSION_KINDS = {"kCustom", "kLoop", "kInput", "kOutput"}
PREDICATE, TUPLE, OPAQUE, TOKEN, LAST_TYPE = 1, 13, 14, 17, 20

# operands: how many, None: any number. called: how many computations. needs: fields that have to be there. array: no tuple.
Opcode = collections.namedtuple("Opcode", "operands called needs array", defaults=(None, 0, (), False))
# Those that we may write.
OPCODES = {
    "parameter": Opcode(0), "constant": Opcode(0), "after-all": Opcode(), "custom-call": Opcode(None, None),
    "fusion": Opcode(None, 1, ("fusion_kind",)), "tuple": Opcode(), "bitcast": Opcode(1), "broadcast": Opcode(1),
    "dot": Opcode(2, 0, ("dot_dimension_numbers",), True),
    "convolution": Opcode(2, 0, ("window", "convolution_dimension_numbers"), True),
    "copy": Opcode(1), "copy-start": Opcode(1), "infeed": Opcode(1), "outfeed": Opcode(2, 0, ("outfeed_shape",)),
    "add": Opcode(2, 0, (), True), "all-reduce": Opcode(None, 1, (), True), "all-gather": Opcode(None, 0, ("dimensions",)),
    "reduce-scatter": Opcode(None, 1, ("dimensions",), True), "all-to-all": Opcode(), "collective-permute": Opcode(1),
    "collective-broadcast": Opcode(),
}
TUPLES = ("infeed", "copy-start", "tuple")


def check_shape(shape):
    if shape is None or not PREDICATE <= shape.element_type <= LAST_TYPE:
        yield "no shape" if shape is None else f"a shape of type {shape.element_type}"
        return
    if any(size < 0 for size in shape.dimensions) or math.prod(shape.dimensions) >= 2 ** 60:
        yield f"a shape of {shape.dimensions}"
    if shape.dimensions and sorted(shape.layout.minor_to_major if shape.layout else []) != list(range(len(shape.dimensions))):
        yield f"a shape of {shape.dimensions} without a layout has no bytes"
    for part in shape.tuple_shapes:
        yield from check_shape(part)


def check_dot(one, shapes):
    """The sizes of both sides and of the product have to fit."""
    numbers, sides = one.dot_dimension_numbers, [shapes.get(operand) for operand in one.operand_ids]
    if len(sides) != 2 or None in sides or not numbers:
        return
    for side, dimensions in zip(sides, ([*numbers.lhs_contracting, *numbers.lhs_batch], [*numbers.rhs_contracting, *numbers.rhs_batch])):
        if any(not 0 <= number < len(side.dimensions) for number in dimensions) or len(set(dimensions)) != len(dimensions):
            yield f"dimensions {dimensions} of {side.dimensions}"
            return
    left, right = (side.dimensions for side in sides)
    shared = [left[i] for i in numbers.lhs_batch]
    if [left[i] for i in numbers.lhs_contracting] != [right[i] for i in numbers.rhs_contracting] or shared != [right[i] for i in numbers.rhs_batch]:
        yield f"a product of {left} and {right}"
    rest = [size for i, size in enumerate(left) if i not in (*numbers.lhs_contracting, *numbers.lhs_batch)]
    rest += [size for i, size in enumerate(right) if i not in (*numbers.rhs_contracting, *numbers.rhs_batch)]
    if one.shape and shared + rest != one.shape.dimensions:
        yield f"a product of {left} and {right} with the sizes {one.shape.dimensions}"


def check_instruction(one, ids, computations):
    opcode = OPCODES.get(one.opcode)
    if not NAME.fullmatch(one.name):
        yield "XProf writes other characters than A-Z a-z 0-9 _ . - as _, and digits at the beginning"
    if TYPE_NAME.fullmatch(one.name):
        yield "XProf puts _ behind names of types"
    if one.id < 0:
        yield f"id {one.id}"
    for text in check_shape(one.shape):
        yield text
    for operand in one.operand_ids:
        if operand not in ids:
            yield f"no operand {operand} before it"
    for number in one.called_computation_ids:
        if number not in computations:
            yield f"no computation {number} before its own"
    if not opcode:
        yield f"opcode {one.opcode!r} is none that we know to be safe"
        return
    for needed in opcode.needs:
        if not getattr(one, needed):
            yield f"{one.opcode} without {needed}"
    if opcode.operands not in (None, len(one.operand_ids)):
        yield f"{one.opcode} of {len(one.operand_ids)} operands"
    if opcode.called and opcode.called != len(one.called_computation_ids):
        yield f"{one.opcode} of {len(one.called_computation_ids)} computations"
    if one.opcode == "fusion" and one.fusion_kind and one.fusion_kind not in FUSION_KINDS:
        yield f"fusion of kind {one.fusion_kind}"
    if one.shape and (one.opcode in TUPLES and one.shape.element_type != TUPLE or
                      opcode.array and one.shape.element_type in (TUPLE, OPAQUE, TOKEN)):
        yield f"{one.opcode} of type {one.shape.element_type}"


def check_computation(computation, computations, names):
    ids, shapes = set(), {}
    for one in computation.instructions:
        shapes[one.id] = one.shape
        for text in (*check_instruction(one, ids, computations), *(check_dot(one, shapes) if one.opcode == "dot" else ())):
            yield f"instruction {one.name[:60]!r}: {text}"
        if one.name in names:
            yield f"two instructions {one.name!r}"
        if one.id in ids:
            yield f"two instructions with the id {one.id}"
        names.add(one.name)
        ids.add(one.id)
    if computation.root_id not in ids:
        yield f"computation {computation.name!r}: no root instruction {computation.root_id}"


def check_module(module, names):
    if module.host_program_shape is None or module.host_program_shape.result is None:
        yield "no program shape with a result"
    if not module.computations:
        yield "no computation"
    elif module.entry_computation_id not in {computation.id for computation in module.computations}:
        yield f"no computation has the id of the entry, {module.entry_computation_id}"
    computations, computation_names = set(), set()
    for computation in module.computations:
        yield from check_computation(computation, computations, names)
        if computation.name in computation_names or computation.id in computations:
            yield f"two computations {computation.name!r}, id {computation.id}"
        computations.add(computation.id)
        computation_names.add(computation.name)


def check_buffers(buffers, module):
    """What memory_viewer reads: each buffer is defined by an instruction, has its place, comes once and goes at most once."""
    known = {one.name: one.id for computation in module.computations for one in computation.instructions}
    sizes = {}
    for one in buffers.logical_buffers:
        if one.id in sizes:
            yield f"two buffers {one.id}"
        sizes[one.id] = one.size
        if not one.defined_at or known.get(one.defined_at.instruction_name) != one.defined_at.instruction_id:
            yield f"buffer {one.id} has no instruction"
    assigned = [part for one in buffers.buffer_allocations for part in one.assigned]
    if sorted((part.buffer_id, part.size) for part in assigned) != sorted(sizes.items()):
        yield "not each buffer has a place of its size"
    for trace in buffers.heap_traces:
        live, gone = set(), set()
        for event in trace.events:
            if event.buffer_id not in sizes or event.kind not in (0, 1):
                yield f"a moment of the heap with buffer {event.buffer_id}, kind {event.kind}"
            elif event.kind == 0 and event.buffer_id in live | gone or event.kind == 1 and event.buffer_id not in live:
                yield f"buffer {event.buffer_id} comes twice, or goes without having come"
            (live.add if event.kind == 0 else live.discard)(event.buffer_id)
            if event.kind == 1:
                gone.add(event.buffer_id)


def check(data):
    """(names of the instructions, complaints)"""
    names = set()
    try:
        program = xplane_wire.read("HloProto", data)
    except xplane_wire.WireError as error:
        return names, [str(error)]
    if program.module is None:
        return names, ["no module"]
    complaints = list(check_module(program.module, names))
    return names, complaints + (list(check_buffers(program.buffer_assignment, program.module)) if program.buffer_assignment else [])
