/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reports/report_kernel_name.h"

#include <errno.h>
#include <stdio.h>

int kernel_names_init(struct kernel_names *names, const struct view *view,
		      const struct report_request *request, struct err *err)
{
	*names = (struct kernel_names){.view = view, .request = request};
	return view_key(view, "reports", schema_kind(KIND_kernel), "short_name", &names->short_name,
			err);
}

void kernel_names_free(struct kernel_names *names)
{
	text_free(&names->with_range);
}

const char *kernel_names_alone(const struct kernel_names *names, const struct view_event *kernel)
{
	const char *symbol;

	switch (names->request->names) {
	case REPORT_NAMES_BASE:
		return view_value(names->view, names->short_name, kernel).string;
	case REPORT_NAMES_MANGLED:
		symbol = view_text(names->view, kernel->record->name);
		return symbol ? symbol : kernel->name;
	default:
		return kernel->name;
	}
}

/* Functions are no ranges. */
static const struct view_path *innermost_range(const struct view *view, u32 number)
{
	const struct view_path *path = view_path(view, number);

	while (path && path->kind == KIND_call)
		path = view_path(view, path->parent);
	return path;
}

const char *kernel_names_in_range(struct kernel_names *names, u32 path, const char *alone)
{
	const struct view_path *range =
		names->request->nvtx_name ? innermost_range(names->view, path) : NULL;
	const char *domain;

	if (!range)
		return alone;
	text_clear(&names->with_range);
	domain = view_text(names->view, range->domain);
	if (domain) {
		text_append(&names->with_range, domain);
		text_append_char(&names->with_range, ':');
	}
	text_append(&names->with_range, range->name);
	text_append_char(&names->with_range, '/');
	text_append(&names->with_range, alone);
	return names->with_range.failed ? NULL : text_string(&names->with_range);
}

const char *kernel_names_of(struct kernel_names *names, const struct view_event *kernel)
{
	return kernel_names_in_range(names, kernel->cause ? kernel->cause->path : 0,
				     kernel_names_alone(names, kernel));
}

void report_write_size(const u32 *size, char *ret_text)
{
	snprintf(ret_text, REPORT_SIZE_CHARS, "%4u %4u %4u", size[0], size[1], size[2]);
}
