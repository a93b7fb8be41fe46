/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/xplane/xplane_hlo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

#define METADATA_PLANE	  "/host:metadata"
#define METADATA_PLANE_ID 600
#define PROGRAM_STAT	  "Hlo Proto"
#define COSTS_MAX	  (4 * XPLANE_HLO_INSTRUCTIONS_MAX)
#define OTHER_WORK	  "other work"
#define NOTHING_KNOWN	  0 /* in costs */

/* What else tells one instruction from another: the same ones have the same address. */
struct label {
	const char *operation, *source; /* NULL: not known */
};

struct instruction {
	u32 kernel, cost;
	const struct label *label;
	bool is_plain; /* the only one whose name has no number */
};

struct kernel {
	u32 first; /* instruction */
	u32 count;
};

struct xplane_hlo_program {
	struct string_table names; /* of kernels, in full */
	struct kernel *kernels;	   /* as in names */
	struct instruction *instructions;
	size_t kernel_capacity, instruction_count, instruction_capacity;
	struct map numbers; /* (kernel and cost, label) -> instruction */
	struct string_table plain_names;
	bool is_folded; /* some work shares an instruction */
};

/* ---- costs ---- */

/* What XProf takes for the bytes of the GPU's own memory that are read and written. */
static const struct {
	u16 kind;
	u8 direction;
	u32 form;
} forms[] = {
	{KIND_copy, VALUE_copy_direction_host_to_device, XPLANE_HLO_INFEED},
	{KIND_copy, VALUE_copy_direction_host_to_array, XPLANE_HLO_INFEED},
	{KIND_copy, VALUE_copy_direction_device_to_host, XPLANE_HLO_OUTFEED},
	{KIND_copy, VALUE_copy_direction_array_to_host, XPLANE_HLO_OUTFEED},
	{KIND_copy, VALUE_copy_direction_device_to_device, XPLANE_HLO_COPY},
	{KIND_copy, VALUE_copy_direction_array_to_array, XPLANE_HLO_COPY},
	{KIND_copy, VALUE_copy_direction_array_to_device, XPLANE_HLO_COPY},
	{KIND_copy, VALUE_copy_direction_device_to_array, XPLANE_HLO_COPY},
	/* Or, where it goes to the GPU itself, an infeed. */
	{KIND_copy, VALUE_copy_direction_peer_to_peer, XPLANE_HLO_OUTFEED},
	{KIND_set, 0, XPLANE_HLO_FILL},
};

static struct xplane_hlo_cost cost_of_bytes(const struct view_event *event)
{
	const struct record_copy *copy = (const struct record_copy *)event->record;
	const struct record_set *set = (const struct record_set *)event->record;
	bool is_copy = event->kind->number == KIND_copy;
	u64 bytes = is_copy ? copy->bytes : set->bytes;
	struct xplane_hlo_cost cost = {0};

	if (!bytes || bytes > XPLANE_HLO_BYTES_MAX)
		return cost;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (forms[i].kind == event->kind->number &&
		    (!is_copy || forms[i].direction == copy->direction)) {
			cost.form = forms[i].form;
			cost.bytes = bytes;
		}
	if (is_copy && copy->direction == VALUE_copy_direction_peer_to_peer &&
	    copy->destination_device == copy->device)
		cost.form = XPLANE_HLO_INFEED;
	return cost;
}

/* Of real numbers: of others XProf would count too few operations. */
static u32 type_of(u8 data_type)
{
	static const struct {
		u8 data_type;
		u32 type;
	} types[] = {
		{VALUE_data_type_f16, XPLANE_HLO_F16},
		{VALUE_data_type_bf16, XPLANE_HLO_BF16},
		{VALUE_data_type_f32, XPLANE_HLO_F32},
		{VALUE_data_type_f64, XPLANE_HLO_F64},
		{VALUE_data_type_f8_e4m3, XPLANE_HLO_F8E4M3},
		{VALUE_data_type_f8_e5m2, XPLANE_HLO_F8E5M2},
		{VALUE_data_type_i8, XPLANE_HLO_S8},
		{VALUE_data_type_u8, XPLANE_HLO_U8},
		{VALUE_data_type_i32, XPLANE_HLO_S32},
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i].data_type == data_type)
			return types[i].type;
	return 0;
}

static struct xplane_hlo_cost cost_of_matmul(const struct view_matmul *matmul)
{
	struct xplane_hlo_cost cost = {
		.form = XPLANE_HLO_MATMUL,
		.left_type = type_of(matmul->type_a),
		.right_type = type_of(matmul->type_b),
		.result_type = type_of(matmul->type_c),
		.m = matmul->m,
		.n = matmul->n,
		.k = matmul->k,
		.batch = matmul->batch,
	};

