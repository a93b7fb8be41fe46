/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process calls itself, where that tells more than its name: "postgres: checkpointer", "nginx: worker process". It is the first
 * argument as the process has it now. The others are not read: they may hold what nobody else shall see.
 */
#ifndef GPUPROBE_PROCESS_PROCESS_TITLE_H
#define GPUPROBE_PROCESS_PROCESS_TITLE_H

#include <stdbool.h>

#include "base/text.h"
#include "base/types.h"

#define PROCESS_TITLE_COLUMNS 100

/* The title, cut at so many columns, malloc'ed; NULL: it has none, which a mere path of its program is not. 0 or -errno: it is gone. */
int process_title_read(u32 pid, char **ret_title);
/* The same of what /proc/PID/cmdline holds, NUL-terminated, behind text; false: it has none. */
bool process_title_append_of(const char *command_line, struct text *text);

#endif
