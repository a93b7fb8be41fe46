#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks what the compiler does not: one line a finding, exit status 1 when there is one.

	scripts/lint.py [--quick]

direction of includes, circles of files (of what is built), who prints, length of files and functions, a header beside every source, trailing white space,
clang-format, cppcheck, links of the documentation, files that comments and documents name, licences. Messages of commits are looked at
too: what is said of them are warnings, since a tree is no worse for them.
--quick: without cppcheck and the commits, and without clang-format where there is none: what needs no more than Python.
"""
import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import lint_circles
import lint_cited
import lint_commits
import lint_licences
import lint_links

ROOT = Path(__file__).resolve().parent.parent
FILE_LINES = 600
FUNCTION_LINES = 60

# Area -> areas that it may include besides itself. "record" is what others know of bpf/:
# record.h, record.def, record_facts.def, record_enums.def, bpf/displaced.h, allocator.h, matmul.h, usdt.h, unwind_table.h.
DIRECTIONS = {
    "base": set(),
    "options": {"base"},
    "elf": {"base", "record"},
    "unwind": {"base", "elf", "code", "record"},
    "net": {"base"},
    "process": {"base", "elf"},
    "python": {"base", "elf", "process", "record"},
    "probe": {"base"},
    "code": {"base", "elf", "record"},
    "cuda": {"base", "elf", "process", "gpu"},
    "inject": {"base", "elf", "process", "gpu"},
    "plan": {"base", "elf", "process", "probe", "code", "record", "gpu"},
    "store": {"base", "record"},
    "nsight": {"base", "record"},
    "import": {"base", "store", "nsight", "record"},
    "resolve": {"base", "elf", "code", "store", "record"},
    "view": {"base", "store", "record"},
    "steps": {"base", "store", "view", "record"},
    "why": {"base", "store", "view", "steps", "record"},
    "reports": {"base", "store", "view", "steps", "why", "record"},
    "explain": {"base", "store", "view", "steps", "why", "reports", "record"},
    "exporters": {"base", "view", "steps", "why", "nsight", "record"},
    "collect": {"base", "elf", "unwind", "python", "process", "probe", "code", "plan", "inject", "cuda", "store", "record", "skeleton", "bpf", "gpu"},
    "session": {"base", "elf", "unwind", "python", "process", "probe", "code", "plan", "inject", "cuda", "store", "record", "collect"},
    "recording": {"base", "elf", "python", "process", "probe", "code", "plan", "inject", "cuda", "store", "record", "collect", "session",
                  "resolve", "options", "gpu"},
    "verbs": {"base", "gpu", "options", "elf", "unwind", "net", "python", "process", "probe", "code", "cuda", "inject", "plan", "store", "import",
              "resolve", "view", "steps", "why", "reports", "explain", "exporters", "collect", "session", "recording", "record"},
    "main": {"base", "options", "verbs"},
    "bpf": {"record"},
    "gpu": {"record"},
    "record": set(),
}
# What comes with headers of others, at whatever distance, is as if included. This may come so, and is not to be included itself.
THROUGH = {
    "session": {"bpf", "gpu"},
    "recording": {"bpf", "unwind"},
    "verbs": {"bpf"},
    "exporters": {"store"},
}
# The rooms of the agent: which of the others each may include. "": what lies before them, agent.c and what it shares with gpuprobe.
AGENT_ROOMS = {
    "": {"base", "cupti", "nvtx", "resident", "stacks"},
    "base": {""},
    "resident": {"", "base"},
    "cupti": {"", "base", "resident", "stacks"},
    "nvtx": {"", "base", "resident"},
    "stacks": {"", "base"},
    "annotate": set(),
}
# What one file may include that its area may not, with the reason.
EXCEPTIONS = {
}
SKELETON = "gpuprobe.skel.h"
NOT_SOURCES = {"build", ".git"}

# Every version of clang-format writes some lines in its own way: Debian 12's is the one that counts.
FORMAT_VERSION = "14"
# clang-format keeps its hands off: tables are aligned by hand.
FORMAT_EXEMPT = {".h", ".def"}

CPPCHECK = [
    "cppcheck", "--quiet", "--enable=warning,performance,portability", "--inline-suppr",
    "--std=c11", "--language=c", "--platform=unix64", "--error-exitcode=0",
    "--template={file}:{line}: cppcheck: {message} [{id}]",
    "--suppress=missingIncludeSystem",
    # It knows neither the cleanup attribute, nor that a NULL err is tested before it is used, nor a pointer
    # to the first member of what was allocated, nor arrays that are filled up to a count.
    "--suppress=resourceLeak", "--suppress=ctunullpointer", "--suppress=memleak", "--suppress=uninitvar",
    # cppcheck 2.17: allocations that are tested together, and words about its own limits.
    "--suppress=nullPointerOutOfMemory", "--suppress=ctunullpointerOutOfMemory",
    "--suppress=normalCheckLevelMaxBranches",
    # A stream of zlib or lzma that writes into an array of the function which runs it (gcc has -Wdangling-pointer).
    "--suppress=autoVariables",
    "-DLIBBPF_OPTS(type,name,...)=struct type name",
    "-D_GNU_SOURCE", "-Iuserspace", "-I.",
]

findings = []


def found(path, line, text):
    findings.append(f"{path}:{line}: {text}")


def sources():
    """Files of the project that git knows or would add, as paths from the root; all but what was built where there is no git."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        return sorted(path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file() and
                      path.relative_to(ROOT).parts[0] not in NOT_SOURCES and "__pycache__" not in path.parts)
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.split("\n")
    return sorted(Path(name) for name in listed if name and (ROOT / name).is_file())


