/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as what Triton and PyTorch's inductor keep of kernels. What is read must lie in them, and be whole. */
#include <stdlib.h>
#include <string.h>

#include "resolve/inductor_code.h"
#include "resolve/triton_ir.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void check_text(const struct inductor_text *text, const char *bytes, size_t size)
{
	if (text->length &&
	    (text->at < bytes || text->length > size || text->at + text->length > bytes + size))
		abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct triton_kernel kernel;
	struct inductor_kernel made;
	/* Of exactly that size: what reads behind it is found. */
	char *bytes = malloc(size + !size);
	size_t offset = 0, before = 0;

	memcpy(bytes, data, size);
	if (triton_ir_read(bytes, size, &kernel) &&
	    (!kernel.name[0] || !kernel.file[0] || !kernel.line ||
	     strnlen(kernel.name, sizeof(kernel.name)) == sizeof(kernel.name) ||
	     strnlen(kernel.file, sizeof(kernel.file)) == sizeof(kernel.file)))
		abort();
	while (inductor_code_next(bytes, size, &offset, &made)) {
		if (offset <= before || offset > size)
			abort();
		before = offset;
		check_text(&made.path, bytes, size);
		check_text(&made.name, bytes, size);
		check_text(&made.nodes, bytes, size);
		check_text(&made.operations, bytes, size);
	}
	free(bytes);
	return 0;
}
