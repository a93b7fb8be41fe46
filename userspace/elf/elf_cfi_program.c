/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of registers only those that are followed are kept. */
#include "elf/elf_cfi_program.h"

#include <dwarf.h>

#include "base/types.h"
#include "elf/elf_cfi_bytes.h"

/* gcc and clang never have more than one; glibc's assembler two. */
#define REMEMBERED_MAX 16
/* The upper two bits are an instruction by themselves, the lower six its operand. */
#define PRIMARY_BITS 0xc0
#define OPERAND_BITS 0x3f

struct program {
	const struct elf_cfi *cfi;
	const struct elf_cie *cie;
	const struct elf_cfi_state *initial; /* NULL: these are the CIE's own */
	struct cfi_bytes bytes;
	u64 address;
	struct elf_cfi_state state;
	struct elf_cfi_state remembered[REMEMBERED_MAX];
	u32 remembered_count;
	bool changed; /* the state, since visit was told last */
	int (*visit)(void *data, u64 address, const struct elf_cfi_state *state);
	void *data;
	int result; /* of visit */
};

static struct elf_cfi_place *place_of(struct elf_cfi_state *state, u64 number)
{
	switch (number) {
	case ELF_CFI_RBX:
		return &state->rbx;
	case ELF_CFI_RBP:
		return &state->rbp;
	case ELF_CFI_RETURN_ADDRESS:
		return &state->return_address;
	default:
		return NULL;
	}
}

static void set_place(struct program *program, u64 number, struct elf_cfi_place value)
{
	struct elf_cfi_place *place = place_of(&program->state, number);

	if (place) {
		*place = value;
		program->changed = true;
	}
}

static void set_offset(struct program *program, u64 number, s64 factored)
{
	s64 offset;

	if (__builtin_mul_overflow(factored, program->cie->data_factor, &offset))
		program->bytes.failed = true;
	set_place(program, number, (struct elf_cfi_place){ELF_CFI_AT_CFA, offset, {0, 0}});
}

static void restore(struct program *program, u64 number)
{
	const struct elf_cfi_state *initial = program->initial;

	/* In a CIE there is nothing to go back to. */
	if (!initial)
		program->bytes.failed = true;
	else if (place_of(&program->state, number))
		set_place(program, number, *place_of((struct elf_cfi_state *)initial, number));
}

static void set_cfa(struct program *program, u64 number, s64 offset)
{
	program->state.cfa_expression.size_bytes = 0;
	program->state.cfa_register = number;
	program->state.cfa_offset = offset;
	program->changed = true;
}

/* What was said holds up to the address that comes now. */
static void go_to(struct program *program, u64 address)
{
	if (program->changed && program->visit) {
		program->result = program->visit(program->data, program->address, &program->state);
		program->changed = false;
	}
	if (address < program->address)
		program->bytes.failed = true;
	else
		program->address = address;
}

static void advance(struct program *program, u64 delta)
{
	u64 by, address;

	if (__builtin_mul_overflow(delta, program->cie->code_factor, &by) ||
	    __builtin_add_overflow(program->address, by, &address))
		address = UINT64_MAX;
	go_to(program, address);
}

/* ---- one function for each instruction ---- */

static void do_nothing(struct program *program)
{
}

static void do_set_loc(struct program *program)
{
	u64 address = cfi_bytes_pointer(program->cfi, &program->bytes, program->cie->encoding);

	if (!program->bytes.failed)
		go_to(program, address);
}

static void do_advance1(struct program *program)
{
	advance(program, cfi_bytes_number(&program->bytes, 1));
}

static void do_advance2(struct program *program)
{
	advance(program, cfi_bytes_number(&program->bytes, 2));
}

static void do_advance4(struct program *program)
{
	advance(program, cfi_bytes_number(&program->bytes, 4));
}

static void do_advance8(struct program *program)
{
	advance(program, cfi_bytes_number(&program->bytes, 8));
}

