/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The unwind tables of a recording: what userspace fills and unwind.h reads; defined in maps.bpf.c. */
#ifndef GPUPROBE_BPF_UNWIND_MAPS_H
#define GPUPROBE_BPF_UNWIND_MAPS_H

#include "types.h"
#include "unwind_table.h"

#define UNWIND_CACHE_BITS    10
#define UNWIND_CACHE_ENTRIES (1 << UNWIND_CACHE_BITS)
#define UNWIND_TAG_BITS	     48

/* An entry is one word, so none is ever seen half written: the number of the rule, and above it what is left of the address. */
struct unwind_cache {
	u64 entries[UNWIND_CACHE_ENTRIES];
};

#ifdef MAPS_DEFINE
#define MAP
#else
#define MAP extern
#endif

struct unwind_file {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(key_size, sizeof(u32)); /* the linker of libbpf finds no size behind a type here */
	__uint(value_size, sizeof(struct unwind_chunk));
};

MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_FILES_MAX);
	__type(key, u32);
	__array(values, struct unwind_file);
} unwind_files SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_RULES_MAX);
	__type(key, u32);
	__type(value, struct unwind_rule);
} unwind_rules SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_MAPPINGS_MAX);
	__type(key, u32);
	__type(value, struct unwind_mapping);
} unwind_mappings SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32); /* tgid as the host sees it */
	__type(value, struct unwind_space);
} unwind_spaces SEC(".maps");

MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct unwind_cache);
} unwind_cache SEC(".maps");

/* The last ones that userspace was asked for, by what is left of their address: mostly none is asked for twice. */
#define UNWIND_ASKED_MAX 1024
MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UNWIND_ASKED_MAX);
	__type(key, u32);
	__type(value, u64);
} unwind_asked SEC(".maps");

#undef MAP

#endif
