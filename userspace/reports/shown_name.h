/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of code in few columns, such that those beside each other differ in what is shown. */
#ifndef GPUPROBE_REPORTS_SHOWN_NAME_H
#define GPUPROBE_REPORTS_SHOWN_NAME_H

#include <stddef.h>

#include "base/text.h"

/*
 * names[i] as shown in at most `columns` columns (20 or more), made safe for a terminal, in ret_names[i], which is zero-initialised. What is
 * longer is cut in the middle, where it is like the name most like it. Names of code lose their return type, their parameters,
 * "(anonymous namespace)::", and within them the namespaces that they stand in themselves. Two different names differ in what is
 * shown. names[i]: never NULL. 0 or -ENOMEM.
 */
int shown_names(const char *const *names, size_t count, size_t columns, bool code,
		struct text *ret_names);

#endif
