/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which instructions lead to an address. code/code_references.h says only that something may, and takes any bytes for a jump; here
 * the function around these is decoded: most of what looked like a jump of other code is none.
 */
#ifndef GPUPROBE_CODE_CODE_SOURCES_H
#define GPUPROBE_CODE_CODE_SOURCES_H

#include "code/instruction.h"
#include "elf/elf_file.h"
#include "elf/elf_pieces.h"

enum code_source_kind {
	SOURCE_CALL,
	SOURCE_JUMP,
	SOURCE_UNKNOWN, /* it is not known where instructions begin there */
	SOURCE_NONE,	/* bytes that are something else: never among the answers */
};

struct code_source {
	u64 target;
	u64 address; /* of the opcode: there may be prefixes before it */
	enum code_source_kind kind;
};

/* Zero-initialise; freed by code_sources_free(). */
struct code_sources {
	u64 *asked; /* the targets, sorted, each once */
	size_t asked_count, asked_capacity;
	struct code_source *items; /* by target; of each the calls first */
	size_t count, capacity;
};

void code_sources_free(struct code_sources *sources);

/* Asks for one more. 0 or -ENOMEM. */
int code_sources_ask(struct code_sources *sources, u64 target);
/* Reads all of the code once, on behalf of all that was asked. 0, -E2BIG: too much looks like an answer; or -errno. */
int code_sources_find(struct code_sources *sources, const struct elf_file *file,
		      const struct elf_symbols *symbols, const struct elf_pieces *pieces,
		      struct decoder *decoder);

/* What leads there; *ret_count may be 0; where there is a call among them, some of the others may be left out. False: it was not asked. */
bool code_sources_of(const struct code_sources *sources, u64 target,
		     const struct code_source **ret_sources, size_t *ret_count);

#endif
