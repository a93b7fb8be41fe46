/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/view_parts.h"

#define PRIORITY_UNKNOWN ((s32)0x80000000)

const char *view_intern(const struct view *view, const char *string, size_t length)
{
	s64 number = string_table_add(&view->names->strings, string, length);

	return number < 0 ? NULL : view->names->strings.strings[number];
}

/* ---- tasks ---- */

/* The facts come in the order of time: the last name of a thread holds. */
static int names_add_tasks(struct view *view)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_task, &count);

	for (size_t i = 0; i < count; i++) {
		const struct record_task *task = (const struct record_task *)facts[i];
		const char *comm = (const char *)task->comm;
		const char *name = view_intern(view, comm, strnlen(comm, sizeof(task->comm)));

		if (!name)
			return -ENOMEM;
		if (*name && map_set(&view->names->tasks, task->header.pid, task->header.tid,
				     (uintptr_t)name) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Names in full, of whole processes, and priorities. */
static int names_add_threads(struct view *view)
{
	struct view_names *names = view->names;
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_thread, &count);

	for (size_t i = 0; i < count; i++) {
		const struct record_thread *thread = (const struct record_thread *)facts[i];
		u32 pid = thread->header.pid, tid = thread->header.tid;
		const char *name = view_text(view, thread->header.name);

		if (name && map_set(&names->tasks, pid, tid, (uintptr_t)name) < 0)
			return -ENOMEM;
		if (thread->priority != PRIORITY_UNKNOWN &&
		    map_set(&names->priorities, pid, tid, (s64)thread->priority) < 0)
			return -ENOMEM;
	}
	return 0;
}

const char *view_task_name(const struct view *view, u32 pid, u32 tid)
{
	u64 *name = map_find(&view->names->tasks, pid, tid);

	/* Threads begin with the name of who made them, and one of which nobody tells has it still: as a rule that of the process. */
	if (!name && tid)
		name = map_find(&view->names->tasks, pid, pid);
	return name ? (const char *)(uintptr_t)*name : NULL;
}

bool view_task_priority(const struct view *view, u32 pid, u32 tid, s64 *ret_priority)
{
	u64 *priority = map_find(&view->names->priorities, pid, tid);

	if (priority)
		*ret_priority = *priority;
	return priority != NULL;
}

const char *view_process_name(const struct view *view, u32 pid)
{
	const char *name = view_task_name(view, pid, 0);

	if (!name)
		name = view_task_name(view, pid, pid);
	return name ? name : "";
}

/* ---- labels ---- */

/* How often each name occurs among the facts of a kind. */
struct name_counts {
	struct string_table names;
	struct map counts; /* number of the name -> how often */
};

static int count_name(struct name_counts *counts, const char *name)
{
	s64 number = string_table_add(&counts->names, name, strlen(name));
	u64 *count;

	if (number < 0)
		return number;
	count = map_find(&counts->counts, number, 0);
	if (count) {
		(*count)++;
		return 0;
	}
	return map_set(&counts->counts, number, 0, 1);
}

static bool is_unique(const struct name_counts *counts, const char *name)
{
	s64 number = string_table_find(&counts->names, name, strlen(name));

	return number >= 0 && *map_find(&counts->counts, number, 0) == 1;
}

/* NULL without memory. */
static const char *make_label(const struct view *view, const struct name_counts *counts,
			      const char *name, u32 id)
{
	struct text text _cleanup_text_ = {0};

	if (name && is_unique(counts, name))
		return name;
	if (name)
		text_appendf(&text, "%s ", name);
	/* Until it is nobody's name. */
	do
		text_appendf(&text, "#%u", id);
	while (!text.failed &&
	       string_table_find(&counts->names, text_string(&text), text.length) >= 0);
	return text.failed ? NULL : view_intern(view, text.data, text.length);
}

static int names_add_labels(struct view *view, u16 kind, struct name_counts *counts)
{
	struct view_names *names = view->names;
	size_t count;
	const struct record_header *const *facts = view_facts(view, kind, &count);
	const char **labels = calloc(count + 1, sizeof(*labels));

	if (!labels)
		return -ENOMEM;
	names->labels[kind] = labels;
	names->label_counts[kind] = count;
	for (size_t i = 0; i < count; i++) {
		const char *name = view_text(view, facts[i]->name);

		if (name && count_name(counts, name) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		labels[i] = make_label(view, counts, view_text(view, facts[i]->name), i + 1);
		if (!labels[i])
			return -ENOMEM;
	}
	return 0;
}

const char *view_label(const struct view *view, u16 kind, u32 id)
{
	const struct view_names *names = view->names;

	if (!id || kind >= names->kind_count || id > names->label_counts[kind])
		return kind == KIND_text ? view_text(view, id) : NULL;
	return names->labels[kind][id - 1];
}

int view_names_init(struct view *view)
{
	struct view_names *names = view->names = calloc(1, sizeof(*names));
	size_t count;
	const struct schema_kind *kinds = schema_kinds(&count);
	int result;

	if (!names)
		return -ENOMEM;
	names->kind_count = view->kinds.count;
	names->labels = calloc(names->kind_count, sizeof(*names->labels));
	names->label_counts = calloc(names->kind_count, sizeof(*names->label_counts));
	if (!names->labels || !names->label_counts)
		return -ENOMEM;
	result = names_add_tasks(view);
	if (result == 0)
		result = names_add_threads(view);
	for (size_t i = 0; i < count && result == 0; i++) {
		struct name_counts counts = {0};

		/* Texts and stacks stand for themselves. */
		if (!schema_id_field(&kinds[i]) || kinds[i].tail != TAIL_NONE)
			continue;
		result = names_add_labels(view, kinds[i].number, &counts);
		string_table_free(&counts.names);
		map_free(&counts.counts);
	}
	return result;
}

void view_names_free(struct view_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; names->labels && i < names->kind_count; i++)
		free(names->labels[i]);
	free(names->labels);
	free(names->label_counts);
	map_free(&names->tasks);
	map_free(&names->priorities);
	map_free(&names->made);
	map_free(&names->sampled);
	map_free(&names->displays);
	string_table_free(&names->strings);
	free(names);
}
