/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Carries out what displaced.h describes. Pure logic: also compiled natively by tests/unit/test_displaced.c, which
 * holds it against the processor, so it calls no BPF helper; the includer provides struct pt_regs.
 */
#ifndef GPUPROBE_BPF_DISPLACED_EXECUTE_H
#define GPUPROBE_BPF_DISPLACED_EXECUTE_H

#include "displaced.h"

#define DISPLACED_FLAG_CARRY	(1ULL << 0)
#define DISPLACED_FLAG_PARITY	(1ULL << 2)
#define DISPLACED_FLAG_ADJUST	(1ULL << 4)
#define DISPLACED_FLAG_ZERO	(1ULL << 6)
#define DISPLACED_FLAG_SIGN	(1ULL << 7)
#define DISPLACED_FLAG_OVERFLOW (1ULL << 11)
#define DISPLACED_FLAGS                                                         \
	(DISPLACED_FLAG_CARRY | DISPLACED_FLAG_PARITY | DISPLACED_FLAG_ADJUST | \
	 DISPLACED_FLAG_ZERO | DISPLACED_FLAG_SIGN | DISPLACED_FLAG_OVERFLOW)

#define DISPLACED_INLINE static inline __attribute__((always_inline))

#define DISPLACED_REGISTERS(X)                                                                     \
	X(0, rax)                                                                                  \
	X(1, rcx)                                                                                  \
	X(2, rdx) X(3, rbx) X(4, rsp) X(5, rbp) X(6, rsi) X(7, rdi) X(8, r8) X(9, r9) X(10, r10) \
		X(11, r11) X(12, r12) X(13, r13) X(14, r14) X(15, r15) X(16, rip)

/* The empty asm keeps each access at a place of its own: the compiler would join them to one at a computed place,
 * which the verifier of 6.19 refuses. */
DISPLACED_INLINE u64 displaced_read(const struct pt_regs *registers, u32 number)
{
	u64 value = 0;

#define READ(register_number, name)                     \
	if (number == register_number) {                \
		value = registers->name;                \
		__asm__ volatile("" : "+r"(value)); \
	}
	DISPLACED_REGISTERS(READ)
#undef READ
	return value;
}

DISPLACED_INLINE void displaced_write(struct pt_regs *registers, u32 number, u64 value)
{
#define WRITE(register_number, name)                                           \
	if (number == register_number) {                                       \
		u64 copy = value;                                              \
                                                                               \
		__asm__ volatile("" : "+r"(copy) : "i"(register_number)); \
		registers->name = copy;                                        \
		__asm__ volatile("" : : "i"(register_number) : "memory"); \
	}
	DISPLACED_REGISTERS(WRITE)
#undef WRITE
}

DISPLACED_INLINE u64 displaced_operand(const struct pt_regs *registers,
				       const struct displaced_instruction *instruction)
{
	u64 operand = displaced_read(registers, instruction->base) +
		      (displaced_read(registers, instruction->index) << (instruction->shift & 3)) +
		      (u64)instruction->constant;
	u32 unused = (64 - instruction->operand_bits) & 63;

	operand <<= unused;
	return instruction->operand_signed ? (u64)((s64)operand >> unused) : operand >> unused;
}

/* Those that the result alone determines. */
DISPLACED_INLINE u64 displaced_result_flags(u64 result, u64 sign)
{
	u32 parity = (u32)(result ^ result >> 4) & 0xf;

	return (result ? 0 : DISPLACED_FLAG_ZERO) | (result & sign ? DISPLACED_FLAG_SIGN : 0) |
	       (0x6996 >> parity & 1 ? 0 : DISPLACED_FLAG_PARITY);
}

/* Of left + right and left - right. */
DISPLACED_INLINE u64 displaced_carry_flags(u64 left, u64 right, u64 result, u64 sign, bool add)
{
	u64 overflow = (left ^ result) & (add ? right ^ result : left ^ right) & sign;

	return ((left ^ right ^ result) & DISPLACED_FLAG_ADJUST) |
	       ((add ? result < left : left < right) ? DISPLACED_FLAG_CARRY : 0) |
	       (overflow ? DISPLACED_FLAG_OVERFLOW : 0);
}

DISPLACED_INLINE void displaced_compute(struct pt_regs *registers,
					const struct displaced_instruction *instruction)
{
	u32 operation = instruction->operation;
	u64 sign = 1ULL << ((instruction->bits - 1) & 63), mask = sign | (sign - 1);
	u64 right = displaced_operand(registers, instruction) & mask;
	u64 left, result = right, flags = 0;

	if (operation != DISPLACED_MOVE) {
		left = displaced_read(registers, instruction->destination) & mask;
		if (operation == DISPLACED_ADD) {
			result = (left + right) & mask;
			flags = displaced_carry_flags(left, right, result, sign, true);
		} else if (operation == DISPLACED_SUBTRACT || operation == DISPLACED_COMPARE) {
			result = (left - right) & mask;
			flags = displaced_carry_flags(left, right, result, sign, false);
		} else if (operation == DISPLACED_OR) {
			result = left | right;
		} else if (operation == DISPLACED_XOR) {
			result = left ^ right;
		} else {
			result = left & right;
		}
		flags |= displaced_result_flags(result, sign);
		registers->eflags = (registers->eflags & ~DISPLACED_FLAGS) | flags;
	}
	if (operation != DISPLACED_COMPARE && operation != DISPLACED_TEST)
		displaced_write(registers, instruction->destination, result);
}

/* Does the instruction that ip is at. */
DISPLACED_INLINE void displaced_execute(struct pt_regs *registers,
					const struct displaced_instruction *instruction)
{
	if (instruction->operation == DISPLACED_NONE)
		return;
	if (instruction->operation != DISPLACED_SKIP)
		displaced_compute(registers, instruction);
	registers->rip += instruction->size_bytes;
}

#endif
