/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a kernel is written, by kernel_source facts. Caches keep what was compiled at any time, so several places may have a kernel of its name: that of
 * code which the stack of its launch leads through is it; those that are not there any more are not, where another is. What is left of doubt is left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "view/view_parts.h"

struct view_kernel_sources {
	const struct record_kernel_source **sorted; /* by process and name */
	const struct view *view;
	size_t count;
};

static const char *string_of(const struct view *view, u32 text)
{
	const char *string = text ? view_text(view, text) : NULL;

	return string ? string : "";
}

static int compare_key(const struct view *view, const struct record_kernel_source *source, u32 pid,
		       const char *name)
{
	if (source->header.pid != pid)
		return source->header.pid < pid ? -1 : 1;
	return strcmp(string_of(view, source->header.name), name);
}

static int compare_sources(const void *a, const void *b, void *data)
{
	const struct record_kernel_source *left = *(const struct record_kernel_source *const *)a;
	const struct record_kernel_source *right = *(const struct record_kernel_source *const *)b;

	return compare_key(data, left, right->header.pid, string_of(data, right->header.name));
}

int view_kernel_sources_init(struct view *view)
{
	struct view_kernel_sources *sources = view->kernel_sources = calloc(1, sizeof(*sources));
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_kernel_source, &count);

	if (!sources)
		return -ENOMEM;
	sources->sorted = calloc(count + 1, sizeof(*sources->sorted));
	if (!sources->sorted)
		return -ENOMEM;
	sources->count = count;
	for (size_t i = 0; i < count; i++)
		sources->sorted[i] = (const struct record_kernel_source *)facts[i];
	qsort_r(sources->sorted, count, sizeof(*sources->sorted), compare_sources, view);
	return 0;
}

void view_kernel_sources_free(struct view_kernel_sources *sources)
{
	if (!sources)
		return;
	free(sources->sorted);
	free(sources);
}

bool view_has_kernel_sources(const struct view *view)
{
	return view->kernel_sources->count > 0;
}

/* Facts of that name: how many, from *ret_first on. */
static size_t find(const struct view *view, u32 pid, const char *name, size_t *ret_first)
{
	const struct view_kernel_sources *sources = view->kernel_sources;
	size_t low = 0, high = sources->count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_key(view, sources->sorted[middle], pid, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < sources->count; end++)
		if (compare_key(view, sources->sorted[end], pid, name))
			break;
	*ret_first = low;
	return end - low;
}

/* ---- which of several ---- */

struct choice {
	const struct record_kernel_source *const *sources;
	size_t count;
	/* What is known of those that count. */
	bool some_launch, some_are_there;
	const struct view_frame *frames;
	size_t frame_count;
};

static bool is_launched_through(const struct view *view, const struct choice *choice,
				const struct record_kernel_source *source)
{
	const char *launcher = string_of(view, source->launcher);

	for (size_t i = 0; *launcher && i < choice->frame_count; i++)
		if (choice->frames[i].python && !strcmp(choice->frames[i].file, launcher))
			return true;
	return false;
}

static bool counts(const struct view *view, const struct choice *choice, size_t index)
{
	const struct record_kernel_source *source = choice->sources[index];

	if (choice->some_launch)
		return is_launched_through(view, choice, source);
	return !choice->some_are_there || source->confirmed == VALUE_yes_no_yes;
}

static void look(const struct view *view, const struct view_cause *cause, struct choice *choice)
{
	const char *cut;

	if (cause && cause->stack.stack)
		choice->frame_count =
			view_frames(view, cause->pid, cause->stack.stack, &choice->frames, &cut);
	for (size_t i = 0; i < choice->count; i++) {
		choice->some_launch |= is_launched_through(view, choice, choice->sources[i]);
		choice->some_are_there |= choice->sources[i]->confirmed == VALUE_yes_no_yes;
	}
}

/* Of a further one: what they do not have in common is in doubt. */
static void keep_common(const struct view *view, const struct record_kernel_source *source,
			struct view_kernel_source *kept)
{
	if (strcmp(kept->file, string_of(view, source->file)))
		kept->file = "";
	if (kept->line != source->line)
		kept->line = 0;
	if (strcmp(kept->nodes, string_of(view, source->nodes)))
		kept->nodes = "";
	if (strcmp(kept->operations, string_of(view, source->operations)))
		kept->operations = "";
}

bool view_kernel_source(const struct view *view, const struct view_event *kernel,
			struct view_kernel_source *ret_source)
{
	const char *name = string_of(view, kernel->record->name);
	struct choice choice = {0};
	bool some = false;
	size_t first;

	if (!view->kernel_sources->count)
		return false;
	choice.count = find(view, kernel->record->pid, name, &first);
	choice.sources = view->kernel_sources->sorted + first;
	if (choice.count > 1)
		look(view, kernel->cause, &choice);
	for (size_t i = 0; i < choice.count; i++) {
		const struct record_kernel_source *source = choice.sources[i];

		if (choice.count > 1 && !counts(view, &choice, i))
			continue;
		if (some)
			keep_common(view, source, ret_source);
		else
			*ret_source = (struct view_kernel_source){
				.file = string_of(view, source->file),
				.line = source->line,
				.nodes = string_of(view, source->nodes),
				.operations = string_of(view, source->operations)};
		some = true;
	}
	return some && (ret_source->file[0] || ret_source->nodes[0] || ret_source->operations[0]);
}

void view_kernel_source_append(const struct view_kernel_source *source, struct text *text)
{
	text_append(text, source->file);
	if (source->file[0] && source->line)
		text_appendf(text, ":%u", source->line);
}

/* ---- as values ---- */

static struct view_value intern(const struct view *view, const struct text *text)
{
	return value_string(
		text->failed || !text->length ? NULL : view_intern(view, text->data, text->length));
}

struct view_value view_compute_kernel_source(const struct view *view,
					     const struct view_event *event)
{
	struct text text _cleanup_text_ = {0};
	struct view_kernel_source source;

	if (view_kernel_source(view, event, &source))
		view_kernel_source_append(&source, &text);
	return intern(view, &text);
}

struct view_value view_compute_kernel_nodes(const struct view *view, const struct view_event *event)
{
	struct text text _cleanup_text_ = {0};
	struct view_kernel_source source;

	if (!view_kernel_source(view, event, &source))
		return value_string(NULL);
	text_append(&text, source.nodes);
	if (source.operations[0])
		text_appendf(&text, "%s(%s)", text.length ? " " : "", source.operations);
	return intern(view, &text);
}
