/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is waited for, without numbers that are others each time: else each connection and each child that is waited for would be a place of its own. */
#ifndef GPUPROBE_WHY_WHY_OBJECT_H
#define GPUPROBE_WHY_WHY_OBJECT_H

#include "base/text.h"

/* "pipe <- loader (pid 17)" -> "pipe <- loader"; "tcp 10.0.0.1:41234 <-> 10.0.0.2:6379", which the process made itself: -> "tcp 10.0.0.1 <-> 10.0.0.2:6379". */
void why_object_append(const char *object, struct text *text);

#endif
