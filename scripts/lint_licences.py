# SPDX-License-Identifier: GPL-2.0-or-later
"""Licences: every source has an SPDX line in its first lines, the one of its folder; the text of every licence that is
used is in LICENSES/; every library that is linked stands in docs/third-party.md.

Files that cannot carry a line (documentation, expected outputs, fixtures, pictures) are covered by REUSE.toml.
"""
import re

# Path or its beginning -> licence; the first that fits.
LICENCES = (
    # What the agent (MIT) shares with the kernel (GPL).
    ("bpf/record.h", "GPL-2.0-or-later OR MIT"),
    ("bpf/record.def", "GPL-2.0-or-later OR MIT"),
    ("bpf/record_facts.def", "GPL-2.0-or-later OR MIT"),
    ("bpf/record_enums.def", "GPL-2.0-or-later OR MIT"),
    ("bpf/unwind_table.h", "GPL-2.0-or-later OR MIT"),
    ("bpf/python_layout.h", "GPL-2.0-or-later OR MIT"),
    # What runs in other people's processes.
    ("gpu/", "MIT"),
    ("", "GPL-2.0-or-later"),
)
SUFFIXES = {".c", ".h", ".cc", ".cu", ".def", ".S", ".proto", ".mjs", ".go", ".rs", ".py", ".sh", ".sql", ".mk", ".yml"}
NAMES = {"Makefile"}
FIRST_LINES = 3
# In two pieces, so that readers of such lines (reuse lint) do not take these for one.
TAG = "SPDX-License-" + "Identifier:"
SPDX = re.compile(TAG + r"\s*(.*?)\s*(?:\*/)?\s*$")


def licence_of(path):
    return next(licence for start, licence in LICENCES if str(path).startswith(start))


def wants_line(path, text):
    return path.suffix in SUFFIXES or path.name in NAMES or text.startswith("#!")


def check_sources(root, paths, found):
    for path in paths:
        if path.parts[0] == "LICENSES":
            continue
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if not wants_line(path, text):
            continue
        lines = [match[1] for match in map(SPDX.search, text.split("\n")[:FIRST_LINES]) if match]
        if lines != [licence_of(path)]:
            found(path, 1, f"its licence is {lines[0]}, not {licence_of(path)}" if lines else
                  f"no {TAG} {licence_of(path)} in its first {FIRST_LINES} lines")


def check_texts(root, found):
    for _, licence in LICENCES:
        for name in licence.split(" OR "):
            if not (root / "LICENSES" / f"{name}.txt").is_file():
                found("scripts/lint_licences.py", 1, f"LICENSES/{name}.txt is missing")


def check_libraries(root, found):
    """`-lNAME` of LIBS in the Makefile, and archives that are asked for where they are."""
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    notice = (root / "docs" / "third-party.md").read_text(encoding="utf-8")
    libraries = "\n".join(re.findall(r"(?m)^LIBS\s*:?\+?=(.*)$", makefile))
    names = re.findall(r"-l(\S+)", libraries) + re.findall(r"\$\(call have_archive,(\w+)\)", libraries)
    if not names:
        found("Makefile", 1, "no libraries in LIBS: scripts/lint_licences.py looks for them there")
    for name in names:
        if not re.search(rf"\blib{re.escape(name)}\b", notice):
            found("docs/third-party.md", 1, f"lib{name} is linked (Makefile, LIBS), but not in the notice")


def check(root, paths, found):
    check_sources(root, paths, found)
    check_texts(root, found)
    check_libraries(root, found)
