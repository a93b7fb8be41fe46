# SPDX-License-Identifier: GPL-2.0-or-later
"""Says "ready", and for each line of stdin, which names cases, does them: at each hit() it notes its own stack and calls getppid() of the C
library, where a probe stands. Then writes all notes into the file argv[1], as JSON: [[tid, [[name, file, line], ...innermost first], [...]]."""
import functools
import json
import os
import sys
import threading
import time

try:
	import asyncio
except ImportError:  # its parts in C want an interpreter whose symbols all may use
	asyncio = None

notes = []


def taken(frame):
	"""Before 3.11 code knows its own name only."""
	found = []
	while frame:
		code = frame.f_code
		found.append((getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno))
		frame = frame.f_back
	return found


def hit(value=None):
	notes.append((threading.get_native_id(), taken(sys._getframe()))); os.getppid()
	return 0


class Thing:
	def __init__(self, depth):
		self.depth = depth
		hit()

	@property
	def shown(self):
		return hit()

	@staticmethod
	def called(function):
		return function()

	def __lt__(self, other):
		hit()
		return self.depth < other.depth

	def __del__(self):
		hit()


def größe_名():
	return [hit() for _ in range(2)] + list(map(hit, range(2))) + [sorted([2, 1], key=lambda value: hit())]


def decorated(function):
	@functools.wraps(function)
	def inside(*arguments):
		return function(
			*arguments)
	return inside


@decorated
def plain(n):
	for i in range(n):
		größe_名()
		Thing(i).shown
		Thing.called(
			lambda:
			hit()
		)
		sorted([Thing(2), Thing(1)])
		functools.reduce(lambda a, b: hit(), range(3))


def numbers(n):
	for i in range(n):
		hit()
		yield i


def delegating(n):
	result = yield from numbers(n)
	try:
		yield n
	finally:
		hit()


def generators(n):
	for _ in range(n):
		for _ in delegating(3):
			hit()
		pausing = delegating(2)
		next(pausing)
		sum(numbers(2))


async def awaited(n):
	if n:
		return await awaited(n - 1)
	await asyncio.sleep(0)
	hit()


async def several(n):
	await asyncio.gather(*(awaited(i % 5) for i in range(n)))


def coroutines(n):
	asyncio.run(several(n))


def fails(depth):
	if depth:
		try:
			fails(depth - 1)
		finally:
			hit()
	raise ValueError("some text")


def exceptions(n):
	for _ in range(n):
		try:
			fails(4)
		except ValueError:
			hit()
		else:
			raise AssertionError


def down(depth):
	return down(depth - 1) if depth else hit()


def down_by_c(depth):
	return list(map(down_by_c, [depth - 1])) if depth else [hit()]


def deep(n):
	for _ in range(n):
		down(30)
		down_by_c(12)


def very_deep(n):
	sys.setrecursionlimit(3000)
	for _ in range(n):
		down(1000)


def made(n):
	"""Code that goes when it was run, so that the next one comes to lie where it was: names, files and lines of it change."""
	for i in range(n):
		text = "\n" * (i % 7) + f"def made_{i % 5}(hit):\n" + "\tx = 1\n" * (i % 11) + "\thit()\n"
		space = {}
		exec(compile(text, f"made-{i % 3}.py", "exec"), space)
		space[f"made_{i % 5}"](hit)
		del space


def churned(n):
	"""Code that ends far more often than it is looked at, for n seconds."""
	end = time.monotonic() + n
	while time.monotonic() < end:
		for i in range(1000):
			exec(compile(f"x = {i}", f"churned-{i % 3}.py", "exec"), {})
		made(1)


def place_of(code):
	"""Where it lies, and all that may differ in what is reborn."""
	return id(code), id(code.co_name), id(code.co_filename), id(code.co_lnotab if sys.version_info < (3, 10) else code.co_linetable)


def lines_of(distance):
	space = {}
	exec(compile("def reborn(hit):\n\thit()\n" + "\n" * distance + "\thit()\n", "reborn.py", "exec"), space)
	return space["reborn"].__code__


