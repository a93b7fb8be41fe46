/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interpreters of CPython in targets, which userspace tells, and the code objects that were seen; defined in maps.bpf.c. */
#ifndef GPUPROBE_BPF_PYTHON_MAPS_H
#define GPUPROBE_BPF_PYTHON_MAPS_H

#include "types.h"
#include "python_layout.h"

#ifdef MAPS_DEFINE
#define MAP
#else
#define MAP extern
#endif

MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tgid as the host sees it */
	__type(value, struct python_process);
} python_processes SEC(".maps");

/* Code objects that were sent: by the hash of what makes them what they are, their id. Sized by userspace, as the next one. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u32);
} python_code_ids SEC(".maps");

/* Of struct python_code. */
MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} python_codes SEC(".maps");

#undef MAP

/* May targets have such interpreters? */
extern const volatile bool reads_python;

#endif
