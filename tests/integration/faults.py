# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of faults share: places to write to, a target that must survive, what an error looks like."""
from lib import *

NOBODY = 65534


@contextlib.contextmanager
def folder():
	with tempfile.TemporaryDirectory(prefix="gpuprobe-test-") as path:
		os.chmod(path, 0o755)
		yield path


@contextlib.contextmanager
def small_file_system(path, size):
	os.makedirs(path)
	if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", path], capture_output=True).returncode:
		raise Skip("mount is not permitted")
	try:
		yield path
	finally:
		subprocess.run(["umount", "-l", path], check=True)


@contextlib.contextmanager
def target():
	"""A program that is to survive what happens, with right results."""
	with truth(program=build("steady.c")) as steady:
		steady.go()
		yield steady
		check_equal(steady.go()["failures"], 0, "wrong results in the target")
		check_equal(steady.finish(), 0, "exit status of the target")


def check_refused(result, *parts, code=1):
	"""One clear error: what is said, and how it ends."""
	check_equal(result.returncode, code, "exit status: " + result.stderr)
	check(result.stderr.startswith("gpuprobe: "), "error: " + result.stderr)
	check(len(result.stderr.splitlines()) <= 3, "a long error: " + result.stderr)
	check_equal(result.stdout, "", "standard output")
	for part in parts:
		check_in(part, result.stderr, "the error")


def refused(*words, says=(), code=1, **options):
	check_refused(gpuprobe(*words, **options), *says, code=code)
