#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the packages that gpuprobe needs, by apt, on Debian 12, Debian 13 and Ubuntu 24.04.
#	scripts/deps.sh [GROUP]...	groups: build (default), demo, test, sim, kernels, lint, bench, package, fresh, browser
# Quick when nothing is missing. Without root it prints the command to run and fails. Services that come
# with a package (redis-server, postgresql) are neither started nor enabled; those that were there before
# are left as they are.
set -eu -o pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

BACKPORTS_FILE=/etc/apt/sources.list.d/gpuprobe-backports.sources
LIBBPF_MINIMUM=1.3
POLICY_FILE=/usr/sbin/policy-rc.d

# group, package (alternatives by |, the first that apt knows is taken), service that it starts, what for
PACKAGES='
build  gcc                                   -  compiler
build  make                                  -  this build
build  libc6-dev                             -  C library and kernel headers
build  clang                                 -  BPF compiler
build  libbpf-dev                            -  loads BPF programs (1.3 or later)
build  bpftool|linux-tools-generic           -  embeds BPF programs (Ubuntu 24.04 has it in linux-tools)
build  libelf-dev                            -  reads ELF files
build  libdw-dev                             -  finds debug files and build ids
build  libcapstone-dev                       -  decodes instructions
build  libjansson-dev                        -  reads JSON
build  libiberty-dev                         -  demangles C++ and Rust names
build  protobuf-c-compiler                   -  XPlane: messages to C
build  libprotobuf-c-dev                     -  XPlane: packs them
build  libnghttp2-dev                        -  serve: HTTP/2
build  libsqlite3-dev                        -  databases for readers of Nsight Systems
build  zlib1g-dev                            -  gzip, compressed sections
build  liblzma-dev                           -  mini debug info; needed by libdw.a
build  libbz2-dev                            -  needed by libdw.a
build  libzstd-dev                           -  needed by libelf.a from elfutils 0.189 on
demo   redis-tools                           -  redis-benchmark: the load
demo   redis-server               redis-server  the program that is recorded
test   g++                                   -  C++ test programs
test   libclang-rt-dev                       -  libFuzzer and its sanitizers
test   redis-tools                           -  redis-benchmark: a load
test   redis-server               redis-server  recorded by tests
test   postgresql                   postgresql  recorded by tests
test   systemtap-sdt-dev                     -  <sys/sdt.h>: probes of test programs
test   python3                               -  recorded by tests, checks JSON
test   python3-h2                            -  a client of HTTP/2
test   jq                                    -  checks JSON
test   zsh                                   -  takes its completion script
test   nodejs                                -  recorded by tests
test   gdb                                   -  a target that is traced already
test   strace                                -  system calls that a test counts
test   musl-tools                            -  test programs with another C library
test   procps                                -  pidof, ps
test   util-linux                            -  unshare, setpriv: namespaces and users
test   man-db                                -  reads the manual pages
test   binutils                              -  strip, objcopy: targets without symbols
test   xz-utils                              -  packs .gnu_debugdata for tests
test   libdebuginfod1                        -  fetches debug files from a server of tests
test   libc6-dbg                             -  names of functions of the C library in stacks
test   python3-dev                           -  a module of Python in C++, a program with Python inside (29 MB)
test   python3-venv                          -  packages from PyPI: greenlet, gevent, a reader of traces
test   npm                                   -  a reader of traces (106 MB)
test   rustc                                 -  programs that panic (275 MB)
test   golang-go                             -  programs with goroutines (464 MB)
test   nginx-light|nginx              nginx  injected into by tests
test   memcached                     memcached  recorded by tests
test   valgrind                              -  a translator of code, which is refused
test   uftrace                               -  patches functions of programs
test   libucx-dev                            -  UCX, which patches functions of libc
test   libjemalloc2                          -  allocators that tests record
test   libtcmalloc-minimal4|libtcmalloc-minimal4t64  -  the same
test   libmimalloc2.0|libmimalloc3           -  the same
kernels qemu-system-x86                      -  boots other kernels
kernels busybox-static                       -  all else in the machines that it boots
kernels debian-archive-keyring               -  the key that signs the kernels, on Ubuntu too
lint   clang-format                          -  the format of the source
lint   cppcheck                              -  static analysis
lint   git                                   -  lists the files of the project
lint   python3                               -  runs scripts/lint.py
sim    python3                               -  generates the simulated CUDA from headers
sim    python3-pip                           -  fetches the headers of CUDA 13 where no toolkit is
package build-essential                      -  make deb: what dpkg-buildpackage takes for granted
package debhelper                            -  make deb
package dpkg-dev                             -  make deb
package fakeroot                             -  make deb, not as root
package python3                              -  embeds the probes of gpuprobe.py
package lintian                              -  judges what make deb made
package debootstrap                          -  bare systems that packages are tried in
bench  bpftrace                              -  what gpuprobe is compared with
bench  mariadb-server                        -  screens: a program that is recorded
bench  default-jre-headless                  -  the same
bench  python3                               -  medians
bench  linux-perf|linux-tools-generic        -  the same, for samples
bench  redis-tools                           -  redis-benchmark: a load
bench  redis-server               redis-server  recorded under it
browser chromium                             -  a browser for what serves pages, and pictures of pages (400 MB; not on Ubuntu)
browser openssl                              -  makes it take a page of ours for another
fresh  debootstrap                           -  bare systems for scripts/fresh
'

