/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A gRPC server for unary calls, over HTTP/2 without TLS (nghttp2). One thread, no callback from anywhere but
 * grpc_server_handle() and grpc_server_close().
 *
 * What comes in is untrusted: messages, streams and connections are limited, who is not done within its time is cut off,
 * and who does not read what is sent is not read from.
 *
 * A call begins when its method is called, and is over when it has been answered, has failed, or was reported as
 * cancelled: it must not be touched after that.
 */
#ifndef GPUPROBE_NET_GRPC_SERVER_H
#define GPUPROBE_NET_GRPC_SERVER_H

#include "base/err.h"
#include "net/grpc_wire.h"

struct grpc_server;
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

/* listen_fd becomes the server's, also on failure. config and what it points to must outlive the server. */
int grpc_server_open(const struct grpc_server_config *config, int listen_fd,
		     struct grpc_server **ret_server, struct err *err);
/* Polls readable when there is something to handle, now or by the time. */
int grpc_server_fd(const struct grpc_server *server);
/* All that can be done without waiting. */
void grpc_server_handle(struct grpc_server *server);
/* Closes every connection; calls that are not over are cancelled. Returns NULL. */
struct grpc_server *grpc_server_close(struct grpc_server *server);

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
