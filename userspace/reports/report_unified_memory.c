/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reports um_sum, um_total_sum and um_cpu_page_faults_sum: unified memory that moved and at which programs faulted, by its
 * address, in all, and by the instruction of the CPU. Pages that moved from GPU to GPU stand in none of them, as in nsys.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "reports/report_table.h"

#define MEGABYTE     1e6
#define ROWS_DEFAULT 10 /* of um_sum */

#define NO_INSTRUCTION "[Unknown]" /* as databases have it */

/* What is summed of one kind. */
struct amount {
	u64 sum;
	u64 count;	     /* of records */
	u64 lowest, highest; /* addresses */
};

struct place {
	u64 address;
	struct amount to_device, to_host, cpu_faults, gpu_faults;
	u64 moved_ns;
};

struct instruction {
	const char *name;
	u64 faults;
};

struct run {
	const struct view *view;
	struct map numbers; /* address -> place */
	struct place *places;
	size_t count, capacity;
	struct place all;
	struct string_table names;
	struct instruction *instructions; /* by number of the name */
	size_t instruction_count, instruction_capacity;
};

static void add_to(struct amount *amount, u64 sum, u64 address)
{
	if (__builtin_add_overflow(amount->sum, sum, &amount->sum))
		amount->sum = UINT64_MAX;
	if (!amount->count || address < amount->lowest)
		amount->lowest = address;
	if (address > amount->highest)
		amount->highest = address;
	amount->count++;
}

static void add_record(struct place *place, const struct view_event *event)
{
	const struct record_migration *record = (const struct record_migration *)event->record;
	bool is_known = record->value != ~0ULL;

	switch (record->type) {
	case VALUE_migration_type_host_to_device:
		add_to(&place->to_device, is_known ? record->value : 0, record->address);
		place->moved_ns += event->dur;
		break;
	case VALUE_migration_type_device_to_host:
		add_to(&place->to_host, is_known ? record->value : 0, record->address);
		place->moved_ns += event->dur;
		break;
	case VALUE_migration_type_cpu_faults:
		add_to(&place->cpu_faults, is_known ? record->value : 1, record->address);
		break;
	case VALUE_migration_type_gpu_fault:
		add_to(&place->gpu_faults, is_known ? record->value : 1, record->address);
		break;
	}
}

static bool is_summed(u8 type)
{
	return type == VALUE_migration_type_host_to_device ||
	       type == VALUE_migration_type_device_to_host ||
	       type == VALUE_migration_type_cpu_faults || type == VALUE_migration_type_gpu_fault;
}

static struct place *find_place(struct run *run, u64 address)
{
	u64 *there = map_find(&run->numbers, address, 0);

	if (there)
		return &run->places[*there];
	if (array_reserve(&run->places, &run->capacity, run->count + 1) < 0 ||
	    map_set(&run->numbers, address, 0, run->count) < 0)
		return NULL;
	run->places[run->count] = (struct place){.address = address};
	return &run->places[run->count++];
}

static struct instruction *find_instruction(struct run *run, const struct text *name)
{
	s64 number = name->failed ? -ENOMEM
				  : string_table_add(&run->names, text_string(name), name->length);

	if (number < 0 ||
	    array_reserve(&run->instructions, &run->instruction_capacity, number + 1) < 0)
		return NULL;
	if ((size_t)number == run->instruction_count)
		run->instructions[run->instruction_count++] =
			(struct instruction){.name = run->names.strings[number]};
	return &run->instructions[number];
}

/* Of a fault of the CPU. */
static int add_instruction(struct run *run, const struct view_event *event)
{
	const struct record_migration *record = (const struct record_migration *)event->record;
	struct text name _cleanup_text_ = {0};
	struct instruction *instruction;
	const struct view_frame *frames;
	const char *cut;

	if (view_frames(run->view, record->header.pid, record->header.stack, &frames, &cut))
		view_frame_append_name(&frames[0], &name);
	else
		text_append(&name, NO_INSTRUCTION);
	instruction = find_instruction(run, &name);
	if (!instruction)
		return -ENOMEM;
	instruction->faults += record->value != ~0ULL ? record->value : 1;
	return 0;
}

