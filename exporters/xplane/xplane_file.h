/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a profile: PATH itself when it ends in .xplane.pb, else a folder that XProf and TensorBoard are pointed
 * at (--logdir): PATH/plugins/profile/YYYY_MM_DD_HH_MM_SS/HOST.xplane.pb, one file a process.
 */
#ifndef GPUPROBE_EXPORTERS_XPLANE_XPLANE_FILE_H
#define GPUPROBE_EXPORTERS_XPLANE_XPLANE_FILE_H

#include "exporters/xplane/xplane_messages.h"
#include "exporters/xplane/xplane_rows.h"

#define XPLANE_SUFFIX ".xplane.pb"

/* Readers of protobuf take less. (A test has a limit of its own.) */
#ifndef XPLANE_FILE_BYTES_MAX
#define XPLANE_FILE_BYTES_MAX ((u64)INT32_MAX)
#endif

/* Else it is one file. */
bool xplane_path_is_folder(const char *path);
/* Can a folder be written? Asked before a recording. */
int xplane_path_check(const char *path, struct err *err);

/* Writes all spaces; on failure nothing is left behind. ret_size_bytes: of all files. */
int xplane_files_write(const char *path, const struct view *view, struct xplane_rows *rows,
		       const struct xplane_messages *messages, const struct spool_store *store, u64 *ret_size_bytes, struct err *err);
/* "can't write PATH: it would be more than 2 GiB, ..." */
int xplane_too_large(const char *path, struct err *err);

#endif
