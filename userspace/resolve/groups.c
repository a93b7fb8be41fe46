/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf_vdso.h"

struct place {
	const struct resolve_mapping *mapping;
	u64 offset;
	u32 index;
	int fd;
	u32 pid; /* of JIT code; 0 in files, which processes share */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->fd != right->fd)
		return left->fd < right->fd ? -1 : 1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->offset > right->offset) - (left->offset < right->offset);
}

static struct place place_of(const struct resolve_input *input, size_t index,
			     const struct resolve_mapping *mapping, struct groups *groups)
{
	u64 address = input->addresses[index].address;
	struct place place = {.mapping = mapping,
			      .offset = address - mapping->start + mapping->file_offset,
			      .index = index,
			      .fd = mapping->fd};

	if (place.fd < 0 && strcmp(mapping->path, ELF_VDSO_NAME) == 0) {
		if (groups->vdso_fd < 0)
			groups->vdso_fd = elf_vdso_open();
		place.fd = groups->vdso_fd;
	}
	if (place.fd < 0) {
		place.fd = -1;
		place.pid = mapping->pid;
		place.offset = address;
	}
	return place;
}

static const struct resolve_process *process_find(const struct resolve_input *input, u32 pid)
{
	for (size_t i = 0; i < input->process_count; i++)
		if (input->processes[i].pid == pid)
			return &input->processes[i];
	return NULL;
}

static void groups_fill(const struct resolve_input *input, const struct place *places, size_t count,
			struct groups *groups)
{
	struct worker_group *group = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!i || places[i].fd != places[i - 1].fd || places[i].pid != places[i - 1].pid) {
			group = &groups->items[groups->count++];
			*group = (struct worker_group){
				.fd = places[i].fd,
				.debug_fd = -1,
				.path = places[i].mapping->path,
				.process = process_find(input, places[i].mapping->pid),
				.addresses = &groups->addresses[i]};
		}
		groups->addresses[i] = (struct worker_address){places[i].offset, places[i].index};
		group->count++;
	}
}

int groups_make(const struct resolve_input *input, const struct resolve_mapping *const *places,
		struct groups *ret_groups)
{
	_cleanup_free_ struct place *found = calloc(input->address_count + 1, sizeof(*found));
	struct groups groups = {.vdso_fd = -1};
	size_t count = 0;

	groups.addresses = calloc(input->address_count + 1, sizeof(*groups.addresses));
	groups.items = calloc(input->address_count + 1, sizeof(*groups.items));
	if (!found || !groups.addresses || !groups.items) {
		groups_free(&groups);
		return -ENOMEM;
	}
	for (size_t i = 0; i < input->address_count; i++)
		if (places[i])
			found[count++] = place_of(input, i, places[i], &groups);
	qsort(found, count, sizeof(*found), compare_places);
	groups_fill(input, found, count, &groups);
	*ret_groups = groups;
	return 0;
}

void groups_free(struct groups *groups)
{
	free(groups->items);
	free(groups->addresses);
	if (groups->vdso_fd >= 0)
		close(groups->vdso_fd);
	*groups = (struct groups){.vdso_fd = -1};
}