static void do_offset(struct program *program)
{
	u64 number = cfi_bytes_uleb(&program->bytes);

	set_offset(program, number, (s64)cfi_bytes_uleb(&program->bytes));
}

static void do_offset_signed(struct program *program)
{
	u64 number = cfi_bytes_uleb(&program->bytes);

	set_offset(program, number, cfi_bytes_sleb(&program->bytes));
}

static void do_offset_negative(struct program *program)
{
	u64 number = cfi_bytes_uleb(&program->bytes), factored = cfi_bytes_uleb(&program->bytes);

	set_offset(program, number, (s64)-factored);
}

static void do_restore(struct program *program)
{
	restore(program, cfi_bytes_uleb(&program->bytes));
}

static void do_undefined(struct program *program)
{
	set_place(program, cfi_bytes_uleb(&program->bytes),
		  (struct elf_cfi_place){.how = ELF_CFI_UNDEFINED});
}

static void do_same_value(struct program *program)
{
	set_place(program, cfi_bytes_uleb(&program->bytes),
		  (struct elf_cfi_place){.how = ELF_CFI_KEPT});
}

/* In another register, or at a distance of the CFA by itself: two numbers. */
static void do_otherwise(struct program *program)
{
	u64 number = cfi_bytes_uleb(&program->bytes);

	cfi_bytes_uleb(&program->bytes);
	set_place(program, number, (struct elf_cfi_place){.how = ELF_CFI_OTHERWISE});
}

static void do_expression_of(struct program *program, enum elf_cfi_how how)
{
	u64 number = cfi_bytes_uleb(&program->bytes);

	set_place(program, number,
		  (struct elf_cfi_place){how, 0, cfi_bytes_block(program->cfi, &program->bytes)});
}

static void do_expression(struct program *program)
{
	do_expression_of(program, ELF_CFI_AT_RESULT);
}

static void do_value_expression(struct program *program)
{
	do_expression_of(program, ELF_CFI_IS_RESULT);
}

static void do_remember(struct program *program)
{
	if (program->remembered_count == REMEMBERED_MAX)
		program->bytes.failed = true;
	else
		program->remembered[program->remembered_count++] = program->state;
}

static void do_recall(struct program *program)
{
	if (!program->remembered_count) {
		program->bytes.failed = true;
		return;
	}
	program->state = program->remembered[--program->remembered_count];
	program->changed = true;
}

static void do_cfa(struct program *program)
{
	u64 number = cfi_bytes_uleb(&program->bytes);

	set_cfa(program, number, (s64)cfi_bytes_uleb(&program->bytes));
}

static s64 signed_offset(struct program *program)
{
	s64 offset;

	if (__builtin_mul_overflow(cfi_bytes_sleb(&program->bytes), program->cie->data_factor,
				   &offset))
		program->bytes.failed = true;
	return offset;
}

static void do_cfa_signed(struct program *program)
{
	u64 number = cfi_bytes_uleb(&program->bytes);

	set_cfa(program, number, signed_offset(program));
}

/* A part of "register + offset" by itself: of an expression there is none. */
static void set_cfa_part(struct program *program, u64 number, s64 offset)
{
	if (program->state.cfa_expression.size_bytes)
		program->bytes.failed = true;
	set_cfa(program, number, offset);
}

static void do_cfa_register(struct program *program)
{
	set_cfa_part(program, cfi_bytes_uleb(&program->bytes), program->state.cfa_offset);
}

static void do_cfa_offset(struct program *program)
{
	set_cfa_part(program, program->state.cfa_register, (s64)cfi_bytes_uleb(&program->bytes));
}

static void do_cfa_offset_signed(struct program *program)
{
	set_cfa_part(program, program->state.cfa_register, signed_offset(program));
}

static void do_cfa_expression(struct program *program)
{
	program->state.cfa_expression = cfi_bytes_block(program->cfi, &program->bytes);
	if (!program->state.cfa_expression.size_bytes)
		program->bytes.failed = true;
	program->changed = true;
}

