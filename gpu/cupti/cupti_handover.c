/* SPDX-License-Identifier: MIT */
#include "cupti_handover.h"

#include <errno.h>
#include <sys/mman.h>

#include "../base/system.h"
#include "../base/words.h"

#define TIMEOUT_NS (10 * NS_PER_SECOND)
#define PERIOD_NS  (5 * NS_PER_MILLISECOND)

long cupti_handover_take(struct agent_control *control, char ret_path[CUPTI_HANDOVER_PATH_BYTES])
{
	struct words words = words_begin(ret_path, CUPTI_HANDOVER_PATH_BYTES);
	u64 end_ns = system_now_ns() + TIMEOUT_NS;
	long fd = system_memfd(AGENT_MEMFD_CUPTI, MFD_ALLOW_SEALING);
	u32 state, never = 0;

	if (fd < 0)
		return fd;
	control->handover_fd = fd;
	__atomic_store_n(&control->handover_state, AGENT_HANDOVER_ASKED, __ATOMIC_RELEASE);
	while ((state = __atomic_load_n(&control->handover_state, __ATOMIC_ACQUIRE)) ==
		       AGENT_HANDOVER_ASKED &&
	       system_now_ns() < end_ns)
		system_wait(&never, 0, PERIOD_NS);
	if (state != AGENT_HANDOVER_DONE) {
		system_close(fd);
		return -ENOENT;
	}
	/* The loader tells libraries apart by their paths, and the numbers of descriptors come again: the agent's
	 * own path is never written this way. */
	words_add(&words, "/proc/self/fd/./");
	words_add_number(&words, fd);
	return fd;
}
