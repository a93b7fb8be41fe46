/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kernels are called in a report, as it was asked for, and how their sizes are written. */
#ifndef GPUPROBE_REPORTS_REPORT_KERNEL_NAME_H
#define GPUPROBE_REPORTS_REPORT_KERNEL_NAME_H

#include "base/text.h"
#include "reports/reports.h"

struct kernel_names {
	const struct view *view;
	const struct report_request *request;
	const struct view_key *short_name;
	struct text with_range;
};

/* request outlives it. */
int kernel_names_init(struct kernel_names *names, const struct view *view,
		      const struct report_request *request, struct err *err);
void kernel_names_free(struct kernel_names *names);
/* The name alone, valid as long as the view. */
const char *kernel_names_alone(const struct kernel_names *names, const struct view_event *kernel);
/* The same behind the innermost range of its path, where that was asked for and there is one: "forward/gemm", "model:forward/gemm". Valid until
 * the next call; NULL without memory. */
const char *kernel_names_in_range(struct kernel_names *names, u32 path, const char *alone);
/* Both. */
const char *kernel_names_of(struct kernel_names *names, const struct view_event *kernel);

#define REPORT_SIZE_CHARS 36 /* three numbers, the blanks between, the end */
/* Of a grid or a block, x y z, as nsys aligns it: " 256    2    1". */
void report_write_size(const u32 *size, char *ret_text);

#endif
