/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call frame information of a file (.eh_frame, .debug_frame): its entries, and what their instructions say. For the files of elf/. Nothing in
 * it is believed: whoever reads an entry stays within the bytes, and what is not understood is said.
 *
 * The formats: DWARF 5, section 6.4; what .eh_frame has otherwise: Linux Standard Base Core 5.0, section 10.6.
 */
#ifndef GPUPROBE_ELF_ELF_CFI_H
#define GPUPROBE_ELF_ELF_CFI_H

#include "elf/elf_file.h"

struct elf_cfi {
	u8 *bytes;
	u32 size_bytes;
	u64 address;   /* of the first byte, in the file */
	u64 data_base; /* what addresses of DW_EH_PE_datarel are relative to */
	bool to_zero;  /* a length of 0 ends it: how large it is, no section says */
	bool debug;    /* it is .debug_frame: CIEs have another id, and FDEs say where in the section theirs is */
};

/* Reads all of it. -ENOENT: there is none; -EIO, -ENOMEM. The caller frees. */
int elf_cfi_read(const struct elf_file *file, struct elf_cfi *ret_cfi, struct err *err);
/* The same of .debug_frame, which files have for code that compilers made without unwind tables, but with -g. -ENOENT, too, where it is compressed. */
int elf_cfi_read_debug(const struct elf_file *file, struct elf_cfi *ret_cfi, struct err *err);
/* The same of so many bytes at most: the last entry may be cut off. */
int elf_cfi_read_beginning(const struct elf_file *file, u64 max_bytes, struct elf_cfi *ret_cfi, struct err *err);
void elf_cfi_free(struct elf_cfi *cfi);

/* Registers by their DWARF numbers. */
enum { ELF_CFI_RBX = 3, ELF_CFI_RBP = 6, ELF_CFI_RSP = 7, ELF_CFI_RETURN_ADDRESS = 16, ELF_CFI_REGISTERS = 17 };

/* Some of the bytes. */
struct elf_cfi_block {
	u32 offset;
	u32 size_bytes;
};

/* What the functions of one compiler's file have in common. */
struct elf_cie {
	u32 offset; /* of the entry */
	u8 encoding;
	bool understood; /* what it says of registers; its functions' addresses are known without */
	bool augmented;	 /* its functions have more data between addresses and instructions */
	bool signal_frame;
	bool personality; /* it names a routine for exceptions ... */
	u8 personality_encoding;
	struct elf_cfi_block personality_pointer; /* ... here; 0 bytes: it can't be told where */
	bool exceptions; /* its functions may have a table of what to do on the way of an exception: its address is encoded like this */
	u8 exceptions_encoding;
	u64 code_factor;
	s64 data_factor;
	struct elf_cfi_block instructions;
};

/* The code from start on, up to end. */
struct elf_fde {
	u64 start;
	u64 end;
	u64 exceptions; /* address of that table; 0: it has none */
	struct elf_cfi_block instructions;
};

struct elf_cfi_entry {
	u32 offset;
	bool is_cie;
	u32 cie_offset;		   /* of an FDE */
	struct elf_cfi_block body; /* behind its CIE pointer */
};

#define ELF_EXCEPTIONS_UNKNOWN UINT64_MAX /* it has a table, but where that is can't be told */

/* The entry at *offset, which goes on to the next: 0 at first. False: there are no more, and *offset is size_bytes, or what comes next
 * is damaged. */
bool elf_cfi_next(const struct elf_cfi *cfi, u32 *offset, struct elf_cfi_entry *ret_entry);
/* The entry at the offset that another call gave. */
bool elf_cfi_entry_at(const struct elf_cfi *cfi, u32 offset, struct elf_cfi_entry *ret_entry);
/* False: not even the addresses of its functions can be read. */
bool elf_cie_parse(const struct elf_cfi *cfi, const struct elf_cfi_entry *entry, struct elf_cie *ret_cie);
/* False: damaged, or it has no code. */
bool elf_fde_parse(const struct elf_cfi *cfi, const struct elf_cie *cie, const struct elf_cfi_entry *entry,
		   struct elf_fde *ret_fde);
/* A pointer in the way of DW_EH_PE_*, DW_EH_PE_indirect left out. False: damaged, or relative to what is not in the file. */
bool elf_cfi_pointer(const struct elf_cfi *cfi, u8 encoding, struct elf_cfi_block block, u64 *ret_value);

#endif