static int run_span(void *data, const struct view_event *event, struct err *err)
{
	const struct record_migration *record = (const struct record_migration *)event->record;
	struct run *run = data;
	struct place *place;

	if (event->kind->number != KIND_migration || !is_summed(record->type))
		return 0;
	place = find_place(run, record->address);
	if (!place ||
	    (record->type == VALUE_migration_type_cpu_faults && add_instruction(run, event) < 0))
		return err_errno(err, -ENOMEM, "can't make a report of unified memory");
	add_record(place, event);
	add_record(&run->all, event);
	return 0;
}

/* ---- cells ---- */

static void fill_megabytes(struct report_cell *cell, const struct amount *amount)
{
	if (amount->count)
		report_cell_decimal(cell, amount->sum / MEGABYTE);
}

static void fill_count(struct report_cell *cell, const struct amount *amount)
{
	if (amount->count)
		report_cell_count(cell, amount->sum);
}

static int fill_address(struct report_cell *cell, u64 address)
{
	struct text text _cleanup_text_ = {0};

	text_appendf(&text, "0x%llX", (unsigned long long)address);
	return text.failed ? -ENOMEM : report_cell_text(cell, text_string(&text));
}

/* ---- um_sum ---- */

/* clang-format off */
static const struct report_column place_columns[] = {
	{"Virtual Address",             REPORT_TEXT,    0},
	{"HtoD Migration size (MB)",    REPORT_DECIMAL, 3},
	{"DtoH Migration size (MB)",    REPORT_DECIMAL, 3},
	{"CPU Page Faults",             REPORT_COUNT,   0},
	{" GPU Page Faults",            REPORT_COUNT,   0}, /* nsys has the blank too */
	{"Migration Throughput (MBps)", REPORT_DECIMAL, 3},
};
/* clang-format on */

/* Megabytes a second; less than 0: nothing moved, or in no time. */
static double throughput(const struct place *place)
{
	double bytes = (double)place->to_device.sum + place->to_host.sum;

	return place->moved_ns ? bytes * 1e3 / place->moved_ns : -1;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;
	double left_rate = throughput(left), right_rate = throughput(right);

	if (left_rate != right_rate)
		return left_rate < right_rate ? 1 : -1;
	return left->address < right->address ? -1 : left->address > right->address;
}

static int fill_places(struct run *run, u64 most, struct report_table *table)
{
	if (run->count)
		qsort(run->places, run->count, sizeof(*run->places), compare_places);
	for (size_t i = 0; i < run->count && i < (most ? most : ROWS_DEFAULT); i++) {
		const struct place *place = &run->places[i];
		struct report_row *row = report_table_add(table);

		if (!row || fill_address(&row->cells[0], place->address) < 0)
			return -ENOMEM;
		fill_megabytes(&row->cells[1], &place->to_device);
		fill_megabytes(&row->cells[2], &place->to_host);
		fill_count(&row->cells[3], &place->cpu_faults);
		fill_count(&row->cells[4], &place->gpu_faults);
		if (throughput(place) >= 0)
			report_cell_decimal(&row->cells[5], throughput(place));
	}
	return 0;
}

/* ---- um_total_sum ---- */

/* clang-format off */
static const struct report_column total_columns[] = {
	{"Total HtoD Migration Size (MB)", REPORT_DECIMAL, 3},
	{"Total DtoH Migration Size (MB)", REPORT_DECIMAL, 3},
	{"Total CPU Page Faults",          REPORT_COUNT,   0},
	{"Total GPU PageFaults",           REPORT_COUNT,   0},
	{"Minimum Virtual Address",        REPORT_TEXT,    0},
	{"Maximum Virtual Address",        REPORT_TEXT,    0},
};
/* clang-format on */

