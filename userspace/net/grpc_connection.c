/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One connection: bytes between its socket and nghttp2, and its limits of time. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/grpc_parts.h"

#define READ_BYTES 16384

static int open_session(struct grpc_connection *connection)
{
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, GRPC_STREAMS_MAX},
	};
	nghttp2_session_callbacks *callbacks;
	int result = grpc_calls_callbacks(&callbacks);

	if (result)
		return result;
	result = nghttp2_session_server_new(&connection->session, callbacks, connection);
	nghttp2_session_callbacks_del(callbacks);
	if (result)
		return -ENOMEM;
	return nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings,
				       ARRAY_SIZE(settings))
		       ? -ENOMEM
		       : 0;
}

int grpc_connection_open(struct grpc_server *server, int fd,
			 struct grpc_connection **ret_connection)
{
	struct grpc_connection *connection = calloc(1, sizeof(*connection));
	int on = 1;

	if (!connection)
		return -ENOMEM;
	connection->server = server;
	connection->progress_ns = clock_monotonic_ns();
	if (open_session(connection)) {
		nghttp2_session_del(connection->session);
		free(connection);
		return -ENOMEM;
	}
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	connection->fd = fd;
	*ret_connection = connection;
	return 0;
}

void grpc_connection_close(struct grpc_connection *connection)
{
	const struct grpc_server_config *config = connection->server->config;

	while (connection->calls) {
		struct grpc_call *call = connection->calls;

		connection->calls = call->next;
		if (call->state == GRPC_CALL_RUNNING)
			config->cancelled(config->data, call);
		grpc_call_free(call);
	}
	nghttp2_session_del(connection->session);
	close(connection->fd);
	free(connection);
}

/* One piece: whoever sends without an end does not keep others waiting. */
int grpc_connection_read(struct grpc_connection *connection)
{
	u8 buffer[READ_BYTES];
	ssize_t bytes = recv(connection->fd, buffer, sizeof(buffer), 0);

	if (bytes < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (bytes == 0)
		return -ECONNRESET;
	return nghttp2_session_mem_recv(connection->session, buffer, bytes) < 0 ? -EPROTO : 0;
}

int grpc_connection_write(struct grpc_connection *connection)
{
	connection->waits_to_write = false;
	for (;;) {
		ssize_t bytes;

		if (!connection->unsent_bytes) {
			bytes = nghttp2_session_mem_send(connection->session, &connection->unsent);
			if (bytes < 0)
				return -EPROTO;
			connection->unsent_bytes = bytes;
		}
		if (!connection->unsent_bytes)
			break;
		bytes = send(connection->fd, connection->unsent, connection->unsent_bytes,
			     MSG_NOSIGNAL);
		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes < 0 && errno == EAGAIN) {
			connection->waits_to_write = true;
			return 0;
		}
		if (bytes < 0)
			return -errno;
		connection->unsent += bytes;
		connection->unsent_bytes -= bytes;
		connection->progress_ns = clock_monotonic_ns();
	}
	/* After an error of the protocol, when that has been said. */
	return nghttp2_session_want_read(connection->session) ||
			       nghttp2_session_want_write(connection->session)
		       ? 0
		       : -ECONNRESET;
}

u64 grpc_connection_expire(struct grpc_connection *connection, u64 now_ns, int *ret_result)
{
	const struct grpc_server_config *config = connection->server->config;
	u64 next_ns = UINT64_MAX;
	bool waits_for_us = false;

	*ret_result = 0;
	for (struct grpc_call *call = connection->calls; call; call = call->next) {
		if (call->state != GRPC_CALL_RUNNING)
			continue;
		if (call->deadline_ns <= now_ns) {
			config->cancelled(config->data, call);
			grpc_call_fail(call, GRPC_DEADLINE_EXCEEDED, "the deadline has passed");
			continue;
		}
		waits_for_us = true;
		if (call->deadline_ns < next_ns)
			next_ns = call->deadline_ns;
	}
	/* Nothing is owed to it, or it does not take it. */
	if (!waits_for_us || connection->waits_to_write) {
		u64 idle_until_ns = connection->progress_ns + GRPC_IDLE_NS;

		if (idle_until_ns <= now_ns)
			*ret_result = -ETIMEDOUT;
		else if (idle_until_ns < next_ns)
			next_ns = idle_until_ns;
	}
	return next_ns;
}
