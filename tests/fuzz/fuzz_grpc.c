/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as what a client of the gRPC server sends, behind the greeting of HTTP/2: calls of the profiler's messages
 * begin, are cancelled, are answered. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "net/grpc_parts.h"
#include "net/profiler_messages.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define PIECE 4096

static void begin_profile(void *data, struct grpc_call *call, const u8 *message, size_t bytes)
{
	struct profile_request request;

	if (profile_request_read(message, bytes, &request, NULL)) {
		grpc_call_fail(call, GRPC_INVALID_ARGUMENT, "no");
		return;
	}
	profile_request_free(&request);
}

static void begin_terminate(void *data, struct grpc_call *call, const u8 *message, size_t bytes)
{
	char *session_id;

	if (!terminate_request_read(message, bytes, &session_id, NULL))
		free(session_id);
	grpc_call_answer_bytes(call, message, bytes);
}

static void cancelled(void *data, struct grpc_call *call)
{
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const struct grpc_method methods[] = {{"/P", begin_profile},
						     {"/T", begin_terminate}};
	static const struct grpc_server_config config = {methods, 2, NULL, cancelled, NULL};
	struct grpc_server server = {
		.config = &config, .epoll_fd = -1, .listen_fd = -1, .timer_fd = -1};
	struct grpc_connection *connection;
	int fds[2], result = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
		abort();
	if (grpc_connection_open(&server, fds[0], &connection))
		abort();
	if (file_write(fds[1], NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN))
		abort();
	for (size_t at = 0; at < size && !result; at += PIECE) {
		char drained[65536];

		if (file_write(fds[1], data + at, size - at < PIECE ? size - at : PIECE))
			break;
		for (int i = 0; i < 4 && !result; i++)
			result = grpc_connection_read(connection);
		if (!result)
			grpc_connection_expire(connection, 0, &result);
		if (!result)
			result = grpc_connection_write(connection);
		while (read(fds[1], drained, sizeof(drained)) > 0)
			;
	}
	grpc_connection_close(connection);
	close(fds[1]);
	return 0;
}