def reborn(n):
	"""Code that comes to lie just where other code lay, with all that it refers to, n times each in turn with another name, another file, other
	lines, and nothing else that differs."""
	table = "co_lnotab" if sys.version_info < (3, 10) else "co_linetable"
	first, tables = lines_of(5), [bytearray(getattr(lines_of(distance), table)) for distance in (5, 9)]
	kept = {text: text for text in [first.co_name, first.co_filename, *(f"reborn-{i:0100}" for i in range(4))]}
	for key, make in (("co_name", lambda i: f"reborn-{i:0100}"), ("co_filename", lambda i: f"reborn-{i:0100}"), (table, lambda i: bytes(tables[i // 2]))):
		last, times = {}, 0
		for i in range(100 * n):
			code = first.replace(**{key: make(i % 4)})
			function = type(reborn)(code, {})
			function(hit)
			for note in notes[-2:]:  # the texts of the code would live on in them
				name, file, line = note[1][1]
				note[1][1] = kept[name], kept[file], line
			del note, name, file
			said, place = hash(getattr(code, key)), place_of(code)
			times += last.get(place, said) != said
			last[place] = said
			del code, function
			if times >= n:
				break
		else:
			raise AssertionError(f"{times} of {n} code objects lay where others had, {key}")


def long_code(n):
	"""A table of lines that is longer than usual."""
	text = "def long_one(hit):\n" + "\tx = 1\n\ty = x + 1\n" * 1500 + "\thit()\n"
	space = {}
	exec(compile(text, "long.py", "exec"), space)
	for _ in range(n):
		space["long_one"](hit)


def many(n):
	"""More code than is read meanwhile."""
	for i in range(n):
		space = {}
		exec(compile(f"def one_of_many_{i}(hit):\n\thit()\n", f"many-{i}.py", "exec"), space)
		space[f"one_of_many_{i}"](hit)


def veiled(word, real, other):
	notes.append((threading.get_native_id(), taken(sys._getframe()))); word.value = other; os.getppid(); word.value = real


def unreadable(n):
	"""While the probe is hit the code of a function does not say that it is code."""
	import ctypes
	word = ctypes.c_size_t.from_address(id(veiled.__code__) + 8)
	for _ in range(n):
		veiled(word, id(type(veiled.__code__)), id(int))


def greenlets(n):
	import greenlet

	def inside(number, depth):
		if depth:
			return inside(number, depth - 1)
		for _ in range(n):
			hit()
			main.switch(number)
			größe_name_of[number % 2]()

	größe_name_of = [größe_名, lambda: down(number_of_frames)]
	number_of_frames, main = 3, greenlet.getcurrent()
	workers = [greenlet.greenlet(inside) for _ in range(6)]
	for _ in range(n + 1):
		for number, worker in enumerate(workers):
			if not worker.dead:
				worker.switch(number, number * 3)
				hit()


def with_torch(n):
	"""Its callbacks come from C++, those of backward() from a thread that has not made a call of Python."""
	import torch
	layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))

	class Seen(torch.autograd.Function):
		@staticmethod
		def forward(context, value):
			hit()
			return value * 2

		@staticmethod
		def backward(context, gradient):
			hit()
			return gradient * 2

	layers[1].register_forward_hook(lambda *arguments: hit() or None)
	layers[0].register_full_backward_hook(lambda *arguments: hit() or None)
	for _ in range(n):
		value = torch.ones(2, 4, requires_grad=True)
		value.register_hook(lambda gradient: hit() or gradient)
		Seen.apply(layers(value)).sum().backward()
	hit()


def with_jax(n):
	"""Compiled code calls back from threads of its own."""
	import jax
	import numpy

	def seen(value):
		hit()
		return numpy.asarray(value) + 1

	@jax.jit
	def compiled(value):
		return jax.pure_callback(seen, jax.ShapeDtypeStruct((), numpy.float32), value * 2) + 1

	for i in range(n):
		hit()
		compiled(numpy.float32(i)).block_until_ready()


def threads(n):
	all_threads = [threading.Thread(target=plain, args=(n,)) for _ in range(4)]
	for thread in all_threads:
		thread.start()
	for thread in all_threads:
		thread.join()


def interpreters(n):
	"""Notes of the code that runs in the other one come by a pipe."""
	try:
		import _xxsubinterpreters as module
	except ImportError:
		import _interpreters as module
	other = module.create()
	reader, writer = os.pipe()
	inside = f"""
import os, sys, _thread
def taken(frame):
	found = []
	while frame:
		found.append((getattr(frame.f_code, "co_qualname", frame.f_code.co_name), frame.f_code.co_filename, frame.f_lineno))
		frame = frame.f_back
	return found
def inner():
	os.write({writer}, repr((_thread.get_native_id(), taken(sys._getframe()))).encode() + b"\\n"); os.getppid()
inner()
"""
	for _ in range(n):
		module.run_string(other, inside)
		note = b""
		while not note.endswith(b"\n"):
			note += os.read(reader, 65536)
		notes.append(eval(note))
	module.destroy(other)


def forked(n):
	pid = os.fork()
	if not pid:
		notes.clear()
		while not os.path.exists(sys.argv[1] + ".stop"):
			plain(n)
			made(10 * n)
		write(sys.argv[1] + ".child")
		os._exit(0)
	os.waitpid(pid, 0)


def write(path):
	with open(path, "w", encoding="utf-8") as file:
		json.dump(notes, file)


CASES = {"plain": 60, "generators": 60, "coroutines": 100, "exceptions": 60, "deep": 20, "very_deep": 3, "made": 400, "churned": 3, "reborn": 300, "long_code": 3, "many": 3000, "unreadable": 50,
	 "greenlets": 40, "with_torch": 50, "with_jax": 50,
	 "threads": 20, "interpreters": 5, "forked": 1}
print("ready", flush=True)
for line in sys.stdin:
	for case in line.split():
		globals()[case](CASES[case])
	write(sys.argv[1])
	print("done", flush=True)
