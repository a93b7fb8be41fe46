/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of what events refer to by a number of ours: names of domains and categories of NVTX, call stacks. */
#ifndef GPUPROBE_EXPORTERS_NSYS_NSYS_LIST_ROWS_H
#define GPUPROBE_EXPORTERS_NSYS_NSYS_LIST_ROWS_H

#include "base/err.h"

struct database;
struct nsys_values;

/* Writes those of all lists, and adds their names to the strings of values. Behind all events. 0, or -errno with words in err. */
int nsys_lists_write(struct database *database, struct nsys_values *values, struct err *err);

#endif
