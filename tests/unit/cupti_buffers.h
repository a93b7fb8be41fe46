/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of activity records as one CUPTI laid them out: this header, then the records, one behind another. Written by
 * tests/gpu/programs/truth.c on the machine that has that CUPTI, read by test_cupti_convert.c. Little-endian.
 */
#ifndef CUPTI_BUFFERS_H
#define CUPTI_BUFFERS_H

#include <stdint.h>

#define CUPTI_BUFFERS_MAGIC 0x3166756263707067ULL /* "gppcbuf1" */
#define CUPTI_BUFFERS_KINDS 64

struct cupti_buffers_header {
	uint64_t magic;
	uint64_t kernel_ns; /* of all kernels in it, by the headers of that CUPTI */
	uint32_t version;   /* cuptiGetVersion() */
	uint32_t bytes;	    /* of the records */
	uint32_t records[CUPTI_BUFFERS_KINDS]; /* how many of each kind */
	uint16_t record_bytes
		[CUPTI_BUFFERS_KINDS]; /* how long one of each kind is; 0: there is none */
};

#endif
