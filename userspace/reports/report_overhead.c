/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report "overhead": what recording cost the targets, by probe, estimated. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "reports/report_table.h"

enum column {
	COLUMN_OVERHEAD,
	COLUMN_COST,
	COLUMN_ENTRIES,
	COLUMN_EXITS,
	COLUMN_OFF,
	COLUMN_NAME,
	COLUMN_COUNT,
};

static const struct report_column columns[COLUMN_COUNT] = {
	[COLUMN_OVERHEAD] = {"Overhead (%)", REPORT_DECIMAL, 2},
	[COLUMN_COST] = {"Cost (ns)", REPORT_COUNT},
	[COLUMN_ENTRIES] = {"Entries", REPORT_COUNT},
	[COLUMN_EXITS] = {"Returns", REPORT_COUNT},
	[COLUMN_OFF] = {"Switched off (s)", REPORT_DECIMAL, 3},
	[COLUMN_NAME] = {"Name", REPORT_NAME},
};

/* What has no price comes behind what costs nothing. */
static u64 price_of(const struct record_probe_cost *cost)
{
	return cost->cost_ns + 1;
}

static int compare_by_cost(const void *a, const void *b)
{
	const struct record_probe_cost *left = *(const struct record_probe_cost *const *)a;
	const struct record_probe_cost *right = *(const struct record_probe_cost *const *)b;

	if (price_of(left) != price_of(right))
		return price_of(left) < price_of(right) ? 1 : -1;
	return left->probe < right->probe ? -1 : left->probe > right->probe;
}

static int add_row(struct report_table *table, const struct view *view,
		   const struct record_probe_cost *cost)
{
	struct report_row *row = report_table_add(table);
	const char *name = view_text(view, cost->header.name);
	u64 start_ns = view_survey(view)->window_start_ns;

	if (!row || report_cell_text(&row->cells[COLUMN_NAME], name ? name : "") < 0)
		return -ENOMEM;
	if (cost->cost_ns != ~0ULL)
		report_cell_count(&row->cells[COLUMN_COST], cost->cost_ns);
	if (cost->cost_ns != ~0ULL && cost->cpu_ns && cost->cpu_ns != ~0ULL)
		report_cell_decimal(&row->cells[COLUMN_OVERHEAD],
				    100.0 * (double)cost->cost_ns / (double)cost->cpu_ns);
	if (cost->entries != ~0ULL)
		report_cell_count(&row->cells[COLUMN_ENTRIES], cost->entries);
	if (cost->exits != ~0ULL)
		report_cell_count(&row->cells[COLUMN_EXITS], cost->exits);
	if (cost->switched_off)
		report_cell_decimal(&row->cells[COLUMN_OFF],
				    (double)(s64)(cost->switched_off - start_ns) / 1e9);
	return 0;
}

int report_overhead_make(struct view *view, const struct report_request *request,
			 struct report_table *table, struct err *err)
{
	size_t count, kept = 0;
	const struct record_header *const *facts = view_facts(view, KIND_probe_cost, &count);
	_cleanup_free_ const struct record_probe_cost **costs = calloc(count + 1, sizeof(*costs));
	int result = costs ? 0 : -ENOMEM;

	table->title = "What recording cost, of the CPU time of the targets, estimated";
	table->empty = "Nothing that was recorded cost anything, or its price is not known.";
	table->whole = true;
	table->columns = columns;
	table->column_count = COLUMN_COUNT;
	for (size_t i = 0; i < count && costs; i++)
		if (facts[i])
			costs[kept++] = (const struct record_probe_cost *)facts[i];
	if (costs)
		qsort(costs, kept, sizeof(*costs), compare_by_cost);
	for (size_t i = 0; i < kept && result == 0; i++)
		result = add_row(table, view, costs[i]);
	return result < 0 ? err_errno(err, result, "can't make the report overhead") : 0;
}
