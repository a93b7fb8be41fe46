#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names the files of the source, each ended by NUL: those that git knows, or where there is no history all but build/.
set -eu -o pipefail
cd "$(dirname "$0")/.."
if [ -e .git ]; then
	comm -z -23 <(git ls-files -z | sort -z) <(git ls-files -dz | sort -z)
else
	find . -path ./build -prune -o -path ./VERSION -prune -o ! -type d -printf '%P\0'
fi
