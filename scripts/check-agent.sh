#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Is this library fit to be loaded into any process with glibc 2.17 or later? It may ask for the functions below only
# (weak: it does without), for no library, no version of a symbol, no thread-local storage, and run nothing by itself.
set -eu
library=$1
allowed="clock_gettime dl_iterate_phdr getenv"
allowed_weak="dlopen dlsym dlclose pthread_create pthread_detach __cxa_atexit __register_atfork malloc free"
exported="gpuprobe_agent_run InitializeInjection"

refuse() {
	echo "check-agent: $library $1" >&2
	exit 1
}

nm -D --undefined-only "$library" | while read -r type name; do
	case "$type $(echo " $allowed " | grep -c " $name ") $(echo " $allowed_weak " | grep -c " $name ")" in
	"U 1 0" | "w 0 1") ;;
	*) refuse "asks for $name ($type), which is not on the list" ;;
	esac
done
nm -D --defined-only "$library" | while read -r _ type name; do
	echo " $exported " | grep -q " $name " || refuse "exports $name ($type)"
done
for name in $exported; do
	nm -D --defined-only "$library" | grep -q " T $name\$" || refuse "does not export $name"
done
if objdump -T "$library" | grep -q GLIBC_; then refuse "asks for a version of a symbol"; fi
if readelf -dW "$library" | grep -Eq '\((NEEDED|INIT|FINI|INIT_ARRAY|TEXTREL)\)'; then
	refuse "needs a library or runs something when it is loaded"
fi
if readelf -lW "$library" | grep -q TLS; then refuse "has thread-local storage"; fi
if readelf -SW "$library" | grep -Eq ' \.(data|bss) '; then refuse "has global variables"; fi