def area_of(path):
    """The area of DIRECTIONS that a file belongs to, None when no rule is about it."""
    parts = path.parts
    if parts[0] == "bpf" and path.stem in ("record", "record_facts", "record_enums", "displaced", "allocator", "matmul", "usdt", "unwind_table", "python_layout"):
        return "record"
    if parts[0] == "userspace":
        return "main" if len(parts) == 2 else parts[1]
    return parts[0] if parts[0] in DIRECTIONS else None


def included_file(path, name):
    """Where an #include "name" in the file at path leads to, from the root; None: not into the project."""
    for folder in (ROOT / path.parent, ROOT / "userspace", ROOT):
        candidate = Path(os.path.normpath(folder / name))
        if candidate.is_file() and candidate.is_relative_to(ROOT):
            return candidate.relative_to(ROOT)
    return None


def included_area(path, name):
    if Path(name).name == SKELETON:
        return "skeleton"
    file = included_file(path, name)
    return area_of(file) if file else None


INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


@functools.lru_cache(maxsize=None)
def includes_of(path):
    """Files of the project that this one includes itself."""
    matches = map(INCLUDE.match, (ROOT / path).read_text(errors="replace").split("\n"))
    return {file for match in matches if match for file in [included_file(path, match[1])] if file}


def check_what_comes_with(path, number, area, name):
    """Of an include that is allowed: so must be all that comes with it."""
    seen, left = set(), [included_file(path, name)]
    while left:
        file = left.pop()
        if file is None or file in seen:
            continue
        seen.add(file)
        left += includes_of(file)
        if area_of(file) not in {None, area} | DIRECTIONS[area] | THROUGH.get(area, set()):
            found(path, number, f"{area} must not include {name}, with which comes {file} ({area_of(file)})")
            return


def agent_room(path):
    """None: not of the agent."""
    if not path or path.parts[0] != "gpu":
        return None
    return path.parts[1] if len(path.parts) > 2 else ""


def check_rooms(path, number, name):
    room, other = agent_room(path), agent_room(included_file(path, name))
    if room is not None and other is not None and other != room and other not in AGENT_ROOMS.get(room, set()):
        found(path, number, f"gpu/{room} must not include {name}: scripts/lint.py, AGENT_ROOMS")


def check_includes(path, lines):
    area = area_of(path)
    if area is None:
        return
    if area not in DIRECTIONS:
        found(path, 1, f"area '{area}' is not in the table of directions: scripts/lint.py, DIRECTIONS")
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        check_rooms(path, number, match[1])
        target = included_area(path, match[1])
        if target in (None, area) or target in DIRECTIONS[area]:
            if target in DIRECTIONS[area]:
                check_what_comes_with(path, number, area, match[1])
            continue
        if (str(path), match[1]) not in EXCEPTIONS:
            found(path, number, f"{area} must not include {match[1]} ({target})")


def check_lengths(path, lines):
    if len(lines) > FILE_LINES:
        found(path, FILE_LINES + 1, f"file of {len(lines)} lines, more than {FILE_LINES}")
    if path.suffix != ".c" and path.suffix != ".h":
        return
    start = None
    for number, line in enumerate(lines, 1):
        # Kernel style: the brace that opens a function stands alone in the first column, and so does its end.
        if line == "{":
            start = number
        elif line == "}" and start:
            if number - start - 1 > FUNCTION_LINES:
                found(path, start, f"function of {number - start - 1} lines, more than {FUNCTION_LINES}")
            start = None


