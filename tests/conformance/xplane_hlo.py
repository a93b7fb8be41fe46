"""What XProf asks of a program (HloProto): a module that it refuses is only a line in its log, some abort it."""
import re

import xplane_wire

NAME = re.compile(r"[A-Za-z0-9_.-]+")
# Those that we may write, and for each the fields without which loading it aborts.
OPCODES = {
    "parameter": "", "constant": "", "custom-call": "", "fusion": "called_computation_ids fusion_kind", "dot": "operand_ids",
    "copy": "operand_ids", "copy-start": "operand_ids", "infeed": "operand_ids", "outfeed": "operand_ids", "after-all": "",
    "tuple": "", "all-reduce": "called_computation_ids", "all-gather": "dimensions", "reduce-scatter": "dimensions",
    "all-to-all": "operand_ids", "collective-permute": "operand_ids", "collective-broadcast": "operand_ids",
    "add": "operand_ids", "convolution": "operand_ids", "broadcast": "operand_ids", "bitcast": "operand_ids",
}
TUPLE = 13


def check_instruction(one, ids, computations):
    what = f"instruction {one.name!r}"
    if not NAME.fullmatch(one.name):
        yield f"{what}: XProf writes other characters than A-Z a-z 0-9 _ . - as _"
    if one.opcode not in OPCODES:
        yield f"{what}: opcode {one.opcode!r} is none that we know to be safe"
    for needed in OPCODES.get(one.opcode, "").split():
        if not getattr(one, needed):
            yield f"{what}: {one.opcode} without {needed}"
    if one.shape is None or not one.shape.element_type:
        yield f"{what} has no shape"
    elif one.opcode in ("infeed", "copy-start", "tuple") and one.shape.element_type != TUPLE:
        yield f"{what}: {one.opcode} whose shape is no tuple"
    for operand in one.operand_ids:
        if operand not in ids:
            yield f"{what}: no operand {operand} before it"
    for number in one.called_computation_ids:
        if number not in computations:
            yield f"{what}: no computation {number} before its own"


def check_computation(computation, computations, names):
    ids = set()
    for one in computation.instructions:
        yield from check_instruction(one, ids, computations)
        if one.name in names:
            yield f"two instructions {one.name!r}"
        if one.id in ids:
            yield f"two instructions with the id {one.id}"
        names.add(one.name)
        ids.add(one.id)
    if computation.root_id not in ids:
        yield f"computation {computation.name!r}: no root instruction {computation.root_id}"


def check(data):
    """(names of the instructions, complaints)"""
    names, complaints = set(), []
    try:
        module = xplane_wire.read("HloProto", data).module
    except xplane_wire.WireError as error:
        return names, [str(error)]
    if module is None:
        return names, ["no module"]
    if module.host_program_shape is None or module.host_program_shape.result is None:
        complaints.append("no program shape with a result")
    if not module.computations:
        complaints.append("no computation")
    elif module.entry_computation_id not in {computation.id for computation in module.computations}:
        complaints.append(f"no computation has the id of the entry, {module.entry_computation_id}")
    computations = set()
    for computation in module.computations:
        complaints += check_computation(computation, computations, names)
        computations.add(computation.id)
    return names, complaints
