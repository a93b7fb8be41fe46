/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library in place of the agent: does what gpu/shared.h asks of one and nothing else. Each way to go wrong is a
 * build of its own.
 */
#include <stdint.h>
typedef uint8_t u8;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
#include "gpu/shared.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef UNDEFINED_SYMBOL
extern int nobody_has_this(void);
#endif

#ifdef NO_ENTRY
#define ENTRY another_name
#else
#define ENTRY gpuprobe_agent_run
#endif

int ENTRY(const struct agent_start *start);

#ifdef SLOW_TO_LOAD
__attribute__((constructor)) static void slow(void)
{
	sleep(3);
}
#endif

int ENTRY(const struct agent_start *start)
{
	struct agent_control_fixed *fixed =
		mmap(0, AGENT_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, start->ring_fd, 0);

#ifdef UNDEFINED_SYMBOL
	nobody_has_this();
#endif
	if (fixed == MAP_FAILED || start->start_bytes != sizeof(*start) ||
	    fixed->magic != AGENT_MAGIC)
		return 1;
	fixed->agent_tid = (u32)syscall(SYS_gettid);
	fixed->state = AGENT_STATE_READY;
	while (fixed->wanted == AGENT_WANTED_RUN && flock(start->ring_fd, LOCK_EX | LOCK_NB))
		nanosleep(&(struct timespec){0, 5000000}, 0);
	fixed->state = AGENT_STATE_GONE;
	munmap(fixed, AGENT_CONTROL_BYTES);
	close(start->ring_fd);
#ifdef STAYS
	return 0;
#else
	return 1;
#endif
}
