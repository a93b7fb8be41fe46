/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks as functions, by frame facts. A chain of frame pointers that breaks leads anywhere: what lies in no code that was
 * mapped is no frame, unless what comes behind it leads to where a thread begins.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "store/stack_addresses.h"
#include "view/view_parts.h"

static int compare_key(const struct record_frame *frame, u32 pid, u64 address)
{
	if (frame->header.pid != pid)
		return frame->header.pid < pid ? -1 : 1;
	return (frame->address > address) - (frame->address < address);
}

static int compare_frames(const void *a, const void *b)
{
	const struct record_frame *left = *(const struct record_frame *const *)a;
	const struct record_frame *right = *(const struct record_frame *const *)b;
	int order = compare_key(left, right->header.pid, right->address);

	return order ? order : left->level - right->level;
}

int view_frames_init(struct view *view)
{
	struct view_frames *frames = view->frames = calloc(1, sizeof(*frames));
	size_t count;
	const struct record_header *const *facts = view_facts(view, KIND_frame, &count);

	if (!frames)
		return -ENOMEM;
	frames->sorted = calloc(count + 1, sizeof(*frames->sorted));
	if (!frames->sorted)
		return -ENOMEM;
	frames->count = count;
	for (size_t i = 0; i < count; i++)
		frames->sorted[i] = (const struct record_frame *)facts[i];
	qsort(frames->sorted, count, sizeof(*frames->sorted), compare_frames);
	return 0;
}

void view_frames_free(struct view_frames *frames)
{
	if (!frames)
		return;
	free(frames->sorted);
	free(frames->found);
	free(frames);
}

/* Its facts, innermost level first. */
static size_t find_facts(const struct view_frames *frames, u32 pid, u64 address,
			 const struct record_frame *const **ret_facts)
{
	size_t low = 0, high = frames->count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_key(frames->sorted[middle], pid, address) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < frames->count; end++)
		if (compare_key(frames->sorted[end], pid, address))
			break;
	*ret_facts = &frames->sorted[low];
	return end - low;
}

static const char *module_name(const struct view *view, u32 module)
{
	const struct record_header *fact = view_fact(view, KIND_module, module);
	const char *path = fact ? view_text(view, fact->name) : NULL;

	return path ? path_base_name(path) : "";
}

static struct view_frame frame_of(const struct view *view, const struct record_frame *fact)
{
	const char *name = view_text(view, fact->header.name);
	const char *file = view_text(view, fact->file);
	bool python = fact->origin == VALUE_frame_origin_python;

	return (struct view_frame){
		.name = name ? name : "",
		.module = python && file ? path_base_name(file) : module_name(view, fact->module),
		.python = python,
		.function_line = fact->function_line,
		.file = file ? file : "",
		.line = fact->line,
		.module_id = fact->module,
		.address = fact->address,
		.file_address = fact->file_address,
		.inlined = fact->inlined == VALUE_yes_no_yes,
	};
}

static int add_found(struct view_frames *frames, const struct view_frame *frame)
{
	if (array_reserve(&frames->found, &frames->capacity, frames->found_count + 1))
		return -ENOMEM;
	frames->found[frames->found_count++] = *frame;
	return 0;
}

/* All levels at one address; 1: there are some and the last one is where a thread begins. */
static int add_address(const struct view *view, u32 pid, const u64 *addresses, size_t index,
		       bool *ret_known)
{
	const struct record_frame *const *facts;
	size_t count = find_facts(view->frames, stack_address_is_kernel(addresses[index]) ? 0 : pid,
				  stack_code_address(addresses, index), &facts);
	const struct view_frame unknown = {.name = "",
					   .module = "",
					   .file = "",
					   .address = addresses[index],
					   .file_address = ~0ULL};
	int result = 0;

	*ret_known = count > 0;
	view->frames->caller_missing =
		count && facts[count - 1]->caller_missing == VALUE_yes_no_yes;
	if (!count)
		return add_found(view->frames, &unknown);
	for (size_t i = 0; i < count && !result; i++) {
		struct view_frame frame = frame_of(view, facts[i]);

		result = add_found(view->frames, &frame);
	}
	return result ? result : facts[count - 1]->begins == VALUE_yes_no_yes;
}

/* Between a frame and the next one, which did not call it. */
static int add_missing(struct view_frames *frames)
{
	const struct view_frame missing = {
		.name = VIEW_FRAME_MISSING, .module = "", .file = "", .file_address = ~0ULL};

	return add_found(frames, &missing);
}

/* How stacks end that were walked by tables, but for complete ones. */
static const char *const cuts[] = {
	[VALUE_stack_end_no_file] = "[cut: no file]",
	[VALUE_stack_end_no_table] = "[cut: no table]",
	[VALUE_stack_end_not_ready] = "[cut: table not ready]",
	[VALUE_stack_end_unsupported] = "[cut: unsupported]",
	[VALUE_stack_end_unreadable] = "[cut: unreadable]",
	[VALUE_stack_end_broken] = "[cut: broken]",
	[VALUE_stack_end_deep] = "[cut: too deep]",
	[VALUE_stack_end_in_probe] = "[cut: in a probe]",
};

