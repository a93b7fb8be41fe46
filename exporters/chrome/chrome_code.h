/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a Chrome trace says of the code that an event goes back to: its stack, and of calls of CUDA and of what they launched the function and the
 * line of the program's own. */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_CODE_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_CODE_H

#include "base/text.h"
#include "view/view.h"

struct chrome_code {
	u32 pid, stack; /* its own stack, or that of the launch; 0: not known */
	bool has_own;	/* own: of a call of CUDA, or of work that one launched */
	struct view_frame own; /* the function of that stack that is the program's own */
	bool has_origin;
	struct view_launch_code origin; /* of such work: what it goes back to */
};

/* Its strings live as long as the view. */
void chrome_code_find(const struct view *view, const struct view_event *event, struct chrome_code *ret_code);
/* ,"loc":"/srv/app/train.py:12", a key of the event beside its args, by which Tracy's import-chrome knows where it is from; nothing where no line
 * is known. */
void chrome_code_append_loc(const struct chrome_code *code, struct text *text);
/* "launched by":"step (train.py:12)","stack":[...], args of an event that has a stack. */
void chrome_code_append_args(const struct view *view, const struct view_event *event, const struct chrome_code *code, struct text *text);

#endif
