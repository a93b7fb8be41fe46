/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads of targets are the agents': userspace names the first, the kernel tells who made whom (bpf/own_threads.h). */
#include <errno.h>

#include "collect/bpf/bpf_source_parts.h"

int bpf_source_expect_agent(struct bpf_source *source, u32 pid, struct err *err)
{
	u32 one = 1;

	if (bpf_map_update_elem(bpf_map__fd(source->skeleton->maps.agent_processes), &pid, &one,
				BPF_ANY))
		return err_errno(err, -errno, "can't watch the threads of %u", pid);
	__atomic_store_n(&source->skeleton->bss->agents_are_about, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int own_fd(const struct bpf_source *source)
{
	return bpf_map__fd(source->skeleton->maps.own_threads);
}

static bool is_own(const struct bpf_source *source, u32 tid)
{
	u32 pid;

	return !bpf_map_lookup_elem(own_fd(source), &tid, &pid);
}

/* Who made it, and when, of each thread that is not known to be ours; true: one more is. */
static bool add_by_maker(struct bpf_source *source, const struct own_makers *makers)
{
	const struct bpf_map *map = source->skeleton->maps.thread_makers;
	struct thread_maker maker;
	bool added = false;
	u32 tid = 0, *previous = NULL;

	for (u32 i = 0; i < THREAD_MAKERS_MAX; i++) {
		bool by_maker;

		if (bpf_map__get_next_key(map, previous, &tid, sizeof(tid)))
			break;
		previous = &tid;
		if (bpf_map__lookup_elem(map, &tid, sizeof(tid), &maker, sizeof(maker), 0) ||
		    is_own(source, tid))
			continue;
		by_maker = makers && maker.tid == makers->tid && maker.ts >= makers->from_ns &&
			   maker.ts <= makers->until_ns;
		if (by_maker || is_own(source, maker.tid))
			added |= !bpf_map_update_elem(own_fd(source), &tid, &maker.pid, BPF_ANY);
	}
	return added;
}

/* What threads of ours made before they were named as ours, and what those made, and so on. */
static void add_made(struct bpf_source *source, const struct own_makers *makers)
{
	while (add_by_maker(source, makers))
		;
}

void bpf_source_own_thread(struct bpf_source *source, u32 pid, u32 tid)
{
	pid |= OWN_THREAD_AGENT;
	if (tid && !bpf_map_update_elem(own_fd(source), &tid, &pid, BPF_ANY))
		add_made(source, NULL);
}

void bpf_source_own_made_by(struct bpf_source *source, const struct own_makers *makers)
{
	add_made(source, makers);
}

int bpf_source_own_threads(const struct bpf_source *source, own_thread_callback callback,
			   void *data)
{
	const struct bpf_map *map = source->skeleton->maps.own_threads;
	u32 tid = 0, *previous = NULL, pid;
	int result = 0;

	for (u32 i = 0; i < OWN_THREADS_MAX && !result; i++) {
		if (bpf_map__get_next_key(map, previous, &tid, sizeof(tid)))
			break;
		previous = &tid;
		if (!bpf_map__lookup_elem(map, &tid, sizeof(tid), &pid, sizeof(pid), 0))
			result = callback(data, pid & ~OWN_THREAD_AGENT, tid,
					  pid & OWN_THREAD_AGENT);
	}
	return result;
}
