/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/displaced.h"

#include <string.h>

#include "code/instruction_parts.h"

_Static_assert(DISPLACED_IP == REGISTER_RIP && DISPLACED_NO_REGISTER == REGISTER_NONE,
	       "register numbers as they come from the decoder");

#define STACK_POINTER 4

enum operand_kind {
	OPERAND_NONE,
	OPERAND_PLAIN,	 /* a constant, or a register of the size of the destination */
	OPERAND_NARROW,	 /* a register of any size, extended by zeros */
	OPERAND_SIGNED,	 /* the same, extended by its sign */
	OPERAND_ADDRESS, /* that of memory */
};

static const struct {
	u8 operation; /* enum displaced_operation */
	u8 operand;   /* enum operand_kind */
} kinds[X86_INS_ENDING] = {
	[X86_INS_ENDBR64] = {DISPLACED_SKIP, OPERAND_NONE},
	[X86_INS_NOP] = {DISPLACED_SKIP, OPERAND_NONE},
	[X86_INS_MOV] = {DISPLACED_MOVE, OPERAND_PLAIN},
	[X86_INS_MOVABS] = {DISPLACED_MOVE, OPERAND_PLAIN},
	[X86_INS_MOVZX] = {DISPLACED_MOVE, OPERAND_NARROW},
	[X86_INS_MOVSX] = {DISPLACED_MOVE, OPERAND_SIGNED},
	[X86_INS_MOVSXD] = {DISPLACED_MOVE, OPERAND_SIGNED},
	[X86_INS_LEA] = {DISPLACED_MOVE, OPERAND_ADDRESS},
	[X86_INS_ADD] = {DISPLACED_ADD, OPERAND_PLAIN},
	[X86_INS_SUB] = {DISPLACED_SUBTRACT, OPERAND_PLAIN},
	[X86_INS_CMP] = {DISPLACED_COMPARE, OPERAND_PLAIN},
	[X86_INS_AND] = {DISPLACED_AND, OPERAND_PLAIN},
	[X86_INS_TEST] = {DISPLACED_TEST, OPERAND_PLAIN},
	[X86_INS_OR] = {DISPLACED_OR, OPERAND_PLAIN},
	[X86_INS_XOR] = {DISPLACED_XOR, OPERAND_PLAIN},
};

static bool is_high_byte(x86_reg reg)
{
	return reg == X86_REG_AH || reg == X86_REG_BH || reg == X86_REG_CH || reg == X86_REG_DH;
}

static bool address_describe(const cs_insn *instruction, const cs_x86_op *operand,
			     struct displaced_instruction *displaced)
{
	const x86_op_mem *memory = &operand->mem;

	displaced->base = instruction_register_number(memory->base);
	displaced->index = instruction_register_number(memory->index);
	if ((memory->base != X86_REG_INVALID && displaced->base == REGISTER_NONE) ||
	    (memory->index != X86_REG_INVALID && displaced->index >= REGISTER_RIP))
		return false;
	displaced->shift = (u8)__builtin_ctz((unsigned)memory->scale | 8);
	displaced->constant = memory->disp;
	/* ip counts from the end of the instruction. */
	if (displaced->base == REGISTER_RIP)
		displaced->constant += instruction->size;
	return true;
}

static bool register_describe(const cs_x86_op *operand, enum operand_kind kind,
			      struct displaced_instruction *displaced)
{
	displaced->base = instruction_register_number(operand->reg);
	displaced->operand_bits = (u8)(operand->size * 8);
	displaced->operand_signed = kind == OPERAND_SIGNED;
	if (displaced->base >= REGISTER_RIP || is_high_byte(operand->reg))
		return false;
	return kind == OPERAND_PLAIN ? displaced->operand_bits == displaced->bits
				     : displaced->operand_bits <= 32;
}

static bool operand_describe(const cs_insn *instruction, enum operand_kind kind,
			     struct displaced_instruction *displaced)
{
	const cs_x86_op *operand = &instruction->detail->x86.operands[1];

	displaced->operand_bits = 64;
	if (kind == OPERAND_ADDRESS)
		return operand->type == X86_OP_MEM &&
		       address_describe(instruction, operand, displaced);
	if (operand->type == X86_OP_REG)
		return register_describe(operand, kind, displaced);
	displaced->constant = operand->imm;
	return kind == OPERAND_PLAIN && operand->type == X86_OP_IMM;
}

static bool destination_describe(const cs_x86_op *operand, struct displaced_instruction *displaced)
{
	bool written =
		displaced->operation != DISPLACED_COMPARE && displaced->operation != DISPLACED_TEST;

	if (operand->type != X86_OP_REG || (operand->size != 4 && operand->size != 8))
		return false;
	displaced->bits = (u8)(operand->size * 8);
	displaced->destination = instruction_register_number(operand->reg);
	return displaced->destination < REGISTER_RIP &&
	       !(written && displaced->destination == STACK_POINTER);
}

/* A REX prefix at most, in its place. Of others, and of several, Capstone makes something else than processors. */
static bool is_plain(const u8 *bytes, size_t size)
{
	static const u8 prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
				      0x66, 0x67, 0xf0, 0xf2, 0xf3};
	size_t opcode = (bytes[0] & 0xf0) == 0x40;

	return opcode < size && (bytes[opcode] & 0xf0) != 0x40 &&
	       !memchr(prefixes, bytes[opcode], sizeof(prefixes));
}

/* As compilers and assemblers write them. With other prefixes it may be another instruction (41 90: xchg), and of one
 * of 5 bytes the kernel makes a call. */
static bool is_nop(const cs_insn *instruction, const u8 *bytes)
{
	size_t size = instruction->size, at = 0;

	if (instruction->id == X86_INS_ENDBR64)
		return size == 4;
	while (at < size && bytes[at] == 0x66)
		at++;
	return size != 5 &&
	       (at + 1 == size ? bytes[at] == 0x90 : bytes[at] == 0x0f && bytes[at + 1] == 0x1f);
}

bool decoder_displace(struct decoder *decoder, const u8 *bytes, size_t size, u64 address,
		      struct displaced_instruction *ret_instruction)
{
	const cs_insn *instruction = decoder->instruction;
	const u8 *first = bytes;
	const cs_x86 *x86;
	struct displaced_instruction displaced = {.base = REGISTER_NONE, .index = REGISTER_NONE};
	enum operand_kind kind;

	if (!size ||
	    !cs_disasm_iter(decoder->handle, &bytes, &size, &address, decoder->instruction))
		return false;
	if (instruction->id >= X86_INS_ENDING || !kinds[instruction->id].operation)
		return false;
	x86 = &instruction->detail->x86;
	kind = kinds[instruction->id].operand;
	displaced.operation = kinds[instruction->id].operation;
	displaced.size_bytes = (u8)instruction->size;
	/* Without that prefix it is a plain 32-bit move, which Capstone calls a 64-bit one. */
	if (instruction->id == X86_INS_MOVSXD && !(x86->rex & 8))
		return false;
	if (kind == OPERAND_NONE ? !is_nop(instruction, first)
				 : !is_plain(first, instruction->size))
		return false;
	if (kind != OPERAND_NONE && (x86->op_count != 2 || x86->addr_size != 8 ||
				     !destination_describe(&x86->operands[0], &displaced) ||
				     !operand_describe(instruction, kind, &displaced)))
		return false;
	*ret_instruction = displaced;
	return true;
}