static const char *cut_of(u32 end)
{
	return end < ARRAY_SIZE(cuts) && cuts[end] ? cuts[end] : VIEW_FRAME_CUT;
}

/* enum stack_end; 0: it was taken by frame pointers. */
static u32 end_of(const struct record_stack *fact)
{
	return fact ? fact->end : 0;
}

static bool is_guessed(const struct record_stack *fact, size_t place)
{
	u64 places = place < 64 ? fact->guessed_first : fact->guessed_rest;

	return fact->guessed && place < 128 && places >> place % 64 & 1;
}

/* The frames of one address. */
static void mark_guessed(struct view_frames *frames, size_t first)
{
	for (size_t i = first; i < frames->found_count; i++)
		frames->found[i].guessed = true;
}

static bool begins_with(const char *string, const char *begin)
{
	return !strncmp(string, begin, strlen(begin));
}

/* A function of CPython's own, by its name or by the file that it is in. */
static bool is_interpreter(const struct view_frame *frame)
{
	return !frame->python && strcmp(frame->name, "main") &&
	       (begins_with(frame->name, "Py") || begins_with(frame->name, "_Py") ||
		begins_with(frame->module, "python3") || begins_with(frame->module, "libpython3"));
}

/* Of its functions those say something that a function of Python called and that have a name. */
static void leave_out_interpreter(struct view_frames *frames)
{
	size_t innermost = 0, kept = 0;

	while (innermost < frames->found_count && !frames->found[innermost].python)
		innermost++;
	if (innermost == frames->found_count)
		return;
	for (size_t i = 0; i < frames->found_count; i++) {
		const struct view_frame *frame = &frames->found[i];

		if (!is_interpreter(frame) || (i < innermost && frame->name[0]))
			frames->found[kept++] = *frame;
	}
	frames->found_count = kept;
}

size_t view_frames(const struct view *view, u32 pid, u32 stack,
		   const struct view_frame **ret_frames, const char **ret_cut)
{
	struct view_frames *frames = view->frames;
	const u64 *addresses;
	size_t depth = view_stack(view, stack, &addresses), kept = 0;
	const struct record_stack *fact = (const void *)view_fact(view, KIND_stack, stack);
	u32 end = depth ? end_of(fact) : 0;
	bool any = false, gap = false, is_cut;
	int result = 0;

	frames->found_count = 0;
	frames->caller_missing = false;
	for (size_t i = 0; i < depth && result == 0; i++) {
		size_t before = frames->found_count;
		bool known = false;

		if (frames->caller_missing && !end)
			result = add_missing(frames);
		if (!result)
			result = add_address(view, pid, addresses, i, &known);
		if (fact && is_guessed(fact, i))
			mark_guessed(frames, before);
		any |= known;
		gap |= i && !known && !end;
		/* Up to here the chain holds. */
		if (!gap)
			kept = frames->found_count;
	}
	is_cut = any && result <= 0 && end != VALUE_stack_end_complete &&
		 end != VALUE_stack_end_ended;
	*ret_cut = is_cut ? cut_of(end) : NULL;
	if (is_cut)
		frames->found_count = kept;
	leave_out_interpreter(frames);
	*ret_frames = frames->found;
	return frames->found_count;
}

void view_frame_append_name(const struct view_frame *frame, struct text *text)
{
	if (frame->python && frame->module[0])
		text_appendf(text, "%s %s:%u", frame->name, frame->module, frame->function_line);
	else if (frame->name[0])
		text_append(text, frame->name);
	else if (frame->module[0] && frame->file_address != ~0ULL)
		text_appendf(text, "%s+%#llx", frame->module,
			     (unsigned long long)frame->file_address);
	else if (frame->module[0])
		text_append(text, frame->module);
	else
		text_appendf(text, "%#llx", (unsigned long long)frame->address);
	if (frame->guessed)
		text_append(text, VIEW_FRAME_GUESSED);
}

void view_frame_append(const struct view_frame *frame, struct text *text)
{
	if (frame->python)
		text_append(text, frame->name);
	else
		view_frame_append_name(frame, text);
	if (frame->file[0])
		text_appendf(text, " (%s:%u%s)", path_base_name(frame->file), frame->line,
			     frame->inlined ? ", inlined" : "");
	else if (frame->inlined)
		text_append(text, " (inlined)");
	else if (frame->name[0] && frame->module[0])
		text_appendf(text, " (%s)", frame->module);
}

void view_frame_append_call(const struct view_frame *frame, struct text *text)
{
	if (frame->python && frame->line)
		view_frame_append(frame, text);
	else
		view_frame_append_name(frame, text);
}

size_t view_frames_append_lines(const struct view *view, u32 pid, u32 stack,
				void (*append)(const struct view_frame *frame, struct text *text),
				struct text *text)
{
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, stack, &frames, &cut);

	for (size_t i = 0; i < count; i++) {
		append(&frames[i], text);
		text_append_char(text, '\n');
	}
	if (cut)
		text_appendf(text, "%s\n", cut);
	return count;
}
