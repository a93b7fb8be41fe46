# SPDX-License-Identifier: GPL-2.0-or-later
"""A thread that waits again and again at each of these: both ends of a TCP connection, one of IPv6, one at any address of IPv4 as
IPv6 has it, a UNIX socket that listens, both ends of a connection
of which the client has a name too, and an epoll in which a socket that listens comes last. Prints the ports of TCP.
	serves_and_asks.py FOLDER"""
import os
import select
import socket
import sys
import threading


def pair(family, address, name=None):
	"""(what listens, the accepted end, the client's)"""
	listening = socket.socket(family)
	if family == socket.AF_INET6:
		listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
	listening.bind(address)
	listening.listen()
	client = socket.socket(family)
	if name:
		client.bind(name)
	client.connect(listening.getsockname())
	return listening, listening.accept()[0], client


def again_and_again(socket_, call):
	socket_.settimeout(None)
	socket_.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, (0).to_bytes(8, "little") + (100000).to_bytes(8, "little"))
	while True:
		try:
			call()
		except OSError:
			pass


folder = sys.argv[1]
tcp, tcp_accepted, tcp_client = pair(socket.AF_INET, ("127.0.0.1", 0))
six, six_accepted, six_client = pair(socket.AF_INET6, ("::1", 0))
mapped, mapped_accepted, _ = pair(socket.AF_INET6, ("::ffff:0.0.0.0", 0))
unix, unix_accepted, unix_client = pair(socket.AF_UNIX, folder + "/server", folder + "/client")
reads, writes = os.pipe()
polled = select.epoll()
for member in (os.eventfd(0), reads, tcp_client.fileno(), tcp_accepted.fileno(), tcp.fileno()):
	polled.register(member, select.EPOLLIN)
for each in (tcp_accepted, tcp_client, six_accepted, mapped_accepted, unix_accepted, unix_client):
	threading.Thread(target=again_and_again, args=(each, lambda each=each: each.recv(1)), daemon=True).start()
threading.Thread(target=again_and_again, args=(unix, unix.accept), daemon=True).start()
print(tcp.getsockname()[1], six.getsockname()[1], mapped.getsockname()[1], tcp_client.getsockname()[1], flush=True)
while True:
	polled.poll(0.1)
