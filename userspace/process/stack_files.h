/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which files the stacks of a process lead through right now, without a walk: every word on them that is an address in code counts. */
#ifndef GPUPROBE_PROCESS_STACK_FILES_H
#define GPUPROBE_PROCESS_STACK_FILES_H

#include "process/code_map.h"

/* Sets ret_used[number of a file of the map] for those; others stay. More of them than there are on the stacks as they are, since what
 * calls have left there counts too; up to 64 KB of a stack are looked at. False: where its stacks are can't be told, since a thread runs, or
 * since there are more threads than are looked at; the files may be any. Reads the memory of the process. */
bool stack_files_mark(const struct code_map *map, u32 pid, bool *ret_used);

#endif
