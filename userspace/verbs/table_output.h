/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where tables of stats go: "-" standard output; "@COMMAND" the standard input of a command; "BASE" a file
 * BASE_REPORT.csv for each report (FOLDER/REPORT.csv where BASE ends so), and "." the same with the name of the capture, without its ending, as BASE.
 */
#ifndef GPUPROBE_VERBS_TABLE_OUTPUT_H
#define GPUPROBE_VERBS_TABLE_OUTPUT_H

#include <stdio.h>

#include "base/err.h"
#include "reports/reports.h"

struct table_output {
	FILE *file;	       /* print here */
	struct output *output; /* NULL: a command */
	char *name;	       /* for people */
};

enum table_output_type { TABLE_OUTPUT_STANDARD, TABLE_OUTPUT_COMMAND, TABLE_OUTPUT_FILE };
enum table_output_type table_output_type(const char *spelled);

/* words: the report as it was asked for; capture: its path. A file that exists is replaced, but not before it is whole. Ignores
 * SIGPIPE from then on. */
int table_output_open(const char *spelled, const char *words, const char *capture,
		      enum report_format format, struct table_output *ret_output, struct err *err);
/* commit: the tables are whole. Closes it in every case. A reader of standard output that has gone (`| head`) is no failure; a command
 * that failed is one. */
int table_output_close(struct table_output *output, bool commit, struct err *err);

#endif
