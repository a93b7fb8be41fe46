/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the generated functions of the runtime API need, and what they give. */
#ifndef SIM_RUNTIME_GENERATED_H
#define SIM_RUNTIME_GENERATED_H

#include <cuda_runtime_api.h>
#include <generated_cuda_runtime_api_meta.h>
#include <cupti_runtime_cbid.h>
#include "../interface.h"
#include "runtime_api.h"

struct sim_symbol {
	const char *name;
	void *address;
};
extern const struct sim_symbol sim_symbols[];

int sim_runtime_call(const struct sim_site *site, int (*run)(const void *params), const void *params, int unsupported);
#define SIM_CALL sim_runtime_call

#endif
