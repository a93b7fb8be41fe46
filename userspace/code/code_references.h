/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which addresses of a file's code anything refers to: symbols, relative jumps and calls, pointers, jump tables.
 * It errs on the side of too many: bytes are read as a jump at every offset, not only where an instruction is
 * known to begin, so that no mistake in decoding can hide one.
 */
#ifndef GPUPROBE_CODE_CODE_REFERENCES_H
#define GPUPROBE_CODE_CODE_REFERENCES_H

#include "base/types.h"

struct code_references;

/* Up to size bytes of the file at an address, code or data; returns how many. */
typedef size_t (*code_read_function)(const void *data, u64 address, void *ret_bytes, size_t size);

enum code_reference {
	REFERENCE_JUMP, /* symbols; jumps and calls with a 32-bit distance */
	REFERENCE_POINTER, /* address taken by code (lea), by data (relocation, pointer), or in a jump table */
};

#define CODE_PAGE_BYTES 4096

/* For code in [start, end), of which it keeps nothing yet. NULL: out of memory. Memory: 4 bytes a page of it. */
struct code_references *code_references_create(u64 start, u64 end);
struct code_references *
code_references_free(struct code_references *references); /* NULL allowed; returns NULL */

/* From now on what leads to the pages of [first, last] is kept; before anything is added. What is not code is left out. 0 or
 * -ENOMEM. Memory: 2 bits a byte. */
int code_references_keep(struct code_references *references, u64 first, u64 last);
/* Are they? */
bool code_references_keeps(const struct code_references *references, u64 first, u64 last);

/* Addresses that are in no page that is kept are left out. Threads may add at the same time. */
void code_references_add(struct code_references *references, enum code_reference kind, u64 address);

/* What code takes the address of: strings, variables, functions, jump tables; some linkers put what is only read, tables too,
 * among the code. Zero-initialise; the caller frees items. */
struct code_bases {
	u64 *items;
	size_t count, capacity;
};

/* Reads code: its jumps, calls and address-taking instructions, those that begin in the first size bytes. readable
 * of them are there: more than size, unless the code ends, so that none is lost where a file is read piece by
 * piece. Notes in bases what it takes the address of. 0 or -ENOMEM. */
int code_references_add_code(struct code_references *references, struct code_bases *bases,
			     u64 address, const u8 *bytes, size_t size, size_t readable);
/* Reads code or data of a file that is not moved when it is loaded: every four bytes that are an address in the
 * code. */
void code_references_add_absolute(struct code_references *references, const u8 *bytes, size_t size);
/* Jump tables: follows each of the bases, in ascending order, wherever it is, as far as there are distances that lead into
 * the code. Empties bases. */
void code_references_add_tables(struct code_references *references, struct code_bases *bases,
				code_read_function read, const void *data);

/* The pages that are kept, to store and restore them: bits of both kinds, one for each byte. */
struct code_page {
	u64 address;
	u64 bits[2][CODE_PAGE_BYTES / 64];
};

/* How many; they stay the references', in any order. */
size_t code_references_pages(const struct code_references *references,
			     const struct code_page **ret_pages);
/* Keeps it, with what leads to it. 0 or -ENOMEM. */
int code_references_add_page(struct code_references *references, const struct code_page *page);
/* In ascending order, each once. */
void code_bases_sort(struct code_bases *bases);

/* The first address in [start, end) that anything of this kind refers to, or `end`. To code that is not kept anything may:
 * in doubt it is referred to. */
u64 code_references_find(const struct code_references *references, enum code_reference kind,
			 u64 start, u64 end);

#endif
