# SPDX-License-Identifier: GPL-2.0-or-later
"""Of how much of the time in which GPUs were idle it is known by name why: rows of the report gpu_why (csv, as dicts)."""
import re

UNNAMED = ("", "-", "None")
# Frames outside of the program: interpreter, libc and CUDA, and code without a name.
OF_SYSTEM = re.compile(r"\((libc|libm|libpthread|ld-linux|libcu|libnv|libpython|python3|\[kernel\]|\[vdso\])[^()]*\)|\+0x")


def is_name(row):
	"""Code of the program's own, a call of CUDA, or a wait with what it waits for or who woke it."""
	what, why = row["What"], row["Why"]
	if what in UNNAMED or (why.startswith("runs other code") and row["Known by"] == "inferred"):
		return False
	if why == "runs other code":
		return not OF_SYSTEM.search(what)
	if why == "waits":
		# A sleep waits for its time alone.
		return " woken by " in what or " for " in what or " at " in what or "nanosleep" in what
	return True


def named_percent(rows):
	"""Of the idle time of which anything is known: before the first work and behind the last one nothing is."""
	named = total = 0
	for row in rows:
		ns = int(row["Total Time (ns)"])
		if row["Why"].startswith("not known"):
			continue
		total += ns
		named += ns if is_name(row) else 0
	return 100 * named / total if total else 100
