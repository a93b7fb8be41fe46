/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel tells of BPF programs besides their ring: records of one size that an iterator writes, hits that it dropped. */
#ifndef GPUPROBE_COLLECT_BPF_BPF_RECORDS_H
#define GPUPROBE_COLLECT_BPF_BPF_RECORDS_H

#include "collect/source.h"

struct bpf_program;
struct bpf_map;

/* Runs it over the thread tid, 0: over all of the machine. A record is the callback's for as long as it runs. -errno. */
int bpf_records_read(const struct bpf_program *iterator, u32 tid, size_t record_bytes,
		     void (*callback)(void *data, const void *record), void *data);
/* Hands the records of an iterator over all threads, each of record_bytes, to a callback as those of a ring are. 0 or -errno. */
int bpf_records_take(const struct bpf_program *iterator, size_t record_bytes, record_callback callback, void *data);
/* The same of a program that is run for each element of a map, whose keys are of 32 bits (struct element_request): some kernels have no
 * iterators over elements. */
int bpf_records_take_map(const struct bpf_program *program, const struct bpf_map *map,
			 record_callback callback, void *data);
/* How often the kernel did not run a program because one ran already on that CPU. program_fd < 0: 0. */
u64 bpf_program_missed(int program_fd);

#endif
