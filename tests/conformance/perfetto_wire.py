# SPDX-License-Identifier: GPL-2.0-or-later
"""The packets of a trace of Perfetto as Python objects, as xplane_wire.py has the messages of XPlane: by the published field numbers
(PyPI's perfetto 0.59.1), and not by exporters/perfetto/perfetto_fields.h, so that a wrong number there is seen.
"""
import xplane_wire

MESSAGES = {
    "PfTrace": {1: ("packets", ["PfPacket"])},
    "PfPacket": {6: ("clocks", "PfClocks?"), 8: ("timestamp", "uint64?"), 10: ("sequence", "uint64"), 11: ("event", "PfEvent?"),
                 12: ("interned", "PfInterned?"), 13: ("flags", "uint64"), 60: ("track", "PfTrack?")},
    "PfClocks": {1: ("clocks", ["PfClock"]), 2: ("primary", "uint64")},
    "PfClock": {1: ("id", "uint64"), 2: ("timestamp", "uint64")},
    "PfTrack": {1: ("uuid", "uint64"), 2: ("name", "string"), 3: ("process", "PfProcess?"), 4: ("thread", "PfThread?"), 5: ("parent", "uint64"),
                8: ("counter", "PfCounter?"), 14: ("description", "string")},
    "PfProcess": {1: ("pid", "int64"), 6: ("name", "string")},
    "PfThread": {1: ("pid", "int64"), 2: ("tid", "int64"), 5: ("name", "string")},
    "PfCounter": {6: ("unit", "string")},
    "PfEvent": {3: ("category", "uint64"), 4: ("annotations", ["PfAnnotation"]), 9: ("type", "uint64"), 10: ("name", "uint64"), 11: ("track", "uint64"),
                30: ("counter", "int64?"), 44: ("counter_double", "double?"), 47: ("flows", ["fixed64"]), 48: ("flow_ends", ["fixed64"])},
    "PfAnnotation": {1: ("name", "uint64"), 2: ("bool", "uint64?"), 3: ("uint", "uint64?"), 4: ("int", "int64?"), 5: ("double", "double?"),
                     6: ("string", "string?"), 7: ("pointer", "uint64?"), 11: ("entries", ["PfAnnotation"]), 12: ("items", ["PfAnnotation"]),
                     17: ("interned", "uint64?")},
    "PfInterned": {1: ("categories", ["PfString"]), 2: ("names", ["PfString"]), 3: ("annotation_names", ["PfString"]),
                   29: ("annotation_strings", ["PfString"])},
    "PfString": {1: ("iid", "uint64"), 2: ("string", "string")},
}

xplane_wire.MESSAGES.update(MESSAGES)
# A field that is not in the table is one that nobody has looked up.
xplane_wire.COMPLETE.update(MESSAGES)


def packets_of(data):
    return xplane_wire.read("PfTrace", data).packets
