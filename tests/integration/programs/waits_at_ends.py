# SPDX-License-Identifier: GPL-2.0-or-later
"""
Waits at files of which other processes have the other end, again and again: a UNIX socket that is connected to the one that PATH names (the
descriptor of a pipe is its standard input), and in one poll, one select and one poll of five each.

	waits_at_ends.py PATH	prints "ready", ends when it is killed
"""
import os
import select
import socket
import sys
import threading

SHORT_S = 0.05

peer = socket.socket(socket.AF_UNIX)
peer.connect(sys.argv[1])
lonely = [os.pipe()[0] for _ in range(5)]


def again(wait):
	def loop():
		while True:
			wait()
	threading.Thread(target=loop, daemon=True).start()


def polled(*descriptors):
	poll = select.poll()
	for descriptor in descriptors:
		poll.register(descriptor, select.POLLIN)
	return lambda: poll.poll(SHORT_S * 1000)


peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, b"\0" * 8 + (50000).to_bytes(8, "little"))


def receive():
	try:
		peer.recv(1)
	except BlockingIOError:
		pass


again(receive)
again(polled(0, peer.fileno()))
again(polled(*lonely))
again(lambda: select.select([0], [], [peer], SHORT_S))
print("ready", flush=True)
sys.stdin.buffer.read(1)
