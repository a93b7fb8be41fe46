/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports: tables over a view. A report is a row of reports.def: a name and a function that makes its columns and rows; printing
 * is the same for all (report_print.c).
 */
#ifndef GPUPROBE_REPORTS_REPORTS_H
#define GPUPROBE_REPORTS_REPORTS_H

#include <stdio.h>

#include "base/err.h"
#include "view/view.h"

/* column: aligned, with a title and notes; table: the same in boxes; csv: RFC 4180 but with a plain newline; tsv: tabs
 * between, no quotes; json: an array of objects. */
enum report_format { REPORT_COLUMN, REPORT_TABLE, REPORT_CSV, REPORT_TSV, REPORT_JSON };

/* What may stand behind the name of a report, with a colon in front. */
enum report_option {
	REPORT_TAKES_NONE,
	REPORT_TAKES_NAMES = 1, /* :base, :mangled */
	REPORT_TAKES_NVTX = 2,	/* :nvtx-name, or :nvtx */
	REPORT_TAKES_ROWS = 4,	/* :rows=N */
	REPORT_TAKES_GROUPS = 8, /* :thread, :process, :line */
	REPORT_TAKES_ALIKE = 16, /* :alike */
	REPORT_TAKES_IDLE = 32, /* :idle */
	REPORT_TAKES_MODULE = 64, /* :module */
	REPORT_TAKES_FRAMES = 128, /* :frames */
};

/* How kernels are called. */
enum report_names {
	REPORT_NAMES_FULL,    /* void ns::f<float, 128>(float const *) */
	REPORT_NAMES_BASE,    /* f */
	REPORT_NAMES_MANGLED, /* _ZN2ns1fI... */
};

struct report_table; /* reports/report_table.h */
struct report_run;
struct report;

/* A report as it was asked for: "cuda_gpu_kern_sum:base:nvtx-name". */
struct report_request {
	const struct report *report;
	enum report_names names;
	bool nvtx_name; /* behind the name of the innermost range around the launch */
	u64 rows;	/* the most that it makes; 0: nobody said */
	bool by_thread, by_process, by_line, by_module; /* has a row for each */
	bool alike; /* has one row for threads that are alike */
	bool by_frame; /* has a row for each function of a stack, for people too */
	bool idle; /* has rows of their own for threads that do next to nothing */
};

#define REPORT_ALIASES_MAX 4

struct report {
	const char *name, *aliases[REPORT_ALIASES_MAX], *meaning, *data; /* reports.def */
	unsigned options;
	/* One of both, of report_table.h; report_runs.h calls them. */
	int (*make)(struct view *view, const struct report_request *request,
		    struct report_table *table, struct err *err);
	int (*begin)(struct view *view, const struct report_request *request,
		     struct report_table *table, struct report_run *ret_run, struct err *err);
};

const struct report *reports(size_t *ret_count);
/* What people get behind a report, where they ask for it; NULL: nothing. */
const char *report_then(const struct report *report);
/* A name or alias, perhaps with options behind it; -EINVAL names the known ones and the nearest. */
int report_parse(const char *words, struct report_request *ret_request, struct err *err);
/* "[:base][:mangled]", "" where it takes none. */
void report_append_options(const struct report *report, struct text *text);
int report_format_find(const char *name, enum report_format *ret_format, struct err *err);
bool report_format_is_for_people(enum report_format format);
const char *report_format_ending(enum report_format format); /* of files, without a dot */

/* What times are printed in. */
struct report_time_unit {
	const char *name;
	double ns;
	int decimals;
};
/* NULL in ret_unit: nanoseconds. */
int report_time_unit_find(const char *name, const struct report_time_unit **ret_unit,
			  struct err *err);

struct report_style {
	enum report_format format;
	bool skip_empty; /* for people, who asked for none: a table without rows is not printed */
	u64 max_rows; /* 0: all; for people it is said how many were left out */
	const struct report_time_unit *time_unit; /* NULL: ns */
	const char *path;			  /* of the capture, for people */
	FILE *file; /* flushing it, and whether it took all, is its owner's */
};

/* ret_row_count: those printed; may be NULL. */
int report_print(const struct report_request *request, struct view *view,
		 const struct report_style *style, u64 *ret_row_count, struct err *err);

#endif
