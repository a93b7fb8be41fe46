/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instruction at a place that is to be probed, as it was when that was decided: compared with what stands there just before
 * the probe is put in. The kernel does the instruction of the file instead of the breakpoint, whatever the process has there.
 */
#ifndef GPUPROBE_CODE_SITE_BYTES_H
#define GPUPROBE_CODE_SITE_BYTES_H

#include "code/instruction.h"
#include "base/types.h"

#define SITE_BYTES_MAX 15 /* of an instruction */

struct site_bytes {
	u8 size_bytes; /* 0: not known, anything will do */
	u8 bytes[SITE_BYTES_MAX];
};

/* Of the instruction at *bytes, of which there are `size` up to the end of its function; where that is not known, its first byte. */
void site_bytes_keep(struct decoder *decoder, const u8 *bytes, size_t size, u64 address,
		     struct site_bytes *ret_site);

/* A nop of five bytes, of the form that kernels make a call of. */
bool site_bytes_is_long_nop(const struct site_bytes *site);

bool site_byte_is_breakpoint(u8 byte);

/* Is the instruction of a file, or a part of it, still the same? found: size_bytes bytes. */
bool site_bytes_match(const struct site_bytes *planned, const u8 *found);

/*
 * Memory of a process differs from its file at bytes[at], of size_bytes that begin at `address`. Is that what the kernel puts there for
 * a uprobe: a breakpoint, for whomever, or, over a long nop, a call of its own trampoline, of which is_trampoline() knows the address?
 */
bool site_byte_is_probe(const u8 *bytes, size_t size_bytes, size_t at, u64 address,
			bool (*is_trampoline)(const void *data, u64 address), const void *data);

#endif
