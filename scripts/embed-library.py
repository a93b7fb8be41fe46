#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints a Python module with a library inside: embed-library.py MODULE LIBRARY."""
import base64
import pathlib
import platform
import sys
import zlib

PLACE = '_MACHINE, _LIBRARY = "", ""  # filled in by make\n'

module, library = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), pathlib.Path(sys.argv[2]).read_bytes()
if module.count(PLACE) != 1:
	sys.exit(f"{sys.argv[1]}: the place for the library is missing: {PLACE}")
text = base64.b64encode(zlib.compress(library, 9)).decode()
lines = "\n".join(f'\t"{text[at:at + 116]}"' for at in range(0, len(text), 116))
sys.stdout.write(module.replace(PLACE, f'_MACHINE = "{platform.machine()}"\n_LIBRARY = (\n{lines}\n)\n'))
