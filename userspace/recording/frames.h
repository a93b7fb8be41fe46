/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frame facts: the names of what the stacks of a recording lead to. */
#ifndef GPUPROBE_RECORDING_FRAMES_H
#define GPUPROBE_RECORDING_FRAMES_H

#include "process/code_map.h"
#include "python/python_codes.h"
#include "store/stack_addresses.h"

/* Adds them to batch, and to the ledger what took too long. 0 or -ENOMEM. Takes some seconds at most; says what else is
 * wrong. */
int frames_put(const struct stack_addresses *stacks, const struct code_map *code, const struct python_codes *python,
	       struct text_ids *texts, struct batch *batch);

#endif
