/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files for what is too much for memory, without a name, gone when closed; and private folders. */
#ifndef GPUPROBE_BASE_TEMPORARY_FILE_H
#define GPUPROBE_BASE_TEMPORARY_FILE_H

#include "base/err.h"

/* Open for reading and writing, in $TMPDIR, else /var/tmp, else /tmp. err ends with what to do. */
int temporary_file_open(int *ret_fd, struct err *err);

/* A folder NAME-XXXXXX of mode 0700, there too. Its path and its end are the caller's. */
int temporary_folder_make(const char *name, char **ret_path, struct err *err);

#endif