	if (cost.left_type && cost.right_type && cost.result_type)
		return cost;
	return (struct xplane_hlo_cost){.form = XPLANE_HLO_COUNTED,
					.flops = view_matmul_flops(matmul)};
}

static struct xplane_hlo_cost cost_of(const struct view_event *event)
{
	if (event->kind->number == KIND_copy || event->kind->number == KIND_set)
		return cost_of_bytes(event);
	if (event->kind->number == KIND_kernel && event->cause && event->cause->matmul)
		return cost_of_matmul(event->cause->matmul);
	return (struct xplane_hlo_cost){0};
}

/* Its number in costs; COSTS_MAX: there are too many. */
static s64 cost_number(struct xplane_hlo *hlo, const struct xplane_hlo_cost *cost)
{
	s64 number;

	if (cost->form == XPLANE_HLO_OPAQUE)
		return NOTHING_KNOWN;
	number = string_table_find(&hlo->costs, (const char *)cost, sizeof(*cost));
	if (number >= 0)
		return number;
	return hlo->costs.count < COSTS_MAX
		       ? string_table_add(&hlo->costs, (const char *)cost, sizeof(*cost))
		       : COSTS_MAX;
}

/* ---- instructions ---- */

/* "gemm", "gemm.7": a name as such has no dot. */
static void append_instruction_name(const struct xplane_hlo_program *program, u32 number,
				    struct text *text)
{
	const struct instruction *instruction = &program->instructions[number];

	xplane_hlo_append_name(text, program->names.strings[instruction->kernel]);
	if (!instruction->is_plain)
		text_appendf(text, ".%u", number);
}

static int add_instruction(struct xplane_hlo_program *program, const char *kernel_name, s64 cost,
			   const struct label *label, u32 *ret_number)
{
	size_t kernel_count = program->names.count, plain_count = program->plain_names.count;
	size_t number = program->instruction_count;
	s64 kernel = string_table_add(&program->names, kernel_name, strlen(kernel_name));
	struct text plain _cleanup_text_ = {0};

	xplane_hlo_append_name(&plain, kernel_name);
	if (kernel < 0 || plain.failed ||
	    string_table_add(&program->plain_names, plain.data, plain.length) < 0 ||
	    array_reserve(&program->kernels, &program->kernel_capacity, kernel + 1) < 0 ||
	    array_reserve(&program->instructions, &program->instruction_capacity, number + 1) < 0 ||
	    map_set(&program->numbers, (u64)kernel << 32 | (u32)cost, (uintptr_t)label, number) < 0)
		return -ENOMEM;
	if ((size_t)kernel == kernel_count)
		program->kernels[kernel] = (struct kernel){.first = (u32)number};
	program->kernels[kernel].count++;
	program->instructions[number] = (struct instruction){
		(u32)kernel, (u32)cost, label, program->plain_names.count > plain_count};
	program->instruction_count++;
	*ret_number = (u32)number;
	return 0;
}

static bool find_instruction(const struct xplane_hlo_program *program, const char *kernel_name,
			     s64 cost, const struct label *label, u32 *ret_number)
{
	s64 kernel = string_table_find(&program->names, kernel_name, strlen(kernel_name));
	u64 *there = kernel < 0 ? NULL
				: map_find(&program->numbers, (u64)kernel << 32 | (u32)cost,
					   (uintptr_t)label);

	if (there)
		*ret_number = (u32)*there;
	return there != NULL;
}

static int find_or_add(struct xplane_hlo_program *program, const char *kernel_name, s64 cost,
		       const struct label *label, u32 *ret_number)
{
	if (cost < COSTS_MAX && find_instruction(program, kernel_name, cost, label, ret_number))
		return 0;
	if (cost < COSTS_MAX && program->instruction_count < XPLANE_HLO_INSTRUCTIONS_MAX)
		return add_instruction(program, kernel_name, (u32)cost, label, ret_number);
	program->is_folded = true;
	if (find_instruction(program, OTHER_WORK, NOTHING_KNOWN, label, ret_number))
		return 0;
	if (program->instruction_count < 2 * XPLANE_HLO_INSTRUCTIONS_MAX)
		return add_instruction(program, OTHER_WORK, NOTHING_KNOWN, label, ret_number);
	if (find_instruction(program, OTHER_WORK, NOTHING_KNOWN, NULL, ret_number))
		return 0;
	return add_instruction(program, OTHER_WORK, NOTHING_KNOWN, NULL, ret_number);
}

/* ---- events ---- */

