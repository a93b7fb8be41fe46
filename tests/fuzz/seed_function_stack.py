#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of the C library, into the folder given: fuzz_function_stack starts from them."""
import pathlib
import subprocess
import sys

LIBRARY = "/lib/x86_64-linux-gnu/libc.so.6"

folder = pathlib.Path(sys.argv[1])
bytes_of_file = pathlib.Path(LIBRARY).read_bytes()
table = subprocess.run(["readelf", "-sW", "--dyn-syms", LIBRARY], capture_output=True, text=True, check=True).stdout
functions = [words for words in map(str.split, table.splitlines()) if len(words) >= 8 and words[3] == "FUNC" and words[2].isdigit()]
for words in functions[::40]:
	# Its code is loaded where it stands in the file.
	address, size = int(words[1], 16), int(words[2])
	if 0 < size < 2000:
		(folder / f"libc-{address:x}").write_bytes(bytes_of_file[address:address + size])
