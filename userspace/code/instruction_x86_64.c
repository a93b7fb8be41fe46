/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "code/instruction.h"

#include <errno.h>
#include <stdlib.h>

#include "code/capstone_x86_64.h"
#include "code/instruction_parts.h"

int decoder_create(struct decoder **ret_decoder, struct err *err)
{
	struct decoder *decoder = calloc(1, sizeof(*decoder));
	cs_err result;

	if (!decoder)
		return err_errno(err, -ENOMEM, "can't start the instruction decoder");
	result = capstone_open_x86_64(&decoder->handle);
	if (result == CS_ERR_OK)
		result = cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON);
	if (result == CS_ERR_OK)
		decoder->instruction = cs_malloc(decoder->handle);
	if (!decoder->instruction) {
		decoder_free(decoder);
		return err_set(err, -EINVAL, "can't start the instruction decoder: %s",
			       cs_strerror(result));
	}
	decoder->left = ~0ULL;
	*ret_decoder = decoder;
	return 0;
}

void decoder_limit(struct decoder *decoder, u64 count)
{
	decoder->left = count;
}

bool decoder_is_spent(const struct decoder *decoder)
{
	return !decoder->left;
}

struct decoder *decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return NULL;
	if (decoder->instruction)
		cs_free(decoder->instruction, 1);
	if (decoder->handle)
		cs_close(&decoder->handle);
	free(decoder);
	return NULL;
}

/* ---- what an instruction does ---- */

