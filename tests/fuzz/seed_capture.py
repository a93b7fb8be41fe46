#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes seeds for fuzz_capture into the folder given: pieces of captures, {type u8, length u16, bytes}."""
import os
import struct
import sys

SCHEMA, FACTS, EVENTS, END = 1, 2, 3, 4
TABLE = b"""kind 500 call SPAN THREAD NONE 56
field new 40 4 1 COUNT none 0
field probe 44 4 1 ID probe 7
field ended 48 1 1 ENUM call_ended 0
kind 1 text FACT NONE BYTES 48
field id 40 4 1 ID text 0
field length_bytes 44 4 1 BYTES none 0
enum call_ended 9 open
"""


def piece(kind, data):
    return struct.pack("<BH", kind, len(data)) + data


def record(kind, fields, source=2, ts=0, dur=0, pid=1, tid=1, name=0, stack=0):
    return struct.pack("<HHIQQIIII", 40 + len(fields), kind, source, ts, dur, pid, tid, name, stack) + fields


def text(number, string):
    return record(1, struct.pack("<II", number, len(string)) + string + bytes(-len(string) % 8))


def call(ts, dur, tid=1, probe=1, stack=0):
    return record(32, struct.pack("<II", probe, 1), ts=ts, dur=dur, tid=tid, stack=stack)


facts = (text(1, b"function") + text(2, b"place")
         + record(2, struct.pack("<IIQQ", 1, 2, 0x1000, 0x2000))
         + record(3, b"comm".ljust(16, b"\0") + bytes(8))
         + record(5, struct.pack("<IIIBBHQQ", 1, 0, 2, 1, 0, 0, 0x1234, 0x234), name=1)
         + record(6, struct.pack("<II", 1, 2), name=1)
         + record(7, struct.pack("<QQ", 10**18, 5)) + record(8, b"", dur=1000)
         + record(9, struct.pack("<IIQ", 1, 2, 3)))
events = (call(10, 90, stack=1) + call(20, 10) + call(30, 2**64 - 1, tid=2)
          + record(33, struct.pack("<II", 7, 0), ts=40, dur=5, name=1)
          + record(34, struct.pack("<IIII", 7, 0, 3, 0), ts=50, dur=5, name=2)
          + record(64, struct.pack("<II", 1, 11), ts=60)
          + record(96, struct.pack("<Q", 5), ts=70, name=2)
          + record(112, struct.pack("<QQ", 5, 6), ts=80, dur=10, name=2))
late = call(5, 50, probe=99) + call(35, 50)
foreign = record(500, struct.pack("<IIBxxxxxxx", 1, 2, 9), ts=5)

seeds = {
    "whole": piece(FACTS, facts) + piece(EVENTS, events) + piece(EVENTS, late) + piece(END, b""),
    "facts-last": piece(EVENTS, events) + piece(FACTS, facts),
    "foreign": piece(SCHEMA, TABLE) + piece(FACTS, text(1, b"x")) + piece(EVENTS, foreign) + piece(END, b""),
    "torn": piece(EVENTS, late) + piece(0, bytes(24)) + piece(EVENTS, late) + piece(0, b"GPPBLOCK" + bytes(8)),
}
folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
for name, data in seeds.items():
    with open(os.path.join(folder, "seed-" + name), "wb") as file:
        file.write(data)
