/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket that a server of ours waits at: TCP, one address. */
#ifndef GPUPROBE_NET_LISTENER_H
#define GPUPROBE_NET_LISTENER_H

#include "base/err.h"
#include "base/types.h"

#define LISTENER_LOOPBACK "127.0.0.1"

/* address: IPv4 or IPv6 in numbers ("0.0.0.0" and "::": all of that kind). port 0: any free one. ret_fd does not
 * block, and is the caller's. -EINVAL: no such address; else what the system says. */
int listener_open(const char *address, u16 port, int *ret_fd, struct err *err);
/* "127.0.0.1:9012", "[::1]:9012", as it is. */
int listener_name(int fd, char *ret_name, size_t size);
/* The next connection, which does not block either; -EAGAIN: none waits. */
int listener_accept(int fd, int *ret_fd);

#endif
