/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that the kernel makes in a process: one that polls the queue of an io_uring, and one that does what is asked of it. Its one
 * io_uring_setup is over when it says "ready"; it says "refused" where there is no io_uring. For each line it asks for one more nothing.
 */
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct io_uring_params params = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 10};

static void *map(int ring, size_t size, off_t what)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);
}

int main(void)
{
	int ring = syscall(SYS_io_uring_setup, 8, &params);
	struct io_uring_sqe *entries;
	unsigned int *tail, *flags, *places, next = 0;
	char line[16], *queue;

	if (ring < 0) {
		puts("refused");
		return 0;
	}
	queue = map(ring, params.sq_off.array + params.sq_entries * sizeof(int),
		    IORING_OFF_SQ_RING);
	entries = map(ring, params.sq_entries * sizeof(*entries), IORING_OFF_SQES);
	if (queue == MAP_FAILED || (void *)entries == MAP_FAILED)
		return 1;
	tail = (void *)(queue + params.sq_off.tail);
	flags = (void *)(queue + params.sq_off.flags);
	places = (void *)(queue + params.sq_off.array);
	setvbuf(stdout, NULL, _IONBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		unsigned int place = next & (params.sq_entries - 1);

		entries[place] =
			(struct io_uring_sqe){.opcode = IORING_OP_NOP, .flags = IOSQE_ASYNC};
		places[place] = place;
		__atomic_store_n(tail, ++next, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
			syscall(SYS_io_uring_enter, ring, 0, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0);
		puts("asked");
	}
	return 0;
}
