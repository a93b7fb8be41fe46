/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the BPF program on a probe is told by its cookie (bpf/shared.h): whose probe it is and how to do its instruction. */
#ifndef GPUPROBE_COLLECT_BPF_COOKIE_H
#define GPUPROBE_COLLECT_BPF_COOKIE_H

#include "plan/plan.h"
#include "base/types.h"

/* index: of the function in its plan. */
u64 cookie_of_entry(const struct plan_function *function, size_t index);
/* emulated: by a program that may set registers. */
u64 cookie_of_exit(const struct plan_function *function, const struct return_site *site, size_t index,
		   bool emulated);

#endif
