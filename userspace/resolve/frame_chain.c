/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/frame_chain.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>

#include "resolve/arch_x86_64.h"

struct frame_chain {
	Elf *elf;
	Dwarf_CFI *tables; /* the Elf's */
};

struct frame_chain *frame_chain_open(int fd)
{
	struct frame_chain *chain = calloc(1, sizeof(*chain));

	if (!chain)
		return NULL;
	elf_version(EV_CURRENT);
	chain->elf = elf_begin(fd, ELF_C_READ, NULL);
	chain->tables = chain->elf ? dwarf_getcfi_elf(chain->elf) : NULL;
	return chain->tables ? chain : frame_chain_close(chain);
}

/* Where it is kept the frame of the function is found by it, from its prologue on. */
static bool is_by_frame_pointer(const Dwarf_Op *operations, size_t count)
{
	if (count == 0)
		return false;
	if (operations[0].atom == DW_OP_bregx)
		return operations[0].number == ARCH_FRAME_POINTER_REGISTER;
	return operations[0].atom == DW_OP_breg0 + ARCH_FRAME_POINTER_REGISTER;
}

bool frame_chain_leaves_out_caller(struct frame_chain *chain, u64 address)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *operations;
	size_t count;
	bool leaves_out;

	if (dwarf_cfi_addrframe(chain->tables, address, &frame))
		return false;
	leaves_out = !dwarf_frame_cfa(frame, &operations, &count) &&
		     !is_by_frame_pointer(operations, count);
	free(frame);
	return leaves_out;
}

struct frame_chain *frame_chain_close(struct frame_chain *chain)
{
	if (!chain)
		return NULL;
	elf_end(chain->elf);
	free(chain);
	return NULL;
}
