#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Version script of a libcupti: generate_map.py RELEASE exports.def. Symbols have a version from 13.0 on."""
import sys


def number(release):
    major, minor = release.split(".")
    return int(major) * 1000 + int(minor) * 10


def main():
    release, table = sys.argv[1:]
    names = []
    with open(table, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                continue
            name, first = line.split()
            if number(first) <= number(release):
                names.append(name)
    node = f"libcupti.so.{release.split('.')[0]} " if number(release) >= 13000 else ""
    print(node + "{\nglobal:\n\t" + ";\n\t".join(names) + ";\nlocal:\n\t*;\n};")


if __name__ == "__main__":
    main()
