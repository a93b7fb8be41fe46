/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pieces of code that .eh_frame tells of, also of a file without symbols: a function is one, and so is each part of it that the
 * compiler put elsewhere (gcc's NAME.cold). Untrusted like all of the file.
 *
 * Tables of exceptions (LSDA): Itanium C++ ABI, "Exception Handling Tables", with pointers encoded as in .eh_frame.
 */
#ifndef GPUPROBE_ELF_ELF_PIECES_H
#define GPUPROBE_ELF_ELF_PIECES_H

#include "elf/elf_file.h"

struct elf_pieces;

struct elf_piece {
	u64 start, end;
	u64 exceptions; /* address of its table; 0: none */
	u32 entry; /* its offset in .eh_frame */
	u32 cie;   /* its number among those of the file */
};

/* Where the stack pointer was before the call: a register by its DWARF number, and a distance. */
struct elf_frame_address {
	u64 register_number;
	s64 offset;
};

/* Reads all of .eh_frame. -ENOENT: there is none; -EIO, -ENOMEM. The caller frees. */
int elf_pieces_read(const struct elf_file *file, struct elf_pieces **ret_pieces, struct err *err);
struct elf_pieces *elf_pieces_free(struct elf_pieces *pieces); /* NULL allowed; returns NULL */

/* The one around this address. NULL: none, or more than one. */
const struct elf_piece *elf_pieces_find(const struct elf_pieces *pieces, u64 address);

/* Its code; the caller frees. NULL: it can't be read as a whole, or out of memory. */
u8 *elf_piece_bytes(const struct elf_file *file, const struct elf_piece *piece);

/* False: that is not said, or not so simply. */
bool elf_piece_frame_address(const struct elf_pieces *pieces, const struct elf_piece *piece,
			     u64 address, struct elf_frame_address *ret_address);
/* Nothing is on the stack but the return address: as at the start of a function. */
bool elf_frame_address_is_bare(const struct elf_frame_address *address);

/* Where its exceptions go on: addresses, of which the caller frees the list. 0, -EINVAL: that can't be told; or -ENOMEM. */
int elf_piece_landing_pads(const struct elf_file *file, const struct elf_piece *piece,
			   u64 **ret_addresses, size_t *ret_count);

#endif
