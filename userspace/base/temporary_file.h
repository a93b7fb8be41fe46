/* Files for what is too much for memory: without a name, gone when closed. */
#ifndef GPUPROBE_BASE_TEMPORARY_FILE_H
#define GPUPROBE_BASE_TEMPORARY_FILE_H

#include "base/err.h"

/* Open for reading and writing, in $TMPDIR, else /var/tmp, else /tmp. err ends with what to do. */
int temporary_file_open(int *ret_fd, struct err *err);

#endif
