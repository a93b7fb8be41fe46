# SPDX-License-Identifier: GPL-2.0-or-later
"""A FUSE mount with one program in it, as an AppImage's: only the user who mounted it may look inside, root may not."""
import contextlib
import ctypes
import os
import struct
import subprocess
import sys
import tempfile
import threading

LOOKUP, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 1, 3, 14, 15, 18, 25, 26
NO_REPLY = (2, 42)  # FORGET, BATCH_FORGET
ENOENT, ENOSYS = 2, 38
ROOT_NODE, PROGRAM_NODE = 1, 2


def attributes(node, size, user):
	mode = 0o40755 if node == ROOT_NODE else 0o100755
	return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, user, user, 0, 4096, 0)


def answer(opcode, node, body, name, content, user):
	"""Bytes, or an errno."""
	size = len(content) if node == PROGRAM_NODE else 0
	if opcode == INIT:
		major, minor, readahead = struct.unpack("<3I", body[:12])
		return struct.pack("<4I2H2I2H8I", 7, min(minor, 31), readahead, 0, 12, 9, 4096, 1, 0, 0, *[0] * 8)[:64]
	if opcode == LOOKUP:
		if body.rstrip(b"\0") != name.encode():
			return ENOENT
		return struct.pack("<4Q2I", PROGRAM_NODE, 0, 60, 60, 0, 0) + attributes(PROGRAM_NODE, len(content), user)
	if opcode == GETATTR:
		return struct.pack("<Q2I", 60, 0, 0) + attributes(node, size, user)
	if opcode == OPEN:
		return struct.pack("<Q2I", 0, 0, 0)
	if opcode == READ:
		_, offset, count = struct.unpack("<QQI", body[:20])
		return content[offset:offset + count]
	return b"" if opcode in (RELEASE, FLUSH) else ENOSYS


def serve(device, name, content, user):
	while True:
		try:
			request = os.read(device, 1 << 20)
		except OSError:  # unmounted
			return
		_, opcode, unique, node = struct.unpack("<IIQQ", request[:24])
		if opcode in NO_REPLY:
			continue
		said = answer(opcode, node, request[40:], name, content, user)
		error, data = (-said, b"") if isinstance(said, int) else (0, said)
		with contextlib.suppress(OSError):  # who asked has been interrupted
			os.write(device, struct.pack("<IiQ", 16 + len(data), error, unique) + data)


@contextlib.contextmanager
def refusing_mount(program, user):
	"""The path of the program there. OSError: FUSE can't be mounted here."""
	libc = ctypes.CDLL(None, use_errno=True)
	name = os.path.basename(program)
	with open(program, "rb") as file:
		content = file.read()
	with tempfile.TemporaryDirectory(prefix="gpuprobe-test-") as folder:
		os.chmod(folder, 0o755)
		device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
		try:
			words = f"fd={device},rootmode=40000,user_id={user},group_id={user}"
			if libc.mount(b"gpuprobe-test", folder.encode(), b"fuse", 6, words.encode()):  # nosuid, nodev
				error = ctypes.get_errno()
				raise OSError(error, f"mount of FUSE: {os.strerror(error)}")
			thread = threading.Thread(target=serve, args=(device, name, content, user), daemon=True)
			thread.start()
			try:
				yield os.path.join(folder, name)
			finally:
				libc.umount2(folder.encode(), 2)  # MNT_DETACH
				thread.join(10)
		finally:
			os.close(device)
