/* The report "growth": how the memory of the processes grew, by stack, what grew most first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "view/report_table.h"

/* What stands in a column: a key of the kind. */
static const struct growth_column {
	const char *key;
	struct report_column column;
} growth_columns[] = {
	{"faulted_bytes", {"Faulted (bytes)", REPORT_COUNT, 0}},
	{"faults", {"Faults", REPORT_COUNT, 0}},
	{"mapped_bytes", {"Mapped (bytes)", REPORT_COUNT, 0}},
	{"maps", {"Maps", REPORT_COUNT, 0}},
	{"unmapped_bytes", {"Unmapped (bytes)", REPORT_COUNT, 0}},
	{"unmaps", {"Unmaps", REPORT_COUNT, 0}},
	{"pid", {"PID", REPORT_NUMBER, 0}},
	{"name", {"By", REPORT_TEXT, 0}},
	{"stack", {"Stack", REPORT_NAME, 0}},
};

#define COLUMN_COUNT ARRAY_SIZE(growth_columns)

struct growth_row {
	u64 faulted_bytes, other_bytes;
	size_t order;
	u64 numbers[COLUMN_COUNT];
	const char *strings[COLUMN_COUNT]; /* the view's */
};

struct run {
	const struct view *view;
	const struct view_key *keys[COLUMN_COUNT];
	struct growth_row *rows;
	size_t count, capacity;
};

static int run_open(void *data, const struct view *view, const struct view_survey *survey,
		    struct err *err)
{
	struct run *run = data;

	run->view = view;
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		run->keys[i] = view_key(view, schema_kind(KIND_growth), growth_columns[i].key);
		if (!run->keys[i])
			return err_errno(err, -ENOMEM, "can't make the report growth");
	}
	return 0;
}

static int run_total(void *data, const struct view_event *event, struct err *err)
{
	const struct record_growth *record = (const void *)event->record;
	struct run *run = data;
	struct growth_row *row;

	if (event->kind->number != KIND_growth)
		return 0;
	if (array_reserve(&run->rows, &run->capacity, run->count + 1) < 0)
		return err_errno(err, -ENOMEM, "can't make the report growth");
	row = &run->rows[run->count];
	*row = (struct growth_row){.faulted_bytes = record->faulted_bytes,
				   .other_bytes = record->mapped_bytes + record->unmapped_bytes,
				   .order = run->count++};
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		struct view_value value = view_value(run->view, run->keys[i], event);

		if (value.type == VALUE_STRING)
			row->strings[i] = value.string;
		else if (value.type != VALUE_ABSENT)
			row->numbers[i] = value.number;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct growth_row *left = a, *right = b;

	if (left->faulted_bytes != right->faulted_bytes)
		return left->faulted_bytes < right->faulted_bytes ? 1 : -1;
	if (left->other_bytes != right->other_bytes)
		return left->other_bytes < right->other_bytes ? 1 : -1;
	return left->order < right->order ? -1 : left->order > right->order;
}

static int fill_row(const struct growth_row *row, struct report_table *table)
{
	struct report_row *shown = report_table_add(table);
	int result = shown ? 0 : -ENOMEM;

	for (size_t i = 0; i < COLUMN_COUNT && !result; i++) {
		enum report_value type = growth_columns[i].column.type;

		if (type == REPORT_COUNT || type == REPORT_NUMBER)
			report_cell_count(&shown->cells[i], row->numbers[i]);
		else
			result =
				report_cell_text(&shown->cells[i],
						 row->strings[i] ? row->strings[i] : "(not taken)");
	}
	return result;
}

static int fill_table(struct run *run, struct report_table *table)
{
	int result = 0;

	table->title = "Memory Growth Summary: system calls and page faults by stack";
	table->empty = "No growth of memory was recorded.";
	table->made_columns = calloc(COLUMN_COUNT, sizeof(*table->made_columns));
	if (!table->made_columns)
		return -ENOMEM;
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		table->made_columns[i] = growth_columns[i].column;
	table->columns = table->made_columns;
	table->column_count = COLUMN_COUNT;
	if (run->count)
		qsort(run->rows, run->count, sizeof(*run->rows), compare_rows);
	for (size_t i = 0; i < run->count && !result; i++)
		result = fill_row(&run->rows[i], table);
	return result;
}

int report_growth_make(struct view *view, const struct report *report, struct report_table *table,
		       struct err *err)
{
	const struct view_sink sink = {.open = run_open, .total = run_total};
	struct run run = {0};
	int result = view_run(view, &sink, &run, err);

	if (result == 0 && fill_table(&run, table) < 0)
		result = err_errno(err, -ENOMEM, "can't make the report %s", report->name);
	free(run.rows);
	return result;
}
