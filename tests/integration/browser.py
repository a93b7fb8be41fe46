# SPDX-License-Identifier: GPL-2.0-or-later
"""A real browser without a window (Debian's chromium), told what to do by the DevTools protocol over two pipes; and pages for it, of origins
that it takes for others'."""
import fcntl
import http.server
import select
import ssl
import threading

from lib import *

TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm"}
DEVTOOLS_FDS = (3, 4)  # it reads the one, and writes the other


class Browser:
	"""A page in it; `flags` of its command line."""

	def __init__(self, folder, *flags):
		self.folder = folder
		self.flags = flags
		self.number = 0
		self.received = b""
		self.session = None

	def __enter__(self):
		with contextlib.ExitStack() as stack:  # a browser that does not begin leaves nothing either
			self.start(stack)
			target = self.send("Target.createTarget", url="about:blank")["targetId"]
			self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
			self.stack = stack.pop_all()
		return self

	def start(self, stack):
		program = need("chromium")
		theirs, self.commands = os.pipe()
		self.answers, theirs_too = os.pipe()
		for fd in (self.commands, self.answers):
			stack.callback(os.close, fd)
		# Nobody but it has these ends: when it is gone, its pipe ends.
		with contextlib.ExitStack() as ends:
			for fd in (theirs, theirs_too):
				ends.callback(os.close, fd)
			high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100) for fd in (theirs, theirs_too)]
			for fd in high:
				ends.callback(os.close, fd)

			def place():
				for fd, place in zip(high, DEVTOOLS_FDS):
					os.dup2(fd, place)
			self.log = stack.enter_context(open(self.folder / "browser.log", "w+"))
			self.process = stack.enter_context(running(
				[program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
				 f"--user-data-dir={self.folder}/profile", *self.flags, "about:blank"],
				stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, close_fds=False, preexec_fn=place))

	def __exit__(self, *error):
		with self.stack, contextlib.suppress(Failure, subprocess.TimeoutExpired):
			self.session = None
			self.send("Browser.close")
			self.process.wait(10)

	def message(self, deadline):
		while b"\0" not in self.received:
			ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
			part = os.read(self.answers, 1 << 20) if ready else b""
			if not part:
				self.log.seek(0)
				raise Failure(f"the browser says nothing: {self.log.read()[-500:]}")
			self.received += part
		message, _, self.received = self.received.partition(b"\0")
		return json.loads(message)

	def send(self, method, seconds=60, **parameters):
		"""A command of the protocol; what it answers."""
		self.number += 1
		command = {"id": self.number, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
		deadline = time.monotonic() + seconds
		with contextlib.suppress(BrokenPipeError):
			os.write(self.commands, json.dumps(command).encode() + b"\0")
		while (message := self.message(deadline)).get("id") != self.number:
			pass
		check("error" not in message, f"{method}: {message.get('error')}")
		return message["result"]

	def go(self, url):
		check_equal(self.send("Page.navigate", url=url).get("errorText"), None, f"error of {url}")

	def run(self, expression):
		"""The value of an expression of JavaScript in the page, of a promise when it is there."""
		result = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
		check("exceptionDetails" not in result, f"{expression}: {result.get('exceptionDetails')}")
		return result["result"].get("value")


# ---- pages --------------------------------------------------------------------------------------------

def certificate(folder, host):
	"""What nobody but a browser that is told to takes for a host's."""
	files = folder / "page.key", folder / "page.pem"
	subprocess.run([need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout", files[0],
			"-out", files[1], "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"], check=True, capture_output=True)
	return files


@contextlib.contextmanager
def pages(content, headers=(), key_and_certificate=None):
	"""Serves a folder of files, or the one page that a text is; the port."""
	class Handler(http.server.BaseHTTPRequestHandler):
		protocol_version = "HTTP/1.1"

		def do_GET(self):
			path = self.path.split("?")[0].lstrip("/") or "index.html"
			found, kind = content.encode() if isinstance(content, str) else None, "text/html"
			if found is None:
				file = (content / path).resolve()
				found = file.read_bytes() if content.resolve() in file.parents and file.is_file() else None
				kind = TYPES.get(file.suffix, "application/octet-stream")
			self.send_response(404 if found is None else 200)
			for name, value in (("Content-Type", kind), ("Content-Length", len(found or b"")), *headers):
				self.send_header(name, str(value))
			self.end_headers()
			self.wfile.write(found or b"")

		def log_message(self, *words):
			pass
	server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
	server.handle_error = lambda *words: None  # a browser that leaves while something is on its way
	server.daemon_threads = True
	if key_and_certificate:
		context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
		context.load_cert_chain(key_and_certificate[1], key_and_certificate[0])
		# Each connection shakes hands in its thread: one that says nothing holds up nobody.
		server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
	threading.Thread(target=server.serve_forever, daemon=True).start()
	try:
		yield server.server_address[1]
	finally:
		server.shutdown()
		server.server_close()
