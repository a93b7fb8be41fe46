# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of *.md: the file or folder that a relative link names exists, and so does the heading behind its #; every page
can be reached from README.md."""
import re
from pathlib import Path

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def lines_outside_code(text):
    """(number, line) of what is neither in a fenced block nor between backquotes."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(text):
    """What a forge calls the headings of a page."""
    found, counts = set(), {}
    for _, line in lines_outside_code(text):
        match = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if not match:
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1])
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        number = counts.get(slug, 0)
        counts[slug] = number + 1
        found.add(f"{slug}-{number}" if number else slug)
    return found


def links(text):
    for number, line in lines_outside_code(text):
        for match in LINK.finditer(re.sub(r"`[^`]*`", lambda code: "x" * len(code[0]), line)):
            # The target itself, also where it holds a backquote.
            yield number, line[match.start(1):match.end(1)]


def check(root, paths, found):
    pages = {path: (root / path).read_text(encoding="utf-8") for path in paths if path.suffix == ".md"}
    leads_to = {path: set() for path in pages}
    for path, text in pages.items():
        for number, link in links(text):
            if ELSEWHERE.match(link):
                continue
            name, _, anchor = link.partition("#")
            target = (root / path.parent / name).resolve() if name else (root / path).resolve()
            if not target.exists() or not target.is_relative_to(root):
                found(path, number, f"link to {link}: there is no such file")
                continue
            target = target.relative_to(root)
            leads_to[path].add(target)
            if anchor and anchor not in anchors(pages.get(target, "")):
                found(path, number, f"link to {link}: {target} has no such heading")
    reached, left = set(), [Path("README.md")]
    while left:
        page = left.pop()
        if page in reached or page not in pages:
            continue
        reached.add(page)
        left.extend(leads_to[page])
    for path in sorted(pages.keys() - reached):
        if path.parts[0] != ".github":
            found(path, 1, "no link leads here from README.md")
