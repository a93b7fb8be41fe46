/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a viewer can show, told by content: a trace that ui.perfetto.dev reads, or a folder of profiles of XProf. */
#ifndef GPUPROBE_VERBS_OPEN_TRACE_FILE_H
#define GPUPROBE_VERBS_OPEN_TRACE_FILE_H

#include "base/err.h"
#include "base/types.h"

/* A trace of Perfetto, or Chrome's, gzip or not: the caller's descriptor. -EINVAL: it is none, with what to do where we know what it is. */
int trace_file_open(const char *path, int *ret_fd, u64 *ret_bytes, struct err *err);
/* Is path a folder? */
bool trace_folder_is(const char *path);
/* Does it hold a profile, plugins/profile/RUN/NAME.xplane.pb? Else -EINVAL. */
int trace_folder_check(const char *path, struct err *err);

#endif
