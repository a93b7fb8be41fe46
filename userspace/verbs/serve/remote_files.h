/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder that the files of one remote capture lie in: private, of mode 0700, in $TMPDIR, else /var/tmp, else /tmp. */
#ifndef GPUPROBE_VERBS_SERVE_REMOTE_FILES_H
#define GPUPROBE_VERBS_SERVE_REMOTE_FILES_H

#include "base/err.h"
#include "base/types.h"

/* An XSpace: of one process. */
struct remote_file {
	char *tool_name; /* "xplane.pb"; of several "PID.xplane.pb" */
	int fd;
	u64 bytes;
};

struct remote_files {
	struct remote_file *items;
	size_t count;
};

/* ret_folder: the caller's to free. */
int remote_folder_make(char **ret_folder, struct err *err);
/* With all that is in it. */
void remote_folder_remove(const char *folder);
/* Opens every XSpace in the folder or below. -ENOENT: there is none. */
int remote_files_open(const char *folder, struct remote_files *ret_files, struct err *err);
/* Closes those whose fd was not taken (-1). */
void remote_files_free(struct remote_files *files);

#endif
