#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Small ELF files of every kind that elf/ reads, into the folder given: fuzz_elf starts from them."""
import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = """
extern void other(void);
static void done(int *x) { other(); }
int guarded(int a) { int x __attribute__((cleanup(done))) = a; other(); return x; }
static int hidden(int a) { return a; }
static int (*resolve(void))(int) { return hidden; }
int chosen(int) __attribute__((ifunc("resolve")));
"""
# A USDT probe, as <sys/sdt.h> writes it.
USDT = """
__asm__(".pushsection .note.stapsdt,\\"\\",\\"note\\"\\n.balign 4\\n.4byte 8, 2f-1f, 3\\n"
        ".asciz \\"stapsdt\\"\\n1: .8byte place, 0, counter\\n"
        ".asciz \\"one\\", \\"first\\", \\"-4@%edi 8@-8(%rbp,%rax,4) 4@counter(%rip) 8f@%xmm0\\"\\n"
        "2: .balign 4\\n.popsection\\n");
unsigned short counter __attribute__((section(".probes"))) = 7;
void place(void) {}
"""
LIBRARY = ["-shared", "-nostdlib",
           "-Wl,-z,noseparate-code,-z,max-page-size=4096,--build-id,-soname,libseed.so"]
COMMANDS = [
    ["gcc", "-Os", "-fexceptions", "-fPIC", *LIBRARY, "-o", "whole", "seed.c"],
    ["gcc", "-Os", "-fexceptions", "-c", "-o", "object", "seed.c"],
    ["gcc", "-Os", "-no-pie", "-nostdlib", "-Wl,-e,place,-z,noseparate-code,-z,max-page-size=4096",
     "-o", "usdt", "usdt.c"],
    ["strip", "-o", "stripped", "whole"],
    ["objcopy", "--only-keep-debug", "whole", "debug"],
    ["xz", "-kf", "debug"],
    ["objcopy", "--add-section", ".gnu_debugdata=debug.xz", "stripped", "debugdata"],
    ["objcopy", "--add-gnu-debuglink=debug", "stripped", "debuglink"],
    ["objcopy", "--add-section", ".gopclntab=seed.c", "stripped", "go"],
]
# The layouts of .gopclntab by versions of Go, as the unit tests have them in a string of C.
GO_LAYOUTS = ("12", "116", "118", "120", "126")
GO_TABLES = Path(__file__).parent.parent / "unit" / "go_tables.h"
GO_ROWS = GO_TABLES.with_name("test_go_rows.c")
for layout in GO_LAYOUTS:
    COMMANDS += [["gcc", f"-DGO={layout}", "-no-pie", "-nostdlib", "-Wl,-e,main,-z,noseparate-code,-z,max-page-size=4096",
                  "-o", f"go{layout}", "go.S"], ["strip", f"go{layout}"]]
    if layout != "126":
        COMMANDS += [["gcc", f"-DGO={layout}", '-DCLOCK="runtime.nanotime1"', *(["-DMERGED"] if layout == "120" else []), "-no-pie", "-nostdlib",
                      "-Wl,-e,main,-z,noseparate-code,-z,max-page-size=4096", "-o", f"gorows{layout}", "gorows.S"], ["strip", f"gorows{layout}"]]
SEEDS = [f"go{layout}" for layout in GO_LAYOUTS] + [f"gorows{layout}" for layout in GO_LAYOUTS[:-1]] + ["whole", "object", "stripped", "debug", "debugdata", "debuglink", "go", "usdt"]


def source_in(file):
    """The first string of C there. Of C's escapes it has but those that Python's have, too."""
    text = file.read_text().split("source[] =")[1].split(";\n\n")[0]
    return "".join(ast.literal_eval(literal) for literal in re.findall(r'"(?:[^"\\]|\\.)*"', text))


def main():
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "seed.c").write_text(SOURCE)
        (folder / "usdt.c").write_text(USDT)
        (folder / "go.S").write_text(source_in(GO_TABLES))
        (folder / "gorows.S").write_text(source_in(GO_ROWS))
        for command in COMMANDS:
            subprocess.run(command, cwd=folder, check=True)
        for seed in SEEDS:
            (target / f"seed-{seed}").write_bytes((folder / seed).read_bytes())


main()
