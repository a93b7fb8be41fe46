/* What a Chrome trace says of an event besides its name and times: its category and its args, by tables with
 * the words of Kineto (PyTorch's profiler), which other programs look for. */
#ifndef GPUPROBE_EXPORTERS_CHROME_CHROME_ARGS_H
#define GPUPROBE_EXPORTERS_CHROME_CHROME_ARGS_H

#include "base/err.h"
#include "base/text.h"
#include "view/view.h"

struct chrome_kind;

struct chrome_args {
	const struct view *view;
	struct chrome_kind *kinds; /* by their place in schema_kinds() */
	size_t kind_count;
};

/* Looks the tables up in the view. 0 or -ENOMEM; chrome_args_free() in both cases. */
int chrome_args_find(struct chrome_args *args, const struct view *view);
void chrome_args_free(struct chrome_args *args);

const char *chrome_args_category(const struct chrome_args *args, const struct view_event *event);
/* ,"args":{...}; nothing when there are none. */
void chrome_args_append(const struct chrome_args *args, const struct view_event *event,
			struct text *text);
/* Has it args? */
bool chrome_args_any(const struct chrome_args *args, const struct view_event *event);

#endif
