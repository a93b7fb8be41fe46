"""What XProf asks of a program (HloProto): a module that it refuses is only a line in its log, some abort it.

Each rule was seen at work in xprof 2.24.2, by modules that break it.
"""
import collections
import math
import re

import xplane_wire

NAME = re.compile(r"[A-Za-z0-9_.-]+")
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
    for part in shape.tuple_shapes:
        yield from check_shape(part)


def check_instruction(one, ids, computations):
    opcode = OPCODES.get(one.opcode)
    if not NAME.fullmatch(one.name):
        yield "XProf writes other characters than A-Z a-z 0-9 _ . - as _"
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
    ids = set()
    for one in computation.instructions:
        for text in check_instruction(one, ids, computations):
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


def check(data):
    """(names of the instructions, complaints)"""
    names = set()
    try:
        module = xplane_wire.read("HloProto", data).module
    except xplane_wire.WireError as error:
        return names, [str(error)]
    return names, ["no module"] if module is None else list(check_module(module, names))
