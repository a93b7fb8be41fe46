#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the packages of Debian and Ubuntu from the source tarball that `make dist` left.
#	scripts/deb.sh FOLDER VERSION	FOLDER/gpuprobe-VERSION.tar.gz -> FOLDER/gpuprobe_*.deb and its debug symbols
set -eu -o pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
folder=$1 name=gpuprobe-$2
log=$folder/deb.log

# A newer release's package is the newer one: 0.1.0~deb12u1 < 0.1.0~deb13u1 < 0.1.0.
. /etc/os-release
case $ID in
debian) suffix=~deb${VERSION_ID:-unstable} ;;
*) suffix=~$ID${VERSION_ID:-} ;;
esac
version=$(scripts/version.sh --debian)$suffix
maintainer=$(sed -n 's/^Maintainer: //p' debian/control)

work=$(mktemp -d "$folder/deb.XXXXXX")
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xf "$folder/$name.tar.gz"
cat >"$work/$name/debian/changelog" <<-EOF
	gpuprobe ($version) unstable; urgency=medium

	  * Built from its source by make deb; CHANGELOG.md tells what changed.

	 -- $maintainer  $(date -uR -d "@$(scripts/source-date.sh)")
EOF
echo "  DEB      gpuprobe $version (the log is $log)"
(cd "$work/$name" && unset MAKEFLAGS MAKELEVEL MFLAGS && dpkg-buildpackage -b -us -uc) >"$log" 2>&1 || {
	tail -n 30 "$log" >&2
	echo "scripts/deb.sh: dpkg-buildpackage failed: $log" >&2
	exit 1
}
rm -f "$folder"/gpuprobe*.deb "$folder"/gpuprobe*.ddeb
mv "$work"/gpuprobe*.*deb "$folder/"
ls -l "$folder"/gpuprobe*.*deb
