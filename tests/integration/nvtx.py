# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of NVTX share: programs built against its real headers, and one that does what it is told."""
from gpu import *


def nvtx_include():
	places = [ROOT / "build/sim/headers/nvidia/cu13/include", *sorted(pathlib.Path("/usr/local").glob("cuda*/include"))]
	for place in places:
		if (place / "nvtx3/nvToolsExt.h").exists():
			return place
	raise Skip("no headers of NVTX: a CUDA toolkit has them, scripts/deps.sh sim fetches them")


def build_nvtx(source, *flags, name=None):
	return build(source, "-isystem", nvtx_include(), *flags, "-ldl", name=name)


class NvtxUser:
	"""A running programs/nvtx_user.c."""

	def __init__(self, process):
		self.process = process
		self.pid = json.loads(process.stdout.readline())["pid"]

	def do(self, word, index=0, words=""):
		"""What it says of one of its calls."""
		self.tell(f"{word} {index} {words}")
		return self.answer(word)

	def answer(self, word="what it was told"):
		line = self.process.stdout.readline()
		check(line, f"nvtx_user gave no answer to {word}")
		return json.loads(line)

	def tell(self, line):
		self.process.stdin.write(line + "\n")
		self.process.stdin.flush()

	def load_library(self):
		"""The same code as a library without symbols."""
		library = build_nvtx("nvtx_user.c", "-DLIBRARY", "-shared", "-fPIC", "-s", name="libnvtx_user.so")
		symbols = subprocess.run([need("nm"), str(library)], capture_output=True, text=True)
		check("nvtxGlobals" not in symbols.stdout, "the library has symbols: nothing is shown")
		self.tell(f"library {library}")
		check_equal(self.answer(), {"value": 1}, "answer to library")

	def finish(self):
		"""It ends by itself."""
		self.process.stdin.close()
		check_equal(self.process.wait(PATIENCE_S), 0, "exit status of nvtx_user")


@contextlib.contextmanager
def nvtx_user(*flags, name=None, environment={}):
	program = build_nvtx("nvtx_user.c", *flags, name=name)
	with running([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
		     env={**os.environ, **environment}) as process:
		yield NvtxUser(process)


@contextlib.contextmanager
def cuda_nvtx_user(**options):
	"""One with the simulated CUDA, so that an agent is put in."""
	need_sim()
	with nvtx_user(f"-L{SIM}", "-Wl,--no-as-needed", "-l:libcudart.so.13", "-l:libcuda.so.1", f"-Wl,-rpath,{SIM}",
		       name="nvtx_user_cuda", **options) as user:
		yield user


RANGES = ("range", "process_range", "mark")


def ranges_of(records):
	"""In the order of their starts."""
	return sorted((record for record in records if record["kind"] in RANGES), key=lambda record: record["ts"])


def plan_of(user):
	return gpuprobe("check", "-p", user.pid).stdout
