/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gRPC adds to HTTP/2: the frame of a message, the time limit, the words of a status. No state, no sockets. */
#ifndef GPUPROBE_NET_GRPC_WIRE_H
#define GPUPROBE_NET_GRPC_WIRE_H

#include "base/text.h"
#include "base/types.h"

/* By the numbers of gRPC's specification. */
enum grpc_status {
	GRPC_OK = 0,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_ABORTED = 10,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
};

/* In front of every message: compressed or not, and its length. */
#define GRPC_PREFIX_BYTES 5

/* Of the header grpc-timeout: at most 8 digits and one of H M S m u n. What is too long for
 * 64 bits of nanoseconds is UINT64_MAX. -EINVAL: it is not that. */
int grpc_timeout_parse(const char *text, size_t length, u64 *ret_ns);
void grpc_prefix_write(u32 message_bytes, u8 ret_prefix[GRPC_PREFIX_BYTES]);
/* The one message that the body of a unary call is. ret_message points into body. Else why not, as a sentence in
 * ret_why. */
enum grpc_status grpc_message_find(const u8 *body, size_t body_bytes, const u8 **ret_message,
				   size_t *ret_bytes, const char **ret_why);
/* For the header grpc-message: what is not printable ASCII as %XX. */
void grpc_append_escaped(struct text *text, const char *message);

#endif
