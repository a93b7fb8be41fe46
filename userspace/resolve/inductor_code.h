/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What PyTorch's compiler (inductor) says in the Python that it writes of the kernels in it. Bytes of a stranger. */
#ifndef GPUPROBE_RESOLVE_INDUCTOR_CODE_H
#define GPUPROBE_RESOLVE_INDUCTOR_CODE_H

#include <stddef.h>

#include "base/types.h"

struct inductor_text {
	const char *at;
	size_t length;
};

struct inductor_kernel {
	struct inductor_text path;	 /* of the file with the kernel alone */
	struct inductor_text nodes;	 /* "linear, relu": the variables and calls of the program that it stands for */
	struct inductor_text operations; /* "aten.addmm, aten.relu" */
	struct inductor_text name;
};

/* The next one from *offset on, which moves behind it. False: there is none. What it gives lies in bytes. */
bool inductor_code_next(const char *bytes, size_t size, size_t *offset, struct inductor_kernel *ret_kernel);

#endif
