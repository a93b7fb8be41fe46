/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stack on one line of a screen: the way that leads to a function, of it what says most of the program. */
#ifndef GPUPROBE_REPORTS_BLOCK_WAY_H
#define GPUPROBE_REPORTS_BLOCK_WAY_H

#include "reports/block_append.h"

/* lines: names of functions, a line each, the innermost first. The caller frees the result; NULL: out of memory. */
char *block_way_join(const char *lines, enum shown shown);

#endif
