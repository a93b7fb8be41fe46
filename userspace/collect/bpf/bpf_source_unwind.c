/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables for bpf/unwind.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "collect/bpf/bpf_source_parts.h"

void bpf_source_configure_unwind(const struct bpf_source *source,
				 const struct bpf_source_settings *settings)
{
	struct gpuprobe_bpf *skeleton = source->skeleton;
	struct bpf_map *tables[] = {
		skeleton->maps.unwind_files,
		skeleton->maps.unwind_rules,
		skeleton->maps.unwind_mappings,
		skeleton->maps.unwind_spaces,
	};

	skeleton->rodata->walks_by_tables = settings->unwinds;
	if (settings->follow_children)
		bpf_map__set_max_entries(skeleton->maps.unwind_spaces,
					 bpf_map__max_entries(skeleton->maps.targets));
	for (size_t i = 0; i < ARRAY_SIZE(tables) && !settings->unwinds; i++)
		bpf_map__set_max_entries(tables[i], 1);
}

int bpf_source_put_unwind_rules(const struct bpf_source *source, const struct unwind_rule *rules,
				size_t first, size_t count, struct err *err)
{
	const struct bpf_map *map = source->skeleton->maps.unwind_rules;

	for (size_t i = 0; i < count; i++) {
		u32 number = (u32)(first + i);

		if (bpf_map__update_elem(map, &number, sizeof(number), &rules[i], sizeof(rules[i]),
					 0))
			return err_errno(err, -errno,
					 "can't hand an unwind rule to the BPF programs");
	}
	return 0;
}

int bpf_source_make_unwind_file(const struct unwind_words *words, u32 **ret_mapped, struct err *err)
{
	size_t bytes = words->count * sizeof(*words->items);
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	_cleanup_close_ int map = bpf_map_create(
		BPF_MAP_TYPE_ARRAY, "unwind_file", sizeof(u32), sizeof(struct unwind_chunk),
		(u32)(words->count / UNWIND_CHUNK_WORDS), &options);
	void *mapped;

	if (map < 0)
		return err_errno(err, -errno, "can't make an unwind table of %zu KiB", bytes >> 10);
	mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (mapped == MAP_FAILED)
		return err_errno(err, -errno, "can't map an unwind table of %zu KiB", bytes >> 10);
	memcpy(mapped, words->items, bytes);
	*ret_mapped = mapped;
	return take_fd(&map);
}

int bpf_source_put_unwind_files(const struct bpf_source *source, const u32 *files, const int *maps,
				size_t count, struct err *err)
{
	int array = bpf_map__fd(source->skeleton->maps.unwind_files);
	u32 done = (u32)count;

	/* What a kernel can't do by one call it does one by one. */
	if (!count || !bpf_map_update_batch(array, files, maps, &done, NULL))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (bpf_map_update_elem(array, &files[i], &maps[i], BPF_ANY))
			return err_errno(err, -errno,
					 "can't hand an unwind table to the BPF programs");
	return 0;
}

/* Neighbours differ in all bits. */
static u64 salt_of(u32 number)
{
	return (number + 1) * 0xd1342543de82ef95ULL;
}

static int put_mapping(const struct bpf_source *source, u32 place,
		       const struct unwind_mapping *mapping)
{
	return bpf_map__update_elem(source->skeleton->maps.unwind_mappings, &place, sizeof(place),
				    mapping, sizeof(*mapping), 0)
		       ? -errno
		       : 0;
}

bool bpf_source_has_unwind_space(const struct bpf_source *source, u32 pid)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	struct unwind_space space;
	struct unwind_mapping head;

	return !bpf_map__lookup_elem(skeleton->maps.unwind_spaces, &pid, sizeof(pid), &space,
				     sizeof(space), 0) &&
	       !bpf_map__lookup_elem(skeleton->maps.unwind_mappings, &space.first,
				     sizeof(space.first), &head, sizeof(head), 0) &&
	       head.start == space.salt;
}

static int compare_firsts(const void *left, const void *right)
{
	u32 a = *(const u32 *)left, b = *(const u32 *)right;

	return (a > b) - (a < b);
}

