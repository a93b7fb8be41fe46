/* SPDX-License-Identifier: MIT */
/*
 * Code objects of Python that frames refer to: each goes through the ring once, as gpuprobe's BPF programs tell of them (bpf/python_layout.h),
 * and has a number from then on. Any thread, at once, without a lock; it is to run the code, so that it stays as it is. Memory is bounded.
 */
#ifndef GPUPROBE_GPU_CODE_OBJECTS_H
#define GPUPROBE_GPU_CODE_OBJECTS_H

#include "stack_memory.h"
#include "../base/ring.h"
#include "../tables.h"

struct code_objects {
	u64 hashes[AGENT_PYTHON_CODES]; /* by what is left of the number; 0: there is none */
};

struct python_reader {
	struct stack_memory *memory;
	u32 moment; /* of the memory */
	const struct python_process *process;
	struct code_objects *codes;
	struct ring_writer *writer;
	u32 first_number; /* of the codes */
	u32 pid;	  /* as the target sees it */
};

struct code_object_seen {
	u32 id; /* 0: it is none, can't be read, or there is no room for it */
	s32 first_traced;
};

/* The one at an address. */
struct code_object_seen code_objects_get(const struct python_reader *reader, u64 address);

#endif
