# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of gpuprobe open share: traces, and one that serves them."""
import ctypes
import re

from lib import *

PORT = 9001
PAGE = "https://ui.perfetto.dev"
GOLDEN = ROOT / "tests" / "golden" / "launch_stacks.ndjson"
CLONE_NEWNET = 0x40000000
# What would lead elsewhere: no desktop, no ssh, nobody behind sudo.
BARE = {name: value for name, value in os.environ.items() if not re.match("DISPLAY|WAYLAND_|SSH_|SUDO_|XDG_", name)}


def use_own_network():
	"""The port is a fixed one: each run of these tests has a network of its own, as others may run beside it."""
	if "--list" in sys.argv or os.geteuid() != 0:
		return
	if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) or subprocess.run(["ip", "link", "set", "lo", "up"]).returncode:
		print("# no network of its own: what listens on the same port meanwhile is in the way", file=sys.stderr)


@functools.lru_cache(maxsize=None)
def traces():
	"""A folder with the same trace in each format."""
	folder = BUILD / "traces"
	folder.mkdir()
	folder.chmod(0o755)
	outputs = [folder / name for name in ("t.pftrace", "t.pftrace.gz", "t.json", "t.json.gz", "t.gpr", "t.sqlite")]
	result = gpuprobe("export", "-q", GOLDEN, *(word for output in outputs for word in ("-o", output)), "-o", f"{folder}/logdir/")
	check_equal(result.returncode, 0, "exit status of export: " + result.stderr)
	return folder


class Opened:
	"""A running `gpuprobe open` whose links are there."""

	def __init__(self, process, count):
		self.process = process
		self.links = [process.stdout.readline().strip() for _ in range(count)]
		if not self.links[-1]:
			raise Failure(f"no link: {process.communicate()[1]}")
		self.paths = [link.split(f"127.0.0.1:{PORT}")[-1] for link in self.links]
		self.path = self.paths[0]

	def end(self, status=0):
		said = self.process.communicate(timeout=PATIENCE_S)[1]
		check_equal(self.process.returncode, status, "exit status: " + said)
		return said


@contextlib.contextmanager
def opened(*files, count=None, prefix=(), environment=BARE, arguments=()):
	with running([*prefix, GPUPROBE, "open", *files, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
		yield Opened(process, count or len(files))
