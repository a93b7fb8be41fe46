/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a view says of its spans as one line, in their order, for tests that compare it with what it has to be. */
#ifndef GPUPROBE_TESTS_VIEW_WORDS_H
#define GPUPROBE_TESTS_VIEW_WORDS_H

#include "base/text.h"
#include "unit.h"
#include "view/view.h"

struct view_words {
	const struct view *view;
	struct text text;
};

static inline int view_words_open(void *data, const struct view *view,
				  const struct view_survey *survey, struct err *err)
{
	((struct view_words *)data)->view = view;
	return 0;
}

/* span: of the sink; it appends to the text of its struct view_words. A second run gives the same as the first. */
static inline void view_words_check(struct view *view,
				    int (*span)(void *data, const struct view_event *event,
						struct err *err),
				    const char *expected)
{
	const struct view_sink sink = {.open = view_words_open, .span = span};

	for (int run = 0; run < 2; run++) {
		struct view_words words = {0};
		struct err err = {0};

		CHECK_OK(view_run(view, &sink, &words, &err), err);
		CHECK_STRING(text_string(&words.text), expected);
		text_free(&words.text);
	}
}

#endif
