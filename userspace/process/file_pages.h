/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file is behind a name or a mapping, told by the pages of memory that the kernel keeps of it. On overlayfs one file has as many names and
 * numbers as there are overlays on it; uprobes and programs use the file below. Page numbers take CAP_SYS_ADMIN: without it nothing
 * is known.
 */
#ifndef GPUPROBE_PROCESS_FILE_PAGES_H
#define GPUPROBE_PROCESS_FILE_PAGES_H

#include "process/maps.h"
#include "base/types.h"

bool file_pages_is_overlay(int fd);
/* Are both one file below? False also where that can't be told. */
bool file_pages_are_shared(int fd, int other_fd);
/*
 * Does a process run another file in that mapping than the one that fd leads to? So it does when its file was written to, or given other
 * permissions, since it was mapped: overlayfs copies it, and the process keeps the one below. False also where that can't be told.
 * pagemap_fd: /proc/PID/pagemap.
 */
bool file_pages_are_others(int fd, int pagemap_fd, const struct maps_line *line);

#endif
