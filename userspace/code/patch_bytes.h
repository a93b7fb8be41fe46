/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jumps that programs write over their own code, of which the kernel has overwritten the first byte: by the breakpoint of a probe, or, when
 * that was taken off, by the byte that the file has there.
 */
#ifndef GPUPROBE_CODE_PATCH_BYTES_H
#define GPUPROBE_CODE_PATCH_BYTES_H

#include <stddef.h>

#include "base/types.h"

#define PATCH_BYTES 13 /* the longest usual one */

/*
 * What the first byte was, by those behind it: of the forms that UCX, Open MPI, libfabric, Frida, funchook, uftrace and LLVM XRay
 * write. has_code(): whether code is mapped at an address, where a jump that gives a distance must lead. -1: it can't be told.
 */
int patch_first_byte(const u8 *bytes, size_t size_bytes, u64 address,
		     bool (*has_code)(const void *data, u64 address), const void *data);

#endif
