/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses of all stacks of a recording, each once a process: what is to be named. Gathered from batches on their
 * way to the capture, so that it need not be read for this.
 */
#ifndef GPUPROBE_STORE_STACK_ADDRESSES_H
#define GPUPROBE_STORE_STACK_ADDRESSES_H

#include "base/map.h"
#include "store/batch.h"
#include "../bpf/python_layout.h"

#define STACK_ADDRESSES_MAX (1U << 18)

struct stack_address {
	u64 address; /* of an instruction: see stack_code_address() */
	u64 first_ns, last_ns; /* when stacks with it were sent */
	u32 pid;
};

/* Zero-initialise. */
struct stack_addresses {
	struct stack_address *items;
	size_t count, capacity;
	u64 dropped_count; /* there was no room */
	struct map index;
};

/* Is it of the kernel, which has the top of the address space? (What is imported without addresses has made-up ones below.) Its code is
 * the same in every process: it is noted, and named, as that of process 0. */
static inline bool stack_address_is_kernel(u64 address)
{
	return address >> 56 == 0xff;
}

/* The address in the instruction that frame `index` (0: the innermost) was at: what stands in a stack of the others is where
 * their call returns to, which may be another function already. A frame of Python is named by what stands there itself. */
static inline u64 stack_code_address(const u64 *addresses, size_t index)
{
	return index && addresses[index] && !PYTHON_IS_FRAME(addresses[index]) ? addresses[index] - 1 : addresses[index];
}

void stack_addresses_add_batch(struct stack_addresses *addresses, const struct batch *batch);
void stack_addresses_free(struct stack_addresses *addresses);

#endif
