/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/file_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "net/http_request.h"
#include "net/listener.h"

#define CONNECTIONS    16		    /* at once; more wait */
#define HEAD_NS	       (5 * NS_PER_SECOND)  /* for all of a request */
#define SEND_NS	       (10 * NS_PER_SECOND) /* for so much of an answer: */
#define SEND_BYTES     (64 * 1024)
#define DRAIN_NS       (2 * NS_PER_SECOND) /* for the other end to close */
#define ANSWER_BYTES   1024
#define SENDFILE_BYTES (1 << 20)

enum state {
	STATE_FREE,
	STATE_HEAD,  /* its request comes */
	STATE_SEND,  /* the head of the answer and the file go */
	STATE_DRAIN, /* all is sent: closing now might take it from the other end again */
};

struct connection {
	enum state state;
	int fd;
	u64 until_ns;
	size_t head_bytes;
	size_t answer_bytes, answer_sent;
	struct served_file *file; /* NULL: none goes with the answer */
	off_t sent;
	u64 due; /* how much of it has to be sent at until_ns */
	char answer[ANSWER_BYTES];
	char head[HTTP_HEAD_BYTES];
};

struct serving {
	struct file_server *server;
	struct connection connections[CONNECTIONS];
	char hosts[2][32]; /* names for us: anything else was meant for another server */
	u64 sent_ns;	   /* when something of a file was sent last */
};

static void end_connection(struct connection *connection)
{
	close(connection->fd);
	connection->state = STATE_FREE;
}

/* ---- answers ---- */

static void answer(struct serving *serving, struct connection *connection, const char *status,
		   bool is_for_origin, u64 bytes)
{
	int length = snprintf(
		connection->answer, sizeof(connection->answer),
		"HTTP/1.1 %s\r\nContent-Length: %llu\r\nConnection: close\r\n"
		"Content-Type: application/octet-stream\r\nX-Content-Type-Options: nosniff\r\n"
		"Cache-Control: no-store\r\nVary: Origin\r\n%s%s%s\r\n",
		status, (unsigned long long)bytes,
		is_for_origin ? "Access-Control-Allow-Origin: " : "",
		is_for_origin ? serving->server->origin : "",
		is_for_origin ? "\r\nAccess-Control-Allow-Methods: GET, HEAD\r\n"
				"Access-Control-Allow-Private-Network: true\r\n"
			      : "");

	connection->state = STATE_SEND;
	connection->until_ns = clock_monotonic_ns() + SEND_NS;
	connection->answer_bytes = (size_t)length < sizeof(connection->answer) ? length : 0;
}

static struct served_file *find_file(struct serving *serving, const char *path)
{
	struct file_server *server = serving->server;

	for (size_t i = 0; i < server->file_count; i++)
		if (!strcmp(server->files[i].path, path))
			return &server->files[i];
	return NULL;
}

/* A page of another site whose name now leads here (DNS rebinding) names that in Host. */
static bool is_for_us(const struct serving *serving, const struct http_request *request)
{
	return !strcmp(request->host, serving->hosts[0]) ||
	       !strcmp(request->host, serving->hosts[1]);
}

static void handle_request(struct serving *serving, struct connection *connection)
{
	struct http_request request;
	struct served_file *file;
	bool is_origin;

	if (http_request_read(connection->head, connection->head_bytes, &request)) {
		answer(serving, connection, "400 Bad Request", false, 0);
		return;
	}
	is_origin = !strcmp(request.origin, serving->server->origin);
	file = find_file(serving, request.path);
	if (!is_for_us(serving, &request) || (*request.origin && !is_origin)) {
		answer(serving, connection, "403 Forbidden", false, 0);
	} else if (!file) {
		answer(serving, connection, "404 Not Found", is_origin, 0);
	} else if (request.method == HTTP_OPTIONS) {
		answer(serving, connection, "204 No Content", is_origin, 0);
	} else if (request.method == HTTP_OTHER) {
		answer(serving, connection, "405 Method Not Allowed", is_origin, 0);
	} else {
		answer(serving, connection, "200 OK", is_origin, file->bytes);
		connection->file = request.method == HTTP_GET ? file : NULL;
		connection->due = SEND_BYTES;
	}
}

/* ---- one connection ---- */

static void read_head(struct serving *serving, struct connection *connection)
{
	ssize_t bytes = recv(connection->fd, connection->head + connection->head_bytes,
			     sizeof(connection->head) - connection->head_bytes, 0);
	size_t length;

	if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (bytes <= 0) {
		end_connection(connection);
		return;
	}
	connection->head_bytes += bytes;
	length = http_head_length(connection->head, connection->head_bytes);
	if (length) {
		connection->head_bytes = length;
		handle_request(serving, connection);
	} else if (connection->head_bytes == sizeof(connection->head)) {
		answer(serving, connection, "431 Request Header Fields Too Large", false, 0);
	}
}

/* The next piece. How many bytes, 0: there is no more; or -errno. */
static ssize_t send_piece(struct connection *connection)
{
	const struct served_file *file = connection->file;
	ssize_t bytes;

	if (connection->answer_sent < connection->answer_bytes) {
		bytes = send(connection->fd, connection->answer + connection->answer_sent,
			     connection->answer_bytes - connection->answer_sent,
			     MSG_NOSIGNAL | (file && file->bytes ? MSG_MORE : 0));
		connection->answer_sent += bytes > 0 ? bytes : 0;
	} else if (file && (u64)connection->sent < file->bytes) {
		u64 left = file->bytes - (u64)connection->sent;

		bytes = sendfile(connection->fd, file->fd, &connection->sent,
				 left < SENDFILE_BYTES ? left : SENDFILE_BYTES);
		/* It has become shorter. */
		if (bytes == 0)
			return -EIO;
	} else {
		return 0;
	}
	return bytes < 0 ? -errno : bytes;
}

