/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of gpuprobe itself, for probes that try something on it. */
#ifndef GPUPROBE_PROBE_OWN_CODE_H
#define GPUPROBE_PROBE_OWN_CODE_H

#include "base/types.h"

/* Where in our own file (/proc/self/exe) a function of ours lies. 0 or -errno. */
int own_code_offset(void (*function)(void), u64 *ret_offset);

#endif
