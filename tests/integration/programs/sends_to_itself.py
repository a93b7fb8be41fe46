# SPDX-License-Identifier: GPL-2.0-or-later
"""Pairs of threads of which one sends to the other over the network of the machine itself, again and again, and one pair of which the one that sends waits for room; beside them a
thread that waits for a timer (timerfd). Prints NAME TID-THAT-WAITS TID-THAT-WAKES of each, then "ready".
	sends_to_itself.py"""
import ctypes
import os
import select
import socket
import threading
import time


def connection(family, address):
	with socket.socket(family) as listening:
		if family == socket.AF_INET6:
			listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
		listening.bind((address, 0))
		listening.listen()
		port = listening.getsockname()[1]
		client = socket.socket(family)
		client.connect((address, port))
		return listening.accept()[0], client


def datagrams():
	ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
	for end in ends:
		end.bind(("127.0.0.1", 0))
	for end, other in (ends, ends[::-1]):
		end.connect(other.getsockname())
	return ends


def own_address():
	"""An address that is none of the loopback device; None: there is none."""
	with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
		try:
			probe.connect(("192.0.2.1", 9))
		except OSError:
			return None
		return probe.getsockname()[0]


def tell(name, wait, wake):
	tids, told = {}, threading.Barrier(3)

	def run(role, work):
		tids[role] = threading.get_native_id()
		told.wait()
		while True:
			work()

	for role, work in (("waits", wait), ("wakes", wake)):
		threading.Thread(target=run, args=(role, work), daemon=True).start()
	told.wait()
	print(name, tids["waits"], tids["wakes"], flush=True)


def tell_pair(name, receiver, sender, wait=None):
	def wake():
		time.sleep(0.01)
		sender.send(b"x")

	tell(name, wait or (lambda: receiver.recv(1)), wake)


def full(receiver, sender):
	"""Who sends has no room until the other one reads."""
	def read():
		time.sleep(0.01)
		receiver.recv(1 << 23)

	tell("full", lambda: sender.sendall(bytes(1 << 23)), read)


def polled(receiver):
	poll = select.epoll()
	poll.register(receiver, select.EPOLLIN)

	def wait():
		poll.poll()
		receiver.recv(1)

	return wait


def timer():
	libc = ctypes.CDLL(None, use_errno=True)
	clock = libc.timerfd_create(1, 0)
	times = (ctypes.c_long * 4)(0, 2000000, 0, 2000000)
	if clock < 0 or libc.timerfd_settime(clock, 0, times, None):
		raise OSError(ctypes.get_errno(), "timerfd")
	poll = select.epoll()
	poll.register(clock, select.EPOLLIN)

	def wait():
		poll.poll()
		os.read(clock, 8)

	tell("timer", wait, lambda: time.sleep(1))


def busy(receiver, sender):
	"""Sends much of the time, so that timers run out while it does."""
	def send():
		for _ in range(20):
			sender.send(bytes(1 << 15))
		time.sleep(0.002)

	tell("busy", lambda: receiver.recv(1 << 20), send)


tell_pair("tcp", *connection(socket.AF_INET, "127.0.0.1"))
tell_pair("udp", *datagrams())
if os.path.exists("/proc/net/if_inet6"):
	tell_pair("six", *connection(socket.AF_INET6, "::1"))
	tell_pair("mapped", *connection(socket.AF_INET6, "::ffff:127.0.0.1"))
if own_address():
	tell_pair("own", *connection(socket.AF_INET, own_address()))
ends = connection(socket.AF_INET, "127.0.0.1")
tell_pair("epoll", *ends, polled(ends[0]))
full(*connection(socket.AF_INET, "127.0.0.1"))
timer()
for _ in range(os.cpu_count()):
	busy(*connection(socket.AF_INET, "127.0.0.1"))
print("ready", flush=True)
time.sleep(3600)
