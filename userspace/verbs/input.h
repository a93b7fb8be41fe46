/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a verb reads: a capture, its text form, or a database of Nsight Systems, told apart by content. "-" is standard input; what cannot
 * be read twice (a pipe) is kept in a temporary file.
 */
#ifndef GPUPROBE_VERBS_INPUT_H
#define GPUPROBE_VERBS_INPUT_H

#include "base/err.h"
#include "store/capture_reader.h"

struct input {
	int fd; /* of a capture, seekable */
	struct capture_reader *reader;
};

/* err names the path. */
int input_open(const char *path, struct input *ret_input, struct err *err);
void input_close(struct input *input);

#endif
