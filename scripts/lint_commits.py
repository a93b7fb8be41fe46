# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages of commits: `area: what it does` in at most 72 characters, begun by a verb in the imperative as far as that can
be told, and a body that says why where more than a few lines change.

Looked at are the commits that origin/main has not yet (where there is none: that main has not; on main itself: the last
one), of those that came after this file. A shallow clone has fewer of them, a copy without git has none.
"""
import re
import subprocess

SUBJECT_CHARACTERS = 72
# Changed lines from which on the reason is asked for.
LINES_WITH_BODY = 10
# Areas that are neither a folder nor a module of the repository.
AREAS = {"all", "build", "changelog", "contributing", "demo", "deps", "licence", "packages", "readme", "release", "rooms", "security"}
# No verbs in the imperative, though they may begin a sentence about a change.
NO_VERBS = set("a an the this that these what which who where when how why no not of in on at by to for from with and or it "
               "they there one two three all each every some more most fewer several many only also both".split())
# Imperatives that end like other forms of verbs.
IMPERATIVES = set("bring string ring sing ping need feed embed exceed proceed succeed speed shed seed bleed heed "
                  "process pass address compress express press miss guess cross discuss dismiss focus assess bypass "
                  "access toss suppress canvas alias bias".split())
THIS_FILE = "scripts/lint_commits.py"


def git(root, *words):
    """What it prints; None when it fails."""
    result = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else None


def commits(root):
    """The hashes of those to look at."""
    added = (git(root, "log", "--diff-filter=A", "--format=%H", "--", THIS_FILE) or "").split()
    head = git(root, "rev-parse", "HEAD")
    if not added or not head:
        return []
    since = set((git(root, "rev-list", "--no-merges", "--ancestry-path", f"{added[-1]}..HEAD") or "").split())
    for base in ("origin/main", "main"):
        tip = git(root, "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}")
        if tip and tip != head:
            new = git(root, "rev-list", "--no-merges", f"{base}..HEAD")
            break
    else:
        new = git(root, "rev-list", "--no-merges", "--max-count=1", "HEAD")
    return [commit for commit in (new or "").split() if commit in since]


def areas(root):
    """Folders, modules (a file's name without its ending), and the table above."""
    known = set(AREAS)
    for name in (git(root, "ls-files") or "").split("\n"):
        parts = name.split("/")
        known.update(part.lower() for part in parts[:-1])
        known.add(parts[-1].split(".")[0].lower())
    return known


def wrong_subject(subject, known):
    """What is wrong with it, None when nothing is."""
    if len(subject) > SUBJECT_CHARACTERS:
        return f"the subject has {len(subject)} characters, more than {SUBJECT_CHARACTERS}"
    area, colon, rest = subject.partition(": ")
    if not colon or not rest:
        return "the subject is not `area: what it does`"
    for name in re.split(r", |/", area):
        if name.lower() not in known:
            return f"\"{name}\" is no folder, no module, nor in AREAS of {THIS_FILE}"
    word = re.match(r"[\w'-]*", rest)[0]
    if not word or word != word.lower():
        return f"\"{word or rest[0]}\" behind the area is not in lower case"
    if word in NO_VERBS or word not in IMPERATIVES and re.search(r"(ing|ed|[^s]s)$", word):
        return f"\"{word}\" is no verb in the imperative: say what the commit does (add, split, refuse, ...)"
    if rest.endswith("."):
        return "the subject ends with a full stop"
    return None


def changed_lines(root, commit):
    rows = (git(root, "show", "--numstat", "--format=", commit) or "").split("\n")
    return sum(int(number) for row in rows for number in row.split("\t")[:2] if number.isdigit())


def check(root, found):
    known = None
    for commit in commits(root):
        known = known or areas(root)
        subject, _, body = git(root, "log", "-1", "--format=%s%n%b", commit).partition("\n")
        where = f"commit {commit[:12]} \"{subject}\""
        wrong = wrong_subject(subject, known)
        if wrong:
            found(where, 1, wrong)
        text = re.sub(r"(?m)^[A-Za-z-]+: .*$", "", body) if re.fullmatch(r"(\s*[A-Za-z-]+: .*\n?)*", body) else body
        if len(text.split()) < 5 and changed_lines(root, commit) > LINES_WITH_BODY:
            found(where, 3, f"more than {LINES_WITH_BODY} lines change, and the body does not say why")
