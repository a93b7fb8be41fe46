/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/listener.h"
#include "net/peer.h"

#define NOBODY 65534

/* Connects to the address that listener_name() gives. */
static int connect_to(int listener)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int fd;

	if (getsockname(listener, (struct sockaddr *)&address, &size) < 0)
		return -1;
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, size) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int accept_one(int listener)
{
	struct pollfd poll_fd = {listener, POLLIN, 0};
	int fd = -1;

	if (poll(&poll_fd, 1, 10000) != 1 || listener_accept(listener, &fd))
		return -1;
	return fd;
}

static void check_own(const char *address)
{
	struct err err = {0};
	int listener = -1, client, accepted;
	char name[80];
	u32 uid = 12345;

	CHECK_OK(listener_open(address, 0, &listener, &err), err);
	CHECK_U64(listener_name(listener, name, sizeof(name)), 0);
	CHECK(strstr(name, address) && !strstr(name, ":0"));
	client = connect_to(listener);
	accepted = accept_one(listener);
	CHECK(client >= 0 && accepted >= 0);
	CHECK(peer_is_on_loopback(accepted));
	CHECK_OK(peer_find_uid(accepted, &uid, &err), err);
	CHECK_U64(uid, geteuid());
	close(client);
	close(accepted);
	close(listener);
}

TEST(the_user_of_a_connection)
{
	check_own("127.0.0.1");
	check_own("127.0.0.7");
}

TEST(the_user_of_a_connection_by_ipv6)
{
	struct err err = {0};
	int listener = -1;

	if (listener_open("::1", 0, &listener, &err))
		SKIP("no IPv6 here");
	close(listener);
	check_own("::1");
}

/* As gRPC's clients connect. */
TEST(the_user_of_a_socket_of_ipv6_that_speaks_ipv4)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6};
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	struct err err = {0};
	int listener = -1, client, accepted;
	u32 uid = 12345;

	CHECK_OK(listener_open("127.0.0.1", 0, &listener, &err), err);
	CHECK_U64(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.sin6_addr);
	to.sin6_port = address.sin_port;
	client = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client < 0 || connect(client, (struct sockaddr *)&to, sizeof(to))) {
		close(listener);
		SKIP("no IPv6 here");
	}
	accepted = accept_one(listener);
	CHECK(peer_is_on_loopback(accepted));
	CHECK_OK(peer_find_uid(accepted, &uid, &err), err);
	CHECK_U64(uid, geteuid());
	close(client);
	close(accepted);
	close(listener);
}

TEST(another_user)
{
	struct err err = {0};
	int listener = -1, accepted, pipes[2], status;
	u32 uid = 0;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("needs root to become another user");
	CHECK_OK(listener_open("127.0.0.1", 0, &listener, &err), err);
	CHECK_U64(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		char byte;

		close(pipes[1]);
		if (setresuid(NOBODY, NOBODY, NOBODY) || connect_to(listener) < 0)
			_exit(1);
		_exit(read(pipes[0], &byte, 1) != 0);
	}
	accepted = accept_one(listener);
	CHECK_OK(peer_find_uid(accepted, &uid, &err), err);
	CHECK_U64(uid, NOBODY);
	close(pipes[1]);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	/* Closed, it belongs to nobody, which must not be taken for root. */
	CHECK_U64(-peer_find_uid(accepted, &uid, &err), EACCES);
	close(pipes[0]);
	close(accepted);
	close(listener);
}

/* Resets the connection and binds a socket to its client's port. -1: another process has a connection from the same
 * port, which the kernel gives to several, and the port can't be had. */
static int take_port_of(int client)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	struct linger reset = {1, 0};
	int other = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	CHECK_U64(getsockname(client, (struct sockaddr *)&address, &size), 0);
	setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	close(client);
	if (!bind(other, (struct sockaddr *)&address, size))
		return other;
	CHECK_U64(errno, EADDRINUSE);
	close(other);
	return -1;
}

/* The kernel finds a listening socket where there is no connection: not that one's user. */
TEST(a_closed_connection_beside_a_listener_of_the_same_port)
{
	struct err err = {0};
	int listener = -1, other = -1, accepted = -1;
	u32 uid = 0;

	CHECK_OK(listener_open("127.0.0.1", 0, &listener, &err), err);
	for (int tries = 0; tries < 100 && other < 0; tries++) {
		int client = connect_to(listener);

		close(accepted);
		accepted = accept_one(listener);
		other = take_port_of(client);
	}
	CHECK(other >= 0);
	CHECK_U64(listen(other, 1), 0);
	CHECK(peer_find_uid(accepted, &uid, &err) < 0);
	close(other);
	close(accepted);
	close(listener);
}

TEST(addresses_that_are_none)
{
	struct err err = {0};
	int fd = -1, again = -1;
	char name[80] = "";

	CHECK_U64(-listener_open("localhost", 0, &fd, &err), EINVAL);
	CHECK(strstr(err.message, "localhost"));
	CHECK_OK(listener_open("127.0.0.1", 0, &fd, &err), err);
	CHECK_U64(listener_name(fd, name, sizeof(name)), 0);
	CHECK_U64(-listener_open("127.0.0.1", atoi(strrchr(name, ':') + 1), &again, &err),
		  EADDRINUSE);
	CHECK(strstr(err.message, "--port"));
	close(fd);
}

UNIT_MAIN()
