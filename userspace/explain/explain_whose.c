/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which process it is, where several that are recorded have threads of one name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "explain/explain_parts.h"

/* Of so much of the time of a place nothing is said of others. */
#define ALL_PERCENT 95

/* Names of threads, and of which process each was first. */
struct known {
	struct string_table names;
	struct map pids;   /* (number of the name, 0) -> process */
	struct map shared; /* (number of the name, 0): it is in another one, too */
};

static int note(struct known *known, const struct view_row *row)
{
	s64 number = string_table_add(&known->names, row->name, strlen(row->name));
	const u64 *pid = number < 0 ? NULL : map_find(&known->pids, (u64)number, 0);

	if (number < 0)
		return -ENOMEM;
	if (!pid)
		return map_set(&known->pids, (u64)number, 0, row->pid);
	return *pid == row->pid ? 0 : map_set(&known->shared, (u64)number, 0, 1);
}

static int mark(const struct view_survey *survey, struct known *known, bool *is_shared)
{
	for (size_t i = 0; i < survey->row_count; i++)
		if (survey->rows[i].type == ROW_THREAD && note(known, &survey->rows[i]))
			return -ENOMEM;
	for (size_t i = 0; i < survey->row_count; i++) {
		const char *name = survey->rows[i].name;
		s64 number = string_table_find(&known->names, name, strlen(name));

		is_shared[i] = survey->rows[i].type == ROW_THREAD &&
			       map_find(&known->shared, (u64)number, 0);
	}
	return 0;
}

int explain_whose_init(struct explain *explain)
{
	struct known known = {0};
	int result;

	explain->is_shared = calloc(explain->survey->row_count + 1, sizeof(*explain->is_shared));
	if (!explain->is_shared)
		return -ENOMEM;
	result = mark(explain->survey, &known, explain->is_shared);
	string_table_free(&known.names);
	map_free(&known.pids);
	map_free(&known.shared);
	return result;
}

int explain_add_thread(const struct explain *explain, size_t row, u64 ns, u64 count,
		       struct explain_places *places)
{
	const struct view_row *of = &explain->survey->rows[row];

	if (explain_places_add(places, of->name, ns, count))
		return -ENOMEM;
	return explain->is_shared[row] ? explain_places_add_pid(places, of->name, of->pid, ns) : 0;
}

struct whose {
	u64 ns; /* of the process that has most, of equal ones the one with the lesser number */
	u32 pid, count; /* of processes; 0: none is to be told */
};

/* "decode work.py:11 (python 4711 and 1 more)", "python 4711" */
static int name(struct explain_place *place, const struct whose *whose)
{
	_cleanup_text_ struct text text = {0};
	size_t length = strlen(place->name);
	bool ends = length && place->name[length - 1] == ')';

	text_append_bytes(&text, place->name, length - ends);
	text_appendf(&text, " %u", whose->pid);
	if (100 * whose->ns < ALL_PERCENT * place->ns)
		text_appendf(&text, " and %u more", whose->count - 1);
	text_append(&text, ends ? ")" : "");
	place->whose = text.failed ? NULL : strdup(text_string(&text));
	return place->whose ? 0 : -ENOMEM;
}

int explain_places_tell_whose(struct explain_places *places)
{
	struct whose *whose = calloc(places->names.count + 1, sizeof(*whose));
	int result = whose ? 0 : -ENOMEM;

	for (size_t i = 0; whose && i < places->pids.capacity; i++) {
		const struct map_slot *slot = &places->pids.slots[i];
		struct whose *of = &whose[slot->used ? slot->key_a : places->names.count];

		if (!slot->used)
			continue;
		of->count++;
		if (of->count > 1 &&
		    (slot->value < of->ns || (slot->value == of->ns && slot->key_b > of->pid)))
			continue;
		of->ns = slot->value;
		of->pid = (u32)slot->key_b;
	}
	for (size_t i = 0; whose && i < places->names.count && result == 0; i++)
		if (whose[i].count)
			result = name(&places->items[i], &whose[i]);
	free(whose);
	return result;
}

int explain_whose_tell(struct explain *explain)
{
	int result = 0;

	for (size_t i = 0; i < EXPLAIN_FINDINGS && result == 0; i++) {
		struct explain_evidence *of = &explain->evidence[i];
		struct explain_places *all[] = {&of->places, &of->threads, &of->waiters,
						&of->behind};

		for (size_t j = 0; j < ARRAY_SIZE(all) && result == 0; j++)
			result = explain_places_tell_whose(all[j]);
	}
	for (size_t i = 0; i < EXPLAIN_SLOW_PARTS && result == 0; i++)
		result = explain_places_tell_whose(&explain->slow.parts[i].slow_places);
	return result;
}