int xplane_hlo_open(struct xplane_hlo *hlo, struct xplane_rows *rows, struct err *err)
{
	static const struct xplane_hlo_cost nothing;

	hlo->rows = rows;
	hlo->programs = calloc(rows->space_count + 1, sizeof(*hlo->programs));
	hlo->spaces = calloc(rows->plane_count + 1, sizeof(*hlo->spaces));
	hlo->found = calloc(rows->plane_count + 1, sizeof(*hlo->found));
	if (!hlo->programs || !hlo->spaces || !hlo->found ||
	    string_table_add(&hlo->costs, (const char *)&nothing, sizeof(nothing)) < 0)
		return err_errno(err, -ENOMEM, "can't sum up what runs on GPUs");
	for (size_t i = 0; i < rows->space_count; i++)
		for (size_t j = 0; j < rows->spaces[i].plane_count; j++)
			hlo->spaces[rows->spaces[i].first_plane + j] = i;
	return 0;
}

static s64 program_id(const struct xplane_space *space)
{
	return space->pid ? space->pid : 1;
}

/* NULL: no memory. */
static const struct label *label_of(struct xplane_hlo *hlo, const char *operation,
				    const char *source)
{
	struct label label = {operation, NULL};
	s64 number = source ? string_table_add(&hlo->sources, source, strlen(source)) : 0;

	if (number < 0)
		return NULL;
	if (source)
		label.source = hlo->sources.strings[number];
	number = string_table_add(&hlo->labels, (const char *)&label, sizeof(label));
	return number < 0 ? NULL : (const struct label *)hlo->labels.strings[number];
}

/* The id of the instruction's name among the plane's strings, 0 without memory. */
static s64 find_name(struct xplane_hlo *hlo, size_t plane_number, const char *kernel_name, s64 cost,
		     const struct label *label)
{
	struct xplane_hlo_program *program = &hlo->programs[hlo->spaces[plane_number]];
	struct text name _cleanup_text_ = {0};
	u32 number;

	if (find_or_add(program, kernel_name, cost, label, &number) < 0)
		return 0;
	append_instruction_name(program, number, &name);
	return name.failed ? 0 : xplane_plane_stat(&hlo->rows->planes[plane_number], name.data);
}

/* The id of the name of the event's instruction among the plane's strings, 0 without memory. */
static s64 name_of(struct xplane_hlo *hlo, size_t plane_number, u64 name_id,
		   const struct xplane_hlo_cost *cost, const struct label *label)
{
	struct map *found = &hlo->found[plane_number];
	s64 number = cost_number(hlo, cost), name;
	u64 key = name_id << 32 | (u64)number;
	u64 *there = number < 0 ? NULL : map_find(found, key, (uintptr_t)label);

	if (there)
		return (s64)*there;
	if (number < 0)
		return 0;
	name = find_name(hlo, plane_number,
			 hlo->rows->planes[plane_number].event_names.strings[name_id - 1], number,
			 label);
	if (name && found->count < 2 * XPLANE_HLO_INSTRUCTIONS_MAX &&
	    map_set(found, key, (uintptr_t)label, (u64)name) < 0)
		return 0;
	return name;
}

int xplane_hlo_add(struct xplane_hlo *hlo, const struct view_event *event, size_t plane_number,
		   const char *operation, const char *source, struct xplane_event *ret_event)
{
	struct xplane_plane *plane = &hlo->rows->planes[plane_number];
	const struct label *label = label_of(hlo, operation, source);
	struct xplane_hlo_cost cost = cost_of(event);
	s64 id = program_id(&hlo->rows->spaces[hlo->spaces[plane_number]]);
	s64 name = label ? name_of(hlo, plane_number, (u64)ret_event->message.metadata_id, &cost,
				   label)
			 : 0;
	s64 stat_name = xplane_plane_constant(plane, "hlo_op");
	xplane_stat *stat = xplane_event_stat(ret_event, stat_name);

	if (!name || !stat_name)
		return -ENOMEM;
	if (stat) {
		stat->value_case = TENSORFLOW__PROFILER__XSTAT__VALUE_REF_VALUE;
		stat->ref_value = (u64)name;
	}
	if (!xplane_event_add_s64(ret_event, plane, "program_id", id) ||
	    (cost.form == XPLANE_HLO_COUNTED &&
	     !xplane_event_add_s64(ret_event, plane, "flops", (s64)cost.flops)))
		return -ENOMEM;
	return 0;
}

/* ---- programs ---- */

static int make_module(const struct xplane_hlo *hlo, const struct xplane_hlo_program *program,
		       struct xplane_hlo_module *ret_module)
{
	int result = 0;

