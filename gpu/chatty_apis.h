/* SPDX-License-Identifier: MIT */
/* The table chatty_apis.def. */
#ifndef GPUPROBE_GPU_CHATTY_APIS_H
#define GPUPROBE_GPU_CHATTY_APIS_H

#include "types.h"

struct chatty_range {
	u8 domain; /* enum of record.def: api_domain */
	u16 first, last;
};

extern const struct chatty_range chatty_apis[];
extern const size_t chatty_api_count;

bool chatty_apis_has(u32 domain, u32 callback);

#endif