#define REGISTER(number, r64, r32, r16, r8)                             \
	[X86_REG_##r64] = (number) + 1, [X86_REG_##r32] = (number) + 1, \
	[X86_REG_##r16] = (number) + 1, [X86_REG_##r8] = (number) + 1

/* 1 + the number in machine code; 0: no general register. */
static const u8 register_numbers[X86_REG_ENDING] = {
	REGISTER(0, RAX, EAX, AX, AL),
	REGISTER(1, RCX, ECX, CX, CL),
	REGISTER(2, RDX, EDX, DX, DL),
	REGISTER(3, RBX, EBX, BX, BL),
	REGISTER(4, RSP, ESP, SP, SPL),
	REGISTER(5, RBP, EBP, BP, BPL),
	REGISTER(6, RSI, ESI, SI, SIL),
	REGISTER(7, RDI, EDI, DI, DIL),
	REGISTER(8, R8, R8D, R8W, R8B),
	REGISTER(9, R9, R9D, R9W, R9B),
	REGISTER(10, R10, R10D, R10W, R10B),
	REGISTER(11, R11, R11D, R11W, R11B),
	REGISTER(12, R12, R12D, R12W, R12B),
	REGISTER(13, R13, R13D, R13W, R13B),
	REGISTER(14, R14, R14D, R14W, R14B),
	REGISTER(15, R15, R15D, R15W, R15B),
	[X86_REG_AH] = 0 + 1,
	[X86_REG_CH] = 1 + 1,
	[X86_REG_DH] = 2 + 1,
	[X86_REG_BH] = 3 + 1,
};

#undef REGISTER

#define ALL_REGISTERS 0xffff

/* What a probe's placement may step over; everything that is not in this table it may not. */
enum effect {
	EFFECT_UNKNOWN,
	EFFECT_NONE,	/* changes flags at most */
	EFFECT_FIRST,	/* its first operand, and flags */
	EFFECT_REPLACE, /* its first operand, whatever that was */
};

static const u8 effects[X86_INS_ENDING] = {
	[X86_INS_NOP] = EFFECT_NONE,	   [X86_INS_ENDBR64] = EFFECT_NONE,
	[X86_INS_TEST] = EFFECT_NONE,	   [X86_INS_CMP] = EFFECT_NONE,
	[X86_INS_BT] = EFFECT_NONE,	   [X86_INS_COMISS] = EFFECT_NONE,
	[X86_INS_COMISD] = EFFECT_NONE,	   [X86_INS_UCOMISS] = EFFECT_NONE,
	[X86_INS_UCOMISD] = EFFECT_NONE,   [X86_INS_VCOMISS] = EFFECT_NONE,
	[X86_INS_VCOMISD] = EFFECT_NONE,   [X86_INS_VUCOMISS] = EFFECT_NONE,
	[X86_INS_VUCOMISD] = EFFECT_NONE,  [X86_INS_MOV] = EFFECT_REPLACE,
	[X86_INS_MOVABS] = EFFECT_REPLACE, [X86_INS_MOVZX] = EFFECT_REPLACE,
	[X86_INS_MOVSX] = EFFECT_REPLACE,  [X86_INS_MOVSXD] = EFFECT_REPLACE,
	[X86_INS_LEA] = EFFECT_REPLACE,	   [X86_INS_XOR] = EFFECT_FIRST,
	[X86_INS_AND] = EFFECT_FIRST,	   [X86_INS_OR] = EFFECT_FIRST,
	[X86_INS_ADD] = EFFECT_FIRST,	   [X86_INS_SUB] = EFFECT_FIRST,
	[X86_INS_NEG] = EFFECT_FIRST,	   [X86_INS_NOT] = EFFECT_FIRST,
	[X86_INS_INC] = EFFECT_FIRST,	   [X86_INS_DEC] = EFFECT_FIRST,
	[X86_INS_SHL] = EFFECT_FIRST,	   [X86_INS_SHR] = EFFECT_FIRST,
	[X86_INS_SAR] = EFFECT_FIRST,	   [X86_INS_SETE] = EFFECT_FIRST,
	[X86_INS_SETNE] = EFFECT_FIRST,	   [X86_INS_CMOVE] = EFFECT_FIRST,
	[X86_INS_CMOVNE] = EFFECT_FIRST,
};

u8 instruction_register_number(x86_reg reg)
{
	if (reg == X86_REG_RIP)
		return REGISTER_RIP;
	return reg < X86_REG_ENDING && register_numbers[reg] ? (u8)(register_numbers[reg] - 1)
							     : REGISTER_NONE;
}

static u32 register_bit(x86_reg reg)
{
	u8 number = instruction_register_number(reg);

	return number < 16 ? 1U << number : 0;
}

/* What a register becomes if it is cleared by itself does not depend on it. */
static bool clears(const cs_insn *instruction)
{
	const cs_x86_op *operands = instruction->detail->x86.operands;

	return (instruction->id == X86_INS_XOR || instruction->id == X86_INS_SUB) &&
	       operands[0].type == X86_OP_REG && operands[1].type == X86_OP_REG &&
	       operands[0].reg == operands[1].reg;
}

/* Beyond what Capstone says: all that stand in the operands. */
static void operands_read(const cs_insn *instruction, struct instruction *ret_instruction)
{
	const cs_x86 *x86 = &instruction->detail->x86;
	u8 effect = effects[instruction->id];

	for (u8 i = 0; i < x86->op_count; i++) {
		const cs_x86_op *operand = &x86->operands[i];

		if (operand->type == X86_OP_MEM)
			ret_instruction->read |=
				register_bit(operand->mem.base) | register_bit(operand->mem.index);
		else if (operand->type == X86_OP_REG && (i || effect == EFFECT_NONE) &&
			 !clears(instruction))
			ret_instruction->read |= register_bit(operand->reg);
	}
	/* Four bytes clear the upper four; fewer leave the others as they are. */
	if (x86->op_count && x86->operands[0].type == X86_OP_REG && x86->operands[0].size >= 4 &&
	    (effect == EFFECT_REPLACE || clears(instruction)))
		ret_instruction->replaced = register_bit(x86->operands[0].reg);
}

static void registers_read(struct decoder *decoder, struct instruction *ret_instruction)
{
	const cs_insn *instruction = decoder->instruction;
	const cs_x86 *x86 = &instruction->detail->x86;
	cs_regs read, written;
	u8 read_count, written_count;

	ret_instruction->read = ret_instruction->written = ALL_REGISTERS;
	if (cs_insn_group(decoder->handle, instruction, CS_GRP_CALL) ||
	    cs_insn_group(decoder->handle, instruction, CS_GRP_INT) ||
	    cs_regs_access(decoder->handle, instruction, read, &read_count, written,
			   &written_count))
		return;
	ret_instruction->read = ret_instruction->written = 0;
	for (u8 i = 0; i < read_count && !clears(instruction); i++)
		ret_instruction->read |= register_bit(read[i]);
	for (u8 i = 0; i < written_count; i++)
		ret_instruction->written |= register_bit(written[i]);
	if (x86->op_count && x86->operands[0].type == X86_OP_REG &&
	    effects[instruction->id] != EFFECT_NONE)
		ret_instruction->written |= register_bit(x86->operands[0].reg);
	operands_read(instruction, ret_instruction);
}

static bool is_harmless(const cs_insn *instruction)
{
	const cs_x86 *x86 = &instruction->detail->x86;

	if (effects[instruction->id] == EFFECT_NONE)
		return true;
	return effects[instruction->id] != EFFECT_UNKNOWN && x86->op_count &&
	       x86->operands[0].type == X86_OP_REG && register_bit(x86->operands[0].reg);
}

static bool is_on_stack(x86_reg reg)
{
	return register_bit(reg) & (1U << 4 | 1U << 5);
}

static bool is_store(const cs_insn *instruction)
{
	const cs_x86_op *first = &instruction->detail->x86.operands[0];

	return instruction->id == X86_INS_MOV && first->type == X86_OP_MEM &&
	       first->mem.segment == X86_REG_INVALID && !is_on_stack(first->mem.base) &&
	       !is_on_stack(first->mem.index);
}

/* Is an operand memory at a constant distance below the register? */
static bool uses_below(const cs_insn *instruction, x86_reg base)
{
	const cs_x86 *x86 = &instruction->detail->x86;

	for (unsigned i = 0; i < x86->op_count && instruction->id != X86_INS_LEA; i++)
		if (x86->operands[i].type == X86_OP_MEM && x86->operands[i].mem.base == base &&
		    x86->operands[i].mem.disp < 0)
			return true;
	return false;
}

static struct instruction_memory memory_of(const cs_x86_op *operand)
{
	const x86_op_mem *memory = &operand->mem;

	return (struct instruction_memory){
		.base = instruction_register_number(memory->base),
		.index = instruction_register_number(memory->index),
		.scale = (u8)memory->scale,
		.other_segment = memory->segment == X86_REG_FS || memory->segment == X86_REG_GS,
		.displacement = memory->disp,
	};
}

/* ---- where it leads to ---- */

static const u8 flows[X86_INS_ENDING] = {
	[X86_INS_CALL] = FLOW_CALL,
	[X86_INS_LCALL] = FLOW_CALL,
	[X86_INS_RET] = FLOW_RETURN,
	[X86_INS_RETF] = FLOW_OTHER_RETURN,
	[X86_INS_RETFQ] = FLOW_OTHER_RETURN,
	[X86_INS_IRET] = FLOW_OTHER_RETURN,
	[X86_INS_IRETD] = FLOW_OTHER_RETURN,
	[X86_INS_IRETQ] = FLOW_OTHER_RETURN,
	[X86_INS_SYSRET] = FLOW_OTHER_RETURN,
	[X86_INS_SYSEXIT] = FLOW_OTHER_RETURN,
	[X86_INS_LJMP] = FLOW_OTHER_RETURN,
	[X86_INS_JMP] = FLOW_JUMP,
	[X86_INS_LOOP] = FLOW_JUMP_CONDITIONAL,
	[X86_INS_LOOPE] = FLOW_JUMP_CONDITIONAL,
	[X86_INS_LOOPNE] = FLOW_JUMP_CONDITIONAL,
	[X86_INS_JRCXZ] = FLOW_JUMP_CONDITIONAL,
	[X86_INS_JECXZ] = FLOW_JUMP_CONDITIONAL,
	[X86_INS_XBEGIN] = FLOW_JUMP_CONDITIONAL,
	[X86_INS_UD2] = FLOW_STOP,
	[X86_INS_HLT] = FLOW_STOP,
	[X86_INS_INT3] = FLOW_STOP,
};

/* Of a jcc, else INSTRUCTION_NO_CONDITION. */
static u8 condition_of(const cs_x86 *x86)
{
	if ((x86->opcode[0] & 0xf0) == 0x70)
		return x86->opcode[0] & 0xf;
	if (x86->opcode[0] == 0x0f && (x86->opcode[1] & 0xf0) == 0x80)
		return x86->opcode[1] & 0xf;
	return INSTRUCTION_NO_CONDITION;
}

static void flow_read(const cs_insn *instruction, struct instruction *ret_instruction)
{
	const cs_x86 *x86 = &instruction->detail->x86;
	const cs_x86_op *operand = &x86->operands[0];

	ret_instruction->flow = flows[instruction->id];
	ret_instruction->condition = condition_of(x86);
	if (ret_instruction->condition != INSTRUCTION_NO_CONDITION)
		ret_instruction->flow = FLOW_JUMP_CONDITIONAL;
	if (ret_instruction->flow == FLOW_NEXT || !x86->op_count)
		return;
	if (ret_instruction->flow == FLOW_RETURN) {
		ret_instruction->popped_bytes = (u16)operand->imm;
	} else if (operand->type == X86_OP_IMM) {
		ret_instruction->has_target = true;
		ret_instruction->target = (u64)operand->imm;
	} else if (ret_instruction->flow == FLOW_JUMP && operand->type == X86_OP_REG) {
		ret_instruction->flow = FLOW_JUMP_REGISTER;
		ret_instruction->jump_register = instruction_register_number(operand->reg);
	} else if (ret_instruction->flow == FLOW_JUMP) {
		ret_instruction->flow = FLOW_JUMP_MEMORY;
		ret_instruction->memory = memory_of(operand);
	}
}

/* ---- what jump tables and epilogues are recognised by ---- */

/* lea (%a,%b),%a is add %b,%a. */
static void lea_read(struct instruction *instruction)
{
	const struct instruction_memory *memory = &instruction->memory;

	if (memory->base == REGISTER_RIP) {
		instruction->data = DATA_LEA_RIP;
		instruction->data_address =
			instruction->address + instruction->size_bytes + (u64)memory->displacement;
		return;
	}
	if (memory->base >= 16 || memory->index >= 16 || memory->scale != 1 || memory->displacement)
		return;
	if (memory->base != instruction->destination && memory->index != instruction->destination)
		return;
	instruction->data = DATA_ADD;
	instruction->source =
		memory->base == instruction->destination ? memory->index : memory->base;
}

/* An immediate operand, or the displacement of an address that is not relative to rip. */
static u64 constant_of(const cs_x86 *x86)
{
	for (u8 i = 0; i < x86->op_count; i++) {
		const cs_x86_op *operand = &x86->operands[i];

		if (operand->type == X86_OP_IMM)
			return (u64)operand->imm;
		if (operand->type == X86_OP_MEM && operand->mem.base != X86_REG_RIP &&
		    operand->mem.disp)
			return (u64)operand->mem.disp;
	}
	return 0;
}

/* What makes a function's frame, and what writes to it. */
static void frame_read(const cs_insn *instruction, struct instruction *ret_instruction)
{
	const cs_x86_op *operands = instruction->detail->x86.operands;

	if (instruction->id == X86_INS_SUB && operands[0].type == X86_OP_REG &&
	    operands[0].reg == X86_REG_RSP && operands[1].type == X86_OP_IMM &&
	    operands[1].imm > 0 && operands[1].imm <= INT32_MAX && operands[1].imm % 8 == 0)
		ret_instruction->frame_bytes = (u32)operands[1].imm;
	if (instruction->id == X86_INS_MOV && operands[0].type == X86_OP_MEM &&
	    operands[0].mem.base == X86_REG_RSP && operands[0].mem.index == X86_REG_INVALID &&
	    operands[0].mem.segment == X86_REG_INVALID) {
		ret_instruction->memory = memory_of(&operands[0]);
		ret_instruction->frame_store_bytes = operands[0].size;
	}
}

static void data_read(const cs_insn *instruction, struct instruction *ret_instruction)
{
	const cs_x86 *x86 = &instruction->detail->x86;
	const cs_x86_op *first = &x86->operands[0], *second = &x86->operands[1];

	ret_instruction->constant = constant_of(x86);
	if (x86->op_count != 2)
		return;
	if (first->type == X86_OP_REG)
		ret_instruction->destination = instruction_register_number(first->reg);
	if (second->type == X86_OP_REG)
		ret_instruction->source = instruction_register_number(second->reg);
	if (second->type == X86_OP_MEM)
		ret_instruction->memory = memory_of(second);
	frame_read(instruction, ret_instruction);
	if (instruction->id == X86_INS_CMP && second->type == X86_OP_IMM) {
		ret_instruction->data = DATA_COMPARE;
		ret_instruction->compared = second->imm;
	}
	if (ret_instruction->destination >= 16)
		return;
	if (instruction->id == X86_INS_LEA)
		lea_read(ret_instruction);
	else if (instruction->id == X86_INS_MOVSXD && second->type == X86_OP_MEM)
		ret_instruction->data = DATA_LOAD_S32;
	else if (instruction->id == X86_INS_MOV && second->type == X86_OP_MEM && first->size == 8)
		ret_instruction->data = DATA_LOAD_U64;
	else if (instruction->id == X86_INS_ADD && second->type == X86_OP_REG && first->size == 8)
		ret_instruction->data = DATA_ADD;
	else if (instruction->id == X86_INS_MOVABS && second->type == X86_OP_IMM)
		ret_instruction->data = DATA_CONSTANT_U64;
}

static bool restores_stack(const cs_insn *instruction)
{
	const cs_x86 *x86 = &instruction->detail->x86;
	const cs_x86_op *first = &x86->operands[0];
	bool to_stack_pointer =
		x86->op_count && first->type == X86_OP_REG && first->reg == X86_REG_RSP;

	if (instruction->id == X86_INS_LEAVE)
		return true;
	if (instruction->id == X86_INS_POP)
		return first->type == X86_OP_REG && !to_stack_pointer;
	if (!to_stack_pointer || x86->op_count != 2)
		return false;
	if (instruction->id == X86_INS_ADD || instruction->id == X86_INS_SUB)
		return x86->operands[1].type == X86_OP_IMM &&
		       (x86->operands[1].imm > 0) == (instruction->id == X86_INS_ADD);
	return instruction->id == X86_INS_LEA || instruction->id == X86_INS_MOV;
}

bool decoder_read(struct decoder *decoder, const u8 *bytes, size_t size, u64 address,
		  struct instruction *ret_instruction)
{
	const cs_insn *instruction = decoder->instruction;
	const cs_x86 *x86;
	const u8 *code = bytes;
	u64 next = address;

	if (!decoder->left)
		return false;
	decoder->left--;
	if (!size || !cs_disasm_iter(decoder->handle, &code, &size, &next, decoder->instruction))
		return false;
	if (instruction->id >= X86_INS_ENDING)
		return false;
	x86 = &instruction->detail->x86;
	*ret_instruction = (struct instruction){
		.address = address,
		.size_bytes = (u8)instruction->size,
		.jump_register = REGISTER_NONE,
		.destination = REGISTER_NONE,
		.source = REGISTER_NONE,
		.memory = {.base = REGISTER_NONE, .index = REGISTER_NONE},
		.notrack = x86->prefix[1] == X86_PREFIX_DS,
		.nop = instruction->id == X86_INS_NOP,
		.endbr64 = instruction->id == X86_INS_ENDBR64,
		.harmless = is_harmless(instruction),
		.stores = is_store(instruction),
		.restores_stack = restores_stack(instruction),
		.uses_below_stack = uses_below(instruction, X86_REG_RSP),
		.uses_below_frame = uses_below(instruction, X86_REG_RBP),
	};
	registers_read(decoder, ret_instruction);
	ret_instruction->five_byte_nop = ret_instruction->nop && ret_instruction->size_bytes == 5;
	flow_read(instruction, ret_instruction);
	if (ret_instruction->flow == FLOW_NEXT)
		data_read(instruction, ret_instruction);
	if (ret_instruction->restores_stack && instruction->id == X86_INS_POP)
		ret_instruction->destination = instruction_register_number(x86->operands[0].reg);
	return true;
}

u32 instruction_argument_register(unsigned number)
{
	static const u8 numbers[] = {7, 6, 2, 1, 8, 9}; /* rdi, rsi, rdx, rcx, r8, r9 */

	return number && number <= ARRAY_SIZE(numbers) ? 1U << numbers[number - 1] : 0;
}
