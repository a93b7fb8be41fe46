/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel does with a probed x86-64 instruction: refuses it, emulates it, or steps it. */
#include "code/instruction.h"
#include "code/instruction_parts.h"

/* The kernel refuses these prefixes whatever follows; "notrack jmp" and "cs nopw" have one too. */
static const char *prefix_refused(const u8 *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		switch (bytes[i]) {
		case 0xf0:
			return "the kernel does not probe instructions with a lock prefix";
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			return "the kernel does not probe instructions with a segment prefix";
		case 0x64:
		case 0x65:
		case 0x66:
		case 0x67:
		case 0xf2:
		case 0xf3:
			break;
		default:
			return NULL;
		}
	}
	return NULL;
}

/*
 * In, out and their string forms: the kernel refuses them, and Capstone does not count them as
 * privileged. A branch with an operand size prefix is refused too: processors disagree on what it
 * means.
 */
static bool is_refused(const struct decoder *decoder, const u8 *bytes)
{
	const cs_insn *instruction = decoder->instruction;

	switch (instruction->id) {
	case X86_INS_IN:
	case X86_INS_OUT:
	case X86_INS_INSB:
	case X86_INS_INSW:
	case X86_INS_INSD:
	case X86_INS_OUTSB:
	case X86_INS_OUTSW:
	case X86_INS_OUTSD:
	case X86_INS_HLT:
	case X86_INS_INT3:
		return true;
	default:
		return cs_insn_group(decoder->handle, instruction, CS_GRP_PRIVILEGE) ||
		       cs_insn_group(decoder->handle, instruction, CS_GRP_INT) ||
		       (bytes[0] == 0x66 &&
			cs_insn_group(decoder->handle, instruction, X86_GRP_BRANCH_RELATIVE));
	}
}

/* Opcodes of one byte that the kernel emulates as relative branches and nops. */
static bool is_branch_or_nop(u8 opcode)
{
	return (opcode >= 0x70 && opcode <= 0x7f) || opcode == 0xe8 || opcode == 0xe9 ||
	       opcode == 0xeb || opcode == 0x90;
}

/* Where the opcode of an AVX instruction stands; 0: it is none. */
static size_t vector_opcode_at(const u8 *bytes, size_t size)
{
	size_t at = 0;

	while (at < size && (bytes[at] == 0x64 || bytes[at] == 0x65 || bytes[at] == 0x67))
		at++;
	if (at == size)
		return 0;
	switch (bytes[at]) {
	case 0xc5:
		at += 2;
		break;
	case 0xc4:
	case 0x8f: /* XOP; a pop has no such bytes behind it */
		at += 3;
		break;
	case 0x62:
		at += 4;
		break;
	default:
		return 0;
	}
	return at < size ? at : 0;
}

/* The kernel looks AVX opcodes up among those of one byte, and these are none that it probes there.
 */
static bool is_vector_refused(u8 opcode)
{
	static const u8 ranges[][2] = {
		{0x06, 0x07}, {0x0e, 0x0f}, {0x16, 0x17}, {0x1e, 0x1f}, {0x27, 0x27},
		{0x2f, 0x2f}, {0x37, 0x37}, {0x3f, 0x3f}, {0x60, 0x62}, {0x6c, 0x6f},
		{0x82, 0x82}, {0x9a, 0x9a}, {0xcc, 0xcf}, {0xd4, 0xd6}, {0xe4, 0xe7},
		{0xea, 0xea}, {0xec, 0xf1}, {0xf4, 0xf4}, {0xfa, 0xfb},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		if (opcode >= ranges[i][0] && opcode <= ranges[i][1])
			return true;
	}
	return false;
}

/* xchg %rax,%r8 */
static bool is_exchange(const u8 *bytes, size_t size)
{
	size_t at = 0;

	while (at < size && (bytes[at] == 0x66 || bytes[at] == 0xf2 || bytes[at] == 0xf3))
		at++;
	return at + 1 < size && (bytes[at] & 0xf1) == 0x41 && bytes[at + 1] == 0x90;
}

/*
 * Linux (6.18 tried) looks at the opcode but not at the encoding around it: "vpshufd" (c5 f9 70)
 * becomes a conditional jump, "vpor" (c5 f9 eb) a jump, "xchg %rax,%r8" (41 90) a nop. The function
 * then computes something else, without a word. "vxorps" (57) and the like are right.
 */
static const char *vector_check(const u8 *bytes, size_t size)
{
	size_t at = vector_opcode_at(bytes, size);

	if ((at && is_branch_or_nop(bytes[at])) || is_exchange(bytes, size))
		return "the kernel would take its first instruction for another one";
	if (at && is_vector_refused(bytes[at]))
		return "the kernel does not probe this AVX instruction";
	return NULL;
}

/* Those that the kernel emulates instead of single-stepping them out of line. */
static bool is_emulated(const u8 *bytes, size_t length)
{
	size_t i = 0;

	/* push of a register, with at most a REX.B in front. Nops of several bytes are emulated by
	 * the newest kernels only, so they do not count. */
	if (length == 1 && bytes[0] >= 0x50 && bytes[0] <= 0x57)
		return true;
	if (length == 2 && bytes[0] == 0x41 && bytes[1] >= 0x50 && bytes[1] <= 0x57)
		return true;
	while (i < length && bytes[i] == 0x66)
		i++;
	if (i < length && bytes[i] == 0x90)
		return true;
	if (i)
		return false;
	if (is_branch_or_nop(bytes[0]))
		return true;
	return bytes[0] == 0x0f && length > 1 && bytes[1] >= 0x80 && bytes[1] <= 0x8f;
}

const char *decoder_check(struct decoder *decoder, const u8 *bytes, size_t size, u64 address,
			  enum instruction_cost *ret_cost)
{
	const cs_insn *instruction = decoder->instruction;
	const u8 *code = bytes;
	const char *refused = prefix_refused(bytes, size);
	size_t left = size;
	u64 next = address;

	if (refused)
		return refused;
	if (!size || !cs_disasm_iter(decoder->handle, &code, &left, &next, decoder->instruction))
		return "its first bytes are no instruction that is known here";
	if (is_refused(decoder, bytes))
		return "the kernel does not probe interrupts, privileged and odd branch "
		       "instructions";
	refused = vector_check(bytes, size);
	if (refused)
		return refused;
	*ret_cost = is_emulated(bytes, instruction->size) ? COST_CHEAP : COST_STEPPED;
	return NULL;
}
