/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/python_ends.h"

#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "plan/site_check.h"

/* A hit costs about a microsecond: half a percent of a processor. Importing modules ends some 1,000 a second. */
#define ENDS_PER_SECOND_MAX 5000

/* Where the process has this address from; NULL: from no file that is open. */
static const struct code_mapping *find_mapping(const struct code_map *map, u32 pid, u64 address)
{
	for (size_t i = map->count; i > 0; i--) {
		const struct code_mapping *mapping = &map->mappings[i - 1];

		if (mapping->pid == pid && address - mapping->start < mapping->end - mapping->start)
			return mapping->file != SIZE_MAX && map->files[mapping->file].fd >= 0
				       ? mapping
				       : NULL;
	}
	return NULL;
}

/* The code of the function is that of the file, before and after. */
static int check(const struct target *target, const struct code_map *map,
		 const struct code_mapping *mapping, u64 offset, struct err *err)
{
	struct site_changes changes = {0};
	u64 cookie = 0;
	struct site_offsets offsets = {.path = mapping->path,
				       .fd = map->files[mapping->file].fd,
				       .maps_device = mapping->device,
				       .maps_inode = mapping->inode,
				       .offsets = &offset,
				       .cookies = &cookie,
				       .count = 1};
	int result = site_check_offsets(target, &offsets, &changes);

	if (result)
		return err_errno(err, result, "can't compare the code of %s", mapping->path);
	return changes.count ? err_set(err, -ESTALE, "%s", changes.first) : 0;
}

static int attach(const struct bpf_source *source, const struct target *target,
		  const struct code_map *map, u64 address, struct uprobe_set *probe,
		  struct err *err)
{
	const struct code_mapping *mapping = find_mapping(map, target->pid, address);
	u64 offset;
	int result;

	/* Probes that name a process last only as long as its first thread. */
	if (!mapping || target->first_thread_ended)
		return err_set(err, -ENOENT, "%s",
			       mapping ? "its first thread has ended"
				       : "the function that ends them is in no file");
	offset = address - mapping->start + mapping->file_offset;
	result = check(target, map, mapping, offset, err);
	if (!result)
		result = bpf_source_attach_python_ends(
			source, target->pid, map->files[mapping->file].fd, offset, probe, err);
	if (!result)
		result = check(target, map, mapping, offset, err);
	if (result)
		uprobe_detach(probe, NULL, NULL);
	return result;
}

void python_ends_count(struct python_ends *ends, const struct bpf_source *source,
		       const struct code_map *map, u32 pid)
{
	struct target target = {.pidfd = -1, .proc_fd = -1};
	struct python_ends_process process = {.pid = pid, .since_ns = clock_monotonic_ns()};
	struct python_process python;
	struct err err = {0};
	int result;

	if (ends->count == ARRAY_SIZE(ends->items) || bpf_source_get_python(source, pid, &python))
		return;
	result = target_open(pid, false, &target, &err);
	if (!result)
		result = attach(source, &target, map, python.code_dealloc, &process.probe, &err);
	target_close(&target);
	process.generation = PYTHON_GENERATION_OF(++ends->number);
	if (!result)
		ends->items[ends->count++] = process;
	/* From here on they are counted. */
	if (!result)
		result = bpf_source_set_python_generation(source, pid, process.generation);
	if (result)
		log_debug("process %u: ends of code objects of Python are not counted: %s", pid,
			  err.message[0] ? err.message : "it has executed another program");
}

void python_ends_look(struct python_ends *ends, const struct bpf_source *source, u64 now_ns)
{
	for (size_t i = 0; i < ends->count; i++) {
		struct python_ends_process *process = &ends->items[i];
		struct python_process python;
		u64 spent_ns = now_ns - process->since_ns, count;

		if (!process->probe.link_count || spent_ns < NS_PER_SECOND ||
		    bpf_source_get_python(source, process->pid, &python))
			continue;
		count = python.generation - process->generation;
		/* It has executed another program since. */
		if (count >= PYTHON_GENERATION_OF(1))
			continue;
		process->generation = python.generation;
		process->since_ns = now_ns;
		if ((double)count * NS_PER_SECOND <= (double)ENDS_PER_SECOND_MAX * (double)spent_ns)
			continue;
		log_debug("process %u: code objects of Python end too often to be counted: %llu in "
			  "%.1f s",
			  process->pid, (unsigned long long)count,
			  (double)spent_ns / NS_PER_SECOND);
		bpf_source_set_python_generation(source, process->pid, 0);
		uprobe_detach(&process->probe, NULL, NULL);
	}
}

void python_ends_hand_over(struct python_ends *ends, const struct bpf_source *source,
			   struct uprobe_set *to)
{
	for (size_t i = 0; i < ends->count; i++) {
		bpf_source_set_python_generation(source, ends->items[i].pid, 0);
		uprobe_set_move(to, &ends->items[i].probe);
	}
}

void python_ends_free(struct python_ends *ends)
{
	for (size_t i = 0; i < ends->count; i++)
		uprobe_detach(&ends->items[i].probe, NULL, NULL);
	*ends = (struct python_ends){0};
}
