/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads of targets that are off their CPU: bpf/scheduling.bpf.c. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>

#include "base/array.h"
#include "collect/bpf/bpf_records.h"

int bpf_source_attach_off_cpu(struct bpf_source *source, struct err *err)
{
	struct gpuprobe_bpf *skeleton = source->skeleton;
	struct bpf_program *programs[] = {skeleton->progs.task_switched,
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

static void nothing(void *data, const void *record)
{
}

int bpf_source_note_off_cpu(struct bpf_source *source)
{
	return bpf_records_read(source->skeleton->progs.threads_off_cpu, 0,
				sizeof(struct record_off_cpu), nothing, NULL);
}

int bpf_source_open_off_cpu(struct bpf_source *source, bpf_source_callback callback, void *data)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;

	return bpf_records_take_map(skeleton->progs.open_off_cpu,
				    bpf_map__fd(skeleton->maps.off_cpu_threads),
				    sizeof(struct record_off_cpu), callback, data);
}
