/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the memory of targets grows: bpf/growth.bpf.c. */
#include <errno.h>

#include "collect/bpf/bpf_elements.h"
#include "collect/bpf/bpf_source_parts.h"

void bpf_source_choose_growth(const struct bpf_source *source, bool wanted)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	const enum kernel_growth can = wanted ? source->abilities.growth : KERNEL_GROWTH_NONE;
	const struct {
		struct bpf_program *program;
		bool load;
	} choices[] = {
		{skeleton->progs.mapping_locked, can == KERNEL_GROWTH_LOCKS},
		{skeleton->progs.mapping_locked_named, can == KERNEL_GROWTH_LOCKS_NAMED},
		{skeleton->progs.mapping_unlocked, can},
		{skeleton->progs.fault_in_user, can},
		{skeleton->progs.fault_in_kernel, can},
		{skeleton->progs.memory_taken, can},
	};

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
		bpf_program__set_autoload(choices[i].program, choices[i].load);
	if (can)
		return;
	bpf_map__set_max_entries(skeleton->maps.growths, 1);
	bpf_map__set_max_entries(skeleton->maps.growth_open, 1);
}

int bpf_source_attach_growth(struct bpf_source *source, struct err *err)
{
	struct gpuprobe_bpf *skeleton = source->skeleton;
	struct bpf_program *programs[] = {
		source->abilities.growth == KERNEL_GROWTH_LOCKS
			? skeleton->progs.mapping_locked
			: skeleton->progs.mapping_locked_named,
		skeleton->progs.mapping_unlocked,
		skeleton->progs.fault_in_user,
		skeleton->progs.fault_in_kernel,
		skeleton->progs.memory_taken,
	};

	_Static_assert(ARRAY_SIZE(programs) == GROWTH_PROGRAMS, "a link for each");
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		source->growth_links[i] = bpf_program__attach(programs[i]);
		if (!source->growth_links[i])
			return err_errno(err, -errno,
					 "can't attach to the tracepoint of %s (--alloc off)",
					 bpf_program__name(programs[i]));
	}
	return 0;
}

void bpf_source_detach_growth(struct bpf_source *source)
{
	for (size_t i = 0; i < GROWTH_PROGRAMS; i++) {
		bpf_link__destroy(source->growth_links[i]);
		source->growth_links[i] = NULL;
	}
}

/* The time that records are of, and who gets them. */
struct taker {
	u64 start_ns, dur_ns;
	bpf_source_callback callback;
	void *data;
};

static int hand_over(void *data, const void *element_key, const void *element_value)
{
	const struct taker *taker = data;
	const struct growth_key *key = element_key;
	const struct growth_sums *sums = element_value;
	const struct record_growth record = {
		.header = {.size_bytes = sizeof(record),
			   .kind = KIND_growth,
			   .source = RECORD_SOURCE_BPF,
			   .ts = taker->start_ns,
			   .dur = taker->dur_ns,
			   .pid = key->pid,
			   .name = key->name,
			   .stack = key->stack},
		.maps = sums->maps,
		.mapped_bytes = sums->mapped_bytes,
		.unmaps = sums->unmaps,
		.unmapped_bytes = sums->unmapped_bytes,
		.faults = sums->faults,
		.faulted_bytes = sums->faulted_bytes,
	};

	return taker->callback(taker->data, &record.header, sizeof(record));
}

int bpf_source_take_growth(struct bpf_source *source, u64 start_ns, u64 dur_ns,
			   bpf_source_callback callback, void *data)
{
	struct taker taker = {start_ns, dur_ns, callback, data};

	return bpf_elements_read(source->skeleton->maps.growths, hand_over, &taker);
}

u64 bpf_source_missed_growth(const struct bpf_source *source)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	const struct bpf_program *const programs[] = {
		skeleton->progs.mapping_locked,	  skeleton->progs.mapping_locked_named,
		skeleton->progs.mapping_unlocked, skeleton->progs.fault_in_user,
		skeleton->progs.memory_taken,
	};
	u64 missed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		missed += bpf_program_missed(bpf_program__fd(programs[i]));
	return missed;
}
