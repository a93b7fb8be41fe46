/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code objects of Python that a recording met: what names frames in its stacks. One thread at a time. */
#ifndef GPUPROBE_PYTHON_PYTHON_CODES_H
#define GPUPROBE_PYTHON_PYTHON_CODES_H

#include "base/map.h"
#include "base/types.h"
#include "../bpf/python_layout.h"

#define PYTHON_NOT_READABLE "[python: not readable]"

struct python_code_item {
	char *name, *file; /* UTF-8 */
	s32 first_line;
	u32 lines_form; /* enum python_lines */
	u32 lines_bytes;
	u8 *lines;
};

/* Zero-initialise. */
struct python_codes {
	struct python_code_item *items;
	size_t count, capacity;
	struct map by_id; /* -> item */
	u64 bytes;	  /* that they take */
};

struct python_place {
	const char *name; /* stays the table's */
	const char *file; /* "": not known */
	u32 line;	  /* 0: not known; */
	u32 function_line; /* where the function begins, the same */
};

/* As the BPF programs sent it. What there is no memory for is left out: its frames are not readable. */
void python_codes_add(struct python_codes *codes, const struct python_code *code, size_t size_bytes);
/* Of an address of a stack that PYTHON_IS_FRAME(). */
struct python_place python_codes_find(const struct python_codes *codes, u64 address);
void python_codes_free(struct python_codes *codes);

#endif
