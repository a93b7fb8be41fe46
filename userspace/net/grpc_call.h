/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call of a method of ours, and how it is answered. */
#ifndef GPUPROBE_NET_GRPC_CALL_H
#define GPUPROBE_NET_GRPC_CALL_H

#include "net/grpc_wire.h"

struct grpc_call;

struct grpc_method {
	const char *path; /* "/package.Service/Method" */
	/* The message is gone when it returns. The call may be answered later. */
	void (*begin)(void *data, struct grpc_call *call, const u8 *message, size_t message_bytes);
};

struct grpc_server_config {
	const struct grpc_method *methods;
	size_t method_count;
	/* A connection came in: does it get an answer? NULL: every one. */
	bool (*admit)(void *data, int fd);
	/* Its client gave it up or is gone, or its deadline has passed. */
	void (*cancelled)(void *data, struct grpc_call *call);
	void *data;
};

/* CLOCK_MONOTONIC; UINT64_MAX: it has none. */
u64 grpc_call_deadline_ns(const struct grpc_call *call);
/* The message of an answer is made of pieces: head (copied), and behind it the first file_bytes of fd, which becomes the
 * server's, also on failure; -1: none. Files are read as the client takes them. */
struct grpc_piece {
	const void *head;
	size_t head_bytes;
	int fd;
	u64 file_bytes;
};
void grpc_call_answer(struct grpc_call *call, const struct grpc_piece *pieces, size_t count);
/* One piece without a file. */
void grpc_call_answer_bytes(struct grpc_call *call, const void *message, size_t bytes);
/* status is not GRPC_OK. */
void grpc_call_fail(struct grpc_call *call, enum grpc_status status, const char *message);

#endif
