/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What record says of debug files that it asks servers for. By base/log.h. */
#ifndef GPUPROBE_VERBS_ANNOUNCE_DEBUG_H
#define GPUPROBE_VERBS_ANNOUNCE_DEBUG_H

#include "resolve/resolve.h"

/* Before: how many. */
void announce_debug_asked(size_t count);
/* Afterwards: what came of it, where something was asked or kept. */
void announce_debug_files(const struct resolve_debug_status *status);

#endif
