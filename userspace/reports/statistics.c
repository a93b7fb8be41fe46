/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/sorter.h"
#include "base/text.h"
#include "reports/nested_probes.h"

struct statistics {
	struct sorter *sorter;	       /* (function, duration) */
	struct string_table functions; /* binary, NUL, name -> index of its row */
	struct statistics_row *rows;
	size_t row_count, row_capacity;
	const struct view *view; /* of the sink */
	struct map seen;	 /* of the sink: (text id of the name, id of the probe) -> row */
	struct nested_probes nested; /* of the sink */
};

int statistics_create(size_t memory_bytes, struct statistics **ret_statistics, struct err *err)
{
	struct statistics *statistics = calloc(1, sizeof(*statistics));
	int result;

	if (!statistics)
		return err_errno(err, -ENOMEM, "can't make statistics");
	result = sorter_create(memory_bytes, &statistics->sorter, err);
	if (result < 0) {
		free(statistics);
		return result;
	}
	*ret_statistics = statistics;
	return 0;
}

struct statistics *statistics_free(struct statistics *statistics)
{
	if (!statistics)
		return NULL;
	for (size_t i = 0; i < statistics->row_count; i++) {
		free(statistics->rows[i].name);
		free(statistics->rows[i].binary);
		free(statistics->rows[i].buckets);
	}
	free(statistics->rows);
	string_table_free(&statistics->functions);
	map_free(&statistics->seen);
	nested_probes_free(&statistics->nested);
	sorter_free(statistics->sorter);
	free(statistics);
	return NULL;
}

static int add_row(struct statistics *statistics, const char *name, const char *binary)
{
	struct statistics_row *row;

	if (array_reserve(&statistics->rows, &statistics->row_capacity, statistics->row_count + 1) <
	    0)
		return -ENOMEM;
	row = &statistics->rows[statistics->row_count];
	*row = (struct statistics_row){
		.name = strdup(name), .binary = strdup(binary), .minimum_ns = UINT64_MAX};
	if (!row->name || !row->binary) {
		free(row->name);
		free(row->binary);
		return -ENOMEM;
	}
	statistics->row_count++;
	return 0;
}

static void append_key(struct text *key, const char *name, const char *binary)
{
	text_append(key, binary);
	text_append_char(key, '\0');
	text_append(key, name);
}

int statistics_function(struct statistics *statistics, const char *name, const char *binary,
			u32 *ret_function, struct err *err)
{
	_cleanup_text_ struct text key = {0};
	s64 number = -ENOMEM;

	append_key(&key, name, binary);
	if (!key.failed)
		number = string_table_add(&statistics->functions, key.data, key.length);
	if (number >= 0 && (size_t)number == statistics->row_count &&
	    add_row(statistics, name, binary) < 0)
		number = -ENOMEM;
	if (number < 0)
		return err_errno(err, -ENOMEM, "can't keep statistics of %s", name);
	*ret_function = number;
	return 0;
}

static void add_times(struct statistics_row *row, u64 total_ns, u64 minimum_ns, u64 maximum_ns)
{
	if (__builtin_add_overflow(row->total_ns, total_ns, &row->total_ns))
		row->total_ns = UINT64_MAX;
	if (minimum_ns < row->minimum_ns)
		row->minimum_ns = minimum_ns;
	if (maximum_ns > row->maximum_ns)
		row->maximum_ns = maximum_ns;
}

int statistics_add(struct statistics *statistics, u32 function, u64 duration_ns, struct err *err)
{
	struct statistics_row *row = &statistics->rows[function];
	int result = sorter_add(statistics->sorter, function, duration_ns, err);

	if (result < 0)
		return result;
	row->call_count++;
	row->timed_count++;
	add_times(row, duration_ns, duration_ns, duration_ns);
	return 0;
}

/* Counts come from a file: they may be anything. */
static void add_number(u64 *sum, u64 number)
{
	if (__builtin_add_overflow(*sum, number, sum))
		*sum = UINT64_MAX;
}

