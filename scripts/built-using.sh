#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the source packages, with their versions, of which code is linked statically: "elfutils (= 0.188-2.1), libbpf (= ...)".
#	scripts/built-using.sh MAP	MAP: what the linker wrote (-Wl,-Map=MAP)
set -eu -o pipefail
export LC_ALL=C
sed -nE 's/^(\/[^ (]+\.a)\(.*/\1/p' "$1" | sort -u | xargs -r realpath | sort -u | xargs -r dpkg -S | sed 's/: .*//' | sort -u |
	xargs -r dpkg-query -W -f '${source:Package} (= ${source:Version})\n' | sort -u | paste -sd, | sed 's/,/, /g'
