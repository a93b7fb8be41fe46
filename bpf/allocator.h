/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a function that allocates or gives back memory has what: a row of plan/allocators.def, for the program that
 * stands on it. Included by both; the includer provides the integer names.
 *
 * What names an argument is its number from 1 on, as the function's declaration counts words: those behind the sixth
 * lie on the stack, as a struct by value does that does not fit into two registers. 0: it has none.
 */
#ifndef GPUPROBE_BPF_ALLOCATOR_H
#define GPUPROBE_BPF_ALLOCATOR_H

#define ALLOCATOR_FACTORS 2

/* How it says that it has done what it was asked for. */
enum allocator_success {
	ALLOCATOR_ZERO,	   /* the low 32 bits of its result are 0 */
	ALLOCATOR_ADDRESS, /* its result is the new address; 0: it failed */
	ALLOCATOR_ALWAYS,  /* it has no result */
};

struct allocator {
	u8 success;  /* enum allocator_success */
	u8 released; /* the address that it gives back */
	u8 address;  /* points to where it writes the new address */
	u8 bytes;    /* how much is asked for; or, behind the call ... */
	u8 bytes_written; /* ... where it points to, so many bytes further on plus 1 */
	u8 factors[ALLOCATOR_FACTORS]; /* by which that is multiplied */
	u8 pool;
	u8 memory; /* VALUE_memory_kind_* of record.def */
	u8 async;  /* VALUE_yes_no_* */
	u8 string; /* it makes a copy of a string, bytes says of which: its length and the zero behind it are asked for */
	u8 place;  /* who calls it is to be known, for functions that it calls in its turn: operator new */
};

/* Of memory that was seen to be allocated; address and pid are its key. */
struct allocation_key {
	u64 address;
	u64 pid;
};

struct allocation {
	u64 bytes;
	u64 memory;
};

#endif