/* How much the caller takes off the stack for arguments: of no use here. */
static void do_args_size(struct program *program)
{
	cfi_bytes_uleb(&program->bytes);
}

static void (*const instructions[OPERAND_BITS + 1])(struct program *) = {
	[DW_CFA_nop] = do_nothing,
	[DW_CFA_set_loc] = do_set_loc,
	[DW_CFA_advance_loc1] = do_advance1,
	[DW_CFA_advance_loc2] = do_advance2,
	[DW_CFA_advance_loc4] = do_advance4,
	[DW_CFA_MIPS_advance_loc8] = do_advance8,
	[DW_CFA_offset_extended] = do_offset,
	[DW_CFA_offset_extended_sf] = do_offset_signed,
	[DW_CFA_GNU_negative_offset_extended] = do_offset_negative,
	[DW_CFA_restore_extended] = do_restore,
	[DW_CFA_undefined] = do_undefined,
	[DW_CFA_same_value] = do_same_value,
	[DW_CFA_register] = do_otherwise,
	[DW_CFA_val_offset] = do_otherwise,
	[DW_CFA_val_offset_sf] = do_otherwise,
	[DW_CFA_expression] = do_expression,
	[DW_CFA_val_expression] = do_value_expression,
	[DW_CFA_remember_state] = do_remember,
	[DW_CFA_restore_state] = do_recall,
	[DW_CFA_def_cfa] = do_cfa,
	[DW_CFA_def_cfa_sf] = do_cfa_signed,
	[DW_CFA_def_cfa_register] = do_cfa_register,
	[DW_CFA_def_cfa_offset] = do_cfa_offset,
	[DW_CFA_def_cfa_offset_sf] = do_cfa_offset_signed,
	[DW_CFA_def_cfa_expression] = do_cfa_expression,
	[DW_CFA_GNU_args_size] = do_args_size,
};

/* ---- all of them ---- */

static void step(struct program *program)
{
	u8 code = (u8)cfi_bytes_u8(&program->bytes), operand = code & OPERAND_BITS;

	switch (code & PRIMARY_BITS) {
	case DW_CFA_advance_loc:
		advance(program, operand);
		break;
	case DW_CFA_offset:
		set_offset(program, operand, (s64)cfi_bytes_uleb(&program->bytes));
		break;
	case DW_CFA_restore:
		restore(program, operand);
		break;
	default:
		if (instructions[operand])
			instructions[operand](program);
		else
			program->bytes.failed = true;
	}
}

void elf_cie_run(const struct elf_cfi *cfi, const struct elf_cie *cie,
		 struct elf_cfi_state *ret_state)
{
	struct program program = {
		.cfi = cfi, .cie = cie, .bytes = cfi_bytes(cfi, cie->instructions)};

	while (cfi_bytes_left(&program.bytes))
		step(&program);
	*ret_state = program.state;
	ret_state->failed = program.bytes.failed || !cie->understood;
}

int elf_fde_run(const struct elf_cfi *cfi, const struct elf_cie *cie,
		const struct elf_cfi_state *initial, const struct elf_fde *fde,
		int (*visit)(void *data, u64 address, const struct elf_cfi_state *state),
		void *data)
{
	struct program program;

	/* Not what is remembered: there is much room for it, and next to no function uses it. */
	program.cfi = cfi;
	program.cie = cie;
	program.initial = initial;
	program.bytes = cfi_bytes(cfi, fde->instructions);
	program.address = fde->start;
	program.state = *initial;
	program.remembered_count = 0;
	program.changed = true;
	program.visit = visit;
	program.data = data;
	program.result = 0;
	while (!initial->failed && cfi_bytes_left(&program.bytes) && !program.result &&
	       program.address < fde->end)
		step(&program);
	program.state.failed = initial->failed || program.bytes.failed;
	if (!program.result && program.address < fde->end &&
	    (program.changed || program.state.failed))
		program.result = visit(data, program.address, &program.state);
	return program.result;
}
