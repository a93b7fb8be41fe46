/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of -o: checked before anything is attached, written at the end. For record and export. */
#ifndef GPUPROBE_VERBS_OUTPUTS_H
#define GPUPROBE_VERBS_OUTPUTS_H

#include "options/options.h"
#include "reports/blocks.h"
#include "store/capture_reader.h"

/* Are all formats known, all folders there and writable, none named twice? -EINVAL is wrong usage, all else
 * a failure. Touches nothing. */
int outputs_check(const struct options *options, struct err *err);

/* The first output that is a capture (.gpr): where record writes it to begin with. NULL: none is. */
const char *outputs_capture_path(const struct options *options);

/* A name for a file beside an output that is a file or a folder: its own, and end behind it. NULL: it has no such place. */
char *outputs_name_beside(const struct options *options, const char *path, const char *end);

/* Writes all outputs but the file capture_path itself, where it is one of them. Prints what was written and
 * what failed: one that fails does not keep the others from being written. 0 or the first -errno. */
int outputs_write(struct capture_reader *reader, int capture_fd, const char *capture_path,
		  const struct options *options);

/* The summary behind a recording. */
int summary_print(struct capture_reader *reader, const struct blocks_style *style, struct err *err);

#endif
