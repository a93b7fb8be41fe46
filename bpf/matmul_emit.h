/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sizes of products of matrices, from the arguments of the library's function that is called for them, or the objects that
 * these point to: a record behind that of the call, with its time. What is no size (negative) or no type is left out of it; what can be believed is for the
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

/* CUDA's number of a type in ours; 0: it is none. */
static __always_inline u8 matmul_type_number(u32 value)
{
	return value < VALUE_data_type_f4_e2m1 ? value + 1 : 0;
}

static __always_inline u8 matmul_type(const struct pt_regs *registers,
				      const struct matmul_stack *stack,
				      const struct matmul_arguments *row, u32 operand)
{
	u32 number = row->type_at[operand], value;

	if (!number)
		return row->type[operand];
	value = matmul_argument(registers, stack, number);
	return matmul_type_number(value);
}

static __always_inline void matmul_by_arguments(const struct pt_regs *registers,
						const struct matmul_stack *stack,
						const struct matmul_arguments *row,
						struct record_matmul *record)
{
	u64 m = matmul_size(registers, stack, row->m, row->is_wide);
	u64 k = matmul_size(registers, stack, row->k, row->is_wide);
	bool is_transposed =
		row->transposed && (u32)matmul_argument(registers, stack, row->transposed);

	record->m = is_transposed ? k : m;
	record->k = is_transposed ? m : k;
	record->n = matmul_size(registers, stack, row->n, row->is_wide);
	record->batch = matmul_size(registers, stack, row->batch, row->is_wide);
	record->type_a = matmul_type(registers, stack, row, 0);
	record->type_b = matmul_type(registers, stack, row, 1);
	record->type_c = matmul_type(registers, stack, row, 2);
}

static __always_inline bool matmul_read_layout(const struct pt_regs *registers,
					       const struct matmul_stack *stack, u32 number,
					       s32 transform, struct cublaslt_layout *layout)
{
	const void *address = (const void *)matmul_argument(registers, stack, number);
	u64 rows;

	if (bpf_probe_read_user(layout, sizeof(*layout), address) || (s64)layout->rows <= 0 ||
	    (s64)layout->columns <= 0 || layout->batch <= 0 ||
	    layout->batch_mode >= CUBLASLT_BATCH_MODE_GROUPED ||
	    (u32)transform > CUBLASLT_TRANSFORM_CONJUGATE)
		return false;
	if (transform == CUBLASLT_TRANSFORM_TRANSPOSE ||
	    transform == CUBLASLT_TRANSFORM_CONJUGATE_TRANSPOSE) {
		rows = layout->rows;
		layout->rows = layout->columns;
		layout->columns = rows;
	}
	return true;
}

/*
 * D [m, n] = A [m, k] B [k, n] + C: each size stands twice. Where the two differ, or are none, these are no objects as they
 * are known, and nothing of them is believed.
 */
static __always_inline void matmul_by_objects(const struct pt_regs *registers,
					      const struct matmul_stack *stack,
					      const struct matmul_arguments *row,
					      struct record_matmul *record)
{
	const void *address = (const void *)matmul_argument(registers, stack, row->operation);
	struct cublaslt_operation operation;
	struct cublaslt_layout layout;
	u64 m, n, k, batch;
	u8 type_a, type_b;

	if (bpf_probe_read_user(&operation, sizeof(operation), address) ||
	    !matmul_read_layout(registers, stack, row->layout_a, operation.transform_a, &layout))
		return;
	m = layout.rows;
	k = layout.columns;
	batch = (u32)layout.batch;
	type_a = matmul_type_number((u32)layout.type);
	if (!matmul_read_layout(registers, stack, row->layout_b, operation.transform_b, &layout) ||
	    layout.rows != k || (u32)layout.batch != batch)
		return;
	n = layout.columns;
	type_b = matmul_type_number((u32)layout.type);
	if (!matmul_read_layout(registers, stack, row->layout_d, CUBLASLT_TRANSFORM_NONE,
				&layout) ||
	    layout.rows != m || layout.columns != n || (u32)layout.batch != batch)
		return;
	record->m = m;
	record->n = n;
	record->k = k;
	record->batch = batch;
	record->type_a = type_a;
	record->type_b = type_b;
	record->type_c = matmul_type_number((u32)layout.type);
}

static __always_inline void matmul_send(const struct pt_regs *registers, u32 probe, u64 sp, u64 ts)
{
	const struct matmul_arguments *row = bpf_map_lookup_elem(&matmuls, &probe);
	struct task_struct *task = bpf_get_current_task_btf();
	struct record_matmul record = {};
	struct matmul_stack stack = {};

	/* A stack that can't be read is none that the function could go on with. */
	if (!row || !matmul_read_stack(row, sp, &stack))
		return;
	fill_header(&record.header, sizeof(record), KIND_matmul, ts, 0,
		    (u64)task->tgid << 32 | (u32)task->pid, probe);
	record.probe = probe;
	if (row->operation)
		matmul_by_objects(registers, &stack, row, &record);
	else
		matmul_by_arguments(registers, &stack, row, &record);
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
