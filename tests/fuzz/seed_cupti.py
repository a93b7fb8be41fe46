#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes one input of fuzz_cupti for each kind of activity: sizes not known, a version, two records."""
import struct
import sys
from pathlib import Path

RECORD_BYTES = 256

for kind in range(1, 60):
    record = bytearray(RECORD_BYTES)
    struct.pack_into("<I", record, 0, kind)
    for offset in range(8, 64, 8):
        struct.pack_into("<Q", record, offset, 1000 + offset)
    sizes = bytes(2 * 64)
    Path(sys.argv[1], f"kind-{kind}").write_bytes(sizes + struct.pack("<I", 130001) + bytes(record) * 2)
