#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints when this source was last changed, in seconds since 1970: the date of the commit, or of the file VERSION.
set -eu -o pipefail
cd "$(dirname "$0")/.."
if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
	echo "$SOURCE_DATE_EPOCH"
elif [ -e .git ] && git log -1 --format=%ct 2>/dev/null; then
	:
else
	stat -c %Y VERSION 2>/dev/null || echo 0
fi
