#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds of fuzz_grpc: what a client sends for one call each, made by hand: seed_grpc.py FOLDER."""
import pathlib
import struct
import sys


def frame(kind, flags, stream, payload):
	return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def header(name, value):
	"""A literal without indexing."""
	return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def call(stream, path, message):
	headers = b"".join(header(*pair) for pair in ((":method", "POST"), (":scheme", "http"), (":path", path),
						      (":authority", "x"), ("content-type", "application/grpc"), ("grpc-timeout", "5S")))
	return frame(1, 4, stream, headers) + frame(0, 1, stream, b"\0" + struct.pack(">I", len(message)) + message)


PROFILE = bytes.fromhex("08e807" "3203616263" "2212" "1002" "1801" "2801" "62080a016b12031a0131" "4805")
SEEDS = {
	"settings": frame(4, 0, 0, b""),
	"profile": frame(4, 0, 0, b"") + call(1, "/P", PROFILE),
	"cancelled": frame(4, 0, 0, b"") + call(1, "/P", PROFILE) + frame(3, 0, 1, struct.pack(">I", 8)),
	"terminate": frame(4, 0, 0, b"") + call(1, "/T", b"\x0a\x01x") + call(3, "/T", b""),
	"ping": frame(4, 0, 0, b"") + frame(6, 0, 0, bytes(8)) + frame(8, 0, 0, struct.pack(">I", 1000)),
	"none": frame(4, 0, 0, b"") + call(1, "/none", b""),
}
for name, data in SEEDS.items():
	(pathlib.Path(sys.argv[1]) / name).write_bytes(data)
