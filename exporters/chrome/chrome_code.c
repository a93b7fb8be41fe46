/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "exporters/chrome/chrome_code.h"

#include "base/json.h"

void chrome_code_find(const struct view *view, const struct view_event *event,
		      struct chrome_code *ret_code)
{
	const char *kernel = event->kind->number == KIND_kernel ? event->name : NULL;
	const struct view_cause *cause = event->cause;
	struct chrome_code *code = ret_code;

	*code = (struct chrome_code){.pid = event->record->pid, .stack = event->record->stack};
	if (!code->stack && cause) {
		code->pid = cause->pid;
		code->stack = cause->stack.stack;
	} else if (!code->stack) {
		code->stack = event->stack.stack;
	}
	if (!code->stack)
		return;
	code->has_origin = view_launch_code(view, cause, kernel, &code->origin);
	if (event->record->stack)
		return;
	/* Most of what was launched goes back to the thread that launched it. */
	if (code->has_origin && !code->origin.waits_here) {
		code->has_own = true;
		code->own = code->origin.frame;
		return;
	}
	code->has_own = view_own_frame(view, code->pid, code->stack, kernel, &code->own);
}

void chrome_code_append_loc(const struct chrome_code *code, struct text *text)
{
	const struct view_frame *frame = code->has_origin ? &code->origin.frame : &code->own;
	_cleanup_text_ struct text place = {0};

	if ((!code->has_origin && !code->has_own) || !frame->file[0] || !frame->line)
		return;
	text_appendf(&place, "%s:%u", frame->file, frame->line);
	text_append(text, ",\"loc\":");
	json_append_string(text, text_string(&place));
	text->failed |= place.failed;
}

static void append_frame(struct text *text, const char *key, const struct view_frame *frame)
{
	_cleanup_text_ struct text place = {0};

	view_frame_append(frame, &place);
	text_appendf(text, "\"%s\":", key);
	json_append_string(text, text_string(&place));
	text_append_char(text, ',');
	text->failed |= place.failed;
}

/* The functions, innermost first. */
static void append_stack(const struct view *view, struct text *text, u32 pid, u32 stack)
{
	_cleanup_text_ struct text frame = {0};
	const struct view_frame *frames;
	const char *cut;
	size_t count = view_frames(view, pid, stack, &frames, &cut);

	text_append(text, "\"stack\":[");
	for (size_t i = 0; i < count; i++) {
		text_clear(&frame);
		view_frame_append(&frames[i], &frame);
		text_append(text, i ? "," : "");
		json_append_string(text, text_string(&frame));
	}
	if (cut)
		text_appendf(text, count ? ",\"%s\"" : "\"%s\"", cut);
	text_append_char(text, ']');
}

void chrome_code_append_args(const struct view *view, const struct view_event *event,
			     const struct chrome_code *code, struct text *text)
{
	const struct view_launch_code *origin = &code->origin;

	if (code->has_own)
		append_frame(text, event->cause ? "launched by" : "called by", &code->own);
	if (code->has_origin) {
		/* Of work that a thread launched of which no function is the program's own: where the thread waits that wants it. */
		if (origin->waits_here)
			append_frame(text, "waits here", &origin->frame);
		if (origin->replays)
			text_append(text, "\"captured by\":\"code that ran before this replay\",");
		if (origin->autograd_node[0]) {
			text_append(text, "\"autograd\":");
			json_append_string(text, origin->autograd_node);
			text_append_char(text, ',');
		}
		/* Of what autograd does the backward pass. */
		if (origin->has_forward)
			append_frame(text, "forward", &origin->forward);
	}
	append_stack(view, text, code->pid, code->stack);
}
