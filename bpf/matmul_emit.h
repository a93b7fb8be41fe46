/*
 * The sizes of products of matrices, from the arguments of the library's function that is called for them: a record behind
 * that of the call, with its time. What is no size (negative) or no type is left out of it; what can be believed is for the
 * reader to judge.
 */
#ifndef GPUPROBE_BPF_MATMUL_EMIT_H
#define GPUPROBE_BPF_MATMUL_EMIT_H

#include "arguments.h"
#include "emit.h"
#include "price.h"

static __always_inline u64 matmul_size(const struct pt_regs *registers, u64 sp, u32 number,
				       bool is_wide)
{
	u64 value = 1;
	s64 size;

	if (number && !argument_read(registers, sp, number, &value))
		return 0;
	size = is_wide ? (s64)value : (s32)value;
	return size > 0 ? size : 0;
}

static __always_inline u8 matmul_type(const struct pt_regs *registers, u64 sp,
				      const struct matmul_arguments *row, u32 operand)
{
	u32 number = row->type_at[operand];
	u64 value = 0;

	if (!number)
		return row->type[operand];
	if (!argument_read(registers, sp, number, &value) || (u32)value >= VALUE_data_type_f4_e2m1)
		return 0;
	return (u32)value + 1;
}

static __always_inline void matmul_send(const struct pt_regs *registers, u32 probe, u64 sp, u64 ts)
{
	const struct matmul_arguments *row = bpf_map_lookup_elem(&matmuls, &probe);
	struct task_struct *task = bpf_get_current_task_btf();
	struct record_matmul record = {};
	u64 transposed = 0, m, k;

	if (!row)
		return;
	fill_header(&record.header, sizeof(record), KIND_matmul, ts, 0,
		    (u64)task->tgid << 32 | (u32)task->pid, probe);
	record.probe = probe;
	m = matmul_size(registers, sp, row->m, row->is_wide);
	k = matmul_size(registers, sp, row->k, row->is_wide);
	if (row->transposed)
		argument_read(registers, sp, row->transposed, &transposed);
	record.m = (u32)transposed ? k : m;
	record.k = (u32)transposed ? m : k;
	record.n = matmul_size(registers, sp, row->n, row->is_wide);
	record.batch = matmul_size(registers, sp, row->batch, row->is_wide);
	record.type_a = matmul_type(registers, sp, row, 0);
	record.type_b = matmul_type(registers, sp, row, 1);
	record.type_c = matmul_type(registers, sp, row, 2);
	emit(&record.header, sizeof(record));
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
