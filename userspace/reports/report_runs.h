/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the tables of reports, of several with as few runs over the events as they need together. */
#ifndef GPUPROBE_REPORTS_REPORT_RUNS_H
#define GPUPROBE_REPORTS_REPORT_RUNS_H

#include "reports/report_table.h"

/* A table that is wanted; both are the caller's. */
struct report_wanted {
	const struct report_request *request;
	struct report_table *table; /* empty */
};

/* Each is as report_runs_one() would make it. An error is that of one of them, and then none is whole. */
int report_runs_all(struct view *view, const struct report_wanted *wanted, size_t count, struct err *err);
int report_runs_one(struct view *view, const struct report_request *request, struct report_table *table, struct err *err);

#endif
