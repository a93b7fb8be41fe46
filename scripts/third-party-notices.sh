#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the copyright files of the packages of docs/third-party.md, as they are installed: the notices that have to
# go along with the program. A package that is not here is named, on standard error too.
set -eu
cd "$(dirname "$0")/.."

# Of libgcc the table names the oldest: the compiler's own counts.
packages=$(grep '^|' docs/third-party.md | grep -o '`[a-z0-9.+-]*-dev`' | tr -d '`' |
	sed "s/^libgcc-[0-9]*-dev\$/libgcc-$(${CC:-gcc} -dumpversion | cut -d. -f1)-dev/")

echo "gpuprobe contains code of these packages of $(. /etc/os-release && echo "$PRETTY_NAME")."
for package in $packages; do
	file=/usr/share/doc/$package/copyright
	printf '\n======== %s ' "$package"
	dpkg-query -W -f='${Version}' "$package" 2>/dev/null || true
	printf ' ========\n\n'
	if [ -r "$file" ]; then
		cat "$file"
	else
		echo "scripts/third-party-notices.sh: $file is not here" | tee /dev/stderr
	fi
done
