/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths as strings; nothing is looked up. */
#ifndef GPUPROBE_BASE_PATH_H
#define GPUPROBE_BASE_PATH_H

#include "base/types.h"

/* What stands behind the last slash; the whole path where nothing does. Points into it. */
const char *path_base_name(const char *path);

/* A path from /proc (maps, exe) as its process sees it: without the " (deleted)" that the kernel appends, and without
 * root, which a process in a chroot has in front ("" or "/": none). The caller frees; NULL: out of memory.
 * ret_deleted: whether it had the ending; NULL allowed. */
char *path_from_proc(const char *path, const char *root, bool *ret_deleted);

#endif
