/* SPDX-License-Identifier: MIT */
#include "launch_threads.h"

#include "stack_memory.h"
#include "../base/arch_x86_64.h"
#include "../base/system.h"

#define PLACES_TRIED 8U
#define KEPT_PART    8U
/* Where glibc's struct pthread has the tid (x86-64, since 2.4); believed where it was seen there. */
#define PTHREAD_TID 720

static u32 told_tid(u64 self)
{
	return *(const volatile u32 *)(self + PTHREAD_TID);
}

/* gpuprobe may have found by itself what it holds of the ring, if it has ended. */
static void end(struct launch_thread *thread)
{
	ring_abandon(&thread->writer);
	ring_count(thread->writer.ring, AGENT_COUNT_STACKS, thread->untold);
	thread->untold = 0;
}

/* Where another one was, that has ended. The tid is what it is known by, so it comes last. */
static void begin(struct launch_thread *thread, const struct ring *ring, u32 tid)
{
	if (thread->tid)
		end(thread);
	thread->tells_tid =
		stack_memory_is_there(thread->self + PTHREAD_TID) && told_tid(thread->self) == tid;
	thread->busy = false;
	thread->correlation = thread->untold = 0;
	ring_writer_open(&thread->writer, ring, tid);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->tid = tid;
}

/* A part of all chunks is kept, so that there is room for who writes else. */
static void take(struct launch_threads *threads, struct launch_thread *thread,
		 const struct ring *ring)
{
	thread->keeps = __atomic_fetch_add(&threads->keeping, 1, __ATOMIC_RELAXED) <
			ring->chunk_count / KEPT_PART;
}

static struct launch_thread *find(struct launch_threads *threads, const struct ring *ring, u64 self)
{
	u32 first = self * 0x9e3779b97f4a7c15ULL >> 40;

	for (u32 i = 0; i < PLACES_TRIED; i++) {
		struct launch_thread *thread = &threads->threads[(first + i) % LAUNCH_THREADS_MAX];
		u64 known = __atomic_load_n(&thread->self, __ATOMIC_RELAXED);

		if (known == self)
			return thread;
		if (!known && __atomic_compare_exchange_n(&thread->self, &known, self, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			take(threads, thread, ring);
			return thread;
		}
	}
	return NULL;
}

struct launch_thread *launch_threads_enter(struct launch_threads *threads, const struct ring *ring)
{
	u64 self = arch_thread_self();
	struct launch_thread *thread = find(threads, ring, self);
	u32 tid;

	if (!thread)
		return NULL;
	tid = thread->tells_tid ? told_tid(self) : system_tid();
	/* A thread that has just begun has what an ended one left there, until the kernel has written its own. */
	if (tid != thread->tid)
		begin(thread, ring, system_tid());
	if (thread->busy)
		return NULL;
	thread->busy = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return thread;
}

void launch_threads_leave(struct launch_thread *thread)
{
	if (!thread->keeps)
		ring_release(&thread->writer);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread->busy = false;
}

void launch_threads_release(struct launch_threads *threads)
{
	for (u32 i = 0; i < LAUNCH_THREADS_MAX; i++)
		if (threads->threads[i].tid)
			end(&threads->threads[i]);
}
