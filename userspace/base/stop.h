/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stop flag, one of the two globals that the program has: set by SIGINT, SIGTERM and SIGHUP while
 * outputs are written, so that a long export ends in order and leaves no half file behind. (A recording takes
 * these signals itself.)
 */
#ifndef GPUPROBE_BASE_STOP_H
#define GPUPROBE_BASE_STOP_H

#include "base/types.h"

/* From here on the signals set the flag, the second one kills. */
void stop_install(void);
bool stop_requested(void);

#endif
