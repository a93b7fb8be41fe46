/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The elements of a map of BPF programs, which these may go on changing meanwhile. */
#ifndef GPUPROBE_COLLECT_BPF_ELEMENTS_H
#define GPUPROBE_COLLECT_BPF_ELEMENTS_H

#include <bpf/libbpf.h>

/* key, value: valid until it returns. Not 0 ends the reading. */
typedef int (*bpf_element_callback)(void *data, const void *key, const void *value);

/* Calls back for every element of a hash that has one value for all CPUs: one that is there all the time once, whatever else comes
 * and goes (unlike with bpf_map_get_next_key(), which begins again where its key has gone). 0, the result of the callback that was
 * not 0, or -errno. */
int bpf_elements_read(const struct bpf_map *map, bpf_element_callback callback, void *data);

#endif
