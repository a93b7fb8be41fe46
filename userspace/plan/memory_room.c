/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/memory_room.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_file.h"
#include "base/array.h"
#include "base/cleanup.h"

#define PAGE_BYTES    4096
#define SHARE_OF_ROOM 4
#define BUFFERS_MIN   8

/* Those of USDT probes: of the code, and of the counters of their listeners. */
static size_t list_usdt_pages(const struct plan *plan, size_t target, u64 *pages)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->usdt_count; i++) {
		const struct plan_usdt *usdt = &plan->usdt[i];
		u64 module = (u64)usdt->module << 40;

		if (!module_is_mapped_by(&plan->modules[usdt->module], target))
			continue;
		for (size_t s = 0; s < usdt->site_count; s++, count += 2) {
			const struct plan_usdt_site *site = &usdt->sites[s];
			u64 code = module | site->file_offset / PAGE_BYTES;

			if (!pages)
				continue;
			pages[count] = code;
			pages[count + 1] =
				site->semaphore_file_offset
					? module | site->semaphore_file_offset / PAGE_BYTES
					: code;
		}
	}
	return count;
}

/* (module, page) of every probe, in `pages` if it is not NULL. */
static size_t list_pages(const struct plan *plan, size_t target, u64 *pages)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->function_count; i++) {
		const struct plan_function *function = &plan->functions[i];
		u64 module = (u64)function->module << 40;

		if (!module_is_mapped_by(&plan->modules[function->module], target))
			continue;
		if (pages)
			pages[count] = module | function->file_offset / PAGE_BYTES;
		count++;
		for (size_t s = 0; s < function->site_count; s++, count++)
			if (pages)
				pages[count] = module | function->sites[s].file_offset / PAGE_BYTES;
	}
	return count + list_usdt_pages(plan, target, pages ? pages + count : NULL);
}

u64 memory_room_needed(const struct plan *plan, size_t target)
{
	size_t count = list_pages(plan, target, NULL), distinct = 0;
	_cleanup_free_ u64 *pages = calloc(count + 1, sizeof(*pages));

	if (!pages)
		return count * PAGE_BYTES;
	list_pages(plan, target, pages);
	qsort(pages, count, sizeof(*pages), array_compare_u64);
	for (size_t i = 0; i < count; i++)
		distinct += i == 0 || pages[i] != pages[i - 1];
	return distinct * PAGE_BYTES;
}

/* One number in a file of a cgroup; UINT64_MAX for "max" and for what cannot be read. */
static u64 read_number(const char *folder, const char *name)
{
	_cleanup_free_ char *path = NULL, *content = NULL;
	u64 number;

	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		path = NULL;
		return UINT64_MAX;
	}
	if (proc_file_read(AT_FDCWD, path, &content, NULL) ||
	    sscanf(content, "%" SCNu64, &number) != 1)
		return UINT64_MAX;
	return number;
}

/* Where a version of cgroups keeps what. */
struct cgroup_version {
	const char *mount;
	const char *limit, *usage;
	const char *file_cache[2]; /* keys of memory.stat: what can be taken back at once */
};

static const struct cgroup_version version_1 = {
	"/sys/fs/cgroup/memory",
	"memory.limit_in_bytes",
	"memory.usage_in_bytes",
	{"total_inactive_file", "total_active_file"},
};
static const struct cgroup_version version_2 = {
	"/sys/fs/cgroup",
	"memory.max",
	"memory.current",
	{"inactive_file", "active_file"},
};

static u64 file_cache_bytes(const char *folder, const struct cgroup_version *version)
{
	_cleanup_free_ char *path = NULL, *content = NULL;
	u64 sum = 0;

	if (asprintf(&path, "%s/memory.stat", folder) < 0) {
		path = NULL;
		return 0;
	}
	if (proc_file_read(AT_FDCWD, path, &content, NULL))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(version->file_cache); i++) {
		const char *key = version->file_cache[i], *at = content;
		size_t length = strlen(key);

		for (; at && (strncmp(at, key, length) || at[length] != ' ');
		     at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
			;
		sum += at ? strtoull(at + length, NULL, 10) : 0;
	}
	return sum;
}

static u64 left_in(const char *folder, const struct cgroup_version *version)
{
	u64 limit = read_number(folder, version->limit);
	u64 usage = read_number(folder, version->usage), cache;

	if (limit == UINT64_MAX || usage == UINT64_MAX)
		return UINT64_MAX;
	cache = file_cache_bytes(folder, version);
	usage -= cache < usage ? cache : usage;
	return usage < limit ? limit - usage : 0;
}

/* The least of a cgroup and those above it, up to the mount point. */
static u64 left_up_to(const char *cgroup, const struct cgroup_version *version)
{
	u64 least = UINT64_MAX;
	char folder[4096];

	if (snprintf(folder, sizeof(folder), "%s%s", version->mount, cgroup) >= (int)sizeof(folder))
		return least;
	while (strlen(folder) > strlen(version->mount)) {
		u64 left = left_in(folder, version);

		least = left < least ? left : least;
		*strrchr(folder, '/') = 0;
	}
	return least;
}

u64 memory_room_left(const struct target *target)
{
	_cleanup_free_ char *content = NULL;
	u64 least = UINT64_MAX;
	char *line, *rest;

	if (proc_file_read(target->proc_fd, "cgroup", &content, NULL))
		return least;
	rest = content;
	while ((line = strsep(&rest, "\n"))) {
		char *controllers = strchr(line, ':'), *path;
		u64 left = UINT64_MAX;

		if (!controllers || !(path = strchr(controllers + 1, ':')))
			continue;
		*path++ = 0;
		controllers++;
		/* Version 2 has no controllers in this line; version 1 a mount of its own for
		 * memory. */
		if (!*controllers)
			left = left_up_to(path, &version_2);
		else if (strstr(controllers, "memory"))
			left = left_up_to(path, &version_1);
		least = left < least ? left : least;
	}
	return least;
}

int memory_room_check(const struct plan *plan, const struct target *targets, size_t target_count,
		      struct err *err)
{
	for (size_t i = 0; i < target_count; i++) {
		u64 needed = memory_room_needed(plan, i), left = memory_room_left(&targets[i]);

		if (left == UINT64_MAX || needed <= left / SHARE_OF_ROOM)
			continue;
		return err_set(
			err, -ENOMEM,
			"can't attach to %s (%u): its memory cgroup has %" PRIu64
			" KB left, and the probes copy %" PRIu64
			" KB of its code: at the limit the kernel would kill it. Probe fewer "
			"functions, or raise the limit.",
			targets[i].comm, targets[i].pid, left >> 10, needed >> 10);
	}
	return 0;
}

int memory_room_buffers(const struct target *target, u32 buffer_bytes, u32 *count, struct err *err)
{
	u64 left = memory_room_left(target), fit = left / SHARE_OF_ROOM / buffer_bytes;

	if (left == UINT64_MAX)
		return 0;
	if (fit < *count)
		*count = fit;
	if (fit >= BUFFERS_MIN)
		return 0;
	return err_set(
		err, -ENOMEM,
		"can't put the agent into %u (%s): its memory cgroup has %" PRIu64
		" KB left, and the agent and CUPTI want %u KB: at the limit the kernel would "
		"kill it. Raise the limit.",
		target->pid, target->comm, left >> 10,
		SHARE_OF_ROOM * BUFFERS_MIN * (buffer_bytes >> 10));
}
