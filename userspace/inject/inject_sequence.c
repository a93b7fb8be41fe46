/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "inject/inject_sequence.h"

#include <errno.h>
#include <sys/ptrace.h>

#include "inject/inject_memory.h"

#define GET_RSEQ 0x420f /* PTRACE_GET_RSEQ_CONFIGURATION, since Linux 5.13 */

/* As the kernel has them (<linux/ptrace.h>, <linux/rseq.h>). */
struct rseq_place {
	u64 address; /* of the thread's struct rseq; 0: it has none */
	u32 bytes, signature, flags, pad;
};
#define RSEQ_SEQUENCE_OFFSET 8 /* of the pointer to what follows */
struct rseq_sequence {
	u32 version, flags;
	u64 start, bytes, abort;
};

bool inject_sequence_is_at(u32 tid, int memory_fd, u64 at)
{
	u64 pointer;
	struct rseq_sequence sequence;
	struct rseq_place place = {0};

	/* EIO: a kernel that knows no such sequences. */
	if (ptrace(GET_RSEQ, tid, (void *)sizeof(place), &place) < 0)
		return errno != EIO;
	if (!place.address)
		return false;
	if (inject_memory_read(memory_fd, place.address + RSEQ_SEQUENCE_OFFSET, &pointer,
			       sizeof(pointer)))
		return true;
	if (!pointer)
		return false;
	return inject_memory_read(memory_fd, pointer, &sequence, sizeof(sequence)) ||
	       at - sequence.start < sequence.bytes;
}