int statistics_add_total(struct statistics *statistics, u32 function,
			 const struct record_function_total *total, struct err *err)
{
	struct statistics_row *row = &statistics->rows[function];

	if (!row->buckets)
		row->buckets = calloc(STATISTICS_BUCKETS, sizeof(*row->buckets));
	if (!row->buckets)
		return err_errno(err, -ENOMEM, "can't keep statistics of %s", row->name);
	add_number(&row->call_count, total->calls == ~0ULL ? 0 : total->calls);
	if (!total->timed_calls || total->timed_calls == ~0ULL || total->time_ns == ~0ULL)
		return 0;
	add_number(&row->timed_count, total->timed_calls);
	add_times(row, total->time_ns, total->minimum_ns,
		  total->maximum_ns == ~0ULL ? 0 : total->maximum_ns);
	for (size_t i = 0; i < STATISTICS_BUCKETS; i++)
		add_number(&row->buckets[i], total->buckets[i]);
	return 0;
}

void statistics_add_cost(struct statistics *statistics, const struct view *view,
			 const struct record_probe_cost *cost)
{
	const struct record_probe *probe =
		(const struct record_probe *)view_fact(view, KIND_probe, cost->probe);
	const char *name = probe ? view_text(view, probe->header.name) : NULL;
	const char *binary = probe ? view_text(view, probe->binary) : NULL;
	_cleanup_text_ struct text key = {0};
	struct statistics_row *row;
	s64 number;

	if (!name || cost->cost_ns == ~0ULL || cost->cpu_ns == ~0ULL)
		return;
	append_key(&key, name, binary ? binary : "");
	number = key.failed ? -1 : string_table_find(&statistics->functions, key.data, key.length);
	if (number < 0)
		return;
	row = &statistics->rows[number];
	add_number(&row->cost_ns, cost->cost_ns);
	row->cpu_ns = cost->cpu_ns;
	row->switched_off_ns = cost->switched_off;
}

void statistics_add_untimed(struct statistics *statistics, u32 function)
{
	statistics->rows[function].call_count++;
}

/* The durations of one function, in rising order. With the average known beforehand the deviation
 * is the sum of small numbers, and loses nothing where all calls take long and about the same time.
 */
struct spread {
	u64 place;
	u64 middle[2];
	long double squares;
};

static void add_to_spread(struct spread *spread, const struct statistics_row *row, u64 value)
{
	long double distance = (long double)value - (long double)row->average_ns;

	if (spread->place == (row->timed_count - 1) / 2)
		spread->middle[0] = value;
	if (spread->place == row->timed_count / 2)
		spread->middle[1] = value;
	spread->squares += distance * distance;
	spread->place++;
}

static void finish_row(struct statistics_row *row, const struct spread *spread)
{
	row->median_ns = ((long double)spread->middle[0] + (long double)spread->middle[1]) / 2;
	if (row->timed_count > 1)
		row->deviation_ns = sqrtl(spread->squares / (row->timed_count - 1));
}

static int pass_sorted(struct statistics *statistics, struct err *err)
{
	struct statistics_row *rows = statistics->rows;
	struct spread spread = {0};
	struct sorter_pair pair;
	u64 function = UINT64_MAX;
	int result;

	while ((result = sorter_next(statistics->sorter, &pair, err)) > 0) {
		if (pair.group != function) {
			if (function != UINT64_MAX)
				finish_row(&rows[function], &spread);
			function = pair.group;
			spread = (struct spread){0};
		}
		add_to_spread(&spread, &rows[function], pair.value);
	}
	if (result == 0 && function != UINT64_MAX)
		finish_row(&rows[function], &spread);
	return result;
}

int statistics_finish(struct statistics *statistics, const struct statistics_row **ret_rows,
		      size_t *ret_count, struct err *err)
{
	int result;

	for (size_t i = 0; i < statistics->row_count; i++) {
		struct statistics_row *row = &statistics->rows[i];

		if (row->timed_count)
			row->average_ns = (double)row->total_ns / (double)row->timed_count;
		else
			row->minimum_ns = 0;
	}
	result = sorter_finish(statistics->sorter, err);
	if (result == 0)
		result = pass_sorted(statistics, err);
	if (result < 0)
		return result;
	*ret_rows = statistics->rows;
	*ret_count = statistics->row_count;
	return 0;
}

