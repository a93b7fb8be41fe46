/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of check about USDT probes. */
#ifndef GPUPROBE_VERBS_CHECK_USDT_H
#define GPUPROBE_VERBS_CHECK_USDT_H

#include "plan/plan.h"
#include "base/text.h"

/* Those of the plan, by file: where, arguments, what they begin or end. */
void check_append_usdt(struct text *text, const struct plan *plan);
/* What the files offer, in numbers: a line for each provider of a file. Reads their notes. */
void check_append_usdt_offers(struct text *text, const struct plan *plan);

#endif
