/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads of targets are the agents': userspace names the first, the kernel tells who made whom (bpf/own_threads.h). */
#include <errno.h>

#include "collect/bpf/bpf_elements.h"
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

struct adder {
	struct bpf_source *source;
	const struct own_makers *makers;
	bool added;
};

/* A thread that is not known to be ours, by who made it, and when. */
static int add_by_maker(void *data, const void *key, const void *value)
{
	const struct thread_maker *maker = value;
	const u32 *tid = key;
	struct adder *adder = data;
	const struct own_makers *makers = adder->makers;
	bool by_maker = makers && maker->tid == makers->tid && maker->ts >= makers->from_ns &&
			maker->ts <= makers->until_ns;

	if (!is_own(adder->source, *tid) && (by_maker || is_own(adder->source, maker->tid)))
		adder->added |=
			!bpf_map_update_elem(own_fd(adder->source), tid, &maker->pid, BPF_ANY);
	return 0;
}

/* What threads of ours made before they were named as ours, and what those made, and so on. */
static void add_made(struct bpf_source *source, const struct own_makers *makers)
{
	struct adder adder = {.source = source, .makers = makers};

	do {
		adder.added = false;
		(void)bpf_elements_read(source->skeleton->maps.thread_makers, add_by_maker, &adder);
	} while (adder.added);
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

struct own_taker {
	own_thread_callback callback;
	void *data;
};

static int take_own(void *data, const void *key, const void *value)
{
	const struct own_taker *taker = data;
	u32 tid = *(const u32 *)key, pid = *(const u32 *)value;

	return taker->callback(taker->data, pid & ~OWN_THREAD_AGENT, tid, pid & OWN_THREAD_AGENT);
}

int bpf_source_own_threads(const struct bpf_source *source, own_thread_callback callback,
			   void *data)
{
	struct own_taker taker = {callback, data};

	return bpf_elements_read(source->skeleton->maps.own_threads, take_own, &taker);
}
