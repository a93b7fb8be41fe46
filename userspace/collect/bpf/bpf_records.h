/* What a BPF iterator over threads writes: records of one size. */
#ifndef GPUPROBE_COLLECT_BPF_BPF_RECORDS_H
#define GPUPROBE_COLLECT_BPF_BPF_RECORDS_H

#include <stddef.h>

#include "base/types.h"

struct bpf_program;

/* Runs it over the thread tid, 0: over all of the machine. A record is the callback's for as long as it runs. -errno. */
int bpf_records_read(const struct bpf_program *iterator, u32 tid, size_t record_bytes,
		     void (*callback)(void *data, const void *record), void *data);

#endif
