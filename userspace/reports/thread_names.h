/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of threads of a pool, which differ by a number at the end: "io_thd_1" to "io_thd_4" are "io_thd x4". */
#ifndef GPUPROBE_REPORTS_THREAD_NAMES_H
#define GPUPROBE_REPORTS_THREAD_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "base/types.h"

/* How much of it is alike: "io_thd_" of "io_thd_3"; all of a name that is a number. */
size_t thread_name_stem_length(const char *name);
/* One row's name for `count` threads; name: of one of them; they_differ: not all have that one. */
void thread_names_append(struct text *text, const char *name, bool they_differ, u64 count);

#endif
