/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Targets that change code of their own in which there are probes: bpf/code_writes.bpf.c. */
#include "collect/bpf/bpf_source_parts.h"

#include <errno.h>
#include <stdlib.h>

#define PROCESSES_MAX 4096 /* with probes in code of theirs; 4 KB each that there is */

/* The one that this kernel takes; NULL: none. */
static struct bpf_program *program_of(const struct bpf_source *source)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;

	if (source->abilities.locks == KERNEL_GROWTH_LOCKS_NAMED)
		return skeleton->progs.code_locked_named;
	if (source->abilities.locks != KERNEL_GROWTH_LOCKS)
		return NULL;
	return source->abilities.hold_threads ? skeleton->progs.code_locked_holding
					      : skeleton->progs.code_locked;
}

static struct bpf_program *program_at_exec(const struct bpf_source *source)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;

	return program_of(source) == skeleton->progs.code_locked_holding
		       ? skeleton->progs.code_executed_holding
		       : skeleton->progs.code_executed;
}

void bpf_source_choose_code(const struct bpf_source *source, bool wanted)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	struct bpf_program *programs[] = {
		skeleton->progs.code_locked, skeleton->progs.code_locked_named,
		skeleton->progs.code_locked_holding, skeleton->progs.code_executed,
		skeleton->progs.code_executed_holding};
	const struct bpf_program *chosen = wanted ? program_of(source) : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		bpf_program__set_autoload(
			programs[i], programs[i] == chosen ||
					     (chosen && programs[i] == program_at_exec(source)));
	if (chosen)
		bpf_map__set_max_entries(skeleton->maps.probed_code, PROCESSES_MAX);
	/* What is known in it by its name kernels before 6.18 do not know, nor need. */
	if (chosen != skeleton->progs.code_locked_holding)
		bpf_map__set_autocreate(skeleton->maps.code_holds, false);
}

static int on_code_write(void *data, void *event, size_t size_bytes)
{
	struct bpf_source *source = data;

	if (size_bytes >= sizeof(struct code_write_event))
		source->code_callback(source->code_data, event);
	return 0;
}

int bpf_source_watch_code(struct bpf_source *source, const struct code_patcher *names, size_t count,
			  struct err *err)
{
	const struct gpuprobe_bpf *skeleton = source->skeleton;
	const struct bpf_program *program = program_of(source);

	if (!program || !bpf_program__autoload(program))
		return 0;
	for (u32 i = 0; i < count && i < CODE_PATCHERS_MAX; i++)
		if (bpf_map__update_elem(skeleton->maps.code_patchers, &i, sizeof(i), &names[i],
					 sizeof(names[i]), 0))
			return err_errno(err, -errno, "can't name the libraries that patch others");
	source->code_writes = ring_buffer__new(bpf_map__fd(skeleton->maps.code_writes),
					       on_code_write, source, NULL);
	if (!source->code_writes)
		return err_errno(err, -errno, "can't map a ring buffer");
	source->code_exec_link = bpf_program__attach(program_at_exec(source));
	if (source->code_exec_link)
		source->code_link = bpf_program__attach(program);
	return source->code_link ? 0
				 : err_errno(err, -errno, "can't attach to the tracepoint of %s",
					     bpf_program__name(program));
}

int bpf_source_put_code_file(const struct bpf_source *source, u64 inode)
{
	const u32 value = 1;

	return source->code_link ? bpf_map__update_elem(source->skeleton->maps.code_files, &inode,
							sizeof(inode), &value, sizeof(value), 0)
				 : 0;
}

int bpf_source_put_probed_code(const struct bpf_source *source, u32 pid, struct probed_code *code)
{
	const struct bpf_map *map = source->skeleton->maps.probed_code;
	struct probed_code *before;

	if (!source->code_link)
		return 0;
	before = malloc(sizeof(*before));
	if (!before)
		return -ENOMEM;
	if (!bpf_map__lookup_elem(map, &pid, sizeof(pid), before, sizeof(*before), 0))
		code->held_ns = before->held_ns;
	free(before);
	return bpf_map__update_elem(map, &pid, sizeof(pid), code, sizeof(*code), 0);
}

void bpf_source_forget_probed_code(const struct bpf_source *source, u32 pid)
{
	bpf_map__delete_elem(source->skeleton->maps.probed_code, &pid, sizeof(pid), 0);
}

void bpf_source_hold_code(const struct bpf_source *source, bool hold)
{
	__atomic_store_n(&source->skeleton->bss->code_hold_wanted, hold, __ATOMIC_SEQ_CST);
}

bool bpf_source_is_code_held(const struct bpf_source *source, const struct code_write_event *event)
{
	u64 since_ns;

	return event->held &&
	       !bpf_map__lookup_elem(source->skeleton->maps.code_held, &event->tid,
				     sizeof(event->tid), &since_ns, sizeof(since_ns), 0) &&
	       since_ns == event->ts;
}

/* By now it may wait for the answer to another one. */
void bpf_source_release_code(const struct bpf_source *source, const struct code_write_event *event)
{
	if (bpf_source_is_code_held(source, event))
		bpf_map__delete_elem(source->skeleton->maps.code_held, &event->tid,
				     sizeof(event->tid), 0);
}

u32 bpf_source_code_late(const struct bpf_source *source)
{
	return __atomic_load_n(&source->skeleton->bss->code_late, __ATOMIC_SEQ_CST) -
	       __atomic_load_n(&source->skeleton->bss->code_late_answered, __ATOMIC_SEQ_CST);
}

void bpf_source_add_code_late(const struct bpf_source *source)
{
	__atomic_add_fetch(&source->skeleton->bss->code_late, 1, __ATOMIC_SEQ_CST);
}

void bpf_source_answer_code_late(const struct bpf_source *source, u32 count)
{
	__atomic_add_fetch(&source->skeleton->bss->code_late_answered, count, __ATOMIC_SEQ_CST);
}

int bpf_source_code_fd(const struct bpf_source *source)
{
	return source->code_writes ? ring_buffer__epoll_fd(source->code_writes) : -1;
}

bool bpf_source_take_code_writes(struct bpf_source *source, bpf_source_code_callback callback,
				 void *data)
{
	unsigned int *lost = (unsigned int *)&source->skeleton->bss->code_writes_lost;

	if (!source->code_writes)
		return false;
	source->code_callback = callback;
	source->code_data = data;
	ring_buffer__consume(source->code_writes);
	return __atomic_exchange_n(lost, 0, __ATOMIC_SEQ_CST) != 0;
}

void bpf_source_unwatch_code(struct bpf_source *source)
{
	bpf_link__destroy(source->code_link);
	source->code_link = NULL;
	bpf_link__destroy(source->code_exec_link);
	source->code_exec_link = NULL;
	ring_buffer__free(source->code_writes);
	source->code_writes = NULL;
}
