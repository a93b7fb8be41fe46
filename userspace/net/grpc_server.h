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
#include "net/grpc_call.h"

struct grpc_server;

/* listen_fd becomes the server's, also on failure. config and what it points to must outlive the server. */
int grpc_server_open(const struct grpc_server_config *config, int listen_fd,
		     struct grpc_server **ret_server, struct err *err);
/* Polls readable when there is something to handle, now or by the time. */
int grpc_server_fd(const struct grpc_server *server);
/* All that can be done without waiting. */
void grpc_server_handle(struct grpc_server *server);
/* Closes every connection; calls that are not over are cancelled. Returns NULL. */
struct grpc_server *grpc_server_close(struct grpc_server *server);

#endif
