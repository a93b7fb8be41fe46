/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that a program has copied from its file to memory of no file, at the same place: on huge pages it needs fewer entries of the TLB
 * (node --use-largepages, HHVM, Chromium). For code_map.c.
 */
#ifndef GPUPROBE_PROCESS_MOVED_TEXT_H
#define GPUPROBE_PROCESS_MOVED_TEXT_H

#include "process/code_map.h"
#include "process/maps.h"

/* A mapping of the process whose file has at *ret_file_offset what the process has in this memory of no file: the place fits, and so do the
 * bytes, breakpoints aside (of much of it the first 256 KiB). NULL: there is none, or it can't be read. */
const struct code_mapping *moved_text_find(const struct code_map *map, u32 pid, int proc_fd,
					   const struct maps_line *line, u64 *ret_file_offset);

#endif