/* As in nsys they are not known unless there is some of everything. */
static int fill_range(const struct place *all, struct report_cell *cells)
{
	const struct amount *amounts[] = {&all->to_device, &all->to_host, &all->cpu_faults,
					  &all->gpu_faults};
	u64 lowest = UINT64_MAX, highest = 0;

	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
		if (!amounts[i]->count)
			return 0;
		lowest = amounts[i]->lowest < lowest ? amounts[i]->lowest : lowest;
		highest = amounts[i]->highest > highest ? amounts[i]->highest : highest;
	}
	return fill_address(&cells[0], lowest) < 0 || fill_address(&cells[1], highest) < 0 ? -ENOMEM
											   : 0;
}

static int fill_total(struct run *run, u64 most, struct report_table *table)
{
	struct report_row *row = run->count ? report_table_add(table) : NULL;

	if (!row)
		return run->count ? -ENOMEM : 0;
	fill_megabytes(&row->cells[0], &run->all.to_device);
	fill_megabytes(&row->cells[1], &run->all.to_host);
	report_cell_count(&row->cells[2], run->all.cpu_faults.sum);
	fill_count(&row->cells[3], &run->all.gpu_faults);
	return fill_range(&run->all, &row->cells[4]);
}

/* ---- um_cpu_page_faults_sum ---- */

static const struct report_column instruction_columns[] = {
	{"CPU Page Faults", REPORT_COUNT, 0},
	{"CPU Instruction Address", REPORT_NAME, 0},
};

static int compare_instructions(const void *a, const void *b)
{
	const struct instruction *left = a, *right = b;

	if (left->faults != right->faults)
		return left->faults < right->faults ? 1 : -1;
	return strcmp(left->name, right->name);
}

static int fill_instructions(struct run *run, u64 most, struct report_table *table)
{
	if (run->instruction_count)
		qsort(run->instructions, run->instruction_count, sizeof(*run->instructions),
		      compare_instructions);
	for (size_t i = 0; i < run->instruction_count; i++) {
		struct report_row *row = report_table_add(table);

		if (!row || report_cell_text(&row->cells[1], run->instructions[i].name) < 0)
			return -ENOMEM;
		report_cell_count(&row->cells[0], run->instructions[i].faults);
	}
	return 0;
}

/* ---- the reports ---- */

static const struct memory_report {
	const char *name, *title;
	int (*fill)(struct run *run, u64 most, struct report_table *table);
	const struct report_column *columns;
	size_t column_count;
} memory_reports[] = {
	{"um_sum", "Unified Memory Analysis Summary", fill_places, place_columns,
	 ARRAY_SIZE(place_columns)},
	{"um_total_sum", "Unified Memory Totals Summary", fill_total, total_columns,
	 ARRAY_SIZE(total_columns)},
	{"um_cpu_page_faults_sum", "Unified Memory CPU Page Faults Summary", fill_instructions,
	 instruction_columns, ARRAY_SIZE(instruction_columns)},
};

static const struct memory_report *find_report(const char *name)
{
	const struct memory_report *report = memory_reports;

	while (strcmp(report->name, name) != 0)
		report++;
	return report;
}

int report_unified_memory_make(struct view *view, const struct report_request *request,
			       struct report_table *table, struct err *err)
{
	const struct memory_report *report = find_report(request->report->name);
	const struct view_sink sink = {.span = run_span};
	struct run run = {.view = view};
	int result = view_run(view, &sink, &run, err);

	table->title = report->title;
	table->columns = report->columns;
	table->column_count = report->column_count;
	if (result == 0 && report->fill(&run, request->rows, table) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report %s", report->name);
	map_free(&run.numbers);
	string_table_free(&run.names);
	free(run.places);
	free(run.instructions);
	return result;
}
