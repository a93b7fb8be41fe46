/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a kernel of Triton is written, by the intermediate code (.ttir, .ttgir) that its cache keeps of it. Bytes of a stranger. */
#ifndef GPUPROBE_RESOLVE_TRITON_IR_H
#define GPUPROBE_RESOLVE_TRITON_IR_H

#include <stddef.h>

#include "base/types.h"

#define TRITON_NAME_MAX_BYTES 512
#define TRITON_FILE_MAX_BYTES 4096

struct triton_kernel {
	char name[TRITON_NAME_MAX_BYTES]; /* of its function */
	char file[TRITON_FILE_MAX_BYTES]; /* as Python had it */
	u32 line;			  /* of its def */
};

/* The first public function in it. False: there is none, or nothing is said of where it is from. */
bool triton_ir_read(const char *bytes, size_t size, struct triton_kernel *ret_kernel);

#endif
