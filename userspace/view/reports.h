/*
 * Reports: tables over a view. A report is a name, its columns (one table per report: name, unit, how it
 * is formatted) and a function that makes its rows; printing is the same for all.
 */
#ifndef GPUPROBE_VIEW_REPORTS_H
#define GPUPROBE_VIEW_REPORTS_H

#include <stdio.h>

#include "base/err.h"
#include "view/view.h"

enum report_format { REPORT_COLUMN, REPORT_CSV, REPORT_JSON };

struct report_table; /* view/report_table.h */

struct report {
	const char *name;    /* for -r; those of nsys stats where it has the same */
	const char *alias;   /* for -r too, NULL: none */
	const char *meaning; /* for people */
	/* Makes all rows, in their order; table is empty. */
	int (*make)(struct view *view, const struct report *report, struct report_table *table,
		    struct err *err);
	const char *then; /* what people get behind it where they ask for it, NULL: nothing */
	bool of_events; /* what a recording that was cut lost is missing in it */
};

const struct report *reports(size_t *ret_count);
/* The reports that have something to say of a capture, in the order of a summary; room for those of reports(). */
int reports_with_rows(struct view *view, const struct report **ret_reports, size_t *ret_count,
		      struct err *err);
/* -EINVAL names the known ones and the nearest. */
int report_find(const char *name, const struct report **ret_report, struct err *err);
int report_format_find(const char *name, enum report_format *ret_format, struct err *err);
/* column: for people, aligned, with a title and notes; csv: RFC 4180 but with a plain newline; json: an array
 * of objects. max_rows 0: all; only column says how many were left out. Whether file took it is for its
 * owner to see. */
int report_print(const struct report *report, struct view *view, enum report_format format,
		 u64 max_rows, FILE *file, struct err *err);

#endif
