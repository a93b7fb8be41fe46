/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is gpuprobe's own in a target, and so no event of it: of the agent's thread, and of those that were made for it. The
 * capture says which they are. One that was written before it did is told by what it has: the name that these threads have, and
 * stacks that lead through the agent's library.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "view/view_parts.h"

/* What versions that did not say it gave their threads, and the file of the agent, for names. */
#define OLD_THREAD_NAME "gpuprobe-agent"
#define OLD_LIBRARY	"/memfd:gpuprobe-agent"

/* Code of the agent in a process. */
struct view_own_code {
	u32 pid;
	u64 start, end;
};

static int add_by_facts(struct view *view)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_agent_thread, &count);
	int result = 0;

	for (size_t i = 0; i < count && !result; i++) {
		const struct record_agent_thread *fact =
			(const struct record_agent_thread *)facts[i];

		result = map_set(&view->own.threads, fact->header.pid, fact->header.tid,
				 fact->gone ? fact->gone : ~0ULL);
	}
	return result;
}

static int add_by_names(struct view *view)
{
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_task, &count);
	int result = 0;

	for (size_t i = 0; i < count && !result; i++) {
		const struct record_task *task = (const struct record_task *)facts[i];

		if (!strncmp((const char *)task->comm, OLD_THREAD_NAME, sizeof(task->comm)) &&
		    task->header.tid != task->header.pid)
			result = map_set(&view->own.threads, task->header.pid, task->header.tid,
					 ~0ULL);
	}
	return result;
}

static int add_code(struct view *view)
{
	struct view_own *own = &view->own;
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_module, &count);

	for (size_t i = 0; i < count; i++) {
		const struct record_module *module = (const struct record_module *)facts[i];
		const char *name = view_text(view, module->header.name);

		if (!name || strncmp(name, OLD_LIBRARY, strlen(OLD_LIBRARY)))
			continue;
		if (array_reserve(&own->code, &own->code_capacity, own->code_count + 1))
			return -ENOMEM;
		own->code[own->code_count++] =
			(struct view_own_code){module->header.pid, module->start, module->end};
	}
	return 0;
}

int view_own_init(struct view *view)
{
	int result;

	if (capture_reader_knew(view->reader, "agent_thread"))
		return add_by_facts(view);
	result = add_by_names(view);
	return result ? result : add_code(view);
}

static bool is_own_code(const struct view_own *own, u32 pid, u64 address)
{
	for (size_t i = 0; i < own->code_count; i++)
		if (own->code[i].pid == pid && address >= own->code[i].start &&
		    address < own->code[i].end)
			return true;
	return false;
}

/* Sums have a stack only. */
static bool is_of_own_code(const struct view *view, const struct record_header *record)
{
	const u64 *addresses;
	size_t count = capture_stack(view->reader, record->stack, &addresses);

	for (size_t i = 0; i < count; i++)
		if (is_own_code(&view->own, record->pid, addresses[i]))
			return true;
	return false;
}

bool view_own_has(const struct view *view, const struct record_header *record)
{
	const u64 *until;

	if (record->tid) {
		until = map_find(&view->own.threads, record->pid, record->tid);
		return until && record->ts < *until;
	}
	return view->own.code_count && record->stack && is_of_own_code(view, record);
}

void view_own_free(struct view_own *own)
{
	map_free(&own->threads);
	free(own->code);
}
