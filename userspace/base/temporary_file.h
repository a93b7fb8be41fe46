/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files for what is too much for memory, without a name, gone when closed; and private folders. */
#ifndef GPUPROBE_BASE_TEMPORARY_FILE_H
#define GPUPROBE_BASE_TEMPORARY_FILE_H

#include "base/err.h"
#include "base/types.h"

/* Open for reading and writing, in $TMPDIR, else /var/tmp, else /tmp. err ends with what to do. */
int temporary_file_open(int *ret_fd, struct err *err);

/* Is an error one of having no such file, or no room in it? What needed it may be left out then, and the rest goes on. */
bool temporary_file_is_failure(int result);

/* A folder NAME-XXXXXX of mode 0700, there too. Its path and its end are the caller's. */
int temporary_folder_make(const char *name, char **ret_path, struct err *err);

#endif
