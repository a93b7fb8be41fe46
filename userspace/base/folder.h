/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder that an output path lies in, reached without following any symbolic link that stands in a
 * world-writable folder (anybody could have put it there), nor, as root, one of a user other than root and the
 * one behind sudo. Links elsewhere are followed.
 */
#ifndef GPUPROBE_BASE_FOLDER_H
#define GPUPROBE_BASE_FOLDER_H

#include <limits.h>

#include "base/err.h"

/* ret_fd: the folder (O_PATH), the caller's; ret_name: the last component, whose own link is followed by
 * the same rule. The name need not exist. */
int folder_open_parent(const char *path, int *ret_fd, char ret_name[NAME_MAX + 1], struct err *err);

#endif