die() {
	echo "scripts/deps.sh: $*" >&2
	exit 1
}

is_installed() {
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# The version without epoch, "" when there is none.
installed_version() {
	is_installed "$1" && dpkg-query -W -f='${Version}' "$1" | sed 's/^[0-9]*://' || true
}

has_bpftool() {
	local candidate
	for candidate in /usr/lib/linux-tools/*/bpftool /usr/sbin/bpftool /usr/bin/bpftool; do
		# Ubuntu's /usr/sbin/bpftool is a script that stands for nothing by itself.
		[ -x "$candidate" ] && "$candidate" version >/dev/null 2>&1 && return
	done
	return 1
}

has_libbpf() {
	local version
	version=$(installed_version libbpf-dev)
	[ -n "$version" ] && dpkg --compare-versions "$version" ge "$LIBBPF_MINIMUM"
}

# Nothing but what is already installed is asked here: it runs before every build.
is_met() {
	case $1 in
	bpftool\|*) has_bpftool ;;
	libbpf-dev) has_libbpf ;;
	npm) command -v npm >/dev/null ;; # NodeSource's nodejs has it, and conflicts with the package
	*) grep -qxF "${1//|/$'\n'}" <<<"$INSTALLED" ;; # one of the alternatives
	esac
}

# Rows of the wanted groups whose package is missing: "package service".
missing_rows() {
	local group package service rest
	while read -r group package service rest; do
		[ -n "$group" ] && [[ " $GROUPS_WANTED " = *" $group "* ]] || continue
		is_met "$package" || echo "$package $service"
	done <<<"$PACKAGES" | sort -u
}

candidate_version() {
	apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([0-9]*:\)\?//p' | grep -vx '(none)' || true
}

# The first alternative that apt can install.
choose() {
	local name
	for name in ${1//|/ }; do
		[ -n "$(candidate_version "$name")" ] && echo "$name" && return
	done
	die "no package ${1//|/ or } in the configured sources (Ubuntu: is 'universe' enabled?)"
}

apt() {
	DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l NEEDRESTART_SUSPEND=1 \
		apt-get -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null
}

# A source that cannot be reached must not stop what the others have: the installation will tell.
apt_update() {
	apt update || echo "scripts/deps.sh: apt-get update failed for some sources, going on" >&2
}

# Release of the distribution's backports that has a libbpf which is new enough; writes their source when
# no configured source has them.
provide_backports() {
	local release=$VERSION_CODENAME-backports known
	known=$(apt-cache madison libbpf-dev | awk -F'|' '{ sub(/^ *([0-9]+:)?/, "", $2); print $2 }' |
		while read -r version; do
			dpkg --compare-versions "$version" ge "$LIBBPF_MINIMUM" && echo "$version"
		done || true)
	[ -z "$known" ] || return 0
	[ "$ID" = debian ] || die "libbpf-dev is older than $LIBBPF_MINIMUM here: only Debian has backports of it"
	echo "libbpf-dev of $PRETTY_NAME is older than $LIBBPF_MINIMUM: adding $release in $BACKPORTS_FILE"
	cat >"$BACKPORTS_FILE.new" <<-EOF
		Types: deb
		URIs: http://deb.debian.org/debian
		Suites: $release
		Components: main
		Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
	EOF
	chmod 0644 "$BACKPORTS_FILE.new"
	mv "$BACKPORTS_FILE.new" "$BACKPORTS_FILE"
	apt_update
}

# Packages start their services in their installation scripts, which ask this file first.
guard_services() {
	[ -e "$POLICY_FILE" ] && return
	trap 'rm -f "$POLICY_FILE"' EXIT
	printf '#!/bin/sh\n# written by gpuprobe scripts/deps.sh while it installs: no new service starts\nexit 101\n' \
		>"$POLICY_FILE"
	chmod 0755 "$POLICY_FILE"
}

# Not at the next boot either.
disable_service() {
	if command -v systemctl >/dev/null; then
		systemctl disable "$1" >/dev/null 2>&1 || true
	fi
	if [ -x "/etc/init.d/$1" ]; then
		update-rc.d "$1" disable >/dev/null 2>&1 || true
	fi
}

install_rows() {
	local package service names=() services=() from_backports=()
	while read -r package service; do
		names+=("$package")
		[ "$service" = - ] || services+=("$service")
	done <<<"$1"

	apt_update
	local chosen=() name version
	for name in "${names[@]}"; do
		version=
		[ "$name" != libbpf-dev ] || version=$(candidate_version libbpf-dev)
		if [ -n "$version" ] && dpkg --compare-versions "$version" lt "$LIBBPF_MINIMUM"; then
			provide_backports
			from_backports+=("libbpf-dev/$VERSION_CODENAME-backports" "libbpf1/$VERSION_CODENAME-backports")
		else
			chosen+=("$(choose "$name")")
		fi
	done
	# bpftool and libbpf are one source: both from the same place.
	if [ -e "$BACKPORTS_FILE" ] && [[ " ${chosen[*]:-} " = *" bpftool "* ]]; then
		chosen=($(printf '%s\n' "${chosen[@]}" | grep -vx bpftool || true))
		from_backports+=("bpftool/$VERSION_CODENAME-backports")
	fi

	guard_services
	apt install -y --no-install-recommends "${from_backports[@]}" "${chosen[@]}"
	for service in "${services[@]}"; do
		disable_service "$service"
	done
}

# Headers of CUDA 13 for the simulated CUDA of the tests: from a toolkit, or NVIDIA's wheels. Never committed.
provide_cuda_headers() {
	local wheels=build/sim/headers
	[ -e "${CUDA_HOME:-/usr/local/cuda}/include/cupti.h" ] || [ -e $wheels/nvidia/cu13/include/nvtx3 ] || {
		rm -rf $wheels
		python3 -m pip install --quiet --no-deps --target $wheels nvidia-cuda-cupti==13.0.* \
			nvidia-cuda-runtime==13.0.* nvidia-cuda-crt==13.0.* nvidia-nvtx==13.0.* ||
			die "no CUDA toolkit, and no nvidia-cuda-cupti, -runtime, -crt and nvidia-nvtx by pip: no simulated CUDA"
	}
}

GROUPS_WANTED="${*:-build}"
for group in $GROUPS_WANTED; do
	grep -q "^$group " <<<"$PACKAGES" || die "no group '$group': build, demo, test, sim, kernels, lint, bench, package, fresh, browser"
done
command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
	die "knows Debian and Ubuntu only. Install what these stand for, then run 'make': $(
		awk '$1 == "build" { printf "%s ", $2 }' <<<"$PACKAGES")"
. /etc/os-release
INSTALLED=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')

missing=$(missing_rows)
if [ -z "$missing" ]; then
	[[ " $GROUPS_WANTED " != *" sim "* ]] || provide_cuda_headers
	exit 0
fi
if [ "$(id -u)" != 0 ]; then
	echo "scripts/deps.sh: packages are missing: $(awk '{ printf "%s ", $1 }' <<<"$missing")" >&2
	echo "Run this first:  sudo $PWD/scripts/deps.sh $GROUPS_WANTED" >&2
	exit 1
fi
install_rows "$missing"

# Said now, not by a compiler's error later.
INSTALLED=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
missing=$(missing_rows)
[ -z "$missing" ] || die "still missing after the installation: $(awk '{ printf "%s ", $1 }' <<<"$missing")"
[[ " $GROUPS_WANTED " != *" sim "* ]] || provide_cuda_headers
