/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report "distribution": how long calls took of functions of which calls were only counted, in powers of two. */
#include <errno.h>
#include <string.h>

#include "reports/report_table.h"
#include "reports/statistics.h"

#define MEMORY_BYTES (1 << 20)
#define BAR_COLUMNS  30

enum column {
	COLUMN_FROM,
	COLUMN_BELOW,
	COLUMN_CALLS,
	COLUMN_SHARE,
	COLUMN_BAR,
	COLUMN_NAME,
	COLUMN_COUNT,
};

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_FROM] = {"From (ns)", REPORT_COUNT},
	[COLUMN_BELOW] = {"Below (ns)", REPORT_COUNT},
	[COLUMN_CALLS] = {"Calls", REPORT_COUNT},
	[COLUMN_SHARE] = {"Share (%)", REPORT_DECIMAL, 1},
	[COLUMN_BAR] = {"Distribution", REPORT_TEXT},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
};

static int add_bucket(struct report_table *table, const struct statistics_row *function,
		      size_t bucket, u64 most)
{
	u64 calls = function->buckets[bucket];
	struct report_row *row = report_table_add(table);
	char bar[BAR_COLUMNS + 1] = "";

	/* The longest bar is that of the bucket with most calls; any call at all is seen. */
	for (unsigned i = 0; i < BAR_COLUMNS; i++)
		bar[i] = calls && (i == 0 || (double)i < (double)calls / (double)most * BAR_COLUMNS)
				 ? '#'
				 : ' ';
	if (!row || report_cell_text(&row->cells[COLUMN_BAR], bar) < 0 ||
	    report_cell_text(&row->cells[COLUMN_NAME], function->name) < 0)
		return -ENOMEM;
	report_cell_count(&row->cells[COLUMN_FROM], bucket ? 1ULL << bucket : 0);
	if (bucket + 1 < STATISTICS_BUCKETS)
		report_cell_count(&row->cells[COLUMN_BELOW], 1ULL << (bucket + 1));
	report_cell_count(&row->cells[COLUMN_CALLS], calls);
	report_cell_decimal(&row->cells[COLUMN_SHARE],
			    100.0 * (double)calls / (double)function->timed_count);
	return 0;
}

/* From the first bucket with calls to the last. */
static int add_function(struct report_table *table, const struct statistics_row *function)
{
	size_t first = STATISTICS_BUCKETS, last = 0;
	u64 most = 0;
	int result = 0;

	if (!function->buckets || !function->timed_count)
		return 0;
	for (size_t i = 0; i < STATISTICS_BUCKETS; i++) {
		if (!function->buckets[i])
			continue;
		first = first == STATISTICS_BUCKETS ? i : first;
		last = i;
		most = function->buckets[i] > most ? function->buckets[i] : most;
	}
	for (size_t i = first; i <= last && i < STATISTICS_BUCKETS && result == 0; i++)
		result = add_bucket(table, function, i, most);
	return result;
}

int report_distribution_make(struct view *view, const struct report_request *request,
			     struct report_table *table, struct err *err)
{
	struct view_sink sink = {.open = statistics_sink.open, .total = statistics_sink.total};
	struct statistics *statistics = NULL;
	const struct statistics_row *rows;
	size_t count;
	int result = statistics_create(MEMORY_BYTES, &statistics, err);

	table->title = "Durations of calls that were only counted";
	table->empty = "No calls were counted: record --count counts.";
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	if (result == 0)
		result = view_run(view, &sink, statistics, err);
	if (result == 0)
		result = statistics_finish(statistics, &rows, &count, err);
	for (size_t i = 0; result == 0 && i < count; i++)
		if (add_function(table, &rows[i]) < 0)
			result = err_errno(err, -ENOMEM, "can't make the report distribution");
	statistics_free(statistics);
	return result;
}