/* Where the mappings of all processes begin that have some, sorted; owned by the caller. */
static int find_used(const struct bpf_source *source, u32 **ret_firsts, size_t *ret_count)
{
	const struct bpf_map *map = source->skeleton->maps.unwind_spaces;
	u32 count = bpf_map__max_entries(map), next;
	_cleanup_free_ u32 *pids = calloc(count, sizeof(*pids)), *firsts = NULL;
	_cleanup_free_ struct unwind_space *spaces = calloc(count, sizeof(*spaces));

	firsts = calloc(count, sizeof(*firsts));
	if (!pids || !spaces || !firsts)
		return -ENOMEM;
	/* -ENOENT: these are all. */
	if (!bpf_map_lookup_batch(bpf_map__fd(map), NULL, &next, pids, spaces, &count, NULL))
		return -EAGAIN;
	if (errno != ENOENT)
		return -errno;
	for (u32 i = 0; i < count; i++)
		firsts[i] = spaces[i].first;
	qsort(firsts, count, sizeof(*firsts), compare_firsts);
	*ret_firsts = take_pointer(&firsts);
	*ret_count = count;
	return 0;
}

/* Until no program runs any more that does now: what a change of a map of maps waits for. */
static int await_programs(const struct bpf_source *source)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	_cleanup_close_ int spare = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_spare", sizeof(u32),
						   sizeof(struct unwind_chunk), 1, &options);
	u32 number = UNWIND_FILE_SPARE;

	if (spare < 0)
		return -errno;
	return bpf_map_update_elem(bpf_map__fd(source->skeleton->maps.unwind_files), &number,
				   &spare, BPF_ANY)
		       ? -errno
		       : 0;
}

/* Gives away what nobody uses any more. A child that is being forked may be led there a moment later still: what stands before the mappings
 * tells that they are not its own. The program that may sleep runs in this thread only. */
static int reclaim_ranges(struct bpf_source *source)
{
	static const struct unwind_mapping nobodys = {0};
	struct unwind_ranges *ranges = &source->unwind_ranges;
	_cleanup_free_ u32 *used = NULL;
	size_t used_count = 0;
	int result = find_used(source, &used, &used_count);

	if (result || !unwind_ranges_drop(ranges, used, used_count))
		return result;
	for (size_t i = 0; i < ranges->count && !result; i++)
		if (ranges->items[i].state == UNWIND_RANGE_DROPPED)
			result = put_mapping(source, ranges->items[i].first, &nobodys);
	if (!result)
		result = await_programs(source);
	if (!result)
		unwind_ranges_reclaim(ranges);
	return result;
}

static int take_range(struct bpf_source *source, u32 count, u32 *ret_first)
{
	int result = unwind_ranges_take(&source->unwind_ranges, count, ret_first);

	if (result != -ENOSPC)
		return result;
	result = reclaim_ranges(source);
	return result ? result : unwind_ranges_take(&source->unwind_ranges, count, ret_first);
}

/* The mappings first, then what says whose they are. */
static int fill_range(const struct bpf_source *source, const struct unwind_space *space,
		      const struct unwind_mapping *mappings)
{
	struct unwind_mapping head = {.start = space->salt, .end = space->count};
	int result = 0;

	for (u32 i = 0; i < space->count && !result; i++)
		result = put_mapping(source, space->first + 1 + i, &mappings[i]);
	return result ? result : put_mapping(source, space->first, &head);
}

int bpf_source_put_unwind_space(struct bpf_source *source, u32 pid,
				const struct unwind_mapping *mappings, size_t count,
				struct err *err)
{
	const struct bpf_map *spaces = source->skeleton->maps.unwind_spaces;
	struct unwind_space space = {.count = (u32)count, .salt = salt_of(source->unwind_spaces)};
	int result = count > UNWIND_PROCESS_MAX ? -ENOSPC
						: take_range(source, (u32)count + 1, &space.first);

	if (!result)
		result = fill_range(source, &space, mappings);
	/* Who walks its stacks sees what it mapped before, or all of this. */
	if (!result && bpf_map__update_elem(spaces, &pid, sizeof(pid), &space, sizeof(space), 0))
		result = -errno;
	if (!result) {
		source->unwind_spaces++;
		return 0;
	}
	bpf_map__delete_elem(spaces, &pid, sizeof(pid), 0);
	if (result == -ENOSPC)
		return err_set(err, -ENOSPC,
			       "process %u maps more pieces of code than there is room for", pid);
	return err_errno(err, result, "can't tell the BPF programs what process %u maps", pid);
}
