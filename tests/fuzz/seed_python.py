#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds for fuzz_python, into the folder argv[1]: each image, alone and with words of it changed; a code object; tables of lines."""
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
BASE = 0x7f0000000000
PLACES = (0x1000, 0x4000, 0x7000, 0x8000, 0x9000, 0xa000, 0xb000, 0xc000, 0xd000, 0xe000)


def put(name, data):
	(folder / name).write_bytes(data)


for build in range(8):
	put(f"image-{build}", bytes([0, build]))
	for place in PLACES:
		for number, word in enumerate((0, 1, BASE + 0x9000, BASE + 0xb008, (1 << 64) - 1)):
			put(f"image-{build}-{place:x}-{number}", bytes([0, build]) + b"".join(struct.pack("<HQ", (place + 8 * i) // 8, word) for i in (0, 1, 4, 9)))
text = "größe".encode("utf-16-le")
put("code", bytes([1]) + struct.pack("<IIiIII", 3, 100, 7, 4, 0, 0) + struct.pack("<HBB", len(text), 2, 0) + struct.pack("<HBB", 4, 0, 0) +
    text.ljust(256, b"\0") + b"w.py".ljust(512, b"\0") + b"\xf0\x03\x80\x00")
for form, name, table in ((0, "places", b"\xf0\x03\x80\x00\xd8\x04\x05"), (1, "ranges", b"\x02\x01\x04\x80\x06\xff"), (2, "steps", b"\x02\x01\x06\xff\xff\x7f")):
	put(f"lines-{name}", bytes([2, form]) + table)
