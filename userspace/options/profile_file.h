/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of --options: lines KEY=VALUE; # begins a comment. What the keys mean is profile.h's. */
#ifndef GPUPROBE_OPTIONS_PROFILE_FILE_H
#define GPUPROBE_OPTIONS_PROFILE_FILE_H

#include "base/err.h"

/* where: "FILE:3". What it returns, unless 0, ends the reading. */
typedef int profile_pair(void *data, const char *key, const char *value, const char *where, struct err *err);

/* Each pair, in the order of the file. */
int profile_file_read(const char *path, profile_pair *callback, void *data, struct err *err);

#endif
