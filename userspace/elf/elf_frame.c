/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_frame.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "elf/elf.h"
#include "elf/elf_go_rows.h"

struct elf_unwind {
	Dwarf_CFI *tables; /* NULL: none */
	struct elf_go_rows go;
};

struct elf_unwind *elf_unwind_open(const struct elf_file *file)
{
	struct elf_unwind *unwind = calloc(1, sizeof(*unwind));

	if (!unwind || elf_go_rows_open(file, &unwind->go))
		return elf_unwind_free(unwind);
	unwind->tables = dwarf_getcfi_elf(file->elf);
	if (!unwind->tables && !elf_go_rows_count(&unwind->go))
		return elf_unwind_free(unwind);
	return unwind;
}

struct elf_unwind *elf_unwind_free(struct elf_unwind *unwind)
{
	if (unwind && unwind->tables)
		dwarf_cfi_end(unwind->tables);
	if (unwind)
		elf_go_rows_close(&unwind->go);
	free(unwind);
	return NULL;
}

static bool register_known(const struct elf_frame *frame, u64 number)
{
	return number < ELF_REGISTERS && (frame->known >> number & 1);
}

/* "register + offset" */
static int register_plus(const struct elf_frame *frame, const Dwarf_Op *operations,
			 u64 *ret_address)
{
	u64 number, offset;

	if (operations->atom == DW_OP_bregx) {
		number = operations->number;
		offset = operations->number2;
	} else if (operations->atom >= DW_OP_breg0 && operations->atom <= DW_OP_breg31) {
		number = operations->atom - DW_OP_breg0;
		offset = operations->number;
	} else {
		return -EOPNOTSUPP;
	}
	if (!register_known(frame, number))
		return -ENODATA;
	*ret_address = frame->registers[number] + offset;
	return 0;
}

struct step {
	const struct elf_frame *callee;
	struct elf_frame caller;
	u64 address; /* of the frame: the stack pointer in the caller */
	int (*read_word)(void *data, u64 address, u64 *ret_word);
	void *read_data;
};

/* "register + offset", or what stands there (functions that align their stack); only linkage tables and signal
 * frames have more. */
static int frame_address(const struct step *step, const Dwarf_Op *operations, size_t count,
			 u64 *ret_address)
{
	int result;

	if (!count || count > 2 || (count == 2 && operations[1].atom != DW_OP_deref))
		return -EOPNOTSUPP;
	result = register_plus(step->callee, operations, ret_address);
	if (!result && count == 2)
		result = step->read_word(step->read_data, *ret_address, ret_address);
	return result;
}

/* Where a register is saved: "frame address + offset", or "register + offset". */
static int saved_address(const struct step *step, const Dwarf_Op *operations, size_t count,
			 u64 *ret_address)
{
	*ret_address = step->address;
	if (operations[0].atom != DW_OP_call_frame_cfa || count > 2)
		return -EOPNOTSUPP;
	if (count == 1)
		return 0;
	if (operations[1].atom != DW_OP_plus_uconst)
		return register_plus(step->callee, &operations[1], ret_address);
	*ret_address += operations[1].number;
	return 0;
}

/* Saved, kept, or lost; what is saved in another way is left unknown. */
static int register_step(struct step *step, Dwarf_Frame *tables, unsigned number)
{
	Dwarf_Op memory[3], *operations;
	size_t count;
	u64 address, word;

	if (dwarf_frame_register(tables, (int)number, memory, &operations, &count))
		return -EINVAL;
	if (!count) {
		if (!operations && register_known(step->callee, number)) {
			step->caller.registers[number] = step->callee->registers[number];
			step->caller.known |= 1U << number;
		}
		return 0;
	}
	/* Where it returns to is lost only where the tables say so. */
	if (saved_address(step, operations, count, &address))
		return number == ELF_REGISTER_PC ? -ENODATA : 0;
	if (step->read_word(step->read_data, address, &word))
		return -EFAULT;
	step->caller.registers[number] = word;
	step->caller.known |= 1U << number;
	return 0;
}

static int frame_step(struct step *step, Dwarf_Frame *tables, struct elf_frame *frame)
{
	Dwarf_Op *operations;
	size_t count;
	int result;

	if (dwarf_frame_cfa(tables, &operations, &count))
		return -EINVAL;
	result = frame_address(step, operations, count, &step->address);
	for (unsigned number = 0; !result && number < ELF_REGISTERS; number++)
		result = register_step(step, tables, number);
	if (result)
		return result;
	/* Without a place to return to it is where the thread began. */
	if (!register_known(&step->caller, ELF_REGISTER_PC))
		return 0;
	step->caller.registers[ELF_REGISTER_RSP] = step->address;
	step->caller.known |= 1U << ELF_REGISTER_RSP;
	*frame = step->caller;
	return 1;
}

/* ---- Go ---- */

static int go_register(struct step *step, unsigned number, u8 how, s16 offset)
{
	u64 word = step->callee->registers[number];

	if (how == UNWIND_AT_CFA) {
		if (step->read_word(step->read_data, step->address + (u64)(s64)offset, &word))
			return -EFAULT;
	} else if (how != UNWIND_SAME || !register_known(step->callee, number)) {
		return 0;
	}
	step->caller.registers[number] = word;
	step->caller.known |= 1U << number;
	return 0;
}

/* What is not a plain frame leads to another stack, or to none: a goroutine's. */
static int go_step(struct step *step, const struct unwind_rule *rule, struct elf_frame *frame)
{
	u64 word;

	if (rule->cfa == UNWIND_CFA_SIGNAL)
		return -ENOTSUP;
	if (rule->cfa != UNWIND_CFA_RSP)
		return -EXDEV;
	if (!register_known(step->callee, ELF_REGISTER_RSP))
		return -ENODATA;
	step->address = step->callee->registers[ELF_REGISTER_RSP] + (u64)(s64)rule->cfa_offset;
	if (step->read_word(step->read_data, step->address - sizeof(word), &word) ||
	    go_register(step, ELF_REGISTER_RBP, rule->rbp, rule->rbp_offset) ||
	    go_register(step, ELF_REGISTER_RBX, rule->rbx, rule->rbx_offset))
		return -EFAULT;
	step->caller.registers[ELF_REGISTER_PC] = word;
	step->caller.registers[ELF_REGISTER_RSP] = step->address;
	step->caller.known |= 1U << ELF_REGISTER_PC | 1U << ELF_REGISTER_RSP;
	*frame = step->caller;
	return 1;
}

int elf_unwind_step(struct elf_unwind *unwind, u64 bias, bool innermost,
		    int (*read_word)(void *data, u64 address, u64 *ret_word), void *read_data,
		    struct elf_frame *frame)
{
	struct step step = {.callee = frame, .read_word = read_word, .read_data = read_data};
	struct unwind_rule rule;
	Dwarf_Frame *tables;
	bool signal_frame = false;
	u64 place;
	int result;

	if (!register_known(frame, ELF_REGISTER_PC))
		return -ENODATA;
	place = frame->registers[ELF_REGISTER_PC] - bias - !innermost;
	if (!unwind->tables || dwarf_cfi_addrframe(unwind->tables, place, &tables))
		return elf_go_rows_find(&unwind->go, place, &rule) ? go_step(&step, &rule, frame)
								   : -ENOENT;
	dwarf_frame_info(tables, NULL, NULL, &signal_frame);
	result = signal_frame ? -ENOTSUP : frame_step(&step, tables, frame);
	free(tables);
	return result;
}
