/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sizes of products of matrices, from the arguments of the library's function that is called for them: a record behind
 * that of the call, with its time. What is no size (negative) or no type is left out of it; what can be believed is for the
 * reader to judge.
 */
#ifndef GPUPROBE_BPF_MATMUL_EMIT_H
#define GPUPROBE_BPF_MATMUL_EMIT_H

#include "arch_x86_64.h"
#include "emit.h"
#include "price.h"

/* Those on the stack are read at once: several reads cost several times as much. */
struct matmul_stack {
	u64 words[MATMUL_STACK_ARGUMENTS];
};

static __always_inline bool matmul_read_stack(const struct matmul_arguments *row, u64 sp,
					      struct matmul_stack *stack)
{
	u32 count = row->on_stack;

	if (!count)
		return true;
	if (count > MATMUL_STACK_ARGUMENTS)
		return false;
	/* The first one lies above the return address. */
	return !bpf_probe_read_user(stack->words, count * sizeof(u64), (void *)(sp + sizeof(u64)));
}

static __always_inline u64 matmul_argument(const struct pt_regs *registers,
					   const struct matmul_stack *stack, u32 number)
{
	u32 place = number - MATMUL_REGISTER_ARGUMENTS - 1;

	if (number <= MATMUL_REGISTER_ARGUMENTS)
		return arch_argument(registers, number);
	/* The mask, hidden from the compiler, shows the verifier what the table sees to. */
	__asm__ volatile("" : "+r"(place));
	return stack->words[place & (MATMUL_STACK_ARGUMENTS - 1)];
}

static __always_inline u64 matmul_size(const struct pt_regs *registers,
				       const struct matmul_stack *stack, u32 number, bool is_wide)
{
	u64 value = number ? matmul_argument(registers, stack, number) : 1;
	s64 size = is_wide ? (s64)value : (s32)value;

	return size > 0 ? size : 0;
}

static __always_inline u8 matmul_type(const struct pt_regs *registers,
				      const struct matmul_stack *stack,
				      const struct matmul_arguments *row, u32 operand)
{
	u32 number = row->type_at[operand], value;

	if (!number)
		return row->type[operand];
	value = matmul_argument(registers, stack, number);
	return value < VALUE_data_type_f4_e2m1 ? value + 1 : 0;
}

static __always_inline void matmul_send(const struct pt_regs *registers, u32 probe, u64 sp, u64 ts)
{
	const struct matmul_arguments *row = bpf_map_lookup_elem(&matmuls, &probe);
	struct task_struct *task = bpf_get_current_task_btf();
	struct record_matmul record = {};
	struct matmul_stack stack = {};
	u64 m, k;

	/* A stack that can't be read is none that the function could go on with. */
	if (!row || !matmul_read_stack(row, sp, &stack))
		return;
	fill_header(&record.header, sizeof(record), KIND_matmul, ts, 0,
		    (u64)task->tgid << 32 | (u32)task->pid, probe);
	record.probe = probe;
	m = matmul_size(registers, &stack, row->m, row->is_wide);
	k = matmul_size(registers, &stack, row->k, row->is_wide);
	record.m = m;
	record.k = k;
	if (row->transposed && (u32)matmul_argument(registers, &stack, row->transposed)) {
		record.m = k;
		record.k = m;
	}
	record.n = matmul_size(registers, &stack, row->n, row->is_wide);
	record.batch = matmul_size(registers, &stack, row->batch, row->is_wide);
	record.type_a = matmul_type(registers, &stack, row, 0);
	record.type_b = matmul_type(registers, &stack, row, 1);
	record.type_c = matmul_type(registers, &stack, row, 2);
	emit(&record.header, sizeof(record));
}

/* Is it one of the map matmuls? */
static __always_inline bool is_matmul(u64 cookie)
{
	return reads_matmuls && cookie & COOKIE_MATMUL;
}

/* At the entry of a function of the map matmuls; sp: at its first instruction; ts: of the call's record, or the entry's. */
static __noinline int matmul_emit(const struct pt_regs *registers, u32 probe, u64 sp, u64 ts)
{
	u64 begin_ns = price_begin(PRICE_MATMUL);

	price_count(PRICE_MATMUL);
	matmul_send(registers, probe, sp, ts);
	price_end(PRICE_MATMUL, begin_ns);
	return 0;
}

#endif
