/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

#define BACKLOG 16

static int read_address(const char *address, u16 port, struct sockaddr_storage *ret_address,
			socklen_t *ret_size)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;

	memset(ret_address, 0, sizeof(*ret_address));
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		*ret_size = sizeof(*v4);
		return 0;
	}
	if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		*ret_size = sizeof(*v6);
		return 0;
	}
	return -EINVAL;
}

int listener_open(const char *address, u16 port, int *ret_fd, struct err *err)
{
	struct sockaddr_storage to;
	socklen_t size = 0;
	_cleanup_close_ int fd = -1;
	int on = 1;

	if (read_address(address, port, &to, &size))
		return err_set(err, -EINVAL,
			       "can't listen on \"%.100s\": it is no address in numbers, such as "
			       "127.0.0.1, 0.0.0.0 or ::1",
			       address);
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno(err, -errno, "can't listen on %s", address);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* One kind of address each: a peer's then never is one kind inside the other. */
	if (to.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&to, size) < 0 || listen(fd, BACKLOG) < 0) {
		int result = -errno;

		if (result == -EADDRINUSE)
			return err_set(err, result,
				       "can't listen on %s, port %u: another program does. "
				       "Give another --port",
				       address, port);
		return err_errno(err, result, "can't listen on %s, port %u", address, port);
	}
	*ret_fd = take_fd(&fd);
	return 0;
}

int listener_name(int fd, char *ret_name, size_t size)
{
	struct sockaddr_storage address;
	const struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
	const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;
	socklen_t address_size = sizeof(address);
	char text[INET6_ADDRSTRLEN];

	if (getsockname(fd, (struct sockaddr *)&address, &address_size) < 0)
		return -errno;
	if (address.ss_family == AF_INET && inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text)))
		snprintf(ret_name, size, "%s:%u", text, ntohs(v4->sin_port));
	else if (address.ss_family == AF_INET6 &&
		 inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)))
		snprintf(ret_name, size, "[%s]:%u", text, ntohs(v6->sin6_port));
	else
		return -EAFNOSUPPORT;
	return 0;
}

int listener_accept(int fd, int *ret_fd)
{
	int accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (accepted < 0)
		return -errno;
	*ret_fd = accepted;
	return 0;
}
