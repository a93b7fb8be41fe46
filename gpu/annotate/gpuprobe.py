# SPDX-FileCopyrightText: 2026 The gpuprobe authors
# SPDX-License-Identifier: MIT
"""What a Python program says of itself, seen by `gpuprobe -p PID` as rows of the trace (user_annotation).

	import gpuprobe

	with gpuprobe.range("step", step=3, phase="train"):      # a range; they nest
		...

	@gpuprobe.range("load")                                  # each call of the function is one
	def load(path): ...

	gpuprobe.push("step"); ...; gpuprobe.pop()               # the same by hand
	gpuprobe.mark("checkpoint", bytes=4096)                  # a moment
	gpuprobe.counter("queue length", 17)                     # a value that changes over time, an integer

One file that needs nothing but ctypes: copy it, or set PYTHONPATH to where `make install` put it. Where nobody listens a call
costs a look at a number. Ranges belong to the thread that pushes them, so a range must not be left by `await`.

The probes are those of gpuprobe.h (USDT, provider gpuprobe), in a small library that this file carries and loads from
memory. Where that can't be (another processor, no memfd), nothing is done; `available` says so.
"""
import base64
import contextlib
import ctypes
import os
import platform
import zlib

_PROBES = ("push", "pop", "mark", "counter")
_MACHINE, _LIBRARY = "", ""  # filled in by make


class _Nobody:
	"""Listens, where there are no probes."""
	value = 0


def _load():
	if not _LIBRARY or platform.machine() != _MACHINE:
		return None
	try:
		descriptor = os.memfd_create("gpuprobe-python")
		try:
			code = zlib.decompress(base64.b64decode(_LIBRARY))
			with open(descriptor, "wb", closefd=False) as file:
				file.write(code)
			library = ctypes.PyDLL(f"/proc/self/fd/{descriptor}")
		finally:
			os.close(descriptor)
		library.gpuprobe_python_listeners.restype = ctypes.POINTER(ctypes.c_ushort)
		library.gpuprobe_python_listeners.argtypes = [ctypes.c_int]
		for name, types in zip(_PROBES, ([ctypes.c_char_p] * 2, [], [ctypes.c_char_p] * 2, [ctypes.c_char_p, ctypes.c_longlong])):
			function = getattr(library, "gpuprobe_python_" + name)
			function.argtypes, function.restype = types, None
		return library
	except (OSError, AttributeError, ValueError, zlib.error):
		return None


_library = _load()
available = _library is not None
_push_listeners, _pop_listeners, _mark_listeners, _counter_listeners = (
	_library.gpuprobe_python_listeners(number).contents if _library else _Nobody() for number in (0, 1, 2, 3))


def _text(name):
	return str(name).encode("utf-8", "replace").replace(b"\0", b" ")


def _values(values):
	return _text(" ".join(f"{key}={value}" for key, value in values.items())) if values else None


def push(name, **values):
	"""A range begins in this thread; values are shown with it."""
	if _push_listeners.value:
		_library.gpuprobe_python_push(_text(name), _values(values))


def pop():
	"""The range that this thread pushed last ends."""
	if _pop_listeners.value:
		_library.gpuprobe_python_pop()


def mark(name, **values):
	"""A moment."""
	if _mark_listeners.value:
		_library.gpuprobe_python_mark(_text(name), _values(values))


def counter(name, value):
	"""A value from now on, an integer of 64 bits."""
	if _counter_listeners.value:
		_library.gpuprobe_python_counter(_text(name), int(value))


class range(contextlib.ContextDecorator):
	"""As a context manager a range of its block, as a decorator one of each call; also when an exception leaves it."""

	def __init__(self, name, **values):
		self._name, self._range_values = name, values

	def __enter__(self):
		push(self._name, **self._range_values)
		return self

	def __exit__(self, *_):
		pop()
		return False
