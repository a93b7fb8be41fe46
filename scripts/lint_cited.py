# SPDX-License-Identifier: GPL-2.0-or-later
"""Files, folders and headings that comments and documents name: they must exist."""
import ast
import fnmatch
import os
import re
from pathlib import Path

import lint_links

# A word with one of these endings is the name of a file; a word that ends in a slash that of a folder. In <angle
# brackets> it is a header of the system.
CITED = re.compile(r"(?<![\w./*<~$:}+-])((?:[\w*.-]+/)*[\w*.-]*[\w*]\.(?:c|h|def|md|py|sh|S|proto|sql|png)|[a-z][\w-]*/(?:[\w-]+/)*)"
                   r"(?![\w/*$<>{-])")
# docs/NAME.md, "HEADING"
CITED_HEADING = re.compile(r'(docs/[\w/-]+\.md),\s+"([^"]+)"')
# They stand for any name: NAME.def, tests/unit/test_MODULE.c.
PLACEHOLDERS = re.compile(r"(?<![A-Z])(NAME|MODULE|KIND|FOLDER|FILE|PATH|BASE|PID|PREFIX|OUT)(?![A-Z])")
# What comments and documents name that is no file of ours, by its base name.
FOREIGN = {
    "vmlinux.h": "what others generate from the kernel's BTF, and we do not need",
    "cublas_api.h": "NVIDIA's, of cuBLAS: what a table was written from",
    "cublasLt.h": "NVIDIA's, of cuBLASLt: the same",
    "logdir/": "a folder of the user's, in examples",
    "results.md": "made by tests/bench/run, below build/",
    "report_kinds.c": "an example in CONTRIBUTING.md",
    "csv.c": "another",
    "csv.h": "another",
    "w.py": "of a user, in examples",
    "work.py": "another",
}
# Made by the build; or where `make install` puts something, below its PREFIX.
ELSEWHERE = ("build/", "include/", "share/")

LANGUAGE_OF_C = {".c", ".h", ".def", ".S", ".proto", ".cc", ".cu", ".cpp"}


def comments_of(path, text):
    """(number of its first line, text) for each comment and docstring; of a document for each line outside of blocks of
    code."""
    if path.suffix in LANGUAGE_OF_C:
        for match in re.finditer(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', text, re.S):
            if match[0][0] == "/":
                yield text.count("\n", 0, match.start()) + 1, match[0]
        return
    if path.suffix == ".md":
        for number, line in enumerate(text.split("\n"), 1):
            yield number, line
        return
    if path.suffix == ".py" or re.match(r"#!.*python", text):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
                yield node.body[0].lineno, ast.get_docstring(node)
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#") or re.search(r"\s#\s", line):
            yield number, line[line.index("#"):]


def is_there(path, name, files, folders):
    """Is there such a file or folder: from the root, from userspace/, from the folder of path; else is there one
    whose path ends so, and for a file only one?"""
    known = folders if name.endswith("/") else files
    wanted = name.rstrip("/")
    for start in ("", "userspace", str(path.parent)):
        there = os.path.normpath(os.path.join(start, wanted))
        if any(fnmatch.fnmatchcase(file, there) for file in known) if "*" in name else there in known:
            return True
    ends = [file for file in known if fnmatch.fnmatchcase(file, "*/" + wanted)]
    return len(ends) == 1 or (len(ends) > 1 and ("*" in name or name.endswith("/")))


def is_foreign(name):
    base = Path(name).name + ("/" if name.endswith("/") else "")
    return name.startswith(ELSEWHERE) or "..." in name or PLACEHOLDERS.search(name) or base in FOREIGN


def check_file(root, path, text, files, folders, found):
    outside = set(number for number, _ in lint_links.lines_outside_code(text)) if path.suffix == ".md" else None
    for first, comment in comments_of(path, text):
        if outside is not None and first not in outside:
            continue
        for document, heading in CITED_HEADING.findall(re.sub(r"\s*\n[ \t*/]*", " ", comment)):
            if document in files and f"\n## {heading}\n" not in (root / document).read_text(encoding="utf-8"):
                found(path, first, f'names "{heading}" in {document}: there is no such heading')
        for match in CITED.finditer(re.sub(r"\w+://\S+", "", comment)):
            name = match[1]
            if not is_foreign(name) and not is_there(path, name, files, folders):
                found(path, first + comment.count("\n", 0, match.start()),
                      f"names {name}: there is no such file here, or several (others' names: lint_cited.py, FOREIGN)")


def check(root, paths, found):
    files = {str(path) for path in paths}
    folders = {str(folder) for path in paths for folder in path.parents}
    for path in paths:
        if path.suffix not in LANGUAGE_OF_C | {".md", ".py", ".sh", ".mk", ""}:
            continue
        try:
            text = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        check_file(root, path, text, files, folders, found)
