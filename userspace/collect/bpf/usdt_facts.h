/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the records of USDT probes refer to. */
#ifndef GPUPROBE_COLLECT_BPF_USDT_FACTS_H
#define GPUPROBE_COLLECT_BPF_USDT_FACTS_H

#include "collect/recording_facts.h"

/* Adds the facts of the plan's USDT probes; behind recording_facts_plan(). 0 or -ENOMEM. */
int usdt_facts_put(struct recording_facts *facts, struct batch *batch, const struct plan *plan);

#endif
