/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "session/own_threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/recording_facts.h"
#include "process/proc_file.h"

static void on_expect(void *data, u32 pid)
{
	const struct own_threads *own = data;

	/* Where that fails, its workers are taken for the target's, as they were before: no reason to record nothing. */
	bpf_source_expect_agent(own->source, pid, NULL);
}

static void on_own(void *data, u32 pid, u32 tid)
{
	const struct own_threads *own = data;

	bpf_source_own_thread(own->source, pid, tid);
}

static void on_made(void *data, u32 tid, u64 from_ns, u64 until_ns)
{
	const struct own_threads *own = data;
	struct own_makers makers = {tid, from_ns, until_ns};

	bpf_source_own_made_by(own->source, &makers);
}

void own_threads_init(struct own_threads *own, struct bpf_source *source)
{
	*own = (struct own_threads){.source = source,
				    .told = {.expect = on_expect, .own = on_own, .made = on_made}};
	own->told.data = own;
}

void own_threads_free(struct own_threads *own)
{
	free(own->threads);
	own->threads = NULL;
	own->count = own->capacity = 0;
}

/* ---- CPU time ---- */

/* Of its first number, as the scheduler has it; what it was before, where the thread has ended. */
static u64 cpu_of_thread(const struct own_thread *thread)
{
	_cleanup_free_ char *text = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", thread->pid, thread->tid);
	if (proc_file_read(AT_FDCWD, path, &text, NULL))
		return thread->cpu_ns;
	return strtoull(text, NULL, 10);
}

static int note_thread(void *data, u32 pid, u32 tid, bool is_agent)
{
	struct own_threads *own = data;

	for (size_t i = 0; i < own->count; i++)
		if (own->threads[i].pid == pid && own->threads[i].tid == tid) {
			own->threads[i].lives = true;
			own->threads[i].gone_ns = 0;
			return 0;
		}
	if (array_reserve(&own->threads, &own->capacity, own->count + 1))
		return 0;
	own->threads[own->count++] =
		(struct own_thread){.pid = pid, .tid = tid, .is_agent = is_agent, .lives = true};
	return 0;
}

u64 own_threads_cpu_ns(struct own_threads *own)
{
	u64 sum = 0;

	for (size_t i = 0; i < own->count; i++)
		own->threads[i].lives = false;
	bpf_source_own_threads(own->source, note_thread, own);
	for (size_t i = 0; i < own->count; i++) {
		/* The number of one that is gone may be another's. */
		if (own->threads[i].lives)
			own->threads[i].cpu_ns = cpu_of_thread(&own->threads[i]);
		else if (!own->threads[i].gone_ns)
			own->threads[i].gone_ns = clock_monotonic_ns();
		sum += own->threads[i].cpu_ns;
	}
	return sum;
}

void own_threads_begin(struct own_threads *own)
{
	own_threads_cpu_ns(own);
	for (size_t i = 0; i < own->count; i++)
		own->threads[i].start_ns = own->threads[i].cpu_ns;
}

u64 own_threads_window_cpu_ns(const struct own_threads *own)
{
	u64 sum = 0;

	for (size_t i = 0; i < own->count; i++)
		sum += own->threads[i].cpu_ns - own->threads[i].start_ns;
	return sum;
}

/* ---- facts ---- */

bool own_threads_are_new(const struct own_threads *own)
{
	for (size_t i = 0; i < own->count; i++)
		if (!own->threads[i].written)
			return true;
	return false;
}

int own_threads_put_facts(struct own_threads *own, bool at_last, struct batch *batch)
{
	int result = 0;

	for (size_t i = 0; i < own->count && !result; i++) {
		struct own_thread *thread = &own->threads[i];
		struct record_agent_thread fact = {
			.header = recording_facts_header(KIND_agent_thread, sizeof(fact),
							 RECORD_SOURCE_TOOL),
			.role = thread->is_agent ? VALUE_agent_thread_role_agent
						 : VALUE_agent_thread_role_cupti_worker,
			.cpu_ns = at_last ? thread->cpu_ns - thread->start_ns : ~0ULL,
			.gone = thread->gone_ns};

		if (thread->written && !at_last)
			continue;
		fact.header.pid = thread->pid;
		fact.header.tid = thread->tid;
		result = batch_add(batch, &fact.header);
		thread->written = true;
	}
	return result;
}
