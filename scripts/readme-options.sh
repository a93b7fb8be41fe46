#!/bin/sh
# Writes the table of options between its markers in README.md.
set -eu
cd "$(dirname "$0")/.."
table=$(mktemp)
readme=$(mktemp)
trap 'rm -f "$table" "$readme"' EXIT
build/gpuprobe help markdown >"$table"
awk -v table="$table" '
	/^<!-- options begin/ {
		print; print ""
		while ((getline line < table) > 0) print line
		print ""; skip = 1; found++
	}
	/^<!-- options end/ { skip = 0; found++ }
	!skip { print }
	END { if (found != 2) { print "README.md: its two markers of options are missing" > "/dev/stderr"; exit 1 } }
' README.md >"$readme"
cmp -s "$readme" README.md || cat "$readme" >README.md
