#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds for fuzz_sqlite: seed_sqlite.py FOLDER. Small databases in the shape of Nsight Systems' exports: an old one, one with the tables
that came later, one whose tables say no types."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from nsys_export import LATER, LATER_ROWS, OLD, ROWS, make  # noqa: E402

SMALL = ["PRAGMA page_size=512"]


def untyped(columns):
	return re.sub(r" (INTEGER|TEXT|REAL)( NOT NULL)?( PRIMARY KEY)?", "", columns)


def main():
	folder = pathlib.Path(sys.argv[1])
	everything, rows = {**OLD, **LATER}, {**ROWS, **LATER_ROWS}
	make(folder / "seed-old", before=SMALL)
	make(folder / "seed-later", everything, rows, SMALL)
	make(folder / "seed-untyped", {table: untyped(columns) for table, columns in everything.items()}, rows, SMALL)
	# One table each: what is changed is more likely to matter.
	for table in everything:
		some = {name: columns for name, columns in everything.items() if name in (table, "StringIds")}
		make(folder / f"seed-{table}", {name: untyped(columns) for name, columns in some.items()}, rows, SMALL)


main()
