/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses by the file in which they are looked up. */
#ifndef GPUPROBE_RESOLVE_GROUPS_H
#define GPUPROBE_RESOLVE_GROUPS_H

#include "resolve/worker.h"

struct groups {
	struct worker_group *items;
	size_t count;
	struct worker_address *addresses; /* of all of them */
	int vdso_fd; /* our own, which is that of every process; -1: not needed, or not to be had */
};

/* places: the mapping of each address, NULL: none. 0 or -ENOMEM. */
int groups_make(const struct resolve_input *input, const struct resolve_mapping *const *places,
		struct groups *ret_groups);
void groups_free(struct groups *groups);

#endif
