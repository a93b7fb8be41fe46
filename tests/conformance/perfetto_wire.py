# SPDX-License-Identifier: GPL-2.0-or-later
"""The packets of a trace of Perfetto as Python objects, as xplane_wire.py has the messages of XPlane: by the published field numbers
(PyPI's perfetto 0.59.1), and not by exporters/perfetto/perfetto_fields.h, so that a wrong number there is seen.
"""
import xplane_wire

MESSAGES = {
    "PfTrace": {1: ("packets", ["PfPacket"])},
    "PfPacket": {6: ("clocks", "PfClocks?"), 8: ("timestamp", "uint64?"), 10: ("sequence", "uint64"), 11: ("event", "PfEvent?"),
                 12: ("interned", "PfInterned?"), 13: ("flags", "uint64"), 37: ("profile", "PfProfile?"), 52: ("gpu_counter", "PfGpuCounter?"), 53: ("stage", "PfStage?"), 60: ("track", "PfTrack?"), 66: ("sample", "PfSample?"), 128: ("gpus", "PfGpus?")},
    "PfClocks": {1: ("clocks", ["PfClock"]), 2: ("primary", "uint64")},
    "PfClock": {1: ("id", "uint64"), 2: ("timestamp", "uint64")},
    "PfTrack": {1: ("uuid", "uint64"), 2: ("name", "string"), 3: ("process", "PfProcess?"), 4: ("thread", "PfThread?"), 5: ("parent", "uint64"),
                8: ("counter", "PfCounter?"), 14: ("description", "string")},
    "PfProcess": {1: ("pid", "int64"), 6: ("name", "string")},
    "PfThread": {1: ("pid", "int64"), 2: ("tid", "int64"), 5: ("name", "string")},
    "PfCounter": {6: ("unit", "string")},
    "PfEvent": {3: ("category", "uint64"), 4: ("annotations", ["PfAnnotation"]), 9: ("type", "uint64"), 10: ("name", "uint64"), 11: ("track", "uint64"),
                30: ("counter", "int64?"), 44: ("counter_double", "double?"), 47: ("flows", ["fixed64"]), 48: ("flow_ends", ["fixed64"]), 56: ("stack", "uint64"), 3000: ("gpu", "PfCorrelation?")},
    "PfSample": {1: ("cpu", "uint64?"), 2: ("pid", "uint64"), 3: ("tid", "uint64"), 4: ("stack", "uint64")},
    "PfProfile": {5: ("dumps", ["PfDump"]), 7: ("index", "uint64")},
    "PfDump": {1: ("pid", "uint64"), 2: ("samples", ["PfHeap"]), 9: ("timestamp", "uint64"), 11: ("heap", "string")},
    "PfHeap": {1: ("stack", "uint64"), 2: ("allocated", "uint64"), 3: ("freed", "uint64"), 5: ("allocations", "uint64"), 6: ("frees", "uint64")},
    "PfGpuCounter": {1: ("descriptor", "PfDescriptor?"), 2: ("values", ["PfValue"]), 3: ("gpu", "uint64")},
    "PfDescriptor": {1: ("specs", ["PfSpec"])},
    "PfSpec": {1: ("id", "uint64"), 2: ("name", "string"), 7: ("units", ["uint64"]), 10: ("groups", ["uint64"])},
    "PfValue": {1: ("id", "uint64"), 2: ("int", "int64?"), 3: ("double", "double?")},
    "PfCorrelation": {1: ("submitted", ["uint64"])},
    "PfStage": {1: ("id", "uint64"), 2: ("duration", "uint64"), 5: ("context", "uint64"), 11: ("gpu", "uint64"), 13: ("queue", "uint64"),
                14: ("stage", "uint64"), 19: ("kernel", "uint64"), 20: ("name", "uint64"), 21: ("launch", "PfLaunch?")},
    "PfLaunch": {1: ("grid", "PfSize?"), 2: ("block", "PfSize?"), 3: ("args", ["PfArg"])},
    "PfSize": {1: ("x", "uint64"), 2: ("y", "uint64"), 3: ("z", "uint64")},
    "PfArg": {1: ("name", "uint64"), 3: ("int", "int64?"), 4: ("uint", "uint64?"), 5: ("double", "double?"), 6: ("string", "string?")},
    "PfGpus": {1: ("gpus", ["PfGpu"])},
    "PfGpu": {1: ("name", "string"), 2: ("vendor", "string"), 4: ("architecture", "string"), 5: ("uuid", "bytes"), 6: ("more", ["PfMore"]),
              7: ("pci", "string")},
    "PfMore": {1: ("key", "string"), 2: ("value", "string")},
    "PfAnnotation": {1: ("name", "uint64"), 2: ("bool", "uint64?"), 3: ("uint", "uint64?"), 4: ("int", "int64?"), 5: ("double", "double?"),
                     6: ("string", "string?"), 7: ("pointer", "uint64?"), 11: ("entries", ["PfAnnotation"]), 12: ("items", ["PfAnnotation"]),
                     17: ("interned", "uint64?")},
    "PfInterned": {1: ("categories", ["PfString"]), 2: ("names", ["PfString"]), 3: ("annotation_names", ["PfString"]),
                   5: ("functions", ["PfString"]), 6: ("frames", ["PfFrame"]), 7: ("callstacks", ["PfCallstack"]),
                   17: ("mapping_paths", ["PfString"]), 19: ("mappings", ["PfMapping"]),
                   23: ("contexts", ["PfContext"]), 24: ("specifications", ["PfSpecification"]), 29: ("annotation_strings", ["PfString"]),
                   1000: ("kernels", ["PfKernel"]), 1001: ("kernel_args", ["PfString"])},
    "PfFrame": {1: ("iid", "uint64"), 2: ("function", "uint64"), 3: ("mapping", "uint64")},
    "PfCallstack": {1: ("iid", "uint64"), 2: ("frames", ["uint64"])},
    "PfMapping": {1: ("iid", "uint64"), 7: ("paths", ["uint64"])},
    "PfContext": {1: ("iid", "uint64"), 2: ("pid", "int64"), 3: ("api", "uint64")},
    "PfSpecification": {1: ("iid", "uint64"), 2: ("string", "string"), 3: ("description", "string"), 4: ("category", "uint64")},
    "PfKernel": {1: ("iid", "uint64"), 2: ("string", "string"), 3: ("demangled", "string")},
    "PfString": {1: ("iid", "uint64"), 2: ("string", "string")},
}

xplane_wire.MESSAGES.update(MESSAGES)
# A field that is not in the table is one that nobody has looked up.
xplane_wire.COMPLETE.update(MESSAGES)


def packets_of(data):
    return xplane_wire.read("PfTrace", data).packets
