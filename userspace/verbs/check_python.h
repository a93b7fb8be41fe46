/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `check` says of Python in the targets. */
#ifndef GPUPROBE_VERBS_CHECK_PYTHON_H
#define GPUPROBE_VERBS_CHECK_PYTHON_H

#include "base/text.h"
#include "process/target.h"

/* A line where the target has an interpreter. */
void check_python_append(const struct target *target, struct text *text);

#endif
