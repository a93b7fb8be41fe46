/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sizes of products of matrices, from the arguments of a library's call to the kernel that does them. The record of a
 * call's arguments has the time and the probe of the call, and comes right behind it; what the thread launches up to the
 * call's end was launched for it. A call of which only the entry was seen has the first kernel that multiplies, by its name,
 * of those that the thread launches until the next call of a probed function.
 *
 * Calls wait for their kernels in a table of fixed size: the sizes of one are forgotten when as many others began since.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/view_parts.h"

#define MATMUL_CALLS_MAX (1U << 16)

/* More is a misread argument: there is no address space of a GPU for such a matrix, or it would take hours. */
#define MATRIX_ELEMENTS_MAX (1ULL << 48)
#define MULTIPLICATIONS_MAX (1ULL << 60)

struct matmul_row {
	u64 call_ts, call_end; /* of the last call of a probed function */
	u32 call_probe;	       /* 0: there was none */
	bool call_is_entry;    /* its end was not seen */
	u64 number,
		end; /* of the outermost one with known sizes that is open, or the last one; 0: none */
};

struct matmul_call {
	u64 number;
	bool is_taken, is_entry;
	struct view_matmul matmul;
	struct view_cause cause; /* of the kernel that took it */
};

void view_matmuls_init(struct view_matmuls *matmuls, const struct view *view, bool survey)
{
	*matmuls = (struct view_matmuls){.wanted = survey || view_kind_count(view, KIND_matmul)};
}

void view_matmuls_free(struct view_matmuls *matmuls)
{
	free(matmuls->rows);
	free(matmuls->calls);
}

/* False: more than max. None is 0. */
static bool product_is_within(u64 a, u64 b, u64 c, u64 max)
{
	return a <= max && b <= max / a && c <= max / a / b;
}

static bool is_known(const struct record_matmul *record)
{
	u64 m = record->m, n = record->n, k = record->k, batch = record->batch;

	return m && n && k && batch && product_is_within(m, k, 1, MATRIX_ELEMENTS_MAX) &&
	       product_is_within(k, n, 1, MATRIX_ELEMENTS_MAX) &&
	       product_is_within(m, n, batch, MATRIX_ELEMENTS_MAX) &&
	       k <= MULTIPLICATIONS_MAX / (m * n * batch);
}

static int open_call(struct view_matmuls *matmuls, struct matmul_row *row,
		     const struct record_matmul *record)
{
	u64 number = matmuls->call_count + 1;

	if (!matmuls->calls)
		matmuls->calls = calloc(MATMUL_CALLS_MAX, sizeof(*matmuls->calls));
	if (!matmuls->calls)
		return -ENOMEM;
	matmuls->call_count = row->number = number;
	row->end = row->call_end;
	matmuls->calls[number % MATMUL_CALLS_MAX] = (struct matmul_call){
		.number = number,
		.is_entry = row->call_is_entry,
		.matmul = {.m = record->m,
			   .n = record->n,
			   .k = record->k,
			   .batch = record->batch,
			   .type_a = record->type_a,
			   .type_b = record->type_b,
			   .type_c = record->type_c},
	};
	return 0;
}

static int note_arguments(struct view_matmuls *matmuls, struct matmul_row *row,
			  const struct record_matmul *record)
{
	bool is_of_call = row->call_probe && row->call_probe == record->probe &&
			  row->call_ts == record->header.ts;
	bool is_inner = row->number && row->end > record->header.ts;

	return is_of_call && !is_inner && is_known(record) ? open_call(matmuls, row, record) : 0;
}

int view_matmuls_add(struct view_matmuls *matmuls, const struct view_event *event)
{
	u16 kind = event->kind->number;
	struct matmul_row *row;

	if (!matmuls->wanted || (kind != KIND_call && kind != KIND_entry && kind != KIND_matmul))
		return 0;
	if (array_reserve(&matmuls->rows, &matmuls->row_capacity, event->row_index + 1) < 0)
		return -ENOMEM;
	while (matmuls->row_count <= event->row_index)
		matmuls->rows[matmuls->row_count++] = (struct matmul_row){0};
	row = &matmuls->rows[event->row_index];
	if (kind == KIND_matmul)
		return note_arguments(matmuls, row, (const struct record_matmul *)event->record);
	/* Of an entry the end is the next one. */
	if (row->call_is_entry && row->end == ~0ULL)
		row->end = event->ts;
	row->call_ts = event->ts;
	row->call_is_entry = kind == KIND_entry;
	row->call_end = row->call_is_entry ? ~0ULL : event->end;
	row->call_probe = row->call_is_entry ? ((const struct record_entry *)event->record)->probe
					     : ((const struct record_call *)event->record)->probe;
	return 0;
}

u64 view_matmuls_launched_in(const struct view_matmuls *matmuls, const struct view_event *launch)
{
	const struct matmul_row *row;

	if (launch->row_index >= matmuls->row_count)
		return 0;
	row = &matmuls->rows[launch->row_index];
	return launch->ts < row->end ? row->number : 0;
}

const struct view_cause *view_matmuls_take(struct view_matmuls *matmuls, u64 number,
					   const struct view_event *kernel,
					   const struct view_cause *cause)
{
	struct matmul_call *call = &matmuls->calls[number % MATMUL_CALLS_MAX];

	if (call->number != number || call->is_taken ||
	    (call->is_entry && matrix_kernel_work(kernel->name) != MATRIX_WORK_PRODUCT))
		return cause;
	call->is_taken = true;
	call->cause = *cause;
	call->cause.matmul = &call->matmul;
	return &call->cause;
}

bool view_matmuls_end_seen(const struct view_matmuls *matmuls, u64 number)
{
	const struct matmul_call *call = &matmuls->calls[number % MATMUL_CALLS_MAX];

	return call->number != number || !call->is_entry;
}

static bool is_complex(u8 type)
{
	const struct schema_enum_value *value = schema_enum("data_type", type);

	return value && !strncmp(value->tag, "complex_", strlen("complex_"));
}

u64 view_matmul_flops(const struct view_matmul *matmul)
{
	u64 multiplications = matmul->m * matmul->n * matmul->k * matmul->batch;

	return multiplications * (is_complex(matmul->type_a) ? 8 : 2);
}

/* ---- as values of a kernel ---- */

static const struct view_matmul *matmul_of(const struct view_event *event)
{
	return event->cause ? event->cause->matmul : NULL;
}

struct view_value view_compute_matmul(const struct view *view, const struct view_event *event)
{
	const struct view_matmul *matmul = matmul_of(event);

	if (!matmul)
		return value_absent();
	return (struct view_value){
		.type = VALUE_ARRAY,
		.count = 4,
		.numbers = {matmul->m, matmul->n, matmul->k, matmul->batch},
	};
}

struct view_value view_compute_matmul_flops(const struct view *view, const struct view_event *event)
{
	const struct view_matmul *matmul = matmul_of(event);

	return matmul ? value_u64(view_matmul_flops(matmul)) : value_absent();
}
