/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the generated functions of the API need, and what they give. */
#ifndef SIM_DRIVER_GENERATED_H
#define SIM_DRIVER_GENERATED_H

#include <cuda.h>
#include <generated_cuda_meta.h>
#include <cupti_driver_cbid.h>
#include "../interface.h"
#include "driver_api.h"

struct sim_symbol {
	const char *name;
	void *address;
};
extern const struct sim_symbol sim_symbols[]; /* ends with a NULL name */

int sim_call(const struct sim_site *site, int (*run)(const void *params), const void *params, int unsupported);
#define SIM_CALL sim_call

#endif