	for (size_t i = 0; i < program->instruction_count && result == 0; i++) {
		const struct instruction *instruction = &program->instructions[i];
		const struct kernel *kernel = &program->kernels[instruction->kernel];
		struct text name _cleanup_text_ = {0}, first _cleanup_text_ = {0};
		struct xplane_hlo_instruction one = {
			.target = program->names.strings[instruction->kernel],
			.operation = instruction->label ? instruction->label->operation : NULL,
			.source = instruction->label ? instruction->label->source : NULL,
		};
		s64 id;

		memcpy(&one.cost, hlo->costs.strings[instruction->cost], sizeof(one.cost));
		append_instruction_name(program, (u32)i, &name);
		append_instruction_name(program, kernel->first, &first);
		if (name.failed || first.failed)
			return -ENOMEM;
		one.name = name.data;
		one.same_as = kernel->count > 1 ? first.data : NULL;
		result = xplane_hlo_module_add(ret_module, &one, &id);
	}
	return result;
}

/* The space's plane for what is known beside events. */
static struct xplane_plane *metadata_plane(struct xplane_space *space)
{
	struct xplane_plane *plane = space->metadata ? NULL : calloc(1, sizeof(*plane));

	if (space->metadata)
		return space->metadata;
	if (!plane || xplane_plane_init(plane, METADATA_PLANE_ID, METADATA_PLANE) < 0) {
		free(plane);
		return NULL;
	}
	return space->metadata = plane;
}

int xplane_hlo_add_program(struct xplane_space *space, const char *name, s64 id,
			   const struct xplane_hlo_module *module, const struct text *buffers)
{
	struct text program _cleanup_text_ = {0}, module_name _cleanup_text_ = {0};
	struct xplane_plane *plane = metadata_plane(space);
	int result;

	xplane_hlo_append_name(&module_name, name);
	if (!plane || module_name.failed)
		return -ENOMEM;
	result = xplane_hlo_module_pack(module, module_name.data, id, buffers, &program);
	text_appendf(&module_name, "(%lld)", (long long)id);
	if (result == 0 && !module_name.failed)
		result =
			xplane_plane_add_bytes(plane, id, module_name.data, PROGRAM_STAT, &program);
	return module_name.failed ? -ENOMEM : result;
}

/* As XLA has it: 13000 for "13.0". Other versions of CUDA are not known. */
static int add_driver_version(const struct view *view, const struct xplane_space *space)
{
	u32 version = view_cuda_driver_version(view, space->pid);
	char number[32];

	if (!version)
		return 0;
	snprintf(number, sizeof(number), "%u", version);
	return xplane_plane_add_string(space->metadata, "cuda_driver_version", number);
}

static int close_space(const struct xplane_hlo *hlo, const struct view *view,
		       struct xplane_space *space, const struct xplane_hlo_program *program)
{
	struct xplane_hlo_module module = {0};
	int result = make_module(hlo, program, &module);

	if (result == 0 && program->instruction_count)
		result = xplane_hlo_add_program(space, space->name, program_id(space), &module,
						NULL);
	if (result == 0 && program->instruction_count)
		result = add_driver_version(view, space);
	xplane_hlo_module_free(&module);
	return result;
}

int xplane_hlo_close(struct xplane_hlo *hlo, const struct view *view, struct err *err)
{
	int result = 0;

	for (size_t i = 0; i < hlo->rows->space_count && result == 0; i++)
		result = close_space(hlo, view, &hlo->rows->spaces[i], &hlo->programs[i]);
	return result < 0 ? err_errno(err, result, "can't sum up what runs on GPUs") : 0;
}

int xplane_hlo_tell(const struct xplane_hlo *hlo, struct xplane_message_list *warnings)
{
	for (size_t i = 0; i < hlo->rows->space_count; i++)
		if (hlo->programs[i].is_folded)
			return xplane_messages_add(warnings,
						   "more than %u kinds of work on GPUs, by kernel, "
						   "operation and size: "
						   "the tables of operations show the rest as "
						   "other_work, without bytes",
						   XPLANE_HLO_INSTRUCTIONS_MAX);
	return 0;
}

void xplane_hlo_free(struct xplane_hlo *hlo)
{
	for (size_t i = 0; hlo->programs && i < hlo->rows->space_count; i++) {
		string_table_free(&hlo->programs[i].names);
		string_table_free(&hlo->programs[i].plain_names);
		free(hlo->programs[i].kernels);
		free(hlo->programs[i].instructions);
		map_free(&hlo->programs[i].numbers);
	}
	for (size_t i = 0; hlo->found && i < hlo->rows->plane_count; i++)
		map_free(&hlo->found[i]);
	string_table_free(&hlo->costs);
	string_table_free(&hlo->labels);
	string_table_free(&hlo->sources);
	free(hlo->programs);
	free(hlo->spaces);
	free(hlo->found);
	*hlo = (struct xplane_hlo){0};
}
