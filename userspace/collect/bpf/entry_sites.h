/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Telling the programs what the cookies of entries have no room for. */
#ifndef GPUPROBE_COLLECT_BPF_ENTRY_SITES_H
#define GPUPROBE_COLLECT_BPF_ENTRY_SITES_H

#include "plan/plan.h"
#include "base/err.h"

/* Is there more to tell of it than fits into its cookie? */
bool entry_site_is_needed(const struct plan_function *function);
/* Fills the map entry_sites (bpf/maps.h); before anything is attached. first: added to the ids of the probes. */
int entry_sites_put(int map_fd, const struct plan *plan, size_t first, struct err *err);

#endif
