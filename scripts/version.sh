#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the version of this source: what `git describe` says, without the v of the tag. A source without history (make dist)
# has it in the file VERSION.
#	scripts/version.sh [--debian]	--debian: as a version of a package
set -eu -o pipefail
cd "$(dirname "$0")/.."
# Of commits that no tag v* is before: the number of commits stands where the distance from the tag does.
FIRST=0.1.0

describe() {
	# What else lies around an unpacked source is not its history.
	[ -e .git ] || return 1
	git --no-optional-locks describe --tags --match 'v[0-9]*' --dirty 2>/dev/null && return
	local count hash
	count=$(git rev-list --count HEAD 2>/dev/null) || return 1
	hash=$(git --no-optional-locks describe --always --exclude '*' --dirty) || return 1
	echo "$FIRST-$count-g$hash"
}

version=$(describe || cat VERSION 2>/dev/null || echo "$FIRST-unknown")
version=${version#v}
# There a - would begin the number of the packaging.
[ "${1:-}" != --debian ] || version=$(echo "$version" | sed 's/-/+/; s/-/./g')
echo "$version"
