/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/grpc_server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/grpc_parts.h"
#include "net/listener.h"

#define EVENTS_AT_ONCE 32

/* ---- epoll ---- */

static int watch(struct grpc_server *server, int operation, int fd, u32 events, void *pointer)
{
	struct epoll_event event = {.events = events, .data.ptr = pointer};

	return epoll_ctl(server->epoll_fd, operation, fd, &event) < 0 ? -errno : 0;
}

/* ---- connections ---- */

static void drop(struct grpc_server *server, struct grpc_connection *connection)
{
	for (struct grpc_connection **at = &server->connections; *at; at = &(*at)->next)
		if (*at == connection) {
			*at = connection->next;
			break;
		}
	/* A process that was forked a moment ago has its descriptor too, so closing ours would not end its events. */
	(void)epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
	/* There is room for another one. */
	if (server->connection_count-- == GRPC_CONNECTIONS_MAX)
		watch(server, EPOLL_CTL_MOD, server->listen_fd, EPOLLIN, server);
	grpc_connection_close(connection);
}

/* Whoever gets no answer takes nobody's place. */
static void take_in(struct grpc_server *server, int fd)
{
	const struct grpc_server_config *config = server->config;
	struct grpc_connection *connection;

	if (config->admit && !config->admit(config->data, fd)) {
		close(fd);
		return;
	}
	if (grpc_connection_open(server, fd, &connection)) {
		close(fd);
		return;
	}
	connection->next = server->connections;
	server->connections = connection;
	server->connection_count++;
	if (watch(server, EPOLL_CTL_ADD, fd, EPOLLIN, connection))
		drop(server, connection);
}

/* Those for which there is no room wait in the backlog of the socket. */
static void accept_all(struct grpc_server *server)
{
	int fd;

	while (server->connection_count < GRPC_CONNECTIONS_MAX &&
	       listener_accept(server->listen_fd, &fd) == 0)
		take_in(server, fd);
	if (server->connection_count == GRPC_CONNECTIONS_MAX)
		watch(server, EPOLL_CTL_MOD, server->listen_fd, 0, server);
}

/* Writes what there is to write, ends what took too long; -errno: to be closed. */
static int go_on(struct grpc_connection *connection, u64 now_ns, u64 *ret_next_ns)
{
	bool waited = connection->waits_to_write;
	int result;

	*ret_next_ns = grpc_connection_expire(connection, now_ns, &result);
	if (!result)
		result = grpc_connection_write(connection);
	if (!result && waited != connection->waits_to_write)
		result = watch(connection->server, EPOLL_CTL_MOD, connection->fd,
			       connection->waits_to_write ? EPOLLOUT : EPOLLIN, connection);
	return result;
}

static void go_on_all(struct grpc_server *server)
{
	u64 now_ns = clock_monotonic_ns(), first_ns = UINT64_MAX;
	struct grpc_connection *next;

	server->woken = false;
	for (struct grpc_connection *connection = server->connections; connection;
	     connection = next) {
		u64 next_ns;

		next = connection->next;
		if (go_on(connection, now_ns, &next_ns))
			drop(server, connection);
		else if (next_ns < first_ns)
			first_ns = next_ns;
	}
	grpc_timer_set(server, server->woken ? 1 : first_ns);
}

/* While the socket is full only its room is waited for, or its end. */
static int handle_connection(struct grpc_connection *connection, u32 events)
{
	u64 next_ns;

	if (!connection->waits_to_write)
		return grpc_connection_read(connection);
	return events & EPOLLOUT ? go_on(connection, clock_monotonic_ns(), &next_ns) : -ECONNRESET;
}

static void handle_event(struct grpc_server *server, const struct epoll_event *event)
{
	u64 expirations;

	if (event->data.ptr == server)
		accept_all(server);
	else if (event->data.ptr == &server->timer_fd)
		(void)!read(server->timer_fd, &expirations, sizeof(expirations));
	else if (handle_connection(event->data.ptr, event->events))
		drop(server, event->data.ptr);
}

/* ---- the server ---- */

int grpc_server_open(const struct grpc_server_config *config, int listen_fd,
		     struct grpc_server **ret_server, struct err *err)
{
	struct grpc_server *server = calloc(1, sizeof(*server));
	int result = -ENOMEM;

	if (!server) {
		close(listen_fd);
		return err_errno(err, -ENOMEM, "can't serve");
	}
	server->config = config;
	server->listen_fd = listen_fd;
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	server->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	result = server->epoll_fd < 0 || server->timer_fd < 0 ? -errno : 0;
	if (!result)
		result = watch(server, EPOLL_CTL_ADD, listen_fd, EPOLLIN, server);
	if (!result)
		result = watch(server, EPOLL_CTL_ADD, server->timer_fd, EPOLLIN, &server->timer_fd);
	if (result) {
		grpc_server_close(server);
		return err_errno(err, result, "can't serve");
	}
	*ret_server = server;
	return 0;
}

int grpc_server_fd(const struct grpc_server *server)
{
	return server->epoll_fd;
}

/* An event names a connection that an earlier one may have closed: one at a time. */
void grpc_server_handle(struct grpc_server *server)
{
	struct epoll_event event;

	for (int i = 0; i < EVENTS_AT_ONCE && epoll_wait(server->epoll_fd, &event, 1, 0) == 1; i++)
		handle_event(server, &event);
	go_on_all(server);
}

struct grpc_server *grpc_server_close(struct grpc_server *server)
{
	while (server->connections)
		drop(server, server->connections);
	close(server->listen_fd);
	if (server->timer_fd >= 0)
		close(server->timer_fd);
	if (server->epoll_fd >= 0)
		close(server->epoll_fd);
	free(server);
	return NULL;
}
