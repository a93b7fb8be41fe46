/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said at the end of a recording. */
#ifndef GPUPROBE_VERBS_RECORD_SUMMARY_H
#define GPUPROBE_VERBS_RECORD_SUMMARY_H

#include "options/options.h"
#include "store/capture_reader.h"

/* The summary, to standard output unless that carries data, in what is left of a screen beside the messages. Says what is wrong; a reader that
 * has left is no failure. capture_asked: the user wants the capture itself. 0 or -errno. */
int record_summary_write(struct capture_reader *reader, const struct options *options, const char *capture_path,
			 bool capture_asked);

#endif
