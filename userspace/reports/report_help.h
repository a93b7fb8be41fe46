/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reports hold, for people: names, options, columns. */
#ifndef GPUPROBE_REPORTS_REPORT_HELP_H
#define GPUPROBE_REPORTS_REPORT_HELP_H

#include <stdio.h>

#include "base/err.h"
#include "reports/reports.h"

/* The meaning of a column of a report, NULL: nobody wrote one. name: with its unit. */
const char *report_column_words(const struct report *report, const char *name);
/* Its name, options, aliases, meaning and columns, by making it of nothing: view is of an empty capture. */
int report_help_print(const struct report_request *request, struct view *view, FILE *file, struct err *err);

#endif
