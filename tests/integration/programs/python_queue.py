# SPDX-License-Identifier: GPL-2.0-or-later
"""A producer, a queue, a consumer that computes nearly all that is computed, and waits for more."""
import hashlib
import queue
import threading
import time

def digest(data):
	return hashlib.blake2b(data).hexdigest()


def consumer():
	while True:
		item = work.get()
		for _ in range(120):
			digest(item)


def producer():
	number = 0
	while True:
		work.put(b"%d" % number * 20000)
		number += 1
		time.sleep(0.03)


work = queue.Queue(4)
for function in (consumer, producer):
	threading.Thread(target=function, daemon=True).start()
print("ready", flush=True)
time.sleep(600)
