/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables for bpf/unwind.h. */
#include <errno.h>
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

bool bpf_source_has_unwind_space(const struct bpf_source *source, u32 pid)
{
	struct unwind_space space;

	return !bpf_map__lookup_elem(source->skeleton->maps.unwind_spaces, &pid, sizeof(pid),
				     &space, sizeof(space), 0);
}

int bpf_source_put_unwind_space(struct bpf_source *source, u32 pid,
				const struct unwind_mapping *mappings, size_t count,
				struct err *err)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	struct unwind_space space = {.first = source->unwind_mappings,
				     .count = (u32)count,
				     .salt = salt_of(source->unwind_spaces)};

	if (count > UNWIND_PROCESS_MAX || count > UNWIND_MAPPINGS_MAX - source->unwind_mappings) {
		bpf_map__delete_elem(skeleton->maps.unwind_spaces, &pid, sizeof(pid), 0);
		return err_set(err, -ENOSPC,
			       "process %u maps more pieces of code than there is room for", pid);
	}
	for (size_t i = 0; i < count; i++) {
		u32 place = space.first + (u32)i;

		if (bpf_map__update_elem(skeleton->maps.unwind_mappings, &place, sizeof(place),
					 &mappings[i], sizeof(mappings[i]), 0))
			return err_errno(err, -errno,
					 "can't tell the BPF programs what process %u maps", pid);
	}
	/* Who walks its stacks sees what it mapped before, or all of this. */
	if (bpf_map__update_elem(skeleton->maps.unwind_spaces, &pid, sizeof(pid), &space,
				 sizeof(space), 0))
		return err_errno(err, -errno, "can't tell the BPF programs what process %u maps",
				 pid);
	source->unwind_mappings += (u32)count;
	source->unwind_spaces++;
	return 0;
}
