/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/python_ends.h"

#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "elf/elf_pieces.h"
#include "plan/site_check.h"

/* A hit costs about a microsecond: half a percent of a processor. Importing modules ends some 1,000 a second. */
#define ENDS_PER_SECOND_MAX 5000

#define BREAKPOINT 0xcc

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

static bool begins_function(int fd, u64 offset)
{
	const struct elf_piece *piece = NULL;
	struct elf_pieces *pieces = NULL;
	struct elf_file *file;
	bool begins;
	u64 address;

	if (elf_file_open(fd, "", &file, NULL))
		return false;
	if (!elf_file_address(file, offset, &address) && !elf_pieces_read(file, &pieces, NULL))
		piece = elf_pieces_find(pieces, address);
	begins = piece && piece->start == address;
	elf_pieces_free(pieces);
	elf_file_free(file);
	return begins;
}

/* What a target has in memory is untrusted: a probe within an instruction would make another one of that. Most targets have one interpreter. */
static bool is_function(struct python_ends *ends, const struct code_map *map, size_t file,
			u64 offset)
{
	if (!ends->function_offset || ends->function_file != file ||
	    ends->function_offset != offset) {
		if (!begins_function(map->files[file].fd, offset))
			return false;
		ends->function_file = file;
		ends->function_offset = offset;
	}
	return true;
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

static bool is_probed(u32 pid, u64 address)
{
	u8 byte = 0;

	return python_memory_of_process(&pid, address, &byte, sizeof(byte)) && byte == BREAKPOINT;
}

static int attach(struct python_ends *ends, const struct bpf_source *source,
		  const struct target *target, const struct code_map *map,
		  const struct code_mapping *mapping, u64 address, struct uprobe_set *probe,
		  struct err *err)
{
	u64 offset;
	int result;

	/* Probes that name a process last only as long as its first thread. */
	if (target->first_thread_ended)
		return err_set(err, -ENOENT, "its first thread has ended");
	offset = address - mapping->start + mapping->file_offset;
	if (!is_function(ends, map, mapping->file, offset))
		return err_set(err, -ENOTSUP, "what should end them is no function");
	result = check(target, map, mapping, offset, err);
	if (!result)
		result = bpf_source_attach_python_ends(
			source, target->pid, map->files[mapping->file].fd, offset, probe, err);
	if (!result)
		result = check(target, map, mapping, offset, err);
	/* An overlay may have copied the file up since it was mapped: then the probe is on the copy. */
	if (!result && !is_probed(target->pid, address))
		result = err_set(err, -ESTALE, "a probe in its file is not in its memory");
	return result;
}

bool python_ends_has_room(const struct python_ends *ends, const struct bpf_source *source)
{
	return ends->count < ARRAY_SIZE(ends->items) &&
	       ends->count < bpf_source_python_ends_max(source);
}

/* The interpreter's own, with a probe that is where the process runs it. */
static int put_probe(struct python_ends *ends, const struct bpf_source *source,
		     const struct code_map *map, const struct python_files *files,
		     struct python_ends_process *process, struct err *err)
{
	struct target target = {.pidfd = -1, .proc_fd = -1};
	const struct code_mapping *mapping;
	struct python_process python;
	int result = bpf_source_get_python(source, process->pid, &python);

	if (result)
		return err_set(err, result, "it has no interpreter any more");
	mapping = find_mapping(map, process->pid, python.code_dealloc);
	/* Whoever has put another one in its place may put it back. */
	if (!mapping || mapping->file >= files->count || files->items[mapping->file].result)
		return err_set(err, -ENOTSUP,
			       "the function that ends them is not its interpreter's");
	result = target_open(process->pid, false, &target, err);
	if (!result)
		result = attach(ends, source, &target, map, mapping, python.code_dealloc,
				&process->probe, err);
	target_close(&target);
	/* From here on they are counted. */
	if (!result && bpf_source_set_python_generation(source, process->pid, process->generation))
		result = err_set(err, -ESRCH, "it has executed another program");
	return result;
}

void python_ends_count(struct python_ends *ends, const struct bpf_source *source,
		       const struct code_map *map, const struct python_files *files, u32 pid)
{
	struct python_ends_process process = {.pid = pid,
					      .generation = PYTHON_GENERATION_OF(++ends->number),
					      .since_ns = clock_monotonic_ns()};
	struct err err = {0};

	if (!put_probe(ends, source, map, files, &process, &err)) {
		ends->items[ends->count++] = process;
		return;
	}
	uprobe_detach(&process.probe, NULL, NULL);
	log_debug("process %u: ends of code objects of Python are not counted: %s", pid,
		  err.message);
}

/* Has it ended, executed another program, or is it too dear? */
static bool is_over(struct python_ends_process *process, const struct bpf_source *source,
		    u64 now_ns)
{
	struct python_process python;
	u64 spent_ns = now_ns - process->since_ns, count;

	if (bpf_source_get_python(source, process->pid, &python))
		return true;
	count = python.generation - process->generation;
	if (count >= PYTHON_GENERATION_OF(1))
		return true;
	if (spent_ns < NS_PER_SECOND)
		return false;
	process->generation = python.generation;
	process->since_ns = now_ns;
	if ((double)count * NS_PER_SECOND <= (double)ENDS_PER_SECOND_MAX * (double)spent_ns)
		return false;
	log_debug("process %u: code objects of Python end too often to be counted: %llu in "
		  "%.1f s",
		  process->pid, (unsigned long long)count, (double)spent_ns / NS_PER_SECOND);
	bpf_source_set_python_generation(source, process->pid, 0);
	return true;
}

void python_ends_look(struct python_ends *ends, const struct bpf_source *source, u64 now_ns)
{
	for (size_t i = 0; i < ends->count; i++)
		if (is_over(&ends->items[i], source, now_ns)) {
			uprobe_detach(&ends->items[i].probe, NULL, NULL);
			ends->items[i] = ends->items[--ends->count];
			return;
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
