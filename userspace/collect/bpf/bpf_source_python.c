/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of Python for bpf/python.h. */
#include <errno.h>
#include <stddef.h>

#include "collect/bpf/bpf_source_parts.h"

#define CODES_MAX	 (1 << 16) /* code objects of a recording */
#define CODES_RING_BYTES (4 << 20)

/* Processes in which ends of code objects are counted by single probes, which take UPROBE_SINGLE_DETACH_SECONDS each to go. */
#define SINGLE_ENDS_MAX 8

size_t bpf_source_python_ends_max(const struct bpf_source *source)
{
	if (!source->abilities.holds_cpu)
		return 0;
	return source->abilities.uprobe_multi ? SIZE_MAX : SINGLE_ENDS_MAX;
}

void bpf_source_configure_python(const struct bpf_source *source, bool wanted)
{
	struct gpuprobe_bpf *skeleton = source->skeleton;

	bool multi = source->abilities.uprobe_multi;

	bpf_program__set_autoload(skeleton->progs.python_code_ends, wanted && multi);
	bpf_program__set_autoload(skeleton->progs.python_code_ends_single, wanted && !multi);
	skeleton->rodata->reads_python = wanted;
	if (!wanted) {
		bpf_map__set_max_entries(skeleton->maps.python_processes, 1);
		return;
	}
	bpf_map__set_max_entries(skeleton->maps.python_processes,
				 bpf_map__max_entries(skeleton->maps.unwind_spaces));
	bpf_map__set_max_entries(skeleton->maps.python_code_ids, CODES_MAX);
	bpf_map__set_max_entries(skeleton->maps.python_codes, CODES_RING_BYTES);
}

bool bpf_source_reads_python(const struct bpf_source *source)
{
	return source->python;
}

bool bpf_source_refuses_python(const struct bpf_source *source)
{
	return source->python_refused;
}

static int on_code(void *data, void *event, size_t size_bytes)
{
	const struct bpf_source *source = data;

	source->python_callback(source->python_data, event, size_bytes);
	return 0;
}

int bpf_source_watch_python(struct bpf_source *source, struct err *err)
{
	if (!source->skeleton->rodata->reads_python)
		return 0;
	source->python = ring_buffer__new(bpf_map__fd(source->skeleton->maps.python_codes), on_code,
					  source, NULL);
	return source->python ? 0 : err_errno(err, -errno, "can't map a ring buffer");
}

void bpf_source_unwatch_python(struct bpf_source *source)
{
	ring_buffer__free(source->python);
	source->python = NULL;
}

int bpf_source_put_python(const struct bpf_source *source, u32 pid,
			  const struct python_process *process, struct err *err)
{
	return bpf_map__update_elem(source->skeleton->maps.python_processes, &pid, sizeof(pid),
				    process, sizeof(*process), 0)
		       ? err_errno(err, -errno,
				   "can't tell the BPF programs of the Python in process %u", pid)
		       : 0;
}

void bpf_source_drop_python(const struct bpf_source *source, u32 pid)
{
	bpf_map__delete_elem(source->skeleton->maps.python_processes, &pid, sizeof(pid), 0);
}

int bpf_source_get_python(const struct bpf_source *source, u32 pid,
			  struct python_process *ret_process)
{
	return bpf_map__lookup_elem(source->skeleton->maps.python_processes, &pid, sizeof(pid),
				    ret_process, sizeof(*ret_process), 0);
}

bool bpf_source_has_python(const struct bpf_source *source, u32 pid)
{
	struct python_process process;

	return !bpf_source_get_python(source, pid, &process);
}

int bpf_source_attach_python_ends(const struct bpf_source *source, u32 pid, int file_fd, u64 offset,
				  struct uprobe_set *set, struct err *err)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	bool multi = source->abilities.uprobe_multi;
	u64 cookie = 0;
	const struct uprobe_group group = {
		.kind = multi ? UPROBE_MULTI : UPROBE_SINGLE,
		.program_fd = bpf_program__fd(multi ? skeleton->progs.python_code_ends
						    : skeleton->progs.python_code_ends_single),
		.file_fd = file_fd,
		.pid = pid,
		.offsets = &offset,
		.cookies = &cookie,
		.count = 1};

	return uprobe_attach(set, &group, err);
}

int bpf_source_set_python_generation(const struct bpf_source *source, u32 pid, u64 generation)
{
	struct python_process process;
	int result = bpf_source_get_python(source, pid, &process);

	process.generation = generation;
	return result ? result
		      : bpf_map__update_elem(source->skeleton->maps.python_processes, &pid,
					     sizeof(pid), &process, sizeof(process), BPF_EXIST);
}

void bpf_source_take_python_codes(struct bpf_source *source,
				  void (*callback)(void *data, const struct python_code *code,
						   size_t size_bytes),
				  void *data)
{
	if (!source->python)
		return;
	source->python_callback = callback;
	source->python_data = data;
	ring_buffer__consume(source->python);
}