# Verbs print, and main.c what is wrong with the options; the others return errors, and at most say something at LOG_DEBUG.
PRINTERS = ("userspace/verbs/", "userspace/main.c", "userspace/base/log.")
PRINTS = re.compile(r"(?<![\w/\"])(?:(?:stdout|stderr)(?=\s*[,;)])|(?:printf|vprintf|puts|putchar|perror|log_error|log_warning|log_info)\()")


def check_printing(path, lines):
    if path.parts[0] not in {"userspace", "exporters"} or str(path).startswith(PRINTERS):
        return
    for number, line in enumerate(lines, 1):
        match = PRINTS.search(line)
        if match and not line.lstrip().startswith(("*", "/*")):
            found(path, number, f"only verbs print: {match[0].rstrip('(')}")


def check_white_space(path, text, lines):
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            found(path, number, "white space at the end of the line")
        if re.search(r"clang-format (off|on)\b(?! \*/)", line):
            found(path, number, "clang-format only sees this where nothing else is in the comment")
    if text and not text.endswith("\n"):
        found(path, len(lines), "no newline at the end of the file")
    if text.endswith("\n\n"):
        found(path, len(lines), "empty line at the end of the file")


def check_header(path, lines):
    """A source includes NAME.h, or is a part of a module whose header it includes: its name begins with
    the same word (capture_cursor.c: capture_reader.h), or the header has the folder's (verbs/verbs.h), or that of the room around it (verbs/serve)."""
    if path.parts[0] != "userspace" or path.suffix != ".c" or path.name == "main.c":
        return
    words = {path.stem.split("_")[0], path.parent.name, path.parent.parent.name}
    for line in lines:
        match = re.match(r'#include "([^"]+)"', line)
        if match and Path("userspace", match[1]).parent in (path.parent, path.parent.parent) and Path(match[1]).stem.split("_")[0] in words:
            return
    found(path, 1, "includes no header of its module: the contract of a module is name.h")


def check_format(paths):
    version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"version (\d+)", version)
    if not match or match[1] != FORMAT_VERSION:
        print(f"lint: format not checked: that takes clang-format {FORMAT_VERSION}, here is {version.strip()}")
        return
    for path in paths:
        result = subprocess.run(["clang-format", "--dry-run", "-Werror", str(path)], cwd=ROOT,
                                capture_output=True, text=True, check=False)
        match = re.search(r"^[^:\n]+:(\d+):", result.stderr, re.M)
        if result.returncode:
            found(path, match[1] if match else 1, "not as clang-format writes it: clang-format -i")


def check_cppcheck(paths):
    if not paths:
        return
    build = ROOT / "build" / "cppcheck"
    build.mkdir(parents=True, exist_ok=True)
    command = CPPCHECK + [f"--cppcheck-build-dir={build}", f"-j{os.cpu_count() or 1}"]
    result = subprocess.run(command + [str(path) for path in paths], cwd=ROOT, capture_output=True,
                            text=True, check=False)
    findings.extend(line for line in result.stderr.splitlines() if "cppcheck:" in line)
    if result.returncode:
        found("scripts/lint.py", 1, f"cppcheck ended with {result.returncode}: {result.stderr[-300:]}")


def main():
    parser = argparse.ArgumentParser(description="Checks what the compiler does not.")
    parser.add_argument("--quick", action="store_true", help="without cppcheck and the messages of commits")
    quick = parser.parse_args().quick
    for tool in () if quick else ("clang-format", "cppcheck", "git"):
        if not shutil.which(tool):
            sys.exit(f"scripts/lint.py: {tool} is missing. Run: make deps WITH=lint")
    to_format, to_check = [], []
    for path in sources():
        if path.suffix not in {".c", ".h", ".def", ".cc", ".py", ".sh", ""} and path.name != "run":
            continue
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
        check_white_space(path, text, lines)
        if path.suffix not in {".c", ".h", ".def"}:
            continue
        check_lengths(path, lines)
        check_includes(path, lines)
        check_header(path, lines)
        check_printing(path, lines)
        if path.suffix not in FORMAT_EXEMPT:
            to_format.append(path)
        if path.suffix == ".c" and path.parts[0] in {"userspace", "exporters"}:
            to_check.append(path)
    lint_circles.check(ROOT, sources(), found)
    lint_links.check(ROOT, sources(), found)
    lint_cited.check(ROOT, sources(), found)
    lint_licences.check(ROOT, sources(), found)
    if shutil.which("clang-format"):
        check_format(to_format)
    if not quick:
        check_cppcheck(to_check)
        lint_commits.check(ROOT, lambda where, line, text: print(f"warning: {where}: {text}"))
    for line in findings:
        print(line)
    if findings:
        sys.exit(f"{len(findings)} findings")
    print("lint: nothing found")


if __name__ == "__main__":
    main()
