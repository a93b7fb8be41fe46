/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 (FIPS 180-4): tells whether bytes are those that they were, also where somebody wants to be believed so. */
#ifndef GPUPROBE_BASE_SHA256_H
#define GPUPROBE_BASE_SHA256_H

#include "base/types.h"

#define SHA256_BYTES	   32
#define SHA256_BLOCK_BYTES 64

struct sha256 {
	u32 state[8];
	u64 size_bytes;
	u8 block[SHA256_BLOCK_BYTES]; /* what does not fill one yet */
};

void sha256_begin(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t size);
void sha256_end(struct sha256 *sha, u8 ret_digest[SHA256_BYTES]);
/* Has the processor instructions for it (SHA-NI)? Then 1 to 2 GB/s, else some 0.1. */
bool sha256_is_fast(void);
/* For the tests: with or without them. */
void sha256_blocks(u32 state[8], const u8 *bytes, size_t count, bool fast);

#endif
