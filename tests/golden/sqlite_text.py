# SPDX-License-Identifier: GPL-2.0-or-later
"""A database as text: tables by name, rows in their order, with the names that numbers of StringIds stand for."""
import contextlib
import sqlite3

ENUMS = "ENUM_"  # the same in every file
OF_THIS_RUN = {"EXPORT_TIME_UTC", "EXPORT_PRODUCT_VERSION"}
STRING_COLUMNS = {"nameId", "demangledName", "shortName", "mangledName", "CpuInstruction", "module", "symbol"}


def table_lines(database, strings, table):
	yield table
	rows = database.execute(f'SELECT * FROM "{table}"')
	names = [column[0] for column in rows.description]
	for row in rows:
		if row[0] in OF_THIS_RUN:
			continue
		cells = ((name, strings[value] if name in STRING_COLUMNS and value is not None else value) for name, value in zip(names, row))
		yield "\t" + ", ".join(f"{name}={value!r}" for name, value in cells if value is not None)


def database_lines(path):
	with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro&nolock=1&immutable=1", uri=True)) as database:
		strings = dict(database.execute("SELECT id, value FROM StringIds"))
		for table, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
			if not table.startswith(ENUMS) and table != "StringIds":
				yield from table_lines(database, strings, table)
