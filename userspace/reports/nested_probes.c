/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/nested_probes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* Prices come from a file: they may be anything. */
static int read_prices(struct nested_probes *nested)
{
	size_t count;
	const struct record_header *const *facts =
		view_facts(nested->view, KIND_probe_cost, &count);

	if (nested->prices.count)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct record_probe_cost *cost = (const void *)facts[i];

		if (!cost || !cost->probe || !cost->entries || cost->entries == ~0ULL ||
		    cost->cost_ns == ~0ULL)
			continue;
		if (map_set(&nested->prices, cost->probe, 0, cost->cost_ns / cost->entries))
			return -ENOMEM;
	}
	return 0;
}

static struct nested_thread *thread_of(struct nested_probes *nested, u32 pid, u32 tid)
{
	const u64 *place = map_find(&nested->threads, pid, tid);

	if (place)
		return &nested->items[*place];
	if (array_reserve(&nested->items, &nested->capacity, nested->count + 1) ||
	    map_set(&nested->threads, pid, tid, nested->count))
		return NULL;
	nested->items[nested->count] = (struct nested_thread){0};
	return &nested->items[nested->count++];
}

/* An estimate may be more than all of a short call, which it can't have been. */
static void tell(const struct nested_probes *nested, const struct nested_call *call)
{
	nested->add(nested->data, call->row,
		    call->probes_ns < call->dur_ns ? call->probes_ns : call->dur_ns);
}

/* Stacks that programs switch may end calls out of order. */
static void end_calls(const struct nested_probes *nested, struct nested_thread *thread, u64 now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < thread->count; i++)
		if (thread->calls[i].end_ns <= now_ns)
			tell(nested, &thread->calls[i]);
		else
			thread->calls[kept++] = thread->calls[i];
	thread->count = kept;
}

int nested_probes_enter(struct nested_probes *nested, const struct view_event *event, u32 probe,
			u32 row)
{
	struct nested_thread *thread;
	const u64 *price;

	if (read_prices(nested))
		return -ENOMEM;
	thread = thread_of(nested, event->record->pid, event->record->tid);
	if (!thread)
		return -ENOMEM;
	end_calls(nested, thread, event->ts);
	price = map_find(&nested->prices, probe, 0);
	for (size_t i = 0; i < thread->count && price; i++)
		if (__builtin_add_overflow(thread->calls[i].probes_ns, *price,
					   &thread->calls[i].probes_ns))
			thread->calls[i].probes_ns = UINT64_MAX;
	if (row == NESTED_PROBES_NO_ROW)
		return 0;
	if (array_reserve(&thread->calls, &thread->capacity, thread->count + 1))
		return -ENOMEM;
	thread->calls[thread->count++] =
		(struct nested_call){.end_ns = event->end, .dur_ns = event->dur, .row = row};
	return 0;
}

void nested_probes_finish(struct nested_probes *nested)
{
	for (size_t i = 0; i < nested->count; i++)
		end_calls(nested, &nested->items[i], UINT64_MAX);
}

void nested_probes_free(struct nested_probes *nested)
{
	for (size_t i = 0; i < nested->count; i++)
		free(nested->items[i].calls);
	free(nested->items);
	map_free(&nested->prices);
	map_free(&nested->threads);
}