static void add_probes_inside(void *data, u32 row, u64 probes_ns)
{
	struct statistics *statistics = data;

	add_number(&statistics->rows[row].probes_inside_ns, probes_ns);
}

static int sink_open(void *data, const struct view *view, const struct view_survey *survey,
		     struct err *err)
{
	struct statistics *statistics = data;

	statistics->view = view;
	statistics->nested =
		(struct nested_probes){.view = view, .add = add_probes_inside, .data = statistics};
	return 0;
}

static int function_of_event(struct statistics *statistics, const struct view_event *event,
			     u32 probe, u32 *ret_function, struct err *err)
{
	const u64 *seen = map_find(&statistics->seen, event->record->name, probe);
	const struct record_probe *fact;
	const char *binary = NULL;
	int result;

	if (seen) {
		*ret_function = *seen;
		return 0;
	}
	fact = (const struct record_probe *)view_fact(statistics->view, KIND_probe, probe);
	if (fact)
		binary = view_text(statistics->view, fact->binary);
	result = statistics_function(statistics, event->name, binary ? binary : "", ret_function,
				     err);
	if (result < 0)
		return result;
	statistics->rows[*ret_function].stepped |= fact && fact->cost == VALUE_probe_cost_stepped;
	if (map_set(&statistics->seen, event->record->name, probe, *ret_function) < 0)
		return err_errno(err, -ENOMEM, "can't keep statistics of %s", event->name);
	return 0;
}

/* row: NESTED_PROBES_NO_ROW of what has no time. */
static int enter(struct statistics *statistics, const struct view_event *event, u32 probe, u32 row,
		 struct err *err)
{
	if (nested_probes_enter(&statistics->nested, event, probe, row) < 0)
		return err_errno(err, -ENOMEM, "can't keep statistics of %s", event->name);
	return 0;
}

static int sink_span(void *data, const struct view_event *event, struct err *err)
{
	const struct record_call *call = (const struct record_call *)event->record;
	struct statistics *statistics = data;
	u32 function;
	int result;

	if (event->kind->number != KIND_call)
		return 0;
	result = function_of_event(statistics, event, call->probe, &function, err);
	if (result == 0)
		result = enter(statistics, event, call->probe,
			       event->open ? NESTED_PROBES_NO_ROW : function, err);
	if (result < 0)
		return result;
	if (!event->open)
		return statistics_add(statistics, function, event->dur, err);
	statistics_add_untimed(statistics, function);
	return 0;
}

static int sink_point(void *data, const struct view_event *event, struct err *err)
{
	const struct record_entry *entry = (const struct record_entry *)event->record;
	struct statistics *statistics = data;
	u32 function;
	int result;

	if (event->kind->number != KIND_entry)
		return 0;
	result = function_of_event(statistics, event, entry->probe, &function, err);
	if (result == 0)
		result = enter(statistics, event, entry->probe, NESTED_PROBES_NO_ROW, err);
	if (result == 0)
		statistics_add_untimed(statistics, function);
	return result;
}

static int sink_total(void *data, const struct view_event *event, struct err *err)
{
	const struct record_function_total *total =
		(const struct record_function_total *)event->record;
	struct statistics *statistics = data;
	u32 function;
	int result;

	if (event->kind->number != KIND_function_total)
		return 0;
	result = function_of_event(statistics, event, total->probe, &function, err);
	return result < 0 ? result : statistics_add_total(statistics, function, total, err);
}

static int sink_close(void *data, struct err *err)
{
	nested_probes_finish(&((struct statistics *)data)->nested);
	return 0;
}

const struct view_sink statistics_sink = {
	.open = sink_open,
	.close = sink_close,
	.total = sink_total,
	.span = sink_span,
	.point = sink_point,
};

int statistics_compare_by_time(const void *a, const void *b)
{
	const struct statistics_row *left = *(const struct statistics_row *const *)a;
	const struct statistics_row *right = *(const struct statistics_row *const *)b;
	int names;

	if (left->total_ns != right->total_ns)
		return left->total_ns < right->total_ns ? 1 : -1;
	if (left->call_count != right->call_count)
		return left->call_count < right->call_count ? 1 : -1;
	names = strcmp(left->name, right->name);
	return names ? names : strcmp(left->binary, right->binary);
}
