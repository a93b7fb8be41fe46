/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/bpf/bpf_elements.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/types.h"

#define BATCH 16384 /* elements that are read at a time; no bucket has more */

int bpf_elements_read(const struct bpf_map *map, bpf_element_callback callback, void *data)
{
	u32 batch = bpf_map__max_entries(map) < BATCH ? bpf_map__max_entries(map) : BATCH;
	size_t key_size = bpf_map__key_size(map), value_size = bpf_map__value_size(map);
	_cleanup_free_ char *keys = calloc(batch, key_size), *values = calloc(batch, value_size);
	u64 position[4], *previous = NULL; /* as large as any key */
	int result = 0, ended = 0;

	if (!keys || !values)
		return -ENOMEM;
	while (!ended && !result) {
		u32 count = batch;

		ended = bpf_map_lookup_batch(bpf_map__fd(map), previous, position, keys, values,
					     &count, NULL);
		if (ended && ended != -ENOENT)
			return ended;
		previous = position;
		for (u32 i = 0; i < count && !result; i++)
			result = callback(data, keys + i * key_size, values + i * value_size);
	}
	return result;
}
