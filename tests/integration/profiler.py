# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of tensorflow.ProfilerService: gRPC by hand over python3-h2, so that tests can also misbehave."""
import socket
import struct
import urllib.parse

from lib import *

# Where Debian's python3-h2 is, for another python3 in front of /usr/bin; it is all Python.
sys.path.append("/usr/lib/python3/dist-packages")
try:
	import h2.config
	import h2.connection
	import h2.events
	import h2.settings
except ImportError:
	h2 = None

SERVICE = "/tensorflow.ProfilerService/"
OK, INVALID, DEADLINE, NOT_FOUND, EXHAUSTED, PRECONDITION, UNIMPLEMENTED, INTERNAL, UNAVAILABLE = 0, 3, 4, 5, 8, 9, 12, 13, 14


def need_h2():
	if not h2:
		raise Skip("python3-h2 is not installed")


# ---- protocol buffers -------------------------------------------------------------------------------------

def varint(number):
	data = b""
	while True:
		data += bytes([number & 0x7F | (0x80 if number > 0x7F else 0)])
		number >>= 7
		if not number:
			return data


def field(number, value):
	if isinstance(value, int):
		return varint(number << 3) + varint(value)
	data = value.encode() if isinstance(value, str) else value
	return varint(number << 3 | 2) + varint(len(data)) + data


def fields(data):
	"""[(number, value)]; values are numbers and bytes."""
	at = 0

	def number():
		nonlocal at
		value = shift = 0
		while True:
			byte = data[at]
			at += 1
			value |= (byte & 0x7F) << shift
			shift += 7
			if byte < 0x80:
				return value

	found = []
	while at < len(data):
		tag = number()
		if tag & 7 == 0:
			found.append((tag >> 3, number()))
		else:
			check_equal(tag & 7, 2, "wire type")
			size = number()
			found.append((tag >> 3, data[at:at + size]))
			at += size
	return found


def profile_request(duration_ms=300, session="s1", levels=(2, 1, 0), start_ns=0, options={}):
	"""levels None: no options at all."""
	message = field(1, duration_ms) + field(6, session) + field(7, "localhost:9012")
	if levels is not None:
		host, device, python = levels
		inside = field(2, host) + field(3, device) + field(4, python) + field(5, 1) + field(8, start_ns) + field(9, duration_ms)
		for key, value in options.items():
			kind = 2 if isinstance(value, bool) else 3 if isinstance(value, int) else 1
			inside += field(12, field(1, key) + field(2, field(kind, value)))
		message += field(4, inside)
	return message


# ---- gRPC -------------------------------------------------------------------------------------------------

class Answer:
	def __init__(self):
		self.status = None
		self.why = ""
		self.data = b""
		self.over = False

	@property
	def message(self):
		check_equal(self.data[:1], b"\0", "compression of the answer")
		check_equal(struct.unpack(">I", self.data[1:5])[0], len(self.data) - 5, "length of the answer")
		return self.data[5:]

	@property
	def files(self):
		"""tool_data of a ProfileResponse: name -> bytes."""
		return {dict(fields(value))[1].decode(): dict(fields(value))[2] for number, value in fields(self.message) if number == 6}


class Client:
	def __init__(self, port, host="127.0.0.1", receive_bytes=None):
		"""receive_bytes: what its socket takes without being read."""
		self.socket = socket.socket()
		self.socket.settimeout(60)
		if receive_bytes:
			self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
		self.socket.connect((host, port))
		self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
		self.h2.initiate_connection()
		self.answers = {}
		self.closed = False
		self.takes = True  # gives room for more data
		self.flush()

	def flush(self):
		self.socket.sendall(self.h2.data_to_send())

	def begin(self, method, message=b"", timeout=None, path=None, end=True, headers={}, frame=None):
		"""The number of the call."""
		stream = self.h2.get_next_available_stream_id()
		words = {":method": "POST", ":scheme": "http", ":path": path or SERVICE + method, ":authority": "localhost",
			 "content-type": "application/grpc", "te": "trailers"}
		if timeout:
			words["grpc-timeout"] = timeout
		words.update(headers)
		self.answers[stream] = Answer()
		self.h2.send_headers(stream, list(words.items()))
		data = frame if frame is not None else b"\0" + struct.pack(">I", len(message)) + message
		for at in range(0, len(data), 16384):
			self.h2.send_data(stream, data[at:at + 16384])
		if end:
			self.h2.end_stream(stream)
		self.flush()
		return stream

	def take(self, event):
		answer = self.answers.get(getattr(event, "stream_id", None))
		if isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
			headers = dict(event.headers)
			if "grpc-status" in headers:
				answer.status = int(headers["grpc-status"])
				answer.why = urllib.parse.unquote(headers.get("grpc-message", ""))
		elif isinstance(event, h2.events.DataReceived):
			answer.data += event.data
			if self.takes:
				self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
		elif isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
			answer.over = True
		elif isinstance(event, h2.events.ConnectionTerminated):
			self.closed = True

	def read(self, timeout=PATIENCE_S):
		"""What comes next; False: nothing in this time."""
		self.socket.settimeout(timeout)
		try:
			data = self.socket.recv(65536)
		except socket.timeout:
			return False
		except ConnectionError:
			data = b""
		if not data:
			self.closed = True
			for answer in self.answers.values():
				answer.over = True
			return True
		for event in self.h2.receive_data(data):
			self.take(event)
		self.flush()
		return True

	def wait(self, stream, timeout=PATIENCE_S):
		end = time.monotonic() + timeout
		while not self.answers[stream].over:
			check(time.monotonic() < end and self.read(max(0.1, end - time.monotonic())), f"no answer in {timeout} s")
		return self.answers[stream]

	def call(self, *arguments, **options):
		return self.wait(self.begin(*arguments, **options))

	def cancel(self, stream):
		self.h2.reset_stream(stream, 8)
		self.flush()

	def close(self):
		self.socket.close()


class Server:
	"""A running `gpuprobe serve`."""

	def __init__(self, process):
		self.process = process
		self.said = ""
		self.port = int(self.wait_for(" at 127.0.0.1:").split(" at 127.0.0.1:")[1].split(":")[0])

	def wait_for(self, words):
		"""The next line on stderr that holds them."""
		while True:
			line = self.process.stderr.readline()
			check(line, f"gpuprobe serve ended without {words!r}: {self.said}")
			self.said += line
			if words in line:
				return line

	def children(self):
		return pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()

	def stop(self):
		self.process.send_signal(signal.SIGINT)
		_, rest = self.process.communicate(timeout=PATIENCE_S)
		self.said += rest
		return self.process.returncode


@contextlib.contextmanager
def serving(pid, *arguments, environment={}, **options):
	need_h2()
	with tempfile.TemporaryDirectory(prefix="gpuprobe-serve-test-") as folder:
		command = [GPUPROBE, "serve", "-p", pid, "--port", 0, *arguments]
		with running(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": folder, **environment},
			     **options) as process:
			server = Server(process)
			server.folder = pathlib.Path(folder)
			yield server
			if process.poll() is None:
				check_equal(server.stop(), 0, f"exit status of serve: {server.said}")
			check_equal(list(server.folder.iterdir()), [], "what was left behind")
