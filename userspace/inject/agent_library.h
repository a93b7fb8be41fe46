/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's library (gpu/), as it was built into this program. */
#ifndef GPUPROBE_INJECT_AGENT_LIBRARY_H
#define GPUPROBE_INJECT_AGENT_LIBRARY_H

#include "base/types.h"

const void *agent_library(size_t *ret_bytes);

#endif
