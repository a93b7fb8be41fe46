#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Pieces of .eh_frame of libraries that are here, into the folder given: fuzz_unwind starts from them."""
import struct
import sys
from pathlib import Path

FILES = ["/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libgcc_s.so.1",
         "/lib/x86_64-linux-gnu/libcrypto.so.3"]
PIECE_BYTES = 1200
PIECES = 12


def sections(data):
    """Name, address, offset, size."""
    offset, size, count, names = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + size * number) for number in range(count)]
    for name, _, _, address, place, length in headers:
        start = headers[names][4] + name
        yield data[start:data.index(b"\0", start)].decode(), address, place, length


def pieces(frame):
    """Offsets of CIEs, as far apart as pieces are: each piece begins with one."""
    at = start = 0
    while at + 8 < len(frame):
        length, back = struct.unpack_from("<II", frame, at)
        if not length:
            return
        if not back and (at == 0 or at - start >= PIECE_BYTES):
            start = at
            yield at
        at += 4 + length


for path in FILES:
    if not Path(path).exists():
        continue
    data = Path(path).read_bytes()
    found = {name: (address, data[place:place + size]) for name, address, place, size in sections(data)}
    address, frame = found[".eh_frame"]
    for number, at in enumerate(list(pieces(frame))[:PIECES]):
        # The code that the first function of the piece is of lies in the file's text, a MB at most behind its start.
        first = at + 4 + struct.unpack_from("<I", frame, at)[0]
        code = (address + first + 8 + struct.unpack_from("<i", frame, first + 8)[0]) & ~0xfff
        head = struct.pack("<QQI", address + at, code, number % 2)
        Path(sys.argv[1], f"seed-{Path(path).name}-{number}").write_bytes(head + frame[at:at + PIECE_BYTES])
