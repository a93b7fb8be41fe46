/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of targets that are off their CPU: bpf/scheduling.bpf.c. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/bpf/bpf_records.h"

int bpf_source_attach_off_cpu(struct bpf_source *source, struct err *err)
{
	struct gpuprobe_bpf *skeleton = source->skeleton;
	struct bpf_program *programs[] = {skeleton->progs.task_switched,
					  skeleton->progs.timer_begins, skeleton->progs.timer_ends,
					  skeleton->progs.task_woken};

	_Static_assert(ARRAY_SIZE(programs) == OFF_CPU_PROGRAMS, "a link for each");
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		source->off_cpu_links[i] = bpf_program__attach(programs[i]);
		if (!source->off_cpu_links[i])
			return err_errno(err, -errno,
					 "can't attach to the tracepoint of %s (--no-blocking)",
					 bpf_program__name(programs[i]));
	}
	return 0;
}

void bpf_source_detach_off_cpu(struct bpf_source *source)
{
	for (size_t i = 0; i < OFF_CPU_PROGRAMS; i++) {
		bpf_link__destroy(source->off_cpu_links[i]);
		source->off_cpu_links[i] = NULL;
	}
}

/* Taking a program off a tracepoint takes as long as the machine is busy, and the kernel does not tell when it ran last. So the
 * programs are told the moment in good time. */
u64 bpf_source_end_off_cpu(struct bpf_source *source)
{
	unsigned long long *told = (unsigned long long *)&source->skeleton->bss->off_cpu_until_ns;
	struct timespec until;
	u64 until_ns;

	do {
		until_ns = clock_monotonic_ns() + NS_PER_MILLISECOND;
		__atomic_store_n(told, until_ns, __ATOMIC_SEQ_CST);
	} while (clock_monotonic_ns() >= until_ns);
	until = (struct timespec){until_ns / NS_PER_SECOND, until_ns % NS_PER_SECOND};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	bpf_source_detach_off_cpu(source);
	return until_ns;
}

static void nothing(void *data, const void *record)
{
}

int bpf_source_note_off_cpu(struct bpf_source *source)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	int result = bpf_records_read(skeleton->progs.threads_off_cpu, 0,
				      sizeof(struct record_off_cpu), nothing, NULL);

	if (!result && bpf_program__autoload(skeleton->progs.stacks_of_sleepers))
		result = bpf_records_read(skeleton->progs.stacks_of_sleepers, 0,
					  sizeof(struct record_off_cpu), nothing, NULL);
	return result;
}

int bpf_source_find_holders(const struct bpf_source *source, const struct pipe_end *ends,
			    size_t count, void (*callback)(void *data, const void *holder),
			    void *data)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	int fd = bpf_map__fd(skeleton->maps.sought_ends), result = 0;
	u32 value = 1;

	for (size_t i = 0; i < count && !result; i++)
		result = bpf_map_update_elem(fd, &ends[i], &value, BPF_ANY);
	if (!result)
		result = bpf_records_read(skeleton->progs.holders_of_ends, 0,
					  sizeof(struct pipe_holder), callback, data);
	for (size_t i = 0; i < count; i++)
		bpf_map_delete_elem(fd, &ends[i]);
	return result;
}

void bpf_source_find_off_cpu(struct bpf_source *source)
{
	struct gpuprobe_bpf *skeleton = source->skeleton;
	u64 begin_ns = clock_monotonic_ns();

	/* It writes no records. Where it fails, waits that were switched off before do not count as open still. */
	if (!bpf_records_read(skeleton->progs.threads_found_off_cpu, 0,
			      sizeof(struct record_off_cpu), nothing, NULL))
		skeleton->bss->off_cpu_found_ns = begin_ns;
}

int bpf_source_short_waits(struct bpf_source *source, bpf_source_callback callback, void *data)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;

	return bpf_records_take_map(skeleton->progs.short_waits, skeleton->maps.off_cpu_threads,
				    callback, data);
}

int bpf_source_open_off_cpu(struct bpf_source *source, bpf_source_callback callback, void *data)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;

	return bpf_records_take_map(skeleton->progs.open_off_cpu, skeleton->maps.off_cpu_threads,
				    callback, data);
}
