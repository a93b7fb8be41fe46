#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Records a redis-server of its own under load and writes build/demo/redis.json.gz; then a GPU: a loop of CUDA where
# there is a GPU (build/demo/gpu.json.gz), else the simulated CUDA of the tests (build/demo/sim.gpr, sim.json.gz).
# `make demo` builds all of it and calls this. Nothing stays behind but these files: what is started is ended by its
# own pid.
set -eu -o pipefail
cd "$(dirname "$0")/.."

SECONDS_RECORDED=${SECONDS_RECORDED:-5}
OUTPUT=build/demo/redis.json.gz
SERVER_WAIT_TENTHS=100

if [ "$(id -u)" != 0 ]; then
	echo "scripts/demo.sh: probes need root. Run:  sudo make demo" >&2
	exit 1
fi
[ -x build/gpuprobe ] || { echo "scripts/demo.sh: build/gpuprobe is missing. Run:  make" >&2; exit 1; }

mkdir -p "$(dirname "$OUTPUT")"
folder=$(mktemp -d "$PWD/build/demo/run.XXXXXX")
server='' load='' cuda=''
cleanup() {
	local pid
	for pid in $cuda $load $server; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# A port that nobody listens on: the kernel's own choice.
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' 2>/dev/null ||
		echo $((20000 + RANDOM % 20000))
}

server_answers() {
	[ "$(redis-cli -h 127.0.0.1 -p "$port" ping 2>/dev/null)" = PONG ] &&
		redis-cli -h 127.0.0.1 -p "$port" info server | grep -q "^process_id:$server"
}

# Nothing is stored on disk and no configuration of the machine is read. The program is a copy: probes go into
# the pages of its file, and other redis-servers of this machine must not have them.
start_server() {
	local tenths
	port=$(free_port)
	"$folder/redis-server" --bind 127.0.0.1 --port "$port" --save '' --appendonly no --dir "$folder" --daemonize no \
		--protected-mode yes >"$folder/redis.log" 2>&1 </dev/null &
	server=$!
	for ((tenths = 0; tenths < SERVER_WAIT_TENTHS; tenths++)); do
		server_answers && return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	kill "$server" 2>/dev/null || true
	wait "$server" 2>/dev/null || true
	server=
	return 1
}

cp "$(readlink -f "$(command -v redis-server)")" "$folder/redis-server"
start_server || start_server || start_server || {
	echo "scripts/demo.sh: redis-server does not start:" >&2
	cat "$folder/redis.log" >&2
	exit 1
}
redis-benchmark -h 127.0.0.1 -p "$port" -t set,get,incr,lpush,rpop,sadd,hset -c 20 -n 2000 -r 100000 -l -q \
	>/dev/null 2>&1 </dev/null &
load=$!

command=(build/gpuprobe -p "$server" -d "$SECONDS_RECORDED" -F 'redis-server:*Command' -o "$OUTPUT")
echo "redis-server $server listens on 127.0.0.1:$port, redis-benchmark $load loads it"
echo "\$ sudo build/gpuprobe -p $server -d $SECONDS_RECORDED -F 'redis-server:*Command' -o $OUTPUT"
status=0
"${command[@]}" || status=$?
[ $status = 0 ] || { echo "scripts/demo.sh: gpuprobe ended with status $status" >&2; exit "$status"; }
kill -0 "$server" 2>/dev/null || { echo "scripts/demo.sh: redis-server did not survive" >&2; exit 1; }


# ---- the GPU --------------------------------------------------------------------------------------------------------

SIM=build/sim
GPU_SECONDS=${GPU_SECONDS:-3}
outputs=("$OUTPUT")

# A program that keeps a real GPU busy; nothing where there is none, or nothing to make one with.
real_program() {
	nvidia-smi -L 2>/dev/null | grep -q '^GPU ' || return 1
	local nvcc
	nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null) || {
		echo "there is a GPU, but no nvcc to build a program for it" >&2
		return 1
	}
	"$nvcc" -O2 -o build/demo/launches tests/gpu/programs/launches.cu >&2 || return 1
	echo build/demo/launches
}

# record_gpu FILES OPTIONS...: of the process $cuda
record_gpu() {
	local files=$1
	shift
	echo "\$ sudo build/gpuprobe -p $cuda -d $GPU_SECONDS $* $files"
	# shellcheck disable=SC2086
	build/gpuprobe -p "$cuda" -d "$GPU_SECONDS" "$@" $files || {
		echo "scripts/demo.sh: gpuprobe could not record the GPU" >&2
		exit 1
	}
	kill -0 "$cuda" 2>/dev/null || { echo "scripts/demo.sh: what was recorded did not survive" >&2; exit 1; }
}

wait_for_cuda() {
	local tenths
	for ((tenths = 0; tenths < SERVER_WAIT_TENTHS; tenths++)); do
		grep -q 'libcuda\.so' "/proc/$cuda/maps" 2>/dev/null && sleep 0.5 && return 0
		sleep 0.1
	done
	return 1
}

echo
if program=$(real_program); then
	"$program" 600 >"$folder/cuda.log" 2>&1 </dev/null &
	cuda=$!
	wait_for_cuda
	echo "a loop of CUDA ($cuda) keeps the GPU busy"
	record_gpu "-o build/demo/gpu.json.gz"
	outputs+=(build/demo/gpu.json.gz)
elif [ -x $SIM/sim-train ]; then
	$SIM/sim-train --seconds 600 >"$folder/cuda.log" 2>&1 </dev/null &
	cuda=$!
	wait_for_cuda
	echo "no GPU here: the process $cuda runs on the SIMULATED CUDA of the tests (tests/sim). No figure below is a GPU's."
	record_gpu "-o build/demo/sim.gpr -o build/demo/sim.json.gz" --cupti "$(ls $SIM/cupti-13.0/libcupti.so.*)"
	outputs+=(build/demo/sim.json.gz)
else
	echo "no GPU here and no simulated CUDA (make sim says why): only the host was recorded"
fi

echo
echo "Open https://ui.perfetto.dev in a browser and drop one of these files on it (it is read in the browser;"
echo "nothing is uploaded):"
printf '  %s\n' "${outputs[@]/#/$PWD/}"
