/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pieces of code that bear no name are parts of a function: what is NAME.cold before a file is stripped. Nothing is guessed.
 * A piece is a part of the function that comes to it
 * - by a jump while more than the return address is on the stack, as the piece has it at its start: at the start of no function is
 *   there more;
 * - by a jump to behind its start;
 * - by any jump, if it jumps back to behind the function's start, or no way leads out of it (it ends by calls that do not return), or
 *   no other code leads there, by a jump, a call, a pointer or by going on: what it does is the function's then, whoever has written it;
 * - on the way of an exception, by the function's table of landing pads.
 */
#ifndef GPUPROBE_CODE_NAMELESS_PARTS_H
#define GPUPROBE_CODE_NAMELESS_PARTS_H

#include "code/function_code.h"
#include "elf/elf_file.h"

struct nameless_parts;

/* Of a file and its symbols, which must live on; reads nothing yet. NULL: out of memory. */
struct nameless_parts *nameless_parts_create(const struct elf_file *file,
					     const struct elf_symbols *symbols);
struct nameless_parts *nameless_parts_free(struct nameless_parts *parts); /* NULL allowed; returns NULL */

/* Calls add with each, until it does not return 0: it adds the piece to the ranges of the function. ret_pads_unknown: exceptions may
 * go on elsewhere too. 0, what add returned, or -ENOMEM. */
int nameless_parts_find(struct nameless_parts *parts, struct decoder *decoder,
			const struct function_code *function,
			int (*add)(void *data, u64 address, u64 size_bytes), void *data,
			bool *ret_pads_unknown);
/* Calls visit with each that may be one, once, and often is none: quickly, by bytes that look like a jump; so many at most as
 * could all be parts, several times over. 0, what visit returned, or -ENOMEM. */
int nameless_parts_guess(struct nameless_parts *parts, const struct function_code *function,
			 int (*visit)(void *data, u64 address, u64 size_bytes), void *data);

/* See struct function_code. */
enum function_frame nameless_parts_frame(struct nameless_parts *parts, u64 address);
/* The pieces of code of the file, which stay the parts'; NULL: not known. */
const struct elf_pieces *nameless_parts_pieces(struct nameless_parts *parts);

#endif