static void send_on(struct serving *serving, struct connection *connection)
{
	ssize_t bytes = send_piece(connection);
	u64 now_ns = clock_monotonic_ns();

	if (bytes == -EAGAIN || bytes == -EINTR)
		return;
	if (bytes < 0) {
		end_connection(connection);
		return;
	}
	if (connection->file)
		serving->sent_ns = now_ns;
	if (connection->file && (u64)connection->sent >= connection->due) {
		connection->due = connection->sent + SEND_BYTES;
		connection->until_ns = now_ns + SEND_NS;
	}
	if (bytes)
		return;
	if (connection->file)
		connection->file->fetched = true;
	shutdown(connection->fd, SHUT_WR);
	connection->state = STATE_DRAIN;
	connection->until_ns = now_ns + DRAIN_NS;
}

static void drain(struct connection *connection)
{
	ssize_t bytes = recv(connection->fd, connection->head, sizeof(connection->head), 0);

	if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR))
		end_connection(connection);
}

static void go_on(struct serving *serving, struct connection *connection, short events)
{
	if (connection->state == STATE_FREE)
		return;
	if (clock_monotonic_ns() >= connection->until_ns)
		end_connection(connection);
	else if (!events)
		return;
	else if (connection->state == STATE_HEAD)
		read_head(serving, connection);
	else if (connection->state == STATE_SEND)
		send_on(serving, connection);
	else
		drain(connection);
}

static void take_connection(struct serving *serving, struct connection *connection)
{
	if (listener_accept(serving->server->fd, &connection->fd) < 0)
		return;
	connection->state = STATE_HEAD;
	connection->until_ns = clock_monotonic_ns() + HEAD_NS;
	connection->head_bytes = 0;
	connection->answer_bytes = connection->answer_sent = 0;
	connection->file = NULL;
	connection->sent = 0;
}

/* ---- all of them ---- */

/* Files that are fetched, and connections, of which none is ended before its time. */
static bool is_done(const struct serving *serving)
{
	const struct file_server *server = serving->server;

	for (size_t i = 0; i < server->file_count; i++)
		if (!server->files[i].fetched)
			return false;
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (serving->connections[i].state == STATE_SEND ||
		    serving->connections[i].state == STATE_DRAIN)
			return false;
	return true;
}

/* Until when nothing has to be done, if nothing comes. */
static u64 next_ns(const struct serving *serving)
{
	u64 next = serving->sent_ns + serving->server->patience_ns;

	for (size_t i = 0; i < CONNECTIONS; i++) {
		const struct connection *connection = &serving->connections[i];

		if (connection->state != STATE_FREE && connection->until_ns < next)
			next = connection->until_ns;
	}
	return next;
}

/* 0, or -EINTR: we are to end. */
static int wait_and_go_on(struct serving *serving)
{
	struct connection *connections = serving->connections, *unused = NULL;
	struct pollfd fds[CONNECTIONS + 2];
	u64 now_ns = clock_monotonic_ns(), next = next_ns(serving);

	for (size_t i = 0; i < CONNECTIONS; i++) {
		bool is_free = connections[i].state == STATE_FREE;

		fds[i] = (struct pollfd){
			.fd = is_free ? -1 : connections[i].fd,
			.events = connections[i].state == STATE_SEND ? POLLOUT : POLLIN,
		};
		unused = is_free ? &connections[i] : unused;
	}
	fds[CONNECTIONS] =
		(struct pollfd){.fd = unused ? serving->server->fd : -1, .events = POLLIN};
	fds[CONNECTIONS + 1] = (struct pollfd){.fd = serving->server->stop_fd, .events = POLLIN};
	if (poll(fds, ARRAY_SIZE(fds),
		 next > now_ns ? (int)((next - now_ns) / NS_PER_MILLISECOND + 1) : 0) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[CONNECTIONS + 1].revents)
		return -EINTR;
	for (size_t i = 0; i < CONNECTIONS; i++)
		go_on(serving, &connections[i], fds[i].revents);
	if (fds[CONNECTIONS].revents)
		take_connection(serving, unused);
	return 0;
}

static int name_us(struct serving *serving)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	if (getsockname(serving->server->fd, (struct sockaddr *)&address, &size) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		snprintf(serving->hosts[i], sizeof(serving->hosts[i]), "%s:%u", names[i],
			 ntohs(address.sin_port));
	return 0;
}

int file_server_run(struct file_server *server, struct err *err)
{
	_cleanup_free_ struct serving *serving = calloc(1, sizeof(*serving));
	int result;

	if (!serving)
		return err_errno(err, -ENOMEM, "can't serve files");
	serving->server = server;
	serving->sent_ns = clock_monotonic_ns();
	result = name_us(serving);
	while (result == 0 && !is_done(serving)) {
		result = wait_and_go_on(serving);
		if (result == 0 && !is_done(serving) &&
		    clock_monotonic_ns() >= serving->sent_ns + server->patience_ns)
			result = -ETIMEDOUT;
	}
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (serving->connections[i].state != STATE_FREE)
			end_connection(&serving->connections[i]);
	return result ? err_errno(err, result, "can't serve files") : 0;
}
